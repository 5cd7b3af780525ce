//! Zones made, set and removed in a server without sockets, and what a start makes of what was left of them.

use std::path::Path;
use std::sync::mpsc::channel;

use api::frame::{SetsBuf, What, Who, ZonesBuf};
use zone::catalog::View;

use super::*;
use crate::api::{Keys, new_api_key};
use crate::controller::Overrides;
use crate::dynamic::{Alter, AlterDone, Outcome};
use crate::progress::Progress;
use crate::serve::all_wanted;
use crate::settings::Settings;

const OF: Of = Of { session: 1, ask: 1 };

fn name(text: &str) -> NameBuf {
    text.parse().unwrap()
}

struct Bed {
    scratch: tempfile::TempDir,
    section: String,
    secret: String,
}

impl Bed {
    fn new() -> Bed {
        let (section, secret) = new_api_key("acme").unwrap();
        let section = section
            .replace("zones = []", "zones = [\"*.test.\", \"test.\"]")
            .replace("rules = []", "rules = [\"grant zonesub ANY\"]")
            .replace("\"read\"]", "\"read\", \"change\", \"make\", \"set\", \"drop\"]");
        Bed { scratch: tempfile::tempdir().unwrap(), section, secret }
    }

    fn path(&self) -> &Path {
        self.scratch.path()
    }

    fn settings(&self, more: &str) -> String {
        format!(
            "[server]\npack-directory = \"packs\"\n[api]\ntemplate = \"hosted\"\nzones = [\"*.test.\"]\ndefault-ns = [\"ns1.example.\"]\nzones-max = 3\n\
             [[template]]\nname = \"hosted\"\nupdate-policy = \"p\"\n[[update-policy]]\nname = \"p\"\nrules = [\"grant api:acme zonesub ANY\"]\n{}{more}",
            self.section
        )
    }

    /// A start on what is in the folder.
    fn start(&self, more: &str) -> Server {
        let server = self.controller(more);
        let (controller, progress) = (&server.controller, Progress::default());
        {
            let mut changing = controller.change();
            let wanted = all_wanted(&changing.settings, &controller.overrides, &progress).unwrap();
            let (candidates, _) = controller.announce(&mut changing, wanted, &progress);
            controller.load_first(&mut changing, candidates, false, &progress);
        }
        crate::dynamic::start(controller, true).unwrap();
        server
    }

    /// What a server that is killed now leaves.
    fn as_it_lies(&self) -> Bed {
        let (section, secret) = (self.section.clone(), self.secret.clone());
        let bed = Bed { scratch: tempfile::tempdir().unwrap(), section, secret };
        copy(&self.path().join("packs"), &bed.path().join("packs"));
        bed
    }

    /// One that has looked at nothing yet.
    fn controller(&self, more: &str) -> Server {
        let text = self.settings(more);
        std::fs::write(self.path().join("zonda.toml"), &text).unwrap();
        let settings = Settings::parse(&self.path().join("zonda.toml"), &text).unwrap();
        let key = Arc::clone(Keys::of(&settings, 0).find(self.secret.as_bytes(), 0).unwrap());
        let controller = Arc::new(Controller::new(settings, Overrides::default()).unwrap());
        Server { controller, key }
    }
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

struct Server {
    controller: Arc<Controller>,
    key: Arc<Key>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.controller.dynamic.stop();
    }
}

impl Server {
    fn work(&self, zone: &str, asked: Asked<'_>) -> Result<Worked, NotAltered> {
        self.work_once(zone, asked, None)
    }

    /// The same under a key of repeats.
    fn work_once(&self, zone: &str, asked: Asked<'_>, once: Option<&str>) -> Result<Worked, NotAltered> {
        let mut octets = Vec::new();
        Ask { who: Who::Key(b"k"), address: [127, 0, 0, 1].into(), asked }.write(&mut octets);
        let repeat = once.map(|once| Repeat::of(&self.key, once, &octets));
        let (zone, key) = (name(zone), Arc::clone(&self.key));
        let since = Instant::now();
        let keys = self.controller.api.keys_number();
        self.controller.work_for_api(&Work { of: OF, zone, ask: octets.into(), repeat, key, keys, since })
    }

