use super::restore::checked;
use super::*;
use crate::entry::{Copied, Kind, Rank};
use crate::{Flush, Settings};
use wire::name::NameBuf;
use wire::rrset::{RdataList, RdataListBuf, RrsetList};

fn name(number: u32) -> NameBuf {
    NameBuf::from_text(&format!("h{number}.example.")).unwrap()
}

fn cache(octets: usize, seed: u64) -> Cache {
    Cache::with(&Settings { octets, ..Settings::default() }, [seed; 3])
}

fn put(cache: &Cache, number: u32, ttl: u32, security: Security, now: Moment) {
    let owner = name(number);
    let list: RdataListBuf = [&number.to_be_bytes()[..]].into_iter().collect();
    let entry = Entry {
        kind: Kind::Data,
        rank: Rank::Authoritative,
        security,
        ede: None,
        stored: now,
        ttl,
        zone_labels: 1,
        rdatas: list.list(),
        signatures: RdataList::EMPTY,
        beside: RrsetList::EMPTY,
    };
    assert!(cache.put(&Key::rrset(&owner, 1), &entry, now, now));
}

fn situation(now: u64, wall: u64) -> Situation {
    Situation { now: Moment(now), wall }
}

fn written(cache: &Cache, situation: &Situation) -> Vec<u8> {
    let mut octets = Vec::new();
    cache.write_dump(&mut octets, situation, b"about").unwrap();
    octets
}

fn open(octets: &[u8], situation: &Situation) -> Result<Dump, DumpError> {
    Dump::open(Box::new(octets.to_vec()), situation)
}

/// Takes in all of it as the thread does.
fn loaded(cache: &Cache, octets: &[u8], situation: &Situation) -> Result<Loaded, DumpError> {
    let dump = open(octets, situation)?;
    assert_eq!(dump.about(), b"about");
    cache.restore(dump);
    Ok(rest(cache, situation.now))
}

fn rest(cache: &Cache, now: Moment) -> Loaded {
    loop {
        let Restored { loaded, is_done } = cache.take_in(now);
        if is_done {
            return loaded;
        }
    }
}

fn ttl_left(cache: &Cache, number: u32, now: u64) -> Option<u32> {
    let (owner, mut copied) = (name(number), Copied::new());
    let entry = cache.peek(&Key::rrset(&owner, 1), &mut copied)?;
    assert_eq!(entry.rdatas.iter().next(), Some(&number.to_be_bytes()[..]));
    entry.ttl_left(Moment(now))
}

/// Into a store of another size, with another secret, whose clock begins anew.
#[test]
fn what_was_known_is_known_again() {
    let old = cache(40 << 20, 1);
    for number in 0..30_000 {
        put(&old, number, 1_000, Security::Insecure, Moment(5_000_000));
    }
    let octets = written(&old, &situation(5_100_000, 1_700_000_000));
    let new = cache(8 << 20, 2);
    let all = loaded(&new, &octets, &situation(2_000, 1_700_000_050)).unwrap();
    assert_eq!(all, Loaded { entries: 30_000, ..Loaded::default() });
    assert!((0..30_000).all(|number| ttl_left(&new, number, 2_000) == Some(850)), "100 s and 50 s old");
    assert_eq!(ttl_left(&new, 1, 852_000), None);
    let again = loaded(&new, &octets, &situation(2_000, 1_700_000_050)).unwrap();
    assert_eq!(again, Loaded { passed_over: 30_000, ..Loaded::default() }, "what is there is newer");
    let late = loaded(&cache(8 << 20, 3), &octets, &situation(2_000, 1_700_000_900)).unwrap();
    assert_eq!(late, Loaded { passed_over: 30_000, ..Loaded::default() }, "all has expired");
}

