//! Answers the same few questions from a warm cache again and again, for counting instructions:
//! `valgrind --tool=callgrind target/release/examples/hits given 200000`, once with twice the number: the difference is what that many hits take.
//!
//! `given`: as octets of before; `found`: from the cache each time. Then how many. With `edns`: with OPT and DO.
#![allow(clippy::unwrap_used)] // a tool for the desk

use cache::{Cache, Entry, Key, Kind, Moment, Rank, Security};
use recursive::policy::Clients;
use recursive::{Client, Policy, Responder, Served};
use resolve::Time;
use wire::iana::rtype;
use wire::rrset::{RdataList, RdataListBuf, RrsetList};
use wire::{Address, NameBuf, Transport};

const NOW: Moment = Moment(1_000_000);
/// Names that are asked for in turn.
const NAMES: usize = 64;

fn query(text: &str, has_edns: bool) -> Vec<u8> {
    let mut octets = b"id\x01\0\0\x01\0\0\0\0\0\0".to_vec();
    octets.extend(NameBuf::from_text(text).unwrap().octets());
    octets.extend([0, 1, 0, 1]);
    if has_edns {
        octets[11] = 1;
        octets.extend([0, 0, 41, 4, 208, 0, 0, 0x80, 0, 0, 0]);
    }
    octets
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_given = words.first().is_some_and(|word| word == "given");
    let count: usize = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let has_edns = words.iter().any(|word| word == "edns");
    let cache = Cache::new();
    let rdatas: RdataListBuf = [&b"abcd"[..], b"efgh"].into_iter().collect();
    let mut queries = Vec::new();
    for number in 0..NAMES {
        let text = format!("www{number}.example.com");
        let entry = Entry {
            kind: Kind::Data,
            rank: Rank::Authoritative,
            security: Security::Insecure,
            ede: None,
            stored: NOW,
            ttl: 3600,
            zone_labels: 2,
            rdatas: rdatas.list(),
            signatures: RdataList::EMPTY,
            beside: RrsetList::EMPTY,
        };
        let name = NameBuf::from_text(&text).unwrap();
        assert!(cache.put(&Key::rrset(&name, rtype::A), &entry, NOW, NOW));
        queries.push(query(&text, has_edns));
    }
    let policy = Policy { clients: Clients::loopback(), ..Policy::default() };
    let client = Client {
        transport: Transport::Udp,
        address: &Address::v4([127, 0, 0, 1], 53),
        is_proved: false,
        is_of_ours: false,
        ours: None,
    };
    let mut responder = Responder::new(1);
    let mut room = vec![0; 1232];
    let start = std::time::Instant::now();
    let mut octets = 0;
    for at in 0..count {
        let time = Time { now: NOW.plus_ms(at as u64 / 1000), wall: 0 };
        match responder.serve(&queries[at % NAMES], &client, (&policy, &cache), time, &mut room) {
            Served::Octets(written) => octets += written,
            served => panic!("{served:?}"),
        }
        if !is_given && at % NAMES == NAMES - 1 {
            responder.forget();
        }
    }
    let each = start.elapsed().as_nanos() / count.max(1) as u128;
    println!("{count} hits, {octets} octets, {} given again, {each} ns each", responder.counters().rendered);
}
