//! Tests of decomposed planning: plans and policy values by components equal those over joint key values from the same
//! steps. The tests cover means, samples and optimistic and pessimistic estimates, with counts pooled over stages or
//! separate.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::kernel::brute_force::common::random_world::{Sizes, random_world};
use crate::learn::belief::{Backend, Belief, sampled_tables};
use crate::learn::learner;
use crate::learn::options::Sets;
use crate::learn::selector::Selector;
use crate::learn::tabular::Tabular;
use crate::learn::wrappers::Forgetting;
use crate::learn::{Agent, Estimator, Knowledge, LearnError, Learner, LearnerSpec, Options, Plans, Preset};
use crate::plan::{Planner, Ties, rewards_by_cause};
use crate::world::{Kind, MechanismSpec, RewardTerm, SetSpec, VarId, VariableSpec};
use crate::worlds::ManyLevers;
use crate::{Action, Arena, Space, World};

/// Worlds of independent components with one binary factor each, some with costs and optional levers.
fn many_levers(seed: u64) -> World {
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
        // A lever that is not set takes both values with equal probability.
        let fair = |lever: &VariableSpec| MechanismSpec {
            children: vec![lever.name.clone().into()],
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

/// Worlds with several components, shared key variables, direct effects of levers, hidden variables, rewards over
/// several components, costs, restrictions and ties. Some have terminal states, discount and next-state rewards.
fn drawn(seed: u64) -> World {
    let groups = Sizes { levers: [2, 4], keys: [2, 4], hidden: [0, 1], values: [1, 2], rules: 3, ..Sizes::default() };
    let ties = Sizes { coarse: true, cost: 0.1, ..Sizes::default() };
    let continuation = Sizes { continuation: true, values: [1, 2], ..Sizes::default() };
    // Many next values in one component, and many rows left open by a setting.
    let large = Sizes { state: [2, 3], levers: [1, 2], keys: [2, 3], values: [2, 3], ..Sizes::default() };
    let mixed = [Sizes::default(), groups, ties, continuation, large];
    random_world(47_000 + seed, &mixed[seed as usize % 5]).1
}

/// All known; unknown rewards; unknown mechanisms; or both unknown.
fn knowledge(world: &World, what: usize) -> Knowledge {
    let all = Knowledge::of(world);
    match what {
        0 => all,
        1 => all.without_rewards(),
        2 => all.without_mechanisms(),
        _ => all.without_mechanisms().without_rewards(),
    }
}

/// The same steps, counted over joint key values and by components; `None` if the unknown parameters cannot be
/// learned.
fn both(world: &World, knowledge: &Knowledge, name: &str, episodes: u64) -> Option<[Tabular; 2]> {
    both_with(world, knowledge, name.parse::<Preset>().unwrap().options(1000, 3), episodes)
}

fn both_with(world: &World, knowledge: &Knowledge, options: Options, episodes: u64) -> Option<[Tabular; 2]> {
    let joint = View::new(knowledge, options.states, options.causes, options.stage_dependent);
    let views = [joint, View::in_parts(knowledge, &options)];
    let [joint, parts] = match views {
        [Err(LearnError::Confounded { .. }), Err(LearnError::Confounded { .. })] => return None,
        views => views.map(|view| Tabular::with(Evidence::of(&Arc::new(view.unwrap())), options.clone()).unwrap()),
    };
    assert!(parts.view().decomposed.is_some() && joint.view().decomposed.is_none());
    assert_eq!(joint.view().rows(), parts.view().rows());
    let mut forgets = [&joint, &parts].map(Forgetting::new);
    let mut learners = [joint, parts].map(|learner| learner::Kind::Tabular(Box::new(learner)));
    let arena = Arena::new(world).unwrap();
    let mut run = arena.run(5);
    struct Watch<'a>(&'a mut [learner::Kind; 2], Learner, &'a mut [Option<Forgetting>; 2]);
    impl Agent for Watch<'_> {
        fn begin_episode(&mut self) {
            self.1.begin_episode();
        }
        fn act(&mut self, stage: usize, state: usize) -> Action {
            self.1.act(stage, state)
        }
        fn observe(&mut self, observation: &crate::learn::Observation<'_>) {
            self.1.observe(observation);
            for (learner, forget) in self.0.iter_mut().zip(self.2.iter_mut()) {
                let learner::Kind::Tabular(tabular) = learner else { panic!("a learner that counts") };
                tabular.learn(observation).unwrap();
                forget.iter_mut().for_each(|forget| forget.learn(learner, observation, 1));
            }
        }
        fn end_episode(&mut self) {
            self.1.end_episode();
        }
    }
    let random = Learner::new(&Knowledge::of(world), "uniform".parse::<Preset>().unwrap().options(1000, 1)).unwrap();
    let mut watch = Watch(&mut learners, random, &mut forgets);
    for _ in 0..episodes {
        run.play(&mut watch, false);
    }
    let learners = learners.map(|learner| match learner {
        learner::Kind::Tabular(tabular) => *tabular,
        learner::Kind::Linear(_) => panic!("a learner that counts"),
    });
    let [joint, parts] = &learners;
    assert_eq!(joint.evidence.save(), parts.evidence.save(), "what is counted is the same");
    Some(learners)
}

/// All worlds of these tests with every choice of unknown parameters, counted in both ways.
fn each(n: u64, name: &str, episodes: u64, mut visit: impl FnMut(&World, usize, [Tabular; 2])) {
    for seed in 0..n {
        for world in [drawn(seed), many_levers(seed)] {
            for what in 0..4 {
                if let Some(learners) = both(&world, &knowledge(&world, what), name, episodes) {
                    visit(&world, what, learners);
                }
            }
        }
    }
}

fn close(a: &[f64], b: &[f64], what: &str) {
    let far = a.iter().zip(b).find(|(x, y)| (**x - **y).abs() > 1e-9 * (1.0 + y.abs()));
    assert!(far.is_none(), "{what}: {far:?}");
}

#[test]
fn decomposed_means_equal_those_over_joint_key_values() {
    let mut seen = [0; 4];
    each(40, "graph-psrl", 25, |world, what, [joint, parts]| {
        seen[what] += 1;
        for reading in [Estimator::Mean { prior: 1.0 }, Estimator::Pooled { prior: 2.0 }] {
            let [a, b] = [&joint, &parts].map(|learner| learner.read(reading, 1, Ties::First).unwrap().0);
            close(&a.value_hs, &b.value_hs, "plans");
            // The chosen policy has the same value by the other method.
            let followed = joint.follow(reading, 1, &b.policy_hs).unwrap();
            close(&followed.value_hs, &b.value_hs, "the plan by parts");
            // A policy that is not optimal by these means.
            let policy = Arena::new(world).unwrap().best().policy_hs.clone();
            let [a, b] = [&joint, &parts].map(|learner| learner.follow(reading, 1, &policy).unwrap());
            close(&a.value_hs, &b.value_hs, "values of a policy");
        }
    });
    assert!(seen.iter().all(|&n| n > 50), "{seen:?}");
}

#[test]
fn decomposed_forgetting_equals_forgetting_over_joint_key_values() {
    let mut fewer = 0;
    for (seed, forget) in (0..10).zip(["window:20", "reset", "discount:0.9"].into_iter().cycle()) {
        let world = drawn(seed);
        let name = format!("graph-psrl:forget={forget}");
        let options = name.parse::<LearnerSpec>().unwrap().options(1000, 3);
        let Some([joint, parts]) = both_with(&world, &knowledge(&world, 3), options, 40) else { continue };
        fewer += usize::from(parts.evidence.steps() < 40 * world.horizon() as u64);
        let reading = Estimator::Mean { prior: 1.0 };
        let [a, b] = [&joint, &parts].map(|learner| learner.read(reading, 1, Ties::First).unwrap().0);
        close(&a.value_hs, &b.value_hs, "plans");
    }
    assert!(fewer > 2, "{fewer}");
}

/// The world with these tables in place of unknown ones; `next` by factor, `paid` by reward term.
fn believed(parts: &Tabular, next: &[Vec<f64>], paid: &[Arc<[f64]>], mechanisms: &[Option<Vec<f64>>]) -> World {
    let view = parts.view();
    let mut world = view.mechanisms.as_ref().map_or(view.knowledge.world(), |rows| &rows.world).clone();
    let decomposed = view.decomposed.as_ref().expect("by components");
    for (term, table) in decomposed.components.reward_terms().iter().zip(paid) {
        let of = &world.rewards[term.of];
        let (scope, table) = (term.scope.clone(), Some(table.clone()));
        world.rewards[term.of] = RewardTerm { scope, next: Vec::new(), table, ..of.clone() };
    }
    for (transition, table) in world.transitions.iter_mut().zip(next) {
        transition.table = Some(table[..].into());
    }
    let sizes = |ids: &[VarId]| -> usize { ids.iter().map(|id| view.knowledge.variable(*id).size()).product() };
    for (i, mechanism) in world.mechanisms.iter_mut().enumerate().filter(|(_, m)| m.table.is_none()) {
        // Variables without children are not counted.
        let n = sizes(&mechanism.children);
        let any = || vec![1.0 / n as f64; n * sizes(&mechanism.parents)];
        mechanism.table = Some(mechanisms.get(i).cloned().flatten().unwrap_or_else(any).into());
    }
    world
}

fn own(belief: &Belief) -> &DecomposedBelief {
    let Backend::Decomposed(belief) = &belief.kept else { panic!("by components") };
    belief
}

#[test]
fn the_plan_of_a_sample_is_that_of_the_sampled_world() {
    let mut seen = [0; 4];
    each(60, "graph-psrl", 10, |_, what, [_, parts]| {
        seen[what] += 1;
        let (reading, seed) = (Estimator::Sample { prior: 2.0 }, seen[what]);
        let plan = parts.read(reading, seed, Ties::First).unwrap().0;
        // The same draws once more; those of the mechanisms separately.
        let (mut belief, mut rng) = (parts.belief_by(reading), ChaCha8Rng::seed_from_u64(seed));
        belief.update(&parts.evidence, splitmix64(seed), Some(&mut rng));
        let rows = parts.view().mechanisms.as_ref();
        let mechanisms =
            rows.map_or(Vec::new(), |rows| sampled_tables(&parts.evidence.mechanisms, rows, 2.0, &mut rng));
        let DecomposedBelief { tables, rewards, .. } = own(&belief);
        let next: Vec<Vec<f64>> = tables[0].iter().map(|rows| rows.ends()[0].to_vec()).collect();
        let world = believed(&parts, &next, rewards, &mechanisms);
        let planner = Planner::over_joint_causes(&world).unwrap();
        close(&plan.value_hs, &planner.plan().value_hs, "values");
        close(&planner.evaluate(&plan.policy_hs).unwrap(), &plan.value_hs, "the plan in the sampled world");
    });
    assert!(seen.iter().all(|&n| n > 80), "{seen:?}");
}

/// A distribution within intervals, at one of their corners or not.
fn member(lo: &[f64], hi: &[f64], rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut order: Vec<usize> = (0..lo.len()).collect();
    (1..order.len()).for_each(|i| order.swap(i, rng.random_range(0..=i)));
    let inside = if rng.random_bool(0.5) { 1.0 } else { rng.random() };
    let (mut out, mut left) = (lo.to_vec(), 1.0 - lo.iter().sum::<f64>());
    for i in order {
        let more = left.min(inside * (hi[i] - lo[i])).max(0.0);
        out[i] += more;
        left -= more;
    }
    // The remaining mass goes where the intervals allow it.
    for i in 0..out.len() {
        let more = left.min(hi[i] - out[i]).max(0.0);
        out[i] += more;
        left -= more;
    }
    out
}

fn members(lo: &[f64], hi: &[f64], n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
    lo.chunks_exact(n).zip(hi.chunks_exact(n)).flat_map(|(lo, hi)| member(lo, hi, rng)).collect()
}

/// Distributions drawn from all sets, for next values and unknown mechanisms.
fn drawn_members(
    world: &World,
    parts: &Tabular,
    belief: &Belief,
    rng: &mut ChaCha8Rng,
) -> (Vec<Vec<f64>>, Vec<Option<Vec<f64>>>) {
    let sizes = world.state_space().sizes();
    let next = own(belief).tables[0].iter().zip(sizes).map(|(rows, &n)| match rows.ends() {
        [exact, hi] if hi.is_empty() => exact.to_vec(),
        [lo, hi] => members(&lo, &hi, n, rng),
    });
    let next = next.collect();
    let bounds = belief.intervals.as_ref().map_or(&[][..], |intervals| intervals.bounds());
    let of_mechanism = |(i, bounds): (usize, &Option<crate::kernel::RowBounds>)| {
        let counted = &parts.view().mechanisms.as_ref().expect("it is learned").world;
        let n = counted.sizes(&counted.mechanisms()[i].children).iter().product();
        bounds.as_ref().map(|bounds| members(&bounds.lo, &bounds.hi, n, rng))
    };
    (next, bounds.iter().enumerate().map(of_mechanism).collect())
}

/// A random allowed policy.
fn any_policy(world: &World, rng: &mut ChaCha8Rng) -> Vec<Action> {
    let all = world.interventions();
    let of_state = |state: usize, rng: &mut ChaCha8Rng| {
        let digits = world.state_space().digits(state);
        let allowed: Vec<Action> = (0..all.count()).map(|i| all.nth(i)).filter(|&a| all.allows(&digits, a)).collect();
        allowed[rng.random_range(0..allowed.len())]
    };
    (0..world.horizon() * world.n_states()).map(|i| of_state(i % world.n_states(), rng)).collect()
}

#[test]
fn policy_values_lie_between_the_pessimistic_and_the_optimistic_estimate() {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (mut seen, mut apart) = ([0; 4], 0);
    each(20, "graph-ucbvi", 12, |world, what, [_, parts]| {
        seen[what] += 1;
        let policy = any_policy(world, &mut rng);
        let [(low, worst), (up, best)] = [Estimator::Pessimistic(Sets::Mixture), Estimator::Optimistic(Sets::Mixture)]
            .map(|reading| {
                let mut belief = parts.belief_by(reading);
                parts.draw(&mut belief, 1).unwrap();
                (parts.follow(reading, 1, &policy).unwrap(), belief)
            });
        for _ in 0..4 {
            let (next, mechanisms) = drawn_members(world, &parts, &best, &mut rng);
            // The estimates of rewards are single numbers, the least and the greatest.
            let [least, most] = [&worst, &best].map(|belief| {
                let inside = believed(&parts, &next, &own(belief).rewards, &mechanisms);
                Planner::over_joint_causes(&inside).unwrap().evaluate(&policy).unwrap()
            });
            for (i, (least, most)) in least.iter().zip(&most).enumerate() {
                let close = 1e-9 * (1.0 + least.abs().max(most.abs()));
                assert!(low.value_hs[i] <= least + close, "{what}: {} above {least}", low.value_hs[i]);
                assert!(up.value_hs[i] >= most - close, "{what}: {} below {most}", up.value_hs[i]);
                apart += usize::from(up.value_hs[i] > low.value_hs[i] + 1e-3);
            }
        }
    });
    assert!(seen.iter().all(|&n| n > 25) && apart > 1000, "{seen:?} {apart}");
}

#[test]
fn stage_dependent_counts_are_planned_as_over_joint_key_values() {
    let (mut seen, mut differ) = ([0; 4], 0);
    let mut rng = ChaCha8Rng::seed_from_u64(10);
    for seed in 0..12 {
        for (i, world) in [drawn(seed), many_levers(seed)].into_iter().enumerate() {
            let what = (seed as usize + i) % 4;
            let options = "graph-ucbvi".parse::<Preset>().unwrap().options(1000, 3);
            let options = Options { stage_dependent: true, ..options };
            let Some([joint, parts]) = both_with(&world, &knowledge(&world, what), options, 40) else { continue };
            seen[what] += 1;
            let (reading, policy) = (Estimator::Mean { prior: 1.0 }, any_policy(&world, &mut rng));
            let [a, b] = [&joint, &parts].map(|learner| learner.read(reading, 1, Ties::First).unwrap().0);
            close(&a.value_hs, &b.value_hs, "plans");
            let [a, b] = [&joint, &parts].map(|learner| learner.follow(reading, 1, &policy).unwrap());
            close(&a.value_hs, &b.value_hs, "values of a policy");
            let n = world.n_states();
            differ += usize::from(own(&parts.belief).tables.len() == world.horizon() && a.value_hs[0] != a.value_hs[n]);
            // If every component determines one binary factor, bounds are no wider than over joint key values.
            if i == 1 {
                let [low, up] = [Estimator::Pessimistic(Sets::Mixture), Estimator::Optimistic(Sets::Mixture)]
                    .map(|reading| [&joint, &parts].map(|learner| learner.follow(reading, 1, &policy).unwrap()));
                let pairs = |of: &[crate::plan::Plan; 2]| -> Vec<(f64, f64)> {
                    of[0].value_hs.iter().copied().zip(of[1].value_hs.iter().copied()).collect()
                };
                assert!(pairs(&low).iter().all(|(joint, parts)| *parts >= joint - 1e-9));
                assert!(pairs(&up).iter().all(|(joint, parts)| *parts <= joint + 1e-9));
            }
        }
    }
    assert!(seen.iter().all(|&n| n > 2) && differ > 10, "{seen:?} {differ}");
}

#[test]
fn no_member_of_the_sets_exceeds_the_optimistic_value() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let (mut seen, mut doubtful, mut above) = ([0; 4], [0; 2], 0);
    each(30, "graph-ucbvi", 12, |world, what, [_, parts]| {
        seen[what] += 1;
        let reading = Estimator::Optimistic(Sets::Mixture);
        let (upper, belief, selector) = parts.read(reading, 1, Ties::First).unwrap();
        let Selector::Parts(parts_selector) = &selector else { panic!("by components") };
        doubtful[0] += usize::from(!parts_selector.search(0).is_certain());
        doubtful[1] += usize::from(!parts_selector.kernel.is_exact());
        for _ in 0..6 {
            let (next, mechanisms) = drawn_members(world, &parts, &belief, &mut rng);
            let inside = believed(&parts, &next, &own(&belief).rewards, &mechanisms);
            let plan = Planner::over_joint_causes(&inside).unwrap().plan();
            for (upper, member) in upper.value_hs.iter().zip(&plan.value_hs) {
                assert!(*upper >= member - 1e-9 * (1.0 + member.abs()), "{what}: {upper} {member}");
                above += usize::from(*upper > member + 1e-3);
            }
        }
    });
    assert!(
        seen.iter().all(|&n| n > 40) && doubtful.iter().all(|&n| n > 3) && above > 1000,
        "{seen:?} {doubtful:?} {above}"
    );
}

