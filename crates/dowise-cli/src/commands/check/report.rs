//! What `dowise check` prints for people.

use dowise::World;
use dowise::world::{Analysis, Kind, LeverRule};

use super::effort::Effort;
use super::features::FeatureReport;
use super::learning::Learning;
use crate::output::Output;
use crate::table::{self, Align, Amounts};

/// The whole report.
pub(super) fn report(
    world: &World,
    analysis: &Analysis,
    features: Option<&FeatureReport>,
    effort: &Effort,
    learning: &Learning,
    output: &Output,
) -> String {
    let steps = table::steps(analysis.horizon);
    let first = format!("{}: a {}, {steps} an episode.", world.name(), analysis.kind);
    let mut text = table::wrapped(&first) + "\n";
    if !world.about().is_empty() {
        text += &format!("{}\n", table::wrapped(world.about()));
    }
    if let Some(ends) = world.ends() {
        let n = ends.states.iter().filter(|ended| **ended).count();
        let (n, of) = (table::count(n as u64), table::count(analysis.states));
        let said = format!("An episode ends early in {n} of {of} states; nothing is paid after.");
        text += &format!("{}\n", table::wrapped(&said));
    }
    if world.discount() < 1.0 {
        text += &format!("A reward one step later counts {} of one now.\n", world.discount());
    }
    text += &format!("\n{}\n{}", output.heading("Sizes"), sizes(world, analysis));
    text += &format!(
        "\n{}\n{}",
        output.heading("Distributions that each learner has to learn if P(z | s, a) and rewards are known"),
        cells(analysis)
    );
    text += &format!("\n{}\n{}", output.heading("If only the graph is known (unknown=all)"), learning.text());
    let title = format!("Regret bounds for {} episodes", table::count(analysis.episodes));
    text += &format!("\n{}\n{}", output.heading(&title), bounds(analysis));
    let verdict =
        if analysis.factored_view.right { "Well specified." } else { "Misspecified, however much data there is." };
    text += &format!(
        "\n{}\n{}\n",
        output.heading("Factored learning without key variables (F-UCBVI)"),
        table::wrapped(&format!("{verdict} {}", analysis.factored_view.why))
    );
    if let Some(features) = features {
        text += &format!("\n{}\n{}", output.heading("Features for linear learners"), features.text());
    }
    text += &format!("\n{}\n{}", output.heading("Time and memory"), effort.text(analysis.interventions));
    text += &format!("\n{}\n{}", output.heading("Not known yet"), unknown(world, analysis));
    text
}

fn sizes(world: &World, analysis: &Analysis) -> String {
    let mut rows = vec![];
    let product = |kind| match kind {
        Kind::State => format!("S = {}", table::count(analysis.states)),
        Kind::Lever => format!("A = {}", table::count(analysis.interventions)),
        Kind::Key => format!("Z = {}", table::count(analysis.causes)),
        Kind::Hidden => String::new(),
    };
    for (kind, word) in [
        (Kind::State, "state factors"),
        (Kind::Lever, "levers"),
        (Kind::Key, "key variables"),
        (Kind::Hidden, "hidden variables"),
    ] {
        let of_kind = analysis.variables.iter().filter(|v| v.kind == kind);
        let names: Vec<String> = of_kind.map(|v| format!("{}({})", v.name, v.size)).collect();
        if !names.is_empty() {
            rows.push(vec![word.to_owned(), names.len().to_string(), names.join(", "), product(kind)]);
        }
    }
    let names: Vec<&str> = world.rewards().iter().map(|r| r.name.as_str()).collect();
    let [lo, hi] = analysis.reward_range;
    rows.push(vec!["reward terms".into(), names.len().to_string(), names.join(", "), between(lo, hi) + " a step"]);
    let header = ["", "", "name(number of values)", "together"];
    let mut text = table::table(&header, &rows, &[Align::Left, Align::Right, Align::Left, Align::Left]);
    text += &format!("{}\n", table::wrapped(&interventions(world, analysis)));
    text
}

/// The least and the greatest of some amounts.
fn between(lo: f64, hi: f64) -> String {
    let amounts = Amounts::of([lo, hi]);
    format!("{} to {}", amounts.short(lo), amounts.short(hi))
}

fn interventions(world: &World, analysis: &Analysis) -> String {
    let mut text = match world.interventions().lever_rule() {
        LeverRule::All => "An intervention sets every lever".to_owned(),
        LeverRule::AtMost(k) if *k >= world.levers().len() => "An intervention sets any of the levers, or none".into(),
        LeverRule::AtMost(k) => format!("An intervention sets at most {k} levers, or none"),
        LeverRule::List(list) => format!("{} interventions are listed", table::count(list.len() as u64)),
    };
    if analysis.restricted {
        text += "; some combinations are forbidden (still counted in A)";
    }
    let [lo, hi] = analysis.cost_range;
    if hi != 0.0 || lo != 0.0 {
        text += &format!("; it costs {}", between(lo, hi));
    }
    text + "."
}

fn cells(analysis: &Analysis) -> String {
    let ucbvi = analysis.cells.first().map_or(1.0, |c| c.cells as f64);
    let rows: Vec<Vec<String>> = analysis
        .cells
        .iter()
        .map(|c| {
            let ratio = table::ratio(c.cells as f64 / ucbvi);
            vec![c.learner.into(), c.formula.into(), table::count(c.cells), ratio]
        })
        .collect();
    let header = ["learner", "distributions", "number", "of UCBVI's"];
    table::table(&header, &rows, &[Align::Left, Align::Left, Align::Right, Align::Right])
}

fn bounds(analysis: &Analysis) -> String {
    let rows: Vec<Vec<String>> = analysis
        .bounds
        .iter()
        .map(|b| {
            // More digits than that mean nothing without the constants.
            let value = match b.value {
                large if large >= 1e7 => format!("{large:.1e}").replace('e', "·10^"),
                value => table::count(value.round() as u64),
            };
            vec![b.learner.into(), b.formula.into(), b.source.into(), value, table::ratio(b.relative)]
        })
        .collect();
    let header = ["learner", "order of the bound", "source", "value", "of UCBVI's"];
    let mut text = table::table(&header, &rows, &[Align::Left, Align::Left, Align::Left, Align::Right, Align::Right]);
    let [lo, hi] = analysis.reward_range;
    let most = (hi - lo) * analysis.horizon as f64 * analysis.episodes as f64;
    let note = format!(
        "Without constants and logarithms, for rewards in [0, 1]: good for comparing, not for predicting. No \
         learner can lose more than {} here, costs aside.",
        table::count(most.round() as u64)
    );
    text += &format!("{}\n", table::wrapped(&note));
    text
}

fn unknown(world: &World, analysis: &Analysis) -> String {
    if analysis.unknown.is_empty() {
        let nothing = match world.is_enumerable() {
            true => "Nothing: the world can be simulated and planned in.\n",
            false => "Nothing: the world can be simulated.\n",
        };
        return nothing.into();
    }
    let rows: Vec<Vec<String>> = analysis.unknown.iter().map(|u| vec![u.what.clone(), table::count(u.cells)]).collect();
    let mut text = table::table(&["to be learned", "combinations"], &rows, &[Align::Left, Align::Right]);
    text += "The world can be learned in; it cannot be simulated or planned in before that.\n";
    text
}
