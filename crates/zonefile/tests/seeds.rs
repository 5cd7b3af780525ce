//! The fuzzer's seeds, as they are and changed at random.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use zonefile::fuzz::fuzz_zonefile;

fn seeds() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/zonefile");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn seeds_as_they_are() {
    let seeds = seeds();
    assert!(seeds.len() >= 10);
    for seed in seeds {
        fuzz_zonefile(&seed);
    }
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Change {
    Set(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Repeat(prop::sample::Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let octet = prop_oneof![
        4 => prop::sample::select(&b" \t\r\n\"();\\$@.0a1A-={},!\0"[..]),
        1 => any::<u8>(),
    ];
    prop_oneof![
        (any::<prop::sample::Index>(), octet).prop_map(|(at, to)| Change::Set(at, to)),
        (any::<prop::sample::Index>(), 1usize..8).prop_map(|(at, count)| Change::Remove(at, count)),
        (any::<prop::sample::Index>(), 1usize..80).prop_map(|(at, count)| Change::Repeat(at, count)),
    ]
}

fn apply(text: &mut Vec<u8>, change: &Change) {
    if text.is_empty() {
        return;
    }
    match *change {
        Change::Set(at, to) => {
            let at = at.index(text.len());
            text[at] = to;
        }
        Change::Remove(at, count) => {
            let at = at.index(text.len());
            text.drain(at..(at + count).min(text.len()));
        }
        Change::Repeat(at, count) => {
            let at = at.index(text.len());
            let piece = text[at..(at + count).min(text.len())].to_vec();
            text.splice(at..at, piece);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn seeds_changed(number: prop::sample::Index, changes in prop::collection::vec(change(), 1..6)) {
        let seeds = seeds();
        let mut text = seeds[number.index(seeds.len())].clone();
        for change in &changes {
            apply(&mut text, change);
        }
        fuzz_zonefile(&text);
    }
}
