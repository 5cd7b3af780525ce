//! Names that are no zone cuts as the servers of the zone above see it: what minimising (RFC 9156) need not ask again.
//!
//! ```text
//! keyed hash of (zone asked, name) -> until
//! ```
//!
//! A parent that has its child on the same servers (co.uk. on those of uk.) answers for the child and never refers, and an empty non-terminal has no data:
//! the question for such a name teaches no cut, and would be asked again for every name below it. Nothing of this is ever answered, and nothing follows
//! from it but that the next question goes to the same servers with a label more; so whoever forges it gains nothing.

use std::collections::HashMap;
use std::hash::BuildHasher;

use cache::{Moment, Secret};
use wire::Name;

use crate::limits::{UNCUT_MAX, UNCUT_SECONDS_MAX};

/// Names at which a zone's servers showed no cut. Lossy: what is forgotten is asked once more.
#[derive(Default)]
pub(crate) struct Uncut {
    until: HashMap<u64, Moment, Secret>,
    /// Its key is random: with equal hashes one name is asked for in full sooner than it need be.
    hasher: Secret,
}

impl Uncut {
    /// Keeps that the servers of `zone` answered for `name`, both in lower case, themselves. `ttl`: of what they said, in seconds.
    pub(crate) fn keep(&mut self, zone: &Name, name: &Name, ttl: u32, now: Moment) {
        let until = now.plus_seconds(ttl.min(UNCUT_SECONDS_MAX));
        if self.until.len() >= UNCUT_MAX {
            self.until.retain(|_, until| *until > now);
        }
        if self.until.len() >= UNCUT_MAX {
            self.until.clear();
        }
        self.until.insert(self.key(zone, name), until);
    }

    /// Whether they did.
    pub(crate) fn has(&self, zone: &Name, name: &Name, now: Moment) -> bool {
        self.until.get(&self.key(zone, name)).is_some_and(|until| *until > now)
    }

    fn key(&self, zone: &Name, name: &Name) -> u64 {
        self.hasher.hash_one((zone.octets(), name.octets()))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    #[test]
    fn kept_for_a_while_and_bounded() {
        let name = |text: &str| NameBuf::from_text(text).unwrap();
        let (uk, couk) = (name("uk."), name("co.uk."));
        let mut uncut = Uncut::default();
        uncut.keep(&uk, &couk, 60, Moment(0));
        let check = |uncut: &Uncut, zone: &Name, name: &Name, seconds, expected| {
            assert_eq!(
                uncut.has(zone, name, Moment(0).plus_seconds(seconds)),
                expected,
                "{zone} {name} {seconds}"
            );
        };
        check(&uncut, &uk, &couk, 59, true);
        check(&uncut, &uk, &couk, 60, false);
        check(&uncut, &couk, &uk, 1, false);
        uncut.keep(&uk, &couk, 1_000_000, Moment(0));
        check(&uncut, &uk, &couk, UNCUT_SECONDS_MAX, false);
        for number in 0..3 * UNCUT_MAX {
            uncut.keep(&uk, &name(&format!("n{number}.uk.")), 60, Moment(0));
            assert!(uncut.until.len() <= UNCUT_MAX);
        }
    }
}
