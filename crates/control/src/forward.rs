//! Updates of zones that are transferred from others, sent on to their primaries (RFC 2136 6): a thread, a connection for each.
//!
//! ```text
//! worker --let in--> channel, bell --> thread: Flight (primaries, one after another) <-- poll --> Exchange: a connection
//!                                         `-- answer with the client's ID, or SERVFAIL --> client
//! ```
//!
//! What is sent is what came, but for its ID: signatures are for the primary to judge. Over TCP always, as then a request is lost or sent, and not sent twice because an answer was lost;
//! and requests may be large. The thread is started with the first request.

mod exchange;
mod flight;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use sync::Mutex;
use sync::random::Unguessable;
use wire::iana::{ede, rcode};

use self::flight::{Flight, Primary, Step};
use crate::command::Count;
use crate::controller::Controller;
use crate::dynamic::Said;
use crate::repeated::{Failures, Line, Words};
use crate::requests::Handed;

/// Requests that are under way: a connection each, and with messages of the largest kind 32 MiB.
const FLIGHTS_MAX: usize = 256;
/// Of one client network.
const FLIGHTS_PER_NETWORK_MAX: usize = 32;
/// How long a primary that did not answer is asked after the others.
const SHY: Duration = Duration::from_secs(10);
/// Primaries of which that is remembered: what is beyond is asked in its order.
const SHY_MAX: usize = 1024;
/// How often the thread looks whether there is a server still.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// What sends requests on, as others see it.
pub(crate) struct Forwarder {
    owner: OnceLock<Weak<Controller>>,
    is_started: AtomicBool,
    handle: OnceLock<Handle>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Requests that are not replied to.
    under_way: Arc<AtomicUsize>,
    counts: Counts,
    failures: Failures,
}

/// How the thread is reached.
struct Handle {
    requests: Sender<Box<Handed>>,
    bell: Arc<OwnedFd>,
    is_ending: Arc<AtomicBool>,
}

/// Counts since the start.
#[derive(Default)]
struct Counts {
    forwarded: AtomicU64,
    answered: AtomicU64,
}

/// What is said of those that go wrong.
static WORDS: Words = Words {
    failed: Line { kind: "forwarded-failed", what: "updates that no primary has answered" },
    over_quota: Line {
        kind: "forwarded-over-quota",
        what: "updates that are refused, as more are to be sent on than may be under way",
    },
};

impl Forwarder {
    /// Before there is a thread.
    pub(crate) fn new() -> Forwarder {
        Forwarder {
            owner: OnceLock::new(),
            is_started: AtomicBool::new(false),
            handle: OnceLock::new(),
            thread: Mutex::named("forwarding", None),
            under_way: Arc::default(),
            counts: Counts::default(),
            failures: Failures::new("forwarding said", &WORDS),
        }
    }

    /// Requests may come from now on.
    pub(crate) fn begin(&self, controller: &Arc<Controller>) {
        let _ = self.owner.set(Arc::downgrade(controller));
    }

    /// Takes a request.
    ///
    /// # Errors
    ///
    /// The request, if too many are under way, or there is no thread for it.
    pub(crate) fn take(&self, request: Box<Handed>) -> Result<(), Box<Handed>> {
        if !self.is_started.swap(true, Ordering::AcqRel)
            && let Err(error) = self.start()
        {
            tracing::error!(%error, "a thread that sends updates on cannot be started: {error}");
            self.is_started.store(false, Ordering::Release);
        }
        // Another worker starts it in this moment: the client comes again.
        let Some(handle) = self.handle.get() else { return Err(request) };
        if self.under_way.fetch_add(1, Ordering::Relaxed) >= FLIGHTS_MAX {
            self.under_way.fetch_sub(1, Ordering::Relaxed);
            self.failures.refuse();
            return Err(request);
        }
        handle.requests.send(request).map_err(|refused| {
            self.under_way.fetch_sub(1, Ordering::Relaxed);
            refused.0
        })?;
        handle.ring();
        Ok(())
    }

