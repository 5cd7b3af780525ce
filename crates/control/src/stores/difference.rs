//! What leads from what is served of a zone to all of it as it came: is it the same, and, of tables that know of no differences, what has changed?

use feed::frame::Version;
use zone::difference::{NoDifference, difference};
use zone::{Change, ZoneView};

use super::batch::{BATCH_MAX, Whole};
use super::session::Session;
use crate::findings::Digest;
use crate::joined::pack;

/// Octets of a difference after which it is clear that two versions are not the same: more than their SOA records, which it begins with, can have.
const SAME_OCTETS: usize = 4 << 10;
/// Octets of a difference that is served as one: with more the zone is served as a whole, which takes no longer then.
const CHANGED_OCTETS_MAX: usize = 1 << 20;

impl Session {
    /// Whether a zone has the records that are served of it; `None`: these cannot be read now.
    pub(super) fn is_same(&self, whole: &Whole) -> Option<bool> {
        match self.difference(whole, SAME_OCTETS) {
            Err(NoDifference::Damaged) => None,
            difference => Some(difference == Err(NoDifference::Same)),
        }
    }

    /// What leads to a zone from what is served, `serial`, and which version that is: of tables that know of no differences, of which all comes whatever has changed. `None`: it is served as a whole, as
    /// it differs in too much, or all of it has to be looked at.
    pub(super) fn lead(&self, whole: &Whole, serial: u32) -> Option<(Version, Change)> {
        self.terms.powerdns?;
        // What was found before did not fit: all of it, this time.
        if self.about(|about| about.unled.remove(&whole.zone)) == Some(true) {
            return None;
        }
        let (controller, zone) = (&self.controller, &whole.zone);
        if controller.digest_of(zone) != Digest::Ignore || controller.fault_of(&zone.to_lowercase()).is_some()
        {
            return None;
        }
        let mark =
            controller.stores.with(self.key, |_, _, followed| followed.mark(zone, serial)).flatten()?;
        let change = self.difference(whole, CHANGED_OCTETS_MAX).ok()?;
        Some((Version { serial, mark }, change))
    }

    /// What leads from what is served to a zone that came as a whole.
    fn difference(&self, whole: &Whole, octets_max: usize) -> Result<Change, NoDifference> {
        let packed = pack(std::iter::once((&whole.text.contents, &whole.findings)), BATCH_MAX.1);
        let pinned = self.controller.pin_catalog(&whole.zone);
        let old = pinned.as_ref().and_then(|pinned| pinned.view());
        let new = packed.pack.as_ref().and_then(|pack| ZoneView::new(pack, 0));
        let (old, new) = old.zip(new).ok_or(NoDifference::Damaged)?;
        difference(&old, &new, octets_max)
    }
}
