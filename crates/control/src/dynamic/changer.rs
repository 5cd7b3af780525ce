//! The changer: the thread that owns all that changes zones in place.
//!
//! ```text
//! take all that waits -> by zone -> Draft: each update all or nothing -> Change -> delta: next state, seen by nobody
//!                                                                           `-> record of the log
//! write and sync -> publish -> replies            failed: states taken back, newest first; SERVFAIL when that is certain
//! ```

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use change::draft::NoChange;
use change::{Applied, Draft, Failure, Request, Terms};
use journal::commit::{Condition, TICK};
use journal::{Body, Committer, Entry, Recovery, Refusal};
use sync::Mutex;
use transfer::refresh::Kept;
use wire::iana::{ede, rcode};
use wire::{Name, NameBuf};
use zone::catalog::View;

use super::checkpoint::{self, Checkpoint, Floor};
use super::group::{Commit, Event, Events, Payload, entry};
use super::incoming::Incoming;
use super::queue::Queue;
use super::recent::{Known, Recent};
use super::update::{Said, Update};
use super::zone::DynamicZone;
use crate::controller::Controller;

/// How long after the last group the log is looked at again, so that it marks the end of that one.
const QUIET: Duration = Duration::from_secs(3);
/// Differences that one zone makes of what waits for it, at most: each is a version. What is left waits for the next turn.
const VERSIONS_A_TURN: usize = 64;

/// Zones that change, as others see it: what waits for the changer.
pub(crate) struct Dynamic {
    queue: Queue<Job>,
    is_running: AtomicBool,
    /// See [`Dynamic::hold`].
    is_held: AtomicBool,
    /// Whether the log is begun, for others.
    is_open: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Dynamic {
    /// Before there is a thread.
    pub(crate) fn new() -> Dynamic {
        let (is_running, is_held, is_open) = <[AtomicBool; 3]>::default().into();
        Dynamic { queue: Queue::new(), is_running, is_held, is_open, thread: Mutex::named("changer", None) }
    }

    /// Takes a request.
    ///
    /// # Errors
    ///
    /// The request, if too many wait, or there is no changer.
    pub(crate) fn request(&self, update: Box<Update>) -> Result<(), Box<Update>> {
        if !self.is_running.load(Ordering::Acquire) {
            return Err(update);
        }
        let octets = update.octets();
        self.queue.push(Job::Update(update), octets).map_err(|job| match job {
            Job::Update(update) => update,
            _ => unreachable!("what was given comes back"),
        })
    }

    /// Takes what a secondary zone got from its primary.
    pub(crate) fn incoming(&self, incoming: Incoming) {
        let octets = incoming.octets();
        if self.is_running.load(Ordering::Acquire) {
            // What comes back says that it is not taken when it is dropped.
            drop(self.queue.push(Job::Incoming(incoming), octets));
        }
    }

    /// A zone that had changed in place is served no more: nothing of it may come back.
    pub(crate) fn removed(&self, zone: NameBuf) {
        if self.is_running.load(Ordering::Acquire) && self.queue.push(Job::Removed(zone), 0).is_err() {
            tracing::error!(
                "too much waits for the changer: a zone that was removed may be served again after the next start, until its settings are read"
            );
        }
    }

    /// Has the changer write nothing until what this gives is dropped, as another server is to take over, which reads the log. The error: it is not done
    /// with what it writes.
    pub(crate) fn hold(&self) -> Result<Held<'_>, &'static str> {
        self.is_held.store(true, Ordering::SeqCst);
        let held = Held(self);
        let until = Instant::now() + HOLD_PATIENCE;
        while self.is_open.load(Ordering::SeqCst) {
            if Instant::now() > until {
                return Err("the log of changes is being written, or cannot be written");
            }
            self.queue.wake();
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(held)
    }

    /// Starts the changer with what a start found: its zones and its log.
    pub(super) fn start(
        controller: &Arc<Controller>,
        zones: HashMap<NameBuf, DynamicZone>,
        found: (Recovery, Floor),
    ) -> std::io::Result<()> {
        let mut changer = Changer {
            controller: Arc::clone(controller),
            zones,
            log: Log::Read(Some(Box::new(found))),
            checkpoint: None,
            ages: controller
                .secondaries
                .all_kept()
                .into_iter()
                .map(|(name, kept)| (name, (0, kept)))
                .collect(),
            recent: Recent::default(),
            condition: Condition::Ready,
            last: None,
        };
        // What was read may be in memory alone: where there is anything it is made sure of before anybody is told.
        if !changer.zones.is_empty() {
            let _ = changer.open_log();
        }
        controller.dynamic.is_running.store(true, Ordering::Release);
        let thread = std::thread::Builder::new().name("changer".into()).spawn(move || {
            let _ends = Ends(Arc::clone(&changer.controller.dynamic));
            changer.run();
        })?;
        *controller.dynamic.thread.lock() = Some(thread);
        Ok(())
    }

    /// Ends the changer, once what waits is done; waits for that.
    pub(crate) fn stop(&self) {
        self.queue.close();
        if let Some(thread) = self.thread.lock().take() {
            // What it had to say of a panic it has said.
            let _ = thread.join();
        }
    }
}

/// Has nothing be taken any more once the changer ends, by a panic too: clients are told so instead of waiting.
struct Ends(Arc<Dynamic>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::Release);
        self.0.queue.close();
    }
}

