//! Packs by number, as view words name them.
//!
//! A pack's number is stored in its cell before any view word names it. When the last view word that named it is gone the cell is emptied once no
//! reader can have that word; the pack is dropped, and the number used again, once no reader can have loaded it from the cell.
//!
//! Who wants a pack for longer than a batch takes it from a list beside, which has each from before its cell is filled until after it is emptied:
//! so in the batch in which a number was found the list has the pack that it means.
#![allow(unsafe_code)] // packs that the domain of the catalog keeps alive; see `PackDirectory::pack`

use crate::pack::Pack;
use std::collections::HashMap;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Weak};
use sync::Mutex;
use sync::epoch::Guard;

use super::Inner;

/// The number of a pack in a catalog; 0 is nobody's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PackNumber(pub(super) u32);

/// Cells of a chunk: a server with one pack has one of 512 octets.
const CHUNK_PACKS: usize = 1 << CHUNK_SHIFT;
const CHUNK_SHIFT: u32 = 6;
/// A pack a zone.
const PACKS_MAX: usize = super::ZONES_MAX;

/// All cells: chunks that never move.
#[derive(Clone, Default)]
pub(super) struct PackDirectory(Box<[Arc<[AtomicPtr<Pack>]>]>);

impl PackDirectory {
    /// The pack with this number.
    #[inline(always)]
    pub(super) fn pack<'g>(&self, number: PackNumber, _guard: &Guard<'g>) -> Option<&'g Pack> {
        let pointer = self.cell(number)?.load(Ordering::Acquire);
        // SAFETY: null, or of a pack that the catalog owns (`add`). The directory is private to the catalog, whose guards are all of its own
        // domain. A pack is dropped by the domain, to which it is handed after its cell was emptied (`let_go`): who loaded the pointer before
        // did so in a batch that the domain waits for, and the guard proves that this one lasts for `'g`.
        unsafe { pointer.as_ref() }
    }

    #[inline(always)]
    fn cell(&self, number: PackNumber) -> Option<&AtomicPtr<Pack>> {
        self.0.get((number.0 >> CHUNK_SHIFT) as usize)?.get(number.0 as usize % CHUNK_PACKS)
    }

    fn chunk(&self, number: PackNumber) -> Option<Arc<[AtomicPtr<Pack>]>> {
        self.0.get((number.0 >> CHUNK_SHIFT) as usize).cloned()
    }

    /// The same with one more chunk.
    fn with_more(&self) -> PackDirectory {
        let more = (0..CHUNK_PACKS).map(|_| AtomicPtr::default()).collect();
        PackDirectory(self.0.iter().cloned().chain([more]).collect())
    }
}

/// The packs, each under its number. The lock is held for a look into the list and no longer: workers take it.
pub(super) struct PackList(Mutex<Vec<Option<Arc<Pack>>>>);

impl PackList {
    pub(super) fn new() -> Arc<PackList> {
        Arc::new(PackList(Mutex::named("packs", Vec::new())))
    }

    /// The pack with this number.
    pub(super) fn get(&self, number: PackNumber) -> Option<Arc<Pack>> {
        self.0.lock().get(number.0 as usize)?.clone()
    }

    fn add(&self, number: PackNumber, pack: &Arc<Pack>) {
        let (mut list, at) = (self.0.lock(), number.0 as usize);
        if at >= list.len() {
            list.resize(at + 1, None);
        }
        list[at] = Some(Arc::clone(pack));
    }

    /// Takes a pack out, which somebody else has yet.
    fn remove(&self, number: PackNumber) {
        if let Some(entry) = self.0.lock().get_mut(number.0 as usize) {
            *entry = None;
        }
    }
}

/// A pack as the writer knows it.
struct Entry {
    pack: Arc<Pack>,
    /// View words that name it, and holds.
    uses: u32,
}

/// The packs of a catalog: the writer's.
pub(super) struct Packs {
    /// By number.
    entries: Vec<Option<Entry>>,
    /// Numbers by [`Pack::id`].
    numbers: HashMap<u64, PackNumber>,
    /// Numbers that can be used again.
    free: Arc<Mutex<Vec<PackNumber>>>,
    list: Arc<PackList>,
}

impl Packs {
    /// None yet; those that come are put into `list` too.
    pub(super) fn new(list: Arc<PackList>) -> Packs {
        let free = Arc::new(Mutex::named("free packs", Vec::new()));
        // Number 0 is nobody's.
        Packs { entries: vec![None], numbers: HashMap::new(), free, list }
    }

    /// Adds a pack, or one more use of it. `grow`: publishes a longer directory and returns it.
    pub(super) fn add(
        &mut self,
        pack: Arc<Pack>,
        directory: &PackDirectory,
        grow: impl FnOnce(PackDirectory),
    ) -> PackNumber {
        if let Some(&number) = self.numbers.get(&pack.id()) {
            self.use_again(number);
            return number;
        }
        let free = self.free.lock().pop();
        let number = free.unwrap_or(PackNumber(self.entries.len() as u32));
        let at = number.0 as usize;
        assert!(at <= PACKS_MAX, "more packs than zones");
        if at == self.entries.len() {
            self.entries.push(None);
        }
        let pointer = Arc::as_ptr(&pack).cast_mut();
        self.numbers.insert(pack.id(), number);
        self.list.add(number, &pack);
        self.entries[at] = Some(Entry { pack, uses: 1 });
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

    /// One more view word names the pack.
    pub(super) fn use_again(&mut self, number: PackNumber) {
        self.entry(number).uses += 1;
    }

    /// The pack with this number, of which somebody has a use.
    pub(super) fn get(&mut self, number: PackNumber) -> &Arc<Pack> {
        &self.entry(number).pack
    }

    fn entry(&mut self, number: PackNumber) -> &mut Entry {
        self.entries.get_mut(number.0 as usize).and_then(Option::as_mut).expect("a pack in use has an entry")
    }

    /// One view word less names the pack, or it is held by one less. The last one lets it go.
    pub(super) fn let_go(&mut self, number: PackNumber, directory: &PackDirectory, inner: &Arc<Inner>) {
        let entry = self.entry(number);
        entry.uses -= 1;
        if entry.uses > 0 {
            return;
        }
        let Some(Entry { pack, .. }) = self.entries[number.0 as usize].take() else { return };
        self.numbers.remove(&pack.id());
        let Some(chunk) = directory.chunk(number) else { return };
        // Weak: the garbage belongs to the domain, which belongs to the catalog.
        let (free, weak, octets) = (Arc::clone(&self.free), Arc::downgrade(inner), pack.octets().len());
        let list = Arc::clone(&self.list);
        let empty = move || {
            chunk[number.0 as usize % CHUNK_PACKS].store(std::ptr::null_mut(), Ordering::Release);
            list.remove(number);
            // Without a catalog there is nobody who could read.
            if let Some(inner) = Weak::upgrade(&weak) {
                inner.domain.retire_value(Box::new(pack), octets);
            }
            free.lock().push(number);
        };
        inner.domain.retire(Box::new(empty), octets);
    }
}
