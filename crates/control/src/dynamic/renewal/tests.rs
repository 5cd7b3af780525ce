//! Zones that change while their deltas are copied and merged every few commits, between starts: what is served is what a naive model says.

mod held;
mod many;
mod power;
mod resting;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use sync::Random;
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::catalog::View;
use zone::change::Records;
use zone::delta::{MERGE_PERCENT, MergeFrom};
use zone::{Change, Crawl};

mod images;

use super::Rules;
use crate::controller::{Controller, Overrides};
use crate::dynamic::{Incoming, NotTaken, Told, What};
use crate::progress::Progress;
use crate::settings::Settings;

/// Names below each apex that change.
const NAMES: usize = 24;
const ZONES: usize = 4;
/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A zone as it is to be: its serial, and what each name has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    serial: u32,
    names: BTreeMap<usize, Vec<u8>>,
}

fn apex(zone: usize) -> NameBuf {
    format!("z{zone}.example").parse().unwrap()
}

fn name(zone: usize, name: usize) -> NameBuf {
    // Some below others, so that there are names without records of their own.
    let text = if name.is_multiple_of(3) { format!("a.b{name}") } else { format!("h{name}") };
    format!("{text}.z{zone}.example").parse().unwrap()
}

fn soa(serial: u32) -> Vec<u8> {
    [&b"\x02ns\0\x04host\0"[..], &serial.to_be_bytes(), &[0; 16]].concat()
}

fn text(zone: usize) -> String {
    let even = (0..NAMES).filter(|name| name % 2 == 0);
    let names = even.map(|number| format!("{} 60 TXT {}\n", name(zone, number), "a".repeat(40)));
    "@ 60 SOA ns. host. 1 0 0 0 0\n@ 60 NS ns\nns 60 A 192.0.2.1\n".to_owned() + &names.collect::<String>()
}

fn model() -> Model {
    let value = [&[40][..], &[b'a'; 40]].concat();
    let names = (0..NAMES).filter(|name| name % 2 == 0).map(|name| (name, value.clone()));
    Model { serial: 1, names: names.collect() }
}

/// Rules by which something is due every few commits.
fn rules() -> Rules {
    Rules {
        merge_from: MergeFrom { octets_min: 3_000, percent: MERGE_PERCENT },
        past_octets_min: 600,
        look: Duration::from_millis(1),
        rest: 0,
        pause: Duration::from_millis(20),
        in_memory_max: 1,
        piece_names_max: 2,
        image_rows_min: 12,
        octets_a_thread: 1,
        ..Rules::default()
    }
}

/// The server, as far as there is one without workers.
struct Bed {
    folder: tempfile::TempDir,
    controller: Arc<Controller>,
    models: Vec<Model>,
    /// Octets of what names have, at most.
    value_octets: usize,
    log_octets: u64,
}

/// So short a log that it is shortened again and again.
const SHORT_LOG_OCTETS: u64 = 24 << 20;

