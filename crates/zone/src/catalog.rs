//! The catalog: all zones that a server answers for, each of which changes by itself, and which of them a name belongs to.
//!
//! ```text
//!             table: open addressing, u64 cells              slots: chunks that never move              packs: chunks that never move
//! name hash -> | hash 38 | slot 26 | ------------------> | view word u64 | version u64 |     .---> | pack pointer | …
//!                                                            `-- a zone of a pack, one of its states, or an absent zone
//! ```
//!
//! A worker begins a batch with its [`CatalogReader`] and sees the zones through a [`CatalogView`]; it takes no lock. Changes are made by
//! whoever holds the short lock of writers, cost the zones that they are about, and are seen by every batch that begins after they
//! returned. What was replaced is garbage of the catalog's domain, which somebody has to collect ([`sync::Collector`]); who publishes
//! faster than that waits for room first ([`sync::Domain::wait_for_room`]). What needs a zone for longer than a batch pins it
//! ([`CatalogView::pin`]).
//!
//! The order of stores is what makes answers that are kept right; it is said at [`Catalog::insert`], and what readers do at [`CatalogView::find`].

mod change;
mod cut;
mod depths;
mod difference;
mod groups;
mod growth;
mod numbered;
mod partition;
mod pins;
mod slots;
mod states;
mod table;
mod view;

use crate::index::Hash;
use crate::pack::Pack;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sync::epoch::Reader;
use sync::{Cell, Domain, Mutex};

use depths::Depths;
use groups::Groups;
use numbered::{Directory, List};
use partition::Blocks;
use pins::Pins;
use slots::{CHUNK_SLOTS, NOWHERE_SLOTS, Slot, SlotDirectory};
use table::{Table, Tag};

pub use change::{Changed, PackHold, State, StatesHold, ViewSource};
pub use depths::KeyLabels;
pub(crate) use difference::{is_same_set, without_serial};
pub use groups::Group;
pub use numbered::{PackNumber, StatesNumber};
pub use partition::{KeptParts, PARTITIONED_MAX, PartSet};
pub use pins::{PINS_MAX, PINS_PER_CLIENT_MAX, PinCounts, PinRefused, PinnedZone};
pub use slots::{Absence, FIRST_SLOT, SlotNumber, Version};
pub use states::States;
pub use view::{CatalogView, Found, Hit, View};

/// Zones of a catalog at most: slot numbers have 26 bits in cells.
pub const ZONES_MAX: usize = (1 << 26) - NOWHERE_SLOTS as usize;
/// Numbers of labels of [`KeyLabels`]: each costs a query that was not answered before another look. With the four most common, those who serve
/// parents and children, or reverse zones of several lengths, have all of theirs.
pub const KEY_LABELS_MAX: usize = 4;

/// Where the hash of the root begins.
const SEED_ZONE: u32 = 0;

/// The number of the next version.
static NEXT_VERSION: AtomicU64 = AtomicU64::new(1);

/// A version that no state of any zone had: 64 bits last for 500,000 years at a million a second.
fn next_version() -> u64 {
    NEXT_VERSION.fetch_add(1, Ordering::Relaxed)
}

/// The set of all zones; see the module. Writers' side.
pub struct Catalog {
    inner: Arc<Inner>,
}

/// What writers and readers share.
struct Inner {
    seed: u64,
    domain: Domain,
    parts: Cell<Parts>,
    depths: Depths,
    /// How often zones were added; raised when they can be found, and before the versions of their enclosers are.
    additions: AtomicU64,
    groups: Groups,
    /// What is taken for longer than a batch.
    pins: Arc<Pins>,
    pack_list: Arc<List<Pack>>,
    states_list: Arc<List<States>>,
    /// Versions of zones that change by parts.
    blocks: Blocks,
    /// Held while one waits for the writer.
    turn: Mutex<()>,
    writer: Mutex<change::Writer>,
}

/// What is replaced when the catalog grows. Published together, as a cell says the number of a slot and that of a pack or a delta.
#[derive(Clone)]
struct Parts {
    table: Arc<Table>,
    slots: SlotDirectory,
    packs: Directory<Pack>,
    states: Directory<States>,
}

/// A worker's way to the zones; owned by one thread.
pub struct CatalogReader {
    reader: Reader,
    inner: Arc<Inner>,
    /// What was published when the batch began; null between batches.
    parts: *const Parts,
    /// [`Inner::additions`] when it began.
    additions: u64,
}

// SAFETY: the pointer is used only through `&self` methods that give out `&Parts` within a batch, and is null or dead between batches.
// Sending the reader sends the right to read the parts from another thread, which are shared between threads anyhow.
#[allow(unsafe_code)]
unsafe impl Send for CatalogReader {}

