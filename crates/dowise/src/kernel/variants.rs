//! Settings paired with extreme points of their mechanisms' confidence sets: exact columns for optimistic search.
//!
//! With the other groups fixed, a value is linear in this group's distribution, which is linear in each row of each
//! mechanism. The joint optimum over interventions and members is therefore attained at a setting with an extreme point
//! for every free row. Each such pair is a column, and the search treats columns as settings.

use super::bounds::{MOST_VALUES, RowBounds, corners, most_corners};
use super::elimination::TooLarge;
use super::groups::GroupShape;
use super::lever_values::{LeverValues, row_space};
use super::tabulate::{Pattern, patterns, tabulate_pattern};
use crate::Space;
use crate::world::{LeverRule, VarId, World};

/// Maximum number of columns of one setting.
const MOST_VARIANTS: usize = 64;

/// Maximum number of entries of all columns, unless the settings alone have more.
const MOST_ENTRIES: usize = 1 << 22;

/// A group's columns.
#[derive(Clone, Debug)]
pub(super) struct Variants {
    /// The setting of each column, in increasing order.
    pub(super) setting: Vec<u32>,
    /// `[row][cause][column]`
    pub(super) prob: Vec<f64>,
    /// For each setting, whether it has too many extreme points and thus a single column: that of the tables
    /// themselves.
    pub(super) doubtful: Vec<bool>,
}

/// The extreme points of every row of a mechanism.
struct Corners {
    mechanism: usize,
    n_values: usize,
    /// Concatenated extreme points, `[row]`.
    of_row: Vec<Vec<f64>>,
}

impl Variants {
    /// The columns; `tables` and `bounds` are by mechanism of the world.
    pub(super) fn new(
        world: &World,
        shape: &GroupShape,
        tables: &[Option<&[f64]>],
        bounds: &[Option<RowBounds>],
        (state_space, cause_space): (&Space, &Space),
        lever_values: &LeverValues,
    ) -> Result<Variants, TooLarge> {
        let rows = state_space.len() * cause_space.len();
        let corners = corners_of_group(shape, tables, bounds, world);
        let patterns = patterns(lever_values);
        let most = (MOST_ENTRIES / (rows * lever_values.len())).min(MOST_VARIANTS);
        let choices: Vec<Option<Vec<Choice>>> =
            patterns.iter().map(|pattern| choices(world, shape, &corners, bounds, pattern, most)).collect();
        let n_variants = |choices: &Option<Vec<Choice>>| choices.iter().flatten().map(|c| c.n).product::<usize>();
        let mut doubtful = vec![false; lever_values.len()];
        let mut n_columns = vec![1; lever_values.len()];
        for (pattern, choices) in patterns.iter().zip(&choices) {
            pattern.settings.iter().for_each(|&i| {
                doubtful[i] = choices.is_none();
                n_columns[i] = n_variants(choices);
            });
        }
        let numbers = n_columns.iter().zip(0..);
        let setting: Vec<u32> = numbers.flat_map(|(&n, i)| std::iter::repeat_n(i, n)).collect();
        let mut first: Vec<usize> = Vec::with_capacity(n_columns.len());
        n_columns.iter().fold(0, |sum, n| {
            first.push(sum);
            sum + n
        });
        let mut prob = vec![0.0; rows * setting.len()];
        for (pattern, choices) in patterns.iter().zip(&choices) {
            let mut places: Vec<usize> = pattern.settings.iter().map(|&i| first[i]).collect();
            let mut chosen: Vec<Vec<f64>> =
                corners.iter().map(|c| tables[c.mechanism].unwrap_or(&[]).to_vec()).collect();
            for variant in 0..n_variants(choices) {
                let mut left = variant;
                for choice in choices.iter().flatten() {
                    choice.take(left % choice.n, &corners, &mut chosen);
                    left /= choice.n;
                }
                let mut tables = tables.to_vec();
                corners.iter().zip(&chosen).for_each(|(c, table)| tables[c.mechanism] = Some(table));
                tabulate_pattern(world, shape, &tables, lever_values, pattern, &places, setting.len(), &mut prob)?;
                places.iter_mut().for_each(|p| *p += 1);
            }
        }
        Ok(Variants { setting, prob, doubtful })
    }
}

/// A choice of extreme points, shared by rows of one mechanism that a setting leaves free together.
struct Choice {
    /// Position among the mechanisms with extreme points.
    position: usize,
    rows: Vec<usize>,
    /// Maximum number of extreme points of these rows.
    n: usize,
}

impl Choice {
    /// Writes an extreme point of each row into its table; rows with fewer extreme points repeat them.
    fn take(&self, corner: usize, corners: &[Corners], chosen: &mut [Vec<f64>]) {
        let Corners { n_values: n, of_row, .. } = &corners[self.position];
        for &row in &self.rows {
            let at = corner % (of_row[row].len() / n) * n;
            chosen[self.position][row * n..(row + 1) * n].copy_from_slice(&of_row[row][at..at + n]);
        }
    }
}

/// Extreme points of a group's uncertain mechanisms with sufficiently short rows.
fn corners_of_group(
    shape: &GroupShape,
    tables: &[Option<&[f64]>],
    bounds: &[Option<RowBounds>],
    world: &World,
) -> Vec<Corners> {
    let mut all = Vec::new();
    for &mechanism in &shape.mechanisms {
        let (Some(RowBounds { lo, hi }), Some(table)) = (&bounds[mechanism], tables[mechanism]) else { continue };
        let n_values: usize = world.sizes(&world.mechanisms()[mechanism].children).iter().product();
        if n_values <= MOST_VALUES {
            let rows = lo.chunks_exact(n_values).zip(hi.chunks_exact(n_values)).zip(table.chunks_exact(n_values));
            let of_row = rows.map(|((lo, hi), row)| corners(lo, hi, row)).collect();
            all.push(Corners { mechanism, n_values, of_row });
        }
    }
    all
}

