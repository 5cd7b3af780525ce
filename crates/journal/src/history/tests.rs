//! Histories against a list of versions, on a simulated disk.

use proptest::prelude::*;

use super::*;
use crate::disk::simulated::{Faults, Simulated};
use crate::log::tests::name;

/// Room for the mark.
const MARK_OCTETS: u64 = 1024;
const LOG: Identity = [3; 16];
const BOUND: Bound = Bound { octets: BOUND_OCTETS_MIN, versions: 40 };

fn folder() -> PathBuf {
    PathBuf::from("history")
}

fn open(disk: &Simulated) -> History {
    let history = History::new(Arc::new(disk.clone()), &folder());
    history.begin(&LOG, u64::MAX).expect("readable");
    history
}

fn difference(zone: usize, before: u32, after: u32, octets: usize) -> Arc<Entry> {
    let added = vec![after as u8; octets];
    let removed = before.to_le_bytes();
    let body = Body::Difference { removed: &removed, added: &added };
    Arc::new(Entry::new(&name(zone), before, after, 9, body).expect("small"))
}

/// The versions from one serial to another, if they are offered: each as serials and octets.
fn since(history: &History, zone: usize, from: u32, to: u32) -> Option<Vec<(u32, u32, usize)>> {
    let mut versions = history.since(&name(zone), from, to).expect("readable")?;
    let (count, octets) = (versions.count(), versions.octets());
    let mut found = Vec::new();
    while let Some(difference) = versions.next() {
        let difference = difference.expect("sound");
        assert_eq!(difference.removed(), difference.before.to_le_bytes());
        assert!(difference.added().iter().all(|octet| *octet == difference.after as u8));
        found.push((difference.before, difference.after, difference.added().len()));
    }
    assert_eq!(found.len(), count);
    assert_eq!(octets, found.iter().map(|(_, _, octets)| 4 + *octets as u64).sum::<u64>());
    Some(found)
}

#[test]
fn a_difference_is_offered_before_it_is_written_and_after() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    for serial in 1..=3 {
        history.push(u64::from(serial), difference(1, serial - 1, serial, 10));
    }
    let expected = Some(vec![(1, 2, 10), (2, 3, 10)]);
    assert_eq!(since(&history, 1, 1, 3), expected);
    history.flush(&|_| BOUND).expect("a disk that works");
    assert_eq!((history.status().waiting, since(&history, 1, 1, 3)), (0, expected.clone()));
    history.push(4, difference(1, 3, 4, 7));
    assert_eq!(since(&history, 1, 2, 4), Some(vec![(2, 3, 10), (3, 4, 7)]), "from both");
    let all = |to| -> Vec<_> {
        let versions = history.all(&name(1), to).expect("readable").expect("some");
        versions
            .list()
            .map(|listed| (listed.group, listed.before, listed.after, listed.time, listed.octets))
            .collect()
    };
    assert_eq!(all(4), [(1, 0, 1, 9, 14), (2, 1, 2, 9, 14), (3, 2, 3, 9, 14), (4, 3, 4, 9, 11)]);
    assert_eq!((all(2), all(9)), (vec![(1, 0, 1, 9, 14), (2, 1, 2, 9, 14)], vec![]));
    // A newer one than what is served is not offered.
    assert_eq!(since(&history, 1, 1, 3), expected);
    assert_eq!(since(&history, 1, 3, 3), Some(vec![]));
    assert_eq!(since(&history, 1, 77, 4), None);
    assert_eq!(since(&history, 2, 1, 3), None);
    history.flush(&|_| BOUND).expect("a disk that works");
    history.sync().expect("a disk that works");
    let history = open(&disk.crash());
    assert_eq!(since(&history, 1, 0, 4).map(|versions| versions.len()), Some(4));
    // What a replay brings again is passed over.
    for serial in 1..=4 {
        history.push(u64::from(serial), difference(1, serial - 1, serial, 10));
        assert_eq!(since(&history, 1, 0, 4).map(|versions| versions.len()), Some(4));
    }
    history.push(5, difference(1, 4, 5, 10));
    history.push(5, difference(1, 5, 6, 10));
    assert_eq!(since(&history, 1, 0, 6).map(|versions| versions.len()), Some(6));
    history.flush(&|_| BOUND).expect("a disk that works");
    assert_eq!(since(&history, 1, 0, 6).map(|versions| versions.len()), Some(6), "two of one group");
    assert_eq!(history.verify(&name(1)).expect("readable"), Vec::<String>::new());
    assert_eq!(history.list(&name(1)).expect("readable").len(), 6);
}

