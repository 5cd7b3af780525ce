//! Versions of parts, beside a model that knows what changed since an answer was made.
use proptest::prelude::*;
use wire::{NameBuf, SortKey};
use zone::catalog::{Absence, PARTITIONED_MAX, PartSet, SlotNumber, Version, ViewSource};
use zone::{Catalog, CatalogReader};

const ABSENT: ViewSource = ViewSource::Absent(Absence::NotLoaded);

fn name(zone: usize) -> NameBuf {
    format!("z{zone}.test").parse().unwrap()
}

fn version(reader: &mut CatalogReader, zone: usize) -> Version {
    reader.with(|view| view.find(&SortKey::of(&name(zone)), 127).found.version())
}

/// As who keeps answers asks.
fn is_current(reader: &mut CatalogReader, version: Version, parts: PartSet) -> bool {
    reader.with(|view| match version.has_parts() {
        true => view.are_current(version, parts),
        false => view.is_current(version),
    })
}

fn publish_parts(catalog: &Catalog, slot: SlotNumber, parts: PartSet) {
    let state = catalog.state_of(slot).unwrap();
    catalog.publish_parts(slot, state, ABSENT, parts).unwrap();
    assert!(catalog.publish_parts(slot, state, ABSENT, parts).is_err(), "each publication is another state");
}

