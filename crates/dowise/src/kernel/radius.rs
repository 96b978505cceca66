//! How far what a group's settings set off may be from its tables, in total variation: valid however many sets meet.

use super::bounds::{RowBounds, distance};
use super::groups::GroupShape;
use super::lever_values::LeverValues;
use crate::Space;
use crate::world::{VarId, World};

/// Sum of the radii of a group's mechanisms, `[row][setting]`: the greatest over parents that a setting leaves open (key
/// and hidden variables, levers left alone). Only of settings that are `doubtful`, where that is told; 0 for the others.
pub(super) fn total_radius(
    world: &World,
    shape: &GroupShape,
    (tables, bounds): (&[Option<&[f64]>], &[Option<RowBounds>]),
    state_space: &Space,
    lever_values: &LeverValues,
    doubtful: Option<&[bool]>,
) -> Vec<f64> {
    let mut total = vec![0.0; state_space.len() * lever_values.len()];
    let settings: Vec<usize> = (0..lever_values.len()).filter(|&i| doubtful.is_none_or(|d| d[i])).collect();
    for &m in &shape.mechanisms {
        let (Some(RowBounds { lo, hi }), Some(table)) = (&bounds[m], tables[m]) else { continue };
        let mechanism = &world.mechanisms()[m];
        let n: usize = world.sizes(&mechanism.children).iter().product();
        let rows = lo.chunks_exact(n).zip(hi.chunks_exact(n)).zip(table.chunks_exact(n));
        let radii: Vec<f64> = rows.map(|((lo, hi), row)| distance(lo, hi, row)).collect();
        let parents = Space::new(&world.sizes(&mechanism.parents)).expect("invariant: a world's tables are countable");
        let place = |id: &VarId| shape.levers.iter().position(|&l| world.levers()[l] == *id);
        for row in 0..state_space.len() {
            for &i in &settings {
                if mechanism.children.iter().any(|id| place(id).is_some_and(|p| lever_values.value(i, p).is_some())) {
                    continue;
                }
                let fixed: Vec<Option<usize>> = mechanism
                    .parents
                    .iter()
                    .map(|id| match shape.state.iter().position(|&f| world.state()[f] == *id) {
                        Some(p) => Some(state_space.digit(row, p)),
                        None => place(id).and_then(|p| lever_values.value(i, p)),
                    })
                    .collect();
                let fits =
                    |r: &usize| fixed.iter().enumerate().all(|(p, v)| v.is_none_or(|v| parents.digit(*r, p) == v));
                let open = fixed.iter().any(|v| v.is_none());
                let worst = if open {
                    (0..parents.len()).filter(fits).map(|r| radii[r]).fold(0.0, f64::max)
                } else {
                    radii[parents.index(&fixed.iter().flatten().copied().collect::<Vec<_>>())]
                };
                total[row * lever_values.len() + i] += worst;
            }
        }
    }
    total
}
