//! What an answer is made from: the zones that were found on the way, each in one state, and the names that found them.
//!
//! A kept answer is right as long as these zones have the versions they had. That includes the zones that were not there: one that is
//! added raises the version of the zone above it, or of a slot that stands for no zone at all.
//!
//! Of a zone that changes by parts ([`PartSet`]) an answer depends on those alone that it was made from:
//!
//! | what was looked at | parts |
//! |---|---|
//! | a name that was looked up, with all cuts, DNAMEs, wildcards and empty non-terminals on the way to it | the name's |
//! | the wildcard of the apex, its DNAME, types of the apex that change seldom | shared, on which all depend without being told |
//! | glue | the cut's: it is stored there |
//! | additional data, and addresses of name servers with their signatures | those of all names that the records point at |
//! | SOA in any section, other types of the apex that change with the serial | the serial's |
//! | proofs, of whatever name | the serial's; but the NSEC record of a cut that has no DS is the cut's own |
//!
//! An answer from one zone, with one SOA record and no signatures, depends on the serial in nothing but the serial itself: where that stands is kept
//! with it, and the present one is written there whenever it is given.

use crate::answer::ToldBy;
use crate::limits::CHAIN_MAX;
use crate::rrset;
use wire::iana::rtype;
use wire::rdata::Names;
use wire::record::RecordView;
use wire::{Places, SortKey};
use zone::CatalogView;
use zone::catalog::{Found, KeptParts, PartSet, SlotNumber, Version};

/// Most zones that a kept answer depends on. Aliases rarely cross more, and each costs a comparison whenever the answer is given again.
pub(crate) const SOURCES_KEPT_MAX: usize = 4;
/// Most names of a kept answer: each is looked up again before it is kept.
const NAMES_KEPT_MAX: usize = 8;
/// Zones that one answer can come to: two a name, where DS is asked for.
const SOURCES_MAX: usize = 2 * (CHAIN_MAX + 1);

/// A name that was looked up: where it begins in the response, how many of its labels counted, and which of the sources was found.
#[derive(Clone, Copy, Default)]
struct Lookup {
    name: u16,
    labels_max: u8,
    source: u8,
}

/// A zone that an answer depends on.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub(crate) version: Version,
    /// Where the version has parts: those of the zone that it was made from.
    pub(crate) parts: KeptParts,
    /// Where the serial stands that has to be the present one, counted from where the records begin; 0: nowhere.
    pub(crate) serial_at: u16,
}

/// What of an answer that was written tells which parts it was made from.
#[derive(Clone, Copy)]
pub(crate) struct Written<'m> {
    pub(crate) message: &'m [u8],
    /// Where the records begin.
    pub(crate) start: usize,
    /// Records of answer and authority section.
    pub(crate) counts: [u16; 2],
    pub(crate) qtype: u16,
    pub(crate) is_referral: bool,
    pub(crate) dnssec_ok: bool,
}

impl Written<'_> {
    /// Where the serial of the only SOA record stands, and the serial, if nothing in answer and authority section is signed.
    fn serial(&self) -> Option<(usize, u32)> {
        let (mut at, mut found) = (self.start, None);
        for _ in 0..self.counts.iter().sum() {
            let record = RecordView::read(self.message, at)?;
            at = record.end();
            match record.rtype {
                rtype::RRSIG => return None,
                rtype::SOA if found.is_some() => return None,
                // The last numbers are serial, refresh, retry, expire and minimum (RFC 1035 3.3.13).
                rtype::SOA => {
                    let (_, [serial, ..]) = record.rdata.as_rchunks::<4>().1.split_last_chunk::<5>()?;
                    found = Some((at - 5 * 4, u32::from_be_bytes(*serial)));
                }
                _ => {}
            }
        }
        found
    }
}

/// See the module.
pub(crate) struct Sources {
    found: [Found; SOURCES_MAX],
    found_count: usize,
    names: [Lookup; NAMES_KEPT_MAX],
    /// More than [`NAMES_KEPT_MAX`] where not all are in the list.
    names_count: usize,
    /// What limits tell the answer by.
    pub told_by: ToldBy,
}

