//! What leads from one random version of a zone to another, found by walking over both, is what the model says.
use crate::kit::change::{State, change, pack, state};
use crate::kit::{Denial, Draft, apex, drafts};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use wire::Name;
use zone::difference::{NoDifference, difference};
use zone::{Change, DeltaWriter, Records, ZoneView};

/// The zone's number in packs of the kit.
const NUMBER: u32 = 1;

type Record = (Vec<u8>, u16, u32, Vec<u8>);

fn set(records: &Records) -> BTreeSet<Record> {
    let all: Vec<Record> = records
        .iter()
        .map(|record| (record.owner.octets().to_vec(), record.rtype, record.ttl, record.rdata.to_vec()))
        .collect();
    let count = all.len();
    let set: BTreeSet<Record> = all.into_iter().collect();
    assert_eq!(set.len(), count, "each once");
    set
}

fn check_change(found: Result<Change, NoDifference>, expected: &Change) {
    let found = found.unwrap();
    assert_eq!(set(found.removed()), set(expected.removed()));
    assert_eq!(set(found.added()), set(expected.added()));
    assert_eq!(
        (found.serial_before(), found.serial_after()),
        (expected.serial_before(), expected.serial_after())
    );
}

fn check(apex: &Name, one: &State, other: &State) {
    let expected = change(one, other);
    let packs = [pack(one, apex, 7), pack(other, apex, 8)].map(Arc::new);
    let [old, new] = packs.each_ref().map(|pack| ZoneView::new(pack, NUMBER).unwrap());
    check_change(difference(&old, &new, usize::MAX), &expected);
    let octets = expected.removed().octets().len() + expected.added().octets().len();
    assert!(difference(&old, &new, octets).is_ok());
    assert_eq!(difference(&old, &old, usize::MAX), Err(NoDifference::Same));
    if set(expected.removed()).len() + set(expected.added()).len() > 2 {
        assert_eq!(difference(&old, &new, octets - 1), Err(NoDifference::TooLong));
    }
    // From and to a state of a delta, which is the same zone.
    let mut writer = DeltaWriter::new(Arc::clone(&packs[0]), NUMBER).unwrap();
    let changed = writer.apply(&expected).unwrap().changed;
    let changed = ZoneView::of_changed(&changed).unwrap();
    assert_eq!(difference(&changed, &new, usize::MAX), Err(NoDifference::Same));
    assert_eq!(difference(&new, &changed, usize::MAX), Err(NoDifference::Same));
    check_change(difference(&old, &changed, usize::MAX), &expected);
    check_change(difference(&changed, &old, usize::MAX), &change(other, one));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn is_what_the_model_says(
        drafts in drafts(),
        number in 0..5u8,
        denials in (0..3usize, 0..3usize),
        keeps in (1..5usize, 1..5usize),
        salts in (0..4u64, 0..4u64),
    ) {
        let apex = apex(number).to_lowercase();
        let kinds = [Denial::None, Denial::Nsec, Denial::Nsec3];
        let chosen = |every: usize| -> Vec<Draft> {
            drafts.iter().enumerate().filter(|(at, _)| at % every != every - 1 || every == 1).map(|(_, draft)| draft.clone()).collect()
        };
        let one = state(&chosen(keeps.0), &apex, kinds[denials.0], 1, salts.0);
        let other = state(&chosen(keeps.1), &apex, kinds[denials.0], 2, salts.1);
        check(&apex, &one, &other);
        // From one kind of proofs to another; a delta does not take that.
        let other = state(&chosen(keeps.1), &apex, kinds[denials.1], 2, salts.1);
        let packs = [pack(&one, &apex, 7), pack(&other, &apex, 8)];
        let [old, new] = packs.each_ref().map(|pack| ZoneView::new(pack, NUMBER).unwrap());
        check_change(difference(&old, &new, usize::MAX), &change(&one, &other));
    }
}
