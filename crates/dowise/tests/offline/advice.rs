//! Remedies of failed assumptions, followed to the letter on logs with a known truth: then the assumption holds, and
//! the recommended plan is better than the behaviour policy.

use dowise::offline::{About, OfflineOptions, Recommendation, SafePlan, Status, plan_safely};
use dowise::world::LearnedForm;
use dowise::{Action, Planner, World};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::harm::{deploys, read_log, world};
use super::logger::quick;

const YES: [&str; 2] = ["no", "yes"];

/// A log of episodes; each gives its lines by a generator, without the number of the episode.
fn log_of(header: &str, episodes: u64, seed: u64, rows: impl Fn(u64, &mut ChaCha8Rng) -> Vec<String>) -> String {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = format!("episode,stage,{header}\n");
    for episode in 0..episodes {
        for (i, row) in rows(episode, &mut rng).into_iter().enumerate() {
            text += &format!("{episode},{},{row}\n", i + 1);
        }
    }
    text
}

fn plan(read_as: &World, log: &str, keep: &[&str]) -> SafePlan {
    let options = OfflineOptions { samples: 100, ..quick() };
    plan_safely(&read_log(read_as, log.to_owned(), keep), &options).unwrap()
}

/// Checks that the log contradicts the assumption, with this remedy.
fn advises(plan: &SafePlan, about: About, remedy: &str) {
    let found = plan.record.about(about).unwrap();
    assert_eq!(found.status, Status::Failed, "{}", found.statement);
    assert!(found.remedy.contains(remedy), "{}", found.remedy);
    assert!(matches!(plan.recommendation, Recommendation::Refused { .. }), "{:?}", plan.recommendation);
}

/// Checks that nothing failed, and that the recommended plan is worth more than the behaviour policy in this world.
fn helped(plan: &SafePlan, truth: &World, today: f64) {
    assert_eq!(plan.record.failed(), None);
    assert!(deploys(plan), "{:?}", plan.recommendation);
    let planner = Planner::new(truth).unwrap();
    let value = planner.from_start(&planner.evaluate(&plan.recommended().policy_hs).unwrap()[..truth.n_states()]);
    let found = plan.recommended().model.posterior;
    assert!(value > today, "{value} {today}");
    assert!(found.low - 0.05 < value && value < found.high + 0.05, "{value} {found:?}");
}

#[test]
fn a_state_factor_that_remembers_the_cause_makes_a_later_effect_right() {
    // Pushing sells at once with 0.5 instead of 0.2, and costs 0.5 of the next sale's probability.
    let p = |x: usize, m: usize| 0.55 + 0.3 * x as f64 - 0.5 * m as f64;
    let log = |remembers: bool| {
        let header = if remembers { "m,x,k,next.m" } else { "s,x,k,next.s" };
        log_of(header, 1500, 1, |_, rng| {
            let mut m = 0;
            let mut step = |_| {
                let x = usize::from(rng.random_bool(0.5));
                let k = usize::from(rng.random_bool(p(x, m)));
                let line = if remembers {
                    format!("{},{},{},{}", YES[m], YES[x], YES[k], YES[x])
                } else {
                    format!("only,{},{},only", YES[x], YES[k])
                };
                m = x;
                line
            };
            (0..4).map(&mut step).collect()
        })
    };
    let text = |state: &str, parents: &str, of_k: &str| {
        world(&format!(
            "dowise = 1\nhorizon = 4\n{state}\n[lever.x]\nvalues = [\"no\", \"yes\"]\n[key.k]\nvalues = [\"no\", \"yes\"]\n\
             parents = [{parents}]\n{of_k}\n[reward.r]\nscope = [\"k\"]\nvalue = [0, 1]\n[interventions]\nset = \"all\"\n"
        ))
    };
    let without = text("[state.s]\nvalues = [\"only\"]\nscope = [\"s\"]\nnext = [[1]]", "\"x\"", "learn = \"table\"");
    advises(&plan(&without, &log(false), &["rewards"]), About::Markov, "add that state factor");
    let memory = "[state.m]\nvalues = [\"no\", \"yes\"]\nstart = \"no\"\nscope = [\"x\"]\nnext = [[1, 0], [0, 1]]";
    let row = |x, m| format!("[{}, {}]", 1.0 - p(x, m), p(x, m));
    let of_k = format!("p = [[{}, {}], [{}, {}]]", row(0, 0), row(0, 1), row(1, 0), row(1, 1));
    let truth = text(memory, "\"x\", \"m\"", &of_k);
    let with = text(memory, "\"x\", \"m\"", "learn = \"table\"");
    let today = 4.0 * 0.7 - 3.0 * 0.25;
    helped(&plan(&with, &log(true), &["rewards", "transitions"]), &truth, today);
}