/// Before any of it has been taken in, and whatever the thread does meanwhile.
#[test]
fn known_from_the_first_question_on() {
    let old = cache(20 << 20, 1);
    (0..20_000).for_each(|number| put(&old, number, 1_000, Security::Secure, Moment(1_000)));
    let octets = written(&old, &situation(2_000, 100));
    let new = cache(20 << 20, 2);
    new.restore(open(&octets, &situation(2_000, 100)).unwrap());
    // Each is there when it is first looked for; the thread takes in others between.
    for number in (0..20_000).rev() {
        assert_eq!(ttl_left(&new, number, 2_000), Some(999), "{number}");
        if number % 2_000 == 0 {
            new.take_in(Moment(2_000));
        }
    }
    assert_eq!((ttl_left(&new, 20_001, 2_000), new.counts().entries), (None, 20_000));
    assert_eq!(rest(&new, Moment(2_000)), Loaded { entries: 20_000, ..Loaded::default() });
    assert_eq!(rest(&new, Moment(2_000)), Loaded::default(), "it is over");
}

/// What is learned before its name was looked for is weighed against what was dumped.
#[test]
fn what_is_learned_meanwhile() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    let octets = written(&old, &situation(1_000, 100));
    let new = cache(1 << 20, 2);
    new.restore(open(&octets, &situation(1_000, 100)).unwrap());
    let (owner, list) = (name(1), [&[9; 4][..]].into_iter().collect::<RdataListBuf>());
    let weaker = Entry {
        kind: Kind::Data,
        rank: Rank::Additional,
        security: Security::Insecure,
        ede: None,
        stored: Moment(0),
        ttl: 5,
        zone_labels: 1,
        rdatas: list.list(),
        signatures: RdataList::EMPTY,
        beside: RrsetList::EMPTY,
    };
    assert!(!new.put(&Key::rrset(&owner, 1), &weaker, Moment(2_000), Moment(2_000)));
    assert_eq!(ttl_left(&new, 1, 2_000), Some(999));
}

/// Nothing comes back that was flushed before it is taken in.
#[test]
fn flushed_before_it_is_taken_in() {
    let old = cache(1 << 20, 1);
    (1..=3).for_each(|number| put(&old, number, 1_000, Security::Secure, Moment(1_000)));
    let octets = written(&old, &situation(2_000, 100));
    let new = cache(1 << 20, 2);
    new.restore(open(&octets, &situation(20, 100)).unwrap());
    new.flush(&Flush::Tree(name(1)), Moment(30));
    assert_eq!(new.flush(&Flush::Name(name(2)), Moment(30)), 1, "counted as if it were there");
    assert_eq!([1, 2, 3].map(|number| ttl_left(&new, number, 30)), [None, None, Some(999)]);
    let all = rest(&new, Moment(30));
    assert_eq!(all, Loaded { entries: 2, passed_over: 1, ..Loaded::default() }, "one came and was flushed");
}

#[test]
fn what_is_not_worth_it_is_left_out() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    put(&old, 2, 1_000, Security::Bogus, Moment(1_000));
    put(&old, 3, 1, Security::Secure, Moment(1_000));
    put(&old, 4, 1_000, Security::Secure, Moment(1_000));
    old.hide(&Flush::Tree(name(4)), Moment(1_500));
    let octets = written(&old, &situation(3_000, 100));
    let new = cache(1 << 20, 2);
    assert_eq!(loaded(&new, &octets, &situation(3_000, 100)).unwrap().entries, 1);
    assert_eq!(ttl_left(&new, 1, 3_000), Some(998));
}

#[test]
fn other_formats_and_clocks() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    let octets = written(&old, &situation(1_000, 100));
    let error = |octets: &[u8], situation| open(octets, &situation).err();
    assert_eq!(error(&octets, situation(1_000, 100)), None);
    assert_eq!(error(&octets, situation(1_000, 99)), Some(DumpError::ClockWentBack));
    let mut other = octets.clone();
    other[8] = 9;
    assert_eq!(error(&other, situation(1_000, 100)), Some(DumpError::Version(9)));
    assert_eq!(error(&octets[..HEADER_OCTETS - 1], situation(1_000, 100)), Some(DumpError::NotADump));
    let long = vec![0; ABOUT_OCTETS_MAX + 1];
    assert!(old.write_dump(&mut Vec::new(), &situation(1_000, 100), &long).is_err());
}

