//! Zones that are changed together, by a changer on a simulated disk: all of them or none, whatever is wrong with one, and whenever the power fails.

mod power;

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use api::frame::{Ask, Asked, SetsBuf, What, Who, ZonesBuf};
use api::tag::Tags;
use journal::disk::simulated::Faults;
use wire::SortKey;
use wire::iana::rtype;
use zone::catalog::View;

use super::*;
use crate::api::{Keys, new_api_key};
use crate::controller::crash::disk::{Mirrored, folder};
use crate::controller::{Controller, Overrides};
use crate::packs::PackFolder;
use crate::progress::Progress;
use crate::serve::all_wanted;
use crate::settings::Settings;

const ZONES: usize = 4;
/// One of them whose contents are too many for the log: it begins from a pack, which is stored first.
const LARGE: usize = ZONES - 1;
/// As short a log as may be, so that it is shortened soon.
const LOG_OCTETS: usize = 24 << 20;
/// How long anything here may take.
const PATIENCE: Duration = Duration::from_secs(20);

fn apex(zone: usize) -> NameBuf {
    format!("z{zone}.test").parse().unwrap()
}

/// What an ask was told.
type Heard = Result<Vec<Option<Outcome>>, NotAltered>;

/// Settings, texts and folders that outlive a server.
struct Bed {
    scratch: tempfile::TempDir,
    section: String,
    secret: String,
}

impl Bed {
    fn new() -> Bed {
        let (section, secret) = new_api_key("acme").unwrap();
        let section = section
            .replace("zones = []", "zones = [\"*.test.\"]")
            .replace("rules = []", "rules = [\"grant zonesub ANY\"]")
            .replace("\"read\"]", "\"read\", \"change\"]");
        let bed = Bed { scratch: tempfile::tempdir().unwrap(), section, secret };
        for zone in 0..ZONES {
            let more = (0..2000).map(|number| format!("n{number} 60 TXT {}\n", "a".repeat(40)));
            let more: String = more.take(if zone == LARGE { 2000 } else { 0 }).collect();
            let text = format!(
                "@ 60 SOA ns host 1 2 3 4 5\n@ 60 NS ns\nns 60 A 192.0.2.1\nwww 60 A 10.0.0.0\n{more}"
            );
            std::fs::write(bed.path().join(format!("z{zone}")), text).unwrap();
        }
        bed
    }

    fn path(&self) -> &Path {
        self.scratch.path()
    }

    fn settings(&self, packs: &Path) -> Settings {
        let zone = |zone: usize| {
            format!("[[zone]]\nname = \"z{zone}.test.\"\nfile = \"z{zone}\"\nupdate-policy = \"p\"\n")
        };
        let text = format!(
            "[server]\npack-directory = \"{}\"\njournal-octets = {LOG_OCTETS}\n[[update-policy]]\nname = \"p\"\n\
             rules = [\"deny api:acme label kept\", \"grant api:acme zonesub ANY\"]\n{}{}",
            packs.display(),
            (0..ZONES).map(zone).collect::<String>(),
            self.section
        );
        Settings::parse(&self.path().join("zonda.toml"), &text).unwrap()
    }

    /// A folder for packs, and a disk that has what is in it.
    fn disk(&self, number: usize, faults: Faults) -> Mirrored {
        Mirrored::of(&folder(self.path(), number), number as u64, faults).unwrap()
    }

    /// A start on what a disk has. The error: it cannot be, as the power fails meanwhile.
    fn start_on(&self, disk: &Mirrored, number: usize) -> Result<Server, String> {
        let packs = folder(self.path(), number);
        let settings = self.settings(&packs);
        let key = Arc::clone(Keys::of(&settings, 0).find(self.secret.as_bytes(), 0).unwrap());
        let folder = PackFolder::open_on(Arc::new(disk.clone()), &packs, None)?;
        let controller = Controller::with_folder(settings, Overrides::default(), Some(folder), None)?;
        let (controller, progress) = (Arc::new(controller), Progress::default());
        {
            let mut changing = controller.change();
            let wanted = all_wanted(&changing.settings, &controller.overrides, &progress).unwrap();
            let (candidates, _) = controller.announce(&mut changing, wanted, &progress);
            controller.load_first(&mut changing, candidates, false, &progress);
        }
        crate::dynamic::start(&controller, true)?;
        Ok(Server { controller, key })
    }

