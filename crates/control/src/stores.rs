//! Zones that come from databases (`[[store]]`): each has a process that reads it, the feeder, which pushes what is new as a primary would.
//!
//! ```text
//! settings --arrange--> settled: zones that are owned added to what is wanted ----------.
//! files `owned`, `followed` --first time--^                                             v
//! feeder: frames -> thread `store-NAME`: one transfer after the other -> differences, by the turn: changer -> controller
//!                        |                                          `--> whole zones, by the batch -> packs
//!                        '-- losses, what went back: within `remove-max`, or `zonda ctl store confirm`
//! ```
//!
//! * [`lines`], [`kept`], [`owned`], [`followed`]: what is kept on the disk; [`settle`]: after a start or other settings.
//! * [`watch`]: the threads that have feeders run; [`session`]: one feeder, from its start to its end; [`opened`]: whose database it has; [`opening`]: what it is told first, [`readdress`]: and whether that is something else by now; [`tell`]: what it is told then; [`incoming`]: a push until it is whole.
//! * [`turn`]: what has changed goes to the changer, [`outcome`]: what became of it; [`writing`]: what is asked to be changed there; [`take`]: what comes as a whole is served, [`batch`]: many together; [`check`]: can it be? [`difference`]: what has changed in what came as a whole; [`leaving`]: what goes, or went back; [`losses`]: how much of that may; [`words`]: what operators see, [`shown`]: of others' words; [`beside`]: what lies where a feeder may write.
//!
//! Which zones are owned changes only while a change is under way (`Controller::change`). The design is in `docs/design/store.md`.

mod batch;
mod beside;
mod check;
mod difference;
mod followed;
mod incoming;
mod kept;
mod leaving;
mod lines;
mod losses;
mod name;
mod opened;
mod opening;
mod outcome;
mod owned;
mod readdress;
mod session;
mod settle;
mod shown;
mod take;
mod tell;
mod turn;
mod watch;
mod words;
mod writing;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::Instant;

use sync::{Mutex, RwLock};
use wire::{Name, NameBuf};

use self::followed::Followed;
use self::kept::Kept;
use self::lines::{LinesFile, Place};
use self::losses::{Lines, Losses};
use self::owned::Owned;
use self::tell::Tell;
use self::writing::{Done, Writes};
use crate::controller::Controller;
use crate::packs::PackFolder;
use crate::settings::StoreTerms;
use crate::sources::SourceId;

pub(crate) use self::beside::warn_of_folders;
pub(crate) use self::opening::unreadable;
pub(crate) use self::words::StoreNumbers;
pub(crate) use self::writing::{NotWritten, StoreWrite, WriteDone};
pub use name::StoreName;

/// Zones of which it is remembered why they are not served as a store has them; of more it is counted how many.
const REFUSED_MAX: usize = 10_000;

/// All stores, as other threads see them.
pub(crate) struct Stores {
    /// Held for no flush of the disk: files are written from [`Stores::keep_owned`] and [`Stores::keep_followed`].
    state: RwLock<State>,
    owned_file: Kept,
    followed_file: Kept,
    /// Whether there are any: most servers have none, and look no further.
    is_any: AtomicBool,
    /// Whose stores these are, once there are workers.
    owner: OnceLock<Weak<Controller>>,
    /// Whether what is stored is shown: before, it is not known which versions are served.
    is_loaded: AtomicBool,
    is_ending: AtomicBool,
    /// Whether no changes are asked for, as another server takes over.
    writing_rests: AtomicBool,
    /// Zones that others have since before this start, and that the log may have as they were.
    taken: Mutex<HashSet<NameBuf>>,
    /// Read by who serves what came.
    serving: RwLock<()>,
    threads: Mutex<Vec<(StoreName, JoinHandle<()>)>>,
    /// What seconds are counted from.
    started: Instant,
}

#[derive(Default)]
struct State {
    /// Whether the files were read.
    is_read: bool,
    owned: Owned,
    followed: Followed,
    /// In the order of the settings.
    stores: Vec<Store>,
    /// Of the terms that were there last.
    generation: u64,
}

/// A store of the settings.
struct Store {
    terms: StoreTerms,
    /// Where its zones come from; a number of the controller's sources.
    source: SourceId,
    /// Its number in [`Owned`], once its database was seen.
    number: Option<u8>,
    /// Others where the terms are: what is under way for the ones before is over.
    generation: u64,
    about: About,
}

