//! Chains through the slots: which comes before and after, by age, by prefix and by zone.

use super::{By, Ends, Link, Slot, UNLINKED, Waiters};

/// Most that one that is put back is moved before those that came since it came: a second of them. Where there are more it counts as younger than it is.
const PUT_BACK_STEPS_MAX: usize = 64;

impl<T> Waiters<T> {
    /// The ends of the chain of a slot.
    pub(super) fn ends(&mut self, by: By, at: u32) -> &mut Ends {
        let &Slot { is_proved, prefix, zone, .. } = self.slot(at);
        match by {
            By::Age => &mut self.ages[usize::from(is_proved)],
            By::Prefix => self.prefixes.ends_mut(prefix),
            By::Zone => self.zones.ends_mut(zone),
        }
    }

    /// Puts a slot at the end of its chain; by age where it belongs, which is the end but for those that were put back.
    pub(super) fn link(&mut self, by: By, at: u32) {
        let since = self.slot(at).since;
        let mut before = self.ends(by, at).last;
        if let By::Age = by {
            // Those that were put back go before what came since: few, and only for questions of DNS64.
            let mut steps = 0;
            while let Some(slot) = self.slots.at(before)
                && slot.since > since
                && steps < PUT_BACK_STEPS_MAX
            {
                (before, steps) = (slot.links[By::Age as usize].before, steps + 1);
            }
        }
        let after = match self.slots.at(before) {
            Some(slot) => slot.links[by as usize].after,
            None => self.ends(by, at).first,
        };
        self.slot_mut(at).links[by as usize] = Link { before, after };
        match self.slots.at_mut(before) {
            Some(slot) => slot.links[by as usize].after = at,
            None => self.ends(by, at).first = at,
        }
        match self.slots.at_mut(after) {
            Some(slot) => slot.links[by as usize].before = at,
            None => self.ends(by, at).last = at,
        }
        let &Slot { prefix, zone, .. } = self.slot(at);
        match by {
            By::Age => {}
            By::Prefix => self.prefixes.grow(prefix),
            By::Zone => self.zones.grow(zone),
        }
    }

    pub(super) fn unlink(&mut self, by: By, at: u32) {
        let Link { before, after } = self.slot(at).links[by as usize];
        match self.slots.at_mut(before) {
            Some(slot) => slot.links[by as usize].after = after,
            None => self.ends(by, at).first = after,
        }
        match self.slots.at_mut(after) {
            Some(slot) => slot.links[by as usize].before = before,
            None => self.ends(by, at).last = before,
        }
        let slot = self.slot_mut(at);
        slot.links[by as usize] = UNLINKED;
        let (prefix, zone) = (slot.prefix, slot.zone);
        match by {
            By::Age => {}
            By::Prefix => self.prefixes.shrink(prefix),
            By::Zone => self.zones.shrink(zone),
        }
    }
}
