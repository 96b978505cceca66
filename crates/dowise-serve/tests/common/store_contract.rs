//! What every implementer of `Store` has to do: its contract, checked on an opened store.

use std::path::Path;

use dowise::Action;
use dowise_serve::{Access, Episode, Event, EventKind, Parked, Parts, Sqlite, Step, Store, StoredSnapshot};

const WORLD: &str = "contract";

/// A connection to a store in a file.
pub fn sqlite(file: &Path, access: Access) -> Box<dyn Store> {
    Box::new(match access {
        Access::Write => Sqlite::open(file).unwrap(),
        Access::Read => Sqlite::open_to_read(file).unwrap(),
    })
}

/// Checks the contract on a store that is empty; `open` connects to it again each time.
pub fn keeps_the_store_contract(open: &dyn Fn(Access) -> Box<dyn Store>) {
    let mut store = open(Access::Write);
    assert_eq!(store.last().unwrap(), (0, 0), "an empty store has no last event");
    assert!(store.lead().unwrap(), "the only connection leads");
    assert!(store.lead().unwrap(), "a leader stays leader");
    events_are_appended_once_and_in_order(store.as_mut());
    writes_are_durable_after_commit_and_gone_after_rollback(store.as_mut(), open);
    held_readers_do_not_see_later_writes(store.as_mut(), open);
    steps_are_updated_and_paged(store.as_mut());
    episodes_are_updated_and_selected(store.as_mut());
    parked_observations_wait_for_their_decision(store.as_mut());
    blanked_episodes_keep_only_numbers_and_effects(store.as_mut());
    snapshots_are_found_by_version(store.as_mut());
    values_are_replaced_and_found_by_prefix(store.as_mut());
    let before = (store.events(None, 0, 1000).unwrap(), store.values("").unwrap());
    drop(store);
    let again = open(Access::Read);
    assert_eq!(
        (again.events(None, 0, 1000).unwrap(), again.values("").unwrap()),
        before,
        "a store outlives its writer"
    );
}

fn written<T>(store: &mut dyn Store, write: impl FnOnce(&mut dyn Store) -> T) -> T {
    store.begin().unwrap();
    let out = write(store);
    store.commit().unwrap();
    out
}

fn event(kind: EventKind, key: &str, episode: &str, at: u64) -> Event {
    let [request, answer] = ["request", "answer"].map(|what| format!("{what} of {key}"));
    Event::of(WORLD, kind, Some(key), Some(episode), at, request, answer)
}

fn step(event_id: &str, episode: &str, stage: usize, at: u64) -> Step {
    Step {
        event_id: event_id.into(),
        episode: episode.into(),
        stage,
        state: 2,
        action: Action(1),
        version: 3,
        agree: u64::MAX,
        propensity: 0.1,
        at,
        parts: Parts { keys: vec![None, Some(1)], ..Parts::default() },
        learned: None,
        settled: false,
    }
}

fn episode(id: &str, subject: Option<&str>, opened: u64, closed: Option<u64>) -> Episode {
    Episode { id: id.into(), subject: subject.map(str::to_owned), opened, closed, decided: 1, forgotten: false }
}

