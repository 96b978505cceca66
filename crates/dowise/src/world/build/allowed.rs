//! Validates interventions, forbidden combinations and costs; every state must allow some intervention.

use std::collections::HashMap;

use super::check::Check;
use super::rows::Masks;
use crate::Space;
use crate::messages::some_of;
use crate::world::{
    Action, At, Forbid, ForbidSpec, Interventions, Kind, LeverRule, Located, Name, Problem, SetSpec, VarId, WorldSpec,
};

/// Maximum number of steps of the search for an allowed intervention.
const MOST_STEPS: usize = 1_000_000;
/// Maximum number of state classes to check.
const MOST_CLASSES: u128 = 1 << 16;

impl Check {
    /// Compiles interventions, rules and costs.
    pub(crate) fn interventions(
        &mut self,
        spec: &WorldSpec,
        state: &[VarId],
        levers: &[VarId],
    ) -> Option<Interventions> {
        let before = self.errors();
        let at = spec.interventions.at;
        let sizes: Vec<usize> = levers.iter().map(|&id| self.size(id)).collect();
        let costs = self.costs(spec, levers);
        let forbid: Vec<Forbid> =
            spec.interventions.forbid.iter().filter_map(|rule| self.forbid(rule, state, levers)).collect();
        // Errors in costs or other rules must not hide that these rules forbid everything.
        let named = self.errors();
        let listed = match &spec.interventions.set {
            SetSpec::List(entries) => self.entries(entries, levers, at),
            SetSpec::All | SetSpec::Any | SetSpec::AtMost(_) => Vec::new(),
        };
        let lever_rule = match &spec.interventions.set {
            SetSpec::All => LeverRule::All,
            SetSpec::Any => LeverRule::AtMost(levers.len()),
            SetSpec::AtMost(k) => LeverRule::AtMost(self.at_most(k, levers.len())),
            SetSpec::List(_) => LeverRule::List(Vec::new()),
        };
        if self.errors() > named || levers.iter().any(|id| self.open.contains(id)) {
            return None;
        }
        // The digits of a list's entries number it, which the empty list already provides.
        let made = match Interventions::new(sizes.clone(), lever_rule, forbid.clone(), costs.clone()) {
            Some(empty) if matches!(empty.lever_rule(), LeverRule::List(_)) => {
                let mut list: Vec<Action> = listed.iter().map(|entry| empty.action(entry)).collect();
                list.sort_unstable();
                let all = list.len();
                list.dedup();
                if list.len() < all {
                    let message = match all - list.len() {
                        1 => "one of the listed interventions repeats an earlier one".to_owned(),
                        n => format!("{n} of the listed interventions repeat earlier ones"),
                    };
                    self.push(Problem::warning("listed-twice", message).help("list each once").at(at));
                }
                Interventions::new(sizes.clone(), LeverRule::List(list), forbid, costs)
            }
            made => made,
        };
        let Some(made) = made else {
            // If every lever is set, only combinations of values count.
            let all_set = matches!(spec.interventions.set, SetSpec::All);
            let count = super::product(sizes.iter().map(|&n| n + usize::from(!all_set)));
            let message = format!("{} interventions are too many to number", super::count_text(count));
            let help = match all_set {
                true => "fewer than 2^64 − 1 combinations of lever values fit",
                false => "fewer than 2^64 − 1 combinations of lever values fit, each lever possibly left alone",
            };
            self.push(Problem::error("too-large", message).help(help).at(at));
            return None;
        };
        if made.n_levers() == 0 {
            let problem = Problem::warning("no-levers", "there are no levers, so there is nothing to decide");
            self.push(problem.help("add one with [lever.name]"));
        }
        self.nowhere_stuck(&made, spec, state);
        (self.errors() == before).then_some(made)
    }

    fn costs(&mut self, spec: &WorldSpec, levers: &[VarId]) -> Vec<Vec<f64>> {
        let mut costs: Vec<Vec<f64>> = levers.iter().map(|&id| vec![0.0; self.size(id)]).collect();
        for variable in spec.variables.iter().filter(|v| !v.costs.is_empty()) {
            let Some(id) = self.index.get(&variable.name.value).copied() else { continue };
            let Some(position) = levers.iter().position(|&l| l == id) else {
                let kind = self.variables[id.ix()].kind.describe();
                let message = format!("\"{}\" is a {kind} and has a cost", variable.name.value);
                let at = variable.costs[0].0.at.or(variable.name.at);
                self.push(Problem::error("wrong-kind", message).help("only setting a lever can cost something").at(at));
                continue;
            };
            for (value, cost) in &variable.costs {
                let Some(value) = self.read_at(value) else { continue };
                let what = format!("the cost of {} = \"{}\"", variable.name.value, value.value);
                let cost = self.read_at(cost).filter(|cost| self.amount(cost.value, &what, cost.at));
                if let (Some(v), Some(cost)) = (self.value(id, &value), cost) {
                    costs[position][v] = cost.value;
                }
            }
        }
        costs
    }

