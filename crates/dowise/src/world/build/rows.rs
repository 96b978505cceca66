//! Patterns over parents, and the configurations that each row of a table covers.

use std::cmp::Ordering;

use super::check::Check;
use crate::Space;
use crate::messages::{nearest, some_of};
use crate::world::{At, Condition, CountSpec, Kind, Located, Name, Pattern, Problem, VarId};

/// The values of each axis that a pattern admits.
pub(crate) type Masks = Vec<Vec<bool>>;

/// The configurations that a condition admits: those within the masks that satisfy every count.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) masks: Masks,
    counts: Vec<Count>,
}

/// Bounds on the number of axes with matching values.
#[derive(Clone, Debug)]
struct Count {
    of: Vec<(usize, Vec<bool>)>,
    least: u64,
    most: u64,
}

impl Rule {
    /// Calls `visit` with the index of each admitted configuration, in increasing order.
    pub(crate) fn each(&self, space: &Space, mut visit: impl FnMut(usize)) {
        each_point(space, &self.masks, |index| {
            let holds = |count: &Count| {
                let matching = count.of.iter().filter(|(axis, mask)| mask[space.digit(index, *axis)]).count() as u64;
                (count.least..=count.most).contains(&matching)
            };
            if self.counts.iter().all(holds) {
                visit(index);
            }
        });
    }
}

impl Check {
    /// The configurations of `ids` that a condition admits; `None` if it is invalid.
    pub(crate) fn rule(&mut self, when: &Condition, ids: &[VarId], role: &str) -> Option<Rule> {
        let masks = self.masks(&when.when, ids, role);
        let counts: Vec<Option<Count>> = when.counts.iter().map(|count| self.count(count, ids, role)).collect();
        Some(Rule { masks: masks?, counts: counts.into_iter().collect::<Option<_>>()? })
    }

    fn count(&mut self, spec: &CountSpec, ids: &[VarId], role: &str) -> Option<Count> {
        let before = self.errors();
        let mut of: Vec<(usize, Vec<bool>)> = Vec::new();
        for (name, values) in &spec.of {
            let Some(name) = self.read_at(name) else { continue };
            let Some(axis) = self.axis(&name, ids, role) else { continue };
            if of.iter().any(|(a, _)| *a == axis) {
                let message = format!("\"{}\" is counted twice", name.value);
                self.push(Problem::error("duplicate-name", message).help("name it once").at(name.at));
            }
            of.extend(self.mask(ids[axis], &name, values).map(|mask| (axis, mask)));
        }
        if spec.of.iter().any(|(name, _)| name.value.get().is_none()) {
            return None; // their number is unknown
        }
        let all = spec.of.len() as u64;
        if all == 0 {
            let problem = Problem::error("count", "`of` is empty: there is nothing to count");
            self.push(problem.help("list the variables, or take the count out").at(spec.at));
            return None;
        }
        let least = spec.at_least.as_ref().map_or(0, |n| n.value);
        let most = spec.at_most.as_ref().map_or(all, |n| n.value);
        if least > all || least > most || (least == 0 && most >= all) {
            let at = spec.at_least.as_ref().or(spec.at_most.as_ref()).and_then(|n| n.at).or(spec.at);
            let (message, help) = if least > all {
                (
                    format!("at least {least} of {all} variables can never match"),
                    "ask for fewer, or count more variables",
                )
            } else if least > most {
                (format!("at least {least} and at most {most} can never match"), "write the smaller one as `at_least`")
            } else {
                (
                    format!("from {least} to {most} of {all} variables always match"),
                    "take the count out, or ask for more",
                )
            };
            self.push(Problem::error("count", message).help(help).at(at));
        }
        (self.errors() == before).then_some(Count { of, least, most })
    }

    /// The values that a pattern admits for each of `ids`; `None` if it is invalid.
    ///
    /// `role` describes `ids`: `parents of "opened"`.
    pub(crate) fn masks(&mut self, when: &Pattern, ids: &[VarId], role: &str) -> Option<Masks> {
        let mut masks: Masks = ids.iter().map(|&id| vec![true; self.size(id)]).collect();
        let before = self.errors();
        let mut seen = Vec::new();
        for (name, values) in when {
            let Some(name) = self.read_at(name) else { continue };
            let Some(axis) = self.axis(&name, ids, role) else { continue };
            if seen.contains(&axis) {
                let message = format!("\"{}\" stands twice in `when`", name.value);
                self.push(Problem::error("duplicate-name", message).help("put its values into one list").at(name.at));
            }
            seen.push(axis);
            if let Some(mask) = self.mask(ids[axis], &name, values) {
                masks[axis] = mask;
            }
        }
        (self.errors() == before).then_some(masks)
    }