/// What is known of a store beside its zones.
#[derive(Default)]
struct About {
    stands: Stands,
    /// The number of its feeder.
    pid: Option<u32>,
    /// Whether the feeder may not write it.
    is_read_only: bool,
    /// Whether it is heard when the database says that something is new, or why not; `None`: it does not say so, or that is not known.
    notices: Option<Result<(), String>>,
    /// Why not, as the log was told last.
    notices_said: Option<String>,
    /// The identity of another database that an operator lets take the place of this one.
    accepted: Option<String>,
    /// Why zones are not served as it has them.
    refused: HashMap<NameBuf, String>,
    refused_more: u64,
    /// The same before its feeder began anew: what is told again is not said again.
    refused_before: HashMap<NameBuf, String>,
    /// How many zones have names that are not in their one form, and the first of them, in words.
    misnamed: (u32, String),
    /// The same before its feeder began anew.
    misnamed_before: Option<(u32, String)>,
    /// What of zones that are served is not, in words.
    without: HashMap<NameBuf, String>,
    /// Zones of which all was asked for, as what had changed did not fit.
    unled: HashSet<NameBuf>,
    /// Zones that are not in it any more, and are served.
    gone: HashSet<NameBuf>,
    /// Zones of which it has an older version than is served, or another one of that serial, and since when.
    back: HashMap<NameBuf, Instant>,
    /// Whether these wait, as they are more than may go.
    waits: bool,
    losses: Losses,
    /// Lines of the log of what its feeder says.
    lines: Lines,
    /// The version that was served last.
    last: Option<(NameBuf, u32, u64)>,
    /// Versions that were served since the start.
    served: u64,
    /// To its feeder, while there is one.
    tell: Option<Tell>,
    /// Changes that it was asked for.
    writes: Writes,
}

/// How it stands with a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Stands {
    /// Its feeder was not heard of yet.
    #[default]
    Starting,
    /// The list of its zones is looked at.
    Listing,
    /// All that it has was looked at, and what comes is.
    Following,
    /// It cannot be read, since then.
    Away(String, u64),
    /// There is another database at its address, with this identity.
    Another(String),
}

impl Stores {
    /// Before there are threads.
    pub(crate) fn new() -> Stores {
        Stores {
            state: RwLock::named("stores", State::default()),
            owned_file: Kept::new("file `owned`", LinesFile::new(owned::NAMES), true),
            // The entry of the serial that is served counts, and where it was lost the zone is compared.
            followed_file: Kept::new("file `followed`", LinesFile::new(followed::NAMES), false),
            is_any: AtomicBool::new(false),
            owner: OnceLock::new(),
            is_loaded: AtomicBool::new(false),
            is_ending: AtomicBool::new(false),
            writing_rests: AtomicBool::new(false),
            taken: Mutex::named("zones taken from stores", HashSet::new()),
            serving: RwLock::named("serving what stores have", ()),
            threads: Mutex::named("threads of stores", Vec::new()),
            started: Instant::now(),
        }
    }

    /// Whether the settings have any.
    pub(crate) fn is_any(&self) -> bool {
        self.is_any.load(Ordering::Relaxed)
    }

    /// Whether a zone is of a store; `None`: that cannot be said at once. For workers, which wait for nobody.
    pub(crate) fn has(&self, zone: &Name) -> Option<bool> {
        if !self.is_any() {
            return Some(false);
        }
        Some(self.state.try_read()?.owned.of(zone).is_some())
    }

    /// Whether a zone was a store's before this start, and is another owner's now.
    pub(crate) fn was_taken(&self, zone: &Name) -> bool {
        self.taken.lock().contains(&zone.to_lowercase())
    }

    /// Has nothing that comes be served until what this gives is dropped, as another server is to take over that does not hear of it.
    pub(crate) fn rest(&self) -> impl Sized + '_ {
        let resting = self.serving.write();
        self.sync_followed();
        resting
    }

    /// Has the file have whose zones are, as they are when this is called; it is on the disk when this returns. Not to be called by who has the lock of the state. `place`:
    /// none where the folder is another server's for now, so that it is written later.
    fn keep_owned(&self, place: Option<&Place>) {
        let take = || self.state.write().owned.take_waiting();
        let kept = self.owned_file.keep(place, take, || self.state.read().owned.lines());
        if let Some(place) = place {
            self.state.write().owned.kept(place, kept);
        }
    }

    /// The same of the versions that are followed, unsynced. What cannot be kept costs that its zones are compared as a whole after the next start.
    fn keep_followed(&self, place: Option<&Place>) {
        let take = || self.state.write().followed.take_waiting();
        if let Err(error) = self.followed_file.keep(place, take, || self.state.read().followed.lines()) {
            tracing::debug!(%error, "{}: {}", followed::NAMES.name, crate::text::cannot("write", &error));
        }
    }

    /// Has all of it be on the disk, as another server is to read it, or this one ends.
    fn sync_followed(&self) {
        if let Err(error) = self.followed_file.sync() {
            tracing::debug!(%error, "{}: {}", followed::NAMES.name, crate::text::cannot("sync", &error));
        }
    }

    /// Seconds of a clock that only goes forwards.
    fn seconds(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// Whether a zone is of a store, and the settings have no other terms of that by now.
    fn is_of(&self, (name, generation): (StoreName, u64), zone: &Name) -> bool {
        let state = self.state.read();
        let is_it = |store: &&Store| store.terms.name == name && store.generation == generation;
        state.stores.iter().find(is_it).is_some_and(|store| store.owns(&state.owned, zone))
    }

    /// Does something with a store, unless the settings have other terms of it by now.
    fn with<R>(
        &self,
        (name, generation): (StoreName, u64),
        act: impl FnOnce(&mut Store, &mut Owned, &mut Followed) -> R,
    ) -> Option<R> {
        let mut state = self.state.write();
        let State { stores, owned, followed, .. } = &mut *state;
        let is_it = |store: &&mut Store| store.terms.name == name && store.generation == generation;
        let store = stores.iter_mut().find(is_it)?;
        Some(act(store, owned, followed))
    }
}

