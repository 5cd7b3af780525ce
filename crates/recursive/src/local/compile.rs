//! What is answered from here, made of what the operator wrote and of the special names.

use super::{Kind, Local, Record, Row, Source, Zone, last_label_bit, special};
use crate::limits::LOCAL_TTL;
use std::collections::HashMap;
use wire::iana::rtype;
use wire::rrset::{RdataListBuf, Rrset, RrsetListBuf};
use wire::{Name, RdataList};

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
