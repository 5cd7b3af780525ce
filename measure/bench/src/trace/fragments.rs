//! Puts fragments of IP packets together (RFC 791 3.2, RFC 8200 4.5).
//!
//! Everything that waits is bounded; what does not become whole is counted. Fragments that overlap are taken as an
//! attack (RFC 5722): their packet is given up. A fragment that came twice is no overlap.

use std::{collections::HashMap, net::IpAddr};

use super::{
    capture::{Nanoseconds, SECOND},
    oldest_quarter,
    packet::{Carried, Fragment},
};

/// Packets that wait for fragments: at up to 64 KiB each 256 MiB in the worst case; real traffic of the DNS has a few.
const PACKETS_MAX: usize = 4096;
/// Fragments of one packet: 64 KiB in the 552 octets of an old Internet path are 119.
const PARTS_MAX: usize = 128;
/// Longest packet (RFC 791 3.1); jumbograms are not fragmented (RFC 2675 4).
const PACKET_OCTETS_MAX: usize = 65_535;
/// How long after its last fragment a packet can become whole (RFC 8200 4.5). Later, identifications come again.
const WAIT: Nanoseconds = 60 * SECOND;

/// Packets that wait for fragments.
#[derive(Default)]
pub struct Fragments {
    packets: HashMap<Key, Parts>,
    /// Fragments seen.
    pub seen: u64,
    /// Packets made whole.
    pub whole: u64,
    /// Packets given up.
    pub given_up: u64,
}

/// What fragments of one packet have in common (RFC 791 2.3). RFC 8200 leaves the protocol away; it is harmless.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    protocol: u8,
    id: u32,
}

/// Fragments of one packet.
struct Parts {
    /// By offset, without overlap.
    parts: Vec<(usize, Vec<u8>)>,
    /// Known from the last fragment.
    octets: Option<usize>,
    /// Time of the latest fragment.
    time: Nanoseconds,
}

impl Fragments {
    /// Adds a fragment. Returns what the packet carries, once it is whole.
    pub fn add(&mut self, time: Nanoseconds, carried: &Carried<'_>, fragment: Fragment) -> Option<Vec<u8>> {
        self.seen += 1;
        if carried.cut > 0 {
            return None;
        }
        let Carried { source, destination, protocol, octets, .. } = *carried;
        let key = Key { source, destination, protocol, id: fragment.id };
        if self.packets.get(&key).is_some_and(|parts| parts.time.saturating_add(WAIT) < time) {
            self.give_up(&key);
        }
        if self.packets.len() >= PACKETS_MAX && !self.packets.contains_key(&key) {
            for key in oldest_quarter(self.packets.iter().map(|(key, parts)| (parts.time, *key))) {
                self.give_up(&key);
            }
        }
        let parts = self.packets.entry(key).or_insert(Parts { parts: Vec::new(), octets: None, time });
        parts.time = time;
        if parts.insert(fragment, octets).is_none() {
            self.give_up(&key);
            return None;
        }
        if !parts.is_whole() {
            return None;
        }
        self.whole += 1;
        let parts = self.packets.remove(&key)?;
        Some(parts.parts.into_iter().flat_map(|(_, octets)| octets).collect())
    }

    /// Gives up all packets that wait: nothing comes any more.
    pub fn end(&mut self) {
        self.given_up += self.packets.len() as u64;
        self.packets.clear();
    }

    fn give_up(&mut self, key: &Key) {
        self.given_up += u64::from(self.packets.remove(key).is_some());
    }
}

impl Parts {
    /// Notes a fragment; `None` where it contradicts the others or a bound.
    fn insert(&mut self, fragment: Fragment, octets: &[u8]) -> Option<()> {
        let end = fragment.offset + octets.len();
        if end > PACKET_OCTETS_MAX || (fragment.more && octets.is_empty()) {
            return None;
        }
        if !fragment.more && self.octets.replace(end).is_some_and(|before| before != end) {
            return None;
        }
        let at = self.parts.partition_point(|part| part.0 < fragment.offset);
        match self.parts.get(at) {
            Some((offset, same)) if *offset == fragment.offset && same == octets => return Some(()),
            Some((next, _)) if *next < end || *next == fragment.offset => return None,
            _ => {}
        }
        let before = at.checked_sub(1).map_or(0, |before| self.parts[before].0 + self.parts[before].1.len());
        if before > fragment.offset || self.parts.len() >= PARTS_MAX {
            return None;
        }
        self.parts.insert(at, (fragment.offset, octets.to_vec()));
        Some(())
    }

