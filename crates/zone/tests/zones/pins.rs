//! Zones that are pinned while others publish: one state each, bounds, and when packs are freed.
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use sync::Collector;
use wire::iana::rtype;
use wire::{NameBuf, SortKey};
use zone::catalog::{
    Absence, PINS_MAX, PINS_PER_CLIENT_MAX, PackHold, PinRefused, PinnedZone, SlotNumber, States, ViewSource,
};
use zone::contents::SourcePosition;
use zone::delta::DeltaWriter;
use zone::{Catalog, CatalogReader, ContentsBuilder, Pack, PackBuilder, TextStamp};

/// No test here takes so long unless something stands still.
const PATIENCE: Duration = Duration::from_secs(60);

fn apex() -> NameBuf {
    "example.test".parse().unwrap()
}

/// A zone of so many names in a pack of its own.
fn pack(serial: u32, names: usize) -> Arc<Pack> {
    let apex = apex();
    let mut contents = ContentsBuilder::new(&apex);
    let soa = [&[0; 2][..], &serial.to_be_bytes(), &[0; 16]].concat();
    contents.push(&apex, false, rtype::SOA, 60, &soa, SourcePosition::default()).unwrap();
    for name in 0..names {
        let owner: NameBuf = format!("n{name}.example.test").parse().unwrap();
        contents.push(&owner, false, rtype::A, 60, &serial.to_be_bytes(), SourcePosition::default()).unwrap();
    }
    let mut builder = PackBuilder::new(u64::from(serial));
    builder.add_zone(&contents.finish(), TextStamp::default()).map_err(|_| "a zone").unwrap();
    Arc::new(Pack::open(builder.finish().unwrap()).unwrap())
}

/// A catalog with the zone, and its slot.
fn catalog(first: Arc<Pack>) -> (Catalog, SlotNumber) {
    let catalog = Catalog::new(5);
    let hold = catalog.add_pack(first);
    let slot = catalog.insert(&[(apex(), ViewSource::Pack(hold.number(), 0))])[0];
    drop(hold);
    (catalog, slot)
}

fn publish(catalog: &Catalog, slot: SlotNumber, pack: Arc<Pack>) {
    let hold: PackHold = catalog.add_pack(pack);
    catalog.publish(slot, None, ViewSource::Pack(hold.number(), 0)).unwrap();
}

fn client(number: u32) -> IpAddr {
    Ipv4Addr::from(0x7f00_0000 + number).into()
}

fn pin(reader: &mut CatalogReader, name: &str, client: IpAddr) -> Result<PinnedZone, PinRefused> {
    let key = SortKey::of(&name.parse::<NameBuf>().unwrap());
    reader.with(|view| view.pin(&view.find(&key, 127).found, client))
}

/// All of a zone has the serial.
fn check(pinned: &PinnedZone, serial: u32, names: usize) {
    let zone = pinned.view().unwrap();
    assert_eq!((zone.row().serial, zone.nodes().count()), (serial, names + 1));
    let addresses = zone.nodes().filter_map(|node| node.rrset(rtype::A));
    for set in addresses {
        assert_eq!(set.rdata(zone.apex(), zone.apex()).unwrap(), [serial.to_be_bytes()]);
    }
}

#[test]
fn a_pinned_zone_stays_as_it_was_and_then_goes() {
    const NAMES: usize = 40;
    let first = pack(1, NAMES);
    let gone: Weak<Pack> = Arc::downgrade(&first);
    let (catalog, slot) = catalog(first);
    let mut reader = catalog.reader();
    let pinned = pin(&mut reader, "n7.example.test", client(1)).unwrap();
    assert_eq!(pinned.version().slot, slot);
    let mut others = Vec::new();
    for serial in 2..1002 {
        publish(&catalog, slot, pack(serial, 3));
        catalog.domain().collect();
        others.push(pin(&mut reader, "example.test", client(serial)).unwrap());
        if others.len() == 100 {
            others.drain(..).zip(serial - 99..).for_each(|(other, serial)| check(&other, serial, 3));
        }
    }
    catalog.remove(&[slot]);
    assert_eq!(pin(&mut reader, "example.test", client(1)).err(), Some(PinRefused::Nothing));
    for _ in 0..3 {
        catalog.domain().collect();
    }
    check(&pinned, 1, NAMES);
    // A second holder: the first that goes frees nothing, and neither frees where it is dropped.
    let held = gone.upgrade().unwrap();
    drop(pinned);
    assert_eq!(catalog.domain().garbage().0, 1 + others.len());
    catalog.domain().collect();
    drop(held);
    assert!(gone.upgrade().is_none(), "the pin has let go");
}

