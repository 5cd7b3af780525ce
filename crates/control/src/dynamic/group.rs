//! What becomes durable together: commits of zones, the records of the log that say them, and the replies that wait for that.

use journal::{Body, Entry};
use wire::NameBuf;
use zone::catalog::PartSet;
use zone::delta::Changed;

use super::update::{Said, Update};

/// One zone's part of a group.
pub(super) struct Commit {
    /// The zone, lower-case.
    pub(super) zone: NameBuf,
    /// Its new states, the oldest first: those that are taken back if the group does not become durable.
    pub(super) states: Vec<u32>,
    /// The newest of them, and what differs from what is shown. `None`: nothing does.
    pub(super) newest: Option<(Changed, PartSet)>,
    /// Whether the group says what its changes begin from.
    pub(super) has_base: bool,
    /// What is said, in the order in which requests came.
    pub(super) replies: Vec<(Update, Said)>,
}

impl Commit {
    pub(super) fn new(zone: NameBuf) -> Commit {
        Commit { zone, states: Vec::new(), newest: None, has_base: false, replies: Vec::new() }
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Group {
    pub(super) commits: Vec<Commit>,
    entries: Vec<Entry>,
    octets: usize,
}

impl Group {
    /// Whether no more fits.
    pub(super) fn is_full(&self) -> bool {
        self.octets >= journal::GROUP_OCTETS_MAX / 2
    }

    /// Adds a record.
    pub(super) fn add(&mut self, entry: Entry) {
        self.octets += entry.octets();
        self.entries.push(entry);
    }

    /// The records.
    pub(super) fn entries(&self) -> Vec<&Entry> {
        self.entries.iter().collect()
    }
}

/// The record of a change. `time`: seconds since 1970.
pub(super) fn entry(change: &zone::Change, time: u64) -> Result<Entry, journal::TooLarge> {
    let body = Body::Difference { removed: change.removed().octets(), added: change.added().octets() };
    Entry::new(change.zone(), change.serial_before(), change.serial_after(), time, body)
}
