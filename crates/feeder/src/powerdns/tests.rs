//! Tables in a scratch file, and what is pushed of them. What PowerDNS itself writes is followed through the program in `tests/operator`.

use std::path::Path;

use rusqlite::Connection;
use transfer::catalog_zone::Allowed;

use super::*;
use crate::follow::Follow;
use feed::frame::{Frame, Version};

/// What is read of the tables.
const TABLES: &str = "
CREATE TABLE domains (id INTEGER PRIMARY KEY, name VARCHAR(255), type VARCHAR(8));
CREATE TABLE records (id INTEGER PRIMARY KEY, domain_id INTEGER, name VARCHAR(255), type VARCHAR(10), content VARCHAR(65535), ttl INTEGER, prio INTEGER, disabled BOOLEAN DEFAULT 0);
CREATE INDEX records_lookup_id_idx ON records(domain_id, name, type);
CREATE TABLE domainmetadata (domain_id INT, kind VARCHAR(32), content TEXT);
CREATE TABLE cryptokeys (domain_id INT, active BOOL);
";

const RULES: schema::PowerDns =
    schema::PowerDns { skips_unknown: false, default_ttl: 3_600, direct_dnskey: false };

struct Bed {
    folder: tempfile::TempDir,
    source: PowerDns<File>,
    follow: Follow,
    held: HashMap<NameBuf, Version>,
}

fn run(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

fn zone(id: i64, name: &str) -> String {
    format!(
        "INSERT INTO domains VALUES ({id}, '{name}', 'NATIVE');
         INSERT INTO records (domain_id, name, type, content) VALUES ({id}, '{name}', 'SOA', 'ns host 7 3600 600 86400 60'), ({id}, '{name}', 'NS', 'ns.example');"
    )
}

impl Bed {
    /// `mode`: of the journal.
    fn new(mode: &str, zones: &[&str]) -> Bed {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pdns.db");
        let zones: String = zones.iter().enumerate().map(|(at, name)| zone(at as i64 + 1, name)).collect();
        run(&path, &format!("PRAGMA journal_mode = {mode}; {TABLES} {zones}"));
        let source = PowerDns::open(File::of(&path), RULES, Box::new(|| true)).unwrap();
        Bed { folder, source, follow: Follow::new(Allowed::default()), held: HashMap::new() }
    }

    fn run(&self, sql: &str) {
        run(&self.folder.path().join("pdns.db"), sql);
    }

    /// A feeder that begins anew, with what the server holds.
    fn begin(&mut self) {
        let path = self.folder.path().join("pdns.db");
        self.source = PowerDns::open(File::of(&path), RULES, Box::new(|| true)).unwrap();
        self.follow = Follow::new(Allowed::default());
        self.held.iter().for_each(|(zone, held)| self.follow.hold(zone.clone(), Some(*held)));
        self.follow.list(&mut self.source).unwrap();
    }

    /// Looks at once, whatever the pause; what was found is due.
    fn look(&mut self) -> Found {
        (self.source.pause, self.source.audit_pause) = (Duration::ZERO, Duration::ZERO);
        let look = self.source.look(0).unwrap();
        assert!(look.waits.is_none() && look.unfit.is_none());
        if let Found::Zones(zones) = &look.found {
            self.follow.changed(zones);
        }
        look.found
    }

    /// Pushes what is due, and has the server serve it; what was said, in short.
    fn push(&mut self) -> Vec<String> {
        let (mut said, mut pushed) = (Vec::new(), Vec::new());
        let mut begun = None;
        self.follow
            .push(&mut self.source, &mut |frame: Frame| {
                said.extend(match frame {
                    Frame::Begin { zone, from, to } => {
                        assert_eq!(from, None, "all of it");
                        begun = Some((zone.clone(), to));
                        Some(format!("{zone} {}", to.serial))
                    }
                    Frame::End => {
                        pushed.extend(begun.take());
                        None
                    }
                    Frame::Gone(zone) => Some(format!("{zone} gone")),
                    Frame::Back(zone, serial) => Some(format!("{zone} back {serial}")),
                    Frame::Unfit(zone, words) => Some(format!("{zone} {words}")),
                    Frame::Without(zone, words) if !words.is_empty() => {
                        Some(format!("{zone} without {words}"))
                    }
                    _ => None,
                });
                Ok(())
            })
            .unwrap();
        for (zone, to) in pushed {
            self.held.insert(zone.clone(), to);
            self.follow.answer(Frame::Served(zone, to));
        }
        said.sort();
        said
    }
}

const RAISED: &str =
    "UPDATE records SET content = 'ns host 8 3600 600 86400 60' WHERE type = 'SOA' AND domain_id = 1";

#[test]
fn zones_are_pushed_when_they_are_others() {
    let mut bed = Bed::new("WAL", &["a.test", "b.test"]);
    bed.begin();
    assert_eq!(bed.push(), ["a.test. 7", "b.test. 7"]);
    assert_eq!(bed.look(), Found::Nothing);
    // What the server holds is known by its rows, also to a feeder that begins anew.
    bed.begin();
    assert!(bed.push().is_empty());
    bed.run(&format!("{RAISED}; INSERT INTO records (domain_id, name, type, content, disabled) VALUES (1, 'x.a.test', 'A', '192.0.2.1', 1)"));
    assert_eq!(bed.look(), Found::Zones(vec!["a.test.".into()]));
    assert_eq!(bed.push(), ["a.test. 8", "a.test. without 1 row disabled: left out"]);
    bed.run("INSERT INTO cryptokeys VALUES (2, 1); DELETE FROM domains WHERE id = 1");
    bed.look();
    let said = bed.push();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0] == "a.test. gone" && said[1].starts_with("b.test. refused: PowerDNS signs it"),
        "{said:?}"
    );
}