impl Store {
    /// Whether a zone is of it.
    fn owns(&self, owned: &Owned, zone: &Name) -> bool {
        self.number.is_some() && owned.of(zone) == self.number
    }
}

impl About {
    /// Notes why a zone is not served as the store has it. Says whether that is something new.
    fn refuse(&mut self, zone: NameBuf, why: String) -> bool {
        if self.refused.len() >= REFUSED_MAX && !self.refused.contains_key(&zone) {
            self.refused_more += 1;
            return false;
        }
        let is_known = self.refused_before.remove(&zone).is_some_and(|before| before == why);
        let before = self.refused.insert(zone, why.clone());
        before.map_or(!is_known, |before| before != why)
    }

    /// Notes what of a zone is not served. Says whether that is something new that there is to say.
    fn note_without(&mut self, zone: NameBuf, words: &str) -> bool {
        if words.is_empty() {
            self.without.remove(&zone);
            return false;
        }
        if self.without.len() >= REFUSED_MAX && !self.without.contains_key(&zone) {
            return false;
        }
        self.without.insert(zone, words.to_owned()).is_none_or(|before| before != words)
    }

    /// A version of a zone is served: all is well with it. Who waits for that is returned.
    #[must_use]
    fn served(&mut self, zone: &Name, serial: u32) -> Option<Done> {
        let lower = zone.to_lowercase();
        self.refused.remove(&lower);
        self.refused_before.remove(&lower);
        self.gone.remove(&lower);
        self.back.remove(&lower);
        self.last = Some((zone.to_owned(), serial, crate::expiry::now()));
        self.served += 1;
        self.writes.served(&lower, serial)
    }

    /// Ends what is said to its feeder, if there is one, which ends that too.
    fn hang_up(&self) {
        self.tell.iter().for_each(Tell::hang_up);
    }

    /// How many zones are not served as it has them.
    fn refused_count(&self) -> u64 {
        self.refused.len() as u64 + self.refused_more + u64::from(self.misnamed.0)
    }

    /// Zones that would be lost.
    fn losses(&self) -> usize {
        self.gone.len() + self.back.len()
    }

    /// What is under way is over: what it was to be told again.
    fn begin_anew(&mut self) {
        if !self.refused.is_empty() {
            self.refused_before = std::mem::take(&mut self.refused);
        }
        self.refused_more = 0;
        match std::mem::take(&mut self.misnamed) {
            (0, _) => {}
            misnamed => self.misnamed_before = Some(misnamed),
        }
        self.without.clear();
        self.unled.clear();
        self.gone.clear();
        self.back.clear();
        self.waits = false;
        self.notices = None;
    }
}

impl Controller {
    /// Where the files of stores are; `None`: nothing is written there now.
    fn place_of_stores(&self) -> Option<Place> {
        self.writable_folder().map(place)
    }
}

fn place(folder: &PackFolder) -> Place {
    Place { disk: folder.disk(), folder: folder.path().to_owned() }
}

impl Stores {
    /// What is stored is shown, and what settings say is loaded for the first time.
    pub(crate) fn loaded(&self) {
        self.is_loaded.store(true, Ordering::SeqCst);
        self.start_threads();
    }

    /// Threads may be started from now on.
    pub(crate) fn begin(&self, controller: &Arc<Controller>) {
        let _ = self.owner.set(Arc::downgrade(controller));
        self.start_threads();
    }

    /// Ends all threads and feeders; waits for that. What is on its way comes again at the next start.
    pub(crate) fn stop(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        // Who waits until its feeder listens would do so for as long as that likes.
        self.state.read().stores.iter().for_each(|store| store.about.hang_up());
        for (_, thread) in std::mem::take(&mut *self.threads.lock()) {
            thread.thread().unpark();
            // What it had to say of a panic it has said.
            let _ = thread.join();
        }
        self.sync_followed();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
