//! Readers beside the one who writes a delta: each sees one state, whole, whatever is put in, taken back or copied meanwhile.
use crate::kit::change::{State, change, pack, state};
use crate::kit::said::key_of;
use crate::kit::{Denial, Draft, apex, params, relative_key};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use wire::iana::rtype;
use wire::{Name, NameBuf, SortKey};
use zone::delta::{Changed, Rebuild};
use zone::{Crawl, DeltaWriter, MatchKind, ZoneView};

const NUMBER: u32 = 1;
const STATES: u32 = 24;

/// Which names there are in a state: each third run of sixteen is not, and runs move.
fn drafts(serial: u32) -> Vec<Draft> {
    let is_in = |name: u32| !((name + 5 * serial) / 16).is_multiple_of(3);
    (0..220u32)
        .filter(|name| is_in(*name))
        .map(|name| (vec![(name % 18) as u8, (name / 18) as u8], 0, vec![]))
        .collect()
}

/// What a reader checks of the state that it sees.
fn check(changed: &Changed, states: &[State], apex: &Name, at: usize) {
    let view = ZoneView::of_changed(changed).unwrap();
    let state = &states[view.row().serial as usize - 1];
    let mut owners = state.iter().filter(|(_, rtype, ..)| *rtype == rtype::A);
    let owner = owners.nth(at % 100).unwrap().0.name();
    let found = view.walk(&SortKey::of(&owner)).unwrap();
    assert_eq!((found.kind, key_of(&found.node)), (MatchKind::Exact, relative_key(&owner, apex)));
    assert!(found.node.rrset(rtype::A).is_some());
    // A name that no state has.
    let absent: NameBuf = format!("zz{}.{owner}", at % 7).parse().unwrap();
    assert_eq!(view.walk(&SortKey::of(&absent)).unwrap().kind, MatchKind::Encloser);
    let relative = relative_key(&absent, apex);
    if view.has_nsec3_chain() {
        let (record, is_it) = view.nsec3_for(&params().hash(&absent)).unwrap();
        let rdata = record.rrset().unwrap().rdata(apex, apex).unwrap();
        let next = dnssec::nsec3::Nsec3::parse(&rdata[0]).unwrap().next;
        assert!(!is_it && dnssec::nsec3::covers(record.hash, next, &params().hash(&absent)));
    } else {
        let node = view.nsec_at_or_before(&relative).unwrap();
        let rdata = node.rrset(rtype::NSEC).unwrap().rdata(&owner, apex).unwrap();
        let next = relative_key(Name::split_from(&rdata[0]).unwrap().0, apex);
        assert!(key_of(&node) < relative && (next > relative || next.is_empty()));
    }
    if at.is_multiple_of(8) {
        let (mut crawl, mut sets) = (Crawl::default(), 0);
        while crawl.next(&view).unwrap().is_some() {
            sets += 1;
        }
        let mut expected: Vec<_> = state
            .iter()
            .filter(|record| record.1 != rtype::RRSIG)
            .map(|record| (&record.0, record.1))
            .collect();
        expected.dedup();
        assert_eq!(sets, expected.len());
    }
}

fn run(denial: Denial, rounds: u32) {
    let apex = apex(1);
    let states: Vec<State> =
        (1..=STATES).map(|serial| state(&drafts(serial), &apex, denial, serial, 0)).collect();
    let mut writer = DeltaWriter::new(Arc::new(pack(&states[0], &apex, 7)), NUMBER).unwrap();
    let shown = RwLock::new(Arc::new(writer.newest_box().clone()));
    let (is_over, checks) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let (shown, states, apex, is_over, checks) = (&shown, &states, &apex, &is_over, &checks);
            scope.spawn(move || {
                let mut at = reader;
                while !is_over.load(Ordering::Relaxed) {
                    let changed = Arc::clone(&shown.read().unwrap());
                    (0..4).for_each(|more| check(&changed, states, apex, at + more));
                    checks.fetch_add(1, Ordering::Relaxed);
                    at += 5;
                }
            });
        }
        let mut now = 0;
        for round in 0..rounds {
            let next = (now + 1 + round as usize % 3) % STATES as usize;
            let applied = writer.apply(&change(&states[now], &states[next])).unwrap();
            if round % 5 == 3 {
                assert!(writer.take_back(applied.changed.state()));
                continue;
            }
            now = next;
            writer.published(applied.changed.state());
            *shown.write().unwrap() = Arc::new(applied.changed);
            if round % 17 == 16 {
                let rebuild = Rebuild::copy(writer.newest_box()).unwrap();
                writer = rebuild.finish(&writer).map_err(|failed| failed.1).unwrap();
                *shown.write().unwrap() = Arc::new(writer.newest_box().clone());
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(checks.load(Ordering::Relaxed) > 10);
}

#[test]
fn readers_see_whole_states() {
    run(Denial::Nsec, 120);
    run(Denial::Nsec3, 120);
}

mod long {
    #[test]
    #[ignore = "long: make test-long"]
    fn readers_see_whole_states() {
        super::run(super::Denial::Nsec, 5000);
        super::run(super::Denial::Nsec3, 5000);
    }
}
