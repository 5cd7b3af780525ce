//! Stores in scratch folders, written by this crate and by plain SQL.

use rusqlite::Connection;
use wire::NameBuf;
use zone::contents::{Contents, ContentsBuilder, SourcePosition};

use crate::read::What;
use crate::sqlite::Store;
use crate::{Access, Fault, Kind, Meta, Put, Version};

pub(crate) mod alter;
mod long;
mod moment;
mod opened;
mod put;
pub(crate) mod sequences;
mod sql;
mod trimmed;

/// The time of all versions but those of `trimmed`.
const AT: u64 = 1_795_305_601;

pub(crate) const SOA: &str = "@ 60 SOA ns host 7 3600 600 86400 60\n@ 60 NS ns\nns 60 A 192.0.2.1\n";

/// A store in a folder of its own.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
    pub(crate) store: Store,
}

pub(crate) fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

pub(crate) fn contents_of(zone: &str, text: &str) -> Contents {
    let apex = name(zone);
    let mut builder = ContentsBuilder::new(&apex);
    for record in zonefile::records(text, &apex).unwrap() {
        let (owner, rdata) = (&record.owner, &record.rdata);
        builder.push(owner, false, record.rtype, record.ttl, rdata, SourcePosition::default()).unwrap();
    }
    builder.finish()
}

/// All records of a zone as lines, sorted.
pub(crate) fn lines(contents: &Contents) -> Vec<String> {
    let mut lines = Vec::new();
    for node in contents.nodes() {
        for set in node.rrsets() {
            for record in set.records() {
                let mut line = Vec::new();
                zonefile::print::line(&node.name(), record.ttl, set.rtype(), record.rdata, &mut line);
                lines.push(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
        }
    }
    lines.sort();
    lines
}

impl Scratch {
    pub(crate) fn new() -> Scratch {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::create(&folder.path().join("zones.db")).unwrap();
        Scratch { folder, store }
    }

    /// One with the zone `example.`.
    fn with_zone() -> Scratch {
        let mut scratch = Scratch::new();
        assert!(matches!(scratch.put("example.", SOA), Ok(Put::Made(_))));
        scratch
    }

    /// Another connection to it, as others have who know nothing of this crate.
    pub(crate) fn sql(&self) -> Connection {
        Connection::open(self.folder.path().join("zones.db")).unwrap()
    }

    pub(crate) fn put(&mut self, zone: &str, text: &str) -> Result<Put, Fault> {
        self.put_at(zone, text, None)
    }

    fn put_at(&mut self, zone: &str, text: &str, expected: Option<&str>) -> Result<Put, Fault> {
        let mut writer = self.store.writer()?;
        let meta = Meta { at: AT, who: Some("me"), why: Some("test") };
        let put = writer.put(&contents_of(zone, text), expected, &meta)?;
        writer.commit()?;
        Ok(put)
    }

    pub(crate) fn versions(&self, zone: &str) -> Vec<Version> {
        let mut versions = Vec::new();
        let mut push = |version: &Version| {
            versions.push(version.clone());
            Ok(())
        };
        self.store.versions(Some(&name(zone)), &mut push).unwrap();
        versions
    }

    pub(crate) fn changes(&self, version: i64) -> Vec<String> {
        let mut changes = Vec::new();
        self.store
            .changes(version, &mut |what, row| {
                changes.push(format!("{}{row}", if what == What::Added { '+' } else { '-' }));
            })
            .unwrap();
        changes
    }

    fn lines(&mut self, zone: &str) -> Vec<String> {
        lines(&self.store.contents(&name(zone)).unwrap().0)
    }

    /// Closes what is pending; all of it must go well.
    pub(crate) fn close(&mut self) -> usize {
        let closing = self.store.close_pending(None, AT).unwrap();
        assert!(closing.refused.is_empty(), "{:?}", closing.refused);
        closing.versions
    }

    /// Closes what is pending, of which one zone is refused, and returns why.
    fn refused(&mut self) -> String {
        let closing = self.store.close_pending(None, AT).unwrap();
        let [fault] = &closing.refused[..] else { panic!("{closing:?}") };
        fault.to_string()
    }
}