#[test]
fn a_mechanism_as_a_table_is_right_where_its_form_does_not_fit() {
    let p = |n: usize| if n == 3 { 0.05 } else { 0.2 + 0.15 * n as f64 };
    let log = log_of("a,b,c,k", 3000, 2, |_, rng| {
        // All three together are rare.
        let mut set = [0; 3].map(|_| usize::from(rng.random_bool(0.45)));
        if set == [1, 1, 1] && rng.random_bool(0.7) {
            set[0] = 0;
        }
        let k = usize::from(rng.random_bool(p(set.iter().sum())));
        vec![format!("{},{},{},{}", YES[set[0]], YES[set[1]], YES[set[2]], YES[k])]
    });
    let levers: String = ["a", "b", "c"].map(|name| format!("[lever.{name}]\nvalues = [\"no\", \"yes\"]\n")).concat();
    let of = |of_k: &str| {
        world(&format!(
            "dowise = 1\nhorizon = 1\n{levers}[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"a\", \"b\", \"c\"]\n{of_k}\n\
             [reward.sale]\nscope = [\"k\"]\nvalue = [0, 1]\n[interventions]\nset = \"all\"\n"
        ))
    };
    advises(&plan(&of("learn = \"logit\""), &log, &["rewards"]), About::Forms, "learn = \"table\"");
    let rows: Vec<String> =
        (0..8usize).map(|i| p(i.count_ones() as usize)).map(|p| format!("[{}, {p}]", 1.0 - p)).collect();
    let square = |i: usize| format!("[[{}, {}], [{}, {}]]", rows[i], rows[i + 1], rows[i + 2], rows[i + 3]);
    let truth = of(&format!("p = [{}, {}]", square(0), square(4)));
    let read_as = of("learn = \"table\"");
    assert!(read_as.mechanisms().iter().all(|m| m.assumed.form == LearnedForm::Table));
    helped(&plan(&read_as, &log, &["rewards"]), &truth, 0.4);
}

#[test]
fn a_state_factor_that_says_who_left_makes_endings_right() {
    // Pushing pays more and ends half of the episodes.
    let log = |knows: bool| {
        let header = if knows { "s,x,reward.r,next.s,end" } else { "x,reward.r,end" };
        log_of(header, 1500, 3, |_, rng| {
            let mut rows = Vec::new();
            for stage in 1..=4 {
                let x = usize::from(rng.random_bool(0.5));
                let leaves = x == 1 && rng.random_bool(0.5);
                let end = if leaves && stage < 4 { "terminated" } else { "" };
                let rest = format!("{},{}", YES[x], [1.0, 1.2][x]);
                let next = if leaves { "gone" } else { "here" };
                rows.push(if knows { format!("here,{rest},{next},{end}") } else { format!("{rest},{end}") });
                if leaves {
                    break;
                }
            }
            rows
        })
    };
    let of = |state: &str, value: &str| {
        world(&format!(
            "dowise = 1\nhorizon = 4\n{state}\n[lever.x]\nvalues = [\"no\", \"yes\"]\n[reward.r]\nscope = [\"x\"]\nrange = [0, 2]\n\
             {value}\n[interventions]\nset = \"all\"\n"
        ))
    };
    let advised = plan(&of("", "learn = true"), &log(false), &[]);
    advises(&advised, About::Endings, "add a state factor if an intervention can end them");
    let state = |next: &str| {
        format!(
            "ends = {{ when = {{ s = \"gone\" }} }}\n[state.s]\nvalues = [\"here\", \"gone\"]\nscope = [\"x\"]\nstart = \"here\"\n{next}"
        )
    };
    let truth = of(&state("next = [[1, 0], [0.5, 0.5]]"), "value = [1.0, 1.2]");
    // Of those still here, half are pushed and a quarter leave.
    let today = 1.1 * (1.0 + 0.75 + 0.75 * 0.75 + 0.75f64.powi(3));
    helped(&plan(&of(&state(""), "learn = true"), &log(true), &[]), &truth, today);
}

