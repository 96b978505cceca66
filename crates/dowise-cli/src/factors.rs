//! Which state factors a table of states has to show: not the stage, which stands beside, and not what is the same in every row.

use dowise::World;

/// How the state factors of some states are shown.
pub(crate) struct FactorUse {
    /// "factor = value", for factors that have one value in all of them.
    always: Vec<String>,
    /// Positions of the others.
    pub(crate) varying: Vec<usize>,
}

impl FactorUse {
    /// Of the states that are shown. Where none differs from the others, all factors are shown but the time index.
    pub(crate) fn of(world: &World, states: &[usize]) -> FactorUse {
        let (mut always, mut varying) = (Vec::new(), Vec::new());
        let shown: Vec<usize> =
            (0..world.state().len()).filter(|&i| world.time_index() != Some(world.state()[i])).collect();
        for &i in &shown {
            let value = |s: &usize| world.state_space().digit(*s, i);
            let first = states.first().map(value);
            if states.iter().all(|s| Some(value(s)) == first) {
                let variable = world.variable(world.state()[i]);
                always.extend(first.map(|v| format!("{} = {}", variable.name, variable.values[v])));
            } else {
                varying.push(i);
            }
        }
        match varying.is_empty() {
            true => FactorUse { always: Vec::new(), varying: shown },
            false => FactorUse { always, varying },
        }
    }

    /// What is the same in all of them, as a sentence; nothing if nothing is.
    pub(crate) fn sentence(&self) -> Option<String> {
        (!self.always.is_empty()).then(|| format!("In every state shown: {}.", self.always.join(", ")))
    }

    /// The rest of a state in words: `loyalty=new purse=modest`, or a dash.
    pub(crate) fn rest(&self, world: &World, state: usize) -> String {
        let names = world.state_names(state);
        let rest: Vec<String> = self.varying.iter().map(|&i| format!("{}={}", names[i].0, names[i].1)).collect();
        if rest.is_empty() { "–".to_owned() } else { rest.join(" ") }
    }
}
