//! Has questions about names of others answered in a server with a zone of its own: `auth` says that they are elsewhere, `recursive` has them in a warm cache. For counting instructions:
//! `valgrind --tool=callgrind target/release/examples/beside once 200000`, once with twice the number: the difference is what that many take.
//!
//! `once`: as `auth` has read them; `twice`: read anew. Then how many. With `edns`: with OPT and DO; with `mirror`: the zone is a copy of the root for the resolver alone.
#![allow(clippy::unwrap_used)] // a tool for the desk

use auth::{Access, Answered, Server};
use cache::{Cache, Entry, Key, Kind, Moment, Rank, Security};
use recursive::policy::Clients;
use recursive::{Policy, Served};
use resolve::Time;
use wire::iana::rtype;
use wire::rrset::{RdataList, RdataListBuf, RrsetList};
use wire::{Address, NameBuf, Transport};
use zone::catalog::{Catalog, Group, ViewSource};
use zone::contents::{ContentsBuilder, SourcePosition};
use zone::{Pack, PackBuilder, TextStamp};

const NOW: Moment = Moment(1_000_000);
/// Names that are asked for in turn.
const NAMES: usize = 64;
/// `ns. x. 1 2 3 4 5`
const SOA: &[u8] = b"\x02ns\0\x01x\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05";

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

/// A catalog with one zone, which has as good as nothing.
fn catalog(is_mirror: bool) -> Catalog {
    let apex = if is_mirror { NameBuf::root() } else { NameBuf::from_text("own.example").unwrap() };
    let mut builder = ContentsBuilder::new(&apex);
    let mut push = |rtype, rdata: &[u8]| {
        builder.push(&apex, false, rtype, 60, rdata, SourcePosition::default()).unwrap();
    };
    push(rtype::SOA, SOA);
    push(rtype::NS, b"\x02ns\0");
    let mut packs = PackBuilder::new(7);
    packs.add_zone(&builder.finish(), TextStamp::default()).unwrap();
    let pack = std::sync::Arc::new(Pack::open(packs.finish().unwrap()).unwrap());
    let catalog = Catalog::new(7);
    let group = if is_mirror { Group::new(1, true).mirrored() } else { Group::default() };
    let hold = catalog.add_pack(pack);
    catalog.insert_in_groups(&[(&*apex, ViewSource::Pack(hold.number(), 0))], |_| group);
    catalog
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let has = |word: &str| words.iter().any(|one| one == word);
    let count: usize = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(1_000_000);
    let (is_twice, has_edns, is_mirror) = (has("twice"), has("edns"), has("mirror"));
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
    let catalog = catalog(is_mirror);
    let access = Access::default().mirroring(is_mirror);
    let server = Server { recurses: true, access, ..Server::default() };
    let policy = Policy { clients: Clients::loopback(), ..Policy::default() };
    let address = Address::v4([127, 0, 0, 1], 53);
    let asking = auth::Client { transport: Transport::Udp, address: &address, is_proved: false, now: 0 };
    let client = recursive::Client {
        transport: Transport::Udp,
        address: &address,
        is_proved: false,
        is_of_ours: false,
        ours: None,
    };
    let (mut own, mut others) = (auth::Responder::new(), recursive::Responder::new(1));
    let mut room = vec![0; 1232];
    let start = std::time::Instant::now();
    let mut octets = 0;
    let known = (&policy, &cache);
    catalog.reader().with(|zones| {
        for at in 0..count {
            let (query, time) = (&queries[at % NAMES], Time { now: NOW.plus_ms(at as u64 / 1000), wall: 0 });
            let answered = own.serve(query, zones, &server, &asking, &mut room);
            assert!(matches!(answered, Answered::Elsewhere(_)), "{answered:?}");
            let served = match own.elsewhere().filter(|_| !is_twice) {
                Some(plain) => others.serve_plain(query, plain, &client, known, time, &mut room),
                None => others.serve(query, &client, known, time, &mut room),
            };
            match served {
                Served::Octets(written) => octets += written,
                served => panic!("{served:?}"),
            }
        }
    });
    let each = start.elapsed().as_nanos() / count.max(1) as u128;
    println!("{count} answers, {octets} octets, {each} ns each");
}
