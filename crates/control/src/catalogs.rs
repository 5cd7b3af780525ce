//! Catalog zones (RFC 9432): which zones are served because of them.
//!
//! ```text
//! settings, commands --arrange--> claims settled, members added to what is wanted --.
//! file `members` ---first time----^                                                  v
//! state of a catalog is published -> thread `catalogs`: difference -> plan -> 1,000 steps: lines synced -> controller: zones come and go
//!                                                                        `-- losses beyond the limit wait for `zonda ctl catalog confirm`
//! ```
//!
//! * [`file`]: what is kept on the disk; [`follow`]: the thread, and what it does about a state; [`noted`]: differences that lead to it; [`settle`]: after the settings changed;
//!   [`produce`]: catalogs that are made here; [`words`]: what operators see.
//!
//! Claims change only while a change is under way (`Controller::change`), and are locked for a batch of steps at a time. The design is in
//! `docs/design/catalog-zones.md`.

mod file;
mod follow;
mod noted;
mod produce;
mod settle;
mod words;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use sync::Mutex;
use transfer::catalog_zone::{Claims, Counts};
use wire::{Name, NameBuf};
use zone::Change;

use self::file::MembersFile;
use self::noted::Noted;
use crate::controller::Controller;
use crate::sources::SourceId;

/// What the thread is told.
enum Message {
    /// Something may be new.
    Look,
    /// Zones may be others that catalogs made here list; whether their groups, too.
    Make(bool),
    /// What waits of a catalog may go on; the reply: what that was, or why nothing did.
    Confirm(NameBuf, SyncSender<Result<String, String>>),
    /// Nothing more.
    End,
}

/// Catalogs, as other threads see them.
pub(crate) struct Catalogs {
    state: Mutex<State>,
    /// What was wrong when that was looked at last.
    problems: Mutex<Vec<String>>,
    /// Names of catalogs that are followed, in lower case.
    names: Mutex<HashSet<NameBuf>>,
    /// What has come of them by differences.
    noted: Mutex<Noted>,
    /// Whether there are any: most servers have none, and look no further.
    is_any: AtomicBool,
    /// Zones, in lower case, that were removed by command: those that come again are others of the same name.
    renewed: Mutex<HashSet<NameBuf>>,
    /// Whose catalogs these are, once there are workers.
    owner: OnceLock<Weak<Controller>>,
    /// Whether what is stored is shown, and what settings say is loaded: before, a catalog without data is no lost one.
    is_loaded: AtomicBool,
    /// There with the thread.
    sender: OnceLock<Sender<Message>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// What seconds are counted from.
    started: Instant,
}

/// What is claimed, and what is known of each catalog.
#[derive(Default)]
struct State {
    claims: Claims,
    file: MembersFile,
    /// Whether the file was read.
    is_read: bool,
    /// Why the file does not have what it should.
    problem: Option<String>,
    /// By name in lower case.
    about: HashMap<NameBuf, About>,
    /// Catalogs that are made here, in lower case.
    made: HashSet<NameBuf>,
    /// Where members come from, by catalog in lower case and template; numbers of the controller's sources.
    sources: HashMap<(NameBuf, Box<str>), SourceId>,
}

/// What is known of a catalog beside its claims.
#[derive(Clone, Debug, Default)]
struct About {
    /// The serial of the state that was looked at last. `None`: none, or it is to be looked at again.
    seen: Option<u32>,
    /// Why that state is not processed.
    broken: Option<String>,
    /// What of it waits.
    waits: Option<Counts>,
    /// What was done last, in words, and when, in seconds since 1970.
    done: Option<(String, u64)>,
}

