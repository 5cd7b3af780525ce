//! A root zone with the sizes of the real one, for when the real one is not at hand or another size is wanted.
//!
//! The profile is that of the root zone of 2026-07-31 with 1,438 delegations, unsigned:
//!
//! | what | profile |
//! |---|---|
//! | labels | a few real ones (`com`, `net`, `br`, …), else lengths as in the real zone: 17 % of two letters |
//! | NS of a delegation | 2 to 13, mostly 4 and 6 |
//! | name servers | one delegation in four has those of an operator of many (the largest serves 72 of 1,438); two in three have hosts of their own (`a.nic.LABEL`), the rest some of each |
//! | glue | A and for 19 of 20 hosts AAAA |
//! | DS | 94 % of the delegations, one to three |
//!
//! With another count of delegations all shares stay the same.

use std::io::{self, Write};

use super::text::{Counts, Style, ZoneText, ipv4, ipv6};
use crate::{labels::Labels, random::Random};

/// Delegations of the real zone that the profile was taken from.
pub const DELEGATIONS: usize = 1_438;
/// How many delegations share the name servers of one operator, the largest first, in the real zone.
const OPERATORS: [usize; 45] = [
    72, 46, 46, 25, 21, 18, 16, 10, 7, 7, 6, 5, 5, 5, 4, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
    2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2,
];
/// Delegations with hosts of their own only, and with some of their own and some elsewhere; the few left over have
/// all their servers elsewhere, each its own.
const OWN: usize = 947;
const MIXED: usize = 117;
/// How many NS a delegation has, and for how many of the real delegations.
const NS_COUNTS: [(usize, usize); 11] =
    [(2, 14), (3, 79), (4, 499), (5, 109), (6, 574), (7, 27), (8, 119), (9, 8), (10, 5), (12, 1), (13, 3)];
/// How many DS a delegation has, and for how many.
const DS_COUNTS: [(usize, usize); 4] = [(0, 89), (1, 1220), (2, 124), (3, 5)];
/// Share of hosts with an IPv6 address.
const AAAA_SHARE: f64 = 0.952;
/// Share of DS with algorithm 8; the others have 13 (ECDSA).
const RSA_SHARE: f64 = 0.81;
/// TTLs of the apex, of delegations with glue, and of DS, as in the real zone.
const APEX_TTL_SECONDS: u32 = 518_400;
const TTL_SECONDS: u32 = 172_800;
const DS_TTL_SECONDS: u32 = 86_400;
/// Host labels, by the habits of registries; `@` is a number from 1.
const HOST_HABITS: [&[&str]; 3] = [
    &["v0n0", "v0n1", "v0n2", "v0n3", "v2n0", "v2n1"],
    &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"],
    &["ns1", "ns2", "ns3", "ns4", "ns5", "ns6", "ns7", "ns8", "ns9", "ns10", "ns11", "ns12", "ns13"],
];

/// Shape of the zone.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Delegations.
    pub delegations: usize,
    /// Serial of the SOA.
    pub serial: u32,
    /// Form of the lines.
    pub style: Style,
    /// Start of the random streams.
    pub seed: u64,
}

impl Shape {
    /// So many delegations, written as the root zone is published.
    pub fn new(delegations: usize, seed: u64) -> Shape {
        Shape { delegations, serial: 1, style: Style::Absolute, seed }
    }
}

/// Whose name servers a delegation has.
#[derive(Clone, Copy)]
enum Servers {
    Operator(usize),
    Own,
    Mixed,
    Elsewhere,
}

/// Writes the zone with the first labels as top-level labels, in canonical order; `labels` holds enough of them.
pub fn write<W: Write>(output: W, shape: &Shape, labels: &Labels) -> io::Result<Counts> {
    let zone = ZoneText::begin(output, shape.style, ".", TTL_SECONDS)?;
    let random = Random::part(shape.seed, 8);
    let mut writer = Writer { zone, shape, labels, random, hosts: Vec::new() };
    let lines = writer.delegations();
    writer.apex()?;
    writer.write(lines)
}