    fn start(&self) -> (Server, Mirrored) {
        let disk = self.disk(0, Faults::default());
        (self.start_on(&disk, 0).unwrap(), disk)
    }
}

/// A server without workers.
struct Server {
    controller: Arc<Controller>,
    key: Arc<Key>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.controller.dynamic.stop();
    }
}

/// RRsets of one zone that are to be so.
struct Wish {
    zone: NameBuf,
    condition: Condition,
    sets: SetsBuf,
}

/// Has a name below a zone have an address that says a number.
fn wish_of(zone: usize, label: &str, rtype: u16, number: u16) -> Wish {
    let owner: NameBuf = format!("{label}.z{zone}.test").parse().unwrap();
    let [high, low] = number.to_be_bytes();
    let mut sets = SetsBuf::default();
    sets.begin(&owner, rtype, What::Replace, 60);
    let rdata = if rtype == rtype::CNAME { vec![1, b'x', 0] } else { vec![10, 0, high, low] };
    assert!(sets.record(&rdata));
    sets.end();
    Wish { zone: apex(zone), condition: Condition::None, sets }
}

fn wish(zone: usize, number: u16) -> Wish {
    wish_of(zone, "www", rtype::A, number)
}

impl Server {
    fn ask(&self, wishes: &[Wish], is_dry: bool) -> Receiver<Heard> {
        self.ask_as(wishes, is_dry, None)
    }

    /// The same under a key of repeats.
    fn ask_as(&self, wishes: &[Wish], is_dry: bool, repeat: Option<&str>) -> Receiver<Heard> {
        let (mut zones, mut octets) = (ZonesBuf::default(), Vec::new());
        wishes.iter().for_each(|wish| zones.push(&wish.zone, wish.condition, &wish.sets));
        let asked = Asked::Change { repeat: None, is_dry, zones: zones.zones() };
        Ask { who: Who::Key(b"k"), address: [127, 0, 0, 1].into(), asked }.write(&mut octets);
        let (sender, told) = channel();
        let done = AlterDone::new(move |result| drop(sender.send(result)));
        let repeat = repeat.map(|name| Repeat::of(&self.key, name, zones.zones().octets()));
        let (zones, key, since) =
            (wishes.iter().map(|wish| wish.zone.clone()).collect(), Arc::clone(&self.key), Instant::now());
        let keys = self.controller.api.keys_number();
        self.controller.dynamic.alter(Alter {
            zones,
            ask: octets.into(),
            repeat,
            key,
            keys,
            since,
            is_single: false,
            done,
        });
        told
    }

    fn change(&self, wishes: &[Wish]) -> Heard {
        self.ask(wishes, false).recv_timeout(PATIENCE).unwrap()
    }

    /// Serials before and after of a change that is done.
    fn serials(&self, wishes: &[Wish]) -> Vec<(u32, u32)> {
        serials_of(self.change(wishes))
    }

    /// The same of one under a key of repeats.
    fn serials_as(&self, wishes: &[Wish], repeat: &str) -> Vec<(u32, u32)> {
        serials_of(self.ask_as(wishes, false, Some(repeat)).recv_timeout(PATIENCE).unwrap())
    }

