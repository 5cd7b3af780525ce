#![allow(clippy::unwrap_used)]

use super::keys::zone_of;
use super::*;
use crate::kit::name;
use crate::wishes::{Stage, Wishes};
use std::net::SocketAddr;
use wire::Address;

fn address(text: &str) -> Address {
    text.parse::<SocketAddr>().unwrap().into()
}

fn waiting(text: &str, id: u16) -> Waiting {
    let wishes = Wishes::of(id, 0, 1, None);
    Waiting { wishes, stage: Stage::Asked, is_aliased: false, name: (&*name(text)).into() }
}

/// Clients come one after the other, each with a ticket of its number.
struct Bench {
    waiters: Waiters<u32>,
    now: Moment,
    next: u32,
}

impl Bench {
    fn new(places: usize) -> Bench {
        Bench { waiters: Waiters::new(places), now: Moment(1_000), next: 0 }
    }

    /// One comes; its number, and whom it sent away.
    fn come(&mut self, from: &str, is_proved: bool, qname: &str) -> (Waiter, Option<u32>) {
        self.next += 1;
        let (from, waiting) = (address(from), waiting(qname, self.next as u16));
        let who = Who { address: &from, is_proved };
        let comer = self.waiters.comer(&who, waiting);
        let gone = match self.waiters.make_room(&comer) {
            Room::Free => None,
            Room::Evicted(gone) => Some(gone.ticket),
            Room::Joined => panic!("nobody came twice"),
        };
        (self.waiters.insert(comer, self.next, self.now), gone)
    }

    fn tickets(&self) -> Vec<u32> {
        let ticket = |waiter: Waiter| self.waiters.slots.at(waiter.0 as u32).unwrap().ticket;
        self.waiters.each().map(|(waiter, ..)| ticket(waiter)).collect()
    }
}

#[test]
fn who_waits_is_answered_once() {
    let mut bench = Bench::new(8);
    let (first, _) = bench.come("192.0.2.1:5", false, "www.example");
    let (second, _) = bench.come("198.51.100.1:5", true, "www.example");
    assert_eq!(bench.tickets(), [1, 2]);
    let taken = bench.waiters.take(first, bench.now).unwrap();
    assert_eq!((taken.ticket, taken.fate, taken.waiting.id()), (1, Fate::Reply, 1));
    assert!(bench.waiters.take(first, bench.now).is_none());
    // A slot that is used again has another number.
    let (third, _) = bench.come("192.0.2.1:5", false, "www.example");
    assert_ne!(first, third);
    assert!(bench.waiters.forget(first).is_none());
    assert_eq!(bench.waiters.forget(second).unwrap().ticket, 2);
    assert_eq!((bench.waiters.counts().waiting, bench.waiters.counts().most), (1, 2));
}

#[test]
fn the_same_again() {
    let mut waiters = Waiters::new(64);
    let (here, there) = (address("192.0.2.1:5"), address("192.0.2.1:6"));
    let who = Who { address: &here, is_proved: false };
    let room = |waiters: &mut Waiters<()>, who: &Who<'_>, waiting: Waiting| {
        let comer = waiters.comer(who, waiting);
        waiters.make_room(&comer)
    };
    let comer = waiters.comer(&who, waiting("www.example", 1));
    let first = waiters.insert(comer, (), Moment(0));
    assert_eq!(room(&mut waiters, &who, waiting("www.example", 1)), Room::Joined);
    for (who, other) in [
        (who, waiting("www.example", 2)),
        (who, waiting("ww2.example", 1)),
        (Who { address: &there, ..who }, waiting("www.example", 1)),
    ] {
        assert_eq!(room(&mut waiters, &who, other), Room::Free);
    }
    waiters.take(first, Moment(1)).unwrap();
    assert_eq!(room(&mut waiters, &who, waiting("www.example", 1)), Room::Free);
    assert_eq!(waiters.counts().joined, 1);
}

/// A prefix that has its share pays itself; so does a zone.
#[test]
fn shares() {
    let mut bench = Bench::new(64);
    for number in 0..8 {
        assert_eq!(bench.come("192.0.2.1:5", false, &format!("www.z{number}.example")).1, None);
    }
    assert_eq!(
        bench.come("192.0.2.200:5", true, "www.other").1,
        None,
        "those with proof have a share of their own"
    );
    assert_eq!(bench.come("192.0.2.200:5", false, "www.other").1, Some(1));
    assert_eq!(bench.come("198.51.100.1:5", false, "www.other").1, None);
    let mut bench = Bench::new(64);
    for number in 0..32 {
        assert_eq!(
            bench.come(&format!("10.0.{number}.1:5"), true, &format!("{number}.victim.example")).1,
            None
        );
    }
    assert_eq!(bench.come("10.1.0.1:5", true, "x.y.VICTIM.example").1, Some(1));
    assert_eq!(bench.come("10.1.1.1:5", true, "x.innocent.example").1, None);
    let counts = bench.waiters.counts();
    assert_eq!((counts.evicted_for_zone, counts.waiting), (1, 33));
}

