//! Ways to say the same world differently.

use dowise::world::{Form, Kind, Name, RewardForm, SetSpec, WorldSpec};

use super::random_world::size;

/// Adds a value to a variable that behaves exactly like an old one: in every table that depends on the variable its
/// rows are repeated, and where the variable is decided the new value takes `share` of the old one's probability.
pub fn repeat_value(spec: &mut WorldSpec, name: &str, old: usize, share: f64) {
    let text = |name: &Name| name.value.get().expect("readable").clone();
    let sizes = |spec: &WorldSpec, names: &[Name]| -> Vec<usize> {
        names.iter().map(|n| size(&spec.variables, &text(n))).collect()
    };
    for i in 0..spec.mechanisms.len() + spec.transitions.len() {
        let is_transition = i >= spec.mechanisms.len();
        let m = if is_transition { &spec.transitions[i - spec.mechanisms.len()] } else { &spec.mechanisms[i] };
        let Form::Table(mut table) = m.form.clone() else { panic!("a table") };
        let mut axes: Vec<(String, bool)> = m.parents.iter().map(|n| (text(n), false)).collect();
        axes.extend(m.children.iter().map(|n| (text(n), true)));
        let mut lens = sizes(spec, &[&m.parents[..], &m.children[..]].concat());
        for (axis, (variable, is_child)) in axes.iter().enumerate() {
            if variable == name {
                table = repeat_axis(&table, &lens, axis, old, is_child.then_some(share));
                lens[axis] += 1;
            }
        }
        let place = spec.mechanisms.len();
        let m = if is_transition { &mut spec.transitions[i - place] } else { &mut spec.mechanisms[i] };
        m.form = Form::Table(table);
    }
    for i in 0..spec.rewards.len() {
        let RewardForm::Table(mut table) = spec.rewards[i].form.clone() else { panic!("a table") };
        let lens = sizes(spec, &spec.rewards[i].scope);
        if let Some(axis) = spec.rewards[i].scope.iter().position(|n| n.value == name) {
            table = repeat_axis(&table, &lens, axis, old, None);
        }
        spec.rewards[i].form = RewardForm::Table(table);
    }
    let variable = spec.variables.iter_mut().find(|v| v.name.value == name).expect("a variable");
    let word = text(&variable.values[old]);
    let new = format!("{word}_again");
    variable.values.push(new.as_str().into());
    if let Some((_, cost)) = variable.costs.iter().find(|(v, _)| v.value == word).cloned() {
        variable.costs.push((new.as_str().into(), cost));
    }
    let kind = variable.kind;
    for rule in &mut spec.interventions.forbid {
        for (n, values) in rule.levers.iter_mut().chain(&mut rule.when) {
            if n.value == name && values.iter().any(|v| v.value == word) {
                values.push(new.as_str().into());
            }
        }
    }
    if let (SetSpec::List(entries), true) = (&mut spec.interventions.set, kind == Kind::Lever) {
        let mut more = entries.clone();
        more.iter_mut()
            .flatten()
            .filter(|(n, v)| n.value == name && v.value == word)
            .for_each(|(_, v)| *v = new.as_str().into());
        more.retain(|entry| entry.iter().any(|(_, v)| v.value == new));
        entries.extend(more);
    }
}

/// One more value along an axis, equal to an old one; with a share, split from it instead of repeated.
fn repeat_axis(table: &[f64], lens: &[usize], axis: usize, old: usize, share: Option<f64>) -> Vec<f64> {
    let inner: usize = lens[axis + 1..].iter().product();
    let mut out = Vec::new();
    for block in table.chunks_exact(lens[axis] * inner) {
        let of_old = &block[old * inner..(old + 1) * inner];
        let left = 1.0 - share.unwrap_or(0.0);
        out.extend(block.iter().enumerate().map(|(i, &x)| if i / inner == old { x * left } else { x }));
        out.extend(of_old.iter().map(|x| x * share.unwrap_or(1.0)));
    }
    out
}

/// Every reward and cost times a number.
pub fn scale_rewards(spec: &mut WorldSpec, by: f64) {
    for reward in &mut spec.rewards {
        if let RewardForm::Table(table) = &mut reward.form {
            table.iter_mut().for_each(|x| *x *= by);
        }
    }
    spec.variables
        .iter_mut()
        .flat_map(|v| &mut v.costs)
        .for_each(|(_, cost)| cost.value = cost.value.map(|cost| cost * by));
}
