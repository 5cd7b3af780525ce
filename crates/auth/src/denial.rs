//! Negative answers (RFC 2308) and the proofs that belong to them: NSEC (RFC 4035 3.1.3) and NSEC3 (RFC 5155 7.2).
//!
//! Proofs are collected while the answer section is written, since wildcards on the way of an alias need one each, and go
//! to the authority section together, each record once.

mod name_error;
mod nsec;
mod nsec3;

use crate::answer::{Next, Outcome, Session, Stop};
use crate::cache::NegativeStart;
use crate::limits::PROOFS_MAX;
use crate::rrset;
use wire::iana::rtype;
use wire::render::Section;
use zone::lookup::Nsec3;
use zone::{Denial, Match, Node, ZoneView};

/// A record that proves something.
#[derive(Clone, Copy)]
pub(crate) enum Proof<'c> {
    /// The NSEC record of a name.
    Nsec(Node<'c>),
    /// An NSEC3 record.
    Nsec3(Nsec3<'c>),
}

impl Proof<'_> {
    /// Tells it from others of its zone, which has one kind only.
    #[inline(always)]
    fn number(&self) -> u32 {
        match self {
            Proof::Nsec(node) => node.number(),
            Proof::Nsec3(record) => record.rank,
        }
    }
}

/// A proof, what tells its zone from others, the place of that zone's apex, and how many labels it has.
type Row<'c> = (Proof<'c>, usize, u16, u8);

/// Proofs that were collected, of which the first ones are written.
pub(crate) struct Proofs<'c> {
    list: [Option<Row<'c>>; PROOFS_MAX],
    count: usize,
    written: usize,
}

impl<'c> Proofs<'c> {
    #[inline(always)]
    pub(crate) fn new() -> Proofs<'c> {
        Proofs { list: [None; PROOFS_MAX], count: 0, written: 0 }
    }

    /// How many more there is room for.
    pub(crate) fn room(&self) -> usize {
        PROOFS_MAX - self.count
    }

    /// Adds a record that is not there yet. `apex`: place of its zone's apex; there are several places of the same when an
    /// alias leads back to a zone.
    #[inline(always)]
    fn add(&mut self, proof: Proof<'c>, zone: &ZoneView<'c>, apex: u16) {
        let identity = zone.identity();
        let is_same = |row: &Option<Row<'c>>| {
            row.as_ref()
                .is_some_and(|(other, zone, ..)| *zone == identity && other.number() == proof.number())
        };
        if self.list[..self.count].iter().any(is_same) {
            return;
        }
        if let Some(slot) = self.list.get_mut(self.count) {
            *slot = Some((proof, identity, apex, zone.apex_labels() as u8));
            self.count += 1;
        }
    }

    /// The number of the first.
    #[inline(always)]
    fn first(&self) -> Option<u32> {
        self.list[0].map(|(proof, ..)| proof.number())
    }

    /// Numbers of all, if a start has room for them.
    fn start(&self, needs_cover: bool) -> Option<NegativeStart> {
        let mut start = NegativeStart {
            proofs: [0; NegativeStart::PROOFS_MAX],
            proofs_count: self.count as u8,
            needs_cover,
        };
        for (index, (proof, ..)) in self.list.iter().flatten().enumerate() {
            *start.proofs.get_mut(index)? = proof.number();
        }
        Some(start)
    }
}

impl<'c> Session<'_, '_, 'c> {
    /// The name exists without data of the type.
    pub(crate) fn no_data(
        &mut self,
        zone: &ZoneView<'c>,
        node: &Node<'c>,
        source: Option<&Match<'c>>,
    ) -> Result<Next, Stop> {
        self.out.begin_section(Section::Authority);
        if self.dnssec_ok {
            match zone.denial() {
                Denial::None => {}
                Denial::Nsec => self.nsec_no_data(zone, node),
                Denial::Nsec3 => self.nsec3_no_data(zone, node, source),
            }
        }
        let written = self.put_soa(zone).and_then(|()| self.put_proofs());
        written.map_err(|stop| stop.at(Outcome::NoData))?;
        Ok(Next::End(Outcome::NoData))
    }

    /// Proves that the name itself does not exist, so that a wildcard may stand in for it (RFC 4035 3.1.3.3, RFC 5155 7.2.6).
    pub(crate) fn prove_expansion(&mut self, zone: &ZoneView<'c>, encloser: &Match<'c>) {
        match zone.denial() {
            Denial::None => {}
            Denial::Nsec => self.nsec_cover(zone, encloser.labels + 1),
            Denial::Nsec3 => self.nsec3_cover(zone, encloser.labels + 1),
        }
    }

    /// Proves that a zone cut has no DS records (RFC 4035 3.1.4, RFC 5155 7.2.7).
    #[inline(always)]
    pub(crate) fn prove_insecure(&mut self, zone: &ZoneView<'c>, cut: &Match<'c>) {
        match zone.denial() {
            Denial::None => {}
            Denial::Nsec => self.nsec_of(zone, cut.node),
            Denial::Nsec3 => self.nsec3_of_node(zone, cut.node, cut.labels),
        }
    }

    /// The SOA record of a negative answer, with the TTL that the answer is kept for (RFC 2308 3, 5); its signature has that
    /// TTL too, so that both leave caches together.
    #[inline(always)]
    fn put_soa(&mut self, zone: &ZoneView<'c>) -> Result<(), Stop> {
        let set = zone.apex_node().and_then(|apex| apex.rrset(rtype::SOA)).ok_or(Stop::Damaged)?;
        let apex = self.buffers.places.of_ancestor(zone.apex_labels());
        let head = rrset::head_of(rtype::SOA, zone.negative_ttl());
        rrset::put(self.out, head, set.data(), apex, apex, self.dnssec_ok)
    }

    /// Writes the proofs that were collected since the last time.
    #[inline(always)]
    pub(crate) fn put_proofs(&mut self) -> Result<(), Stop> {
        while self.proofs.written < self.proofs.count {
            let Some((proof, _, apex, labels)) = self.proofs.list[self.proofs.written] else { break };
            self.put_proof(proof, apex, labels as usize)?;
            self.proofs.written += 1;
        }
        Ok(())
    }

    fn put_proof(&mut self, proof: Proof<'c>, apex: u16, labels: usize) -> Result<(), Stop> {
        let mark = self.out.mark();
        let result = match proof {
            Proof::Nsec(node) => self.put_nsec(&node, apex, labels),
            Proof::Nsec3(record) => self.put_nsec3(&record, apex),
        };
        if result.is_err() {
            self.out.rollback(mark);
        }
        result
    }
}