/// Which groups made versions is known as long as these are in the files: where the log has lost groups, that tells whose they were.
#[test]
fn groups_of_versions_are_known() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    for (group, zone, serial) in [(3, 1, 1), (5, 2, 1), (6, 1, 2)] {
        history.push(group, difference(zone, serial, serial + 1, 10));
    }
    history.flush(&|_| BOUND).expect("a disk that works");
    let history = open(&disk.kill());
    let has = |zone: usize, groups| history.has_version_of(&name(zone), groups);
    assert!(has(1, 3..=3) && has(1, 4..=9) && has(2, 4..=5));
    assert!(!has(1, 4..=5) && !has(1, 7..=9) && !has(2, 6..=9) && !has(3, 0..=9));
    // A history of another log says nothing.
    let other = History::new(Arc::new(disk.clone()), &folder());
    other.begin(&[4; 16], u64::MAX).expect("readable");
    assert!(!other.has_version_of(&name(1), 3..=3));
}

#[test]
fn what_does_not_follow_begins_anew() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    let whole = |serial| Arc::new(Entry::new(&name(1), 0, serial, 9, Body::Contents(b"all")).expect("small"));
    history.push(1, difference(1, 1, 2, 10));
    history.push(2, difference(1, 5, 6, 10));
    history.flush(&|_| BOUND).expect("a disk that works");
    assert_eq!(
        (since(&history, 1, 1, 2), since(&history, 1, 5, 6).map(|versions| versions.len())),
        (None, Some(1))
    );
    history.push(3, whole(6));
    assert_eq!(since(&history, 1, 5, 6), None, "the same serial, but another zone");
    history.flush(&|_| BOUND).expect("a disk that works");
    assert_eq!(since(&history, 1, 5, 6), None);
    assert_eq!(since(&open(&disk.crash()), 1, 5, 6), None, "nor after a crash");
    history.push(4, difference(1, 6, 7, 10));
    history.flush(&|_| BOUND).expect("a disk that works");
    assert_eq!(
        (since(&history, 1, 5, 7), since(&history, 1, 6, 7).map(|versions| versions.len())),
        (None, Some(1))
    );
    history.forget(&name(1)).expect("a disk that works");
    assert_eq!(since(&history, 1, 6, 7), None);
    history.push(5, difference(1, 7, 8, BOUND.octets as usize / 2));
    history.flush(&|_| BOUND).expect("a disk that works");
    assert_eq!(since(&history, 1, 7, 8), None, "larger than half of the bound");
}

#[test]
fn disk_use_is_flat_and_half_is_offered() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    let mut reader = None;
    for serial in 1..2000u32 {
        let octets = 300 + (serial as usize * 37) % 900;
        history.push(u64::from(serial), difference(1, serial - 1, serial, octets));
        history.flush(&|_| Bound { versions: 4096, ..BOUND }).expect("a disk that works");
        assert!(disk.used() as u64 <= BOUND.octets + MARK_OCTETS, "{} at {serial}", disk.used());
        let back = (BOUND.octets / 2 / 1300) as u32;
        if serial > back {
            assert!(since(&history, 1, serial - back, serial).is_some(), "{serial}");
        }
        if serial == 1000 {
            reader = history.since(&name(1), 985, 1000).expect("readable");
        }
    }
    // Who began to read when the files were others reads what was there.
    let mut reader = reader.expect("offered");
    let mut serial = 985;
    while let Some(difference) = reader.next() {
        let difference = difference.expect("sound");
        assert_eq!((difference.before, difference.after), (serial, serial + 1));
        serial += 1;
    }
    assert_eq!(serial, 1000);
    assert_eq!(history.status().begun, 0);
}

