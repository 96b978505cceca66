//! Rules on shares: how often a lever is set to a value, at least and at most.
//!
//! A rule acts on a share of the decisions, drawn by a keyed hash: it rules the value out in 1 − most of them and asks for it in `least` of
//! them. So its share is kept in every state, on average over the draws, without a counter that a replay would depend on, and the
//! probability of a decision stays exact.

use dowise::Action;
use dowise::world::{Forbid, LeverRule, World};

use crate::decide::allows;
use crate::served::Served;

/// Rules of a world at most: their ways to act are multiplied.
pub const MOST_SHARES: usize = 4;

/// A rule, by numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Position of the lever.
    pub lever: usize,
    /// Value.
    pub value: usize,
    /// Share of decisions that have it at least.
    pub least: f64,
    /// Share of decisions that have it at most.
    pub most: f64,
}

impl Share {
    /// Reads `lever=value:least..most`; either end may be left out.
    pub fn read(world: &World, text: &str) -> Result<Share, String> {
        let wrong = || {
            format!("\"{text}\" is no rule on a share; it looks like mail=yes:0.1..0.5, and either end may be left out")
        };
        let (what, range) = text.rsplit_once(':').ok_or_else(wrong)?;
        let (name, value) = what.split_once('=').ok_or_else(wrong)?;
        let (least, most) = range.split_once("..").ok_or_else(wrong)?;
        let number = |text: &str, left_out: f64| match text.trim() {
            "" => Ok(left_out),
            given => given.parse::<f64>().ok().filter(|p| (0.0..=1.0).contains(p)).ok_or_else(wrong),
        };
        let (least, most) = (number(least, 0.0)?, number(most, 1.0)?);
        if least > most {
            return Err(format!("\"{text}\": the least share {least} is more than the most {most}"));
        }
        let name = name.trim();
        let lever = world.levers().iter().position(|&id| world.variable(id).name == name);
        let lever = lever.ok_or_else(|| {
            let names: Vec<&str> = world.levers().iter().map(|&id| world.variable(id).name.as_str()).collect();
            format!("\"{text}\": there is no lever \"{name}\"; there are {}", names.join(", "))
        })?;
        let values = &world.variable(world.levers()[lever]).values;
        let value = value.trim();
        let value = values.iter().position(|v| v == value);
        let value = value.ok_or_else(|| format!("\"{text}\": {name} has the values {}", values.join(", ")))?;
        Ok(Share { lever, value, least, most })
    }

    /// The combination that is ruled out where the rule does so.
    pub(crate) fn rule(&self, served: &Served) -> Forbid {
        let mut values = vec![false; served.world.interventions().sizes()[self.lever]];
        values[self.value] = true;
        Forbid { when: Vec::new(), levers: vec![(self.lever, values)] }
    }

    /// What is done in place of an intervention where the rule asks for its value: the same with this lever set, if need be with
    /// another one left alone. `None` if nothing such is allowed.
    pub(crate) fn asked_for(&self, served: &Served, state: usize, action: Action, forbid: &[Forbid]) -> Option<Action> {
        let all = served.world.interventions();
        let digits = served.world.state_space().digits(state);
        let fits = |levers: &[Option<usize>]| {
            let action = all.action(levers);
            (all.rank(action).is_some() && all.allows(&digits, action) && allows(served, forbid, action))
                .then_some(action)
        };
        let mut levers = all.levers(action);
        levers[self.lever] = Some(self.value);
        let leave_alone = |other: usize| {
            let mut fewer = levers.clone();
            fewer[other] = None;
            fits(&fewer)
        };
        match all.lever_rule() {
            LeverRule::All => fits(&levers),
            LeverRule::AtMost(_) | LeverRule::List(_) => {
                fits(&levers).or_else(|| (0..levers.len()).filter(|&o| o != self.lever).find_map(leave_alone))
            }
        }
    }
}