/// What waits for the changer.
enum Job {
    Update(Box<Update>),
    Incoming(Incoming),
    Removed(NameBuf),
}

/// The changer writes nothing as long as this lives.
pub(crate) struct Held<'d>(&'d Dynamic);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.is_held.store(false, Ordering::SeqCst);
    }
}

/// How long an upgrade waits for the changer: some syncs of a busy disk.
const HOLD_PATIENCE: Duration = Duration::from_secs(10);

/// The log: not written to before the first change, as most servers have none.
pub(super) enum Log {
    /// As it was found.
    Read(Option<Box<(Recovery, Floor)>>),
    /// Another server could have it: it is to be read again.
    Closed,
    /// Begun.
    Open(Box<Open>),
}

pub(super) struct Open {
    pub(super) committer: Committer<Payload>,
    events: Events,
    floor: Floor,
    _preparer: journal::log::Preparer,
}

/// What waits for one zone.
type Waiting = VecDeque<(Request, Update)>;

pub(super) struct Changer {
    pub(super) controller: Arc<Controller>,
    /// By name in lower case.
    pub(super) zones: HashMap<NameBuf, DynamicZone>,
    pub(super) log: Log,
    recent: Recent,
    condition: Condition,
    /// The one that is under way.
    pub(super) checkpoint: Option<Checkpoint>,
    /// When zones of others were checked, as the log has it, and their serials then: a checkpoint says it again.
    pub(super) ages: HashMap<NameBuf, (u32, Kept)>,
    /// When something was committed last.
    last: Option<Instant>,
}

