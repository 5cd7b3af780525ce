//! The zones: a root, TLDs, those of hosters and CDNs, and one for each registered name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use wire::NameBuf;
use wire::iana::{algorithm, rtype};

use super::{GROUPS, NameSeen, Wanted, group};
use crate::Random;
use crate::scenario::{Plan, ZonePlan};
use crate::signer::{Denial, Signing};

/// How many CDN zones there are.
const CDNS: usize = 5;
/// The server of zones that nobody has.
const NOBODY: &str = "nobody.";
/// TLDs that one registry's servers have together.
const LARGE: [&str; 2] = ["com", "net"];
/// The zone of the reverse names of servers with IPv4 addresses, three labels below its TLD.
const REVERSE: &str = "18.198.in-addr.arpa.";

/// Zones in the making.
pub(super) struct Generator {
    pub wanted: Wanted,
    pub random: Random,
    pub plan: Plan,
    /// How many hosters there are.
    pub hosters: usize,
    next_address: u32,
    next_of_group: [u32; GROUPS],
    pub bogus: BTreeSet<String>,
    pub questions: Vec<(NameBuf, u16)>,
    /// All zones of names, in order.
    pub all: Vec<String>,
    /// A name of each IPv4 address.
    pointers: BTreeMap<Ipv4Addr, String>,
}

impl Generator {
    /// Nothing yet; `all`: the zones that will be.
    pub fn new(wanted: &Wanted, hosters: usize, all: Vec<String>) -> Generator {
        Generator {
            wanted: wanted.clone(),
            random: Random::new(wanted.seed),
            plan: Plan::default(),
            hosters,
            next_address: 0,
            next_of_group: [0; GROUPS],
            bogus: BTreeSet::new(),
            questions: Vec::new(),
            all,
            pointers: BTreeMap::new(),
        }
    }

