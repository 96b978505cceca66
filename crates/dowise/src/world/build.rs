//! Validation: compiles a world specification into a checked world.

mod adjustment;
mod allowed;
mod check;
mod contexts;
mod distribution;
mod effects;
mod ends;
mod features;
mod forms;
mod graph;
mod grid;
mod learned;
mod limits;
mod logged_levers;
mod low_rank;
mod marginalise;
mod next_values;
mod outcomes;
mod range;
mod reach;
mod review;
mod rewards;
mod rows;
mod scales;
mod starts;
mod step_graph;
mod terminal_rewards;
mod time_index;

use std::collections::HashSet;

pub(crate) use adjustment::adjusted;
pub(crate) use check::{bare, quoted};
use limits::LONGEST_HORIZON;
pub(crate) use limits::{MOST_ENTRIES, MOST_VALUES, MOST_VALUES_IN_ALL, too_many_values};
pub(crate) use logged_levers::spread;

use self::check::Check;
use self::graph::Arrows;
use super::{
    Assumed, Form, Kind, Mechanism, MechanismSpec, Problem, VarId, Variable, VariableSpec, World, WorldError, WorldSpec,
};
use crate::Space;

impl World {
    /// Validates and compiles a specification; on failure all problems are reported, not just the first.
    ///
    /// ```
    /// use dowise::World;
    /// let text = r#"
    ///     dowise = 1
    ///     horizon = 3
    ///     [state.mood]
    ///     values = ["low", "high"]
    ///     scope = ["mood", "walk"]
    ///     next = [[[0.9, 0.1], [0.4, 0.6]], [[0.5, 0.5], [0.1, 0.9]]]
    ///     [lever.walk]
    ///     values = ["no", "yes"]
    ///     [reward.well]
    ///     scope = ["mood"]
    ///     value = [0, 1]
    /// "#;
    /// let world = World::from_toml(text, "mood.toml").unwrap();
    /// assert_eq!(world.n_states(), 2);
    /// let error = World::from_toml(&text.replace("0.6]", "0.5]"), "mood.toml").unwrap_err();
    /// assert_eq!(error.problems[0].code, "row-sum");
    /// ```
    pub fn new(spec: WorldSpec) -> Result<World, WorldError> {
        let mut check = Check::default();
        let mut spec = time_index::expanded(&spec).unwrap_or(spec);
        contexts::stay(&mut spec);
        // A hidden variable that acts on a next value cannot stay in a world, so that these are adjusted for here.
        let mut together = spec.clone();
        spread(&mut together, &[]);
        let (spec, notes) = adjusted(&together, &|_| false).unwrap_or((spec, Vec::new()));
        notes.into_iter().for_each(|note| check.push(Problem::note("adjusted", note)));
        let built = build(&spec, &mut check);
        match (check.finish(), built) {
            (Ok(findings), Some(world)) => Ok(World { findings, ..world }),
            (Ok(problems) | Err(problems), _) => Err(WorldError { problems, sources: Vec::new() }),
        }
    }
}

