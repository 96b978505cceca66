//! Graph revision: the smallest change of a graph, or of its view, that a finding does not contradict.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::graph::parents_first;
use crate::learn::monitor::{Other, Outcome, Within};
use crate::learn::options::{Causes, Estimate, Options, Schedule, Sets, States};
use crate::learn::{Knowledge, LearnError, LearnResult};
use crate::world::{LearnedForm, VarId, World};

/// A revision of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    /// Adds an edge, joins two factors, or makes known parameters unknown.
    Arrow(Outcome, Other),
    /// Makes a reward term, by its position, unknown with this range.
    Range(usize, f64, f64),
    /// Abandons the key variables: interventions are configurations, states are whole, and nothing implied by the
    /// graph is used.
    NoCauses,
}

impl Change {
    /// The revised knowledge and options.
    pub(crate) fn apply(self, knowledge: &Knowledge, options: &Options) -> LearnResult<(Knowledge, Options)> {
        let mut options = Options { guard: false, ..options.clone() };
        let world = knowledge.world();
        let of = |other: Other| match other {
            Other::Lever(l) => world.levers().get(l).copied(),
            Other::Before(i) | Other::Next(i) => world.state().get(i).copied(),
            Other::Key(id) => world.keys().iter().find(|key| key.0 == id).copied(),
            Other::Known | Other::Range => None,
        };
        let knowledge = match self {
            Change::Arrow(Outcome::Next(i), Other::Next(k)) if i < world.state().len() && k < i => {
                knowledge.clone().changed(|world| join(world, k..i + 1))
            }
            Change::Arrow(Outcome::Paid(i), Other::Next(k)) => {
                let (Some(_), Some(&factor)) = (world.rewards().get(i), world.state().get(k)) else {
                    return Err(LearnError::NothingToGuard);
                };
                knowledge.clone().changed(|world| {
                    world.rewards[i].table = None;
                    world.rewards[i].next.push(factor);
                })
            }
            Change::Range(i, lo, hi) => {
                let Some([least, most]) = world.rewards().get(i).map(|term| term.range) else {
                    return Err(LearnError::NothingToGuard);
                };
                if !(lo.is_finite() && hi.is_finite() && lo <= least && most <= hi) {
                    return Err(LearnError::NothingToGuard);
                }
                knowledge.clone().changed(|world| {
                    let term = &mut world.rewards[i];
                    (term.table, term.range) = (None, [lo, hi]);
                    let [of_sum_least, of_sum_most] = world.reward_range;
                    world.reward_range = [of_sum_least - (least - lo), of_sum_most + (hi - most)];
                })
            }
            Change::Arrow(outcome, Other::Known) => {
                let mut changed = Ok(());
                let knowledge = knowledge.clone().changed(|world| changed = change_parents(world, outcome, None));
                changed?;
                knowledge
            }
            Change::Arrow(outcome, other) => {
                let parent = of(other).ok_or(LearnError::NothingToGuard)?;
                let mut changed = Ok(());
                let knowledge =
                    knowledge.clone().changed(|world| changed = change_parents(world, outcome, Some(parent)));
                changed?;
                knowledge
            }
            Change::NoCauses => {
                options.states = States::Flat;
                options.causes = Causes::Actions;
                options.estimate = Estimate::Sets(Sets::default());
                options.schedule = Schedule::Episode;
                knowledge.clone().without_rewards().without_transitions()
            }
        };
        Ok((knowledge, options))
    }

    /// The revised model, in words.
    pub(crate) fn words(self, knowledge: &Knowledge) -> String {
        let world = knowledge.world();
        let name = |id: VarId| world.variable(id).name.as_str();
        match self {
            Change::Arrow(Outcome::Next(i), Other::Next(_)) => {
                let block = world.joined.iter().find(|block| block.contains(&i)).cloned().unwrap_or(i..i + 1);
                let mut names: Vec<&str> = block.map(|f| name(world.state()[f])).collect();
                let last = names.pop().unwrap_or_default();
                format!(
                    "the next values of {} and {last} are counted together, over the scopes of all",
                    names.join(", ")
                )
            }
            Change::Arrow(outcome, other) => {
                let parent = match other {
                    Other::Lever(l) => name(world.levers()[l]),
                    Other::Before(i) | Other::Next(i) => name(world.state()[i]),
                    Other::Key(id) => name(VarId(id)),
                    Other::Known | Other::Range => return "its numbers are learned from now on".to_owned(),
                };
                match outcome {
                    Outcome::Next(i) => format!("{parent} is added to the scope of {}", name(world.state()[i])),
                    Outcome::Paid(i) => {
                        let next = if matches!(other, Other::Next(_)) { "the next " } else { "" };
                        format!("{next}{parent} is added to the scope of {}", world.rewards()[i].name)
                    }
                    Outcome::Key(id) => format!("{parent} is added to the parents of {}", name(VarId(id))),
                    Outcome::Alone(l) => format!("{parent} is added to the parents of {}", name(world.levers()[l])),
                }
            }
            Change::Range(i, lo, hi) => {
                let name = &world.rewards()[i].name;
                format!("{name} is taken to pay between {lo} and {hi}, and what it pays is learned from now on")
            }
            Change::NoCauses => "the causes are given up for plain UCBVI".to_owned(),
        }
    }
}

