//! Graphs and networks: what is accepted is the same after being written and read, and a world made of it can be read.

use dowise::World;
use dowise::world::{Located, SetSpec, Severity};
use dowise_formats::{Format, Missing, Network, Roles, import};

use super::Outcome;
use crate::Case;

/// Entries of all tables of a graph of which a world is made while fuzzing.
const MOST_ENTRIES: u128 = 1 << 14;

pub(super) fn run(format: Format, case: &Case) -> Outcome {
    let file = match format.read(&case.text, "graph") {
        Ok(file) => file,
        Err(error) => {
            let _ = error.to_string();
            let first = error.problems.iter().find(|p| p.severity == Severity::Error);
            return Outcome::Refused(format!("{} {}", format.name(), first.map_or("", |p| p.code)));
        }
    };
    if let Some(wrong) = round_trip(format, &file.network) {
        return Outcome::Wrong(wrong);
    }
    if entries(&file.network) > MOST_ENTRIES {
        return Outcome::Accepted;
    }
    match import(&file, &roles(&file.network, case.seed), None) {
        Err(error) => {
            let _ = error.to_string();
        }
        Ok(imported) => match World::from_toml(&imported.text, "text") {
            Err(error) => return Outcome::Wrong(format!("the world file of an import is refused: {error}")),
            Ok(world) if world.to_toml() != imported.world.to_toml() => {
                return Outcome::Wrong("the world file of an import is another world".to_owned());
            }
            Ok(_) => {}
        },
    }
    Outcome::Accepted
}

fn entries(network: &Network) -> u128 {
    let size = |i: usize| network.variables[i].values.len().max(2) as u128;
    let table = |i: usize| network.variables[i].parents.iter().fold(size(i), |n, &p| n.saturating_mul(size(p)));
    // Each common cause doubles the tables of both ends.
    let causes = 1u128.checked_shl(2 * network.bidirected.len() as u32).unwrap_or(u128::MAX);
    (0..network.variables.len()).map(table).fold(0, u128::saturating_add).saturating_mul(causes)
}

fn round_trip(format: Format, network: &Network) -> Option<String> {
    let text = format.write(network);
    match format.read(&text, "again") {
        Ok(again) if again.network == *network => None,
        Ok(again) => {
            Some(format!("{} is another graph after being written:\n{network:?}\n{:?}", format.name(), again.network))
        }
        Err(error) => Some(format!("{} is refused after being written: {error}\n{text}", format.name())),
    }
}

/// Roles by the seed's bits: a role for each of the first variables, or none, so that the file's marks count.
fn roles(network: &Network, seed: u64) -> Roles {
    let mut roles = Roles { horizon: Some(2.into()), ..Roles::default() };
    for (i, variable) in network.variables.iter().enumerate().take(12) {
        let name: Located<String> = variable.name.as_str().into();
        match (seed >> (4 * i)) & 15 {
            0..=2 => roles.levers.push(name),
            3..=6 => roles.keys.push(name),
            7 => roles.hidden.push(name),
            8 if i > 0 => roles.states.push((network.variables[i - 1].name.as_str().into(), name)),
            _ => {}
        }
    }
    if seed >> 60 & 1 == 1 {
        roles.set = Some(SetSpec::Any);
    }
    if seed >> 61 & 1 == 1 {
        roles.missing = Some(Missing::Learn);
    }
    roles
}