/// All combinations of indices below these sizes, the last one fastest.
fn combinations(sizes: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let space = Space::new(sizes).unwrap();
    (0..space.len()).map(move |i| space.digits(i))
}

/// The least and greatest value of an intervention without costs, over all corners of its effects and both ends of
/// every row; `None` if these are too many.
fn by_listing(
    parts: &Tabular,
    belief: &Belief,
    selector: &PartsSelector,
    state: usize,
    action: Action,
    of: &[f64],
) -> Option<[f64; 2]> {
    let DecomposedBelief { tables, rewards, .. } = own(belief);
    let ends: Vec<[Arc<[f64]>; 2]> = tables[0].iter().map(Rows::ends).collect();
    let layout = &parts.view().layout;
    let world = believed(parts, &vec![Vec::new(); ends.len()], rewards, &[]);
    let causes = &parts.view().key_causes;
    let paid = rewards_by_cause(&world, causes);
    let mut settings = Vec::new();
    selector.kernel.decode(action, &mut settings);
    let columns = selector.kernel.only(state, &settings).columns_at(state);
    let n_columns: Vec<usize> = columns.iter().map(Vec::len).collect();
    if n_columns.iter().product::<usize>() > 32 {
        return None;
    }
    let mut found = [f64::INFINITY, f64::NEG_INFINITY];
    for chosen in combinations(&n_columns) {
        let prob = chosen.iter().zip(&columns).fold(vec![1.0], |before, (&i, of_group)| {
            before.iter().flat_map(|p| of_group[i].iter().map(move |q| p * q)).collect::<Vec<f64>>()
        });
        for end in combinations(&vec![2; ends.len()]) {
            let worth = prob.iter().enumerate().filter(|(_, p)| **p > 0.0).map(|(cause, p)| {
                let next = |s: usize| -> f64 {
                    let of_factor = |(i, f): (usize, &crate::learn::view::FactorLayout)| {
                        let row = f.row(f.state_row(&layout.state_space, state), cause, layout.n_causes);
                        let second = match &ends[i] {
                            [exact, hi] if hi.is_empty() => exact[row * 2 + 1],
                            ends => ends[end[i]][row * 2 + 1],
                        };
                        if layout.state_space.digit(s, i) == 1 { second } else { 1.0 - second }
                    };
                    layout.factors.iter().enumerate().map(of_factor).product()
                };
                let later: f64 = of.iter().enumerate().map(|(s, v)| next(s) * v).sum();
                p * (paid[state * causes.len() + cause] + later)
            });
            let worth: f64 = worth.sum();
            found = [found[0].min(worth), found[1].max(worth)];
        }
    }
    Some(found)
}