    fn start(&self) -> io::Result<()> {
        let owner = self.owner.get().cloned().ok_or(io::ErrorKind::NotConnected)?;
        let bell = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let (requests, received) = channel();
        let is_ending = Arc::new(AtomicBool::new(false));
        let mut work = Work {
            owner,
            requests: received,
            bell: Arc::clone(&bell),
            under_way: Arc::clone(&self.under_way),
            random: Unguessable::from_system()?,
            flights: Vec::new(),
            shy: HashMap::new(),
        };
        let ends = Arc::clone(&is_ending);
        let thread = std::thread::Builder::new().name("forwarding".into());
        let thread = thread.spawn(move || while !ends.load(Ordering::Acquire) && work.turn() {})?;
        *self.thread.lock() = Some(thread);
        let _ = self.handle.set(Handle { requests, bell, is_ending });
        Ok(())
    }

    /// Ends the thread, and waits for that. Who still waits hears nothing.
    pub(crate) fn stop(&self) {
        if let Some(handle) = self.handle.get() {
            handle.is_ending.store(true, Ordering::Release);
            handle.ring();
        }
        if let Some(thread) = self.thread.lock().take() {
            // What it had to say of a panic it has said.
            let _ = thread.join();
        }
    }

    /// What is counted.
    pub(crate) fn counts(&self) -> [Count; 4] {
        let count = |name: &str, help: &str, count: &AtomicU64| Count {
            name: name.into(),
            count: count.load(Ordering::Relaxed),
            help: help.into(),
        };
        let Counts { forwarded, answered } = &self.counts;
        let Failures { failed, over_quota, .. } = &self.failures;
        [
            count("forwarded", "Updates that were sent on to a primary.", forwarded),
            count("forwarded-answered", "Those that a primary has answered.", answered),
            count("forwarded-failed", "Those that none has answered.", failed),
            count(
                "forwarded-over-quota",
                "Updates that were not sent on, as too many were under way.",
                over_quota,
            ),
        ]
    }

    /// Writes lines of what went wrong since the last time. To be called by no worker.
    pub(crate) fn say(&self, now: Instant) {
        self.failures.say(now);
    }
}

