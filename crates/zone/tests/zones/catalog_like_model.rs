//! The catalog beside an ordered map: what is found, whose version is raised, and names above zones, while zones come, go and change.
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sync::random::Random;
use wire::{Name, NameBuf, SortKey};
use zone::catalog::{Absence, CatalogView, Found, SlotNumber, Version, View, ViewSource};
use zone::{Catalog, CatalogReader};

/// One step of a history; numbers choose names.
#[derive(Clone, Debug)]
enum Step {
    Insert(Vec<usize>),
    Remove(Vec<usize>),
    Publish(usize),
    Collect,
}

fn names() -> Vec<NameBuf> {
    let mut names = vec![Name::root().to_owned()];
    for labels in
        ["a", "b", "c.a", "d.a", "c.b", "e.c.a", "f.e.c.a", "x.y.z.e.c.a", "q", "r.q", "s.r.q", "t.s.r.q"]
    {
        names.push(labels.parse().unwrap());
    }
    names
}

fn step() -> impl Strategy<Value = Step> {
    let some = || prop::collection::vec(0..names().len(), 1..6);
    prop_oneof![
        3 => some().prop_map(Step::Insert),
        2 => some().prop_map(Step::Remove),
        2 => (0..names().len()).prop_map(Step::Publish),
        1 => Just(Step::Collect),
    ]
}

fn find(view: &CatalogView<'_>, name: &Name, labels_max: usize) -> Found {
    view.find(&SortKey::of(name), labels_max).found
}

/// The ancestor-or-self with so many labels.
fn ancestor(name: &Name, labels: usize) -> NameBuf {
    let mut ancestor = name.to_owned();
    while ancestor.label_count() > labels {
        let octets = ancestor.octets()[1 + ancestor.octets()[0] as usize..].to_vec();
        ancestor = Name::from_wire(&octets).unwrap().to_owned();
    }
    ancestor
}

/// Names that are asked for: all zones, and names below them.
fn asked() -> Vec<NameBuf> {
    let below = names().into_iter().flat_map(|name| {
        let text = name.to_string();
        let dotted = if text == "." { String::new() } else { text };
        [format!("{dotted}."), format!("w.{dotted}"), format!("v.w.{dotted}")]
    });
    below.map(|text| text.trim_start_matches('.').parse().unwrap_or(Name::root().to_owned())).collect()
}

type Model = BTreeMap<Vec<u8>, (SlotNumber, Absence)>;

/// The nearest zone of the model.
fn nearest<'m>(
    model: &'m Model,
    name: &Name,
    labels_max: usize,
) -> Option<(usize, &'m (SlotNumber, Absence))> {
    (0..=labels_max.min(name.label_count())).rev().find_map(|labels| {
        let key = SortKey::of(&ancestor(name, labels)).octets().to_vec();
        model.get(&key).map(|zone| (labels, zone))
    })
}

fn check(reader: &mut CatalogReader, model: &Model) {
    reader.with(|view| {
        for name in asked() {
            for labels_max in [0, 1, 2, 127] {
                let found = find(view, &name, labels_max);
                match nearest(model, &name, labels_max) {
                    None => assert!(found.is_nothing(), "{name}"),
                    Some((labels, (slot, why))) => {
                        assert_eq!((found.version().slot, found.labels as usize), (*slot, labels), "{name}");
                        assert_eq!(view.hit(&found).absence(), Some(*why), "{name}");
                        assert!(
                            matches!(view.view_of(*slot), Some(View::Absent(now)) if now == *why),
                            "{name}"
                        );
                    }
                }
                assert!(view.is_current(found.version()));
            }
            let key = SortKey::of(&name);
            let is_above = name.label_count() > 0
                && model.keys().any(|zone| zone.len() > key.octets().len() && zone.starts_with(key.octets()));
            assert!(!is_above || view.may_have_zones_below(&key, name.label_count()), "{name}");
            let slot = model.get(key.octets()).map(|(slot, _)| *slot);
            assert_eq!(view.slot_named(&name), slot, "{name}");
        }
        let (mut from, mut walked) = (0, Vec::new());
        while let Some(some) = view.slots(SlotNumber(from), 1000) {
            walked.extend(some.map(|slot| SortKey::of(view.name_of(slot).unwrap()).octets().to_vec()));
            from = from.max(1024) + 1000;
        }
        walked.sort();
        assert!(walked.iter().eq(model.keys()));
    });
}

