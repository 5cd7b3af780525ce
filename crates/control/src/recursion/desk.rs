//! What operators want of workers: errands that the worker does between events, so that nothing of it is shared.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use net::Waker;
use resolve::Resolver;
use sync::Mutex;
use wire::iana::rtype;
use wire::{Name, NameBuf};

use super::Recursion;
use super::anchors::Found;
use super::explained::Wanted;
use super::replies::Replies;
use crate::command::RequestLine;

/// How long a worker may take: it sees to it between two events.
const PATIENCE: Duration = Duration::from_secs(2);
/// Errands that wait for one worker: operators, and whatever asks for them.
const ERRANDS_MAX: usize = 64;

/// What is wanted.
pub(super) enum Errand {
    /// That the worker goes by the terms of now: it takes them before it does an errand.
    Terms(Sender<()>),
    /// What is being found out, and who waits.
    Requests(Sender<Vec<RequestLine>>),
    /// Find something out anew, and say how.
    Explain(Wanted),
    /// Forget what was found out about zones: something was flushed.
    Forget(Sender<()>),
    /// Fetch the keys of a zone from its servers. `number`: another for each look.
    Look { zone: NameBuf, number: u64, to: Sender<Found> },
}

/// Where errands for one worker wait.
pub(super) struct Desk {
    waker: Mutex<Option<Waker>>,
    errands: Mutex<Vec<Errand>>,
}

impl Default for Desk {
    fn default() -> Desk {
        Desk {
            waker: Mutex::named("waker of a resolver", None),
            errands: Mutex::named("errands", Vec::new()),
        }
    }
}

impl Desk {
    /// Says how the worker is woken.
    pub(super) fn open(&self, waker: Waker) {
        *self.waker.lock() = Some(waker);
    }

    /// Takes what waits.
    pub(super) fn take(&self) -> Vec<Errand> {
        std::mem::take(&mut *self.errands.lock())
    }

    /// Leaves an errand. `false`: the worker has not begun yet, or has too many already.
    pub(super) fn leave(&self, errand: Errand) -> bool {
        let waker = self.waker.lock();
        let Some(waker) = &*waker else { return false };
        let mut errands = self.errands.lock();
        if errands.len() >= ERRANDS_MAX {
            return false;
        }
        errands.push(errand);
        drop(errands);
        waker.wake();
        true
    }
}

impl Recursion {
    /// The desk of a worker, which is a new one after a panic.
    pub(super) fn new_desk(&self, worker: usize) -> Arc<Desk> {
        let mut desks = self.desks.lock();
        if desks.len() <= worker {
            desks.resize_with(worker + 1, Arc::default);
        }
        desks[worker] = Arc::default();
        Arc::clone(&desks[worker])
    }

    /// Has all workers take the terms of now, those too that have nothing to do.
    pub(super) fn hand_terms(&self) {
        self.ask_all(Errand::Terms);
    }

    /// What is being found out by all workers.
    pub(crate) fn requests(&self) -> Vec<RequestLine> {
        self.ask_all(Errand::Requests).into_iter().flatten().collect()
    }

    /// Has all workers forget what they found out about zones.
    pub(crate) fn forget_zones(&self) {
        self.ask_all(Errand::Forget);
    }

    /// Leaves an errand with one worker, whichever takes it. `false`: none does.
    pub(super) fn leave_with_one(&self, errand: impl Fn() -> Errand) -> bool {
        let desks = self.desks.lock().clone();
        desks.iter().any(|desk| desk.leave(errand()))
    }

    fn ask_all<T>(&self, errand: impl Fn(Sender<T>) -> Errand) -> Vec<T> {
        let desks = self.desks.lock().clone();
        let (sender, receiver): (Sender<T>, Receiver<T>) = channel();
        let asked = desks.iter().filter(|desk| desk.leave(errand(sender.clone()))).count();
        drop(sender);
        let until = Instant::now() + PATIENCE;
        let next = |_| receiver.recv_timeout(until.saturating_duration_since(Instant::now())).ok();
        (0..asked).map_while(next).collect()
    }
}

/// Does an errand. Whoever wanted it may have gone.
pub(super) fn run(errand: &Errand, resolver: &mut Resolver, replies: &mut Replies, now: cache::Moment) {
    match errand {
        Errand::Terms(to) => {
            let _ = to.send(());
        }
        Errand::Forget(to) => {
            resolver.forget_standings();
            let _ = to.send(());
        }
        Errand::Look { zone, number, to } => replies.look(zone, *number, to),
        // Takes longer than a turn: the recursor keeps it.
        Errand::Explain(_) => {}
        Errand::Requests(to) => {
            let _ = to.send(resolver.requests().map(|request| line(&request, now)).collect());
        }
    }
}

fn named(tasks: &[(&Name, u16)]) -> Vec<String> {
    tasks.iter().map(|(name, of_type)| format!("{name} {}", rtype::Text(*of_type))).collect()
}

fn line(request: &resolve::requests::Request<'_>, now: cache::Moment) -> RequestLine {
    RequestLine {
        name: request.name.to_string(),
        rtype: rtype::Text(request.rtype).to_string(),
        at: request.qname.to_string(),
        purpose: format!("{:?}", request.purpose).to_lowercase(),
        state: request.state.word().into(),
        server: request.server.map(|server| server.to_string()),
        milliseconds: now.ms_since(request.begun),
        clients: request.waiters,
        tasks: request.parents.0,
        wanted_for: named(&request.parents.1),
        waits_for: request.children.0,
        waits_for_names: named(&request.children.1),
    }
}
