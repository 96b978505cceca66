//! Outcomes that share hidden causes with levers in a log, and that adjustment identifies (Tian and Pearl 2002).
//!
//! Hidden variables divide the observed variables of a step into c-components: two of them are in one component if a
//! hidden variable acts on both, directly or through hidden variables or further members. Let S be a component, T_v the
//! component of v among the variables up to v in an order with parents first, and pa(T) the observed parents of T. Then
//!
//! Q[S] = Π_{v ∈ S} P(v | (T_v ∪ pa(T_v)) \ {v})
//!
//! is the distribution of S if everything else is set. If no lever of S acts, within S, on a member that a plan needs,
//! then the sum of Q[S] over the logged values of the levers is the distribution of these members under do(levers).
//! Front-door adjustment is the case S = {x, y}. So each such lever x gets a key variable `logged.x`, and each member is
//! learned as a table, given the other variables in its factor.

use super::logged_levers::{IsOutcome, PREFIX, is_one_of};
use super::step_graph::StepGraph;
use crate::messages::and;
use crate::world::{Form, Kind, MechanismSpec, Name, SetSpec, VariableSpec, WorldSpec};

/// Most entries of a table that adjusts.
const MOST_ENTRIES: usize = 1 << 20;

/// The specification in which next values, and the key variables that are outcomes, are adjusted for what acts on levers
/// in a log, and a sentence for each component; `None` if there is nothing to adjust.
pub(crate) fn adjusted(spec: &WorldSpec, is_outcome: IsOutcome<'_>) -> Option<(WorldSpec, Vec<String>)> {
    if !matches!(spec.interventions.set, SetSpec::All) {
        return None;
    }
    let graph = StepGraph::new(spec)?;
    let mut out = spec.clone();
    let mut words = Vec::new();
    for members in graph.components() {
        let Some(found) = Adjustment::find(&graph, &members, is_outcome) else { continue };
        if found.factors.iter().any(|factor| found.entries(spec, factor) > MOST_ENTRIES) {
            continue;
        }
        words.push(found.words());
        found.apply(&mut out);
    }
    (!words.is_empty()).then_some((out, words))
}

/// A component whose needed members are identified.
struct Adjustment<'a> {
    graph: &'a StepGraph,
    members: Vec<usize>,
    /// P(v | given) for the members that are learned, parents first.
    factors: Vec<Factor>,
}

struct Factor {
    node: usize,
    given: Vec<usize>,
}

