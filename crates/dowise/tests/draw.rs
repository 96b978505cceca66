//! Pictures of the ready-made worlds.

use dowise::{World, draw, worlds};

fn ready_made(name: &str) -> World {
    World::from_toml(&worlds::text(name, &[]).unwrap(), name).unwrap()
}

/// (left, top, right) of every box, read back from the picture.
fn boxes(svg: &str) -> Vec<(f64, f64, f64)> {
    let number = |line: &str, key: &str| -> f64 {
        let from = line.find(&format!(" {key}=\"")).unwrap() + key.len() + 3;
        line[from..].split('"').next().unwrap().parse().unwrap()
    };
    let rects = svg.lines().filter(|l| l.starts_with("<rect") && l.contains("height=\"40\""));
    rects.map(|l| (number(l, "x"), number(l, "y"), number(l, "x") + number(l, "width"))).collect()
}

#[test]
fn every_variable_is_in_the_picture_and_no_two_boxes_overlap() {
    for &name in worlds::names() {
        let world = ready_made(name);
        let svg = draw::svg(&world);
        for variable in world.variables() {
            assert!(svg.contains(&format!(">{}</text>", variable.name)), "{name}: {}", variable.name);
        }
        let boxes = boxes(&svg);
        let inner = world.levers().len() + world.hidden().len() + world.keys().len();
        assert_eq!(boxes.len(), inner + world.state().len() + world.rewards().len());
        for (i, a) in boxes.iter().enumerate() {
            for b in &boxes[..i] {
                assert!(a.1 != b.1 || a.2 < b.0 || b.2 < a.0, "{name}: {a:?} and {b:?} overlap");
            }
        }
    }
}

#[test]
fn names_are_escaped() {
    let text = r#"
dowise = 1
horizon = 1
name = "a <b> & \"c\""
[state."<s>"]
values = 2
scope = ["z"]
next.rows = [{ is = 0 }]
[lever.x]
values = 2
[key.z]
values = 2
parents = ["x"]
p = [[0, 1], [1, 0]]
[reward.r]
value = 0.5
"#;
    let world = World::from_toml(text, "test").unwrap();
    assert!(draw::svg(&world).contains("a &lt;b&gt; &amp; &quot;c&quot;"));
    assert!(draw::dot(&world).starts_with(r#"digraph "a <b> & \"c\"" {"#));
}
