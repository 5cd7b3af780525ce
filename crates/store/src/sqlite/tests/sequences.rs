//! Sequences of edits, by this crate and by SQL, against a simple twin: what the versions say is what happened.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What somebody does. Owners, addresses and TTLs are of a few, so that they meet.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Insert(u8, u8, u8),
    Replace(u8, u8, u8),
    Delete(u8),
    SetTtl(u8, u8),
    Rename(u8, u8),
    SetSerial(u32),
    DeleteZone,
    Enable(bool),
    Put(Vec<(u8, u8, u8)>),
    Touch,
    Close,
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let few = || 0..4u8;
    prop_oneof![
        4 => (few(), few(), few()).prop_map(|(a, b, c)| Step::Insert(a, b, c)),
        2 => (few(), few(), few()).prop_map(|(a, b, c)| Step::Replace(a, b, c)),
        3 => few().prop_map(Step::Delete),
        2 => (few(), few()).prop_map(|(a, b)| Step::SetTtl(a, b)),
        1 => (few(), few()).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => prop_oneof![Just(0), Just(u32::MAX), any::<u32>(), 1..20u32].prop_map(Step::SetSerial),
        1 => Just(Step::DeleteZone),
        1 => any::<bool>().prop_map(Step::Enable),
        2 => proptest::collection::vec((few(), few(), few()), 0..6).prop_map(Step::Put),
        1 => Just(Step::Touch),
        4 => Just(Step::Close),
    ]
}

/// What a follower knows who reads versions alone: records, by all but their TTL.
#[derive(Default)]
struct Twin {
    records: BTreeMap<String, u32>,
    serial: Option<u32>,
    is_there: bool,
    last: i64,
}

/// A row as the twin has it: all but the TTL, and that.
fn split(line: &str) -> (String, u32) {
    let mut fields = line.splitn(3, ' ');
    let (owner, ttl, rest) = (fields.next().unwrap(), fields.next().unwrap(), fields.next().unwrap());
    (format!("{owner} {rest}"), ttl.parse().unwrap())
}

impl Twin {
    /// Follows the versions that are new. The last one may be whole: only then is the zone looked at.
    fn follow(&mut self, scratch: &mut Scratch) {
        let versions: Vec<Version> =
            scratch.versions("example.").into_iter().filter(|version| version.id > self.last).collect();
        let now: Option<BTreeMap<String, u32>> = scratch
            .store
            .contents(&name("example."))
            .ok()
            .map(|(contents, _)| lines(&contents).iter().map(|line| split(line)).collect());
        assert!(versions.len() <= 1, "looked at after each step: {versions:?}");
        for version in versions {
            if let Some(before) = self.serial {
                let is_greater = change::serial::is_greater(version.serial, before);
                assert!(is_greater || version.kind == Kind::Removed, "{before} {version:?}");
            }
            assert_ne!(version.serial, 0);
            match version.kind {
                Kind::Whole => self.records = now.clone().expect("a zone that is there"),
                Kind::Removed => self.records.clear(),
                Kind::Change => {
                    let changes = scratch.changes(version.id);
                    assert_eq!(changes.len() as u64, version.rows);
                    assert!(!changes.is_empty(), "a version of nothing");
                    changes.iter().for_each(|line| self.apply(line));
                }
            }
            (self.serial, self.last) = (Some(version.serial), version.id);
            self.is_there = version.kind != Kind::Removed;
        }
        if self.is_there && scratch.store.pending_count().unwrap() == 0 {
            let now = now.expect("a zone that is there");
            assert_eq!(self.records, now);
            let soa = now.keys().find(|line| line.contains(" SOA ")).expect("an SOA record");
            assert!(soa.contains(&format!(" {} 3600", self.serial.unwrap())), "{soa}");
        }
    }

    fn apply(&mut self, line: &str) {
        let (record, ttl) = split(&line[1..]);
        match line.starts_with('-') {
            true => assert_eq!(self.records.remove(&record), Some(ttl), "{line} goes"),
            false => assert_eq!(self.records.insert(record, ttl), None, "{line} comes"),
        }
    }
}

pub(crate) fn text(records: &[(u8, u8, u8)]) -> String {
    // One TTL for one record: of two lines the reader would take the first.
    let records: BTreeMap<_, _> =
        records.iter().map(|(owner, address, ttl)| ((owner, address), ttl)).collect();
    let lines = records.iter().map(|((owner, address), ttl)| format!("n{owner} {ttl} A 192.0.2.{address}\n"));
    format!("{SOA}{}", lines.collect::<String>())
}

pub(crate) fn act(scratch: &mut Scratch, step: &Step) {
    let sql = scratch.sql();
    let run = |statement: String| {
        // Some are refused, such as a second row of one record: then nothing has happened.
        let _ = sql.execute_batch(&statement);
    };
    match step {
        Step::Insert(owner, address, ttl) => run(format!(
            "INSERT INTO record (zone, owner, type, ttl, rdata) SELECT id, 'n{owner}.example.', 'A', {ttl}, '192.0.2.{address}' FROM zone"
        )),
        Step::Replace(owner, address, ttl) => run(format!(
            "INSERT OR REPLACE INTO record (zone, owner, type, ttl, rdata) SELECT id, 'n{owner}.example.', 'A', {ttl}, '192.0.2.{address}' FROM zone"
        )),
        Step::Delete(owner) => run(format!("DELETE FROM record WHERE owner = 'n{owner}.example.'")),
        Step::SetTtl(owner, ttl) => {
            run(format!("UPDATE record SET ttl = {ttl} WHERE owner = 'n{owner}.example.'"));
        }
        Step::Rename(owner, other) => run(format!(
            "UPDATE OR REPLACE record SET owner = 'n{other}.example.' WHERE owner = 'n{owner}.example.'"
        )),
        Step::SetSerial(serial) => run(format!(
            "UPDATE record SET rdata = 'ns.example. host.example. {serial} 3600 600 86400 60' WHERE type = 'SOA'"
        )),
        Step::DeleteZone => run("DELETE FROM zone".into()),
        Step::Enable(is_enabled) => run(format!("UPDATE zone SET enabled = {is_enabled}")),
        Step::Put(records) => drop(scratch.put("example.", &text(records)).unwrap()),
        Step::Touch => {
            let mut writer = scratch.store.writer().unwrap();
            if writer.touch(&name("example."), &Meta::default()).is_ok() {
                writer.commit().unwrap();
            }
        }
        Step::Close => drop(scratch.close()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn versions_say_what_happened(steps in proptest::collection::vec(step(), 1..30)) {
        let (mut scratch, mut twin) = (Scratch::with_zone(), Twin::default());
        twin.follow(&mut scratch);
        for step in &steps {
            // An act that closes what is pending first makes two versions: others' is looked at before.
            if matches!(step, Step::Put(_) | Step::Touch) {
                scratch.close();
                twin.follow(&mut scratch);
            }
            act(&mut scratch, step);
            twin.follow(&mut scratch);
        }
        scratch.close();
        twin.follow(&mut scratch);
    }
}
