//! Name errors (RFC 2308 2.1): a start that all names below one encloser get, and what covers the name.

use super::Proofs;
use crate::answer::{Outcome, Session, Stop};
use crate::cache::{NegativeKey, NegativeStart};
use wire::render::Section;
use zone::{Denial, Match, ZoneView};

impl<'c> Session<'_, '_, 'c> {
    /// The name does not exist, and no wildcard stands in for it.
    pub(crate) fn name_error(&mut self, zone: &ZoneView<'c>, encloser: &Match<'c>) -> Result<Outcome, Stop> {
        self.out.begin_section(Section::Authority);
        let is_alone = self.out.counts() == [0; 3] && self.proofs.count == 0;
        if !is_alone || !self.paste_name_error(zone, encloser)? {
            let needs_cover = self.put_start(zone, encloser, is_alone)?;
            if needs_cover {
                self.add_cover(zone, encloser);
                self.put_proofs()?;
            }
        }
        Ok(Outcome::NameError)
    }

    /// The same from what is kept: start and cover together, or the start. False, with nothing written, when that is not here.
    #[inline(always)]
    fn paste_name_error(&mut self, zone: &ZoneView<'c>, encloser: &Match<'c>) -> Result<bool, Stop> {
        let from = self.out.at();
        let key = NegativeKey::of(self.source, zone, encloser, self.dnssec_ok);
        let anchor = self.buffers.places.of_ancestor(encloser.labels);
        let Some(start) = self.buffers.negative.start(&key) else { return Ok(false) };
        let Some(cover) = self.cover_beside(zone, encloser, &start) else {
            return Ok(self.buffers.negative.paste(&key, anchor, self.out).is_some());
        };
        let whole = key.with_cover(cover);
        if self.buffers.negative.paste(&whole, anchor, self.out).is_some() {
            return Ok(true);
        }
        if self.buffers.negative.paste(&key, anchor, self.out).is_none() {
            self.proofs = Proofs::new();
            return Ok(false);
        }
        self.put_proofs()?;
        self.buffers.negative.note(&whole, anchor, start, from, self.out);
        Ok(true)
    }

    /// Adds the record that covers the name to the proofs, unless the start needs none or has it already; returns its number.
    #[inline(always)]
    fn cover_beside(
        &mut self,
        zone: &ZoneView<'c>,
        encloser: &Match<'c>,
        start: &NegativeStart,
    ) -> Option<u32> {
        if !start.needs_cover {
            return None;
        }
        self.add_cover(zone, encloser);
        let cover = self.proofs.first()?;
        if start.proofs[..start.proofs_count as usize].contains(&cover) {
            self.proofs = Proofs::new();
            return None;
        }
        Some(cover)
    }

    /// Writes what all name errors below `encloser` begin with. Returns whether the proof that the name does not exist is
    /// still to come. `is_alone`: nothing stands before it.
    fn put_start(&mut self, zone: &ZoneView<'c>, encloser: &Match<'c>, is_alone: bool) -> Result<bool, Stop> {
        let from = self.out.at();
        self.put_soa(zone)?;
        let mut needs_cover = false;
        if self.dnssec_ok {
            needs_cover = match zone.denial() {
                Denial::None => false,
                Denial::Nsec => {
                    self.nsec_no_wildcard(zone, encloser);
                    true
                }
                Denial::Nsec3 => self.nsec3_no_wildcard(zone, encloser),
            };
        }
        self.put_proofs()?;
        if is_alone && let Some(start) = self.proofs.start(needs_cover) {
            let key = NegativeKey::of(self.source, zone, encloser, self.dnssec_ok);
            let anchor = self.buffers.places.of_ancestor(encloser.labels);
            self.buffers.negative.note(&key, anchor, start, from, self.out);
        }
        Ok(needs_cover)
    }

    /// Adds the record that covers the name, which does not exist.
    #[inline(always)]
    fn add_cover(&mut self, zone: &ZoneView<'c>, encloser: &Match<'c>) {
        match zone.denial() {
            Denial::Nsec => self.nsec_cover(zone, encloser.labels + 1),
            Denial::Nsec3 => self.nsec3_cover(zone, encloser.labels + 1),
            Denial::None => {}
        }
    }
}
