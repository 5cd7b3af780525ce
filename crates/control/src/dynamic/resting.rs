//! Zones that come to rest, so that what is kept of zones that change stays bounded however many there are.
//!
//! ```text
//! many zones have changed --the quietest--> merge --> nothing came meanwhile: the log says "at rest"
//!                                                       --synced--> the slot shows the pack, and the changer forgets the zone
//! ```
//!
//! What makes it sure that a start takes the zone from that pack is `controller::resting`.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use journal::Entry;
use wire::NameBuf;
use zone::DeltaWriter;

use super::base;
use super::changer::{Changer, wall};
use super::renewal::Rules;
use super::taking::Moved;
use super::zone::DynamicZone;
use crate::controller::{Controller, LookedThrough, Still};
use crate::load::OWN_PACK_OCTETS;

/// What a zone that has changed takes beside the octets of its delta: the first tables and columns of that, and of what its slot shows. Measured: 5 to 10 KB.
pub(super) const ZONE_OCTETS: u64 = 10 << 10;
/// How long the zones of a new pack wait for others who make packs: most of these take less. Then they go on as zones that change.
const SETTLE_PATIENCE: Duration = Duration::from_secs(5);
/// When it is looked again.
const SETTLE_PAUSE: Duration = Duration::from_millis(10);
/// A zone that an update was to change, and that has not changed, is forgotten after this: the next comes soon, if any does.
const FORGET_AFTER: Duration = Duration::from_secs(1);
/// Room of so many zones is kept, and of so many times as many as there are: what is given back is soon taken again otherwise, and each time all are moved.
const ROOM_MIN: usize = 256;
const ROOM_PARTS: usize = 4;
/// With so many times as many zones as there may be they are merged as soon as that can be; with fewer, half of the time at most.
const CROWD_MAX: usize = 2;

/// The zones that have been quiet longest of those with small deltas: as many as have to rest so that half of what may be is left. None, if there is no more than may be.
pub(super) fn crowd<'z>(
    zones: impl Iterator<Item = &'z DynamicZone>,
    rules: &Rules,
    is_due: bool,
) -> HashSet<NameBuf> {
    let mut small: Vec<&DynamicZone> =
        zones.filter(|zone| zone.octets() < rules.merge_from.octets_min).collect();
    let (mut count, mut octets) = (small.len(), small.iter().map(|zone| zone.octets()).sum::<u64>());
    let is_crowd = count > rules.zones_max || octets > rules.small_octets_max;
    if !is_crowd || !(is_due || count > CROWD_MAX * rules.zones_max) {
        return HashSet::new();
    }
    small.sort_unstable_by_key(|zone| zone.changed);
    let mut quiet = HashSet::new();
    for zone in small {
        if count <= rules.zones_max / 2 && octets <= rules.small_octets_max / 2 {
            break;
        }
        (count, octets) = (count - 1, octets - zone.octets());
        quiet.insert(zone.name().to_owned());
    }
    quiet
}

impl Changer {
    /// Says how much is kept of zones that have changed.
    pub(super) fn count_changed(&self) {
        let dynamic = &self.controller.dynamic;
        dynamic.changed.store(self.zones.len(), Ordering::Relaxed);
        dynamic.changed_octets.store(self.renewal.octets, Ordering::Relaxed);
    }

    /// Gives back the room of zones that are at rest: each takes some in the table of all, which grows with the most there were.
    pub(super) fn give_room_back(&mut self) {
        let wanted = self.zones.len().max(ROOM_MIN);
        if self.zones.capacity() > ROOM_PARTS * wanted {
            self.zones.shrink_to(2 * wanted);
        }
    }

    /// Forgets zones that were looked at for a change that has not come about. The log has nothing of them.
    pub(super) fn forget_unchanged(&mut self, now: Instant) {
        let Changer { zones, claimed, proving, rounds, .. } = self;
        zones.retain(|name, zone| {
            let is_unchanged = !zone.is_published() && !zone.is_waiting() && !zone.is_based;
            let is_awaited = claimed.contains(name) || proving.has(name) || rounds.has(name);
            !is_unchanged || is_awaited || now - zone.changed < FORGET_AFTER
        });
    }

    /// Sees to it that the zones of the new pack can rest: nobody makes packs meanwhile.
    pub(super) fn settle<'c>(&mut self, controller: &'c Controller) -> Option<Still<'c>> {
        let taking = self.renewal.taking.as_mut()?;
        let Some(settled) = controller.still() else {
            if taking.since.elapsed() < SETTLE_PATIENCE {
                taking.not_before = Instant::now() + SETTLE_PAUSE;
            }
            return None;
        };
        let settled = settled.is_known(&taking.pack, &taking.looked).then_some(settled);
        self.renewal.is_settled = settled.is_some();
        settled
    }

    /// The record that says that a zone is at rest, if it may be. `writer`: what came since its state was pinned. `is_newest`: no other pack has the zone that was looked through.
    pub(super) fn at_rest(&self, zone: &DynamicZone, writer: &DeltaWriter, is_newest: bool) -> Option<Entry> {
        if !(self.renewal.is_settled && is_newest && self.is_idle(zone, writer)) {
            return None;
        }
        let newest = writer.newest_box();
        base::at_rest(newest.pack(), newest.number(), wall())
    }

    /// Whether nothing is to be said of a zone beside a pack that it is in.
    pub(super) fn is_idle(&self, zone: &DynamicZone, writer: &DeltaWriter) -> bool {
        writer.rows() == 0 && zone.fault.is_none() && !self.proving.has(zone.name())
    }

    /// A zone is at rest, as the log says: its slot shows the pack, and it is forgotten here. Otherwise it is given back, to go on as one that changes.
    pub(super) fn come_to_rest(&mut self, moved: Moved) -> Option<Moved> {
        let controller = Arc::clone(&self.controller);
        let zone = self.zones.get_mut(&moved.zone)?;
        // Where the log was full meanwhile others may have made packs.
        let is_again = !(self.renewal.is_settled || zone.is_passing);
        let settled = if is_again { controller.still() } else { None };
        let is_sure = !is_again
            || settled.as_ref().is_some_and(|settled| settled.is_known(&moved.to, &LookedThrough::default()));
        let number = moved.writer.newest_box().number();
        if !is_sure || zone.is_waiting() || !zone.show_at_rest(&controller, &moved.to, number) {
            return Some(moved);
        }
        if zone.share() >= OWN_PACK_OCTETS as u64 {
            self.renewal.rested.insert(moved.zone.clone(), (Instant::now(), moved.time));
        }
        // What has come since the last look was not counted: the next one counts all anew.
        let octets = zone.octets() + ZONE_OCTETS;
        self.renewal.octets = self.renewal.octets.saturating_sub(octets);
        self.zones.remove(&moved.zone);
        self.claimed.remove(&moved.zone);
        controller.dynamic.rested.fetch_add(1, Ordering::Relaxed);
        tracing::debug!(zone = %moved.zone, "zone {}: stored with all its changes, and at rest", moved.zone);
        None
    }
}
