//! Non-stationary simulation: a sequence of worlds with one structure; each episode is evaluated in its own world.

use super::arena::{Arena, ArenaError};
use crate::learn::Agent;
use crate::simulate::{Episode, Run};
use crate::world::World;

/// Why worlds cannot be simulated in sequence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ChangingError {
    /// One of them cannot be simulated and evaluated.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// There is no world, or each has zero episodes.
    #[error("a world that changes needs at least one world, played for at least one episode")]
    Nothing,
    /// Their structures differ.
    #[error(
        "world {number} differs from the first in {what}; worlds that follow each other differ in their numbers alone"
    )]
    OtherStructure {
        /// Its position, from 1.
        number: usize,
        /// The difference.
        what: &'static str,
    },
}

/// Worlds of one structure, simulated in sequence for equally many episodes each; the last one stays.
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
    /// Prepares worlds, each for `every` episodes.
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

    /// A run from its first episode on, a function of the seed.
    pub fn run(&self, seed: u64) -> ChangingRun<'_> {
        ChangingRun { of: self, seed, run: self.arenas[0].run(seed), episode: 0 }
    }
}

/// Runs episodes in a non-stationary world.
#[derive(Clone, Debug)]
pub struct ChangingRun<'a> {
    of: &'a Changing,
    seed: u64,
    run: Run<'a>,
    episode: u64,
}

impl ChangingRun<'_> {
    /// Runs one episode in its current world, and evaluates the policy in that world.
    pub fn episode(&mut self, agent: &mut (impl Agent + ?Sized)) -> Episode {
        self.episode += 1;
        let now = self.of.at(self.episode);
        if !std::ptr::eq(now, self.of.at(self.episode - 1)) {
            let position = self.run.position();
            // Random streams continue where they were.
            self.run = now.run(self.seed);
            self.run.go_on(position);
        }
        self.run.episode(agent)
    }
}

/// The structural difference between two worlds.
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
