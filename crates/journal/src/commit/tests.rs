//! The committer on a simulated disk: what is told to whom, and when.

mod together;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::*;
use crate::disk::simulated::{Faults, Simulated};
use crate::log::tests::{OPTIONS, begin, entry, folder, open, records};
use crate::log::{Options, Recovery, Start};

/// What was told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Committed(Vec<u32>),
    Refused(Vec<u32>, Refusal),
    Condition(&'static str),
}

#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<Told>>>);

impl Ear {
    fn locked(&self) -> MutexGuard<'_, Vec<Told>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All that was told since this was asked before.
    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut *self.locked())
    }
}

impl Outcome<u32> for Ear {
    fn committed(&self, _: u64, payloads: Vec<u32>) {
        self.locked().push(Told::Committed(payloads));
    }

    fn refused(&self, payloads: Vec<u32>, why: Refusal) {
        self.locked().push(Told::Refused(payloads, why));
    }

    fn condition(&self, condition: &Condition) {
        self.locked().push(Told::Condition(match condition {
            Condition::Ready => "ready",
            Condition::Undecided(_) => "undecided",
            Condition::Full(_) => "full",
        }));
    }
}

fn committer(disk: &Simulated) -> (Committer<u32>, Ear) {
    let ear = Ear::default();
    (Committer::new(begin(open(disk, Start::default())), Box::new(ear.clone())), ear)
}

fn change(number: u32) -> Option<Arc<Entry>> {
    Some(Arc::new(entry(1, number - 1, number, b"content")))
}

/// Queues, but leaves the commit to others.
fn queue(committer: &Committer<u32>, number: u32) -> Result<(), Refusal> {
    committer.enqueue(committer.generation(), change(number), number).map(drop).map_err(|refused| refused.why)
}

fn failing() -> Faults {
    Faults { sync: 1.0, ..Faults::default() }
}

fn at(tenths: u64) -> Duration {
    Duration::from_millis(100 * tenths)
}

fn versions(disk: &Simulated) -> Vec<u32> {
    records(&open(&disk.kill(), Start::default())).iter().map(|record| record.2).collect()
}

#[test]
fn all_that_waits_is_one_group_and_one_sync() {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    for number in 1..=50 {
        queue(&committer, number).expect("room");
    }
    assert!(ear.take().is_empty());
    let before = disk.calls().1;
    committer.enqueue(committer.generation(), None, 99).expect("room").commit();
    assert_eq!(disk.calls().1 - before, 1);
    let expected: Vec<u32> = (1..=50).chain([99]).collect();
    assert_eq!(ear.take(), [Told::Committed(expected)]);
    // What only waits, with nothing before it, costs no sync.
    committer.enqueue(committer.generation(), None, 100).expect("room").commit();
    assert_eq!((disk.calls().1 - before, ear.take()), (1, vec![Told::Committed(vec![100])]));
    assert_eq!(versions(&disk), (1..=50).collect::<Vec<u32>>());
}

#[test]
fn after_a_failed_sync_nobody_hears_until_it_is_void() {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    queue(&committer, 1).expect("room");
    committer.run();
    let old = committer.generation();
    assert_eq!(ear.take(), [Told::Committed(vec![1])]);
    disk.set_faults(failing());
    queue(&committer, 2).expect("room");
    queue(&committer, 3).expect("room");
    // One group is taken; what is queued while it is on its way is refused when it fails.
    committer.run();
    assert_eq!(ear.take(), [Told::Condition("undecided")]);
    assert_eq!(queue(&committer, 4), Err(Refusal::Failed));
    for tenth in 0..25 {
        committer.tick(at(tenth));
    }
    assert_eq!(
        ear.take(),
        [Told::Condition("undecided"), Told::Condition("undecided"), Told::Condition("undecided")],
        "each second"
    );
    assert_eq!(committer.condition().1, 2, "kept, and silent");
    // Attempts use segments up: others are made.
    disk.set_faults(Faults::default());
    committer.with_log(|log| while log.prepare().expect("a disk that works") {});
    committer.tick(at(26));
    assert_eq!(ear.take(), [], "not yet");
    committer.tick(at(31));
    assert_eq!(ear.take(), [Told::Refused(vec![3, 2], Refusal::Failed), Told::Condition("ready")]);
    let stale = committer.enqueue(old, change(2), 2).map(drop).map_err(|refused| refused.why);
    assert_eq!(stale, Err(Refusal::Stale), "worked out on what is gone");
    committer
        .enqueue(committer.generation(), Some(Arc::new(entry(1, 1, 20, b""))), 20)
        .expect("room")
        .commit();
    assert_eq!(ear.take(), [Told::Committed(vec![20])]);
    assert_eq!(versions(&disk), [1, 20]);
    assert_eq!(versions(&disk.crash()), [1, 20]);
}

