//! IPv6 addresses made of IPv4 addresses, for clients that have no other way to IPv4 (DNS64, RFC 6147).
//!
//! ```text
//! prefix/96                                                     | IPv4 address
//! prefix/64                      | 0 | IPv4 address             | 0 0 0
//! prefix/40     | first 24 bits  | 0 | last 8 bits | 0 0 0 0 0 0           the octet at 8 is always zero (RFC 6052 2.2)
//! ```

use crate::limits::DNS64_PREFIXES_MAX;
use crate::networks::Networks;
use crate::policy::Clients;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Name;
use wire::rrset::RdataList;

/// The octet that is left out (RFC 6052 2.2).
const ZERO_AT: usize = 8;
/// The well-known prefix (RFC 6052 2.1).
const WELL_KNOWN: Prefix =
    Prefix { octets: [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], length: 12 };
/// What is not global (RFC 6052 3.1 with RFC 6890): the well-known prefix is not for these.
const NOT_GLOBAL: [&str; 13] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/29",
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/3",
];

/// A prefix that addresses are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    octets: [u8; 16],
    /// Octets of it.
    length: u8,
}

impl Prefix {
    /// Of 32, 40, 48, 56, 64 or 96 bits (RFC 6052 2.2), those after them and the octet that must be zero are left out; `None` for other lengths.
    pub fn new(address: Ipv6Addr, bits: u8) -> Option<Prefix> {
        if !matches!(bits, 32 | 40 | 48 | 56 | 64 | 96) {
            return None;
        }
        let mut octets = address.octets();
        octets[usize::from(bits / 8)..].fill(0);
        octets[ZERO_AT] = 0;
        Some(Prefix { octets, length: bits / 8 })
    }

    /// The address made of an IPv4 address.
    pub fn address(&self, v4: [u8; 4]) -> [u8; 16] {
        let mut octets = self.octets;
        let mut at = usize::from(self.length);
        for octet in v4 {
            at += usize::from(at == ZERO_AT);
            octets[at] = octet;
            at += 1;
        }
        octets
    }

    /// The IPv4 address that an address was made of, if it was made with this prefix.
    pub fn embedded(&self, v6: [u8; 16]) -> Option<[u8; 4]> {
        let mut v4 = [0; 4];
        let mut at = usize::from(self.length);
        for octet in &mut v4 {
            at += usize::from(at == ZERO_AT);
            *octet = v6[at];
            at += 1;
        }
        (self.address(v4) == v6).then_some(v4)
    }
}

/// How addresses are made, and for whom.
#[derive(Clone, Debug)]
pub struct Dns64 {
    prefixes: Vec<Prefix>,
    /// IPv6 addresses that are as good as none (RFC 6147 5.1.4).
    excluded: Networks,
    /// IPv4 addresses that none is made of.
    kept: Networks,
    not_global: Networks,
    clients: Clients,
}

impl Dns64 {
    /// `prefixes`: at most [`DNS64_PREFIXES_MAX`] count; `excluded`: beside mapped IPv4 addresses; `kept`: IPv4 networks that no address is made of. `None` without a prefix.
    pub fn new(
        prefixes: &[Prefix],
        excluded: &[(IpAddr, u8)],
        kept: Networks,
        clients: Clients,
    ) -> Option<Dns64> {
        let mapped = (IpAddr::V6(Ipv4Addr::UNSPECIFIED.to_ipv6_mapped()), 96);
        let excluded: Vec<_> = excluded.iter().copied().chain([mapped]).collect();
        let prefixes: Vec<_> = prefixes.iter().copied().take(DNS64_PREFIXES_MAX).collect();
        (!prefixes.is_empty()).then(|| Dns64 {
            prefixes,
            excluded: Networks::new(&excluded),
            kept,
            not_global: Networks::built_in(&NOT_GLOBAL),
            clients,
        })
    }

    /// Who gets such addresses.
    pub(crate) fn clients(&self) -> &Clients {
        &self.clients
    }

    /// Whether the RDATA of an AAAA record is one that counts.
    pub(crate) fn counts(&self, rdata: &[u8]) -> bool {
        <[u8; 16]>::try_from(rdata).is_ok_and(|octets| !self.excluded.has_v6(octets.into()))
    }

    /// How many addresses are made of an RRset.
    pub(crate) fn count(&self, addresses: RdataList<'_>) -> usize {
        self.made(addresses).count()
    }

    /// The addresses made of an RRset of type A: of each address one for each prefix.
    pub(crate) fn made<'m>(&'m self, addresses: RdataList<'m>) -> impl Iterator<Item = [u8; 16]> + 'm {
        addresses.into_iter().filter_map(|rdata| <[u8; 4]>::try_from(rdata).ok()).flat_map(move |v4| {
            let is_fit = move |prefix: &&Prefix| {
                !self.kept.has_v4(v4.into()) && (**prefix != WELL_KNOWN || !self.not_global.has_v4(v4.into()))
            };
            self.prefixes.iter().filter(is_fit).map(move |prefix| prefix.address(v4))
        })
    }