/// Updates without end to some zones, as the historian writes them: some of a zone at a time, starts and kills between. The disk's use stays, what was
/// committed last is offered at each moment, and nothing begins anew.
fn endless(zones: u32, rounds: u32) {
    let bound = Bound { versions: 4096, ..BOUND };
    let mut disk = Simulated::new(1);
    let mut history = open(&disk);
    // Half of the bound is there, in entries of at most these octets.
    let back = (BOUND.octets / 2 / (400 + 72)) as u32;
    let (mut group, mut most) = (0, 0);
    let mut last = Vec::new();
    for round in 1..=rounds {
        for zone in 0..zones {
            group += 1;
            let octets = 300 + ((round * 31 + zone * 7) % 100) as usize;
            let entry = difference(zone as usize, round - 1, round, octets);
            history.push(group, Arc::clone(&entry));
            last.push((group, entry));
        }
        if round % 16 == 0 {
            history.flush(&|_| bound).expect("a disk that works");
            last.retain(|(other, _)| *other == group);
        }
        if round % 5000 == 777 {
            // Files that are not synced are there still, as after a kill of the server.
            disk = disk.kill();
            history = History::new(Arc::new(disk.clone()), &folder());
            let from = history.begin(&LOG, group).expect("readable");
            let missing = last.iter().filter(|(group, _)| *group >= from);
            missing.for_each(|(group, entry)| history.again(*group, Arc::clone(entry)));
        }
        if round % 97 == 0 {
            let zone = (round % zones) as usize;
            let from = round.saturating_sub(back);
            assert_eq!(
                since(&history, zone, from, round).map(|all| all.len()),
                Some((round - from) as usize)
            );
            let old = round.saturating_sub(2 * back + 200);
            assert!(old == 0 || since(&history, zone, old, round).is_none(), "kept beyond the bound");
            most = most.max(disk.used() as u64);
        }
    }
    assert!(most <= u64::from(zones) * BOUND.octets + MARK_OCTETS, "{most}");
    assert_eq!(history.status().begun, 0);
}

#[test]
fn endless_updates_leave_the_disk_as_it_is() {
    endless(3, 1200);
}

mod long {
    /// A week of an update a minute to each of 20 zones.
    #[test]
    #[ignore = "long: make test-long"]
    fn a_week_of_updates_leaves_the_disk_as_it_is() {
        super::endless(20, 7 * 24 * 60);
    }
}

#[test]
fn versions_are_bounded_also_after_starts() {
    let disk = Simulated::new(1);
    for serial in 1..500u32 {
        let history = open(&disk);
        history.push(u64::from(serial), difference(1, serial - 1, serial, 5));
        history.flush(&|_| BOUND).expect("a disk that works");
        let count = history.list(&name(1)).expect("readable").len();
        assert!(count <= 40 && (serial < 20 || count >= 20), "{count} at {serial}");
    }
}

#[test]
fn damage_is_found_and_never_sent() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    for serial in 1..=20 {
        history.push(u64::from(serial), difference(1, serial - 1, serial, 100));
    }
    history.flush(&|_| BOUND).expect("a disk that works");
    let path = disk.names(&folder().join(format!("{:02x}", hash(&name(1)) >> 56))).expect("names");
    let path = folder().join(format!("{:02x}", hash(&name(1)) >> 56)).join(&path[0]);
    disk.damage(&path, 48 + 10 * (48 + 104 + 8) + 80, |octets| octets[0] ^= 1);
    let faults = history.verify(&name(1)).expect("readable");
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains("serial 10 to 11 is damaged"), "{faults:?}");
    let mut versions = history.since(&name(1), 8, 20).expect("readable").expect("its heads are sound");
    let results: Vec<bool> =
        std::iter::from_fn(|| versions.next()).map(|difference| difference.is_ok()).collect();
    assert_eq!(results[..4], [true, true, false, true]);
    assert!(since(&history, 1, 11, 20).is_some());
}

#[test]
fn a_queue_that_is_too_long_begins_anew() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    let megabytes = 3;
    for serial in 1..=30 {
        history.push(u64::from(serial), difference(1, serial - 1, serial, megabytes << 20));
        assert!(history.status().waiting_octets <= QUEUE_OCTETS_MAX);
    }
    assert!(history.since(&name(1), 5, 30).expect("readable").is_none());
    assert!(history.since(&name(1), 15, 30).expect("readable").is_some());
}

