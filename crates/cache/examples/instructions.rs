//! So many operations of one kind on a cache, for counting instructions: the difference of two counts is that of the operations alone.
//!
//! `for n in 100000 200000; do valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/instructions hit $n; done`

use cache::{Cache, Copied, Entry, Key, Moment, Settings};
use wire::name::NameBuf;
use wire::rrset::{RdataListBuf, Rrset, RrsetListBuf};

/// Names that are kept.
const NAMES: usize = 50_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mode, count) = (arguments.next(), arguments.next().and_then(|count| count.parse::<usize>().ok()));
    let (Some(mode), Some(count)) = (mode, count) else {
        eprintln!("instructions hit|absent|current|refresh|new|denied|denied3|hash COUNT");
        std::process::exit(2)
    };
    let names: Vec<NameBuf> = (0..2 * NAMES)
        .filter_map(|number| NameBuf::from_text(&format!("www.h{number:06}.example.com.")).ok())
        .collect();
    let octets = match mode.as_str() {
        "new" => 2 << 20,
        "large" => 1 << 30,
        _ => 64 << 20,
    };
    let cache = Cache::with(&Settings { octets, ..Settings::default() }, [1, 2, 3]);
    let list: RdataListBuf = [&[192, 0, 2, 1][..], &[192, 0, 2, 2]].into_iter().collect();
    let entry = Entry { zone_labels: 2, ..Entry::data(list.list(), Moment(0), 3600) };
    let put =
        |number: usize, ms: u64| cache.put(&Key::rrset(&names[number], 1), &entry, Moment(ms), Moment(ms));
    (0..NAMES).for_each(|number| assert!(put(number, 1)));
    let mut copied = Copied::new();
    let stamps: Vec<_> =
        names[..NAMES].iter().filter_map(|name| cache.stamp(&Key::rrset(name, 1), &mut copied)).collect();
    let zone = denials(&cache, mode == "denied3");
    let (mut sets, mut found) = (RrsetListBuf::new(), 0_usize);
    for operation in 0..count {
        let number = operation * 7919 % NAMES;
        found += usize::from(match mode.as_str() {
            "hit" => cache.get(&Key::rrset(&names[number], 1), &mut copied).is_some(),
            "absent" => cache.get(&Key::rrset(&names[number + NAMES], 1), &mut copied).is_none(),
            "current" => cache.is_current(&stamps[number]),
            "refresh" => put(number, 2),
            "denied" | "denied3" => {
                cache.denials().collect(&zone, &names[number + NAMES], Moment(1), &mut sets)
            }
            "new" => put(operation % (2 * NAMES), 2),
            _ => names[number].octets().len() == 27,
        });
    }
    println!("{found} of {count}");
}

/// Has spans of a zone of 1,000 names known, NSEC or NSEC3; the zone.
fn denials(cache: &Cache, is_hashed: bool) -> NameBuf {
    let named = |text: &str| NameBuf::from_text(text).unwrap_or_else(|_| NameBuf::root());
    let zone = named("example.com.");
    let put = |owner: &NameBuf, rtype: u16, rdata: &[u8]| {
        let signature =
            [&[0, 47, 13, owner.label_count() as u8][..], &[0; 14], zone.octets(), &[0; 64]].concat();
        let rdatas: RdataListBuf = [rdata].into_iter().collect();
        let signatures: RdataListBuf = [&signature[..]].into_iter().collect();
        let (rdatas, signatures) = (rdatas.list(), signatures.list());
        assert!(cache.denials().put(&zone, &Rrset { owner, rtype, ttl: 60, rdatas, signatures }, Moment(1)));
    };
    put(&zone, 6, b"\x02ns\0\x05admin\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01");
    let mut owners: Vec<NameBuf> =
        (0..1_000).map(|number| named(&format!("h{:06}.example.com.", number * 100))).collect();
    owners.insert(0, zone.clone());
    let mut hashes: Vec<_> = Vec::new();
    if is_hashed {
        let Ok(params) = dnssec::nsec3::Nsec3Params::new(0, &[]) else { return zone };
        hashes.extend(owners.iter().map(|owner| params.hash(owner)));
        hashes.sort_unstable();
    }
    for (at, owner) in owners.iter().enumerate() {
        let next = (at + 1) % owners.len();
        if let (Some(hash), Some(next)) = (hashes.get(at), hashes.get(next)) {
            let label = dnssec::nsec3::owner_label(hash);
            let owner = named(&format!("{}.example.com.", String::from_utf8_lossy(&label)));
            put(&owner, 50, &[&[1, 0, 0, 0, 0, 20][..], next, &[0, 1, 0x40]].concat());
        } else {
            put(owner, 47, &[owners[next].octets(), &[0, 6, 0x40, 0, 0, 0, 0, 3]].concat());
        }
    }
    zone
}
