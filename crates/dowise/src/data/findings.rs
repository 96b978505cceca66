//! Data quality findings of a log: grouped, counted, with first locations; no row is dropped silently.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

use crate::diagnostics::Severity;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// A row with too many or too few cells, or with a name that spans lines.
    WrongFields,
    /// A cell that is not written in UTF-8.
    Encoding,
    /// A text that is not a value of the variable.
    UnknownLabel,
    /// A required cell is empty: episode, stage, a state factor, whether a lever was set, or its value.
    MissingNeeded,
    /// A cell that should be a number.
    NotANumber,
    /// A stage before the first or beyond the last.
    Stage,
    /// A lever was set without a value.
    LeverWithoutValue,
    /// An intervention that the world does not allow in that state.
    NotAllowed,
    /// A payment outside the range of its reward term.
    RewardRange,
    /// A propensity that is not a positive probability.
    Propensity,
    /// A weight that is not a positive integer.
    Weight,
    /// A row that contradicts another row of the same episode and stage.
    Contradicting,
    /// A row after the episode's end.
    AfterEnd,
    /// A next state that differs from the state of the next row.
    NextContradicts,
    /// A column `reward` that differs from the sum of the terms less the cost.
    RewardContradicts,
    /// A duplicate row.
    Duplicate,
    /// A missing stage between others.
    Gap,
    /// An episode that does not start at stage 1.
    StartsLate,
    /// An episode that stops before the horizon, without an end, in a non-terminal state.
    Stops,
    /// An end that contradicts the world: `terminated` in a non-terminal state, or `truncated` in a terminal one.
    OtherEnd,
    /// A step with unknown next state.
    NextMissing,
    /// An empty cell that could be learned from.
    MissingCell,
    /// A column `reward` where there are several reward terms.
    OneReward,
    /// A missing column of a key variable or reward term.
    AbsentColumn,
    /// A column of a hidden variable.
    HiddenColumn,
    /// An unknown column.
    IgnoredColumn,
    /// Further unknown columns.
    IgnoredColumns,
    /// A column that the map renames, and that does not exist.
    MapUnused,
    /// No rows at all.
    NoRows,
}

/// The treatment of affected rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// They are left out.
    RowsLeftOut,
    /// They are used without the missing parts.
    PartsMissing,
    /// They are used unchanged.
    Nothing,
}

impl FindingKind {
    /// The treatment of affected rows.
    pub fn effect(self) -> Effect {
        match self {
            FindingKind::WrongFields
            | FindingKind::Encoding
            | FindingKind::UnknownLabel
            | FindingKind::MissingNeeded
            | FindingKind::NotANumber
            | FindingKind::Stage
            | FindingKind::LeverWithoutValue
            | FindingKind::NotAllowed
            | FindingKind::RewardRange
            | FindingKind::Propensity
            | FindingKind::Weight
            | FindingKind::Contradicting
            | FindingKind::AfterEnd
            | FindingKind::NextContradicts
            | FindingKind::RewardContradicts
            | FindingKind::Duplicate => Effect::RowsLeftOut,
            FindingKind::NextMissing
            | FindingKind::MissingCell
            | FindingKind::OneReward
            | FindingKind::AbsentColumn => Effect::PartsMissing,
            FindingKind::Gap
            | FindingKind::StartsLate
            | FindingKind::Stops
            | FindingKind::OtherEnd
            | FindingKind::HiddenColumn
            | FindingKind::IgnoredColumn
            | FindingKind::IgnoredColumns
            | FindingKind::MapUnused
            | FindingKind::NoRows => Effect::Nothing,
        }
    }

    /// Findings that leave rows out are errors, except duplicates, which lose nothing.
    pub fn severity(self) -> Severity {
        match (self, self.effect()) {
            (FindingKind::Duplicate, _) => Severity::Note,
            (_, Effect::RowsLeftOut) => Severity::Error,
            (_, Effect::PartsMissing | Effect::Nothing) => Severity::Note,
        }
    }