fn events_are_appended_once_and_in_order(store: &mut dyn Store) {
    let first = event(EventKind::Decide, "a", "e", 10);
    let second = Event { effect: "{}".into(), ..event(EventKind::Observe, "a", "e", 11) };
    let other = Event { world: "other".into(), ..event(EventKind::Decide, "a", "e", 12) };
    let appended = [&first, &second, &other];
    let seqs = written(store, |store| appended.map(|event| store.append(event).unwrap()));
    assert!(seqs[0] > 0 && seqs.is_sorted_by(|a, b| a < b), "numbers grow: {seqs:?}");
    let expected: Vec<Event> = appended.iter().zip(seqs).map(|(e, seq)| Event { seq, ..(*e).clone() }).collect();
    assert_eq!(store.events(None, 0, 10).unwrap(), expected);
    assert_eq!(store.events(None, 0, 2).unwrap(), expected[..2]);
    assert_eq!(store.events(None, seqs[0], 10).unwrap(), expected[1..]);
    assert_eq!(store.events(Some(WORLD), 0, 10).unwrap(), expected[..2]);
    assert_eq!(store.find(WORLD, EventKind::Decide, "a").unwrap().as_ref(), Some(&expected[0]));
    assert_eq!(store.find(WORLD, EventKind::Close, "a").unwrap(), None, "a key is of its kind");
    assert_eq!(store.find("other", EventKind::Observe, "a").unwrap(), None, "and of its world");
    assert_eq!(store.effects(WORLD, 0, seqs[2], 10).unwrap(), [(seqs[1], "{}".to_owned())]);
    assert_eq!(store.effects(WORLD, 0, seqs[0], 10).unwrap(), [], "up to a number");
    assert_eq!(store.effects(WORLD, seqs[1], seqs[2], 10).unwrap(), [], "after a number");
    assert_eq!(store.last().unwrap(), (seqs[2], 12));
    store.begin().unwrap();
    assert!(store.append(&first).is_err(), "the same key is never appended twice");
    store.rollback();
    assert_eq!(store.events(None, 0, 10).unwrap(), expected);
    let [keyless, twin] = [13, 14].map(|at| Event { key: None, ..event(EventKind::Mode, "", "e", at) });
    written(store, |store| [keyless, twin].map(|event| store.append(&event).unwrap()));
}

fn writes_are_durable_after_commit_and_gone_after_rollback(
    store: &mut dyn Store,
    open: &dyn Fn(Access) -> Box<dyn Store>,
) {
    let last = store.last().unwrap();
    store.begin().unwrap();
    let seq = store.append(&event(EventKind::Timeout, "kept", "e", 20)).unwrap();
    assert!(store.find(WORLD, EventKind::Timeout, "kept").unwrap().is_some(), "a writer reads its own writes");
    assert_eq!(open(Access::Read).last().unwrap(), last, "others read them after the commit");
    store.commit().unwrap();
    assert_eq!(open(Access::Read).last().unwrap(), (seq, 20));
    store.begin().unwrap();
    store.append(&event(EventKind::Timeout, "dropped", "e", 21)).unwrap();
    store.put_value("dropped", b"x").unwrap();
    store.rollback();
    assert_eq!(store.last().unwrap(), (seq, 20));
    assert_eq!(store.find(WORLD, EventKind::Timeout, "dropped").unwrap(), None);
    assert_eq!(store.value("dropped").unwrap(), None);
}

fn held_readers_do_not_see_later_writes(store: &mut dyn Store, open: &dyn Fn(Access) -> Box<dyn Store>) {
    let held = open(Access::Read);
    held.hold_still().unwrap();
    let before = held.last().unwrap();
    let seq = written(store, |store| store.append(&event(EventKind::Open, "later", "e", 30)).unwrap());
    assert_eq!(held.last().unwrap(), before);
    assert_eq!(held.find(WORLD, EventKind::Open, "later").unwrap(), None);
    assert_eq!(open(Access::Read).last().unwrap(), (seq, 30));
}

