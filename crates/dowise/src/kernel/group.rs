//! One group of levers and key variables: its settings, and P(key variables | state, setting).

use super::KernelError;
use super::bounds::{Doubt, Member};
use super::boxes::Boxes;
use super::elimination::{MAX_ENTRIES, TooLarge};
use super::groups::GroupShape;
use super::lever_values::{LeverValues, row_space};
use super::prune::{Setting, prune};
use super::radius::total_radius;
use super::tabulate::tabulate;
use super::variants::Variants;
use crate::Space;
use crate::world::{Action, Forbid, Interventions, World};

/// Linked levers and key variables, with P(c | state factors, settings).
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) shape: GroupShape,
    cause_space: Space,
    /// All settings of the group's levers, in increasing order of their number.
    pub(crate) settings: Vec<Setting>,
    /// Row (joint value of the relevant state factors) of every state; empty if there is only one row.
    row_of_state: Vec<u32>,
    /// For non-enumerable states: stride and size of each relevant state factor in the state, and its stride in the
    /// row.
    row_digits: Vec<[usize; 3]>,
    /// Row strides of these state factors.
    row_strides: Vec<usize>,
    /// `[row][cause][setting]`: settings innermost, so that a sum over configurations streams.
    prob: Vec<f64>,
    /// For uncertain mechanisms under optimism: the extreme points of each setting's distribution.
    variants: Option<Variants>,
    /// For each row the settings that survive pruning, or all of them.
    kept: Vec<Option<Kept>>,
    unsure: Unsure,
}

/// Uncertainty about a setting's distribution.
#[derive(Clone, Debug)]
enum Unsure {
    /// Exact.
    No,
    /// Total-variation radius of its confidence set, negative for the pessimistic member, `[row][setting]`.
    Radius(Vec<f64>),
    /// The same if every row has its own settings, `[setting]`.
    Columns(Vec<f64>),
    /// Interval bounds; only for a single group.
    Boxes(Boxes),
}

#[derive(Clone, Debug)]
struct Kept {
    settings: Vec<u32>,
    prob: Vec<f64>,
}

/// Settings of one row, in increasing order of their numbers, and their distributions, `[cause][setting]`.
pub(super) struct Columns {
    pub(super) settings: Vec<Setting>,
    pub(super) prob: Vec<f64>,
    /// Total-variation radius of each confidence set; empty if all are exact.
    pub(super) radius: Vec<f64>,
}

/// The settings of a state after pruning: `prob` is `[cause][setting]`.
pub(crate) struct Row<'a> {
    pub(crate) n: usize,
    pub(crate) prob: &'a [f64],
    settings: Option<&'a [u32]>,
}

impl Row<'_> {
    /// The group's index of the i-th setting of this row.
    pub(crate) fn setting(&self, i: usize) -> usize {
        self.settings.map_or(i, |s| s[i] as usize)
    }
}

