//! Rows of single factors, read by a rule and put together part by part: for worlds with many key variables.

use std::sync::Arc;

use super::LEAST_PRIOR;
use super::confidence::Confidence;
use super::posterior::Posterior;
use super::stale::Stale;
use crate::kernel::{Acting, Kernel, Next, splitmix64};
use crate::learn::evidence::Evidence;
use crate::learn::view::{ByParts, View};
use crate::world::Action;

/// How rows are read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// The mean of the posterior with this prior weight in visits.
    Mean { prior: f64 },
    /// One posterior sample.
    Sample { prior: f64 },
    /// The best member of intervals.
    Best(Confidence),
}

/// The rows of every factor, by the numbering of its own parents.
#[derive(Clone, Debug)]
pub(crate) struct PartsBelief {
    tables: Vec<Rows>,
    touched: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Rows {
    /// `[row][value]`
    Known(Arc<[f64]>),
    Mean {
        prob: Vec<f64>,
        prior: f64,
    },
    Sample {
        prob: Vec<f64>,
        drawn: Vec<f64>,
        posterior: Posterior,
    },
    /// Of the second of two values, `[row]`.
    Within {
        lo: Vec<f64>,
        hi: Vec<f64>,
        confidence: Confidence,
    },
}

impl PartsBelief {
    pub(super) fn new(view: &View, rule: Rule) -> PartsBelief {
        let rows = |f: &crate::learn::view::FactorLayout| match (&f.known, rule) {
            (Some(table), _) => Rows::Known(table.clone()),
            (None, Rule::Mean { prior }) => {
                // Without any prior nothing would follow where nothing was seen, and rows would not be distributions.
                Rows::Mean { prob: vec![1.0 / f.n_values as f64; f.n_rows * f.n_values], prior: prior.max(LEAST_PRIOR) }
            }
            (None, Rule::Sample { prior }) => Rows::Sample {
                prob: vec![0.0; f.n_rows * f.n_values],
                drawn: vec![0.0; f.n_rows * f.n_values],
                posterior: Posterior::new(1, f.n_values, f.n_rows, prior),
            },
            (None, Rule::Best(confidence)) => {
                Rows::Within { lo: vec![0.0; f.n_rows], hi: vec![1.0; f.n_rows], confidence }
            }
        };
        PartsBelief { tables: view.layout.factors.iter().map(rows).collect(), touched: Vec::new() }
    }

    /// Reads the rows that have changed; draws all of them anew where they are sampled.
    pub(super) fn update(&mut self, evidence: &Evidence, stale: &mut Stale, mut seed: u64) {
        let touched = &mut self.touched;
        for (i, (table, counts)) in self.tables.iter_mut().zip(&evidence.transitions[0]).enumerate() {
            stale.take(0, i, touched);
            seed = splitmix64(seed);
            match table {
                Rows::Known(_) => {}
                Rows::Mean { prob, prior } => {
                    for row in touched.iter().map(|&row| row as usize) {
                        let (values, n) = (counts.values(row), f64::from(counts.n_r[row]));
                        let share = *prior / values.len() as f64;
                        let out = &mut prob[row * values.len()..][..values.len()];
                        out.iter_mut().zip(values).for_each(|(p, &k)| *p = (f64::from(k) + share) / (n + *prior));
                    }
                }
                Rows::Sample { prob, drawn, posterior } => {
                    touched.iter().for_each(|&row| posterior.set(row as usize, counts.values(row as usize)));
                    posterior.sample(seed, drawn);
                    // From `[value][row]` to rows.
                    let n_values = evidence.view.layout.factors[i].n_values;
                    let n_rows = drawn.len() / n_values;
                    for (row, out) in prob.chunks_exact_mut(n_values).enumerate() {
                        out.iter_mut().enumerate().for_each(|(v, p)| *p = drawn[v * n_rows + row]);
                    }
                }
                Rows::Within { lo, hi, confidence } => {
                    for row in touched.iter().map(|&row| row as usize) {
                        (lo[row], hi[row]) = confidence.interval(counts.values(row), counts.n_r[row]);
                    }
                }
            }
        }
    }

