//! Has questions about names of others answered in a server with a zone of its own: `auth` says that they are elsewhere, `recursive` has them in a warm cache. For counting instructions:
//! `valgrind --tool=callgrind target/release/examples/beside once 200000`, once with twice the number: the difference is what that many take.
//!
//! `once`: as `auth` has read them; `twice`: read anew. Then how many. With `edns`: with OPT and DO; with `mirror`: the zone is a copy of the root for the resolver alone.
#![allow(clippy::unwrap_used)] // a tool for the desk

mod warm;

use auth::{Access, Answered, Server};
use recursive::Served;
use resolve::Time;
use warm::{NAMES, NOW, Warm};
use wire::iana::rtype;
use wire::{NameBuf, Transport};
use zone::catalog::{Catalog, Group, ViewSource};
use zone::contents::{ContentsBuilder, SourcePosition};
use zone::{Pack, PackBuilder, TextStamp};

/// `ns. x. 1 2 3 4 5`
const SOA: &[u8] = b"\x02ns\0\x01x\0\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04\0\0\0\x05";

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
    let warm = Warm::new(NAMES, has_edns);
    let catalog = catalog(is_mirror);
    let access = Access::default().mirroring(is_mirror);
    let server = Server { recurses: true, access, ..Server::default() };
    let asking = auth::Client { transport: Transport::Udp, address: &warm.address, is_proved: false, now: 0 };
    let (client, known) = (warm.client(), (&warm.policy, &warm.cache));
    let (mut own, mut others) = (auth::Responder::new(), recursive::Responder::new(1));
    let mut room = vec![0; 1232];
    let start = std::time::Instant::now();
    let mut octets = 0;
    catalog.reader().with(|zones| {
        for at in 0..count {
            let (query, time) =
                (&warm.queries[at % NAMES], Time { now: NOW.plus_ms(at as u64 / 1000), wall: 0 });
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
