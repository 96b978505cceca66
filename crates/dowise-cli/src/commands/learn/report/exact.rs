//! What a run that is evaluated exactly reports: regret, promises, and the policy in the states it visits most.

use std::collections::BTreeMap;

use dowise::learn::{Amendment, ChangeNoticed, Forget, GraphWatch, LogContradicted};
use dowise::offline::AssumptionRecord;
use dowise::{Action, Arena, Learner};
use dowise_study::{percent, share_of_way};
use serde::Serialize;

use crate::assumptions;
use crate::commands::learn::noticed;
use crate::commands::learn::promise::Promised;
use crate::commands::learn::saved::SavedRun;
use crate::factors::FactorUse;
use crate::levers::LeverUse;
use crate::output::Output;
use crate::table::{self, Align, Amounts};

/// What exact values show.
#[derive(Serialize)]
pub(in crate::commands::learn) struct Exact {
    /// Sum over episodes of what was lost against the best policy.
    regret: f64,
    /// The same over the last tenth of the episodes, for one episode.
    regret_at_the_end: f64,
    /// Sum of rewards received.
    reward: f64,
    /// Expected reward of an episode: best policy, learned policy, at random.
    best: f64,
    learned: f64,
    uniform: f64,
    /// Whether the last one is exact, or a mean over interventions that were drawn.
    uniform_is_exact: bool,
    /// What can be promised of the policy, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    promised: Option<Promised>,
    /// How a baseline was kept, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<Kept>,
    /// Whether what is promised does not hold: what was seen contradicts what the learner knows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    promise_is_void: bool,
    /// What makes that doubtful which the run began with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    void_because: Vec<String>,
    /// The assumptions under which the log or evidence of a warm start shows what live steps would show.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    assumptions: Option<AssumptionRecord>,
    /// What was noticed of a wrong graph or a changed world, as sentences.
    #[serde(skip)]
    noticed: Vec<String>,
    policy: Vec<Row>,
    /// What the policy does to levers at every stage and state alike, and what is the same in all states shown, as sentences.
    #[serde(skip)]
    always: Vec<String>,
    /// Whether later steps count less.
    #[serde(skip)]
    discounted: bool,
    /// How the declared graph fares, where it is tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<GraphWatch>,
    /// How a guard changed the graph, also where nothing is left to be tested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    amendments: Vec<Amendment>,
    /// Changes of the world that were noticed, where the learner looks for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ChangeNoticed>>,
    /// After a warm start: the contradiction between live steps and the log, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    log_contradicted: Option<LogContradicted>,
}

/// How a baseline was kept.
#[derive(Serialize)]
struct Kept {
    alpha: f64,
    /// Probability with which the promise may be broken, at any time.
    delta: f64,
    /// The least that an episode can pay; what may be lost is a share of what the baseline is worth more.
    least: f64,
    /// What the baseline is worth, and what all episodes are worth at least on average; missing in a run that goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    promised: Option<f64>,
    /// Episodes that followed the baseline, because what was planned could have lost too much.
    episodes_of_baseline: u64,
    /// What is surely gained on (1 − α) of the baseline so far.
    room: f64,
}

/// What the learned policy does in one situation.
#[derive(Serialize)]
struct Row {
    stage: usize,
    state: String,
    /// Share of episodes that come here under the learned policy.
    share: f64,
    intervention: String,
    /// The same without the levers that are treated alike everywhere.
    #[serde(skip)]
    rest: String,
    /// The state without the stage and without the factors that are the same in all of these.
    #[serde(skip)]
    rest_of_state: String,
    /// What the best policy would gain from here on.
    loses: f64,
}

/// Episodes played to see which situations the learned policy leads to.
const SAMPLE: usize = 2000;

impl Exact {
    pub(in crate::commands::learn) fn new(
        arena: &Arena,
        learner: &Learner,
        learned: &[Action],
        run: &SavedRun,
        rows: usize,
        promised: Option<Promised>,
    ) -> Exact {
        let SavedRun { learner: spec, regrets, seed, reward, .. } = run;
        let (seed, reward) = (*seed, *reward);
        let (uniform, uniform_is_exact) = arena.at_random();
        let tail = &regrets[regrets.len() - regrets.len().div_ceil(10)..];
        let (policy, same) = policy(arena, learned, seed, rows);
        Exact {
            regret: regrets.iter().sum(),
            regret_at_the_end: tail.iter().sum::<f64>() / tail.len().max(1) as f64,
            reward,
            best: arena.optimal(),
            learned: match spec.is_at_random() {
                true => uniform,
                false => arena.value_of(learned).expect("invariant: a learner's policy is one of its world"),
            },
            uniform,
            uniform_is_exact,
            promised,
            baseline: None,
            promise_is_void: learner.is_contradicted() || !run.void_because.is_empty(),
            void_because: run.void_because.clone(),
            assumptions: run.assumptions.clone(),
            noticed: noticed::lines(learner, run.log),
            policy,
            always: LeverUse::of(arena.world(), learned).sentence().into_iter().chain(same).collect(),
            discounted: arena.world().discount() < 1.0,
            graph: learner.graph_watch(),
            amendments: learner.amendments().to_vec(),
            changes: (spec.options(1, 0).forget == Forget::Reset).then(|| learner.changes()),
            log_contradicted: learner.log_contradicted().cloned(),
        }
    }