/// The world if nothing is wrong; `None` always comes with an error in `check`.
fn build(spec: &WorldSpec, check: &mut Check) -> Option<World> {
    let horizon = check_horizon(spec, check);
    if !declare(&spec.variables, check) {
        return None;
    }
    let [state, levers, keys, hidden] =
        [Kind::State, Kind::Lever, Kind::Key, Kind::Hidden].map(|kind| check.of_kind(kind));
    let state_space = count_states(check, &state, horizon, spec);

    let (mut within, mut continuation) = (Vec::new(), Vec::new());
    let transitions = transitions(spec, check, &state, &mut continuation);
    let mechanisms = mechanisms(spec, check, &mut within);
    let mut rewards = check.rewards(&spec.rewards, &state);
    let interventions = check.interventions(spec, &state, &levers);
    let discount = check.discount(spec.discount.as_ref());
    let ends = state_space.as_ref().and_then(|space| check.ends(&spec.ends, &state, space));
    if let (Some(rewards), Some(space), Some(Some(ends))) = (&mut rewards, &state_space, &ends) {
        check.unpaid(rewards, &spec.rewards, &state, space, ends);
    }
    let reward_range = match (&rewards, &spec.reward_range) {
        (Some(rewards), range) => check.reward_range(rewards, range.as_ref()),
        (None, range) => range.as_ref().and_then(|range| check.range(range, "the range of the rewards")),
    };
    let start = state_space.as_ref().and_then(|space| {
        let ended = ends.iter().flatten().next().map(|e| &*e.states);
        check.start(&spec.start, &state, space, ended)
    });
    // The behaviour policy chose levers that are always set, possibly by hidden variables, so these arrows count too.
    check.hidden_act_on_one(&within, &continuation, &hidden);
    graph::drop_unused(&mut within, interventions.as_ref(), &levers);
    graph::no_circles(check, &within);
    if check.errors() > 0 {
        return None;
    }

    let (transitions, mechanisms, rewards) = (transitions?, mechanisms?, rewards?);
    let (interventions, start, state_space) = (interventions?, start?, state_space?);
    let (mechanisms, behaviour_mechanisms) = graph::settle(check, mechanisms, &interventions, &levers, &keys, &hidden);
    let mechanisms = graph::parents_first(mechanisms);
    let mut world = World {
        name: spec.name.clone(),
        about: spec.about.clone(),
        horizon: horizon?,
        discount: discount?,
        ends: ends?,
        variables: check.variables.clone(),
        state,
        levers,
        keys,
        hidden,
        transitions,
        mechanisms,
        behaviour_mechanisms,
        unmoved: unmoved(spec),
        rewards,
        reward_range: reward_range?,
        interventions,
        start,
        state_space,
        features: None,
        low_rank: None,
        joined: Vec::new(),
        tied: false,
        time_index: None,
        findings: Vec::new(),
        sources: Vec::new(),
    };
    if !check.sum_out_hidden(&mut world) {
        return None;
    }
    world.time_index = time_index::of(&world);
    check.next_terms(&world, &spec.rewards);
    if check.count_pairs(&world) && check.errors() == 0 {
        review::review(check, &world);
        scales::review(check, &world, spec);
    }
    Some(world)
}

/// Levers with `parents = []` and no numbers: nothing recorded or hidden acted on them in a log.
fn unmoved(spec: &WorldSpec) -> Vec<String> {
    let is_lever = |name: &str| spec.variables.iter().any(|v| v.name.value == name && v.kind == Kind::Lever);
    let stated = spec.mechanisms.iter().filter(|m| m.parents.is_empty() && matches!(m.form, Form::Unknown));
    let names = stated.filter(|m| m.children.len() == 1).filter_map(|m| m.children[0].value.get());
    names.filter(|name| is_lever(name)).cloned().collect()
}

fn check_horizon(spec: &WorldSpec, check: &mut Check) -> Option<usize> {
    let horizon = check.read(&spec.horizon.value)?;
    let problem = if horizon == 0 {
        Problem::error("horizon", "the horizon is 0").help("an episode has at least one step")
    } else if horizon > LONGEST_HORIZON {
        Problem::error("horizon", format!("a horizon of {} is too long", count_text(Some(u128::from(horizon)))))
            .help(format!("at most {} steps", count_text(Some(u128::from(LONGEST_HORIZON)))))
    } else {
        return usize::try_from(horizon).ok();
    };
    check.push(problem.at(spec.horizon.at));
    None
}

/// Declares all variables; `false` if there are too many. Variables that share a name count as having unknown kind and
/// values.
fn declare(specs: &[VariableSpec], check: &mut Check) -> bool {
    if specs.len() > usize::from(u16::MAX) {
        let message = format!("{} variables are too many", count_text(Some(specs.len() as u128)));
        check.push(Problem::error("too-large", message).help("at most 65,535 fit"));
        return false;
    }
    if !check.count_values(specs.iter().map(|spec| spec.values.len()).sum()) {
        return false;
    }
    for (i, spec) in specs.iter().enumerate() {
        let name = &spec.name.value;
        let kind = spec.kind.get().copied();
        if kind.is_none() {
            check.kindless.insert(VarId(i as u16));
        }
        let of_kind = kind.unwrap_or(Kind::Hidden);
        let kind = of_kind.describe();
        if name.is_empty() {
            check.push(
                Problem::error("empty-name", format!("a {kind} has an empty name"))
                    .help("give it one")
                    .at(spec.name.at),
            );
        }
        let id = VarId(i as u16);
        if let Some(&first) = check.index.get(name) {
            let other = check.variables[first.ix()].kind;
            let message = if other == of_kind {
                format!("two {kind}s are called \"{name}\"")
            } else {
                format!("both a {} and a {kind} are called \"{name}\"", other.describe())
            };
            check.push(Problem::error("duplicate-name", message).help("rename one of them").at(spec.name.at));
            check.open.extend([first, id]);
            check.kindless.extend([first, id]);
        } else {
            check.index.insert(name.clone(), id);
        }
        if spec.values.iter().any(|v| v.value.get().is_none()) {
            check.open.insert(id);
        }
        check.places.push(spec.name.at);
        let before = check.errors();
        check_values(spec, kind, check);
        if check.errors() > before {
            check.open.insert(id);
        }
        let values = spec.values.iter().map(|v| v.value.get().cloned().unwrap_or_default()).collect();
        check.variables.push(Variable { name: name.clone(), kind: of_kind, values });
    }
    true
}

