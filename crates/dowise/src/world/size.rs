//! Memory of a copy of a world: lists and names, without shared tables.

use super::{Interventions, LearnedForm, LeverRule, Mechanism, Start, VarId, Variable, World};

/// Bytes of a list of numbers or ids.
fn list<T>(of: &[T]) -> usize {
    size_of_val(of)
}

/// Bytes of a list of lists.
fn lists<T>(of: &[Vec<T>]) -> usize {
    list(of) + of.iter().map(|inner| list(inner)).sum::<usize>()
}

impl World {
    /// Bytes of one copy. Tables of mechanisms and rewards are shared between copies and do not count.
    pub(crate) fn copy_bytes(&self) -> u128 {
        let of_variable = |v: &Variable| {
            size_of::<Variable>() + v.name.len() + v.values.iter().map(|v| size_of::<String>() + v.len()).sum::<usize>()
        };
        let of_mechanism = |m: &Mechanism| {
            let ids = list::<VarId>(&m.children) + list::<VarId>(&m.parents);
            let form = match &m.assumed.form {
                LearnedForm::Logit { interactions } => lists(interactions),
                LearnedForm::Table | LearnedForm::NoisyOr => 0,
            };
            size_of::<Mechanism>() + ids + form
        };
        let mechanisms = self.transitions.iter().chain(&self.mechanisms).chain(&self.behaviour_mechanisms);
        let rewards = self.rewards.iter().map(|r| size_of_val(r) + r.name.len() + list(&r.scope) + list(&r.next));
        let start = match &self.start {
            Start::Product(factors) => lists(factors),
            Start::States(states) => list(states),
        };
        let text = self.sources.iter().map(|source| size_of_val(source) + source.name.len() + source.text.len());
        let total = size_of::<World>()
            + self.name.len()
            + self.about.len()
            + self.variables.iter().map(of_variable).sum::<usize>()
            + list::<VarId>(&self.state)
            + list(&self.levers)
            + list(&self.keys)
            + list(&self.hidden)
            + mechanisms.map(of_mechanism).sum::<usize>()
            + rewards.sum::<usize>()
            + start
            + 2 * list(self.state_space.sizes())
            + text.sum::<usize>()
            + 256 * self.findings.len();
        total as u128 + self.interventions.copy_bytes()
    }
}

impl Interventions {
    /// Bytes of one copy; every kernel has one.
    pub(crate) fn copy_bytes(&self) -> u128 {
        let listed = match self.lever_rule() {
            LeverRule::List(actions) => list(actions),
            LeverRule::All | LeverRule::AtMost(_) => 0,
        };
        let conditions =
            |of: &[(usize, Vec<bool>)]| list(of) + of.iter().map(|(_, values)| values.len()).sum::<usize>();
        let forbid =
            self.forbid().iter().map(|rule| size_of_val(rule) + conditions(&rule.when) + conditions(&rule.levers));
        // Sizes and place values of the levers, and the table of counts.
        let n = self.n_levers();
        let most = match self.lever_rule() {
            LeverRule::AtMost(most) => n.min(*most),
            LeverRule::All | LeverRule::List(_) => n,
        };
        let ways = (n + 1) * (size_of::<Vec<u64>>() + 8 * (most + 1));
        (16 * n + listed + forbid.sum::<usize>() + lists(self.costs()) + ways) as u128
    }
}
