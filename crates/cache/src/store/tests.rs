//! Entries for the tests of the store; those are in the modules.

mod belief;
mod leaving;
mod memory;
mod model;
mod resized;
mod stamps;

use super::*;
use sync::Random;
use wire::name::NameBuf;
use wire::rrset::{RdataList, RdataListBuf};

use crate::Flush;
use crate::entry::{Rank, Security};

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn cache(octets: usize) -> Cache {
    Cache::with(&Settings { octets, ..Settings::default() }, [1, 2, 3])
}

/// An entry of a key's kind with these records, of an hour.
fn entry(rdatas: RdataList<'_>) -> Entry<'_> {
    Entry { zone_labels: 1, ..Entry::data(rdatas, Moment(0), 3600) }
}

fn list(octets: &[u8]) -> RdataListBuf {
    [octets].into_iter().collect()
}

/// The name of a number, as short as names of hosts are.
fn host(number: u64) -> NameBuf {
    name(&format!("h{number}.example."))
}

/// Puts an A record for each number.
fn fill(cache: &Cache, numbers: std::ops::Range<u64>, now: Moment) {
    for number in numbers {
        let list = list(&(number as u32).to_be_bytes());
        assert!(cache.put(&Key::rrset(&host(number), 1), &entry(list.list()), now, now));
    }
}

fn is_there(cache: &Cache, number: u64) -> bool {
    let mut copied = Copied::new();
    let host = host(number);
    let found = cache.peek(&Key::rrset(&host, 1), &mut copied);
    found.is_some_and(|entry| {
        assert_eq!(entry.rdatas.iter().collect::<Vec<_>>(), [(number as u32).to_be_bytes()], "of {number}");
        true
    })
}

#[test]
fn what_is_put_is_there() {
    let cache = cache(8 << 20);
    fill(&cache, 0..10_000, Moment(5));
    assert!((0..10_000).all(|number| is_there(&cache, number)));
    assert!((10_000..20_000).all(|number| !is_there(&cache, number)));
    assert_eq!(cache.counts().entries, 10_000);
}
