//! Names that are answered from here, and nobody is asked about: the operator's records and zones, and names that are special.
//!
//! ```text
//! nodes: name -> { zone that begins here, sets }      every name between a zone and its records has a node: empty non-terminals
//! lookup: the name itself; then upwards to the first node with a zone, which decides
//! ```
//!
//! Records without a zone lie in a transparent one at their own name. A bit for each last label keeps names of others, nearly all, from being looked for.

pub mod special;
#[cfg(test)]
mod tests;

use crate::limits::LOCAL_TTL;
use std::collections::HashMap;
use wire::iana::{rcode, rtype};
use wire::rrset::{RdataListBuf, Rrset, RrsetListBuf};
use wire::{Name, NameBuf, RdataList};

/// What is answered in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Its records, and denials of all else.
    Static,
    /// Its records; names without any are resolved like others.
    Transparent,
    /// The same; other types of names with records are resolved too.
    TypeTransparent,
    /// The records of its own name, for all names below.
    Redirect,
    /// NXDOMAIN.
    NxDomain,
    /// No data.
    NoData,
    /// 0.0.0.0 and ::, no data of other types.
    Null,
    /// REFUSED.
    Refuse,
    /// Nothing at all.
    Drop,
}

/// A zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The name from which on downwards it holds.
    pub name: NameBuf,
    /// What is answered.
    pub kind: Kind,
    /// Whoever asks for it is told to the log.
    pub is_told: bool,
}

impl Zone {
    /// A zone that nothing is told about.
    pub fn new(name: NameBuf, kind: Kind) -> Zone {
        Zone { name, kind, is_told: false }
    }
}

/// A record, of class IN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose it is.
    pub owner: NameBuf,
    /// Its type; no meta type, and no signature: local data are not signed.
    pub rtype: u16,
    /// Seconds.
    pub ttl: u32,
    /// Uncompressed.
    pub rdata: Box<[u8]>,
}

/// What [`Local`] is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Of two of one name the last counts.
    pub zones: Vec<Zone>,
    /// Their records.
    pub records: Vec<Record>,
    /// Names that are special by themselves ([`special`]) are answered here.
    pub has_special: bool,
    /// `ipv4only.arpa.` is one of them (RFC 8880).
    pub has_dns64: bool,
    /// Names that are not special, with all below: zones of ours, forwarded and stub zones, what operators lift.
    pub exceptions: Vec<NameBuf>,
}

impl Default for Source {
    /// The special names.
    fn default() -> Source {
        Source {
            zones: Vec::new(),
            records: Vec::new(),
            has_special: true,
            has_dns64: false,
            exceptions: Vec::new(),
        }
    }
}

/// All of it, compiled; see the module.
#[derive(Clone, Debug)]
pub struct Local {
    nodes: HashMap<Box<[u8]>, Node>,
    zones: Vec<Row>,
    /// A bit for each last label of a zone, by its hash.
    last_labels: u64,
}

#[derive(Clone, Debug, Default)]
struct Node {
    zone: Option<u32>,
    sets: RrsetListBuf,
}

/// A zone, and what its denials come with.
#[derive(Clone, Debug)]
struct Row {
    zone: Zone,
    is_built_in: bool,
    /// It is in the DNS as well, for its DS RRset: a proof that it is not signed there (RFC 8375 4, RFC 6303 7).
    has_parent: bool,
    soa: RrsetListBuf,
}

/// What is known of a name here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found<'l> {
    /// It is resolved like others.
    Nothing,
    /// The records; their owner is the name asked for.
    Data(Rrset<'l>),
    /// It is another name.
    Alias(Rrset<'l>, &'l Name),
    /// There is no such name (or, `has_name`, type); with the SOA RRset of the zone.
    Denied {
        has_name: bool,
        soa: Rrset<'l>,
        is_blocked: bool,
    },
    /// Addresses of nowhere, of the type asked for.
    Null,
    Refused,
    Dropped,
}

impl Default for Local {
    fn default() -> Local {
        Local::new(&Source::default())
    }
}