#[test]
fn what_is_queued_behind_a_group_that_fails_is_refused_newest_first() {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    disk.set_faults(failing());
    // More than a group may have.
    let large = Arc::new(entry(1, 0, 1, &vec![7; crate::log::GROUP_OCTETS_MAX]));
    let _ = committer.enqueue(committer.generation(), Some(Arc::new(entry(2, 0, 1, b""))), 1).expect("room");
    let _ = committer.enqueue(committer.generation(), Some(large), 2).expect("room");
    let _ = committer.enqueue(committer.generation(), None, 3).expect("room");
    committer.run();
    assert_eq!(ear.take(), [Told::Refused(vec![3, 2], Refusal::Failed), Told::Condition("undecided")]);
}

#[test]
fn a_full_log_waits_for_room_and_then_refuses() {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    disk.set_room(disk.used());
    let mut number = 0;
    while committer.condition().0 == Condition::Ready {
        number += 1;
        queue(&committer, number).expect("room");
        committer.run();
        assert!(number < 100, "it fills");
    }
    let told = ear.take();
    assert!(
        told.iter().all(|told| matches!(told, Told::Committed(_))),
        "nobody hears of a moment without room"
    );
    committer.tick(at(0));
    committer.tick(at(15));
    queue(&committer, number + 1).expect("it may wait");
    // In time: it goes on.
    let status = committer.status();
    committer.release(status.next);
    assert_eq!(ear.take(), [Told::Committed(vec![number, number + 1])]);
    // Not in time.
    let mut number = number + 1;
    while committer.condition().0 == Condition::Ready {
        number += 1;
        queue(&committer, number).expect("room");
        committer.run();
    }
    ear.take();
    queue(&committer, number + 1).expect("it may wait");
    committer.tick(at(100));
    committer.tick(at(121));
    assert_eq!(ear.take(), [Told::Refused(vec![number + 1, number], Refusal::Full), Told::Condition("full")]);
    assert_eq!(queue(&committer, number), Err(Refusal::Full));
    let urgent = Arc::new(entry(3, 0, 1, b"urgent"));
    committer.enqueue_urgent(committer.generation(), urgent, 777).expect("room").commit();
    assert_eq!(ear.take(), [Told::Committed(vec![777])]);
    committer.tick(at(130));
    committer.tick(at(140));
    assert_eq!(ear.take(), [], "said once");
    disk.set_room(usize::MAX);
    committer.with_log(|log| while log.prepare().expect("room") {});
    committer.tick(at(150));
    assert_eq!(ear.take(), [Told::Condition("ready")]);
    queue(&committer, number).expect("room");
    committer.run();
    assert_eq!(ear.take(), [Told::Committed(vec![number])]);
    let kept = versions(&disk);
    assert_eq!(kept.last(), Some(&number));
}

/// A record of more segments than are made ahead has them made; one that never fits is refused in time, and others go on.
#[test]
fn a_large_record_finds_room_or_is_refused() {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    let prepare = || committer.with_log(|log| while log.prepare().expect("room") {});
    prepare();
    let segment = OPTIONS.segment_octets;
    let queue_large = |number: u32, segments: usize| {
        let content = vec![7; segments * segment - segment / 2];
        let entry = Some(Arc::new(entry(1, number - 1, number, &content)));
        committer.enqueue(committer.generation(), entry, number).map(drop).expect("it may wait");
        committer.run();
    };
    queue_large(1, 4);
    assert_eq!(ear.take(), [], "there are four, and two of them are for others");
    prepare();
    committer.tick(at(1));
    assert_eq!(ear.take(), [Told::Committed(vec![1])]);
    queue_large(2, committer.status().segments_max + 1);
    for tick in 2..30 {
        prepare();
        committer.tick(at(tick));
    }
    assert_eq!(ear.take()[..1], [Told::Refused(vec![2], Refusal::Full)]);
    prepare();
    committer.tick(at(31));
    assert_eq!(committer.condition(), (Condition::Ready, 0));
    queue(&committer, 2).expect("room");
    committer.run();
    assert!(ear.take().contains(&Told::Committed(vec![2])));
}

