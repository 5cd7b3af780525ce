//! A sound log with octets changed and its checksums made right again: a start reads it without panic, and goes on. For fuzzing.
//!
//! The input is a list of changes of four octets: segment, place (16 bits, little-endian, taken modulo the length), new octet. The octet in
//! front of them says whether checksums are made right. An input that begins with `raw` is a segment instead, one that begins with `file`
//! changes of a checkpoint file (`file`).

mod file;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use wire::NameBuf;

use crate::disk::simulated::Simulated;
use crate::disk::{Disk, PAGE_OCTETS};
use crate::log::{Log, Options, Recovery, Start, Urgency, fuzz_segment, mend_segment};
use crate::record::{Asked, Body, Entry};
use crate::sum::Identity;

const OPTIONS: Options = Options { segment_octets: 4 * PAGE_OCTETS, log_octets: 16 * 4 * PAGE_OCTETS as u64 };
const IDENTITY: Identity = [7; 16];
/// Starts that have written something each.
const STARTS: u32 = 3;

fn folder() -> PathBuf {
    PathBuf::from("log")
}

fn zone(number: usize) -> NameBuf {
    ["a.example", "b.example", "example"][number % 3].parse().expect("a name")
}

fn open(disk: &Simulated) -> Result<Recovery, crate::log::OpenError> {
    let start = Start { identity: Some(IDENTITY), ..Start::default() };
    Recovery::open(Arc::new(disk.clone()), &folder(), OPTIONS, start)
}

fn begin(recovery: Recovery) -> Log {
    let log = recovery.begin();
    while log.prepare().unwrap_or(false) {}
    log
}

/// The segments of a log with all kinds of records, commits of several parts and several epochs.
fn sound() -> &'static Vec<(PathBuf, Vec<u8>)> {
    static SOUND: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
    SOUND.get_or_init(|| {
        let disk = Simulated::new(1);
        for start in 1..=STARTS {
            let mut log = begin(open(&disk).expect("a log"));
            log.decide().expect("a disk that works");
            let records = vec![start as u8; 5000];
            let bodies = [
                Body::Difference { removed: b"removed", added: b"added" },
                Body::Contents(&records),
                Body::Pack { number: 1, checksum: 2 },
                Body::Removed,
                Body::Checked { time: 3, expiry: 4 },
                Body::AtRest { number: 1, checksum: 2 },
                Body::Asked(Asked { key: [1; 16], repeat: [2; 16], request: [3; 16], status: 204, zones: 1 }),
            ];
            for (number, body) in bodies.into_iter().enumerate() {
                let entry = Entry::new(&zone(number), start, start + 1, 5, body).expect("small");
                log.append(&[&entry, &entry], Urgency::Last).expect("a disk that works");
                while log.prepare().expect("a disk that works") {}
            }
            let large =
                Entry::new(&zone(0), start, start + 1, 5, Body::Contents(&[9; 20_000])).expect("small");
            log.append(&[&large], Urgency::Last).expect("a disk that works");
        }
        let mut names = disk.names(&folder()).expect("names");
        names.sort();
        let content = |path: PathBuf| (path.clone(), disk.content(&path).expect("a file"));
        names.iter().map(|name| content(folder().join(name))).collect()
    })
}

/// One input.
pub fn fuzz_log(data: &[u8]) {
    if let Some(raw) = data.strip_prefix(b"raw") {
        return fuzz_segment(raw, &IDENTITY);
    }
    if let Some(changes) = data.strip_prefix(b"file") {
        return file::fuzz_file(changes);
    }
    let Some((how, changes)) = data.split_first() else { return };
    let mut segments = sound().clone();
    let count = segments.len();
    for change in changes.chunks_exact(4) {
        let octets = &mut segments[usize::from(change[0]) % count].1;
        let place = usize::from(u16::from_le_bytes([change[1], change[2]])) % octets.len();
        octets[place] = change[3];
    }
    let disk = Simulated::new(1);
    for (path, octets) in &mut segments {
        if how % 2 == 1 {
            mend_segment(octets, path, &IDENTITY);
        }
        put(&disk, path, octets);
    }
    let Ok(recovery) = open(&disk) else { return };
    let mut last = 0;
    let mut visit = |group: u64, record: &crate::Record<'_>| {
        assert!(group >= last, "in order");
        last = group;
        std::hint::black_box(record);
    };
    recovery.replay(&mut visit).expect("what was found is there");
    for lost in recovery.lost() {
        assert!(lost.first <= lost.last && lost.last < recovery.next());
        std::hint::black_box(lost.to_string());
    }
    for number in 0..3 {
        std::hint::black_box(recovery.suffers(&zone(number), 3));
    }
    // It goes on, and what is appended is found by the next start.
    let next = recovery.next();
    let mut log = begin(recovery);
    if log.decide().is_err() {
        return;
    }
    let entry = Entry::new(&zone(0), 1, 2, 3, Body::Removed).expect("small");
    let Ok(number) = log.append(&[&entry], Urgency::Last) else { return };
    assert!(number >= next);
    let mut is_found = false;
    let recovery = open(&disk.kill()).expect("as before");
    recovery.replay(&mut |group, _| is_found |= group == number).expect("readable");
    assert!(is_found, "group {number}");
}

fn put(disk: &Simulated, path: &Path, octets: &[u8]) {
    let file = disk.create(path).expect("a new file");
    file.write_at(octets, 0).expect("a disk that works");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

        #[test]
        fn any_change_of_a_log_is_survived(how in 0u8..2, changes in proptest::collection::vec((0u8..16, 0usize..4, 0u16..64, any::<u8>()), 0..10)) {
            let mut data = vec![how];
            for (segment, page, at, octet) in changes {
                data.push(segment);
                data.extend((page as u16 * PAGE_OCTETS as u16 + at).to_le_bytes());
                data.push(octet);
            }
            fuzz_log(&data);
        }
    }

    #[test]
    fn a_sound_log_has_all_its_records() {
        let disk = Simulated::new(1);
        sound().iter().for_each(|(path, octets)| put(&disk, path, octets));
        let recovery = open(&disk).expect("a log");
        let mut count = 0;
        recovery.replay(&mut |_, _| count += 1).expect("readable");
        assert_eq!((count, recovery.lost().len()), (STARTS * 15, 0));
    }
}
