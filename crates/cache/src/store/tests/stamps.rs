//! Stamps, flushes, and readers beside writers.

use super::*;

#[test]
fn stamps_are_of_one_entry() {
    let cache = cache(1 << 20);
    fill(&cache, 0..2, Moment(1));
    let hosts = [host(0), host(1)];
    let mut copied = Copied::new();
    let mut stamp = |at: usize| cache.stamp(&Key::rrset(&hosts[at], 1), &mut copied);
    let (first, second) = (stamp(0).unwrap(), stamp(1).unwrap());
    assert!(cache.is_current(&first) && cache.is_current(&second) && first != second);
    fill(&cache, 0..1, Moment(2));
    assert!(!cache.is_current(&first) && cache.is_current(&second));
    let again = stamp(0).unwrap();
    cache.remove(&Key::rrset(&hosts[0], 1));
    assert!(!cache.is_current(&again) && stamp(0).is_none());
    cache.hide(&Flush::Tree(name("other.")), Moment(3));
    assert!(!cache.is_current(&second), "while something is flushed nothing of before is");
    fill(&cache, 2..3, Moment(4));
    let third = cache.stamp(&Key::rrset(&host(2), 1), &mut Copied::new()).unwrap();
    assert!(cache.is_current(&third), "what came since is");
    while !cache.sweep(100).is_done {}
    assert!(cache.is_current(&second));
    fill(&cache, 10..100_000, Moment(4));
    assert!(!cache.is_current(&Stamp { slot: u32::MAX, position: u16::MAX, word: 1 }));
}

/// What is flushed and not swept yet does not come back by moving to the main ring.
#[test]
fn flushed_entries_do_not_move_on() {
    let cache = cache(1 << 20);
    let (host, list) = (host(1), list(b"data"));
    let key = Key::rrset(&host, 1);
    assert!(cache.put(&key, &entry(list.list()), Moment(1), Moment(1)));
    fill(&cache, 2..3, Moment(5_000));
    assert!(cache.get(&key, &mut Copied::new()).is_some());
    cache.hide(&Flush::Tree(name("example.")), Moment(6_000));
    fill(&cache, 10..20_000, Moment(7_000));
    assert!(cache.peek(&key, &mut Copied::new()).is_none());
}

#[test]
fn flushed_at_once_swept_in_steps() {
    let cache = cache(16 << 20);
    fill(&cache, 0..20_000, Moment(1));
    assert_eq!(cache.hide(&Flush::Tree(name("Example.")), Moment(2)), 0);
    assert!((0..20_000).all(|number| !is_there(&cache, number)), "hidden before it is swept");
    let fresh = host(1);
    let list = list(b"new!");
    let key = Key::rrset(&fresh, 1);
    assert!(!cache.put(&key, &entry(list.list()), Moment(2), Moment(3)), "asked for before");
    assert!(cache.put(&key, &entry(list.list()), Moment(3), Moment(3)));
    let mut copied = Copied::new();
    assert!(cache.get(&key, &mut copied).is_some(), "what came since is seen");
    let (mut forgotten, mut steps) = (0, 0);
    loop {
        let swept = cache.sweep(1_000);
        (forgotten, steps) = (forgotten + swept.forgotten, steps + 1);
        if swept.is_done {
            break;
        }
    }
    assert_eq!((forgotten, cache.counts().entries), (19_999, 1));
    assert!(steps > 10 && cache.get(&key, &mut copied).is_some());
    for number in 0..20 {
        cache.hide(&Flush::Tree(host(number)), Moment(4));
    }
    assert!(cache.sweep(usize::MAX).is_done && cache.core.shared.marks.is_empty());
    assert!(cache.get(&key, &mut copied).is_none());
}

/// Threads that put, read, flush: what is read is whole, and of its key.
#[test]
fn entries_are_never_torn() {
    let cache = cache(1 << 20);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let cache = &cache;
            scope.spawn(move || {
                let mut random = Random::new(writer);
                for round in 0..60_000_u64 {
                    let number = random.below(4_000);
                    let host = host(number);
                    let length = 8 + random.index(40) * 8;
                    let word = (number << 32 | round & 0xffff).to_be_bytes();
                    let octets: Vec<u8> = word.into_iter().cycle().take(length).collect();
                    let list = list(&octets);
                    cache.put(
                        &Key::rrset(&host, 16),
                        &entry(list.list()),
                        Moment(round + 1),
                        Moment(round + 1),
                    );
                    if round % 20_000 == 0 {
                        cache.flush(&Flush::Tree(name("example.")), Moment(0));
                    }
                }
            });
        }
        for reader in 0..2 {
            let cache = &cache;
            scope.spawn(move || {
                let (mut random, mut copied) = (Random::new(100 + reader), Copied::new());
                for _ in 0..120_000 {
                    let number = random.below(4_000);
                    let host = host(number);
                    let Some(entry) = cache.get(&Key::rrset(&host, 16), &mut copied) else { continue };
                    let rdata = entry.rdatas.iter().next().unwrap();
                    let first = &rdata[..8];
                    assert_eq!(first[..4], (number as u32).to_be_bytes(), "of its key");
                    assert!(rdata.chunks(8).all(|word| word == first), "whole");
                }
            });
        }
    });
}