#[test]
fn notes_go_with_the_next_group_and_again_after_a_failure() {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    let note = |number: u32| Arc::new(entry(2, number - 1, number, b"note"));
    let syncs = disk.calls().1;
    committer.note(note(1), 1001).expect("room");
    committer.run();
    committer.tick(at(0));
    assert_eq!((ear.take(), disk.calls().1), (vec![], syncs), "nobody waits for it");
    disk.set_faults(failing());
    queue(&committer, 1).expect("room");
    committer.run();
    committer.note(note(2), 1002).expect("room");
    assert_eq!(ear.take(), [Told::Condition("undecided")]);
    disk.set_faults(Faults::default());
    committer.with_log(|log| while log.prepare().expect("a disk that works") {});
    committer.tick(at(20));
    assert_eq!(ear.take(), [Told::Refused(vec![1], Refusal::Failed), Told::Condition("ready")]);
    queue(&committer, 1).expect("room");
    committer.run();
    assert_eq!(ear.take(), [Told::Committed(vec![1001, 1002, 1])]);
    committer.note(note(3), 1003).expect("room");
    committer.tick(at(30));
    committer.tick(at(50));
    assert_eq!(ear.take(), [], "an empty group behind the last tells nobody");
    committer.tick(at(30 + 600));
    assert_eq!(ear.take(), [Told::Committed(vec![1003])], "after a minute it goes alone");
    assert_eq!(records(&open(&disk.crash(), Start::default())).len(), 4);
}

#[test]
fn a_quiet_log_shows_that_its_last_group_was_whole() {
    let disk = Simulated::new(1);
    let (committer, ear) = committer(&disk);
    queue(&committer, 1).expect("room");
    committer.run();
    let groups = |committer: &Committer<u32>| committer.status().groups;
    let before = groups(&committer);
    for tenth in 0..100 {
        committer.tick(at(tenth));
    }
    assert_eq!(groups(&committer), before + 1, "once");
    assert_eq!(ear.take(), [Told::Committed(vec![1])]);
}

#[test]
fn what_is_too_much_is_refused_at_once() {
    let disk = Simulated::new(1);
    let (committer, _) = committer(&disk);
    for number in 1..=WAITING_MAX as u32 {
        queue(&committer, number).expect("room");
    }
    assert_eq!(queue(&committer, 1), Err(Refusal::Behind));
}

#[test]
fn a_start_that_cannot_write_is_decided_by_ticks() {
    let disk = Simulated::new(1);
    let (first, _) = committer(&disk);
    queue(&first, 1).expect("room");
    first.run();
    drop(first);
    let disk = disk.kill();
    disk.set_faults(failing());
    let ear = Ear::default();
    let mut log = open(&disk, Start::default()).begin();
    assert!(log.decide().is_err());
    let committer = Committer::new(log, Box::new(ear.clone()));
    assert_eq!(queue(&committer, 2), Err(Refusal::Failed));
    committer.tick(at(0));
    disk.set_faults(Faults::default());
    committer.with_log(|log| while log.prepare().expect("a disk that works") {});
    committer.tick(at(11));
    assert_eq!(ear.take().last(), Some(&Told::Condition("ready")));
    queue(&committer, 2).expect("room");
    committer.run();
    assert_eq!(versions(&disk.crash()), [1, 2]);
}

#[test]
fn a_log_that_was_opened_anew_takes_its_place() {
    let disk = Simulated::new(1);
    let (committer, _) = committer(&disk);
    queue(&committer, 1).expect("room");
    committer.run();
    // Another program has begun an epoch: what the old one writes is void for it.
    drop(begin(open(&disk, Start::default())));
    assert!(committer.exchange(begin(open(&disk, Start::default()))).is_some());
    queue(&committer, 2).expect("room");
    committer.run();
    assert_eq!(versions(&disk.crash()), [1, 2]);
}