impl Catalogs {
    /// Before there is a thread.
    pub(crate) fn new() -> Catalogs {
        Catalogs {
            state: Mutex::named("catalogs", State::default()),
            problems: Mutex::named("what is wrong with catalogs", Vec::new()),
            names: Mutex::named("names of catalogs", HashSet::new()),
            noted: Mutex::named("differences of catalogs", Noted::default()),
            is_any: AtomicBool::new(false),
            renewed: Mutex::named("renewed zones", HashSet::new()),
            owner: OnceLock::new(),
            is_loaded: AtomicBool::new(false),
            sender: OnceLock::new(),
            thread: Mutex::named("catalogs thread", None),
            started: Instant::now(),
        }
    }

    /// A zone is published in another state: it may be a catalog.
    pub(crate) fn published(&self, zone: &Name) {
        if self.is_any.load(Ordering::Relaxed) && self.names.lock().contains(&zone.to_lowercase()) {
            self.look();
        }
    }

    /// All of a zone is published anew: it may be a catalog.
    pub(crate) fn replaced(&self, zone: &Name) {
        if self.is_any.load(Ordering::Relaxed) && self.names.lock().contains(&zone.to_lowercase()) {
            self.noted.lock().replace(zone);
            self.look();
        }
    }

    /// Differences of a zone have come, and are on their way to be served: it may be a catalog.
    pub(crate) fn coming(&self, zone: &Name, changes: &[Change]) {
        if self.is_any.load(Ordering::Relaxed) && self.names.lock().contains(&zone.to_lowercase()) {
            self.noted.lock().note(zone, changes);
        }
    }

    /// The thread may be started from now on.
    pub(crate) fn begin(&self, controller: &Arc<Controller>) {
        let _ = self.owner.set(Arc::downgrade(controller));
        self.start_if_any();
    }

    /// What settings say is loaded for the first time.
    pub(crate) fn loaded(&self) {
        self.is_loaded.store(true, Ordering::SeqCst);
        self.start_if_any();
    }

    /// Has the thread look whether anything is new.
    fn look(&self) {
        self.send(Message::Look);
    }

    /// Zones may be others that catalogs made here list.
    pub(crate) fn make(&self) {
        self.send(Message::Make(false));
    }

    /// A zone is removed by command: if it comes again it is another one.
    pub(crate) fn renew(&self, zone: &Name) {
        if !self.state.lock().made.is_empty() {
            self.renewed.lock().insert(zone.to_lowercase());
            self.make();
        }
    }

    /// Has the thread look at all; starts it, once there is something for it: most servers have none.
    pub(crate) fn start_if_any(&self) {
        let is_made = !self.state.lock().made.is_empty();
        let is_due =
            self.is_loaded.load(Ordering::SeqCst) && (is_made || self.is_any.load(Ordering::Relaxed));
        let Some(owner) = self.owner.get().filter(|_| is_due) else { return };
        let mut thread = self.thread.lock();
        if thread.is_none() && self.sender.get().is_none() {
            let (sender, received) = channel();
            let (owner, builder) = (Weak::clone(owner), std::thread::Builder::new().name("catalogs".into()));
            match builder.spawn(move || follow::run(&owner, &received)) {
                Ok(handle) => *thread = Some(handle),
                Err(error) => {
                    tracing::error!(%error, "a thread for catalogs cannot be started: {error}; none is followed until the next reload");
                    return;
                }
            }
            let _ = self.sender.set(sender);
        }
        drop(thread);
        self.look();
        self.send(Message::Make(true));
    }

    /// Lets what waits of a catalog go on; waits for that. Says what that was; the error: why nothing did.
    pub(crate) fn confirm(&self, catalog: &Name) -> Result<String, String> {
        let (reply, replied) = sync_channel(1);
        self.send(Message::Confirm(catalog.to_lowercase(), reply));
        replied.recv().unwrap_or_else(|_| Err("catalogs are not looked at yet; try again".into()))
    }

    /// Ends the thread; waits for that. What it is at is done to the end of a batch.
    pub(crate) fn stop(&self) {
        self.send(Message::End);
        if let Some(thread) = self.thread.lock().take() {
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

    /// Seconds of a clock that only goes forwards.
    fn seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }
}