impl Group {
    pub(crate) fn new(
        world: &World,
        shape: GroupShape,
        (tables, doubt): (&[Option<&[f64]>], Option<Doubt<'_>>),
        (cross, limited): (&[Forbid], bool),
        alone: bool,
        work: &mut i64,
    ) -> Result<Group, KernelError> {
        let too_large = |e: TooLarge| KernelError::TooLarge {
            levers: shape.levers.iter().map(|&l| world.variable(world.levers()[l]).name.clone()).collect(),
            entries: e.entries,
        };
        let state_space = row_space(world, &shape);
        let cause_space =
            Space::new(&world.sizes(&shape.causes)).expect("invariant: a group has no more causes than its world");
        let lever_values = LeverValues::new(world.interventions(), &shape.levers).map_err(too_large)?;
        let entries = state_space.len().checked_mul(cause_space.len()).and_then(|n| n.checked_mul(lever_values.len()));
        if entries.is_none_or(|n| n > MAX_ENTRIES) {
            return Err(too_large(TooLarge { entries }));
        }
        let prob = tabulate(world, &shape, tables, &state_space, &cause_space, &lever_values).map_err(too_large)?;
        let settings: Vec<Setting> = (0..lever_values.len())
            .map(|i| {
                let all = world.interventions();
                let levers = shape.levers.iter().enumerate();
                let set = levers.filter_map(|(p, &lever)| lever_values.value(i, p).map(|v| (lever, v)));
                Setting {
                    part: set.clone().map(|(lever, v)| all.part(lever, Some(v))).sum(),
                    cost: set.clone().map(|(lever, v)| all.costs().get(lever).map_or(0.0, |c| c[v])).sum(),
                    n_set: set.clone().count(),
                    signature: signature(all, cross, &shape.levers, set),
                }
            })
            .collect();
        let doubt = doubt.filter(|doubt| shape.mechanisms.iter().any(|&m| doubt.bounds[m].is_some()));
        let (variants, unsure) = match doubt {
            Some(doubt) => {
                let spaces = (&state_space, &cause_space);
                unsure(world, &shape, tables, doubt, spaces, &lever_values, alone).map_err(too_large)?
            }
            None => (None, Unsure::No),
        };
        let (row_of_state, row_digits) = if world.is_enumerable() {
            (rows_of_states(world.state_space(), &shape.state, &state_space), Vec::new())
        } else {
            let all = world.state_space();
            let digits = shape.state.iter().zip(state_space.strides());
            (Vec::new(), digits.map(|(&f, &row)| [all.strides()[f], all.sizes()[f], row]).collect())
        };
        let row_strides = state_space.strides().to_vec();
        let mut group = Group {
            shape,
            cause_space,
            settings,
            row_of_state,
            row_digits,
            row_strides,
            prob,
            variants,
            kept: Vec::new(),
            unsure,
        };
        let columns: Vec<Setting> = match &group.variants {
            Some(variants) => variants.setting.iter().map(|&i| group.settings[i as usize]).collect(),
            None => Vec::new(),
        };
        group.kept = (0..state_space.len())
            .map(|row| group.prune_row(world, (&state_space, row), &lever_values, &columns, limited, work))
            .collect();
        Ok(group)
    }

    /// A group with settings, costs and distributions given row by row; it supports searches only.
    pub(super) fn of_columns(
        shape: GroupShape,
        cause_space: Space,
        row_of_state: Vec<u32>,
        rows: Vec<Columns>,
    ) -> Group {
        let (mut settings, mut radii) = (Vec::new(), Vec::new());
        let kept = (rows.into_iter())
            .map(|Columns { settings: own, prob, radius }| {
                let first = settings.len() as u32;
                settings.extend(own);
                radii.extend(radius);
                radii.resize(settings.len(), 0.0);
                Some(Kept { settings: (first..settings.len() as u32).collect(), prob })
            })
            .collect();
        let unsure = if radii.iter().all(|r| *r == 0.0) { Unsure::No } else { Unsure::Columns(radii) };
        let (prob, variants) = (Vec::new(), None);
        let (row_digits, row_strides) = (Vec::new(), Vec::new());
        Group { shape, cause_space, settings, row_of_state, row_digits, row_strides, prob, variants, kept, unsure }
    }

    /// Bytes of a row besides its settings and probabilities.
    pub(super) const KEPT_BYTES: u128 = size_of::<Option<Kept>>() as u128;

    /// Bytes of a group of this shape besides its tables.
    pub(super) fn own_bytes(shape: &GroupShape) -> u128 {
        let members = shape.causes.len() + shape.levers.len() + shape.mechanisms.len() + shape.state.len();
        size_of::<Group>() as u128 + 48 * members as u128
    }

    pub(crate) fn n_causes(&self) -> usize {
        self.cause_space.len()
    }

    /// Number of values of one of its key variables.
    pub(crate) fn n_values(&self, position: usize) -> usize {
        self.cause_space.sizes()[position]
    }

    /// Value of one of its key variables.
    pub(crate) fn digit(&self, cause: usize, position: usize) -> usize {
        self.cause_space.digit(cause, position)
    }

    /// The row with these values of the relevant state factors.
    pub(crate) fn row_with(&self, values: impl Iterator<Item = usize>) -> usize {
        values.zip(self.row_strides.iter()).map(|(v, stride)| v * stride).sum()
    }

    pub(crate) fn row_of(&self, state: usize) -> usize {
        match self.row_of_state.get(state) {
            Some(&row) => row as usize,
            // Only one row, or non-enumerable states.
            None => self.row_digits.iter().map(|&[stride, size, row]| state / stride % size * row).sum(),
        }
    }

    pub(crate) fn prob(&self, row: usize, cause: usize, setting: usize) -> f64 {
        self.prob[(row * self.n_causes() + cause) * self.settings.len() + setting]
    }

    /// Total-variation radius of the confidence set around a setting's distribution.
    pub(crate) fn radius(&self, row: usize, setting: usize) -> f64 {
        match &self.unsure {
            Unsure::Radius(radius) => radius[row * self.settings.len() + setting],
            Unsure::Columns(radius) => radius[setting],
            Unsure::No | Unsure::Boxes(_) => 0.0,
        }
    }

    /// Interval bounds of the settings' distributions, if the group has them.
    pub(crate) fn boxes(&self) -> Option<&Boxes> {
        match &self.unsure {
            Unsure::Boxes(boxes) => Some(boxes),
            Unsure::No | Unsure::Radius(_) | Unsure::Columns(_) => None,
        }
    }

    /// A setting's cost, less the gain of the optimistic member when losses differ by at most `range`.
    pub(crate) fn own(&self, row: usize, setting: usize, range: f64) -> f64 {
        self.settings[setting].cost - range * self.radius(row, setting)
    }

    /// Whether the columns of a row are exact, whether settings or extreme points.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.unsure, Unsure::No)
    }