    /// The position of a name among `ids`; reports an unknown name.
    pub(crate) fn axis(&mut self, name: &Located<String>, ids: &[VarId], role: &str) -> Option<usize> {
        if let Some(axis) = ids.iter().position(|&id| self.is_called(id, &name.value)) {
            return Some(axis);
        }
        let real = ids.iter().filter(|id| !self.stand_ins.contains_key(id));
        let names: Vec<String> = real.map(|&id| self.name(id).to_owned()).collect();
        let help = if self.index.contains_key(&name.value) && role.starts_with("state factors") {
            "only state factors may stand here".to_owned()
        } else if self.index.contains_key(&name.value) {
            format!("add it to the {}", role.split(" of ").next().unwrap_or(role))
        } else if let Some(near) = nearest(&name.value, names.iter().map(String::as_str)) {
            format!("did you mean \"{near}\"?")
        } else if names.is_empty() {
            format!("there are no {role}")
        } else {
            format!("the {role}: {}", some_of(&names))
        };
        let among = if role.starts_with("scope") { "in" } else { "among" };
        let message = format!("\"{}\" is not {among} the {role}", name.value);
        self.push(Problem::error("not-a-parent", message).help(help).at(name.at));
        None
    }

    /// The values of a variable that a list of names means; `*` means all, and comparisons follow the order of the
    /// values.
    pub(crate) fn mask(&mut self, id: VarId, name: &Located<String>, values: &[Name]) -> Option<Vec<bool>> {
        let before = self.errors();
        let mut mask = vec![false; self.size(id)];
        if values.is_empty() {
            let message = format!("no values are listed for \"{}\"", name.value);
            self.push(Problem::error("empty-list", message).help("list some, or leave it out for all").at(name.at));
        }
        for value in values {
            let Some(value) = self.read_at(value) else { continue };
            let own = self.variables[id.ix()].values.contains(&value.value);
            if value.value == "*" {
                mask.fill(true);
            } else if let Some((word, side)) = comparison(&value.value).filter(|_| !own) {
                let than = Located::new(word.trim().to_owned(), value.at);
                let Some(v) = self.value(id, &than) else { continue };
                let admitted: Vec<bool> = (0..mask.len()).map(|w| side(w.cmp(&v))).collect();
                if !admitted.contains(&true) {
                    let message = format!("no value of \"{}\" is {}", name.value, value.value);
                    let help = "values are compared in the order in which they are listed";
                    self.push(Problem::error("empty-list", message).help(help).at(value.at));
                }
                mask.iter_mut().zip(admitted).for_each(|(m, a)| *m |= a);
            } else if let Some(v) = self.value(id, &value) {
                mask[v] = true;
            }
        }
        (self.errors() == before).then_some(mask)
    }

    /// For messages: the configurations within masks, `loyalty = "new" or "fan"`; empty if all.
    pub(crate) fn given(&self, ids: &[VarId], masks: &Masks) -> String {
        let mut parts = Vec::new();
        for (&id, mask) in ids.iter().zip(masks) {
            if mask.iter().all(|&m| m) {
                continue;
            }
            let values = &self.variables[id.ix()].values;
            let admitted = values.iter().zip(mask).filter(|(_, m)| **m).map(|(v, _)| format!("\"{v}\""));
            let mut names: Vec<String> = admitted.take(9).collect();
            if names.len() > 8 {
                names[8] = "…".to_owned();
            }
            parts.push(format!("{} = {}", self.name(id), names.join(" or ")));
        }
        parts.join(", ")
    }

    /// For each configuration, the first row that covers it. Rows that cover nothing new get a warning; an uncovered
    /// configuration is an error.
    pub(crate) fn owners(
        &mut self,
        what: &str,
        ids: &[VarId],
        space: &Space,
        rows: &[(Rule, Option<At>)],
        at: Option<At>,
    ) -> Option<Vec<u32>> {
        const NOBODY: u32 = u32::MAX;
        let mut owners = vec![NOBODY; space.len()];
        for (r, (rule, row_at)) in rows.iter().enumerate() {
            let mut fresh = false;
            rule.each(space, |index| {
                if owners[index] == NOBODY {
                    owners[index] = r as u32;
                    fresh = true;
                }
            });
            if !fresh {
                let message =
                    format!("this row of {what} never counts: earlier rows cover every combination it matches");
                self.push(Problem::warning("dead-row", message).help("move it up or take it out").at(*row_at));
            }
        }
        let help = "add the missing rows, or a last row without `when`";
        self.nothing_missing(what, ids, space, &owners, NOBODY, help, at).then_some(owners)
    }

