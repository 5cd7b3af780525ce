//! A server as far as there is one without workers, and a feeder that says what it should, or not.

mod bounds;
mod turns;

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use feed::address::Address;
use feed::frame::{Frame, Mark, Version};
use feed::pair::{Reader, say};
use journal::disk::{Disk, System};
use wire::iana::{class, rtype};

use super::session::{Ended, Session};
use super::*;
use crate::controller::Overrides;
use crate::progress::Progress;
use crate::serve::all_wanted;
use crate::settings::Settings;

const STORE: &str = "[[store]]\nname = \"own\"\nurl = \"sqlite:zones.db\"\n";
const IDENTITY: &str = "0123456789abcdef0123456789abcdef";
const PATIENCE: Duration = Duration::from_secs(20);

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn version(serial: u32) -> Version {
    Version { serial, mark: Mark([serial as u8; 16]) }
}

/// A start on what is in the folder.
fn start(folder: &Path, more: &str) -> Arc<Controller> {
    start_on(Arc::new(System), folder, more)
}

/// The same where packs, and what is beside them, are written by this disk.
fn start_on(disk: Arc<dyn Disk>, folder: &Path, more: &str) -> Arc<Controller> {
    let text = format!("[server]\npack-directory = \"packs\"\n{STORE}{more}");
    let settings = Settings::parse(&folder.join("zonda.toml"), &text).unwrap();
    let packs = PackFolder::open_on(disk, &folder.join("packs"), None).unwrap();
    let controller = Controller::with_folder(settings, Overrides::default(), Some(packs), None).unwrap();
    let controller = Arc::new(controller);
    let progress = Progress::default();
    {
        let mut changing = controller.change();
        let wanted = all_wanted(&changing.settings, &controller.overrides, &progress).unwrap();
        let (candidates, _) = controller.announce(&mut changing, wanted, &progress);
        controller.load_first(&mut changing, candidates, false, &progress);
    }
    crate::dynamic::start(&controller, true).unwrap();
    controller
}

/// A feeder, as the server hears it.
struct Feeder {
    stream: UnixStream,
    reader: Reader,
    session: JoinHandle<Ended>,
}

impl Feeder {
    fn begin(controller: &Arc<Controller>) -> Feeder {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let key = (StoreName::new("own").unwrap(), 1);
        let terms = controller.stores.terms(key).unwrap();
        let opening = opening::frames(&terms).unwrap();
        let session = Session::begin(Arc::clone(controller), key, 7, (ours, &opening)).unwrap();
        let session = std::thread::spawn(move || session.run());
        let mut feeder = Feeder { reader: Reader::new(theirs.try_clone().unwrap()), stream: theirs, session };
        assert!(matches!(feeder.hear(), Frame::Open(Address::File(path)) if path.ends_with("/zones.db")));
        feeder
    }

    /// One that has opened its store; what it was told that the server has.
    fn opened(controller: &Arc<Controller>) -> (Feeder, Vec<Frame>) {
        let mut feeder = Feeder::begin(controller);
        feeder.say(&[Frame::Opened { identity: IDENTITY.into(), is_writable: true }]);
        let mut held = Vec::new();
        loop {
            match feeder.hear() {
                Frame::Go => return (feeder, held),
                frame => held.push(frame),
            }
        }
    }

    fn say(&self, frames: &[Frame]) {
        say(&self.stream, frames).unwrap();
    }

    fn hear(&mut self) -> Frame {
        self.reader.next(PATIENCE).unwrap().expect("a frame in time")
    }

    /// Pushes records, each with its TTL: those of a transfer, in its order.
    fn push(&self, zone: &str, from: Option<u32>, to: u32, records: &str) {
        self.say(&pushed(zone, from, to, records));
        self.say(&[Frame::Looked]);
    }

    /// The server ends it for what it says.
    #[track_caller]
    fn await_end(self) {
        assert!(matches!(self.session.join().unwrap(), Ended::Fault(_)));
    }
}

