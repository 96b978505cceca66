//! Draws a small world: any graph, any scopes, any kind of intervention, rules and costs.

use dowise::World;
use dowise::world::{
    EndSpec, ForbidSpec, Form, InterventionSpec, Kind, MechanismSpec, Name, Pattern, RewardForm, RewardSpec, SetSpec,
    StartSpec, VariableSpec, WorldSpec,
};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How large the worlds are, and what is in them.
#[derive(Clone, Debug)]
pub struct Sizes {
    pub state: [usize; 2],
    pub levers: [usize; 2],
    pub keys: [usize; 2],
    pub hidden: [usize; 2],
    /// Values of each variable.
    pub values: [usize; 2],
    pub horizon: [u64; 2],
    /// Chance of a cost for each value of a lever.
    pub cost: f64,
    /// Most forbidden combinations.
    pub rules: usize,
    /// Whether probabilities are quarters (many ties) instead of arbitrary.
    pub coarse: bool,
    /// Whether episodes may end early, later steps may count less, and rewards may depend on next values.
    pub continuation: bool,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            state: [1, 3],
            levers: [0, 3],
            keys: [0, 3],
            hidden: [0, 2],
            values: [1, 3],
            horizon: [1, 4],
            cost: 0.3,
            rules: 2,
            coarse: false,
            continuation: false,
        }
    }
}

/// The world drawn for a seed; draws again while rules leave a state without an intervention.
pub fn random_world(seed: u64, sizes: &Sizes) -> (WorldSpec, World) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    loop {
        let spec = draw(&mut rng, sizes);
        match World::new(spec.clone()) {
            Ok(world) => return (spec, world),
            Err(e) => {
                assert!(e.problems.iter().any(|p| ["stuck", "ends", "no-start"].contains(&p.code)), "{e}");
            }
        }
    }
}

fn draw(rng: &mut ChaCha8Rng, sizes: &Sizes) -> WorldSpec {
    let mut variables = Vec::new();
    for (kind, letter, [lo, hi]) in [
        (Kind::State, "s", sizes.state),
        (Kind::Lever, "x", sizes.levers),
        (Kind::Key, "z", sizes.keys),
        (Kind::Hidden, "u", sizes.hidden),
    ] {
        for i in 0..rng.random_range(lo..=hi) {
            let n = rng.random_range(sizes.values[0]..=sizes.values[1]);
            variables.push(VariableSpec {
                name: format!("{letter}{i}").into(),
                kind: kind.into(),
                values: (0..n).map(|v| format!("{letter}{i}_{v}").into()).collect(),
                values_at: None,
                costs: vec![],
            });
        }
    }
    variables.shuffle(rng);
    for lever in variables.iter_mut().filter(|v| v.kind == Kind::Lever) {
        for value in lever.values.clone() {
            if rng.random_bool(sizes.cost) {
                lever.costs.push((value, rng.random_range(-0.2..0.6).into()));
            }
        }
    }
    let mut spec = WorldSpec {
        name: "random".into(),
        about: String::new(),
        horizon: rng.random_range(sizes.horizon[0]..=sizes.horizon[1]).into(),
        discount: None,
        ends: vec![],
        transitions: vec![],
        mechanisms: mechanisms(rng, &variables, sizes),
        rewards: vec![],
        reward_range: None,
        interventions: InterventionSpec::default(),
        start: StartSpec::Uniform,
        variables,
    };
    let factors = of_kind(&spec.variables, &[Kind::State]);
    for factor in &factors {
        let scope = scope(rng, &spec.variables);
        let table = table(rng, &spec.variables, &scope, size(&spec.variables, factor), sizes.coarse);
        spec.transitions.push(mechanism(vec![factor.clone()], scope, table));
    }
    for i in 0..rng.random_range(0..=3) {
        let scope = scope(rng, &spec.variables);
        let n = scope.iter().map(|name| size(&spec.variables, name)).product();
        let reward = |rng: &mut ChaCha8Rng| {
            if sizes.coarse { f64::from(rng.random_range(-1..=2i32)) / 2.0 } else { rng.random_range(-1.0..1.0) }
        };
        spec.rewards.push(RewardSpec {
            name: format!("r{i}").into(),
            scope: scope.iter().map(|name| name.as_str().into()).collect(),
            form: RewardForm::Table((0..n).map(|_| reward(rng)).collect()),
            range: None,
            random: false,
            learn: false,
            at: None,
        });
    }
    spec.interventions = interventions(rng, &spec.variables, sizes.rules);
    if sizes.continuation {
        continuation(rng, &mut spec);
    }
    spec
}

