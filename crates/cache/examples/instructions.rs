//! So many operations of one kind on a cache, for counting instructions: the difference of two counts is that of the operations alone.
//!
//! `for n in 100000 200000; do valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/examples/instructions hit $n; done`

use cache::{Cache, Copied, Entry, Key, Kind, Moment, Rank, Security, Settings};
use wire::name::NameBuf;
use wire::rrset::{RdataList, RdataListBuf, RrsetList};

/// Names that are kept.
const NAMES: usize = 50_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mode, count) = (arguments.next(), arguments.next().and_then(|count| count.parse::<usize>().ok()));
    let (Some(mode), Some(count)) = (mode, count) else {
        eprintln!("instructions hit|absent|current|refresh|new|hash COUNT");
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
    let entry = Entry {
        kind: Kind::Data,
        rank: Rank::Authoritative,
        security: Security::Insecure,
        ede: None,
        stored: Moment(0),
        ttl: 3600,
        zone_labels: 2,
        rdatas: list.list(),
        signatures: RdataList::EMPTY,
        beside: RrsetList::EMPTY,
    };
    let put =
        |number: usize, ms: u64| cache.put(&Key::rrset(&names[number], 1), &entry, Moment(ms), Moment(ms));
    (0..NAMES).for_each(|number| assert!(put(number, 1)));
    let mut copied = Copied::new();
    let stamps: Vec<_> =
        names[..NAMES].iter().filter_map(|name| cache.stamp(&Key::rrset(name, 1), &mut copied)).collect();
    let mut found = 0_usize;
    for operation in 0..count {
        let number = operation * 7919 % NAMES;
        found += usize::from(match mode.as_str() {
            "hit" => cache.get(&Key::rrset(&names[number], 1), &mut copied).is_some(),
            "absent" => cache.get(&Key::rrset(&names[number + NAMES], 1), &mut copied).is_none(),
            "current" => cache.is_current(&stamps[number]),
            "refresh" => put(number, 2),
            "new" => put(operation % (2 * NAMES), 2),
            _ => names[number].octets().len() == 27,
        });
    }
    println!("{found} of {count}");
}
