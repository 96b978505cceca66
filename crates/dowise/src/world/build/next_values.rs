//! Next values in the scopes of rewards: `next.x` is a variable of its own while rewards are compiled.

use super::check::Check;
use crate::Space;
use crate::world::{Kind, Problem, RewardSpec, VarId, Variable, World};

impl Check {
    /// Enters `next.x` for every state factor x that no variable is called like; gives the number of real variables.
    pub(crate) fn enter_next_values(&mut self, state: &[VarId]) -> usize {
        let real = self.variables.len();
        for &id in state {
            let of = &self.variables[id.ix()];
            let next_id = VarId(self.variables.len().min(usize::from(u16::MAX)) as u16);
            for set in [&mut self.open, &mut self.kindless] {
                if set.contains(&id) {
                    set.insert(next_id);
                }
            }
            let next = Variable { name: format!("next.{}", of.name), ..of.clone() };
            let at = self.places[id.ix()];
            // A real variable of that name is meant first; its place is taken all the same, so that numbers stay in step.
            if self.variables.len() < usize::from(u16::MAX) {
                self.index.entry(next.name.clone()).or_insert(VarId(self.variables.len() as u16));
            }
            self.variables.push(next);
            self.places.push(at);
        }
        real
    }

    /// What to do about a name that looks like a next value and is none here.
    pub(super) fn no_next_value(&self, name: &str) -> Option<String> {
        let of = name.strip_prefix("next.")?;
        let kind = self.variables[self.index.get(of)?.ix()].kind;
        Some(match kind {
            Kind::State => "next values may stand in the scopes of rewards alone".to_owned(),
            Kind::Lever | Kind::Key | Kind::Hidden => {
                format!("only state factors have next values, and \"{of}\" is a {}", kind.describe())
            }
        })
    }

    /// Takes them out again.
    pub(crate) fn forget_next_values(&mut self, real: usize) {
        self.index.retain(|_, id| id.ix() < real);
        self.open.retain(|id| id.ix() < real);
        self.kindless.retain(|id| id.ix() < real);
        self.stand_ins.retain(|id| id.ix() < real);
        self.variables.truncate(real);
        self.places.truncate(real);
    }

    /// Terms on next values and on the present together must have an expected value over both that can be tabulated.
    pub(crate) fn next_terms(&mut self, world: &World, specs: &[RewardSpec]) {
        for (term, spec) in world.rewards.iter().zip(specs) {
            if !term.next.is_empty() && !term.pays_on_next_state() {
                let what = format!("the expected value of reward \"{}\" over next values", term.name);
                let scope = world.expected_scope(term);
                let space = self.table_space(&what, &scope, 1, "shorten its `scope`", spec.at);
                space.and_then(|space| self.reserve(&what, space.len(), spec.at));
            }
        }
        if let Some(id) = world.variables.iter().find(|v| v.name.starts_with("next.")) {
            let message = format!("\"{}\" is called like a next value", id.name);
            let help = "in scopes of rewards the variable is meant; call it otherwise to avoid confusion";
            self.push(Problem::warning("reserved", message).help(help));
        }
    }
}

/// A scope with next values in any order, and its table: the present first, then the next values.
pub(super) fn present_first(
    scope: &[VarId],
    space: &Space,
    table: Option<Vec<f64>>,
    real: usize,
    state: &[VarId],
) -> (Vec<VarId>, Vec<VarId>, Option<Vec<f64>>) {
    let (present, next): (Vec<usize>, Vec<usize>) = (0..scope.len()).partition(|&axis| scope[axis].ix() < real);
    let ids = |axes: &[usize]| axes.iter().map(|&a| scope[a]).collect::<Vec<_>>();
    if next.is_empty() {
        return (scope.to_vec(), Vec::new(), table);
    }
    let order: Vec<usize> = present.iter().chain(&next).copied().collect();
    let table = table.map(|table| {
        let sizes: Vec<usize> = order.iter().map(|&a| space.sizes()[a]).collect();
        let to = Space::new(&sizes).expect("invariant: as many as before");
        let at =
            |i: usize| order.iter().enumerate().map(|(axis, &a)| to.digit(i, axis) * space.strides()[a]).sum::<usize>();
        (0..to.len()).map(|i| table[at(i)]).collect()
    });
    let next = next.iter().map(|&a| state[scope[a].ix() - real]).collect();
    (ids(&present), next, table)
}
