//! Which zones are transferred from others, and from which addresses: what settings say, against what the schedule has.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;

use transfer::incoming::Soa;
use transfer::notify::{Remote, RemoteName};
use transfer::refresh::{Kept, Schedule, ZoneNumber};
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::catalog::View;

use super::former::Former;
use super::past::Past;
use crate::controller::Controller;
use crate::secondary::{Clock, Primary};

/// A zone.
pub(super) struct Zone {
    /// As the settings write it.
    pub(super) name: NameBuf,
    /// The primaries, by number, in their order.
    pub(super) primaries: Box<[u16]>,
    /// What the log has of its age.
    pub(super) noted: Option<Kept>,
    /// Whether it was said that it cannot be had from somewhere.
    pub(super) is_troubled: bool,
    /// What came of asking for it.
    pub(super) past: Past,
}

/// All zones and the addresses that they are asked of.
pub(super) struct Zones {
    /// By the number of the schedule.
    pub(super) zones: HashMap<ZoneNumber, Zone>,
    /// By name in lower case.
    pub(super) numbers: HashMap<NameBuf, ZoneNumber>,
    /// What the schedule calls a primary by number: a remote, and one of its addresses.
    pub(super) primaries: Vec<(RemoteName, SocketAddr)>,
    primary_numbers: HashMap<(RemoteName, SocketAddr), u16>,
    /// Lists of primaries that the schedule has.
    lists: HashMap<Box<[u16]>, u32>,
    /// Of zones that were forgotten while they were asked for.
    pub(super) former: Former,
}

impl Zones {
    pub(super) fn new(former: Former) -> Zones {
        let (zones, numbers, primaries, primary_numbers, lists) = Default::default();
        Zones { zones, numbers, primaries, primary_numbers, lists, former }
    }

    /// Brings zones up to what settings say. `random`: any numbers.
    pub(super) fn look(
        &mut self,
        controller: &Controller,
        schedule: &mut Schedule,
        remotes: &HashMap<RemoteName, Remote>,
        random: &mut dyn FnMut() -> u32,
    ) {
        let mut stays: HashSet<ZoneNumber> = HashSet::new();
        for (name, names) in wanted(controller) {
            stays.extend(self.bring(controller, schedule, remotes, random, (name, &names)));
        }
        let gone: Vec<NameBuf> = self
            .numbers
            .iter()
            .filter(|(_, number)| !stays.contains(number))
            .map(|(name, _)| name.clone())
            .collect();
        gone.iter().for_each(|name| self.forget(name, schedule));
    }

    /// Brings one of these zones up to what is known of it, if it is one that is transferred; one that is not goes.
    pub(super) fn look_at(
        &mut self,
        controller: &Controller,
        schedule: &mut Schedule,
        remotes: &HashMap<RemoteName, Remote>,
        random: &mut dyn FnMut() -> u32,
        name: &Name,
    ) {
        let names = controller.primaries_of(name);
        if names.is_empty() {
            return self.forget(&name.to_lowercase(), schedule);
        }
        self.bring(controller, schedule, remotes, random, (name.to_owned(), &names));
    }

    /// Brings a zone up to the primaries that it has now. `None`: there are none that can be asked.
    fn bring(
        &mut self,
        controller: &Controller,
        schedule: &mut Schedule,
        remotes: &HashMap<RemoteName, Remote>,
        random: &mut dyn FnMut() -> u32,
        (name, names): (NameBuf, &[Box<str>]),
    ) -> Option<ZoneNumber> {
        let lower = name.to_lowercase();
        let primaries = self.numbers_of(names, schedule, remotes);
        if let Some(&number) = self.numbers.get(&lower)
            && self.zones.get(&number).is_some_and(|zone| zone.primaries == primaries)
        {
            return Some(number);
        }
        let (now, unix) = (Clock.seconds(), Clock.unix());
        // With others it is as old as it was. What the log had at the start counts where it was not known since.
        let (kept, noted) = match self.numbers.get(&lower) {
            Some(number) => {
                let noted = self.zones.get(number).and_then(|zone| zone.noted);
                (schedule.kept(*number, now, unix), noted)
            }
            None => {
                let noted = controller.secondaries.take_kept(&lower);
                (noted, noted)
            }
        };
        self.forget(&lower, schedule);
        let list = match self.lists.get(&primaries) {
            Some(list) => Some(*list),
            None => schedule.add_list(&primaries).inspect(|list| {
                self.lists.insert(primaries.clone(), *list);
            }),
        };
        // Settings name at least one, each with an address.
        let list = list?;
        let soa = soa(controller, &name);
        let held = soa.as_ref().map(|soa| {
            let unknown = Kept { checked: unix, expires: unix.saturating_add(soa.expire.into()) };
            (soa, kept.unwrap_or(unknown))
        });
        let number = schedule.add(list, held, (now, unix), random);
        let zone = Zone { name, primaries, noted, is_troubled: false, past: Past::default() };
        self.zones.insert(number, zone);
        self.numbers.insert(lower, number);
        Some(number)
    }

