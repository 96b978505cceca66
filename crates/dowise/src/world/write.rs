//! Writes a world file from which exactly the same world can be read.

use std::sync::Arc;

use super::build::{bare, quoted};
use super::{
    Assumed, Condition, CountSpec, FeatureMap, FormEffect, FormNumbers, Kind, LearnedForm, LeverRule, Mechanism, Name,
    Pattern, Start, VarId, World,
};

impl World {
    /// The world as a world file: [`World::from_toml`] reads it back with the same tables, bit by bit.
    pub fn to_toml(&self) -> String {
        self.to_toml_with(&[])
    }

    /// The same, with these form parameters instead of the tables of some mechanisms, by position; reading recomputes
    /// the tables.
    pub(crate) fn to_toml_with(&self, numbers: &[Option<FormNumbers>]) -> String {
        let mut out = String::from("dowise = 1\n");
        if !self.name.is_empty() {
            line(&mut out, "name", &quoted(&self.name));
        }
        if !self.about.is_empty() {
            line(&mut out, "about", &quoted(&self.about));
        }
        line(&mut out, "horizon", &self.horizon.to_string());
        if self.discount != 1.0 {
            line(&mut out, "discount", &number(self.discount));
        }
        if let Some(ends) = &self.ends {
            line(&mut out, "ends", &list(ends.conditions.iter().map(condition)));
        }
        for ids in [&self.state, &self.levers, &self.keys, &self.hidden] {
            ids.iter().enumerate().for_each(|(i, &id)| self.write_variable(&mut out, i, id, numbers));
        }
        for joint in self.mechanisms.iter().filter(|m| m.children.len() > 1) {
            out.push_str("\n[[joint]]\n");
            line(&mut out, "keys", &self.names(&joint.children));
            self.write_mechanism(&mut out, joint, None);
        }
        self.write_rewards(&mut out);
        self.write_interventions(&mut out);
        self.write_features(&mut out);
        self.write_low_rank(&mut out);
        if let Start::States(states) = &self.start {
            for &(s, weight) in states {
                out.push_str("\n[[start]]\n");
                let digits = self.state_space.digits(s);
                let pairs = self.state.iter().zip(digits).map(|(&id, v)| self.pair(id, v));
                line(&mut out, "state", &table(pairs));
                line(&mut out, "weight", &number(weight));
            }
        }
        out
    }

    fn write_variable(&self, out: &mut String, position: usize, id: VarId, numbers: &[Option<FormNumbers>]) {
        let variable = self.variable(id);
        out.push_str(&format!("\n[{}.{}]\n", variable.kind.word(), bare(&variable.name)));
        line(out, "values", &list(variable.values.iter().map(|v| quoted(v))));
        match variable.kind {
            Kind::State => {
                let transition = &self.transitions[position];
                line(out, "scope", &self.names(&transition.parents));
                self.write_table(out, transition, "next");
                if let Start::Product(factors) = &self.start {
                    line(out, "start", &list(factors[position].iter().map(|&p| number(p))));
                }
                return;
            }
            Kind::Lever => {
                let costs = self.interventions.costs();
                let costs = costs.get(position).map_or(&[][..], Vec::as_slice);
                let named = variable.values.iter().zip(costs).filter(|(_, c)| **c != 0.0);
                let named: Vec<String> = named.map(|(v, &c)| format!("{} = {}", bare(v), number(c))).collect();
                if !named.is_empty() {
                    line(out, "cost", &table(named.into_iter()));
                }
            }
            Kind::Key | Kind::Hidden => {}
        }
        if let Some(own) = self.mechanisms.iter().position(|m| m.children == [id]) {
            self.write_mechanism(out, &self.mechanisms[own], numbers.get(own).and_then(Option::as_ref));
        }
        if let Some(behaviour) = self.behaviour_mechanisms.iter().find(|m| m.children == [id]) {
            self.write_mechanism(out, behaviour, None);
        }
    }

    fn write_mechanism(&self, out: &mut String, mechanism: &Mechanism, numbers: Option<&FormNumbers>) {
        line(out, "parents", &self.names(&mechanism.parents));
        match numbers {
            None => self.write_table(out, mechanism, "p"),
            Some(numbers) => self.write_form(out, mechanism, numbers),
        }
        let Assumed { form, sd, weight, guess: _, learned } = &mechanism.assumed;
        // A written form implies the form in which it is learned.
        if !learned && (*form == LearnedForm::Table || (numbers.is_some() && sd.is_none())) {
            return;
        }
        let mut parts = vec![format!("form = \"{}\"", form.word())];
        if let LearnedForm::Logit { interactions } = form
            && !interactions.is_empty()
        {
            let names = |set: &Vec<usize>| self.names(&set.iter().map(|&p| mechanism.parents[p]).collect::<Vec<_>>());
            parts.push(format!("interactions = {}", list(interactions.iter().map(names))));
        }
        parts.extend(sd.map(|sd| format!("sd = {}", number(sd))));
        parts.extend(weight.map(|weight| format!("weight = {}", number(weight))));
        parts.extend((!learned).then(|| "known = true".to_owned()));
        line(out, "learn", &table(parts.into_iter()));
    }

