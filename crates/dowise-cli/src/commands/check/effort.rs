//! What planning and learning in a world take: interventions looked at, and memory, before anything is run.

use dowise::kernel::Kernel;
use dowise::{Arena, Knowledge, Learner, Planner, Preset, World};
use serde::Serialize;

use crate::table::{self, Align};

/// What it takes.
#[derive(Serialize)]
pub(super) struct Effort {
    /// Bytes of one exact plan, at most.
    plan_bytes: u128,
    /// Bytes that evaluating policies by it takes at most besides.
    evaluation_bytes: u128,
    /// Of all interventions, how many combinations of kept settings are left after pruning, in the state with most;
    /// `None` if a mechanism is not known.
    left: Option<u64>,
    /// Groups of levers and key variables that can be treated alone.
    groups: Option<usize>,
    /// Whether all states can be enumerated, as plans and learners that count need.
    listed: bool,
    learners: Vec<LearnerBytes>,
}

#[derive(Serialize)]
struct LearnerBytes {
    learner: &'static str,
    bytes: u128,
}

impl Effort {
    pub(super) fn of(world: &World) -> Effort {
        // Where states cannot be enumerated, nothing is looked at in each of them.
        let kernel = if world.is_enumerable() { Kernel::new(world).ok() } else { None };
        let left = kernel.as_ref().map(|kernel| {
            let of_state = |s| kernel.candidates(s).iter().fold(1u64, |n, &k| n.saturating_mul(k as u64));
            (0..world.n_states()).map(of_state).max().unwrap_or(0)
        });
        let knowledge = Knowledge::of(world);
        let families = ["ucbvi", "f-ucbvi", "c-ucbvi", "cf-ucbvi", "graph-ucbvi"];
        let presets = Preset::all().iter().filter(|p| families.contains(&p.name()));
        Effort {
            plan_bytes: Planner::bytes(world),
            evaluation_bytes: if world.is_enumerable() { Arena::run_bytes(world) } else { 0 },
            left,
            groups: kernel.as_ref().map(|k| k.n_groups()),
            listed: world.is_enumerable(),
            learners: presets
                .map(|p| LearnerBytes { learner: p.name(), bytes: Learner::bytes(&knowledge, &p.options(1, 0)) })
                .collect(),
        }
    }

    pub(super) fn text(&self, interventions: u64) -> String {
        if !self.listed {
            return table::wrapped(
                "The states are too many to enumerate, so there is no exact plan, and nobody can count by them: `dowise learn` learns from the states that it \
                 meets (c-blsvi) and is evaluated by Monte Carlo.",
            ) + "\n";
        }
        let (plan, evaluation) = (bytes(self.plan_bytes), bytes(self.evaluation_bytes));
        let mut text = format!("An exact plan takes at most {plan}, evaluating policies by it {evaluation} more.");
        if let (Some(left), Some(groups)) = (self.left, self.groups) {
            text += &format!(
                " Of {} interventions {} are left to choose from in any state: the levers fall into {} that can be \
                 treated alone, and of each only settings that can be best for some values are kept.",
                table::count(interventions),
                table::count(left),
                if groups == 1 { "1 group".to_owned() } else { format!("{groups} groups") }
            );
        }
        let rows: Vec<Vec<String>> = self.learners.iter().map(|l| vec![l.learner.to_owned(), bytes(l.bytes)]).collect();
        format!(
            "{}\n{}",
            table::wrapped(&text),
            table::table(&["learner", "memory, at most"], &rows, &[Align::Left, Align::Right])
        )
    }
}

/// A number of bytes for people.
fn bytes(n: u128) -> String {
    const PETABYTE: f64 = 1e15;
    if n as f64 >= 999.5 * PETABYTE {
        return format!("{:.0e} PB", n as f64 / PETABYTE).replace("e", "·10^"); // digits would say nothing more
    }
    let units = ["bytes", "kB", "MB", "GB", "TB", "PB"];
    let mut size = n as f64;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < units.len() {
        size /= 1000.0;
        unit += 1;
    }
    if unit == 0 || size >= 99.5 { format!("{size:.0} {}", units[unit]) } else { format!("{size:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_can_be_read_however_large_they_are() {
        assert_eq!(bytes(999), "999 bytes");
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(bytes(999_400_000_000_000_000), "999 PB");
        assert_eq!(bytes(12_345_678_901_234_567_890_123), "1·10^7 PB");
    }
}