/// A start on what is in the folder.
fn start(folder: &Path, rules: Rules, log_octets: u64) -> Arc<Controller> {
    let until = Instant::now() + PATIENCE;
    let controller = loop {
        let mut settings = Settings::default();
        settings.server.pack_directory = folder.join("packs");
        settings.server.journal_octets = log_octets;
        // A merge of the one before may still hold the folder.
        match Controller::new(settings, Overrides::default()) {
            Ok(controller) => break Arc::new(controller),
            Err(problem) => assert!(Instant::now() < until, "{problem}"),
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(controller.dynamic.rules.set(Rules { takes_from_anybody: true, ..rules }).is_ok());
    controller.serve_stored(&Progress::default());
    crate::dynamic::start(&controller, false).unwrap();
    controller
}

impl Bed {
    fn new(zones: usize, rules: Rules) -> Bed {
        Bed::with_log(zones, rules, SHORT_LOG_OCTETS)
    }

    fn with_log(zones: usize, rules: Rules, log_octets: u64) -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let controller = start(folder.path(), rules, log_octets);
        for zone in 0..zones {
            let file = folder.path().join(format!("text{zone}"));
            std::fs::write(&file, text(zone)).unwrap();
            let change = crate::reload::add_zone(&controller, apex(zone), &file, None);
            assert_eq!(change.loaded, 1, "{:?}", change.errors);
        }
        Bed { folder, controller, models: vec![model(); zones], value_octets: 60, log_octets }
    }

    /// Ends, and starts again. Nothing is left but the folder.
    fn restart(&mut self, rules: Rules) {
        self.controller.dynamic.stop();
        let folder = self.folder.path().to_owned();
        // The old one goes first: its lock is that of the folder.
        let scratch = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.server.pack_directory = scratch.path().join("packs");
        self.controller = Arc::new(Controller::new(settings, Overrides::default()).unwrap());
        self.controller = start(&folder, rules, self.log_octets);
    }

    /// The next version of a zone: some names have something else, or nothing.
    fn change(&mut self, zone: usize, random: &mut Random) -> Change {
        let now = &mut self.models[zone];
        let (mut removed, mut added) = (Records::default(), Records::default());
        removed.push(&apex(zone), rtype::SOA, 60, &soa(now.serial));
        now.serial += 1;
        added.push(&apex(zone), rtype::SOA, 60, &soa(now.serial));
        for _ in 0..=random.index(4) {
            let number = random.index(NAMES);
            let value = vec![b'a' + random.index(26) as u8; 1 + random.index(self.value_octets)];
            let strings = value.chunks(255).map(|part| [&[part.len() as u8][..], part].concat());
            let value = strings.collect::<Vec<_>>().concat();
            let new = (random.index(3) != 0).then_some(value);
            let old = now.names.remove(&number);
            // What is named twice in a change would be another record to remove.
            let is_named =
                removed.iter().chain(added.iter()).any(|record| *record.owner == *name(zone, number));
            if is_named || old == new {
                now.names.extend(old.map(|old| (number, old)));
                continue;
            }
            old.iter().for_each(|old| removed.push(&name(zone, number), rtype::TXT, 60, old));
            if let Some(new) = new {
                added.push(&name(zone, number), rtype::TXT, 60, &new);
                now.names.insert(number, new);
            }
        }
        Change::new(removed, added).unwrap()
    }

    /// Has the changer take changes; once this returns they are acknowledged.
    fn update(&self, zone: usize, changes: Vec<Change>) {
        assert_eq!(self.try_update(zone, changes), Ok(()));
    }

    fn try_update(&self, zone: usize, changes: Vec<Change>) -> Result<(), NotTaken> {
        let (sender, receiver) = channel();
        let told = Told::new(move |result: Result<(), NotTaken>| {
            let _ = sender.send(result);
        });
        self.controller.dynamic.incoming(Incoming { zone: apex(zone), what: What::Changes(changes, told) });
        receiver.recv_timeout(PATIENCE).unwrap()
    }

    /// What is served of a zone, with the numbers of its pack and of its delta.
    fn served(&self, zone: usize) -> (Model, (u64, u64)) {
        self.controller.catalog.reader().with(|view| {
            let slot = view.slot_named(&apex(zone)).expect("the zone is there");
            let Some(View::Zone(own)) = view.view_of(slot) else { panic!("no data") };
            let mut served = Model { serial: own.row().serial, names: BTreeMap::new() };
            let owners: Vec<NameBuf> = (0..NAMES).map(|number| name(zone, number)).collect();
            let (mut crawl, mut labels) = (Crawl::default(), [0; 255]);
            while let Some(step) = crawl.next(&own).expect("a sound zone") {
                let octets = step.owner.write_labels(&mut labels).expect("a name");
                let owner = [&labels[..octets], own.apex().octets()].concat();
                let owner = Name::from_wire(&owner).expect("a name");
                let Some(number) = owners.iter().position(|name| **name == *owner) else { continue };
                let mut rdata = step.rrset.rdata(owner, own.apex()).expect("RDATA");
                assert!(served.names.insert(number, rdata.remove(0)).is_none() && rdata.is_empty());
            }
            (served, (own.pack_id(), own.numbers_id()))
        })
    }

    fn check(&self) {
        for (zone, model) in self.models.iter().enumerate() {
            assert_eq!(self.served(zone).0, *model, "zone {zone}");
        }
    }

    /// Packs in the folder.
    fn files(&self) -> usize {
        let all = std::fs::read_dir(self.folder.path().join("packs")).unwrap();
        all.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "zpack"))
            .count()
    }
}

/// Random changes of some zones, of which deltas are copied and merged meanwhile, and starts in between. Says how often a zone was seen in
/// another pack, and over another delta in the same one.
fn run(seed: u64, steps: usize) -> (usize, usize) {
    run_by(seed, steps, rules)
}

