//! The example at the top of `docs/world-file.md` is a good world.

use dowise::World;

#[test]
fn the_example_in_the_reference_is_a_good_world() {
    let reference = include_str!("../../../docs/world-file.md");
    let example = reference.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let world = World::from_toml(example, "docs/world-file.md").unwrap_or_else(|e| panic!("{e}"));
    assert!(world.is_fully_known());
    assert_eq!(world.findings(), []);
}