impl Default for Sources {
    fn default() -> Sources {
        Sources {
            found: [Found::default(); SOURCES_MAX],
            found_count: 0,
            names: [Lookup::default(); NAMES_KEPT_MAX],
            names_count: 0,
            told_by: ToldBy::Name,
        }
    }
}

impl Sources {
    /// Forgets the answer before.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        (self.found_count, self.names_count) = (0, 0);
        self.told_by = ToldBy::Name;
    }

    /// Takes note of what the name at `name` of the response found with `labels_max` labels. Returns what to go on with, if that is something
    /// else: a zone that was found before is seen as it was then, so that no answer is made of two states of one zone.
    #[inline(always)]
    pub(crate) fn add(&mut self, found: &Found, name: u16, labels_max: usize) -> Option<Found> {
        let mut source = self.found_count;
        let mut before = None;
        if source > 0
            && let Some(at) = self.position(found)
        {
            (source, before) = (at, Some(self.found[at]));
        } else if let Some(place) = self.found.get_mut(source) {
            *place = *found;
            self.found_count = source + 1;
        }
        if let Some(place) = self.names.get_mut(self.names_count) {
            *place = Lookup { name, labels_max: labels_max as u8, source: source as u8 };
        }
        self.names_count += 1;
        before
    }

    /// The zones, in the order in which they were found.
    fn found(&self) -> &[Found] {
        &self.found[..self.found_count]
    }

    /// The names, if they are few enough.
    fn names(&self) -> Option<&[Lookup]> {
        self.names.get(..self.names_count)
    }

    /// Which of the zones found before this is.
    #[cold]
    fn position(&self, found: &Found) -> Option<usize> {
        self.found().iter().position(|before| before.version().slot == found.version().slot)
    }

    /// The slot of the zone that was found first.
    pub(crate) fn first_slot(&self) -> SlotNumber {
        self.found[0].version().slot
    }

    /// Zones and versions, if an answer that depends on these can be kept.
    pub(crate) fn kept<'s>(
        &'s self,
        written: &Written<'_>,
        catalog: &CatalogView<'_>,
        (places, key): (&mut Places, &mut SortKey),
    ) -> Option<impl Iterator<Item = Source> + use<'s>> {
        let names = self.names()?;
        let found = self.found();
        if found.len() > SOURCES_KEPT_MAX {
            return None;
        }
        let mut parts = [PartSet::NONE.kept(); SOURCES_KEPT_MAX];
        let mut serial_at = 0;
        if found.iter().any(|found| found.version().has_parts()) {
            let serial = written.serial().filter(|_| found.len() == 1);
            let is_in_place = serial.is_some();
            let found_parts = self.find_parts(names, written, is_in_place, (places, key))?;
            parts = found_parts.map(PartSet::kept);
            if let Some((at, serial)) = serial {
                // Of a state that is being published an answer can have the serial before that is said: whoever is given it again must get none from before.
                if catalog.serial_of(found.first()?.version(), parts[0])? != serial {
                    return None;
                }
                serial_at = u16::try_from(at - written.start).ok()?;
            }
        }
        let all = found.iter().zip(parts);
        Some(all.map(move |(found, parts)| Source { version: found.version(), parts, serial_at }))
    }

    /// Finds the parts that each of the zones was asked for. `is_in_place`: the present serial will be written into it.
    #[cold]
    #[inline(never)]
    fn find_parts(
        &self,
        names: &[Lookup],
        written: &Written<'_>,
        is_in_place: bool,
        (places, key): (&mut Places, &mut SortKey),
    ) -> Option<[PartSet; SOURCES_KEPT_MAX]> {
        let mut parts = [PartSet::NONE; SOURCES_KEPT_MAX];
        let is_soa = is_in_place && written.qtype == rtype::SOA;
        for lookup in names {
            let source = lookup.source as usize;
            let (name, apex_labels) = (lookup.name as usize, self.found[source].labels as usize);
            let labels = &mut (&mut *places, &mut *key);
            parts[source] |= match part_of(written.message, name, apex_labels, labels)? {
                PartSet::NONE if PartSet::is_of_serial(written.qtype) && !is_soa => PartSet::SERIAL,
                part => part,
            };
        }
        for (parts, found) in parts.iter_mut().zip(self.found()) {
            let labels = (&mut *places, &mut *key);
            let is_first_name = names.len() == 1;
            *parts |= parts_beside(written, (is_first_name, is_in_place), found.labels as usize, labels)?;
        }
        Some(parts)
    }

    /// Whether one of the zones is not for everybody: what comes of it must not be given to others unasked.
    pub(crate) fn are_for_some(&self, catalog: &CatalogView<'_>) -> bool {
        let found = self.found();
        found.iter().any(|found| catalog.group_of(found.version().slot).is_for_some())
    }

    /// Whether each name still finds what it found. Who was looking while a zone was added can have read the new version of the zone above, and
    /// then looked for the new zone in a table that does not have it; having read that version, the second look sees the table that has it.
    /// Not needed where no zone was added since the batch began ([`CatalogView::has_new_zones`]).
    pub(crate) fn is_found_again(
        &self,
        catalog: &CatalogView<'_>,
        message: &[u8],
        (places, key): (&mut Places, &mut SortKey),
    ) -> bool {
        let Some(names) = self.names() else { return false };
        names.iter().all(|lookup| {
            if places.follow(message, lookup.name as usize).is_err() {
                return false;
            }
            key.set_places(message, places.labels());
            let found = catalog.find(key, lookup.labels_max as usize).found;
            found.version() == self.found[lookup.source as usize].version()
        })
    }
}