/// One delegation: index of its label, names of its servers, count of its DS.
struct Delegation {
    label: usize,
    servers: Vec<String>,
    ds: usize,
}

struct Writer<'a, W: Write> {
    zone: ZoneText<W>,
    shape: &'a Shape,
    labels: &'a Labels,
    random: Random,
    /// Every host with glue, absolute.
    hosts: Vec<String>,
}

impl<W: Write> Writer<'_, W> {
    fn apex(&mut self) -> io::Result<()> {
        self.zone.set_ttl(DS_TTL_SECONDS);
        self.zone.soa("a.root-servers.net.", "hostmaster.example.", self.shape.serial)?;
        self.zone.set_ttl(APEX_TTL_SECONDS);
        for letter in 'a'..='m' {
            let host = format!("{letter}.root-servers.net.");
            self.zone.ns(b"@", host.as_bytes())?;
            self.hosts.push(host);
        }
        self.zone.set_ttl(TTL_SECONDS);
        Ok(())
    }

    fn delegations(&mut self) -> Vec<Delegation> {
        // An operator without delegations would leave glue that nothing needs.
        let mut operators: [Option<Vec<String>>; OPERATORS.len()] = [const { None }; OPERATORS.len()];
        let mut kinds: Vec<Servers> = (0..self.shape.delegations).map(|at| self.kind(at)).collect();
        self.random.shuffle(&mut kinds);
        let mut delegations = Vec::with_capacity(kinds.len());
        for (label, kind) in kinds.into_iter().enumerate() {
            let count = weighted(&NS_COUNTS, &mut self.random);
            let text = String::from_utf8_lossy(self.labels.label(label)).into_owned();
            let servers = match kind {
                Servers::Operator(rank) => operators[rank].get_or_insert_with(|| self.operator(rank)).clone(),
                Servers::Own => self.hosts_of(&format!("nic.{text}."), count),
                Servers::Mixed => {
                    let half = count / 2;
                    let domain = self.domain(&format!("{text}-registry"));
                    [self.hosts_of(&format!("nic.{text}."), count - half), self.hosts_of(&domain, half)]
                        .concat()
                }
                Servers::Elsewhere => {
                    let domain = self.domain(&format!("{text}-registry"));
                    self.hosts_of(&domain, count)
                }
            };
            delegations.push(Delegation { label, servers, ds: weighted(&DS_COUNTS, &mut self.random) });
        }
        delegations
    }

    /// What the delegation at this place of the profile has; places are scaled to the real zone's.
    fn kind(&self, at: usize) -> Servers {
        let mut place = at * DELEGATIONS / self.shape.delegations;
        for (rank, &count) in OPERATORS.iter().enumerate() {
            if place < count {
                return Servers::Operator(rank);
            }
            place -= count;
        }
        match place {
            place if place < OWN => Servers::Own,
            place if place < OWN + MIXED => Servers::Mixed,
            _ => Servers::Elsewhere,
        }
    }

    fn operator(&mut self, rank: usize) -> Vec<String> {
        let domain = self.domain(&format!("registry-operator{rank}"));
        let count = weighted(&NS_COUNTS, &mut self.random);
        self.hosts_of(&domain, count)
    }

    /// A name for a registry below one of the delegations; the first labels are those most used for it.
    fn domain(&mut self, label: &str) -> String {
        let parent = self.labels.label(self.random.index(self.labels.count().min(4)));
        format!("{label}.{}.", String::from_utf8_lossy(parent))
    }

    fn hosts_of(&mut self, domain: &str, count: usize) -> Vec<String> {
        let mut habit = HOST_HABITS[self.random.index(HOST_HABITS.len())];
        if habit.len() < count {
            habit = HOST_HABITS[1];
        }
        let hosts: Vec<String> = habit[..count].iter().map(|host| format!("{host}.{domain}")).collect();
        self.hosts.extend(hosts.iter().cloned());
        hosts
    }

    /// Writes delegations and glue below the apex in canonical order (RFC 4034 6.1).
    fn write(mut self, delegations: Vec<Delegation>) -> io::Result<Counts> {
        // Labels from the root down: their octets compare as the names do. Top-level labels are all before hosts.
        let key = |name: &str| name.split('.').rev().map(str::to_owned).collect::<Vec<_>>();
        let mut lines: Vec<(Vec<String>, Line)> = Vec::new();
        for delegation in delegations {
            let owner = String::from_utf8_lossy(self.labels.label(delegation.label)).into_owned() + ".";
            lines.push((key(&owner), Line::Delegation(owner, delegation)));
        }
        for host in std::mem::take(&mut self.hosts) {
            lines.push((key(&host), Line::Host(host)));
        }
        lines.sort_by(|one, two| one.0.cmp(&two.0));
        for (_, line) in lines {
            match line {
                Line::Delegation(owner, delegation) => self.delegation(&owner, delegation)?,
                Line::Host(host) => self.host(&host)?,
            }
        }
        self.zone.end()
    }

    fn delegation(&mut self, owner: &str, delegation: Delegation) -> io::Result<()> {
        for server in &delegation.servers {
            self.zone.ns(owner.as_bytes(), server.as_bytes())?;
        }
        self.zone.set_ttl(DS_TTL_SECONDS);
        for _ in 0..delegation.ds {
            let algorithm = if self.random.chance(RSA_SHARE) { 8 } else { 13 };
            self.zone.ds(owner.as_bytes(), algorithm, &mut self.random)?;
        }
        self.zone.set_ttl(TTL_SECONDS);
        Ok(())
    }

    fn host(&mut self, host: &str) -> io::Result<()> {
        self.zone.a(host.as_bytes(), ipv4(&mut self.random))?;
        if self.random.chance(AAAA_SHARE) {
            self.zone.aaaa(host.as_bytes(), ipv6(&mut self.random))?;
        }
        Ok(())
    }
}

