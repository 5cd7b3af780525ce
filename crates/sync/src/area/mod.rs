//! Work areas: memory for one piece of work, taken from a block of its own and given back as a whole.
//!
//! ```text
//! Areas                 up to 100 blocks, made on demand: | idle | idle | taken | not made |
//! Area    block of 256 KiB: | a name | a list of addresses | … | free until the area ends          |
//! ```
//!
//! Whoever works for long enough to need memory (a recursive query, a transfer) takes an area, cuts from it what it
//! needs, and gives it back with all that was cut. None of this calls the system's allocator or waits for another
//! thread: there are more areas than threads, and an idle one is taken with one compare-and-swap.
//!
//! ```
//! let areas = sync::Areas::new();
//! let area = areas.take().expect("fewer than 100 are taken");
//! let name = area.copy(b"\x07example\0").expect("the block is large enough");
//! let ttls = area.slice(12, 0u32).expect("the block is large enough");
//! ttls[3] = u32::from(name[0]);
//! assert_eq!(ttls[3], 7);
//! ```
//!
//! Work that lasts, such as a transfer or a query that waits for other servers, takes an area that borrows nothing
//! ([`Areas::take_shared`]): it stays in a table of what is under way, moves to the thread that goes on with it, and is
//! cleared between one message and the next.
//!
//! ```
//! # use std::{io::Read, sync::Arc};
//! struct Transfer {
//!     area: sync::area::Area<'static>,
//!     octets: usize,
//! }
//! # let mut stream: &[u8] = &[3; 1000];
//! let areas = Arc::new(sync::Areas::new());
//! let Some(area) = areas.take_shared() else { return }; // 100 are under way: this one has to come again
//! let mut transfer = Transfer { area, octets: 0 };
//! let finished = std::thread::spawn(move || {
//!     while transfer.octets < 1000 {
//!         let message = transfer.area.slice(400, 0u8).expect("a message has room in a block");
//!         transfer.octets += stream.read(message).expect("memory can be read");
//!         transfer.area.clear();
//!     }
//!     transfer.octets
//! });
//! assert_eq!(finished.join().ok(), Some(1000));
//! assert_eq!(areas.made(), 1);
//! ```
//!
//! A worker whose work never says no, and that has one event after the other, has [`Work`].
//!
//! Source: Jinmei and Vixie (USENIX 2006), section 4.1: memory contexts shared by clients, at most 100, each with a block
//! of 256 KB.
#![allow(unsafe_code)] // references to disjoint parts of a block
#![allow(clippy::mut_from_ref)] // no part is given out twice

mod pool;
mod work;

use std::{
    cell::{Cell, UnsafeCell},
    fmt, mem, slice,
    sync::Arc,
};

pub use pool::AREAS_MAX;
use pool::{Pool, Taken};
pub use work::Work;

/// Octets of a block: as in BIND 9; a recursive query needs a tenth of it, a transfer holds four messages.
pub const BLOCK_OCTETS: usize = 256 << 10;

/// What a block is made of: nothing that is cut from it needs a stricter alignment.
type Unit = u128;

/// Memory of one area, always initialised, with 0 or with what was there before.
struct Block(Box<[UnsafeCell<Unit>]>);

/// All areas of a program, or of a part of it.
pub struct Areas(Pool<Block>);

/// Memory that one piece of work has for itself, in the thread that took it or another that it is moved to.
pub struct Area<'p> {
    home: Home<'p>,
    /// `None` only while it is given back.
    block: Option<Taken<Block>>,
    /// Octets cut so far.
    used: Cell<usize>,
}

/// Where an area goes back to.
enum Home<'p> {
    Borrowed(&'p Areas),
    Shared(Arc<Areas>),
}

/// A block has no room for so much any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the work area has no room left")
    }
}

impl std::error::Error for Full {}

// SAFETY: a block is memory; what it is used for, `Area` decides, which is not `Sync`.
unsafe impl Send for Block {}

impl Block {
    fn new() -> Block {
        let units: Box<[Unit]> = vec![0; BLOCK_OCTETS / mem::size_of::<Unit>()].into();
        // SAFETY: an `UnsafeCell` has the layout of what is in it.
        Block(unsafe { Box::from_raw(Box::into_raw(units) as *mut [UnsafeCell<Unit>]) })
    }
}

