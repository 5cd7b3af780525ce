//! Updates that are signed by SIG(0) (RFC 2931, RFC 3007): a thread verifies them, under a quota, and hands on those that are right.
//!
//! ```text
//! worker --let in by address--> Queue --> thread: form, policy, key and time: all that is cheap     wrong: replied to
//!                                           | places of those that wait                              none: REFUSED, counted
//!                                           | one after another, so many a second
//!                                           `-> signature right: the changer, with the signer as the key of policies
//! ```
//!
//! A signature costs a thousand times what its request does, and whoever knows the name of a key can ask for it (CVE-2024-1975). So this is done on no worker; what it may take is in
//! [`waiting`]. The thread is started with the first request, as most servers have none.

mod waiting;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime};

use change::sig0::{Fault, Signature};
use sync::Mutex;
use wire::NameBuf;
use wire::iana::{ede, rcode};
use zone::ZoneView;
use zone::catalog::View;

use self::waiting::{Full, Next, Waiting};
use crate::command::Count;
use crate::controller::Controller;
use crate::dynamic::{Queue, Said};
use crate::repeated::{Failures, Line, Words};
use crate::requests::{Handed, Signer};

/// The thread that verifies, as others see it.
pub(crate) struct Verifier {
    owner: OnceLock<Weak<Controller>>,
    queue: Arc<Queue<Box<Handed>>>,
    is_started: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Those whose signature was right, since the start.
    verified: AtomicU64,
    failures: Failures,
}

/// What is said of those that go wrong.
static WORDS: Words = Words {
    failed: Line { kind: "sig0-failed", what: "updates signed by SIG(0) that are refused" },
    over_quota: Line {
        kind: "sig0-over-quota",
        what: "updates signed by SIG(0) that are refused without a look, as more come than are verified",
    },
};

/// What is said where too many wait: that of a policy, not of a fault.
pub(crate) const OVER_QUOTA: Said = Said::with_ede(rcode::REFUSED, ede::OTHER);

/// Why a request is not carried out.
enum Wrong {
    Fault(Fault),
    /// No rule of the policy is for the signer.
    Unknown,
    /// There is no such zone any more, or it has no data.
    NoZone,
}

impl Verifier {
    /// Before there is a thread.
    pub(crate) fn new() -> Verifier {
        Verifier {
            owner: OnceLock::new(),
            queue: Arc::new(Queue::new()),
            is_started: AtomicBool::new(false),
            thread: Mutex::named("signatures", None),
            verified: AtomicU64::new(0),
            failures: Failures::new("signatures said", &WORDS),
        }
    }

    /// Requests may come from now on.
    pub(crate) fn begin(&self, controller: &Arc<Controller>) {
        let _ = self.owner.set(Arc::downgrade(controller));
    }

    /// Takes a request that has a SIG(0) record.
    ///
    /// # Errors
    ///
    /// The request, if too many wait, or there is no thread for it.
    pub(crate) fn take(&self, request: Box<Handed>) -> Result<(), Box<Handed>> {
        if !self.is_started.swap(true, Ordering::AcqRel)
            && let Err(error) = self.start()
        {
            tracing::error!(%error, "a thread for signatures of updates cannot be started: {error}");
            self.is_started.store(false, Ordering::Release);
            return Err(request);
        }
        let octets = request.octets();
        self.queue.push(request, octets).inspect_err(|_| {
            self.failures.refuse();
        })
    }

    fn start(&self) -> std::io::Result<()> {
        let owner = self.owner.get().cloned().ok_or(std::io::ErrorKind::NotConnected)?;
        let (queue, ends) = (Arc::clone(&self.queue), Ends(Arc::clone(&self.queue)));
        let thread = std::thread::Builder::new().name("signatures".into()).spawn(move || {
            let _ends = ends;
            Work { owner, waiting: Waiting::new(), started: Instant::now() }.run(&queue);
        })?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    /// Ends the thread, and waits for that. Who still waits hears nothing.
    pub(crate) fn stop(&self) {
        self.queue.close();
        if let Some(thread) = self.thread.lock().take() {
            // What it had to say of a panic it has said.
            let _ = thread.join();
        }
    }

    /// What is counted.
    pub(crate) fn counts(&self) -> [Count; 3] {
        let count = |name: &str, help: &str, count: &AtomicU64| Count {
            name: name.into(),
            count: count.load(Ordering::Relaxed),
            help: help.into(),
        };
        let (verified, Failures { failed, over_quota, .. }) = (&self.verified, &self.failures);
        [
            count("sig0-verified", "Updates signed by SIG(0) whose signature is right.", verified),
            count("sig0-failed", "Those whose signature, signer or time is wrong.", failed),
            count("sig0-over-quota", "Those that were refused without a look, as too many came.", over_quota),
        ]
    }

    /// Writes lines of what went wrong since the last time. To be called by no worker.
    pub(crate) fn say(&self, now: Instant) {
        self.failures.say(now);
    }
}

/// Has nothing be taken any more once the thread ends, by a panic too.
struct Ends(Arc<Queue<Box<Handed>>>);

impl Drop for Ends {
    fn drop(&mut self) {
        drop(self.0.end());
    }
}

/// What the thread has.
struct Work {
    owner: Weak<Controller>,
    waiting: Waiting<Box<Handed>>,
    started: Instant,
}

impl Work {
    fn run(mut self, queue: &Queue<Box<Handed>>) {
        let mut until = None;
        while let Some(requests) = queue.take(until) {
            let Some(controller) = self.owner.upgrade() else { return };
            for request in requests {
                self.enter(&controller, request);
            }
            // One at a time, so that what comes meanwhile finds a place or is told that there is none.
            until = match self.waiting.next(self.started.elapsed()) {
                Next::Turn(request) => {
                    verify(&controller, request);
                    Some(Instant::now())
                }
                Next::After(wait) => Some(Instant::now() + wait),
                Next::Nobody => None,
            };
        }
    }

