//! A hit allocates nothing and takes no lock, whatever is asked: given again or found, data, chains, denials, proofs, errors, local names. A miss allocates what it keeps, and no more.
#![allow(unsafe_code)] // a counting allocator
#![allow(clippy::unwrap_used)] // a test fails by panicking

use cache::{Cache, Entry, Key, Kind, Moment, Rank, Security, Subject};
use recursive::policy::Clients;
use recursive::{Client, Policy, Responder, Served};
use resolve::Time;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use sync::Areas;
use wire::iana::rtype;
use wire::rrset::{RdataListBuf, Rrset, RrsetListBuf};
use wire::{Address, NameBuf, Transport};

#[path = "../examples/common/mod.rs"]
mod common;

thread_local! {
    /// Of each test its own.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's duties are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NOW: Moment = Moment(1_000_000);

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn put(cache: &Cache, owner: &str, subject: Subject, kind: Kind, rdatas: &[&[u8]], beside: &RrsetListBuf) {
    let rdatas: RdataListBuf = rdatas.iter().copied().collect();
    let signatures: RdataListBuf = [&[7; 90][..]].into_iter().collect();
    let entry = Entry {
        kind,
        rank: Rank::Authoritative,
        security: Security::Secure,
        ede: None,
        stored: NOW,
        ttl: 3600,
        zone_labels: 1,
        rdatas: rdatas.list(),
        signatures: signatures.list(),
        beside: beside.list(),
    };
    assert!(cache.put(&Key { name: &name(owner), subject }, &entry, NOW, NOW));
}

fn filled() -> Cache {
    let cache = Cache::new();
    let signatures: RdataListBuf = [&[7; 90][..]].into_iter().collect();
    let set = |owner: &str, rtype: u16, rdata: &[u8]| {
        let rdatas: RdataListBuf = [rdata].into_iter().collect();
        let rrset = Rrset {
            owner: &name(owner),
            rtype,
            ttl: 900,
            rdatas: rdatas.list(),
            signatures: signatures.list(),
        };
        rrset.to_buf()
    };
    let soa = set("x", rtype::SOA, &[0; 22]);
    let nsec = set("a.x", rtype::NSEC, b"\x01z\x01x\0\0\x01\x40");
    let denial: RrsetListBuf = [soa.rrset(), nsec.rrset()].into_iter().collect();
    let proof: RrsetListBuf = [nsec.rrset()].into_iter().collect();
    let nothing = RrsetListBuf::new();
    put(&cache, "www.x", Subject::Rrset(rtype::A), Kind::Data, &[b"abcd", b"efgh", b"ijkl"], &nothing);
    put(&cache, "alias.x", Subject::Rrset(rtype::CNAME), Kind::Data, &[name("www.x").octets()], &proof);
    put(&cache, "d.x", Subject::Rrset(rtype::DNAME), Kind::Data, &[name("x").octets()], &nothing);
    put(&cache, "none.x", Subject::Existence, Kind::NameError, &[], &denial);
    put(&cache, "www.x", Subject::Rrset(rtype::AAAA), Kind::NoData, &[], &denial);
    put(&cache, "failed.x", Subject::Failure(rtype::A), Kind::Failure, &[], &nothing);
    cache
}

fn query(text: &str, qtype: u16, edns: Option<bool>) -> Vec<u8> {
    let mut octets = b"id\x01\0\0\x01\0\0\0\0\0\0".to_vec();
    octets.extend(name(text).octets());
    octets.extend(qtype.to_be_bytes());
    octets.extend([0, 1]);
    if let Some(dnssec_ok) = edns {
        octets[11] = 1;
        octets.extend([0, 0, 41, 4, 208, 0, 0, u8::from(dnssec_ok) << 7, 0, 0, 0]);
    }
    octets
}

#[test]
fn none() {
    let cache = filled();
    let policy = Policy { clients: Clients::All, ..Policy::default() };
    let mut responder = Responder::new(1);
    let mut room = vec![0; 65_535];
    let mut queries = Vec::new();
    for text in
        ["www.x", "WWW.x", "alias.x", "www.d.x", "none.x", "a.b.none.x", "failed.x", "localhost", "a.test"]
    {
        for qtype in [rtype::A, rtype::AAAA, rtype::ANY] {
            queries.extend([None, Some(false), Some(true)].map(|edns| query(text, qtype, edns)));
        }
    }
    let client = Client {
        transport: Transport::Udp,
        address: &Address::v4([192, 0, 2, 1], 53),
        is_proved: false,
        is_of_ours: false,
        ours: None,
        ahead: None,
    };
    let time = Time { now: NOW, wall: 0 };
    let mut run = |rounds: usize, is_forgetting: bool| {
        let (mut octets, mut misses) = (0, 0);
        for _ in 0..rounds {
            for query in &queries {
                match responder.serve(query, &client, (&policy, &cache), time, &mut room) {
                    Served::Octets(count) => octets += count,
                    Served::Miss => misses += 1,
                    served => panic!("{served:?}"),
                }
                if is_forgetting {
                    responder.forget();
                }
            }
        }
        (octets, misses)
    };
    // Buffers for copies and proofs take their size once.
    run(1, false);
    let before = (ALLOCATIONS.get(), cache::locks::taken());
    let (found, misses) = run(2, true);
    let (given, _) = run(5, false);
    let counted = (ALLOCATIONS.get() - before.0, cache::locks::taken() - before.1);
    assert!(found > 5_000 && given > 12_000 && misses < 20, "{found} {given} {misses}");
    assert_eq!(counted, (0, 0), "allocations, locks");
    assert!(responder.counters().rendered > 100);
}

/// Allocations of 2,000 misses, and pieces of the system's for one event among them.
fn of_misses(answers: common::Answers, areas: Option<Arc<Areas>>) -> (u64, u64) {
    let mut misses = common::Misses::new(answers);
    areas.into_iter().for_each(|areas| misses.work_in(areas));
    // Room that is used again, and tables that grow.
    misses.run(4_000);
    let before = (ALLOCATIONS.get(), misses.system_pieces());
    misses.run(2_000);
    (ALLOCATIONS.get() - before.0, misses.system_pieces() - before.1)
}

/// What a miss keeps is written under the lock of its part of the cache: so locks are counted.
#[test]
#[cfg(debug_assertions)]
fn locks_of_a_miss() {
    let mut misses = common::Misses::new(common::Answers::Plain);
    misses.run(100);
    let before = cache::locks::taken();
    misses.run(100);
    let taken = cache::locks::taken() - before;
    assert!((100..=400).contains(&taken), "{taken}");
}

/// Allocations of a miss, of each kind: what validation makes of a response is its own yet (the last name of a chain, a zone that it knows and its keys, what it found of each RRset),
/// and the list of what denies.
const A_MISS: [u64; 5] = [0, 2, 4, 0, 1];

#[test]
fn of_a_miss() {
    for ((name, answers), most) in common::Answers::ALL.into_iter().zip(A_MISS) {
        let areas = Arc::new(Areas::new());
        let with_areas = of_misses(answers, Some(Arc::clone(&areas)));
        let without = of_misses(answers, None);
        println!("{name}: {with_areas:?} with areas, {without:?} without");
        // One in a thousand for lists that grow.
        assert!(with_areas.0 <= most * 2_000 + 2, "{name}: {with_areas:?}");
        assert_eq!(without.0 - with_areas.0, without.1, "{name}: a piece of the system's is one allocation");
        assert_eq!(with_areas.1, 0, "{name}: an area has room for it");
        assert!(areas.made() <= 1, "{name}: one at a time");
    }
}