    fn is_whole(&self) -> bool {
        // Parts do not overlap: they fill the packet if their octets are as many as it has.
        let octets: usize = self.parts.iter().map(|part| part.1.len()).sum();
        self.octets == Some(octets) && self.parts.last().is_some_and(|last| last.0 + last.1.len() == octets)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{random::Random, trace::packet, trace::samples};
    use pcap_parser::Linktype;

    fn add(fragments: &mut Fragments, time: Nanoseconds, frame: &[u8]) -> Option<Vec<u8>> {
        let carried = packet::carried(Linktype::RAW, frame).unwrap();
        fragments.add(time, &carried, carried.fragment.unwrap())
    }

    fn pieces(version: u8, id: u32, whole: &[u8], size: usize) -> Vec<Vec<u8>> {
        let count = whole.len().div_ceil(size);
        let piece = |(number, octets): (usize, &[u8])| {
            let (offset, more) = (number * size, number + 1 < count);
            match version {
                4 => samples::ipv4_fragment(17, id as u16, offset, more, octets),
                _ => samples::ipv6_fragment(17, id, offset, more, octets),
            }
        };
        whole.chunks(size).enumerate().map(piece).collect()
    }

    #[test]
    fn any_order_and_twice() {
        let whole: Vec<u8> = (0..3000u32).map(|octet| octet as u8).collect();
        let mut random = Random::new(5);
        for version in [4, 6] {
            for _ in 0..50 {
                let mut fragments = Fragments::default();
                let mut pieces = pieces(version, 77, &whole, 8 + 8 * random.index(100).max(3));
                random.shuffle(&mut pieces);
                let (last, first) = pieces.split_last().unwrap();
                for piece in first {
                    assert_eq!(add(&mut fragments, 1, piece), None);
                    assert_eq!(add(&mut fragments, 1, piece), None, "twice");
                }
                assert_eq!(add(&mut fragments, 2, last).unwrap(), whole);
                fragments.end();
                assert_eq!((fragments.whole, fragments.given_up), (1, 0));
            }
        }
    }

    #[test]
    fn packets_do_not_mix() {
        let mut fragments = Fragments::default();
        let (one, two) = (pieces(4, 1, &[1; 100], 64), pieces(4, 2, &[2; 100], 64));
        assert_eq!(add(&mut fragments, 0, &one[0]), None);
        assert_eq!(add(&mut fragments, 0, &two[1]), None);
        assert_eq!(add(&mut fragments, 0, &two[0]).unwrap(), [2; 100]);
        assert_eq!(add(&mut fragments, 0, &one[1]).unwrap(), [1; 100]);
    }

    #[test]
    fn overlap_and_contradiction() {
        for second in [
            samples::ipv4_fragment(17, 1, 8, true, &[0; 16]),
            samples::ipv4_fragment(17, 1, 0, true, &[9; 16]),
            samples::ipv4_fragment(17, 1, 0, true, &[0; 8]),
            samples::ipv4_fragment(17, 1, 65_528, false, &[0; 8]),
            samples::ipv4_fragment(17, 1, 16, true, &[]),
        ] {
            let mut fragments = Fragments::default();
            assert_eq!(add(&mut fragments, 0, &samples::ipv4_fragment(17, 1, 0, true, &[0; 16])), None);
            assert_eq!(add(&mut fragments, 0, &second), None);
            assert_eq!(fragments.given_up, 1, "{second:?}");
        }
        let mut fragments = Fragments::default();
        assert_eq!(add(&mut fragments, 0, &samples::ipv4_fragment(17, 1, 16, false, &[0; 16])), None);
        assert_eq!(add(&mut fragments, 0, &samples::ipv4_fragment(17, 1, 16, false, &[0; 24])), None);
        assert_eq!(fragments.given_up, 1);
    }

    #[test]
    fn bounds() {
        let mut fragments = Fragments::default();
        for id in 0..20_000 {
            add(&mut fragments, id.into(), &samples::ipv6_fragment(17, id, 0, true, &[0; 8]));
            assert!(fragments.packets.len() <= PACKETS_MAX);
        }
        fragments.end();
        assert_eq!(fragments.given_up, 20_000);
        let late = pieces(6, 1, &[1; 100], 64);
        assert_eq!(add(&mut fragments, 0, &late[0]), None);
        assert_eq!(add(&mut fragments, WAIT + 1, &late[1]), None);
        let mut fragments = Fragments::default();
        for number in 0..1000 {
            add(&mut fragments, 0, &samples::ipv6_fragment(17, 1, number * 8, true, &[0; 8]));
        }
        assert!(fragments.given_up > 0);
    }
}