/// Lets the domain free what nobody can see any more.
fn collect(catalog: &Catalog) {
    for _ in 0..3 {
        catalog.domain().collect();
    }
}

/// Of pins that keep what is served no more the oldest are cut beyond a bound of octets; what is served, and what the youngest keeps, stays.
#[test]
fn the_oldest_pins_are_cut() {
    const NAMES: usize = 40;
    let (catalog, slot) = catalog(pack(1, NAMES));
    let mut reader = catalog.reader();
    let mut pins = Vec::new();
    for serial in 1..=4 {
        pins.push(pin(&mut reader, "example.test", client(serial)).unwrap());
        if serial < 4 {
            publish(&catalog, slot, pack(serial + 1, NAMES));
            collect(&catalog);
        }
    }
    let octets = pack(9, NAMES).octets().len() as u64;
    assert_eq!(catalog.cut_pins(3 * octets), 0);
    assert_eq!((catalog.pins().octets, catalog.pins().cut), (3 * octets, 0));
    assert_eq!(catalog.cut_pins(3 * octets - 1), 1);
    assert_eq!((catalog.pins().octets, catalog.pins().cut), (2 * octets, 1));
    let is_cut = |pins: &[PinnedZone]| pins.iter().map(PinnedZone::is_cut).collect::<Vec<_>>();
    assert_eq!(is_cut(&pins), [true, false, false, false]);
    assert!(pins[0].view().is_none());
    (1..4).for_each(|at| check(&pins[at], at as u32 + 1, NAMES));
    // Once is enough, though who has it has not let go yet.
    assert_eq!(catalog.cut_pins(2 * octets), 0);
    assert_eq!(catalog.cut_pins(0), 1);
    assert_eq!(is_cut(&pins), [true, true, false, false]);
    pins.drain(..3);
    assert_eq!((catalog.cut_pins(0), catalog.pins().octets), (0, 0));
    check(&pins[0], 4, NAMES);
}

/// A zone that changes is kept with its delta and the pack below that, as far as its slot shows others.
#[test]
fn pins_of_zones_that_change_are_cut() {
    let (first, second) = (pack(1, 3), pack(1, 40));
    let (catalog, slot) = catalog(Arc::clone(&first));
    let mut reader = catalog.reader();
    let mut ask = |number: u32| pin(&mut reader, "example.test", client(number)).unwrap();
    let show = |pack: &Arc<Pack>| {
        let writer = DeltaWriter::new(Arc::clone(pack), 0).unwrap();
        let states = States::new(writer.newest_box().clone()).unwrap();
        let hold = catalog.add_states(states);
        catalog.publish(slot, None, ViewSource::States(hold.number(), 0)).unwrap();
        writer
    };
    let writer = show(&first);
    let old = ask(1);
    // Other states of the same delta: what is kept is the list of states alone.
    let hold = catalog.add_states(States::new(writer.newest_box().clone()).unwrap());
    catalog.publish(slot, None, ViewSource::States(hold.number(), 0)).unwrap();
    drop(hold);
    collect(&catalog);
    let kept_pack = catalog.add_pack(Arc::clone(&first));
    assert_eq!(catalog.cut_pins(u64::MAX), 0);
    let of_states = catalog.pins().octets;
    assert!(of_states > 0, "{of_states}");
    // Another delta over another pack, and the pack below served elsewhere yet.
    let newer = show(&second);
    collect(&catalog);
    assert_eq!(catalog.cut_pins(u64::MAX), 0);
    let with_delta = catalog.pins().octets;
    assert_eq!(with_delta, of_states + writer.newest_box().delta().octets() as u64);
    drop(kept_pack);
    collect(&catalog);
    assert_eq!(catalog.cut_pins(u64::MAX), 0);
    assert_eq!(catalog.pins().octets, with_delta + first.octets().len() as u64);
    // One more is kept, which is younger, and one that is served.
    let young = ask(2);
    show(&first);
    collect(&catalog);
    let present = ask(3);
    assert_eq!(catalog.cut_pins(second.octets().len() as u64), 1);
    assert_eq!([&old, &young, &present].map(PinnedZone::is_cut), [true, false, false]);
    assert_eq!(young.view().unwrap().nodes().count(), 41);
    drop(newer);
}

