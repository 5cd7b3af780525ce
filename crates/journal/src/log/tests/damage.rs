//! Octets that changed on the disk: nothing panics, and who suffers is said.

use proptest::prelude::*;

use super::*;
use crate::log::format::{GROUP_HEAD_OCTETS, place};
use crate::log::scan::scan;

/// Where a group is.
fn find(disk: &Simulated, identity: &Identity, number: u64) -> (PathBuf, u64) {
    for path in segment_files(disk) {
        let segment =
            path.file_name().and_then(|name| segments::number_of(name.to_str()?)).expect("a segment");
        let octets = disk.content(&path).expect("its content");
        for found in scan(&octets, segment, identity).groups {
            if found.head.number == number {
                return (path, (found.page * PAGE_OCTETS) as u64);
            }
        }
    }
    panic!("no group {number}");
}

/// A log of groups of two zones each; the last of them is group 21.
fn filled() -> (Simulated, Identity) {
    let disk = Simulated::new(1);
    let mut log = begin(open(&disk, Start::default()));
    for version in 1..=20 {
        let (a, b) =
            (entry(version as usize % 5, 0, version, b"one"), entry(100 + version as usize, 0, 1, b"other"));
        append(&mut log, &[&a, &b]);
    }
    assert_eq!(log.status().next, 22);
    (disk.kill(), log.identity())
}

/// Zones of group `number`: versions begin in group 2.
fn zones_of(number: u64) -> [usize; 2] {
    let version = number as usize - 1;
    [version % 5, 100 + version]
}

#[test]
fn zones_of_a_lost_group_suffer_by_name_and_no_others() {
    for (at, is_head) in [(100, false), (3, true), (20, true)] {
        let (disk, identity) = filled();
        let (path, place) = find(&disk, &identity, 9);
        disk.damage(&path, place + at, |octets| octets[0] ^= 1);
        let recovery = open(&disk, Start::default());
        let lost = recovery.lost();
        assert_eq!((lost.len(), lost[0].first, lost[0].last), (1, 9, 9));
        let is_first = is_head && place == PAGE_OCTETS as u64;
        assert!(is_first || lost[0].place == Some(Place { path: path.clone(), octet: place }), "{}", lost[0]);
        for zone in (0..5).chain(100..125) {
            let suffers = recovery.suffers(&name(zone), 0).is_some();
            assert_eq!(suffers, zones_of(9).contains(&zone), "zone {zone}");
            assert!(recovery.suffers(&name(zone), 9).is_none(), "a pack has it");
        }
        assert_eq!(records(&recovery).len(), 38, "the others are read");
        // The next start says the same, until a checkpoint has passed: then the segment is put aside.
        let mut log = begin(recovery);
        let recovery = open(&disk.kill(), Start::default());
        assert_eq!(recovery.lost().len(), 1);
        log.release(22);
        assert!(!is_there(&disk, &path));
        assert!(is_there(
            &disk,
            &folder().join(format!("damaged-{}", path.file_name().expect("a name").to_string_lossy()))
        ));
        assert!(open(&disk.kill(), Start { first: 22, ..Start::default() }).lost().is_empty());
    }
}

#[test]
fn two_lost_groups_are_named_and_more_are_told_by_what_came_later() {
    let (disk, identity) = filled();
    for number in [9, 10] {
        let (path, place) = find(&disk, &identity, number);
        disk.damage(&path, place + 9, |octets| octets[0] ^= 1);
    }
    let recovery = open(&disk, Start::default());
    let named: Vec<usize> =
        (0..5).chain(100..125).filter(|zone| recovery.suffers(&name(*zone), 0).is_some()).collect();
    let mut expected = [zones_of(9), zones_of(10)].concat();
    expected.sort_unstable();
    assert_eq!(named, expected);
    let (path, place) = find(&disk, &identity, 11);
    disk.damage(&path, place + 9, |octets| octets[0] ^= 1);
    let recovery = open(&disk, Start::default());
    assert_eq!((recovery.lost()[0].first, recovery.lost()[0].last), (9, 11));
    for zone in 0..5 {
        // Each of them has a record every five groups, so the next one says whether there was one in between.
        let is_in = (9..=11).any(|number| zones_of(number)[0] == zone);
        assert_eq!(recovery.suffers(&name(zone), 0).is_some(), is_in, "zone {zone}");
    }
    assert!(recovery.suffers(&name(103), 0).is_some(), "nothing proves the contrary");
    // Of the last two the group after says whose they are, though that is not all.
    for zone in 100..125 {
        let is_named = zones_of(10).contains(&zone) || zones_of(11).contains(&zone);
        assert_eq!(recovery.is_named(&name(zone), 0).is_some(), is_named, "zone {zone}");
        assert_eq!(recovery.unnamed(8).count() + recovery.unnamed(11).count(), 1);
    }
    assert!(
        recovery.suffers(&name(119), 0).is_none(),
        "its first record came later, and says that none was before"
    );
}