/// When all places are taken: the oldest of a culprit; none where all have little, then the oldest without proof.
#[test]
fn who_goes() {
    let mut bench = Bench::new(512);
    bench.come("203.0.113.1:5", true, "first.proved");
    bench.come("198.51.100.1:5", false, "first.unproved");
    let flood = |number: u32| (format!("10.{}.{}.1:5", number / 250, number % 250), number);
    for (from, number) in (0..200).map(flood) {
        assert_eq!(bench.come(&from, false, &format!("{number}.victim.example")).1, None);
    }
    // Three quarters of the places are for those without proof.
    for (from, number) in (200..383).map(flood) {
        assert_eq!(bench.come(&from, false, &format!("www.z{number}.example")).1, None);
    }
    assert_eq!(bench.come("10.9.0.1:5", false, "www.more.example").1, Some(3), "the oldest for the victim");
    assert_eq!(
        bench.come("10.9.1.1:5", true, "www.more.example").1,
        None,
        "there is room for those with proof"
    );
    let mut bench = Bench::new(512);
    bench.come("203.0.113.1:5", true, "first.proved");
    for (from, number) in (0..384).map(flood) {
        assert_eq!(bench.come(&from, false, &format!("www.z{number}.example")).1, None);
    }
    for (from, number) in (384..400).map(flood) {
        let gone = bench.come(&from, false, &format!("www.z{number}.example")).1;
        assert_eq!(gone, Some(number - 384 + 2));
    }
    assert_eq!(bench.waiters.counts().evicted_oldest, 16);
}

/// Too late: 2 s without proof, 8 s with.
#[test]
fn ages() {
    let mut bench = Bench::new(8);
    let (one, _) = bench.come("192.0.2.1:5", false, "www.example");
    let (two, _) = bench.come("198.51.100.1:5", true, "www.example");
    let begin = bench.now;
    assert_eq!(bench.waiters.deadline(begin), Some(begin.plus_ms(1_400)), "there may be no network");
    assert_eq!(bench.waiters.deadline(begin.plus_ms(1_400)), Some(begin.plus_ms(1_900)));
    assert!(bench.waiters.overdue(begin.plus_ms(1_899), false).is_none());
    assert_eq!(bench.waiters.overdue(begin.plus_ms(1_900), false), Some(one));
    let taken = bench.waiters.take(one, begin.plus_ms(1_900)).unwrap();
    assert_eq!(taken.fate, Fate::Reply);
    let one = bench.waiters.put_back(taken);
    let taken = bench.waiters.take(one, begin.plus_ms(2_001)).unwrap();
    assert_eq!(taken.fate, Fate::Late, "the worker was busy");
    assert!(bench.waiters.overdue(begin.plus_ms(7_999), false).is_none());
    assert_eq!(bench.waiters.deadline(begin.plus_ms(2_001)), Some(begin.plus_ms(8_000)));
    assert_eq!(bench.waiters.overdue(begin.plus_ms(8_000), false), Some(two));
    bench.waiters.take(two, begin.plus_ms(8_000)).unwrap();
    assert_eq!(bench.waiters.overdue(begin.plus_ms(9_000), true), None);
    assert_eq!((bench.waiters.deadline(begin), bench.waiters.counts().late), (None, 1));
}

/// Without a network all are told sooner, the oldest first, those whose address is not proved before.
#[test]
fn told_of_an_outage() {
    let mut bench = Bench::new(64);
    let (proved, _) = bench.come("198.51.100.1:5", true, "www.example");
    let (one, _) = bench.come("192.0.2.1:5", false, "www.example");
    let begin = bench.now;
    bench.now = begin.plus_ms(100);
    bench.come("192.0.2.1:6", false, "www.example");
    assert!(bench.waiters.overdue(begin.plus_ms(1_399), true).is_none());
    let told: Vec<_> = std::iter::from_fn(|| {
        let waiter = bench.waiters.overdue(begin.plus_ms(1_400), true)?;
        bench.waiters.take(waiter, begin.plus_ms(1_400)).map(|_| waiter)
    })
    .collect();
    assert_eq!(told, [one, proved]);
    assert_eq!(bench.waiters.deadline(begin.plus_ms(1_400)), Some(begin.plus_ms(1_500)));
}

