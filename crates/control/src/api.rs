//! The HTTP API as the server sees it: who may do what, and what comes of it.
//!
//! ```text
//! child -- frames --> session: thread `api`, which lets others go before it: keys, scopes, forms, places; pieces of answers
//!                        |  ^                        `--> changer: RRsets that are to be so
//!                        v  | inbox                       `- outcome
//!                      look: thread `api-look`: whose a zone is, pins, lists, numbers, what is done at once
//!                      search: thread `api-read`, which lets all others go before it: what patterns fit
//!                      make: thread `api-make`: zones made, set, removed
//!                      now: thread `api-now`: how the server is, and was in the last hour
//! ```
//!
//! * `certificate`: what the child shows over TLS. `keys`: whom it knows, and what each may do; `keyring`: who of these is let in, and `revoked`: who is no more. `judge`: an ask by its key.
//! * `sessions`: who has signed in at the page; `page`: where that is.
//! * `watch`: one child after the other; `session`: what one says and is told; `inbox`: what others have for it. `audit`: who changed what, for people; `counts`: what came of asks, for `/metrics`.
//! * `reading`: a zone piece by piece; `listing`: zones; `look`: what takes locks that others wait for, at the usual priority; `numbers`: by the names that PowerDNS has for them; `search`: names and records by patterns; `explain`: which rules decide; `make`: what waits for changes of the list of zones, and for the disk; `undo`: what leads back to a version; `now`: how the server is; `views`: what else it tells of itself; `words`: RRsets of asks.
//!
//! What strangers send this server never reads: [`web`] does, in the child, and says it in frames (crate `api`). Each has the key of its request, and is decided by that: nothing here says that the
//! child is allowed anything. Design: `docs/design/api.md`.

mod audit;
mod certificate;
mod counts;
mod explain;
mod inbox;
mod judge;
mod keyring;
mod keys;
mod listing;
mod look;
mod make;
mod now;
mod numbers;
mod page;
mod reading;
mod revoked;
mod search;
mod session;
mod sessions;
mod undo;
mod views;
mod watch;
pub(crate) mod words;

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use api::tag::Tag;
use net::{BindError, Handed};
use nix::unistd::Uid;
use rustix::process::Signal;
use sync::Mutex;
use web::pair::{Beat, Terms};
use wire::{Name, SortKey};
use zone::catalog::Version;

use crate::child::END_PAUSE;
use crate::controller::Controller;
use crate::http::{Listening, hand, open};
use crate::made::MadeZone;
use crate::settings::Settings;
use audit::Watched;
use certificate::Shown;
use counts::Counts;
use inbox::{Event, Inbox};
use keyring::Keyring;

pub(crate) use certificate::unreadable;
pub(crate) use counts::{Counted, OUTCOMES};
pub use keys::new_api_key;
pub(crate) use keys::{Key, Keys, hash_from_text, time_of_date, verb};
pub(crate) use watch::watch;

/// How long who asks what is wrong waits for who reads files.
const PATIENCE: Duration = Duration::from_millis(50);

/// The API, its listeners and who may use it.
pub(crate) struct Api {
    is_over: AtomicBool,
    listeners: OnceLock<Vec<Listening>>,
    /// What the process is told at its start.
    terms: OnceLock<Terms>,
    /// What the page calls this server.
    called: OnceLock<String>,
    /// What the process shows over TLS, if it speaks that.
    shown: Mutex<Option<Shown>>,
    /// What was wrong with that when it was looked at last.
    problem: Mutex<Option<String>>,
    /// What others have for the thread, once there is one.
    inbox: OnceLock<Arc<Inbox>>,
    /// Greater with each time that keys became others. Raised once the thread has them in its inbox.
    keys: AtomicU64,
    keyring: Mutex<Keyring>,
    /// Whoever has the file of revoked keys written, one at a time: held while a disk syncs, or hangs. Taken before the keyring.
    revoking: Mutex<()>,
    /// The end of the pipe that beats are written to, while there is a process.
    pipe: Mutex<Option<File>>,
    /// The process, to be ended whatever the thread waits for.
    process: Mutex<Option<OwnedFd>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Tags and cursors of another start are others.
    seed: RandomState,
    /// What came of asks.
    counts: Arc<Counts>,
    /// Where lines of who changed what go, if they do.
    audited: OnceLock<Watched>,
}

