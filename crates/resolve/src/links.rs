//! Links of chains of trust that are broken: DS and DNSKEY RRsets that were fetched anew a short while ago.
//!
//! ```text
//! (zone, DS | DNSKEY) -> when it may be fetched anew again
//! ```
//!
//! What is bogus may be the fault of one server, so it is fetched anew; but if each question below a zone that is broken for good did that, each would cost it twice
//! as much as one below a sound zone.

use std::collections::HashMap;

use cache::Moment;
use wire::{Name, NameBuf};

use crate::limits::{BROKEN_LINKS_MAX, FAILURE_SECONDS_MIN};

/// See the module.
#[derive(Default)]
pub(crate) struct BrokenLinks {
    fetched: HashMap<(NameBuf, u16), Moment>,
}

impl BrokenLinks {
    /// Whether it may be fetched anew now. `name`: in lower case.
    pub(crate) fn may_be_fetched(&self, name: &Name, rtype: u16, now: Moment) -> bool {
        // By a key that is owned: only where something is bogus.
        self.fetched.get(&(name.to_owned(), rtype)).is_none_or(|until| *until <= now)
    }

    /// It is fetched anew.
    pub(crate) fn fetched(&mut self, name: &Name, rtype: u16, now: Moment) {
        if self.fetched.len() >= BROKEN_LINKS_MAX {
            self.fetched.retain(|_, until| *until > now);
        }
        if self.fetched.len() >= BROKEN_LINKS_MAX {
            self.fetched.clear();
        }
        self.fetched.insert((name.to_owned(), rtype), now.plus_seconds(FAILURE_SECONDS_MIN));
    }

    /// Forgets all: anchors have changed, or something was flushed.
    pub(crate) fn clear(&mut self) {
        self.fetched.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::iana::rtype::{DNSKEY, DS};

    #[test]
    fn once_in_a_while() {
        let (mut links, name) = (BrokenLinks::default(), Name::root());
        assert!(links.may_be_fetched(name, DS, Moment(0)));
        links.fetched(name, DS, Moment(1_000));
        assert!(
            !links.may_be_fetched(name, DS, Moment(5_999)) && links.may_be_fetched(name, DS, Moment(6_000))
        );
        assert!(links.may_be_fetched(name, DNSKEY, Moment(1_000)));
        (0..BROKEN_LINKS_MAX as u16).for_each(|rtype| links.fetched(name, rtype, Moment(7_000)));
        assert!(links.fetched.len() <= BROKEN_LINKS_MAX && !links.may_be_fetched(name, 9, Moment(7_000)));
        links.fetched(name, u16::MAX, Moment(7_000));
        assert!(links.may_be_fetched(name, 9, Moment(7_000)), "full: all may be");
    }
}
