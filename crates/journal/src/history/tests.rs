//! Histories against a list of versions, on a simulated disk.

use proptest::prelude::*;

use super::*;
use crate::disk::simulated::{Faults, Simulated};
use crate::log::tests::name;

const BOUND: Bound = Bound { octets: BOUND_OCTETS_MIN, versions: 40 };

fn folder() -> PathBuf {
    PathBuf::from("history")
}

fn open(disk: &Simulated) -> History {
    History::new(Arc::new(disk.clone()), &folder())
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
        history.push(u64::from(serial), difference(1, serial - 1, serial, 10), BOUND);
    }
    let expected = Some(vec![(1, 2, 10), (2, 3, 10)]);
    assert_eq!(since(&history, 1, 1, 3), expected);
    history.flush().expect("a disk that works");
    assert_eq!((history.status().waiting, since(&history, 1, 1, 3)), (0, expected.clone()));
    history.push(4, difference(1, 3, 4, 7), BOUND);
    assert_eq!(since(&history, 1, 2, 4), Some(vec![(2, 3, 10), (3, 4, 7)]), "from both");
    // A newer one than what is served is not offered.
    assert_eq!(since(&history, 1, 1, 3), expected);
    assert_eq!(since(&history, 1, 3, 3), Some(vec![]));
    assert_eq!(since(&history, 1, 77, 4), None);
    assert_eq!(since(&history, 2, 1, 3), None);
    history.flush().expect("a disk that works");
    history.sync().expect("a disk that works");
    let history = open(&disk.crash());
    assert_eq!(since(&history, 1, 0, 4).map(|versions| versions.len()), Some(4));
    // What a replay brings again is passed over.
    for serial in 1..=4 {
        history.push(u64::from(serial), difference(1, serial - 1, serial, 10), BOUND);
        assert_eq!(since(&history, 1, 0, 4).map(|versions| versions.len()), Some(4));
    }
    history.push(5, difference(1, 4, 5, 10), BOUND);
    history.push(5, difference(1, 5, 6, 10), BOUND);
    assert_eq!(since(&history, 1, 0, 6).map(|versions| versions.len()), Some(6));
    history.flush().expect("a disk that works");
    assert_eq!(since(&history, 1, 0, 6).map(|versions| versions.len()), Some(6), "two of one group");
    assert_eq!(history.verify(&name(1)).expect("readable"), Vec::<String>::new());
    assert_eq!(history.list(&name(1)).expect("readable").len(), 6);
}

#[test]
fn what_does_not_follow_begins_anew() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    let whole = |serial| Arc::new(Entry::new(&name(1), 0, serial, 9, Body::Contents(b"all")).expect("small"));
    history.push(1, difference(1, 1, 2, 10), BOUND);
    history.push(2, difference(1, 5, 6, 10), BOUND);
    history.flush().expect("a disk that works");
    assert_eq!(
        (since(&history, 1, 1, 2), since(&history, 1, 5, 6).map(|versions| versions.len())),
        (None, Some(1))
    );
    history.push(3, whole(6), BOUND);
    assert_eq!(since(&history, 1, 5, 6), None, "the same serial, but another zone");
    history.flush().expect("a disk that works");
    assert_eq!(since(&history, 1, 5, 6), None);
    assert_eq!(since(&open(&disk.crash()), 1, 5, 6), None, "nor after a crash");
    history.push(4, difference(1, 6, 7, 10), BOUND);
    history.flush().expect("a disk that works");
    assert_eq!(
        (since(&history, 1, 5, 7), since(&history, 1, 6, 7).map(|versions| versions.len())),
        (None, Some(1))
    );
    history.forget(&name(1)).expect("a disk that works");
    assert_eq!(since(&history, 1, 6, 7), None);
    history.push(5, difference(1, 7, 8, BOUND.octets as usize / 2), BOUND);
    history.flush().expect("a disk that works");
    assert_eq!(since(&history, 1, 7, 8), None, "larger than half of the bound");
}

#[test]
fn disk_use_is_flat_and_half_is_offered() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    let mut reader = None;
    for serial in 1..2000u32 {
        let octets = 300 + (serial as usize * 37) % 900;
        history.push(
            u64::from(serial),
            difference(1, serial - 1, serial, octets),
            Bound { versions: 4096, ..BOUND },
        );
        history.flush().expect("a disk that works");
        assert!(disk.used() as u64 <= BOUND.octets, "{} at {serial}", disk.used());
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

#[test]
fn versions_are_bounded_also_after_starts() {
    let disk = Simulated::new(1);
    for serial in 1..500u32 {
        let history = open(&disk);
        history.push(u64::from(serial), difference(1, serial - 1, serial, 5), BOUND);
        history.flush().expect("a disk that works");
        let count = history.list(&name(1)).expect("readable").len();
        assert!(count <= 40 && (serial < 20 || count >= 20), "{count} at {serial}");
    }
}

#[test]
fn damage_is_found_and_never_sent() {
    let disk = Simulated::new(1);
    let history = open(&disk);
    for serial in 1..=20 {
        history.push(u64::from(serial), difference(1, serial - 1, serial, 100), BOUND);
    }
    history.flush().expect("a disk that works");
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
    let bound = Bound { octets: 1 << 30, versions: 4096 };
    let megabytes = 3;
    for serial in 1..=30 {
        history.push(u64::from(serial), difference(1, serial - 1, serial, megabytes << 20), bound);
        assert!(history.status().waiting_octets <= QUEUE_OCTETS_MAX);
    }
    assert!(history.since(&name(1), 5, 30).expect("readable").is_none());
    assert!(history.since(&name(1), 15, 30).expect("readable").is_some());
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
        let mut group = 0;
        for (step, octets) in steps {
            match step {
                0..=11 => {
                    group += 1;
                    let before = 100 + lengths.len() as u32;
                    history.push(group, difference(1, before, before + 1, octets), BOUND);
                    lengths.push(octets);
                }
                12..=15 => drop(history.flush()),
                16 => drop(history.sync()),
                17 => {
                    let share = if octets % 2 == 0 { 0.1 } else { 0.0 };
                    disk.set_faults(Faults { write: share, ..Faults::default() });
                }
                18 => {
                    disk = if octets % 2 == 0 { disk.crash() } else { disk.kill() };
                    history = open(&disk);
                }
                _ => {
                    group += 1;
                    lengths.clear();
                    disk.set_faults(Faults::default());
                    let whole = Entry::new(&name(1), 0, 100, 9, Body::Contents(b"all")).expect("small");
                    history.push(group, Arc::new(whole), BOUND);
                    prop_assert!(history.flush().is_ok());
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
