//! The load generator: sends queries by a plan, matches replies, measures from the planned time.
//!
//! *Open loop*: query `n` is due at `n / rate`, or at the times of a Poisson process or of a capture, whatever the
//! server does; latency counts from then, so a server that stalls cannot hide it. *Closed loop*: a number of queries
//! is outstanding, fixed as in queryperf and dnsperf, or found by the loop itself.
//!
//! ```text
//! Generator: trial -> Worker 0: Schedule -> Book (next query, in flight, counts) <-> Link (sockets)  -> Outcome
//!                  -> Worker 1: …                                                                    -> merged
//! ```
//!
//! Each worker is a thread, busy while a trial runs, with sockets, queries in flight and counts of its own. Queries
//! that are due go out in bursts of up to [`Settings::burst`] from one flow, then from the next, so that every system
//! call moves many packets on both sides of the measurement.

mod answer;
mod book;
pub mod expect;
pub mod flows;
mod in_flight;
pub mod outcome;
mod pace;
pub mod progress;
pub mod shown;
pub mod tcp;
mod udp;
pub mod window;
mod worker;

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Barrier, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{Error, cores::Cores, machine::Steal, mmsg, query::QuerySet};
use book::Book;
use expect::{Answer, Expected};
use flows::Ports;
pub use outcome::Outcome;
pub use pace::{Pace, Share, Trial};
use progress::{Progress, Published, Publisher};
use worker::Worker;

/// Most workers: more threads than any machine of today has cores for.
pub const THREADS_MAX: usize = 1024;
/// From the moment all workers are ready to their common start: time for all of them to wake up.
const START_DELAY: Duration = Duration::from_millis(1);

/// What stays the same for all trials of a generator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server.
    pub server: SocketAddr,
    /// Client sockets, each with its own source port, of all workers together.
    pub flows: usize,
    /// Which source ports they have.
    pub ports: Ports,
    /// Local addresses they send from, in turn; as the system chooses where empty.
    pub sources: Vec<IpAddr>,
    /// Most queries sent by one call from one flow.
    pub burst: usize,
    /// Whether a burst leaves as a train that the kernel cuts into packets, and replies are taken as trains where they
    /// come as such: see [`mmsg::Batch`]. A burst then ends where the length of the queries changes: see
    /// [`QuerySet::in_runs`].
    pub trains: bool,
    /// In an open loop: queries become due all at once at multiples of this time, and the thread sleeps in between
    /// instead of asking for replies without end. In a closed loop: it sleeps for this time between sending all that
    /// the window has room for and taking all replies that came. Zero for queries at their times and replies timed to the
    /// microsecond. A virtual machine whose cores are all busy all the time is stopped by its host again and again.
    pub gather: Duration,
    /// Replies later than this are lost.
    pub timeout: Duration,
    /// 99 % of the queries must leave within this of their planned time, or the schedule was not kept.
    pub lateness_max: Duration,
    /// Workers, at least one.
    pub threads: usize,
    /// Where they run; anywhere without.
    pub cores: Option<Cores>,
    /// Which part of a joint generator this one is.
    pub joined: Joined,
    /// What answers are to be.
    pub expected: Option<Arc<Expected>>,
    /// Keep what is answered, for [`Generator::answers`].
    pub record_answers: bool,
    /// Publish counts while a trial runs, for [`Generator::progress`].
    pub progress: bool,
    /// Over UDP: hold the time at which each reply is read against the time at which the system got it.
    pub check_latency: bool,
    /// Queries go over TCP; flows, trains and ports then do not matter.
    pub tcp: Option<TcpSettings>,
}

/// How connections are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSettings {
    /// Connections of all workers together.
    pub connections: usize,
    /// Queries after which a connection is closed and another opened; 0 for as many as the server takes.
    pub queries_per_connection: u64,
}

/// Which of how many generators that work as one ([`crate::join`]), each with as many workers; the first of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Counted from 0.
    pub index: usize,
    /// At least 1.
    pub count: usize,
}

impl Settings {
    /// What suits most: one worker, 1,024 flows, bursts of 64, a time-out of a second.
    pub fn new(server: SocketAddr) -> Settings {
        Settings {
            server,
            flows: 1024,
            ports: Ports::Kept,
            sources: Vec::new(),
            burst: 64,
            trains: false,
            gather: Duration::ZERO,
            timeout: Duration::from_secs(1),
            lateness_max: Duration::from_nanos(outcome::LATENESS_NS_MAX),
            threads: 1,
            cores: None,
            joined: Joined { index: 0, count: 1 },
            tcp: None,
            expected: None,
            record_answers: false,
            progress: false,
            check_latency: false,
        }
    }
}

/// What carries the queries of a worker.
trait Link {
    /// Sockets or connections.
    fn flows(&self) -> usize;

