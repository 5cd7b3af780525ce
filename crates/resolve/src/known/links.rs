//! Links of chains of trust that are broken: DS and DNSKEY RRsets that were fetched anew a short while ago, and the zones that are bogus for them.
//!
//! ```text
//! fetched  (zone, DS | DNSKEY) -> when it may be fetched anew again
//! bogus    zone -> until when, and why
//! ```
//!
//! What is bogus may be the fault of one server, so it is fetched anew; but if each question below a zone that is broken for good did that, each would cost it twice
//! as much as one below a sound zone. When that was in vain, whatever the zone's servers would say of any name could not be believed until the link is fetched again:
//! nobody asks them (RFC 4035 4.7, RFC 9520 3.2) but for clients who want it unchecked.

use std::collections::HashMap;

use cache::Moment;
use wire::{Name, NameBuf};

use crate::limits::{BROKEN_LINKS_MAX, FAILURE_SECONDS_MIN};

/// Links of chains of trust that are broken, and the zones that are bogus for them.
#[derive(Default)]
pub(crate) struct BrokenLinks {
    fetched: HashMap<(NameBuf, u16), Moment>,
    bogus: HashMap<NameBuf, (BogusZone, Moment)>,
}

/// Why a zone is bogus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BogusZone {
    /// As extended error (RFC 8914).
    pub ede: u16,
    /// In words.
    pub reason: &'static str,
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

    /// All at and below `zone`, in lower case, is bogus for a while: the chain of trust breaks there, whoever is asked.
    pub(crate) fn keep_bogus(&mut self, zone: &Name, why: BogusZone, now: Moment) {
        if self.bogus.len() >= BROKEN_LINKS_MAX {
            self.bogus.retain(|_, (_, until)| *until > now);
        }
        if self.bogus.len() >= BROKEN_LINKS_MAX {
            self.bogus.clear();
        }
        self.bogus.insert(zone.to_owned(), (why, now.plus_seconds(FAILURE_SECONDS_MIN)));
    }

    /// Why `name`, in lower case, is bogus whatever its servers say; `None` where it need not be.
    pub(crate) fn is_bogus(&self, name: &Name, now: Moment) -> Option<(&Name, BogusZone)> {
        if self.bogus.is_empty() {
            return None;
        }
        let mut next = Some(name);
        while let Some(zone) = next {
            if let Some((zone, (why, _))) =
                self.bogus.get_key_value(zone).filter(|(_, (_, until))| *until > now)
            {
                return Some((zone, *why));
            }
            next = zone.parent();
        }
        None
    }

    /// Forgets all: anchors have changed, or something was flushed.
    pub(crate) fn clear(&mut self) {
        self.fetched.clear();
        self.bogus.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
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
    #[test]
    fn all_below_is_bogus_for_a_while() {
        let mut links = BrokenLinks::default();
        let why = BogusZone { ede: 6, reason: "broken" };
        let name = |text: &str| NameBuf::from_text(text).unwrap();
        links.keep_bogus(&name("evil."), why, Moment(1_000));
        let check = |links: &BrokenLinks, of: &str, at: u64, expected: Option<&str>| {
            let found = links.is_bogus(&name(of), Moment(at)).map(|(zone, _)| zone.to_string());
            assert_eq!(found.as_deref(), expected, "{of} at {at}");
        };
        check(&links, "evil.", 1_000, Some("evil."));
        check(&links, "a.b.evil.", 5_999, Some("evil."));
        check(&links, "a.b.evil.", 6_000, None);
        check(&links, "devil.", 1_000, None);
        check(&links, ".", 1_000, None);
        for number in 0..2 * BROKEN_LINKS_MAX {
            links.keep_bogus(&name(&format!("n{number}.")), why, Moment(1_000));
            assert!(links.bogus.len() <= BROKEN_LINKS_MAX);
        }
        links.clear();
        check(&links, "n2047.", 1_000, None);
    }
}
