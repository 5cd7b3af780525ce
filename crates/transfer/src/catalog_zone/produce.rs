//! The catalog that is made here: which zones are wanted in it, and what changes in the zone that lists them (RFC 9432 4).
//!
//! The zone itself is what remembers: a member keeps the label that it has there. Only the index from zones to labels is held in memory.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use wire::iana::rtype;
use wire::name::NAME_OCTETS_MAX;
use wire::{Name, NameBuf, SortKey};
use zone::change::soa_serial;
use zone::{Change, Crawl, Records, ZoneView};

use super::broken::{Broken, Fault};
use super::claims::MEMBERS_MAX;
use super::owner::{Place, place};
use super::read::{VERSION, below};
use super::table::{New, Table};

/// Most members that one change touches: some 20 MB of records, so that no version is too large for a commit or for those who take it.
pub const CHANGE_MEMBERS_MAX: usize = 65_536;
/// Most groups of a member: those of several operators who take the catalog.
pub const GROUPS_MAX: usize = 16;

/// Octets of a hash that make a label of 32 letters.
const HASH_OCTETS: usize = 20;
const LABEL_OCTETS: usize = 32;
/// What stands above the apex in the longest name: `group`, a label, `zones`.
const LABELS_OCTETS_MAX: usize = 6 + 1 + LABEL_OCTETS + 6;
/// Catalogs are for servers, which do not look at TTLs (RFC 9432 4.1).
const TTL: u32 = 0;
/// MNAME and RNAME `invalid.`; refresh, retry and expire of an hour, ten minutes and nearly never: a catalog that expires is of no use to anybody.
const SOA: &[u8] = b"\x07invalid\0\x07invalid\0\0\0\0\0\0\0\x0e\x10\0\0\x02\x58\x7f\xff\xff\xfe\0\0\0\0";

/// How a zone is to stand in the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its groups, each 1 to 255 octets; the first [`GROUPS_MAX`] of them.
    pub groups: Vec<Box<[u8]>>,
    /// The catalog that may take it over.
    pub coo: Option<NameBuf>,
}

/// What is wanted of one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// It is a member, with the label that it has.
    Listed(Listed),
    /// It is a member, with another label than it has: those who take the catalog forget its data, as it is another zone of that name.
    Renewed(Listed),
    /// It is none.
    Unlisted,
}

/// Why there is no catalog, or no change of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCatalog {
    /// Its name leaves no room for those of members.
    NameTooLong,
    /// What stands in it is none.
    Broken(Broken),
    /// The zone is damaged where it is stored, or its SOA record is none.
    Damaged,
    /// There is no room for more members.
    TooMany,
}

/// A catalog that is made here: the label of each member.
#[derive(Clone, Debug)]
pub struct Produced {
    apex: NameBuf,
    table: Table,
}

impl Produced {
    /// The records of a catalog without members: how it begins. `serial`: seconds since 1970, so that a catalog that was lost and is made again is newer than
    /// what others still have of it, unless it changed each second.
    pub fn begin(apex: &Name, serial: u32) -> Result<Records, NoCatalog> {
        if apex.octets().len() + LABELS_OCTETS_MAX > NAME_OCTETS_MAX {
            return Err(NoCatalog::NameTooLong);
        }
        let mut records = Records::default();
        records.push(apex, rtype::SOA, TTL, &with_serial(SOA, serial));
        records.push(apex, rtype::NS, TTL, b"\x07invalid\0");
        records.push(&below(b"\x07version", apex), rtype::TXT, TTL, VERSION);
        Ok(records)
    }