    fn make_with(&self, zone: &str, fields: Fields<'_>, sets: &SetsBuf) -> Result<u32, NotAltered> {
        let apex = name(zone);
        let asked = Asked::Make { zone: &apex, repeat: None, fields, sets: sets.sets() };
        self.work(zone, asked).map(|worked| match worked {
            Worked::Made(serial, _) => serial,
            Worked::Done => panic!("it says nothing"),
        })
    }

    fn make(&self, zone: &str) -> Result<u32, NotAltered> {
        self.make_with(zone, Fields { serial: Some(1), ..Fields::default() }, &address(zone, 1))
    }

    fn drop_zone(&self, zone: &str, condition: Condition) -> Result<Worked, NotAltered> {
        let apex = name(zone);
        self.work(zone, Asked::Drop { zone: &apex, repeat: None, condition })
    }

    fn set(&self, zone: &str, fields: Fields<'_>) -> Result<Worked, NotAltered> {
        let apex = name(zone);
        self.work(zone, Asked::Set { zone: &apex, repeat: None, condition: Condition::None, fields })
    }

    /// Changes the address of a zone, as a PATCH does.
    fn change(&self, zone: &str, address: u8) -> (u32, u32) {
        let outcome = self.try_change(zone, address).unwrap();
        (outcome.before, outcome.after)
    }

    fn try_change(&self, zone: &str, address: u8) -> Result<Outcome, NotAltered> {
        let (mut zones, mut octets) = (ZonesBuf::default(), Vec::new());
        zones.push(&name(zone), Condition::None, &self::address(zone, address));
        let asked = Asked::Change { repeat: None, is_dry: false, zones: zones.zones() };
        Ask { who: Who::Key(b"k"), address: [127, 0, 0, 1].into(), asked }.write(&mut octets);
        let (sender, told) = channel();
        let done = AlterDone::new(move |result| sender.send(result).unwrap());
        let (key, since) = (Arc::clone(&self.key), std::time::Instant::now());
        let keys = self.controller.api.keys_number();
        let alter = Alter {
            zones: [name(zone)].into(),
            ask: octets.into(),
            repeat: None,
            key,
            keys,
            since,
            is_single: false,
            done,
        };
        self.controller.dynamic.alter(alter);
        told.recv().unwrap().map(|mut outcomes| outcomes.remove(0).unwrap())
    }

    /// The serial and the last octet of the address of `www` as served.
    fn served(&self, zone: &str) -> Option<(u32, u8)> {
        self.controller.catalog.reader().with(|view| {
            let slot = view.slot_named(&name(zone))?;
            let View::Zone(zone) = view.view_of(slot)? else { return None };
            let owner = name(&format!("www.{}", zone.apex()));
            let key = SortKey::of(&owner);
            let node = zone.find(key.octets().strip_prefix(zone.apex_key())?)?;
            let rdata = node.rrset(rtype::A)?.rdata(&owner, zone.apex())?;
            Some((zone.row().serial, *rdata.first()?.last()?))
        })
    }
}

fn address(zone: &str, address: u8) -> SetsBuf {
    let mut sets = SetsBuf::default();
    sets.begin(&name(&format!("www.{zone}")), rtype::A, What::Replace, 60);
    assert!(sets.record(&[192, 0, 2, address]));
    sets.end();
    sets
}