#[test]
fn an_arrow_that_the_graph_test_misses_makes_the_graph_right() {
    let p = |s: usize, x: usize| if s == 0 { [0.3, 0.7][x] } else { [0.8, 0.2][x] };
    let log = log_of("s,x,k", 1500, 4, |_, rng| {
        let (s, x) = (usize::from(rng.random_bool(0.4)), usize::from(rng.random_bool(0.5)));
        vec![format!("{},{},{}", YES[s], YES[x], YES[usize::from(rng.random_bool(p(s, x)))])]
    });
    let of = |parents: &str, of_k: &str| {
        world(&format!(
            "dowise = 1\nhorizon = 1\n[state.s]\nvalues = [\"no\", \"yes\"]\nstart = [0.6, 0.4]\n[lever.x]\nvalues = [\"no\", \"yes\"]\n\
             [key.k]\nvalues = [\"no\", \"yes\"]\nparents = [{parents}]\n{of_k}\n[reward.r]\nscope = [\"k\"]\nvalue = [0, 1]\n\
             [interventions]\nset = \"all\"\n"
        ))
    };
    let advised = plan(&of("\"x\"", "learn = \"table\""), &log, &["rewards"]);
    advises(&advised, About::Graph, "change the graph");
    let statement = &advised.record.about(About::Graph).unwrap().statement;
    assert!(statement.contains("k ⊥ s | x"), "the finding names the arrow: {statement}");
    let row = |s, x| format!("[{}, {}]", 1.0 - p(s, x), p(s, x));
    let of_k = format!("p = [[{}, {}], [{}, {}]]", row(0, 0), row(0, 1), row(1, 0), row(1, 1));
    let truth = of("\"s\", \"x\"", &of_k);
    helped(&plan(&of("\"s\", \"x\"", "learn = \"table\""), &log, &["rewards"]), &truth, 0.5);
}

#[test]
fn episodes_after_a_change_alone_give_a_right_plan() {
    let p = |late: bool, x: usize| if late { [0.7, 0.3] } else { [0.2, 0.8] }[x];
    let log = |first: u64| {
        log_of("x,k", 3000, 5, |episode, rng| {
            let (x, late) = (usize::from(rng.random_bool(0.5)), episode >= 1500);
            let k = usize::from(rng.random_bool(p(late, x)));
            if episode < first { Vec::new() } else { vec![format!("{},{}", YES[x], YES[k])] }
        })
    };
    let of = |of_k: &str| {
        world(&format!(
            "dowise = 1\nhorizon = 1\n[lever.x]\nvalues = [\"no\", \"yes\"]\n[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\"]\n\
             {of_k}\n[reward.r]\nscope = [\"k\"]\nvalue = [0, 1]\n[interventions]\nset = \"all\"\n"
        ))
    };
    let read_as = of("learn = \"table\"");
    advises(&plan(&read_as, &log(0), &["rewards"]), About::Stationarity, "leave out the episodes before the change");
    helped(&plan(&read_as, &log(1500), &["rewards"]), &of("p = [[0.3, 0.7], [0.7, 0.3]]"), 0.5);
}

#[test]
fn an_arrow_of_a_rare_lethal_lever_makes_the_plan_right() {
    let log = log_of("s,x,k,next.s", 3000, 6, |_, rng| {
        let mut rows = Vec::new();
        for _ in 0..3 {
            let x = usize::from(rng.random_bool(0.02));
            let k = usize::from(rng.random_bool([0.5, 0.6][x]));
            let dies = rng.random_bool([0.01, 0.7][x]);
            rows.push(format!("alive,{},{},{}", YES[x], YES[k], if dies { "dead" } else { "alive" }));
            if dies {
                break;
            }
        }
        rows
    });
    let of = |scope: &str| {
        world(&format!(
            "dowise = 1\nhorizon = 3\nends = {{ when = {{ s = \"dead\" }} }}\n[lever.x]\nvalues = [\"no\", \"yes\"]\n[key.k]\n\
             values = [\"no\", \"yes\"]\nparents = [\"x\"]\nlearn = \"table\"\n[interventions]\nset = \"all\"\n[state.s]\n\
             values = [\"dead\", \"alive\"]\nstart = \"alive\"\nscope = [{scope}]\n[reward.r]\nscope = [\"k\"]\nvalue = [0, 1]\n"
        ))
    };
    let advised = plan(&of("\"s\", \"k\""), &log, &["rewards"]);
    let found = advised.record.failed().unwrap();
    assert!(matches!(found.about, About::Graph | About::Outcomes), "{}", found.statement);
    // With the arrow, the plan sets x only at the last stage, where dying costs nothing.
    let (followed, world) = (plan(&of("\"s\", \"x\""), &log, &["rewards"]), of("\"s\", \"x\""));
    assert_eq!(followed.record.failed(), None);
    let sets = |policy: &[Action]| [0, 1, 2].map(|h| world.interventions().rank(policy[2 * h + 1]) == Some(1));
    assert_eq!(sets(&advised.mean.policy_hs), [true; 3]);
    assert_eq!(sets(&followed.mean.policy_hs), [false, false, true]);
}