/// What each name finds, to be compared with later.
fn found(reader: &mut CatalogReader) -> Vec<(NameBuf, usize, Version)> {
    reader.with(|view| {
        let asked = asked().into_iter().flat_map(|name| [0, 1, 127].map(|max| (name.clone(), max)));
        asked.map(|(name, max)| (name.clone(), max, find(view, &name, max).version())).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn zones_come_go_and_change(steps in prop::collection::vec(step(), 1..40), seed in any::<u64>()) {
        let catalog = Catalog::new(seed);
        let mut reader = catalog.reader();
        let mut model = Model::new();
        let names = names();
        for step in steps {
            let before = (found(&mut reader), model.clone());
            let mut published = None;
            match &step {
                Step::Insert(some) => {
                    let zones: Vec<_> = some.iter().map(|&at| (&*names[at], ViewSource::Absent(Absence::NotLoaded))).collect();
                    let slots = catalog.insert(&zones);
                    for ((name, _), slot) in zones.iter().zip(slots) {
                        model.insert(SortKey::of(name).octets().to_vec(), (slot, Absence::NotLoaded));
                    }
                }
                Step::Remove(some) => {
                    let gone: Vec<_> = some.iter().filter_map(|&at| model.remove(SortKey::of(&names[at]).octets())).collect();
                    catalog.remove(&gone.iter().map(|(slot, _)| *slot).collect::<Vec<_>>());
                }
                Step::Publish(at) => {
                    if let Some(zone) = model.get_mut(SortKey::of(&names[*at]).octets()) {
                        let state = catalog.state_of(zone.0).unwrap();
                        assert!(catalog.publish(zone.0, Some(state), ViewSource::Absent(Absence::Expired)).is_ok());
                        assert!(catalog.publish(zone.0, Some(state), ViewSource::Absent(Absence::NotLoaded)).is_err());
                        zone.1 = Absence::Expired;
                        published = Some(zone.0);
                    }
                }
                Step::Collect => drop(catalog.domain().collect()),
            }
            check(&mut reader, &model);
            // What a name found before is current only if it finds the same now, in the same state; and a change leaves those alone that it is not about.
            reader.with(|view| for (name, max, version) in before.0 {
                let now = find(view, &name, max).version();
                let is_same = nearest(&before.1, &name, max) == nearest(&model, &name, max) && published != Some(now.slot);
                assert!(!view.is_current(version) || (now == version && is_same), "{name} {step:?}");
                if matches!(step, Step::Publish(_) | Step::Collect) {
                    assert_eq!(view.is_current(version), is_same, "{name} {step:?}");
                }
            });
        }
        assert_eq!(catalog.zone_count(), model.len());
    }
}

/// Changing one zone raises nobody else's version, and adding one that of its encloser alone.
#[test]
fn others_are_left_alone() {
    let catalog = Catalog::new(7);
    let name = |text: &str| text.parse::<NameBuf>().unwrap();
    let absent = ViewSource::Absent(Absence::NotLoaded);
    let zones: Vec<_> = (0..5000).map(|at| (name(&format!("z{at}.test")), absent)).collect();
    let slots = catalog.insert(&zones);
    let mut reader = catalog.reader();
    let version =
        |reader: &mut CatalogReader, text: &str| reader.with(|view| find(view, &name(text), 127).version());
    let before: Vec<_> = (0..5000).map(|at| version(&mut reader, &format!("z{at}.test"))).collect();
    let nowhere = version(&mut reader, "elsewhere.example");
    catalog.publish(slots[77], None, absent).unwrap();
    catalog.insert(&[(name("below.z78.test"), absent)]);
    catalog.remove(&[slots[79]]);
    assert!(reader.with(|view| view.is_current(nowhere)), "names with other upper labels");
    // Enough to make the table grow.
    let more: Vec<_> = (0..4000).map(|at| (name(&format!("y{at}.z77.test")), absent)).collect();
    catalog.insert(&more);
    reader.with(|view| {
        for (at, version) in before.iter().enumerate() {
            assert_eq!(view.is_current(*version), ![77, 78, 79].contains(&at), "{at}");
        }
    });
    catalog.insert(&[(name("example"), absent)]);
    assert!(!reader.with(|view| view.is_current(nowhere)));
}

/// A slot's number is used again only when no reader can have it, and then with another version.
#[test]
fn slots_are_used_again() {
    let catalog = Catalog::new(1);
    let name: NameBuf = "a.test".parse().unwrap();
    let other: NameBuf = "b.test".parse().unwrap();
    let absent = ViewSource::Absent(Absence::NotLoaded);
    let slot = catalog.insert(&[(&*name, absent)])[0];
    let mut reader = catalog.reader();
    reader.begin();
    catalog.remove(&[slot]);
    catalog.domain().collect();
    assert_ne!(catalog.insert(&[(&*other, absent)])[0], slot);
    reader.end();
    catalog.domain().collect();
    let version = reader.with(|view| find(view, &other, 127).version());
    assert_eq!(catalog.insert(&[(&*name, absent)])[0], slot);
    assert!(reader.with(|view| view.is_current(version)));
    (0..10_000).for_each(|_| {
        catalog.remove(&[slot]);
        catalog.domain().collect();
        assert_eq!(catalog.insert(&[(&*name, absent)])[0], slot);
    });
}

/// Readers find zones that stay while the table grows and others come and go.
#[test]
fn the_table_grows_under_readers() {
    const ZONES: usize = 20_000;
    let catalog = Catalog::new(3);
    let absent = ViewSource::Absent(Absence::NotLoaded);
    let name = |at: usize| format!("z{at}.p{}.test", at % 50).parse::<NameBuf>().unwrap();
    let (is_over, there) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let (mut reader, is_over, there) = (catalog.reader(), &is_over, &there);
            scope.spawn(move || {
                let mut at = thread;
                while !is_over.load(Ordering::Relaxed) {
                    let count = there.load(Ordering::Acquire) as usize;
                    reader.with(|view| {
                        for _ in 0..64.min(count) {
                            at = (at * 7919 + 13) % count;
                            // Every tenth comes and goes.
                            let found = find(view, &name(at), 127);
                            assert!(at % 10 == 0 || found.labels == 3, "{at} of {count}");
                        }
                    });
                }
            });
        }
        for at in 0..ZONES {
            let slot = catalog.insert(&[(name(at), absent)])[0];
            if at % 10 == 0 {
                catalog.remove(&[slot]);
            }
            if at % 500 == 0 {
                catalog.domain().collect();
            }
            there.store(at as u64 + 1, Ordering::Release);
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// While zones move to the next table, others come and go in both: each is found, and names above zones are known, at every step.
#[test]
fn zones_come_and_go_while_the_table_grows() {
    let catalog = Catalog::new(5);
    let mut reader = catalog.reader();
    let mut random = Random::new(12);
    let absent = ViewSource::Absent(Absence::NotLoaded);
    // Ends of names of two labels, whose names above are few, and of three.
    let name = |at: usize| format!("z{at}.{}test", if at.is_multiple_of(3) { "y." } else { "" });
    let mut there: BTreeMap<usize, SlotNumber> = BTreeMap::new();
    let many: Vec<_> = (0..5000).map(|at| (name(at).parse::<NameBuf>().unwrap(), absent)).collect();
    there.extend(catalog.insert(&many).into_iter().enumerate());
    let check = |reader: &mut CatalogReader,
                 there: &BTreeMap<usize, SlotNumber>,
                 which: &mut dyn Iterator<Item = usize>| {
        reader.with(|view| {
            for at in which {
                let name: NameBuf = name(at).parse().unwrap();
                assert_eq!(view.slot_named(&name).as_ref(), there.get(&at), "{name} of {}", there.len());
                let above = SortKey::of(&ancestor(&name, name.label_count() - 1));
                let is_above = there.contains_key(&at);
                assert!(!is_above || view.may_have_zones_below(&above, above.label_count()), "{name}");
            }
        });
    };
    for step in 0..6000 {
        // A zone that is there goes, or one that is not comes.
        let at = random.below(12_000) as usize;
        if let Some(slot) = there.remove(&at) {
            if random.below(3) == 0 {
                catalog.remove(&[slot]);
            } else {
                there.insert(at, slot);
            }
        } else {
            there.insert(at, catalog.insert(&[(name(at).parse::<NameBuf>().unwrap(), absent)])[0]);
        }
        let samples: Vec<usize> = (0..20).map(|_| random.below(12_000) as usize).chain([at]).collect();
        check(&mut reader, &there, &mut samples.into_iter());
        if step % 100 == 0 {
            catalog.domain().collect();
            check(&mut reader, &there, &mut (0..12_000));
        }
    }
    check(&mut reader, &there, &mut (0..12_000));
    assert_eq!(catalog.zone_count(), there.len());
}
