//! The changer: the thread that owns all that changes zones in place.
//!
//! ```text
//! take all that waits -> by zone -> Draft: each update all or nothing -> Change -> delta: next state, seen by nobody
//!                                                                           `-> record of the log
//! write and sync -> publish -> replies            failed: states taken back, newest first; SERVFAIL when that is certain
//! ```
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use journal::commit::{Condition, TICK};
use transfer::refresh::Kept;
use wire::NameBuf;

use super::alter::Alters;
use super::bounds::Delayed;
use super::checkpoint::{Checkpoint, Ended};
use super::handle::Job;
use super::imaging::Imaging;
use super::log::Log;
use super::proving::Proving;
use super::recent::{Known, Recent};
use super::recover::Found;
use super::renewal::{Renewal, Rules};
use super::repeats::Repeats;
use super::rounds::{BARRIER_PAUSE, ROUND_OCTETS_MAX, Rounds};
use super::storing::Storing;
use super::update::{Said, Update};
use super::zone::DynamicZone;
use crate::controller::Controller;

/// How long after the last group the log is looked at again, so that it marks the end of that one.
const QUIET: Duration = Duration::from_secs(3);

pub(super) struct Changer {
    pub(super) controller: Arc<Controller>,
    /// By name in lower case.
    pub(super) zones: HashMap<NameBuf, DynamicZone>,
    /// Zones whose changes were lost, and with them what they begin from: why. They take no changes.
    pub(super) lost: HashMap<NameBuf, String>,
    /// Zones that the log may have and that are no more: it is to say so. Whether that waits for the disk.
    pub(super) gone: HashMap<NameBuf, bool>,
    pub(super) log: Log,
    /// Why the log could not be begun, and when that was tried.
    pub(super) trouble: Option<(String, Instant)>,
    pub(super) recent: Recent,
    pub(super) condition: Condition,
    /// When that was said last.
    pub(super) said: Option<Instant>,
    /// The one that is under way.
    pub(super) checkpoint: Option<Checkpoint>,
    /// The one that ended last.
    pub(super) shortened: Option<Ended>,
    /// When zones of others were checked, as the log has it, and their serials then: a checkpoint says it again.
    pub(super) ages: HashMap<NameBuf, (u32, Kept)>,
    /// When something was committed last.
    pub(super) last: Option<Instant>,
    pub(super) renewal: Renewal,
    pub(super) imaging: Imaging,
    pub(super) delayed: Delayed,
    pub(super) rounds: Rounds,
    pub(super) alters: Alters,
    /// What of that may be asked for again.
    pub(super) repeats: Repeats,
    pub(super) storing: Storing,
    pub(super) proving: Proving,
    /// Zones that are claimed, see [`DynamicZone::is_claimed`].
    pub(super) claimed: HashSet<NameBuf>,
}

