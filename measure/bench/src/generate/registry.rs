//! Zones of large registries: nothing but delegations with two NS each, glue, and DS for some.
//!
//! | zone | delegations | name servers | glue | DS |
//! |---|---|---|---|---|
//! | `net` as the USENIX paper had it (March 2003): 8,541,503 records in all, exactly | 45.7 % of the records | sets by Zipf's law | all other records: A only | none |
//! | `com` of today | 5 million | 150,000 sets by Zipf's law with exponent 1.1 | 8 % of the delegations have hosts of their own, a quarter of these with AAAA | 4.5 % |
//! | the same, all unique | | no two delegations share a name server: the worst case for a store that shares them | | |
//!
//! How many records there are is set, not drawn, where the shape says so: which delegations have hosts below them
//! follows from their number alone. All else about a delegation comes from a random stream of its own.

use std::io::{self, Write};

use super::text::{Counts, Style, ZoneText, ipv4, ipv6, join};
use crate::{
    labels::{Labels, RESERVED},
    random::{Random, Zipf},
};

/// Shape of the zone.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Apex: absolute, lower case, with final dot, not the root.
    pub origin: String,
    /// Delegations, two NS each.
    pub delegations: usize,
    /// Hosts below delegations, an A each; at most two a delegation.
    pub hosts: usize,
    /// Sets of two name servers that delegations share; 0: no sharing.
    pub sets: usize,
    /// Exponent of the law by which sets are chosen, in tenths.
    pub exponent_tenths: u32,
    /// Share of the delegations without hosts of their own that use a shared set, 0 to 1.
    pub shared_share: f64,
    /// Share of delegations with a DS, 0 to 1.
    pub ds_share: f64,
    /// Share of hosts that have an AAAA too, 0 to 1; with 0 the servers of the apex have none either.
    pub aaaa_share: f64,
    /// Serial of the SOA.
    pub serial: u32,
    /// Form of the lines.
    pub style: Style,
    /// Start of the random streams.
    pub seed: u64,
}

/// Records of the paper's zone.
pub const NET_RECORDS: usize = 8_541_503;
/// Records that are not delegations or glue below them: SOA, 13 NS, and the delegation of the apex's servers with
/// their addresses.
const FIXED_RECORDS: usize = 1 + 13 + 2 + 13;
/// Fewest records of a zone in the paper's shape.
pub const RECORDS_MIN: usize = FIXED_RECORDS + 100;
/// TTL of delegations, as large registries have it, and of DS.
const TTL_SECONDS: u32 = 172_800;
const DS_TTL_SECONDS: u32 = 86_400;
/// A prime above any count of delegations: multiples of it visit all remainders, far apart.
const STRIDE: u64 = 2_654_435_761;
/// Where name servers outside the zone are; the zone itself is passed over.
const OTHER_ZONES: [&str; 4] = ["com.", "org.", "net.", "info."];
/// Host labels of a set, in canonical order.
const HOST_PAIRS: [[&str; 2]; 4] = [["ns1", "ns2"], ["dns1", "dns2"], ["a.ns", "b.ns"], ["ns", "ns2"]];

impl Shape {
    /// The paper's `net` with so many records, at least [`RECORDS_MIN`].
    pub fn net(records: usize, seed: u64) -> Shape {
        let free = records.max(RECORDS_MIN) - FIXED_RECORDS;
        let delegations = free * 457 / 1000;
        Shape {
            origin: "net.".to_owned(),
            delegations,
            hosts: free - 2 * delegations,
            sets: delegations.div_ceil(40),
            exponent_tenths: 10,
            shared_share: 0.7,
            ds_share: 0.0,
            aaaa_share: 0.0,
            serial: 20_030_301,
            style: Style::Relative,
            seed,
        }
    }

    /// A `com` of today.
    pub fn com(delegations: usize, seed: u64) -> Shape {
        Shape {
            origin: "com.".to_owned(),
            delegations,
            hosts: 2 * (delegations * 8 / 100),
            sets: (delegations * 3 / 100).max(1),
            exponent_tenths: 11,
            shared_share: 0.7,
            ds_share: 0.045,
            aaaa_share: 0.25,
            serial: 1,
            style: Style::Relative,
            seed,
        }
    }
}

/// Writes the zone with the first labels as delegations, in canonical order; `labels` holds enough of them.
pub fn write<W: Write>(output: W, shape: &Shape, labels: &Labels) -> io::Result<Counts> {
    let zone = ZoneText::begin(output, shape.style, &shape.origin, TTL_SECONDS)?;
    let others = OTHER_ZONES.into_iter().filter(|&zone| zone != shape.origin).collect();
    let law = Zipf::with_exponent(shape.sets.min(shape.delegations), shape.exponent_tenths);
    let mut writer = Writer { zone, shape, labels, others, law, name: Vec::new() };
    writer.apex()?;
    let mut order: Vec<u32> = (0..shape.delegations as u32).collect();
    // Siblings in lower case: canonical order is that of their octets (RFC 4034 6.1).
    order.sort_unstable_by(|&a, &b| labels.label(a as usize).cmp(labels.label(b as usize)));
    let before = order.partition_point(|&index| labels.label(index as usize) < RESERVED);
    order[..before].iter().try_for_each(|&index| writer.delegation(index as usize))?;
    writer.apex_servers()?;
    order[before..].iter().try_for_each(|&index| writer.delegation(index as usize))?;
    writer.zone.end()
}

