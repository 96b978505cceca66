//! Interval bounds on the distributions of a single group, with the optimistic or pessimistic member for given losses.

use super::bounds::{Member, RowBounds};
use super::groups::GroupShape;
use super::lever_values::LeverValues;
use super::tabulate::{patterns, tabulate};
use crate::Space;
use crate::world::World;

/// The least and the greatest probability of all joint key values, `[row][cause][setting]`.
#[derive(Clone, Debug)]
pub(crate) struct Boxes {
    lo: Vec<f64>,
    hi: Vec<f64>,
    n_causes: usize,
    n_settings: usize,
    member: Member,
}

impl Boxes {
    /// `None` unless a setting fixes all parents and a single mechanism determines the joint key values.
    pub(super) fn new(
        world: &World,
        shape: &GroupShape,
        bounds: &[Option<RowBounds>],
        (state_space, cause_space): (&Space, &Space),
        lever_values: &LeverValues,
        member: Member,
    ) -> Option<Boxes> {
        let &[m] = &shape.mechanisms[..] else { return None };
        let RowBounds { lo, hi } = bounds[m].as_ref()?;
        let mechanism = &world.mechanisms()[m];
        let all_set = patterns(lever_values).iter().all(|p| p.is_set.count_ones() as usize == shape.levers.len());
        let is_fixed = |id| world.state().contains(id) || world.levers().contains(id);
        let mut children = mechanism.children.iter();
        let direct = children.len() == shape.causes.len() && children.all(|id| shape.causes.contains(id));
        if !all_set || !direct || !mechanism.parents.iter().all(is_fixed) {
            return None;
        }
        // Nothing is marginalised, so interval ends are rearranged like probabilities.
        let in_cells = |end: &[f64]| {
            let mut tables = vec![None; world.mechanisms().len()];
            tables[m] = Some(end);
            tabulate(world, shape, &tables, state_space, cause_space, lever_values).ok()
        };
        let (n_causes, n_settings) = (cause_space.len(), lever_values.len());
        Some(Boxes { lo: in_cells(lo)?, hi: in_cells(hi)?, n_causes, n_settings, member })
    }

    /// The intervals of one setting in one row.
    pub(super) fn only(&self, row: usize, setting: usize) -> Boxes {
        let one = |of: &[f64]| (0..self.n_causes).map(|c| of[self.at(row, c) + setting]).collect();
        Boxes { lo: one(&self.lo), hi: one(&self.hi), n_causes: self.n_causes, n_settings: 1, member: self.member }
    }

    fn at(&self, row: usize, cause: usize) -> usize {
        (row * self.n_causes + cause) * self.n_settings
    }

    /// Σ_c p(c) loss(c) for each setting that `setting` numbers, with the member p that minimises (or maximises) it.
    ///
    /// All joint key values get their least probability; the remaining mass goes to the least (or greatest) losses
    /// first.
    pub(super) fn weigh(&self, row: usize, setting: impl Fn(usize) -> usize, loss: &[f64], values: &mut [f64]) {
        let mut order: Vec<usize> = (0..self.n_causes).collect();
        match self.member {
            Member::Optimistic => order.sort_by(|&a, &b| loss[a].total_cmp(&loss[b])),
            Member::Pessimistic => order.sort_by(|&a, &b| loss[b].total_cmp(&loss[a])),
        }
        let mut left = vec![1.0; values.len()];
        values.fill(0.0);
        for (c, &loss) in loss.iter().enumerate() {
            let lo = &self.lo[self.at(row, c)..][..self.n_settings];
            for (i, (value, left)) in values.iter_mut().zip(&mut left).enumerate() {
                let p = lo[setting(i)];
                *value += p * loss;
                *left -= p;
            }
        }
        for c in order {
            let lo = &self.lo[self.at(row, c)..][..self.n_settings];
            let hi = &self.hi[self.at(row, c)..][..self.n_settings];
            for (i, (value, left)) in values.iter_mut().zip(&mut left).enumerate() {
                let more = left.min(hi[setting(i)] - lo[setting(i)]).max(0.0);
                *value += more * loss[c];
                *left -= more;
            }
        }
    }
}