fn run_by(seed: u64, steps: usize, rules: fn() -> Rules) -> (usize, usize) {
    let mut random = Random::new(seed);
    let mut bed = Bed::new(ZONES, rules());
    let (mut merged, mut copied) = (0, 0);
    // A zone that never changed is nowhere but in its text, which no start here reads.
    for zone in 0..ZONES {
        let change = bed.change(zone, &mut random);
        bed.update(zone, vec![change]);
    }
    let mut last: Vec<(u64, u64)> = (0..ZONES).map(|zone| bed.served(zone).1).collect();
    for step in 0..steps {
        let zone = random.index(ZONES);
        let changes = (0..=random.index(3)).map(|_| bed.change(zone, &mut random)).collect();
        bed.update(zone, changes);
        assert_eq!(bed.served(zone).0, bed.models[zone], "step {step}");
        if random.index(4) == 0 {
            std::thread::sleep(Duration::from_millis(3));
        }
        if random.index(60) == 0 {
            bed.check();
            bed.restart(rules());
            bed.check();
            last = (0..ZONES).map(|zone| bed.served(zone).1).collect();
        }
        for (zone, last) in last.iter_mut().enumerate() {
            let now = bed.served(zone).1;
            merged += usize::from(now.0 != last.0);
            copied += usize::from(now.0 == last.0 && now.1 != last.1);
            *last = now;
        }
    }
    bed.check();
    bed.restart(rules());
    bed.check();
    // Each zone is in one, and one may be made at the time.
    assert!(bed.files() <= ZONES + 2, "{} packs", bed.files());
    (merged, copied)
}

#[test]
fn zones_are_as_the_model_says() {
    let (merged, copied) = run(7, 150);
    assert!(merged >= 4 && copied >= 2, "{merged} merges and {copied} copies were seen");
}

/// A zone that is too large for the log and whose pack is in memory yet: its first change waits until that is stored, and is there after a start.
#[test]
fn a_pack_is_stored_for_the_first_change() {
    let mut bed = Bed::new(0, rules());
    let file = bed.folder.path().join("large");
    let more: String = (0..400).map(|number| format!("x{number} 60 TXT {}\n", "f".repeat(250))).collect();
    std::fs::write(&file, text(0) + &more).unwrap();
    assert_eq!(crate::reload::add_zone(&bed.controller, apex(0), &file, None).loaded, 1);
    bed.models.push(model());
    let stored = |bed: &Bed| bed.controller.is_stored(bed.served(0).1.0);
    assert!(!stored(&bed), "it waits for others to be stored with");
    let mut random = Random::new(3);
    for _ in 0..3 {
        let change = bed.change(0, &mut random);
        bed.update(0, vec![change]);
        bed.check();
    }
    assert!(stored(&bed));
    bed.restart(rules());
    bed.check();
}

/// Zones of which nothing is kept: their deltas are copied and merged as those of others, in memory.
#[test]
fn without_a_folder() {
    let mut settings = Settings::default();
    settings.server.pack_directory = "".into();
    let controller = Arc::new(Controller::new(settings, Overrides::default()).unwrap());
    assert!(controller.dynamic.rules.set(Rules { takes_from_anybody: true, ..rules() }).is_ok());
    controller.serve_stored(&Progress::default());
    crate::dynamic::start(&controller, false).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("text0");
    std::fs::write(&file, text(0)).unwrap();
    assert_eq!(crate::reload::add_zone(&controller, apex(0), &file, None).loaded, 1);
    let mut bed =
        Bed { folder, controller, models: vec![model()], value_octets: 60, log_octets: SHORT_LOG_OCTETS };
    let (mut random, mut last) = (Random::new(5), bed.served(0).1);
    let (mut merged, mut copied) = (0, 0);
    let until = Instant::now() + PATIENCE;
    while merged < 3 || copied < 3 {
        assert!(Instant::now() < until, "{merged} merged, {copied} copied");
        let change = bed.change(0, &mut random);
        bed.update(0, vec![change]);
        bed.check();
        let now = bed.served(0).1;
        merged += usize::from(now.0 != last.0);
        copied += usize::from(now.0 == last.0 && now.1 != last.1);
        last = now;
        std::thread::sleep(Duration::from_millis(2));
    }
    bed.controller.dynamic.stop();
}

/// What a primary sends at once is taken in shares, in order, and told of at its end.
#[test]
fn many_differences_at_once() {
    let mut bed = Bed::new(2, Rules::default());
    let mut random = Random::new(9);
    let many: Vec<Change> = (0..3_000).map(|_| bed.change(0, &mut random)).collect();
    let (sender, receiver) = channel();
    let told = Told::new(move |result: Result<(), NotTaken>| {
        let _ = sender.send(result);
    });
    bed.controller.dynamic.incoming(Incoming { zone: apex(0), what: What::Changes(many, told) });
    let other = bed.change(1, &mut random);
    bed.update(1, vec![other]);
    assert!(receiver.try_recv().is_err(), "another zone is not held up by all of them");
    assert_eq!(receiver.recv_timeout(PATIENCE).unwrap(), Ok(()));
    bed.check();
}