/// Every octet damaged, every length cut: an error, or groups or parts left out, and nothing but what was written is there.
#[test]
fn damage_is_found() {
    let old = cache(1 << 20, 1);
    (0..40).for_each(|number| put(&old, number, 1_000, Security::Secure, Moment(1_000)));
    let situation = situation(1_000, 100);
    let octets = written(&old, &situation);
    let (thread, asked) = (cache(1 << 20, 2), cache(1 << 20, 2));
    for at in 0..octets.len() {
        let mut damaged = octets.clone();
        damaged[at] ^= 1 << (at % 8);
        let is_found = match open(&damaged, &situation) {
            Err(_) => true,
            Ok(dump) => {
                let is_missing = dump.missing() > 0;
                thread.restore(dump);
                let loaded = rest(&thread, situation.now);
                thread.flush(&Flush::All, Moment(0));
                is_missing || loaded.damaged > 0
            }
        };
        assert!(is_found, "octet {at}");
        if at % 16 == 0 {
            if let Ok(dump) = open(&damaged, &situation) {
                asked.restore(dump);
                assert!((0..40).filter(|number| ttl_left(&asked, *number, 1_000).is_some()).count() <= 40);
                asked.flush(&Flush::All, Moment(0));
            }
            let cut = open(&octets[..at], &situation);
            assert!(cut.is_err() || cut.is_ok_and(|dump| dump.missing() == 1), "{at} octets");
        }
    }
}

/// Right checksums around anything: no panic, and only entries that could have been put.
#[test]
fn strangers_write_dumps() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    let situation = situation(1_000, 100);
    let octets = written(&old, &situation);
    let part = HEADER_OCTETS + "about".len();
    let group = part + PART_OCTETS + END_OCTETS;
    let new = cache(1 << 20, 2);
    for at in part..octets.len() {
        for value in [0, 1, 0x41, 0x7f, 0xff] {
            let mut forged = octets.clone();
            forged[at] = value;
            let sum = checksum_of_group(0, 0, &forged[group + SUM_OCTETS..]);
            forged[group..group + SUM_OCTETS].copy_from_slice(&sum.to_le_bytes());
            let sum = checksum(&forged[part..part + PART_OCTETS - 8]);
            forged[part + PART_OCTETS - 8..part + PART_OCTETS].copy_from_slice(&sum.to_le_bytes());
            let Ok(dump) = open(&forged, &situation) else { continue };
            new.restore(dump);
            let _ = ttl_left_of_anything(&new, 1);
            rest(&new, situation.now);
            new.walk(0, Which::Small, |octets, _| assert!(checked(octets).is_some()));
            new.walk(0, Which::Main, |octets, _| assert!(checked(octets).is_some()));
            new.flush(&Flush::All, Moment(0));
        }
    }
    for at in 16..HEADER_OCTETS - 8 {
        for value in [0, 1, 0x7f, 0xff] {
            let mut forged = octets.clone();
            forged[at] = value;
            let sum = checksum_of(&forged[..HEADER_OCTETS - 8], b"about");
            forged[HEADER_OCTETS - 8..HEADER_OCTETS].copy_from_slice(&sum.to_le_bytes());
            let Ok(dump) = open(&forged, &situation) else { continue };
            new.restore(dump);
            let _ = ttl_left_of_anything(&new, 1);
            rest(&new, situation.now);
            new.flush(&Flush::All, Moment(0));
        }
    }
}

fn ttl_left_of_anything(cache: &Cache, number: u32) -> Option<u32> {
    cache.peek(&Key::rrset(&name(number), 1), &mut Copied::new())?.ttl_left(Moment(1_000))
}
