//! What waits to be written to the history, and what is known of zones and log meanwhile. Under a lock that nobody holds while a disk is waited for.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use super::files::ZoneFiles;
use super::later::Later;
use crate::disk::File;
use crate::record::{Body, Entry};
use crate::sum::Identity;

/// Zones whose files are open between two changes: two descriptors each.
const KNOWN_MAX: usize = 256;

/// Something that waits to be written.
#[derive(Clone)]
pub(super) struct Pushed {
    pub(super) zone: u64,
    pub(super) group: u64,
    pub(super) what: What,
    /// It is said once more, by a start: it begins nothing anew.
    pub(super) is_again: bool,
}

#[derive(Clone)]
pub(super) enum What {
    Entry(Arc<Entry>),
    Later(Arc<Later>),
}

#[derive(Default)]
pub(super) struct State {
    pub(super) queue: VecDeque<Pushed>,
    pub(super) queue_octets: usize,
    /// How many of those that wait are [`Later`].
    pub(super) later: usize,
    /// By the hash of the name.
    pub(super) known: HashMap<u64, ZoneFiles>,
    /// Zones that have files or something that waits, by the hash of the name, and whether what they have was found to go with what the log has.
    pub(super) zones: HashMap<u64, bool>,
    /// Zones of which something fell out of the queue: what is in their files leads nowhere.
    pub(super) ended: HashSet<u64>,
    /// Files that were written since the last sync.
    pub(super) unsynced: BTreeSet<PathBuf>,
    pub(super) log: LogPlace,
    pub(super) appended: u64,
    pub(super) begun: u64,
}

/// Which log it is of.
#[derive(Default)]
pub(super) struct LogPlace {
    pub(super) identity: Identity,
    /// The last group that the log had when that was opened: an entry of a later one is of another life.
    pub(super) newest: u64,
    /// The newest group that was pushed.
    pub(super) pushed: u64,
    /// What the mark says, and its file, if that is of this log.
    pub(super) marked: u64,
    pub(super) mark: Option<Arc<dyn File>>,
    /// What is there is of another log, and goes with the next flush.
    pub(super) is_void: bool,
    pub(super) is_begun: bool,
}

impl Pushed {
    pub(super) fn octets(&self) -> usize {
        match &self.what {
            What::Entry(entry) => entry.octets(),
            What::Later(_) => 0,
        }
    }

    pub(super) fn is(&self, other: &Pushed) -> bool {
        match (&self.what, &other.what) {
            (What::Entry(one), What::Entry(other)) => Arc::ptr_eq(one, other),
            (What::Later(one), What::Later(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }

    /// As a reader has it: its group, and the difference, or `None` where nothing leads on. Nothing: it is no version.
    pub(super) fn as_version(&self) -> Option<(u64, Option<Arc<Entry>>)> {
        let entry = match &self.what {
            What::Entry(entry) => Some(Arc::clone(entry)),
            What::Later(later) => match later.found() {
                Some(Ok(None)) => return None,
                Some(Ok(Some(entry))) => Some(Arc::clone(entry)),
                Some(Err(_)) | None => None,
            },
        };
        // A difference that leads back is the end of a life.
        Some((self.group, entry.filter(|entry| is_forward(entry))))
    }
}

impl State {
    /// The first that waits leaves. Says of which zone it was.
    pub(super) fn leave(&mut self) -> Option<u64> {
        let gone = self.queue.pop_front()?;
        self.queue_octets -= gone.octets();
        self.later -= usize::from(matches!(gone.what, What::Later(_)));
        Some(gone.zone)
    }

    /// Keeps the files of a zone open that was written, and knows whether it has any.
    pub(super) fn keep(&mut self, zone: u64, files: ZoneFiles) {
        if files.last().is_none() && !self.queue.iter().any(|pushed| pushed.zone == zone) {
            self.zones.remove(&zone);
            return;
        }
        self.zones.insert(zone, true);
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(zone, files);
    }
}

/// Whether a difference leads to a serial that is greater (RFC 1982 3.2); what is none does not lead back either.
pub(super) fn is_forward(entry: &Entry) -> bool {
    let record = entry.record();
    let is_difference = matches!(record.body, Body::Difference { .. });
    !is_difference || record.serial_after.wrapping_sub(record.serial_before) as i32 > 0
}
