//! Referrals: the name servers of a zone cut, whether the zone below is signed, and glue (RFC 1034 4.3.2 step 3b).

use crate::additional::is_foreign;
use crate::answer::{Outcome, Session, Stop};
use crate::rrset::{self, rdata_at};
use wire::iana::rtype;
use wire::render::{POINTER_MAX, Section};
use zone::fragment::{Glue, RECORD_HEAD_OCTETS};
use zone::lookup::LiveGlue;
use zone::{Data, Match, ZoneView};

impl<'c> Session<'_, '_, 'c> {
    /// Writes authority and additional section of a referral.
    pub(crate) fn referral(&mut self, zone: &ZoneView<'c>, cut: &Match<'c>) -> Result<Outcome, Stop> {
        self.out.begin_section(Section::Authority);
        let owner = self.buffers.places.of_ancestor(cut.labels);
        let apex = self.buffers.places.of_ancestor(zone.apex_labels());
        let start = self.out.at();
        let servers = cut.node.rrset(rtype::NS).ok_or(Stop::Damaged)?;
        // The parent's copy of the NS records is not signed (RFC 4035 2.2).
        rrset::put(self.out, servers.head(), servers.data(), owner, apex, false)?;
        let end = self.out.at();
        if self.dnssec_ok {
            match cut.node.rrset(rtype::DS) {
                Some(set) if set.is_signed() => {
                    rrset::put(self.out, set.head(), set.data(), owner, apex, true)?
                }
                // Without signatures, as in a zone that is not signed, DS proves nothing (RFC 4035 3.1.4).
                Some(_) => {}
                None => self.prove_insecure(zone, cut),
            }
        }
        self.put_proofs()?;
        if let Some(glue) = zone.live_glue(&cut.node) {
            self.out.begin_section(Section::Additional);
            self.live_glue(zone, glue, start, end)?;
        } else if let Some(glue) = cut.node.glue() {
            self.out.begin_section(Section::Additional);
            self.glue(zone, glue, start, end)?;
        }
        Ok(Outcome::Referral)
    }

    /// Writes glue for the NS records that stand from `start` to `end`. An in-domain server's address that does not fit
    /// makes the response truncated; others are left out silently (RFC 9471 3.1, 3.2).
    #[inline(always)]
    fn glue(&mut self, zone: &ZoneView<'c>, glue: Glue<'c>, start: usize, end: usize) -> Result<(), Stop> {
        let count = self.list_targets(start, end)?;
        let is_signed = self.dnssec_ok && zone.is_signed();
        for group in glue {
            let &owner = self.buffers.servers[..count].get(group.server).ok_or(Stop::Damaged)?;
            if is_signed && group.authoritative && self.put_signed_address(zone, group.rtype, owner) {
                continue;
            }
            let [a, b] = group.rtype.to_be_bytes();
            let [e, f, g, h] = group.ttl;
            let head = [a, b, 0, 1, e, f, g, h];
            let mark = self.out.mark();
            let octets = if group.rtype == rtype::A { 4 } else { 16 };
            let full = group.addresses.chunks_exact(octets).any(|address| {
                if owner <= POINTER_MAX {
                    return self.out.record(owner, head, address).is_err();
                }
                rrset::write_name(self.out, owner).and_then(|()| self.out.body(head, address)).is_err()
            });
            if full {
                self.out.rollback(mark);
                self.is_truncated |= group.in_domain;
                let octets = group.addresses.len() / octets * (RECORD_HEAD_OCTETS + octets);
                self.short_of = self.short_of.min(self.out.at() + octets - start);
            }
        }
        Ok(())
    }

    /// The same in a zone that has changed since its pack was made, where addresses are looked up.
    #[cold]
    #[inline(never)]
    fn live_glue(
        &mut self,
        zone: &ZoneView<'c>,
        glue: LiveGlue<'c>,
        start: usize,
        end: usize,
    ) -> Result<(), Stop> {
        let count = self.list_targets(start, end)?;
        let is_signed = self.dnssec_ok && zone.is_signed();
        let apex = self.buffers.places.of_ancestor(zone.apex_labels());
        for group in glue {
            let &owner = self.buffers.servers[..count].get(group.server).ok_or(Stop::Damaged)?;
            let set = &group.set;
            if is_signed && group.authoritative && set.is_signed() {
                if rrset::put(self.out, set.head(), set.data(), owner, apex, true).is_ok() {
                    continue;
                }
                self.short_of = 0;
            }
            if rrset::put(self.out, set.head(), set.data(), owner, apex, false).is_err() {
                self.is_truncated |= group.in_domain;
                let records = match set.data() {
                    Data::Inline(_) => 1,
                    Data::Fragment(fragment) => fragment.len(),
                };
                let octets = if set.rtype() == rtype::A { 4 } else { 16 };
                let octets = records * (RECORD_HEAD_OCTETS + octets);
                self.short_of = self.short_of.min(self.out.at() + octets - start);
            }
        }
        Ok(())
    }

    /// Adds the addresses of a server that are data of this zone, not glue, with their signatures (RFC 4035 3.1.1). False when
    /// they are none or do not fit with them.
    fn put_signed_address(&mut self, zone: &ZoneView<'c>, rtype: u16, owner: u16) -> bool {
        let Some((node, _)) = self.look_up(zone, rtype::NS, owner as usize, owner as usize) else {
            return false;
        };
        if is_foreign(&node) {
            return false;
        }
        let Some(set) = node.rrset(rtype).filter(|set| set.is_signed()) else { return false };
        let apex = self.buffers.places.of_ancestor(zone.apex_labels());
        let fits = rrset::put(self.out, set.head(), set.data(), owner, apex, true).is_ok();
        if !fits {
            self.short_of = 0;
        }
        fits
    }

    /// Lists where the RDATA of the records from `start` to `end` begins; returns how many.
    #[inline(always)]
    fn list_targets(&mut self, start: usize, end: usize) -> Result<usize, Stop> {
        let (mut at, mut count) = (start, 0);
        while at < end && count < self.buffers.servers.len() {
            let (rdata, next) = rdata_at(self.out.message(), at).ok_or(Stop::Damaged)?;
            self.buffers.servers[count] = rdata as u16;
            count += 1;
            at = next;
        }
        Ok(count)
    }
}
