//! Warnings about rewards and costs of very different sizes, which rounding or confidence widths may hide.

use super::check::Check;
use crate::messages::number_text;
use crate::world::{At, Problem, RewardForm, World, WorldSpec};

/// Ratio of a cost to the range of returns above which it is meant as a prohibition.
const PROHIBITIVE: f64 = 1e6;

/// Ratio above which two amounts are not reliably distinguished in double precision.
const FAR_APART: f64 = 1e12;

/// A reward, a cost or an end of a range, by its size.
struct Amount {
    what: String,
    size: f64,
    at: Option<At>,
}

/// Warns of costs that stand for a prohibition, or else of the largest amount if it swamps another.
pub(super) fn review(check: &mut Check, world: &World, spec: &WorldSpec) {
    if !prohibitive(check, world, spec) {
        far_apart(check, world, spec);
    }
}

fn prohibitive(check: &mut Check, world: &World, spec: &WorldSpec) -> bool {
    let [lo, hi] = world.reward_range;
    let at_stake = (hi - lo) * world.horizon as f64;
    let mut found = false;
    for variable in &spec.variables {
        for (value, cost) in &variable.costs {
            let amount = *cost.value.valid();
            if at_stake > 0.0 && amount > PROHIBITIVE * at_stake {
                let name = &variable.name.value;
                let message = format!(
                    "the cost {} of {name} = \"{}\" is more than a million times what an episode can pay ({})",
                    number_text(amount),
                    value.value.valid(),
                    number_text(at_stake)
                );
                let help = "if it is never to be set, forbid it with [[interventions.forbid]]: learners take the range of \
                            rewards and costs for the scale of what can be lost";
                check.push(Problem::warning("badly-scaled", message).help(help).at(cost.at));
                found = true;
            }
        }
    }
    found
}

fn far_apart(check: &mut Check, world: &World, spec: &WorldSpec) {
    let mut amounts = Vec::new();
    for (term, said) in world.rewards.iter().zip(&spec.rewards) {
        let name = format!("reward \"{}\"", term.name);
        // Sums of effects may leave rounding residues that are not in the file.
        let least_too = !matches!(said.form, RewardForm::Sum { .. });
        let entries = term.table.iter().flat_map(|table| table.iter().copied()).chain(term.range);
        add_extremes(&mut amounts, &name, entries, least_too, said.at.or(said.name.at));
    }
    if let Some(range) = &spec.reward_range {
        add_extremes(&mut amounts, "the range of the rewards", range.value.valid().iter().copied(), true, range.at);
    }
    for variable in &spec.variables {
        for (value, cost) in &variable.costs {
            let name = format!("the cost of {} = \"{}\"", variable.name.value, value.value.valid());
            add_extremes(&mut amounts, &name, [*cost.value.valid()].into_iter(), true, cost.at);
        }
    }
    let by_size = |a: &&Amount, b: &&Amount| a.size.total_cmp(&b.size);
    let (Some(most), Some(least)) = (amounts.iter().max_by(by_size), amounts.iter().min_by(by_size)) else { return };
    if most.size > FAR_APART * least.size {
        let message = format!(
            "{} ({}) is more than 10^12 times {} ({}): rounding of the one can hide the other",
            most.what,
            number_text(most.size),
            least.what,
            number_text(least.size)
        );
        let help = "leave out what is too small to matter, or forbid what is out of the question";
        check.push(Problem::warning("badly-scaled", message).help(help).at(most.at));
    }
}

/// Adds the largest and optionally the smallest absolute value of nonzero numbers.
fn add_extremes(
    amounts: &mut Vec<Amount>,
    what: &str,
    numbers: impl Iterator<Item = f64>,
    least_too: bool,
    at: Option<At>,
) {
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    for size in numbers.map(f64::abs).filter(|size| *size > 0.0) {
        (least, most) = (least.min(size), most.max(size));
    }
    if most > 0.0 {
        amounts.push(Amount { what: what.to_owned(), size: most, at });
    }
    if least_too && least < most {
        amounts.push(Amount { what: what.to_owned(), size: least, at });
    }
}
