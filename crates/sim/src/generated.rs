//! A larger Internet, of real names: a root, TLDs, zones below them, name servers, as they are delegated on the real one.
//!
//! ```text
//! names -> registered names (last two or three labels) -> zones
//!            TLD: servers of its registry, large ones share           hoster.: zones with servers that others use
//!            zone: servers of a hoster | its own | a mix              cdn.: targets of aliases, short TTLs
//! ```
//!
//! What is drawn at random is drawn of the seed; the same seed, names and shares give the same zones. Shares follow what is measured on real
//! names (data/README.md has the source of these): 4 % have an alias, TTLs are those that came with the names.

use crate::Random;
use crate::scenario::{Plan, ZonePlan};
use crate::signer::{Denial, FaultKind, Signing};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::NameBuf;
use wire::iana::{algorithm, rtype};

/// Names of popular sites that ship with the model: one a line.
pub const POPULAR: &str = include_str!("../data/popular.txt");
/// Names that a resolver was asked for: name, RCODE, CNAMEs, addresses, TTL.
pub const RESOLVED: &str = include_str!("../data/resolved.tsv");
/// More of these, none of which is in the other lists.
pub const RESOLVED_MORE: &str = include_str!("../data/resolved-more.tsv");

/// What is to be generated.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Of everything that is drawn at random.
    pub seed: u64,
    /// How many of a hundred zones below TLDs are signed. The root and nine TLDs of ten are, if this is not 0; with 100 everything is, zones of name servers too.
    pub signed_percent: u64,
    /// How many of a hundred signed zones are bogus.
    pub bogus_percent: u64,
    /// Whether servers have IPv6 addresses too.
    pub has_ipv6: bool,
    /// How many of a hundred zones are delegated to servers that do not have them.
    pub lame_percent: u64,
    /// When signatures are good: seconds since 1970.
    pub now: u32,
    /// How many addresses the servers of a [`group`] share; 0: each has its own. Worlds in virtual time want that; real servers have few.
    pub addresses_a_group: u32,
    /// Where addresses of servers begin; 2,048 that follow are theirs where groups share them.
    pub first_address: Ipv4Addr,
}

/// Where addresses of servers begin unless something else is asked for: of 198.18.0.0/15, which is for measurements (RFC 2544).
pub const FIRST_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);

impl Default for Wanted {
    /// Some of all, for virtual time.
    fn default() -> Wanted {
        Wanted {
            seed: 1,
            signed_percent: 30,
            bogus_percent: 3,
            has_ipv6: true,
            lame_percent: 0,
            now: crate::BEGIN_UNIX_SECONDS,
            addresses_a_group: 0,
            first_address: FIRST_ADDRESS,
        }
    }
}

/// How many groups of servers there are.
pub const GROUPS: usize = 5;

/// Which real server may stand for a name server such that no zone and the zones below it are on the same one: the root, TLDs, hosters in two halves, all
/// others.
pub fn group(server: &str) -> usize {
    let number = server.trim_start_matches(|c: char| !c.is_ascii_digit());
    match server {
        _ if server.ends_with(".root-servers.net.") => 0,
        _ if server.contains(".nic.") || server.ends_with(".gtld-servers.net.") => 1,
        _ if server.contains(".hoster") => {
            let digits = server.split_once("hoster").map_or(number, |(_, rest)| rest);
            2 + usize::from(
                digits.split('.').next().is_some_and(|one| one.ends_with(['1', '3', '5', '7', '9'])),
            )
        }
        _ => 4,
    }
}

/// A name as it was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameSeen {
    /// In lower case.
    pub name: NameBuf,
    /// How many aliases led to its addresses.
    pub aliases: u32,
    /// How many addresses it had; 0: it had none, or does not exist.
    pub addresses: u32,
    /// Their TTL.
    pub ttl: u32,
}

/// An Internet of zones, and what can be asked of it.
pub struct Generated {
    /// Zones, servers, signing.
    pub plan: Plan,
    /// Questions about all names that came in: those that exist, in the order of the list.
    pub names: Vec<(NameBuf, u16)>,
    /// Questions of all kinds about names of the zones, and others.
    pub questions: Vec<(NameBuf, u16)>,
    /// Zones that are bogus.
    pub bogus: BTreeSet<String>,
}

