//! The observer: the one reader of all workers' rings. It joins late responses with their queries, thins what each consumer wants by chance, and never waits for
//! any.
//!
//! Its thread runs while there is a consumer; where the last one goes by itself, so does the thread. Whoever changes the consumers has the thread end, and starts
//! another with what that one had: rings, queries that wait, and all. Nothing is lost by that, unless a ring becomes full meanwhile, which the ring counts; and a
//! thread that has given its priority up could not have it back.

mod round;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::{Duration, Instant};

use sync::Mutex;
use sync::tap::{Tap, Wants};

pub use self::round::Counts;
use self::round::{Live, Parts};
use crate::told::{Exchanged, Told};

/// Consumers there can be, each in a place of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// The copy of the traffic.
    Dnstap,
    /// The lines.
    QueryLog,
    /// Who asks most.
    Top,
}

/// How many slots there are: a bit each in a row of the join.
pub(crate) const SLOTS: usize = 3;

/// Who is told.
pub trait Consumer: Send {
    /// What it wants to be told, and of how many queries: asked after each round, as it may change.
    fn wants(&self) -> Wants;
    /// Whether the observer is to have the priority of workers for it, rather than the lowest.
    fn is_urgent(&self) -> bool;
    /// A query and what became of it. Must not wait.
    fn take(&mut self, told: &Told<'_>);
    /// A question to another server, or what came from one: who wants no others ([`Wants::others`]) is told of none. Must not wait.
    fn take_exchanged(&mut self, _: &Exchanged<'_>) {}
    /// Some time has passed: what is old should go on.
    fn hand_over(&mut self, now: Instant);
    /// Nothing more comes.
    fn flush(&mut self);
    /// Whether it wants to be told nothing any more: it is dropped then. Asked after each round.
    fn is_over(&self) -> bool {
        false
    }
}

/// For how long rings are read that are still written to, before a consumer goes.
const LAST_LOOK: Duration = Duration::from_millis(50);

/// The observer, from outside.
pub struct Observer {
    inner: Mutex<Inner>,
    counts: Arc<Live>,
    /// Has all others go before the calling thread.
    give_way: fn(),
}

#[derive(Default)]
struct Inner {
    taps: Vec<Tap>,
    ring_octets: usize,
    /// Whether they were ever read: their memory is taken then, and stays.
    are_rings_made: bool,
    thread: Option<Thread>,
    /// While there is no thread.
    parts: Parts,
}

struct Thread {
    handle: JoinHandle<Parts>,
    is_stopped: Arc<AtomicBool>,
}

impl Observer {
    /// One that reads nothing yet. `give_way`: what its thread calls to have the lowest priority.
    #[must_use]
    pub fn new(give_way: fn()) -> Observer {
        Observer { inner: Mutex::named("observer", Inner::default()), counts: Arc::default(), give_way }
    }

    /// From now on there are these workers, with rings of so many octets. Consumers that are there already are told from now on.
    pub fn begin(&self, taps: &[Tap], ring_octets: usize) -> io::Result<()> {
        let mut inner = self.inner.lock();
        inner.stop();
        inner.parts.detach();
        (inner.taps, inner.ring_octets) = (taps.to_vec(), ring_octets);
        self.start(&mut inner)
    }

    /// Puts a consumer in its place, or none; the one before is told what there is, and dropped. Fails if there can be no thread, or if the rings have another reader.
    pub fn set(&self, slot: Slot, consumer: Option<Box<dyn Consumer>>) -> io::Result<()> {
        let mut inner = self.inner.lock();
        inner.stop();
        let parts = &mut inner.parts;
        if parts.consumer(slot).is_some() {
            parts.read_until(Instant::now() + LAST_LOOK, &self.counts);
        }
        if let Some(mut before) = parts.replace(slot, consumer) {
            before.flush();
        }
        self.start(&mut inner)
    }

    /// Tells consumers what is left in the rings, as their writers have ended; until this moment at the latest. They are dropped.
    pub fn end(&self, until: Instant) {
        let mut inner = self.inner.lock();
        inner.stop();
        inner.parts.read_until(until, &self.counts);
        inner.parts.flush();
        let lost = inner.taps.iter().map(Tap::dropped).sum();
        self.counts.lost_in_rings.add(lost);
        (inner.parts, inner.taps) = (Parts::default(), Vec::new());
    }

    /// How often its thread has met a fault of its own: all consumers that there were have gone with it, each time.
    pub fn faults(&self) -> u64 {
        self.counts.read().faults
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        let lost: u64 = self.inner.lock().taps.iter().map(Tap::dropped).sum();
        let counts = self.counts.read();
        Counts { lost_in_rings: counts.lost_in_rings + lost, ..counts }
    }

    /// Octets of memory of the rings.
    pub fn ring_octets(&self) -> usize {
        let inner = self.inner.lock();
        let each = if inner.are_rings_made { inner.ring_octets.next_power_of_two() } else { 0 };
        inner.taps.len() * each
    }

    fn start(&self, inner: &mut Inner) -> io::Result<()> {
        let Some(wants) = inner.parts.wants() else {
            // Without a reader workers write nothing.
            inner.parts.detach();
            return Ok(());
        };
        if inner.taps.is_empty() {
            return Ok(());
        }
        inner.parts.attach(&inner.taps, wants, inner.ring_octets)?;
        inner.are_rings_made = true;
        let (is_stopped, counts) = (Arc::<AtomicBool>::default(), Arc::clone(&self.counts));
        let (stop, give_way) = (Arc::clone(&is_stopped), (!inner.parts.is_urgent()).then_some(self.give_way));
        let mut parts = std::mem::take(&mut inner.parts);
        let run = move || {
            give_way.into_iter().for_each(|give_way| give_way());
            let rounds = || {
                while !stop.load(Ordering::Acquire) && parts.has_consumers() {
                    if let Some(pause) = parts.round(&counts) {
                        park_timeout(pause);
                    }
                }
            };
            match catch_unwind(AssertUnwindSafe(rounds)) {
                Ok(()) => parts,
                Err(_) => {
                    // Nobody knows in which state they are: workers are read no more, consumers go.
                    drop(parts);
                    counts.faults.add(1);
                    tracing::error!(
                        "the observer has ended by a fault of its own: nobody is told of queries until it is started again"
                    );
                    Parts::default()
                }
            }
        };
        let spawned = Builder::new().name("observer".into()).spawn(run);
        // What it was to have is gone, as after a fault of its own.
        let handle = spawned.inspect_err(|_| self.counts.faults.add(1))?;
        inner.thread = Some(Thread { handle, is_stopped });
        Ok(())
    }
}

impl Inner {
    /// Ends the thread, and has what it had.
    fn stop(&mut self) {
        let Some(Thread { handle, is_stopped }) = self.thread.take() else { return };
        is_stopped.store(true, Ordering::Release);
        handle.thread().unpark();
        // One that could not even say that it has met a fault leaves nothing.
        self.parts = handle.join().unwrap_or_default();
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.inner.lock().stop();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
