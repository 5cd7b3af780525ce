//! More and less memory while the store is used.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::Tended;

/// Does all that there is to do, as the thread of a server does: `each` sees the store between any two steps.
fn settle(cache: &mut Cache, now: Moment, mut each: impl FnMut(&Cache)) {
    loop {
        match cache.tend(now) {
            Tended::Idle => return,
            Tended::More => {}
            Tended::Held => *cache = cache.current(),
        }
        each(cache);
    }
}

/// Nothing is lost, at no moment, and there is room for more.
#[test]
fn growing_keeps_all() {
    for (from, to) in [(2 << 20, 5 << 20), (2 << 20, 40 << 20), (17 << 20, 34 << 20)] {
        let mut cache = cache(from);
        fill(&cache, 0..10_000, Moment(5));
        cache.resize(to);
        let mut random = Random::new(3);
        settle(&mut cache, Moment(6), |cache| {
            assert!((0..20).all(|_| is_there(cache, random.below(10_000))));
        });
        assert!((0..10_000).all(|number| is_there(&cache, number)), "{from} to {to}");
        assert_eq!((cache.counts().entries, cache.counts().puts), (10_000, 10_000));
        let taken = cache.octets() as f64 / to as f64;
        assert!((0.99..=1.0).contains(&taken) && cache.resident_octets() <= to, "{taken}");
        let more = to as u64 / 256;
        fill(&cache, 10_000..10_000 + more, Moment(7));
        assert!((0..10_000 + more).all(|number| is_there(&cache, number)), "there is room for it");
    }
}

/// What was read lately stays, and what there is room for; the bound holds.
#[test]
fn shrinking_keeps_what_is_used() {
    for (from, to) in [(5 << 20, 2 << 20), (40 << 20, 2 << 20), (34 << 20, 17 << 20)] {
        let mut cache = cache(from);
        let all = from as u64 / 100;
        fill(&cache, 0..all, Moment(5));
        fill(&cache, all..all + 1, Moment(5_000));
        let mut copied = Copied::new();
        let used = || (0..all).step_by(30).take(3_000);
        used().for_each(|number| assert!(cache.get(&Key::rrset(&host(number), 1), &mut copied).is_some()));
        let most = from.max(to) + from.min(to) / 2;
        cache.resize(to);
        settle(&mut cache, Moment(6_000), |cache| assert!(cache.resident_octets() <= most));
        let counts = cache.counts();
        assert!(used().all(|number| is_there(&cache, number)), "{from} to {to}: {counts:?}");
        assert!(counts.entries > to as u64 / 120 && cache.resident_octets() <= to, "{counts:?}");
        let found = (0..=all).filter(|number| is_there(&cache, *number)).count();
        assert_eq!(found as u64, counts.entries, "what is counted is found");
        assert_eq!(counts.puts, all + 1);
    }
}

/// Sizes that follow each other before all has moved.
#[test]
fn resized_again_and_again() {
    let mut cache = cache(2 << 20);
    fill(&cache, 0..5_000, Moment(5));
    let mut random = Random::new(8);
    for round in 0..40_u64 {
        cache.resize([2, 4, 9, 17, 33, 70][random.index(6)] << 20);
        for _ in 0..random.index(60) {
            if cache.tend(Moment(6)) == Tended::Held {
                cache = cache.current();
            }
        }
        fill(&cache, 5_000 + round..5_001 + round, Moment(7));
        assert!((0..50).all(|_| is_there(&cache, random.below(5_000 + round))), "{round}");
    }
    settle(&mut cache, Moment(8), |_| {});
    assert!((0..5_040).all(|number| is_there(&cache, number)));
    assert_eq!(cache.counts().entries, 5_040);
}