fn steps_are_updated_and_paged(store: &mut dyn Store) {
    // Upper and lower case, and a stage of two digits: whatever the order, pages leave nothing out.
    let steps =
        [("b-10", "b", 10), ("b-2", "b", 2), ("B-1", "B", 1), ("a-1", "a", 1)].map(|(id, e, h)| step(id, e, h, 40));
    written(store, |store| steps.iter().for_each(|step| store.put_step(WORLD, step).unwrap()));
    assert_eq!(store.step(WORLD, "b-2").unwrap().as_ref(), Some(&steps[1]), "every field is kept, to the bit");
    assert_eq!(store.step(WORLD, "nobody").unwrap(), None);
    assert_eq!(store.step("other", "b-2").unwrap(), None);
    assert_eq!(store.steps_of(WORLD, "b").unwrap(), [steps[1].clone(), steps[0].clone()], "by stage");
    let all = store.steps_after(WORLD, ("", -1), 10).unwrap();
    assert_eq!(all.len(), steps.len());
    let (mut paged, mut after) = (Vec::new(), (String::new(), -1));
    while let Some(next) = store.steps_after(WORLD, (&after.0, after.1), 1).unwrap().pop() {
        after = (next.episode.clone(), next.stage as i64);
        paged.push(next);
    }
    assert_eq!(paged, all);
    let learned = Some(steps[1].parts.clone());
    let known = Step { parts: Parts { done: true, ..Parts::default() }, learned, settled: true, ..steps[1].clone() };
    let rewritten = Step { state: 9, propensity: 0.9, at: 99, ..known.clone() };
    written(store, |store| store.put_step(WORLD, &rewritten).unwrap());
    assert_eq!(store.step(WORLD, "b-2").unwrap(), Some(known), "only what was observed and learned changes");
    let mut unsettled = store.unsettled(WORLD, 41, 10).unwrap();
    unsettled.sort_unstable();
    assert_eq!(unsettled, ["B-1", "a-1", "b-10"]);
    assert_eq!(store.unsettled(WORLD, 41, 2).unwrap().len(), 2);
    assert_eq!(store.unsettled(WORLD, 40, 10).unwrap(), [""; 0], "before a time is not at it");
    let seqs = written(store, |store| {
        ["a-1", "b-2"].map(|id| store.append(&event(EventKind::Decide, id, &id[..1], 41)).unwrap())
    });
    let recent = |most| -> Vec<(u64, String)> {
        store.recent(WORLD, most).unwrap().into_iter().map(|(event, step)| (event.seq, step.event_id)).collect()
    };
    assert_eq!(recent(10), [(seqs[1], "b-2".to_owned()), (seqs[0], "a-1".to_owned())], "the last first, with a step");
    assert_eq!(recent(1), [(seqs[1], "b-2".to_owned())]);
}

fn episodes_are_updated_and_selected(store: &mut dyn Store) {
    let all =
        [episode("a", Some("ann"), 50, Some(60)), episode("b", Some("bob"), 51, None), episode("B", None, 52, None)];
    written(store, |store| all.iter().for_each(|episode| store.put_episode(WORLD, episode).unwrap()));
    assert_eq!(store.episode(WORLD, "a").unwrap().as_ref(), Some(&all[0]));
    assert_eq!(store.episode("other", "a").unwrap(), None);
    let newest: Vec<Episode> = all.iter().rev().cloned().collect();
    assert_eq!(store.episodes(WORLD, 10, None).unwrap(), newest);
    assert_eq!(store.episodes(WORLD, 1, None).unwrap(), newest[..1]);
    assert_eq!(store.episodes(WORLD, 10, Some("bob")).unwrap(), all[1..2]);
    assert_eq!(store.ended(WORLD, 61, 10).unwrap(), ["a"]);
    assert_eq!(store.ended(WORLD, 60, 10).unwrap(), [""; 0]);
    assert_eq!(store.unended(WORLD, 60, 10).unwrap(), ["b", "B"]);
    assert_eq!(store.unended(WORLD, 52, 10).unwrap(), ["b"]);
    let known = Episode { closed: Some(70), decided: 2, forgotten: true, ..all[1].clone() };
    let rewritten = Episode { subject: Some("eve".into()), opened: 99, ..known.clone() };
    written(store, |store| store.put_episode(WORLD, &rewritten).unwrap());
    assert_eq!(store.episode(WORLD, "b").unwrap(), Some(known), "subject and opening stay");
}

fn parked_observations_wait_for_their_decision(store: &mut dyn Store) {
    let waiting = |key: &str, at| Event { episode: None, ..event(EventKind::Observe, key, "", at) };
    let seqs = written(store, |store| {
        [("p1", 80), ("p2", 81), ("p3", 82)].map(|(key, at)| store.append(&waiting(key, at)).unwrap())
    });
    written(store, |store| {
        [("x", seqs[0]), ("x", seqs[1]), ("y", seqs[2])].map(|(id, seq)| store.park(WORLD, id, seq).unwrap())
    });
    let parked = |seq, key: &str| Parked { seq, request: format!("request of {key}") };
    assert_eq!(store.parked(WORLD, "x").unwrap(), [parked(seqs[0], "p1"), parked(seqs[1], "p2")]);
    assert_eq!(store.parked("other", "x").unwrap(), []);
    written(store, |store| store.unpark(WORLD, "x", "e").unwrap());
    assert_eq!(store.parked(WORLD, "x").unwrap(), []);
    let found = store.find(WORLD, EventKind::Observe, "p1").unwrap().unwrap();
    assert_eq!(found.episode.as_deref(), Some("e"), "what waited belongs to the episode");
    assert_eq!(written(store, |store| store.blank_parked(WORLD, 82, 10).unwrap()), 0, "before a time is not at it");
    assert_eq!(written(store, |store| store.blank_parked(WORLD, 83, 10).unwrap()), 1);
    assert_eq!(store.parked(WORLD, "y").unwrap(), []);
    assert_eq!(store.find(WORLD, EventKind::Observe, "p3").unwrap(), None);
}