/// The part of the name that stands at `at`, in a zone with so many labels; none for its apex, and those above.
fn part_of(
    message: &[u8],
    at: usize,
    apex_labels: usize,
    (places, key): &mut (&mut Places, &mut SortKey),
) -> Option<PartSet> {
    places.follow(message, at).ok()?;
    key.set_places(message, places.labels());
    let is_below = key.label_count() > apex_labels;
    Some(if is_below { PartSet::of_name(&key.octets()[key.end(apex_labels)..]) } else { PartSet::NONE })
}

/// What an answer depends on beside the names that led to it: whatever its records point at can have been looked up for additional data, or as a
/// name server whose address is signed; and what proves something changes with the serial. `is_first_name`: no alias led to the end. `is_in_place`: the
/// serial is written anew.
fn parts_beside(
    written: &Written<'_>,
    (is_first_name, is_in_place): (bool, bool),
    apex_labels: usize,
    mut labels: (&mut Places, &mut SortKey),
) -> Option<PartSet> {
    // An NSEC record that says that a cut has no DS is the cut's, if no wildcard was passed on the way.
    let is_cuts_own = written.is_referral && is_first_name;
    let mut parts = PartSet::NONE;
    let mut at = written.start;
    let [answers, authorities] = written.counts;
    for number in 0..answers + authorities {
        let record = RecordView::read(written.message, at)?;
        at = record.end();
        let is_answer = number < answers;
        match record.rtype {
            rtype::SOA if is_in_place => {}
            rtype::SOA | rtype::NSEC3 if !is_answer => parts |= PartSet::SERIAL,
            rtype::NSEC if !(is_answer || is_cuts_own) => parts |= PartSet::SERIAL,
            // Glue without signatures stands with the cut.
            rtype::NS if !is_answer && !written.dnssec_ok => {}
            rtype if rrset::has_targets(rtype) => {
                for name in Names::in_message(rtype, written.message, record.rdata_at, record.end()) {
                    parts |= part_of(written.message, name.ok()?.at, apex_labels, &mut labels)?;
                }
            }
            _ => {}
        }
    }
    Some(parts)
}