impl Areas {
    /// Up to [`AREAS_MAX`].
    pub fn new() -> Areas {
        Areas::with_limit(AREAS_MAX)
    }

    /// Up to so many, from 1 to [`AREAS_MAX`].
    pub fn with_limit(count_max: usize) -> Areas {
        Areas(Pool::new(count_max))
    }

    /// An area; `None` where all are taken.
    pub fn take(&self) -> Option<Area<'_>> {
        Area::of(self.0.take(Block::new)?, Home::Borrowed(self))
    }

    /// The same for work that lasts: the area borrows nothing and keeps the pool alive.
    pub fn take_shared(self: &Arc<Areas>) -> Option<Area<'static>> {
        Area::of(self.0.take(Block::new)?, Home::Shared(Arc::clone(self)))
    }

    /// How many blocks were made so far. They are kept.
    pub fn made(&self) -> usize {
        self.0.made()
    }
}

impl Default for Areas {
    fn default() -> Areas {
        Areas::new()
    }
}

impl<'p> Area<'p> {
    fn of(block: Taken<Block>, home: Home<'p>) -> Option<Area<'p>> {
        Some(Area { home, block: Some(block), used: Cell::new(0) })
    }

    /// A copy of `values`.
    pub fn copy<T: Copy>(&self, values: &[T]) -> Result<&mut [T], Full> {
        let start = self.cut::<T>(values.len())?;
        // SAFETY: `start` is aligned for as many `T`, inside the block, and nobody else was or will be given them
        // while the area lasts (`cut`). They are initialised by this copy, and `T: Copy` has nothing to drop.
        unsafe {
            start.copy_from_nonoverlapping(values.as_ptr(), values.len());
            Ok(slice::from_raw_parts_mut(start, values.len()))
        }
    }

    /// So many times `value`.
    pub fn slice<T: Copy>(&self, count: usize, value: T) -> Result<&mut [T], Full> {
        let start = self.cut::<T>(count)?;
        // SAFETY: as in `copy`, initialised one by one.
        unsafe {
            (0..count).for_each(|index| start.add(index).write(value));
            Ok(slice::from_raw_parts_mut(start, count))
        }
    }

    /// One value.
    pub fn value<T: Copy>(&self, value: T) -> Result<&mut T, Full> {
        let start = self.cut::<T>(1)?;
        // SAFETY: as in `copy`.
        unsafe {
            start.write(value);
            Ok(&mut *start)
        }
    }

    /// Octets that are left, fewer where something must be aligned.
    pub fn free_octets(&self) -> usize {
        BLOCK_OCTETS - self.used.get()
    }

    /// Gives up all that was cut, to begin again: nobody borrows any of it, or the area could not be had mutably.
    pub fn clear(&mut self) {
        self.used.set(0);
    }

    /// Room for `count` values that was not given out since the area was taken or cleared.
    fn cut<T>(&self, count: usize) -> Result<*mut T, Full> {
        const {
            assert!(
                mem::align_of::<T>() <= mem::align_of::<Unit>(),
                "needs a stricter alignment than a block has"
            )
        };
        let block = self.block.as_ref().ok_or(Full)?;
        let start = self.used.get().next_multiple_of(mem::align_of::<T>());
        let octets = mem::size_of::<T>().checked_mul(count).ok_or(Full)?;
        let end = start.checked_add(octets).filter(|&end| end <= BLOCK_OCTETS).ok_or(Full)?;
        self.used.set(end);
        let units: &[UnsafeCell<Unit>] = &block.0;
        // SAFETY: `start` is at most the end of the block (checked), which is one object.
        Ok(unsafe { UnsafeCell::raw_get(units.as_ptr()).cast::<u8>().add(start).cast() })
    }
}

impl Drop for Area<'_> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            match &self.home {
                Home::Borrowed(areas) => areas.0.put(block),
                Home::Shared(areas) => areas.0.put(block),
            }
        }
    }
}

#[cfg(test)]
mod tests;
