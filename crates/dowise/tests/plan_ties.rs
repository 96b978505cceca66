//! Many interventions of equal value: quick, exact, and one of them.

mod common;

use common::random_world::{Sizes, random_world};
use common::{assert_close, build};
use dowise::plan::Ties;
use dowise::world::{
    ForbidSpec, Form, InterventionSpec, Kind, MechanismSpec, Name, RewardForm, RewardSpec, SetSpec, StartSpec,
    VariableSpec, WorldSpec,
};
use dowise::{Action, Planner};

fn names(list: &[String]) -> Vec<Name> {
    list.iter().map(|n| n.as_str().into()).collect()
}

/// `n` levers, each with its own binary key variable; the key variables' second values pay `pay` each.
fn switches(n: usize, pay: &[f64]) -> WorldSpec {
    let variable = |kind: Kind, name: &str| VariableSpec {
        name: name.into(),
        kind: kind.into(),
        values: vec!["no".into(), "yes".into()],
        values_at: None,
        costs: vec![],
    };
    let mut spec = WorldSpec {
        name: "switches".into(),
        about: String::new(),
        horizon: 2.into(),
        discount: None,
        ends: Vec::new(),
        variables: vec![variable(Kind::State, "s")],
        transitions: vec![],
        mechanisms: vec![],
        rewards: vec![],
        reward_range: None,
        interventions: InterventionSpec::default(),
        start: StartSpec::Uniform,
    };
    let table = Form::Table(vec![0.9, 0.1, 0.2, 0.8]);
    let mechanism = |child: &str, parent: &str| MechanismSpec {
        children: vec![child.into()],
        parents: vec![parent.into()],
        form: table.clone(),
        learn: None,
        at: None,
    };
    spec.transitions.push(mechanism("s", "s"));
    for i in 0..n {
        let (x, z) = (format!("x{i}"), format!("z{i}"));
        spec.variables.push(variable(Kind::Lever, &x));
        spec.variables.push(variable(Kind::Key, &z));
        spec.mechanisms.push(mechanism(&z, &x));
        spec.rewards.push(RewardSpec {
            name: format!("r{i}").into(),
            scope: names(&["s".to_owned(), z]),
            form: RewardForm::Table(vec![0.0, pay[i], 0.0, 0.0]),
            range: None,
            random: false,
            learn: false,
            at: None,
        });
    }
    spec
}

#[test]
fn tied_interventions_are_not_walked_through_one_by_one() {
    // In the second state nothing pays, so all 2^16 interventions tie; in the first only one lever matters.
    let mut pay = vec![0.0; 16];
    pay[3] = 1.0;
    let mut spec = switches(16, &pay);
    for limit in [None, Some(3u64)] {
        if let Some(k) = limit {
            spec.interventions.set = SetSpec::AtMost(k.into());
            let alone = |i: usize| MechanismSpec {
                children: vec![format!("x{i}").as_str().into()],
                parents: vec![],
                form: Form::Table(vec![0.5, 0.5]),
                learn: None,
                at: None,
            };
            spec.mechanisms.extend((0..16).map(alone));
        }
        let world = build(&spec);
        let planner = Planner::over_joint_causes(&world).unwrap();
        let first = planner.plan();
        let all = world.interventions();
        let yes = all.part(3, Some(1));
        let least: u64 = (0..16).filter(|&i| i != 3).map(|i| all.part(i, limit.is_none().then_some(0))).sum();
        assert_eq!(first.action(1, 0), Action(yes + least));
        assert_eq!(first.action(1, 1), if limit.is_none() { Action(least + all.part(3, Some(0))) } else { Action(0) });
        let random = planner.plan_with(Ties::Seeded(1));
        assert_eq!(random.value_hs, first.value_hs);
        assert_eq!(all.lever(random.action(1, 0), 3), Some(1));
        assert_ne!(random.policy_hs, planner.plan_with(Ties::Seeded(2)).policy_hs);
        // By components what leads to the same and pays the same counts as one, so the first stands for all.
        let parts = Planner::new(&world).unwrap();
        assert!(parts.is_split());
        for ties in [Ties::First, Ties::Seeded(1)] {
            let plan = parts.plan_with(ties);
            assert_eq!(plan.policy_hs, first.policy_hs);
            assert!(plan.value_hs.iter().zip(&first.value_hs).all(|(x, y)| (x - y).abs() < 1e-12));
        }
    }
}

#[test]
fn the_first_of_tied_interventions_is_planned_whatever_the_number_of_groups() {
    for n in 1..=3 {
        let world = build(&switches(n, &[0.0; 3]));
        let first = Action((0..n).map(|i| world.interventions().part(i, Some(0))).sum());
        assert!(Planner::new(&world).unwrap().plan().policy_hs.iter().all(|&a| a == first));
    }
}

#[test]
fn values_are_exact_even_where_differences_are_within_the_tolerance_for_ties() {
    let mut spec = switches(3, &[1.0, 0.0, 0.0]);
    if let RewardForm::Table(table) = &mut spec.rewards[1].form {
        table[3] = 1e-9;
    }
    let plan = |ties| Planner::new(&build(&spec)).unwrap().plan_with(ties);
    assert_close(plan(Ties::First).value(1, 1), 0.8e-9, 1.0, "first");
    assert_close(plan(Ties::Seeded(0)).value(1, 1), 0.8e-9, 1.0, "random");
}

#[test]
fn a_state_that_forbids_all_but_one_of_very_many_interventions_is_no_trouble() {
    // Each lever may only be set to "no", by a rule of its own; then the two ends are tied across groups as well.
    let mut spec = switches(16, &[0.0; 16]);
    let rule = |levers: Vec<(usize, &str)>| ForbidSpec {
        when: vec![],
        levers: levers.iter().map(|(i, v)| (format!("x{i}").as_str().into(), vec![(*v).into()])).collect(),
        at: None,
    };
    spec.interventions.forbid = (1..16).map(|i| rule(vec![(i, "yes")])).collect();
    spec.interventions.forbid.push(rule(vec![(0, "yes"), (15, "no")]));
    let world = build(&spec);
    let planner = Planner::new(&world).unwrap();
    let only = Action((0..16).map(|i| world.interventions().part(i, Some(0))).sum());
    for ties in [Ties::First, Ties::Seeded(5)] {
        assert!(planner.plan_with(ties).policy_hs.iter().all(|&a| a == only));
    }
}

#[test]
fn random_ties_fall_on_every_maximiser_that_is_kept() {
    let spec = switches(2, &[1.0, 0.0]);
    let world = build(&spec);
    let planner = Planner::new(&world).unwrap();
    let mut seen = std::collections::BTreeMap::new();
    for seed in 0..400 {
        *seen.entry(planner.plan_with(Ties::Seeded(seed)).action(1, 0)).or_insert(0) += 1;
    }
    let yes = world.interventions().part(0, Some(1));
    let part = |v| world.interventions().part(1, Some(v));
    assert_eq!(seen.keys().copied().collect::<Vec<_>>(), [Action(yes + part(0)), Action(yes + part(1))]);
    assert!(seen.values().all(|&n| (140..=260).contains(&n)), "{seen:?}");
}

#[test]
fn a_seed_for_ties_always_gives_the_same_plan() {
    for seed in 0..50 {
        let world = random_world(seed, &Sizes { coarse: true, ..Sizes::default() }).1;
        let planner = Planner::new(&world).unwrap();
        assert_eq!(planner.plan_with(Ties::Seeded(seed)), planner.plan_with(Ties::Seeded(seed)));
    }
}