/// The choices under a pattern of settings: an extreme point for each active mechanism and each joint value of its free
/// parents. `None` if there are more than `most` combinations, or extreme points are not enumerated.
fn choices(
    world: &World,
    shape: &GroupShape,
    corners: &[Corners],
    bounds: &[Option<RowBounds>],
    pattern: &Pattern,
    most: usize,
) -> Option<Vec<Choice>> {
    let is_set = |id: &VarId| {
        shape.levers.iter().enumerate().any(|(p, &l)| world.levers()[l] == *id && pattern.is_set >> p & 1 == 1)
    };
    let (mut all, mut n_variants) = (Vec::new(), 1usize);
    for &m in shape.mechanisms.iter().filter(|&&m| bounds[m].is_some()) {
        let mechanism = &world.mechanisms()[m];
        if mechanism.children.iter().any(is_set) {
            continue;
        }
        let position = corners.iter().position(|c| c.mechanism == m)?;
        let sizes = world.sizes(&mechanism.parents);
        let open = mechanism.parents.iter().map(|id| !world.state().contains(id) && !is_set(id));
        let open_sizes: Vec<usize> = sizes.iter().zip(open).map(|(&n, open)| if open { n } else { 1 }).collect();
        let parents = Space::new(&sizes).expect("invariant: a world's tables are countable");
        let joint = Space::new(&open_sizes).expect("invariant: a world's tables are countable");
        let mut of_open: Vec<Choice> = (0..joint.len()).map(|_| Choice { position, rows: Vec::new(), n: 1 }).collect();
        for (row, listed) in corners[position].of_row.iter().enumerate() {
            let digits = open_sizes.iter().enumerate().filter(|(_, n)| **n > 1);
            let choice = &mut of_open[digits.map(|(p, _)| parents.digit(row, p) * joint.strides()[p]).sum::<usize>()];
            choice.rows.push(row);
            choice.n = choice.n.max(listed.len() / corners[position].n_values);
        }
        n_variants = of_open.iter().fold(n_variants, |n, choice| n.saturating_mul(choice.n));
        if n_variants > most {
            return None;
        }
        all.extend(of_open);
    }
    Some(all)
}

/// Maximum number of columns of a setting, known before counting; mechanisms without a table are uncertain.
pub(super) fn most_variants(world: &World, shape: &GroupShape) -> usize {
    // The fewer levers are set, the more parents are free.
    let all_set = matches!(world.interventions().lever_rule(), LeverRule::All);
    let is_lever = |id: &VarId| world.levers().contains(id);
    let mut n_variants = 1usize;
    for &m in &shape.mechanisms {
        let mechanism = &world.mechanisms()[m];
        if mechanism.table.is_some() {
            continue;
        }
        let n_values: usize = world.sizes(&mechanism.children).iter().product();
        let is_fixed = |id: &VarId| world.state().contains(id) || all_set && is_lever(id);
        let open = mechanism.parents.iter().filter(|id| !is_fixed(id));
        let n_open = open.fold(1usize, |n, id| n.saturating_mul(world.variable(*id).size()));
        let each = most_corners(n_values.min(MOST_VALUES));
        for _ in 0..n_open.min(MOST_VARIANTS) {
            n_variants = n_variants.saturating_mul(each).min(MOST_VARIANTS);
        }
    }
    n_variants
}

/// Whether the extreme points of all settings of a group are certainly enumerated.
pub(super) fn are_listed(world: &World, shape: &GroupShape, n_settings: usize) -> bool {
    let n_variants = most_variants(world, shape);
    let n_causes = world.sizes(&shape.causes).iter().fold(1usize, |n, &m| n.saturating_mul(m));
    let entries = row_space(world, shape).len().saturating_mul(n_causes).saturating_mul(n_settings);
    // At the maximum itself, the true number may be larger, so the comparison is strict.
    n_variants < MOST_VARIANTS && entries.saturating_mul(n_variants) <= MOST_ENTRIES
}

/// Maximum number of entries of a group's columns, given its entries without extreme points.
pub(super) fn most_entries(world: &World, shape: &GroupShape, entries: u128) -> u128 {
    entries.saturating_mul(most_variants(world, shape) as u128).min((MOST_ENTRIES as u128).max(entries))
}

/// Maximum bytes of the extreme points of a group's mechanisms, and of tables of one extreme point each.
pub(super) fn corner_bytes(world: &World, shape: &GroupShape) -> u128 {
    let unknown = shape.mechanisms.iter().map(|&m| &world.mechanisms()[m]).filter(|m| m.table.is_none());
    unknown.fold(0u128, |sum, m| {
        let size = |ids: &[VarId]| world.sizes(ids).iter().fold(1u128, |n, &m| n.saturating_mul(m as u128));
        let n_values = size(&m.children);
        let each = if n_values <= MOST_VALUES as u128 { most_corners(n_values as usize) as u128 } else { 0 };
        // A vector may have twice the capacity that it needs.
        let row = (2 * each + 2).saturating_mul(n_values).saturating_mul(8) + size_of::<Vec<f64>>() as u128;
        sum.saturating_add(row.saturating_mul(size(&m.parents)))
    })
}