fn status(result: Result<impl Sized, NotAltered>) -> u16 {
    match result {
        Ok(_) => 200,
        Err(NotAltered::Said { status, .. }) => status,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn made_changed_removed_and_made_again() {
    let bed = Bed::new();
    let server = bed.start("");
    assert_eq!(server.make("a.test."), Ok(1));
    assert_eq!(server.served("a.test."), Some((1, 1)));
    assert_eq!(status(server.make("A.test.")), 409);
    // By the style of the zone, which is the date unless it says otherwise.
    let (before, changed) = server.change("a.test.", 7);
    assert!(before == 1 && changed > 2_020_000_000, "{changed}");
    assert!(server.set("a.test.", Fields { soa_edit_api: Some("INCREASE"), ..Fields::default() }).is_ok());
    assert_eq!(server.change("a.test.", 8), (changed, changed + 1));
    drop(server);
    let server = bed.start("");
    assert_eq!(server.served("a.test."), Some((changed + 1, 8)));
    assert_eq!(&*server.controller.made.of(&name("a.test.")).unwrap().soa_edit_api, "INCREASE");
    assert!(server.drop_zone("a.test.", Condition::None).is_ok());
    assert_eq!(server.served("a.test."), None);
    assert_eq!(status(server.drop_zone("a.test.", Condition::None)), 404);
    drop(server);
    let server = bed.start("");
    assert_eq!(server.served("a.test."), None);
    assert!(!bed.path().join("packs/made-zones/a.test.zone").exists());
    // What it was nobody sees, and secondaries take it for newer.
    let again = server.make("a.test.").unwrap();
    assert!(again > changed + 1, "{again}");
    assert_eq!(server.served("a.test."), Some((again, 1)));
    drop(server);
    assert_eq!(bed.start("").served("a.test."), Some((again, 1)));
}

#[test]
fn one_owner_for_each() {
    let bed = Bed::new();
    let text =
        "c.test. 60 IN SOA a. b. 1 2 3 4 5\nc.test. 60 IN NS ns1.example.\nwww.c.test. 60 IN A 192.0.2.9\n";
    std::fs::write(bed.path().join("c"), text).unwrap();
    let server = bed.start("[[zone]]\nname = \"c.test.\"\nfile = \"c\"\n");
    for (result, words) in [
        (server.make("c.test."), "settings"),
        (server.drop_zone("c.test.", Condition::None).map(|_| 0), "settings"),
        (server.set("c.test.", Fields::default()).map(|_| 0), "settings"),
    ] {
        let Err(NotAltered::Said { words: said, .. }) = result else { panic!("{result:?}") };
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(server.served("c.test."), Some((1, 9)));
    // Its operator has the last word on where it is, not on whose it is.
    server.make("a.test.").unwrap();
    assert!(!crate::reload::remove_zone(&server.controller, &name("a.test.")).errors.is_empty());
    let added = crate::reload::add_zone(&server.controller, name("a.test."), &bed.path().join("c"), None);
    assert!(added.errors[0].contains("API"), "{:?}", added.errors);
    assert_eq!(server.served("a.test."), Some((1, 1)));
    drop(server);
    // What the settings say of it now waits.
    let server = bed.start("[[zone]]\nname = \"a.test.\"\nfile = \"c\"\n");
    assert_eq!(server.served("a.test."), Some((1, 1)));
}

#[test]
fn what_is_not_made() {
    let bed = Bed::new();
    let server = bed.start("");
    // Not of these names; not with this in it; not with nothing of what is needed.
    assert_eq!(status(server.make("a.example.")), 403);
    let mut alias = address("a.test.", 1);
    alias.begin(&name("www.a.test."), rtype::CNAME, What::Replace, 60);
    assert!(alias.record(name("x.").octets()));
    alias.end();
    let refused = server.make_with("a.test.", Fields::default(), &alias);
    let Err(NotAltered::Said { status: 422, words, .. }) = &refused else { panic!("{refused:?}") };
    assert!(words.contains("CNAME") && !words.contains("made-zones"), "{words}");
    assert_eq!((server.served("a.test."), server.controller.made.count()), (None, 0));
    assert!(!bed.path().join("packs/made-zones/a.test.zone").exists());
    let long = format!("{0}.{0}.{0}.test.", "\\001".repeat(60));
    assert_eq!(status(server.make_with(&long, Fields::default(), &SetsBuf::default())), 422);
    // No more than may be.
    for zone in ["a.test.", "b.test.", "c.test."] {
        assert_eq!(server.make(zone), Ok(1), "{zone}");
    }
    assert_eq!(status(server.make("d.test.")), 422);
    assert_eq!(status(server.drop_zone("a.test.", Condition::OneOf(Default::default()))), 412);
    let tag = server.controller.api.tag_of(&server.controller, &name("a.test.")).unwrap();
    let mut tags = api::tag::Tags::default();
    assert!(tags.push(tag));
    // Fields that become others make it another version, as who sets them may have read those of before.
    server.set("a.test.", Fields { account: Some("ours"), ..Fields::default() }).unwrap();
    assert_eq!(status(server.drop_zone("a.test.", Condition::OneOf(tags))), 412);
    let mut tags = api::tag::Tags::default();
    assert!(tags.push(server.controller.api.tag_of(&server.controller, &name("a.test.")).unwrap()));
    assert_eq!(status(server.drop_zone("a.test.", Condition::OneOf(tags))), 200);
    assert_eq!(server.make("d.test."), Ok(1));
}

/// A zone takes its names from the one above: who may not delegate there may not do that either.
#[test]
fn below_a_zone_of_others() {
    let bed = Bed::new();
    let text = "test. 60 IN SOA a. b. 1 2 3 4 5\ntest. 60 IN NS ns1.example.\nwww.test. 60 IN A 192.0.2.9\n";
    std::fs::write(bed.path().join("above"), text).unwrap();
    let zone = "[[zone]]\nname = \"test.\"\nfile = \"above\"\n";
    let policy = |rules: &str| {
        format!("update-policy = \"above\"\n[[update-policy]]\nname = \"above\"\nrules = [\"{rules}\"]\n")
    };
    assert_eq!(
        status(bed.start(&format!("{zone}{}", policy("grant api:acme zonesub"))).make("a.test.")),
        403
    );
    assert_eq!(status(bed.start(zone).make("a.test.")), 403);
    let server = bed.start(&format!("{zone}{}", policy("grant api:acme zonesub NS")));
    assert_eq!(server.make("a.test."), Ok(1));
    assert_eq!(server.served("test."), Some((1, 9)));
}

/// Cut off at any step a zone is there as it was answered for, or not at all: what a start finds of each step is made by hand.
#[test]
fn steps_that_were_cut_off() {
    let bed = Bed::new();
    let server = bed.start("");
    let texts = bed.path().join("packs/made-zones");
    server.make("a.test.").unwrap();
    let text = std::fs::read(texts.join("a.test.zone")).unwrap();
    drop(server);
    // The text, and no line.
    std::fs::write(texts.join("b.test.zone"), String::from_utf8(text).unwrap().replace("a.test", "b.test"))
        .unwrap();
    std::fs::write(texts.join(".new"), "half").unwrap();
    let server = bed.start("");
    assert_eq!((server.served("a.test."), server.served("b.test.")), (Some((1, 1)), None));
    assert!(!texts.join("b.test.zone").exists());
    assert_eq!(server.make("b.test."), Ok(1));
    server.change("b.test.", 5);
    drop(server);
    // The line of its end, and all of it still in packs, log and text.
    {
        let folder = PackFolder::open(&bed.path().join("packs")).unwrap();
        let made = crate::made::Made::new();
        made.keep(&folder, &name("a.test."), MadeZone::new(&Fields::default(), "acme"), None).unwrap();
        let gone = Gone { serial: 9, time: crate::expiry::now() };
        made.strike(&folder, &name("b.test."), gone, None).unwrap();
    }
    let server = bed.start("");
    assert_eq!((server.served("a.test."), server.served("b.test.")), (Some((1, 1)), None));
    let again = server.make("b.test.").unwrap();
    assert!(again > 9);
    assert_eq!(server.served("b.test."), Some((again, 1)), "what it was before is not seen");
}

/// Its operator took its rules away: it stays as it was, until they are there again.
#[test]
fn without_its_template() {
    let bed = Bed::new();
    let server = bed.start("");
    server.make("a.test.").unwrap();
    server.change("a.test.", 7);
    let served = server.served("a.test.");
    let file = bed.path().join("zonda.toml");
    let text = bed.settings("");
    let mut without = text.clone();
    for part in [
        "template = \"hosted\"\nzones = [\"*.test.\"]\n",
        "[[template]]\nname = \"hosted\"\nupdate-policy = \"p\"\n",
    ] {
        assert!(without.contains(part));
        without = without.replace(part, "");
    }
    std::fs::write(&file, &without).unwrap();
    let change = crate::reload::reconfigure(&server.controller);
    assert!(change.errors.iter().any(|line| line.contains("[api] template")), "{change:?}");
    assert_eq!((change.removed, server.served("a.test.")), (0, served));
    assert_eq!(server.controller.made.problems().len(), 1);
    assert_eq!(status(server.make("b.test.")), 422);
    std::fs::write(&file, &text).unwrap();
    let change = crate::reload::reconfigure(&server.controller);
    assert!(change.errors.is_empty() && server.controller.made.problems().is_empty(), "{change:?}");
    assert_eq!(server.served("a.test."), served);
    server.change("a.test.", 8);
    assert!(server.drop_zone("a.test.", Condition::None).is_ok());
}

/// What is asked with keys of before is looked at again.
#[test]
fn keys_of_before() {
    let bed = Bed::new();
    let server = bed.start("");
    let (apex, mut octets) = (name("a.test."), Vec::new());
    let fields = Fields::default();
    let sets = address("a.test.", 1);
    let asked = Asked::Make { zone: &apex, repeat: None, fields, sets: sets.sets() };
    Ask { who: Who::Key(b"k"), address: [127, 0, 0, 1].into(), asked }.write(&mut octets);
    let (key, since) = (Arc::clone(&server.key), Instant::now());
    let work = Work { of: OF, zone: apex, ask: octets.into(), repeat: None, key, keys: 1, since };
    assert!(matches!(server.controller.work_for_api(&work), Err(NotAltered::OtherKeys)));
    // So is what nobody lets be changed now: another change takes longer than clients wait.
    let work = Work { keys: 0, ..work };
    let changing = server.controller.change();
    assert!(matches!(server.controller.work_for_api(&work), Err(NotAltered::NotNow)));
    drop(changing);
    // Who has waited long has been told that nothing is known of it.
    let old = Work { since: since.checked_sub(2 * WORK_AGE_MAX).unwrap(), ..work };
    assert!(matches!(server.controller.work_for_api(&old), Err(NotAltered::NotNow)));
    assert!(server.controller.work_for_api(&Work { since: Instant::now(), ..old }).is_ok());
}

/// Packs that were made of a zone that is gone show nothing of it once another has its name, whenever the server ends.
#[test]
fn older_data_stay_hidden() {
    let bed = Bed::new();
    let server = bed.start("");
    server.make("a.test.").unwrap();
    server.make("b.test.").unwrap();
    drop(server.controller.store_and_rest());
    assert!(server.drop_zone("a.test.", Condition::None).is_ok());
    let again = server.make("a.test.").unwrap();
    // The list of those that went is written without it, and nothing else.
    server.controller.tidy();
    let killed = bed.as_it_lies();
    let stored = killed.controller("");
    assert!(stored.controller.serve_stored(&Progress::default()) > 0);
    assert_eq!(stored.served("a.test."), Some((again, 1)));
    drop(stored);
    assert_eq!(killed.start("").served("a.test."), Some((again, 1)));
}

/// What changes while a zone is about to go is refused, so that what is said of it is true of its last version.
#[test]
fn nothing_changes_what_goes() {
    let bed = Bed::new();
    let server = bed.start("");
    server.make("a.test.").unwrap();
    let leaving = server.controller.made.leaving(&name("A.test."));
    assert!(matches!(server.try_change("a.test.", 7), Err(NotAltered::NotNow)));
    drop(leaving);
    assert!(server.try_change("a.test.", 7).is_ok());
}

/// A zone above that has no data now has its say all the same: they may come back.
#[test]
fn below_a_zone_without_data() {
    let bed = Bed::new();
    let zone = "[[zone]]\nname = \"test.\"\nfile = \"none\"\n";
    let server = bed.start(zone);
    assert!(server.controller.has_zone(&name("test.")) && !server.controller.has_data(&name("test.")));
    assert_eq!(status(server.make("a.test.")), 403);
}

#[test]
fn lines_without_the_file() {
    let path = Path::new("/p/made-zones/a.zone");
    let lines = ["/p/made-zones/a.zone:3:1: CNAME beside A", "zone a. has no NS"].map(str::to_owned);
    assert_eq!(words_of(&lines, path), "CNAME beside A; zone a. has no NS");
}

/// What a zone that went had under its name is nothing of the next one's, also where its end was cut short before that was forgotten.
#[test]
fn nothing_is_known_of_the_text_of_one_before() {
    let bed = Bed::new();
    let server = bed.start("");
    let known = |server: &Server| server.controller.texts.of(&name("a.test.")).base;
    server.controller.texts.change(&name("a.test."), |text| text.base = Some(Default::default())).unwrap();
    assert!(known(&server).is_some());
    server.make("a.test.").unwrap();
    assert_eq!(known(&server), None);
    let again = bed.as_it_lies().start("");
    assert_eq!(again.controller.fault_of(&name("a.test.")), None);
}

/// What came of a request is told again, whatever became of its zone since, by this server and the next.
#[test]
fn the_same_request_again() {
    let bed = Bed::new();
    let apex = name("a.test.");
    let first = address("a.test.", 1);
    let fields = Fields { serial: Some(7), account: Some("ours"), ..Fields::default() };
    let make = Asked::Make { zone: &apex, repeat: None, fields, sets: first.sets() };
    let set = |account| {
        let fields = Fields { account: Some(account), ..Fields::default() };
        Asked::Set { zone: &apex, repeat: None, condition: Condition::None, fields }
    };
    let remove = Asked::Drop { zone: &apex, repeat: None, condition: Condition::None };
    let made = |worked: Result<Worked, NotAltered>| match worked {
        Ok(Worked::Made(serial, made)) => (serial, made.account.to_string()),
        _ => panic!("it was not made"),
    };
    let is_done = |worked| matches!(worked, Ok(Worked::Done));
    let server = bed.start("");
    let once = |server: &Server, asked, name| server.work_once("a.test.", asked, Some(name));
    assert_eq!(made(once(&server, make, "one")), (7, "ours".to_owned()));
    assert_eq!(made(once(&server, make, "one")), (7, "ours".to_owned()));
    // Under another name it is another request, and another request needs one.
    assert_eq!(status(once(&server, make, "two")), 409);
    assert_eq!(once(&server, set("x"), "one").err(), Some(NotAltered::OtherRequest));
    assert!(is_done(once(&server, set("b"), "three")) && is_done(once(&server, set("c"), "four")));
    // Nothing is done twice: the later one stays.
    assert!(is_done(once(&server, set("b"), "three")));
    assert_eq!(&*server.controller.made.of(&apex).unwrap().account, "c");
    server.change("a.test.", 9);
    assert!(is_done(once(&server, remove, "five")));
    let gone = |server: &Server| {
        assert!(is_done(once(server, remove, "five")) && is_done(once(server, set("b"), "three")));
        assert_eq!(made(once(server, make, "one")), (7, "ours".to_owned()));
        assert_eq!((server.served("a.test."), server.controller.made.has(&apex)), (None, false));
        assert_eq!(status(once(server, remove, "six")), 404);
    };
    gone(&server);
    drop(server);
    let bed = bed.as_it_lies();
    let server = bed.start("");
    gone(&server);
    // One that came to nothing may come to something.
    assert!(made(once(&server, make, "two")).0 > 7 && server.served("a.test.").is_some());
}
