//! A delegation-only top-level zone with the shape of `net.` (the zone of the USENIX paper had 8,541,503 RRs).
//!
//! | what | how |
//! |---|---|
//! | delegations | two NS each; labels from [`crate::labels`] |
//! | 70 % of them | the two name servers of a provider drawn by Zipf's law |
//! | one provider in five | hosts below its own delegation in this zone, with glue: A each, AAAA for a quarter |
//! | 30 % of the delegations | name servers of their own: most in another zone (`ns1.LABEL.com.`), 9 % of them in-domain with glue |
//! | apex | SOA, 13 name servers below a delegated name, with A and AAAA |
//!
//! With 4,000,000 delegations and 100,000 providers this makes about 8.3 million records. Every owner draws
//! from a random stream of its own, so the order of the lines does not change the zone.

use std::io::{self, Write};

use super::text::{Counts, Style, ZoneText, ipv4, ipv6, join};
use crate::{
    labels::{Labels, RESERVED},
    random::{Random, Zipf},
};

/// Shape of the zone.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Apex: absolute, lower case, with final dot.
    pub origin: String,
    /// How many providers there are; more than delegations counts as one each.
    pub providers: usize,
    /// Share of delegations that use a provider, 0 to 1.
    pub provider_share: f64,
    /// Serial of the SOA.
    pub serial: u32,
    /// Form of the lines.
    pub style: Style,
    /// Owners in random instead of canonical order (the apex stays first).
    pub shuffled: bool,
    /// Start of the random streams.
    pub seed: u64,
}

/// One provider in this many has its hosts in the zone itself.
const PROVIDER_IN_ZONE_EACH: usize = 5;
/// Share of hosts with glue that have an IPv6 address too.
const GLUE_AAAA_SHARE: f64 = 0.25;
/// Share of the delegations with name servers of their own whose servers are in-domain.
const OWN_IN_DOMAIN_SHARE: f64 = 0.09;
/// TTL of everything, as large registries have it.
const TTL_SECONDS: u32 = 172_800;
/// Host labels of a provider's first and second server; each pair is in canonical order.
const HOST_PAIRS: [[&str; 2]; 6] =
    [["ns1", "ns2"], ["ns1", "ns2"], ["dns1", "dns2"], ["a.ns", "b.ns"], ["ns", "ns2"], ["pdns01", "pdns02"]];
/// Where providers and own name servers outside the zone are.
const OTHER_ZONES: [&str; 4] = ["com.", "com.", "org.", "info."];
/// In the list of owners: the delegation that holds the name servers of the apex.
const APEX_SERVERS: u32 = u32::MAX >> 2;
/// In the list of owners: the two upper bits say delegation, first host or second host.
const PART_SHIFT: u32 = 30;

/// Whose name servers a delegation has.
#[derive(Clone, Copy)]
enum Servers {
    /// Those of the provider of that rank; its domain is the label of that index.
    Provider(usize),
    /// Hosts below the delegation itself, with glue.
    InDomain,
    /// Hosts below the same label in another zone.
    Elsewhere(&'static str),
}

/// Writes the zone with one delegation for each label; returns what was written.
pub fn write<W: Write>(output: W, shape: &Shape, labels: &Labels) -> io::Result<Counts> {
    let zone = ZoneText::begin(output, shape.style, &shape.origin, TTL_SECONDS)?;
    let providers = shape.providers.clamp(1, labels.count().max(1));
    let mut writer = Writer { zone, shape, labels, providers, law: Zipf::new(providers), name: Vec::new() };
    writer.apex()?;
    for owner in writer.owners() {
        writer.owner(owner)?;
    }
    writer.zone.end()
}

struct Writer<'a, W: Write> {
    zone: ZoneText<W>,
    shape: &'a Shape,
    labels: &'a Labels,
    providers: usize,
    law: Zipf,
    name: Vec<u8>,
}

