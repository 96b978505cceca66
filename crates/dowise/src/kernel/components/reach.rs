//! Distributions of each component's settings from a kernel: computed once for known mechanisms, else for every plan.

use super::Components;
use super::part::Part;
use crate::kernel::Kernel;
use crate::kernel::prune::Setting;

/// For every component and row, the unpruned settings and their distributions.
#[derive(Clone, Debug)]
pub(crate) struct Reach {
    /// `[part][row]`
    pub(super) parts: Vec<Vec<SetOff>>,
}

/// Settings by increasing number, with their distributions and radii.
#[derive(Clone, Debug)]
pub(super) struct SetOff {
    pub(super) settings: Vec<Setting>,
    /// P(c | setting) as `[cause][setting]`.
    pub(super) prob: Vec<f64>,
    /// Total-variation radius of each setting; empty if all are exact.
    pub(super) radius: Vec<f64>,
}

impl Reach {
    /// Distributions of a kernel's groups, by components of the same world.
    ///
    /// # Cost
    /// For each component, (its rows) × (combinations of kept settings of its groups) × (its configurations).
    pub(crate) fn new(components: &Components, kernel: &Kernel) -> Reach {
        let of_part = |part: &Part| {
            let digits = (0..part.row_space.len()).map(|row| part.row_space.digits(row));
            digits.map(|digits| SetOff::new(kernel, part, &digits)).collect()
        };
        Reach { parts: components.parts.iter().map(of_part).collect() }
    }
}

impl SetOff {
    /// The combinations of unpruned settings of each group, in the row with these values.
    pub(super) fn new(kernel: &Kernel, part: &Part, digits: &[usize]) -> SetOff {
        let neutral = match kernel.cross.len() {
            0 | 65.. => 0,
            n => u64::MAX >> (64 - n),
        };
        let join = |a: u64, b: u64| if kernel.cross.len() > 64 { a + b } else { a & b };
        let mut settings = vec![Setting { part: 0, cost: 0.0, n_set: 0, signature: neutral }];
        let (mut prob, mut radius) = (vec![vec![1.0]], vec![0.0]);
        for &g in &part.shape.groups {
            let group = &kernel.groups[g];
            let values = group.shape.state.iter().map(|f| {
                let place = part.shape.state.iter().position(|own| own == f);
                digits[place.expect("invariant: a part depends on all that its groups depend on")]
            });
            let of_state = group.row_with(values);
            let row = group.row(of_state);
            let n_causes = group.n_causes();
            let pairs = || (0..settings.len()).flat_map(|before| (0..row.n).map(move |i| (before, i)));
            let joined = pairs().map(|(before, i)| {
                let (before, own) = (&settings[before], &group.settings[row.setting(i)]);
                Setting {
                    part: before.part + own.part,
                    cost: before.cost + own.cost,
                    n_set: before.n_set + own.n_set,
                    signature: join(before.signature, own.signature),
                }
            });
            let joined: Vec<Setting> = joined.collect();
            // The radius of a product is at most the sum of its factors' radii.
            let farther = pairs().map(|(before, i)| radius[before] + group.radius(of_state, row.setting(i)));
            radius = farther.collect();
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
        let exact = radius.iter().all(|r| *r == 0.0);
        SetOff {
            prob: prob.iter().flat_map(|of_cause| order.iter().map(|&i| of_cause[i])).collect(),
            settings: order.iter().map(|&i| settings[i]).collect(),
            radius: if exact { Vec::new() } else { order.iter().map(|&i| radius[i].min(1.0)).collect() },
        }
    }
}