struct Writer<'a, W: Write> {
    zone: ZoneText<W>,
    shape: &'a Shape,
    labels: &'a Labels,
    others: Vec<&'static str>,
    law: Zipf,
    name: Vec<u8>,
}

impl<W: Write> Writer<'_, W> {
    fn apex(&mut self) -> io::Result<()> {
        let servers = String::from_utf8_lossy(RESERVED).into_owned();
        let mname = format!("a.{servers}.{}", self.shape.origin);
        self.zone.soa(&mname, "hostmaster.example.", self.shape.serial)?;
        ('a'..='m').try_for_each(|letter| self.zone.ns(b"@", format!("{letter}.{servers}").as_bytes()))
    }

    fn apex_servers(&mut self) -> io::Result<()> {
        let mut random = Random::part(self.shape.seed, 4);
        for host in ["ns1", "ns2"] {
            join(&mut self.name, host, b"registry-operator", "org.");
            self.zone.ns(RESERVED, &self.name)?;
        }
        // An odd host has no delegation for itself: it is a second address here.
        if !self.shape.hosts.is_multiple_of(2) {
            join(&mut self.name, "a", RESERVED, "");
            self.zone.a(&self.name, ipv4(&mut random))?;
        }
        for letter in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"] {
            join(&mut self.name, letter, RESERVED, "");
            self.zone.a(&self.name, ipv4(&mut random))?;
            if self.shape.aaaa_share > 0.0 {
                self.zone.aaaa(&self.name, ipv6(&mut random))?;
            }
        }
        Ok(())
    }

    /// Whether the delegation has hosts below itself; true for exactly half as many as there are hosts.
    fn has_hosts(&self, index: usize) -> bool {
        let place = index as u64 * STRIDE % self.shape.delegations as u64;
        place < (self.shape.hosts / 2) as u64
    }

    fn delegation(&mut self, index: usize) -> io::Result<()> {
        let mut random = Random::part(self.shape.seed, 1000 + index as u64);
        let label = self.labels.label(index);
        let has_hosts = self.has_hosts(index);
        // Whose label the name servers are below, and in which zone; empty: this one.
        let (of, zone) = if has_hosts {
            (index, "")
        } else if self.shape.sets > 0 && random.chance(self.shape.shared_share) {
            let rank = self.law.draw(&mut random);
            (rank, if self.has_hosts(rank) { "" } else { self.others[rank % self.others.len()] })
        } else {
            (index, self.others[random.index(self.others.len())])
        };
        for host in HOST_PAIRS[of % HOST_PAIRS.len()] {
            join(&mut self.name, host, self.labels.label(of), zone);
            self.zone.ns(label, &self.name)?;
        }
        if random.chance(self.shape.ds_share) {
            self.zone.set_ttl(DS_TTL_SECONDS);
            let algorithm = if random.chance(0.75) { 13 } else { 8 };
            self.zone.ds(label, algorithm, &mut random)?;
            self.zone.set_ttl(TTL_SECONDS);
        }
        if has_hosts { self.hosts(index, &mut random) } else { Ok(()) }
    }

    fn hosts(&mut self, index: usize, random: &mut Random) -> io::Result<()> {
        for host in HOST_PAIRS[index % HOST_PAIRS.len()] {
            join(&mut self.name, host, self.labels.label(index), "");
            self.zone.a(&self.name, ipv4(random))?;
            if random.chance(self.shape.aaaa_share) {
                self.zone.aaaa(&self.name, ipv6(random))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::generate::tests::check_zone;

    fn zone(shape: &Shape) -> (String, Counts) {
        let labels = crate::labels::make(shape.delegations, None, shape.seed).unwrap();
        let mut text = Vec::new();
        let counts = write(&mut text, shape, &labels).unwrap();
        (String::from_utf8(text).unwrap(), counts)
    }

    #[test]
    fn net_has_exactly_so_many_records() {
        for records in [RECORDS_MIN, 10_000, 10_001, 12_345] {
            let (text, counts) = zone(&Shape::net(records, 1));
            assert_eq!(counts.records as usize, records);
            assert_eq!(text.lines().count(), records + 2);
            check_zone(&text, "net.", records);
        }
        let shape = Shape::net(NET_RECORDS, 1);
        assert_eq!(FIXED_RECORDS + 2 * shape.delegations + shape.hosts, NET_RECORDS);
    }

    #[test]
    fn com_shares() {
        let shape = Shape::com(20_000, 1);
        let (text, counts) = zone(&shape);
        assert_eq!((counts.ns, counts.a), (40_015, 3_213));
        assert!((800..1_000).contains(&counts.other), "{counts:?}");
        assert!((600..1_000).contains(&counts.aaaa), "{counts:?}");
        check_zone(&text, "com.", counts.records as usize);
        let mut uses: HashMap<&str, u32> = HashMap::new();
        for line in text.lines().filter(|line| line.contains(" NS ")) {
            *uses.entry(line.split(' ').next_back().unwrap()).or_default() += 1;
        }
        assert!(uses.values().max() > Some(&500) && uses.len() < 25_000, "{}", uses.len());
    }

    #[test]
    fn unique_name_servers() {
        let shape = Shape { sets: 0, ..Shape::com(5_000, 1) };
        let (text, counts) = zone(&shape);
        let mut servers: Vec<_> = text
            .lines()
            .filter(|line| line.contains(" NS "))
            .map(|line| line.split(' ').next_back().unwrap())
            .collect();
        servers.sort_unstable();
        servers.dedup();
        assert_eq!(servers.len(), 10_015);
        check_zone(&text, "com.", counts.records as usize);
    }
}