/// Zones for each hoster, CDN zones, and the least of each.
const ZONES_A_HOSTER: usize = 40;
const HOSTERS_MIN: usize = 3;
const CDNS: usize = 5;
/// A number that no algorithm has.
const UNKNOWN_ALGORITHM: u8 = 200;
/// The server of zones that nobody has.
const NOBODY: &str = "nobody.";
/// TLDs that one registry's servers have together.
const LARGE: [&str; 2] = ["com", "net"];
/// Second labels below which names are registered where the TLD is a country's.
const REGISTRY_LABELS: [&str; 8] = ["co", "com", "net", "org", "ac", "gov", "edu", "or"];

/// The names of both lists.
pub fn names_seen() -> Vec<NameSeen> {
    let popular = POPULAR.lines().map(|name| format!("{name}\t0\t0\t2\t300"));
    popular.chain(RESOLVED.lines().map(str::to_owned)).filter_map(|line| NameSeen::read(&line)).collect()
}

/// So many names, evenly of both lists; where these have fewer, of a longer one too.
pub fn names_evenly(count: usize) -> Vec<NameSeen> {
    let mut seen = names_seen();
    if count > seen.len() {
        seen.extend(RESOLVED_MORE.lines().filter_map(NameSeen::read));
    }
    let every = (seen.len() / count.max(1)).max(1);
    seen.into_iter().step_by(every).collect()
}

impl NameSeen {
    fn read(line: &str) -> Option<NameSeen> {
        let mut fields = line.split('\t');
        let name: NameBuf = fields.next()?.parse().ok()?;
        let mut number = || fields.next()?.parse::<u32>().ok();
        let (rcode, aliases, addresses, ttl) = (number()?, number()?, number()?, number().unwrap_or(300));
        // Names with other octets than host names have are left out: master files can have them, lists of them are mostly noise.
        let is_host = |octet: &u8| octet.is_ascii_alphanumeric() || matches!(octet, b'-' | b'_');
        let is_plain = name.labels().all(|label| label.iter().all(is_host));
        let found = if rcode == 0 { addresses } else { 0 };
        Some(NameSeen { name: name.to_lowercase(), aliases, addresses: found, ttl: ttl.clamp(1, 86_400) })
            .filter(|_| is_plain && name.label_count() >= 2)
    }
}

/// Generates zones for the names.
pub fn generated(wanted: &Wanted, names: &[NameSeen]) -> Generated {
    let mut zones: BTreeMap<String, Vec<&NameSeen>> = BTreeMap::new();
    for seen in names {
        zones.entry(registered(&seen.name)).or_default().push(seen);
    }
    let hosters = (zones.len() / ZONES_A_HOSTER).max(HOSTERS_MIN);
    let mut generator = Generator {
        wanted: wanted.clone(),
        random: Random::new(wanted.seed),
        plan: Plan::default(),
        hosters,
        next_address: 0,
        next_of_group: [0; GROUPS],
        bogus: BTreeSet::new(),
        questions: Vec::new(),
        all: zones.keys().cloned().collect(),
    };
    let registries: BTreeSet<String> = zones.keys().map(|zone| above(zone)).chain(infrastructure()).collect();
    let higher = registries.iter().map(|zone| above(zone)).filter(|zone| zone != ".");
    let tlds: BTreeSet<String> = higher.chain(registries.iter().cloned()).collect();
    generator.root();
    tlds.iter().filter(|tld| !zones.contains_key(*tld)).for_each(|tld| generator.tld(tld));
    generator.hosters_and_cdns();
    for (zone, seen) in &zones {
        generator.zone(zone, seen);
    }
    let asked = names.iter().filter(|seen| seen.addresses > 0).map(|seen| (seen.name.clone(), rtype::A));
    let names: Vec<(NameBuf, u16)> = asked.collect();
    let mut questions = generator.questions;
    questions.extend(names.iter().cloned());
    generator.random.shuffle(&mut questions);
    Generated { names, questions, plan: generator.plan, bogus: generator.bogus }
}

/// TLDs that are there whatever the names.
fn infrastructure() -> Vec<String> {
    vec!["net.".to_owned(), "com.".to_owned()]
}

/// The zone that a name is registered as: its last two labels, or three.
fn registered(name: &NameBuf) -> String {
    let labels: Vec<String> =
        name.labels().map(|label| String::from_utf8_lossy(label).into_owned()).collect();
    let last = |count: usize| labels[labels.len() - count.min(labels.len())..].join(".") + ".";
    let is_country = labels.last().is_some_and(|tld| tld.len() == 2);
    let is_deep = is_country && labels.len() > 2 && REGISTRY_LABELS.contains(&&*labels[labels.len() - 2]);
    last(if is_deep { 3 } else { 2 })
}

