//! Zones that are transferred from other servers: one thread has the schedule of all of them, another makes data of what came.
//!
//! ```text
//! NOTIFY, commands, zones and remotes that are others --> thread `secondaries`: Schedule --tasks--> Prober, Transfers
//!      who is current, what failed <---------------------------------'  ^                               |
//!                                                                       |  what came of it              | reports
//!                       zone as a whole: pack -> catalog ---------------+--- thread `transferred` <-----'
//!                       differences: changer -> delta -> log -> catalog -'
//! ```
//!
//! * [`scheduler`]: the first thread; [`zones`]: which zones there are, and whom each is asked of; [`past`]: what came of it, for operators.
//! * [`data`]: the second thread; [`former`]: transfers that nobody wants any more; [`notice`]: NOTIFY; [`shares`]: what transfers may take of the machine.
//!
//! The design is in `docs/design/secondary.md`.

mod data;
mod former;
mod notice;
mod past;
mod scheduler;
pub(crate) mod shares;
mod zones;

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sync::{Mutex, RwLock};
use transfer::notify::{Remote, RemoteName};
use transfer::refresh::{Answer, Bounds, Job, Kept, Settings};
use wire::{Name, NameBuf};

use crate::command::TransfersIn;
use crate::controller::Controller;
use crate::secondary::runs::Share;
use crate::secondary::{Report, Room};
use crate::settings::SecondarySettings;

use former::Former;
use past::Came;

pub(crate) use notice::Notice;

/// Notices that wait: what a primary of 10,000 zones sends in a moment when it comes back, some 500 octets each. Of more, those in datagrams are
/// dropped, as they are sent again.
const NOTICES_MAX: usize = 16_384;
/// How long somebody at the control socket waits for the thread.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// How often it is seen meanwhile whether the thread is busy for long.
const ANSWER_LOOK: Duration = Duration::from_millis(20);
/// How it stands with zones while they are taken over.
const IS_LOOKING: &str = "not known now, as zones are taken over from the settings";

/// What the thread is told.
enum Message {
    /// What came of a probe.
    Report(Box<Report>),
    /// All of a transfer has come.
    Arrived(Job),
    /// What came of a transfer, once it is served, and what was transferred.
    Done(Job, Answer, Option<Came>),
    /// A NOTIFY.
    Notice(Notice),
    /// A command for a zone; whether there is one.
    Command(NameBuf, Command, SyncSender<bool>),
    /// How it stands with a zone, in words, and what came of asking for it.
    Words(NameBuf, SyncSender<Option<(String, TransfersIn)>>),
    /// These zones, in lower case, are others of their names from now on, or none.
    Forget(Vec<NameBuf>),
    /// These zones may be others.
    LookAt(Vec<NameBuf>),
    /// Zones or remotes may be others.
    Look,
    /// Nothing more.
    End,
}

/// What an operator can have done with a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Check it now.
    Refresh,
    /// Transfer all of it now, whatever its serial.
    Retransfer,
}

