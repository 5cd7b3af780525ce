//! What was written is read; what is damaged is said, and costs its zone alone.

use std::io::{Read, Write};

use super::*;
use crate::disk::simulated::{Faults, Simulated};
use proptest::prelude::*;

const IDENTITY: Identity = [4; 16];

fn folder() -> PathBuf {
    PathBuf::from("base")
}

fn head(zone: usize) -> Head {
    Head {
        zone: format!("z{zone}.example").parse().expect("a name"),
        kind: zone as u8,
        pack: 7,
        pack_checksum: 8,
        group: 100 + zone as u64,
        serial: zone as u32,
    }
}

fn body(zone: usize) -> Vec<u8> {
    let length = [0, 5, CHUNK_OCTETS, CHUNK_OCTETS + 1, 3 * CHUNK_OCTETS - 7, 100][zone % 6];
    (0..length).map(|at| (at * (zone + 3)) as u8).collect()
}

fn write(disk: &Simulated, zones: usize) -> io::Result<FileMark> {
    let mut writer = Writer::create(Arc::new(disk.clone()), &folder(), 3, &IDENTITY)?;
    for zone in 0..zones {
        let mut entry = writer.begin(head(zone));
        for part in body(zone).chunks(100_000) {
            entry.write_all(part)?;
        }
        entry.end()?;
    }
    writer.finish()
}

/// What of the zones is read, and the errors.
fn read(disk: &Simulated, mark: &FileMark) -> (Vec<(Head, Vec<u8>)>, Vec<CheckpointError>) {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let mut checkpoint = match Checkpoint::open(disk, &folder(), mark, &IDENTITY) {
        Ok(checkpoint) => checkpoint,
        Err(error) => return (found, vec![error]),
    };
    loop {
        match checkpoint.next_entry() {
            Ok(Some(mut reading)) => {
                let mut octets = Vec::new();
                match reading.read_to_end(&mut octets) {
                    Ok(_) => found.push((reading.head.clone(), octets)),
                    Err(_) => errors.push(reading.damaged()),
                }
            }
            Ok(None) => break,
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        assert_eq!(checkpoint.checksum(), mark.checksum);
    }
    (found, errors)
}

#[test]
fn what_was_written_is_read() {
    let disk = Simulated::new(1);
    for zones in [0, 1, 13] {
        let _ = disk.remove(&folder().join(file_name(3)));
        let mark = write(&disk, zones).expect("a disk that works");
        let (found, errors) = read(&disk.crash(), &mark);
        assert!(errors.is_empty(), "{errors:?}");
        assert_eq!(found, (0..zones).map(|zone| (head(zone), body(zone))).collect::<Vec<_>>());
        assert_eq!(mark.last_group, if zones == 0 { 0 } else { 99 + zones as u64 });
        // Entries that are not read are passed over.
        let mut checkpoint = Checkpoint::open(&disk, &folder(), &mark, &IDENTITY).expect("it");
        let mut count = 0;
        while checkpoint.next_entry().expect("sound").is_some() {
            count += 1;
        }
        assert_eq!(count, zones);
    }
    assert_eq!(number_of(&file_name(3)), Some(3));
    let mark = FileMark { kind: Kind::Checkpoint, number: 3, checksum: 0, octets: 0, last_group: 0 };
    let other = Checkpoint::open(&disk, &folder(), &mark, &[5; 16]);
    assert!(matches!(other, Err(CheckpointError::Foreign(_))));
}

#[test]
fn one_that_was_not_finished_is_not_there() {
    let mut finished = 0;
    for calls in 0..25 {
        let disk = Simulated::new(calls as u64);
        disk.fail_after(calls);
        let written = write(&disk, 3);
        let disk = disk.crash();
        if let Ok(mark) = &written {
            finished += 1;
            assert_eq!(read(&disk, mark).0.len(), 3);
        } else if let Some(octets) = disk.content(&folder().join(file_name(3))) {
            // All was written and the name was on its way.
            let mark = FileMark {
                kind: Kind::Checkpoint,
                number: 3,
                checksum: 0,
                octets: octets.len() as u64,
                last_group: 0,
            };
            assert!(Checkpoint::open(&disk, &folder(), &mark, &IDENTITY).is_ok());
        }
    }
    assert!(finished > 0);
    let disk = Simulated::new(1);
    disk.set_faults(Faults { sync: 1.0, ..Faults::default() });
    assert!(write(&disk, 3).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Damage is said, never read as something else, and the zones that have none are read up to a damaged head.
    #[test]
    fn damage_is_said(changes in proptest::collection::vec((any::<u64>(), 1u8..), 1..4)) {
        let disk = Simulated::new(1);
        let mark = write(&disk, 6).expect("a disk that works");
        let path = folder().join(file_name(3));
        for (at, change) in changes {
            disk.damage(&path, at % mark.octets, |octets| octets[0] ^= change);
        }
        let (found, errors) = read(&disk, &mark);
        for (head, octets) in &found {
            let zone = usize::from(head.kind);
            prop_assert_eq!((head, octets), (&super::tests::head(zone), &body(zone)));
        }
        let has_rest = errors.iter().any(|error| !matches!(error, CheckpointError::Entry { .. }));
        prop_assert!(has_rest || found.len() + errors.len() == 6);
    }

    #[test]
    fn any_octets_are_read(octets in proptest::collection::vec(any::<u8>(), 0..400)) {
        let disk = Simulated::new(1);
        let mark = write(&disk, 1).expect("a disk that works");
        disk.damage(&folder().join(file_name(3)), FILE_HEAD_OCTETS as u64, |there| {
            let count = there.len().min(octets.len());
            there[..count].copy_from_slice(&octets[..count]);
        });
        read(&disk, &mark);
    }
}
