//! Zones that come to rest after changes and change again: what is served is what a naive model says, the changer has none of them, and their histories go on.

use std::sync::atomic::Ordering;

use transfer::outgoing::History;

use super::*;
use crate::packs::StoredPack;

/// Rules by which every zone is to rest as soon as nothing comes.
fn restful() -> Rules {
    Rules { zones_max: 0, ..rules() }
}

impl Bed {
    pub(super) fn is_at_rest(&self, zone: usize) -> bool {
        self.controller.catalog.reader().with(|view| {
            let shown = view.view_of(view.slot_named(&apex(zone)).unwrap());
            matches!(shown, Some(View::Zone(zone)) if !zone.is_changed())
        })
    }

    fn await_rest(&self) {
        let until = Instant::now() + PATIENCE;
        let changed = || self.controller.dynamic.changed.load(Ordering::Relaxed);
        while changed() > 0 || !(0..self.models.len()).all(|zone| self.is_at_rest(zone)) {
            let shown = |zone| (self.is_at_rest(zone), self.served(zone).0.serial, self.served(zone).1);
            let all = || (0..self.models.len()).map(shown).collect::<Vec<_>>();
            assert!(Instant::now() < until, "{} zones are not at rest: {:?}", changed(), all());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// What the history leads through from the first version of a zone to the one that is served.
    fn versions(&self, zone: usize) -> Option<usize> {
        let mut changes = self.controller.historian.changes(&apex(zone), 1, self.models[zone].serial)?;
        let mut count = 0;
        while changes.next().ok()?.is_some() {
            count += 1;
        }
        Some(count)
    }

    fn change_some(&mut self, zones: std::ops::Range<usize>, random: &mut Random) {
        for zone in zones {
            let change = self.change(zone, random);
            self.update(zone, vec![change]);
        }
    }
}

fn rested(controller: &Controller) -> u64 {
    controller.dynamic.rested.load(Ordering::Relaxed)
}

/// Some of them again and again, so that packs become mostly dead and what rests in them is moved on; some ends between the log and the next start.
#[test]
fn zones_rest_and_change_again() {
    let mut random = Random::new(11);
    // What a checkpoint frees before the historian has written it is no version any more, if the server ends then.
    let mut bed = Bed::with_log(ZONES, restful(), 8 * SHORT_LOG_OCTETS);
    for round in 0..8 {
        bed.change_some(if round == 0 { 0..ZONES } else { 0..1 + random.index(ZONES) }, &mut random);
        bed.check();
        if round % 3 == 2 {
            bed.restart(restful());
            bed.check();
        }
        bed.await_rest();
        bed.check();
        // Before the server ended all may have been at rest.
        assert!(rested(&bed.controller) > 0 || round % 3 == 2);
        if round % 2 == 1 {
            bed.restart(restful());
            assert!((0..ZONES).all(|zone| bed.is_at_rest(zone)), "the log has none of them");
            bed.check();
        }
        for zone in 0..ZONES {
            assert_eq!(bed.versions(zone), Some(bed.models[zone].serial as usize - 1), "zone {zone}");
        }
    }
}

#[test]
fn zones_are_as_the_model_says() {
    let (merged, _) = run_by(13, 150, restful);
    assert!(merged >= 4, "{merged} merges were seen");
}

/// The quietest are stored, and only as many as are too many.
#[test]
fn as_many_stay_as_may() {
    let mut random = Random::new(17);
    let mut bed = Bed::new(8, Rules { zones_max: 6, merge_from: Rules::default().merge_from, ..rules() });
    bed.change_some(0..6, &mut random);
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(rested(&bed.controller), 0);
    bed.change_some(6..8, &mut random);
    let until = Instant::now() + PATIENCE;
    while !(0..4).all(|zone| bed.is_at_rest(zone)) {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(50));
    assert!((6..8).all(|zone| !bed.is_at_rest(zone)), "those that changed last stay");
    let left = bed.controller.dynamic.changed.load(Ordering::Relaxed);
    assert!(left == 3 || left == 4, "{left}");
    bed.check();
}

/// What has changed in many small deltas counts too, however few zones these are.
#[test]
fn small_deltas_are_bounded_together() {
    let mut random = Random::new(19);
    let large = Rules::default().merge_from;
    let bound = Rules { small_octets_max: 20_000, merge_from: large, ..rules() };
    let mut bed = Bed::new(ZONES, bound);
    bed.value_octets = 400;
    let until = Instant::now() + PATIENCE;
    while rested(&bed.controller) == 0 {
        assert!(Instant::now() < until);
        bed.change_some(0..ZONES, &mut random);
    }
    bed.check();
}

/// A pack that has a zone as it was, and is stored late, is newer than the one that the zone would rest in: the next start would take the zone from there.
#[test]
fn no_zone_rests_below_an_older_version() {
    let mut random = Random::new(23);
    let mut bed = Bed::new(1, restful());
    let pack = bed.controller.catalog.reader().with(|view| {
        let slot = view.slot_named(&apex(0)).unwrap();
        bed.controller.pack_of_slot(view, slot).unwrap().0
    });
    // Somebody needs it still.
    bed.controller.keep(&Arc::new(StoredPack { pack: Arc::clone(&pack), file: None }), false);
    let first = bed.served(0).1.0;
    bed.change_some(0..1, &mut random);
    let until = Instant::now() + PATIENCE;
    while bed.served(0).1.0 == first {
        assert!(Instant::now() < until, "no merge");
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(rested(&bed.controller), 0, "it may be stored at any time");
    assert!(bed.controller.store_base(&pack), "as it is now");
    bed.await_rest();
    bed.check();
    bed.restart(restful());
    bed.check();
}

/// The files of packs, oldest first.
fn packs(bed: &Bed) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(bed.folder.path().join("packs")).unwrap().flatten();
    let mut packs: Vec<_> = files.map(|file| file.path()).collect();
    packs.retain(|path| path.extension().is_some_and(|extension| extension == "zpack"));
    packs.sort();
    packs
}

fn add(bed: &Bed) -> usize {
    crate::reload::add_zone(&bed.controller, apex(0), &bed.folder.path().join("text0"), None).loaded
}

fn accept(bed: &Bed) {
    assert!(bed.controller.fault_of(&apex(0)).is_some());
    bed.controller.accept_loss(&apex(0)).unwrap();
    assert_eq!(bed.controller.fault_of(&apex(0)), None);
}

/// The pack that a zone was at rest in is gone, and its text is all that is left: that it was changed is known, and it takes no updates until that is accepted.
#[test]
fn what_is_read_from_text_in_the_place_of_changes_is_a_fault() {
    let mut random = Random::new(37);
    let mut bed = Bed::new(1, restful());
    bed.change_some(0..1, &mut random);
    bed.await_rest();
    packs(&bed).iter().for_each(|path| std::fs::remove_file(path).unwrap());
    bed.restart(restful());
    assert_eq!(add(&bed), 1);
    bed.models[0] = model();
    bed.check();
    for _ in 0..2 {
        assert!(bed.controller.fault_of(&apex(0)).is_some());
        let change = bed.change(0, &mut random);
        assert_eq!(bed.try_update(0, vec![change]), Err(NotTaken::NotNow));
        bed.models[0] = model();
        // The text is in a pack now.
        bed.controller.is_untidy.store(true, Ordering::SeqCst);
        drop(bed.controller.store_and_rest());
        bed.restart(restful());
    }
    accept(&bed);
    bed.change_some(0..1, &mut random);
    bed.await_rest();
    bed.restart(restful());
    assert_eq!(bed.controller.fault_of(&apex(0)), None);
    bed.check();
}

/// The same where an older pack has the zone with some of its changes.
#[test]
fn an_older_pack_in_the_place_of_the_newest_is_a_fault() {
    let mut random = Random::new(41);
    let mut bed = Bed::new(1, restful());
    bed.change_some(0..1, &mut random);
    bed.await_rest();
    let (older, before) = (packs(&bed).pop().unwrap(), bed.models[0].clone());
    let octets = std::fs::read(&older).unwrap();
    bed.change_some(0..1, &mut random);
    bed.await_rest();
    bed.controller.historian.flush().unwrap();
    let newest = packs(&bed).pop().unwrap();
    assert_ne!(newest, older);
    std::fs::File::options().write(true).open(&newest).unwrap().set_len(100).unwrap();
    std::fs::write(&older, octets).unwrap();
    bed.restart(restful());
    assert_eq!(bed.served(0).0, before);
    assert!(bed.controller.fault_of(&apex(0)).is_some(), "the log says with which serial it was at rest");
    bed.controller.set_fault(&apex(0), None);
    let by_history = bed.controller.find_missing(&Default::default());
    assert_eq!(by_history.len(), 1, "where the log has forgotten that, the history knows");
    accept(&bed);
    bed.models[0] = before;
    bed.change_some(0..1, &mut random);
    bed.await_rest();
    bed.restart(restful());
    assert_eq!(bed.controller.fault_of(&apex(0)), None);
    bed.check();
}

/// A zone at rest that is removed leaves nothing behind by which the next of its name would be a fault.
#[test]
fn a_zone_that_was_removed_at_rest_is_no_fault() {
    let mut random = Random::new(43);
    let mut bed = Bed::new(1, restful());
    bed.change_some(0..1, &mut random);
    bed.await_rest();
    assert_eq!(bed.controller.texts.beside().len(), 1);
    bed.controller.remove(&mut bed.controller.change(), &apex(0));
    assert_eq!(bed.controller.texts.beside().len(), 0);
    bed.restart(restful());
    assert_eq!(add(&bed), 1);
    assert_eq!(bed.controller.fault_of(&apex(0)), None);
    bed.models[0] = model();
    bed.change_some(0..1, &mut random);
    bed.check();
}

/// As long as a full log has not said that a zone is at rest nothing is to come behind that: it would have nothing to begin from.
#[test]
fn a_zone_about_to_rest_takes_no_changes() {
    let bed = Bed::new(1, rules());
    let mut changer = crate::dynamic::changer::Changer::new(&bed.controller, None);
    assert!(changer.enter(&apex(0)).is_ok());
    changer.zones.get_mut(&apex(0)).unwrap().is_resting = true;
    assert!(changer.enter(&apex(0)).is_err());
    changer.rests_no_more(&apex(0));
    assert!(changer.enter(&apex(0)).is_ok());
}

/// Who makes packs of zones as they are finds none at rest elsewhere when he is done.
#[test]
fn nobody_rests_while_packs_are_made() {
    let mut random = Random::new(29);
    let mut bed = Bed::new(1, restful());
    let controller = Arc::clone(&bed.controller);
    {
        let _making = controller.make_packs();
        bed.change_some(0..1, &mut random);
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!(rested(&controller), 0);
    }
    bed.await_rest();
    bed.check();
}

/// What was looked at for a change that did not come about is forgotten.
#[test]
fn a_change_that_does_not_come_about_keeps_nothing() {
    let mut random = Random::new(31);
    let mut bed = Bed::new(1, rules());
    let mut change = bed.change(0, &mut random);
    bed.models[0] = model();
    // Of a later version.
    for _ in 0..2 {
        change = bed.change(0, &mut random);
    }
    bed.models[0] = model();
    assert_eq!(bed.try_update(0, vec![change]), Err(NotTaken::DoesNotFit));
    let changed = || bed.controller.dynamic.changed.load(Ordering::Relaxed);
    let until = Instant::now() + PATIENCE;
    while changed() == 0 {
        assert!(Instant::now() < until);
        std::thread::yield_now();
    }
    while changed() > 0 {
        assert!(Instant::now() < until, "it is known still");
        std::thread::sleep(Duration::from_millis(10));
    }
}

mod long {
    use super::*;

    /// The same, with many seeds.
    #[test]
    #[ignore = "long: make test-long"]
    fn zones_are_as_the_model_says() {
        for seed in 0..40 {
            run_by(seed, 1_000, restful);
        }
    }
}
