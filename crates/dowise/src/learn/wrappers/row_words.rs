//! A row of counted tables in words: what it is of, its parents, and its values.

use crate::learn::evidence::{RowAt, SeenOf};
use crate::learn::options::Causes;
use crate::learn::view::View;
use crate::world::{VarId, World};

/// The words of a row.
pub(super) struct RowWords {
    pub(super) of: SeenOf,
    /// Variables or reward terms; the whole state if there are none.
    pub(super) names: Vec<String>,
    /// The stage, from 1, if stages count separately.
    pub(super) stage: Option<usize>,
    /// Its parents: names and values.
    pub(super) given: Vec<(String, String)>,
    /// The values of its outcome; none for a reward.
    pub(super) values: Vec<String>,
}

impl RowWords {
    pub(super) fn new(view: &View, at: RowAt) -> RowWords {
        let knowledge = view.knowledge.world();
        let named =
            |world: &World, ids: &[VarId]| ids.iter().map(|&id| world.variable(id).name.clone()).collect::<Vec<_>>();
        let mut stage = None;
        let (of, names, given, values): (_, Vec<String>, _, Vec<String>) = match at {
            RowAt::Transition { block, factor, row } => {
                stage = (view.n_blocks > 1).then_some(block + 1);
                let layout = &view.layout.factors[factor];
                let given = given(view, &layout.scope, layout.needs, layout.of_row(row, view.layout.n_causes));
                match layout.factor {
                    Some(i) => {
                        let id = knowledge.state()[i];
                        (SeenOf::Transition, named(knowledge, &[id]), given, knowledge.variable(id).values.clone())
                    }
                    None => {
                        let states = (0..layout.n_values).map(|s| knowledge.describe_state(s)).collect();
                        (SeenOf::Transition, Vec::new(), given, states)
                    }
                }
            }
            RowAt::Mechanism { index, row } => {
                let rows = view.mechanisms.as_ref().expect("invariant: a mechanism is counted only if it is learned");
                let (of, world) = (&rows.unknown[index], &rows.world);
                let m = &world.mechanisms()[of.position];
                let value = |(id, v): (&VarId, usize)| {
                    let variable = world.variable(*id);
                    (variable.name.clone(), variable.values[v].clone())
                };
                let given = m.parents.iter().zip(of.rows.digits(row)).map(value).collect();
                let joint = |v: usize| {
                    let mut left = v;
                    let mut words: Vec<&str> = m
                        .children
                        .iter()
                        .rev()
                        .map(|&id| {
                            let values = &world.variable(id).values;
                            let word = values[left % values.len()].as_str();
                            left /= values.len();
                            word
                        })
                        .collect();
                    words.reverse();
                    words.join(", ")
                };
                (SeenOf::Mechanism, named(world, &m.children), given, (0..of.n_values).map(joint).collect())
            }
            RowAt::Payment { term, row } => {
                let rows = &view.payments.terms[term];
                let names = rows.of.iter().map(|&i| knowledge.rewards()[i].name.clone()).collect();
                (
                    SeenOf::Reward,
                    names,
                    given(view, rows.scope(), rows.needs, rows.of_row(row, view.layout.n_causes)),
                    Vec::new(),
                )
            }
        };
        RowWords { of, names, stage, given, values }
    }
}

/// Such as "the next mood where reach=yes".
pub(super) fn subject((of, names): (SeenOf, &[String]), stage: Option<usize>, given: &[(String, String)]) -> String {
    let names = names.join(", ");
    let subject = match of {
        SeenOf::Transition if names.is_empty() => "the next state".to_owned(),
        SeenOf::Transition => format!("the next {names}"),
        SeenOf::Mechanism => names,
        SeenOf::Reward => format!("the reward {names}"),
    };
    let stage = stage.map_or(String::new(), |stage| format!(" at stage {stage}"));
    let given: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let given = if given.is_empty() { String::new() } else { format!(" where {}", given.join(" ")) };
    format!("{subject}{stage}{given}")
}

/// Names and values of the parents of a table at a state row and a configuration.
fn given(
    view: &View,
    scope: &[(usize, usize)],
    needs: u64,
    (state_row, cause): (usize, usize),
) -> Vec<(String, String)> {
    let (world, layout) = (view.knowledge.world(), &view.layout);
    let pair = |id: VarId, v: usize| {
        let variable = world.variable(id);
        (variable.name.clone(), variable.values[v].clone())
    };
    let sizes = layout.state_space.sizes();
    let mut out: Vec<(String, String)> =
        scope.iter().map(|&(f, stride)| pair(world.state()[f], state_row / stride % sizes[f])).collect();
    match &view.actions {
        Some(list) if view.causes == Causes::Actions => {
            out.push(("do".to_owned(), world.describe_intervention(list.actions[cause])));
        }
        Some(_) | None => {
            let needed = view.key_causes.variables().iter().enumerate().filter(|(p, _)| needs >> p.min(&63) & 1 == 1);
            out.extend(needed.map(|(p, &id)| pair(id, view.key_causes.digit(cause, p))));
        }
    }
    out
}