fn check_values(spec: &VariableSpec, kind: &str, check: &mut Check) {
    let name = &spec.name.value;
    let at = spec.values_at.or(spec.name.at);
    if spec.values.is_empty() {
        let message = format!("{kind} \"{name}\" has no values");
        check.push(Problem::error("empty-domain", message).help("list at least one").at(at));
    }
    if spec.values.len() > MOST_VALUES {
        let message = format!("\"{name}\" has {} values", count_text(Some(spec.values.len() as u128)));
        let help = format!("at most {} fit", count_text(Some(MOST_VALUES as u128)));
        check.push(Problem::error("too-large", message).help(help).at(at));
    }
    let mut seen = HashSet::new();
    for value in &spec.values {
        let at = value.at.or(at);
        let Some(value) = value.value.get() else { continue };
        if value == "*" {
            let message = format!("a value of \"{name}\" is called \"*\", which means any value in rows");
            check.push(Problem::error("reserved", message).help("give it another name").at(at));
        } else if !seen.insert(value) {
            let message = format!("\"{name}\" has two values called \"{value}\"");
            check.push(Problem::error("duplicate-value", message).help("rename or remove one of them").at(at));
        }
    }
}

/// The state space. It may be non-enumerable if all transitions are low-rank and there are no terminal states.
fn count_states(check: &mut Check, state: &[VarId], horizon: Option<usize>, spec: &WorldSpec) -> Option<Space> {
    let of_low_rank = |id: &VarId| {
        let mut stated = spec.transitions.iter().filter(|m| m.children.iter().any(|c| c.value == check.name(*id)));
        stated.any(|m| matches!(m.form, Form::LowRank))
    };
    if state.iter().all(of_low_rank) && spec.ends.is_empty() {
        let sizes: Vec<usize> = state.iter().map(|&id| check.size(id)).collect();
        if let Some(space) = Space::new(&sizes).filter(|space| !is_enumerable(space, horizon.unwrap_or(1))) {
            return Some(space);
        }
    }
    // A factor without a specification is the time index.
    let others: Vec<&str> = state.iter().filter(|id| !of_low_rank(id)).map(|id| check.name(*id)).collect();
    let help = match others[..] {
        [only] if state.len() > 1 => format!(
            "states need not be listed where all of them move by [low_rank], and `{only}` does not (`stage` is a state factor where something \
             depends on it); or fewer state factors or fewer values of each"
        ),
        _ => "fewer state factors or fewer values of each; or state how all of them move by [low_rank], with episodes \
              that do not end early: then states need not be listed"
            .to_owned(),
    };
    let space = check.table_space("the list of all states", state, 1, &help, None)?;
    let plan = product([space.len(), horizon.unwrap_or(1)].into_iter());
    if plan.is_none_or(|n| n > MOST_ENTRIES as u128) {
        let message = format!(
            "a plan would have {} entries, one for each of {} states at each of {} stages; at most {} fit",
            count_text(plan),
            count_text(Some(space.len() as u128)),
            count_text(horizon.map(|h| h as u128)),
            count_text(Some(MOST_ENTRIES as u128))
        );
        check.push(Problem::error("too-large", message).help("a shorter horizon or fewer states"));
        return None;
    }
    Some(space)
}

/// Whether a number for every stage and state fits into memory.
pub(crate) fn is_enumerable(space: &Space, horizon: usize) -> bool {
    product([space.len(), horizon].into_iter()).is_some_and(|n| n <= MOST_ENTRIES as u128)
}

