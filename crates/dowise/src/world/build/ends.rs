//! Validates the discount factor and terminal states.

use super::check::Check;
use crate::Space;
use crate::messages::number_text;
use crate::world::{EndSpec, Ends, Number, Problem, VarId};

impl Check {
    /// The discount factor, 1 by default.
    pub(crate) fn discount(&mut self, discount: Option<&Number>) -> Option<f64> {
        let Some(discount) = discount else { return Some(1.0) };
        let discount = self.read_at(discount)?;
        if discount.value > 0.0 && discount.value <= 1.0 {
            return Some(discount.value);
        }
        let message = format!("the discount is {}", number_text(discount.value));
        let help = "write a number above 0 and at most 1: what a reward one step later is worth beside one now";
        self.push(Problem::error("discount", message).help(help).at(discount.at));
        None
    }

    /// The terminal states; the inner `None` if there are none.
    pub(crate) fn ends(&mut self, specs: &[EndSpec], state: &[VarId], space: &Space) -> Option<Option<Ends>> {
        if specs.is_empty() {
            return Some(None);
        }
        let before = self.errors();
        let mut states = vec![false; space.len()];
        for spec in specs {
            let Some(rule) = self.rule(&spec.when, state, "state factors of the world") else { continue };
            let mut any = false;
            rule.each(space, |s| {
                states[s] = true;
                any = true;
            });
            if !any {
                let help = "it names no state; change the condition or take it out";
                self.push(Problem::warning("ends", "this never ends an episode").help(help).at(spec.at));
            }
        }
        if self.errors() == before && states.iter().all(|&ended| ended) {
            let help = "leave some state in which it has not ended";
            let at = specs.first().and_then(|s| s.at);
            self.push(Problem::error("ends", "an episode has ended in every state").help(help).at(at));
        }
        if self.errors() > before {
            return None;
        }
        let ends = Ends { conditions: specs.iter().map(|s| s.when.clone()).collect(), states: states.into() };
        Some(ends.states.contains(&true).then_some(ends))
    }
}
