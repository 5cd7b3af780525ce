//! Zones that change, as other threads see them: what they ask of the changer waits in its queue.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sync::Mutex;
use wire::NameBuf;

use super::alter::{Alter, Stored};
use super::changer::{Changer, wall};
use super::edit::EditJob;
use super::incoming::{Incoming, Told};
use super::outline::Outline;
use super::queue::Queue;
use super::renewal::Rules;
use super::update::{Said, Update};
use crate::command::Count;

/// Zones that change, as others see it: what waits for the changer.
pub(crate) struct Dynamic {
    pub(super) queue: Queue<Job>,
    /// Zones that are served no more as they had changed. Beside the queue, as there is always room.
    leaving: Mutex<Vec<Leaving>>,
    /// What became of changes that stores were asked for, likewise: as many as the API lets in.
    pub(super) stored: Mutex<Vec<Stored>>,
    is_running: AtomicBool,
    /// See [`Dynamic::hold`].
    pub(super) is_held: AtomicBool,
    /// Whether the log is begun, for others.
    pub(super) is_open: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// How the log is.
    pub(super) outline: Outline,
    /// Zones of which the start took images.
    pub(super) from_images: AtomicUsize,
    /// Zones that the changer has, and octets of what has changed in them; zones that came to rest.
    pub(super) changed: AtomicUsize,
    /// See `changed`.
    pub(super) changed_octets: AtomicU64,
    /// See `changed`.
    pub(super) rested: AtomicU64,
    /// Checkpoints of the log, and octets of what zones said anew in the last one.
    pub(super) checkpoints: AtomicU64,
    /// See `checkpoints`.
    pub(super) checkpoint_octets: AtomicU64,
    /// Others than usual, in tests.
    pub(super) rules: OnceLock<Rules>,
}

impl Dynamic {
    /// Before there is a thread.
    pub(crate) fn new() -> Dynamic {
        let (is_running, is_held, is_open) = <[AtomicBool; 3]>::default().into();
        let leaving = Mutex::named("zones that go", Vec::new());
        let stored = Mutex::named("changes in stores", Vec::new());
        let thread = Mutex::named("changer", None);
        let [from_images, changed] = <[AtomicUsize; 2]>::default();
        let [changed_octets, rested, checkpoints, checkpoint_octets] = <[AtomicU64; 4]>::default();
        Dynamic {
            queue: Queue::new(),
            leaving,
            stored,
            is_running,
            is_held,
            is_open,
            thread,
            outline: Outline::new(),
            from_images,
            changed,
            changed_octets,
            rested,
            checkpoints,
            checkpoint_octets,
            rules: OnceLock::new(),
        }
    }

    /// What is counted.
    pub(crate) fn counts(&self) -> [Count; 3] {
        let count = |name: &str, help: &str, count| Count { name: name.into(), count, help: help.into() };
        [
            count(
                "zones-changed",
                "Zones that have changed in place and were not stored anew since.",
                self.changed.load(Ordering::Relaxed) as u64,
            ),
            count(
                "zones-changed-octets",
                "Octets of memory of what has changed in them.",
                self.changed_octets(),
            ),
            count(
                "zones-rested",
                "Times that a zone was stored with all that had changed.",
                self.rested.load(Ordering::Relaxed),
            ),
        ]
    }

    /// Octets of memory of zones that have changed, as of some moments ago.
    pub(crate) fn changed_octets(&self) -> u64 {
        self.changed_octets.load(Ordering::Relaxed)
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

    /// Takes what was edited in a text. Octets of the edit count as one request: edits come one by one.
    pub(crate) fn edit(&self, job: EditJob) {
        self.ask(Job::Edit(Box::new(job)));
    }

    /// Tells once all that was asked before is served.
    pub(crate) fn barrier(&self, zone: NameBuf, told: Told) {
        self.ask(Job::Barrier(zone, told));
    }

    /// Tells once all that was begun of any zone is durable or refused; where that is not so by `until`, that it is not.
    pub(crate) fn settle(&self, told: Told, until: Instant) {
        self.ask(Job::Settle(told, until, Instant::now()));
    }

    /// Goes on with a zone that the log has lost changes of.
    pub(crate) fn accept_loss(&self, zone: NameBuf, told: Told) {
        self.ask(Job::AcceptLoss(zone, told));
    }

    /// Whether zones can be changed in place at all.
    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire)
    }

    fn ask(&self, job: Job) {
        if self.is_running() {
            // What comes back says that it is not done when it is dropped.
            drop(self.queue.push(job, 0));
        }
    }

    /// A zone that had changed in place is served no more: nothing of it may come back.
    pub(crate) fn removed(&self, zone: NameBuf) {
        self.leave(Leaving { zone, is_replaced: false, done: None });
    }

    /// A zone that had changed in place is about to be served from something else: nothing of it may come back once this returns. Waits for the disk, for a
    /// while; says whether the log has nothing of it any more: else it may come back, should the server be killed before the log can be written again.
    pub(crate) fn replaced(&self, zone: NameBuf) -> bool {
        let (done, is_done) = sync_channel(1);
        let is_running = self.is_running.load(Ordering::Acquire);
        if is_running {
            self.leave(Leaving { zone, is_replaced: true, done: Some(done) });
        }
        is_running && is_done.recv_timeout(REPLACE_PATIENCE).unwrap_or(false)
    }

    /// Whether the changer writes nothing, as another server is to take over.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::SeqCst)
    }

    fn leave(&self, leaving: Leaving) {
        if self.is_running.load(Ordering::Acquire) {
            self.leaving.lock().push(leaving);
            self.queue.wake();
        }
    }

    /// Those that go, since this was asked last.
    pub(super) fn take_leaving(&self) -> Vec<Leaving> {
        std::mem::take(&mut *self.leaving.lock())
    }

    /// Has zones that change be merged, as the packs below them are to be given up. Where too much waits they are found again.
    pub(crate) fn give_up(&self, zones: Vec<NameBuf>) {
        if self.is_running.load(Ordering::Acquire) {
            let octets = zones.iter().map(|zone| zone.octets().len()).sum();
            drop(self.queue.push(Job::GiveUp(zones), octets));
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

    /// Starts the changer's thread.
    pub(super) fn start(self: &Arc<Dynamic>, changer: Changer) -> std::io::Result<()> {
        self.is_running.store(true, Ordering::Release);
        let ends = Ends(Arc::clone(self));
        let thread = std::thread::Builder::new().name("changer".into()).spawn(move || {
            let _ends = ends;
            changer.run();
        })?;
        *self.thread.lock() = Some(thread);
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
        for job in self.0.queue.end() {
            // The others tell as they are dropped.
            if let Job::Update(update) = job {
                update.reply(Said::not_now(), wall());
            }
        }
    }
}

/// What waits for the changer.
pub(super) enum Job {
    Update(Box<Update>),
    Incoming(Incoming),
    Edit(Box<EditJob>),
    Alter(Box<Alter>),
    Barrier(NameBuf, Told),
    /// Until when that is waited for, and since when: what is begun later is not.
    Settle(Told, Instant, Instant),
    AcceptLoss(NameBuf, Told),
    GiveUp(Vec<NameBuf>),
}

/// A zone that goes.
pub(super) struct Leaving {
    pub(super) zone: NameBuf,
    /// Whether its slot may show it still.
    pub(super) is_replaced: bool,
    /// Told whether the log says so, or has nothing of it.
    pub(super) done: Option<SyncSender<bool>>,
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
/// How long a zone that came as a whole waits for the log: as long as that takes to be full for good.
const REPLACE_PATIENCE: Duration = Duration::from_secs(3);
