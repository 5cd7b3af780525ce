//! What a responder counts where others see it at once: queries by type; and the memory of the answers that it keeps.
//!
//! A number for each of the types that are asked for, and so too many to be shown after each batch, as [`crate::Counters`] are. Its owner alone
//! changes it, as of all counters ([`sync::counters`]).

use sync::counters::Number;
use wire::iana::rtype;

/// Types below have a number of their own: all that are common but two.
const DIRECT: usize = 66;
/// Types that have one and are not below.
const RARE: [u16; 4] = [rtype::IXFR, rtype::AXFR, rtype::ANY, rtype::CAA];
/// The number of all other types.
const OTHERS: usize = DIRECT + RARE.len();
/// The number of messages without a question that could be read.
const NONE: usize = OTHERS + 1;

/// The counts of one responder.
#[derive(Debug)]
// On cache lines of its own.
#[repr(align(128))]
pub struct Tally {
    types: [Number; NONE + 1],
    kept_octets: Number,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { types: [const { Number::new() }; NONE + 1], kept_octets: Number::new() }
    }
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asked {
    /// This type.
    Type(u16),
    /// Any other.
    Others,
    /// Nothing that could be read.
    Nothing,
}

impl Tally {
    /// Counts a query.
    #[inline(always)]
    pub(crate) fn count(&self, qtype: u16) {
        match self.types[..DIRECT].get(usize::from(qtype)) {
            Some(number) => number.add(1),
            None => self.count_rare(qtype),
        }
    }

    #[cold]
    #[inline(never)]
    fn count_rare(&self, qtype: u16) {
        let place = RARE.iter().position(|rare| *rare == qtype);
        self.types[place.map_or(OTHERS, |place| DIRECT + place)].add(1);
    }

    /// Counts a message without a question.
    pub(crate) fn count_nothing(&self) {
        self.types[NONE].add(1);
    }

    /// Shows what the answers take that are kept.
    pub(crate) fn show_kept(&self, octets: usize) {
        self.kept_octets.write(octets as u64);
    }

    /// Octets of memory that the answers take that are kept.
    pub fn kept_octets(&self) -> u64 {
        self.kept_octets.read()
    }

    /// All messages: each is counted once.
    pub fn queries(&self) -> u64 {
        self.types.iter().map(Number::read).sum()
    }

    /// How often each was asked for. Always as many, in the same order.
    pub fn each(&self) -> impl Iterator<Item = (Asked, u64)> {
        let asked = |place: usize| match place {
            OTHERS => Asked::Others,
            NONE => Asked::Nothing,
            place => Asked::Type(RARE.get(place.wrapping_sub(DIRECT)).copied().unwrap_or(place as u16)),
        };
        self.types.iter().enumerate().map(move |(place, number)| (asked(place), number.read()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_number() {
        let tally = Tally::default();
        (0..=u16::MAX).for_each(|qtype| tally.count(qtype));
        tally.count_nothing();
        assert_eq!(tally.queries(), 65_537);
        for (asked, count) in tally.each() {
            let expected = if asked == Asked::Others { 65_536 - 66 - 4 } else { 1 };
            assert_eq!(count, expected, "{asked:?}");
        }
        let of = |qtype| tally.each().filter(|(asked, _)| *asked == Asked::Type(qtype)).count();
        assert_eq!([rtype::A, rtype::HTTPS, rtype::ANY, rtype::CAA, rtype::AXFR].map(of), [1; 5]);
        assert_eq!([66, 300].map(of), [0; 2]);
    }
}