#[derive(Clone, Debug)]
enum Step {
    Parts(usize, Vec<u8>),
    All(usize),
    Merge(usize),
    /// Removed, and inserted again, in another's slot perhaps.
    Again(usize),
    /// A zone that comes below.
    Below(usize, u8),
    /// So many other zones are published by parts, and want versions of parts.
    Others(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let zone = 0..4usize;
    prop_oneof![
        8 => (zone.clone(), prop::collection::vec(0..40u8, 0..4)).prop_map(|(zone, labels)| Step::Parts(zone, labels)),
        1 => zone.clone().prop_map(Step::All),
        1 => zone.clone().prop_map(Step::Merge),
        1 => zone.clone().prop_map(Step::Again),
        1 => (zone, 0..40u8).prop_map(|(zone, label)| Step::Below(zone, label)),
        1 => (1..3 * PARTITIONED_MAX).prop_map(Step::Others),
    ]
}

fn part_of(label: u8) -> PartSet {
    PartSet::of_name(format!("n{label}\0").as_bytes())
}

/// An answer that is kept: whether what it was made from is still so.
struct Kept {
    version: Version,
    parts: PartSet,
    zone: usize,
    is_right: bool,
    /// Whether nothing was published of its parts, of which finer ones may be no part of it.
    is_untouched: bool,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn no_answer_outlives_its_parts(steps in prop::collection::vec(step(), 1..40)) {
        let catalog = Catalog::new(3);
        let mut reader = catalog.reader();
        let others: Vec<_> = (10..10 + PARTITIONED_MAX).map(|zone| (name(zone), ABSENT)).collect();
        let others = catalog.insert(&others);
        let mut slots = catalog.insert(&[0, 1, 2, 3].map(|zone| (name(zone), ABSENT)));
        let (mut kept, mut below) = (Vec::<Kept>::new(), 0);
        for step in steps {
            // What the step makes wrong: of a zone, and which of its parts.
            let mut wrong = None;
            let before: Vec<bool> = kept.iter().map(|kept| is_current(&mut reader, kept.version, kept.parts)).collect();
            let mut costs_no_other = matches!(step, Step::Merge(_));
            match &step {
                Step::Parts(zone, labels) => {
                    let parts = labels.iter().fold(PartSet::NONE, |all, label| all | part_of(*label));
                    costs_no_other = version(&mut reader, *zone).has_parts();
                    publish_parts(&catalog, slots[*zone], parts);
                    wrong = Some((*zone, parts | PartSet::SERIAL));
                }
                Step::All(zone) => {
                    catalog.publish(slots[*zone], None, ABSENT).unwrap();
                    wrong = Some((*zone, PartSet::SHARED));
                }
                Step::Merge(zone) => catalog.move_view(slots[*zone], None, ABSENT).unwrap(),
                Step::Again(zone) => {
                    catalog.remove(&[slots[*zone]]);
                    let _ = catalog.domain().collect();
                    slots[*zone] = catalog.insert(&[(name(*zone), ABSENT)])[0];
                    wrong = Some((*zone, PartSet::SHARED));
                }
                Step::Below(zone, label) => {
                    below += 1;
                    let name: NameBuf = format!("b{below}.n{label}.z{zone}.test").parse().unwrap();
                    catalog.insert(&[(name, ABSENT)]);
                    wrong = Some((*zone, part_of(*label) | PartSet::SERIAL));
                }
                Step::Others(count) => (0..*count).for_each(|at| publish_parts(&catalog, others[at % others.len()], PartSet::NONE)),
            }
            if let Some((zone, parts)) = wrong {
                for kept in kept.iter_mut().filter(|kept| kept.zone == zone) {
                    kept.is_right &= !parts.meets(kept.parts) && !parts.is_everything();
                    kept.is_untouched &= !parts.whole().meets(kept.parts) && !parts.is_everything();
                }
            }
            for (kept, before) in kept.iter().zip(before) {
                let is_kept = is_current(&mut reader, kept.version, kept.parts);
                prop_assert!(!is_kept || kept.is_right, "{step:?} {:?}", kept.version);
                prop_assert!(is_kept || !(before && kept.is_untouched && costs_no_other), "{step:?} {:?}", kept.version);
            }
            for zone in 0..4 {
                let version = version(&mut reader, zone);
                for parts in [part_of(0), part_of(zone as u8) | part_of(7), PartSet::SERIAL, PartSet::NONE] {
                    prop_assert!(is_current(&mut reader, version, parts));
                    kept.push(Kept { version, parts, zone, is_right: true, is_untouched: true });
                }
            }
        }
    }
}

/// Answers of other parts live on, whatever is published in between.
#[test]
fn others_live_on() {
    let catalog = Catalog::new(3);
    let slots = catalog.insert(&[0, 1].map(|zone| (name(zone), ABSENT)));
    let mut reader = catalog.reader();
    let plain = version(&mut reader, 0);
    publish_parts(&catalog, slots[0], PartSet::NONE);
    assert!(!plain.has_parts() && !is_current(&mut reader, plain, PartSet::NONE), "the first costs all");
    let first = version(&mut reader, 0);
    let changed = part_of(1) | part_of(2);
    let untouched: Vec<_> = (3..40).map(part_of).filter(|part| !changed.whole().has(*part)).collect();
    for _ in 0..1000 {
        publish_parts(&catalog, slots[0], changed);
        assert!(untouched.iter().all(|part| is_current(&mut reader, first, *part)));
        assert!(
            !is_current(&mut reader, first, part_of(1)) && !is_current(&mut reader, first, PartSet::SERIAL)
        );
    }
    assert!(!version(&mut reader, 1).has_parts(), "who changes as a whole has one version");
    catalog.publish(slots[0], None, ABSENT).unwrap();
    assert!(!is_current(&mut reader, first, untouched[0]));
}

/// Zones that are published by parts again and again keep their versions of parts beside any number of others.
#[test]
fn busy_zones_keep_their_parts() {
    let catalog = Catalog::new(3);
    let zones: Vec<_> = (0..3 * PARTITIONED_MAX).map(|zone| (name(zone), ABSENT)).collect();
    let slots = catalog.insert(&zones);
    let mut reader = catalog.reader();
    publish_parts(&catalog, slots[0], PartSet::NONE);
    let kept = version(&mut reader, 0);
    for (at, slot) in slots.iter().enumerate().skip(1) {
        publish_parts(&catalog, *slot, PartSet::NONE);
        if at % 100 == 0 {
            publish_parts(&catalog, slots[0], part_of(1));
        }
    }
    assert!(is_current(&mut reader, kept, part_of(2)));
    let with_parts = (0..zones.len()).filter(|zone| version(&mut reader, *zone).has_parts()).count();
    assert_eq!(with_parts, PARTITIONED_MAX);
    // Who goes leaves them to others.
    catalog.remove(&slots);
    let slots = catalog.insert(&zones);
    slots[..PARTITIONED_MAX].iter().for_each(|slot| publish_parts(&catalog, *slot, PartSet::NONE));
    assert!((0..PARTITIONED_MAX).all(|zone| version(&mut reader, zone).has_parts()));
}