    /// Whether every configuration is covered; reports the first that is not.
    pub(crate) fn nothing_missing(
        &mut self,
        what: &str,
        ids: &[VarId],
        space: &Space,
        owners: &[u32],
        no_row: u32,
        help: &str,
        at: Option<At>,
    ) -> bool {
        let Some(first) = owners.iter().position(|&o| o == no_row) else { return true };
        let missing = owners.iter().filter(|&&o| o == no_row).count();
        let message = if ids.is_empty() {
            format!("{what} has no row")
        } else {
            let more = if missing > 1 { format!(" and {} more", missing - 1) } else { String::new() };
            format!("{what} has no row for {}{more}", self.combination(ids, &space.digits(first)))
        };
        self.push(Problem::error("missing-row", message).help(help).at(at));
        false
    }

    /// The space of these variables, if its size times `columns` is small enough to allocate.
    pub(crate) fn table_space(
        &mut self,
        what: &str,
        ids: &[VarId],
        columns: usize,
        help: &str,
        at: Option<At>,
    ) -> Option<Space> {
        let sizes: Vec<usize> = ids.iter().map(|&id| self.size(id)).collect();
        if columns == 0 || sizes.contains(&0) {
            return None; // an empty domain, already reported
        }
        let entries = super::product(sizes.iter().copied().chain([columns]));
        if entries.is_none_or(|n| n > super::MOST_ENTRIES as u128) {
            let message = format!(
                "{what} would have {} entries, more than the {} that fit",
                super::count_text(entries),
                super::count_text(Some(super::MOST_ENTRIES as u128))
            );
            self.push(Problem::error("too-large", message).help(help).at(at));
            return None;
        }
        Space::new(&sizes)
    }

    /// Kinds of parents of a mechanism within a step.
    pub(crate) const WITHIN_STEP: [Kind; 4] = [Kind::State, Kind::Lever, Kind::Key, Kind::Hidden];
    /// Kinds of parents of a transition; hidden variables are marginalised out.
    pub(crate) const TRANSITION: [Kind; 4] = [Kind::State, Kind::Key, Kind::Lever, Kind::Hidden];
    /// Kinds of variables in the scope of a reward.
    pub(crate) const SCOPE: [Kind; 3] = [Kind::State, Kind::Key, Kind::Lever];
}

/// A comparison predicate.
type Side = fn(Ordering) -> bool;

/// Parses a comparison along the order of values: the reference value and the predicate.
fn comparison(text: &str) -> Option<(&str, Side)> {
    // Two-character signs first, so that `>=` is not read as `>`.
    const SIGNS: [(&str, Side); 8] = [
        (">=", Ordering::is_ge),
        ("≥", Ordering::is_ge),
        ("<=", Ordering::is_le),
        ("≤", Ordering::is_le),
        ("!=", Ordering::is_ne),
        ("≠", Ordering::is_ne),
        (">", Ordering::is_gt),
        ("<", Ordering::is_lt),
    ];
    SIGNS.iter().find_map(|(sign, side)| Some((text.trim_start().strip_prefix(sign)?, *side)))
}

/// Calls `visit` with the index of each point within the masks, in increasing order.
pub(crate) fn each_point(space: &Space, masks: &Masks, mut visit: impl FnMut(usize)) {
    let chosen: Vec<Vec<usize>> = masks.iter().map(|m| (0..m.len()).filter(|&v| m[v]).collect()).collect();
    if chosen.iter().any(Vec::is_empty) {
        return;
    }
    let strides = space.strides();
    let mut at = vec![0usize; chosen.len()];
    let mut index: usize = chosen.iter().zip(strides).map(|(c, s)| c[0] * s).sum();
    loop {
        visit(index);
        let mut axis = chosen.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            index -= chosen[axis][at[axis]] * strides[axis];
            at[axis] += 1;
            if at[axis] < chosen[axis].len() {
                index += chosen[axis][at[axis]] * strides[axis];
                break;
            }
            at[axis] = 0;
            index += chosen[axis][0] * strides[axis];
        }
    }
}
