//! Which figures a study has: regret curves for each world, and final regret against what was swept.

use std::collections::BTreeMap;

use dowise::learn::LearnerSpec;

use crate::{Axis, Combination, Dash, Figure, Point, Scale, Series, Shape, Study, Style, Summary, Tables};

/// The figures of a study, each with the name of its file.
pub fn figures(study: &Study, tables: &Tables) -> Vec<(String, Figure)> {
    let mut out = Vec::new();
    let groups = groups(study);
    for (i, group) in groups.iter().enumerate() {
        // With many groups the sweep figures say more than dozens of curves.
        if groups.len() > 12 {
            break;
        }
        let name = if groups.len() == 1 { "regret".to_owned() } else { format!("regret-{}", i + 1) };
        let several = groups.len() > 1;
        out.push((name.clone(), curves(study, tables, group, Scale::Linear, several)));
        out.push((format!("{name}-log"), curves(study, tables, group, Scale::Log, several)));
    }
    for swept in &study.swept {
        let groups = sweep_groups(study, swept);
        for (i, group) in groups.iter().enumerate() {
            let name = format!("regret-by-{}-{}", swept.replace('.', "-"), i + 1);
            if let Some(figure) = against(study, tables, swept, group, groups.len() > 1) {
                out.push((name, figure));
            }
        }
    }
    out
}

/// The title of a figure: the study's, and where there are several figures of a kind what tells them apart: the world, without a
/// setting that is an axis, and what else was swept.
fn title(study: &Study, group: &[usize], several: bool, across: Option<&str>) -> String {
    let first = &study.combinations[group[0]];
    if !several {
        return study.name.clone();
    }
    // What was swept of the world is part of its own text.
    let swept = first.sweep.iter().filter(|(what, _)| !what.starts_with("world.") && Some(what.as_str()) != across);
    let swept: String =
        swept.map(|(what, value)| format!(", {} {value}", what.trim_start_matches("learner."))).collect();
    let world = match across.and_then(|across| across.strip_prefix("world.")) {
        Some(setting) => first.world.without(setting),
        None => first.world.clone(),
    };
    format!("{}: {world}{swept}", study.name)
}

/// Combinations that share a world, episodes and options that were swept: the lines of one figure of curves.
fn groups(study: &Study) -> Vec<Vec<usize>> {
    gather(study, |s| {
        let swept: Vec<_> = s.sweep.iter().filter(|(k, _)| k.starts_with("learner.")).collect();
        format!("{} {} {swept:?}", s.world, s.episodes)
    })
}

/// Combinations that agree in all that was swept but this.
fn sweep_groups(study: &Study, swept: &str) -> Vec<Vec<usize>> {
    gather(study, |s| {
        let others: Vec<_> = s.sweep.iter().filter(|(k, _)| *k != swept && !k.starts_with("learner.")).collect();
        format!("{} {others:?}", s.world.name())
    })
}

fn gather(study: &Study, key: impl Fn(&Combination) -> String) -> Vec<Vec<usize>> {
    let mut order: Vec<String> = vec![];
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, combination) in study.combinations.iter().enumerate() {
        let key = key(combination);
        if !order.contains(&key) {
            order.push(key.clone());
        }
        groups.entry(key).or_default().push(i);
    }
    order.iter().map(|k| groups[k].clone()).collect()
}

fn curves(study: &Study, tables: &Tables, group: &[usize], scale: Scale, several: bool) -> Figure {
    let specs: Vec<&LearnerSpec> = group.iter().map(|&i| &study.combinations[i].learner).collect();
    let spread = Spread::of(group.iter().map(|&i| tables.summary(i)));
    let series = group.iter().zip(labels(&specs)).zip(styles(&specs)).map(|((&i, label), style)| {
        let points = tables.curve(i).into_iter().map(|(k, s)| spread.point(k as f64, &s)).collect();
        Series { label, style, shape: Shape::Band, points }
    });
    let kind = match scale {
        Scale::Linear => "",
        Scale::Log => ", logarithmic",
    };
    Figure {
        title: title(study, group, several, None) + kind,
        subtitle: format!("{}. {}", study.combinations[group[0]].world, caption(study, &specs, spread)),
        x: Axis { label: "episode".into(), scale, ticks: None },
        y: Axis { label: regret_label(study, group).into(), scale, ticks: None },
        series: series.collect(),
    }
}