    /// Reads the catalog as it stands.
    pub fn read(view: &ZoneView<'_>) -> Result<Produced, NoCatalog> {
        let mut produced = Produced { apex: view.apex().to_owned(), table: Table::default() };
        let (mut crawl, mut labels) = (Crawl::default(), [0; NAME_OCTETS_MAX]);
        while let Some(step) = crawl.next(view).map_err(|_| NoCatalog::Damaged)? {
            let octets = step.owner.write_labels(&mut labels).ok_or(NoCatalog::Damaged)?;
            let Place::Member(label) = place(&labels[..octets]) else { continue };
            if step.rrset.rtype() != rtype::PTR {
                continue;
            }
            let owner = below(&labels[..octets], view.apex());
            for rdata in step.rrset.rdata(&owner, view.apex()).ok_or(NoCatalog::Damaged)? {
                let zone = Name::from_wire(&rdata);
                let zone = zone.map_err(|_| NoCatalog::Broken(Broken::new(Fault::NotName, &owner)))?;
                if produced.label(zone).is_some() {
                    return Err(NoCatalog::Broken(Broken::of_zone(Fault::Twice, &owner, zone)));
                }
                produced.insert(label, zone)?;
            }
        }
        Ok(produced)
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The label of a member.
    pub fn label(&self, zone: &Name) -> Option<&[u8]> {
        let number = self.table.find(self.table.hash(zone), zone).next()?;
        Some(self.table.names(self.table.entry(number)?).0)
    }

    /// The members that `is_wanted` does not name: to be unlisted.
    pub fn members_not(&self, mut is_wanted: impl FnMut(&Name) -> bool) -> Vec<NameBuf> {
        let zones = (0..self.table.end() as u32).filter_map(|number| {
            let zone = self.table.names(self.table.entry(number)?).1;
            (!is_wanted(zone)).then(|| zone.to_owned())
        });
        zones.collect()
    }

    /// The change that makes the catalog `view`, which is as it was read, list what is wanted; `None`: it does. Each zone once; of more than
    /// [`CHANGE_MEMBERS_MAX`] the first, so that who has more comes again with the rest. Where the catalog has no member yet, labels are made of names alone.
    pub fn change(
        &self,
        view: &ZoneView<'_>,
        wanted: &[(NameBuf, Wanted)],
    ) -> Result<Option<Change>, NoCatalog> {
        let (soa, soa_ttl) = soa(view)?;
        let before = soa_serial(&soa).ok_or(NoCatalog::Damaged)?;
        let after = before.wrapping_add(1);
        // By label, so that the records come in canonical order.
        let mut nodes: BTreeMap<Vec<u8>, (Node, Node)> = BTreeMap::new();
        for (zone, wanted) in wanted.iter().take(CHANGE_MEMBERS_MAX) {
            let old = self.label(zone);
            if let Some(label) = old {
                nodes.entry(label.to_vec()).or_default().0 = Node::read(view, label)?;
            }
            let (listed, kept) = match wanted {
                Wanted::Unlisted => continue,
                Wanted::Listed(listed) => (listed, old),
                Wanted::Renewed(listed) => (listed, None),
            };
            let label = match kept {
                Some(label) => label.to_vec(),
                None if self.is_empty() => new_label(zone, &[]),
                None => new_label(zone, &[&after.to_be_bytes(), old.unwrap_or_default()]),
            };
            nodes.entry(label).or_default().1 = Node::of(zone, listed);
        }
        let (mut removed, mut added) = (Records::default(), Records::default());
        removed.push(&self.apex, rtype::SOA, soa_ttl, &soa);
        added.push(&self.apex, rtype::SOA, soa_ttl, &with_serial(&soa, after));
        let begin = (removed.octets().len(), added.octets().len());
        for (label, (old, new)) in &nodes {
            old.push_without(new, label, &self.apex, &mut removed);
            new.push_without(old, label, &self.apex, &mut added);
        }
        if (removed.octets().len(), added.octets().len()) == begin {
            return Ok(None);
        }
        Change::new(removed, added).map(Some).map_err(|_| NoCatalog::Damaged)
    }

    /// Takes note of a change that was made.
    pub fn commit(&mut self, change: &Change) -> Result<(), NoCatalog> {
        let apex = self.apex.clone();
        let members = |records: &Records| -> Vec<(Vec<u8>, NameBuf)> {
            let member = |record: zone::Record<'_>| {
                let octets = record.owner.octets();
                let labels = &octets[..octets.len().checked_sub(apex.octets().len())?];
                let Place::Member(label) = place(labels) else { return None };
                let zone = Name::from_wire(record.rdata).ok().filter(|_| record.rtype == rtype::PTR)?;
                Some((label.to_ascii_lowercase(), zone.to_owned()))
            };
            records.iter().filter_map(member).collect()
        };
        for (_, zone) in members(change.removed()) {
            let number = self.table.find(self.table.hash(&zone), &zone).next();
            number.into_iter().for_each(|number| self.table.remove(number));
        }
        members(change.added()).iter().try_for_each(|(label, zone)| self.insert(label, zone))
    }

    fn insert(&mut self, label: &[u8], zone: &Name) -> Result<(), NoCatalog> {
        let hash = self.table.hash(zone);
        let new = New { label, zone, catalog: 0, template: 0, coo: 0 };
        let is_room = self.len() < MEMBERS_MAX && self.table.insert(hash, &new).is_some();
        if is_room { Ok(()) } else { Err(NoCatalog::TooMany) }
    }
}

