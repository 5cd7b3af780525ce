//! Pins: views of zones that live across batches, for what takes long, such as a transfer.
//!
//! ```text
//!  batch: find -> Found -- pin --> PinnedZone ----------------------------------> dropped
//!                                  | pack: Arc    counts as one of the catalog's     `- the pack goes to the domain, whether or not others have it;
//!                                  `- seat        and one of its client's               the collector drops it, and with the last one the pages
//! ```
//!
//! A pinned zone shows one state, whatever is published meanwhile, also if the zone is removed. It holds up no reader and no
//! collection; it keeps its pack, so there may be [`PINS_MAX`] of them, and [`PINS_PER_CLIENT_MAX`] for a client.
//!
//! Making one takes two locks, that of the counts and that of the list of packs; whoever has one of them does nothing else
//! meanwhile than look into a table. The lock of writers, which may be held for milliseconds, is not among them.

use super::CatalogView;
use super::slots::{Absence, Version};
use super::view::Found;
use crate::lookup::ZoneView;
use crate::pack::Pack;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
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
}

/// A zone in one state.
pub struct PinnedZone {
    pack: Kept,
    zone: u32,
    version: Version,
    _seat: Seat,
}

impl PinnedZone {
    /// The zone. `None`: somebody wrote into the file of the pack since it was pinned, or it was cut off. That may be while it is read: whoever has
    /// read asks again before anything comes of it, and after `None` nothing does.
    pub fn view(&self) -> Option<ZoneView<'_>> {
        ZoneView::new(self.pack.get(), self.zone)
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
        let Some((number, zone)) = found.zone() else {
            return Err(found.absence().map_or(PinRefused::Nothing, PinRefused::Absent));
        };
        let (pins, packs, domain) = self.pinning();
        let seat = Seat::take(pins, client)?;
        // The list has a pack until its cell is emptied, which waits for the batch in which its number was found.
        let pack = packs.get(number).filter(|pack| ZoneView::new(pack, zone).is_some());
        let pack = Kept { pack: Some(pack.ok_or(PinRefused::Nothing)?), domain: domain.clone() };
        Ok(PinnedZone { pack, zone, version: found.version(), _seat: seat })
    }
}

/// A pack that is handed to the domain, as unmapping one takes its time: not for a worker.
struct Kept {
    /// `None` only while it is dropped.
    pack: Option<Arc<Pack>>,
    domain: Domain,
}

impl Kept {
    fn get(&self) -> &Pack {
        self.pack.as_ref().expect("a pack until it is dropped")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(pack) = self.pack.take() else { return };
        // Of two that drop it at once neither may count its octets: they bound what publishers wait for, and nothing else.
        let octets = if Arc::strong_count(&pack) == 1 { pack.octets().len() } else { size_of_val(&pack) };
        self.domain.retire_value(Box::new(pack), octets);
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
}

impl Pins {
    pub(super) fn new() -> Arc<Pins> {
        Arc::new(Pins(Mutex::named("pins", Taken::default())))
    }

    pub(super) fn counts(&self) -> PinCounts {
        self.0.lock().counts
    }
}

/// One pin of a client, which counts as long as this lives.
struct Seat {
    pins: Arc<Pins>,
    client: IpAddr,
}

impl Seat {
    fn take(pins: &Arc<Pins>, client: IpAddr) -> Result<Seat, PinRefused> {
        let mut taken = pins.0.lock();
        let Taken { counts, by_client } = &mut *taken;
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
            return Ok(Seat { pins: Arc::clone(pins), client });
        };
        counts.refused += 1;
        Err(refused)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.pins.0.lock();
        taken.counts.now -= 1;
        if let Some(own) = taken.by_client.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                taken.by_client.remove(&self.client);
            }
        }
    }
}