impl<'a> Adjustment<'a> {
    fn find(graph: &'a StepGraph, members: &[usize], is_outcome: IsOutcome<'_>) -> Option<Adjustment<'a>> {
        let is_lever = |v: &usize| graph.kind(*v) == Some(Kind::Lever);
        let needed: Vec<usize> = members.iter().copied().filter(|v| !is_lever(v) && graph.is_needed(*v)).collect();
        let next = members.iter().filter(|v| graph.kind(**v).is_none()).count();
        // A hidden variable that acts on a next value cannot stay in a world.
        let is_confounded = next > 0 && graph.shares_with_levers(members) || graph.is_confounded(members, &needed);
        if needed.is_empty() || !is_confounded || next > 1 || members.iter().any(|&v| graph.is_unclear(v)) {
            return None;
        }
        let acting = graph.ancestors_within(members, &needed);
        if acting.iter().any(is_lever) {
            return None;
        }
        // Members behind all of these sum to 1, and so do those that none of them is learned from.
        let mut factors: Vec<Factor> = Vec::new();
        let mut open = acting;
        while let Some(node) = open.pop() {
            if factors.iter().all(|factor| factor.node != node) {
                let given = graph.given(node);
                open.extend(given.iter().filter(|v| members.contains(v)));
                factors.push(Factor { node, given });
            }
        }
        factors.sort_unstable_by_key(|factor| graph.position(factor.node));
        let keys = factors.iter().map(|factor| factor.node).filter(|&v| graph.kind(v) == Some(Kind::Key));
        let may_learn = next > 0 || keys.clone().all(|v| is_outcome(graph.name(v)));
        let is_plain = factors.iter().flat_map(|factor| &factor.given).all(|&v| graph.kind(v).is_some());
        (may_learn && is_plain).then(|| Adjustment { graph, members: members.to_vec(), factors })
    }

    /// The name of a variable in the adjusted world.
    fn name(&self, v: usize) -> String {
        let is_logged = self.graph.kind(v) == Some(Kind::Lever) && self.members.contains(&v);
        format!("{}{}", if is_logged { PREFIX } else { "" }, self.graph.name(v))
    }

    fn entries(&self, spec: &WorldSpec, factor: &Factor) -> usize {
        let size = |v: &usize| {
            let of = spec.variables.iter().find(|of| of.name.value == self.graph.name(*v));
            of.map_or(1, |of| of.values.len())
        };
        factor.given.iter().chain([&factor.node]).map(size).fold(1, usize::saturating_mul)
    }

    fn words(&self) -> String {
        let of_kind = |kind: Option<Kind>| {
            let names = self.factors.iter().map(|factor| factor.node).filter(move |&v| self.graph.kind(v) == kind);
            names.map(|v| format!("\"{}\"", self.graph.name(v))).collect::<Vec<String>>()
        };
        let hidden: Vec<String> =
            self.graph.hidden_of(&self.members).into_iter().map(|h| format!("\"{}\"", self.graph.name(h))).collect();
        let mut outcomes = of_kind(Some(Kind::Key));
        outcomes.extend(of_kind(None).into_iter().map(|name| format!("the next value of {name}")));
        let [act, are] = [hidden.len(), outcomes.len()].map(|n| n > 1);
        let (act, are) = (if act { "act" } else { "acts" }, if are { "are" } else { "is" });
        let (hidden, outcomes) = (and(&hidden), and(&outcomes));
        let levers = of_kind(Some(Kind::Lever));
        if levers.is_empty() {
            return format!(
                "the hidden {hidden} {act} on {outcomes}, of which a lever depends on some in a log; each {are} learned given \
                 the others before it (back-door adjustment)"
            );
        }
        let logged: Vec<String> = levers.iter().map(|name| format!("\"{PREFIX}{}\"", name.trim_matches('"'))).collect();
        let s = if logged.len() > 1 { "s" } else { "" };
        let levers = and(&levers);
        format!(
            "the hidden {hidden} {act} on {levers} in a log and on {outcomes}, which {are} learned by adjusting for the values \
             that the log has for {levers} (front-door adjustment, key variable{s} {})",
            and(&logged)
        )
    }

    /// Writes the factors into a specification, and removes the hidden variables of the component.
    fn apply(&self, spec: &mut WorldSpec) {
        for factor in &self.factors {
            let name = self.graph.name(factor.node);
            let given = factor.given.iter().map(|&v| Name::from(self.name(v).as_str())).collect();
            let of = match self.graph.kind(factor.node) {
                Some(Kind::Lever) => {
                    add_logged(spec, name, given);
                    continue;
                }
                Some(_) => &mut spec.mechanisms,
                None => &mut spec.transitions,
            };
            let own = of.iter_mut().find(|m| m.children.iter().any(|child| child.value == name));
            let own = own.expect("invariant: a variable with a hidden parent has a mechanism");
            // A form given hidden variables is none without them, so that rows are learned one by one.
            *own = MechanismSpec { parents: given, form: Form::Unknown, learn: None, ..own.clone() };
        }
        let hidden: Vec<String> =
            self.graph.hidden_of(&self.members).into_iter().map(|h| self.graph.name(h).to_owned()).collect();
        for m in spec.mechanisms.iter_mut().filter(|m| m.parents.iter().any(|p| is_one_of(p, &hidden))) {
            m.parents.retain(|p| !is_one_of(p, &hidden));
            (m.form, m.learn) = (Form::Unknown, None);
        }
        spec.mechanisms.retain(|m| !m.children.iter().any(|child| is_one_of(child, &hidden)));
        spec.variables.retain(|v| !hidden.contains(&v.name.value));
    }
}

/// Adds the key variable that repeats the logged value of a lever.
fn add_logged(spec: &mut WorldSpec, lever: &str, parents: Vec<Name>) {
    let of = spec.variables.iter().find(|v| v.name.value == lever).expect("invariant: levers are declared");
    let (name, values) = (format!("{PREFIX}{lever}"), of.values.clone());
    let children = vec![name.as_str().into()];
    spec.variables.push(VariableSpec {
        name: name.as_str().into(),
        kind: Kind::Key.into(),
        values,
        values_at: None,
        costs: Vec::new(),
    });
    spec.mechanisms.push(MechanismSpec { children, parents, form: Form::Unknown, learn: None, at: None });
}
