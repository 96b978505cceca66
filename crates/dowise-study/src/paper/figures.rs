//! The figures of a reproduction.

use dowise::learn::LearnerSpec;
use dowise::messages::grouped;

use super::parts::Part;
use super::published::published;
use super::results::Results;
use super::rules::{ExplorationRule, FIGURES, FITTED, LITERAL, SAMPLING, SETS};
use crate::figures::{display_name, point};
use crate::{Axis, Dash, Figure, Point, Scale, Series, Shape, Study, Style, Tables};

/// All figures of what is done, each with the name of its file.
pub fn figures(results: &Results) -> Vec<(String, Figure)> {
    let mut out: Vec<(String, Figure)> = vec![];
    let mut add = |name: &str, figure: Option<Figure>| out.extend(figure.map(|f| (name.to_owned(), f)));
    if let Some((study, tables)) = results.part(Part::Experiment1) {
        add("experiment-1", Some(experiment_1(study, tables, &FIGURES)));
        add("experiment-1-fitted", Some(experiment_1(study, tables, &FITTED)));
        add("experiment-1-ours", Some(experiment_1_ours(study, tables)));
    }
    for (part, x, marks) in [
        (Part::Experiment2, "values of each lever (m); there are m³ interventions", None),
        (Part::Experiment3, "state factors (dₛ)", Some(4)),
    ] {
        add(part.folder(), swept(results, part, x, &FIGURES, marks));
        add(&format!("{}-fitted", part.folder()), swept(results, part, x, &FITTED, marks));
        add(&format!("{}-sets", part.folder()), swept(results, part, x, &SETS, None));
    }
    if let Some((study, tables)) = results.part(Part::Scales) {
        add("scales", Some(scales(study, tables)));
    }
    if let Some((study, tables)) = results.part(Part::Hard) {
        for world in ["river-swim", "deep-sea"] {
            add(&format!("hard-{world}"), Some(hard(study, tables, world)));
        }
    }
    add("many-interventions", many(results));
    for (name, parts, x) in [
        ("linear-interventions", [Part::LinearActions, Part::LinearActionsPlain], "number of interventions (A)"),
        ("linear-states", [Part::LinearStates, Part::LinearStatesTables], "number of states (S)"),
    ] {
        add(name, linear(results, parts, x));
    }
    if let Some((study, tables)) = results.part(Part::Unknown) {
        for (name, world) in
            [("joint", "paper:levels=4,horizon=2"), ("own-levers", "paper:levels=4,horizon=2,joint=false")]
        {
            add(&format!("unknown-kernel-{name}"), Some(unknown(study, tables, world)));
        }
    }
    out
}

fn find(study: &Study, spec: &LearnerSpec) -> Option<usize> {
    study.combinations.iter().position(|s| s.learner == *spec)
}

fn curve(tables: &Tables, combination: usize, label: &str, style: Style) -> Series {
    let points = tables.curve(combination).into_iter().map(|(k, s)| point(k as f64, &s)).collect();
    Series { label: label.into(), style, shape: Shape::Band, points }
}

fn rule_curves(study: &Study, tables: &Tables, rule: &ExplorationRule) -> Vec<Series> {
    let one = |i: usize| {
        let name = rule.learners[i];
        Some(curve(tables, find(study, &rule.learner(i))?, &display_name(name), Style::of_learner(name, i)))
    };
    (0..4).filter_map(one).collect()
}

fn uniform_curve(study: &Study, tables: &Tables, label: &str) -> Option<Series> {
    let combination = find(study, &"uniform".parse().ok()?)?;
    Some(curve(tables, combination, label, Style::of_learner("uniform", 0)))
}

/// The published values as far as our axis goes.
fn published_points(figure: u8, most: f64) -> Vec<Series> {
    let all = published();
    (0..4)
        .map(|i| Series {
            label: String::new(),
            style: Style::of_learner(FIGURES.learners[i], i),
            shape: Shape::Published,
            points: all
                .iter()
                .filter(|p| p.figure == figure && p.learner == i && p.x as f64 <= most)
                .map(|p| Point { x: p.x as f64, y: p.regret, low: p.regret, high: p.regret })
                .collect(),
        })
        .collect()
}

fn runs(study: &Study) -> String {
    format!(
        "Mean and one standard deviation of {} fresh environments, K = {}.",
        study.repetitions,
        grouped(study.combinations[0].episodes)
    )
}

fn episodes_axis(scale: Scale) -> (Axis, Axis) {
    let axis = |label: &str| Axis { label: label.into(), scale, ticks: None };
    (axis("episode"), axis("cumulative regret"))
}