/// The name without its first label.
fn above(zone: &str) -> String {
    zone.split_once('.').map_or(".", |(_, rest)| if rest.is_empty() { "." } else { rest }).to_owned()
}

struct Generator {
    wanted: Wanted,
    random: Random,
    plan: Plan,
    hosters: usize,
    next_address: u32,
    next_of_group: [u32; GROUPS],
    bogus: BTreeSet<String>,
    questions: Vec<(NameBuf, u16)>,
    /// All zones of names, in order.
    all: Vec<String>,
}

impl Generator {
    /// Addresses of a new server, as lines: as asked for, and of 2001:2::/48, which is for measurements (RFC 5180).
    fn addresses(&mut self, server: &str, ttl: u32) -> String {
        let number = self.next_number(server);
        let v4 = Ipv4Addr::from(u32::from(self.wanted.first_address) + number);
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
    fn ask(&mut self, name: &str, qtype: u16) {
        self.questions.extend(name.parse().ok().map(|name| (name, qtype)));
    }

    fn add(&mut self, zone: &str, text: &str, signing: Option<Signing>) {
        let apex: NameBuf = zone.parse().expect("a zone of a name");
        let mut plan = ZonePlan::new(&apex, text);
        plan.signing = signing;
        self.plan.zones.push(plan);
    }

    fn signing(&self, algorithm: u8, denial: Denial) -> Option<Signing> {
        let now = self.wanted.now;
        let signing = Signing {
            algorithms: vec![algorithm],
            denial,
            inception: now - 86_400,
            expiration: now + 30 * 86_400,
            ..Signing::new(self.wanted.seed)
        };
        (self.wanted.signed_percent > 0).then_some(signing)
    }

    /// Whether nothing is left unsigned.
    fn is_all_signed(&self) -> bool {
        self.wanted.signed_percent >= 100
    }

    /// How zones of hosters and CDNs are signed: mostly they are not.
    fn common_signing(&self) -> Option<Signing> {
        self.signing(algorithm::ECDSAP256SHA256, Denial::Nsec).filter(|_| self.is_all_signed())
    }

    fn root(&mut self) {
        let mut text = "@ 86400 SOA a.root-servers.net. nstld.example. 1 1800 900 604800 86400\n".to_owned();
        for letter in "abcd".chars() {
            let server = format!("{letter}.root-servers.net.");
            let _ = writeln!(text, "@ 518400 NS {server}");
            text += &self.addresses(&server, 518_400);
        }
        let signing = self.signing(algorithm::RSASHA256, Denial::Nsec);
        self.add(".", &text, signing);
    }

    fn tld(&mut self, tld: &str) {
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

    fn hosters_and_cdns(&mut self) {
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

    fn zone(&mut self, zone: &str, names: &[&NameSeen]) {
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
        let taken = ["ns1", "ns2", "mail", "moved", "chain", "large", "to", "any", "ent"];
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
            let kinds = [
                FaultKind::Expired,
                FaultKind::NotYetValid,
                FaultKind::Broken,
                FaultKind::Missing,
                FaultKind::UnknownKey,
                FaultKind::WrongDigest,
            ];
            let at = self.random.index(kinds.len());
            signing.faults.push(kinds[at].clone().everywhere());
            if is_supported(signing) {
                self.bogus.insert(zone.to_owned());
            }
        }
        self.add(zone, &text, signing);
        if self.random.below(100) < self.wanted.lame_percent
            && let Some(plan) = self.plan.zones.last_mut()
        {
            plan.servers = vec![NOBODY.to_owned()];
        }
    }

    /// What is not in every zone: wildcards, empty non-terminals, redirections, aliases into other zones, large answers; and questions about these,
    /// about what is not there, and about the zone itself.
    fn hard(&mut self, zone: &str) -> String {
        let mut text = String::new();
        // Aliases lead to zones further on in the order only, so that none comes back.
        let later = self.all.partition_point(|other| other.as_str() <= zone);
        let target = (later < self.all.len())
            .then(|| self.all[later + self.random.index(self.all.len() - later)].clone());
        let address = self.data_address();
        match (self.random.below(20), target) {
            (0, _) => {
                let _ = writeln!(text, "*.any 300 A {address}\n*.any 300 TXT any");
                self.ask(&format!("one.any.{zone}"), rtype::A);
                self.ask(&format!("two.any.{zone}"), rtype::MX);
                self.ask(&format!("any.{zone}"), rtype::A);
            }
            (1, _) => {
                let _ = writeln!(text, "a.b.ent 300 A {address}");
                self.ask(&format!("b.ent.{zone}"), rtype::A);
                self.ask(&format!("c.ent.{zone}"), rtype::A);
                self.ask(&format!("a.b.ent.{zone}"), rtype::AAAA);
            }
            (2, Some(target)) => {
                let _ = writeln!(text, "moved 300 DNAME {target}");
                self.ask(&format!("mail.moved.{zone}"), rtype::A);
                self.ask(&format!("none.moved.{zone}"), rtype::A);
                self.ask(&format!("moved.{zone}"), rtype::DNAME);
            }
            (3 | 4, Some(target)) => {
                let _ = writeln!(text, "chain 300 CNAME chain.{target}");
                self.ask(&format!("chain.{zone}"), rtype::A);
                self.ask(&format!("chain.{zone}"), rtype::CNAME);
            }
            (5, _) => {
                let part = "x".repeat(200);
                let _ = writeln!(
                    text,
                    "large 300 TXT \"{part}\" \"{part}\" \"{part}\" \"{part}\" \"{part}\" \"{part}\" \"{part}\""
                );
                self.ask(&format!("large.{zone}"), rtype::TXT);
            }
            (6, _) => {
                let _ = writeln!(text, "*.to 300 CNAME mail");
                self.ask(&format!("one.to.{zone}"), rtype::A);
                self.ask(&format!("one.to.{zone}"), rtype::TXT);
            }
            (7, _) => self.ask(&format!("none.{zone}"), rtype::A),
            (8, _) => self.ask(&format!("a.b.none.{zone}"), rtype::AAAA),
            (9, _) => self.ask(zone, rtype::DNSKEY),
            (10, _) => self.ask(zone, rtype::DS),
            (11, _) => self.ask(zone, rtype::SOA),
            (12, _) => self.ask(zone, rtype::NS),
            (13, _) => self.ask(zone, rtype::MX),
            (14, _) => self.ask(&format!("mail.{zone}"), rtype::TXT),
            (15, _) => self.ask(&format!("none-{}{}", &zone[..1], above(&format!(".{zone}"))), rtype::A),
            (16, _) => self.ask(&format!("{}not-there.", zone), rtype::A),
            _ => {}
        }
        text
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
        if self.random.chance(0.3) {
            let _ = writeln!(text, "{owner} {} AAAA 2001:db8::{:x}", seen.ttl, self.random.below(65_536));
        }
        text
    }

    /// An address that nothing listens at: of 192.0.2.0/24 and 203.0.113.0/25, where no mark of attackers is.
    fn data_address(&mut self) -> Ipv4Addr {
        match self.random.below(2) {
            0 => Ipv4Addr::new(192, 0, 2, self.random.below(256) as u8),
            _ => Ipv4Addr::new(203, 0, 113, self.random.below(64) as u8),
        }
    }

    /// Algorithms and proofs as zones have them: mostly P-256, some RSA, few others, one of fifty an algorithm that nobody knows; NSEC and NSEC3 in halves;
    /// rolls that have begun.
    fn zone_signing(&mut self) -> Option<Signing> {
        let algorithm = match self.random.below(50) {
            0..34 => algorithm::ECDSAP256SHA256,
            34..42 => algorithm::RSASHA256,
            42 => algorithm::RSASHA512,
            43 => algorithm::ECDSAP384SHA384,
            44..49 => algorithm::ED25519,
            _ => UNKNOWN_ALGORITHM,
        };
        let ds_digests = match self.random.below(10) {
            0 => vec![4],
            1 => vec![1, 2],
            _ => vec![2],
        };
        let (has_standby, has_revoked) = (self.random.chance(0.1), self.random.chance(0.05));
        let denial = match self.random.below(2) {
            0 => Denial::Nsec,
            _ => Denial::Nsec3 { iterations: 0, salt: Vec::new(), opt_out: false },
        };
        let has_single_key = self.random.chance(0.4);
        let signing = self.signing(algorithm, denial)?;
        let mut signing = Signing { has_single_key, has_standby, has_revoked, ds_digests, ..signing };
        if self.random.chance(0.05) {
            // A DS of no key beside the right one.
            signing.faults.push(FaultKind::StrangeDs(12_345, algorithm).everywhere());
        }
        Some(signing)
    }
}

/// Whether validators know how a zone is signed; if not, it is insecure.
pub fn is_supported(signing: &Signing) -> bool {
    signing.algorithms.iter().any(|algorithm| *algorithm != UNKNOWN_ALGORITHM)
}

fn soa(primary: &str) -> String {
    format!("@ 3600 SOA {primary} host 1 7200 900 1209600 600\n")
}
