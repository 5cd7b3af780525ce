//! Between a stream and the thread that renders for it, in all orders that memory allows.
//!
//! This is the protocol of `ahead::job` by itself, with one slot. Each rule that is left out must make the check fail.

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering::AcqRel, Ordering::Acquire, Ordering::Release};
use loom::thread;

/// A rule that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Who says that it waits, or is not queued, does not look at the slot again.
    NoSecondLook,
    /// The thread looks for one who waits before it fills the slot; the stream looks whether it is queued before it empties it.
    TooEarly,
    /// The thread stays in the ring without asking whether it is queued again.
    NoClaim,
    /// What is said is stored, so that it is not ordered with what the other side does.
    Stored,
}

struct Job {
    is_full: AtomicBool,
    is_queued: AtomicBool,
    waits: AtomicBool,
}

impl Job {
    fn say(&self, word: &AtomicBool, value: bool, fault: Fault) {
        match fault {
            Fault::Stored => word.store(value, Release),
            _ => drop(word.swap(value, AcqRel)),
        }
    }
}

fn model(is_full: bool, check: impl Fn(Arc<Job>) + Send + Sync + 'static) {
    loom::model(move || {
        check(Arc::new(Job {
            is_full: AtomicBool::new(is_full),
            is_queued: AtomicBool::new(true),
            waits: AtomicBool::new(false),
        }));
    });
}

/// The stream looks for a message while the thread makes one.
fn waiting(fault: Fault) {
    model(false, move |job| {
        let of_thread = Arc::clone(&job);
        let renderer = thread::spawn(move || {
            let job = of_thread;
            let early = fault == Fault::TooEarly && job.waits.swap(false, AcqRel);
            job.is_full.store(true, Release);
            early || (fault != Fault::TooEarly && job.waits.swap(false, AcqRel))
        });
        let is_ready = job.is_full.load(Acquire) || {
            job.say(&job.waits, true, fault);
            fault != Fault::NoSecondLook && job.is_full.load(Acquire)
        };
        let is_woken = renderer.join().unwrap_or_default();
        assert!(is_ready || is_woken, "a stream waits with a message ready");
    });
}

/// The stream takes a message while the thread finds no room for another.
fn queueing(fault: Fault) {
    model(true, move |job| {
        let of_thread = Arc::clone(&job);
        let renderer = thread::spawn(move || {
            let job = of_thread;
            if !job.is_full.load(Acquire) {
                return true;
            }
            job.say(&job.is_queued, false, fault);
            let is_empty = fault != Fault::NoSecondLook && !job.is_full.load(Acquire);
            is_empty && (fault == Fault::NoClaim || !job.is_queued.swap(true, AcqRel))
        });
        let early = fault == Fault::TooEarly && !job.is_queued.swap(true, AcqRel);
        job.is_full.store(false, Release);
        let is_pushed = early || (fault != Fault::TooEarly && !job.is_queued.swap(true, AcqRel));
        let stays = renderer.join().unwrap_or_default();
        assert!(stays || is_pushed, "a job with an empty slot is nowhere");
        assert!(!(stays && is_pushed), "a job is in the ring twice");
    });
}

#[test]
fn no_stream_waits_for_nothing() {
    waiting(Fault::None);
    queueing(Fault::None);
}

#[test]
fn every_rule_is_needed() {
    let fails = |check: fn(Fault), fault| {
        assert!(std::panic::catch_unwind(|| check(fault)).is_err(), "{fault:?}");
    };
    for fault in [Fault::NoSecondLook, Fault::TooEarly, Fault::Stored] {
        fails(waiting, fault);
        fails(queueing, fault);
    }
    fails(queueing, Fault::NoClaim);
}