/// What is kept by who publishes is as it was, and counts for nobody.
#[test]
fn a_zone_that_is_replaced_can_be_kept() {
    let (catalog, slot) = catalog(pack(1, 3));
    let mut reader = catalog.reader();
    let kept = reader.with(|view| view.keep(slot)).unwrap();
    publish(&catalog, slot, pack(2, 4));
    let newer = reader.with(|view| view.keep(slot)).unwrap();
    catalog.publish(slot, None, ViewSource::Absent(Absence::Expired)).unwrap();
    assert!(reader.with(|view| view.keep(slot)).is_none());
    catalog.remove(&[slot]);
    assert!(reader.with(|view| view.keep(slot)).is_none());
    for _ in 0..3 {
        catalog.domain().collect();
    }
    check(&kept, 1, 3);
    check(&newer, 2, 4);
    assert_eq!((kept.version().slot, catalog.pins().now), (slot, 0));
}

#[test]
fn what_was_found_in_a_batch_is_pinned_in_it() {
    let (catalog, slot) = catalog(pack(1, 3));
    let mut reader = catalog.reader();
    reader.begin();
    let view = reader.view().unwrap();
    let hit = view.find(&SortKey::of(&apex()), 127);
    // Replaced and removed, and whatever can be collected is; the batch goes on.
    publish(&catalog, slot, pack(2, 3));
    catalog.remove(&[slot]);
    for _ in 0..3 {
        catalog.domain().collect();
    }
    let pinned = view.pin(&hit.found, client(1)).unwrap();
    let version = hit.found.version();
    reader.end();
    while catalog.domain().collect().left > 0 {}
    check(&pinned, 1, 3);
    assert_eq!(pinned.version(), version);
}

#[test]
fn the_last_holder_gives_the_pack_to_the_domain() {
    let first = pack(1, 40);
    let (gone, octets) = (Arc::downgrade(&first), first.octets().len());
    let (catalog, slot) = catalog(first);
    let mut reader = catalog.reader();
    let two = [1, 2].map(|number| pin(&mut reader, "example.test", client(number)).unwrap());
    publish(&catalog, slot, pack(2, 40));
    while catalog.domain().collect().left > 0 {}
    for (left, pinned) in [1, 0].into_iter().zip(two) {
        // A batch that began before does not matter to the pack, but everything that is dropped waits for it.
        reader.begin();
        drop(pinned);
        catalog.domain().collect();
        assert!(gone.upgrade().is_some(), "freed by whoever dropped the pin");
        assert_eq!(catalog.domain().garbage().1 >= octets, left == 0, "the octets of a pack that nobody has");
        reader.end();
        catalog.domain().collect();
        assert_eq!(gone.upgrade().is_some(), left > 0);
    }
    assert_eq!(catalog.domain().garbage(), (0, 0));
}