    /// The counted unit.
    fn unit(self) -> &'static str {
        match self {
            FindingKind::Gap | FindingKind::StartsLate | FindingKind::Stops | FindingKind::OtherEnd => "episode",
            _ => "row",
        }
    }

    /// Whether it concerns whole columns instead of rows.
    fn is_about_columns(self) -> bool {
        matches!(
            self,
            FindingKind::OneReward
                | FindingKind::AbsentColumn
                | FindingKind::HiddenColumn
                | FindingKind::IgnoredColumn
                | FindingKind::IgnoredColumns
                | FindingKind::MapUnused
                | FindingKind::NoRows
        )
    }
}

/// A location in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LogPlace {
    /// Line, from 1.
    pub line: u64,
    /// Column of the table, from 1, if applicable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

/// A group of findings: one kind, column and label.
///
/// Apart from [`Problem`](crate::diagnostics::Problem), since a log has millions of rows: a group counts them, keeps the
/// first places, and says what becomes of the rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogFinding {
    /// Its severity.
    pub severity: Severity,
    /// Its kind.
    pub kind: FindingKind,
    /// The column's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The text in question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The most similar name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// The number of occurrences.
    pub count: u64,
    /// The first locations.
    pub first: Vec<LogPlace>,
    /// The treatment of affected rows.
    pub effect: Effect,
    /// The problem and the remedy.
    pub message: String,
}

/// Locations kept per group.
const PLACES: usize = 3;
/// Labels of one kind and column with their own group; the rest shares one.
const MOST_LABELS: usize = 40;
/// Groups printed.
const SCREENFUL: usize = 20;

/// All findings of a log.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Findings {
    list: Vec<LogFinding>,
    #[serde(skip)]
    names: Vec<String>,
    #[serde(skip)]
    by_column: HashMap<(FindingKind, Option<usize>), usize>,
    #[serde(skip)]
    by_label: HashMap<(FindingKind, Option<usize>), Vec<usize>>,
}

impl Findings {
    pub(super) fn new(names: &[String]) -> Findings {
        Findings { names: names.to_vec(), ..Findings::default() }
    }

    /// Adds a finding about a whole column.
    pub(super) fn about_column(&mut self, kind: FindingKind, index: Option<usize>, name: &str, near: Option<String>) {
        let message = match (kind, &near) {
            (FindingKind::HiddenColumn, _) => format!("\"{name}\" is hidden in this world, so its column is ignored"),
            (FindingKind::AbsentColumn, _) => format!("there is no column \"{name}\": it is missing in every row"),
            (FindingKind::OneReward, _) => {
                format!("\"{name}\" is one number for several reward terms: what each paid is not known")
            }
            (FindingKind::IgnoredColumns, _) => format!("{name} are not known and ignored"),
            (FindingKind::MapUnused, Some(to)) => {
                format!("the map calls the column \"{name}\" \"{to}\", but there is no such column")
            }
            (_, Some(near)) => format!("the column \"{name}\" is not known and ignored; did you mean \"{near}\"?"),
            (_, None) => format!("the column \"{name}\" is not known and ignored"),
        };
        let message = on_one_line(&message);
        let first = index.map(|i| LogPlace { line: 1, column: Some(i + 1) });
        self.list.push(LogFinding {
            severity: kind.severity(),
            kind,
            column: (kind != FindingKind::IgnoredColumns).then(|| name.to_owned()),
            label: None,
            nearest: near,
            count: 1,
            first: first.into_iter().collect(),
            effect: kind.effect(),
            message,
        });
    }

    /// Adds a finding about a row, grouped by kind and column.
    pub(super) fn add(&mut self, kind: FindingKind, column: Option<usize>, line: u64, say: impl FnOnce() -> String) {
        let i = match self.by_column.get(&(kind, column)) {
            Some(&i) => i,
            None => {
                let i = self.open(kind, column, None, None, say());
                self.by_column.insert((kind, column), i);
                i
            }
        };
        self.count(i, column, line);
    }

