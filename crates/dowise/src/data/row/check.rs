//! Validation of log rows: the state occurs, the intervention is allowed, payments lie within their ranges.

use super::{Row, RowReader, UNREAD, is_blank, shown};
use crate::data::columns::{Own, Role};
use crate::data::findings::{FindingKind, Findings};
use crate::data::labels::Said;
use crate::data::{End, Table};
use crate::learn::MISSING;
use crate::tolerance::OBSERVED_REWARD;
use crate::world::{Action, Kind, LeverRule};

impl RowReader<'_> {
    /// Reports empty required cells.
    pub(super) fn needed(&self, row: &Row, findings: &mut Findings, is: impl Fn(Role) -> bool, table: &impl Table) {
        for column in self.columns.iter().filter(|c| is(c.role)) {
            let cell = table.cell(column.index);
            // Invalid cells were reported already.
            let means_missing = || column.labels.clone().is_some_and(|mut labels| labels.read(cell) == Said::Missing);
            if is_blank(cell) || self.missing.iter().any(|m| **m == *cell.trim_ascii()) || means_missing() {
                let name = table.columns()[column.index].clone();
                findings.add(FindingKind::MissingNeeded, Some(column.index), row.line, || {
                    format!("\"{name}\" is empty, and without it a row says nothing")
                });
            }
        }
    }

    pub(super) fn state_of(&mut self, row: &mut Row, findings: &mut Findings, table: &impl Table) {
        let mut state = Some(0);
        for (i, (id, stride)) in self.world.state().iter().zip(self.world.state_space().strides()).enumerate() {
            let value = row.values[id.ix()];
            if value >= UNREAD {
                row.bad = true;
                state = None;
                if value == MISSING {
                    self.needed(row, findings, |role| role == Role::Value(id.ix()), table);
                }
                continue;
            }
            self.digits[i] = value as usize;
            state = state.map(|s| s + value as usize * stride);
        }
        row.state = state;
        let Some(state) = state else { return };
        if self.world.has_ended(state) {
            (row.bad, row.ended) = (true, true);
            let world = self.world;
            findings.add_label(FindingKind::AfterEnd, None, row.line, &world.describe_state(state), || {
                (format!("a step in the state {}, where episodes have ended", world.describe_state(state)), None)
            });
        }
    }

    /// A row that leads to a terminal state is the last of its episode, whether or not the log says so.
    pub(super) fn end_of(&self, row: &mut Row) {
        if row.end.is_some() || self.world.ends().is_none() || row.next.iter().any(|&v| v >= UNREAD) {
            return;
        }
        let strides = self.world.state_space().strides();
        let next = row.next.iter().zip(strides).map(|(&v, stride)| v as usize * stride).sum();
        row.end = self.world.has_ended(next).then_some(End::Terminated);
    }

    pub(super) fn action_of(&mut self, row: &mut Row, findings: &mut Findings, table: &impl Table) {
        let all = self.world.interventions();
        let (mut code, mut n_set, mut known) = (0, 0, true);
        for (l, id) in self.world.levers().iter().enumerate() {
            match (self.set[l], row.values[id.ix()]) {
                (0, _) => {}
                (1, value) if value < UNREAD => {
                    code += all.part(l, Some(value as usize));
                    n_set += 1;
                }
                (1, MISSING) if self.set_by_default[l] == 1 => {
                    known = false;
                    self.needed(row, findings, |role| role == Role::Value(id.ix()), table);
                }
                (1, MISSING) => {
                    known = false;
                    let name = &self.world.variable(*id).name;
                    findings.add(FindingKind::LeverWithoutValue, self.lever_column[l], row.line, || {
                        format!("\"{name}\" was set, but the row does not say to what")
                    });
                }
                (2, _) => {
                    known = false;
                    self.needed(row, findings, |role| role == Role::Set(l), table);
                }
                // Unreadable cells were reported already.
                _ => known = false,
            }
        }
        row.action = Action(code);
        row.bad |= !known;
        if !known || row.state.is_none() {
            return;
        }
        let by_rule = match all.lever_rule() {
            LeverRule::All => n_set == self.set.len(),
            LeverRule::AtMost(most) => n_set <= *most,
            LeverRule::List(list) => list.binary_search(&row.action).is_ok(),
        };
        let (values, levers, set, digits) = (&row.values, self.world.levers(), &self.set, &self.digits);
        let forbidden = all.forbid().iter().any(|rule| {
            rule.when.iter().all(|(i, of)| of[digits[*i]])
                && rule.levers.iter().all(|(l, of)| set[*l] == 1 && of[values[levers[*l].ix()] as usize])
        });
        if by_rule && !forbidden {
            return;
        }
        row.bad = true;
        let (world, action, state) = (self.world, row.action, row.state);
        let done = world.describe_action(action);
        let label = match state {
            Some(state) if by_rule => format!("{done} in {}", world.describe_state(state)),
            Some(_) | None => done,
        };
        findings.add_label(FindingKind::NotAllowed, None, row.line, &label, || {
            let message = match state {
                Some(state) if by_rule => {
                    format!("{} is not allowed in state {}", world.describe_action(action), world.describe_state(state))
                }
                Some(_) | None => format!("this world has no intervention {}", world.describe_action(action)),
            };
            (message, None)
        });
    }

    /// Validates payments, and adds them up.
    pub(super) fn pay(&mut self, row: &mut Row, total: Option<(f64, usize)>, findings: &mut Findings) {
        if row.bad {
            return;
        }
        let costs = self.world.interventions().costs();
        let mut cost = 0.0;
        for (l, id) in self.world.levers().iter().enumerate() {
            if self.set[l] == 1 && !costs.is_empty() {
                cost += costs[l].get(row.values[id.ix()] as usize).copied().unwrap_or(0.0);
            }
        }
        let mut place = None;
        if let (Some((x, index)), [only]) = (total, &mut row.rewards[..])
            && only.is_nan()
        {
            *only = x + cost;
            place = Some(index);
        }
        let mut sum = 0.0;
        let mut size = cost.abs();
        for (i, (term, &paid)) in self.world.rewards().iter().zip(&row.rewards).enumerate() {
            let [lo, hi] = term.range;
            let slack = OBSERVED_REWARD * (hi - lo).max(lo.abs()).max(hi.abs());
            if paid < lo - slack || paid > hi + slack {
                row.bad = true;
                findings.add(FindingKind::RewardRange, self.term_column[i].or(place), row.line, || {
                    format!(
                        "the reward term \"{}\" paid {}, but it pays between {} and {}; give the world the range that it has",
                        term.name,
                        shown(paid),
                        shown(lo),
                        shown(hi)
                    )
                });
            }
            sum += paid;
            size += paid.abs();
        }
        let received = sum - cost;
        match total {
            Some((x, _)) if received.is_nan() => row.reward = Some(x),
            Some((x, index)) if place.is_none() && (x - received).abs() > 1e-6 * size.max(1e-3) => {
                row.bad = true;
                findings.add(FindingKind::RewardContradicts, Some(index), row.line, || {
                    let (x, received) = (shown(x), shown(received));
                    format!("the reward of the step is {x}, but its terms less the cost add up to {received}")
                });
            }
            Some((x, _)) if place.is_some() => row.reward = Some(x),
            Some(_) | None => row.reward = Some(received).filter(|r| !r.is_nan()),
        }
    }

    /// Notes empty cells that could be learned from.
    pub(super) fn note_missing(&self, row: &Row, findings: &mut Findings, table: &impl Table) {
        for column in &self.columns {
            let missing = match column.role {
                Role::Value(ix) => row.values[ix] == MISSING && self.world.variables()[ix].kind != Kind::State,
                Role::Term(i) => row.rewards[i].is_nan(),
                Role::Own(Own::Reward) => row.reward.is_none(),
                Role::Own(Own::Propensity) => row.propensity.is_none(),
                Role::Set(_) | Role::Next(_) | Role::Own(_) => false,
            };
            if missing {
                let name = &table.columns()[column.index];
                findings.add(FindingKind::MissingCell, Some(column.index), row.line, || format!("\"{name}\" is empty"));
            }
        }
    }
}
