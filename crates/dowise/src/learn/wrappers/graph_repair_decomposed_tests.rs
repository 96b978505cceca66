//! Tests of graph repair under decomposed planning: errors within a component, across components, or in known
//! parameters.

use crate::World;
use crate::learn::learner::Kind;
use crate::learn::{Agent, Knowledge, Learner, LearnerSpec, Plans};
use crate::simulate::{Play, Simulator};
use crate::world::{Form, WorldSpec};
use crate::worlds::ManyLevers;

/// Four binary key variables per binary state factor: as many components as factors, and too many joint key values to
/// enumerate.
fn spec(factors: usize) -> WorldSpec {
    let many = ManyLevers { factors, keys: 4 * factors, sparse: true, levers: 1, levels: 2, ..ManyLevers::default() };
    many.spec().unwrap()
}

/// The world with an edge from another component's key variable to the first next value, which it flips.
fn with_arrow(mut spec: WorldSpec, key: &str) -> World {
    let transition = &mut spec.transitions[0];
    transition.parents.push(key.into());
    let Form::Table(table) = &mut transition.form else { panic!("a table") };
    *table = table.chunks_exact(2).flat_map(|row| [row[0], row[1], row[1], row[0]]).collect();
    World::new(spec).unwrap()
}

/// A learner that runs in one world with knowledge of another; its final revisions, and whether it plans by
/// components.
fn played(true_world: &World, knowledge: &Knowledge, name: &str, episodes: u64) -> (Learner, bool) {
    let options = name.parse::<LearnerSpec>().unwrap().options(episodes, 1);
    let mut learner = Learner::new(knowledge, options).unwrap();
    let simulator = Simulator::new(true_world).unwrap();
    let mut play = Play::new(&simulator, 1);
    (0..episodes).for_each(|_| _ = play.episode(&mut learner));
    learner.begin_episode();
    let Kind::Tabular(tabular) = &learner.kind else { panic!("a learner that counts") };
    let decomposed = tabular.view().decomposed.is_some();
    assert!(tabular.plan().value_hs.iter().all(|v| v.is_finite()));
    (learner, decomposed)
}

fn became(learner: &Learner) -> Vec<&str> {
    learner.amendments().iter().map(|amendment| amendment.became.as_str()).collect()
}

const GUARDED: [&str; 2] = ["graph-psrl:guard=true", "graph-ucbvi:guard=true"];

#[test]
fn an_arrow_that_is_missing_within_a_part_is_added_there() {
    let true_world = World::new(spec(3)).unwrap();
    let mut declared = spec(3);
    // The declared graph lacks the edge from the first key variable to the first next value; its reward effect stays.
    let transition = &mut declared.transitions[0];
    let place = transition.parents.iter().position(|id| id.value == "z1").unwrap();
    transition.parents.remove(place);
    let Form::Table(table) = &mut transition.form else { panic!("a table") };
    table.truncate(table.len() / 2);
    let knowledge = Knowledge::of(&World::new(declared).unwrap());
    for name in GUARDED {
        let (learner, decomposed) = played(&true_world, &knowledge, name, 600);
        assert_eq!(became(&learner), ["z1 is added to the scope of s1"], "{name}");
        assert!(decomposed, "{name}");
    }
}

#[test]
fn an_arrow_across_parts_makes_them_one() {
    let true_world = with_arrow(spec(3), "z5");
    let knowledge = Knowledge::of(&World::new(spec(3)).unwrap());
    for name in GUARDED {
        let (learner, decomposed) = played(&true_world, &knowledge, name, 600);
        assert_eq!(became(&learner), ["z5 is added to the scope of s1"], "{name}");
        assert!(decomposed, "{name}");
        let Kind::Tabular(tabular) = &learner.kind else { panic!("a learner that counts") };
        assert_eq!(tabular.view().decomposed.as_ref().map(|parts| parts.components.n_parts()), Some(2));
        // The restored learner continues with the revised graph.
        let again = Learner::restore(&knowledge, &learner.save()).unwrap();
        assert_eq!(became(&again), became(&learner));
    }
}

#[test]
fn decomposed_learners_learn_wrong_parameters() {
    let true_world = World::new(spec(3)).unwrap();
    let mut wrong = true_world.clone();
    // Wrong known parameters: the effect of the first lever on its key variable, and the second reward term.
    let turned: Vec<f64> =
        wrong.mechanisms[0].table.as_ref().unwrap().chunks_exact(2).flat_map(|p| [p[1], p[0]]).collect();
    wrong.mechanisms[0].table = Some(turned.into());
    let name = wrong.variable(wrong.mechanisms[0].children[0]).name.clone();
    let knowledge = Knowledge::of(&wrong);
    for guarded in GUARDED {
        let (learner, decomposed) = played(&true_world, &knowledge, guarded, 600);
        assert_eq!(became(&learner), ["its numbers are learned from now on"], "{guarded}");
        assert!(learner.amendments()[0].found.contains(&name), "{:?}", learner.amendments());
        assert!(decomposed, "{guarded}");
    }
    let mut wrong = true_world.clone();
    let table = wrong.rewards[1].table.as_ref().unwrap();
    let most = table.iter().copied().fold(0.0, f64::max);
    wrong.rewards[1].table = Some(table.iter().map(|r| most - r).collect());
    let (learner, decomposed) = played(&true_world, &Knowledge::of(&wrong), GUARDED[0], 100);
    assert_eq!(became(&learner), ["its numbers are learned from now on"]);
    assert!(decomposed);
}

#[test]
fn graphs_that_cannot_be_repaired_in_a_decomposition_are_reported_and_kept() {
    // Components of seven key variables each can be planned, two of them jointly cannot, and 2²⁸ joint key values
    // cannot be enumerated.
    let many = ManyLevers { factors: 4, keys: 28, sparse: true, levers: 1, levels: 2, ..ManyLevers::default() };
    let knowledge = Knowledge::of(&World::new(many.spec().unwrap()).unwrap());
    let true_world = with_arrow(many.spec().unwrap(), "z8");
    let (learner, decomposed) = played(&true_world, &knowledge, GUARDED[0], 1000);
    assert_eq!(became(&learner), ["no graph without this claim can be learned here, so it goes on as before"]);
    assert!(decomposed && learner.amendments()[0].found.contains("s1"), "{:?}", learner.amendments());
}
