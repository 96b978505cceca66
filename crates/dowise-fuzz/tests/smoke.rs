//! A few hundred cases of every kind: none fails, and enough are accepted to be worth something.

use dowise_fuzz::work::attempt;
use dowise_fuzz::{Case, Corpus, Kind, Outcome};

#[test]
fn a_few_cases_of_every_kind_hold() {
    let corpus = Corpus::new();
    for kind in Kind::ALL {
        let (mut accepted, mut refused) = (0, 0);
        for number in 0..250 {
            let case = Case::made(&corpus, &[kind], 1, number);
            let (outcome, failed) = attempt(&corpus, &case);
            assert_eq!(failed, None, "{}", case.to_file());
            match outcome {
                Outcome::Accepted => accepted += 1,
                Outcome::Refused(_) => refused += 1,
                Outcome::Wrong(_) => unreachable!("invariant: said to have failed"),
            }
        }
        assert!(accepted > 25 && refused > 25, "{kind:?}: {accepted} accepted, {refused} refused");
    }
}

#[test]
fn a_case_is_a_function_of_seed_and_number_and_survives_its_file() {
    let (corpus, again) = (Corpus::new(), Corpus::new());
    for number in 0..100 {
        let case = Case::made(&corpus, &Kind::ALL, 7, number);
        assert_eq!(case, Case::made(&again, &Kind::ALL, 7, number));
        assert_eq!(Case::from_file(&case.to_file()), Some(case));
    }
}
