//! Requests of the HTTP API that their clients may make again: what came of each is known by the name that its client gave it, and told instead of being done twice.
//!
//! ```text
//! API key, key of repeats --> request, its zones with their serials        in memory; in the log kind 8, a record a zone, in the group of the change
//! ```
//!
//! So a change is durable with what is known of it, or neither is. Of zones that are made, set and removed there is a table of the same kind beside the list of these (`made`). Bounded by records, as a request may have many zones: who has most loses its oldest. A day old, one is
//! nobody's any more: clients repeat within minutes. Design: `docs/design/api.md` 7.

use std::collections::{BTreeMap, HashMap};

use journal::record::ASKED_HASH_OCTETS;
use journal::{Asked, Body, Entry, Record};
use sha2::{Digest, Sha256};
use wire::{Name, NameBuf};

use crate::api::Key;

/// Records of all requests together: each of as many API keys as there may be is sure of 16.
const RECORDS_MAX: usize = 16_384;
/// How long a request is known, in seconds.
const AGE_MAX: u64 = 24 * 3_600;

/// What the hashes are of, before that.
const PURPOSE: &[u8] = b"zonda api repeat\0";

type Hash = [u8; ASKED_HASH_OCTETS];

/// A request that may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Repeat {
    /// Of the key of the API.
    key: Hash,
    /// Of its key of repeats.
    name: Hash,
    /// Of what is asked for.
    request: Hash,
}

impl Repeat {
    /// What is asked for with a key of the API under a key of repeats. `request`: octets that say all of it.
    pub(crate) fn of(key: &Key, name: &str, request: &[u8]) -> Repeat {
        let hash = |octets: &[u8]| {
            let mut hash = Sha256::new();
            hash.update(PURPOSE);
            hash.update(octets);
            let mut first = Hash::default();
            first.copy_from_slice(&hash.finalize()[..ASKED_HASH_OCTETS]);
            first
        };
        Repeat { key: hash(&key.hash), name: hash(name.as_bytes()), request: hash(request) }
    }

    /// Its three hashes: of the key of the API, of its key of repeats, of what is asked for.
    pub(crate) fn hashes(&self) -> [[u8; ASKED_HASH_OCTETS]; 3] {
        [self.key, self.name, self.request]
    }

    /// The one that [`Repeat::hashes`] are of.
    pub(crate) fn from_hashes([key, name, request]: [[u8; ASKED_HASH_OCTETS]; 3]) -> Repeat {
        Repeat { key, name, request }
    }

    /// By which a database knows it: a hash of both its keys, and that of what is asked for.
    pub(super) fn once(&self) -> [[u8; ASKED_HASH_OCTETS]; 2] {
        let mut hash = Sha256::new();
        hash.update(PURPOSE);
        hash.update(self.key);
        hash.update(self.name);
        let mut name = Hash::default();
        name.copy_from_slice(&hash.finalize()[..ASKED_HASH_OCTETS]);
        [name, self.request]
    }

    fn id(&self) -> Id {
        (self.key, self.name)
    }

    /// The record of a zone's part. `serials`: before and after. `zones`: how many there are. `None`: no zone has so long a name.
    pub(super) fn entry(&self, zone: &Name, serials: (u32, u32), zones: usize, time: u64) -> Option<Entry> {
        let Repeat { key, name, request } = *self;
        let zones = u16::try_from(zones).ok()?;
        let asked = Asked { key, repeat: name, request, status: STATUS, zones };
        Entry::new(zone, serials.0, serials.1, time, Body::Asked(asked)).ok()
    }
}

/// The status of what is done.
const STATUS: u16 = 204;

/// API key, key of repeats.
type Id = (Hash, Hash);

/// Zones of a request, with their serials before and after it.
pub(crate) type Zones = Vec<(NameBuf, (u32, u32))>;

/// A request that is done.
#[derive(Clone, Debug)]
struct Known {
    request: Hash,
    /// When it was done, in seconds since 1970, and in which order.
    time: u64,
    number: u64,
    zones: Zones,
    /// Zones that it had: as it is read of a log, not all may be there.
    wanted: usize,
}

impl Known {
    fn is_young(&self, now: u64) -> bool {
        now < self.time.saturating_add(AGE_MAX)
    }
}

/// What is known of a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing.
    New,
    /// It waits for the disk.
    UnderWay,
    /// It is done: its zones.
    Done(Zones),
    /// Another one was made under its key of repeats.
    Other,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Repeats {
    known: HashMap<Id, Known>,
    /// By API key: records of its requests, and these in their order.
    keys: HashMap<Hash, (usize, BTreeMap<u64, Hash>)>,
    records: usize,
    number: u64,
    under_way: HashMap<Id, Hash>,
}

