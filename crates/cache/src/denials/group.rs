//! The zones under one lock, and what leaves for room.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use wire::Name;

use super::span::Fact;
use super::zone::{ZONE_OCTETS, Zone};
use crate::Moment;

/// Spans that leave under one taking of the lock where there is to be less memory: about 100 us.
const TRIM_SPANS: usize = 512;

#[derive(Default)]
pub(super) struct Group {
    pub(super) zones: BTreeMap<Box<[u8]>, Zone>,
    pub(super) octets: usize,
}

impl Group {
    /// Puts a span into a zone; then has others leave until the group is within its bound.
    pub(super) fn put(&mut self, zone: &Name, fact: Fact, now: Moment, octets_max: usize) {
        if !self.zones.contains_key(zone.octets()) {
            self.octets += ZONE_OCTETS;
            self.zones.insert(zone.octets().into(), Zone { octets: ZONE_OCTETS, ..Zone::default() });
        }
        let known = self.zones.get_mut(zone.octets()).expect("it was put there");
        known.used.fetch_max(now.0, Ordering::Relaxed);
        let before = known.octets;
        known.put(fact);
        self.octets = self.octets + known.octets - before;
        while self.octets > octets_max && self.forget_something(zone) {}
    }

    /// The zone that was asked longest ago goes; where there is only `present`, half of its spans. Whether something went.
    fn forget_something(&mut self, present: &Name) -> bool {
        let idle = self.zones.iter().filter(|(zone, _)| ***zone != *present.octets());
        let idle =
            idle.min_by_key(|(_, zone)| zone.used.load(Ordering::Relaxed)).map(|(zone, _)| zone.clone());
        if let Some(gone) = idle.and_then(|idle| self.zones.remove(&idle)) {
            self.octets -= gone.octets;
            return true;
        }
        let Some(zone) = self.zones.get_mut(present.octets()) else { return false };
        let mut parity = 0_u32;
        let mut every_other = || {
            parity += 1;
            parity.is_multiple_of(2)
        };
        let before = zone.octets;
        zone.nsec.retain(|_, _| every_other());
        zone.nsec3.retain(|_, _| every_other());
        zone.count();
        self.octets = self.octets + zone.octets - before;
        zone.octets < before
    }

    /// Some spans of the zone that was asked longest ago go, and it with the last of them. Whether something went.
    pub(super) fn forget_some(&mut self) -> bool {
        let idle = self.zones.iter_mut().min_by_key(|(_, zone)| zone.used.load(Ordering::Relaxed));
        let Some((name, zone)) = idle else { return false };
        let (name, before) = (name.clone(), zone.octets);
        for _ in 0..TRIM_SPANS {
            let gone = zone.nsec.pop_last().map(|(_, span)| span);
            let Some(gone) = gone.or_else(|| zone.nsec3.pop_last().map(|(_, span)| span)) else {
                self.octets -= before;
                self.zones.remove(&name);
                return true;
            };
            zone.octets -= gone.octets();
        }
        self.octets = self.octets + zone.octets - before;
        true
    }

    pub(super) fn flush(&mut self, name: &Name) {
        self.zones.retain(|zone, _| {
            let zone = Name::trusted(zone);
            !zone.is_at_or_below(name) && !name.is_at_or_below(zone)
        });
        self.octets = self.zones.values().map(|zone| zone.octets).sum();
    }
}