/// Whoever has a table of before finds, puts and takes out as others do, and holds up the next step and nothing else.
#[test]
fn old_tables_are_good() {
    let mut cache = cache(2 << 20);
    let old = cache.current();
    fill(&old, 0..2_000, Moment(5));
    let stamp = old.stamp(&Key::rrset(&host(7), 1), &mut Copied::new()).unwrap();
    cache.resize(40 << 20);
    while cache.tend(Moment(6)) == Tended::More {}
    cache = cache.current();
    assert_eq!(cache.tend(Moment(6)), Tended::Held, "somebody has the old one");
    assert!((0..2_000).all(|number| is_there(&old, number) && is_there(&cache, number)));
    assert!(!old.is_current(&stamp) && !cache.is_current(&stamp), "it has moved");
    fill(&old, 2_000..2_001, Moment(7));
    old.remove(&Key::rrset(&host(3), 1));
    assert!(is_there(&cache, 2_000) && !is_there(&cache, 3));
    let fresh = old.stamp(&Key::rrset(&host(7), 1), &mut Copied::new()).unwrap();
    assert!(cache.is_current(&fresh), "of where it is now");
    assert_eq!(old.flush(&Flush::Name(host(4)), Moment(8)), 1);
    assert_eq!(old.flush(&Flush::All, Moment(9)), 1_999);
    assert_eq!(cache.counts().entries, 0);
    drop(old);
    settle(&mut cache, Moment(10), |_| {});
    assert_eq!(cache.tend(Moment(10)), Tended::Idle);
}

/// What is flushed while it moves does not come back.
#[test]
fn flushed_while_it_moves() {
    for steps in [1, 5, 20, 40] {
        let mut cache = cache(17 << 20);
        fill(&cache, 0..4_000, Moment(5));
        cache.resize(2 << 20);
        for _ in 0..steps {
            cache.tend(Moment(6));
        }
        cache.hide(&Flush::Tree(name("example.")), Moment(7));
        for _ in 0..3 {
            cache.tend(Moment(8));
        }
        assert!((0..4_000).all(|number| !is_there(&cache, number)), "{steps} hidden");
        fill(&cache, 9..10, Moment(9));
        while !cache.sweep(100).is_done {}
        settle(&mut cache, Moment(10), |_| {});
        assert_eq!((is_there(&cache, 9), cache.counts().entries), (true, 1), "{steps}");
    }
}

/// Servers, lame ones among them, and spans are known in other tables too.
#[test]
fn what_is_beside_moves_too() {
    let mut cache = cache(8 << 20);
    let server = |number: u32| std::net::SocketAddr::from((number.to_be_bytes(), 53));
    let zone = name("example.");
    for number in 0..200 {
        cache.servers().update(&server(number), Moment(1_000), |quality| quality.answered(1_000 + number));
        cache.servers().set_lame(&server(number), &zone, Moment(1_000), 600);
    }
    for to in [32 << 20, 2 << 20] {
        cache.resize(to);
        settle(&mut cache, Moment(2_000), |_| {});
        cache = cache.current();
        let known = (0..200).filter(|number| cache.servers().read(&server(*number)).rtt_us == 1_000 + number);
        let known = known.count();
        let lame = (0..200).filter(|number| cache.servers().is_lame(&server(*number), &zone, Moment(3_000)));
        let lame = lame.count();
        assert!(known > 160 && lame > 150, "{to}: {known} {lame}");
        assert!(!cache.servers().is_lame(&server(1), &name("test."), Moment(3_000)));
    }
}

/// Entries that are shorter, or longer, than slots were made for: all of the memory is used, and never more of it.
#[test]
fn slots_follow_what_is_kept() {
    let fill_all = |length: usize| {
        let mut cache = cache(4 << 20);
        let octets = vec![0; length];
        for number in 0..150_000_u64 {
            let now = Moment(number);
            let list = list(&octets);
            let owner = host(number);
            assert!(cache.put(&Key::rrset(&owner, 1), &entry(list.list()), now, now));
            if number % 1_000 == 0 {
                settle(&mut cache, now, |_| {});
            }
        }
        let resident = cache.resident_octets() - cache.servers().octets();
        (cache.counts(), resident as f64 / cache.octets() as f64)
    };
    let (short, used) = fill_all(4);
    assert!(short.entries > 65_000 && used > 0.95, "{short:?} {used}");
    let (long, used) = fill_all(400);
    assert!(long.octets > 3_700_000 && used > 0.95, "{long:?} {used}");
}