impl Handle {
    fn ring(&self) {
        // It fails only where it rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

/// What the thread has.
struct Work {
    owner: Weak<Controller>,
    requests: Receiver<Box<Handed>>,
    bell: Arc<OwnedFd>,
    under_way: Arc<AtomicUsize>,
    random: Unguessable,
    flights: Vec<Flight>,
    /// Primaries that did not answer, and when.
    shy: HashMap<SocketAddr, Instant>,
}

impl Work {
    /// Waits for something to do, and does it. `false`: there is no server any more.
    fn turn(&mut self) -> bool {
        let ready = self.wait();
        let Some(controller) = self.owner.upgrade() else { return false };
        let now = Instant::now();
        // From the end, as those that have landed leave their place to the last.
        for number in (0..self.flights.len()).rev() {
            let is_ready = ready.get(number).copied().unwrap_or(false);
            self.go_on(&controller, number, is_ready, now);
        }
        while let Ok(request) = self.requests.try_recv() {
            if !self.begin(&controller, request, now) {
                self.under_way.fetch_sub(1, Ordering::Relaxed);
            }
        }
        true
    }

    /// Waits until a socket is ready, the bell rings, or something is late; says which flights' sockets are.
    fn wait(&self) -> Vec<bool> {
        let now = Instant::now();
        let until = self.flights.iter().map(Flight::until).min();
        let wait = until.map_or(LOOK_EVERY, |until| until.saturating_duration_since(now)).min(LOOK_EVERY);
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut all = vec![PollFd::new(&self.bell, PollFlags::IN)];
        let mut numbers = Vec::with_capacity(self.flights.len());
        for (number, flight) in self.flights.iter().enumerate() {
            if let Some((socket, flags)) = flight.wanted() {
                all.push(PollFd::new(socket, flags));
                numbers.push(number);
            }
        }
        // An error is an interruption: all is looked at once more.
        let _ = poll(&mut all, Some(&wait));
        let mut ready = vec![false; self.flights.len()];
        for (number, looked) in numbers.into_iter().zip(&all[1..]) {
            ready[number] = !looked.revents().is_empty();
        }
        let _ = rustix::io::read(&self.bell, &mut [0_u8; 8]);
        ready
    }

    /// Sends a request on. `false`: it must not be, and whatever is to be said to it was.
    fn begin(&mut self, controller: &Controller, request: Box<Handed>, now: Instant) -> bool {
        if self.flights.iter().any(|flight| flight.is_repeated(&request)) {
            // The one that came before is replied to.
            return false;
        }
        let counts = &controller.forwarder.counts;
        let of_network = self.flights.iter().filter(|flight| flight.request.network == request.network);
        if of_network.count() >= FLIGHTS_PER_NETWORK_MAX {
            controller.forwarder.failures.refuse();
            request.reply(Said::not_now(), wall());
            return false;
        }
        let primaries = self.primaries(controller, &request, now);
        let is_primary = primaries.iter().any(|primary| primary.address.ip() == request.address());
        if is_primary && self.flights.iter().any(|flight| flight.is_same(&request)) {
            let (zone, client) = (request.zone(), request.client);
            tracing::warn!(%zone, address = %client, "zone {zone}: {client}, where its updates are sent on to, sends them back: refused");
            request.reply(Said::with_ede(rcode::REFUSED, ede::OTHER), wall());
            return false;
        }
        counts.forwarded.fetch_add(1, Ordering::Relaxed);
        self.flights.push(Flight::new(request, self.random.next_u16(), primaries, now));
        self.go_on(controller, self.flights.len() - 1, false, now);
        true
    }

    /// The primaries of the zone of a request, those last that did not answer lately.
    fn primaries(&mut self, controller: &Controller, request: &Handed, now: Instant) -> Vec<Primary> {
        let (names, remotes) = (controller.primaries_of(request.zone()), controller.secondaries.remotes());
        let mut primaries: Vec<Primary> = names
            .iter()
            .filter_map(|name| remotes.get(&**name))
            .flat_map(|remote| remote.addresses.iter().map(|address| (*address, remote.source)))
            .map(|(address, source)| Primary { address, source })
            .collect();
        self.shy.retain(|_, since| now.saturating_duration_since(*since) < SHY);
        primaries.sort_by_key(|primary| self.shy.contains_key(&primary.address));
        primaries
    }

    /// Goes on with a flight, as far as that is possible now.
    fn go_on(&mut self, controller: &Controller, number: usize, mut is_ready: bool, now: Instant) {
        let counts = &controller.forwarder.counts;
        // Each turn but the last gives a primary up.
        loop {
            let flight = &mut self.flights[number];
            match flight.step(std::mem::take(&mut is_ready), now) {
                Step::Wait => return,
                Step::Failed(address, error) => {
                    let zone = flight.request.zone();
                    tracing::debug!(%zone, %address, %error, "zone {zone}: an update is not sent on to {address}: {error}");
                    let (client, words) = (flight.request.client, error.to_string());
                    let failure = format!("zone {zone}, {client}; {address}: {words}");
                    controller.forwarder.failures.note(failure);
                    if self.shy.len() < SHY_MAX {
                        self.shy.insert(address, now);
                    }
                }
                Step::Answer(answer) => {
                    counts.answered.fetch_add(1, Ordering::Relaxed);
                    self.flights.swap_remove(number).land(answer, wall());
                    break;
                }
                Step::Nobody => {
                    controller.forwarder.failures.fail();
                    self.flights.swap_remove(number).fail(wall());
                    break;
                }
            }
        }
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Seconds since 1970.
fn wall() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