#[test]
fn the_last_group_is_torn_or_shown_to_be_lost_by_an_empty_one() {
    let (disk, identity) = filled();
    let (path, place) = find(&disk, &identity, 21);
    disk.damage(&path, place + 70, |octets| octets[0] ^= 1);
    let recovery = open(&disk.kill(), Start::default());
    assert!(recovery.lost().is_empty(), "it looks torn");
    assert_eq!(recovery.next(), 21);

    let (disk, identity) = filled();
    let mut log = begin(open(&disk, Start::default()));
    append(&mut log, &[]);
    let (path, place) = find(&disk, &identity, 20);
    disk.damage(&path, place + 70, |octets| octets[0] ^= 1);
    let recovery = open(&disk.kill(), Start::default());
    assert_eq!(recovery.lost().len(), 1);
    assert!(zones_of(20).iter().all(|zone| recovery.suffers(&name(*zone), 0).is_some()));
}

#[test]
fn a_head_that_is_damaged_costs_nothing() {
    let (disk, _) = filled();
    let before = records(&open(&disk.kill(), Start::default()));
    for path in segment_files(&disk) {
        disk.damage(&path, 17, |octets| octets[0] ^= 0x40);
    }
    let recovery = open(
        &disk,
        Start { identity: Some(open(&filled().0, Start::default()).identity()), ..Start::default() },
    );
    // Every head is gone, and so is what says whose log it is: the anchor knows.
    assert!(records(&recovery).is_empty() || records(&recovery) == before);
    let (disk, identity) = filled();
    for path in segment_files(&disk) {
        disk.damage(&path, 17, |octets| octets[0] ^= 0x40);
    }
    let recovery = open(&disk, Start { identity: Some(identity), ..Start::default() });
    assert_eq!(records(&recovery), before);
    assert!(recovery.lost().is_empty());
}

#[test]
fn a_file_that_was_cut_off_is_read_as_far_as_it_goes() {
    let (disk, identity) = filled();
    let (path, place) = find(&disk, &identity, 12);
    disk.open(&path).and_then(|file| file.set_octets(place)).expect("cut off");
    let recovery = open(&disk, Start::default());
    assert_eq!(recovery.lost().len(), 1);
    assert!(recovery.lost()[0].first == 12 && recovery.suffers(&name(zones_of(12)[1]), 0).is_some());
    append(&mut begin(recovery), &[&entry(1, 0, 1, b"")]);
}

#[test]
fn records_that_look_like_groups_are_none() {
    let disk = Simulated::new(1);
    let mut log = begin(open(&disk, Start::default()));
    append(&mut log, &[&entry(1, 0, 1, b"mine")]);
    let of_used = |disk: &Simulated| {
        let mut files = segment_files(disk).into_iter().map(|path| disk.content(&path).expect("a file"));
        files.find(|octets| octets[PAGE_OCTETS] != 0).expect("one in use")
    };
    // A client stores a group of another place, whole and at a page's beginning.
    let group = &of_used(&disk)[2 * PAGE_OCTETS..3 * PAGE_OCTETS];
    let mut content = vec![0; 3 * PAGE_OCTETS];
    for shift in 0..PAGE_OCTETS {
        if shift + 2 * PAGE_OCTETS <= content.len() {
            content[PAGE_OCTETS + shift] = group[(shift + 200) % PAGE_OCTETS];
        }
    }
    append(&mut log, &[&entry(2, 0, 1, &content[..2 * PAGE_OCTETS])]);
    let recovery = open(&disk.kill(), Start::default());
    assert_eq!(records(&recovery).len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Whatever changes on the disk: a start reads it, never makes up a record, and says all that it misses, up to the torn end.
    #[test]
    fn any_damage_is_survived(changes in proptest::collection::vec((0usize..12, 0u64..16384, any::<u8>(), 1usize..600), 1..12)) {
        let (disk, identity) = filled();
        let before = records(&open(&disk.kill(), Start::default()));
        let files = segment_files(&disk);
        for (file, at, octet, count) in changes {
            let path = &files[file % files.len()];
            disk.damage(path, at, |octets| {
                let end = count.min(octets.len());
                octets[..end].fill(octet);
            });
        }
        let Ok(recovery) = Recovery::open(Arc::new(disk.clone()), &folder(), OPTIONS, Start { identity: Some(identity), known: 0, ..Start::default() })
            else { return Ok(()) };
        let found = records(&recovery);
        for record in &found {
            prop_assert!(before.contains(record));
        }
        for missing in before.iter().filter(|record| !found.contains(record)) {
            let is_said = recovery.lost().iter().any(|lost| (lost.first..=lost.last).contains(&missing.0));
            prop_assert!(is_said || missing.0 >= recovery.next());
            if is_said {
                let zone: NameBuf = missing.1.parse().expect("a name");
                prop_assert!(recovery.suffers(&zone, missing.0 - 1).is_some());
            }
        }
        let mut log = recovery.begin();
        log.decide().expect("a segment is free");
    }

    #[test]
    fn any_octets_are_read(octets in proptest::collection::vec(any::<u8>(), 0..3 * PAGE_OCTETS), fields in proptest::collection::vec((0usize..64, any::<u8>()), 0..8)) {
        let identity = [5; 16];
        let mut octets = octets;
        fuzz_segment(&octets, &identity);
        // The same with a head whose checksum is right, so that more of it is looked at.
        if octets.len() >= 2 * PAGE_OCTETS {
            let key = place(&identity, 1, 1);
            let page = &mut octets[PAGE_OCTETS..];
            for (at, octet) in fields {
                page[at % GROUP_HEAD_OCTETS] = octet;
            }
            let sum = key.sum(&page[8..GROUP_HEAD_OCTETS]);
            page[..8].copy_from_slice(&sum.to_le_bytes());
            fuzz_segment(&octets, &identity);
        }
    }
}
