//! Name errors (RFC 2308 2.1): a head that all names below one encloser get, and what covers the name.

use super::Proofs;
use crate::answer::{Outcome, Session, Stop};
use crate::cache::{Head, HeadKey};
use wire::render::Section;
use zone::pack::ZoneRow;
use zone::{Match, Zone};

impl<'c> Session<'_, '_, 'c> {
    /// The name does not exist, and no wildcard stands in for it.
    pub(crate) fn name_error(&mut self, zone: &Zone<'c>, encloser: &Match<'c>) -> Result<Outcome, Stop> {
        self.out.begin_section(Section::Authority);
        let is_alone = self.out.counts() == [0; 3] && self.proofs.count == 0;
        if !is_alone || !self.paste_name_error(zone, encloser)? {
            let needs_cover = self.put_head(zone, encloser, is_alone)?;
            if needs_cover {
                self.add_cover(zone, encloser);
                self.put_proofs()?;
            }
        }
        Ok(Outcome::NameError)
    }

    /// The same from what is kept: head and cover together, or the head. False, with nothing written, when that is not here.
    #[inline(always)]
    fn paste_name_error(&mut self, zone: &Zone<'c>, encloser: &Match<'c>) -> Result<bool, Stop> {
        let start = self.out.at();
        let key = HeadKey::of(zone, encloser, self.dnssec_ok);
        let anchor = self.buffers.places.of_ancestor(encloser.labels);
        let Some(head) = self.buffers.heads.head(&key) else { return Ok(false) };
        let Some(cover) = self.cover_beside(zone, encloser, &head) else {
            return Ok(self.buffers.heads.paste(&key, anchor, self.out).is_some());
        };
        let whole = key.with_cover(cover);
        if self.buffers.heads.paste(&whole, anchor, self.out).is_some() {
            return Ok(true);
        }
        if self.buffers.heads.paste(&key, anchor, self.out).is_none() {
            self.proofs = Proofs::new();
            return Ok(false);
        }
        self.put_proofs()?;
        self.buffers.heads.note(&whole, anchor, head, start, self.out);
        Ok(true)
    }

    /// Adds the record that covers the name to the proofs, unless the head needs none or has it already; returns its number.
    #[inline(always)]
    fn cover_beside(&mut self, zone: &Zone<'c>, encloser: &Match<'c>, head: &Head) -> Option<u32> {
        if !head.needs_cover {
            return None;
        }
        self.add_cover(zone, encloser);
        let cover = self.proofs.first()?;
        if head.proofs[..head.proofs_count as usize].contains(&cover) {
            self.proofs = Proofs::new();
            return None;
        }
        Some(cover)
    }

    /// Writes what all name errors below `encloser` begin with. Returns whether the proof that the name does not exist is
    /// still to come. `is_alone`: nothing stands before it.
    fn put_head(&mut self, zone: &Zone<'c>, encloser: &Match<'c>, is_alone: bool) -> Result<bool, Stop> {
        let start = self.out.at();
        self.put_soa(zone)?;
        let mut needs_cover = false;
        if self.dnssec_ok {
            needs_cover = match zone.row().bits & (ZoneRow::NSEC | ZoneRow::NSEC3) {
                0 => false,
                ZoneRow::NSEC => {
                    self.nsec_no_wildcard(zone, encloser);
                    true
                }
                _ => self.nsec3_no_wildcard(zone, encloser),
            };
        }
        self.put_proofs()?;
        if is_alone && let Some(head) = self.proofs.head(needs_cover) {
            let key = HeadKey::of(zone, encloser, self.dnssec_ok);
            let anchor = self.buffers.places.of_ancestor(encloser.labels);
            self.buffers.heads.note(&key, anchor, head, start, self.out);
        }
        Ok(needs_cover)
    }

    /// Adds the record that covers the name, which does not exist.
    #[inline(always)]
    fn add_cover(&mut self, zone: &Zone<'c>, encloser: &Match<'c>) {
        match zone.row().bits & (ZoneRow::NSEC | ZoneRow::NSEC3) {
            ZoneRow::NSEC => self.nsec_cover(zone, encloser.labels + 1),
            _ => self.nsec3_cover(zone, encloser.labels + 1),
        }
    }
}
