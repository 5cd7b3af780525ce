//! Where memory for building answers comes from, and how much of it there is for each query.
//!
//! A query takes what BIND 9 takes of its memory contexts: room for its name, for the names it looks up on the way, for each
//! RRset of its answer, and for the message. All of it is given back when the answer is sent.
#![allow(unsafe_code)] // calls of allocators other than the program's own

use std::{
    alloc::{GlobalAlloc, Layout, System},
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
};

use sync::{Areas, Mutex, area::Area};

use crate::words::words;

/// Kinds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// At most 100 areas of 256 KiB, one taken for each query: the paper's.
    Areas,
    /// One pool under one mutex: what the paper found threads waiting for.
    Shared,
    /// The system's allocator.
    System,
    /// Microsoft's.
    Mimalloc,
    /// FreeBSD's, which the program must have been started with in place of the system's ([`has_jemalloc`]): building it takes
    /// longer than the rest of the tool.
    Jemalloc,
    /// Microsoft's, made for what one thread allocates and another frees.
    Snmalloc,
    /// No allocation: each thread keeps one area.
    None,
}

words!(MemoryKind {
    Areas = "areas",
    Shared = "shared",
    System = "system",
    Mimalloc = "mimalloc",
    Jemalloc = "jemalloc",
    Snmalloc = "snmalloc",
    None = "none",
});

/// Name of jemalloc's library.
pub const JEMALLOC: &str = "libjemalloc.so.2";

/// Whether the allocator of this program is jemalloc: its library was loaded before the system's (`LD_PRELOAD`).
pub fn has_jemalloc() -> bool {
    std::fs::read_to_string("/proc/self/maps").is_ok_and(|maps| maps.contains(JEMALLOC))
}

/// Memory of all threads.
pub enum Memory {
    /// Of areas, one a query or one a thread.
    Areas(Areas, bool),
    /// Of the pool.
    Shared(Pool),
    /// Of an allocator.
    Allocator(&'static (dyn GlobalAlloc + Sync)),
}

/// Memory of one thread; see [`Store::begin`].
pub enum Store<'m> {
    /// Takes an area for each query.
    Areas(&'m Areas),
    /// Has one.
    Own(Area<'m>),
    /// Takes pieces of the pool.
    Shared(&'m Pool),
    /// Takes pieces of an allocator.
    Allocator(&'static (dyn GlobalAlloc + Sync)),
}

/// Memory of one query.
pub enum Place<'m> {
    /// Its area, given back with it.
    Area(Area<'m>),
    /// The thread's.
    Own(&'m Area<'m>),
    /// Of the pool.
    Shared(&'m Pool),
    /// Of an allocator.
    Allocator(&'static (dyn GlobalAlloc + Sync)),
}

/// Octets that a query has until it drops them.
pub enum Piece<'p> {
    /// Of an area: freed with the area.
    Cut(&'p mut [u8]),
    /// Of the pool.
    Pooled(&'p Pool, Box<[u8]>, usize),
    /// Of an allocator.
    Allocated(Allocated),
}

impl Memory {
    /// Of a kind; `areas`: how many at most.
    pub fn new(kind: MemoryKind, areas: usize) -> Memory {
        match kind {
            MemoryKind::Areas => Memory::Areas(Areas::with_limit(areas), false),
            MemoryKind::None => Memory::Areas(Areas::new(), true),
            MemoryKind::Shared => Memory::Shared(Pool::new()),
            MemoryKind::System | MemoryKind::Jemalloc => Memory::Allocator(&System),
            MemoryKind::Mimalloc => Memory::Allocator(&mimalloc::MiMalloc),
            MemoryKind::Snmalloc => Memory::Allocator(&snmalloc_rs::SnMalloc),
        }
    }

    /// For one thread; nothing where there are more threads than areas.
    pub fn store(&self) -> Option<Store<'_>> {
        Some(match self {
            Memory::Areas(areas, false) => Store::Areas(areas),
            Memory::Areas(areas, true) => Store::Own(areas.take()?),
            Memory::Shared(pool) => Store::Shared(pool),
            Memory::Allocator(allocator) => Store::Allocator(*allocator),
        })
    }
}

impl<'m> Store<'m> {
    /// For one query; nothing where all areas are taken.
    #[inline]
    pub fn begin<'q>(&'q mut self) -> Option<Place<'q>>
    where
        'm: 'q,
    {
        Some(match self {
            Store::Areas(areas) => Place::Area(areas.take()?),
            Store::Own(area) => {
                area.clear();
                Place::Own(area)
            }
            Store::Shared(pool) => Place::Shared(pool),
            Store::Allocator(allocator) => Place::Allocator(*allocator),
        })
    }
}

impl Place<'_> {
    /// So many octets, all 0 whatever they come from; nothing where there is no more memory.
    #[inline]
    pub fn take(&self, octets: usize) -> Option<Piece<'_>> {
        match self {
            Place::Area(area) => area.slice(octets, 0).ok().map(Piece::Cut),
            Place::Own(area) => area.slice(octets, 0).ok().map(Piece::Cut),
            Place::Shared(pool) => Some(pool.take(octets)),
            Place::Allocator(allocator) => Allocated::new(*allocator, octets).map(Piece::Allocated),
        }
    }
}

impl Deref for Piece<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Piece::Cut(octets) => octets,
            Piece::Pooled(_, octets, length) => &octets[..*length],
            Piece::Allocated(allocated) => allocated.octets(),
        }
    }
}

