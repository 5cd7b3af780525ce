//! Memory of one worker for one event after the other: its own area, more of them where an event needs more, else the system's allocator.
//!
//! ```text
//! Work    own area, 256 KiB:  | a name | findings | a name | ...   free            |     kept from event to event, cleared between two
//!         more areas:         | what the first had no room for ...                 |     taken from all while an event lasts
//!         pieces of the system's allocator                                               where all are taken, or one has no room for so much: counted
//! ```
//!
//! It never says no: an event that is larger than anybody thought is slower, and ends. An event is one datagram, one query, one turn of the clock: what is cut for it is
//! borrowed from the work, so that nothing of it can be kept when the next one begins ([`Work::clear`] needs the work for itself).
//!
//! ```
//! # use std::sync::Arc;
//! let areas = Arc::new(sync::Areas::new());
//! let mut work = sync::area::Work::new(Arc::clone(&areas));
//! for event in [&b"\x03WWW\x01x\0"[..], b"\x01X\0"] {
//!     let name = work.copy(event);
//!     name.make_ascii_lowercase();
//!     work.clear();
//! }
//! assert_eq!((areas.made(), work.system_pieces()), (1, 0));
//! ```

use std::cell::{Cell, OnceCell, RefCell, UnsafeCell};
use std::sync::Arc;
use std::{mem, slice};

use super::{Area, Areas, BLOCK_OCTETS, Unit};

/// Areas of one worker at a time. One is enough for what a message of 64 KiB makes; with a second one an event holds half a MiB, and there are 50 such at once before the
/// system's allocator is asked. With one alone each event that is larger would go to the system's.
const AREAS_MAX: usize = 2;

/// Pieces of the system's allocator, until the event ends.
type Pieces = Vec<Box<[UnsafeCell<Unit>]>>;

/// See the module.
#[derive(Default)]
pub struct Work {
    /// `None`: all comes from the system's allocator.
    areas: Option<Arc<Areas>>,
    /// The first is the worker's own, and stays. Filled in order.
    taken: [OnceCell<Area<'static>>; AREAS_MAX],
    pieces: RefCell<Pieces>,
    /// Whether there is more than the first area to give back.
    has_more: Cell<bool>,
    system_pieces: Cell<u64>,
}

impl Work {
    /// Memory from these areas, none of which is taken before the first event needs one.
    pub fn new(areas: Arc<Areas>) -> Work {
        Work { areas: Some(areas), ..Work::of_system() }
    }

    /// Each piece from the system's allocator, to compare with, and for what is no worker.
    pub fn of_system() -> Work {
        Work::default()
    }

    /// Pieces that the system's allocator gave so far.
    pub fn system_pieces(&self) -> u64 {
        self.system_pieces.get()
    }

    /// A copy of `values`.
    #[inline]
    pub fn copy<T: Copy>(&self, values: &[T]) -> &mut [T] {
        match self.taken[0].get().map(|area| area.copy(values)) {
            Some(Ok(piece)) => piece,
            _ => self.cut(values.len(), |area| area.copy(values).ok(), |index| values[index]),
        }
    }

    /// So many times `value`.
    #[inline]
    pub fn slice<T: Copy>(&self, count: usize, value: T) -> &mut [T] {
        match self.taken[0].get().map(|area| area.slice(count, value)) {
            Some(Ok(piece)) => piece,
            _ => self.cut(count, |area| area.slice(count, value).ok(), |_| value),
        }
    }

    /// The event is over: all that was cut is free, areas beyond the first are anybody's.
    #[inline]
    pub fn clear(&mut self) {
        if let Some(own) = self.taken[0].get_mut() {
            own.clear();
        }
        if self.has_more.replace(false) {
            self.taken[1..].iter_mut().for_each(|more| drop(more.take()));
            self.pieces.get_mut().clear();
        }
    }

