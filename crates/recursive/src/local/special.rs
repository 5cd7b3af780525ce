//! Names that are special by themselves, and what they are answered with: the table of `docs/design/recursive.md` 5.

use super::{Kind, Record, Zone};
use crate::limits::LOCAL_TTL;
use wire::NameBuf;
use wire::iana::rtype;

/// A special zone with its records.
pub(super) struct Special {
    pub zone: Zone,
    /// See [`super::Row`].
    pub has_parent: bool,
    pub records: Vec<Record>,
}

/// Zones whose DS RRset is resolved, as they are in the DNS too; all of RFC 6303 but those below, RFC 7793 apart, and RFC 8375.
const EMPTY: [&str; 19] = [
    "home.arpa.",
    "10.in-addr.arpa.",
    "168.192.in-addr.arpa.",
    "0.in-addr.arpa.",
    "127.in-addr.arpa.",
    "254.169.in-addr.arpa.",
    "2.0.192.in-addr.arpa.",
    "100.51.198.in-addr.arpa.",
    "113.0.203.in-addr.arpa.",
    "255.255.255.255.in-addr.arpa.",
    "0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa.",
    "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa.",
    "d.f.ip6.arpa.",
    "8.e.f.ip6.arpa.",
    "9.e.f.ip6.arpa.",
    "a.e.f.ip6.arpa.",
    "b.e.f.ip6.arpa.",
    "8.b.d.0.1.0.0.2.ip6.arpa.",
    // Its names are answered; all else below is as in the others.
    "resolver.arpa.",
];

/// Names that are in no DNS: RFC 6761 6.2 and 6.4, RFC 7686, RFC 6762 22.1.
const NOWHERE: [&str; 4] = ["invalid.", "test.", "onion.", "local."];

/// Addresses of `ipv4only.arpa.` (RFC 7050 8.2).
const IPV4_ONLY: [[u8; 4]; 2] = [[192, 0, 0, 170], [192, 0, 0, 171]];

/// All of them; `has_dns64`: with those that are for DNS64.
pub(super) fn zones(has_dns64: bool) -> Vec<Special> {
    let mut all = Vec::new();
    for name in EMPTY {
        // Clients are told that there is no designated resolver (RFC 9462 6.4), of whatever name they make.
        let kind = if name == "resolver.arpa." { Kind::NoData } else { Kind::Static };
        add(&mut all, name, kind, true);
    }
    (16..=31).for_each(|octet| add(&mut all, &format!("{octet}.172.in-addr.arpa."), Kind::Static, true));
    (64..=127).for_each(|octet| add(&mut all, &format!("{octet}.100.in-addr.arpa."), Kind::Static, true));
    NOWHERE.iter().for_each(|name| add(&mut all, name, Kind::NxDomain, false));
    add(&mut all, "localhost.", Kind::Redirect, false);
    if has_dns64 {
        add(&mut all, "ipv4only.arpa.", Kind::Static, true);
        IPV4_ONLY.iter().for_each(|[a, b, c, d]| {
            add(&mut all, &format!("{d}.{c}.{b}.{a}.in-addr.arpa."), Kind::Static, false);
        });
    }
    for special in &mut all {
        special.add_records();
    }
    all
}

fn add(all: &mut Vec<Special>, name: &str, kind: Kind, has_parent: bool) {
    if let Some(name) = name_of(name) {
        all.push(Special { zone: Zone::new(name, kind), has_parent, records: Vec::new() });
    }
}

fn name_of(text: &str) -> Option<NameBuf> {
    NameBuf::from_text(text).ok()
}

impl Special {
    fn add_records(&mut self) {
        let name = self.zone.name.clone();
        // An empty zone is its own name server (RFC 6303 3).
        if self.zone.kind == Kind::Static {
            self.push(&name, rtype::NS, name.octets());
        }
        match name.to_string().as_str() {
            "localhost." => {
                self.push(&name, rtype::A, &[127, 0, 0, 1]);
                self.push(&name, rtype::AAAA, &std::net::Ipv6Addr::LOCALHOST.octets());
            }
            "127.in-addr.arpa." => {
                if let Some(owner) = name_of("1.0.0.127.in-addr.arpa.") {
                    self.push(&owner, rtype::PTR, b"\x09localhost\0");
                }
            }
            text if text.starts_with("1.0.0.0.0.") => self.push(&name, rtype::PTR, b"\x09localhost\0"),
            "ipv4only.arpa." => IPV4_ONLY.iter().for_each(|address| self.push(&name, rtype::A, address)),
            text if text.ends_with(".0.0.192.in-addr.arpa.") => {
                self.push(&name, rtype::PTR, b"\x08ipv4only\x04arpa\0");
            }
            _ => {}
        }
    }

    fn push(&mut self, owner: &NameBuf, rtype: u16, rdata: &[u8]) {
        let (owner, rdata) = (owner.clone(), rdata.into());
        self.records.push(Record { owner, rtype, ttl: LOCAL_TTL, rdata });
    }
}