    /// How interventions are picked and what they come to, by the rows as they are now.
    pub(super) fn selector(&self, by_parts: &Arc<ByParts>) -> PartsSelector {
        let ByParts { kernel, components } = &**by_parts;
        let next: Vec<Next<'_>> = (self.tables.iter())
            .map(|table| match table {
                Rows::Known(prob) => Next::Exact(prob),
                Rows::Mean { prob, .. } | Rows::Sample { prob, .. } => Next::Exact(prob),
                Rows::Within { lo, hi, .. } => Next::Within(lo, hi),
            })
            .collect();
        let known = |table: &Option<Arc<[f64]>>| table.clone().expect("invariant: rewards are known where parts serve");
        let rewards: Vec<Arc<[f64]>> = components.reward_terms().iter().map(|term| known(&term.table)).collect();
        let of_terms: Vec<&[f64]> = rewards.iter().map(|table| &table[..]).collect();
        let search = components.kernel(kernel, &next, &of_terms, 0);
        let both = |p: &Vec<f64>| p.iter().flat_map(|p| [1.0 - p, *p]).collect();
        let ends = |table: &Rows| match table {
            Rows::Known(prob) => [prob.to_vec(), Vec::new()],
            Rows::Mean { prob, .. } | Rows::Sample { prob, .. } => [prob.clone(), Vec::new()],
            Rows::Within { lo, hi, .. } => [both(lo), both(hi)],
        };
        PartsSelector { by_parts: by_parts.clone(), search, ends: self.tables.iter().map(ends).collect(), rewards }
    }
}

/// Picks interventions from what next states are worth, and says what given ones come to.
#[derive(Clone, Debug)]
pub(crate) struct PartsSelector {
    pub(crate) by_parts: Arc<ByParts>,
    /// Its causes are joint next values, and its settings cost what they cost less what they pay.
    pub(crate) search: Kernel,
    /// Tables of the state factors, `[row][value]`: lower and upper ends, the second empty where they are the same.
    ends: Vec<[Vec<f64>; 2]>,
    rewards: Vec<Arc<[f64]>>,
}

impl PartsSelector {
    /// What given interventions come to, by the lower ends where rows are intervals.
    pub(crate) fn acting(&self) -> Acting<'_> {
        self.at_end(0)
    }

    /// What a given intervention comes to at best, costs left out.
    pub(crate) fn hope(&self, state: usize, action: Action, of: &[f64]) -> f64 {
        self.at_end(0).hope(&self.at_end(1), state, action, of)
    }