fn blanked_episodes_keep_only_numbers_and_effects(store: &mut dyn Store) {
    for (name, keep) in [("keep", true), ("drop", false)] {
        let decided = Event { effect: "{}".into(), ..event(EventKind::Decide, name, name, 90) };
        let seq = written(store, |store| {
            store.put_step(WORLD, &step(name, name, 0, 90)).unwrap();
            store.put_episode(WORLD, &episode(name, Some("carl"), 90, None)).unwrap();
            store.append(&decided).unwrap()
        });
        let events = store.events(None, 0, 1000).unwrap().len();
        written(store, |store| store.blank(WORLD, name, keep).unwrap());
        assert_eq!(store.events(None, 0, 1000).unwrap().len(), events, "the numbers stay");
        let left = store.events(None, seq - 1, 1).unwrap().remove(0);
        let effect = if keep { "{}" } else { "" };
        assert_eq!((left.seq, left.at, left.kind, left.effect.as_str()), (seq, 90, EventKind::Decide, effect));
        assert_eq!((left.key, left.episode, left.request.as_str(), left.answer.as_str()), (None, None, "", ""));
        assert_eq!(store.step(WORLD, name).unwrap(), None);
        assert_eq!(store.episode(WORLD, name).unwrap(), None);
        assert!(store.recent(WORLD, 1000).unwrap().iter().all(|(event, _)| event.seq != seq));
    }
    assert_eq!(store.episodes(WORLD, 10, Some("carl")).unwrap(), []);
}

fn snapshots_are_found_by_version(store: &mut dyn Store) {
    let all = [1, 2].map(|version| StoredSnapshot {
        version,
        seq: 10 * version,
        at: 100,
        hash: format!("hash {version}"),
        steps: 7,
        evidence: vec![0, 255, version as u8],
    });
    written(store, |store| all.iter().for_each(|one| store.put_snapshot(WORLD, one).unwrap()));
    assert_eq!(store.snapshot(WORLD, 2).unwrap().as_ref(), Some(&all[1]));
    assert_eq!(store.snapshot(WORLD, 3).unwrap(), None);
    assert_eq!(store.snapshot("other", 1).unwrap(), None);
    let bare = |i: usize| StoredSnapshot { evidence: Vec::new(), ..all[i].clone() };
    assert_eq!(store.snapshots(WORLD, 10).unwrap(), [bare(1), bare(0)], "the last first, without their evidence");
    assert_eq!(store.snapshots(WORLD, 1).unwrap(), [bare(1)]);
}

fn values_are_replaced_and_found_by_prefix(store: &mut dyn Store) {
    // Letters that mean something in patterns are letters of a prefix like others.
    let names = ["k%a", "k%b", "kx", "K%a"];
    written(store, |store| names.iter().for_each(|name| store.put_value(name, name.as_bytes()).unwrap()));
    assert_eq!(store.value("k%a").unwrap().as_deref(), Some(&b"k%a"[..]));
    assert_eq!(store.value("nothing").unwrap(), None);
    let found = |store: &dyn Store, prefix: &str| -> Vec<String> {
        store.values(prefix).unwrap().into_iter().map(|(name, _)| name).collect()
    };
    assert_eq!(found(store, "k%"), ["k%a", "k%b"]);
    assert_eq!(found(store, "k"), ["k%a", "k%b", "kx"]);
    written(store, |store| store.put_value("k%a", &[0, 1, 255]).unwrap());
    assert_eq!(store.value("k%a").unwrap(), Some(vec![0, 1, 255]));
    written(store, |store| store.remove_value("k%a").unwrap());
    written(store, |store| store.remove_value("k%a").unwrap());
    assert_eq!(found(store, "k%"), ["k%b"]);
}