/// What hinders a zone and is over leaves it as it was.
#[test]
fn what_is_mended() {
    let mut bed = Bed::new("WAL", &["a.test"]);
    bed.begin();
    assert_eq!(bed.push(), ["a.test. 7"]);
    bed.run("INSERT INTO cryptokeys VALUES (1, 1)");
    bed.look();
    assert!(bed.push()[0].starts_with("a.test. refused:"));
    bed.run("DELETE FROM cryptokeys");
    bed.look();
    assert_eq!(bed.push(), ["a.test. 7"], "the server says that it is the same");
}

/// Rows that are others while the serial is the same are looked at after a while, so that who raises it last has said nothing wrong.
#[test]
fn rows_under_the_same_serial() {
    let mut bed = Bed::new("DELETE", &["a.test"]);
    bed.begin();
    assert_eq!(bed.push(), ["a.test. 7"]);
    bed.run("UPDATE records SET ttl = 5 WHERE type = 'NS'");
    assert_eq!(bed.look(), Found::Nothing);
    assert_eq!(bed.source.suspects.len(), 1);
    bed.run(RAISED);
    assert_eq!((bed.look(), bed.source.suspects.len()), (Found::Zones(vec!["a.test.".into()]), 0));
    assert_eq!(bed.push(), ["a.test. 8"]);
    bed.run("UPDATE records SET ttl = 6 WHERE type = 'NS'");
    bed.look();
    for (_, since) in bed.source.suspects.values_mut() {
        *since -= SUSPECT;
    }
    assert_eq!(bed.look(), Found::Zones(vec!["a.test.".into()]));
    assert_eq!(bed.push(), ["a.test. 8"], "the server says that it went back");
    // It is said once.
    assert_eq!((bed.look(), bed.source.suspects.len()), (Found::Nothing, 0));
}

/// Somebody opens a file that was read without locks: it is opened anew, and what is known stays known.
#[test]
fn a_file_that_is_opened_by_others() {
    let mut bed = Bed::new("WAL", &["a.test", "b.test"]);
    bed.begin();
    assert_eq!(bed.push().len(), 2);
    let other = Connection::open(bed.folder.path().join("pdns.db")).unwrap();
    other.execute_batch(RAISED).unwrap();
    assert_eq!(bed.look(), Found::Zones(vec!["a.test.".into()]));
    assert_eq!(bed.push(), ["a.test. 8"]);
}

