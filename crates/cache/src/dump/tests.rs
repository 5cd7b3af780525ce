use super::*;
use crate::entry::{Copied, Kind, Rank};
use crate::{Flush, Settings};
use wire::name::NameBuf;
use wire::rrset::{RdataList, RdataListBuf};

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
    Situation { now: Moment(now), wall, world: 7 }
}

fn written(cache: &Cache, situation: &Situation) -> Vec<u8> {
    let mut octets = Vec::new();
    cache.write_dump(&mut octets, situation).unwrap();
    octets
}

fn loaded(cache: &Cache, octets: &[u8], situation: &Situation) -> Result<Loaded, DumpError> {
    let dump = Dump::open(octets, situation)?;
    let mut all = Loaded::default();
    for part in 0..dump.parts() {
        let loaded = cache.load(&dump, part, situation.now)?;
        all.entries += loaded.entries;
        all.passed_over += loaded.passed_over;
        all.wrong += loaded.wrong;
    }
    Ok(all)
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

/// A part that is taken in late does not bring back what was flushed meanwhile.
#[test]
fn flushed_before_it_is_taken_in() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    put(&old, 2, 1_000, Security::Secure, Moment(1_000));
    let octets = written(&old, &situation(2_000, 100));
    let new = cache(1 << 20, 2);
    new.flush(&Flush::Tree(name(1)), Moment(10));
    assert_eq!(
        loaded(&new, &octets, &situation(20, 100)).unwrap(),
        Loaded { entries: 1, passed_over: 1, wrong: 0 }
    );
    assert_eq!((ttl_left(&new, 1, 20), ttl_left(&new, 2, 20)), (None, Some(999)));
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
fn other_worlds_and_clocks() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    let octets = written(&old, &situation(1_000, 100));
    let error = |octets: &[u8], situation| Dump::open(octets, &situation).err();
    assert_eq!(error(&octets, situation(1_000, 100)), None);
    assert_eq!(error(&octets, situation(1_000, 99)), Some(DumpError::ClockWentBack));
    assert_eq!(error(&octets, Situation { world: 8, ..situation(1_000, 100) }), Some(DumpError::OtherWorld));
    let mut other = octets.clone();
    other[8] = 9;
    assert_eq!(error(&other, situation(1_000, 100)), Some(DumpError::Version(9)));
    assert_eq!(error(&octets[..47], situation(1_000, 100)), Some(DumpError::NotADump));
}

/// Every octet damaged, every length cut: an error, or parts left out, and nothing but what was written is there.
#[test]
fn damage_is_found() {
    let old = cache(1 << 20, 1);
    (0..20).for_each(|number| put(&old, number, 1_000, Security::Secure, Moment(1_000)));
    let situation = situation(1_000, 100);
    let octets = written(&old, &situation);
    for at in 0..octets.len() {
        let mut damaged = octets.clone();
        damaged[at] ^= 1 << (at % 8);
        let new = cache(1 << 20, 2);
        let is_found = match Dump::open(&damaged, &situation) {
            Err(_) => true,
            Ok(dump) => {
                dump.missing() > 0
                    || (0..dump.parts()).any(|part| new.load(&dump, part, situation.now).is_err())
            }
        };
        assert!(is_found, "octet {at}");
        if at % 16 == 0 {
            let cut = Dump::open(&octets[..at], &situation);
            assert!(cut.is_err() || cut.is_ok_and(|dump| dump.missing() == 1), "{at} octets");
        }
    }
}

/// Parts with right checksums around anything: no panic, and only entries that could have been put.
#[test]
fn strangers_write_dumps() {
    let old = cache(1 << 20, 1);
    put(&old, 1, 1_000, Security::Secure, Moment(1_000));
    let situation = situation(1_000, 100);
    let octets = written(&old, &situation);
    let begin = HEADER_OCTETS + PART_OCTETS;
    for at in begin..octets.len() {
        for value in [0, 1, 0x41, 0x7f, 0xff] {
            let mut forged = octets.clone();
            forged[at] = value;
            let sum = checksum_of_part(&forged[HEADER_OCTETS..begin - 8], &forged[begin..]);
            forged[begin - 8..begin].copy_from_slice(&sum.to_le_bytes());
            let new = cache(1 << 20, 2);
            let dump = Dump::open(&forged, &situation).unwrap();
            let _ = new.load(&dump, 0, situation.now);
            new.walk(0, Which::Small, |octets, _| assert!(checked(octets).is_some()));
            new.walk(0, Which::Main, |octets, _| assert!(checked(octets).is_some()));
        }
    }
}