/// A push of records, see [`Feeder::push`].
fn pushed(zone: &str, from: Option<u32>, to: u32, records: &str) -> [Frame; 3] {
    let zone = name(zone);
    let qtype = if from.is_some() { rtype::IXFR } else { rtype::AXFR };
    let mut message = vec![0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    message.extend_from_slice(zone.octets());
    message.extend_from_slice(&[qtype.to_be_bytes(), class::IN.to_be_bytes()].concat());
    let records = zonefile::records(records, &zone).unwrap();
    for record in &records {
        message.extend_from_slice(record.owner.octets());
        message.extend_from_slice(&[record.rtype.to_be_bytes(), class::IN.to_be_bytes()].concat());
        message.extend_from_slice(&record.ttl.to_be_bytes());
        message.extend_from_slice(&(record.rdata.len() as u16).to_be_bytes());
        message.extend_from_slice(&record.rdata);
    }
    message[6..8].copy_from_slice(&(records.len() as u16).to_be_bytes());
    let begin = Frame::Begin { zone, from: from.map(version), to: version(to) };
    [begin, Frame::Message(message), Frame::End]
}

/// The end of a server.
fn end(feeder: Feeder, controller: Arc<Controller>) {
    drop(feeder);
    controller.stores.stop();
    controller.dynamic.stop();
    await_alone(controller);
}

/// Waits until nobody else has it: a session's thread does for a moment.
fn await_alone(controller: Arc<Controller>) {
    while Arc::strong_count(&controller) > 1 {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn soa(serial: u32) -> String {
    format!("@ 60 SOA ns host {serial} 3600 600 86400 60\n")
}

/// All of a zone.
fn all(serial: u32, more: &str) -> String {
    format!("{0}@ 60 NS ns\nns 60 A 192.0.2.1\n{more}{0}", soa(serial))
}

/// What leads from one serial to the next.
fn changes(from: u32, removed: &str, added: &str) -> String {
    let (before, after) = (soa(from), soa(from + 1));
    format!("{after}{before}{removed}{after}{added}{after}")
}

#[test]
fn all_of_a_zone_and_what_changes_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let controller = start(folder.path(), "");
    let (mut feeder, held) = Feeder::opened(&controller);
    assert!(held.is_empty());
    let zone = name("a.test.");
    feeder.push("a.test.", None, 1, &all(1, ""));
    assert_eq!(feeder.hear(), Frame::Arrived(zone.clone()));
    assert_eq!(feeder.hear(), Frame::Served(zone.clone(), version(1)));
    assert_eq!(controller.serial_of(&zone), Some(1));
    feeder.push("a.test.", Some(1), 2, &changes(1, "", "new 60 A 192.0.2.2\n"));
    assert_eq!(feeder.hear(), Frame::Served(zone.clone(), version(2)));
    assert_eq!(controller.serial_of(&zone), Some(2));
    // Over what is not served, whether by its serial or by its mark, and what does not fit.
    feeder.push("a.test.", Some(1), 2, &changes(1, "", "other 60 A 192.0.2.2\n"));
    assert_eq!(feeder.hear(), Frame::Whole(zone.clone()));
    feeder.push("a.test.", Some(2), 3, &changes(2, "none 60 A 192.0.2.2\n", ""));
    assert_eq!(feeder.hear(), Frame::Whole(zone.clone()));
    // What it would make of the zone cannot be served.
    feeder.push("a.test.", Some(2), 3, &changes(2, "", "new 60 CNAME ns\n"));
    assert_eq!(feeder.hear(), Frame::Refused(zone.clone()));
    assert!(controller.store_words(&zone).iter().any(|line| line.contains("new.a.test. CNAME")));
    assert_eq!(controller.serial_of(&zone), Some(2));
    // Of the same serial: the same records are nothing new, others are a database that went back.
    feeder.push("a.test.", None, 2, &all(2, "new 60 A 192.0.2.2\n"));
    assert_eq!(feeder.hear(), Frame::Arrived(zone.clone()));
    assert_eq!(feeder.hear(), Frame::Served(zone.clone(), version(2)));
    feeder.push("a.test.", None, 2, &all(2, "other 60 A 192.0.2.2\n"));
    assert_eq!(feeder.hear(), Frame::Arrived(zone.clone()));
    assert_eq!(feeder.hear(), Frame::Refused(zone.clone()));
    assert!(controller.store_words(&zone).iter().any(|line| line.contains("went back")));
    // A feeder that is started anew hears what is served, and its mark; so does one of the next server.
    drop(feeder);
    let (feeder, held) = Feeder::opened(&controller);
    assert_eq!(held, [Frame::Held(zone.clone(), Some(version(2)))]);
    end(feeder, controller);
    let controller = start(folder.path(), "");
    assert_eq!(controller.serial_of(&zone), Some(2));
    let (_, held) = Feeder::opened(&controller);
    assert_eq!(held, [Frame::Held(zone, Some(version(2)))]);
}

#[test]
fn what_is_none_of_its_business_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("own.zone"), all(9, "").replacen(&soa(9), "", 1)).unwrap();
    let controller = start(folder.path(), "[[zone]]\nname = \"own.test.\"\nfile = \"own.zone\"\n");
    let (mut feeder, _) = Feeder::opened(&controller);
    for (zone, records) in [
        ("own.test.", all(20, "")),
        // Names of one label are not meant.
        ("test.", all(1, "")),
        ("a.test.", all(1, "").replace("NS ns", "TXT x")),
    ] {
        feeder.push(zone, None, if zone == "own.test." { 20 } else { 1 }, &records);
        let mut heard = feeder.hear();
        if matches!(heard, Frame::Arrived(_)) {
            heard = feeder.hear();
        }
        assert_eq!(heard, Frame::Refused(name(zone)));
    }
    assert_eq!(controller.serial_of(&name("own.test.")), Some(9));
    assert_eq!(controller.serial_of(&name("a.test.")), None);
    // Another serial than it says, and a push that ends too soon.
    feeder.push("b.test.", None, 7, &all(1, ""));
    assert_eq!(feeder.hear(), Frame::Refused(name("b.test.")));
    feeder.push("b.test.", None, 1, &soa(1));
    assert_eq!(feeder.hear(), Frame::Refused(name("b.test.")));
    // Of zones of others nothing is lost.
    feeder.say(&[Frame::Gone(name("own.test.")), Frame::Back(name("own.test."), 1), Frame::Looked]);
    feeder.push("c.test.", None, 1, &all(1, ""));
    assert_eq!(feeder.hear(), Frame::Arrived(name("c.test.")));
    assert_eq!(feeder.hear(), Frame::Served(name("c.test."), version(1)));
    assert!(controller.store_lines(None)[0].waits.is_none());
    assert_eq!(controller.serial_of(&name("own.test.")), Some(9));
}