    /// The name below `in-addr.arpa.` that a name below `ip6.arpa.` stands for, in `to` (RFC 6147 5.3.1). `name`: in lower case.
    pub(crate) fn reverse<'t>(&self, name: &Name, to: &'t mut [u8; REVERSE_OCTETS_MAX]) -> Option<&'t Name> {
        let v6 = reversed(name)?;
        let v4 = self.prefixes.iter().find_map(|prefix| prefix.embedded(v6))?;
        let mut length = 0;
        for octet in v4.into_iter().rev() {
            let mut digits = [0; 3];
            let mut count = 0;
            for digit in [octet / 100, octet / 10 % 10, octet % 10] {
                if digit > 0 || count > 0 {
                    digits[count] = b'0' + digit;
                    count += 1;
                }
            }
            let count = if count == 0 { (digits[0] = b'0', 1).1 } else { count };
            to[length] = count as u8;
            to[length + 1..=length + count].copy_from_slice(&digits[..count]);
            length += 1 + count;
        }
        to[length..length + IN_ADDR.len()].copy_from_slice(IN_ADDR);
        Some(Name::trusted(&to[..length + IN_ADDR.len()]))
    }
}

const IN_ADDR: &[u8] = b"\x07in-addr\x04arpa\0";
const IP6: &[u8] = b"\x03ip6\x04arpa\0";
/// Octets of the longest name of an IPv4 address.
pub(crate) const REVERSE_OCTETS_MAX: usize = 4 * 4 + IN_ADDR.len();

/// The address whose name this is, in lower case: 32 labels of one hexadecimal digit, the last digit first (RFC 3596 2.5).
fn reversed(name: &Name) -> Option<[u8; 16]> {
    let octets = name.octets();
    if octets.len() != 64 + IP6.len() || !octets.ends_with(IP6) {
        return None;
    }
    let mut v6 = [0; 16];
    for (at, label) in octets[..64].chunks_exact(2).enumerate() {
        let &[1, digit] = label else { return None };
        let value = char::from(digit).to_digit(16)? as u8;
        v6[15 - at / 2] |= if at % 2 == 0 { value } else { value << 4 };
    }
    Some(v6)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;
    use wire::rrset::RdataListBuf;

    fn prefix(text: &str, bits: u8) -> Prefix {
        Prefix::new(text.parse().unwrap(), bits).unwrap()
    }

    /// RFC 6052 2.4.
    #[test]
    fn embedded_addresses() {
        for (text, bits, expected) in [
            ("2001:db8::", 32, "2001:db8:c000:221::"),
            ("2001:db8:100::", 40, "2001:db8:1c0:2:21::"),
            ("2001:db8:122::", 48, "2001:db8:122:c000:2:2100::"),
            ("2001:db8:122:300::", 56, "2001:db8:122:3c0:0:221::"),
            ("2001:db8:122:344::", 64, "2001:db8:122:344:c0:2:2100:0"),
            ("2001:db8:122:344::", 96, "2001:db8:122:344::192.0.2.33"),
        ] {
            let prefix = prefix(text, bits);
            let made = Ipv6Addr::from(prefix.address([192, 0, 2, 33]));
            assert_eq!(made, expected.parse::<Ipv6Addr>().unwrap(), "{bits}");
            assert_eq!(prefix.embedded(made.octets()), Some([192, 0, 2, 33]));
            assert_eq!(prefix.embedded("2001:db9::1".parse::<Ipv6Addr>().unwrap().octets()), None);
        }
        assert!(Prefix::new(Ipv6Addr::LOCALHOST, 95).is_none());
    }

    fn dns64(prefixes: &[Prefix]) -> Dns64 {
        Dns64::new(prefixes, &[("2001:db8::".parse().unwrap(), 32)], Networks::default(), Clients::All)
            .unwrap()
    }

    #[test]
    fn addresses_made() {
        let both = [prefix("64:ff9b::", 96), prefix("2001:db8::", 96)];
        let a: RdataListBuf = [&[192, 0, 2, 1][..], &[8, 8, 8, 8], b"bad"].into_iter().collect();
        let made: Vec<String> =
            dns64(&both).made(a.list()).map(|octets| Ipv6Addr::from(octets).to_string()).collect();
        assert_eq!(made, ["2001:db8::c000:201", "64:ff9b::808:808", "2001:db8::808:808"]);
        assert_eq!(dns64(&both).count(a.list()), 3);
        let kept = Networks::built_in(&["8.0.0.0/8"]);
        let kept = Dns64::new(&both, &[], kept, Clients::All).unwrap();
        assert_eq!(kept.count(a.list()), 1);
        assert!(Dns64::new(&[], &[], Networks::default(), Clients::All).is_none());
    }

    #[test]
    fn addresses_that_do_not_count() {
        let dns64 = dns64(&[prefix("64:ff9b::", 96)]);
        for (address, counts) in [("::ffff:1.2.3.4", false), ("2001:db8::1", false), ("2001:db9::1", true)] {
            assert_eq!(dns64.counts(&address.parse::<Ipv6Addr>().unwrap().octets()), counts, "{address}");
        }
        assert!(!dns64.counts(b"short"));
    }

    #[test]
    fn reverse_names() {
        let dns64 = dns64(&[prefix("64:ff9b::", 96)]);
        let mut to = [0; REVERSE_OCTETS_MAX];
        let text = "1.2.2.0.0.0.0.c.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa";
        let name = NameBuf::from_text(text).unwrap();
        assert_eq!(dns64.reverse(&name, &mut to).unwrap().to_string(), "33.2.0.192.in-addr.arpa.");
        for other in [text.replace("b.9", "b.8"), text.replacen("1.2", "12.2", 1), text.replacen('1', "g", 1)]
        {
            assert_eq!(dns64.reverse(&NameBuf::from_text(&other).unwrap(), &mut to), None, "{other}");
        }
    }
}
