//! What becomes of a packet: a reply of some size, a place in the relay, or nothing.

use crate::{random::Random, sizes::Sizes};

/// Octets of a DNS header.
pub(super) const HEADER_OCTETS: usize = 12;
/// The QR bit in the third octet of a header (RFC 1035 4.1.1).
pub(super) const QR: u8 = 0x80;

/// How large replies are.
pub enum ReplySize {
    /// As the query.
    Same,
    /// All alike.
    Fixed(usize),
    /// As recorded for the query; unknown queries come back as they are.
    ByQuery(Sizes),
    /// The recorded sizes one after the other.
    InOrder(Sizes),
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Comes back as a reply of so many octets.
    Reply(usize),
    /// Goes on to the upstream.
    Relay,
    /// Is no query.
    Ignore,
}

/// Decides for one thread.
pub(super) struct Judge<'a> {
    sizes: &'a ReplySize,
    /// Place of the next size where they are used in order.
    turn: usize,
    /// Random numbers and the share of queries to relay.
    relay: Option<(Random, f64)>,
}

impl<'a> Judge<'a> {
    /// `relay`: where queries are relayed, the numbers that choose them and their share, 0 to 1.
    pub(super) fn new(sizes: &'a ReplySize, relay: Option<(Random, f64)>) -> Judge<'a> {
        Judge { sizes, turn: 0, relay }
    }

    /// Decides about a packet of which `packet` was received and that had `length` octets on the wire.
    pub(super) fn fate(&mut self, packet: &[u8], length: usize) -> Fate {
        // A reply to a reply would run for ever between two echo servers.
        if packet.len() < HEADER_OCTETS || packet[2] & QR != 0 {
            return Fate::Ignore;
        }
        if let Some((random, share)) = &mut self.relay
            && random.chance(*share)
        {
            return Fate::Relay;
        }
        Fate::Reply(match self.sizes {
            ReplySize::Same => length,
            ReplySize::Fixed(size) => *size,
            ReplySize::ByQuery(sizes) => sizes.size(packet).unwrap_or(length),
            ReplySize::InOrder(sizes) => {
                let sizes = sizes.in_order();
                let size = sizes[self.turn].into();
                self.turn = if self.turn + 1 < sizes.len() { self.turn + 1 } else { 0 };
                size
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sizes::query_hash;

    const QUERY: &[u8] = b"\0\x01\0\0............";

    fn check(sizes: &ReplySize, packet: &[u8], fates: &[Fate]) {
        let mut judge = Judge::new(sizes, None);
        for &fate in fates {
            assert_eq!(judge.fate(packet, packet.len()), fate);
        }
    }

    #[test]
    fn sizes() {
        check(&ReplySize::Same, QUERY, &[Fate::Reply(16)]);
        check(&ReplySize::Fixed(100), QUERY, &[Fate::Reply(100)]);
        let sizes = || Sizes::new(&[(query_hash(QUERY), 700), (1, 50)]);
        check(&ReplySize::ByQuery(sizes()), QUERY, &[Fate::Reply(700)]);
        check(&ReplySize::ByQuery(sizes()), b"\0\x02\0\0........", &[Fate::Reply(12)]);
        check(&ReplySize::InOrder(sizes()), QUERY, &[700, 50, 700].map(Fate::Reply));
    }

    #[test]
    fn replies_and_pieces_are_ignored() {
        check(&ReplySize::Same, b"\0\x01\x80\0........", &[Fate::Ignore]);
        check(&ReplySize::Same, b"\0\x01\0\0.......", &[Fate::Ignore]);
        check(&ReplySize::Same, b"", &[Fate::Ignore]);
    }

    #[test]
    fn the_share_is_kept() {
        let relayed = |share| {
            let mut judge = Judge::new(&ReplySize::Same, Some((Random::new(7), share)));
            (0..10_000).filter(|_| judge.fate(QUERY, 16) == Fate::Relay).count()
        };
        assert_eq!((relayed(0.0), relayed(1.0)), (0, 10_000));
        assert!((1800..2200).contains(&relayed(0.2)));
        assert_eq!(relayed(0.2), relayed(0.2), "same seed, same choice");
    }
}