/// One transition for each state factor, in their order.
fn transitions(
    spec: &WorldSpec,
    check: &mut Check,
    state: &[VarId],
    arrows: &mut Vec<Arrows>,
) -> Option<Vec<Mechanism>> {
    let mut found: Vec<Option<Mechanism>> = vec![None; state.len()];
    let mut named = vec![false; state.len()];
    let before = check.errors();
    for mechanism in &spec.transitions {
        let listed = check.list(&mechanism.children, &[Kind::State], "a transition");
        let children = listed.ids;
        let &[child] = children.as_slice() else {
            let message = format!("a transition decides {} state factors", children.len());
            check.push(Problem::error("one-child", message).help("write one for each state factor").at(mechanism.at));
            continue;
        };
        let position = state.iter().position(|&id| id == child);
        if let Some(position) = position.filter(|_| !check.open.contains(&child)) {
            if named[position] {
                two_mechanisms(check, child, mechanism);
                continue;
            }
            named[position] = true;
        }
        let role = format!("the scope of \"{}\"", check.name(child));
        let parents = check.list(&mechanism.parents, &Check::TRANSITION, &role);
        arrows.push(Arrows { children: children.clone(), parents: parents.ids.clone(), at: mechanism.at });
        let made = check.mechanism(children, parents, mechanism, true);
        if let Some(position) = position {
            found[position] = made;
        }
    }
    for (position, &id) in state.iter().enumerate() {
        if !named[position] && !check.open.contains(&id) {
            found[position] = full_scope(check, id);
        }
    }
    if check.errors() > before { None } else { found.into_iter().collect() }
}

/// An unknown transition without a declared scope.
fn full_scope(check: &mut Check, child: VarId) -> Option<Mechanism> {
    let mut parents = check.of_kind(Kind::State);
    let keys = check.of_kind(Kind::Key);
    parents.extend(if keys.is_empty() { check.of_kind(Kind::Lever) } else { keys });
    let what = format!("the table of \"{}\", which is to be learned and may depend on everything,", check.name(child));
    let columns = check.size(child);
    check.table_space(&what, &parents, columns, "give it a `scope`", check.places[child.ix()])?;
    Some(Mechanism { children: vec![child], parents, table: None, assumed: Assumed::default() })
}

/// The mechanisms of key variables, hidden variables and levers, each at most once.
fn mechanisms(spec: &WorldSpec, check: &mut Check, arrows: &mut Vec<Arrows>) -> Option<Vec<Mechanism>> {
    let before = check.errors();
    let mut decided = HashSet::new();
    let mut found = Vec::new();
    for mechanism in &spec.mechanisms {
        let kinds: &[Kind] =
            if mechanism.children.len() == 1 { &[Kind::Key, Kind::Hidden, Kind::Lever] } else { &[Kind::Key] };
        let role = if mechanism.children.len() == 1 { "a mechanism" } else { "a joint table" };
        let children = check.list(&mechanism.children, kinds, role).ids;
        if children.is_empty() {
            let problem = Problem::error("one-child", "a mechanism decides no variable");
            check.push(problem.help("name its variables").at(mechanism.at));
            continue;
        }
        for &child in &children {
            // A variable of the wrong kind has been reported.
            let may = kinds.contains(&check.variables[child.ix()].kind) && !check.open.contains(&child);
            if !decided.insert(child) && may {
                two_mechanisms(check, child, mechanism);
            }
        }
        let role = format!("the parents of {}", check.names(&children));
        let parents = check.list(&mechanism.parents, &Check::WITHIN_STEP, &role);
        arrows.push(Arrows { children: children.clone(), parents: parents.ids.clone(), at: mechanism.at });
        found.extend(check.mechanism(children, parents, mechanism, false));
    }
    (check.errors() == before).then_some(found)
}

fn two_mechanisms(check: &mut Check, child: VarId, mechanism: &MechanismSpec) {
    let message = format!("\"{}\" has more than one mechanism", check.name(child));
    let help = "keep its own or the joint table, not both";
    check.push(Problem::error("two-mechanisms", message).help(help).at(mechanism.at));
}

/// A product that may overflow.
pub(crate) fn product(mut factors: impl Iterator<Item = usize>) -> Option<u128> {
    factors.try_fold(1u128, |n, f| n.checked_mul(f as u128))
}

/// A count with thousands separators.
pub(crate) fn count_text(count: Option<u128>) -> String {
    let Some(count) = count else { return "more than 10^38".to_owned() };
    let digits = count.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
