//! What is said to a question: the nearest zone above its name decides.

use super::{Found, Kind, Local, Node, ROOT_BIT, Row, last_label_bit};
use wire::Name;
use wire::iana::{rcode, rtype};
use wire::rrset::Rrset;

impl Local {
    /// The zone that a name in lower case is in.
    pub(super) fn zone_of(&self, name: &Name) -> Option<usize> {
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

    /// What zone answers a question about a name in lower case from here, and whether it is one of the operator's; `None`: the name is resolved.
    pub fn answers(&self, name: &Name, qtype: u16) -> Option<(&Name, Kind, bool)> {
        if self.find(name, qtype).0 == Found::Nothing {
            return None;
        }
        let row = &self.zones[self.zone_of(name)?];
        Some((&row.zone.name, row.zone.kind, !row.is_built_in))
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