    fn at_end(&self, end: usize) -> Acting<'_> {
        Acting {
            components: &self.by_parts.components,
            kernel: &self.by_parts.kernel,
            next: self
                .ends
                .iter()
                .map(|ends| if ends[end].is_empty() { &ends[0][..] } else { &ends[end][..] })
                .collect(),
            rewards: self.rewards.iter().map(|table| &table[..]).collect(),
            sizes: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::learn::options::Sets;
    use crate::learn::tabular::Tabular;
    use crate::learn::{Agent, Knowledge, Learner, Options, Plans, Preset, Reading};
    use crate::plan::{Plan, Ties};
    use crate::world::{Kind, MechanismSpec, SetSpec, VariableSpec};
    use crate::worlds::ManyLevers;
    use crate::{Arena, World};

    /// Worlds that fall apart, some with costs and with levers that may be left alone.
    fn world(seed: u64) -> World {
        let (factors, keys) = [(2, 4), (3, 3), (2, 2), (3, 5)][seed as usize % 4];
        let many = ManyLevers { factors, keys, sparse: true, levers: 1, levels: 2, horizon: 3, seed };
        let mut spec = many.spec().unwrap();
        if seed % 2 == 1 {
            for lever in spec.variables.iter_mut().filter(|v| v.kind == Kind::Lever) {
                lever.costs = vec![(lever.values[0].clone(), 0.02.into())];
            }
        }
        if seed % 3 == 2 {
            let levers = spec.variables.iter().filter(|v| v.kind == Kind::Lever);
            // Left alone, both values are alike.
            let fair = |lever: &VariableSpec| MechanismSpec {
                children: vec![lever.name.clone()],
                parents: vec![],
                form: vec![0.5, 0.5].into(),
                learn: None,
                at: None,
            };
            let own: Vec<MechanismSpec> = levers.map(fair).collect();
            spec.mechanisms.extend(own);
            spec.interventions.set = SetSpec::AtMost(2.into());
        }
        World::new(spec).unwrap()
    }

    /// The same steps, counted over joint causes and part by part.
    fn both(world: &World, name: &str, episodes: u64) -> [Tabular; 2] {
        let told = Knowledge::of(world);
        let options: Options = name.parse::<Preset>().unwrap().options(1000, 3);
        let mut learners = [View::new(&told, options.states, options.causes, false), View::in_parts(&told, &options)]
            .map(|view| Tabular::with(Evidence::of(&Arc::new(view.unwrap())), options.clone()).unwrap());
        let arena = Arena::new(world).unwrap();
        let mut run = arena.run(5);
        struct Watch<'a>(&'a mut [Tabular; 2], Learner);
        impl Agent for Watch<'_> {
            fn begin_episode(&mut self) {
                self.1.begin_episode();
            }
            fn act(&mut self, stage: usize, state: usize) -> crate::Action {
                self.1.act(stage, state)
            }
            fn observe(&mut self, observation: &crate::learn::Observation<'_>) {
                self.1.observe(observation);
                self.0.iter_mut().for_each(|learner| learner.learn(observation).unwrap());
            }
            fn end_episode(&mut self) {
                self.1.end_episode();
            }
        }
        let random = Learner::new(&told, "uniform".parse::<Preset>().unwrap().options(1000, 1)).unwrap();
        let mut watch = Watch(&mut learners, random);
        for _ in 0..episodes {
            run.play(&mut watch, false);
        }
        learners
    }

    fn close(a: &Plan, b: &Plan, what: &str) {
        let far = a.value_hs.iter().zip(&b.value_hs).find(|(x, y)| (**x - **y).abs() > 1e-9);
        assert!(far.is_none(), "{what}: {far:?}");
    }

    #[test]
    fn means_part_by_part_are_those_over_joint_causes() {
        for seed in 0..24 {
            let world = world(seed);
            let [joint, parts] = both(&world, "graph-psrl", 40);
            assert!(parts.view().by_parts.is_some() && joint.view().by_parts.is_none());
            let reading = Reading::Mean { prior: 1.0 };
            let [a, b] = [&joint, &parts].map(|learner| learner.read(reading, 1, Ties::First).unwrap().0);
            close(&a, &b, "plans");
            // A policy that is not the best by these means.
            let policy = Arena::new(&world).unwrap().best().policy_hs.clone();
            let [a, b] = [&joint, &parts].map(|learner| learner.follow(reading, 1, &policy).unwrap());
            close(&a, &b, "values of a policy");
        }
    }

    /// V of the best member of every set, with all interventions and corners listed.
    fn by_listing(world: &World, tabular: &Tabular, reading: Reading) -> Plan {
        let mut belief = tabular.belief_by(reading);
        let selector = tabular.draw(&mut belief, 1).unwrap();
        let crate::learn::selector::Selector::Parts(parts) = &selector else { panic!("part by part") };
        let (n, all) = (world.n_states(), world.interventions());
        let mut plan = Plan::new(world.horizon(), n);
        for stage in (0..world.horizon()).rev() {
            let mut next = Vec::new();
            belief.look_at(stage, 0, &plan.value_hs[(stage + 1) * n..(stage + 2) * n], &mut next);
            for s in 0..n {
                let digits = world.state_space().digits(s);
                let allowed = (0..all.count()).map(|i| all.nth(i)).filter(|&a| all.allows(&digits, a));
                let worth = allowed.map(|a| parts.hope(s, a, &next) - all.cost(a));
                plan.value_hs[stage * n + s] = worth.fold(f64::NEG_INFINITY, f64::max).min(belief.caps()[stage]);
            }
        }
        plan
    }

    #[test]
    fn the_best_member_is_a_corner_and_no_better_than_over_joint_causes() {
        for seed in 0..24 {
            let world = world(seed);
            let [joint, parts] = both(&world, "graph-ucbvi", 30);
            let reading = Reading::Best(Sets::Mixture);
            let [a, b] = [&joint, &parts].map(|learner| learner.read(reading, 1, Ties::First).unwrap().0);
            close(&b, &by_listing(&world, &parts, reading), "corners");
            for (joint, parts) in a.value_hs.iter().zip(&b.value_hs) {
                // Over joint causes the member may depend on next values that are still open, so no less optimistic.
                assert!(*parts <= joint + 1e-9, "{parts} {joint}");
            }
            let best = Arena::new(&world).unwrap();
            // The sets hold with probability 0.9; here they do in every run.
            assert!(b.value_hs.iter().zip(&best.best().value_hs).all(|(upper, true_)| *upper >= true_ - 1e-9));
        }
    }

    #[test]
    fn what_rests_on_joint_causes_is_refused_by_name() {
        let [_, parts] = both(&world(0), "graph-ucbvi", 2);
        for reading in [Reading::Worst(Sets::Mixture), Reading::Greedy] {
            let error = parts.read(reading, 0, Ties::First).unwrap_err();
            assert!(error.to_string().contains("part by part"), "{error}");
        }
        let policy = parts.plan.policy_hs.clone();
        assert!(parts.follow(Reading::Best(Sets::Mixture), 0, &policy).is_err());
    }
}
