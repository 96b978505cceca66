//! Graphs become worlds, and worlds become graphs from which the same worlds are made.

use dowise::world::{SetSpec, Start};
use dowise::{Planner, World, worlds};
use dowise_formats::{Format, Imported, Missing, Roles, export, import};

fn roles(text: &str) -> Roles {
    Roles::from_toml(text, "roles.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn made(format: Format, text: &str, given: &str) -> Result<Imported, String> {
    let file = format.read(text, "graph").unwrap_or_else(|error| panic!("{error}"));
    import(&file, &roles(given), None).map_err(|error| error.to_string())
}

const CLINIC: &str = "
    network clinic { }
    variable health { type discrete [ 2 ] { ill, well }; }
    variable dose { type discrete [ 2 ] { low, high }; }
    variable mood { type discrete [ 2 ] { bad, good }; }
    variable health_next { type discrete [ 2 ] { well, ill }; }
    probability ( health ) { table 0.75 0.25; }
    probability ( dose | health ) { (ill) 0.2 0.8; (well) 0.9 0.1; }
    probability ( mood | dose ) { (low) 0.5 0.5; (high) 0.2 0.8; }
    probability ( health_next | mood, health ) { (good, ill) 0.75 0.25; (good, well) 1 0; (bad, ill) 0 1; (bad, well) 0.5 0.5; }
";

#[test]
fn state_factors_take_transition_and_start_from_the_network_by_labels() {
    let given = "lever = [\"dose\"]\nkey = [\"mood\"]\nhorizon = 3\nstate = { health = \"health_next\" }\n\
                 reward = { health = { well = 1 } }\ncost = { dose = { high = 0.05 } }";
    let world = made(Format::Bif, CLINIC, given).unwrap().world;
    assert_eq!(world.name(), "clinic");
    assert_eq!((world.n_states(), world.horizon(), world.interventions().count()), (2, 3, 2));
    // Rows (mood, health), values in the order of `health`: ill, well.
    assert_eq!(world.transitions()[0].table.as_deref(), Some(&[1.0, 0.0, 0.5, 0.5, 0.25, 0.75, 0.0, 1.0][..]));
    assert_eq!(world.start(), &Start::Product(vec![vec![0.75, 0.25]]));
    let planner = Planner::new(&world).unwrap();
    let plan = planner.plan();
    // Two steps before the end a high dose makes an ill patient well with 0.8 · 0.75, not 0.5 · 0.75.
    assert_eq!(world.describe_intervention(plan.action(1, 0)), "dose=high");
    assert_eq!(world.describe_intervention(plan.action(2, 0)), "dose=low");
    // Taken back from its own text.
    let text = made(Format::Bif, CLINIC, given).unwrap().text;
    assert_eq!(World::from_toml(&text, "text").unwrap().to_toml(), world.to_toml());
}

#[test]
fn a_next_value_that_is_also_a_key_variable_may_depend_on_hidden_ones() {
    let given =
        "lever = [\"dose\"]\nstate = { health = \"health_next\" }\nreward = { health = { well = 1 } }\nhorizon = 3";
    let error = made(Format::Bif, CLINIC, given).unwrap_err();
    assert!(error.contains("\"health_next\" depends on \"mood\", which is hidden; add --key mood"), "{error}");
    let copied = made(Format::Bif, CLINIC, &format!("{given}\nkey = [\"health_next\"]")).unwrap().world;
    let direct = made(Format::Bif, CLINIC, &format!("{given}\nkey = [\"mood\"]")).unwrap().world;
    let value = |world: &World| {
        let plan = Planner::new(world).unwrap().plan();
        (0..world.n_states()).map(|s| plan.value(0, s)).collect::<Vec<_>>()
    };
    assert_eq!(copied.hidden().len(), 1);
    assert!(value(&copied).iter().zip(value(&direct)).all(|(a, b)| (a - b).abs() < 1e-12));
}

#[test]
fn bidirected_edges_become_hidden_and_missing_numbers_placeholders_or_learned() {
    let text = "dag { x [exposure] y [outcome] x -> y x <-> y z -> y }";
    let uniform = made(Format::Dagitty, text, "reward = { y = \"values\" }").unwrap();
    let hidden: Vec<&str> = uniform.world.hidden().iter().map(|&id| uniform.world.variable(id).name.as_str()).collect();
    assert_eq!(hidden, ["z", "U_x_y"]);
    assert!(uniform.world.is_fully_known());
    assert!(uniform.text.contains(
        "# The numbers of these are placeholders, uniform tables, since the graph has none: \"y\", \"z\", \"U_x_y\"."
    ));
    assert!(uniform.text.contains("# \"U_x_y\" stands for a common cause that is not in the graph: x <-> y."));
    assert!(uniform.notes.iter().any(|n| n.message.contains("x <-> y becomes the hidden variable \"U_x_y\"")));
    let mut learn = roles("reward = { y = \"values\" }");
    learn.missing = Some(Missing::Learn);
    let file = Format::Dagitty.read(text, "graph").unwrap();
    let learned = import(&file, &learn, None).unwrap();
    assert!(!learned.world.is_fully_known());
    assert!(!learned.text.contains("placeholder"));
    assert!(World::from_toml(&learned.text, "text").is_ok());
}

#[test]
fn names_with_control_characters_leave_a_world_file_that_can_be_read() {
    for odd in ['\0', '\u{1}', '\u{b}', '\u{1f}', '\u{7f}', '\u{85}', '\u{2028}'] {
        let text = format!("dag {{ x [exposure] \"a{odd}b\" [outcome] x -> \"a{odd}b\" x <-> \"a{odd}b\" }}");
        let imported = made(Format::Dagitty, &text, "horizon = 2").unwrap();
        assert!(imported.text.starts_with("# "), "{}", imported.text);
        let read = World::from_toml(&imported.text, "text").unwrap_or_else(|error| panic!("{odd:?}: {error}"));
        assert_eq!(read.to_toml(), imported.world.to_toml());
    }
}

#[test]
fn what_acts_on_a_lever_matters_only_where_the_lever_can_be_left_alone() {
    let text = "dag { u -> x x -> y }";
    let given = "lever = \"x\"\nkey = \"y\"\nreward = { y = { \"1\" = 1 } }";
    let all = made(Format::Dagitty, text, given).unwrap();
    assert!(all.world.hidden().is_empty());
    assert!(all.notes.iter().any(|n| n.message.contains("left out") && n.message.contains("\"u\"")));
    let any = made(Format::Dagitty, text, &format!("{given}\nset = \"any\"")).unwrap();
    assert_eq!(any.world.hidden().len(), 1);
}

#[test]
fn a_common_cause_of_a_lever_that_is_always_set_stays_and_comes_back_from_an_export() {
    let given = "lever = \"x\"\nkey = \"y\"\nreward = { y = { \"1\" = 1 } }";
    for (text, cause) in [
        ("dag { x -> y x <-> y }", "U_x_y"),
        ("dag { s [latent] s -> x s -> y x -> y }", "s"),
        // What is left out gives way to what acts on it.
        ("dag { s -> t -> x s -> y x -> y }", "s"),
    ] {
        let world = made(Format::Dagitty, text, given).unwrap().world;
        let of = |world: &World| {
            let [behaviour] = world.behaviour_mechanisms() else {
                panic!("{text}: {:?}", world.behaviour_mechanisms())
            };
            behaviour.parents.iter().map(|&id| world.variable(id).name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(of(&world), [cause], "{text}");
        assert!(world.is_fully_known(), "{text}: nobody needs the numbers of a lever that is set");
        for format in [Format::Dagitty, Format::Bif, Format::XmlBif, Format::Dot, Format::Gml] {
            let network = export(&world).unwrap().network;
            let again = made(format, &format.write(&network), "reward = { y = { \"1\" = 1 } }").unwrap().world;
            assert_eq!(of(&again), [cause], "{text}");
        }
    }
    // A lever that was chosen by what is recorded keeps its numbers.
    let given = "lever = [\"dose\"]\nkey = [\"mood\"]\nhorizon = 3\nstate = { health = \"health_next\" }\n\
                 reward = { health = { well = 1 } }";
    let world = made(Format::Bif, CLINIC, given).unwrap().world;
    assert_eq!(world.behaviour_mechanisms()[0].table.as_deref(), Some(&[0.2, 0.8, 0.9, 0.1][..]));
}

#[test]
fn rows_that_are_rounded_are_rescaled() {
    let text = "variable x { type discrete [2] { a, b }; } variable y { type discrete [3] { a, b, c }; }
                probability ( x ) { table 0.5 0.5; } probability ( y | x ) { default 0.3333 0.3333 0.3333; }";
    let world = made(Format::Bif, text, "lever = \"x\"\nkey = \"y\"\nreward = { y = { a = 1 } }").unwrap().world;
    let table = world.mechanisms()[0].table.clone().unwrap();
    assert!(table.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-15), "{table:?}");
}

#[test]
fn roles_that_do_not_fit_are_refused_by_name() {
    for (given, expected) in [
        (
            "lever = \"doses\"\nkey = \"mood\"",
            "\"doses\", named as a lever, is not a variable of the graph; did you mean \"dose\"?",
        ),
        ("lever = \"dose\"\nkey = \"dose\"", "\"dose\" is named as a lever and as a key variable"),
        ("lever = \"dose\"\nkey = \"mood\"\nreward = { moods = { good = 1 } }", "did you mean \"mood\"?"),
        (
            "lever = \"dose\"\nkey = \"mood\"\nreward = { mood = { god = 1 } }",
            "\"god\" is not a value of \"mood\"; did you mean \"good\"?",
        ),
        ("lever = \"dose\"\nkey = \"mood\"\nreward = { mood = \"values\" }", "the values of \"mood\" are no numbers"),
        ("lever = \"dose\"\nkey = \"mood\"\nreward = { health = { well = 1 } }", "it is hidden; add --key health"),
        ("lever = \"dose\"\nkey = \"mood\"\ncost = { mood = { good = 1 } }", "\"mood\" is no lever"),
        ("lever = \"dose\"\nkey = \"mood\"\nstate = { health = \"health\" }", "cannot be its own next value"),
        (
            "lever = \"dose\"\nkey = \"health\"\nstate = { mood = \"health_next\" }",
            "has the values \"bad\", \"good\", but its next value",
        ),
        ("lever = \"dose\"\nkey = \"mood\"\nstart = { mood = \"good\" }", "\"mood\" is no state factor"),
        ("lever = \"dose\"\nkey = \"mood\"\nvalues = { mood = [\"a\"] }", "\"mood\" has its values from the file"),
        ("lever = \"dose\"\nkey = \"mood\"\nhorizon = 0", "the horizon is 0"),
    ] {
        let error = made(Format::Bif, CLINIC, given).unwrap_err();
        assert!(error.contains(expected), "{given}: {error}");
    }
    let error = Roles::from_toml("levers = [\"a\"]\nhorizon = \"x\"", "roles.toml").unwrap_err().to_string();
    assert!(error.contains("roles.toml:1:1: roles have no key `levers`; did you mean `lever`?"), "{error}");
    assert!(error.contains("roles.toml:2:11: `horizon`: expected a number of steps"), "{error}");
}

#[test]
fn a_ready_made_world_survives_being_exported_and_imported() {
    for name in worlds::names() {
        let world = worlds::world(name, &[]).unwrap();
        let exported = export(&world).unwrap();
        // A network of tables has none for transitions of states that cannot be listed: to read it again says so.
        if !world.is_enumerable() {
            let file = Format::Bif.read(&Format::Bif.write(&exported.network), name).unwrap();
            let error = import(&file, &Roles::default(), None).unwrap_err().to_string();
            assert!(error.contains("entries") && error.contains("--learn"), "{name}: {error}");
            continue;
        }
        for format in [Format::Bif, Format::XmlBif] {
            let file = format.read(&format.write(&exported.network), name).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(file.network, exported.network, "{name} in {}", format.name());
            let any = Roles { set: Some(SetSpec::Any), ..Roles::default() };
            let keeps_levers = world.mechanisms().iter().any(|m| world.levers().contains(&m.children[0]));
            let roles = if keeps_levers { any } else { Roles::default() };
            let again = import(&file, &roles, None).unwrap_or_else(|e| panic!("{name}: {e}")).world;
            let tables = |world: &World| {
                let names = |ids: &[dowise::world::VarId]| {
                    ids.iter().map(|&id| world.variable(id).name.clone()).collect::<Vec<_>>()
                };
                let of = |m: &dowise::world::Mechanism| (names(&m.children), names(&m.parents), m.table.clone());
                let mut all: Vec<_> = world.transitions().iter().chain(world.mechanisms()).map(of).collect();
                all.sort_by(|a, b| a.0.cmp(&b.0));
                all
            };
            // Transitions of low rank have no table, which is said; joint tables are chains now, and hidden variables that act
            // on nothing are left out.
            if world.low_rank().is_some() {
                assert!(exported.number_notes.iter().any(|note| note.contains("anchors")), "{name}");
            } else if world.mechanisms().iter().all(|m| m.children.len() == 1)
                && world.hidden().len() == again.hidden().len()
            {
                assert_eq!(tables(&again), tables(&world), "{name} in {}", format.name());
                assert_eq!(again.start(), world.start(), "{name}");
            }
        }
        for format in [Format::Dot, Format::Gml] {
            let file = format.read(&format.write(&exported.network), name).unwrap_or_else(|e| panic!("{name}: {e}"));
            let mut expected = exported.network.clone();
            expected.variables.iter_mut().for_each(|v| v.table = None);
            assert_eq!(file.network, expected, "{name} in {}", format.name());
        }
        let file = Format::Dagitty.read(&Format::Dagitty.write(&exported.network), name).unwrap();
        assert_eq!(file.network.n_edges(), exported.network.n_edges());
    }
}

#[test]
fn a_joint_table_becomes_a_chain_with_the_same_joint_distribution() {
    let world = World::builder("joint", 1)
        .lever("a", 2)
        .key("x", 2)
        .key("y", 3)
        .mechanism(["x", "y"], ["a"], [0.1, 0.2, 0.1, 0.3, 0.1, 0.2, 0.0, 0.0, 0.0, 0.5, 0.25, 0.25])
        .reward("r", ["x", "y"], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
        .build()
        .unwrap();
    let network = export(&world).unwrap().network;
    let [x, y] = ["x", "y"].map(|n| network.variables[network.find(n).unwrap()].table.clone().unwrap());
    let joint = world.mechanisms()[0].table.clone().unwrap();
    for (i, &p) in joint.iter().enumerate() {
        let (row, value) = (i / 3, i % 3);
        assert!((x[row] * y[row * 3 + value] - p).abs() < 1e-15);
    }
    assert_eq!(network.variables[network.find("y").unwrap()].parents.len(), 2);
}