    /// Has a request wait for its turn, if it has a place and what costs little to look at is right.
    fn enter(&mut self, controller: &Controller, request: Box<Handed>) {
        let (network, is_proved) = (request.network, request.is_proved);
        if let Some(full) = self.waiting.full(network, is_proved) {
            controller.verifier.failures.refuse();
            let client = request.client;
            tracing::debug!(address = %client, "update of {client} signed by SIG(0) refused: {}", words(full));
            return request.reply(OVER_QUOTA, wall());
        }
        match look(controller, &request, |signature, zone| signature.check(zone, wall())) {
            Ok(()) => self.waiting.enter(network, is_proved, request, self.started.elapsed()),
            Err(wrong) => refuse(controller, *request, &wrong),
        }
    }
}

/// Verifies the signature of a request, and hands it on.
fn verify(controller: &Controller, mut request: Box<Handed>) {
    // Once more, as the zone and its policy may be others than when it came.
    let verified = look(controller, &request, |signature, zone| signature.verify(zone, wall()));
    match verified {
        Err(wrong) => refuse(controller, *request, &wrong),
        Ok(signer) => {
            controller.verifier.verified.fetch_add(1, Ordering::Relaxed);
            request.signer = Some(Signer::Public(signer));
            if let Err(request) = controller.dynamic.request(request) {
                request.reply(Said::not_now(), wall());
            }
        }
    }
}

/// Has `judge` look at the signature of a request, beside the zone as it is served, if the policy of the zone could grant its signer anything.
fn look<R>(
    controller: &Controller,
    request: &Handed,
    judge: impl FnOnce(&Signature<'_>, &ZoneView<'_>) -> Result<R, Fault>,
) -> Result<R, Wrong> {
    let signature = Signature::find(&request.message).map_err(Wrong::Fault)?;
    let (zone, signer) = (request.zone(), signature.signer());
    let terms = controller.update_terms(zone);
    if let Some(policy) = terms.policy {
        let asker = change::Asker { key: Some(signer), ..request.asker() };
        if !policy.of(&asker).is_known() {
            return Err(Wrong::Unknown);
        }
    }
    controller.catalog.reader().with(|view| {
        let found = view.slot_named(zone).and_then(|slot| view.view_of(slot));
        let Some(View::Zone(zone)) = found else { return Err(Wrong::NoZone) };
        judge(&signature, &zone).map_err(Wrong::Fault)
    })
}

fn refuse(controller: &Controller, request: Handed, wrong: &Wrong) {
    let (said, why) = match wrong {
        Wrong::Fault(fault) => (Said { ede: fault.ede(), ..Said::rcode(fault.rcode()) }, fault.to_string()),
        Wrong::Unknown => (
            Said::with_ede(rcode::REFUSED, ede::PROHIBITED),
            "no rule of the policy is for its signer".to_owned(),
        ),
        Wrong::NoZone => (Said::not_now(), "the zone has no data".to_owned()),
    };
    let verifier = &controller.verifier;
    let signer: Option<NameBuf> =
        Signature::find(&request.message).ok().map(|found| found.signer().to_owned());
    let by = signer.map_or_else(String::new, |signer| format!(", signer {signer}"));
    let (zone, client) = (request.zone(), request.client);
    let words = format!("zone {zone}, {client}{by}: {why}");
    tracing::debug!(%zone, address = %client, "update signed by SIG(0) refused: {words}");
    verifier.failures.note(words);
    verifier.failures.fail();
    request.reply(said, wall());
}

fn words(full: Full) -> &'static str {
    match full {
        Full::All => "as many wait as may",
        Full::Unproved => {
            "as many wait as may of clients that have not shown that they receive at their address"
        }
        Full::Network => "as many wait as may of its network",
    }
}

/// Seconds since 1970.
fn wall() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
