//! What the changer has taken from its queue and not done yet: in rounds, in which each zone has a share of the time, so that dear work of one holds up no other for long.
//!
//! ```text
//! queue --> updates as they came, by zone --round: ZONE_TIME of each--> versions --> commit
//!       `-> other jobs, again where something is in the way       <--what is left--'
//! ```
//!
//! Messages are read when their turn comes: names that are pointers make them some fifty times longer.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::time::{Duration, Instant};

use wire::{Name, NameBuf};

use super::handle::Job;
use super::queue::{REQUESTS_MAX, REQUESTS_OCTETS_MAX};
use super::update::Update;
use super::versions::Waiting;

/// Time of a round that one zone has, and one update or difference more: some hundred usual updates, so that a sync beside them is little.
pub(super) const ZONE_TIME: Duration = Duration::from_millis(5);
/// Octets of records that wait for the disk when they are written, whatever else there is to do: a fourth of what may wait there.
pub(super) const ROUND_OCTETS_MAX: usize = 16 << 20;
/// When somebody who waits for what came before looks again.
pub(super) const BARRIER_PAUSE: Duration = Duration::from_millis(1);

/// See the module. As much waits as may in the queue, where more is refused.
#[derive(Default)]
pub(super) struct Rounds {
    /// By zone, in lower case.
    pub(super) waiting: HashMap<NameBuf, Waiting>,
    /// Zones, in the order in which they have their turns. Each that has something waiting is there.
    pub(super) order: Vec<NameBuf>,
    /// Updates in `waiting`, and their octets.
    updates: usize,
    octets: usize,
    /// What is to be done again, and when.
    again: Vec<Job>,
    again_at: Option<Instant>,
}

impl Rounds {
    /// When there is something to do.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        if self.waiting.is_empty() { self.again_at } else { Some(now) }
    }

    /// Whether something of a zone waits.
    pub(super) fn has(&self, zone: &Name) -> bool {
        let is_of = |job: &Job| match job {
            Job::Incoming(incoming) => *incoming.zone == *zone,
            Job::Edit(job) => *job.zone == *zone,
            _ => false,
        };
        self.waiting.contains_key(zone) || self.again.iter().any(is_of)
    }

    /// Has an update wait. The error: too many do, or they have too many octets.
    pub(super) fn push(&mut self, update: Update) -> Result<(), Box<Update>> {
        let octets = update.octets();
        if self.updates >= REQUESTS_MAX || self.octets + octets > REQUESTS_OCTETS_MAX {
            return Err(Box::new(update));
        }
        (self.updates, self.octets) = (self.updates + 1, self.octets + octets);
        let zone = update.zone().to_lowercase();
        let order = &mut self.order;
        let waiting = self.waiting.entry(zone.clone()).or_insert_with(|| {
            order.push(zone);
            VecDeque::new()
        });
        waiting.push_back(update);
        Ok(())
    }

    /// The updates that wait, for a round.
    pub(super) fn take_updates(&mut self) -> Rounds {
        (self.updates, self.octets) = (0, 0);
        let (waiting, order) = (mem::take(&mut self.waiting), mem::take(&mut self.order));
        Rounds { waiting, order, ..Rounds::default() }
    }

    /// What is left of them after it: zones keep their order.
    pub(super) fn leave_updates(&mut self, mut waiting: HashMap<NameBuf, Waiting>, mut order: Vec<NameBuf>) {
        waiting.retain(|_, updates| !updates.is_empty());
        order.retain(|zone| waiting.contains_key(zone));
        let all = || waiting.values().flatten();
        (self.updates, self.octets) = (all().count(), all().map(Update::octets).sum());
        (self.waiting, self.order) = (waiting, order);
    }

    /// Has a job be done once more, after a while or with the next turn.
    pub(super) fn again(&mut self, job: Job, pause: Option<Duration>) {
        let at = Instant::now() + pause.unwrap_or_default();
        self.again_at = Some(self.again_at.map_or(at, |before| before.min(at)));
        self.again.push(job);
    }

    /// The jobs that are due, in the order in which they came.
    pub(super) fn take_again(&mut self) -> Vec<Job> {
        if self.again_at.is_none_or(|at| at > Instant::now()) {
            return Vec::new();
        }
        self.again_at = None;
        mem::take(&mut self.again)
    }
}