impl Repeats {
    /// What is known of a request. `now`: seconds since 1970.
    pub(crate) fn look(&self, repeat: &Repeat, now: u64) -> Look {
        if let Some(request) = self.under_way.get(&repeat.id()) {
            return if *request == repeat.request { Look::UnderWay } else { Look::Other };
        }
        match self.known.get(&repeat.id()).filter(|known| known.is_young(now)) {
            None => Look::New,
            Some(known) if known.request == repeat.request => Look::Done(known.zones.clone()),
            Some(_) => Look::Other,
        }
    }

    /// A request waits for the disk.
    pub(super) fn begin(&mut self, repeat: &Repeat) {
        self.under_way.insert(repeat.id(), repeat.request);
    }

    /// It waits no more, and is not done.
    pub(super) fn give_up(&mut self, repeat: &Repeat) {
        self.under_way.remove(&repeat.id());
    }

    /// It is done.
    pub(crate) fn done(&mut self, repeat: &Repeat, zones: Zones, now: u64) {
        self.under_way.remove(&repeat.id());
        let wanted = zones.len();
        self.insert(repeat.id(), Known { request: repeat.request, time: now, number: 0, zones, wanted });
    }

    fn insert(&mut self, id: Id, known: Known) {
        self.remove(&id);
        self.number += 1;
        let known = Known { number: self.number, ..known };
        let (records, order) = self.keys.entry(id.0).or_default();
        *records += known.zones.len();
        order.insert(known.number, id.1);
        self.records += known.zones.len();
        self.known.insert(id, known);
        while self.records > RECORDS_MAX {
            // Each of those that have something is looked at, of which there are no more than keys of some days.
            let most = self.keys.iter().max_by_key(|(_, (records, _))| *records);
            let oldest = most.and_then(|(key, (_, order))| Some((*key, *order.first_key_value()?.1)));
            match oldest {
                Some(oldest) => self.remove(&oldest),
                None => return,
            }
        }
    }

    fn remove(&mut self, id: &Id) {
        let Some(known) = self.known.remove(id) else { return };
        self.records -= known.zones.len();
        if let Some((records, order)) = self.keys.get_mut(&id.0) {
            *records -= known.zones.len();
            order.remove(&known.number);
            if order.is_empty() {
                self.keys.remove(&id.0);
            }
        }
    }

    /// Whether nothing is known.
    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// How many are known.
    pub(crate) fn count(&self) -> usize {
        self.known.len()
    }

    /// Forgets those that are nobody's any more.
    pub(crate) fn forget_old(&mut self, now: u64) {
        let old: Vec<Id> =
            self.known.iter().filter(|(_, known)| !known.is_young(now)).map(|(id, _)| *id).collect();
        old.iter().for_each(|id| self.remove(id));
    }

    /// All that are known, in their order, each with its zones and when it was done.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Repeat, &Zones, u64)> {
        let mut all: Vec<(&Id, &Known)> = self.known.iter().collect();
        all.sort_by_key(|(_, known)| known.number);
        all.into_iter().map(|(id, known)| {
            (Repeat { key: id.0, name: id.1, request: known.request }, &known.zones, known.time)
        })
    }

    /// Records of all that are young, in their order, for a checkpoint. The others are forgotten.
    pub(super) fn entries(&mut self, now: u64) -> Vec<Entry> {
        self.forget_old(now);
        let of = |(repeat, zones, time): (Repeat, &Zones, u64)| {
            let of_zone =
                |(zone, serials): &(NameBuf, (u32, u32))| repeat.entry(zone, *serials, zones.len(), time);
            zones.iter().filter_map(of_zone).collect::<Vec<Entry>>()
        };
        self.iter().flat_map(of).collect()
    }
}

/// Requests as they are read of a log, record by record.
#[derive(Default)]
pub(super) struct Reading {
    requests: HashMap<Id, Known>,
    number: u64,
}

impl Reading {
    /// Takes a record. One that is said again, as checkpoints do, takes the place of what was said before.
    pub(super) fn take(&mut self, record: &Record<'_>, asked: &Asked) {
        let Asked { key, repeat, request, zones, .. } = *asked;
        self.number += 1;
        let (zone, serials) = (record.zone.to_lowercase(), (record.serial_before, record.serial_after));
        let new = Known {
            request,
            time: record.time,
            number: self.number,
            zones: Vec::new(),
            wanted: zones.into(),
        };
        let known = self.requests.entry((key, repeat)).or_insert_with(|| new.clone());
        if known.request != request {
            *known = new;
        }
        known.time = record.time;
        match known.zones.iter_mut().find(|(name, _)| *name == zone) {
            Some((_, known)) => *known = serials,
            None => known.zones.push((zone, serials)),
        }
    }