#[test]
fn words_that_are_none_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let controller = start(folder.path(), "");
    let zone = name("a.test.");
    for frames in [
        vec![Frame::Message(vec![1, 2, 3])],
        vec![Frame::End],
        vec![Frame::Served(zone.clone(), version(1))],
        vec![Frame::Go],
        vec![Frame::Open(Address::File("/x".into()))],
    ] {
        let (feeder, _) = Feeder::opened(&controller);
        feeder.say(&frames);
        feeder.await_end();
    }
    // Before it was told what the server has.
    let feeder = Feeder::begin(&controller);
    feeder.say(&[Frame::Begin { zone, from: None, to: version(1) }]);
    feeder.await_end();
    let feeder = Feeder::begin(&controller);
    {
        use std::io::Write;
        (&feeder.stream).write_all(b"GET / HTTP/1.1\r\n").unwrap();
    }
    feeder.await_end();
}

/// A zone that is deleted and made again while a look is under way is there.
#[test]
fn what_is_there_again_is_not_gone() {
    let folder = tempfile::tempdir().unwrap();
    let controller = start(folder.path(), "");
    let (mut feeder, _) = Feeder::opened(&controller);
    let (zone, other) = (name("a.test."), name("b.test."));
    for zone in ["a.test.", "b.test."] {
        feeder.push(zone, None, 1, &all(1, ""));
        assert!(matches!(feeder.hear(), Frame::Arrived(_)) && matches!(feeder.hear(), Frame::Served(..)));
    }
    feeder.say(&[Frame::Gone(zone.clone())]);
    feeder.push("a.test.", None, 2, &all(2, ""));
    assert_eq!(feeder.hear(), Frame::Arrived(zone.clone()));
    assert_eq!(feeder.hear(), Frame::Served(zone.clone(), version(2)));
    // One that goes hears of it: what came before was taken.
    feeder.say(&[Frame::Gone(other.clone()), Frame::Looked]);
    assert_eq!(feeder.hear(), Frame::Left(other));
    assert_eq!(controller.serial_of(&zone), Some(2));
}

