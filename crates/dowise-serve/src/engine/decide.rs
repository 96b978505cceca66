//! `decide`: looks the episode up, decides, and writes the decision with what waited for it.

use serde_json::Value;

use super::answers::{Decided, PolicyName, text};
use super::episodes::gone;
use super::{Answer, Engine, Failed};
use crate::decide::{Situation, all_samples};
use crate::problem::Problem;
use crate::request::{Decide, Observe};
use crate::served::Served;
use crate::step::{Parts, Step};
use crate::store::{Episode, Event, EventKind};

impl Engine {
    pub(super) fn decide(&mut self, world: usize, asked: &Decide, body: String, at: u64) -> Result<Answer, Failed> {
        let live = &self.worlds[world];
        let (served, name) = (live.served.clone(), live.served.name.clone());
        if let Some(answer) = self.before(&name, EventKind::Decide, &asked.event_id, &body)? {
            return Ok(answer);
        }
        let id = &asked.episode_id;
        let (mut episode, steps) = match self.store.episode(&name, id)? {
            Some(episode) => (episode, self.store.steps_of(&name, id)?),
            None => {
                let subject = asked.subject.clone();
                (
                    Episode { id: id.clone(), subject, opened: at, closed: None, decided: 0, forgotten: false },
                    Vec::new(),
                )
            }
        };
        let stage = check_place(&served, asked, &episode, &steps)?;
        if asked.subject.is_some() && asked.subject != episode.subject {
            return Err(Problem::conflict(format!("episode \"{id}\" is of another subject")).into());
        }
        let promised = self.promised(world, id)?;
        let snapshot = self.policy_for(world, promised.as_ref())?;
        let live = &self.worlds[world];
        let same_policy = steps.iter().filter(|s| s.version == snapshot.version);
        let situation = Situation {
            served: &served,
            snapshot: &snapshot,
            mode: live.standing.mode,
            key: &self.key,
            episode: id,
            stage,
            state: asked.state,
            forbid: &asked.forbid,
            kept: promised.as_ref().is_some_and(|p| p.whose.is_baseline()),
            consistent: same_policy.fold(all_samples(&snapshot), |bits, s| bits & s.agree),
        };
        let decision = situation.decide().map_err(|_| {
            Problem::field(
                "allowed",
                "with what is forbidden, no intervention is left, or none that can be shown to be the best",
            )
        })?;
        let foreseen = snapshot.foresee(&served, stage, asked.state, decision.action);
        let answer = text(&Decided {
            event_id: &asked.event_id,
            episode_id: id,
            stage: stage + 1,
            intervention: served.intervention(decision.action),
            propensity: decision.propensity,
            why: decision.why,
            guardrails: &decision.guardrails,
            proposed: decision.proposed.map(|a| served.intervention(a)),
            expected_keys: &foreseen.keys,
            expected_value: foreseen.value,
            policy: PolicyName { version: snapshot.version, hash: &snapshot.hash },
            mode: live.standing.mode,
        });
        let mut step = Step {
            event_id: asked.event_id.clone(),
            episode: id.clone(),
            stage,
            state: asked.state,
            action: decision.action,
            version: snapshot.version,
            agree: decision.agree,
            propensity: decision.propensity,
            at,
            parts: Parts::none(&served),
            learned: None,
            settled: false,
        };
        self.unpark(&served, &mut step)?;
        let effect = step.settle(&served);
        episode.decided = stage + 1;
        if step.parts.done || (step.settled && episode.decided == served.world.horizon()) {
            episode.closed = Some(at);
        }
        self.store.put_step(&name, &step)?;
        self.store.put_episode(&name, &episode)?;
        let event = Event::of(&name, EventKind::Decide, Some(&asked.event_id), Some(id), at, body, answer);
        let answer = self.append(event, &effect)?;
        self.note_promised(&served, id, promised, at)?;
        self.conclude(&served, &episode, false, at)?;
        Ok(answer)
    }

    /// Takes in what was observed before the decision came, in the order in which it came; what does not fit is left out.
    fn unpark(&mut self, served: &Served, step: &mut Step) -> Result<(), Failed> {
        let parked = self.store.parked(&served.name, &step.event_id)?;
        if parked.is_empty() {
            return Ok(());
        }
        for waiting in parked {
            let body: Value = serde_json::from_str(&waiting.request).unwrap_or_default();
            let Ok(observe) = Observe::read(served, &body) else { continue };
            let mut parts = step.parts.clone();
            let fits = parts.merge(served, &observe.parts, observe.correction).is_ok();
            if fits && step.with(parts.clone()).observation(served).is_ok() {
                step.settled |= parts.done;
                step.parts = parts;
            }
        }
        Ok(self.store.unpark(&served.name, &step.event_id, &step.episode)?)
    }
}

/// The stage that is decided, if the episode is there and its state can follow.
fn check_place(served: &Served, asked: &Decide, episode: &Episode, steps: &[Step]) -> Result<usize, Problem> {
    let id = &episode.id;
    if episode.forgotten {
        return Err(gone(id));
    }
    if episode.closed.is_some() {
        return Err(Problem::conflict(format!("episode \"{id}\" is closed; a new episode needs an id of its own")));
    }
    if served.world.has_ended(asked.state) {
        let state = served.world.describe_state(asked.state);
        return Err(Problem::conflict(format!(
            "episode \"{id}\" has ended: {state} is where the world's episodes end"
        )));
    }
    let horizon = served.world.horizon();
    if episode.decided >= horizon {
        return Err(Problem::conflict(format!("episode \"{id}\" has had all of its {horizon} decisions")));
    }
    if let Some(stage) = asked.stage.filter(|&stage| stage != episode.decided) {
        let (given, next) = (stage + 1, episode.decided + 1);
        return Err(Problem::conflict(format!("episode \"{id}\" is at stage {next}, not at stage {given}")));
    }
    if let Some(known) = steps.last().and_then(|s| s.parts.next).filter(|&known| known != asked.state) {
        let [known, given] = [known, asked.state].map(|s| served.world.describe_state(s));
        return Err(Problem::conflict(format!(
            "episode \"{id}\" was observed to be in {known} now, not in {given}; correct the observation, or the state"
        )));
    }
    Ok(episode.decided)
}