    fn at_most(&mut self, most: &Located<u64>, n_levers: usize) -> usize {
        if most.value > n_levers as u64 {
            let message = format!("at_most is {}, but there are only {n_levers} levers", most.value);
            self.push(Problem::warning("at-most", message).help("`set = \"any\"` says the same").at(most.at));
            return n_levers;
        }
        most.value as usize
    }

    fn entries(&mut self, entries: &[Vec<(Name, Name)>], levers: &[VarId], at: Option<At>) -> Vec<Vec<Option<usize>>> {
        if entries.is_empty() {
            let problem = Problem::error("no-interventions", "the list of interventions is empty");
            self.push(problem.help("list at least one; {} leaves all levers alone").at(at));
        }
        let mut out = Vec::with_capacity(entries.len());
        for entry in entries {
            let mut set = vec![None; levers.len()];
            for (name, value) in entry {
                let Some(name) = self.read_at(name) else { continue };
                let Some(position) = self.lever(&name, levers) else { continue };
                let Some(value) = self.read_at(value) else { continue };
                let Some(value) = self.value(levers[position], &value) else { continue };
                if set[position].replace(value).is_some() {
                    let message = format!("\"{}\" stands twice in one intervention", name.value);
                    self.push(Problem::error("duplicate-name", message).help("take one out").at(name.at));
                }
            }
            out.push(set);
        }
        out
    }

    /// Position of a lever; reports names that cannot be set.
    fn lever(&mut self, name: &Located<String>, levers: &[VarId]) -> Option<usize> {
        if let Some(&id) = self.index.get(&name.value)
            && !levers.contains(&id)
        {
            let kind = self.variables[id.ix()].kind.describe();
            let names: Vec<String> = levers.iter().map(|&l| self.name(l).to_owned()).collect();
            let message = format!("an intervention sets \"{}\", which is a {kind}", name.value);
            let help = match names.as_slice() {
                [] => "only levers can be set, and there are none".to_owned(),
                [one] => format!("only levers can be set: \"{one}\""),
                _ => format!("only levers can be set: {}", some_of(&names)),
            };
            self.push(Problem::error("not-a-lever", message).help(help).at(name.at));
            return None;
        }
        let id = self.variable(name, &[Kind::Lever], "an intervention")?;
        levers.iter().position(|&l| l == id)
    }

    fn forbid(&mut self, rule: &ForbidSpec, state: &[VarId], levers: &[VarId]) -> Option<Forbid> {
        let before = self.errors();
        if rule.levers.is_empty() {
            let problem = Problem::error("no-levers", "a rule forbids something without naming a lever");
            self.push(problem.help("add `levers = { … }`").at(rule.at));
        }
        let mut out = Forbid { when: Vec::new(), levers: Vec::new() };
        for (name, values) in &rule.when {
            let Some(name) = self.read_at(name) else { continue };
            let Some(id) = self.variable(&name, &[Kind::State], "`when` in a forbidden combination") else { continue };
            let position = state.iter().position(|&s| s == id);
            out.when.extend(position.zip(self.mask(id, &name, values)));
        }
        for (name, values) in &rule.levers {
            let Some(name) = self.read_at(name) else { continue };
            let Some(position) = self.lever(&name, levers) else { continue };
            out.levers.extend(self.mask(levers[position], &name, values).map(|mask| (position, mask)));
        }
        (self.errors() == before).then_some(out)
    }

