//! The record of an answer says how each quantity is identified.

use dowise::World;
use dowise::offline::fit::{FitOptions, Fitting};
use dowise::offline::{About, AssumptionRecord, Episodes, Identification, Recommendation, Status, plan_safely};

use super::harm::{read_log_of, world};
use super::logger::{constant, logger, quick};
use crate::common;

/// The lever x acts on the key variable k, and k on the next y, which pays.
const CHAIN: &str = "dowise = 1\nhorizon = 2\n[state.y]\nvalues = [\"no\", \"yes\"]\nscope = [\"k\", \"y\"]\nstart = \"no\"\n\
    [lever.x]\nvalues = [\"no\", \"yes\"]\n[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\"]\n\
    [reward.r]\nscope = [\"y\"]\nvalue = [0, 1]\n[interventions]\nset = \"all\"\n";

/// Two episodes in which y never becomes yes before the last step.
const LOG: &str =
    "episode,stage,y,x,k,next.y\n1,1,no,yes,yes,no\n1,2,no,no,no,yes\n2,1,no,yes,no,no\n2,2,no,yes,yes,yes\n";

fn record(of: &World, text: &str, keep: &[&str], randomised: &[&str]) -> AssumptionRecord {
    plan_safely(&read_log_of(of, text.to_owned(), keep, randomised), &quick()).unwrap().record
}

fn by(record: &AssumptionRecord, quantity: &str) -> Identification {
    let found = record.identification.iter().find(|of| of.quantity == quantity);
    found.unwrap_or_else(|| panic!("{quantity}: {record:?}")).by
}

#[test]
fn quantities_are_identified_by_randomisation_or_adjustment_or_the_world_file() {
    let of = world(CHAIN);
    let drawn = record(&of, LOG, &["rewards"], &["x"]);
    assert_eq!(by(&drawn, "P(k | x)"), Identification::Randomised);
    assert_eq!(by(&drawn, "P(next y | k, y)"), Identification::BackDoor);
    assert_eq!(by(&drawn, "reward r(y)"), Identification::WorldFile);
    let observed = record(&of, LOG, &["rewards"], &[]);
    assert_eq!(by(&observed, "P(k | x)"), Identification::BackDoor);
    let chain = observed.identification.iter().find(|of| of.quantity == "P(k | x)").unwrap();
    assert_eq!(chain.if_true, "nothing unrecorded acts on k and on x");
    assert_eq!([chain.steps, chain.rows, chain.unseen], [4, 2, 0]);
    let moves = observed.identification.iter().find(|of| of.quantity == "P(next y | k, y)").unwrap();
    assert_eq!([moves.steps, moves.rows, moves.unseen], [4, 4, 2]);
}

#[test]
fn quantities_without_a_logged_step_rest_on_the_prior_only() {
    let without_keys =
        LOG.replace(",yes,yes,", ",yes,,").replace(",no,no,yes", ",no,,yes").replace(",yes,no,", ",yes,,");
    assert!(!without_keys.contains("yes,yes,no"), "{without_keys}");
    let record = record(&world(CHAIN), &without_keys, &["rewards"], &[]);
    assert_eq!(by(&record, "P(k | x)"), Identification::PriorOnly);
}

#[test]
fn numbers_that_a_hidden_cause_hides_are_not_recommended_on_unless_they_are_kept() {
    let doctors = World::from_toml(common::DOCTORS, "doctors.toml").unwrap();
    let plan = |keep: &[&str]| {
        let keep = keep.iter().map(|&name| name.to_owned()).collect();
        let fitting = Fitting::new(&doctors, FitOptions { keep, ..FitOptions::default() }).unwrap();
        let drawn = logger(&doctors, 1.0);
        assert_eq!(drawn.policy_hs.len(), constant(&doctors, 0).len());
        let log: Episodes = drawn.log_of_fit(&fitting, 2000, 3);
        plan_safely(&log, &quick()).unwrap()
    };
    let refused = plan(&[]);
    let identified = refused.record.about(About::Identification).expect("a hidden cause");
    assert_eq!(identified.status, Status::Failed);
    assert!(matches!(refused.recommendation, Recommendation::Refused { because: About::Identification }));
    let kept: Vec<String> = refused
        .record
        .identification
        .iter()
        .filter(|of| of.by == Identification::NotIdentified)
        .map(|of| of.quantity.clone())
        .collect();
    assert!(!kept.is_empty());
    // The remedy, followed.
    let confirmed = plan(&["mechanisms", "transitions"]);
    assert!(confirmed.record.about(About::Identification).is_none(), "{:?}", confirmed.record);
    assert!(!matches!(confirmed.recommendation, Recommendation::Refused { .. }), "{:?}", confirmed.recommendation);
}
