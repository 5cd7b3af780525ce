//! Addresses of private networks that names of others have: a page of an attacker whose name changes to the address of a printer reads what that says
//! (DNS rebinding).
//!
//! Looked at are A and AAAA, and the hints of SVCB and HTTPS (RFC 9460 7.3). What decides is the name asked for: it is the one that a browser knows.

use crate::names::Names;
use crate::networks::Networks;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::Name;
use wire::header::u16_at;
use wire::iana::rtype;
use wire::rrset::RdataList;

/// Networks that are private for nearly everybody: RFC 1918, RFC 6598, loopback, link-local, unspecified, unique local, site-local.
const PRIVATE: [&str; 12] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "::/128",
    "::1/128",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
];

/// IPv4 addresses inside IPv6 ones (RFC 4291 2.5.5.1, RFC 6052 2.1): the octets before the address.
const COMPATIBLE: [u8; 12] = [0; 12];
const WELL_KNOWN: [u8; 12] = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0];
/// Keys of address hints (RFC 9460 14.3.2).
const IPV4_HINT: u16 = 4;
const IPV6_HINT: u16 = 6;

/// What becomes of such an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reaction {
    /// The answer is REFUSED.
    #[default]
    Refuse,
    /// The records are left out.
    Remove,
}

/// Which addresses names of others must not have.
#[derive(Clone, Debug)]
pub struct Rebinding {
    /// The networks.
    pub networks: Networks,
    /// Names that may, with all below.
    pub allowed: Names,
    /// What becomes of answers with such addresses.
    pub reaction: Reaction,
}

impl Rebinding {
    /// Networks that are private for nearly everybody; nobody's names may have them.
    pub fn usual() -> Rebinding {
        Rebinding {
            networks: Networks::built_in(&PRIVATE),
            allowed: Names::default(),
            reaction: Reaction::default(),
        }
    }

    /// Whether answers to a question for this name, in lower case, are looked at.
    pub(crate) fn concerns(&self, qname: &Name) -> bool {
        !self.allowed.has(qname)
    }

    /// Whether a set has such an address.
    pub(crate) fn has_any(&self, rtype: u16, rdatas: RdataList<'_>) -> bool {
        matches!(rtype, rtype::A | rtype::AAAA | rtype::SVCB | rtype::HTTPS)
            && rdatas.into_iter().any(|rdata| self.has(rtype, rdata))
    }

    /// Whether a record has such an address.
    pub(crate) fn has(&self, rtype: u16, rdata: &[u8]) -> bool {
        match rtype {
            rtype::A => self.has_v4(rdata),
            rtype::AAAA => self.has_v6(rdata),
            rtype::SVCB | rtype::HTTPS => self.has_hint(rdata).unwrap_or(false),
            _ => false,
        }
    }

    fn has_v4(&self, octets: &[u8]) -> bool {
        <[u8; 4]>::try_from(octets).is_ok_and(|octets| self.networks.has_v4(Ipv4Addr::from(octets)))
    }

    fn has_v6(&self, octets: &[u8]) -> bool {
        let Ok(octets) = <[u8; 16]>::try_from(octets) else { return false };
        let (before, v4) = octets.split_at(12);
        let is_inside = (before == COMPATIBLE && octets[12] != 0) || before == WELL_KNOWN;
        self.networks.has(Ipv6Addr::from(octets).into()) || is_inside && self.has_v4(v4)
    }

    /// Priority, target, then parameters of key, length and value (RFC 9460 2.2); `None` where it is cut off.
    fn has_hint(&self, rdata: &[u8]) -> Option<bool> {
        let (_, mut rest) = Name::split_from(rdata.get(2..)?).ok()?;
        while !rest.is_empty() {
            let (head, after) = rest.split_at_checked(4)?;
            let (value, after) = after.split_at_checked(u16_at(head, 2).into())?;
            let has = match u16_at(head, 0) {
                IPV4_HINT => value.chunks(4).any(|octets| self.has_v4(octets)),
                IPV6_HINT => value.chunks(16).any(|octets| self.has_v6(octets)),
                _ => false,
            };
            if has {
                return Some(true);
            }
            rest = after;
        }
        Some(false)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    #[test]
    fn private_addresses() {
        let filter = Rebinding::usual();
        for (address, expected) in [
            ("10.1.2.3", true),
            ("127.0.0.1", true),
            ("0.0.0.0", true),
            ("192.168.255.255", true),
            ("172.32.0.1", false),
            ("8.8.8.8", false),
        ] {
            let octets = address.parse::<Ipv4Addr>().unwrap().octets();
            assert_eq!(filter.has(rtype::A, &octets), expected, "{address}");
        }
        for (address, expected) in [
            ("::1", true),
            ("fe80::1", true),
            ("fd12::1", true),
            ("::ffff:10.0.0.1", true),
            ("::ffff:8.8.8.8", false),
            ("64:ff9b::10.0.0.1", true),
            ("64:ff9b::8.8.8.8", false),
            ("::10.0.0.1", true),
            ("2001:db8::1", false),
        ] {
            let octets = address.parse::<Ipv6Addr>().unwrap().octets();
            assert_eq!(filter.has(rtype::AAAA, &octets), expected, "{address}");
        }
        assert!(!filter.has(rtype::A, b"abc") && !filter.has(rtype::TXT, &[10, 0, 0, 1]));
    }

    #[test]
    fn hints() {
        let filter = Rebinding::usual();
        for (parameters, expected) in [
            (&b""[..], false),
            (b"\0\x01\0\x03\x02h2\0\x04\0\x04\x08\x08\x08\x08", false),
            (b"\0\x01\0\x03\x02h2\0\x04\0\x08\x08\x08\x08\x08\x0a\0\0\x01", true),
            (b"\0\x06\0\x10\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", true),
            (b"\0\x04\0\x08\x0a\0\0\x01", false),
        ] {
            let rdata = [b"\0\x01\x03svc\0", parameters].concat();
            assert_eq!(filter.has(rtype::HTTPS, &rdata), expected, "{parameters:?}");
        }
    }

    #[test]
    fn names_that_may() {
        let name = |text: &str| NameBuf::from_text(text).unwrap();
        let filter = Rebinding { allowed: Names::new(&[name("corp")]), ..Rebinding::usual() };
        assert!(!filter.concerns(&name("www.corp")) && filter.concerns(&name("evil.example")));
    }
}
