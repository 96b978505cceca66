//! The example at the top of `docs/reference/world-file.md` is a good world.

use dowise::World;

#[test]
fn the_example_in_the_reference_is_a_good_world() {
    let reference = include_str!("../../../docs/reference/world-file.md");
    let example = reference.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let world = World::from_toml(example, "docs/reference/world-file.md").unwrap_or_else(|e| panic!("{e}"));
    assert!(world.is_fully_known());
    assert_eq!(world.findings(), []);
}

#[test]
fn what_was_seen_of_hidden_state_can_be_kept_as_the_reference_says() {
    let reference = include_str!("../../../docs/reference/world-file.md");
    let blocks = || reference.split("```toml\n").filter_map(|rest| rest.split("```").next());
    let example = blocks().find(|block| block.starts_with("[state.fever_ago]")).expect("an example");
    let around = "dowise = 1\nhorizon = 3\n[lever.antibiotic]\nvalues = [\"no\", \"yes\"]\n\
                  [reward.well]\nscope = [\"fever\"]\nvalue = { no = 1.0 }\n";
    let world = World::from_toml(&format!("{around}{example}"), "docs/reference/world-file.md")
        .unwrap_or_else(|e| panic!("{e}"));
    assert!(world.is_fully_known());
    assert_eq!(world.findings(), []);
}