    fn write_form(&self, out: &mut String, mechanism: &Mechanism, numbers: &FormNumbers) {
        let amounts = |a: &[f64]| if let [one] = a { number(*one) } else { list(a.iter().map(|&x| number(x))) };
        let (word, first, effects) = match numbers {
            FormNumbers::Logit { base, effects } => ("logit", format!("base = {}", amounts(base)), effects),
            FormNumbers::NoisyOr { leak, effects } => ("noisy_or", format!("leak = {}", number(*leak)), effects),
        };
        out.push_str(&format!("{word}.{first}\n"));
        for (position, &parent) in mechanism.parents.iter().enumerate() {
            let variable = self.variable(parent);
            let own = |e: &&FormEffect| e.parent == position && e.amounts.iter().any(|a| *a != 0.0);
            let named: Vec<String> = effects
                .iter()
                .filter(own)
                .map(|e| format!("{} = {}", bare(&variable.values[e.value]), amounts(&e.amounts)))
                .collect();
            if !named.is_empty() {
                line(out, &format!("{word}.effects.{}", bare(&variable.name)), &table(named.into_iter()));
            }
        }
    }

    fn write_table(&self, out: &mut String, mechanism: &Mechanism, key: &str) {
        let Some(table) = mechanism.table.as_ref().or(mechanism.assumed.guess.as_ref()) else { return };
        let mut sizes = self.sizes(&mechanism.parents);
        sizes.push(self.sizes(&mechanism.children).iter().product());
        line(out, key, &nested(table, &sizes, 0));
    }

    fn write_rewards(&self, out: &mut String) {
        for term in &self.rewards {
            out.push_str(&format!("\n[reward.{}]\n", bare(&term.name)));
            let present = term.scope.iter().map(|&id| quoted(&self.variable(id).name));
            let next = term.next.iter().map(|&id| quoted(&format!("next.{}", self.variable(id).name)));
            line(out, "scope", &list(present.chain(next)));
            if let Some(table) = &term.table {
                line(out, "value", &nested(table, &[self.sizes(&term.scope), self.sizes(&term.next)].concat(), 0));
            }
            line(out, "range", &list(term.range.iter().map(|&x| number(x))));
            if term.random {
                line(out, "random", "true");
            }
            if term.learned {
                line(out, "learn", "true");
            }
        }
        out.push_str("\n[rewards]\n");
        line(out, "range", &list(self.reward_range.iter().map(|&x| number(x))));
    }

    fn write_interventions(&self, out: &mut String) {
        out.push_str("\n[interventions]\n");
        match self.interventions.lever_rule() {
            LeverRule::All => line(out, "set", "\"all\""),
            LeverRule::AtMost(k) if *k == self.levers.len() => line(out, "set", "\"any\""),
            LeverRule::AtMost(k) => line(out, "set", &format!("{{ at_most = {k} }}")),
            LeverRule::List(entries) => {
                let entry = |action| {
                    let set = self.interventions.levers(action).into_iter().zip(&self.levers);
                    table(set.filter_map(|(v, &id)| Some(self.pair(id, v?))))
                };
                line(out, "set", &list(entries.iter().map(|&a| entry(a))));
            }
        }
        for rule in self.interventions.forbid() {
            out.push_str("\n[[interventions.forbid]]\n");
            for (key, ids, parts) in [("when", &self.state, &rule.when), ("levers", &self.levers, &rule.levers)] {
                let named = parts.iter().map(|(position, mask)| {
                    let variable = self.variable(ids[*position]);
                    let values = variable.values.iter().zip(mask).filter(|(_, m)| **m).map(|(v, _)| quoted(v));
                    format!("{} = {}", bare(&variable.name), list(values))
                });
                line(out, key, &table(named));
            }
        }
    }

    fn write_features(&self, out: &mut String) {
        let Some(map) = &self.features else { return };
        out.push_str("\n[features]\n");
        self.write_feature_map(out, map);
    }

