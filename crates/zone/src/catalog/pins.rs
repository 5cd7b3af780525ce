//! Pins: views of zones that live across batches, for what takes long, such as a transfer.
//!
//! ```text
//!  batch: find -> Found -- pin --> PinnedZone ----------------------------------> dropped
//!                                  | Arc of pack  counts as one of the catalog's     `- the Arc goes to the domain, whether or not others have it;
//!                                  |   or states  and one of its client's               the collector drops it, and with the last one the pages
//!                                  `- seat
//! ```
//!
//! A pinned zone shows one state, whatever is published meanwhile, also if the zone is removed. It holds up no reader and no
//! collection; it keeps its pack, so there may be [`PINS_MAX`] of them, and [`PINS_PER_CLIENT_MAX`] for a client; the oldest are cut where they keep too many octets
//! ([`super::cut`]).
//!
//! Making one takes two locks, that of the counts and that of the list of packs; whoever has one of them does nothing else
//! meanwhile than look into a table. The lock of writers, which may be held for milliseconds, is not among them.

use super::CatalogView;
use super::numbered::{List, Numbered};
use super::slots::{Absence, Seen, SlotNumber, Version};
use super::states::States;
use super::view::Found;
use crate::lookup::ZoneView;
use crate::pack::Pack;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use sync::{Domain, Mutex};

/// Pins of a catalog: a transfer each. More could not be rendered in a reasonable time, and each may keep a pack that is replaced.
pub const PINS_MAX: usize = 1024;
/// Pins of a client: a secondary asks for a few zones at once, and one that asks for many has them one after another.
pub const PINS_PER_CLIENT_MAX: usize = 8;

/// Why a zone cannot be pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinRefused {
    /// There is no such zone.
    Nothing,
    /// It has no data.
    Absent(Absence),
    /// There are [`PINS_MAX`].
    Full,
    /// The client has [`PINS_PER_CLIENT_MAX`].
    Client,
}

/// How many pins there are and were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PinCounts {
    /// Now.
    pub now: usize,
    /// The most at one time.
    pub most: usize,
    /// All that were made.
    pub made: u64,
    /// Those that were not, as a bound was reached.
    pub refused: u64,
    /// Those that were cut, see [`super::Catalog::cut_pins`].
    pub cut: u64,
    /// Octets of what no slot shows any more and pins keep, those that were cut apart: when that was looked at last.
    pub octets: u64,
}

/// A zone in one state.
pub struct PinnedZone {
    data: Pinned,
    version: Version,
    /// `None`: it is kept by who publishes, and bounded there.
    seat: Option<Seat>,
}

/// What shows it.
enum Pinned {
    /// A zone of a pack.
    Pack(Kept<Pack>, u32),
    /// A state of a zone that changes.
    States(Kept<States>, u32),
}

/// What a pin keeps, as others see it.
#[derive(Clone)]
pub(super) enum Keeps {
    Pack(Weak<Pack>),
    /// And their number as long as they have one.
    States(Weak<States>, u32),
}

/// A pin as others see it.
#[derive(Clone)]
pub(super) struct Live {
    pub(super) keeps: Keeps,
    pub(super) slot: SlotNumber,
    cut: Arc<AtomicBool>,
}

impl Live {
    pub(super) fn cut(&self) {
        self.cut.store(true, Ordering::Relaxed);
    }
}

impl PinnedZone {
    /// The zone. `None`: somebody wrote into the file of the pack since it was pinned, or it was cut off. That may be while it is read: whoever has
    /// read asks again before anything comes of it, and after `None` nothing does. Or it was [cut](PinnedZone::is_cut).
    pub fn view(&self) -> Option<ZoneView<'_>> {
        if self.is_cut() {
            return None;
        }
        match &self.data {
            Pinned::Pack(pack, zone) => ZoneView::new(pack.get(), *zone),
            Pinned::States(states, state) => states.get().view(*state),
        }
    }

    /// Whether it shows nothing any more, as pins keep too much: to be let go.
    pub fn is_cut(&self) -> bool {
        self.seat.as_ref().is_some_and(|seat| seat.cut.load(Ordering::Relaxed))
    }

    /// Its slot and the version in which it was found; the state is of that version or a newer one.
    pub fn version(&self) -> Version {
        self.version
    }
}