impl Local {
    /// Compiles it. Records whose owner is an alias, beside its CNAME record, are never seen, as aliases go first.
    pub fn new(source: &Source) -> Local {
        let mut local = Local { nodes: HashMap::new(), zones: Vec::new(), last_labels: 0 };
        if source.has_special {
            for special in special::zones(source.has_dns64) {
                if !source.exceptions.iter().any(|name| name.eq_ignore_case(&special.zone.name)) {
                    local.add_zone(special.zone, true, special.has_parent);
                    special.records.iter().for_each(|record| local.add_record(record));
                }
            }
            for name in &source.exceptions {
                // A hole in a special zone above.
                if local.zone_of(&name.to_lowercase()).is_some() {
                    local.add_zone(Zone::new(name.clone(), Kind::Transparent), true, false);
                }
            }
        }
        for zone in &source.zones {
            local.add_zone(zone.clone(), false, false);
        }
        for record in &source.records {
            if local.zone_of(&record.owner.to_lowercase()).is_none_or(|zone| local.is_foreign(zone)) {
                local.add_zone(Zone::new(record.owner.clone(), Kind::Transparent), false, false);
            }
            local.add_record(record);
        }
        local.add_inner_names();
        local.add_soas();
        local
    }

    /// Whether a zone is a hole, or special: the operator's records below it make zones of their own.
    fn is_foreign(&self, zone: usize) -> bool {
        self.zones[zone].is_built_in
    }

    fn add_zone(&mut self, zone: Zone, is_built_in: bool, has_parent: bool) {
        let zone = Zone { name: zone.name.to_lowercase(), ..zone };
        self.last_labels |= last_label_bit(&zone.name);
        let number = self.zones.len() as u32;
        self.nodes.entry(zone.name.octets().into()).or_default().zone = Some(number);
        self.zones.push(Row { zone, is_built_in, has_parent, soa: RrsetListBuf::new() });
    }

    fn add_record(&mut self, record: &Record) {
        let owner = record.owner.to_lowercase();
        let node = self.nodes.entry(owner.octets().into()).or_default();
        let mut rdatas = RdataListBuf::new();
        let mut others = RrsetListBuf::new();
        let mut ttl = record.ttl;
        for set in node.sets.list() {
            if set.rtype == record.rtype {
                set.rdatas
                    .into_iter()
                    .filter(|rdata| **rdata != *record.rdata)
                    .for_each(|rdata| rdatas.push(rdata));
                ttl = ttl.min(set.ttl);
            } else {
                others.push(&set);
            }
        }
        rdatas.push(&record.rdata);
        let rtype = record.rtype;
        let (rdatas, signatures) = (rdatas.list(), RdataList::EMPTY);
        others.push(&Rrset { owner: &owner, rtype, ttl, rdatas, signatures });
        node.sets = others;
    }

    /// Nodes for the names between records and their zones.
    fn add_inner_names(&mut self) {
        let owners: Vec<Box<[u8]>> = self.nodes.keys().cloned().collect();
        for owner in owners {
            let owner = Name::trusted(&owner);
            let Some(zone) = self.zone_of(owner) else { continue };
            let labels = self.zones[zone].zone.name.label_count();
            let mut count = owner.label_count();
            let mut next = owner.parent();
            while let Some(name) = next
                && count > labels + 1
            {
                self.nodes.entry(name.octets().into()).or_default();
                (next, count) = (name.parent(), count - 1);
            }
        }
    }

    /// The SOA RRset of each zone: the operator's or a made one, which the zone then has (RFC 6303 3).
    fn add_soas(&mut self) {
        for row in &mut self.zones {
            let name = &row.zone.name;
            let Some(node) = self.nodes.get_mut(name.octets()) else { continue };
            let own = node.sets.list().iter().find(|set| set.rtype == rtype::SOA).map(|set| set.to_buf());
            let soa = match own {
                Some(own) => own,
                None => {
                    let soa = made_soa(name);
                    let is_alias = node.sets.list().iter().any(|set| set.rtype == rtype::CNAME);
                    if matches!(row.zone.kind, Kind::Static | Kind::Redirect) && !is_alias {
                        node.sets.push(&soa.rrset());
                    }
                    soa
                }
            };
            row.soa.push(&soa.rrset());
        }
    }

    /// The zone that a name in lower case is in.
    fn zone_of(&self, name: &Name) -> Option<usize> {
        let mut next = Some(name);
        while let Some(name) = next {
            if let Some(zone) = self.nodes.get(name.octets()).and_then(|node| node.zone) {
                return Some(zone as usize);
            }
            next = name.parent();
        }
        None
    }

    /// What is said to a question about a name in lower case, and whether it is told to the log. One lookup a label, none for most names.
    #[inline]
    pub(crate) fn find(&self, name: &Name, qtype: u16) -> (Found<'_>, bool) {
        if self.last_labels & (last_label_bit(name) | ROOT_BIT) == 0 {
            return (Found::Nothing, false);
        }
        match self.zone_of(name) {
            None => (Found::Nothing, false),
            Some(number) => {
                let row = &self.zones[number];
                (self.find_in(row, name, qtype), row.zone.is_told)
            }
        }
    }

