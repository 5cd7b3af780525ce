//! Stores of a real server, written by this crate and by plain SQL.

use super::*;
use crate::read::What;
use crate::{Access, Fault, Kind, Meta, Put, Version};

mod alter;
mod crossed;
mod looks;
mod moved;
mod sequences;
mod server;
mod sql;
mod zones;

use crate::sqlite::tests::{SOA, contents_of, lines, name};
use server::Scratch;

/// Another connection to a store.
fn other(database: &Scratch) -> Store {
    Store::open(&target(database), Access::Write).unwrap()
}

/// A store in a database of its own.
struct Bed {
    database: Scratch,
    store: Store,
}

fn target(scratch: &Scratch) -> Target {
    Target::parse(&scratch.address()).unwrap()
}

impl Bed {
    fn new() -> Bed {
        let database = Scratch::new();
        let store = Store::create(&target(&database)).unwrap();
        Bed { database, store }
    }

    /// One with the zone `example.`.
    fn with_zone() -> Bed {
        let mut bed = Bed::new();
        assert!(matches!(bed.put("example.", SOA), Ok(Put::Made(_))));
        bed
    }

    fn put(&mut self, zone: &str, text: &str) -> Result<Put, Fault> {
        self.put_at(zone, text, None)
    }

    fn put_at(&mut self, zone: &str, text: &str, expected: Option<&str>) -> Result<Put, Fault> {
        let mut writer = self.store.writer()?;
        let meta = Meta { at: 0, who: Some("me"), why: Some("test") };
        let put = writer.put(&contents_of(zone, text), expected, &meta)?;
        writer.commit()?;
        Ok(put)
    }

    fn versions(&self, zone: &str) -> Vec<Version> {
        let mut versions = Vec::new();
        let mut push = |version: &Version| {
            versions.push(version.clone());
            Ok(())
        };
        self.store.versions(Some(&name(zone)), &mut push).unwrap();
        versions
    }

    /// Kind and serial of each version of a zone, but for the first ones.
    fn after(&self, zone: &str, count: usize) -> Vec<(Kind, u32)> {
        self.versions(zone).iter().skip(count).map(|version| (version.kind, version.serial)).collect()
    }

    fn changes(&self, version: i64) -> Vec<String> {
        changes(&self.store, version)
    }

    /// What changed in the newest version of `example.`.
    fn newest_changes(&self) -> Vec<String> {
        let newest = self.versions("example.").pop().unwrap();
        assert_eq!(newest.rows as usize, self.changes(newest.id).len());
        self.changes(newest.id)
    }

    fn lines(&mut self, zone: &str) -> Vec<String> {
        lines(&self.store.contents(&name(zone)).unwrap().0)
    }
}

fn changes(store: &Store, version: i64) -> Vec<String> {
    let mut changes = Vec::new();
    store
        .changes(version, &mut |what, row| {
            changes.push(format!("{}{row}", if what == What::Added { '+' } else { '-' }));
        })
        .unwrap();
    changes
}