/// Seconds since 1970.
pub(super) fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Changer {
    fn run(mut self) {
        let started = Instant::now();
        loop {
            self.hold();
            let now = Instant::now();
            let is_busy =
                self.condition != Condition::Ready || self.last.is_some_and(|last| now - last < QUIET);
            let pause = if self.checkpoint.is_some() { Duration::ZERO } else { TICK };
            let until = is_busy.then(|| now + pause);
            let Some(jobs) = self.controller.dynamic.queue.take(until) else { return };
            self.turn(jobs);
            self.shorten();
            if let Log::Open(open) = &self.log
                && is_busy
            {
                open.committer.tick(started.elapsed());
                self.look_at_events();
            }
        }
    }

    /// Has some more zones say anew what their changes begin from, where the log is long; once all have, what is before goes.
    fn shorten(&mut self) {
        if self.condition != Condition::Ready {
            return;
        }
        let Log::Open(open) = &mut self.log else { return };
        if self.checkpoint.is_none() {
            let status = open.committer.status();
            if !Checkpoint::is_due(&status) {
                return;
            }
            self.checkpoint = Some(Checkpoint::begin(&status, self.zones.keys().cloned()));
            if !self.ages.is_empty() {
                return self.write_ages();
            }
        }
        let Some(checkpoint) = &mut self.checkpoint else { return };
        let (zones, first) = (&self.zones, checkpoint.first);
        match checkpoint.next(&self.controller, |name| zones.get(name), wall()) {
            Ok(Some(entries)) => {
                for entry in entries {
                    let generation = open.committer.generation();
                    if open.committer.enqueue_urgent(generation, Arc::new(entry), Payload::Base).is_err() {
                        self.checkpoint = None;
                        return;
                    }
                }
                self.commit();
            }
            Ok(None) => {
                self.checkpoint = None;
                let (identity, status) =
                    (open.committer.with_log(journal::Log::identity), open.committer.status());
                match open.floor.raise(identity, first, &status, wall()) {
                    Ok(()) => open.committer.release(first),
                    Err(error) => tracing::error!(%error, "the log of changes cannot be shortened: {error}"),
                }
                self.look_at_events();
            }
            Err(zone) => {
                self.checkpoint = None;
                tracing::error!(%zone, "the log of changes cannot be shortened: zone {zone} differs too much from what is stored of it, or that cannot be stored");
            }
        }
    }

    /// Closes the log if that is asked for, and all that is written is decided.
    fn hold(&mut self) {
        let dynamic = &self.controller.dynamic;
        if dynamic.is_held.load(Ordering::SeqCst)
            && matches!(self.log, Log::Open(_))
            && self.condition == Condition::Ready
        {
            self.log = Log::Closed;
            dynamic.is_open.store(false, Ordering::SeqCst);
        }
    }

    /// Does all that was taken from the queue.
    fn turn(&mut self, jobs: Vec<Job>) {
        let mut waiting: HashMap<NameBuf, Waiting> = HashMap::new();
        let mut order: Vec<NameBuf> = Vec::new();
        let mut is_incoming = false;
        for job in jobs {
            let update = match job {
                Job::Update(update) => *update,
                Job::Incoming(incoming) => {
                    is_incoming = true;
                    self.take_incoming(incoming);
                    continue;
                }
                Job::Removed(zone) => {
                    self.forget(&zone);
                    continue;
                }
            };
            match self.recent.look(&update) {
                Known::New => {}
                // The one that came before is replied to.
                Known::Waits => continue,
                Known::Said(said) => {
                    update.reply(said, wall());
                    continue;
                }
            }
            let request = match Request::read(&update.message) {
                Ok(request) => request,
                Err(failure) => {
                    self.reply(update, Said::from(&failure));
                    continue;
                }
            };
            let zone = request.zone().to_lowercase();
            let queue = waiting.entry(zone.clone()).or_insert_with(|| {
                order.push(zone);
                VecDeque::new()
            });
            queue.push_back((request, update));
        }
        self.recent.end_look();
        if is_incoming {
            self.commit();
        }
        while !waiting.is_empty() {
            for name in &order {
                if let Some(requests) = waiting.get_mut(name) {
                    self.work_out(name, requests);
                    if requests.is_empty() {
                        waiting.remove(name);
                    }
                }
            }
            self.commit();
        }
    }

    /// A zone is served no more, unless it has come again meanwhile: with the next group the log says so.
    fn forget(&mut self, name: &Name) {
        let catalog = &self.controller.catalog;
        let Some(zone) = self.zones.get_mut(name) else { return };
        if zone.is_shown(catalog) || zone.is_waiting() || self.open_log().is_err() {
            return;
        }
        let serial =
            self.zones.remove(name).and_then(|zone| Some(zone.newest()?.row().serial)).unwrap_or_default();
        let Log::Open(open) = &self.log else { return };
        let Ok(entry) = Entry::new(name, serial, serial, wall(), Body::Removed) else { return };
        if open.committer.enqueue(open.committer.generation(), Some(Arc::new(entry)), Payload::Base).is_ok() {
            self.commit();
        }
    }

    fn reply(&mut self, update: Update, said: Said) {
        self.recent.done(&update, said);
        update.reply(said, wall());
    }

    fn reply_all(&mut self, requests: impl IntoIterator<Item = Update>, said: Said) {
        requests.into_iter().for_each(|update| self.reply(update, said));
    }

    /// Works out what waits for a zone, and has it wait for the disk; what cannot be done is replied to at once.
    fn work_out(&mut self, name: &Name, requests: &mut Waiting) {
        let all = |requests: &mut Waiting| requests.drain(..).map(|(_, update)| update).collect::<Vec<_>>();
        if let Err(said) = self.open_log() {
            return self.reply_all(all(requests), said);
        }
        if self.controller.is_secondary(name) {
            // Its primary is to be told.
            let said = Said { rcode: rcode::REFUSED, ede: Some(ede::PROHIBITED) };
            return self.reply_all(all(requests), said);
        }
        if let Err(said) = self.enter(name) {
            return self.reply_all(all(requests), said);
        }
        for _ in 0..VERSIONS_A_TURN {
            if requests.is_empty() {
                return;
            }
            if let Err((said, replies)) = self.make_version(name, requests) {
                self.reply_all(replies, said);
                return self.reply_all(all(requests), said);
            }
        }
    }

    /// Makes one version of a zone of what waits for it, and has it wait for the disk.
    fn make_version(&mut self, name: &Name, requests: &mut Waiting) -> Result<(), (Said, Vec<Update>)> {
        let now = wall();
        let damaged = |replies: Vec<(Update, Said)>| {
            tracing::error!(zone = %name, "zone {name}: its pack cannot be read: not updated");
            (Said::not_now(), replies.into_iter().map(|(update, _)| update).collect::<Vec<_>>())
        };
        let Some(zone) = self.zones.get_mut(name) else { return Err((Said::not_now(), Vec::new())) };
        let mut replies: Vec<(Update, Said)> = Vec::new();
        let Some(view) = zone.newest() else { return Err(damaged(replies)) };
        let own = self.controller.update_terms(name);
        let terms = Terms { policy: own.policy.as_deref(), limits: own.limits, now };
        let Ok(mut draft) = Draft::new(view) else { return Err(damaged(replies)) };
        while let Some((request, update)) = requests.pop_front() {
            match draft.update(&request, &update.asker(), &terms) {
                Ok(Applied::Done) => replies.push((update, Said::DONE)),
                Ok(Applied::Failed(failure)) => {
                    say_failure(name, &update, &failure);
                    replies.push((update, Said::from(&failure)));
                }
                Ok(Applied::CommitFirst) => {
                    requests.push_front((request, update));
                    break;
                }
                Err(change::draft::Damaged) => {
                    replies.push((update, Said::not_now()));
                    return Err(damaged(replies));
                }
            }
        }
        let change = match draft.into_change(own.serial, now) {
            Ok(change) => Some(change),
            Err(NoChange::Nothing) => None,
            Err(NoChange::Damaged) => return Err(damaged(replies)),
        };
        let failed = |replies: Vec<(Update, Said)>| {
            (Said::FAILED, replies.into_iter().map(|(update, _)| update).collect::<Vec<_>>())
        };
        let Log::Open(open) = &self.log else { return Err(failed(replies)) };
        let mut commit = Commit { zone: name.to_owned(), version: None, replies: Vec::new(), told: None };
        let mut record = None;
        if let Some(change) = &change {
            if !zone.is_based {
                let Some(base) = checkpoint::entries(&self.controller, zone, now) else {
                    return Err(failed(replies));
                };
                for entry in base {
                    let generation = open.committer.generation();
                    if open.committer.enqueue(generation, Some(Arc::new(entry)), Payload::Base).is_err() {
                        return Err(failed(replies));
                    }
                }
                zone.is_based = true;
            }
            let Ok(entry) = entry(change, now) else { return Err(failed(replies)) };
            record = Some(Arc::new(entry));
            match zone.apply(change) {
                Ok(applied) => commit.version = Some((applied.changed, applied.parts)),
                Err(refused) => {
                    tracing::error!(zone = %name, "zone {name}: an update that was worked out does not fit: {refused:?}");
                    return Err(failed(replies));
                }
            }
        }
        commit.replies = replies;
        match open.committer.enqueue(open.committer.generation(), record, Payload::Commit(commit)) {
            // It is committed with all that waits.
            Ok(_queued) => Ok(()),
            Err(refused) => {
                if let Payload::Commit(commit) = refused.payload {
                    self.take_back(commit);
                }
                Ok(())
            }
        }
    }

    /// Makes sure that the zone is one that changes, as its slot shows it.
    pub(super) fn enter(&mut self, name: &Name) -> Result<(), Said> {
        let catalog = &self.controller.catalog;
        if let Some(zone) = self.zones.get_mut(name) {
            if zone.fault.is_some() {
                return Err(Said::not_now());
            }
            if zone.is_waiting() || zone.is_shown(catalog) {
                return Ok(());
            }
            self.zones.remove(name);
        }
        match DynamicZone::adopt(catalog, name, |view, slot| self.controller.pack_of_slot(view, slot)) {
            Some(zone) => {
                self.zones.insert(name.to_owned(), zone);
                Ok(())
            }
            None => {
                let absent = catalog.reader().with(|view| {
                    view.slot_named(name)
                        .is_some_and(|slot| !matches!(view.view_of(slot), Some(View::Zone(_))))
                });
                Err(if absent {
                    Said::not_now()
                } else {
                    Said { rcode: rcode::NOTAUTH, ede: Some(ede::NOT_AUTHORITATIVE) }
                })
            }
        }
    }

    /// Makes sure that the log can be written.
    pub(super) fn open_log(&mut self) -> Result<(), Said> {
        if self.controller.dynamic.is_held.load(Ordering::SeqCst) || self.controller.is_held() {
            return Err(Said::not_now());
        }
        if let Log::Closed = self.log {
            match super::recover::read(&self.controller) {
                Ok(found) => self.log = Log::Read(found.map(Box::new)),
                Err(error) => {
                    tracing::error!(error, "{error}; no zone is updated");
                    return Err(Said::not_now());
                }
            }
        }
        if let Log::Read(recovery) = &mut self.log {
            let Some(found) = recovery.take() else { return Err(Said::not_now()) };
            let (recovery, mut floor) = *found;
            let (is_first, first) = (floor.content().is_none(), recovery.next());
            let mut log = recovery.begin();
            // Where that fails the condition says so, and it is tried again.
            let _ = log.decide();
            if is_first && let Err(error) = floor.raise(log.identity(), first, &log.status(), wall()) {
                tracing::error!(%error, "the log of changes cannot be begun: {error}; no zone is updated until the next start");
                return Err(Said::not_now());
            }
            let events = Events::new();
            let preparer = match log.start_preparer(|| {}) {
                Ok(preparer) => preparer,
                Err(error) => {
                    tracing::error!(%error, "a thread for the log of changes cannot be started: {error}; no zone is updated");
                    return Err(Said::not_now());
                }
            };
            let committer = Committer::new(log, Box::new(events.clone()));
            self.condition = committer.condition().0;
            self.log = Log::Open(Box::new(Open { committer, events, floor, _preparer: preparer }));
            self.controller.dynamic.is_open.store(true, Ordering::SeqCst);
        }
        match self.condition {
            Condition::Ready => Ok(()),
            _ => Err(Said::not_now()),
        }
    }

    /// Has all that waits for the disk be written, and goes on with what came of it.
    pub(super) fn commit(&mut self) {
        let Log::Open(open) = &self.log else { return };
        open.committer.run();
        self.last = Some(Instant::now());
        self.look_at_events();
    }

    fn look_at_events(&mut self) {
        let Log::Open(open) = &self.log else { return };
        for event in open.events.take() {
            match event {
                Event::Committed(payloads) => {
                    payloads.into_iter().for_each(|payload| self.committed(payload))
                }
                Event::Refused(payloads, why) => self.refused(payloads, &why),
                Event::Condition(condition) => self.note(condition),
            }
        }
    }

    /// Publishes what is on the disk, and replies.
    fn committed(&mut self, payload: Payload) {
        let Payload::Commit(commit) = payload else { return };
        if let Some((changed, parts)) = commit.version {
            self.controller.make_room();
            let serial = changed.row().serial;
            let zone = self.zones.get_mut(&commit.zone);
            if zone.is_none_or(|zone| zone.publish(&self.controller.catalog, changed, parts).is_err()) {
                tracing::warn!(zone = %commit.zone, "zone {}: updated, and then it was not served any more as it had been", commit.zone);
                self.zones.remove(&commit.zone);
                // Durable, and not served: who asks for it would not find it.
                return self.reply_all(commit.replies.into_iter().map(|(update, _)| update), Said::not_now());
            } else {
                self.controller.tell_changed(&commit.zone, serial);
                if let Some(told) = commit.told {
                    told.done();
                }
            }
        }
        for (update, said) in commit.replies {
            self.reply(update, said);
        }
    }

    fn refused(&mut self, payloads: Vec<Payload>, why: &Refusal) {
        for payload in payloads {
            match payload {
                Payload::Commit(commit) => self.take_back(commit),
                Payload::Checked => {}
                // Which zone it was of is not known: all say once more what they begin from, with their next change.
                Payload::Base => {
                    self.checkpoint = None;
                    self.zones.values_mut().for_each(|zone| zone.is_based = false);
                }
            }
        }
        tracing::debug!("updates are refused: {why}");
    }

    /// Undoes what is not on the disk and never will be, and says so.
    pub(super) fn take_back(&mut self, commit: Commit) {
        if let Some((changed, _)) = &commit.version
            && let Some(zone) = self.zones.get_mut(&commit.zone)
        {
            zone.take_back(changed.state());
        }
        self.reply_all(commit.replies.into_iter().map(|(update, _)| update), Said::not_now());
    }

    fn note(&mut self, condition: Condition) {
        match &condition {
            Condition::Ready => tracing::info!("the log of changes can be written again; zones are updated"),
            Condition::Undecided(error) | Condition::Full(Some(error)) => {
                tracing::error!(
                    error,
                    "the log of changes cannot be written: {error}; updates get SERVFAIL, zones are served as they were"
                );
            }
            Condition::Full(None) => {
                tracing::error!(
                    "the log of changes is full; updates get SERVFAIL, zones are served as they were"
                );
            }
        }
        self.condition = condition;
    }
}

/// What is said of an update that is not done.
fn say_failure(zone: &Name, update: &Update, failure: &Failure) {
    let (address, key) = (update.client, update.key_name().map(ToString::to_string));
    let by = key.as_ref().map_or_else(|| address.to_string(), |key| format!("{address}, key {key}"));
    tracing::info!(zone = %zone, address = %address, "zone {zone}: update of {by} not done: {failure}");
}
