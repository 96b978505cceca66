//! Terminal states in a log: a row that ends an episode need not record every next value.

use std::collections::HashMap;

use crate::Space;
use crate::learn::MISSING;
use crate::world::World;

/// The terminal states of a world, and the inferences from reaching one of them.
pub(super) struct Endings<'w> {
    space: &'w Space,
    ended: &'w [bool],
    /// By the recorded next values, and whether the row says `terminated`.
    known: HashMap<(Vec<u32>, bool), Option<Known>>,
}

/// The inference for a row with these next values.
struct Known {
    /// The value of each factor that all compatible terminal states share; `MISSING` if they differ.
    values: Vec<u32>,
    /// One compatible terminal state.
    state: usize,
}

/// A terminal state, and the unobserved factors (bits by position).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ended {
    pub(super) state: usize,
    pub(super) unseen: u64,
}

impl<'w> Endings<'w> {
    /// `None` if there are no terminal states, or more factors than fit into a word.
    pub(super) fn new(world: &'w World) -> Option<Endings<'w>> {
        let (space, ended) = (world.state_space(), world.ended()?);
        (space.n_axes() <= 64).then(|| Endings { space, ended, known: HashMap::new() })
    }

    /// The terminal state of an episode, if these next values (with `MISSING`) imply its end: the row says
    /// `terminated`, or every compatible state is terminal. Factors that differ between those states stay unobserved.
    ///
    /// # Cost
    /// O(S) for each new combination of next values.
    pub(super) fn of(&mut self, said: &[u32], before: usize, terminated: bool) -> Option<Ended> {
        let key = (said.to_vec(), terminated);
        let Endings { space, ended, known } = self;
        let known = known.entry(key).or_insert_with(|| common(space, ended, said, terminated)).as_ref()?;
        let unseen =
            known.values.iter().enumerate().filter(|(_, v)| **v == MISSING).fold(0, |bits, (i, _)| bits | 1 << i);
        // Unobserved factors keep their previous value if possible, which gives a recognisable state.
        let digit = |(i, &v): (usize, &u32)| if v == MISSING { space.digit(before, i) } else { v as usize };
        let kept: usize =
            known.values.iter().enumerate().map(digit).zip(space.strides()).map(|(v, stride)| v * stride).sum();
        Some(Ended { state: if ended[kept] { kept } else { known.state }, unseen })
    }
}

fn common(space: &Space, ended: &[bool], said: &[u32], terminated: bool) -> Option<Known> {
    let allows =
        |state: usize| said.iter().enumerate().all(|(i, &v)| v == MISSING || space.digit(state, i) == v as usize);
    let mut found: Option<Known> = None;
    for state in (0..ended.len()).filter(|&state| allows(state)) {
        match (&mut found, ended[state]) {
            (_, false) if terminated => {}
            (_, false) => return None,
            (None, true) => {
                let values = (0..said.len()).map(|i| space.digit(state, i) as u32).collect();
                found = Some(Known { values, state });
            }
            (Some(known), true) => {
                for (i, value) in known.values.iter_mut().enumerate() {
                    if *value != space.digit(state, i) as u32 {
                        *value = MISSING;
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds;

    const SHOP: &str = r#"
        dowise = 1
        horizon = 3
        ends = { when = { active = "no" } }
        [state.active]
        values = ["no", "yes"]
        [state.mood]
        values = ["low", "fair", "high"]
        [lever.x]
        values = 2
        [key.k]
        values = 2
        parents = ["x"]
        [reward.r]
        scope = ["k"]
        range = [0, 1]
    "#;

    #[test]
    fn whoever_has_left_needs_no_mood() {
        let world = World::from_toml(SHOP, "shop.toml").unwrap_or_else(|e| panic!("{e}"));
        let mut endings = Endings::new(&world).unwrap();
        // States are active · 3 + mood; before the step: active, high.
        let left = Some(Ended { state: 2, unseen: 0b10 });
        assert_eq!(endings.of(&[0, MISSING], 5, true), left);
        assert_eq!(endings.of(&[0, MISSING], 5, false), left, "the values say it themselves");
        // `terminated` alone determines the value of the only factor that ends episodes.
        assert_eq!(endings.of(&[MISSING, MISSING], 5, true), left);
        assert_eq!(endings.of(&[MISSING, MISSING], 5, false), None, "nothing says that it ended");
        assert_eq!(endings.of(&[MISSING, 1], 5, true), Some(Ended { state: 1, unseen: 0 }));
        assert_eq!(endings.of(&[1, MISSING], 5, true), None, "an end where no episode ends");
    }

    #[test]
    fn worlds_without_ends_have_none() {
        assert!(Endings::new(&worlds::world("river-swim", &[]).unwrap()).is_none());
    }
}
