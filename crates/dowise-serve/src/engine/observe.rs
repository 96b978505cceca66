//! `observe`: adds what was seen to its step, which is learned from once it is complete or no more is waited for.

use super::answers::{Observed, text};
use super::episodes::gone;
use super::{Answer, Engine, Failed};
use crate::problem::Problem;
use crate::request::Observe;
use crate::served::Served;
use crate::step::{Effect, Step};
use crate::store::{Event, EventKind};

impl Engine {
    pub(super) fn observe(&mut self, world: usize, seen: &Observe, body: String, at: u64) -> Result<Answer, Failed> {
        let served = self.worlds[world].served.clone();
        let name = served.name.clone();
        if let Some(answer) = self.before(&name, EventKind::Observe, &seen.observation_id, &body)? {
            return Ok(answer);
        }
        let said = |status, complete| {
            text(&Observed { observation_id: &seen.observation_id, event_id: &seen.event_id, status, complete })
        };
        let event = |episode, answer| {
            Event::of(&name, EventKind::Observe, Some(&seen.observation_id), episode, at, body.clone(), answer)
        };
        let Some(mut step) = self.store.step(&name, &seen.event_id)? else {
            let answer = self.append(event(None, said("parked", false)), &Effect::default())?;
            self.store.park(&name, &seen.event_id, answer.seq)?;
            return Ok(answer);
        };
        let missing = || Failed::Store(crate::store::StoreError("a step without its episode".into()));
        let mut episode = self.store.episode(&name, &step.episode)?.ok_or_else(missing)?;
        if episode.forgotten {
            return Err(gone(&step.episode).into());
        }
        // Only where the next stage was decided already can what followed contradict it.
        let steps =
            if episode.decided > step.stage + 1 { self.store.steps_of(&name, &step.episode)? } else { Vec::new() };
        let next = steps.get(step.stage + 1);
        add(&served, &mut step, seen, next)?;
        step.settled |= step.parts.done || episode.closed.is_some();
        let effect = step.settle(&served);
        let last = episode.decided == served.world.horizon() && step.stage + 1 == episode.decided && step.settled;
        if (step.parts.done || last) && episode.closed.is_none() {
            episode.closed = Some(at);
            self.store.put_episode(&name, &episode)?;
        }
        self.store.put_step(&name, &step)?;
        let answer = said("accepted", step.parts.is_complete(&served));
        let answer = self.append(event(Some(&step.episode), answer), &effect)?;
        if seen.correction {
            self.doubt(&served, &step.episode, at)?;
        }
        self.conclude(&served, &episode, false, at)?;
        Ok(answer)
    }

    /// No more is waited for: what was declared takes the place of key variables that nothing was heard of.
    pub(super) fn time_out(&mut self, world: usize, event_id: &str, body: String, at: u64) -> Result<Answer, Failed> {
        let served = self.worlds[world].served.clone();
        let name = served.name.clone();
        let Some(mut step) = self.store.step(&name, event_id)? else {
            return Err(Problem::not_found(format!("there is no decision \"{event_id}\"")).into());
        };
        step.parts.timed_out = true;
        let effect = step.settle(&served);
        let mut episode = self.store.episode(&name, &step.episode)?;
        if step.stage + 1 == served.world.horizon()
            && let Some(episode) = &mut episode
        {
            episode.closed = episode.closed.or(Some(at));
            self.store.put_episode(&name, episode)?;
        }
        self.store.put_step(&name, &step)?;
        let (of, answer) = (Some(step.episode.as_str()), "{}".to_owned());
        let event = Event::of(&name, EventKind::Timeout, Some(event_id), of, at, body, answer);
        let answer = self.append(event, &effect)?;
        if let Some(episode) = &episode {
            self.conclude(&served, episode, false, at)?;
        }
        Ok(answer)
    }
}

/// Adds what was seen, if it contradicts nothing that is known.
fn add(served: &Served, step: &mut Step, seen: &Observe, next: Option<&Step>) -> Result<(), Problem> {
    let id = &step.event_id;
    step.parts.merge(served, &seen.parts, seen.correction).map_err(|field| {
        Problem::conflict(format!(
            "{field} of event \"{id}\" was observed before as something else; send \"correction\": true to replace it"
        ))
    })?;
    if let Err(error) = step.with(step.parts.clone()).observation(served) {
        return Err(Problem::field("observation", error.to_string()));
    }
    if let (Some(next), Some(state)) = (next, step.parts.next)
        && next.state != state
    {
        let [known, given] = [next.state, state].map(|s| served.world.describe_state(s));
        return Err(Problem::conflict(format!(
            "the next stage was decided in {known}, so {given} cannot have followed"
        )));
    }
    Ok(())
}