    pub(super) fn forget(&mut self, lower: &Name, schedule: &mut Schedule) {
        if let Some(number) = self.numbers.remove(lower) {
            self.zones.remove(&number);
            if schedule.remove(number) {
                self.former.add(number, lower.to_owned());
            }
        }
    }

    /// The numbers of the addresses of remotes.
    fn numbers_of(
        &mut self,
        names: &[Box<str>],
        schedule: &mut Schedule,
        remotes: &HashMap<RemoteName, Remote>,
    ) -> Box<[u16]> {
        let mut numbers = Vec::new();
        for name in names {
            let Some((name, remote)) = remotes.get_key_value(&**name) else { continue };
            for address in &remote.addresses {
                let key = (Arc::clone(name), *address);
                let number = self.primary_numbers.get(&key).copied().or_else(|| {
                    let number = schedule.add_primary(true, false)?;
                    self.primaries.push(key.clone());
                    self.primary_numbers.insert(key, number);
                    Some(number)
                });
                numbers.extend(number);
            }
        }
        numbers.into()
    }

    /// Where a primary is, and its key as settings have it now.
    pub(super) fn primary(&self, number: u16, remotes: &HashMap<RemoteName, Remote>) -> Option<Primary> {
        let (name, address) = self.primaries.get(usize::from(number))?;
        let remote = remotes.get(name)?;
        Some(Primary { address: *address, key: remote.key.clone(), source: remote.source })
    }

    /// The name of a primary, for operators.
    pub(super) fn name_of(&self, number: u16) -> String {
        self.primaries
            .get(usize::from(number))
            .map_or_else(String::new, |(name, address)| format!("{name} ({address})"))
    }
}

/// Zones that are looked at within one batch of the catalog.
const ZONES_A_BATCH: usize = 1000;

/// The zones that settings say are transferred, and from whom.
fn wanted(controller: &Controller) -> Vec<(NameBuf, Box<[Box<str>]>)> {
    if !controller.zones.read().has_secondaries() {
        return Vec::new();
    }
    let mut wanted = Vec::new();
    let mut slots = Vec::new();
    controller.for_each_slot(|slot, _| slots.push(slot));
    for batch in slots.chunks(ZONES_A_BATCH) {
        let zones = controller.zones.read();
        controller.catalog.reader().with(|view| {
            for slot in batch {
                let primaries = zones.primaries(*slot);
                if !primaries.is_empty()
                    && let Some(name) = zones.name(view, *slot)
                {
                    wanted.push((name.to_owned(), primaries.into()));
                }
            }
        });
    }
    let zones = controller.zones.read();
    wanted.extend(zones.hidden_secondaries().map(|(name, primaries)| (name.to_owned(), primaries.into())));
    wanted
}

/// The SOA record of a zone that is served.
pub(super) fn soa(controller: &Controller, name: &Name) -> Option<Soa> {
    controller.catalog.reader().with(|view| {
        let Some(View::Zone(zone)) = view.slot_named(name).and_then(|slot| view.view_of(slot)) else {
            return None;
        };
        let soa = zone.apex_node()?.rrset(rtype::SOA)?;
        Soa::read(soa.rdata(zone.apex(), zone.apex())?.first()?)
    })
}