/// The zones that are transferred from others, as other threads see them.
pub(crate) struct Secondaries {
    /// Whose zones these are, once there are workers.
    owner: OnceLock<Weak<Controller>>,
    /// There with the threads.
    sender: OnceLock<Sender<Message>>,
    /// Whether the thread takes over which zones there are: seconds for a million.
    is_looking: AtomicBool,
    /// Notices that wait.
    notices: AtomicUsize,
    /// The age of zones that the log has, until the thread takes it.
    kept: Mutex<HashMap<NameBuf, Kept>>,
    /// Where other servers are, by what settings call them.
    remotes: Mutex<Arc<HashMap<RemoteName, Remote>>>,
    settings: OnceLock<SecondarySettings>,
    /// Octets that are left for files of large zones while they come, from primaries and stores alike.
    files: OnceLock<Arc<Share>>,
    /// Read by who serves what came, or gives up what is too old.
    serving: RwLock<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Secondaries {
    /// Before there are threads.
    pub(crate) fn new() -> Secondaries {
        Secondaries {
            owner: OnceLock::new(),
            sender: OnceLock::new(),
            is_looking: AtomicBool::new(false),
            notices: AtomicUsize::new(0),
            kept: Mutex::named("ages of zones", HashMap::new()),
            remotes: Mutex::named("primaries", Arc::default()),
            settings: OnceLock::new(),
            files: OnceLock::new(),
            serving: RwLock::named("serving what came", ()),
            threads: Mutex::named("secondaries", Vec::new()),
        }
    }

    /// What is left for the files of large zones, of all who write such: as much as who is first finds in `room`.
    pub(crate) fn files(&self, room: &Room) -> Arc<Share> {
        Arc::clone(self.files.get_or_init(|| Arc::new(Share::new(room.files_octets))))
    }

    /// Takes over what the log has of the age of zones.
    pub(crate) fn set_kept(&self, kept: HashMap<NameBuf, Kept>) {
        *self.kept.lock() = kept;
    }

    /// The ages that the log has.
    pub(crate) fn all_kept(&self) -> HashMap<NameBuf, Kept> {
        self.kept.lock().clone()
    }

    /// The age of a zone, in lower case, as the log has it.
    pub(crate) fn kept(&self, name: &Name) -> Option<Kept> {
        self.kept.lock().get(&name.to_lowercase()).copied()
    }

    /// The same, once: it is that of a start, and the thread knows better from then on.
    fn take_kept(&self, name: &NameBuf) -> Option<Kept> {
        self.kept.lock().remove(name)
    }

    /// Has nothing that comes be served and nothing be given up until what this gives is dropped, as another server is to take over that does not hear of it:
    /// it would begin with what was before. Transfers go on, and what comes of them waits.
    pub(crate) fn rest(&self) -> impl Sized + '_ {
        self.serving.write()
    }

    /// Takes over where other servers are. `settings` count once.
    pub(crate) fn set_remotes(&self, remotes: HashMap<RemoteName, Remote>, settings: &SecondarySettings) {
        *self.remotes.lock() = Arc::new(remotes);
        let _ = self.settings.set(settings.clone());
        self.look();
    }

    /// Where other servers are, by what settings call them.
    pub(crate) fn remotes(&self) -> Arc<HashMap<RemoteName, Remote>> {
        Arc::clone(&self.remotes.lock())
    }

    /// Threads may be started from now on, by whoever has shown what is stored: what is not shown by then counts as not there.
    pub(crate) fn begin(&self, controller: &Arc<Controller>) {
        let _ = self.owner.set(Arc::downgrade(controller));
    }

    /// Has the thread look which zones there are. It is started with the first zone, as most servers have none.
    pub(crate) fn look(&self) {
        if self.sender.get().is_none()
            && let Err(error) = self.start()
        {
            tracing::error!(%error, "a thread for zones of other servers cannot be started: {error}; none is transferred until the next reload");
        }
        self.send(Message::Look);
    }

    /// The same of these zones alone: their number is what it costs.
    pub(crate) fn look_at(&self, zones: Vec<NameBuf>) {
        match self.is_running() {
            true => self.send(Message::LookAt(zones)),
            // All are looked at when it starts.
            false => self.look(),
        }
    }

    /// Has the thread forget zones, in lower case; those that there still are begin without data at the next look.
    pub(crate) fn forget(&self, zones: Vec<NameBuf>) {
        let mut kept = self.kept.lock();
        for zone in &zones {
            kept.remove(zone);
        }
        drop(kept);
        self.send(Message::Forget(zones));
    }

    /// Starts the threads, unless there is no zone for them.
    fn start(&self) -> io::Result<()> {
        let Some(controller) = self.owner.get().and_then(Weak::upgrade) else { return Ok(()) };
        if !controller.zones.read().has_secondaries() {
            return Ok(());
        }
        let mut threads = self.threads.lock();
        if self.sender.get().is_some() {
            return Ok(());
        }
        let (sender, received) = channel();
        let settings = self.settings.get().cloned().unwrap_or_default();
        let former = Former::default();
        let (reports, data) = data::start(&controller, sender.clone(), former.clone())?;
        let scheduler = scheduler::Scheduler::new(&controller, settings, sender.clone(), (reports, former))?;
        let thread = std::thread::Builder::new().name("secondaries".into());
        let thread = thread.spawn(move || scheduler.run(&received))?;
        threads.extend([thread, data]);
        let _ = self.sender.set(sender);
        Ok(())
    }

    /// Whether there is a thread that knows primaries: without one no zone is transferred.
    pub(crate) fn is_running(&self) -> bool {
        self.sender.get().is_some()
    }