impl<W: Write> Writer<'_, W> {
    fn apex(&mut self) -> io::Result<()> {
        let servers = String::from_utf8_lossy(RESERVED).into_owned();
        let mname = if self.shape.origin == "." {
            format!("a.{servers}.")
        } else {
            format!("a.{servers}.{}", self.shape.origin)
        };
        self.zone.soa(&mname, "hostmaster.example.", self.shape.serial)?;
        (b'a'..=b'm')
            .try_for_each(|letter| self.zone.ns(b"@", format!("{}.{servers}", letter as char).as_bytes()))
    }

    /// Every owner below the apex in the order of its lines: delegations, and hosts with glue.
    fn owners(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.labels.count() as u32).chain([APEX_SERVERS]).collect();
        if !self.shape.shuffled {
            // Siblings in lower case: canonical order is that of their octets (RFC 4034 6.1).
            order.sort_unstable_by(|&a, &b| self.label(a).cmp(self.label(b)));
        }
        let mut owners = Vec::with_capacity(order.len() + order.len() / 8);
        for index in order {
            owners.push(index);
            if index != APEX_SERVERS && self.host_pair(index as usize).is_some() {
                owners.extend([index | 1 << PART_SHIFT, index | 2 << PART_SHIFT]);
            }
        }
        if self.shape.shuffled {
            Random::part(self.shape.seed, 3).shuffle(&mut owners);
        }
        owners
    }

    fn label(&self, index: u32) -> &[u8] {
        if index == APEX_SERVERS { RESERVED } else { self.labels.label(index as usize) }
    }

    fn random(&self, index: usize) -> Random {
        Random::part(self.shape.seed, 1000 + index as u64)
    }

    fn servers(&self, index: usize) -> Servers {
        if self.is_provider_in_zone(index) {
            return Servers::Provider(index);
        }
        let mut random = self.random(index);
        if random.chance(self.shape.provider_share) {
            Servers::Provider(self.law.draw(&mut random))
        } else if random.chance(OWN_IN_DOMAIN_SHARE) {
            Servers::InDomain
        } else {
            Servers::Elsewhere(OTHER_ZONES[random.index(OTHER_ZONES.len())])
        }
    }

    fn is_provider_in_zone(&self, rank: usize) -> bool {
        rank < self.providers && rank % PROVIDER_IN_ZONE_EACH == 2
    }

    /// The labels of the hosts below delegation `index` that have glue, if it has such hosts.
    fn host_pair(&self, index: usize) -> Option<[&'static str; 2]> {
        if self.is_provider_in_zone(index) {
            return Some(HOST_PAIRS[index % HOST_PAIRS.len()]);
        }
        matches!(self.servers(index), Servers::InDomain).then_some(HOST_PAIRS[0])
    }

    fn owner(&mut self, owner: u32) -> io::Result<()> {
        let (index, part) = (owner & APEX_SERVERS, owner >> PART_SHIFT);
        match part {
            0 if index == APEX_SERVERS => self.apex_servers(),
            0 => self.delegation(index as usize),
            _ => self.host(index as usize, part as usize - 1),
        }
    }

    fn delegation(&mut self, index: usize) -> io::Result<()> {
        let (label, pair, zone) = match self.servers(index) {
            Servers::Provider(rank) if self.is_provider_in_zone(rank) => {
                (rank, HOST_PAIRS[rank % HOST_PAIRS.len()], "")
            }
            Servers::Provider(rank) => {
                (rank, HOST_PAIRS[rank % HOST_PAIRS.len()], OTHER_ZONES[rank % OTHER_ZONES.len()])
            }
            Servers::InDomain => (index, HOST_PAIRS[0], ""),
            Servers::Elsewhere(zone) => (index, HOST_PAIRS[0], zone),
        };
        for host in pair {
            join(&mut self.name, host, self.labels.label(label), zone);
            self.zone.ns(self.labels.label(index), &self.name)?;
        }
        Ok(())
    }

    fn host(&mut self, index: usize, which: usize) -> io::Result<()> {
        let Some(pair) = self.host_pair(index) else { return Ok(()) };
        join(&mut self.name, pair[which], self.labels.label(index), "");
        let mut random = Random::part(self.random(index).next_u64(), which as u64);
        self.zone.a(&self.name, ipv4(&mut random))?;
        if random.chance(GLUE_AAAA_SHARE) {
            self.zone.aaaa(&self.name, ipv6(&mut random))?;
        }
        Ok(())
    }

    fn apex_servers(&mut self) -> io::Result<()> {
        let mut random = Random::part(self.shape.seed, 4);
        for host in ["ns1", "ns2"] {
            join(&mut self.name, host, b"registry-operator", "org.");
            self.zone.ns(RESERVED, &self.name)?;
        }
        for letter in b'a'..=b'm' {
            join(&mut self.name, std::str::from_utf8(&[letter]).unwrap_or_default(), RESERVED, "");
            self.zone.a(&self.name, ipv4(&mut random))?;
            self.zone.aaaa(&self.name, ipv6(&mut random))?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;

    fn shape(style: Style, shuffled: bool) -> Shape {
        let origin = "net.".to_owned();
        Shape { origin, providers: 500, provider_share: 0.7, serial: 1, style, shuffled, seed: 5 }
    }

    fn zone(shape: &Shape) -> (String, Counts) {
        let labels = crate::labels::make(20_000, None, shape.seed).unwrap();
        let mut text = Vec::new();
        let counts = write(&mut text, shape, &labels).unwrap();
        (String::from_utf8(text).unwrap(), counts)
    }

    #[test]
    fn counts_are_those_of_the_text() {
        let (text, counts) = zone(&shape(Style::Absolute, false));
        let of =
            |rtype: &str| text.lines().filter(|line| line.split('\t').nth(3) == Some(rtype)).count() as u64;
        assert_eq!(counts.records, text.lines().count() as u64);
        assert_eq!((counts.ns, counts.a, counts.aaaa), (of("NS"), of("A"), of("AAAA")));
        assert_eq!(of("SOA"), 1);
        assert_eq!(counts.ns, 2 * 20_000 + 2 + 13);
        // 100 providers in the zone, and 9 % of 30 % of the delegations, two hosts each.
        assert!((1_150..1_450).contains(&counts.a), "{counts:?}");
    }

    #[test]
    fn every_delegation_has_two_servers_and_in_zone_servers_have_glue() {
        let (text, _) = zone(&shape(Style::Absolute, false));
        let mut servers: HashMap<&str, BTreeSet<&str>> = HashMap::new();
        let mut glue = BTreeSet::new();
        for line in text.lines() {
            let fields: Vec<_> = line.split('\t').collect();
            match fields[3] {
                "NS" => assert!(servers.entry(fields[0]).or_default().insert(fields[4])),
                "A" => assert!(glue.insert(fields[0])),
                _ => {}
            }
        }
        servers.remove("net.");
        assert_eq!(servers.len(), 20_001);
        assert!(servers.values().all(|hosts| hosts.len() == 2));
        for host in servers.values().flatten().filter(|host| host.ends_with(".net.")) {
            assert!(glue.contains(host), "{host}");
        }
        // Few sets serve many: seven in ten delegations share the providers' sets.
        let sets: BTreeSet<_> = servers.values().collect();
        assert!((5_500..7_500).contains(&sets.len()), "{}", sets.len());
    }

    #[test]
    fn orders_and_styles_hold_the_same_zone() {
        let sorted = |style, shuffled| {
            let mut lines: Vec<_> = zone(&shape(style, shuffled)).0.lines().map(str::to_owned).collect();
            let as_written = lines.clone();
            lines.sort();
            (as_written, lines)
        };
        let (canonical, one) = sorted(Style::Absolute, false);
        let (random, two) = sorted(Style::Absolute, true);
        assert!(one == two && canonical != random);
        assert_eq!(canonical[..14], random[..14], "the apex stays first");
        assert_eq!(zone(&shape(Style::Relative, false)).0.lines().count(), canonical.len() + 2);
    }

    #[test]
    fn canonical_order_of_owners() {
        let (text, _) = zone(&shape(Style::Absolute, false));
        let mut owners: Vec<_> = text.lines().filter_map(|line| line.split('\t').next()).collect();
        owners.dedup();
        let keys: Vec<Vec<&str>> = owners.iter().map(|owner| owner.rsplit('.').collect()).collect();
        assert!(keys.is_sorted());
    }
}
