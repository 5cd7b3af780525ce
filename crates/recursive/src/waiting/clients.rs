//! What is said of clients that wait: who they are, how they are answered, how many there were.

use crate::wishes::Waiting;
use cache::Moment;
use resolve::Waiter;
use wire::Address;

/// Who waits.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// Where from.
    pub address: &'a Address,
    /// Whether it was seen to receive there: by a connection, or a good cookie.
    pub is_proved: bool,
}

/// One that is to wait. The chains are by the keys of the [`Waiters`](super::Waiters) that made it.
#[derive(Debug)]
pub struct Comer {
    pub(super) waiting: Waiting,
    pub(super) is_proved: bool,
    pub(super) question: u64,
    pub(super) prefix: u32,
    pub(super) zone: u32,
}

/// Whether one more can wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Room<T> {
    /// There is a place.
    Free,
    /// There is one now; this one is gone.
    Evicted(Gone<T>),
    /// The client waits for this very answer already: the query was sent again.
    Joined,
}

/// One that waits no more.
#[derive(Debug, PartialEq, Eq)]
pub struct Gone<T> {
    /// Its number, for [`resolve`].
    pub waiter: Waiter,
    /// What it had.
    pub ticket: T,
    /// What it waited for.
    pub waiting: Waiting,
}

/// How a client is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// With what came.
    Reply,
    /// With TC: too much was held back for its prefix that comes at once now.
    Truncate,
    /// Not at all: it is too late.
    Late,
}

/// One that is answered now.
#[derive(Debug)]
pub struct Taken<T> {
    /// What it waits for.
    pub waiting: Waiting,
    /// What it has.
    pub ticket: T,
    /// How it is answered.
    pub fate: Fate,
    pub(super) since: Moment,
    pub(super) is_proved: bool,
    pub(super) prefix: u32,
    pub(super) zone: u32,
    pub(super) question: u64,
}

sync::counters! {
    /// What is counted of the clients of one worker, where others read it at any time. Their owner alone changes it.
    pub live LiveCounts;
    /// How many there are, and what became of others.
    pub values Counts;

    /// That wait now.
    waiting,
    /// Most that ever did.
    most,
    /// Gone because their prefix had its share.
    evicted_for_prefix,
    /// Gone because their zone had its share.
    evicted_for_zone,
    /// Gone because there was no place, of a prefix or zone with too many.
    evicted_culprits,
    /// Gone because there was no place, as the oldest of all.
    evicted_oldest,
    /// Queries that were sent again.
    joined,
    /// Answers that came too late.
    late,
    /// Answers of a pulse that were sent as TC.
    truncated,
    /// Answers by how long they were waited for, those that took longer than [`WAITED_MS`] says in the last.
    waited: [WAITED_MS.len() + 1],
    /// Milliseconds that all of these were waited for.
    waited_ms,
}

/// Milliseconds that answers of a range are waited for at most: a network nearby, continents, servers that are lost or slow. Those of cookies or TCP may take longer.
pub const WAITED_MS: [u64; 9] = [5, 10, 20, 50, 100, 200, 500, 1000, 2000];

impl LiveCounts {
    /// Counts an answer that was waited for so long.
    pub(super) fn waited(&self, ms: u64) {
        self.waited[WAITED_MS.partition_point(|&end| end < ms)].add(1);
        self.waited_ms.add(ms);
    }
}
