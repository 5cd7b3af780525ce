//! A few threads that transfer zones, each over one connection at a time.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::one::ask;
use super::runs::{FileRuns, Share};
use super::{Report, Task, Tell};
use crate::system::yield_to_others;
use sync::random::Unguessable;
use transfer::incoming::{Fault, Outcome, Place, Spool, Stop};
use zone::Contents;

/// How long a connection is kept for the next transfer. Servers close idle ones after some seconds, and have few of them.
const IDLE: Duration = Duration::from_secs(2);
/// How many waiting tasks are looked at for one of the server that a thread is connected to.
const LOOK_AHEAD: usize = 64;

/// What the threads share. Tasks are as many as the schedule lets be under way.
struct Shared {
    tasks: Mutex<VecDeque<Task>>,
    more: Condvar,
    is_ending: AtomicBool,
    tell: Tell,
    room: Room,
    /// What is left of the octets of files.
    files: Arc<Share>,
    /// Held while a zone is brought together that was too large for its arena: one at a time, as that takes the memory of the zone.
    joining: Mutex<()>,
}

/// What whole zones may take while they come in.
#[derive(Clone, Debug)]
pub struct Room {
    /// Octets of memory of each transfer, before its records go to a file.
    pub arena_octets: usize,
    /// Octets of these files, of all transfers together.
    pub files_octets: u64,
    /// Octets of memory of a zone when it is brought together, one large one at a time.
    pub zone_octets: u64,
    /// The folder of the files.
    pub folder: Arc<Path>,
}

impl Room {
    /// The defaults: 16 MiB hold zones of a hundred thousand records, so that only large ones need a file; the others are what the largest
    /// zones of today need.
    pub fn new(folder: Arc<Path>) -> Room {
        Room { arena_octets: 16 << 20, files_octets: 64 << 30, zone_octets: 64 << 30, folder }
    }
}

/// See the module. Its threads end when it is dropped, within a second and without results.
pub struct Transfers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Transfers {
    /// Starts the threads. `yields`: whether they leave the processors to others. Fails where the system has no threads or random numbers.
    pub fn start(threads: usize, room: Room, yields: bool, tell: Tell) -> io::Result<Transfers> {
        let files = Arc::new(Share::new(room.files_octets));
        Transfers::start_within(threads, (room, files), yields, tell)
    }

    /// The same, where others write such files too: `files` is what is left for all of them.
    pub(crate) fn start_within(
        threads: usize,
        (room, files): (Room, Arc<Share>),
        yields: bool,
        tell: Tell,
    ) -> io::Result<Transfers> {
        let shared = Arc::new(Shared {
            tasks: Mutex::default(),
            more: Condvar::new(),
            is_ending: AtomicBool::new(false),
            tell,
            files,
            room,
            joining: Mutex::default(),
        });
        let mut transfers = Transfers { shared, threads: Vec::new() };
        for number in 0..threads {
            let shared = Arc::clone(&transfers.shared);
            let ids = Unguessable::from_system()?;
            let thread = std::thread::Builder::new().name(format!("transfer-{number}"));
            transfers.threads.push(thread.spawn(move || {
                if yields {
                    yield_to_others();
                }
                work(&shared, ids);
            })?);
        }
        Ok(transfers)
    }

    /// Gives the threads something to do.
    pub fn push(&self, task: Task) {
        lock(&self.shared.tasks).push_back(task);
        self.shared.more.notify_one();
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        lock(&self.shared.tasks).clear();
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            // One that panicked has said so.
            drop(thread.join());
        }
    }
}

/// What a thread does until the end.
fn work(shared: &Shared, mut ids: Unguessable) {
    let mut connection = None;
    while let Some(task) = next(shared, &mut connection) {
        let Room { arena_octets, ref folder, .. } = shared.room;
        let storage = FileRuns::new(Arc::clone(folder), Arc::clone(&shared.files));
        let mut sink = Spool::new(&task.zone, arena_octets, storage);
        let began = Instant::now();
        let mut result = ask(&task, &mut connection, (&mut ids, &shared.is_ending), &mut sink);
        let is_whole = result.as_ref().is_ok_and(|done| done.outcome == Outcome::Whole);
        let contents = match is_whole.then(|| join(shared, sink)) {
            Some(Ok(contents)) => Some(contents),
            Some(Err(fault)) => {
                result = Err(Stop { fault, place: Place::default() });
                None
            }
            None => None,
        };
        let (from, took) = (task.primary.address, began.elapsed());
        (shared.tell)(Report { job: task.job, zone: task.zone, result, contents, from, took });
    }
}

/// Brings the records of a zone together.
fn join(shared: &Shared, sink: Spool<FileRuns>) -> Result<Contents, Fault> {
    let is_large = sink.run_count() > 0;
    let guard = is_large.then(|| lock(&shared.joining));
    let contents = sink.finish(shared.room.zone_octets);
    drop(guard);
    contents
}

/// Waits for a task; for a while with the connection of the last one, and for one of the same server first. `None` at the end.
fn next(shared: &Shared, connection: &mut Option<Connection>) -> Option<Task> {
    let mut tasks = lock(&shared.tasks);
    loop {
        if shared.is_ending.load(Ordering::Relaxed) {
            return None;
        }
        let to = connection.as_ref().map(|connection| connection.to);
        let same = tasks.iter().take(LOOK_AHEAD).position(|task| Some(task.primary.address) == to);
        if let Some(task) = tasks.remove(same.unwrap_or(0)) {
            return Some(task);
        }
        if connection.is_none() {
            tasks = shared.more.wait(tasks).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        let (guard, waited) = shared.more.wait_timeout(tasks, IDLE).unwrap_or_else(PoisonError::into_inner);
        tasks = guard;
        if waited.timed_out() {
            *connection = None;
        }
    }
}

/// What the locks hold is whole between any two steps, also where a thread panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
