//! The guide shows the first example as it runs, and examples stay short.

const EXAMPLES: [(&str, &str); 3] = [
    ("plan", include_str!("../examples/plan.rs")),
    ("learn", include_str!("../examples/learn.rs")),
    ("own_environment", include_str!("../examples/own_environment.rs")),
];

#[test]
fn the_guide_shows_the_first_example_as_it_is() {
    let guide = include_str!("../../../docs/guide/first-plan.md");
    let (_, code) = EXAMPLES[0].1.split_once("\n\n").expect("a head and the code");
    let block = format!("```rust\n{code}```\n");
    assert!(guide.contains(&block), "docs/guide/first-plan.md does not show this:\n{block}");
}

#[test]
fn examples_have_fewer_than_forty_lines_and_say_how_they_are_run() {
    for (name, text) in EXAMPLES {
        let lines = text.lines().count();
        assert!(lines < 40, "{name} has {lines} lines");
        let command = format!("`cargo run -p dowise --example {name}`");
        assert!(text.lines().next().expect("a first line").contains(&command), "{name} does not say {command}");
    }
}
