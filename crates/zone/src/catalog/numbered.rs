//! Packs and states by number, as view words name them.
//!
//! The number of a thing is stored in its cell before any view word names it. When the last view word that named it is gone the cell is emptied once no
//! reader can have that word; the thing is dropped, and the number used again, once no reader can have loaded it from the cell.
//!
//! Who wants one for longer than a batch takes it from a list beside, which has each from before its cell is filled until after it is emptied:
//! so in the batch in which a number was found the list has what it means.
#![allow(unsafe_code)] // things that the domain of the catalog keeps alive; see `Directory::get`

use super::states::States;
use crate::pack::Pack;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Weak};
use sync::Mutex;
use sync::epoch::Guard;

use super::Inner;

/// The number of a pack in a catalog; 0 is nobody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PackNumber(pub(super) u32);

/// The number of a states in a catalog; 0 is nobody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct StatesNumber(pub(super) u32);

/// What view words name by number.
pub(super) trait Numbered: Send + Sync + 'static {
    /// A number that no other one of its kind ever has.
    fn id(&self) -> u64;
    /// What it takes, so that garbage is bounded.
    fn octets(&self) -> usize;
}

impl Numbered for Pack {
    #[inline(always)]
    fn id(&self) -> u64 {
        Pack::id(self)
    }

    fn octets(&self) -> usize {
        Pack::octets(self).len()
    }
}

impl Numbered for States {
    fn id(&self) -> u64 {
        States::id(self)
    }

    fn octets(&self) -> usize {
        States::octets(self)
    }
}

/// Cells of a chunk: a server with one pack has one of 512 octets.
const CHUNK_CELLS: usize = 1 << CHUNK_SHIFT;
const CHUNK_SHIFT: u32 = 6;
/// One a zone.
const NUMBERS_MAX: usize = super::ZONES_MAX;

/// All cells: chunks that never move.
pub(super) struct Directory<T>(Box<[Chunk<T>]>);
type Chunk<T> = Arc<[AtomicPtr<T>]>;

impl<T> Clone for Directory<T> {
    fn clone(&self) -> Directory<T> {
        Directory(self.0.clone())
    }
}

impl<T> Default for Directory<T> {
    fn default() -> Directory<T> {
        Directory(Box::default())
    }
}

impl<T: Numbered> Directory<T> {
    /// What has this number.
    #[inline(always)]
    pub(super) fn get<'g>(&self, number: u32, _guard: &Guard<'g>) -> Option<&'g T> {
        let pointer = self.cell(number)?.load(Ordering::Acquire);
        // SAFETY: null, or of a thing that the catalog owns (`add`). The directory is private to the catalog, whose guards are all of its own
        // domain. A thing is dropped by the domain, to which it is handed after its cell was emptied (`let_go`): who loaded the pointer before
        // did so in a batch that the domain waits for, and the guard proves that this one lasts for `'g`.
        unsafe { pointer.as_ref() }
    }

    #[inline(always)]
    fn cell(&self, number: u32) -> Option<&AtomicPtr<T>> {
        self.0.get((number >> CHUNK_SHIFT) as usize)?.get(number as usize % CHUNK_CELLS)
    }

    fn chunk(&self, number: u32) -> Option<Chunk<T>> {
        self.0.get((number >> CHUNK_SHIFT) as usize).cloned()
    }

    /// The same with one more chunk.
    fn with_more(&self) -> Directory<T> {
        let more = (0..CHUNK_CELLS).map(|_| AtomicPtr::default()).collect();
        Directory(self.0.iter().cloned().chain([more]).collect())
    }
}

/// The same things, each under its number. The lock is held for a look into the list and no longer: workers take it.
pub(super) struct List<T>(Mutex<Vec<Option<Arc<T>>>>);

impl<T: Numbered> List<T> {
    /// `name`: of its lock in profiles.
    pub(super) fn new(name: &'static str) -> Arc<List<T>> {
        Arc::new(List(Mutex::named(name, Vec::new())))
    }

    /// What has this number.
    pub(super) fn get(&self, number: u32) -> Option<Arc<T>> {
        self.0.lock().get(number as usize)?.clone()
    }

    /// [`Numbered::id`] of all.
    pub(super) fn ids(&self) -> HashSet<u64> {
        self.0.lock().iter().flatten().map(|thing| thing.id()).collect()
    }

