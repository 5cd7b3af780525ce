//! Which NSEC records prove what (RFC 4035 3.1.3).

use super::Proof;
use crate::answer::{Session, Stop};
use crate::rrset;
use wire::iana::rtype;
use wire::sort_key::write_labels;
use zone::{Data, Flags, Match, Node, ZoneView};

impl<'c> Session<'_, '_, 'c> {
    /// Adds the NSEC record of a node that has one.
    pub(super) fn nsec_of(&mut self, zone: &ZoneView<'c>, node: Node<'c>) {
        if node.flags().has(Flags::NSEC) {
            let apex = self.buffers.places.of_ancestor(zone.apex_labels());
            self.proofs.add(Proof::Nsec(node), zone, apex);
        }
    }

    /// Adds the NSEC record that covers the name, which does not exist. `labels`: of its next closer name, where the search
    /// can stop: what comes before that comes before everything below it, and nothing below it exists.
    #[inline(always)]
    pub(super) fn nsec_cover(&mut self, zone: &ZoneView<'c>, labels: usize) {
        if let Some(node) =
            zone.nsec_at_or_before(&self.buffers.key.ancestor(labels)[zone.apex_key().len()..])
        {
            self.nsec_of(zone, node);
        }
    }

    /// The name does not exist, and the record that covers it is still to be added: this adds the one that covers the wildcard
    /// that could have stood in for it (RFC 4035 3.1.3.2); often they are the same.
    pub(super) fn nsec_no_wildcard(&mut self, zone: &ZoneView<'c>, encloser: &Match<'c>) {
        if covers_wildcard(&encloser.node, encloser.labels) {
            return self.nsec_of(zone, encloser.node);
        }
        let length = encloser.node.copy_key(&mut self.buffers.node_key);
        // Only a key of a damaged pack is longer.
        let Some(after) = self.buffers.node_key.get_mut(length..length + 2) else { return };
        after.copy_from_slice(b"*\0");
        if let Some(node) = zone.nsec_at_or_before(&self.buffers.node_key[..length + 2]) {
            self.nsec_of(zone, node);
        }
    }

    /// The name exists (RFC 4035 3.1.3.1), or a wildcard does in its stead (3.1.3.4): then the proof that the name itself does
    /// not was added when the wildcard was found.
    pub(super) fn nsec_no_data(&mut self, zone: &ZoneView<'c>, node: &Node<'c>) {
        if node.flags().has(Flags::NSEC) {
            return self.nsec_of(zone, *node);
        }
        // An empty non-terminal has no record; the one before it says so by its next name, which is below.
        let length = node.copy_key(&mut self.buffers.node_key);
        if let Some(before) = zone.nsec_at_or_before(&self.buffers.node_key[..length]) {
            self.nsec_of(zone, before);
        }
    }

    /// Writes the NSEC record of `node`. `apex`: place of the zone's apex, which has `labels` labels.
    #[inline(always)]
    pub(super) fn put_nsec(&mut self, node: &Node<'c>, apex: u16, labels: usize) -> Result<(), Stop> {
        let set = node.rrset(rtype::NSEC).ok_or(Stop::Damaged)?;
        let owner = self.put_owner(node, apex, labels)?;
        rrset::put_body(self.out, set.head(), set.data(), owner, apex, true)
    }

    /// Writes the name of a node: its labels as far as the name that was looked up does not have them too, then a pointer
    /// into that. Returns where it stands.
    #[inline(always)]
    fn put_owner(&mut self, node: &Node<'c>, apex: u16, apex_labels: usize) -> Result<u16, Stop> {
        let buffers = &mut *self.buffers;
        let length = node.copy_key(&mut buffers.node_key);
        let key = &buffers.node_key[..length];
        let (mut shared, mut place) = (0, apex);
        // Not so for a zone that an alias led out of again.
        if buffers.places.label_count() >= apex_labels && buffers.places.of_ancestor(apex_labels) == apex {
            let start = buffers.key.end(apex_labels);
            let relative = &buffers.key.octets()[start..];
            let common = key.iter().zip(relative).take_while(|(a, b)| a == b).count();
            for labels in apex_labels + 1..=buffers.key.label_count() {
                let end = buffers.key.end(labels) - start;
                if end > common {
                    break;
                }
                (shared, place) = (end, buffers.places.of_ancestor(labels));
            }
        }
        if shared == length {
            rrset::write_name(self.out, place)?;
            return Ok(place);
        }
        let start = self.out.at() as u16;
        let octets = write_labels(&key[shared..], &mut buffers.name).ok_or(Stop::Damaged)?;
        self.out.octets(&buffers.name[..octets])?;
        rrset::write_name(self.out, place)?;
        Ok(start)
    }
}

/// Whether the NSEC record of a name with `labels` labels also covers the wildcard below it: so if its next name is not below
/// it, or below a label that comes after `*`. Never true without a cover; false only means: search.
#[inline(always)]
fn covers_wildcard(node: &Node<'_>, labels: usize) -> bool {
    if !node.flags().has(Flags::NSEC) {
        return false;
    }
    let Some(Data::Fragment(fragment)) = node.rrset(rtype::NSEC).map(|set| set.data()) else { return false };
    let Some(next) = fragment.records().next() else { return false };
    let count_of = |next: &[u8]| {
        let (mut at, mut count) = (0, 0);
        loop {
            match next.get(at) {
                None => return None,
                Some(0) => return Some(count),
                Some(&length) => at += 1 + length as usize,
            }
            count += 1;
        }
    };
    let Some(count) = count_of(next) else { return false };
    if count <= labels {
        return true;
    }
    let mut at = 0;
    for _ in labels + 1..count {
        at += 1 + next[at] as usize;
    }
    next.get(at + 1).is_some_and(|&first| first > b'*')
}