/// Threads that change their zones as a server does, while the disk fails at times: each change is told of once, and what is on the disk is
/// what was said to be.
///
/// Without ticks nobody but those who queue can bring anything to the disk: who is forgotten stays so.
fn threads(seed: u64, share: f64, has_ticks: bool) {
    const THREADS: usize = 4;
    const CHANGES: u32 = 80;

    /// The state of each zone: versions that are committed, and that are worked out over them.
    #[derive(Default)]
    struct Zone {
        committed: Vec<u32>,
        pending: Vec<u32>,
    }
    struct Server {
        zones: Vec<Mutex<Zone>>,
        told: AtomicUsize,
    }
    #[derive(Clone)]
    struct Shared(Arc<Server>);
    fn lock(zone: &Mutex<Zone>) -> MutexGuard<'_, Zone> {
        zone.lock().unwrap_or_else(PoisonError::into_inner)
    }
    impl Outcome<(usize, u32)> for Shared {
        fn committed(&self, _: u64, payloads: Vec<(usize, u32)>) {
            for (zone, version) in payloads {
                let mut zone = lock(&self.0.zones[zone]);
                assert_eq!(zone.pending.remove(0), version, "in order");
                zone.committed.push(version);
                self.0.told.fetch_add(1, Ordering::Relaxed);
            }
        }

        fn refused(&self, payloads: Vec<(usize, u32)>, _: Refusal) {
            for (zone, version) in payloads {
                assert_eq!(lock(&self.0.zones[zone]).pending.pop(), Some(version), "newest first");
                self.0.told.fetch_add(1, Ordering::Relaxed);
            }
        }

        fn condition(&self, _: &Condition) {}
    }

    let disk = Simulated::new(seed);
    // Without ticks nobody would go on after a moment without a free segment: there is one that has room for all.
    let options = if has_ticks { OPTIONS } else { Options { segment_octets: 2 << 20, log_octets: 32 << 20 } };
    let open = |disk: &Simulated, start: Start| {
        Recovery::open(Arc::new(disk.clone()), &folder(), options, start).expect("a log")
    };
    let log = begin(open(&disk, Start::default()));
    let zones = (0..THREADS).map(|_| Mutex::default()).collect();
    let server = Shared(Arc::new(Server { zones, told: AtomicUsize::new(0) }));
    let committer = Committer::new(log, Box::new(server.clone()));
    disk.set_faults(Faults { sync: share, ..Faults::default() });
    let (is_over, queued) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        let ticks = scope.spawn(|| {
            let mut now = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                now += DECIDE_PAUSE;
                committer.with_log(|log| drop(log.prepare()));
                if !has_ticks {
                    std::thread::yield_now();
                    continue;
                }
                committer.tick(now);
                let status = committer.status();
                if status.segments_used > 40 {
                    // Nothing is lost by it here: contents are compared from memory.
                    committer.release(status.next);
                }
                std::thread::yield_now();
            }
        });
        let changers: Vec<_> = (0..THREADS)
            .map(|number| {
                let (committer, server, queued) = (&committer, &server, &queued);
                scope.spawn(move || {
                    let mut version = 0;
                    while version < CHANGES {
                        let which = (number + version as usize) % THREADS;
                        let mut zone = lock(&server.0.zones[which]);
                        let generation = committer.generation();
                        version += 1;
                        let id = (number as u32) << 16 | version;
                        let before = zone.pending.last().or(zone.committed.last()).copied().unwrap_or(0);
                        let entry = Arc::new(entry(which, before, id, b"content"));
                        if let Ok(ticket) = committer.enqueue(generation, Some(entry), (which, id)) {
                            zone.pending.push(id);
                            queued.fetch_add(1, Ordering::Relaxed);
                            drop(zone);
                            ticket.commit();
                        } else {
                            drop(zone);
                            std::thread::yield_now();
                        }
                    }
                })
            })
            .collect();
        for changer in changers {
            changer.join().expect("no panic");
        }
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        let is_left = || server.0.told.load(Ordering::Relaxed) < queued.load(Ordering::Relaxed);
        while is_left() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        is_over.store(true, Ordering::Relaxed);
        ticks.join().expect("no panic");
        assert!(!is_left(), "somebody was forgotten");
    });
    let status = committer.status();
    assert!(queued.load(Ordering::Relaxed) > 0);
    let mut last: BTreeMap<String, u32> = BTreeMap::new();
    let recovery = open(&disk.crash(), Start { first: status.first, ..Start::default() });
    assert!(recovery.lost().is_empty());
    for (_, zone, version, _) in records(&recovery) {
        last.insert(zone, version);
    }
    for (number, zone) in server.0.zones.iter().enumerate() {
        let zone = lock(zone);
        assert!(zone.pending.is_empty());
        if let Some(found) = last.get(&crate::log::tests::name(number).to_string()) {
            assert_eq!(zone.committed.last(), Some(found));
        }
    }
}

#[test]
fn threads_that_commit_for_each_other() {
    for seed in 0..3 {
        threads(seed, 0.0, true);
        threads(seed, 0.05, true);
        threads(seed, 0.4, true);
    }
}

#[test]
fn nobody_is_forgotten() {
    for seed in 0..20 {
        threads(seed, 0.0, false);
    }
}