/// Seconds since 1970.
pub(super) fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Changer {
    /// With what a start found; without a log only zones that are not to be kept can change.
    pub(super) fn new(controller: &Arc<Controller>, found: Option<Found>) -> Changer {
        let ages = controller.secondaries.all_kept().into_iter();
        let (mut zones, mut lost, mut removed, mut log) =
            (HashMap::new(), HashMap::new(), Vec::new(), Log::Closed);
        let mut repeats = Repeats::default();
        if let Some(found) = found {
            (zones, lost, removed, repeats) = (found.zones, found.lost, found.removed, found.repeats);
            log = Log::Read(Box::new((found.recovery, found.floor)));
        }
        let mut changer = Changer {
            controller: Arc::clone(controller),
            zones,
            lost,
            gone: removed.into_iter().map(|name| (name, false)).collect(),
            log,
            trouble: None,
            checkpoint: None,
            shortened: None,
            ages: ages.map(|(name, kept)| (name, (0, kept))).collect(),
            recent: Recent::default(),
            condition: Condition::Ready,
            said: None,
            last: None,
            renewal: Renewal::new(Rules::of(controller)),
            imaging: Imaging::default(),
            delayed: Delayed::default(),
            rounds: Rounds::default(),
            alters: Alters::default(),
            repeats,
            storing: Storing::default(),
            proving: Proving::default(),
            claimed: HashSet::new(),
        };
        // What was read may be in memory alone: where there is anything it is made sure of before anybody is told.
        if !(changer.zones.is_empty() && changer.gone.is_empty()) {
            let _ = changer.open_log();
        }
        // Else the next start applies again what this one did.
        changer.imaging.look(changer.zones.values(), changer.renewal.rules.image_rows_min);
        changer.count_changed();
        changer
    }

    pub(super) fn run(mut self) {
        let started = Instant::now();
        loop {
            self.hold();
            self.tell_log();
            let now = Instant::now();
            let is_busy = self.has_waiting()
                || !self.gone.is_empty()
                || self.last.is_some_and(|last| now - last < QUIET);
            let has_work = !self.has_waiting() && self.checkpoint.as_ref().is_some_and(Checkpoint::has_work);
            let pause = if has_work { Duration::ZERO } else { TICK };
            let until = is_busy.then(|| now + pause);
            let due = [self.renewal_due(now), self.delayed.due(), self.rounds.due(now), self.alters.due(now)];
            let until = until.into_iter().chain(due.into_iter().flatten()).min();
            let Some(jobs) = self.controller.dynamic.queue.take(until) else { return self.end() };
            let worked = (!jobs.is_empty()).then(Instant::now);
            self.take_stored();
            self.turn(jobs);
            self.prove();
            self.leave();
            self.shorten();
            self.renew(worked.map(|began| began.elapsed()));
            if let Log::Open(open) = &self.log
                && is_busy
            {
                let writing = self.controller.dynamic.outline.writing();
                open.committer.tick(started.elapsed());
                drop(writing);
                self.look_at_events();
            }
        }
    }

    /// Whether the log has something to do that waits, or cannot be written: it says so only after a while.
    fn has_waiting(&self) -> bool {
        let Log::Open(open) = &self.log else { return false };
        self.condition != Condition::Ready || open.committer.condition() != (Condition::Ready, 0)
    }

    /// Does what was taken from the queue, and goes on with what was left of it before: a share of each zone's.
    fn turn(&mut self, jobs: Vec<Job>) {
        let mut is_incoming = false;
        for job in self.rounds.take_again().into_iter().chain(jobs) {
            match job {
                Job::Update(update) => self.let_wait(*update),
                Job::Incoming(incoming) => {
                    is_incoming = true;
                    self.take_incoming(incoming);
                }
                Job::Edit(job) => self.take_edit(*job),
                Job::Alter(alter) => self.alters.push(*alter),
                // All that came before is to be done.
                Job::Barrier(zone, told) if self.rounds.has(&zone) || self.alters.has(&zone) => {
                    self.rounds.again(Job::Barrier(zone, told), Some(BARRIER_PAUSE));
                }
                Job::Barrier(zone, told) => self.take_barrier(&zone, told),
                Job::Settle(told, until, since) => self.take_settle(told, until, since),
                Job::AcceptLoss(zone, told) => self.accept_loss(&zone, told),
                Job::GiveUp(zones) => self.renewal.ask(zones),
            }
        }
        self.recent.end_look();
        if is_incoming {
            self.commit();
        }
        let has_altered = self.alter_some();
        let Rounds { mut waiting, mut order, .. } = self.rounds.take_updates();
        self.hold_back(&mut waiting, &mut order);
        if waiting.is_empty() {
            if has_altered {
                self.commit();
            }
            return self.let_go_of_claims();
        }
        let mut octets = 0;
        for name in &order {
            if let Some(updates) = waiting.get_mut(name) {
                octets += self.work_out(name, updates);
            }
            if octets > ROUND_OCTETS_MAX {
                self.commit();
                octets = 0;
            }
        }
        self.commit();
        self.rounds.leave_updates(waiting, order);
        self.let_go_of_claims();
    }

    /// Zones of which nothing waits any more may be moved.
    fn let_go_of_claims(&mut self) {
        let zones = &mut self.zones;
        self.claimed.retain(|name| zones.get_mut(name).is_some_and(|zone| !zone.let_go()));
    }

    /// Has an update wait for its zone's turn, unless it came before.
    fn let_wait(&mut self, update: Update) {
        match self.recent.look(&update) {
            Known::New => {
                if let Err(update) = self.rounds.push(update) {
                    self.reply(*update, Said::not_now());
                }
            }
            // The one that came before is replied to.
            Known::Waits => {}
            Known::Said(said) => update.reply(said, wall()),
        }
    }

    pub(super) fn reply(&mut self, update: Update, said: Said) {
        self.recent.done(&update, said);
        update.reply(said, wall());
    }

    pub(super) fn reply_all(&mut self, requests: impl IntoIterator<Item = Update>, said: Said) {
        requests.into_iter().for_each(|update| self.reply(update, said));
    }
}