    /// With how the learner kept to its baseline.
    pub(in crate::commands::learn) fn with_baseline(mut self, learner: &Learner, value: Option<f64>) -> Exact {
        self.baseline = learner.baseline().map(|kept| Kept {
            alpha: kept.alpha,
            delta: kept.delta,
            least: kept.least,
            value,
            promised: value.map(|value| kept.least + (1.0 - kept.alpha) * (value - kept.least)),
            episodes_of_baseline: kept.fell_back,
            room: kept.room,
        });
        self
    }

    /// What was noticed of a wrong graph or a changed world, as sentences.
    pub(super) fn noticed(&self) -> &[String] {
        &self.noticed
    }

    pub(super) fn text(&self, output: &Output) -> String {
        let amounts = Amounts::of([self.best, self.learned]);
        let mut text = self.assumptions.as_ref().map_or(String::new(), |record| assumptions::section(record, output));
        if !text.is_empty() {
            text += "\n";
        }
        text += &self.values(amounts);
        text += &format!(
            "\nRegret {} in all, {} an episode over the last tenth.\n\n",
            amounts.with(2, plain(self.regret, amounts)),
            amounts.show(plain(self.regret_at_the_end, amounts))
        );
        // The record contains the assumptions that failed.
        let unchecked = self.void_because.iter().filter(|_| self.assumptions.is_none());
        for noticed in unchecked.chain(&self.noticed) {
            text += &format!("{}\n\n", table::wrapped(noticed));
        }
        text += &self.promises(amounts);
        text += &format!("{}\n", output.heading("The learned policy in the states it visits most"));
        for always in &self.always {
            text += &format!("{}\n", table::wrapped(always));
        }
        text + &self.policy(amounts)
    }

    /// The values of the best and the learned policy and of random interventions, as a table.
    fn values(&self, amounts: Amounts) -> String {
        let share = |value: f64| share_of_way(value, self.uniform, self.best).map_or("-".into(), percent);
        let value = |name: &str, v: f64| vec![name.to_owned(), amounts.show(v), share(v)];
        let at_random = if self.uniform_is_exact { "at random" } else { "at random (estimated)" };
        let rows =
            [value("best policy", self.best), value("learned policy", self.learned), value(at_random, self.uniform)];
        let reward = if self.discounted { "discounted reward of an episode" } else { "reward of an episode" };
        table::table(&["", reward, "from random to best"], &rows, &[Align::Left, Align::Right, Align::Right])
    }

    /// The certificate and the guarantee for a baseline, as far as they are asked for.
    fn promises(&self, amounts: Amounts) -> String {
        let mut text = String::new();
        if let Some(promised) = &self.promised {
            if self.promise_is_void {
                let void = match &self.void_because[..] {
                    [] => "Void, because the data contradict what the learner assumes:",
                    _ => "Void, because an assumption about the log failed:",
                };
                text += &format!("{}\n", table::wrapped(void));
            }
            text += &format!("{}\n", promised.text());
        }
        if let Some(kept) = &self.baseline {
            text += &format!("{}\n\n", table::wrapped(&kept.text(amounts)));
        }
        text
    }

    /// The learned policy where it leads most often, as a table.
    fn policy(&self, amounts: Amounts) -> String {
        // Where every lever is the same everywhere, the sentence has said it all.
        let differs = self.policy.iter().any(|r| r.rest != "–");
        let row = |r: &Row| {
            let share = format!("{:.0} %", 100.0 * r.share);
            let mut row = vec![r.stage.to_string(), r.rest_of_state.clone(), share, amounts.show(r.loses)];
            row.extend(differs.then(|| r.rest.clone()));
            row
        };
        let rows: Vec<Vec<String>> = self.policy.iter().map(row).collect();
        let mut header = vec!["stage", "state", "episodes", "loses"];
        header.extend(differs.then_some("intervention"));
        let align = [Align::Right, Align::Left, Align::Right, Align::Right, Align::Left];
        table::table(&header, &rows, &align[..header.len()])
    }
}

