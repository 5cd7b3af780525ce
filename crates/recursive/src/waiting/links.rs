//! Chains through the slots: which comes before and after, by age, by prefix and by zone.

use super::{By, Ends, Link, UNLINKED, Waiters};

/// Most that one that is put back is moved before those that came since it came: a second of them. Where there are more it counts as younger than it is.
const PUT_BACK_STEPS_MAX: usize = 64;

impl<T> Waiters<T> {
    /// The ends of the chain of a slot.
    pub(super) fn ends(&mut self, by: By, at: u32) -> &mut Ends {
        let slot = &self.slots[at as usize];
        match by {
            By::Age => &mut self.ages[usize::from(slot.is_proved)],
            By::Prefix => self.prefixes.ends_mut(slot.prefix),
            By::Zone => self.zones.ends_mut(slot.zone),
        }
    }

    /// Puts a slot at the end of its chain; by age where it belongs, which is the end but for those that were put back.
    pub(super) fn link(&mut self, by: By, at: u32) {
        let since = self.slots[at as usize].since;
        let mut before = self.ends(by, at).last;
        if let By::Age = by {
            // Those that were put back go before what came since: few, and only for questions of DNS64.
            let mut steps = 0;
            while let Some(slot) = self.slots.get(before as usize)
                && slot.since > since
                && steps < PUT_BACK_STEPS_MAX
            {
                (before, steps) = (slot.links[By::Age as usize].before, steps + 1);
            }
        }
        let after = match self.slots.get(before as usize) {
            Some(slot) => slot.links[by as usize].after,
            None => self.ends(by, at).first,
        };
        self.slots[at as usize].links[by as usize] = Link { before, after };
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.links[by as usize].after = at,
            None => self.ends(by, at).first = at,
        }
        match self.slots.get_mut(after as usize) {
            Some(slot) => slot.links[by as usize].before = at,
            None => self.ends(by, at).last = at,
        }
        let slot = &self.slots[at as usize];
        match by {
            By::Age => {}
            By::Prefix => self.prefixes.grow(slot.prefix),
            By::Zone => self.zones.grow(slot.zone),
        }
    }

    pub(super) fn unlink(&mut self, by: By, at: u32) {
        let Link { before, after } = self.slots[at as usize].links[by as usize];
        match self.slots.get_mut(before as usize) {
            Some(slot) => slot.links[by as usize].after = after,
            None => self.ends(by, at).first = after,
        }
        match self.slots.get_mut(after as usize) {
            Some(slot) => slot.links[by as usize].before = before,
            None => self.ends(by, at).last = before,
        }
        let slot = &mut self.slots[at as usize];
        slot.links[by as usize] = UNLINKED;
        match by {
            By::Age => {}
            By::Prefix => self.prefixes.shrink(slot.prefix),
            By::Zone => self.zones.shrink(slot.zone),
        }
    }
}
