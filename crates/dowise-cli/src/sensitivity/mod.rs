//! What violations of untestable assumptions would overturn, in words: unmeasured confounding and missing values.

mod picture;

pub(crate) use picture::Picture;

use dowise::offline::{Benchmark, Claim, Lacking, Sensitivity, TippingPoint};

use crate::table::{self, Align, Amounts};

/// Γ below which a comparison does not survive even a weak unrecorded cause.
const WEAK_CAUSE: f64 = 1.05;

/// Values of Γ that are printed; JSON has all.
const PRINTED: [f64; 5] = [1.0, 1.25, 1.5, 2.0, 3.0];

/// How a yardstick compares with the tipping point: this much is the same.
const SAME: f64 = 1.02;

/// What stands for a yardstick where the log has none.
const NO_YARDSTICK: &str = "No recorded state factor changes these odds clearly.";

/// The paragraphs and the table of an answer: how much confounding and how unusual missing values could overturn it.
pub(crate) fn section(found: Option<&Sensitivity>, points: &[TippingPoint], claim: Claim) -> String {
    let mut text = String::new();
    if let Some(found) = found {
        text += &format!("{}\n", table::wrapped(&confounding(found)));
        text += &table_of(found);
    }
    for point in points {
        text += &format!("{}\n", table::wrapped(&missing(point, claim)));
    }
    text
}

/// The claim and its opposite.
fn words(claim: Claim) -> [&'static str; 2] {
    match claim {
        Claim::Better => ["better", "worse"],
        Claim::Worse => ["worse", "better"],
    }
}

/// How much unmeasured confounding a comparison survives, and whether that is much.
fn confounding(found: &Sensitivity) -> String {
    let gamma = (100.0 * found.gamma).floor() / 100.0;
    let levers = match &found.levers[..] {
        [one] => format!("how {one} was set"),
        several => format!("how {} were set", several.join(", ")),
    };
    let [_, opposite] = words(found.claim);
    let yardstick = found.benchmark.as_ref().map_or_else(|| NO_YARDSTICK.to_owned(), |of| yardstick(of, found));
    if found.is_beyond() {
        return format!(
            "Sensitivity: an unrecorded cause of the outcome that changes the odds of {levers} up to {gamma:.0} times, given the \
             state, does not overturn this (Γ of the marginal sensitivity model). {yardstick}"
        );
    }
    if gamma < WEAK_CAUSE {
        return format!(
            "Sensitivity: even a weak unrecorded cause of the outcome and of {levers} could overturn this (Γ of the marginal \
             sensitivity model below 1.05). Compare the policy with the behaviour policy in a trial. {yardstick}"
        );
    }
    format!(
        "Sensitivity: for the policy to be {opposite}, an unrecorded cause of the outcome must change the odds of {levers} more than \
         {gamma:.2} times, given the state (Γ of the marginal sensitivity model). {yardstick}"
    )
}

/// The strongest recorded factor beside the tipping point.
fn yardstick(of: &Benchmark, found: &Sensitivity) -> String {
    let setting = of.setting.as_ref().map_or_else(|| "left alone".to_owned(), Clone::clone);
    let compared = match of.gamma / found.gamma {
        ratio if found.is_beyond() && ratio < 1.0 => "",
        ratio if ratio > SAME => ": an unrecorded cause as strong as that could overturn this",
        ratio if ratio < 1.0 / SAME => ": the unrecorded cause would have to be stronger than any recorded factor",
        _ => ": an unrecorded cause about as strong as that could overturn this",
    };
    format!(
        "For comparison: the strongest recorded factor, {}={}, changes the odds of {}={setting} {:.2} times{compared}.",
        of.factor, of.value, of.lever, of.gamma
    )
}

/// Worst and best values by Γ, short.
fn table_of(found: &Sensitivity) -> String {
    let all = found.worst.iter().chain(&found.best).map(|pair| pair[1]);
    let amounts = Amounts::of(all.chain([found.behaviour]));
    let columns: Vec<usize> = (0..found.worst.len()).filter(|&i| PRINTED.contains(&found.worst[i][0])).collect();
    let head: Vec<String> = columns.iter().map(|&i| format!("Γ = {}", table::short(found.worst[i][0]))).collect();
    let header: Vec<&str> = [""].into_iter().chain(head.iter().map(String::as_str)).collect();
    let row = |name: &str, of: &[[f64; 2]]| -> Vec<String> {
        [name.to_owned()].into_iter().chain(columns.iter().map(|&i| amounts.show(of[i][1]))).collect()
    };
    let today: Vec<[f64; 2]> = found.worst.iter().map(|&[gamma, _]| [gamma, found.behaviour]).collect();
    let rows = [row("worst case", &found.worst), row("best case", &found.best), row("behaviour policy", &today)];
    let mut align = vec![Align::Right; header.len()];
    align[0] = Align::Left;
    table::table(&header, &rows, &align)
}

/// As long as which averages of missing values a comparison holds.
fn missing(point: &TippingPoint, claim: Claim) -> String {
    let amounts = Amounts::of([point.recorded, point.expected].into_iter().chain(point.range));
    let show = |x: f64| amounts.show(x);
    let [is, _] = words(claim);
    let bounds = [("at least", point.at_least), ("at most", point.at_most)];
    let bounds: Vec<(&str, f64)> = bounds.into_iter().filter_map(|(word, x)| Some((word, x?))).collect();
    match point.of {
        Lacking::Payments => {
            let recorded = format!(
                "recorded ones average {}, missing at random they would average {}",
                show(point.recorded),
                show(point.expected)
            );
            if bounds.is_empty() {
                let [low, high] = point.range.map(show);
                return format!(
                    "Missing payments: by the model the policy is {is} even if every missing payment is the least or the greatest \
                     possible, on average {low} or {high} ({recorded})."
                );
            }
            let bounds: Vec<String> = bounds.iter().map(|&(word, x)| format!("{word} {}", show(x))).collect();
            let bounds = bounds.join(" and ");
            format!("Missing payments: by the model the policy is {is} as long as they average {bounds} ({recorded}).")
        }
        Lacking::UnseenRewards => {
            let bounds: Vec<String> = bounds.iter().map(|&(word, x)| format!("{word} {}", show(x))).collect();
            format!(
                "Rewards without data: by the model the policy is {is} as long as the rewards of combinations that no logged step \
                 shows average {} (the model expects {}).",
                bounds.join(" and "),
                show(point.expected)
            )
        }
        Lacking::NextStates => {
            let recorded = show(point.recorded);
            if bounds.is_empty() {
                let [low, high] = point.range.map(show);
                return format!(
                    "Dropout: by the model the policy is {is} even if what followed where episodes stopped was the least or the \
                     greatest possible, {low} or {high} per stage (the model expects {recorded})."
                );
            }
            let bound = |&(word, x): &(&str, f64)| {
                let is_share = point.recorded > 0.0 && x >= 0.0;
                let share =
                    is_share.then(|| format!(", {:.0} % of what the model expects", 100.0 * x / point.recorded));
                format!("{word} {} per stage{}", show(x), share.unwrap_or_default())
            };
            let bounds = bounds.iter().map(bound).collect::<Vec<_>>().join(" and ");
            format!(
                "Dropout: by the model the policy is {is} as long as what followed where episodes stopped averages {bounds} (the \
                 model expects {recorded})."
            )
        }
    }
}