/// Ends, a discount and next-state rewards, each now and then.
fn continuation(rng: &mut ChaCha8Rng, spec: &mut WorldSpec) {
    let factors = of_kind(&spec.variables, &[Kind::State]);
    let values = |name: &str| spec.variables.iter().find(|v| v.name.value == name).expect("a variable").values.clone();
    if rng.random_bool(0.5) {
        spec.discount = Some(rng.random_range(0.3..1.0).into());
    }
    if rng.random_bool(0.6) {
        let named = some(rng, factors.clone(), 2);
        let when: Pattern = named
            .iter()
            .map(|n| {
                let values = values(n);
                let value = values[rng.random_range(0..values.len())].value.get().expect("readable");
                let sign = ["", ">= ", "!= "][rng.random_range(0..3)];
                (n.as_str().into(), vec![format!("{sign}{value}").into()])
            })
            .collect();
        // Of a value that is the only one, nothing else is left.
        let possible = |(n, v): &(Name, Vec<Name>)| {
            let [n, v] = [n, &v[0]].map(|name| name.value.get().expect("readable"));
            !(v.starts_with("!=") && values(n).len() == 1)
        };
        if !when.is_empty() && when.iter().all(possible) {
            spec.ends.push(EndSpec { when: when.into(), at: None });
        }
    }
    for i in 0..rng.random_range(0..=2) {
        let next: Vec<String> = some(rng, factors.clone(), 2).iter().map(|f| format!("next.{f}")).collect();
        let mut names = if rng.random_bool(0.5) { vec![] } else { scope(rng, &spec.variables) };
        names.extend(next);
        names.shuffle(rng);
        let n = names.iter().map(|n| size(&spec.variables, n.trim_start_matches("next."))).product();
        spec.rewards.push(RewardSpec {
            name: format!("n{i}").into(),
            scope: names.iter().map(|name| name.as_str().into()).collect(),
            form: RewardForm::Table((0..n).map(|_| rng.random_range(-1.0..1.0)).collect()),
            range: None,
            random: false,
            learn: false,
            at: None,
        });
    }
}

/// Names of the variables of these kinds.
pub fn of_kind(variables: &[VariableSpec], kinds: &[Kind]) -> Vec<String> {
    variables.iter().filter(|v| kinds.iter().any(|&kind| v.kind == kind)).map(|v| v.name.value.clone()).collect()
}

/// Number of values of a variable.
pub fn size(variables: &[VariableSpec], name: &str) -> usize {
    variables.iter().find(|v| v.name.value == name).expect("a variable").values.len()
}

fn mechanism(children: Vec<String>, parents: Vec<String>, table: Vec<f64>) -> MechanismSpec {
    let names = |list: Vec<String>| list.into_iter().map(Name::from).collect();
    MechanismSpec {
        children: names(children),
        parents: names(parents),
        form: Form::Table(table),
        learn: None,
        at: None,
    }
}

/// Some state factors and key variables, now and then a lever (as in hybrid worlds).
fn scope(rng: &mut ChaCha8Rng, variables: &[VariableSpec]) -> Vec<String> {
    let mut names = of_kind(variables, &[Kind::State, Kind::Key]);
    if rng.random_bool(0.25) {
        names.extend(of_kind(variables, &[Kind::Lever]));
    }
    some(rng, names, 4)
}