/// A writer who holds the file is waited for, and nothing is forgotten.
#[test]
fn a_file_that_is_locked() {
    let mut bed = Bed::new("DELETE", &["a.test"]);
    bed.begin();
    assert_eq!(bed.push(), ["a.test. 7"]);
    let other = Connection::open(bed.folder.path().join("pdns.db")).unwrap();
    other.execute_batch(&format!("BEGIN EXCLUSIVE; {RAISED}")).unwrap();
    bed.source.pause = Duration::ZERO;
    let look = bed.source.look(0).unwrap();
    assert_eq!(
        (look.found, look.waits.unwrap().to_string()),
        (Found::Nothing, "somebody else writes, for longer than one waits: nothing was read".into())
    );
    other.execute_batch("COMMIT").unwrap();
    bed.look();
    assert_eq!(bed.push(), ["a.test. 8"]);
}

/// So it is while a zone is pushed: it waits for the next look, and nothing is said of it.
#[test]
fn a_file_that_is_locked_by_then() {
    let mut bed = Bed::new("DELETE", &["a.test"]);
    bed.begin();
    assert_eq!(bed.push(), ["a.test. 7"]);
    let other = Connection::open(bed.folder.path().join("pdns.db")).unwrap();
    other.execute_batch(&format!("BEGIN EXCLUSIVE; {RAISED}")).unwrap();
    bed.follow.changed(&["a.test.".to_owned()]);
    assert!(bed.push().is_empty());
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(bed.look(), Found::Zones(vec!["a.test.".into()]));
    assert_eq!(bed.push(), ["a.test. 8"]);
}

/// What was found is handed over though the rows cannot be looked at then.
#[test]
fn what_is_found_is_not_forgotten() {
    let mut bed = Bed::new("DELETE", &["a.test"]);
    bed.begin();
    assert_eq!(bed.push(), ["a.test. 7"]);
    bed.run(RAISED);
    bed.source.look_on().unwrap();
    let other = Connection::open(bed.folder.path().join("pdns.db")).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    bed.source.audit_pause = Duration::ZERO;
    let look = bed.source.look(0).unwrap();
    assert_eq!((look.found, look.waits.is_some()), (Found::Zones(vec!["a.test.".into()]), true));
}

/// A zone that is made anew between a look and its turn is not gone.
#[test]
fn a_zone_that_is_made_anew() {
    let mut bed = Bed::new("WAL", &["a.test"]);
    bed.begin();
    assert_eq!(bed.push(), ["a.test. 7"]);
    bed.run("UPDATE domains SET id = 9; UPDATE records SET domain_id = 9");
    bed.follow.changed(&["a.test.".to_owned()]);
    assert!(bed.push().is_empty());
    assert_eq!(bed.look(), Found::Zones(vec!["a.test.".into()]));
    assert_eq!(bed.push(), ["a.test. 7"]);
}

/// What is served by other rules is another version, which the server compares.
#[test]
fn rules_are_of_the_version() {
    let mut bed = Bed::new("WAL", &["a.test"]);
    bed.begin();
    assert_eq!(bed.push(), ["a.test. 7"]);
    bed.begin();
    assert!(bed.push().is_empty());
    bed.begin();
    bed.source.ruled = "others".into();
    bed.follow.changed(&["a.test.".to_owned()]);
    assert_eq!(bed.push(), ["a.test. 7"]);
}

/// Nobody waits for it: it ends, and says nothing.
#[test]
fn nobody_who_waits() {
    let mut bed = Bed::new("DELETE", &["a.test"]);
    bed.begin();
    bed.source.beat = SharedBeat(Arc::new(Mutex::new(Box::new(|| false))));
    let ended = bed.follow.push(&mut bed.source, &mut |_: Frame| Ok(()));
    assert!(ended.is_err());
}
