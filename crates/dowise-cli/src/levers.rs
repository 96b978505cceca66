//! What a policy does to each lever: the same at every stage and state, or not.

use dowise::{Action, World};

/// Which levers are always treated alike.
pub(crate) struct LeverUse {
    /// "lever = value" or "lever left alone", for levers that are the same at every stage and state.
    pub(crate) always: Vec<String>,
    /// Positions of the others.
    pub(crate) varying: Vec<usize>,
}

impl LeverUse {
    /// Of a policy, `[stage][state]`.
    pub(crate) fn of(world: &World, policy_hs: &[Action]) -> LeverUse {
        let mut levers = LeverUse { always: vec![], varying: vec![] };
        for (i, &id) in world.levers().iter().enumerate() {
            let at = |a| world.interventions().lever(a, i);
            let first = policy_hs.first().map(|&a| at(a));
            if policy_hs.iter().all(|&a| Some(at(a)) == first) {
                let name = &world.variable(id).name;
                levers.always.push(match first.flatten() {
                    Some(v) => format!("{name} = {}", world.variable(id).values[v]),
                    None => format!("{name} left alone"),
                });
            } else {
                levers.varying.push(i);
            }
        }
        levers
    }

    /// What is the same everywhere, as a sentence; nothing if nothing is.
    pub(crate) fn sentence(&self) -> Option<String> {
        (!self.always.is_empty()).then(|| format!("At every stage and state: {}.", self.always.join(", ")))
    }

    /// What an intervention does to the others: `shoes=door call=yes`, or a dash.
    pub(crate) fn rest(&self, world: &World, action: Action) -> String {
        let set = self.varying.iter().filter_map(|&i| {
            let (lever, value) = (world.variable(world.levers()[i]), world.interventions().lever(action, i)?);
            Some(format!("{}={}", lever.name, lever.values[value]))
        });
        let set: Vec<String> = set.collect();
        if set.is_empty() { "–".to_owned() } else { set.join(" ") }
    }
}