#[test]
fn the_optimistic_member_is_a_corner_and_no_better_than_over_joint_key_values() {
    let mut listed = [0; 4];
    for (seed, what) in (0..8).flat_map(|seed| [(seed, seed as usize % 4), (seed, 3)]) {
        let world = many_levers(seed);
        let [joint, parts] = both(&world, &knowledge(&world, what), "graph-ucbvi", 30).unwrap();
        let reading = Estimator::Optimistic(Sets::Mixture);
        let joint = joint.read(reading, 1, Ties::First).unwrap().0;
        let (plan, belief, selector) = parts.read(reading, 1, Ties::First).unwrap();
        for (joint, parts) in joint.value_hs.iter().zip(&plan.value_hs) {
            // Over joint key values the estimate may depend on next values that are still open, so it is at least as
            // optimistic.
            assert!(*parts <= joint + 1e-9, "{parts} {joint}");
        }
        let best = Arena::new(&world).unwrap();
        // The sets hold with probability 0.9; here they hold in every run.
        assert!(plan.value_hs.iter().zip(&best.best().value_hs).all(|(upper, true_)| *upper >= true_ - 1e-9));
        let Selector::Parts(own) = &selector else { panic!("by components") };
        assert!(own.kernel.is_exact() && own.search(0).is_exact(), "no setting has too many corners");
        let mut worst = parts.belief_by(Estimator::Pessimistic(Sets::Mixture));
        let worst_selector = parts.draw(&mut worst, 1).unwrap();
        let (n, all) = (world.n_states(), world.interventions());
        for (stage, state) in [(0, 0), (1, n - 1)] {
            let next = &plan.value_hs[(stage + 1) * n..(stage + 2) * n];
            let mut arranged = Vec::new();
            own.decomposed.components.arrange(next, &mut arranged);
            let digits = world.state_space().digits(state);
            let allowed = (0..all.count()).map(|i| all.nth(i)).filter(|&a| all.allows(&digits, a));
            let worth = allowed.map(|action| {
                let [_, found] = by_listing(&parts, &belief, own, state, action, next)?;
                close(
                    &[selector.optimistic_value(stage, state, action, &arranged)],
                    &[found],
                    "an intervention at its best",
                );
                let [least, _] = by_listing(&parts, &worst, own, state, action, next)?;
                close(
                    &[worst_selector.optimistic_value(stage, state, action, &arranged)],
                    &[least],
                    "an intervention at its worst",
                );
                Some(found - all.cost(action))
            });
            let Some(worth) = worth.collect::<Option<Vec<f64>>>() else { continue };
            listed[what] += 1;
            let best = worth.into_iter().fold(f64::NEG_INFINITY, f64::max);
            close(&[best], &[plan.value(stage, state)], "the best of all");
        }
    }
    assert!(listed.iter().all(|&n| n > 0), "{listed:?}");
}

#[test]
fn options_that_need_joint_key_values_are_refused_by_name() {
    let world = many_levers(0);
    let [_, parts] = both(&world, &knowledge(&world, 0), "graph-ucbvi", 2).unwrap();
    for reading in [Estimator::Pessimistic(Sets::Mixture), Estimator::Greedy] {
        let error = parts.read(reading, 0, Ties::First).unwrap_err();
        assert!(error.to_string().contains("by components"), "{error}");
    }
    assert!(parts.follow(Estimator::Greedy, 0, &parts.plan.policy_hs).is_err());
}
