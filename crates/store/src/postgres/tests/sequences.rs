//! The same edits of a zone in both kinds of store make the same versions: kinds, serials, and what changed.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::sqlite::tests::Scratch as File;
use crate::sqlite::tests::sequences::{Step, act as act_in_file, step, text};

/// What is said of a version, but for its number, mark, time and who.
type Said = (Kind, u32, Vec<String>);

fn act(bed: &mut Bed, step: &Step) {
    let to = "INSERT INTO zonda.record (zone, owner, type, ttl, rdata)";
    let key = "(zone, owner, type, zonda.key(rdata))";
    let row = |owner: u8, address: u8, ttl: u8| {
        format!("{to} SELECT id, 'n{owner}.example.', 'A', {ttl}, '192.0.2.{address}' FROM zonda.zone")
    };
    let sql = match step {
        Step::Insert(owner, address, ttl) => row(*owner, *address, *ttl),
        Step::Replace(owner, address, ttl) => {
            format!("{} ON CONFLICT {key} DO UPDATE SET ttl = excluded.ttl", row(*owner, *address, *ttl))
        }
        Step::Delete(owner) => format!("DELETE FROM zonda.record WHERE owner = 'n{owner}.example.'"),
        Step::SetTtl(owner, ttl) => {
            format!("UPDATE zonda.record SET ttl = {ttl} WHERE owner = 'n{owner}.example.'")
        }
        // What the file's store has as UPDATE OR REPLACE.
        Step::Rename(owner, other) if owner == other => return,
        Step::Rename(owner, other) => format!(
            "BEGIN; DELETE FROM zonda.record r USING zonda.record o
                    WHERE r.owner = 'n{other}.example.' AND o.owner = 'n{owner}.example.' AND r.rdata = o.rdata;
             UPDATE zonda.record SET owner = 'n{other}.example.' WHERE owner = 'n{owner}.example.'; COMMIT"
        ),
        Step::SetSerial(serial) => format!(
            "UPDATE zonda.record SET rdata = 'ns.example. host.example. {serial} 3600 600 86400 60' WHERE type = 'SOA'"
        ),
        Step::DeleteZone => "DELETE FROM zonda.zone".into(),
        Step::Enable(is_enabled) => format!("UPDATE zonda.zone SET enabled = {is_enabled}"),
        Step::Put(records) => return drop(bed.put("example.", &text(records)).unwrap()),
        Step::Touch => {
            let mut writer = bed.store.writer().unwrap();
            if writer.touch(&name("example."), &Meta::default()).is_ok() {
                writer.commit().unwrap();
            }
            return;
        }
        Step::Close => return,
    };
    // Some are refused, such as a second row of one record: then nothing has happened.
    let _ = bed.store.link.batch(&sql).or_else(|_| bed.store.link.batch("ROLLBACK"));
}

fn said(versions: Vec<Version>, changes: impl Fn(i64) -> Vec<String>) -> Vec<Said> {
    versions.into_iter().map(|version| (version.kind, version.serial, changes(version.id))).collect()
}

#[test]
fn both_kinds_of_store_say_the_same() {
    const CASES: u32 = 40;
    let bed = RefCell::new(Bed::new());
    let steps = proptest::collection::vec(step(), 1..25);
    TestRunner::new(Config { cases: CASES, ..Config::default() })
        .run(&steps, |steps| {
            let bed = &mut *bed.borrow_mut();
            // What was there before goes with its history.
            bed.database.sql("DELETE FROM zonda.zone; DELETE FROM zonda.record");
            bed.database.sql("DELETE FROM zonda.version; DELETE FROM zonda.change");
            let mut file = File::new();
            file.put("example.", SOA).unwrap();
            bed.put("example.", SOA).unwrap();
            for step in &steps {
                act_in_file(&mut file, step);
                // A transaction of the file's store is what is between two looks.
                file.close();
                act(bed, step);
            }
            let in_file = said(file.versions("example."), |id| file.changes(id));
            let in_server = said(bed.versions("example."), |id| bed.changes(id));
            prop_assert_eq!(in_file, in_server);
            Ok(())
        })
        .unwrap();
}
