//! Episodes that end, and episodes that are forgotten.

use super::answers::{EpisodeSaid, text};
use super::{Answer, Engine, Failed};
use crate::problem::Problem;
use crate::step::{Effect, Parts};
use crate::store::{Episode, Event, EventKind, StoreError};

impl Engine {
    /// Opens an episode, so that it has a subject before its first decision.
    pub(super) fn open_episode(
        &mut self,
        world: usize,
        id: &str,
        subject: Option<&str>,
        body: String,
        at: u64,
    ) -> Result<Answer, Failed> {
        let name = self.worlds[world].served.name.clone();
        if let Some(answer) = self.before(&name, EventKind::Open, id, &body)? {
            return Ok(answer);
        }
        if self.store.episode(&name, id)?.is_some() {
            return Err(Problem::conflict(format!(
                "there is an episode \"{id}\" already; a new one needs an id of its own"
            ))
            .into());
        }
        let subject = subject.map(str::to_owned);
        let episode = Episode { id: id.to_owned(), subject, opened: at, closed: None, decided: 0, forgotten: false };
        self.store.put_episode(&name, &episode)?;
        let answer = text(&EpisodeSaid { episode_id: id, status: "open", steps: 0 });
        let event = Event::of(&name, EventKind::Open, Some(id), Some(id), at, body, answer);
        self.append(event, &Effect::default())
    }

    /// Removes the names of episodes that ended before a time, and of observations that have waited for a decision since then; what was
    /// learned from them stays. Episodes that were opened before it and have not ended are closed. At most `most` of each.
    pub fn expire(&mut self, world: usize, before: u64, most: usize, at: u64) -> Result<usize, Failed> {
        let served = self.worlds[world].served.clone();
        let name = served.name.clone();
        for id in self.store.unended(&name, before, most)? {
            let body = serde_json::json!({"episode_id": id});
            self.handle(world, &super::Request::Close { episode: id }, &body, at)?;
        }
        let mut expired = 0;
        for id in self.store.ended(&name, before, most)? {
            // One that is to be forgotten waits for the policy that knows nothing of it.
            if let Some(episode) = self.store.episode(&name, &id)?.filter(|e| !e.forgotten) {
                self.conclude(&served, &episode, true, at)?;
                self.store.blank(&name, &id, true)?;
                expired += 1;
            }
        }
        Ok(expired + self.store.blank_parked(&name, before, most)?)
    }

    /// Ends an episode: its steps are learned from with what is there.
    pub(super) fn close(&mut self, world: usize, id: &str, body: String, at: u64) -> Result<Answer, Failed> {
        let served = self.worlds[world].served.clone();
        let name = served.name.clone();
        if let Some(answer) = self.before(&name, EventKind::Close, id, &body)? {
            return Ok(answer);
        }
        let Some(mut episode) = self.store.episode(&name, id)? else { return Err(unknown(id)) };
        if episode.forgotten {
            return Err(gone(id).into());
        }
        let mut effect = Effect::default();
        let mut steps = 0;
        for mut step in self.store.steps_of(&name, id)? {
            step.settled = true;
            let Effect { back, add } = step.settle(&served);
            effect.back.extend(back);
            effect.add.extend(add);
            steps += usize::from(step.learned.is_some());
            self.store.put_step(&name, &step)?;
        }
        episode.closed = episode.closed.or(Some(at));
        self.store.put_episode(&name, &episode)?;
        let answer = text(&EpisodeSaid { episode_id: id, status: "closed", steps });
        let event = Event::of(&name, EventKind::Close, Some(id), Some(id), at, body, answer);
        let answer = self.append(event, &effect)?;
        self.conclude(&served, &episode, false, at)?;
        Ok(answer)
    }

    /// Takes back all that was learned from an episode; once a policy was made without it, what its events say is removed.
    pub(super) fn forget(&mut self, world: usize, id: &str, body: String, at: u64) -> Result<Answer, Failed> {
        let name = self.worlds[world].served.name.clone();
        let served = self.worlds[world].served.clone();
        let Some(mut episode) = self.store.episode(&name, id)? else { return Err(unknown(id)) };
        if episode.forgotten {
            return Err(gone(id).into());
        }
        let mut effect = Effect::default();
        let mut steps = self.store.steps_of(&name, id)?;
        for step in &mut steps {
            if let Some(parts) = step.learned.take() {
                effect.back.push(step.with(parts));
            }
        }
        let answer = text(&EpisodeSaid { episode_id: id, status: "forgotten", steps: effect.back.len() });
        let event = Event::of(&name, EventKind::Forget, None, Some(id), at, body, answer);
        let answer = self.append(event, &effect)?;
        // What it returned was returned, whoever asks for it to be forgotten; a sum without names stays of it.
        self.conclude(&served, &episode, true, at)?;
        for mut step in steps {
            // Nothing that comes later is learned from.
            step.parts = Parts::none(&served);
            step.settled = true;
            self.store.put_step(&name, &step)?;
        }
        episode.closed = Some(at);
        episode.forgotten = true;
        self.store.put_episode(&name, &episode)?;
        self.store.put_value(&format!("forget/{name}/{id}"), answer.seq.to_string().as_bytes())?;
        Ok(answer)
    }

    /// Removes what the events of forgotten episodes say, once a policy was made that knows nothing of them.
    pub(super) fn forget_for_good(&mut self, name: &str, learned: u64) -> Result<(), StoreError> {
        let prefix = format!("forget/{name}/");
        for (key, value) in self.store.values(&prefix)? {
            let seq: u64 = String::from_utf8_lossy(&value).parse().unwrap_or(u64::MAX);
            if seq <= learned {
                self.store.blank(name, &key[prefix.len()..], false)?;
                self.store.remove_value(&key)?;
                // It may have been shown the episode; who watches makes it again.
                self.store.remove_value(&crate::graph_watch::name(name))?;
                self.store.put_value(&format!("forgotten/{name}"), learned.to_string().as_bytes())?;
            }
        }
        Ok(())
    }
}

/// 410: it was asked that nothing be kept of it.
pub(super) fn gone(id: &str) -> Problem {
    Problem::gone(format!("episode \"{id}\" was deleted; a new episode needs an id of its own"))
}

fn unknown(id: &str) -> Failed {
    Problem::not_found(format!("there is no episode \"{id}\"; an episode begins with its first decision")).into()
}
