//! Assumptions about how interventions were assigned: no unmeasured confounding, and propensities.

use super::checks::{sharpness, short};
use super::{About, Assumption, Declared, MARKOV_LEVEL, MarkovCheck, Status};
use crate::learn::Knowledge;
use crate::messages::and;
use crate::offline::PropensityTest;
use crate::offline::fit::RandomisedOnly;
use crate::world::{Mechanism, VarId};

/// Whether something that is not recorded acts on a lever and on an outcome. `check` compares outcomes of randomised
/// and other steps; `None` if the log does not have both.
pub(super) fn confounding(knowledge: &Knowledge, declared: &Declared, check: Option<&MarkovCheck>) -> Assumption {
    let about = About::Confounding;
    if let Some(MarkovCheck { contradicted, tested, .. }) = check.filter(|check| !check.contradicted.is_empty()) {
        let more = match contradicted.len() - 1 {
            0 => String::new(),
            n => format!("; and {n} more of {tested} outcomes differ"),
        };
        let statement =
            format!("Randomised and other rows contradict it at level {MARKOV_LEVEL}: {}{more}.", contradicted[0]);
        let remedy = "declare the hidden cause in the world file, as a parent of the lever and of the outcome: its effect \
                      is then learned from the randomised rows only; or leave out the other rows";
        return Assumption { about, status: Status::Failed, statement, remedy: remedy.to_owned() };
    }
    let compared = compared(check);
    let only = declared.randomised_only.as_ref().map_or(String::new(), from_randomised);
    let levers: Vec<&str> = knowledge.levers().iter().map(|&id| knowledge.variable(id).name.as_str()).collect();
    let free: Vec<&str> = levers.into_iter().filter(|name| !declared.randomised.iter().any(|r| r == name)).collect();
    let adjusted = adjusted_outcomes(knowledge).map_or(String::new(), |(outcomes, levers)| {
        format!(
            " The hidden causes that {levers} shares with {outcomes} are adjusted for by the logged values of {levers} \
             (front-door adjustment), given that {levers} acts on {outcomes} only through what the graph says."
        )
    });
    // Randomisation of levers says nothing about key variables.
    let between =
        "Nothing that is missing in the log or the graph acts on a key variable and on a next state or reward.";
    if free.is_empty() {
        let statement = format!("Every lever was randomised, as stated with --randomised. {between}{adjusted}");
        return Assumption { about, status: Status::Assumed, statement, remedy: String::new() };
    }
    let others = if adjusted.is_empty() && only.is_empty() { "No" } else { "No other" };
    let cannot = if compared.is_empty() && only.is_empty() { " No log can show this." } else { "" };
    let statement = format!(
        "{others} cause of the outcome that is missing in the log or the graph affected how {} was set. \
         {between}{cannot}{adjusted}{only}{compared}",
        free.join(", ")
    );
    let remedy =
        "if a lever was randomised, pass --randomised; if not, declare its hidden causes in the world file".to_owned();
    Assumption { about, status: Status::Assumed, statement, remedy }
}

/// What the comparison of randomised and other steps shows, in words; empty if the log does not have both.
fn compared(check: Option<&MarkovCheck>) -> String {
    let Some(MarkovCheck { tested, weak, .. }) = check else { return String::new() };
    const DRAWN: &str = " In the rows with `randomised`, a draw that depends on recorded variables only set all levers; \
                         no log can show that.";
    if *tested == 0 {
        return format!("{DRAWN} Randomised and other rows say too little about confounding: {weak}.");
    }
    let (_, rest) = sharpness(weak);
    format!(
        "{DRAWN} Randomised and other rows were compared: given its parents, none of {tested} outcomes differs at level \
         {MARKOV_LEVEL}{rest}. This proves nothing."
    )
}

fn from_randomised(only: &RandomisedOnly) -> String {
    let (levers, variables) = (and(&only.levers), and(&only.variables));
    format!(
        " Declared hidden causes act on {levers} and on {variables}. What {levers} does to {variables} is learned from \
         randomised rows only, in which a draw set all levers. Which rows are randomised depends on recorded variables \
         only. No log can show this."
    )
}

/// Whether interventions were assigned as their propensities say; `None` if the log has no propensities.
pub(super) fn propensities(test: Option<&PropensityTest>) -> Option<Assumption> {
    let test = test.filter(|test| test.steps > 0)?;
    let of = |status, statement, remedy: &str| {
        let (about, remedy) = (About::Propensities, remedy.to_owned());
        Some(Assumption { about, status, statement, remedy })
    };
    let Some(clearest) = test.clearest.as_ref().filter(|_| test.is_contradicted()) else {
        if !test.is_tested() {
            let why = format!("{} steps with propensities are too few to compare with frequencies.", test.steps);
            return of(Status::NotTested, why, "");
        }
        let why = format!(
            "Interventions occur about as often as their propensities say: none of {} frequencies differs at level 0.001.",
            test.compared
        );
        return of(Status::Passed, why, "");
    };
    let expected = clearest.expected.map_or("fewer".to_owned(), |n| format!("about {n:.0}"));
    let why = format!(
        "Interventions were not assigned as the column `propensity` says: in state {}, {} was logged in {} of {} steps, and \
         its propensities say {expected} (p = {}). The doubly robust estimate uses frequencies instead.",
        clearest.place,
        clearest.intervention,
        clearest.found,
        clearest.steps,
        short(test.p)
    );
    let remedy = "look for rows that were filtered or lost, and for rows by bots; if the rows are right, remove the column \
                  `propensity`";
    of(Status::Failed, why, remedy)
}

/// The outcomes that are adjusted for logged levers, and these levers; `None` if there are none.
fn adjusted_outcomes(knowledge: &Knowledge) -> Option<(String, String)> {
    let world = knowledge.world();
    let name = |id: VarId| world.variable(id).name.clone();
    let is_adjusted = |m: &&Mechanism| m.parents.iter().any(|&id| world.logged_lever(id).is_some());
    let levers: Vec<String> = world.keys().iter().filter_map(|&id| world.logged_lever(id)).map(name).collect();
    let next = world.transitions().iter().filter(is_adjusted).map(|m| format!("the next {}", name(m.children[0])));
    let keys = world.mechanisms().iter().filter(is_adjusted).map(|m| m.children[0]);
    let keys = keys.filter(|&id| world.logged_lever(id).is_none()).map(name);
    (!levers.is_empty()).then(|| (and(&next.chain(keys).collect::<Vec<_>>()), and(&levers)))
}