    /// All of which all is there.
    pub(super) fn end(self) -> Repeats {
        let whole = |known: &Known| known.zones.len() == known.wanted;
        let mut all: Vec<(Id, Known)> = self.requests.into_iter().filter(|(_, known)| whole(known)).collect();
        all.sort_by_key(|(_, known)| known.number);
        let mut repeats = Repeats::default();
        all.into_iter().for_each(|(id, known)| repeats.insert(id, known));
        repeats
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn repeat(key: u16, name: u16, request: u8) -> Repeat {
        let hash = |number: u16| {
            let mut hash = Hash::default();
            hash[..2].copy_from_slice(&number.to_be_bytes());
            hash
        };
        Repeat { key: hash(key), name: hash(name), request: [request; ASKED_HASH_OCTETS] }
    }

    fn zones(count: usize) -> Zones {
        (0..count).map(|zone| (format!("z{zone}.test").parse().unwrap(), (1, 2 + zone as u32))).collect()
    }

    /// What a start makes of records.
    fn read(entries: &[Entry]) -> Repeats {
        let mut reading = Reading::default();
        for entry in entries {
            let record = entry.record();
            let Body::Asked(asked) = record.body else { panic!("{record:?}") };
            reading.take(&record, &asked);
        }
        reading.end()
    }

    #[test]
    fn a_request_is_known_by_its_names() {
        let mut repeats = Repeats::default();
        let one = repeat(1, 1, 1);
        assert_eq!(repeats.look(&one, NOW), Look::New);
        repeats.begin(&one);
        assert_eq!(
            [repeats.look(&one, NOW), repeats.look(&repeat(1, 1, 2), NOW)],
            [Look::UnderWay, Look::Other]
        );
        repeats.give_up(&one);
        assert_eq!(repeats.look(&one, NOW), Look::New);
        repeats.begin(&one);
        repeats.done(&one, zones(2), NOW);
        assert_eq!(
            [repeats.look(&one, NOW), repeats.look(&repeat(1, 1, 2), NOW)],
            [Look::Done(zones(2)), Look::Other]
        );
        // Another key of the API, another key of repeats.
        assert_eq!(
            [repeats.look(&repeat(2, 1, 1), NOW), repeats.look(&repeat(1, 2, 1), NOW)],
            [Look::New, Look::New]
        );
        assert_eq!(repeats.look(&one, NOW + AGE_MAX - 1), Look::Done(zones(2)));
        assert_eq!(repeats.look(&one, NOW + AGE_MAX), Look::New);
        // Under an old one another may be made.
        repeats.done(&repeat(1, 1, 2), zones(1), NOW + AGE_MAX);
        assert_eq!((repeats.records, repeats.look(&one, NOW + AGE_MAX)), (1, Look::Other));
        assert!(
            repeats.entries(NOW + 2 * AGE_MAX).is_empty() && repeats.is_empty() && repeats.keys.is_empty()
        );
    }

    #[test]
    fn who_has_most_loses_its_oldest() {
        let mut repeats = Repeats::default();
        repeats.done(&repeat(1, 0, 1), zones(1), NOW);
        // One key with all that there is room for, and more.
        let many = (RECORDS_MAX / 256) as u16;
        for name in 0..many + 2 {
            repeats.done(&repeat(2, name, 1), zones(256), NOW);
        }
        let is_known = |repeats: &Repeats, key, name| repeats.look(&repeat(key, name, 1), NOW) != Look::New;
        assert!(is_known(&repeats, 1, 0) && repeats.records <= RECORDS_MAX);
        assert!(!is_known(&repeats, 2, 0) && !is_known(&repeats, 2, 2) && is_known(&repeats, 2, 3));
        // A third one has its place, at the cost of the second.
        repeats.done(&repeat(3, 0, 1), zones(256), NOW);
        assert!(is_known(&repeats, 1, 0) && is_known(&repeats, 3, 0) && repeats.records <= RECORDS_MAX);
        assert!(!is_known(&repeats, 2, 3) && is_known(&repeats, 2, 4));
        let counted: usize = repeats.keys.values().map(|(records, _)| records).sum();
        assert_eq!(counted, repeats.records);
    }

    /// As a log has it: what a checkpoint says again takes the place of what was there, and of one of which not all is there nothing is known.
    #[test]
    fn there_and_back() {
        let mut repeats = Repeats::default();
        let (one, two) = (repeat(1, 1, 1), repeat(1, 2, 2));
        repeats.done(&one, zones(3), NOW);
        repeats.done(&two, zones(1), NOW + 1);
        let entries = repeats.entries(NOW + 2);
        assert_eq!(entries.len(), 4);
        let again = [&entries[..], &entries[..2]].concat();
        for all in [&entries[..], &again] {
            let read = read(all);
            assert_eq!(
                [read.look(&one, NOW + 2), read.look(&two, NOW + 2)],
                [Look::Done(zones(3)), Look::Done(zones(1))]
            );
        }
        let cut = read(&entries[1..]);
        assert_eq!([cut.look(&one, NOW + 2), cut.look(&two, NOW + 2)], [Look::New, Look::Done(zones(1))]);
        // Another one under the same name, once it was old.
        let mut later = Repeats::default();
        later.done(&repeat(1, 1, 9), zones(2), NOW + AGE_MAX);
        let all = [entries, later.entries(NOW + AGE_MAX)].concat();
        assert_eq!(read(&all).look(&repeat(1, 1, 9), NOW + AGE_MAX), Look::Done(zones(2)));
    }
}
