//! What waits for a sink: blocks of frames or lines, bounded in octets. The observer fills them and never waits; one that finds no room is dropped and its
//! units are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Octets of a block, but for one that has a longer unit alone. Less would be more system calls of the sink, more later lines.
pub const BLOCK_OCTETS: usize = 64 << 10;

/// Octets of most units: with room for one more, a block that becomes full need not be moved.
const UNIT_OCTETS: usize = 4 << 10;

/// How long a block may wait to become full: what people look at should not be old.
const BLOCK_AGE_MAX: Duration = Duration::from_millis(100);

/// What a block takes beside its octets, roughly.
const BLOCK_OVERHEAD_OCTETS: usize = 128;

sync::counters! {
    /// Live counters of a sink. Each has one writer: the observer or the thread of the sink.
    pub(crate) live Live;
    /// What was counted of a sink.
    pub values Counts;

    /// Frames or lines made.
    made,
    /// Frames or lines written.
    written,
    /// Frames or lines that found no room in the queue.
    dropped_at_queue,
    /// Frames or lines that nobody read, or that could not be written.
    dropped_at_sink,
    /// Octets written.
    octets,
    /// Times that it was opened.
    opened,
    /// Times that it failed.
    failed,
}

/// Octets that are to be written, and how many frames or lines they are.
pub(crate) struct Block {
    pub(crate) octets: Vec<u8>,
    pub(crate) units: u64,
}

impl Block {
    fn charge(&self) -> usize {
        self.octets.capacity() + BLOCK_OVERHEAD_OCTETS
    }
}

/// What the thread of a sink is told.
pub(crate) enum Item {
    /// Write this.
    Block(Block),
    /// Open it anew.
    Reopen,
    /// Write what came before, close it, and end; in vain after this moment.
    End(Instant),
}

/// What both sides see.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) counts: Live,
    /// What the blocks in the queue take.
    queued: AtomicUsize,
    /// Whether nobody waits for the sink any more: what is not written by now is lost.
    is_given_up: AtomicBool,
}

/// A queue of at most so many octets: its two ends, and one for orders.
pub(crate) fn queue(octets_max: usize) -> (Filler, Receiver<Item>, Sender<Item>, Arc<Shared>) {
    let (to, from) = channel();
    let shared = Arc::new(Shared::default());
    let filler = Filler {
        block: Vec::new(),
        units: 0,
        begun: None,
        octets_max,
        to: to.clone(),
        shared: Arc::clone(&shared),
    };
    (filler, from, to, shared)
}

impl Shared {
    /// A block has left the queue.
    pub(crate) fn taken(&self, block: &Block) {
        self.queued.fetch_sub(block.charge(), Ordering::Relaxed);
    }

    /// From now on nothing more is written. What was counted, where all that is not written is lost.
    pub(crate) fn give_up(&self) -> Counts {
        self.is_given_up.store(true, Ordering::Relaxed);
        let counts = self.counts.read();
        let known = counts.written + counts.dropped_at_queue;
        Counts { dropped_at_sink: counts.made.saturating_sub(known), ..counts }
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Relaxed)
    }

    /// Octets that the queue takes now.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }
}

/// The observer's end.
pub struct Filler {
    block: Vec<u8>,
    units: u64,
    /// When something was first seen in the block.
    begun: Option<Instant>,
    octets_max: usize,
    to: Sender<Item>,
    shared: Arc<Shared>,
}

impl Filler {
    /// Adds a frame or a line: what `write` puts at the end of the block, and leaves whole before it.
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        if self.block.capacity() == 0 {
            self.block.reserve_exact(BLOCK_OCTETS + UNIT_OCTETS);
        }
        let start = self.block.len();
        write(&mut self.block);
        if self.block.len() == start {
            return;
        }
        self.shared.counts.made.add(1);
        if self.block.len() > BLOCK_OCTETS && start > 0 {
            let rest = self.block.split_off(start);
            self.send();
            self.block = rest;
        }
        self.units += 1;
        if self.block.len() >= BLOCK_OCTETS {
            self.send();
        }
    }

    /// Hands over what has waited for long enough.
    pub fn hand_over(&mut self, now: Instant) {
        if self.block.is_empty() {
            return;
        }
        let begun = *self.begun.get_or_insert(now);
        if now.saturating_duration_since(begun) >= BLOCK_AGE_MAX {
            self.send();
        }
    }

    /// Hands over what there is.
    pub fn flush(&mut self) {
        if !self.block.is_empty() {
            self.send();
        }
    }

    fn send(&mut self) {
        let mut octets = std::mem::take(&mut self.block);
        // What waits for a collector that stalls is not to be room that nothing is in.
        if octets.len() < octets.capacity() / 2 {
            octets.shrink_to_fit();
        }
        let block = Block { octets, units: std::mem::take(&mut self.units) };
        self.begun = None;
        // Only this side adds, so there is at least as much room as it sees.
        let charge = block.charge();
        if self.shared.queued() + charge > self.octets_max {
            self.shared.counts.dropped_at_queue.add(block.units);
            return;
        }
        self.shared.queued.fetch_add(charge, Ordering::Relaxed);
        let units = block.units;
        if self.to.send(Item::Block(block)).is_err() {
            // The sink has ended.
            self.shared.queued.fetch_sub(charge, Ordering::Relaxed);
            self.shared.counts.dropped_at_queue.add(units);
        }
    }
}

impl Drop for Filler {
    /// What nobody has handed over is lost: whoever had it has met a fault.
    fn drop(&mut self) {
        self.shared.counts.dropped_at_queue.add(self.units);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn blocks(from: &Receiver<Item>) -> Vec<(usize, u64)> {
        let of = |item| match item {
            Item::Block(block) => Some((block.octets.len(), block.units)),
            _ => None,
        };
        from.try_iter().filter_map(of).collect()
    }

    #[test]
    fn units_are_whole_in_blocks() {
        let (mut filler, from, _to, shared) = queue(1 << 20);
        for _ in 0..5 {
            filler.add(|block| block.extend([1; 20_000]));
        }
        filler.add(|block| block.extend([2; 100_000]));
        filler.add(|block| block.push(3));
        filler.flush();
        assert_eq!(blocks(&from), [(60_000, 3), (40_000, 2), (100_000, 1), (1, 1)]);
        assert_eq!(Counts { made: 7, ..Counts::default() }, shared.counts.read());
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let (mut filler, from, _to, shared) = queue(3 * BLOCK_OCTETS);
        for _ in 0..6 {
            filler.add(|block| block.extend([1; BLOCK_OCTETS / 2]));
        }
        assert_eq!(blocks(&from).len(), 2, "a third one and what it takes beside has no room");
        let counts = shared.counts.read();
        assert_eq!((counts.made, counts.dropped_at_queue), (6, 2));
    }

    #[test]
    fn what_is_not_handed_over_is_counted() {
        let (mut filler, _from, _to, shared) = queue(1 << 20);
        filler.add(|block| block.push(b'\n'));
        filler.flush();
        filler.add(|block| block.push(b'\n'));
        drop(filler);
        let counts = shared.counts.read();
        assert_eq!((counts.made, counts.dropped_at_queue), (2, 1));
    }

    #[test]
    fn a_block_is_handed_over_once_it_is_old() {
        let (mut filler, from, _to, _) = queue(1 << 20);
        let now = Instant::now();
        filler.hand_over(now);
        filler.add(|block| block.push(b'\n'));
        filler.hand_over(now);
        assert!(blocks(&from).is_empty(), "it is new");
        filler.hand_over(now + BLOCK_AGE_MAX);
        assert_eq!(blocks(&from), [(1, 1)]);
    }
}
