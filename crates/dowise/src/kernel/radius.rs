//! Total-variation radius of a group's distributions: a valid bound for any number of uncertain mechanisms.

use super::bounds::{RowBounds, distance};
use super::groups::GroupShape;
use super::lever_values::LeverValues;
use super::tabulate::patterns;
use crate::Space;
use crate::world::{VarId, World};

/// Sum of the radii of a group's mechanisms, `[row][setting]`: the maximum over parents that a setting leaves free (key
/// and hidden variables, levers left alone). With `doubtful`, only for those settings; 0 for the others.
pub(super) fn total_radius(
    world: &World,
    shape: &GroupShape,
    (tables, bounds): (&[Option<&[f64]>], &[Option<RowBounds>]),
    state_space: &Space,
    lever_values: &LeverValues,
    doubtful: Option<&[bool]>,
) -> Vec<f64> {
    let n_settings = lever_values.len();
    let mut total = vec![0.0; state_space.len() * n_settings];
    let lever = |id: &VarId| shape.levers.iter().position(|&l| world.levers()[l] == *id);
    let factor = |id: &VarId| shape.state.iter().position(|&f| world.state()[f] == *id);
    for &m in &shape.mechanisms {
        let (Some(RowBounds { lo, hi }), Some(table)) = (&bounds[m], tables[m]) else { continue };
        let mechanism = &world.mechanisms()[m];
        let n: usize = world.sizes(&mechanism.children).iter().product();
        let rows = lo.chunks_exact(n).zip(hi.chunks_exact(n)).zip(table.chunks_exact(n));
        let radii: Vec<f64> = rows.map(|((lo, hi), row)| distance(lo, hi, row)).collect();
        let parents = Space::new(&world.sizes(&mechanism.parents)).expect("invariant: a world's tables are countable");
        for pattern in patterns(lever_values) {
            let is_set = |p: usize| pattern.is_set >> p & 1 == 1;
            if mechanism.children.iter().any(|id| lever(id).is_some_and(is_set)) {
                continue;
            }
            // State and setting fix part of the row index; free parents contribute all of their values.
            let (mut of_state, mut of_levers, mut open) = (Vec::new(), Vec::new(), vec![0]);
            for ((id, &stride), &size) in mechanism.parents.iter().zip(parents.strides()).zip(parents.sizes()) {
                match (factor(id), lever(id).filter(|&p| is_set(p))) {
                    (Some(p), _) => of_state.push((p, stride)),
                    (None, Some(p)) => of_levers.push((p, stride)),
                    (None, None) => {
                        open = open.iter().flat_map(|at| (0..size).map(move |v| at + v * stride)).collect();
                    }
                }
            }
            for &i in pattern.settings.iter().filter(|&&i| doubtful.is_none_or(|d| d[i])) {
                let value = |p| lever_values.value(i, p).expect("invariant: every lever of the pattern is set");
                let set: usize = of_levers.iter().map(|&(p, stride)| value(p) * stride).sum();
                for row in 0..state_space.len() {
                    let first = set + of_state.iter().map(|&(p, s)| state_space.digit(row, p) * s).sum::<usize>();
                    total[row * n_settings + i] += open.iter().map(|at| radii[first + at]).fold(0.0, f64::max);
                }
            }
        }
    }
    total
}