    /// Addresses of a new server, as lines: as asked for, and of 2001:2::/48, which is for measurements (RFC 5180).
    fn addresses(&mut self, server: &str, ttl: u32) -> String {
        let number = self.next_number(server);
        let v4 = Ipv4Addr::from(u32::from(self.wanted.first_address) + number);
        self.pointers.entry(v4).or_insert_with(|| server.to_owned());
        let mut lines = format!("{server} {ttl} A {v4}\n");
        if self.wanted.has_ipv6 && self.random.chance(0.6) {
            let v6 = Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, (number >> 16) as u16, number as u16);
            let _ = writeln!(lines, "{server} {ttl} AAAA {v6}");
        }
        lines
    }

    /// Addresses of a server whose name is relative to its zone.
    fn addresses_of(&mut self, server: &str, zone: &str, ttl: u32) -> String {
        self.addresses(&format!("{server}.{zone}"), ttl)
    }

    /// The number of the address of a new server: one of its group's in turn, or one that no other has.
    fn next_number(&mut self, server: &str) -> u32 {
        let each = self.wanted.addresses_a_group;
        if each == 0 {
            self.next_address += 1;
            return self.next_address;
        }
        let group = group(server);
        self.next_of_group[group] += 1;
        (group as u32) << 8 | (1 + self.next_of_group[group] % each)
    }

    /// Adds a question about a name of the model.
    pub(super) fn ask(&mut self, name: &str, qtype: u16) {
        self.questions.extend(name.parse().ok().map(|name| (name, qtype)));
    }

    pub(super) fn add(&mut self, zone: &str, text: &str, signing: Option<Signing>) {
        let apex: NameBuf = zone.parse().expect("a zone of a name");
        let mut plan = ZonePlan::new(&apex, text);
        plan.signing = signing;
        self.plan.zones.push(plan);
    }

    pub(super) fn root(&mut self) {
        let mut text = "@ 86400 SOA a.root-servers.net. nstld.example. 1 1800 900 604800 86400\n".to_owned();
        for letter in "abcd".chars() {
            let server = format!("{letter}.root-servers.net.");
            let _ = writeln!(text, "@ 518400 NS {server}");
            text += &self.addresses(&server, 518_400);
        }
        let signing = self.signing(algorithm::RSASHA256, Denial::Nsec);
        self.add(".", &text, signing);
    }

    pub(super) fn tld(&mut self, tld: &str) {
        let mut text = format!("@ 900 SOA a.nic.{tld} host.nic.{tld} 1 1800 900 604800 900\n");
        let is_large = LARGE.iter().any(|large| tld == format!("{large}."));
        for letter in "ab".chars() {
            match is_large {
                true => {
                    let _ = writeln!(text, "@ 172800 NS {letter}.gtld-servers.net.");
                    if tld == "net." {
                        text += &self.addresses(&format!("{letter}.gtld-servers.net."), 172_800);
                    }
                }
                false => {
                    let server = format!("{letter}.nic.{tld}");
                    let _ = writeln!(text, "@ 172800 NS {server}");
                    text += &self.addresses(&server, 172_800);
                }
            }
        }
        let denial = Denial::Nsec3 { iterations: 0, salt: Vec::new(), opt_out: true };
        let is_signed = self.random.chance(0.9) || self.is_all_signed();
        let signing = self.signing(algorithm::ECDSAP256SHA256, denial).filter(|_| is_signed);
        self.add(tld, &text, signing);
    }

    pub(super) fn hosters_and_cdns(&mut self) {
        for number in 0..self.hosters {
            let zone = format!("hoster{number}.net.");
            let mut text = soa(&format!("ns1.{zone}"));
            for server in ["ns1", "ns2"] {
                let _ = writeln!(text, "@ 86400 NS {server}");
                text += &self.addresses_of(server, &zone, 86_400);
            }
            let signing = self.common_signing();
            self.add(&zone, &text, signing);
        }
        for number in 0..CDNS {
            let zone = format!("cdn{number}.net.");
            let mut text = soa(&format!("ns1.hoster{}.net.", number % self.hosters));
            let _ = writeln!(text, "@ 3600 NS ns1.hoster{}.net.", number % self.hosters);
            let _ = writeln!(text, "*.edge 20 A 192.0.2.{number}\n*.edge 20 AAAA 2001:db8::{number}");
            let _ = writeln!(text, "*.map 300 CNAME any.edge");
            let signing = self.common_signing();
            self.add(&zone, &text, signing);
        }
    }

    pub(super) fn zone(&mut self, zone: &str, names: &[&NameSeen]) {
        let hoster = self.random.index(self.hosters);
        let mut text = String::new();
        // Whose servers: a hoster's mostly, its own, or both.
        let kind = self.random.below(100);
        if !(70..95).contains(&kind) {
            let _ = writeln!(text, "@ 86400 NS ns1.hoster{hoster}.net.\n@ 86400 NS ns2.hoster{hoster}.net.");
        }
        if kind >= 70 {
            for server in ["ns1", "ns2"] {
                let _ = writeln!(text, "@ 86400 NS {server}");
                text += &self.addresses_of(server, zone, 3600);
            }
        }
        let first = if kind < 70 { format!("ns1.hoster{hoster}.net.") } else { format!("ns1.{zone}") };
        text.insert_str(0, &soa(&first));
        let _ = writeln!(text, "@ 3600 MX 10 mail\nmail 3600 A {}", self.data_address());
        // Names of `hard`, which a list of names may have too.
        let taken = [
            "ns1",
            "ns2",
            "mail",
            "moved",
            "chain",
            "large",
            "to",
            "any",
            "ent",
            "odd",
            "service",
            "short",
            "many",
            "_sip._tcp",
        ];
        let mut written: BTreeSet<String> = taken.map(str::to_owned).into();
        for seen in names.iter().filter(|seen| seen.addresses > 0) {
            let owner = seen.name.to_string();
            let relative = owner.strip_suffix(zone).unwrap_or(&owner).trim_end_matches('.').to_owned();
            let is_redirected = relative.ends_with(".moved");
            if !is_redirected && written.insert(relative.clone()) {
                text += &self.data(&relative, seen);
            }
        }
        text += &self.hard(zone);
        let is_signed = self.random.below(100) < self.wanted.signed_percent;
        let mut signing = self.zone_signing().filter(|_| is_signed);
        if let Some(signing) = &mut signing
            && self.random.below(100) < self.wanted.bogus_percent
        {
            self.spoil(zone, signing);
        }
        self.add(zone, &text, signing);
        if self.random.below(100) < self.wanted.lame_percent
            && let Some(plan) = self.plan.zones.last_mut()
        {
            plan.servers = vec![NOBODY.to_owned()];
        }
    }

    /// The names of addresses of servers, in a zone three labels below its TLD.
    pub(super) fn reverse(&mut self) {
        let server = "ns1.hoster0.net.";
        let mut text = soa(server) + &format!("@ 86400 NS {server}\n");
        for (address, name) in std::mem::take(&mut self.pointers) {
            let [first, second, third, fourth] = address.octets();
            if (first, second) == (198, 18) {
                let _ = writeln!(text, "{fourth}.{third} 3600 PTR {name}");
                self.ask(&format!("{fourth}.{third}.{REVERSE}"), rtype::PTR);
                self.ask(&format!("{third}.{REVERSE}"), rtype::PTR);
            }
        }
        self.ask(&format!("255.255.{REVERSE}"), rtype::PTR);
        let signing = self.signing(algorithm::ECDSAP256SHA256, Denial::Nsec);
        self.add(REVERSE, &text, signing);
    }

    /// Records of a name: an alias into a CDN, or addresses.
    fn data(&mut self, relative: &str, seen: &NameSeen) -> String {
        let owner = if relative.is_empty() { "@" } else { relative };
        if seen.aliases > 0 && owner != "@" {
            let kind = if seen.aliases > 1 { "map" } else { "edge" };
            let cdn = self.random.index(CDNS);
            return format!("{owner} {} CNAME {}.{kind}.cdn{cdn}.net.\n", seen.ttl, seen.addresses);
        }
        let mut text = String::new();
        for _ in 0..seen.addresses.min(8) {
            let _ = writeln!(text, "{owner} {} A {}", seen.ttl, self.data_address());
        }
        if self.random.chance(0.15) {
            let _ = writeln!(text, "{owner} {} HTTPS 1 . alpn=h2,h3", seen.ttl);
        }
        if self.random.chance(0.3) {
            let _ = writeln!(text, "{owner} {} AAAA 2001:db8::{:x}", seen.ttl, self.random.below(65_536));
        }
        text
    }

    /// An address that nothing listens at: of 192.0.2.0/24 and 203.0.113.0/25, where no mark of attackers is.
    pub(super) fn data_address(&mut self) -> Ipv4Addr {
        match self.random.below(2) {
            0 => Ipv4Addr::new(192, 0, 2, self.random.below(256) as u8),
            _ => Ipv4Addr::new(203, 0, 113, self.random.below(64) as u8),
        }
    }
}

fn soa(primary: &str) -> String {
    format!("@ 3600 SOA {primary} host 1 7200 900 1209600 600\n")
}