fn experiment_1(study: &Study, tables: &Tables, rule: &ExplorationRule) -> Figure {
    let (x, y) = episodes_axis(Scale::Linear);
    let mut series: Vec<Series> = uniform_curve(study, tables, "").into_iter().collect();
    series.extend(rule_curves(study, tables, rule));
    series.extend(published_points(2, study.combinations[0].episodes as f64));
    Figure {
        title: Part::Experiment1.title().into(),
        subtitle: format!(
            "Rule: {}. {} Hollow marks: the paper's Figure 2. Dotted: interventions at random.",
            rule.about,
            runs(study)
        ),
        x,
        y,
        series,
    }
}

fn experiment_1_ours(study: &Study, tables: &Tables) -> Figure {
    let (x, y) = episodes_axis(Scale::Log);
    let mut series: Vec<Series> = uniform_curve(study, tables, "at random").into_iter().collect();
    if let Some(i) = find(study, &LITERAL.learner(2)) {
        let style = Style { dash: Dash::Dotted, ..Style::of_learner("c-ucbvi", 0) };
        series.push(curve(tables, i, "C, printed constants", style));
    }
    series.extend(rule_curves(study, tables, &SETS));
    series.extend(rule_curves(study, tables, &SAMPLING));
    // Nine bands would hide each other.
    series.iter_mut().flat_map(|s| &mut s.points).for_each(|p| (p.low, p.high) = (p.y, p.y));
    Figure {
        title: "Experiment 1 with learners that need no scale".into(),
        subtitle: format!(
            "Solid: UCBVI family over confidence sets. Dashed: posterior sampling. Dotted: the paper's printed constants, \
             and interventions at random. Means of {} fresh environments.",
            study.repetitions
        ),
        x,
        y,
        series,
    }
}

fn swept(results: &Results, part: Part, x: &str, rule: &ExplorationRule, marks: Option<u8>) -> Option<Figure> {
    let (study, tables) = results.part(part)?;
    let finals = results.finals(part, rule);
    if finals.at.is_empty() {
        return None;
    }
    let mut series: Vec<Series> = (0..4)
        .map(|i| Series {
            label: display_name(rule.learners[i]),
            style: Style::of_learner(rule.learners[i], i),
            shape: Shape::Bars,
            points: finals.at.iter().filter(|(_, s)| s[i].n > 0).map(|(x, s)| point(*x, &s[i])).collect(),
        })
        .collect();
    let random: Vec<Point> = study
        .combinations
        .iter()
        .enumerate()
        .filter(|(_, s)| s.learner.preset().name() == "uniform")
        .filter_map(|(i, s)| Some(point(s.sweep.values().next()?.parse().ok()?, &tables.summary(i))))
        .map(|p| Point { low: p.y, high: p.y, ..p })
        .collect();
    series.insert(
        0,
        Series {
            label: "at random".into(),
            style: Style::of_learner("uniform", 0),
            shape: Shape::Band,
            points: random,
        },
    );
    let hollow = marks.map_or("", |_| " Hollow marks: the paper's Figure 4.");
    series.extend(marks.map(|figure| published_points(figure, f64::INFINITY)).unwrap_or_default());
    let ticks = finals.at.iter().map(|(x, _)| *x).collect();
    Some(Figure {
        title: part.title().into(),
        subtitle: format!("Rule: {}. {}{hollow}", rule.about, runs(study)),
        x: Axis { label: x.into(), scale: Scale::Linear, ticks: Some(ticks) },
        y: Axis { label: "regret after K episodes".into(), scale: Scale::Log, ticks: None },
        series,
    })
}

fn scales(study: &Study, tables: &Tables) -> Figure {
    let line = |(i, name): (usize, &str)| {
        let of = study.combinations.iter().enumerate().filter(|(_, s)| s.learner.preset().name() == name);
        let points = of
            .filter_map(|(j, s)| Some(point(s.sweep.get("learner.scale")?.parse().ok()?, &tables.summary(j))))
            .collect();
        Series { label: display_name(name), style: Style::of_learner(name, i), shape: Shape::Bars, points }
    };
    Figure {
        title: "How much the scale of the width decides (Experiment 1)".into(),
        subtitle: format!(
            "Width: 7HL/√N (summed over factors) times the scale, values capped at H. {} At scale 1 all of them act at random.",
            runs(study)
        ),
        x: Axis { label: "scale of the width".into(), scale: Scale::Log, ticks: None },
        y: Axis { label: "regret after K episodes".into(), scale: Scale::Log, ticks: None },
        series: FIGURES.learners.into_iter().enumerate().map(line).collect(),
    }
}

fn in_world(study: &Study, world: &str) -> Vec<usize> {
    (0..study.combinations.len()).filter(|&i| study.combinations[i].world.to_string() == world).collect()
}

