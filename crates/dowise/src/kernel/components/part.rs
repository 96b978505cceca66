//! One part: what its settings set off, and with the numbers of next values and rewards, where they lead and what they pay.

use super::shape::PartShape;
use super::{Next, causes_of};
use crate::Space;
use crate::kernel::group::{Columns, Group, rows_of_states};
use crate::kernel::groups::GroupShape;
use crate::kernel::prune::{Setting, prune};
use crate::kernel::{CauseSpace, Kernel};
use crate::plan::rows_by_cause;
use crate::world::{RewardTerm, World};

/// A part of a world.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) shape: PartShape,
    /// Levers and state factors, as those of a group; its causes are next values.
    group: GroupShape,
    rows_of_states: Vec<u32>,
    pub(super) n_causes: usize,
    /// The joint next values of its factors.
    pub(super) block: Space,
    /// For every row what the kept settings are, and what they set off.
    rows: Vec<SetOff>,
    /// For each of its factors the row of the factor's own table, `[row][cause]`.
    pub(super) factor_rows: Vec<Vec<u32>>,
    /// The same for its reward terms.
    pub(super) term_rows: Vec<Vec<u32>>,
}

/// Settings by increasing number, and P(causes | setting) as `[cause][setting]`.
#[derive(Clone, Debug)]
struct SetOff {
    settings: Vec<Setting>,
    prob: Vec<f64>,
}

impl Part {
    pub(super) fn new(world: &World, kernel: &Kernel, terms: &[RewardTerm], shape: PartShape) -> Part {
        let space = world.state_space();
        let shapes: Vec<GroupShape> = kernel.groups.iter().map(|g| g.shape.clone()).collect();
        let variables = causes_of(&shapes, &shape);
        let sizes = world.sizes(&variables);
        let causes = Space::new(&sizes).expect("invariant: a part has no more causes than its world");
        let causes = CauseSpace { variables, space: causes };
        let of = |factors: &[usize]| {
            let sizes: Vec<usize> = factors.iter().map(|&f| space.sizes()[f]).collect();
            Space::new(&sizes).expect("invariant: some state factors have no more values than all of them")
        };
        let (row_space, block) = (of(&shape.state), of(&shape.factors));
        let rows = (0..row_space.len())
            .map(|row| {
                let digits = row_space.digits(row);
                SetOff::new(kernel, &shape, &digits)
            })
            .collect();
        let own_rows = |ids: &[crate::world::VarId]| -> Vec<u32> {
            rows_by_cause(world, ids, &shape.state, &causes).into_iter().map(|r| r as u32).collect()
        };
        let group = GroupShape {
            causes: shape.factors.iter().map(|&f| world.state()[f]).collect(),
            levers: shape.groups.iter().flat_map(|&g| shapes[g].levers.iter().copied()).collect(),
            mechanisms: Vec::new(),
            state: shape.state.clone(),
        };
        Part {
            group,
            rows_of_states: rows_of_states(space, &shape.state, &row_space),
            n_causes: causes.len(),
            rows,
            factor_rows: shape.factors.iter().map(|&f| own_rows(&world.transitions()[f].parents)).collect(),
            term_rows: shape.terms.iter().map(|&t| own_rows(&terms[t].scope)).collect(),
            block,
            shape,
        }
    }

    pub(super) fn row_of(&self, state: usize) -> usize {
        self.rows_of_states.get(state).map_or(0, |&row| row as usize)
    }

    /// What a cause pays in a row.
    pub(super) fn paid(&self, rewards: &[&[f64]], row: usize, cause: usize) -> f64 {
        let terms = self.shape.terms.iter().zip(&self.term_rows);
        terms.map(|(&t, rows)| rewards[t][rows[row * self.n_causes + cause] as usize]).sum()
    }

    /// P(joint next value | row, cause); `next` says how likely a factor, of a number of values, has a value by a row of its own table.
    pub(super) fn moved(
        &self,
        row: usize,
        cause: usize,
        block: usize,
        next: impl Fn(usize, usize, usize, usize) -> f64,
    ) -> f64 {
        let factors = self.shape.factors.iter().zip(&self.factor_rows).enumerate();
        let of_factor = |(i, (&f, rows)): (usize, (&usize, &Vec<u32>))| {
            let own = rows[row * self.n_causes + cause] as usize;
            next(f, self.block.sizes()[i], own, self.block.digit(block, i))
        };
        factors.map(of_factor).product()
    }