/// A start after a kill: what was not written yet is in the log, and nothing is missing.
#[test]
fn a_start_brings_what_was_not_written() {
    let disk = Simulated::new(1);
    let entries: Vec<_> = (1..=30).map(|serial| difference(1, serial - 1, serial, 10)).collect();
    for written in [0, 1, 15, 30] {
        let disk = disk.clone().kill();
        let history = open(&disk);
        for (at, entry) in entries.iter().enumerate() {
            history.push(at as u64 + 1, Arc::clone(entry));
            if at + 1 == written {
                history.flush(&|_| BOUND).expect("a disk that works");
            }
        }
        let disk = disk.kill();
        let history = History::new(Arc::new(disk.clone()), &folder());
        let from = history.begin(&LOG, 30).expect("readable");
        assert_eq!(from, written as u64);
        for (at, entry) in entries.iter().enumerate().skip(from.saturating_sub(1) as usize) {
            history.again(at as u64 + 1, Arc::clone(entry));
        }
        for _ in 0..2 {
            assert_eq!(since(&history, 1, 3, 30).map(|versions| versions.len()), Some(27), "{written}");
            history.flush(&|_| BOUND).expect("a disk that works");
        }
        assert_eq!(history.status().begun, 0);
        // Another log's groups and serials are others.
        history.sync().expect("a disk that works");
        let other = History::new(Arc::new(disk.crash()), &folder());
        assert_eq!(other.begin(&[4; 16], 50).expect("readable"), 0);
        assert_eq!(since(&other, 1, 3, 30), None);
        other.push(51, difference(1, 30, 31, 5));
        assert_eq!((since(&other, 1, 3, 31), since(&other, 1, 30, 31).is_some()), (None, true));
        other.flush(&|_| BOUND).expect("a disk that works");
        assert_eq!((since(&other, 1, 3, 31), since(&other, 1, 30, 31).is_some()), (None, true));
    }
}

/// A log that has lost its end: what was in it may come by again under the same serials.
#[test]
fn what_is_newer_than_the_log_goes() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    (1..=9).for_each(|serial| history.push(u64::from(serial), difference(1, serial - 1, serial, 10)));
    history.flush(&|_| BOUND).expect("a disk that works");
    for (newest, serial) in [(7, 7), (9, 7)] {
        let history = History::new(Arc::new(disk.kill()), &folder());
        history.begin(&LOG, newest).expect("readable");
        assert_eq!(since(&history, 1, 5, serial), None, "it ends elsewhere");
        history.push(newest + 1, difference(1, serial, serial + 1, 99));
        let expected = Some(vec![(serial, serial + 1, 99)]);
        for _ in 0..2 {
            assert_eq!(since(&history, 1, 5, serial + 1), None);
            assert_eq!(since(&history, 1, serial, serial + 1), expected);
            history.flush(&|_| BOUND).expect("a disk that works");
        }
    }
}

/// Serials that do not grow come by again.
#[test]
fn a_serial_that_goes_back_begins_anew() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    history.push(1, difference(1, 7, 8, 10));
    history.push(2, difference(1, 8, 5, 10));
    history.push(3, difference(1, 5, 6, 10));
    for _ in 0..2 {
        assert_eq!((since(&history, 1, 7, 6), since(&history, 1, 5, 6)), (None, Some(vec![(5, 6, 10)])));
        history.flush(&|_| BOUND).expect("a disk that works");
    }
}

/// That a zone went is said again by a start too: it ends what was before it, and nothing that came after.
#[test]
fn an_end_that_is_said_again_ends_what_was_before() {
    for (group, offered) in [(4, None), (5, Some(vec![(5, 6, 10)])), (6, Some(vec![(5, 6, 10)]))] {
        let disk = Simulated::new(1);
        let history = open(&disk);
        history.push(group, difference(1, 5, 6, 10));
        history.flush(&|_| BOUND).expect("a disk that works");
        let history = open(&disk.kill());
        let gone = Entry::new(&name(1), 4, 4, 9, Body::Removed).expect("small");
        history.again(5, Arc::new(gone));
        history.flush(&|_| BOUND).expect("a disk that works");
        assert_eq!(since(&history, 1, 5, 6), offered, "{group}");
    }
}