    /// Takes a NOTIFY. The error: the notice, as too many wait, or nobody takes any.
    pub(crate) fn notice(&self, notice: Notice) -> Result<(), Notice> {
        let Some(sender) = self.sender.get() else { return Err(notice) };
        if self.notices.fetch_add(1, Ordering::Relaxed) >= NOTICES_MAX {
            self.notices.fetch_sub(1, Ordering::Relaxed);
            return Err(notice);
        }
        sender.send(Message::Notice(notice)).map_err(|refused| {
            self.notices.fetch_sub(1, Ordering::Relaxed);
            match refused.0 {
                Message::Notice(notice) => notice,
                _ => unreachable!("what was given comes back"),
            }
        })
    }

    /// Has something done with a zone. The error: why not, for the operator.
    pub(crate) fn command(&self, name: &Name, command: Command) -> Result<(), String> {
        let none = || format!("zone {name} is not transferred from others");
        if !self.is_running() {
            return Err(none());
        }
        let (reply, replied) = sync_channel(1);
        self.send(Message::Command(name.to_lowercase(), command, reply));
        match replied.recv_timeout(ANSWER_WAIT) {
            Ok(true) => Ok(()),
            Ok(false) => Err(none()),
            Err(_) => Err("the server is busy with other zones; try again".into()),
        }
    }

    /// The same without waiting for an answer.
    pub(crate) fn ask_for(&self, name: &Name, command: Command) {
        let (reply, _) = sync_channel(1);
        self.send(Message::Command(name.to_lowercase(), command, reply));
    }

    /// How it stands with a zone, in words, and what came of asking for it, if it is transferred from others.
    pub(crate) fn words(&self, name: &Name) -> Option<(String, TransfersIn)> {
        let (reply, replied) = sync_channel(1);
        self.send(Message::Words(name.to_lowercase(), reply));
        let until = Instant::now() + ANSWER_WAIT;
        loop {
            match replied.recv_timeout(ANSWER_LOOK) {
                Ok(words) => return words,
                Err(RecvTimeoutError::Timeout) if self.is_looking.load(Ordering::Relaxed) => {
                    return Some((IS_LOOKING.to_owned(), TransfersIn::default()));
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => return None,
            }
        }
    }

    /// Ends the threads; waits for that. What is being transferred is lost.
    pub(crate) fn stop(&self) {
        self.send(Message::End);
        for thread in std::mem::take(&mut *self.threads.lock()) {
            // What it had to say of a panic it has said.
            let _ = thread.join();
        }
    }

    fn send(&self, message: Message) {
        if let Some(sender) = self.sender.get() {
            // Nobody is there to be told at the very end.
            drop(sender.send(message));
        }
    }
}

/// Bounds of the schedule by the settings.
fn schedule_settings(settings: &SecondarySettings) -> Settings {
    let bounds = Bounds {
        refresh: (settings.refresh_min_seconds, settings.refresh_max_seconds),
        retry: (settings.retry_min_seconds, settings.retry_max_seconds),
        expire_max: settings.expire_max_seconds,
    };
    let transfers = (settings.transfers, settings.transfers_per_primary.min(settings.transfers));
    Settings { bounds, transfers, ..Settings::default() }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// While a million zones are taken over nobody at the control socket waits for the thread that does it.
    #[test]
    fn nobody_waits_while_zones_are_taken_over() {
        let (secondaries, zone) = (Secondaries::new(), "a.test".parse::<NameBuf>().unwrap());
        let (sender, received) = channel();
        assert!(secondaries.sender.set(sender).is_ok());
        secondaries.is_looking.store(true, Ordering::Relaxed);
        let began = Instant::now();
        let (words, _) = secondaries.words(&zone).unwrap();
        assert!(words.contains("taken over") && began.elapsed() < ANSWER_WAIT / 2, "{words}");
        // Else it is the thread that says it.
        secondaries.is_looking.store(false, Ordering::Relaxed);
        let thread = std::thread::spawn(move || {
            let mut words = received.iter().filter_map(|message| match message {
                Message::Words(_, reply) => Some(reply),
                _ => None,
            });
            // The first was given up.
            let _ = words.next().unwrap().try_send(None);
            std::thread::sleep(3 * ANSWER_LOOK);
            words.next().unwrap().send(Some(("current".to_owned(), TransfersIn::default()))).unwrap();
        });
        assert_eq!(secondaries.words(&zone).unwrap().0, "current");
        thread.join().unwrap();
    }
}
