//! The log on a simulated disk.

mod crash;
mod damage;
mod plain;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use wire::NameBuf;

use super::*;
use crate::disk::Disk;
use crate::disk::simulated::Simulated;
use crate::record::Body;

/// Small segments: three pages for groups.
pub(crate) const OPTIONS: Options =
    Options { segment_octets: 4 * PAGE_OCTETS, log_octets: 64 * 4 * PAGE_OCTETS as u64 };

pub(crate) fn folder() -> PathBuf {
    PathBuf::from("log")
}

pub(crate) fn name(zone: usize) -> NameBuf {
    format!("z{zone}.example").parse().expect("a name")
}

/// A record of a zone with a content of its own.
pub(crate) fn entry(zone: usize, before: u32, after: u32, content: &[u8]) -> Entry {
    let body = Body::Difference { removed: b"", added: content };
    Entry::new(&name(zone), before, after, 1_800_000_000, body).expect("small")
}

pub(crate) fn open(disk: &Simulated, start: Start) -> Recovery {
    Recovery::open(Arc::new(disk.clone()), &folder(), OPTIONS, start).expect("a log")
}

/// A start that has succeeded, with segments ahead.
pub(crate) fn begin(recovery: Recovery) -> Log {
    let mut log = recovery.begin();
    log.decide().expect("a disk that works");
    while log.prepare().expect("a disk that works") {}
    log
}

/// All records, as group, zone, serial after and content.
pub(crate) fn records(recovery: &Recovery) -> Vec<(u64, String, u32, Vec<u8>)> {
    let mut records = Vec::new();
    let mut visit = |group: u64, record: &crate::Record<'_>| {
        if let Body::Difference { added, .. } = record.body {
            records.push((group, record.zone.to_string(), record.serial_after, added.to_vec()));
        }
    };
    recovery.replay(&mut visit).expect("readable");
    records
}

pub(crate) fn append(log: &mut Log, entries: &[&Entry]) -> u64 {
    let number = log.append(entries, Urgency::Ordinary).expect("a disk that works");
    while log.prepare().expect("a disk that works") {}
    number
}

/// Files of segments, by name.
fn segment_files(disk: &Simulated) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        disk.names(&folder()).expect("names").iter().map(|name| folder().join(name)).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "seg"));
    names.sort();
    names
}

fn is_there(disk: &Simulated, path: &Path) -> bool {
    disk.content(path).is_some()
}