    /// The serial of a zone and the number that the address of `www` says, as served.
    fn served(&self, zone: usize) -> (u32, u16) {
        let served = self.controller.catalog.reader().with(|view| {
            let View::Zone(zone) = view.view_of(view.slot_named(&apex(zone))?)? else { return None };
            let owner: NameBuf = format!("www.{}", zone.apex()).parse().ok()?;
            let key = SortKey::of(&owner);
            let node = zone.find(key.octets().strip_prefix(zone.apex_key())?)?;
            let rdata = node.rrset(rtype::A)?.rdata(&owner, zone.apex())?;
            let [_, _, high, low] = rdata.first()?[..] else { return None };
            Some((zone.row().serial, u16::from_be_bytes([high, low])))
        });
        served.unwrap()
    }

    fn all_served(&self) -> Vec<(u32, u16)> {
        (0..ZONES).map(|zone| self.served(zone)).collect()
    }

    fn tag(&self, zone: usize) -> Condition {
        let mut tags = Tags::default();
        assert!(tags.push(self.controller.api.tag_of(&self.controller, &apex(zone)).unwrap()));
        Condition::OneOf(tags)
    }
}

fn serials_of(heard: Heard) -> Vec<(u32, u32)> {
    heard.unwrap().into_iter().flatten().map(|outcome| (outcome.before, outcome.after)).collect()
}