/// What is there, and what came of it, is told while others hold every lock; also at each step of a move it is what is there, and what only grows never goes down.
#[test]
fn counts_wait_for_nobody() {
    let mut cache = cache(17 << 20);
    fill(&cache, 0..2_000, Moment(5));
    {
        let layout = cache.core.layout();
        let shards = layout.shards();
        let _writing: Vec<_> = shards.iter().map(|shard| shard.lock()).collect();
        let counts = cache.counts();
        assert_eq!((counts.entries, counts.puts, cache.octets()), (2_000, 2_000, 17 << 20));
        assert!((1 << 16..17 << 20).contains(&cache.resident_octets()));
    }
    let growing = |counts: &Counts| {
        let all: Vec<_> = counts.each().filter(|(name, ..)| !["entries", "octets"].contains(name)).collect();
        all.into_iter().map(|(.., count)| count).collect::<Vec<_>>()
    };
    let mut last = cache.counts();
    for (to, more) in [(40 << 20, 2_000), (2 << 20, 2_001)] {
        cache.resize(to);
        assert_eq!(cache.octets(), to);
        settle(&mut cache, Moment(6), |cache| {
            let counts = cache.counts();
            let there = (0..more).filter(|number| is_there(cache, *number)).count();
            assert_eq!((counts.entries, counts.octets), (there as u64, last.octets), "{to}");
            let is_more = |(now, before): (u64, u64)| now >= before;
            assert!(growing(&counts).into_iter().zip(growing(&last)).all(is_more), "{last:?} {counts:?}");
            last = counts;
        });
        fill(&cache, more..more + 1, Moment(7));
        last = cache.counts();
    }
    assert!(last.puts == 2_002 && last.taken >= 4_001, "{last:?}");
}

/// Readers and writers beside one who moves everything: what is read is whole and of its key, and what is put is there.
#[test]
fn moved_while_others_work() {
    let cache = cache(2 << 20);
    let (is_over, began) = (AtomicBool::new(false), std::time::Instant::now());
    std::thread::scope(|scope| {
        for part in 0..2_u64 {
            let mut own = cache.current();
            let is_over = &is_over;
            scope.spawn(move || {
                let (mut random, mut copied) = (Random::new(part), Copied::new());
                for round in 0..30_000_u64 {
                    let number = random.below(3_000) * 2 + part;
                    let owner = host(number);
                    let word = (number << 32 | round).to_be_bytes();
                    let octets: Vec<u8> = word.into_iter().cycle().take(8 + random.index(8) * 8).collect();
                    let key = Key::rrset(&owner, 16);
                    assert!(own.put(&key, &entry(list(&octets).list()), Moment(1), Moment(1)));
                    let found = own.get(&key, &mut copied).expect("there is room for it");
                    assert_eq!(found.rdatas.iter().next(), Some(&octets[..]));
                    let other = host(random.below(6_000));
                    if let Some(found) = own.get(&Key::rrset(&other, 16), &mut copied) {
                        let rdata = found.rdatas.iter().next().unwrap();
                        assert!(rdata.chunks(8).all(|word| word == &rdata[..8]), "whole");
                    }
                    if round % 64 == 0 {
                        own = own.current();
                    }
                }
                is_over.store(true, Ordering::Relaxed);
            });
        }
        let mut own = cache.current();
        drop(cache);
        let is_over = &is_over;
        scope.spawn(move || {
            let mut random = Random::new(9);
            while !is_over.load(Ordering::Relaxed) && began.elapsed().as_secs() < 20 {
                own.resize([2, 3, 5, 17][random.index(4)] << 20);
                for _ in 0..200 {
                    if own.tend(Moment(2)) == Tended::Held {
                        own = own.current();
                    }
                }
            }
        });
    });
}