/// One that is put back keeps its age and its place among others.
#[test]
fn put_back() {
    let mut bench = Bench::new(8);
    let (first, _) = bench.come("192.0.2.1:5", false, "a.example");
    bench.now = bench.now.plus_ms(100);
    bench.come("198.51.100.1:5", false, "b.example");
    let taken = bench.waiters.take(first, bench.now).unwrap();
    bench.waiters.put_back(taken);
    assert_eq!(bench.tickets(), [1, 2]);
    assert_eq!(bench.waiters.deadline(Moment(1_000)), Some(Moment(1_000 + 1_400)));
}

/// What was held back comes at once: 64 KiB of it, then TC; not for those with proof, nor for what came soon.
#[test]
fn pulses() {
    let mut bench = Bench::new(4096);
    let mut fates = |is_proved: bool, after_ms: u64| {
        let all: Vec<Waiter> = (0..100)
            .map(|number| bench.come("192.0.2.1:5", is_proved, &format!("{number}.x.example")).0)
            .collect();
        bench.now = bench.now.plus_ms(after_ms);
        let mut replies = 0;
        for waiter in all {
            let taken = bench.waiters.take(waiter, bench.now).unwrap();
            if taken.fate == Fate::Reply {
                replies += 1;
                bench.waiters.replied(&taken, 1200, bench.now);
            }
        }
        bench.now = bench.now.plus_ms(1000);
        replies
    };
    assert_eq!([fates(false, 1_900), fates(true, 1_900), fates(false, 400)], [55, 100, 100]);
    let counts = bench.waiters.counts();
    assert_eq!(counts.truncated, 45);
    // In 500 ms and in 2 s.
    assert_eq!(counts.waited, [0, 0, 0, 0, 0, 0, 100, 0, 155, 0]);
    assert_eq!(counts.waited_ms, 100 * 400 + 155 * 1_900);
}

#[test]
fn zones_by_name() {
    let zone = |text: &str| {
        let name = name(text);
        zone_of(&name).to_string()
    };
    for (text, expected) in [
        ("a.b.example.com", "example.com."),
        ("com", "com."),
        (".", "."),
        ("a.b.example.co.uk", "example.co.uk."),
        ("4.3.2.1.in-addr.arpa", "2.1.in-addr.arpa."),
        ("x.1.2.3.4.5.6.7.8.ip6.arpa", "1.2.3.4.5.6.7.8.ip6.arpa."),
    ] {
        assert_eq!(zone(text), expected, "{text}");
    }
}

/// Against a plain list: lengths, the longest, ages and what is left, after many steps at random.
#[test]
fn as_a_list_would() {
    let mut random = sync::random::Random::new(7);
    let mut bench = Bench::new(100);
    let mut model: Vec<(Waiter, u32, (u32, bool))> = Vec::new();
    for _ in 0..20_000 {
        if random.chance(0.6) || model.is_empty() {
            let prefix = random.below(12) as u32;
            let from = format!("10.0.{prefix}.{}:{}", random.below(250), random.below(60_000) + 1);
            let qname = format!("x{}.z{}.example", random.next_u64(), random.below(40));
            let is_proved = random.chance(0.3);
            let (waiter, gone) = bench.come(&from, is_proved, &qname);
            model.retain(|(_, ticket, _)| Some(*ticket) != gone);
            model.push((waiter, bench.next, (prefix, is_proved)));
        } else {
            let (waiter, ticket, _) = model.swap_remove(random.index(model.len()));
            assert_eq!(bench.waiters.take(waiter, bench.now).unwrap().ticket, ticket);
        }
        let waiters = &bench.waiters;
        assert_eq!(waiters.counts().waiting as usize, model.len());
        assert!(model.len() <= 100 && waiters.unproved <= 75);
        let (_, longest) = waiters.prefixes.longest().unwrap_or((0, 0));
        let count = |wanted: (u32, bool)| model.iter().filter(|(.., chain)| *chain == wanted).count();
        let most = (0..24).map(|chain| count((chain / 2, chain % 2 == 0))).max().unwrap_or(0);
        // No two fall together but rarely, and then the longest is longer.
        assert!(longest >= most && longest <= 100 / PREFIX_PART);
    }
    let mut tickets = bench.tickets();
    tickets.sort_unstable();
    let mut expected: Vec<u32> = model.iter().map(|(_, ticket, _)| *ticket).collect();
    expected.sort_unstable();
    assert_eq!(tickets, expected);
    model.iter().for_each(|(waiter, ..)| assert!(bench.waiters.forget(*waiter).is_some()));
    assert_eq!((bench.waiters.counts().waiting, bench.waiters.prefixes.longest()), (0, None));
    assert!(bench.waiters.questions.iter().all(|first| *first == NONE));
}