/// A difference that has to be found has its place among others meanwhile.
#[test]
fn what_is_found_later_is_in_its_place() {
    let disk = Simulated::new(1);
    let history = History::new(Arc::new(disk), &folder());
    history.begin(&LOG, 0).expect("readable");
    let later = |is_quick, found: fn() -> Found| Arc::new(Later::new(&name(1), is_quick, found));
    let found = || Found::Difference(Arc::unwrap_or_clone(difference(1, 2, 3, 7)));
    history.push(1, difference(1, 1, 2, 10));
    let slow = later(false, found);
    history.push_later(Arc::clone(&slow));
    history.push(2, difference(1, 3, 4, 10));
    history.flush(&|_| BOUND).expect("a disk that works");
    assert_eq!((since(&history, 1, 1, 4), history.status().waiting), (None, 2), "not found yet");
    assert_eq!(since(&history, 1, 3, 4), Some(vec![(3, 4, 10)]));
    assert!(history.to_find().is_some_and(|later| Arc::ptr_eq(&later, &slow)));
    slow.find();
    let expected = Some(vec![(1, 2, 10), (2, 3, 7), (3, 4, 10)]);
    assert!(history.to_find().is_none());
    for _ in 0..2 {
        assert_eq!(since(&history, 1, 1, 4), expected);
        history.flush(&|_| BOUND).expect("a disk that works");
    }
    // One that is quick is found by who asks; one that is none is no version; one that cannot be found begins anew.
    history.push_later(later(true, || Found::Same));
    history.push_later(later(true, || Found::Difference(Arc::unwrap_or_clone(difference(1, 4, 5, 3)))));
    for _ in 0..2 {
        assert_eq!(since(&history, 1, 3, 5), Some(vec![(3, 4, 10), (4, 5, 3)]));
        history.flush(&|_| BOUND).expect("a disk that works");
    }
    history.push_later(later(true, || Found::Nothing));
    for _ in 0..2 {
        assert_eq!(since(&history, 1, 3, 5), None);
        history.flush(&|_| BOUND).expect("a disk that works");
    }
    assert!(!history.has(&name(1)));
    (0..=LATER_MAX).for_each(|_| history.push_later(later(true, || Found::Same)));
    assert!(history.status().waiting <= LATER_MAX + 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Through crashes and failures: what is offered is what was pushed, in order and whole, or nothing.
    #[test]
    fn what_is_offered_is_true(seed in any::<u64>(), steps in proptest::collection::vec((0u8..20, 0usize..6000), 20..120)) {
        let mut disk = Simulated::new(seed);
        let mut history = open(&disk);
        // Octets of the difference that leads to each serial of the present life of the zone; serials begin at 100 in each.
        let mut lengths: Vec<usize> = Vec::new();
        let (mut group, mut log) = (0, Vec::new());
        for (step, octets) in steps {
            match step {
                0..=11 => {
                    group += 1;
                    let before = 100 + lengths.len() as u32;
                    let entry = difference(1, before, before + 1, octets);
                    history.push(group, Arc::clone(&entry));
                    log.push((group, entry));
                    lengths.push(octets);
                }
                12..=15 => drop(history.flush(&|_| BOUND)),
                16 => drop(history.sync()),
                17 => {
                    let share = if octets % 2 == 0 { 0.1 } else { 0.0 };
                    disk.set_faults(Faults { write: share, ..Faults::default() });
                }
                18 => {
                    disk = if octets % 2 == 0 { disk.crash() } else { disk.kill() };
                    history = open(&disk);
                    // What the log has from some group on is said again.
                    let from = if octets % 3 == 0 { 0 } else { group.saturating_sub(octets as u64 % 8) };
                    log.iter().filter(|(group, _)| *group >= from).for_each(|(group, entry)| history.again(*group, Arc::clone(entry)));
                }
                _ => {
                    group += 1;
                    lengths.clear();
                    log.clear();
                    disk.set_faults(Faults::default());
                    let whole = Entry::new(&name(1), 0, 100, 9, Body::Contents(b"all")).expect("small");
                    history.push(group, Arc::new(whole));
                    prop_assert!(history.flush(&|_| BOUND).is_ok());
                }
            }
            let to = 100 + lengths.len() as u32;
            for from in (100..to).rev().take(3).chain([100]) {
                let Some(mut versions) = history.since(&name(1), from, to).expect("readable") else { continue };
                let mut serial = from;
                while let Some(difference) = versions.next() {
                    let Ok(difference) = difference else { break };
                    prop_assert_eq!((difference.before, difference.after), (serial, serial + 1));
                    prop_assert_eq!(difference.added().len(), lengths[(serial - 100) as usize]);
                    serial += 1;
                }
            }
        }
    }
}