/// What is said of no change: status, zone, RRset and words.
fn said(heard: Heard) -> (u16, usize, Option<usize>, String) {
    match heard {
        Err(NotAltered::Said { status, words, zone, set }) => (status, zone, set, words),
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_of_them_are_changed() {
    let bed = Bed::new();
    let (server, _disk) = bed.start();
    // In the order of the ask; the large one begins from a pack that is stored meanwhile.
    let serials = server.serials(&[wish(2, 7), wish(LARGE, 7), wish(0, 7)]);
    assert_eq!(serials, [(1, 2), (1, 2), (1, 2)]);
    assert_eq!(server.all_served(), [(2, 7), (1, 0), (2, 7), (2, 7)]);
    // Where nothing changes in one, it has no version; its part goes with the others all the same.
    assert_eq!(server.serials(&[wish(0, 7), wish(1, 8)]), [(2, 2), (1, 2)]);
    assert_eq!(server.serials(&[wish(0, 7), wish(1, 8)]), [(2, 2), (2, 2)]);
    // Who had a condition is told of the version: it is the one that is served.
    let is_so = Wish { condition: server.tag(0), ..wish(0, 9) };
    let only_looked_at = Wish { condition: server.tag(1), sets: SetsBuf::default(), ..wish(1, 0) };
    let outcomes = server.change(&[is_so, only_looked_at, wish(2, 9)]).unwrap();
    let tags: Vec<bool> = (outcomes.iter().enumerate())
        .map(|(zone, outcome)| outcome.as_ref().unwrap().tag.is_some_and(|tag| server.tag(zone).holds(tag)))
        .collect();
    assert_eq!(tags, [true, true, false]);
    assert_eq!(server.all_served(), [(3, 9), (2, 8), (3, 9), (2, 7)]);
    // A dry run says what would be, of each, and does nothing.
    let dry = server.ask(&[wish(0, 10), wish(1, 8)], true).recv_timeout(PATIENCE).unwrap().unwrap();
    let dry: Vec<_> = dry
        .into_iter()
        .flatten()
        .map(|outcome| (outcome.after, outcome.would.is_some(), outcome.tag.is_some()))
        .collect();
    assert_eq!(dry, [(4, true, true), (2, false, true)]);
    assert_eq!(server.all_served(), [(3, 9), (2, 8), (3, 9), (2, 7)]);
}

/// Whichever is wrong, and whatever with it: it is said which, and nothing of the others is done, or left for their next change.
#[test]
fn one_that_cannot_be_changed_has_none_changed() {
    let bed = Bed::new();
    let (server, _disk) = bed.start();
    let stale = server.tag(2);
    assert_eq!(server.serials(&[wish(2, 1)]), [(1, 2)]);
    let frozen = |is_frozen| {
        server.controller.texts.change(&apex(2), |text| text.is_frozen = is_frozen).unwrap();
    };
    let before = server.all_served();
    let mut number = 100;
    let mut refused = |wrong: Wish| {
        number += 1;
        let (status, zone, set, words) =
            said(server.change(&[wish(0, number), wish(1, number), wrong, wish(LARGE, number)]));
        assert_eq!((zone, server.all_served()), (2, before.clone()), "{words}");
        (status, set)
    };
    assert_eq!(refused(wish_of(2, "www", rtype::CNAME, 0)), (422, Some(0)));
    assert_eq!(refused(wish_of(2, "kept", rtype::A, 0)), (403, Some(0)));
    assert_eq!(refused(Wish { condition: stale, ..wish(2, 5) }), (412, None));
    assert_eq!(refused(Wish { zone: "none.test".parse().unwrap(), ..wish(2, 5) }), (404, None));
    frozen(true);
    assert_eq!(refused(wish(2, 5)), (409, None));
    frozen(false);
    assert_eq!(server.serials(&[wish(0, 1), wish(1, 1), wish(2, 1)]), [(1, 2), (1, 2), (2, 2)]);
    assert_eq!(server.all_served(), [(2, 1), (2, 1), (2, 1), (1, 0)]);
}

/// What was put into deltas before one of them did not take its change is taken out of them again.
#[test]
fn what_was_put_in_is_taken_back() {
    let bed = Bed::new();
    let disk = bed.disk(0, Faults::default());
    let server = bed.start_on(&disk, 0).unwrap();
    // Another changer, which has not begun a log: on this thread.
    let mut changer = Changer::new(&server.controller, None);
    let newest = |changer: &Changer| -> Vec<u32> {
        [0, 1].map(|zone| changer.zones[&apex(zone)].newest().unwrap().row().serial).to_vec()
    };
    let mut parts = Vec::new();
    for zone in [0, 1] {
        changer.enter(&apex(zone)).unwrap();
        let worked = wish(zone, 5);
        let sets: Vec<_> = worked.sets.sets().iter().map(crate::api::words::altered).collect();
        let mut draft = change::Draft::new(changer.zones[&apex(zone)].newest().unwrap()).unwrap();
        let style = (change::SerialStyle::Increment, 0);
        draft.alter(&sets, &change::Limits::default(), style).unwrap().unwrap();
        let change = draft.into_change(style.0, 0).unwrap();
        let record = crate::dynamic::group::entry(&change, 0).unwrap();
        let commit = Some(changer.put_in(&apex(zone), &change, record).unwrap());
        let outcome = Outcome { before: 1, after: 2, tag: None, would: None };
        parts.push(together::Part { zone: apex(zone), condition: Condition::None, outcome, commit });
    }
    assert_eq!(newest(&changer), [2, 2]);
    changer.take_back_parts(parts);
    assert!(newest(&changer) == [1, 1] && !changer.zones[&apex(0)].is_waiting());
}

/// One whose pack is being stored has all of them wait, and what comes for any of them later; not for long.
#[test]
fn a_zone_that_waits_has_all_wait() {
    let bed = Bed::new();
    // What is loaded is in memory alone: it could not be stored at the start.
    let disk = bed.disk(0, Faults { sync: 1.0, ..Faults::default() });
    let server = bed.start_on(&disk, 0).unwrap();
    disk.set_faults(Faults::default());
    // What could not be stored is tried again after a pause.
    std::thread::sleep(Duration::from_millis(300));
    let storing = disk.hold_packs();
    let together = server.ask(&[wish(0, 5), wish(LARGE, 5)], false);
    let behind = server.ask(&[wish(0, 6)], false);
    let beside = server.ask(&[wish(1, 7)], false);
    assert!(beside.recv_timeout(PATIENCE).unwrap().is_ok(), "others go on");
    assert_eq!(together.recv_timeout(TOGETHER_WAIT / 2).unwrap_err(), RecvTimeoutError::Timeout);
    assert_eq!(server.served(0), (1, 0));
    assert_eq!(together.recv_timeout(PATIENCE).unwrap().unwrap_err(), NotAltered::NotNow);
    // It holds nobody up any more.
    assert!(behind.recv_timeout(PATIENCE).unwrap().is_ok());
    assert_eq!([server.served(0), server.served(LARGE)], [(2, 6), (1, 0)]);
    // In time: in its order.
    let together = server.ask(&[wish(0, 7), wish(LARGE, 7)], false);
    let behind = server.ask(&[wish(0, 8)], false);
    drop(storing);
    assert!(
        together.recv_timeout(PATIENCE).unwrap().is_ok() && behind.recv_timeout(PATIENCE).unwrap().is_ok()
    );
    assert_eq!([server.served(0), server.served(LARGE)], [(4, 8), (2, 7)]);
}

#[test]
fn what_cannot_be_written_takes_all_of_them_back() {
    let bed = Bed::new();
    let (server, disk) = bed.start();
    assert_eq!(server.serials(&[wish(0, 1), wish(1, 1)]), [(1, 2), (1, 2)]);
    disk.set_faults(Faults { sync: 1.0, ..Faults::default() });
    let undecided = server.ask(&[wish(0, 2), wish(1, 2), wish(2, 2)], false);
    assert_eq!(undecided.recv_timeout(Duration::from_millis(300)).unwrap_err(), RecvTimeoutError::Timeout);
    // It is neither so nor not so, and nothing else is begun.
    assert_eq!(server.change(&[wish(0, 3), wish(1, 3)]).unwrap_err(), NotAltered::NotNow);
    disk.set_faults(Faults::default());
    assert_eq!(undecided.recv_timeout(PATIENCE).unwrap().unwrap_err(), NotAltered::NotNow);
    assert_eq!(server.all_served()[..3], [(2, 1), (2, 1), (1, 0)]);
    let until = Instant::now() + PATIENCE;
    while server.change(&[wish(0, 4), wish(1, 4), wish(2, 4)]).is_err() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.all_served()[..3], [(3, 4), (3, 4), (2, 4)]);
}

/// A log that has no room for one of them has none: they wait for it as one, and are taken back as one.
#[test]
fn a_full_log_has_none_changed() {
    let bed = Bed::new();
    let (server, disk) = bed.start();
    assert_eq!(server.serials(&[wish(0, 1), wish(1, 1)]), [(1, 2), (1, 2)]);
    disk.fill(true);
    // What has changed is soon more than the log can be shortened by: that needs a pack, for which there is no room either.
    let mut number = 1;
    let (refused, took) = loop {
        number += 1;
        assert!(number < 200, "it fills");
        let mut large = wish(0, number);
        for name in 0..8 {
            let owner: NameBuf = format!("large{name}.n{number}.z0.test").parse().unwrap();
            large.sets.begin(&owner, rtype::TXT, What::Replace, 60);
            assert!(large.sets.record(&[&[255][..], &[b'x'; 255]].concat().repeat(200)));
        }
        large.sets.end();
        let began = Instant::now();
        if let Err(why) = server.change(&[large, wish(1, number)]) {
            break (why, began.elapsed());
        }
    };
    assert_eq!(refused, NotAltered::NotNow);
    assert!(took > Duration::from_secs(1), "it waits for room, {took:?}");
    let last = (u32::from(number), number - 1);
    assert_eq!([server.served(0), server.served(1)], [last; 2]);
    disk.fill(false);
    let until = Instant::now() + PATIENCE;
    while server.change(&[wish(0, 0), wish(1, 0)]).is_err() {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!([server.served(0), server.served(1)], [(u32::from(number) + 1, 0); 2]);
}

/// What came of the first is told, and nothing is done twice: also where both come at once, and after a crash.
#[test]
fn the_same_request_again() {
    let bed = Bed::new();
    let (server, disk) = bed.start();
    let first = || [wish(0, 5), wish(1, 5)];
    let together = [server.ask_as(&first(), false, Some("a")), server.ask_as(&first(), false, Some("a"))];
    for heard in together {
        assert_eq!(serials_of(heard.recv_timeout(PATIENCE).unwrap()), [(1, 2), (1, 2)]);
    }
    assert_eq!(server.serials(&[wish(0, 6)]), [(2, 3)]);
    assert_eq!(server.serials_as(&first(), "a"), [(1, 2), (1, 2)]);
    assert_eq!([server.served(0), server.served(1)], [(3, 6), (2, 5)]);
    // Another one has another name; without one it is one of its own.
    let other = server.ask_as(&[wish(0, 7)], false, Some("a")).recv_timeout(PATIENCE).unwrap();
    assert_eq!(other.unwrap_err(), NotAltered::OtherRequest);
    assert_eq!(server.serials_as(&first(), "b"), [(3, 4), (2, 2)]);
    // One that came to nothing is not known.
    let wrong = [wish(0, 8), wish_of(1, "kept", rtype::A, 0)];
    let refused = server.ask_as(&wrong, false, Some("c")).recv_timeout(PATIENCE).unwrap();
    assert_eq!(said(refused).0, 403);
    assert_eq!(server.serials_as(&[wish(0, 8)], "c"), [(4, 5)]);
    drop(server);
    disk.put_what_is_left(&folder(bed.path(), 1)).unwrap();
    let server = bed.start_on(&bed.disk(1, Faults::default()), 1).unwrap();
    assert_eq!(server.serials_as(&first(), "a"), [(1, 2), (1, 2)]);
    assert_eq!(server.serials_as(&first(), "b"), [(3, 4), (2, 2)]);
    assert_eq!(server.serials_as(&[wish(0, 8)], "c"), [(4, 5)]);
    assert_eq!([server.served(0), server.served(1)], [(5, 8), (2, 5)]);
}

/// What is before a checkpoint goes, and is said again with it.
#[test]
fn a_request_outlives_a_checkpoint() {
    let bed = Bed::new();
    let (server, disk) = bed.start();
    assert_eq!(server.serials_as(&[wish(0, 5), wish(1, 5)], "a"), [(1, 2), (1, 2)]);
    let checkpoints = || server.controller.dynamic.checkpoints.load(std::sync::atomic::Ordering::Relaxed);
    let until = Instant::now() + PATIENCE;
    for number in (0..=255).cycle() {
        if checkpoints() > 0 {
            break;
        }
        assert!(Instant::now() < until, "no checkpoint");
        // Some 400 KB each, of other octets than before, in two zones by turns.
        let zone = if number % 2 == 0 { 2 } else { LARGE };
        let mut wish = Wish { zone: apex(zone), condition: Condition::None, sets: SetsBuf::default() };
        for name in 0..8 {
            let owner: NameBuf = format!("large{name}.z{zone}.test").parse().unwrap();
            wish.sets.begin(&owner, rtype::TXT, What::Replace, 60);
            assert!(wish.sets.record(&[&[255][..], &[number; 255]].concat().repeat(200)));
        }
        wish.sets.end();
        // Where the log has no room in this moment the next one finds it.
        if let Err(why) = server.change(&[wish]) {
            assert_eq!(why, NotAltered::NotNow);
        }
    }
    drop(server);
    disk.put_what_is_left(&folder(bed.path(), 1)).unwrap();
    let server = bed.start_on(&bed.disk(1, Faults::default()), 1).unwrap();
    assert_eq!(server.serials_as(&[wish(0, 5), wish(1, 5)], "a"), [(1, 2), (1, 2)]);
    assert_eq!([server.served(0), server.served(1)], [(2, 5), (2, 5)]);
}