/// Makes learners count the next values of some factors jointly, given the parents of all. States keep their numbers,
/// so factors between two dependent ones are joined as well, and so are factors joined with these before.
fn join(world: &mut World, mut block: Range<usize>) {
    let mut apart = Vec::new();
    for other in std::mem::take(&mut world.joined) {
        if other.start < block.end && block.start < other.end {
            block = block.start.min(other.start)..block.end.max(other.end);
        } else {
            apart.push(other);
        }
    }
    let mut parents: Vec<VarId> = Vec::new();
    for transition in &world.transitions[block.clone()] {
        parents.extend(transition.parents.iter().filter(|p| !parents.contains(p)).copied().collect::<Vec<_>>());
    }
    for transition in &mut world.transitions[block.clone()] {
        (transition.table, transition.parents) = (None, parents.clone());
    }
    world.joined = apart;
    world.joined.push(block);
}

/// Adds a parent of an outcome, if any; its parameters become unknown.
fn change_parents(world: &mut World, outcome: Outcome, parent: Option<VarId>) -> LearnResult<()> {
    let missing = LearnError::NothingToGuard;
    match outcome {
        Outcome::Next(i) => {
            let block = world.joined.iter().find(|block| block.contains(&i)).cloned().unwrap_or(i..i + 1);
            for transition in world.transitions.get_mut(block).ok_or(missing)? {
                transition.table = None;
                transition.parents.extend(parent);
            }
        }
        Outcome::Paid(i) => {
            let term = world.rewards.get_mut(i).ok_or(missing)?;
            term.table = None;
            term.scope.extend(parent);
        }
        Outcome::Key(_) | Outcome::Alone(_) => {
            let id = match outcome {
                Outcome::Alone(l) => world.levers.get(l).copied().ok_or(missing)?,
                Outcome::Key(id) if world.keys.iter().any(|key| key.0 == id) => VarId(id),
                Outcome::Key(_) | Outcome::Next(_) | Outcome::Paid(_) => return Err(missing),
            };
            // The error may lie in hidden variables: all mechanisms behind this variable become unknown.
            let within = Within::of(world, id).map_err(|_| LearnError::NothingToGuard)?;
            let own = &world.mechanisms[within.mechanisms[0]];
            // An unset lever may descend from this very variable.
            if parent.is_some_and(|p| {
                world.step_dag(&[]).descendants(&own.children.iter().map(|c| c.ix()).collect::<Vec<_>>())[p.ix()]
            }) {
                return Err(LearnError::NothingToGuard);
            }
            for &m in &within.mechanisms {
                let mechanism = &mut world.mechanisms[m];
                (mechanism.table, mechanism.assumed) = (None, Default::default());
                mechanism.assumed.form = LearnedForm::Table;
            }
            world.mechanisms[within.mechanisms[0]].parents.extend(parent);
            let mechanisms = std::mem::take(&mut world.mechanisms);
            world.mechanisms = parents_first(mechanisms, |m| m.children.clone(), |m| m.parents.clone());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::tabular::Tabular;
    use crate::learn::{Estimator, Evidence, Observation, Sets};
    use crate::plan::Ties;

    /// The same world twice: with two factors s and t, and with one that has their joint values. u depends on s and is
    /// known.
    fn world(joint: bool) -> World {
        let u = [[0.9, 0.1], [0.3, 0.7]];
        let (factors, scopes) = match joint {
            false => (vec![("s", 2), ("t", 3)], (vec!["s"], vec!["s", "t"])),
            true => (vec![("st", 6)], (vec!["st"], vec!["st"])),
        };
        let mut text = "dowise = 1\nhorizon = 3\n".to_owned();
        let list = |names: &[&str]| names.iter().map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(", ");
        for (name, n) in &factors {
            let scope = if joint {
                list(&["st", "z"])
            } else if *name == "s" {
                list(&["s", "z"])
            } else {
                list(&["t"])
            };
            text += &format!("[state.{name}]\nvalues = {n}\nscope = [{scope}]\n");
        }
        let rows = |s: usize| format!("[{}, {}]", u[s][0], u[s][1]);
        let n = if joint { 6 } else { 2 };
        let of_u = (0..n).map(|v| rows(if joint { v / 3 } else { v })).collect::<Vec<_>>().join(", ");
        text += &format!("[state.u]\nvalues = 2\nscope = [{}]\nnext = [{of_u}]\n", list(&scopes.0));
        text +=
            "[lever.a]\nvalues = 3\n[key.z]\nvalues = 2\nparents = [\"a\"]\np = [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]\n";
        let pays = |v: usize| [0.0, 0.4, 0.1, 0.3, 0.0, 1.0][v].to_string();
        let of_r = match joint {
            true => (0..6).map(pays).collect::<Vec<_>>().join(", "),
            false => (0..2)
                .map(|s| format!("[{}]", (0..3).map(|t| pays(3 * s + t)).collect::<Vec<_>>().join(", ")))
                .collect::<Vec<_>>()
                .join(", "),
        };
        text += &format!("[reward.r]\nscope = [{}]\nvalue = [{of_r}]\n", list(&scopes.1));
        text += "[reward.u]\nscope = [\"u\", \"z\"]\nrange = [0, 0.5]\n";
        World::from_toml(&text, "joint.toml").unwrap()
    }

    /// Values of a learner after 500 pseudo-random steps, by an estimator.
    fn values(knowledge: &Knowledge, options: &Options, reading: Estimator) -> Vec<f64> {
        let mut evidence = Evidence::new(knowledge, options).unwrap();
        for i in 0..500u64 {
            let random = crate::random::splitmix64(i);
            let part = |shift: u64, n: u64| ((random >> shift) % n) as usize;
            let (state, next) = (part(0, 12), if part(8, 3) > 0 { 11 * part(20, 2) } else { part(30, 12) });
            let at = Observation::at(knowledge, part(40, 3), state).unwrap().did(knowledge, part(44, 3)).unwrap();
            let seen = at.saw(knowledge, &[part(50, 2) as u32][..]).unwrap().then(knowledge, next).unwrap();
            evidence.add(&seen.paid_by(knowledge, "u", 0.5 * part(56, 2) as f64).unwrap()).unwrap();
        }
        let learner = Tabular::with(evidence, options.clone()).unwrap();
        learner.read(reading, 1, Ties::First).unwrap().0.value_hs
    }

    #[test]
    fn joined_factors_are_learned_as_one_factor_with_their_joint_values_is() {
        let [apart, joint] = [false, true].map(|joint| {
            let world = world(joint);
            Knowledge::of(&world).with_transitions_of(&world, &["u"]).unwrap()
        });
        let joined = apart.clone().changed(|world| join(world, 0..2));
        let mut differs = false;
        for causes in [Causes::OwnKeys, Causes::Keys] {
            for reading in
                [Estimator::Greedy, Estimator::Optimistic(Sets::Mixture), Estimator::Pessimistic(Sets::Mixture)]
            {
                let options = Options { causes, states: States::Factored, ..Options::default() };
                // The parents of the joined factors are s, z and t; of the joint factor st and z: the same rows in
                // another order.
                let [of_joined, of_joint, of_apart] =
                    [&joined, &joint, &apart].map(|knowledge| values(knowledge, &options, reading));
                for (a, b) in of_joined.iter().zip(&of_joint) {
                    assert!((a - b).abs() < 1e-9, "{causes:?}, {reading:?}: {of_joined:?} {of_joint:?}");
                }
                // Confidence sets of joint values may be wider than the difference between the two.
                differs |=
                    reading == Estimator::Greedy && of_joined.iter().zip(&of_apart).any(|(a, b)| (a - b).abs() > 1e-3);
            }
        }
        assert!(differs, "nothing was joined");
    }

    #[test]
    fn what_is_joined_twice_is_one_block_and_the_arrows_of_one_are_those_of_all() {
        let mut world = crate::worlds::world("paper", &[("factors", "5"), ("levels", "2")]).unwrap();
        join(&mut world, 3..5);
        join(&mut world, 0..2);
        assert_eq!(world.joined, [3..5, 0..2]);
        join(&mut world, 1..4);
        assert!(world.joined.len() == 1 && world.joined[0] == (0..5), "{:?}", world.joined);
        let lever = world.levers()[0];
        change_parents(&mut world, Outcome::Next(2), Some(lever)).unwrap();
        assert!(
            world.transitions.iter().all(|t| t.parents.contains(&lever) && t.parents == world.transitions[0].parents)
        );
    }
}