    /// Makes ready for a trial.
    fn begin(&mut self, _book: &mut Book<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Most queries one call of [`Link::send`] takes.
    fn burst(&self) -> usize;

    /// Sends as many of the next queries as go at once, up to one for each planned time, notes them in the book and
    /// returns how many.
    fn send(&mut self, book: &mut Book<'_>, times_ns: &[u64]) -> Result<usize, Error>;

    /// Takes replies from where some are, and says from how many flows; waits for the first for up to `wait_ms`.
    fn receive(&mut self, book: &mut Book<'_>, wait_ms: i32) -> Result<u64, Error>;
}

/// Why workers are to end before their time.
struct Stop<'g> {
    /// Somebody wants the trial to end.
    asked: &'g AtomicBool,
    /// Another worker failed.
    failed: AtomicBool,
    /// A reply came to any worker, in this trial or before: the server is there.
    answered: &'g AtomicBool,
}

impl Stop<'_> {
    fn is_set(&self) -> bool {
        self.asked.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// A load generator with its sockets open.
pub struct Generator<'q> {
    settings: Settings,
    workers: Vec<Worker<'q>>,
    stop: Arc<AtomicBool>,
    answered: AtomicBool,
    progress: Progress,
    sizes: Vec<u16>,
}

impl<'q> Generator<'q> {
    /// Opens the sockets.
    pub fn new(settings: Settings, queries: &'q QuerySet) -> Result<Generator<'q>, Error> {
        let workers = settings.threads.clamp(1, THREADS_MAX);
        let published: Vec<Arc<Published>> = (0..workers).map(|_| Arc::default()).collect();
        let worker = |worker: usize| {
            let publisher = settings.progress.then(|| Publisher::new(Arc::clone(&published[worker])));
            let Joined { index, count } = settings.joined;
            let share = Share { worker: index * workers + worker, workers: count * workers };
            Worker::new(&settings, queries, share, publisher)
        };
        let workers = (0..workers).map(worker).collect::<Result<Vec<_>, _>>()?;
        Ok(Generator {
            settings,
            workers,
            stop: Arc::default(),
            answered: AtomicBool::new(false),
            progress: Progress::new(published),
            sizes: Vec::new(),
        })
    }

    /// How a trial goes, for another thread to look at; all zero without [`Settings::progress`].
    pub fn progress(&self) -> Progress {
        self.progress.clone()
    }

    /// The last answer to each query of the set, in its order, with [`Settings::record_answers`].
    pub fn answers(&self) -> Vec<Option<Answer>> {
        let mut all = self.workers[0].answers().to_vec();
        for worker in &self.workers[1..] {
            let add = |(all, own): (&mut Option<Answer>, &Option<Answer>)| *all = all.or(*own);
            all.iter_mut().zip(worker.answers()).for_each(add);
        }
        all
    }

    /// Ends the trial that runs, and all later ones, once it is set.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Runs one trial and waits for its last replies.
    pub fn run(&mut self, trial: Trial) -> Result<Outcome, Error> {
        let (drops, steal) = (own_drops(), Steal::new());
        let mut outcome = self.run_workers(&trial)?;
        outcome.stolen_share = steal.share();
        outcome.lateness_ns_max = self.settings.lateness_max.as_nanos() as u64;
        outcome.own_drops = own_drops().saturating_sub(drops);
        if outcome.received == 0 && outcome.refused > 0 {
            return Err(Error::Refused { address: self.settings.server });
        }
        Ok(outcome)
    }

    /// Size of the last reply to each query of the set, in its order; 0 where none came.
    pub fn sizes(&mut self) -> &[u16] {
        self.sizes = self.workers[0].sizes().to_vec();
        for worker in &self.workers[1..] {
            let larger = |(all, &own): (&mut u16, &u16)| *all = own.max(*all);
            self.sizes.iter_mut().zip(worker.sizes()).for_each(larger);
        }
        &self.sizes
    }

    /// Lets all workers run from the same moment and adds up what they bring; the error of the first that has one.
    fn run_workers(&mut self, trial: &Trial) -> Result<Outcome, Error> {
        let stop = Stop { asked: &self.stop, failed: AtomicBool::new(false), answered: &self.answered };
        if let ([worker], None) = (&mut self.workers[..], &self.settings.cores) {
            worker.prepare(trial)?;
            return worker.run(trial, Instant::now(), &stop);
        }
        let (barrier, begin) = (Barrier::new(self.workers.len()), OnceLock::new());
        let (cores, stop) = (&self.settings.cores, &stop);
        let run = |(number, worker): (usize, &mut Worker<'q>)| {
            let pinned = cores.as_ref().map_or(Ok(()), |cores| mmsg::pin(cores.of_thread(number)));
            let ready = pinned
                .map_err(|cause| Error::System { action: "run on the cores of --cpus", cause })
                .and_then(|()| worker.prepare(trial));
            barrier.wait();
            let start = *begin.get_or_init(|| Instant::now() + START_DELAY);
            let result = ready.and_then(|()| worker.run(trial, start, stop));
            stop.failed.fetch_or(result.is_err(), Ordering::Relaxed);
            result
        };
        let results = std::thread::scope(|scope| {
            let threads: Vec<_> =
                self.workers.iter_mut().enumerate().map(|part| scope.spawn(|| run(part))).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            threads.into_iter().map(join).collect::<Vec<Result<Outcome, Error>>>()
        });
        let mut merged = Outcome::default();
        for result in results {
            merged.merge(&result?);
        }
        Ok(merged)
    }
}

/// Datagrams the network namespace of this process dropped for want of socket buffer, of all sockets. 0 where the
/// system does not tell.
fn own_drops() -> u64 {
    let text = std::fs::read_to_string("/proc/self/net/snmp").unwrap_or_default();
    let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let column = names.split(' ').position(|name| name == "RcvbufErrors");
    column.and_then(|column| values.split(' ').nth(column)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