fn some(rng: &mut ChaCha8Rng, mut names: Vec<String>, most: usize) -> Vec<String> {
    names.shuffle(rng);
    names.truncate(rng.random_range(0..=names.len().min(most)));
    names
}

/// A mechanism for every lever, key and hidden variable; neighbours in the order sometimes share a joint table.
fn mechanisms(rng: &mut ChaCha8Rng, variables: &[VariableSpec], sizes: &Sizes) -> Vec<MechanismSpec> {
    let mut order = of_kind(variables, &[Kind::Lever, Kind::Key, Kind::Hidden]);
    order.shuffle(rng);
    let is_key = |name: &String| name.starts_with('z');
    let mut out = Vec::new();
    let mut i = 0;
    while i < order.len() {
        let joint = i + 1 < order.len() && is_key(&order[i]) && is_key(&order[i + 1]) && rng.random_bool(0.5);
        let children: Vec<String> = order[i..i + 1 + usize::from(joint)].to_vec();
        let mut before = order[..i].to_vec();
        before.extend(of_kind(variables, &[Kind::State]));
        let parents = some(rng, before, 3);
        let columns = children.iter().map(|c| size(variables, c)).product();
        let table = table(rng, variables, &parents, columns, sizes.coarse);
        i += children.len();
        out.push(mechanism(children, parents, table));
    }
    out.shuffle(rng);
    out
}

fn table(
    rng: &mut ChaCha8Rng,
    variables: &[VariableSpec],
    parents: &[String],
    columns: usize,
    coarse: bool,
) -> Vec<f64> {
    let rows: usize = parents.iter().map(|p| size(variables, p)).product();
    (0..rows).flat_map(|_| distribution(rng, columns, coarse)).collect()
}

fn distribution(rng: &mut ChaCha8Rng, n: usize, coarse: bool) -> Vec<f64> {
    if coarse {
        let mut quarters = vec![0.0; n];
        (0..4).for_each(|_| quarters[rng.random_range(0..n)] += 0.25);
        return quarters;
    }
    let zero = rng.random_bool(0.2);
    let mut row: Vec<f64> = (0..n).map(|_| -rng.random_range(1e-9..1.0f64).ln()).collect();
    if zero && n > 1 {
        row[rng.random_range(0..n)] = 0.0;
    }
    let sum: f64 = row.iter().sum();
    row.into_iter().map(|p| p / sum).collect()
}

fn interventions(rng: &mut ChaCha8Rng, variables: &[VariableSpec], rules: usize) -> InterventionSpec {
    let levers = of_kind(variables, &[Kind::Lever]);
    let value = |rng: &mut ChaCha8Rng, name: &str| {
        let values = &variables.iter().find(|v| v.name.value == name).expect("a variable").values;
        values[rng.random_range(0..values.len())].clone()
    };
    let set = match rng.random_range(0..4) {
        0 => SetSpec::All,
        1 => SetSpec::Any,
        2 => SetSpec::AtMost(rng.random_range(0..=levers.len() as u64).into()),
        _ => SetSpec::List(
            (0..rng.random_range(1..=6))
                .map(|_| {
                    let chosen = some(rng, levers.clone(), levers.len());
                    chosen.iter().map(|l| (l.as_str().into(), value(rng, l))).collect()
                })
                .collect(),
        ),
    };
    let mut forbid = Vec::new();
    for _ in 0..rng.random_range(0..=rules) {
        let levers = some(rng, levers.clone(), levers.len());
        let factors = some(rng, of_kind(variables, &[Kind::State]), 2);
        let pattern = |rng: &mut ChaCha8Rng, names: &[String]| -> Pattern {
            names.iter().map(|n| (n.as_str().into(), vec![value(rng, n)])).collect()
        };
        if !levers.is_empty() {
            forbid.push(ForbidSpec { when: pattern(rng, &factors), levers: pattern(rng, &levers), at: None });
        }
    }
    InterventionSpec { set, forbid, at: None }
}