enum Line {
    Delegation(String, Delegation),
    Host(String),
}

/// Draws one of the values by its weight.
fn weighted(table: &[(usize, usize)], random: &mut Random) -> usize {
    let mut ticket = random.index(table.iter().map(|&(_, weight)| weight).sum());
    for &(value, weight) in table {
        if ticket < weight {
            return value;
        }
        ticket -= weight;
    }
    table[0].0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{generate::tests::check_zone, labels::make_top_level};

    fn zone(delegations: usize) -> (String, Counts) {
        let mut text = Vec::new();
        let labels = make_top_level(delegations, None, 1).unwrap();
        let counts = write(&mut text, &Shape::new(delegations, 1), &labels).unwrap();
        (String::from_utf8(text).unwrap(), counts)
    }

    #[test]
    fn profile_of_the_real_zone() {
        let (text, counts) = zone(DELEGATIONS);
        check_zone(&text, ".", counts.records as usize);
        // The real zone: 7,577 NS, 5,938 A, 5,643 AAAA, 1,483 DS.
        assert!((7_200..7_950).contains(&counts.ns), "{counts:?}");
        assert!((5_500..6_400).contains(&counts.a), "{counts:?}");
        assert!((5_200..6_100).contains(&counts.aaaa), "{counts:?}");
        assert!((1_430..1_540).contains(&counts.other), "{counts:?}");
        let uses =
            text.lines().filter(|line| line.contains("\tNS\t") && line.contains(".registry-operator0."));
        let per_set = text
            .lines()
            .filter(|line| line.contains("\tA\t") && line.contains(".registry-operator0."))
            .count();
        assert_eq!(uses.count(), 72 * per_set);
    }

    #[test]
    fn other_sizes() {
        for delegations in [4, 50, 3_000] {
            let (text, counts) = zone(delegations);
            check_zone(&text, ".", counts.records as usize);
        }
    }
}
