//! Catalogs that are made here, taken by the one that takes others'.

use std::collections::BTreeMap;

use proptest::prelude::*;
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::contents::SourcePosition;
use zone::{Change, ContentsBuilder, Pack, Records, ZoneView};

use super::super::*;
use super::kit::*;

/// A zone as a set of records, to which changes are made.
#[derive(Clone, Default)]
struct Store {
    records: Vec<(NameBuf, u16, Vec<u8>)>,
}

impl Store {
    fn of(records: &Records) -> Store {
        let mut store = Store::default();
        store.add(records);
        store
    }

    fn add(&mut self, records: &Records) {
        let record =
            |record: zone::Record<'_>| (record.owner.to_owned(), record.rtype, record.rdata.to_vec());
        self.records.extend(records.iter().map(record));
    }

    fn apply(&mut self, change: &Change) {
        for record in change.removed().iter() {
            let is = |other: &(NameBuf, u16, Vec<u8>)| {
                other.0.eq_ignore_case(record.owner) && other.1 == record.rtype && other.2 == record.rdata
            };
            let at = self.records.iter().position(is).expect("what is removed is there");
            self.records.remove(at);
        }
        let before = self.records.len();
        self.add(change.added());
        let mut all = self.records.clone();
        all.sort_by(|a, b| (a.0.octets(), a.1, &a.2).cmp(&(b.0.octets(), b.1, &b.2)));
        all.dedup();
        assert_eq!(all.len(), self.records.len(), "what is added is not there yet ({before})");
    }

    fn pack(&self, apex: &Name) -> Pack {
        let mut builder = ContentsBuilder::new(apex);
        for (owner, rtype, rdata) in &self.records {
            builder.push(owner, false, *rtype, 0, rdata, SourcePosition::default()).unwrap();
        }
        pack_of(builder)
    }
}

fn listed(groups: &[&str]) -> Listed {
    Listed { groups: groups.iter().map(|group| group.as_bytes().into()).collect(), coo: None }
}

/// A catalog, and who takes it.
struct Pair {
    apex: NameBuf,
    store: Store,
    claims: Claims,
    serial: u32,
}

impl Pair {
    fn new() -> Pair {
        let apex = name("catalog.example.");
        let store = Store::of(&Produced::begin(&apex, u32::MAX).unwrap());
        Pair { apex, store, claims: claims(&["catalog.example."]), serial: u32::MAX }
    }

    fn produced(&self) -> Produced {
        let pack = self.store.pack(&self.apex);
        Produced::read(&ZoneView::new(&pack, 0).unwrap()).unwrap()
    }

    /// Makes a change, takes it, and says what became of zones.
    fn go(&mut self, wanted: &[(&str, Wanted)]) -> Vec<String> {
        let wanted: Vec<_> = wanted.iter().map(|(zone, wanted)| (name(zone), wanted.clone())).collect();
        let mut produced = self.produced();
        let pack = self.store.pack(&self.apex);
        let Some(change) = produced.change(&ZoneView::new(&pack, 0).unwrap(), &wanted).unwrap() else {
            return Vec::new();
        };
        assert_eq!(
            (change.serial_before(), change.serial_after()),
            (self.serial, self.serial.wrapping_add(1))
        );
        self.serial = self.serial.wrapping_add(1);
        self.store.apply(&change);
        produced.commit(&change).unwrap();
        let again = self.produced();
        assert_eq!(produced.len(), again.len());
        wanted.iter().for_each(|(zone, _)| assert_eq!(produced.label(zone), again.label(zone)));
        let pack = self.store.pack(&self.apex);
        let view = ZoneView::new(&pack, 0).unwrap();
        let catalog = self.claims.catalog(&self.apex).unwrap();
        let difference = match Difference::of_change(&self.claims, catalog, &change, &view) {
            Some(difference) => difference,
            None => Difference::of_state(&self.claims, catalog, &view, self.serial),
        };
        carry_out(&mut self.claims, difference.unwrap(), &|_| false)
    }

    fn label(&self, zone: &str) -> Option<Vec<u8>> {
        self.produced().label(&name(zone)).map(<[u8]>::to_vec)
    }
}

#[test]
fn life_of_a_member() {
    let mut pair = Pair::new();
    assert_eq!(
        pair.go(&[
            ("b.example.", Wanted::Listed(listed(&[]))),
            ("A.example.", Wanted::Listed(listed(&["signed", "x"])))
        ]),
        ["A.example.: added catalog.example. signed", "b.example.: added catalog.example. plain"]
    );
    let label = pair.label("a.example.").unwrap();
    assert_eq!(label.len(), 32);
    // The same again is no change, in whatever order.
    let nothing: [&str; 0] = [];
    assert_eq!(pair.go(&[("a.example.", Wanted::Listed(listed(&["x", "signed", "x"])))]), nothing);
    assert_eq!(pair.serial, 0);
    assert_eq!(
        pair.go(&[("a.example.", Wanted::Listed(listed(&["x"])))]),
        ["A.example.: regrouped catalog.example. plain"]
    );
    assert_eq!(pair.label("A.EXAMPLE."), Some(label.clone()));
    assert_eq!(
        pair.go(&[("a.example.", Wanted::Renewed(listed(&[])))]),
        ["a.example.: reset catalog.example. plain"]
    );
    let renewed = pair.label("a.example.").unwrap();
    assert_ne!(renewed, label);
    assert_eq!(
        pair.go(&[("a.example.", Wanted::Unlisted), ("c.example.", Wanted::Unlisted)]),
        ["a.example.: removed"]
    );
    // Another zone of that name is not the one that was.
    pair.go(&[("a.example.", Wanted::Listed(listed(&[])))]);
    let third = pair.label("a.example.").unwrap();
    assert!(third != renewed && third != label);
    let unwanted = pair.produced().members_not(|zone| zone.eq_ignore_case(&name("b.example.")));
    assert_eq!(unwanted, [name("a.example.")]);
}