/// What a text had outlives the pack that had it: what is edited then goes on top of what updates have done.
#[test]
fn edits_after_merges() {
    let mut random = Random::new(3);
    let mut bed = Bed::new(1, rules());
    let (first, until) = (bed.served(0).1.0, Instant::now() + PATIENCE);
    while bed.served(0).1.0 == first {
        assert!(Instant::now() < until, "no merge");
        let change = bed.change(0, &mut random);
        bed.update(0, vec![change]);
        std::thread::sleep(Duration::from_millis(3));
    }
    // One name goes, where it is as the text had it, and one comes.
    let gone = format!("{} 60", name(0, 4));
    let edited: String =
        text(0).lines().filter(|line| !line.starts_with(&gone)).map(|line| format!("{line}\n")).collect();
    std::fs::write(bed.folder.path().join("text0"), edited + "edited 60 TXT new\n").unwrap();
    let change = crate::reload::reload_zones(&bed.controller, &[apex(0)], false);
    assert_eq!((change.loaded, &change.errors), (1, &Vec::new()));
    let model = &mut bed.models[0];
    model.serial += 1;
    if model.names.get(&4) == super::tests::model().names.get(&4) {
        model.names.remove(&4);
    }
    let is_there = |bed: &Bed| {
        bed.controller.catalog.reader().with(|view| {
            let Some(View::Zone(zone)) = view.view_of(view.slot_named(&apex(0)).unwrap()) else {
                return false;
            };
            zone.find(b"edited\0").is_some()
        })
    };
    bed.check();
    assert!(is_there(&bed));
    bed.restart(rules());
    bed.check();
    assert!(is_there(&bed));
}

/// What the log says a zone begins from anew counts once all of it is said: a crash may have come in between.
#[test]
fn what_is_not_said_to_the_end_is_not_said() {
    let mut random = Random::new(3);
    let mut bed = Bed::new(1, Rules::default());
    let pack = bed.controller.catalog.reader().with(|view| {
        let slot = view.slot_named(&apex(0)).unwrap();
        bed.controller.pack_of_slot(view, slot).unwrap().0
    });
    assert!(bed.controller.store_base(&pack));
    let changes = (0..5).map(|_| bed.change(0, &mut random)).collect();
    bed.update(0, changes);
    bed.controller.dynamic.stop();
    let (recovery, _) = crate::dynamic::recover::read(&bed.controller).unwrap().unwrap();
    let mut log = recovery.begin();
    log.decide().unwrap();
    while log.prepare().unwrap() {}
    // The pack, and none of what has changed since.
    let base = crate::dynamic::base::of_pack(&pack, 0, 1).unwrap();
    log.append(&[&base], journal::log::Urgency::Ordinary).unwrap();
    drop(log);
    for _ in 0..2 {
        bed.restart(Rules::default());
        bed.check();
        let changes = (0..2).map(|_| bed.change(0, &mut random)).collect();
        bed.update(0, changes);
        bed.check();
    }
}

/// A zone of which too much has changed to be said in the log is merged, and the log is shortened after it: more is written than it may ever have.
#[test]
fn a_checkpoint_waits_for_a_merge() {
    let mut random = Random::new(4);
    let rules = || Rules { condensed_octets_max: 2_000, ..Rules::default() };
    let mut bed = Bed::new(2, rules());
    bed.value_octets = 30_000;
    let (first, mut written) = (bed.served(0).1.0, 0);
    let until = Instant::now() + 3 * PATIENCE;
    while written < 60 << 20 {
        let change = bed.change(0, &mut random);
        written += change.removed().octets().len() + change.added().octets().len();
        // So small a log may be full before the zone is merged: then it is refused, and taken after that.
        while let Err(why) = bed.try_update(0, vec![change.clone()]) {
            assert!(why == NotTaken::NotNow && Instant::now() < until, "{why:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    bed.check();
    assert_ne!(bed.served(0).1.0, first, "it is in another pack");
    bed.restart(rules());
    bed.check();
}

/// What the operator sets is what merges go by.
#[test]
fn a_zone_is_merged_as_the_settings_say() {
    let scratch = tempfile::tempdir().unwrap();
    for percent in [None, Some(1), Some(100)] {
        let mut settings = Settings::default();
        settings.server.pack_directory = scratch.path().join("packs");
        percent.iter().for_each(|percent| settings.server.merge_percent = *percent);
        let controller = Arc::new(Controller::new(settings, Overrides::default()).unwrap());
        assert_eq!(Rules::of(&controller).merge_from.percent, percent.map_or(MERGE_PERCENT, u64::from));
    }
}

mod long {
    use super::*;

    /// The same, with many seeds.
    #[test]
    #[ignore = "long: make test-long"]
    fn zones_are_as_the_model_says() {
        for seed in 0..40 {
            run(seed, 1_000);
        }
    }
}