impl Catalog {
    /// A catalog without zones. `seed` makes the places of zones unpredictable.
    pub fn new(seed: u64) -> Catalog {
        let domain = Domain::new();
        let parts = Parts {
            table: Arc::new(Table::with_room(0)),
            slots: [new_chunk()].into(),
            packs: Directory::default(),
            states: Directory::default(),
        };
        for slot in &parts.slots[0][..NOWHERE_SLOTS as usize] {
            slot.raise(next_version());
        }
        let (pack_list, states_list) = (List::new("packs"), List::new("states"));
        let writer = change::Writer::new(domain.reader(), Arc::clone(&pack_list), Arc::clone(&states_list));
        let inner = Inner {
            seed,
            parts: Cell::new(&domain, Arc::new(parts)),
            depths: Depths::default(),
            additions: AtomicU64::new(0),
            groups: Groups::default(),
            pins: Pins::new(),
            pack_list,
            states_list,
            blocks: Blocks::default(),
            turn: Mutex::named("catalog turn", ()),
            writer: Mutex::named("catalog", writer),
            domain,
        };
        Catalog { inner: Arc::new(inner) }
    }

    /// Octets of memory of its index and its slots, which grow with the zones.
    pub fn octets(&self) -> usize {
        self.reader().with(|view| view.octets())
    }

    /// A new reader, to be moved to its thread.
    pub fn reader(&self) -> CatalogReader {
        CatalogReader {
            reader: self.inner.domain.reader(),
            inner: Arc::clone(&self.inner),
            parts: std::ptr::null(),
            additions: 0,
        }
    }

    /// How many zones are pinned, and were.
    pub fn pins(&self) -> PinCounts {
        self.inner.pins.counts()
    }

    /// The domain that what is replaced is garbage of.
    pub fn domain(&self) -> &Domain {
        &self.inner.domain
    }
}

impl CatalogReader {
    /// Begins a batch: what is seen in it is from now or newer. A batch that was not ended, as its thread panicked and went on, is ended
    /// by it.
    #[inline]
    pub fn begin(&mut self) {
        self.reader.begin();
        // Before the table is loaded: see `CatalogView::has_new_zones`.
        self.additions = self.inner.additions.load(Ordering::Acquire);
        if let Some(guard) = self.reader.guard() {
            self.parts = CatalogView::new(&self.inner, guard).parts();
        }
    }

    /// Ends the batch. Nothing happens between batches.
    #[inline]
    pub fn end(&mut self) {
        self.parts = std::ptr::null();
        self.reader.end();
    }

    /// The zones, within a batch.
    #[inline]
    #[allow(unsafe_code)] // the parts of this batch
    pub fn view(&self) -> Option<CatalogView<'_>> {
        let guard = self.reader.guard()?;
        // SAFETY: `begin` loaded the pointer from the cell of this catalog in the batch that the guard proves to be under way, and `end`,
        // which takes `&mut self`, cannot end it as long as the view lives.
        let parts = unsafe { self.parts.as_ref()? };
        Some(CatalogView::with_parts(&self.inner, guard, parts, self.additions))
    }

    /// Begins a batch and has `act` see the zones.
    pub fn with<R>(&mut self, act: impl FnOnce(&CatalogView<'_>) -> R) -> R {
        self.begin();
        let result = act(&self.view().expect("a batch has begun"));
        self.end();
        result
    }
}

impl Parts {
    #[inline(always)]
    fn slot(&self, number: SlotNumber) -> Option<&Slot> {
        slots::slot(&self.slots, number)
    }
}

fn new_chunk() -> Arc<[Slot; CHUNK_SLOTS]> {
    let slots: Arc<[Slot]> = (0..CHUNK_SLOTS).map(|_| Slot::default()).collect();
    slots.try_into().unwrap_or_else(|_| unreachable!("so many were made"))
}

/// The hash of the root, from which those of all names go on.
#[inline(always)]
fn root_hash(seed: u64) -> Hash {
    Hash::of_apex(seed, SEED_ZONE)
}

/// Calls `each` with the number of labels and the hash of each ancestor-or-self of the name with this key, the root first.
fn for_each_ancestor(seed: u64, key: &[u8], mut each: impl FnMut(usize, Tag)) {
    let mut hash = root_hash(seed);
    let (mut from, mut labels) = (0, 0);
    each(0, Tag::of(hash));
    for (at, _) in key.iter().enumerate().filter(|(_, octet)| **octet == 0) {
        hash = hash.extend(key, from, at + 1);
        from = at + 1;
        labels += 1;
        each(labels, Tag::of(hash));
    }
}
