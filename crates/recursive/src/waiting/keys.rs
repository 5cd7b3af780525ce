//! What clients have in common: the question, the prefix, the zone, each by a keyed hash.

use super::{Waiters, Who};
use crate::space::NameSpace;
use crate::wishes::Waiting;
use std::hash::{BuildHasher, Hasher};
use wire::Name;

/// Chains by prefix: a power of two.
pub(super) const PREFIXES: usize = 1 << 14;
/// Chains by zone: a power of two.
pub(super) const ZONES: usize = 1 << 12;

impl<T> Waiters<T> {
    /// The slot of the same client and question, if it waits.
    pub(super) fn find(&self, question: u64, is_proved: bool) -> Option<u32> {
        let mut at = self.questions[self.bucket(question)];
        while let Some(slot) = self.slots.at(at) {
            if slot.question == question && slot.is_proved == is_proved {
                return Some(at);
            }
            at = slot.next;
        }
        None
    }

    pub(super) fn unlink_question(&mut self, question: u64, at: u32) {
        let bucket = self.bucket(question);
        let next = self.slot(at).next;
        let mut before = self.questions[bucket];
        if before == at {
            self.questions[bucket] = next;
            return;
        }
        while let Some(slot) = self.slots.at_mut(before) {
            if slot.next == at {
                slot.next = next;
                return;
            }
            before = slot.next;
        }
    }

    pub(super) fn bucket(&self, question: u64) -> usize {
        question as usize & (self.questions.len() - 1)
    }

    /// Keyed, 64 bits: that two questions of one client are taken for one is nothing that anybody can bring about.
    pub(super) fn question_of(&self, who: &Who<'_>, waiting: &Waiting) -> u64 {
        let mut hasher = self.keys.build_hasher();
        let (is_v4, bits) = who.address.leading_bits();
        hasher.write_u64(bits);
        hasher.write_u8(u8::from(is_v4));
        if let std::net::IpAddr::V6(address) = who.address.ip() {
            hasher.write_u64(address.to_bits() as u64);
        }
        hasher.write_u16(who.address.port());
        hasher.write_u16(waiting.id());
        hasher.write_u16(waiting.qtype());
        hasher.write(waiting.name().octets());
        hasher.finish()
    }

    pub(super) fn prefix_of(&self, who: &Who<'_>) -> u32 {
        let (is_v4, bits) = who.address.leading_bits();
        // /24, /56.
        let prefix = if is_v4 { bits >> 40 } else { bits >> 8 | 1 << 63 };
        self.keys.hash_one((prefix, who.is_proved)) as u32 & (PREFIXES as u32 - 1)
    }

    pub(super) fn zone_number(&self, who: &Who<'_>, waiting: &Waiting) -> u32 {
        let mut hasher = self.keys.build_hasher();
        hasher.write_u8(u8::from(who.is_proved));
        let mut zone = NameSpace::new();
        zone.set_lower(zone_of(waiting.name()));
        hasher.write(zone.name().octets());
        hasher.finish() as u32 & (ZONES as u32 - 1)
    }
}

/// The name that somebody likely registered of this one: two labels, three where the second has at most three letters (`co.uk`), those of a
/// /16 below `in-addr.arpa`, of a /32 below `ip6.arpa`. It only has to be the same for all names of a flood, before anything is known of them.
pub(super) fn zone_of(name: &Name) -> &Name {
    let count = name.label_count();
    let last = |labels: usize| (labels..count).fold(name, |name, _| name.parent().unwrap_or(name));
    let end = last(2);
    let mut labels = end.labels();
    let kept = match (labels.next(), labels.next()) {
        (Some(second), Some(last)) if last.eq_ignore_ascii_case(b"arpa") => {
            if second.eq_ignore_ascii_case(b"ip6") { 10 } else { 4 }
        }
        (Some(second), Some(_)) if second.len() <= 3 => 3,
        _ => return end,
    };
    last(kept)
}
