//! Coverage report of evidence: the number of visits of each table, for display.

use super::{Counts, Evidence};

/// The kind of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeenOf {
    /// Transition of a state factor.
    Transition,
    /// Mechanism of a variable within a step.
    Mechanism,
    /// Reward term.
    Reward,
}

/// Coverage of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSeen {
    /// Its kind.
    pub of: SeenOf,
    /// Its variables or reward terms; the whole state if there are none.
    pub names: Vec<String>,
    /// Distributions, or means, to learn.
    pub rows: usize,
    /// Visited rows.
    pub rows_seen: usize,
    /// Visits of all rows.
    pub visits: u64,
}

impl Evidence {
    /// Coverage of every learned table: transitions (all stages together), mechanisms, rewards.
    ///
    /// # Cost
    /// One pass over the visits of all rows.
    pub fn tables(&self) -> Vec<TableSeen> {
        let (view, mut out) = (&self.view, Vec::new());
        let knowledge = &view.knowledge;
        let seen = |of, names, tables: &[&[u32]]| TableSeen {
            of,
            names,
            rows: tables.iter().map(|n| n.len()).sum(),
            rows_seen: tables.iter().flat_map(|n| n.iter()).filter(|n| **n > 0).count(),
            visits: tables.iter().flat_map(|n| n.iter()).map(|&n| u64::from(n)).sum(),
        };
        for (i, layout) in view.layout.factors.iter().enumerate().filter(|(_, layout)| layout.known.is_none()) {
            let members = layout.members.clone().filter(|_| layout.factor.is_some());
            let names = members.map(|f| knowledge.variable(knowledge.state()[f]).name.clone()).collect();
            let tables: Vec<&[u32]> = self.transitions.iter().map(|block| block[i].n_r.as_slice()).collect();
            out.push(seen(SeenOf::Transition, names, &tables));
        }
        for (rows, Counts { n_r, .. }) in view.mechanisms.iter().flat_map(|m| &m.unknown).zip(&self.mechanisms) {
            let world = &view.mechanisms.as_ref().expect("invariant: it has unknown rows").world;
            let children = &world.mechanisms()[rows.position].children;
            let names = children.iter().map(|&id| world.variable(id).name.clone()).collect();
            out.push(seen(SeenOf::Mechanism, names, &[n_r]));
        }
        for (term, payments) in view.payments.terms.iter().zip(&self.payments) {
            let names = term.of.iter().map(|&i| knowledge.rewards()[i].name.clone()).collect();
            out.push(seen(SeenOf::Reward, names, &[&payments.n]));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Knowledge, Observation, Options};
    use crate::worlds;

    #[test]
    fn visits_are_those_of_the_observations_that_were_added() {
        let world = worlds::world("campaign", &[]).unwrap();
        let knowledge = Knowledge::of(&world);
        let mut evidence = Evidence::new(&knowledge, &Options::default()).unwrap();
        assert!(evidence.tables().iter().all(|t| t.visits == 0 && t.rows_seen == 0 && t.rows > 0));
        let keys = vec![0u32; world.keys().len()];
        let action = world.interventions().nth(0);
        let step = Observation::at(&knowledge, 0, 0).unwrap().did_action(&knowledge, action).unwrap();
        let step = step.saw(&knowledge, &keys[..]).unwrap().then(&knowledge, 0).unwrap();
        for _ in 0..3 {
            evidence.add(&step).unwrap();
        }
        let tables = evidence.tables();
        let names: Vec<&str> = tables.iter().flat_map(|t| &t.names).map(String::as_str).collect();
        for &id in world.state() {
            assert!(names.contains(&world.variable(id).name.as_str()), "{names:?}");
        }
        for table in tables.iter().filter(|t| t.of == SeenOf::Transition) {
            assert_eq!((table.visits, table.rows_seen), (3, 1), "{table:?}");
        }
    }
}
