//! Values pinned for a seed: when one changes, `learn::DRAWS` is raised and the changelog says so.

use dowise::{Learner, Preset};

use crate::play::{Arena, watch};
use crate::small_worlds;

/// Name, the first ten interventions, and the regret of 100 episodes.
const PINNED: [(&str, [u64; 10], f64); 13] = [
    ("ucbvi", [4, 10, 5, 5, 5, 5, 11, 10, 5, 5], 8.633533380975173),
    ("f-ucbvi", [4, 10, 5, 5, 5, 5, 11, 10, 5, 5], 5.476685089107882),
    ("c-ucbvi", [4, 10, 5, 5, 5, 5, 11, 10, 5, 5], 3.2528387956090263),
    ("cf-ucbvi", [4, 10, 5, 5, 5, 5, 11, 10, 5, 5], 2.5250369748114876),
    ("graph-ucbvi", [4, 10, 5, 5, 5, 5, 11, 10, 5, 5], 1.9333575731528236),
    ("psrl", [4, 10, 5, 8, 5, 5, 11, 11, 4, 8], 9.744105287530516),
    ("f-psrl", [5, 4, 11, 5, 5, 5, 10, 8, 11, 7], 8.366180034538246),
    ("c-psrl", [5, 11, 5, 5, 5, 5, 11, 10, 5, 5], 4.084763890555942),
    ("cf-psrl", [4, 10, 5, 5, 5, 5, 11, 11, 4, 5], 3.2538550371970585),
    ("graph-psrl", [5, 5, 11, 11, 11, 5, 11, 10, 5, 5], 2.596763383176751),
    ("greedy", [4, 5, 10, 7, 11, 11, 8, 10, 11, 8], 4.892109751802868),
    ("epsilon-greedy", [4, 5, 10, 7, 11, 11, 8, 10, 4, 8], 6.401089440470519),
    ("uniform", [4, 5, 10, 7, 7, 11, 8, 4, 8, 8], 20.980617907819656),
];

#[test]
fn a_seed_keeps_its_actions_and_its_regret() {
    let arena = Arena::new(small_worlds::factored(1));
    let found: Vec<(&str, [u64; 10], f64)> = Preset::all()
        .iter()
        .filter(|preset| preset.linear().is_none())
        .map(|preset| {
            let mut learner = Learner::new(&arena.knowledge(), preset.options(100, 7)).expect("a learner");
            let mut run = arena.run(7);
            let (mut actions, mut regret) = (vec![], 0.0);
            for _ in 0..100 {
                let (episode, seen) = watch(&mut run, &mut learner);
                actions.extend(seen.iter().map(|s| s.action.0));
                regret += episode.regret;
            }
            (preset.name(), actions[..10].try_into().expect("ten"), regret)
        })
        .collect();
    assert_eq!(found, PINNED);
}

/// Enough interventions that a sampling learner does not draw all of their rows.
#[test]
fn many_interventions_keep_their_regret_through_saving_and_give_reasons() {
    let arena = Arena::new(dowise::World::new(dowise::worlds::Paper::default().spec().unwrap()).unwrap());
    let options = "psrl".parse::<Preset>().unwrap().options(100, 7);
    let mut learner = Learner::new(&arena.knowledge(), options.clone()).expect("a learner");
    let undisturbed = arena.regrets(options, 7);
    let (mut run, mut regret) = (arena.run(7), 0.0);
    for (episode, as_before) in undisturbed.into_iter().enumerate() {
        if episode == 50 {
            learner = Learner::restore(&arena.knowledge(), &learner.save()).expect("what was saved");
        }
        if episode == 70 {
            // Looks at rows that no plan has asked for; what is drawn later does not change.
            let reasons = learner.explain(1, 3, 64).unwrap();
            let mut now = learner.clone();
            dowise::Agent::begin_episode(&mut now);
            assert_eq!(reasons.preferred.len(), 64);
            assert!((reasons.preferred[0].optimistic - now.plan().value(1, 3)).abs() < 1e-12);
            assert!(reasons.preferred.iter().all(|p| p.optimistic <= reasons.preferred[0].optimistic + 1e-9));
        }
        let now = run.episode(&mut learner).regret;
        assert_eq!(now, as_before, "episode {episode}");
        regret += now;
    }
    assert_eq!(regret, 9.067120911967361);
}