/// What stands at one member node, RDATA sorted; all empty: there is none.
#[derive(Debug, Default)]
struct Node {
    member: Vec<Vec<u8>>,
    coo: Vec<Vec<u8>>,
    groups: Vec<Vec<u8>>,
}

impl Node {
    fn of(zone: &Name, listed: &Listed) -> Node {
        let text = |group: &[u8]| {
            let mut rdata = vec![group.len().min(255) as u8];
            rdata.extend_from_slice(&group[..group.len().min(255)]);
            rdata
        };
        let mut groups: Vec<_> = listed.groups.iter().take(GROUPS_MAX).map(|group| text(group)).collect();
        groups.sort();
        groups.dedup();
        let coo = listed.coo.iter().map(|name| name.octets().to_vec()).collect();
        Node { member: vec![zone.octets().to_vec()], coo, groups }
    }

    fn read(view: &ZoneView<'_>, label: &[u8]) -> Result<Node, NoCatalog> {
        let read = |property: &[u8], rtype| {
            let name = below(&labels(property, label), view.apex());
            let key = SortKey::of(&name);
            let relative = key.octets().get(view.apex_key().len()..).unwrap_or_default();
            let Some(rrset) = view.find(relative).and_then(|node| node.rrset(rtype)) else {
                return Ok(Vec::new());
            };
            let mut rdatas = rrset.rdata(&name, view.apex()).ok_or(NoCatalog::Damaged)?;
            rdatas.sort();
            Ok(rdatas)
        };
        Ok(Node {
            member: read(b"", rtype::PTR)?,
            coo: read(b"coo", rtype::PTR)?,
            groups: read(b"group", rtype::TXT)?,
        })
    }

    /// Adds the records that `other` has not.
    fn push_without(&self, other: &Node, label: &[u8], apex: &Name, to: &mut Records) {
        let parts = [
            (&b""[..], rtype::PTR, &self.member, &other.member),
            (b"coo", rtype::PTR, &self.coo, &other.coo),
            (b"group", rtype::TXT, &self.groups, &other.groups),
        ];
        for (property, rtype, own, others) in parts {
            let is_same =
                |a: &[u8], b: &[u8]| if rtype == rtype::PTR { a.eq_ignore_ascii_case(b) } else { a == b };
            for rdata in own.iter().filter(|rdata| !others.iter().any(|other| is_same(rdata, other))) {
                to.push(&below(&labels(property, label), apex), rtype, TTL, rdata);
            }
        }
    }
}

/// `property`, which may be none, above a member node, in wire form without a root label.
fn labels(property: &[u8], label: &[u8]) -> Vec<u8> {
    let mut labels = Vec::with_capacity(LABELS_OCTETS_MAX);
    for part in [property, label, b"zones"].into_iter().filter(|part| !part.is_empty()) {
        labels.push(part.len() as u8);
        labels.extend_from_slice(part);
    }
    labels
}

/// The label of a member that has none yet: of its name, and of what tells it from others that had the name before.
fn new_label(zone: &Name, more: &[&[u8]]) -> Vec<u8> {
    let mut digest = Sha256::new();
    digest.update(zone.octets().to_ascii_lowercase());
    more.iter().for_each(|part| digest.update(part));
    let hash = digest.finalize();
    // A hash of 32 octets has 20.
    let hash: [u8; HASH_OCTETS] = hash.first_chunk().copied().unwrap_or_default();
    dnssec::nsec3::owner_label(&hash).to_vec()
}

/// RDATA and TTL of the SOA record.
fn soa(view: &ZoneView<'_>) -> Result<(Vec<u8>, u32), NoCatalog> {
    let rrset = view.apex_node().and_then(|apex| apex.rrset(rtype::SOA)).ok_or(NoCatalog::Damaged)?;
    let rdata = rrset.rdata(view.apex(), view.apex()).and_then(|all| all.into_iter().next());
    Ok((rdata.ok_or(NoCatalog::Damaged)?, rrset.ttl()))
}

fn with_serial(soa: &[u8], serial: u32) -> Vec<u8> {
    let mut soa = soa.to_vec();
    // Five numbers are its end, and the serial is the first.
    if let Some(at) = soa.len().checked_sub(20) {
        soa[at..at + 4].copy_from_slice(&serial.to_be_bytes());
    }
    soa
}