    /// Whether each setting has one exact distribution.
    pub(crate) fn is_certain(&self) -> bool {
        self.is_exact() && self.variants.is_none()
    }

    /// The group restricted to one setting and the row of one state.
    pub(crate) fn only(&self, state: usize, setting: usize) -> Group {
        let (row, n_causes) = (self.row_of(state), self.n_causes());
        let kept = self.variants.as_ref().map(|variants| {
            let n = variants.setting.len();
            let columns = (0..n).filter(|&i| variants.setting[i] as usize == setting);
            let prob = (0..n_causes)
                .flat_map(|c| columns.clone().map(move |i| variants.prob[(row * n_causes + c) * n + i]))
                .collect();
            Kept { settings: vec![0; columns.count()], prob }
        });
        Group {
            shape: self.shape.clone(),
            cause_space: self.cause_space.clone(),
            settings: vec![self.settings[setting]],
            row_of_state: Vec::new(),
            row_digits: Vec::new(),
            row_strides: Vec::new(),
            prob: (0..n_causes).map(|c| self.prob(row, c, setting)).collect(),
            variants: None,
            kept: vec![kept],
            unsure: match &self.unsure {
                Unsure::No => Unsure::No,
                Unsure::Radius(_) | Unsure::Columns(_) => Unsure::Columns(vec![self.radius(row, setting)]),
                Unsure::Boxes(boxes) => Unsure::Boxes(boxes.only(row, setting)),
            },
        }
    }

    pub(crate) fn row(&self, row: usize) -> Row<'_> {
        match &self.kept[row] {
            Some(kept) => Row { n: kept.settings.len(), prob: &kept.prob, settings: Some(&kept.settings) },
            None => {
                let n = self.settings.len();
                let size = self.n_causes() * n;
                Row { n, prob: &self.prob[row * size..(row + 1) * size], settings: None }
            }
        }
    }

    /// This group's setting of an intervention.
    pub(crate) fn setting_of(&self, all: &Interventions, action: Action) -> usize {
        let part = self.shape.levers.iter().map(|&lever| all.part(lever, all.lever(action, lever))).sum::<u64>();
        self.settings
            .binary_search_by_key(&part, |s| s.part)
            .expect("invariant: every allowed intervention has a setting in each group")
    }

    /// The settings of a row that survive pruning; `None` if all do. `columns` has the setting of each variant, if
    /// there are any.
    fn prune_row(
        &self,
        world: &World,
        (state_space, row): (&Space, usize),
        lever_values: &LeverValues,
        columns: &[Setting],
        limited: bool,
        work: &mut i64,
    ) -> Option<Kept> {
        let digits = state_space.digits(row);
        let place = |list: &[usize], of: usize| list.iter().position(|x| *x == of);
        // Most rules name a state, so those that hold in this row are selected once.
        let rules: Vec<&Forbid> = (world.interventions().forbid().iter())
            .filter(|rule| rule.levers.iter().all(|(lever, _)| self.shape.levers.contains(lever)))
            .filter(|rule| {
                let mut when = rule.when.iter();
                when.all(|(factor, values)| place(&self.shape.state, *factor).is_some_and(|p| values[digits[p]]))
            })
            .collect();
        let forbidden = |i: usize| {
            rules.iter().any(|rule| {
                rule.levers.iter().all(|(lever, values)| {
                    place(&self.shape.levers, *lever).and_then(|p| lever_values.value(i, p)).is_some_and(|v| values[v])
                })
            })
        };
        let (points, prob) = match &self.variants {
            Some(variants) => (columns, &variants.prob),
            None => (&self.settings[..], &self.prob),
        };
        let setting = |i: u32| self.variants.as_ref().map_or(i, |v| v.setting[i as usize]);
        let n = points.len();
        let table = &prob[row * self.n_causes() * n..(row + 1) * self.n_causes() * n];
        let allowed = (0..n as u32).filter(|&i| !forbidden(setting(i) as usize));
        // Settings with confidence sets cannot be compared by their centres alone, so none is pruned.
        let doubtful = |i: &u32| match &self.unsure {
            Unsure::No => false,
            Unsure::Radius(_) | Unsure::Columns(_) | Unsure::Boxes(_) => {
                self.variants.as_ref().is_none_or(|variants| variants.doubtful[setting(*i) as usize])
            }
        };
        let (mut kept, exact): (Vec<u32>, Vec<u32>) = allowed.partition(doubtful);
        kept.extend(prune(&exact, points, table, self.n_causes(), limited, work));
        kept.sort_unstable();
        if kept.len() == n && self.variants.is_none() {
            return None;
        }
        let prob = (0..self.n_causes()).flat_map(|c| kept.iter().map(move |&i| table[c * n + i as usize])).collect();
        Some(Kept { settings: kept.into_iter().map(setting).collect(), prob })
    }
}

