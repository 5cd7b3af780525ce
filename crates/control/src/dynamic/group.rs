//! What becomes durable: one zone's part of a group, with the replies that wait for it, or some zones' that are there together; and what is told of it.

use std::sync::Arc;

use journal::commit::Condition;
use journal::record::TooLarge;
use journal::{Body, Entry, Outcome, Refusal};
use sync::Mutex;
use wire::NameBuf;
use zone::catalog::PartSet;
use zone::delta::Changed;

use super::alter::Together;
use super::incoming::Told;
use super::origin::Anew;
use super::taking::Moved;
use super::update::{Said, Update};

/// What waits for a record of the log.
pub(super) enum Payload {
    /// Nothing: it is what a commit of the same zone that comes after begins from. With the last of it the zone's state is said.
    Base(Option<Box<Anew>>),
    /// A checkpoint; the same.
    Checkpoint(Option<Box<Anew>>),
    /// Nothing: when a zone was checked.
    Checked,
    /// Nothing: that this zone has no age any more.
    AgeEnds(NameBuf),
    /// Nothing: that this zone went.
    Gone(NameBuf),
    /// A version of a zone.
    Commit(Commit),
    /// Versions of some zones, all of them or none.
    Together(Box<Together>),
    /// A zone's changes begin from another pack.
    Moved(Box<Moved>),
}

/// A version of a zone, or requests that changed nothing.
pub(super) struct Commit {
    /// The zone, lower-case.
    pub(super) zone: NameBuf,
    /// What the log says of that version, for the history.
    pub(super) record: Option<Arc<Entry>>,
    /// Its state, and what differs from the state before. `None`: nothing has changed.
    pub(super) version: Option<(Changed, Box<PartSet>)>,
    /// What is said, in the order in which requests came.
    pub(super) replies: Vec<(Update, Said)>,
    /// Who is told that it is served, where it came from a primary.
    pub(super) told: Option<Told>,
}

impl Payload {
    /// How many requests wait for it.
    pub(super) fn replies(&self) -> usize {
        match self {
            Payload::Commit(commit) => commit.replies.len(),
            _ => 0,
        }
    }
}

/// What has become of payloads.
pub(super) enum Event {
    /// They are on the disk, up to this group.
    Committed(u64, Vec<Payload>),
    /// They are not and will never be; the newest first.
    Refused(Vec<Payload>, Refusal),
    /// The log is in another condition.
    Condition(Condition),
}

/// Events in their order, for the changer, which asks for them on its own thread.
#[derive(Clone)]
pub(super) struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    pub(super) fn new() -> Events {
        Events(Arc::new(Mutex::named("log events", Vec::new())))
    }

    /// All since the last call.
    pub(super) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut self.0.lock())
    }
}

impl Outcome<Payload> for Events {
    fn committed(&self, group: u64, payloads: Vec<Payload>) {
        self.0.lock().push(Event::Committed(group, payloads));
    }

    fn refused(&self, payloads: Vec<Payload>, why: Refusal) {
        self.0.lock().push(Event::Refused(payloads, why));
    }

    fn condition(&self, condition: &Condition) {
        self.0.lock().push(Event::Condition(condition.clone()));
    }
}

/// The record of a change. `time`: seconds since 1970.
pub(super) fn entry(change: &zone::Change, time: u64) -> Result<Entry, TooLarge> {
    let body = Body::Difference { removed: change.removed().octets(), added: change.added().octets() };
    Entry::new(change.zone(), change.serial_before(), change.serial_after(), time, body)
}
