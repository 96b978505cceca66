//! Writes steps as a CSV log that reads back as the same steps.

use std::io::{self, Write};

use super::LogStep;
use super::columns::{Own, Role, always_set, is_time_index, name_of};
use crate::learn::MISSING;
use crate::world::World;

/// Optional columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenColumns {
    /// The net reward of the step, if payments of its terms are unknown.
    pub reward: bool,
    /// The propensity of the intervention.
    pub propensity: bool,
    /// The behaviour policy.
    pub policy: bool,
    /// The multiplicity of the row.
    pub weight: bool,
    /// The end of the episode.
    pub end: bool,
    /// Whether the levers were set by a draw.
    pub randomised: bool,
}

/// Writes episodes as CSV: every observed variable, settings of levers that may be left alone, payments of reward
/// terms, and the next state unless the next row contains it.
pub struct LogWriter<'w, W: Write> {
    world: &'w World,
    out: csv::Writer<W>,
    written: u64,
    roles: Vec<Role>,
    text: String,
}

impl<'w, W: Write> LogWriter<'w, W> {
    /// Writes the names of the columns.
    pub fn new(world: &'w World, out: W, with: WrittenColumns) -> io::Result<LogWriter<'w, W>> {
        let mut roles = vec![Role::Own(Own::Episode), Role::Own(Own::Stage)];
        roles.extend(world.state().iter().map(|id| Role::Value(id.ix())));
        for (l, id) in world.levers().iter().enumerate() {
            roles.push(Role::Value(id.ix()));
            if !always_set(world, l) {
                roles.push(Role::Set(l));
            }
        }
        roles.extend(world.keys().iter().map(|id| Role::Value(id.ix())));
        roles.extend((0..world.rewards().len()).map(Role::Term));
        roles.extend((0..world.state().len()).map(Role::Next));
        let optional = [
            (with.reward, Role::Own(Own::Reward)),
            (with.propensity, Role::Own(Own::Propensity)),
            (with.policy, Role::Own(Own::Policy)),
            (with.weight, Role::Own(Own::Weight)),
            (with.end, Role::Own(Own::End)),
            (with.randomised, Role::Own(Own::Randomised)),
        ];
        roles.retain(|&role| !is_time_index(world, role));
        roles.extend(optional.into_iter().filter(|(wanted, _)| *wanted).map(|(_, role)| role));
        let mut out = csv::Writer::from_writer(out);
        out.write_record(roles.iter().map(|&role| name_of(world, role)))?;
        Ok(LogWriter { world, out, written: 0, roles, text: String::new() })
    }

    /// Writes the steps of one episode; `policies` are the names that steps refer to.
    pub fn episode(&mut self, name: &str, steps: &[LogStep<'_>], policies: &[&str]) -> io::Result<()> {
        for (i, step) in steps.iter().enumerate() {
            let seen = &step.observation;
            let follows = steps.get(i + 1).is_some_and(|next| {
                next.observation.stage == seen.stage + 1 && Some(next.observation.state) == seen.next_state
            });
            for r in 0..self.roles.len() {
                let role = self.roles[r];
                self.text.clear();
                self.cell(role, name, step, follows, policies);
                self.written += self.text.len() as u64 + 1;
                self.out.write_field(&self.text)?;
            }
            self.out.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }

    fn cell(&mut self, role: Role, name: &str, step: &LogStep<'_>, follows: bool, policies: &[&str]) {
        use std::fmt::Write as _;
        let (world, seen) = (self.world, &step.observation);
        let text = &mut self.text;
        // Writing into a string cannot fail. Numbers have enough digits to read back exactly.
        let _ = match role {
            Role::Own(Own::Episode) => write!(text, "{name}"),
            Role::Own(Own::Stage) => write!(text, "{}", seen.stage + 1),
            Role::Value(ix) => match seen.values[ix] {
                MISSING => Ok(()),
                value => write!(text, "{}", world.variables()[ix].values[value as usize]),
            },
            Role::Set(lever) => {
                let set = seen.action.is_some_and(|a| world.interventions().lever(a, lever).is_some());
                write!(text, "{}", u8::from(set))
            }
            Role::Next(i) => match seen.next_value(world.state_space(), i).filter(|_| !follows) {
                Some(digit) => {
                    write!(text, "{}", world.variable(world.state()[i]).values[digit])
                }
                None => Ok(()),
            },
            Role::Term(i) if seen.rewards[i].is_nan() => Ok(()),
            Role::Term(i) => write!(text, "{}", seen.rewards[i]),
            Role::Own(Own::Reward) => step.reward.map_or(Ok(()), |x| write!(text, "{x}")),
            Role::Own(Own::Propensity) => step.propensity.map_or(Ok(()), |x| write!(text, "{x}")),
            Role::Own(Own::Policy) => step.policy.map_or(Ok(()), |p| write!(text, "{}", policies[p as usize])),
            Role::Own(Own::Weight) => write!(text, "{}", step.weight),
            Role::Own(Own::End) => step.end.map_or(Ok(()), |end| write!(text, "{}", end.word())),
            Role::Own(Own::Randomised) => {
                step.randomised.map_or(Ok(()), |yes| write!(text, "{}", if yes { "yes" } else { "no" }))
            }
            Role::Own(Own::Time) => Ok(()),
        };
    }

    /// Bytes of all rows so far, without quotation marks.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Flushes, and returns the output.
    pub fn finish(self) -> io::Result<W> {
        self.out.into_inner().map_err(|e| io::Error::new(e.error().kind(), e.to_string()))
    }
}
