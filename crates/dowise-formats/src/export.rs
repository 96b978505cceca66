//! One step of a world as a network: state factors, levers, hidden and key variables, and the state factors' next values.

use dowise::World;
use dowise::world::{Kind, Mechanism, Start, VarId};

use crate::limits::MOST_ENTRIES;
use crate::network::{Network, Role, Variable};

/// A network and what it does not say.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The network.
    pub network: Network,
    /// What of the world is not in it, as sentences.
    pub notes: Vec<String>,
    /// What its numbers do not say, or not as the world does; for formats that have numbers.
    pub number_notes: Vec<String>,
}

/// One step of a world as a network.
///
/// A joint table becomes a chain, each of its key variables given the ones before it. A lever that is always set has no
/// mechanism: it becomes uniform, unless the world says by what it was chosen in a log. `Err`: a chain would be too large.
pub fn export(world: &World) -> Result<Exported, String> {
    let mut network = Network { name: world.name().to_owned(), ..Network::default() };
    let mut number_notes = vec![];
    let n = world.variables().len();
    for variable in world.variables() {
        let role = match variable.kind {
            Kind::State => Role::State,
            Kind::Lever => Role::Lever,
            Kind::Key => Role::Key,
            Kind::Hidden => Role::Hidden,
        };
        let (name, values) = (variable.name.clone(), variable.values.clone());
        network.variables.push(Variable { name, values, role: Some(role), ..Variable::default() });
    }
    start(world, &mut network)?;
    let mut unknown = vec![];
    for mechanism in world.mechanisms() {
        if mechanism.children.len() > 1 {
            let names: Vec<&str> = mechanism.children.iter().map(|&c| world.variable(c).name.as_str()).collect();
            number_notes.push(format!("the joint table of {} is written as a chain", names.join(", ")));
        }
        if mechanism.table.is_none() {
            unknown.extend(mechanism.children.iter().map(|&c| world.variable(c).name.clone()));
        }
        let sizes = world.sizes(&mechanism.children);
        let rows = mechanism.table.as_deref();
        chain(&mut network, &mechanism.children, &mechanism.parents, &sizes, rows)?;
    }
    for behaviour in world.behaviour_mechanisms() {
        let (size, rows) = (world.variable(behaviour.children[0]).size(), world.sizes(&behaviour.parents));
        let cells = rows.iter().fold(size as u128, |cells, &n| cells.saturating_mul(n as u128));
        // Other tools refuse a variable without numbers.
        let uniform = (cells <= MOST_ENTRIES).then(|| vec![1.0 / size as f64; cells as usize]);
        let table = behaviour.table.as_deref().or(uniform.as_deref());
        chain(&mut network, &behaviour.children, &behaviour.parents, &[size], table)?;
        if behaviour.table.is_none() {
            number_notes.push(format!(
                "always set, and therefore uniform here: {}; its parents say by what it was chosen in a log",
                world.variable(behaviour.children[0]).name
            ));
        }
    }
    let set: Vec<VarId> = world.levers().iter().copied().filter(|&l| !decided(world, l)).collect();
    for &lever in &set {
        let size = world.variable(lever).size();
        network.variables[lever.ix()].table = Some(vec![1.0 / size as f64; size]);
    }
    if !set.is_empty() {
        let names: Vec<&str> = set.iter().map(|&l| world.variable(l).name.as_str()).collect();
        number_notes.push(format!("always set, and therefore uniform here: {}", names.join(", ")));
    }
    for (transition, &factor) in world.transitions().iter().zip(world.state()) {
        let Variable { name, values, .. } = network.variables[factor.ix()].clone();
        if transition.table.is_none() && world.low_rank().is_none() {
            unknown.push(format!("the next {name}"));
        }
        let mut next = format!("{name}_next");
        while network.find(&next).is_some() {
            next.push('_');
        }
        network.variables.push(Variable {
            name: next,
            values,
            parents: transition.parents.iter().map(|id| id.ix()).collect(),
            table: transition.table.as_deref().map(<[f64]>::to_vec),
            role: Some(Role::NextOf(name)),
            properties: vec![],
        });
    }
    debug_assert_eq!(network.variables.len(), n + world.state().len());
    if !unknown.is_empty() {
        number_notes.push(format!("to be learned, and therefore without numbers: {}", unknown.join(", ")));
    }
    if world.low_rank().is_some() {
        number_notes.push("next values are stated by anchors, and therefore without numbers here".to_owned());
    }
    let mut lost = vec!["rewards", "costs", "the horizon"];
    lost.extend(world.ends().map(|_| "where episodes end"));
    lost.extend((world.discount() < 1.0).then_some("the discount"));
    let notes = vec![format!("{} and which interventions are allowed are not part of a network", lost.join(", "))];
    Ok(Exported { network, notes, number_notes })
}

fn decided(world: &World, lever: VarId) -> bool {
    let mut all = world.mechanisms().iter().chain(world.behaviour_mechanisms());
    all.any(|Mechanism { children, .. }| children.contains(&lever))
}

/// Where episodes start: each state factor by itself, or each given the ones before it.
fn start(world: &World, network: &mut Network) -> Result<(), String> {
    match world.start() {
        Start::Product(factors) => {
            for (&factor, p) in world.state().iter().zip(factors) {
                network.variables[factor.ix()].table = Some(p.clone());
            }
            Ok(())
        }
        Start::States(states) => {
            if world.n_states() as u128 > MOST_ENTRIES {
                return Err(format!("the start of {} states is too large for one table", world.n_states()));
            }
            let mut joint = vec![0.0; world.n_states()];
            states.iter().for_each(|&(s, p)| joint[s] += p);
            chain(network, world.state(), &[], &world.sizes(world.state()), Some(&joint))
        }
    }
}

/// P(children | parents) as one table for each child, given the parents and the children before it.
fn chain(
    network: &mut Network,
    children: &[VarId],
    parents: &[VarId],
    sizes: &[usize],
    table: Option<&[f64]>,
) -> Result<(), String> {
    let width: usize = sizes.iter().product();
    for (k, &child) in children.iter().enumerate() {
        let given = parents.iter().chain(&children[..k]).map(|id| id.ix()).collect();
        network.variables[child.ix()].parents = given;
        let Some(table) = table else { continue };
        let (tail, size): (usize, usize) = (sizes[k + 1..].iter().product(), sizes[k]);
        if (table.len() / tail) as u128 > MOST_ENTRIES {
            let name = &network.variables[child.ix()].name;
            return Err(format!(
                "the table of \"{name}\" would have {} entries; at most {MOST_ENTRIES} fit",
                table.len() / tail
            ));
        }
        // What comes behind this child is marginalised out; then every row is divided by its sum.
        let mut own: Vec<f64> = table.chunks(tail).map(|part| part.iter().sum()).collect();
        if width > size {
            for row in own.chunks_mut(size) {
                let sum: f64 = row.iter().sum();
                // A row that cannot happen may say anything.
                row.iter_mut().for_each(|p| *p = if sum > 0.0 { *p / sum } else { 1.0 / size as f64 });
            }
        }
        network.variables[child.ix()].table = Some(own);
    }
    Ok(())
}