    /// Adds a finding about a row, grouped by label too.
    pub(super) fn add_label(
        &mut self,
        kind: FindingKind,
        column: Option<usize>,
        line: u64,
        label: &str,
        say: impl FnOnce() -> (String, Option<String>),
    ) {
        let groups = self.by_label.entry((kind, column)).or_default();
        let shown: String = label.chars().take(60).collect();
        let found = groups.iter().find(|&&i| self.list[i].label.as_deref() == Some(&shown)).copied();
        let i = match found {
            Some(i) => i,
            None if groups.len() > MOST_LABELS => groups[MOST_LABELS],
            None => {
                let last = groups.len() == MOST_LABELS;
                let (message, near) = if last { ("other texts are no better".to_owned(), None) } else { say() };
                let i = self.open(kind, column, (!last).then_some(shown), near, message);
                self.by_label.get_mut(&(kind, column)).expect("invariant: it was made above").push(i);
                i
            }
        };
        self.count(i, column, line);
    }

    fn open(
        &mut self,
        kind: FindingKind,
        column: Option<usize>,
        label: Option<String>,
        nearest: Option<String>,
        message: String,
    ) -> usize {
        let message = on_one_line(&message);
        let column = column.and_then(|i| self.names.get(i).cloned());
        let (severity, effect) = (kind.severity(), kind.effect());
        let (count, first) = (0, Vec::new());
        self.list.push(LogFinding { severity, kind, column, label, nearest, count, first, effect, message });
        self.list.len() - 1
    }

    fn count(&mut self, i: usize, column: Option<usize>, line: u64) {
        let finding = &mut self.list[i];
        finding.count += 1;
        if finding.first.len() < PLACES {
            finding.first.push(LogPlace { line, column: column.map(|c| c + 1) });
        }
    }

    /// Errors first, otherwise in order of discovery.
    pub(super) fn sort(&mut self) {
        self.by_column.clear();
        self.by_label.clear();
        self.list.sort_by_key(|f| f.severity);
    }

    /// All findings.
    pub fn list(&self) -> &[LogFinding] {
        &self.list
    }

    /// Findings of one kind.
    pub fn of(&self, kind: FindingKind) -> impl Iterator<Item = &LogFinding> {
        self.list.iter().filter(move |f| f.kind == kind)
    }

    /// Whether there are errors.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|f| f.severity == Severity::Error)
    }
}

/// Escapes control characters, so that a finding is one line.
fn on_one_line(text: &str) -> String {
    let spelt = |c: char| if c.is_control() { c.escape_default().collect() } else { String::from(c) };
    text.chars().map(spelt).collect()
}

impl fmt::Display for LogFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.severity.word())?;
        if let Some(place) = self.first.first() {
            let lines: Vec<String> = self.first.iter().map(|place| place.line.to_string()).collect();
            let more = if self.count > lines.len() as u64 { ", …" } else { "" };
            let column = place.column.map_or(String::new(), |c| format!(" column {c}"));
            write!(f, "line {}{more}{column}: ", lines.join(", "))?;
        }
        write!(f, "{}", self.message)?;
        if self.kind.is_about_columns() {
            return Ok(());
        }
        let plural = if self.count == 1 { "" } else { "s" };
        let unit = self.kind.unit();
        match self.effect {
            Effect::RowsLeftOut => write!(f, " ({} {unit}{plural} left out)", self.count),
            Effect::PartsMissing | Effect::Nothing => write!(f, " ({} {unit}{plural})", self.count),
        }
    }
}

impl fmt::Display for Findings {
    /// One line for each group, limited to a screenful.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in self.list.iter().take(SCREENFUL) {
            writeln!(f, "{finding}")?;
        }
        let more = self.list.len().saturating_sub(SCREENFUL);
        if more > 0 {
            let errors = self.list.iter().skip(SCREENFUL).filter(|f| f.severity == Severity::Error).count();
            writeln!(f, "and {more} more findings, {errors} of them errors")?;
        }
        Ok(())
    }
}