/// The listeners that settings ask for, and what the process is told at its start.
pub(crate) struct Bound {
    listening: Vec<Listening>,
    terms: Terms,
    called: String,
    shown: Option<Shown>,
}

/// Opens the listeners that settings ask for, and the files of the certificate; listeners that the server before has handed over are taken as they are.
pub(crate) fn bind(settings: &Settings, handed: Vec<Handed>) -> Result<Bound, BindError> {
    let listening = open(&settings.api.listen, settings.server.free_bind, handed)?;
    // Whoever does not listen, or stays root and has no API, has no use for them.
    let stays_root = Uid::effective().is_root() && settings.server.user.is_empty();
    let shown = if listening.is_empty() || stays_root { None } else { Shown::of(settings) };
    Ok(Bound { listening, terms: settings.api.terms(), called: settings.api.called(), shown })
}

impl Bound {
    /// For the successor of a server that has an API: with a certificate that cannot be shown it would have none. The error is lines for the operator.
    pub(crate) fn expect_shown(&self) -> Result<(), Vec<String>> {
        self.shown.as_ref().and_then(Shown::problem).map_or(Ok(()), |line| Err(vec![line]))
    }
}

impl Api {
    pub(crate) fn new() -> Api {
        Api {
            is_over: AtomicBool::new(false),
            listeners: OnceLock::new(),
            terms: OnceLock::new(),
            called: OnceLock::new(),
            shown: Mutex::named("certificate of the API", None),
            problem: Mutex::named("what is wrong with the certificate of the API", None),
            inbox: OnceLock::new(),
            keys: AtomicU64::new(0),
            keyring: Mutex::named("keys of the API", Keyring::default()),
            revoking: Mutex::named("revoked keys of the API", ()),
            pipe: Mutex::named("pipe of the API's process", None),
            process: Mutex::named("the API's process", None),
            thread: Mutex::named("thread of the API", None),
            seed: RandomState::new(),
            counts: Arc::default(),
            audited: OnceLock::new(),
        }
    }

    /// Reads the files of the certificate again for an operator, who is told at once what is wrong: the error is a line, and what was shown before is shown on.
    pub(crate) fn renew_certificate(&self, settings: &Settings) -> Result<(), String> {
        let mut shown = self.shown.lock();
        let Some(shown) = &mut *shown else { return Ok(()) };
        shown.note(settings);
        self.show(shown, true)
    }

    /// The same each minute, for nobody.
    fn look_at_certificate(&self) {
        if let Some(shown) = &mut *self.shown.lock()
            && let Err(line) = self.show(shown, false)
        {
            tracing::warn!("{line}");
        }
    }

    /// Has the next handshakes show what is new.
    fn show(&self, shown: &mut Shown, is_asked: bool) -> Result<(), String> {
        let looked = shown.look(is_asked);
        if let (Ok(Some(certificate)), Some(inbox)) = (&looked, self.inbox.get()) {
            tracing::info!("[api] certificate: another one is shown from now on");
            inbox.tell(Event::Shown(Arc::clone(certificate)));
        }
        shown.warn_of_expiry();
        looked.map(drop).map_err(|()| shown.problem().unwrap_or_default())
    }

    /// What is wrong with the certificate now, as a line; while its files are read, what was: nobody waits for a disk here.
    pub(crate) fn problem(&self) -> Option<String> {
        let shown = self.shown.lock_within(PATIENCE);
        let mut problem = self.problem.lock();
        if let Some(shown) = shown {
            *problem = shown.as_ref().and_then(Shown::problem);
        }
        problem.clone()
    }

