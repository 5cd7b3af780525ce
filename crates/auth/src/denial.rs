//! Negative answers (RFC 2308) and the proofs that belong to them: NSEC (RFC 4035 3.1.3) and NSEC3 (RFC 5155 7.2).
//!
//! Proofs are collected while the answer section is written, since wildcards on the way of an alias need one each, and go
//! to the authority section together, each record once.

mod nsec;
mod nsec3;

use crate::answer::{Next, Outcome, Session, Stop};
use crate::cache::Kind;
use crate::limits::PROOFS_MAX;
use crate::rrset;
use wire::iana::rtype;
use wire::render::Section;
use zone::lookup::Nsec3;
use zone::pack::ZoneRow;
use zone::{Match, Node, Zone};

/// A record that proves something.
#[derive(Clone, Copy)]
pub(crate) enum Proof<'c> {
    /// The NSEC record of a name.
    Nsec(Node<'c>),
    /// An NSEC3 record.
    Nsec3(Nsec3<'c>),
}

/// Proofs to be written, with the place of the apex of their zone and how many labels it has.
pub(crate) struct Proofs<'c> {
    list: [Option<(Proof<'c>, u16, u8)>; PROOFS_MAX],
    count: usize,
}

impl<'c> Proofs<'c> {
    pub(crate) fn new() -> Proofs<'c> {
        Proofs { list: [None; PROOFS_MAX], count: 0 }
    }

    /// How many more there is room for.
    pub(crate) fn room(&self) -> usize {
        PROOFS_MAX - self.count
    }

    /// Adds a record that is not there yet. `apex`: place of its zone's apex.
    fn add(&mut self, proof: Proof<'c>, apex: u16, apex_labels: usize) {
        let is_same = |other: &Option<(Proof<'c>, u16, u8)>| match (proof, other) {
            (Proof::Nsec(a), Some((Proof::Nsec(b), other, _))) => a.number() == b.number() && apex == *other,
            (Proof::Nsec3(a), Some((Proof::Nsec3(b), ..))) => std::ptr::eq(a.hash, b.hash),
            _ => false,
        };
        if self.list[..self.count].iter().any(is_same) {
            return;
        }
        if let Some(slot) = self.list.get_mut(self.count) {
            *slot = Some((proof, apex, apex_labels as u8));
            self.count += 1;
        }
    }
}

impl<'c> Session<'_, '_, 'c> {
    /// The name exists without data of the type.
    pub(crate) fn no_data(
        &mut self,
        zone: &Zone<'c>,
        node: &Node<'c>,
        source: Option<&Match<'c>>,
    ) -> Result<Next, Stop> {
        self.out.begin_section(Section::Authority);
        if self.dnssec_ok {
            match zone.row().bits & (ZoneRow::NSEC | ZoneRow::NSEC3) {
                0 => {}
                ZoneRow::NSEC => self.nsec_no_data(zone, node),
                _ => self.nsec3_no_data(zone, node, source),
            }
        }
        let written = self.put_soa(zone).and_then(|()| self.put_proofs());
        written.map_err(|stop| stop.at(Outcome::NoData))?;
        Ok(Next::End(Outcome::NoData))
    }

    /// The name does not exist, and no wildcard stands in for it.
    #[inline(always)]
    pub(crate) fn name_error(&mut self, zone: &Zone<'c>, encloser: &Match<'c>) -> Result<Outcome, Stop> {
        let bits = if self.dnssec_ok { zone.row().bits & (ZoneRow::NSEC | ZoneRow::NSEC3) } else { 0 };
        if bits & ZoneRow::NSEC3 == 0 {
            let is_signed = bits & ZoneRow::NSEC != 0;
            let cover = if is_signed { self.nsec_cover_of_name(zone, encloser.labels + 1) } else { None };
            let other = cover.map_or(u32::MAX, |node| node.number());
            if self.paste(Kind::NameError, zone, encloser.node.number(), other, encloser.labels) {
                return Ok(Outcome::NameError);
            }
            if let Some(cover) = cover {
                self.nsec_name_error(zone, encloser, cover);
            }
        } else {
            self.nsec3_name_error(zone, encloser);
        }
        self.put_name_error(zone)
    }

    fn put_name_error(&mut self, zone: &Zone<'c>) -> Result<Outcome, Stop> {
        self.out.begin_section(Section::Authority);
        self.put_soa(zone)?;
        self.put_proofs()?;
        Ok(Outcome::NameError)
    }

    /// Proves that the name itself does not exist, so that a wildcard may stand in for it (RFC 4035 3.1.3.3, RFC 5155 7.2.6).
    pub(crate) fn prove_expansion(&mut self, zone: &Zone<'c>, encloser: &Match<'c>) {
        match zone.row().bits & (ZoneRow::NSEC | ZoneRow::NSEC3) {
            0 => {}
            ZoneRow::NSEC => self.nsec_cover(zone, encloser.labels + 1),
            _ => self.nsec3_cover(zone, encloser.labels + 1),
        }
    }

    /// Proves that a zone cut has no DS records (RFC 4035 3.1.4, RFC 5155 7.2.7).
    #[inline(always)]
    pub(crate) fn prove_insecure(&mut self, zone: &Zone<'c>, cut: &Match<'c>) {
        match zone.row().bits & (ZoneRow::NSEC | ZoneRow::NSEC3) {
            0 => {}
            ZoneRow::NSEC => self.nsec_of(zone, cut.node),
            _ => self.nsec3_of_node(zone, cut.node, cut.labels),
        }
    }

    /// The SOA record of a negative answer, with the TTL that the answer is kept for (RFC 2308 3, 5); its signature has that
    /// TTL too, so that both leave caches together.
    #[inline(always)]
    fn put_soa(&mut self, zone: &Zone<'c>) -> Result<(), Stop> {
        let set = zone.apex_node().and_then(|apex| apex.rrset(rtype::SOA)).ok_or(Stop::Damaged)?;
        let apex = self.work.places.of_ancestor(zone.apex_labels());
        let head = rrset::head_of(rtype::SOA, zone.row().negative_ttl);
        rrset::put(self.out, head, set.data(), apex, apex, self.dnssec_ok)
    }

    /// Writes the proofs that were collected.
    #[inline(always)]
    pub(crate) fn put_proofs(&mut self) -> Result<(), Stop> {
        for index in 0..self.proofs.count {
            let Some((proof, apex, labels)) = self.proofs.list[index] else { break };
            let mark = self.out.mark();
            let result = match proof {
                Proof::Nsec(node) => self.put_nsec(&node, apex, labels as usize),
                Proof::Nsec3(record) => self.put_nsec3(&record, apex),
            };
            if result.is_err() {
                self.out.rollback(mark);
                return result;
            }
        }
        Ok(())
    }
}
