//! A yardstick for Γ: how much a recorded state factor changes the odds of what the behaviour policy did.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::math::ln;
use crate::offline::Episodes;

/// Fewest logged steps with and without a setting, at a value of the factor and at the others, for odds.
const ENOUGH: f64 = 10.0;

/// Standard errors by which the odds at a value have to differ from those at the others. Of several hundred comparisons of
/// equal odds, hardly one differs as much.
const CLEARLY: f64 = 4.0;

/// The recorded state factor that changes the odds of a logged setting of a lever the most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Benchmark {
    /// The state factor.
    pub factor: String,
    /// The value that changes the odds the most.
    pub value: String,
    /// The lever.
    pub lever: String,
    /// Its setting; `None`: left alone.
    pub setting: Option<String>,
    /// The factor by which knowing the value changes the odds of the setting, up or down: odds(setting | value) /
    /// odds(setting), or its inverse. It is on the scale of Γ.
    pub gamma: f64,
    /// The largest odds ratio of the setting between two values of the factor.
    pub odds_ratio: f64,
    /// These two values, that with the greater odds first.
    pub between: [String; 2],
    /// Logged steps with the value.
    pub steps: f64,
}

/// Logged steps with and without a setting.
#[derive(Clone, Copy, Debug, Default)]
struct Odds {
    with: f64,
    without: f64,
}

impl Odds {
    fn ratio(self) -> f64 {
        self.with / self.without
    }

    fn is_known(self) -> bool {
        self.with >= ENOUGH && self.without >= ENOUGH
    }

    fn less(self, other: Odds) -> Odds {
        Odds { with: self.with - other.with, without: self.without - other.without }
    }

    /// Whether the difference from other steps is more than chance (Woolf's standard error of the logarithm of the ratio).
    fn differs(self, others: Odds) -> bool {
        let variance = 1.0 / self.with + 1.0 / self.without + 1.0 / others.with + 1.0 / others.without;
        ln(self.ratio() / others.ratio()).abs() > CLEARLY * variance.sqrt()
    }
}

/// The strongest state factor for the levers that were not randomised. Values at which a setting was logged, or not
/// logged, in fewer than ten steps are left out, and differences that chance may explain. `None` if nothing is left.
pub(super) fn strongest(log: &Episodes) -> Option<Benchmark> {
    let (knowledge, all) = (log.knowledge(), log.knowledge().interventions());
    let randomised = &log.declared().randomised;
    let levers = knowledge.levers().iter().map(|&id| knowledge.variable(id));
    let mut best: Option<Benchmark> = None;
    for (i, lever) in levers.enumerate().filter(|(_, lever)| !randomised.contains(&lever.name)) {
        // Steps by state and by setting of this lever.
        let mut counts: BTreeMap<Option<usize>, BTreeMap<usize, f64>> = BTreeMap::new();
        let mut steps: BTreeMap<usize, f64> = BTreeMap::new();
        for episode in &log.episodes {
            for step in log.steps_of(episode) {
                let Some(action) = step.action else { continue };
                let (state, weight) = (step.state as usize, f64::from(episode.weight));
                *counts.entry(all.lever(action, i)).or_default().entry(state).or_default() += weight;
                *steps.entry(state).or_default() += weight;
            }
        }
        for (&setting, with) in &counts {
            let name = setting.map(|v| lever.values[v].clone());
            for f in 0..knowledge.state().len() {
                let found = of_factor(log, f, with, &steps);
                let found = found.map(|found| Benchmark { lever: lever.name.clone(), setting: name.clone(), ..found });
                best = match (best, found) {
                    (Some(best), Some(found)) if best.gamma >= found.gamma => Some(best),
                    (best, found) => found.or(best),
                };
            }
        }
    }
    best
}

/// How much the values of one state factor change the odds of a setting.
fn of_factor(
    log: &Episodes,
    factor: usize,
    with: &BTreeMap<usize, f64>,
    steps: &BTreeMap<usize, f64>,
) -> Option<Benchmark> {
    let knowledge = log.knowledge();
    let variable = knowledge.variable(knowledge.state()[factor]);
    let mut of_value = vec![Odds::default(); variable.size()];
    for (&state, &n) in steps {
        let odds = &mut of_value[knowledge.state_space().digit(state, factor)];
        let with = with.get(&state).copied().unwrap_or(0.0);
        odds.with += with;
        odds.without += n - with;
    }
    let sum = |of: fn(&Odds) -> f64| of_value.iter().map(of).sum::<f64>();
    let all = Odds { with: sum(|odds| odds.with), without: sum(|odds| odds.without) };
    let known: Vec<(usize, Odds)> = of_value.into_iter().enumerate().filter(|(_, odds)| odds.is_known()).collect();
    let by_ratio = |a: &&(usize, Odds), b: &&(usize, Odds)| a.1.ratio().total_cmp(&b.1.ratio());
    let (least, most) = (known.iter().min_by(by_ratio)?, known.iter().max_by(by_ratio)?);
    let clear = |(_, odds): &&(usize, Odds)| all.less(*odds).is_known() && odds.differs(all.less(*odds));
    let apart = |odds: Odds| (odds.ratio() / all.ratio()).max(all.ratio() / odds.ratio());
    let strong = known.iter().filter(clear).max_by(|a, b| apart(a.1).total_cmp(&apart(b.1)))?;
    let word = |v: usize| variable.values[v].clone();
    Some(Benchmark {
        factor: variable.name.clone(),
        value: word(strong.0),
        lever: String::new(),
        setting: None,
        gamma: apart(strong.1),
        odds_ratio: most.1.ratio() / least.1.ratio(),
        between: [word(most.0), word(least.0)],
        steps: strong.1.with + strong.1.without,
    })
}