    /// The part as a group of a kernel whose causes are next values.
    pub(super) fn group(&self, next: &[Next<'_>], rewards: &[&[f64]], limited: bool, work: &mut i64) -> Group {
        let columns = (0..self.rows.len()).map(|row| self.columns(row, next, rewards, limited, work)).collect();
        Group::of_columns(self.group.clone(), self.block.clone(), self.rows_of_states.clone(), columns)
    }

    /// The settings of a row that can be best, where they lead, and what they cost less what they pay.
    fn columns(&self, row: usize, next: &[Next<'_>], rewards: &[&[f64]], limited: bool, work: &mut i64) -> Columns {
        let SetOff { settings, prob } = &self.rows[row];
        let n = settings.len();
        let mut points = settings.clone();
        if !self.shape.terms.is_empty() {
            for cause in 0..self.n_causes {
                let paid = self.paid(rewards, row, cause);
                let of_cause = &prob[cause * n..(cause + 1) * n];
                points.iter_mut().zip(of_cause).for_each(|(setting, p)| setting.cost -= p * paid);
            }
        }
        let weigh = |of: &dyn Fn(usize) -> f64| {
            let mut out = vec![0.0; n];
            for cause in 0..self.n_causes {
                let x = of(cause);
                out.iter_mut().zip(&prob[cause * n..(cause + 1) * n]).for_each(|(o, p)| *o += p * x);
            }
            out
        };
        let table: Vec<f64> = match (&self.shape.factors[..], self.shape.factors.first().map(|&f| next[f])) {
            ([_], Some(Next::Within(lo, hi))) => {
                let own = |cause: usize| self.factor_rows[0][row * self.n_causes + cause] as usize;
                let (lo, hi) = (weigh(&|cause| lo[own(cause)]), weigh(&|cause| hi[own(cause)]));
                // Both ends of every setting, next to each other, so that columns stay in order.
                points = points.into_iter().flat_map(|setting| [setting; 2]).collect();
                let second: Vec<f64> = lo.into_iter().zip(hi).flat_map(|(lo, hi)| [lo, hi]).collect();
                second.iter().map(|p| 1.0 - p).chain(second.iter().copied()).collect()
            }
            _ => {
                let exact = |f: usize, n_values: usize, own: usize, value: usize| match next[f] {
                    Next::Exact(table) => table[own * n_values + value],
                    Next::Within(..) => panic!("invariant: only parts with one binary factor have intervals"),
                };
                (0..self.block.len()).flat_map(|b| weigh(&|cause| self.moved(row, cause, b, exact))).collect()
            }
        };
        let allowed: Vec<u32> = (0..points.len() as u32).collect();
        let kept = prune(&allowed, &points, &table, self.block.len(), limited, work);
        let n = points.len();
        let prob = (0..self.block.len()).flat_map(|b| kept.iter().map(move |&i| (b, i)));
        Columns {
            prob: prob.map(|(b, i)| table[b * n + i as usize]).collect(),
            settings: kept.iter().map(|&i| points[i as usize]).collect(),
        }
    }
}

impl SetOff {
    /// The combinations of what pruning kept of each group, in the row with these values.
    fn new(kernel: &Kernel, shape: &PartShape, digits: &[usize]) -> SetOff {
        let neutral = match kernel.cross.len() {
            0 | 65.. => 0,
            n => u64::MAX >> (64 - n),
        };
        let join = |a: u64, b: u64| if kernel.cross.len() > 64 { a + b } else { a & b };
        let mut settings = vec![Setting { part: 0, cost: 0.0, n_set: 0, signature: neutral }];
        let mut prob = vec![vec![1.0]];
        for &g in &shape.groups {
            let group = &kernel.groups[g];
            let values = group.shape.state.iter().map(|f| {
                let place = shape.state.iter().position(|own| own == f);
                digits[place.expect("invariant: a part depends on all that its groups depend on")]
            });
            let row = group.row(group.row_with(values));
            let n_causes = group.n_causes();
            let mut joined = Vec::with_capacity(settings.len() * row.n);
            for before in &settings {
                for i in 0..row.n {
                    let own = &group.settings[row.setting(i)];
                    joined.push(Setting {
                        part: before.part + own.part,
                        cost: before.cost + own.cost,
                        n_set: before.n_set + own.n_set,
                        signature: join(before.signature, own.signature),
                    });
                }
            }
            prob = (prob.iter())
                .flat_map(|before| {
                    (0..n_causes).map(|c| {
                        let own = &row.prob[c * row.n..(c + 1) * row.n];
                        before.iter().flat_map(|p| own.iter().map(move |q| p * q)).collect::<Vec<f64>>()
                    })
                })
                .collect();
            settings = joined;
        }
        let within = |i: &usize| kernel.limit.is_none_or(|limit| settings[*i].n_set <= limit);
        let mut order: Vec<usize> = (0..settings.len()).filter(within).collect();
        order.sort_by_key(|&i| settings[i].part);
        SetOff {
            prob: prob.iter().flat_map(|of_cause| order.iter().map(|&i| of_cause[i])).collect(),
            settings: order.iter().map(|&i| settings[i]).collect(),
        }
    }
}

/// A group without levers: what each state pays, whatever is done.
pub(super) fn group_of_states(n_states: usize, paid: impl Fn(usize) -> f64) -> Group {
    let shape = GroupShape { causes: vec![], levers: vec![], mechanisms: vec![], state: vec![] };
    let column = |s: usize| Columns {
        settings: vec![Setting { part: 0, cost: -paid(s), n_set: 0, signature: 0 }],
        prob: vec![1.0],
    };
    let nothing = Space::new(&[]).expect("invariant: no factors have one joint value");
    Group::of_columns(shape, nothing, (0..n_states as u32).collect(), (0..n_states).map(column).collect())
}