/// Extreme points of the settings' distributions, or radii around them.
fn unsure(
    world: &World,
    shape: &GroupShape,
    tables: &[Option<&[f64]>],
    Doubt { bounds, member, .. }: Doubt<'_>,
    (states, causes): (&Space, &Space),
    lever_values: &LeverValues,
    alone: bool,
) -> Result<(Option<Variants>, Unsure), TooLarge> {
    // Two configurations have two extreme points, mostly pruned by sorting; for more, the optimistic member is found on
    // demand.
    if alone
        && (causes.len() > 2 || member == Member::Pessimistic)
        && let Some(boxes) = Boxes::new(world, shape, bounds, (states, causes), lever_values, member)
    {
        return Ok((None, Unsure::Boxes(boxes)));
    }
    match member {
        Member::Optimistic => {
            let variants = Variants::new(world, shape, tables, bounds, (states, causes), lever_values)?;
            let unsure = if variants.doubtful.contains(&true) {
                let of = Some(&variants.doubtful[..]);
                Unsure::Radius(total_radius(world, shape, (tables, bounds), states, lever_values, of))
            } else {
                Unsure::No
            };
            Ok((Some(variants), unsure))
        }
        Member::Pessimistic => {
            let mut radius = total_radius(world, shape, (tables, bounds), states, lever_values, None);
            radius.iter_mut().for_each(|r| *r = -*r);
            Ok((None, Unsure::Radius(radius)))
        }
    }
}

/// The cross-group forbidden combinations that a setting takes part in; settings with equal signatures are
/// interchangeable.
///
/// One bit for each rule whose levers in this group are all set as forbidden; beyond 64 rules, the levers themselves.
fn signature(
    all: &Interventions,
    cross: &[Forbid],
    levers: &[usize],
    set: impl Iterator<Item = (usize, usize)>,
) -> u64 {
    if cross.is_empty() {
        return 0;
    }
    let set: Vec<(usize, usize)> = set.collect();
    let value = |lever: usize| set.iter().find(|(l, _)| *l == lever).map(|(_, v)| *v);
    if cross.len() > 64 {
        let named = |lever: &usize| cross.iter().any(|rule| rule.levers.iter().any(|(l, _)| l == lever));
        return set.iter().filter(|(lever, _)| named(lever)).map(|&(lever, v)| all.part(lever, Some(v))).sum();
    }
    let matches = |rule: &Forbid| {
        let mut mine = rule.levers.iter().filter(|(l, _)| levers.contains(l));
        mine.all(|(l, values)| value(*l).is_some_and(|v| values[v]))
    };
    (0..cross.len()).filter(|&r| matches(&cross[r])).map(|r| 1 << r).sum()
}

/// Row of every state: the joint value of some of its factors. Empty if there is only one row.
pub(super) fn rows_of_states(states: &Space, factors: &[usize], rows: &Space) -> Vec<u32> {
    if factors.is_empty() {
        return Vec::new();
    }
    (0..states.len())
        .map(|s| {
            factors.iter().zip(rows.strides()).map(|(&f, stride)| states.digit(s, f) * stride).sum::<usize>() as u32
        })
        .collect()
}
