//! Neither a prohibitive cost nor a catastrophe that can be avoided keeps a learner from telling the other interventions apart.

use dowise::learn::LearnerSpec;
use dowise::{Arena, World};

/// `good` reaches the state that pays, `idle` does not, and nobody sets `never`.
fn arena(cost: f64, pays: f64) -> Arena {
    let text = format!(
        r#"
dowise = 1
horizon = 4
[state.s]
values = 3
scope = ["s", "z"]
next = {{ rows = [{{ when = {{ z = "on" }}, shift = {{ "+1" = 1 }} }}, {{ shift = {{ "-1" = 0.5, "0" = 0.5 }} }}] }}
[lever.a]
values = ["idle", "good", "never"]
p = [1, 0, 0]
cost = {{ never = {cost} }}
[key.z]
values = ["off", "on"]
parents = ["a"]
noisy_or = {{ effects = {{ a = {{ good = 0.9, never = 0.95 }} }} }}
[reward.r]
scope = ["s"]
value = [0.0, 0.0, {pays}]
[interventions]
set = [{{}}, {{ a = "idle" }}, {{ a = "good" }}, {{ a = "never" }}]
"#
    );
    Arena::new(&World::from_toml(&text, "prohibitive.toml").unwrap_or_else(|e| panic!("{e}"))).unwrap()
}

/// Regret of the last fifty of two hundred episodes.
fn late_regret(arena: &Arena, learner: &str) -> f64 {
    let spec: LearnerSpec = learner.parse().unwrap();
    let mut learner = spec.learner(arena.world(), 200, 1).unwrap();
    let mut run = arena.run(1);
    (0..200).map(|_| run.episode(&mut learner).regret).skip(150).sum()
}

#[test]
fn learners_still_tell_the_other_interventions_apart() {
    for learner in ["graph-psrl", "graph-ucbvi", "cf-ucbvi", "c-psrl", "psrl", "greedy"] {
        for pays in [1.0, 0.001] {
            let arena = arena(1e9, pays);
            let regret = late_regret(&arena, learner);
            // Interventions at random that leave `never` alone lose more than a quarter of the best value in every episode.
            assert!(regret < 0.1 * 50.0 * arena.optimal(), "{learner}, {pays}: {regret} of {}", 50.0 * arena.optimal());
        }
    }
}

/// `act` reaches the state that pays `pays` with every second-best thing left behind; `risk` would lose `loses` half of the time.
fn with_catastrophe(loses: f64, pays: f64) -> Arena {
    let text = format!(
        r#"
dowise = 1
horizon = 3
[state.s]
values = ["bad", "good"]
scope = ["s", "z"]
next = {{ rows = [{{ when = {{ z = "yes" }}, p = [0.2, 0.8] }}, {{ p = [0.9, 0.1] }}] }}
start = {{ bad = 1 }}
[lever.x]
values = ["idle", "act", "risk"]
[key.z]
values = ["no", "yes", "crash"]
parents = ["x"]
rows = [{{ when = {{ x = "idle" }}, p = [0.9, 0.1, 0] }}, {{ when = {{ x = "act" }}, p = [0.1, 0.9, 0] }}, {{ p = [0, 0.5, 0.5] }}]
[reward.r]
scope = ["s", "z"]
rows = [{{ when = {{ z = "crash" }}, value = -{loses} }}, {{ when = {{ s = "good", z = "yes" }}, value = {pays} }}, {{ value = 0 }}]
[interventions]
set = "all"
"#
    );
    Arena::new(&World::from_toml(&text, "catastrophe.toml").unwrap_or_else(|e| panic!("{e}"))).unwrap()
}

#[test]
fn rewards_over_eleven_powers_of_ten_do_not_make_everything_a_tie() {
    for learner in ["graph-psrl", "graph-psrl:guard=true", "cf-psrl", "psrl", "greedy"] {
        for (loses, pays) in [(1e7, 1.0), (1e10, 1.0), (1e11, 1.0), (1e9, 0.01)] {
            let arena = with_catastrophe(loses, pays);
            let regret = late_regret(&arena, learner);
            // Between `idle` and `act` at random about half of the best value is lost in every episode.
            let best = 50.0 * arena.optimal();
            assert!(regret < 0.1 * best, "{learner}, {loses}, {pays}: {regret} of {best}");
        }
    }
}