    fn write_low_rank(&self, out: &mut String) {
        let Some(low_rank) = &self.low_rank else {
            // Unknown, with too many states for tables.
            if !self.is_enumerable() {
                out.push_str("\n[low_rank]\nlearn = true\n");
            }
            return;
        };
        if self.features.as_ref() != Some(&low_rank.map) {
            out.push_str("\n[low_rank.weights]\n");
            self.write_feature_map(out, &low_rank.map);
        }
        out.push_str("\n[low_rank.next]\n");
        for (&id, rows) in self.state.iter().zip(&low_rank.next) {
            let variable = self.variable(id);
            line(out, &bare(&variable.name), &nested(rows, &[low_rank.dimension, variable.size()], 0));
        }
    }

    fn write_feature_map(&self, out: &mut String, map: &FeatureMap) {
        match map {
            FeatureMap::Indicators { .. } if *map == FeatureMap::one_hot(self) => line(out, "kind", "\"one-hot\""),
            FeatureMap::Indicators { scopes } => {
                line(out, "kind", "\"factors\"");
                line(out, "scopes", &list(scopes.iter().map(|scope| self.names(scope))));
            }
            FeatureMap::Polynomial { scope, degree } => {
                line(out, "kind", "\"polynomial\"");
                line(out, "scope", &self.names(scope));
                line(out, "degree", &degree.to_string());
            }
            FeatureMap::Radial { scope, centres, width } => {
                line(out, "kind", "\"radial\"");
                line(out, "scope", &self.names(scope));
                line(out, "centres", &centres.to_string());
                line(out, "width", &number(*width));
            }
            FeatureMap::Table { scope, dimension, values } => {
                line(out, "kind", "\"table\"");
                line(out, "scope", &self.names(scope));
                let mut sizes = self.sizes(scope);
                sizes.push(*dimension);
                line(out, "value", &nested(values, &sizes, 0));
            }
            FeatureMap::Mean { dimension, tables } => {
                line(out, "kind", "\"mean\"");
                let part = |(scope, values): &(Vec<VarId>, Arc<[f64]>)| {
                    let mut sizes = self.sizes(scope);
                    sizes.push(*dimension);
                    let parts = [
                        "kind = \"table\"".to_owned(),
                        format!("scope = {}", self.names(scope)),
                        format!("value = {}", nested(values, &sizes, 0)),
                    ];
                    table(parts.into_iter())
                };
                let parts: Vec<String> = tables.iter().map(part).collect();
                out.push_str(&format!("tables = [\n{},\n]\n", parts.join(",\n")));
            }
        }
    }

    fn names(&self, ids: &[VarId]) -> String {
        list(ids.iter().map(|&id| quoted(&self.variable(id).name)))
    }

    fn pair(&self, id: VarId, value: usize) -> String {
        let variable = self.variable(id);
        format!("{} = {}", bare(&variable.name), quoted(&variable.values[value]))
    }
}

/// A condition as an inline table.
fn condition(condition: &Condition) -> String {
    let pattern = |pattern: &Pattern| {
        let part = |(name, values): &(Name, Vec<Name>)| {
            format!("{} = {}", bare(name.value.valid()), list(values.iter().map(|v| quoted(v.value.valid()))))
        };
        table(pattern.iter().map(part))
    };
    let count = |count: &CountSpec| {
        let mut parts = vec![format!("of = {}", pattern(&count.of))];
        parts.extend(count.at_least.as_ref().map(|n| format!("at_least = {}", n.value)));
        parts.extend(count.at_most.as_ref().map(|n| format!("at_most = {}", n.value)));
        table(parts.into_iter())
    };
    let mut parts = vec![format!("when = {}", pattern(&condition.when))];
    if !condition.counts.is_empty() {
        parts.push(format!("count = {}", list(condition.counts.iter().map(count))));
    }
    table(parts.into_iter())
}

fn line(out: &mut String, key: &str, value: &str) {
    out.push_str(&format!("{key} = {value}\n"));
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

fn table(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", items.join(", ")) }
}

/// The shortest text that reads back as the same number.
fn number(x: f64) -> String {
    format!("{x:?}")
}

/// Nested lists; the innermost on one line each.
fn nested(table: &[f64], sizes: &[usize], depth: usize) -> String {
    match sizes {
        [] => number(table[0]),
        [_] => list(table.iter().map(|&x| number(x))),
        [n, deeper @ ..] => {
            let indent = "  ".repeat(depth + 1);
            let each = table.len() / n;
            let parts = table.chunks(each).map(|part| format!("{indent}{},\n", nested(part, deeper, depth + 1)));
            format!("[\n{}{}]", parts.collect::<String>(), "  ".repeat(depth))
        }
    }
}