/// A catalog that was lost is the same when it is made anew.
#[test]
fn labels_at_the_beginning_are_of_names_alone() {
    let label = |zones: &[&str]| {
        let mut pair = Pair::new();
        pair.go(&zones.iter().map(|zone| (*zone, Wanted::Listed(listed(&[])))).collect::<Vec<_>>());
        pair.label("a.example.").unwrap()
    };
    assert_eq!(label(&["a.example."]), label(&["b.example.", "A.Example."]));
    assert_eq!(label(&["a.example."]), b"lt0o3efsiu8ueo14ienlgdk1a9omnc5u");
}

#[test]
fn offers_are_listed() {
    let mut pair = Pair::new();
    let offered = Listed { coo: Some(name("other.example.")), ..listed(&[]) };
    pair.go(&[("a.example.", Wanted::Listed(offered.clone()))]);
    let has_coo = |pair: &Pair| {
        pair.store.records.iter().filter(|(owner, ..)| owner.octets().starts_with(b"\x03coo")).count()
    };
    assert_eq!(has_coo(&pair), 1);
    pair.go(&[("a.example.", Wanted::Listed(listed(&[])))]);
    assert_eq!(has_coo(&pair), 0);
}

#[test]
fn names_that_leave_no_room() {
    let apex = |octets: usize| {
        let label = "a".repeat(63);
        name(&format!("{label}.{label}.{label}.{}.", "b".repeat(octets - 3 * 64 - 2)))
    };
    assert_eq!(apex(210).octets().len(), 210);
    assert!(Produced::begin(&apex(210), 1).is_ok());
    assert_eq!(Produced::begin(&apex(211), 1).err(), Some(NoCatalog::NameTooLong));
}

/// What stands there is not what was made here.
#[test]
fn catalogs_that_others_wrote() {
    let state = State::catalog("c.", 7, &["x.zones PTR a.example.", "y.zones PTR b.example."]);
    let pack = state.pack();
    let produced = Produced::read(&ZoneView::new(&pack, 0).unwrap()).unwrap();
    assert_eq!((produced.len(), produced.label(&name("B.example."))), (2, Some(&b"y"[..])));
    let state = State::catalog("c.", 7, &["x.zones PTR a.example.", "y.zones PTR A.example."]);
    let pack = state.pack();
    let broken = Produced::read(&ZoneView::new(&pack, 0).unwrap()).unwrap_err();
    assert!(matches!(broken, NoCatalog::Broken(Broken { fault: Fault::Twice, .. })), "{broken:?}");
}

const GROUPS: [&str; 3] = ["signed", "plain", "other"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    /// Whatever is wanted, who takes the catalog has it.
    #[test]
    fn who_takes_it_has_what_is_wanted(
        rounds in prop::collection::vec(prop::collection::btree_map(0..6u8, (0..4u8, 0..8u8), 0..5), 1..8)
    ) {
        let mut pair = Pair::new();
        let mut wanted = BTreeMap::new();
        for round in rounds {
            let mut edits = Vec::new();
            for (zone, (what, groups)) in round {
                let zone = format!("z{zone}.example.");
                let groups: Vec<&str> = (0..3).filter(|at| groups >> at & 1 == 1).map(|at| GROUPS[at]).collect();
                let template = if groups.contains(&"signed") && !groups.contains(&"plain") { "signed" } else { "plain" };
                let edit = match what {
                    0 => Wanted::Unlisted,
                    1 => Wanted::Renewed(listed(&groups)),
                    _ => Wanted::Listed(listed(&groups)),
                };
                match &edit {
                    Wanted::Unlisted => drop(wanted.remove(&zone)),
                    _ => drop(wanted.insert(zone.clone(), template)),
                }
                edits.push((zone, edit));
            }
            pair.go(&edits.iter().map(|(zone, edit)| (zone.as_str(), edit.clone())).collect::<Vec<_>>());
            let served: BTreeMap<String, &str> = pair
                .claims
                .iter()
                .inspect(|(_, claim)| assert!(claim.holds))
                .map(|(_, claim)| (claim.zone.to_string(), claim.template))
                .collect();
            prop_assert_eq!(&served, &wanted);
            let soa = pair.store.records.iter().filter(|(_, rtype, _)| *rtype == rtype::SOA).count();
            prop_assert_eq!(soa, 1);
        }
    }
}