/// Differences that are none are those of a primary that cannot say what has changed: all of the zone is asked for.
#[test]
fn differences_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let controller = start(folder.path(), "");
    let (mut feeder, _) = Feeder::opened(&controller);
    let zone = name("a.test.");
    feeder.push("a.test.", None, 1, &all(1, ""));
    assert!(matches!(feeder.hear(), Frame::Arrived(_)) && matches!(feeder.hear(), Frame::Served(..)));
    feeder.push("a.test.", Some(1), 2, &format!("{}{}{}", soa(2), soa(7), soa(2)));
    assert_eq!(feeder.hear(), Frame::Whole(zone.clone()));
    // What is said of zones that are not meant is nobody's business.
    feeder.say(&[Frame::Unfit(name("test."), "why".into()), Frame::Unfit(zone.clone(), "\u{1b}[2J".into())]);
    feeder.push("a.test.", None, 1, &soa(1));
    assert_eq!(feeder.hear(), Frame::Refused(zone.clone()));
    assert_eq!(controller.store_lines(None)[0].refused, 1);
    assert!(controller.store_words(&name("test.")).is_empty());
}

/// What settings take at a start begins without what the store had: neither packs nor log give another owner's data.
#[test]
fn a_zone_that_another_owner_takes_while_there_is_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let zones = ["a.test.", "b.test.", "c.test."];
    {
        let controller = start(folder.path(), "");
        let (mut feeder, _) = Feeder::opened(&controller);
        for zone in zones {
            feeder.push(zone, None, 100, &all(100, ""));
            assert!(matches!(feeder.hear(), Frame::Arrived(_)) && matches!(feeder.hear(), Frame::Served(..)));
            if zone != "c.test." {
                feeder.push(zone, Some(100), 101, &changes(100, "", "new 60 A 192.0.2.2\n"));
                assert_eq!(feeder.hear(), Frame::Served(name(zone), version(101)));
            }
        }
        end(feeder, controller);
    }
    std::fs::write(folder.path().join("b.zone"), all(9, "").replacen(&soa(9), "", 1)).unwrap();
    let primary = "primaries = [\"p\"]\n";
    let more = format!(
        "[[remote]]\nname = \"p\"\naddresses = [\"192.0.2.53\"]\n[[zone]]\nname = \"a.test.\"\n{primary}[[zone]]\nname = \"c.test.\"\n{primary}[[zone]]\nname = \"b.test.\"\nfile = \"b.zone\"\n"
    );
    for _ in 0..2 {
        let controller = start(folder.path(), &more);
        let serials: Vec<_> = zones.iter().map(|zone| controller.serial_of(&name(zone))).collect();
        assert_eq!(serials, [None, Some(9), None]);
        // As once there are workers.
        controller.stores.begin(&controller);
        let owned = std::fs::read_to_string(folder.path().join("packs/owned")).unwrap();
        assert!(zones.iter().all(|zone| !owned.contains(zone)), "{owned}");
        controller.stores.stop();
        controller.dynamic.stop();
        await_alone(controller);
    }
}

/// A feeder that does not listen, or an octet now and then, holds up neither the end of the server nor other settings.
#[test]
fn a_feeder_that_does_not_listen() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("packs")).unwrap();
    let line = |number| format!("+ 0 z{number:040}.test.\n");
    let lines: String = (0..20_000).map(line).collect();
    let owned = format!("zonda owned 1\n= 0 {IDENTITY} own sqlite:zones.db\n{lines}");
    std::fs::write(folder.path().join("packs/owned"), owned).unwrap();
    let controller = start(folder.path(), "");
    let feeder = Feeder::begin(&controller);
    feeder.say(&[Frame::Opened { identity: IDENTITY.into(), is_writable: true }]);
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    controller.stores.stop();
    assert!(matches!(feeder.session.join().unwrap(), Ended::NotWanted));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