impl CatalogView<'_> {
    /// Pins the zone in the state in which it was found in this batch. `client`: whom it counts for, the prefix of an address that
    /// limits of clients are by. What was found in an earlier batch is not pinned, or another zone is.
    pub fn pin(&self, found: &Found, client: IpAddr) -> Result<PinnedZone, PinRefused> {
        let seen = found.seen();
        if seen.zone().is_none() && seen.states().is_none() {
            return Err(seen.absence().map_or(PinRefused::Nothing, PinRefused::Absent));
        }
        let seat = Seat::take(self.pinning().0, client)?;
        let data = self.pinned(seen).ok_or(PinRefused::Nothing)?;
        seat.keep(&data, found.version().slot);
        Ok(PinnedZone { data, version: found.version(), seat: Some(seat) })
    }

    /// Keeps the zone of a slot in the state that it has, for who is about to publish another one. It counts for nobody: whoever calls this bounds how
    /// many there are. `None`: it has no data, or they cannot be read.
    pub fn keep(&self, slot: SlotNumber) -> Option<PinnedZone> {
        let (seen, version) = self.seen_in(slot)?;
        Some(PinnedZone { data: self.pinned(seen)?, version, seat: None })
    }

    /// What shows a zone that was seen in this batch.
    fn pinned(&self, seen: Seen) -> Option<Pinned> {
        let (_, packs, states, domain) = self.pinning();
        if let Some((number, zone)) = seen.zone() {
            let pack = Kept::take(packs, number.0, domain)?;
            ZoneView::new(pack.get(), zone)?;
            return Some(Pinned::Pack(pack, zone));
        }
        let (number, state) = seen.states()?;
        let states = Kept::take(states, number.0, domain)?;
        states.get().view(state)?;
        Some(Pinned::States(states, state))
    }
}

/// A pack or states that are handed to the domain, as unmapping one takes its time: not for a worker.
struct Kept<T: Numbered> {
    /// `None` only while it is dropped.
    thing: Option<Arc<T>>,
    number: u32,
    domain: Domain,
}

impl<T: Numbered> Kept<T> {
    /// What has this number: the list has it until its cell is emptied, which waits for the batch in which the number was found.
    fn take(list: &List<T>, number: u32, domain: &Domain) -> Option<Kept<T>> {
        Some(Kept { thing: Some(list.get(number)?), number, domain: domain.clone() })
    }

    fn get(&self) -> &T {
        self.thing.as_ref().expect("one until it is dropped")
    }
}

impl<T: Numbered> Drop for Kept<T> {
    fn drop(&mut self) {
        let Some(thing) = self.thing.take() else { return };
        // Of two that drop it at once neither may count its octets: they bound what publishers wait for, and nothing else.
        let octets = if Arc::strong_count(&thing) == 1 { thing.octets() } else { size_of_val(&thing) };
        self.domain.retire_value(Box::new(thing), octets);
    }
}

/// The pins of a catalog.
pub(super) struct Pins(Mutex<Taken>);

/// Who has pins.
#[derive(Default)]
struct Taken {
    counts: PinCounts,
    /// Only of those who have one.
    by_client: HashMap<IpAddr, usize>,
    /// All, the oldest first.
    live: BTreeMap<u64, Live>,
}

impl Pins {
    pub(super) fn new() -> Arc<Pins> {
        Arc::new(Pins(Mutex::named("pins", Taken::default())))
    }

    pub(super) fn counts(&self) -> PinCounts {
        self.0.lock().counts
    }

    /// All that were not cut yet, the oldest first.
    pub(super) fn live(&self) -> Vec<Live> {
        let taken = self.0.lock();
        taken.live.values().filter(|pin| !pin.cut.load(Ordering::Relaxed)).cloned().collect()
    }

    pub(super) fn note_octets(&self, octets: u64) {
        self.0.lock().counts.octets = octets;
    }

    pub(super) fn note_cut(&self, count: usize) {
        self.0.lock().counts.cut += count as u64;
    }
}

/// One pin of a client, which counts as long as this lives.
struct Seat {
    pins: Arc<Pins>,
    client: IpAddr,
    /// Greater than those of older ones.
    number: u64,
    cut: Arc<AtomicBool>,
}

impl Seat {
    /// Says what it is for.
    fn keep(&self, data: &Pinned, slot: SlotNumber) {
        let keeps = match data {
            Pinned::Pack(pack, _) => pack.thing.as_ref().map(|pack| Keeps::Pack(Arc::downgrade(pack))),
            Pinned::States(states, _) => {
                let weak = states.thing.as_ref().map(Arc::downgrade);
                weak.map(|weak| Keeps::States(weak, states.number))
            }
        };
        if let Some(keeps) = keeps {
            let live = Live { keeps, slot, cut: Arc::clone(&self.cut) };
            self.pins.0.lock().live.insert(self.number, live);
        }
    }

    fn take(pins: &Arc<Pins>, client: IpAddr) -> Result<Seat, PinRefused> {
        let mut taken = pins.0.lock();
        let Taken { counts, by_client, .. } = &mut *taken;
        let own = by_client.get(&client).copied().unwrap_or(0);
        let refused = if own >= PINS_PER_CLIENT_MAX {
            PinRefused::Client
        } else if counts.now >= PINS_MAX {
            PinRefused::Full
        } else {
            by_client.insert(client, own + 1);
            counts.now += 1;
            counts.most = counts.most.max(counts.now);
            counts.made += 1;
            let (number, cut) = (counts.made, Arc::default());
            return Ok(Seat { pins: Arc::clone(pins), client, number, cut });
        };
        counts.refused += 1;
        Err(refused)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.pins.0.lock();
        taken.counts.now -= 1;
        taken.live.remove(&self.number);
        if let Some(own) = taken.by_client.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                taken.by_client.remove(&self.client);
            }
        }
    }
}