fn against(study: &Study, tables: &Tables, swept: &str, group: &[usize], several: bool) -> Option<Figure> {
    let value = |i: usize| study.combinations[i].sweep.get(swept)?.parse::<f64>().ok();
    // A line is a learner apart from what is swept.
    let mut lines: Vec<(String, LearnerSpec, Vec<usize>)> = vec![];
    for &i in group.iter().filter(|&&i| value(i).is_some()) {
        let spec = &study.combinations[i].learner;
        let option = swept.strip_prefix("learner.");
        let changes: Vec<String> =
            spec.changes().filter(|(k, _)| Some(*k) != option).map(|(k, v)| format!("{k}={v}")).collect();
        let key = format!("{} {}", spec.preset(), changes.join(","));
        match lines.iter_mut().find(|(k, ..)| *k == key) {
            Some((.., members)) => members.push(i),
            None => lines.push((key, spec.clone(), vec![i])),
        }
    }
    let mut ticks: Vec<f64> = group.iter().filter_map(|&i| value(i)).collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    if ticks.len() < 2 {
        return None;
    }
    let wide = ticks[0] > 0.0 && ticks[ticks.len() - 1] / ticks[0] > 20.0;
    let specs: Vec<&LearnerSpec> = lines.iter().map(|(_, spec, _)| spec).collect();
    let spread = Spread::of(group.iter().map(|&i| tables.summary(i)));
    let series: Vec<Series> = lines
        .iter()
        .zip(labels(&specs))
        .zip(styles(&specs))
        .map(|(((_, _, members), label), style)| {
            let mut points: Vec<Point> =
                members.iter().filter_map(|&i| Some(spread.point(value(i)?, &tables.summary(i)))).collect();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            Series { label, style, shape: Shape::Bars, points }
        })
        .collect();
    let name = swept.split('.').next_back().unwrap_or(swept).to_owned();
    let scale = if wide { Scale::Log } else { Scale::Linear };
    Some(Figure {
        title: format!("{}, by {name}", title(study, group, several, Some(swept))),
        subtitle: format!("{}. {}", study.combinations[group[0]].world.name(), caption(study, &specs, spread)),
        x: Axis { label: name, scale, ticks: (!wide).then_some(ticks) },
        y: Axis { label: "regret after the last episode".into(), scale: Scale::Log, ticks: None },
        series,
    })
}

/// Mean with one standard deviation on both sides.
pub(crate) fn point(x: f64, s: &Summary) -> Point {
    Point { x, y: s.mean, low: s.mean - s.sd, high: s.mean + s.sd }
}

/// What is shown of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Mean and one standard deviation on both sides.
    Deviation,
    /// Median and quartiles.
    Quartiles,
}

impl Spread {
    /// Quartiles for all lines of a figure if the regret of some learner is skewed: a standard deviation above its mean says that
    /// a few runs lost most, and a band around the mean would reach below zero.
    pub fn of(regrets: impl IntoIterator<Item = Summary>) -> Spread {
        let skewed = |s: Summary| s.n > 2 && s.sd > s.mean;
        if regrets.into_iter().any(skewed) { Spread::Quartiles } else { Spread::Deviation }
    }

    /// A point of a curve at `x`.
    pub fn point(self, x: f64, s: &Summary) -> Point {
        match self {
            Spread::Deviation => point(x, s),
            Spread::Quartiles => Point { x, y: s.median, low: s.q25, high: s.q75 },
        }
    }

    /// What is shown, in a sentence.
    pub fn words(self, runs: u64) -> String {
        match self {
            Spread::Deviation => format!("Mean of {runs} runs, one standard deviation."),
            Spread::Quartiles => {
                format!("Median and quartiles of {runs} runs, since a few runs of some learner lost most.")
            }
        }
    }
}

/// What the axis of regrets is called.
fn regret_label(study: &Study, group: &[usize]) -> &'static str {
    match group.iter().any(|&i| study.combinations[i].monte_carlo) {
        true => "cumulative regret, estimated by playing",
        false => "cumulative regret",
    }
}