#[test]
fn no_more_than_there_may_be() {
    let (catalog, slot) = catalog(pack(1, 1));
    let mut reader = catalog.reader();
    let mut ask = |number: u32| pin(&mut reader, "example.test", client(number));
    let mut all: Vec<PinnedZone> = Vec::new();
    for number in 0..PINS_MAX / PINS_PER_CLIENT_MAX {
        all.extend((0..PINS_PER_CLIENT_MAX).map(|_| ask(number as u32).unwrap()));
        assert_eq!(ask(number as u32).err(), Some(PinRefused::Client), "the ninth");
    }
    assert_eq!(all.len(), PINS_MAX);
    assert_eq!(ask(9999).err(), Some(PinRefused::Full), "the 1,025th");
    drop(all.pop());
    let last = (PINS_MAX / PINS_PER_CLIENT_MAX - 1) as u32;
    all.push(ask(last).unwrap());
    assert_eq!(ask(last).err(), Some(PinRefused::Client));
    let counts = catalog.pins();
    assert_eq!((counts.now, counts.most, counts.made), (PINS_MAX, PINS_MAX, PINS_MAX as u64 + 1));
    assert_eq!(counts.refused, (PINS_MAX / PINS_PER_CLIENT_MAX) as u64 + 2);
    drop(all);
    assert_eq!((catalog.pins().now, catalog.pins().most), (0, PINS_MAX));
    ask(9999).unwrap();
    // Zones without data cannot be pinned, and that counts for nobody.
    catalog.publish(slot, None, ViewSource::Absent(Absence::Expired)).unwrap();
    assert_eq!(ask(0).err(), Some(PinRefused::Absent(Absence::Expired)));
    assert_eq!((catalog.pins().now, catalog.pins().refused), (0, counts.refused));
}

/// Whatever is published, removed, added again and collected meanwhile: what was found in a batch is what is pinned.
#[test]
fn pins_beside_publishers() {
    const PINS: u32 = 1000;
    let (catalog, slot) = catalog(pack(1, 3));
    let _collector = Collector::start(&[catalog.domain().clone()]).unwrap();
    let (is_over, pins) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (mut reader, key) = (catalog.reader(), SortKey::of(&apex()));
            let (is_over, pins) = (&is_over, &pins);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    reader.begin();
                    let view = reader.view().unwrap();
                    let hit = view.find(&key, 127);
                    let serial = hit.zone().map(|zone| zone.row().serial);
                    std::thread::yield_now();
                    let pinned = view.pin(&hit.found, client(thread));
                    reader.end();
                    assert_eq!(pinned.is_ok(), serial.is_some());
                    if let (Ok(pinned), Some(serial)) = (pinned, serial) {
                        std::thread::yield_now();
                        check(&pinned, serial, 3);
                        pins.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        let (mut slot, mut serial, start) = (slot, 1, Instant::now());
        while serial < PINS || pins.load(Ordering::Relaxed) < PINS {
            serial += 1;
            publish(&catalog, slot, pack(serial, 3));
            if serial % 50 == 0 {
                catalog.remove(&[slot]);
                let hold = catalog.add_pack(pack(serial, 3));
                slot = catalog.insert(&[(apex(), ViewSource::Pack(hold.number(), 0))])[0];
            }
            if start.elapsed() > PATIENCE {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(pins.into_inner() >= PINS);
    assert_eq!(catalog.pins().now, 0);
}

/// A zone that is published with a number of a pack that the list of packs had no place for when the batch began is found in it all the same.
#[test]
fn what_is_published_late_in_a_batch_is_found() {
    let (catalog, slot) = catalog(pack(1, 3));
    let mut reader = catalog.reader();
    reader.begin();
    let view = reader.view().unwrap();
    // More than the first piece of the list has.
    let holds: Vec<_> = (2..100).map(|number| catalog.add_pack(pack(number, 3))).collect();
    let last = holds.last().unwrap();
    catalog.publish(slot, None, ViewSource::Pack(last.number(), 0)).unwrap();
    let hit = view.find(&SortKey::of(&apex()), 127);
    assert!(hit.zone().is_some(), "{:?}", hit.found);
    assert!(view.hit(&hit.found).zone().is_some());
    assert!(view.view_of(slot).is_some());
    reader.end();
}
