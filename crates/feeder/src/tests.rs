//! A store in a scratch folder, and what is pushed of it, read as the server reads it.

use std::collections::HashMap;

use store::source::{Found, Source};
use store::{Meta, Store};
use transfer::catalog_zone::Allowed;
use transfer::incoming::{Builder, Incoming, Kind, Limits, Outcome, Question, Step, Times};
use wire::NameBuf;
use zone::contents::SourcePosition;
use zone::{Contents, ContentsBuilder};

use crate::follow::Follow;
use crate::sqlite::Sqlite;
use feed::frame::{Frame, Mark, Version};

const ZONE: &str = "@ 60 SOA ns host 1 3600 600 86400 60\n@ 60 NS ns\nns 60 A 192.0.2.1\n";

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn contents(zone: &str, text: &str) -> Contents {
    let mut builder = ContentsBuilder::new(&name(zone));
    for record in zonefile::records(text, &name(zone)).unwrap() {
        let (owner, rdata) = (&record.owner, &record.rdata);
        builder.push(owner, false, record.rtype, record.ttl, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

/// A store, a feeder's list, and a server that has all that was served.
struct Bed {
    folder: tempfile::TempDir,
    source: Sqlite,
    /// Another connection: what is written by it is seen as that of others.
    writer: Store,
    follow: Follow,
    /// What the server has: serial, mark and number of records.
    served: HashMap<NameBuf, (Version, usize)>,
}

/// What was pushed of a zone.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    Whole(String, u32),
    /// From, to, and how many differences.
    Changes(String, u32, u32, usize),
    Gone(String),
    Back(String, u32),
    Unfit(String),
    Broken,
}

impl Bed {
    fn new() -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("zones.db");
        let writer = Store::create(&path).unwrap();
        let source = Sqlite::open(&path, || true).unwrap();
        Bed { folder, source, writer, follow: Follow::new(Allowed::default()), served: HashMap::new() }
    }

    fn put(&mut self, zone: &str, text: &str) {
        let mut writer = self.writer.writer().unwrap();
        writer.put(&contents(zone, text), None, &Meta::default()).unwrap();
        writer.commit().unwrap();
    }

    /// What no program of ours does.
    fn sql(&self, statement: &str) {
        let database = rusqlite::Connection::open(self.folder.path().join("zones.db")).unwrap();
        database.execute_batch(statement).unwrap();
    }

    fn raise(&mut self, zone: &str, above: u32) {
        let mut writer = self.writer.writer().unwrap();
        writer.raise(&name(zone), above, &Meta::default()).unwrap();
        writer.commit().unwrap();
    }

    /// A feeder that begins anew, of a server with what is served.
    fn begin(&mut self) {
        self.follow = Follow::new(Allowed::default());
        for (zone, (version, _)) in &self.served {
            self.follow.hold(zone.clone(), Some(*version));
        }
        self.source.look(0).unwrap();
        self.follow.list(&mut self.source).unwrap();
    }

    /// Has what is new be due; the list was looked at before.
    fn look(&mut self) {
        match self.source.look(0).unwrap().found {
            Found::Zones(zones) => self.follow.changed(&zones),
            found => panic!("{found:?}"),
        }
    }

    /// Pushes what is due, and has the server serve it; what that was.
    fn push(&mut self) -> Vec<Said> {
        let mut frames = Vec::new();
        self.follow
            .push(&mut self.source, &mut |frame: Frame| {
                frames.push(frame);
                Ok(())
            })
            .unwrap();
        let (mut said, mut push) = (Vec::new(), None);
        for frame in frames {
            match frame {
                Frame::Begin { zone, from, to } => push = Some((zone, from, to, Vec::new())),
                Frame::Message(octets) => push.as_mut().unwrap().3.push(octets),
                Frame::End => {
                    let (zone, from, to, messages) = push.take().unwrap();
                    said.push(self.receive(&zone, from, to, &messages));
                    self.follow.answer(Frame::Served(zone, to));
                }
                Frame::Broken => said.push(Said::Broken),
                Frame::Gone(zone) => said.push(Said::Gone(zone.to_string())),
                Frame::Back(zone, serial) => said.push(Said::Back(zone.to_string(), serial)),
                Frame::Unfit(_, words) => said.push(Said::Unfit(words)),
                Frame::Looked => {}
                other => panic!("{other:?}"),
            }
        }
        said
    }

    fn receive(&mut self, zone: &NameBuf, from: Option<Version>, to: Version, messages: &[Vec<u8>]) -> Said {
        let kind = if from.is_some() { Kind::Ixfr } else { Kind::Axfr };
        let ours = from.map(|from| from.serial);
        let question = Question { zone: zone.clone(), kind, ours, id: 0, has_edns: false, is_udp: false };
        let mut incoming = Incoming::new(question, None, Limits::default(), 0);
        let mut sink = Builder::new(zone, 1 << 30);
        let mut done = None;
        for message in messages {
            match incoming.message(message, Times::default(), &mut sink).unwrap() {
                Step::More => assert!(done.is_none()),
                Step::Done(is_done) => done = Some(is_done),
            }
        }
        let done = done.expect("an end");
        assert_eq!(done.soa.unwrap().serial, to.serial);
        let (said, records) = match done.outcome {
            Outcome::Whole => (Said::Whole(zone.to_string(), to.serial), sink.record_count()),
            Outcome::Changes(changes) => {
                let (held, count) = self.served[zone];
                assert_eq!(Some(held), from, "what is pushed leads on from what is served");
                let grown: i64 = changes
                    .iter()
                    .map(|change| {
                        change.added().iter().count() as i64 - change.removed().iter().count() as i64
                    })
                    .sum();
                let said = Said::Changes(zone.to_string(), held.serial, to.serial, changes.len());
                (said, (count as i64 + grown) as usize)
            }
            other => panic!("{other:?}"),
        };
        // Whatever way it came it is what the store has.
        let (contents, version) = self.writer.contents(zone).unwrap();
        assert_eq!(contents.record_count(), records);
        assert_eq!(Mark::from_text(&version.unwrap().mark), Some(to.mark));
        self.served.insert(zone.clone(), (to, records));
        said
    }
}

fn whole(zone: &str, serial: u32) -> Said {
    Said::Whole(zone.into(), serial)
}

#[test]
fn zones_and_what_changes_in_them() {
    let mut bed = Bed::new();
    bed.put("a.test.", ZONE);
    bed.put("b.test.", ZONE);
    bed.begin();
    assert_eq!(bed.push(), [whole("a.test.", 1), whole("b.test.", 1)]);
    assert!(bed.push().is_empty());
    // Several versions are one push, of one difference each.
    for number in 2..5 {
        bed.put("a.test.", &format!("{ZONE}www 60 A 192.0.2.{number}\n"));
    }
    bed.put("c.test.", ZONE);
    bed.look();
    assert_eq!(bed.push(), [Said::Changes("a.test.".into(), 1, 4, 3), whole("c.test.", 1)]);
    // What is the same again needs nothing, whoever begins anew.
    bed.begin();
    assert!(bed.push().is_empty());
    // Of a mark that was lost the whole zone comes.
    bed.served.get_mut(&name("a.test.")).unwrap().0.mark = Mark::NONE;
    bed.begin();
    assert_eq!(bed.push(), [whole("a.test.", 4)]);
}

#[test]
fn history_that_was_trimmed_and_names_that_are_not_wanted() {
    let mut bed = Bed::new();
    bed.put("a.test.", ZONE);
    bed.put("test.", ZONE);
    bed.begin();
    assert_eq!(bed.push(), [whole("a.test.", 1)], "names of one label are not meant");
    bed.put("a.test.", &format!("{ZONE}www 60 A 192.0.2.2\n"));
    bed.writer.trim(&store::Bounds { octets_max: Some(0), ..Default::default() }).unwrap();
    bed.look();
    assert_eq!(bed.push(), [whole("a.test.", 2)]);
}

#[test]
fn zones_that_go_and_databases_that_go_back() {
    let mut bed = Bed::new();
    bed.put("a.test.", ZONE);
    bed.begin();
    bed.push();
    // The server has a later version of a history that this store does not know.
    bed.served.insert(name("a.test."), (Version { serial: 9, mark: Mark([7; 16]) }, 3));
    bed.served.insert(name("gone.test."), (Version { serial: 9, mark: Mark([8; 16]) }, 3));
    bed.begin();
    let mut said = bed.push();
    said.sort_by_key(|said| matches!(said, Said::Gone(_)));
    assert_eq!(said, [Said::Back("a.test.".into(), 1), Said::Gone("gone.test.".into())]);
    bed.follow.answer(Frame::Left(name("gone.test.")));
    bed.served.remove(&name("gone.test."));
    bed.raise("a.test.", 9);
    bed.look();
    assert_eq!(bed.push(), [whole("a.test.", 10)]);
    // One of that serial and another mark is told, too.
    bed.served.insert(name("a.test."), (Version { serial: 10, mark: Mark([7; 16]) }, 3));
    bed.begin();
    assert_eq!(bed.push(), [Said::Back("a.test.".into(), 10)]);
}

/// A push that is refused is made again later, and one over what is not served is the whole zone.
#[test]
fn answers_of_the_server() {
    let mut bed = Bed::new();
    bed.put("a.test.", ZONE);
    bed.begin();
    bed.push();
    bed.put("a.test.", &format!("{ZONE}www 60 A 192.0.2.2\n"));
    bed.look();
    let mut pushed = 0;
    let mut count = |follow: &mut Follow, source: &mut Sqlite| {
        let mut begun = None;
        let mut say = |frame: Frame| {
            if let Frame::Begin { from, .. } = frame {
                begun = Some(from.is_some());
                pushed += 1;
            }
            Ok(())
        };
        follow.push(source, &mut say).unwrap();
        begun
    };
    assert_eq!(count(&mut bed.follow, &mut bed.source), Some(true));
    // While one is on its way there is no other.
    bed.put("a.test.", &format!("{ZONE}www 60 A 192.0.2.3\n"));
    bed.look();
    assert_eq!(count(&mut bed.follow, &mut bed.source), None);
    bed.follow.answer(Frame::Whole(name("a.test.")));
    assert_eq!(count(&mut bed.follow, &mut bed.source), Some(false));
    bed.follow.answer(Frame::Refused(name("a.test.")));
    assert_eq!(count(&mut bed.follow, &mut bed.source), None, "not at once");
    assert_eq!(pushed, 2);
}

/// Differences that cannot be read are not all that there is.
#[test]
fn history_that_is_broken() {
    let mut bed = Bed::new();
    bed.put("a.test.", ZONE);
    bed.begin();
    bed.push();
    bed.put("a.test.", &format!("{ZONE}www 60 A 192.0.2.2\n"));
    bed.sql("UPDATE change SET rdata = 'what?' WHERE owner = 'www.a.test.'");
    bed.look();
    assert_eq!(bed.push(), [Said::Broken, whole("a.test.", 2)]);
}

/// Serials that are raised together cost one flush, and one that cannot be holds up no other.
#[test]
fn serials_that_are_raised_together() {
    let mut bed = Bed::new();
    let zones: Vec<NameBuf> = (0..100).map(|number| name(&format!("z{number}.test."))).collect();
    zones.iter().for_each(|zone| bed.put(&zone.to_string(), ZONE));
    bed.begin();
    bed.push();
    let log = bed.folder.path().join("zones.db-wal");
    bed.sql("PRAGMA wal_checkpoint(TRUNCATE)");
    let mut raises: Vec<_> = zones.iter().map(|zone| (zone.clone(), 5)).collect();
    bed.source.raise(&raises, 0).unwrap();
    // A transaction writes each page that it touches once: a page of each zone, and not as many for each of them.
    let octets = std::fs::metadata(&log).unwrap().len();
    assert!(octets < 100 * 4_096, "{octets} octets");
    raises.push((name("none.test."), 5));
    let (mut waiting, mut unfit) = (raises.clone(), Vec::new());
    waiting.drain(..).for_each(|(zone, above)| bed.follow.answer(Frame::Raise(zone, above)));
    let mut say = |frame| {
        unfit.push(frame);
        Ok(())
    };
    bed.follow.raise(&mut bed.source, 0, &mut say).unwrap();
    assert_eq!(
        unfit,
        [Frame::Unfit(name("none.test."), "zone none.test.: there is no such zone".to_owned())]
    );
    bed.begin();
    assert_eq!(bed.push().len(), 100);
}

/// What was opened is told from what has another history.
#[test]
fn a_history_that_is_another() {
    let mut bed = Bed::new();
    bed.put("a.test.", ZONE);
    bed.begin();
    assert_eq!(bed.source.look(0).unwrap().found, Found::Nothing);
    bed.sql("UPDATE version SET mark = '00112233445566778899aabbccddeeff'");
    assert_eq!(bed.source.look(0).unwrap().found, Found::Another);
    assert!(!bed.source.is_another().unwrap());
}
