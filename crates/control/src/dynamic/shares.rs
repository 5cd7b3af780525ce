//! The log applied by several threads: all records of a zone go to the same of them, in their order.
//!
//! ```text
//! log --in order--> what is to be done with a record --by its zone, some at a time--> a Replay a thread --> all of them as one
//! ```
//!
//! A start with a thousand zones that have changed spends nearly all of its time in their deltas, of which each is its own.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};

use journal::{Body, Entry, Record, Recovery};

use super::images::Loaded;
use super::replay::Replay;

/// Records that are given to a thread at a time, and their octets: a change of thread for each would take longer than most of them.
const STEPS_MAX: usize = 256;
/// See [`STEPS_MAX`].
const OCTETS_MAX: usize = 256 << 10;
/// How often so many may wait for a thread: who reads the log goes no further ahead.
const AHEAD: usize = 4;
/// Said of a record that no entry can have.
const TOO_LARGE: &[u8] = b"the log has a record of it that is larger than any may be";

/// What a start does with a record.
pub(super) enum Way {
    /// It is applied.
    Take,
    /// It says nothing of its zone's data.
    Aside,
    /// What comes later stands for it. Whether it is part of what its zone begins from.
    Pass(bool),
    /// The same, for an image; with the last of these, what that has.
    Imaged(bool, Option<Box<Loaded>>),
}

/// A record, and what is to be done with it.
struct Step {
    group: u64,
    way: Way,
    entry: Entry,
}

impl Step {
    fn new(group: u64, way: Way, record: &Record<'_>) -> Option<Step> {
        let Record { zone, serial_before, serial_after, time, body, .. } = *record;
        let entry = Entry::new(zone, serial_before, serial_after, time, body)
            .or_else(|_| Entry::new(zone, 0, 0, time, Body::Damaged(TOO_LARGE)));
        Some(Step { group, way, entry: entry.ok()? })
    }
}

/// What waits to be given to a thread.
struct Share {
    sender: SyncSender<Vec<Step>>,
    steps: Vec<Step>,
    octets: usize,
}

impl Share {
    fn push(&mut self, step: Step) {
        self.octets += step.entry.octets();
        self.steps.push(step);
        if self.steps.len() >= STEPS_MAX || self.octets >= OCTETS_MAX {
            self.send();
        }
    }

    fn send(&mut self) {
        self.octets = 0;
        // Who takes them ends by a panic alone, which is gone on with below.
        let _ = self.sender.send(std::mem::take(&mut self.steps));
    }
}

/// Does with all records what `way_of` says, on so many threads. `way_of` is called with each in order, by its number from 1 on.
pub(super) fn replay_on<'c>(
    threads: usize,
    recovery: &Recovery,
    mut replay: Replay<'c>,
    way_of: &mut dyn FnMut(u64, &Record<'_>) -> Way,
) -> io::Result<Replay<'c>> {
    let mut number = 0;
    let mut next_way = |record: &Record<'_>| {
        number += 1;
        way_of(number, record)
    };
    if threads < 2 {
        let mut take = |group, record: &Record<'_>| replay.step(recovery, group, next_way(record), record);
        recovery.replay(&mut take)?;
        return Ok(replay);
    }
    let hasher = RandomState::new();
    std::thread::scope(|scope| {
        let (mut shares, mut running) = (Vec::new(), Vec::new());
        for mut own in replay.shares(threads) {
            let (sender, receiver) = sync_channel::<Vec<Step>>(AHEAD);
            shares.push(Share { sender, steps: Vec::new(), octets: 0 });
            running.push(scope.spawn(move || {
                for Step { group, way, entry } in receiver.into_iter().flatten() {
                    own.step(recovery, group, way, &entry.record());
                }
                own
            }));
        }
        let read = recovery.replay(&mut |group, record| {
            let way = next_way(record);
            if matches!(way, Way::Aside) {
                return;
            }
            let at = hasher.hash_one(record.zone.to_lowercase()) as usize % shares.len();
            if let Some(step) = Step::new(group, way, record) {
                shares[at].push(step);
            }
        });
        shares.iter_mut().for_each(Share::send);
        drop(shares);
        for thread in running {
            replay.join(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        read.map(|()| replay)
    })
}