impl Kept {
    /// A sentence for people.
    fn text(&self, amounts: Amounts) -> String {
        let from_least = match self.least {
            0.0 => String::new(),
            least => format!(", counted from the least that an episode can pay, {}", amounts.show(least)),
        };
        let share = table::short(1.0 - self.alpha);
        let promised = match (self.promised, self.value) {
            (Some(promised), Some(value)) => format!(
                "episodes are worth at least {} on average, {share} of the baseline's {}{from_least}",
                amounts.show(promised),
                amounts.show(value)
            ),
            _ => format!("episodes are worth at least {share} of the baseline on average{from_least}"),
        };
        format!(
            "Conservative exploration (δ = {}): at any time, {promised}. {} episodes followed the baseline; remaining \
             exploration budget {}.",
            self.delta,
            table::count(self.episodes_of_baseline),
            amounts.with(2, plain(self.room, amounts))
        )
    }
}

/// A number without the sign of a zero that rounding left.
fn plain(x: f64, amounts: Amounts) -> f64 {
    if amounts.show(x.abs()) == amounts.show(0.0) { 0.0 } else { x }
}

/// The situations that a policy most often leads to, in order of stages; and what is the same in all of them, as a sentence.
fn policy(arena: &Arena, policy_hs: &[Action], seed: u64, rows: usize) -> (Vec<Row>, Option<String>) {
    let world = arena.world();
    let n = world.n_states();
    let values = arena.planner().evaluate(policy_hs).expect("invariant: an agent's policy is one of its world");
    let levers = LeverUse::of(world, policy_hs);
    let mut visits: BTreeMap<usize, usize> = BTreeMap::new();
    for i in arena.simulator().visits(policy_hs, SAMPLE, seed) {
        *visits.entry(i).or_default() += 1;
    }
    let mut order: Vec<(usize, usize)> = visits.into_iter().collect();
    order.sort_by_key(|&(i, count)| (std::cmp::Reverse(count), i));
    order.truncate(rows);
    order.sort_by_key(|&(i, count)| (i / n, std::cmp::Reverse(count), i));
    let factors = FactorUse::of(world, &order.iter().map(|&(i, _)| i % n).collect::<Vec<_>>());
    let row = |(i, count): (usize, usize)| Row {
        stage: i / n + 1,
        state: world.describe_state(i % n),
        share: count as f64 / SAMPLE as f64,
        intervention: world.describe_intervention(policy_hs[i]),
        rest: levers.rest(world, policy_hs[i]),
        rest_of_state: factors.rest(world, i % n),
        loses: (arena.best().value_hs[i] - values[i]).max(0.0),
    };
    (order.into_iter().map(row).collect(), factors.sentence())
}

/// What a learner knows and how much it has to learn, in a sentence.
pub(in crate::commands::learn) fn knowledge(learner: &Learner) -> String {
    let knowledge = learner.knowledge();
    let mut known = vec!["the graph".to_owned()];
    if knowledge.knows_mechanisms() {
        known.push("P(z | s, a)".into());
    } else {
        known.extend(knowledge.known_mechanisms().into_iter().map(|name| format!("the mechanism of {name}")));
        known.extend(knowledge.guessed_mechanisms().into_iter().map(|name| format!("a guess at that of {name}")));
    }
    // What a term pays may be given and what it brings unknown all the same: the next value that it looks at is to be learned.
    let learned: Vec<&str> = knowledge.learned_rewards();
    if knowledge.knows_rewards() && learned.is_empty() {
        known.push("the rewards".into());
    } else {
        let given = knowledge.rewards().iter().filter(|r| r.table.is_some() && !learned.contains(&r.name.as_str()));
        known.extend(given.map(|r| format!("the reward {}", r.name)));
    }
    known.extend(knowledge.known_transitions().into_iter().map(|factor| format!("how {factor} changes")));
    let last = known.pop().unwrap_or_default();
    let known = if known.is_empty() { last } else { format!("{} and {last}", known.join(", ")) };
    let mut text = format!("known: {known}; to be learned: {}", to_learn(learner));
    if knowledge.knows_rewards() && !learned.is_empty() {
        let terms = if learned.len() == 1 { "term" } else { "terms" };
        text +=
            &format!(", and the mean of the reward {terms} {}, which depends on the next state", learned.join(", "));
    }
    match knowledge.guessed_mechanisms().is_empty() {
        true => text,
        // The same numbers are the guess and what is simulated.
        false => text + "\nnote: this simulation uses the guess as the truth; in real use it is as good as its source",
    }
}

/// As `dowise check` counts it.
fn to_learn(learner: &Learner) -> String {
    let weights = learner.as_linear().map_or(0, |linear| linear.n_weights());
    let [rows, numbers] = [learner.cells(), learner.numbers()].map(|n| table::count((n - weights) as u64));
    match (weights, learner.cells() > weights) {
        (0, _) => format!("{rows} rows, {numbers} numbers"),
        (weights, true) => {
            format!("{} weights, and of mechanisms {rows} rows, {numbers} numbers", table::count(weights as u64))
        }
        (weights, false) => format!("{} weights", table::count(weights as u64)),
    }
}
