//! A world that changes: worlds of one structure, one after the other, each episode evaluated by the world of its time.

use super::arena::{Arena, ArenaError};
use crate::learn::Agent;
use crate::simulate::{Episode, Run};
use crate::world::World;

/// Why worlds cannot be played one after the other.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangingError {
    /// One of them cannot be played and evaluated.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// There is none, or each is played for no episode.
    #[error("a world that changes needs at least one world, played for at least one episode")]
    Nothing,
    /// They are not of one structure.
    #[error(
        "world {number} differs from the first in {what}; worlds that follow each other differ in their numbers alone"
    )]
    OtherStructure {
        /// Its position, from 1.
        number: usize,
        /// In what it differs.
        what: &'static str,
    },
}

/// Worlds of one structure, ready to be played one after the other, each for as many episodes; the last one stays.
///
/// ```
/// use dowise::simulate::Changing;
/// use dowise::worlds::Redrawn;
/// use dowise::{Knowledge, Learner, LearnerSpec, worlds};
/// let first = worlds::world("paper", &[])?;
/// let second = Redrawn { share: 0.5, seed: 1, ..Redrawn::default() }.of(&first);
/// let changing = Changing::new(&[first.clone(), second], 200)?;
/// let options = "cf-psrl:forget=reset".parse::<LearnerSpec>()?.options(400, 1);
/// let mut learner = Learner::new(&Knowledge::of(&first), options)?;
/// let mut run = changing.run(1);
/// let regret: f64 = (0..400).map(|_| run.episode(&mut learner).regret).sum();
/// assert!(regret > 0.0 && learner.n_changes() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Changing {
    arenas: Vec<Arena>,
    every: u64,
}

impl Changing {
    /// Makes worlds ready, each for `every` episodes.
    pub fn new(worlds: &[World], every: u64) -> Result<Changing, ChangingError> {
        let Some(first) = worlds.first().filter(|_| every > 0) else { return Err(ChangingError::Nothing) };
        for (i, world) in worlds.iter().enumerate() {
            if let Some(what) = difference(first, world) {
                return Err(ChangingError::OtherStructure { number: i + 1, what });
            }
        }
        let arenas = worlds.iter().map(Arena::new).collect::<Result<_, _>>()?;
        Ok(Changing { arenas, every })
    }

    /// The worlds, in order.
    pub fn arenas(&self) -> &[Arena] {
        &self.arenas
    }

    /// The world of an episode, from 1.
    pub fn at(&self, episode: u64) -> &Arena {
        let place = episode.saturating_sub(1) / self.every;
        &self.arenas[usize::try_from(place).map_or(self.arenas.len() - 1, |i| i.min(self.arenas.len() - 1))]
    }

    /// A run from its first episode on; everything that happens in it is a function of the seed.
    pub fn run(&self, seed: u64) -> ChangingRun<'_> {
        ChangingRun { of: self, seed, run: self.arenas[0].run(seed), episode: 0 }
    }
}

/// Plays episodes in a world that changes.
#[derive(Clone, Debug)]
pub struct ChangingRun<'a> {
    of: &'a Changing,
    seed: u64,
    run: Run<'a>,
    episode: u64,
}

impl ChangingRun<'_> {
    /// Plays one episode in the world of its time, and evaluators the policy that was followed by that world.
    pub fn episode(&mut self, agent: &mut (impl Agent + ?Sized)) -> Episode {
        self.episode += 1;
        let now = self.of.at(self.episode);
        if !std::ptr::eq(now, self.of.at(self.episode - 1)) {
            let position = self.run.position();
            // Streams of random numbers go on where they were.
            self.run = now.run(self.seed);
            self.run.go_on(position);
        }
        self.run.episode(agent)
    }
}

/// In what the structure of two worlds differs.
fn difference(a: &World, b: &World) -> Option<&'static str> {
    let arrows = |w: &World| -> Vec<_> {
        w.transitions().iter().chain(w.mechanisms()).map(|m| (m.children.clone(), m.parents.clone())).collect()
    };
    let paid = |w: &World| w.rewards().iter().map(|r| (r.name.clone(), r.scope.clone(), r.range)).collect::<Vec<_>>();
    let same = [
        ("its variables", a.variables() == b.variables()),
        ("its interventions", a.interventions() == b.interventions()),
        ("its horizon", a.horizon() == b.horizon()),
        ("its graph", arrows(a) == arrows(b)),
        ("its rewards", paid(a) == paid(b)),
    ];
    same.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
}