    /// What is said where an alias of others leads to a name in lower case: a response code if it is in a zone of the operator's that blocks it, whatever
    /// is said otherwise.
    pub(crate) fn blocks(&self, name: &Name, qtype: u16) -> Option<u16> {
        match self.find(name, qtype).0 {
            Found::Denied { has_name, is_blocked: true, .. } => {
                Some(if has_name { rcode::NOERROR } else { rcode::NXDOMAIN })
            }
            Found::Null => Some(rcode::NOERROR),
            Found::Refused | Found::Dropped => Some(rcode::REFUSED),
            Found::Nothing | Found::Data(_) | Found::Alias(..) | Found::Denied { .. } => None,
        }
    }

    /// Whether a name in lower case is special and never asked about outside (RFC 6303, 6761, 7686, 8375), also where an alias of others leads to it.
    pub fn keeps_inside(&self, name: &Name) -> bool {
        self.last_labels & (last_label_bit(name) | ROOT_BIT) != 0
            && self.zone_of(name).is_some_and(|zone| {
                let row = &self.zones[zone];
                row.is_built_in && row.zone.kind != Kind::Transparent
            })
    }

    fn find_in<'l>(&'l self, row: &'l Row, name: &Name, qtype: u16) -> Found<'l> {
        let zone_name = &row.zone.name;
        if row.has_parent && qtype == rtype::DS && name == &**zone_name {
            return Found::Nothing;
        }
        let is_blocked = !row.is_built_in;
        let denied = |has_name: bool, is_blocked: bool| match row.soa.list().iter().next() {
            Some(soa) => Found::Denied { has_name, soa, is_blocked },
            // Every zone has one.
            None => Found::Refused,
        };
        match row.zone.kind {
            Kind::Refuse => return Found::Refused,
            Kind::Drop => return Found::Dropped,
            Kind::NxDomain => return denied(false, is_blocked),
            Kind::NoData => return denied(true, is_blocked),
            Kind::Null if matches!(qtype, rtype::A | rtype::AAAA) => return Found::Null,
            Kind::Null => return denied(true, is_blocked),
            Kind::Static | Kind::Transparent | Kind::TypeTransparent | Kind::Redirect => {}
        }
        let at = if row.zone.kind == Kind::Redirect { zone_name.octets() } else { name.octets() };
        let node = self.nodes.get(at);
        if let Some(found) = node.and_then(|node| of_node(node, qtype)) {
            return found;
        }
        let has_sets = node.is_some_and(|node| !node.sets.list().is_empty());
        match row.zone.kind {
            Kind::Static | Kind::Redirect => denied(node.is_some(), false),
            Kind::Transparent if has_sets => denied(true, false),
            _ => Found::Nothing,
        }
    }
}

/// The set of a type, or what stands for it.
fn of_node(node: &Node, qtype: u16) -> Option<Found<'_>> {
    let mut sets = node.sets.list().iter();
    let fits = |set: &Rrset<'_>| {
        set.rtype == qtype
            || set.rtype == rtype::CNAME && !rtype::may_be_at_cname(qtype)
            || qtype == rtype::ANY
    };
    let set = sets.find(fits)?;
    let target = set.rdatas.iter().next().and_then(|rdata| Name::from_wire(rdata).ok());
    match target {
        Some(target) if set.rtype == rtype::CNAME && !matches!(qtype, rtype::CNAME | rtype::ANY) => {
            Some(Found::Alias(set, target))
        }
        _ => Some(Found::Data(set)),
    }
}

/// `@ SOA @ nobody.invalid. 1 3600 1200 604800 10800` (RFC 6303 3).
fn made_soa(zone: &Name) -> wire::rrset::RrsetBuf {
    let mut rdata = zone.octets().to_vec();
    rdata.extend(b"\x06nobody\x07invalid\0");
    for number in [1, 3600, 1200, 604_800, LOCAL_TTL] {
        rdata.extend(number.to_be_bytes());
    }
    wire::rrset::RrsetBuf {
        owner: zone.to_owned(),
        rtype: rtype::SOA,
        ttl: LOCAL_TTL,
        rdatas: [&rdata[..]].into_iter().collect(),
        signatures: RdataListBuf::new(),
    }
}

/// Of a zone at the root, which all names are in.
const ROOT_BIT: u64 = 1;

/// A bit for the last label of a name in lower case.
#[inline]
fn last_label_bit(name: &Name) -> u64 {
    let Some(label) = name.labels().last() else { return ROOT_BIT };
    let add = |hash: u32, octet: &u8| hash.wrapping_mul(31).wrapping_add(u32::from(*octet));
    // Never the bit of the root.
    1 << (1 + label.iter().fold(7, add) % 63)
}