/// How the learners with these specs explore, and what is shown of the runs.
fn caption(study: &Study, specs: &[&LearnerSpec], spread: Spread) -> String {
    let mut estimates: Vec<String> = specs.iter().map(|s| s.estimate()).collect();
    estimates.sort();
    estimates.dedup();
    format!("Estimates: {}. {}", estimates.join("; "), spread.words(study.repetitions))
}

/// Names for the lines, all different: presets; where presets alone do not tell them apart, how they explore; where that does not
/// either, the options in which they differ.
pub(crate) fn labels(specs: &[&LearnerSpec]) -> Vec<String> {
    let name = |s: &LearnerSpec| display_name(s.preset().name());
    let by_estimate = |s: &LearnerSpec| format!("{} {}", name(s), s.estimate());
    let label = |s: &&LearnerSpec| {
        let alike: Vec<&&LearnerSpec> = specs.iter().filter(|o| o.preset() == s.preset()).collect();
        let changes = |s: &LearnerSpec| s.changes().map(|(k, v)| format!("{k}={v}")).collect::<Vec<_>>();
        if alike.len() == 1 {
            name(s)
        } else if alike.iter().filter(|o| by_estimate(o) == by_estimate(s)).count() == 1 {
            by_estimate(s)
        } else {
            let own = changes(s).into_iter().filter(|c| !alike.iter().all(|o| changes(o).contains(c)));
            std::iter::once(name(s)).chain(own).collect::<Vec<_>>().join(" ")
        }
    };
    specs.iter().map(label).collect()
}

/// A learner's name as papers write it: `cf-ucbvi` is CF-UCBVI, `graph-psrl` graph-PSRL, `lsvi-ucb` LSVI-UCB, `greedy` greedy.
pub(crate) fn display_name(name: &str) -> String {
    match name.rsplit_once('-') {
        _ if name.contains("lsvi") => name.to_uppercase(),
        Some((first, last @ ("ucbvi" | "psrl"))) if first.len() <= 2 => {
            format!("{}-{}", first.to_uppercase(), last.to_uppercase())
        }
        Some((first, last @ ("ucbvi" | "psrl"))) => format!("{first}-{}", last.to_uppercase()),
        None if ["ucbvi", "psrl"].contains(&name) => name.to_uppercase(),
        _ => name.to_owned(),
    }
}

/// Styles of the lines: learners that are there once have their own, the others colours that are left.
fn styles(specs: &[&LearnerSpec]) -> Vec<Style> {
    let is_alone = |s: &LearnerSpec| specs.iter().filter(|o| o.preset() == s.preset()).count() == 1;
    let own = |(i, s): (usize, &&LearnerSpec)| is_alone(s).then(|| Style::of_learner(s.preset().name(), i));
    let own: Vec<Option<Style>> = specs.iter().enumerate().map(own).collect();
    let taken: Vec<[u8; 3]> = own.iter().flatten().map(|style| style.colour).collect();
    let mut left = (0..).map(Style::at).filter(|style| style.dash != Dash::Solid || !taken.contains(&style.colour));
    own.into_iter().map(|own| own.or_else(|| left.next()).unwrap_or(Style::at(0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(texts: &[&str]) -> Vec<LearnerSpec> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn every_line_has_a_name_of_its_own() {
        let specs = specs(&[
            "graph-psrl",
            "graph-psrl:unknown=kernel+rewards",
            "graph-psrl:forms=false",
            "graph-psrl:prior=4",
            "c-ucbvi",
        ]);
        let labels = labels(&specs.iter().collect::<Vec<_>>());
        let expected = [
            "graph-PSRL",
            "graph-PSRL unknown=kernel+rewards",
            "graph-PSRL forms=false",
            "graph-PSRL posterior, prior 4",
            "C-UCBVI",
        ];
        assert_eq!(labels, expected);
    }

    #[test]
    fn no_two_lines_look_alike() {
        let specs = specs(&[
            "c-ucbvi",
            "graph-ucbvi",
            "ucbvi",
            "ucbvi:width=rlberry",
            "ucbvi:width=paper",
            "ucbvi:width=quasi",
        ]);
        let styles = styles(&specs.iter().collect::<Vec<_>>());
        for (i, a) in styles.iter().enumerate() {
            assert!(styles[..i].iter().all(|b| (a.colour, a.dash) != (b.colour, b.dash)), "{i} {styles:?}");
        }
    }
}
