//! Options that make no sense are refused, with a text that says what would.

use dowise::learn::{Causes, Estimate, Schedule, States, Width};
use dowise::world::SetSpec;
use dowise::{Knowledge, Learner, Options, Preset, World, worlds};

use crate::draft::Draft;
use crate::small_worlds;

fn refused(world: &World, options: Options) -> String {
    refused_told(&Knowledge::of(world), options)
}

fn refused_told(knowledge: &Knowledge, options: Options) -> String {
    Learner::new(knowledge, options).expect_err("refused").to_string()
}

#[test]
fn numbers_out_of_range() {
    let world = small_worlds::one_factor(1);
    let base = Options::default();
    for scale in [-1.0, f64::NAN, f64::INFINITY] {
        let text = refused(&world, Options { scale, ..base.clone() });
        assert_eq!(text, format!("scale = {scale}: a width's scale is a number from 0 to 1e100"));
    }
    for delta in [0.0, 1.0, -0.5, f64::NAN] {
        let text = refused(&world, Options { delta, ..base.clone() });
        assert_eq!(text, format!("delta = {delta}: delta is a probability between 0 and 1, neither included"));
    }
    let text = refused(&world, Options { episodes: 0, ..base.clone() });
    assert_eq!(text, "episodes = 0: at least one episode");
    for prior in [0.0, -1.0, f64::NAN, 1e-40, 1e300] {
        let text = refused(&world, Options { estimate: Estimate::Posterior { prior }, ..base.clone() });
        assert_eq!(text, format!("prior = {prior}: a prior weight is a number from 1e-6 to 1e6"));
    }
    for epsilon in [-0.1, 1.5, f64::NAN] {
        let text = refused(&world, Options { estimate: Estimate::EpsilonGreedy { epsilon }, ..base.clone() });
        assert_eq!(text, format!("epsilon = {epsilon}: epsilon is a probability between 0 and 1"));
    }
}

#[test]
fn widths_that_are_defined_for_whole_states_only() {
    let world = small_worlds::factored(1);
    for (width, name) in [(Width::Bernstein, "bernstein"), (Width::AzarBernstein, "azar-bernstein")] {
        let text = refused(&world, Options { estimate: Estimate::Width(width), ..Options::default() });
        let expected = "is defined for flat states only; use hoeffding-v, weissman or sets with factored states";
        assert_eq!(text, format!("the width `{name}` {expected}"));
    }
}

#[test]
fn samples_that_may_only_fall() {
    let world = small_worlds::factored(1);
    let expected = "values that never rise rest on optimism, and samples are not optimistic; \
                    use a width or sets, or another schedule without `monotone`";
    assert_eq!(refused(&world, Options { monotone: true, ..Options::default() }), expected);
    assert_eq!(refused(&world, Options { schedule: Schedule::Visited, ..Options::default() }), expected);
}

#[test]
fn a_guard_with_nothing_to_guard() {
    let world = small_worlds::factored(1);
    let expected = "a guard tests what key variables stand for: it needs a learner with key variables and counts \
                    shared by all stages";
    let ucbvi = "ucbvi".parse::<Preset>().unwrap().options(10, 1);
    assert_eq!(refused(&world, Options { guard: true, ..ucbvi }), expected);
    assert_eq!(refused(&world, Options { guard: true, stage_dependent: true, ..Options::default() }), expected);
}

#[test]
fn more_than_can_be_counted() {
    let many = worlds::Paper { levels: 2, levers: 2, factors: 15, ..Default::default() };
    let world = World::new(many.spec().unwrap()).unwrap();
    let text = refused(&world, "c-ucbvi".parse::<Preset>().unwrap().options(10, 1));
    let expected = "what this learner counts would have 4294967296 counters, the limit is 1073741824; \
                    use a learner that knows more structure (factors, key variables)";
    assert_eq!(text, expected);

    let mut draft = Draft::new(2, 1).state("s", 2).key("z", 2);
    let levers: Vec<String> = (0..26).map(|i| format!("x{i}")).collect();
    for lever in &levers {
        draft = draft.lever(lever, 2);
    }
    let world = draft
        .drawn(&["z"], &["x0"])
        .next("s", &["s", "z"])
        .pays_between("r", &["z"], [0.0, 1.0], false)
        .set(SetSpec::All)
        .world();
    let text = refused(&world, "ucbvi".parse::<Preset>().unwrap().options(10, 1));
    let expected = "there are 67108864 interventions and this learner counts each of them (limit 16777216); \
                    use one that knows the key variables";
    assert_eq!(text, expected);
    // The causal learner does not mind.
    assert!(Learner::new(&Knowledge::of(&world), Options::default()).is_ok());
}

#[test]
fn levers_left_alone_that_something_unobserved_moves() {
    let world = Draft::new(2, 1)
        .state("s", 2)
        .lever("dose", 2)
        .key("z", 2)
        .hidden("u", 2)
        .drawn(&["u"], &[])
        .drawn(&["dose"], &["u"])
        .drawn(&["z"], &["dose", "u"])
        .next("s", &["s", "z"])
        .pays_between("r", &["z"], [0.0, 1.0], false)
        .set(SetSpec::Any)
        .world();
    let expected = "the lever dose is moved by something unobserved when left alone, so what is seen then says nothing \
                    about setting it; give the mechanisms, or allow only interventions that set it";
    let knowledge = Knowledge::of(&world).without_mechanisms();
    for causes in [Causes::Keys, Causes::OwnKeys] {
        let options = Options { causes, states: States::Factored, ..Options::default() };
        assert_eq!(refused_told(&knowledge, options), expected);
    }
    // Learners without key variables, and those that know the mechanisms, can be made.
    assert!(Learner::new(&knowledge, "ucbvi".parse::<Preset>().unwrap().options(10, 1)).is_ok());
    assert!(Learner::new(&Knowledge::of(&world), Options::default()).is_ok());
}

#[test]
fn names_that_are_no_learners() {
    let text = "c-ucbv".parse::<Preset>().unwrap_err().to_string();
    let expected = "there is no learner called `c-ucbv`, did you mean `c-ucbvi`?; the names are ucbvi, f-ucbvi, c-ucbvi, \
                    cf-ucbvi, graph-ucbvi, psrl, f-psrl, c-psrl, cf-psrl, graph-psrl, greedy, epsilon-greedy, uniform, lsvi-ucb, c-lsvi-ucb, c-rlsvi, c-blsvi";
    assert_eq!(text, expected);
    for preset in Preset::all() {
        assert_eq!(preset.name().parse::<Preset>().as_ref(), Ok(preset));
    }
}
