//! Which NSEC3 records prove what (RFC 5155 7.2).
//!
//! Names that exist have the rank of their record in the pack, so that only names that do not exist are hashed, the next
//! closer name and the wildcard, and those where the chain has changed since the pack was made. In opt-out zones insecure delegations, and names that exist only because of such, have
//! no record of their own; their rank is that of the one that covers them, and the proof is one of a closest
//! *provable* encloser (RFC 5155 7.2.4).

use super::Proof;
use crate::answer::{Session, Stop};
use crate::rrset;
use dnssec::nsec3::{FLAG_OPT_OUT, LABEL_OCTETS, Nsec3Params, owner_label};
use wire::Name;
use wire::name::NAME_OCTETS_MAX;
use wire::sort_key::{KEY_OCTETS_MAX, write_labels};
use zone::lookup::{Nsec3, Ranked};
use zone::{Data, Match, Node, ZoneView};

impl<'c> Session<'_, '_, 'c> {
    fn add_nsec3(&mut self, zone: &ZoneView<'c>, record: Nsec3<'c>) {
        let apex = self.buffers.places.of_ancestor(zone.apex_labels());
        self.proofs.add(Proof::Nsec3(record), zone, apex);
    }

    /// Adds the record that covers the ancestor-or-self of the name with `labels` labels.
    pub(super) fn nsec3_cover(&mut self, zone: &ZoneView<'c>, labels: usize) {
        let name = self.buffers.places.copy_ancestor(self.out.message(), labels, &mut self.buffers.name);
        if let Some((record, _)) = hash(zone, name).and_then(|hash| zone.nsec3_for(&hash)) {
            self.add_nsec3(zone, record);
        }
    }

    /// The name does not exist: what proves its closest encloser, and a record that covers the wildcard (RFC 5155 7.2.2).
    /// Returns whether the cover of the next closer name is still to be added: it is not, where that is above the name's own,
    /// in opt-out zones.
    pub(super) fn nsec3_no_wildcard(&mut self, zone: &ZoneView<'c>, encloser: &Match<'c>) -> bool {
        let labels = self.prove_encloser(zone, encloser.node, encloser.labels);
        let mut wildcard = [0; NAME_OCTETS_MAX + 2];
        let name =
            self.buffers.places.copy_ancestor(self.out.message(), labels, &mut self.buffers.name).octets();
        wildcard[..2].copy_from_slice(b"\x01*");
        wildcard[2..2 + name.len()].copy_from_slice(name);
        let name = Name::trusted(&wildcard[..2 + name.len()]);
        if let Some((record, _)) = hash(zone, name).and_then(|hash| zone.nsec3_for(&hash)) {
            self.add_nsec3(zone, record);
        }
        labels == encloser.labels
    }

    /// The name exists: its record (RFC 5155 7.2.3, 7.2.4). A wildcard in its stead: the closest encloser's and the
    /// wildcard's (7.2.5), beside the cover of the next closer name that was added when the wildcard was found.
    pub(super) fn nsec3_no_data(&mut self, zone: &ZoneView<'c>, node: &Node<'c>, source: Option<&Match<'c>>) {
        let Some(encloser) = source else {
            return self.nsec3_of_node(zone, *node, self.buffers.places.label_count());
        };
        self.prove_encloser(zone, encloser.node, encloser.labels);
        let record = match zone.nsec3_of(node) {
            Ranked::Record(record) => Some(record),
            Ranked::ByHash => self.by_hash_of_node(zone, node),
            Ranked::None => None,
        };
        if let Some(record) = record {
            self.add_nsec3(zone, record);
        }
    }