    /// Takes an area for it, or asks the system's allocator.
    #[cold]
    fn cut<'w, T: Copy + 'w>(
        &'w self,
        count: usize,
        from: impl Fn(&'w Area<'static>) -> Option<&'w mut [T]>,
        value: impl Fn(usize) -> T,
    ) -> &'w mut [T] {
        let octets = mem::size_of::<T>().saturating_mul(count);
        let areas = self.areas.as_ref().filter(|_| octets <= BLOCK_OCTETS);
        for (number, place) in areas.into_iter().flat_map(|_| self.taken.iter().enumerate()) {
            if place.get().is_none() {
                let Some(area) = self.areas.as_ref().and_then(Areas::take_shared) else { break };
                self.has_more.set(self.has_more.get() || number > 0);
                // It was empty, and nobody else has this work.
                let _ = place.set(area);
            }
            if let Some(piece) = place.get().and_then(&from) {
                return piece;
            }
        }
        self.has_more.set(true);
        self.system_pieces.set(self.system_pieces.get() + 1);
        self.of_system_allocator(count, value)
    }

    fn of_system_allocator<T: Copy>(&self, count: usize, value: impl Fn(usize) -> T) -> &mut [T] {
        const {
            assert!(
                mem::align_of::<T>() <= mem::align_of::<Unit>(),
                "needs a stricter alignment than a piece has"
            )
        };
        let units = (mem::size_of::<T>() * count).div_ceil(mem::size_of::<Unit>());
        let piece: Box<[UnsafeCell<Unit>]> = (0..units).map(|_| UnsafeCell::new(0)).collect();
        let start: *mut T = UnsafeCell::raw_get(piece.as_ptr()).cast();
        // The octets stay where they are while the list of pieces grows.
        self.pieces.borrow_mut().push(piece);
        // SAFETY: the piece has room for `count` of `T` (`units`), is aligned as `Unit`, and is dropped by `clear` and with the work alone, which need it for themselves,
        // so not while this is borrowed. Nobody else is given it. Every value is initialised here, and `T: Copy` has nothing to drop.
        unsafe {
            (0..count).for_each(|index| start.add(index).write(value(index)));
            slice::from_raw_parts_mut(start, count)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Cuts pieces until the event is as large as this, and looks whether they keep apart.
    #[track_caller]
    fn check(work: &mut Work, piece_octets: usize, count: usize, system_pieces: u64) {
        let before = work.system_pieces();
        let all: Vec<&mut [u8]> = (0..count).map(|number| work.slice(piece_octets, number as u8)).collect();
        let words = work.copy(&[1u64, 2, 3]);
        words[1] += 5;
        assert!(words.as_ptr().addr().is_multiple_of(8));
        for (number, piece) in all.iter().enumerate() {
            assert!(piece.len() == piece_octets && piece.iter().all(|octet| *octet == number as u8));
        }
        assert_eq!(words, [1, 7, 3]);
        assert_eq!(work.system_pieces() - before, system_pieces, "{piece_octets} {count}");
        work.clear();
    }

    #[test]
    fn own_area_then_another_then_the_system() {
        let areas = Arc::new(Areas::with_limit(3));
        let mut work = Work::new(Arc::clone(&areas));
        assert_eq!(areas.made(), 0, "on demand");
        check(&mut work, 100, 50, 0);
        assert_eq!(areas.made(), 1);
        check(&mut work, BLOCK_OCTETS / 2, 4, 1);
        assert_eq!(areas.made(), 2);
        check(&mut work, BLOCK_OCTETS + 1, 2, 2);
        check(&mut work, 100, 50, 0);
        let others: Vec<_> = (0..2).map(|_| areas.take_shared().unwrap()).collect();
        assert!(areas.take_shared().is_none(), "the own one stays, what was beyond came back");
        check(&mut work, BLOCK_OCTETS / 2, 3, 2);
        drop(others);
        drop(work);
        let all: Vec<_> = (0..3).map(|_| areas.take().unwrap()).collect();
        assert!(areas.take().is_none());
        drop(all);
    }

    #[test]
    fn none_left_and_none_wanted() {
        let areas = Arc::new(Areas::with_limit(1));
        let taken = areas.take_shared();
        let mut work = Work::new(Arc::clone(&areas));
        check(&mut work, 10, 3, 4);
        drop(taken);
        check(&mut work, 10, 3, 0);
        check(&mut Work::of_system(), 10, 3, 4);
        let work = Work::of_system();
        assert!(work.slice(0, 0u64).is_empty() && work.copy::<u8>(&[]).is_empty());
    }
}