    /// Checks that every state allows some intervention. States that agree on the rules' factors form one class.
    fn nowhere_stuck(&mut self, interventions: &Interventions, spec: &WorldSpec, state: &[VarId]) {
        let rules = interventions.forbid();
        if rules.is_empty() || matches!(interventions.lever_rule(), LeverRule::AtMost(_)) {
            return; // leaving all levers alone matches no rule
        }
        let mut factors: Vec<usize> = rules.iter().flat_map(|r| r.when.iter().map(|(f, _)| *f)).collect();
        factors.sort_unstable();
        factors.dedup();
        let ids: Vec<VarId> = factors.iter().map(|&f| state[f]).collect();
        let sizes: Vec<usize> = ids.iter().map(|&id| self.size(id)).collect();
        if super::product(sizes.iter().copied()).is_none_or(|n| n > MOST_CLASSES) {
            return;
        }
        let Some(space) = Space::new(&sizes) else { return };
        let mut known: HashMap<Vec<usize>, bool> = HashMap::new();
        for class in 0..space.len() {
            let digits = space.digits(class);
            let value = |f: usize| factors.binary_search(&f).map_or(0, |axis| digits[axis]);
            let active: Vec<usize> =
                (0..rules.len()).filter(|&r| rules[r].when.iter().all(|(f, mask)| mask[value(*f)])).collect();
            let possible = *known.entry(active).or_insert_with_key(|active| some_allowed(interventions, active));
            if !possible {
                let given = self.combination(&ids, &digits);
                let place = if given.is_empty() { "any state".to_owned() } else { format!("states with {given}") };
                let message = format!("the forbidden combinations leave no intervention in {place}");
                let at = spec.interventions.forbid.first().and_then(|f| f.at).or(spec.interventions.at);
                self.push(Problem::error("stuck", message).help("forbid less there").at(at));
                return;
            }
        }
    }
}

/// Whether some intervention matches none of these rules; `true` if the search is too expensive.
fn some_allowed(interventions: &Interventions, active: &[usize]) -> bool {
    let rules: Vec<&Vec<(usize, Vec<bool>)>> = active.iter().map(|&r| &interventions.forbid()[r].levers).collect();
    match interventions.lever_rule() {
        LeverRule::AtMost(_) => true,
        LeverRule::List(list) => list.iter().any(|&action| {
            let set = interventions.levers(action);
            !rules.iter().any(|rule| rule.iter().all(|(lever, mask)| set[*lever].is_some_and(|v| mask[v])))
        }),
        LeverRule::All => {
            let mut levers: Vec<usize> = rules.iter().flat_map(|rule| rule.iter().map(|(l, _)| *l)).collect();
            levers.sort_unstable();
            levers.dedup();
            let masks: Vec<Masks> = rules
                .iter()
                .map(|rule| {
                    let mask = |l: usize| rule.iter().find(|(lever, _)| *lever == l).map(|(_, m)| m.clone());
                    levers.iter().map(|&l| mask(l).unwrap_or_else(|| vec![true; interventions.sizes()[l]])).collect()
                })
                .collect();
            let live: Vec<usize> = (0..masks.len()).collect();
            let sizes: Vec<usize> = levers.iter().map(|&l| interventions.sizes()[l]).collect();
            search(&sizes, &masks, 0, &live, &mut MOST_STEPS.clone())
        }
    }
}

/// Sets lever by lever; `live` are the rules that still match. Succeeds as soon as none does.
fn search(sizes: &[usize], rules: &[Masks], lever: usize, live: &[usize], steps: &mut usize) -> bool {
    if live.is_empty() || *steps == 0 {
        return true;
    }
    if lever == sizes.len() {
        return false;
    }
    *steps -= 1;
    (0..sizes[lever]).any(|value| {
        let still: Vec<usize> = live.iter().copied().filter(|&r| rules[r][lever][value]).collect();
        search(sizes, rules, lever + 1, &still, steps)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_agrees_with_trying_every_intervention() {
        // Every set of up to three rules over two binary levers, each rule any pair of value sets.
        let sets = [vec![true, false], vec![false, true], vec![true, true]];
        let rules: Vec<Vec<(usize, Vec<bool>)>> = (0..9)
            .map(|i| vec![(0, sets[i / 3].clone()), (1, sets[i % 3].clone())])
            .chain((0..6).map(|i| vec![(i / 3, sets[i % 3].clone())]))
            .collect();
        for code in 0..rules.len().pow(3) {
            let chosen = [code % 15, code / 15 % 15, code / 225];
            let forbid = chosen.map(|r| Forbid { when: Vec::new(), levers: rules[r].clone() }).to_vec();
            let all = Interventions::new(vec![2, 2], LeverRule::All, forbid, vec![]).unwrap();
            let tried = (0..all.count()).any(|i| all.allows(&[], all.nth(i)));
            assert_eq!(some_allowed(&all, &[0, 1, 2]), tried, "{chosen:?}");
        }
    }
}
