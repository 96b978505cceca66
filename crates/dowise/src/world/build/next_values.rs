//! Next values in the scopes of rewards: `next.x` is a temporary variable while rewards are compiled.

use super::check::Check;
use crate::Space;
use crate::world::{Kind, Problem, RewardSpec, VarId, Variable, World};

impl Check {
    /// Declares `next.x` for every state factor x without a name clash; returns the number of real variables.
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
            // A real variable of that name has precedence; the index is still used, so that numbering stays aligned.
            if self.variables.len() < usize::from(u16::MAX) {
                self.index.entry(next.name.clone()).or_insert(VarId(self.variables.len() as u16));
            }
            self.variables.push(next);
            self.places.push(at);
        }
        real
    }

    /// The remedy for a name that looks like a next value but is none here.
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

    /// Removes them again.
    pub(crate) fn forget_next_values(&mut self, real: usize) {
        self.index.retain(|_, id| id.ix() < real);
        self.open.retain(|id| id.ix() < real);
        self.kindless.retain(|id| id.ix() < real);
        self.stand_ins.retain(|id, _| id.ix() < real);
        self.variables.truncate(real);
        self.places.truncate(real);
    }

    /// Checks that terms of present and next values have an expectation that can be tabulated.
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

/// Reorders a scope and its table: present values first, then next values.
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