    /// What came of all that was asked.
    pub(crate) fn counted(&self) -> Counted {
        self.counts.read()
    }

    /// Which keys there are, by their number.
    pub(crate) fn keys_number(&self) -> u64 {
        self.keys.load(Ordering::SeqCst)
    }

    /// The tag of what is served of a zone. `None`: there is no such zone.
    pub(crate) fn tag_of(&self, controller: &Controller, name: &Name) -> Option<Tag> {
        let (key, labels, made) = (SortKey::of(name), name.label_count(), controller.made.of(name));
        controller.catalog.reader().with(|view| {
            let hit = view.find(&key, labels);
            // Before the zone is looked at: what is seen is of this version or a newer one.
            let version = hit.found.version();
            let zone = hit.zone().filter(|_| usize::from(hit.found.labels) == labels)?;
            Some(self.tag(version, zone.row().serial, made.as_ref()))
        })
    }

    /// The tag of a version, and of what is kept beside it where it was made over the API: no two states of any zones have the same, and none is of another start.
    fn tag(&self, version: Version, serial: u32, made: Option<&MadeZone>) -> Tag {
        Tag { serial, mark: self.seed.hash_one((version.slot, version.number, made)) }
    }

    /// Has the process answer what was asked, and end. Waits for that, `wait` at the longest: what was not answered then is cut off, and carried out all the same; a process that has not
    /// ended is killed, as it would keep the listeners.
    pub(crate) fn leave(&self, wait: Duration) {
        self.is_over.store(true, Ordering::SeqCst);
        let Some(thread) = self.thread.lock().take() else { return };
        self.beat(Beat { is_well: true, is_ready: false, is_over: true });
        self.inbox.get().into_iter().for_each(|inbox| inbox.tell(Event::Over));
        let until = Instant::now() + wait;
        while !thread.is_finished() && Instant::now() < until {
            std::thread::sleep(END_PAUSE);
        }
        drop(self.pipe.lock().take());
        if !thread.is_finished() {
            self.kill();
        }
    }

    /// Ends the process there is, which nobody is going to tell that it is to end.
    fn kill(&self) {
        drop(self.pipe.lock().take());
        if let Some(process) = self.process.lock().take() {
            let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
        }
    }

    /// Whether the server ends, or another one has taken over.
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Tells the process how it stands: at its start that it may begin, at the end that it is to end.
    fn beat(&self, beat: Beat) {
        if let Some(pipe) = &mut *self.pipe.lock() {
            let _ = pipe.write(&[beat.octet()]);
        }
    }

    /// The listeners once more, for the server that is to take over.
    pub(crate) fn hand(&self) -> io::Result<Vec<Handed>> {
        hand(self.listeners.get().map_or(&[][..], Vec::as_slice))
    }
}

impl Controller {
    /// Takes the listeners, which the process is given when it is started. A server that is root has no such process: it would be root, too.
    pub(crate) fn listen_for_api(&self, Bound { listening, terms, called, shown }: Bound) {
        if listening.is_empty() {
            return;
        }
        if Uid::effective().is_root() {
            tracing::warn!(
                "[api] listen: this server runs as root, so that there is no API; set `user` in [server]"
            );
            return;
        }
        let addresses: Vec<String> = listening.iter().map(|one| one.address.to_string()).collect();
        let address = addresses.join(", ");
        let how = if shown.is_some() { "over TLS" } else { "in clear text" };
        tracing::info!(address, "HTTP API on {address}, {how}");
        if let Some(line) = shown.as_ref().and_then(Shown::problem) {
            tracing::error!("{line}; it is looked at again each minute");
        }
        *self.api.shown.lock() = shown;
        let _ = self.api.terms.set(terms);
        let _ = self.api.called.set(called);
        let _ = self.api.listeners.set(listening);
    }
}