    fn add(&self, number: u32, thing: &Arc<T>) {
        let (mut list, at) = (self.0.lock(), number as usize);
        if at >= list.len() {
            list.resize(at + 1, None);
        }
        list[at] = Some(Arc::clone(thing));
    }

    /// Takes one out, which somebody else has yet.
    fn remove(&self, number: u32) {
        if let Some(entry) = self.0.lock().get_mut(number as usize) {
            *entry = None;
        }
    }
}

/// A thing as the writer knows it.
struct Entry<T> {
    thing: Arc<T>,
    /// View words that name it, and holds.
    uses: u32,
}

/// What view words of a catalog name by number: the writer's.
pub(super) struct Numbers<T> {
    /// By number.
    entries: Vec<Option<Entry<T>>>,
    /// Numbers by [`Numbered::id`].
    numbers: HashMap<u64, u32>,
    /// Numbers that can be used again.
    free: Arc<Mutex<Vec<u32>>>,
    list: Arc<List<T>>,
}

impl<T: Numbered> Numbers<T> {
    /// None yet; those that come are put into `list` too. `name`: of a lock in profiles.
    pub(super) fn new(list: Arc<List<T>>, name: &'static str) -> Numbers<T> {
        let free = Arc::new(Mutex::named(name, Vec::new()));
        // Number 0 is nobody's.
        Numbers { entries: vec![None], numbers: HashMap::new(), free, list }
    }

    /// Adds one, or one more use of it. `grow`: publishes a longer directory.
    pub(super) fn add(
        &mut self,
        thing: Arc<T>,
        directory: &Directory<T>,
        grow: impl FnOnce(Directory<T>),
    ) -> u32 {
        if let Some(&number) = self.numbers.get(&thing.id()) {
            self.use_again(number);
            return number;
        }
        let free = self.free.lock().pop();
        let number = free.unwrap_or(self.entries.len() as u32);
        let at = number as usize;
        assert!(at <= NUMBERS_MAX, "more of them than zones");
        if at == self.entries.len() {
            self.entries.push(None);
        }
        let pointer = Arc::as_ptr(&thing).cast_mut();
        self.numbers.insert(thing.id(), number);
        self.list.add(number, &thing);
        self.entries[at] = Some(Entry { thing, uses: 1 });
        match directory.cell(number) {
            Some(cell) => cell.store(pointer, Ordering::Release),
            None => {
                let longer = directory.with_more();
                longer.cell(number).expect("one chunk more has it").store(pointer, Ordering::Release);
                grow(longer);
            }
        }
        number
    }

    /// One more view word names it.
    pub(super) fn use_again(&mut self, number: u32) {
        self.entry(number).uses += 1;
    }

    /// What has this number, of which somebody has a use.
    pub(super) fn get(&mut self, number: u32) -> &Arc<T> {
        &self.entry(number).thing
    }

    fn entry(&mut self, number: u32) -> &mut Entry<T> {
        self.entries.get_mut(number as usize).and_then(Option::as_mut).expect("what is in use has an entry")
    }

    /// One view word less names it, or it is held by one less. The last one lets it go.
    pub(super) fn let_go(&mut self, number: u32, directory: &Directory<T>, inner: &Arc<Inner>) {
        let entry = self.entry(number);
        entry.uses -= 1;
        if entry.uses > 0 {
            return;
        }
        let Some(Entry { thing, .. }) = self.entries[number as usize].take() else { return };
        self.numbers.remove(&thing.id());
        let Some(chunk) = directory.chunk(number) else { return };
        // Weak: the garbage belongs to the domain, which belongs to the catalog.
        let (free, weak, octets) = (Arc::clone(&self.free), Arc::downgrade(inner), thing.octets());
        let list = Arc::clone(&self.list);
        let empty = move || {
            chunk[number as usize % CHUNK_CELLS].store(std::ptr::null_mut(), Ordering::Release);
            list.remove(number);
            // Without a catalog there is nobody who could read.
            if let Some(inner) = Weak::upgrade(&weak) {
                inner.domain.retire_value(Box::new(thing), octets);
            }
            free.lock().push(number);
        };
        inner.domain.retire(Box::new(empty), octets);
    }
}
