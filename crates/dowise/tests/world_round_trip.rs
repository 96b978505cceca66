//! Any valid world survives being written and read; no bytes whatever make the reader panic.

use dowise::World;
use dowise::world::*;
use proptest::prelude::*;

/// A stream of choices that proptest can shrink: small numbers make small worlds.
struct Choices(std::vec::IntoIter<u16>);

impl Choices {
    fn below(&mut self, n: usize) -> usize {
        usize::from(self.0.next().unwrap_or(0)) % n
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn row(&mut self, n: usize) -> Vec<f64> {
        let mut row: Vec<f64> = (0..n).map(|_| self.below(1000) as f64).collect();
        row[0] += 1.0;
        let sum: f64 = row.iter().sum();
        row.iter().map(|p| p / sum).collect()
    }

    fn subset(&mut self, of: &[(String, usize)]) -> Vec<(String, usize)> {
        of.iter().filter(|_| self.below(3) == 1).cloned().collect()
    }

    fn table(&mut self, children: usize, parents: &[(String, usize)]) -> Form {
        if self.below(5) == 4 {
            return Form::Unknown;
        }
        let rows: usize = parents.iter().map(|(_, n)| n).product();
        Form::Table((0..rows).flat_map(|_| self.row(children)).collect())
    }
}

fn located(names: &[(String, usize)]) -> Vec<Name> {
    names.iter().map(|(n, _)| n.clone().into()).collect()
}

fn random_world(choices: Vec<u16>) -> WorldSpec {
    let c = &mut Choices(choices.into_iter());
    let odd = ["plain", "with space", "a.b", "\"q\"", "ünï", "10%", "back\\slash", "", "tab\there", "uniform"];
    let mut variables = Vec::new();
    let mut groups: Vec<Vec<(String, usize)>> = Vec::new();
    for kind in [Kind::State, Kind::Lever, Kind::Key, Kind::Hidden] {
        let mut group = Vec::new();
        for i in 0..c.below(3) + usize::from(kind == Kind::State) {
            let name = format!("{}{i}{}", kind.word(), odd[c.below(odd.len())]);
            let size = 1 + c.below(3);
            let values = (0..size).map(|v| format!("{}{v}", odd[c.below(odd.len())]).into()).collect();
            let cost = (f64::from(c.below(7) as u16) / 7.0).into();
            variables.push(VariableSpec {
                name: name.clone().into(),
                kind: kind.into(),
                values,
                values_at: None,
                costs: Vec::new(),
            });
            if kind == Kind::Lever && c.flag() {
                let variable = variables.last_mut().expect("just pushed");
                variable.costs.push((variable.values[0].clone(), cost));
            }
            group.push((name, size));
        }
        groups.push(group);
    }
    let [state, levers, keys, hidden] = <[_; 4]>::try_from(groups).expect("four kinds");
    let scope_of = [state.clone(), levers.clone(), keys.clone()].concat();

    let mut transitions = Vec::new();
    for factor in state.iter().filter(|_| c.below(4) != 3).cloned().collect::<Vec<_>>() {
        let parents = c.subset(&scope_of);
        let form = c.table(factor.1, &parents);
        transitions.push(MechanismSpec {
            children: located(&[factor]),
            parents: located(&parents),
            form,
            learn: None,
            at: None,
        });
    }
    let mut mechanisms = Vec::new();
    let mut above = state.clone();
    let joint = keys.len() == 2 && c.flag();
    for group in [&hidden, &levers, &keys] {
        let parts: Vec<Vec<(String, usize)>> =
            if joint && *group == keys { vec![keys.clone()] } else { group.iter().map(|v| vec![v.clone()]).collect() };
        for children in parts {
            let parents = c.subset(&above);
            let form = c.table(children.iter().map(|(_, n)| n).product(), &parents);
            mechanisms.push(MechanismSpec {
                children: located(&children),
                parents: located(&parents),
                form,
                learn: None,
                at: None,
            });
            above.extend(children);
        }
    }
    let mut rewards = Vec::new();
    for i in 0..c.below(3) {
        let scope = c.subset(&scope_of);
        let rows: usize = scope.iter().map(|(_, n)| n).product();
        let known = c.below(4) > 0;
        let random = c.flag();
        let form = if known {
            RewardForm::Table((0..rows).map(|_| c.below(100) as f64 / 99.0).collect())
        } else {
            RewardForm::Unknown
        };
        let range = (!known || random || c.flag()).then(|| [-0.5, 1.5].into());
        rewards.push(RewardSpec {
            name: format!("r{i}").into(),
            scope: located(&scope),
            form,
            range,
            random,
            learn: false,
            at: None,
        });
    }
    let value = |name: &(String, usize), v: usize| -> Name {
        variables.iter().find(|x| x.name.value == name.0).expect("declared").values[v].clone()
    };
    let set = match c.below(4) {
        0 => SetSpec::All,
        1 => SetSpec::Any,
        2 => SetSpec::AtMost((c.below(levers.len() + 1) as u64).into()),
        _ => SetSpec::List(
            (0..1 + c.below(4))
                .map(|_| {
                    let chosen = c.subset(&levers);
                    chosen.iter().map(|l| (l.0.clone().into(), value(l, c.below(l.1)))).collect()
                })
                .collect(),
        ),
    };
    let mut forbid = Vec::new();
    if let (true, Some(lever)) = (c.flag(), levers.first()) {
        let when = state.iter().take(c.below(2)).map(|s| (s.0.clone().into(), vec![value(s, c.below(s.1))])).collect();
        let levers = vec![(lever.0.clone().into(), vec![value(lever, c.below(lever.1))])];
        forbid.push(ForbidSpec { when, levers, at: None });
    }
    let start = match c.below(3) {
        0 => StartSpec::Uniform,
        1 => StartSpec::PerFactor(vec![(state[0].0.clone().into(), c.row(state[0].1).into())]),
        _ => StartSpec::States(
            (0..1 + c.below(3))
                .map(|_| StartRow {
                    state: state.iter().map(|s| (s.0.clone().into(), value(s, c.below(s.1)))).collect(),
                    weight: (1.0 + c.below(9) as f64).into(),
                })
                .collect(),
        ),
    };
    WorldSpec {
        name: odd[c.below(odd.len())].to_owned(),
        about: "two\nlines".to_owned(),
        horizon: (1 + c.below(9) as u64).into(),
        discount: None,
        ends: Vec::new(),
        variables,
        transitions,
        mechanisms,
        rewards,
        reward_range: None,
        interventions: InterventionSpec { set, forbid, at: None },
        start,
    }
}

fn same(a: &World, b: &World) {
    assert_eq!((a.name(), a.about(), a.horizon()), (b.name(), b.about(), b.horizon()));
    assert_eq!(a.variables(), b.variables());
    assert_eq!(a.transitions(), b.transitions());
    assert_eq!(a.mechanisms(), b.mechanisms());
    assert_eq!(a.rewards(), b.rewards());
    assert_eq!(a.reward_range(), b.reward_range());
    assert_eq!(a.interventions(), b.interventions());
    assert_eq!(a.start(), b.start());
}

const BASE: &str = include_str!("world_errors/base.toml");
/// Everything that the other file does not use.
const OTHER: &str = include_str!("world_errors/other.toml");

#[test]
fn the_examples_survive_a_round_trip() {
    for text in [BASE, OTHER] {
        let world = World::from_toml(text, "w.toml").unwrap_or_else(|e| panic!("{e}"));
        same(&world, &World::from_toml(&world.to_toml(), "again.toml").unwrap_or_else(|e| panic!("{e}")));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_valid_world_survives_a_round_trip(choices in prop::collection::vec(any::<u16>(), 0..400)) {
        match World::new(random_world(choices)) {
            Ok(world) => {
                let text = world.to_toml();
                let again = World::from_toml(&text, "again.toml").unwrap_or_else(|e| panic!("{e}\n{text}"));
                same(&world, &again);
                let all = world.interventions();
                for s in 0..world.n_states() {
                    let state = world.state_space().digits(s);
                    prop_assert!((0..all.count()).any(|i| all.allows(&state, all.nth(i))), "stuck in {:?}", state);
                }
            }
            // The generator does not look whether the rules leave an intervention everywhere.
            Err(error) => prop_assert!(error.problems.iter().any(|p| p.code == "stuck"), "{}", error),
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = World::from_toml(&String::from_utf8_lossy(&bytes), "w.toml").map_err(|e| e.to_string());
    }

    #[test]
    fn no_change_of_a_good_file_makes_the_reader_panic(
        other in any::<bool>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..8usize), 1..6),
    ) {
        let pieces = ["", "\"", "]", "{ ", " = ", "-1", "nan", "\n[state.x]\n"];
        let mut text = if other { OTHER } else { BASE }.to_owned();
        for (from, length, piece) in edits {
            let mut start = from.index(text.len() + 1);
            let mut end = (start + length.index(30)).min(text.len());
            while !text.is_char_boundary(start) { start -= 1; }
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(start..end, pieces[piece]);
        }
        check(&text);
    }

    #[test]
    fn no_exchange_of_words_makes_the_reader_panic(
        other in any::<bool>(),
        swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..5),
    ) {
        // Words keep the file TOML most of the time, so that the checks behind the parser are reached.
        let mut words: Vec<&str> = if other { OTHER } else { BASE }.split_inclusive([' ', '\n', ',']).collect();
        for (a, b) in swaps {
            let (a, b) = (a.index(words.len()), b.index(words.len()));
            words.swap(a, b);
        }
        check(&words.concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_table_makes_the_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        cells in prop::collection::vec("loyalty|plain|question|emoji|new|fan|0.5|1|,|,|\n|\"", 0..40),
    ) {
        let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("random_tables");
        std::fs::create_dir_all(&dir).unwrap();
        let text = BASE.replace("p = [[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.6, 0.2, 0.2]]", "csv = \"table.csv\"");
        for table in [bytes, cells.concat().into_bytes()] {
            std::fs::write(dir.join("table.csv"), table).unwrap();
            let _ = World::from_toml_in(&text, "w.toml", &dir).map_err(|e| e.to_string());
        }
    }
}

/// Reads a file; whatever comes of it can be shown, and a good world can be written.
fn check(text: &str) {
    match World::from_toml(text, "w.toml") {
        Ok(world) => {
            world.findings().iter().for_each(|f| assert!(!f.render(world.sources()).is_empty()));
            same(&world, &World::from_toml(&world.to_toml(), "again.toml").unwrap_or_else(|e| panic!("{e}")));
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