impl DerefMut for Piece<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Piece::Cut(octets) => octets,
            Piece::Pooled(_, octets, length) => &mut octets[..*length],
            Piece::Allocated(allocated) => allocated.octets_mut(),
        }
    }
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        if let Piece::Pooled(pool, octets, _) = self {
            pool.give_back(std::mem::take(octets));
        }
    }
}

/// Octets between the sizes of pieces in the pool.
const STEP_OCTETS: usize = 32;
/// The largest piece that is kept, as in BIND 9.4; larger ones go back to the system.
const KEPT_OCTETS_MAX: usize = 1100;
/// Pieces of a size that are kept: more than threads have at once.
const KEPT_MAX: usize = 4096;

/// Pieces under one mutex.
pub struct Pool {
    /// By size, in steps.
    idle: Mutex<Vec<Vec<Box<[u8]>>>>,
}

impl Pool {
    fn new() -> Pool {
        let sizes = KEPT_OCTETS_MAX.div_ceil(STEP_OCTETS) + 1;
        Pool { idle: Mutex::named("memory", vec![Vec::new(); sizes]) }
    }

    fn take(&self, octets: usize) -> Piece<'_> {
        let size = octets.div_ceil(STEP_OCTETS);
        let mut idle = self.idle.lock();
        let kept = idle.get_mut(size).and_then(Vec::pop);
        // The system is asked with the mutex held, as BIND's contexts did.
        let mut piece = kept.unwrap_or_else(|| vec![0; size * STEP_OCTETS].into());
        drop(idle);
        piece.fill(0);
        Piece::Pooled(self, piece, octets)
    }

    fn give_back(&self, octets: Box<[u8]>) {
        let mut idle = self.idle.lock();
        if let Some(kept) = idle.get_mut(octets.len() / STEP_OCTETS).filter(|kept| kept.len() < KEPT_MAX) {
            kept.push(octets);
        }
    }
}

/// Octets of an allocator.
pub struct Allocated {
    allocator: &'static (dyn GlobalAlloc + Sync),
    start: NonNull<u8>,
    layout: Layout,
    octets: usize,
}

impl Allocated {
    fn new(allocator: &'static (dyn GlobalAlloc + Sync), octets: usize) -> Option<Allocated> {
        let layout = Layout::array::<u64>(octets.div_ceil(8).max(1)).ok()?;
        // SAFETY: the layout is not of size 0.
        let start = NonNull::new(unsafe { allocator.alloc(layout) })?;
        // SAFETY: so many octets were given, and are all initialised by this.
        unsafe { start.write_bytes(0, layout.size()) };
        Some(Allocated { allocator, start, layout, octets })
    }

    fn octets(&self) -> &[u8] {
        // SAFETY: allocated with this layout, at least so many, initialised, and nobody else's until it is dropped.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.octets) }
    }

    fn octets_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.octets) }
    }
}

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: allocated there with this layout, once, and not used any more.
        unsafe { self.allocator.dealloc(self.start.as_ptr(), self.layout) };
    }
}

// SAFETY: it is the only one that knows the octets, and allocators free from any thread.
unsafe impl Send for Allocated {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_all_kinds_keep_apart() {
        for kind in MemoryKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
            let memory = Memory::new(kind, 2);
            let mut store = memory.store().unwrap();
            for _ in 0..3 {
                let place = store.begin().unwrap();
                let mut pieces: Vec<_> = (0..40).map(|size| place.take(size * 30).unwrap()).collect();
                assert!(pieces.iter().all(|piece| piece.iter().all(|&octet| octet == 0)), "{kind}");
                for (number, piece) in pieces.iter_mut().enumerate() {
                    assert_eq!(piece.len(), number * 30);
                    piece.fill(number as u8);
                }
                let own = |(number, piece): (usize, &Piece)| piece.iter().all(|&octet| octet == number as u8);
                assert!(pieces.iter().enumerate().all(own), "{kind}");
            }
        }
    }

    #[test]
    fn areas_end() {
        let memory = Memory::new(MemoryKind::Areas, 1);
        let (mut one, mut other) = (memory.store().unwrap(), memory.store().unwrap());
        let place = one.begin().unwrap();
        assert!(other.begin().is_none() && place.take(sync::area::BLOCK_OCTETS + 1).is_none());
        drop(place);
        assert!(other.begin().is_some());
    }
}
