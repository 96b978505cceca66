//! States and interventions in the names of their world.

use super::{Action, VarId, World};

impl World {
    /// A state in words: `mood=low rain=yes`.
    pub fn describe_state(&self, state: usize) -> String {
        let digits = self.state_space().digits(state);
        let pairs = self.state().iter().zip(digits).map(|(&id, digit)| self.in_words(id, digit));
        pairs.collect::<Vec<_>>().join(" ")
    }

    /// An intervention in words, levers left alone left out: `shoes=door call=yes`, or `nothing`.
    pub fn describe_intervention(&self, action: Action) -> String {
        let levers = self.levers().iter().enumerate();
        let set = levers.filter_map(|(i, &id)| Some(self.in_words(id, self.interventions().lever(action, i)?)));
        let set: Vec<String> = set.collect();
        if set.is_empty() { "nothing".into() } else { set.join(" ") }
    }

    fn in_words(&self, id: VarId, digit: usize) -> String {
        let variable = self.variable(id);
        format!("{}={}", variable.name, variable.values[digit])
    }
}