    /// The record that matches the name of a node, or covers it, by its hash.
    #[cold]
    fn by_hash_of_node(&self, zone: &ZoneView<'c>, node: &Node<'c>) -> Option<Nsec3<'c>> {
        let (mut key, mut name) = ([0; KEY_OCTETS_MAX], [0; NAME_OCTETS_MAX]);
        let octets = node.copy_key(&mut key);
        let length = write_labels(&key[..octets], &mut name)?;
        let apex = zone.apex().octets();
        name.get_mut(length..length + apex.len())?.copy_from_slice(apex);
        let name = Name::from_wire(&name[..length + apex.len()]).ok()?;
        zone.nsec3_for(&hash(zone, name)?).map(|(record, _)| record)
    }

    /// Adds what shows which types a name that exists, with `labels` labels, has, or that it has no record: its own, or the
    /// closest provable encloser's and the one that covers the next closer name (RFC 5155 7.2.3, 7.2.4, 7.2.7).
    pub(super) fn nsec3_of_node(&mut self, zone: &ZoneView<'c>, node: Node<'c>, labels: usize) {
        self.prove_encloser(zone, node, labels);
    }

    /// Adds the record that matches the name of `node`, which exists and has `labels` labels. Where there is none, that of its
    /// deepest ancestor that has one, and the cover of the name one label below that. Returns the labels of the name with the
    /// matching record.
    fn prove_encloser(&mut self, zone: &ZoneView<'c>, node: Node<'c>, labels: usize) -> usize {
        let (mut node, mut labels) = (node, labels);
        let mut cover = None;
        loop {
            let Some(record) = self.record_of(zone, &node, labels) else { return labels };
            if labels <= zone.apex_labels() || self.is_match(zone, &record, labels) {
                self.add_nsec3(zone, record);
                break;
            }
            cover = Some(record);
            labels -= 1;
            let relative = &self.buffers.key.ancestor(labels)[zone.apex_key().len()..];
            let Some(parent) = zone.find(relative) else { return labels };
            node = parent;
        }
        if let Some(record) = cover {
            self.add_nsec3(zone, record);
        }
        labels
    }

    /// The record that matches the name of `node`, which is the one that is looked up or the ancestor of it with `labels` labels, or covers it.
    #[inline(always)]
    fn record_of(&mut self, zone: &ZoneView<'c>, node: &Node<'c>, labels: usize) -> Option<Nsec3<'c>> {
        match zone.nsec3_of(node) {
            Ranked::Record(record) => Some(record),
            Ranked::ByHash => self.by_hash(zone, labels),
            Ranked::None => None,
        }
    }

    /// The same by the hash of the name.
    #[cold]
    fn by_hash(&mut self, zone: &ZoneView<'c>, labels: usize) -> Option<Nsec3<'c>> {
        let name = self.buffers.places.copy_ancestor(self.out.message(), labels, &mut self.buffers.name);
        zone.nsec3_for(&hash(zone, name)?).map(|(record, _)| record)
    }

    /// Whether the record of a name's rank is its own. Only opt-out records cover names that exist, so only then is hashed.
    fn is_match(&mut self, zone: &ZoneView<'c>, record: &Nsec3<'c>, labels: usize) -> bool {
        if !is_opt_out(record) {
            return true;
        }
        let name = self.buffers.places.copy_ancestor(self.out.message(), labels, &mut self.buffers.name);
        hash(zone, name).is_some_and(|hash| hash == *record.hash)
    }

    /// Writes an NSEC3 record; its owner is the hash in base32hex below the apex (RFC 5155 3).
    pub(super) fn put_nsec3(&mut self, record: &Nsec3<'c>, apex: u16) -> Result<(), Stop> {
        let set = record.rrset().ok_or(Stop::Damaged)?;
        let owner = self.out.at() as u16;
        self.out.octets(&[LABEL_OCTETS as u8])?;
        self.out.octets(&owner_label(record.hash))?;
        rrset::write_name(self.out, apex)?;
        rrset::put_body(self.out, set.head(), set.data(), owner, apex, true)
    }
}

fn is_opt_out(record: &Nsec3<'_>) -> bool {
    let Some(Data::Fragment(fragment)) = record.rrset().map(|set| set.data()) else { return false };
    fragment.records().next().and_then(|rdata| rdata.get(1)).is_some_and(|flags| flags & FLAG_OPT_OUT != 0)
}

fn hash(zone: &ZoneView<'_>, name: &Name) -> Option<[u8; 20]> {
    let (iterations, salt) = zone.nsec3_parameters()?;
    Some(Nsec3Params::new(iterations, salt).ok()?.hash(name))
}
