//! What is odd or wrong in a log: grouped, counted, with the first places; nothing is dropped in silence.

use std::collections::HashMap;
use std::fmt;

use serde::Serialize;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// A row with more or fewer cells than there are columns, or with a name that goes on over lines.
    WrongFields,
    /// A cell that is not written in UTF-8.
    Encoding,
    /// A text that is no value.
    UnknownLabel,
    /// An empty cell without which the row says nothing: episode, stage, a state factor, whether or to what a lever was set.
    MissingNeeded,
    /// A cell that has to be a number.
    NotANumber,
    /// A stage before the first or beyond the last.
    Stage,
    /// A lever that was set, without what it was set to.
    LeverWithoutValue,
    /// An intervention that the world does not allow in that state.
    NotAllowed,
    /// A payment outside the range of its reward term.
    RewardRange,
    /// A propensity that is no probability, or zero.
    Propensity,
    /// A weight that is no whole number from 1 on.
    Weight,
    /// A row of an episode and stage that another row says otherwise.
    Contradicting,
    /// A row of a stage after the episode's end.
    AfterEnd,
    /// A next state that is not the state of the next row.
    NextContradicts,
    /// A column `reward` that is not the sum of the terms less the cost.
    RewardContradicts,
    /// A row that is there twice, alike.
    Duplicate,
    /// A stage that is missing between others.
    Gap,
    /// An episode that does not start at stage 1.
    StartsLate,
    /// An episode that stops before the horizon, without an end, in a state in which episodes have not ended.
    Stops,
    /// An end that is not one by the world: `terminated` where its episodes go on, or `truncated` where they have ended.
    OtherEnd,
    /// A step whose next state is not known.
    NextMissing,
    /// A cell that is empty where one would learn from it.
    MissingCell,
    /// A column `reward` where there are several reward terms.
    OneReward,
    /// A column of a key variable or a reward term that is not there.
    AbsentColumn,
    /// A column of a hidden variable.
    HiddenColumn,
    /// A column that is not known.
    IgnoredColumn,
    /// Further columns that are not known.
    IgnoredColumns,
    /// A column that the map renames, and that is not there.
    MapUnused,
    /// No rows at all.
    NoRows,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something in the log is wrong; its rows are left out.
    Error,
    /// Something is missing or ignored; nothing is wrong.
    Note,
}

/// What becomes of the rows of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// They are left out.
    RowsLeftOut,
    /// They are used, without what is missing.
    PartsMissing,
    /// They are used as they are.
    Nothing,
}

impl FindingKind {
    /// What becomes of the rows.
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

    /// How bad it is: whatever leaves rows out is an error, but for rows that are there twice, of which nothing is lost.
    pub fn severity(self) -> Severity {
        match (self, self.effect()) {
            (FindingKind::Duplicate, _) => Severity::Note,
            (_, Effect::RowsLeftOut) => Severity::Error,
            (_, Effect::PartsMissing | Effect::Nothing) => Severity::Note,
        }
    }

    /// What is counted.
    fn unit(self) -> &'static str {
        match self {
            FindingKind::Gap | FindingKind::StartsLate | FindingKind::Stops | FindingKind::OtherEnd => "episode",
            _ => "row",
        }
    }

    /// Whether it is about a column as a whole, not about rows.
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

/// A place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LogPlace {
    /// Line, from 1.
    pub line: u64,
    /// Column of the table, from 1, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
}

/// One group of findings: everything of one kind about one column and label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogFinding {
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub kind: FindingKind,
    /// The column's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The text in question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The name that is probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// How often.
    pub count: u64,
    /// The first places.
    pub first: Vec<LogPlace>,
    /// What becomes of the rows.
    pub effect: Effect,
    /// What is wrong, and what to do.
    pub message: String,
}

/// Places that are kept of each group.
const PLACES: usize = 3;
/// Labels of one kind and column that have a group of their own; the rest shares one.
const MOST_LABELS: usize = 40;
/// Groups that are printed.
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

    /// Something about a column as a whole.
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

    /// Something in a row; all of one kind and column together.
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

    /// Something in a row; a group for each text in question.
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

    /// Errors first, each in the order in which they were found.
    pub(super) fn sort(&mut self) {
        self.by_column.clear();
        self.by_label.clear();
        self.list.sort_by_key(|f| f.severity);
    }

    /// All of them.
    pub fn list(&self) -> &[LogFinding] {
        &self.list
    }

    /// Those of one kind.
    pub fn of(&self, kind: FindingKind) -> impl Iterator<Item = &LogFinding> {
        self.list.iter().filter(move |f| f.kind == kind)
    }

    /// Whether something in the log is wrong.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|f| f.severity == Severity::Error)
    }
}

/// Line feeds and other signs that a terminal would obey, spelt out: a finding is one line, whatever a cell holds.
fn on_one_line(text: &str) -> String {
    let spelt = |c: char| if c.is_control() { c.escape_default().collect() } else { String::from(c) };
    text.chars().map(spelt).collect()
}

impl fmt::Display for LogFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Error => "error",
            Severity::Note => "note",
        };
        write!(f, "{word}: ")?;
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
    /// One line for each group, a screenful at most.
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
