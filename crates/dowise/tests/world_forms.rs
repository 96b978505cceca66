//! Good files compile to exactly the expected tables.

use dowise::World;
use dowise::world::{Setting, Start};

fn world(text: &str) -> World {
    World::from_toml(text, "w.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn transition(world: &World, factor: usize) -> Vec<f64> {
    world.transitions()[factor].table.as_ref().expect("known").to_vec()
}

fn mechanism(world: &World, name: &str) -> Vec<f64> {
    let id = world.find(name).expect("a variable");
    let own = world.mechanisms().iter().find(|m| m.children[0] == id).expect("a mechanism");
    own.table.as_ref().expect("known").to_vec()
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{found:?} against {expected:?}");
    assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} against {expected:?}");
}

const CAMPAIGN: &str = include_str!("world_errors/base.toml");

#[test]
fn the_whole_example_compiles() {
    let world = world(CAMPAIGN);
    assert_eq!(world.name(), "E-mail campaign");
    assert_eq!((world.horizon(), world.n_states()), (4, 3));
    let names =
        |ids: &[dowise::world::VarId]| ids.iter().map(|&id| world.variable(id).name.as_str()).collect::<Vec<_>>();
    assert_eq!(names(world.levers()), ["subject", "discount"]);
    assert_eq!(names(world.keys()), ["opened", "bought"]);
    assert_eq!(names(world.hidden()), ["mood"]);
    let order: Vec<&str> = world.mechanisms().iter().flat_map(|m| names(&m.children)).collect();
    assert_eq!(order, ["subject", "discount", "mood", "opened", "bought"]);
    assert_eq!(world.interventions().setting(), &Setting::AtMost(2));
    assert_eq!(world.reward_range(), [0.0, 1.0]);
    assert_eq!(world.start(), &Start::Product(vec![vec![1.0, 0.0, 0.0]]));
    assert_eq!(world.findings(), []);
    assert!(world.is_fully_known());
}