fn hard(study: &Study, tables: &Tables, world: &str) -> Figure {
    let (x, y) = episodes_axis(Scale::Log);
    let line = |(position, i): (usize, usize)| {
        let name = study.combinations[i].learner.preset().name();
        curve(tables, i, &display_name(name), Style::of_learner(name, position))
    };
    let mut series: Vec<Series> = in_world(study, world).into_iter().enumerate().map(line).collect();
    series.iter_mut().flat_map(|s| &mut s.points).for_each(|p| (p.low, p.high) = (p.y, p.y));
    Figure {
        title: format!("Hard exploration: {world}"),
        subtitle: format!(
            "UCBVI: confidence sets; PSRL: posterior sampling. A line that lies on another one is dashed or dotted. Means of {} fresh worlds, nothing tuned.",
            study.repetitions
        ),
        x,
        y,
        series,
    }
}

fn many(results: &Results) -> Option<Figure> {
    let parts: Vec<(&Study, &Tables)> =
        [Part::Many, Part::ManyPlain].into_iter().filter_map(|p| results.part(p)).collect();
    let study = parts.first()?.0;
    let mut series: Vec<Series> = vec![];
    for (study, tables) in &parts {
        for (i, combination) in study.combinations.iter().enumerate() {
            let name = combination.learner.preset().name();
            let Some(levels) = combination.sweep.get("world.levels").and_then(|l| l.parse::<f64>().ok()) else {
                continue;
            };
            let new = point(levels.powi(3), &tables.summary(i));
            let label = display_name(name);
            match series.iter_mut().find(|s| s.label == label) {
                Some(line) => line.points.push(new),
                None => {
                    let style = Style::of_learner(name, i);
                    series.push(Series { label, style, shape: Shape::Bars, points: vec![new] });
                }
            }
        }
    }
    Some(Figure {
        title: "Up to a million interventions at Z = 8".into(),
        subtitle: format!(
            "Each key variable depends on the state and one lever; dₛ = 3, n = 3, H = 2. Confidence sets and posterior \
             sampling. {}",
            runs(study)
        ),
        x: Axis { label: "number of interventions (A)".into(), scale: Scale::Log, ticks: None },
        y: Axis { label: "regret after K episodes".into(), scale: Scale::Log, ticks: None },
        series,
    })
}

/// Regret in causal linear MDPs against the size that was swept.
fn linear(results: &Results, parts: [Part; 2], x: &str) -> Option<Figure> {
    let (study, _) = results.part(parts[0])?;
    let mut series: Vec<Series> = vec![];
    for (part, note) in parts.into_iter().zip(["", ", small world"]) {
        for (name, at) in results.linear_rows(part) {
            let label = format!("{}{note}", display_name(name.split(':').next().unwrap_or(&name)));
            let style = Style::of_learner(name.split(':').next().unwrap_or(&name), series.len());
            let points = at.iter().map(|(x, s)| point(*x, s)).collect();
            series.push(Series { label, style, shape: Shape::Bars, points });
        }
    }
    Some(Figure {
        title: "Causal linear MDPs: regret at fixed d".into(),
        subtitle: format!(
            "The combination lock with d = 6, Z = 8, H = 8; plain learners and tables in one with d = 3, Z = 4, H = 5. {}",
            runs(study)
        ),
        x: Axis { label: x.into(), scale: Scale::Log, ticks: None },
        y: Axis { label: "regret after K episodes".into(), scale: Scale::Log, ticks: None },
        series,
    })
}

fn unknown(study: &Study, tables: &Tables, world: &str) -> Figure {
    let (x, y) = episodes_axis(Scale::Log);
    let line = |(position, i): (usize, usize)| {
        let spec = &study.combinations[i].learner;
        let name = spec.preset().name();
        let knowledge = spec.changes().all(|(k, _)| k != "unknown");
        let style = Style::of_learner(name, position);
        let (label, style) = if knowledge {
            (format!("{}, given both", display_name(name)), Style { dash: Dash::Dotted, ..style })
        } else {
            (display_name(name), style)
        };
        curve(tables, i, &label, style)
    };
    let mut series: Vec<Series> = in_world(study, world).into_iter().enumerate().map(line).collect();
    series.iter_mut().flat_map(|s| &mut s.points).for_each(|p| (p.low, p.high) = (p.y, p.y));
    let joint = if world.contains("joint=false") {
        "Each key variable depends on the state and one lever"
    } else {
        "One table P(z | s, a) for all key variables, as in the paper"
    };
    Figure {
        title: "When P(z | s, a) and the rewards are unknown".into(),
        subtitle: format!(
            "{joint}; m = 4, n = 3, dₛ = 3, H = 2. All are given only the graph but the dotted ones. Means of {} fresh environments.",
            study.repetitions
        ),
        x,
        y,
        series,
    }
}
