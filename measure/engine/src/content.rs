//! Zones before they are stored, and questions about them.

use std::collections::BTreeMap;

use bench::{
    generate::popularity::{Popularity, Skew},
    random::Random,
};
use wire::{NameBuf, iana::rtype};
use zonefile::{NoIncludes, Options, Record, Report, Source};

use crate::{message::query_packet, rrset::RRset, settings::Names};

/// Zones and names of the paper's resolver (section 6.3): names that are in its cache.
const CACHED_ZONES: usize = 1000;
const CACHED_NAMES_A_ZONE: usize = 200;
/// Questions that a thread asks one after the other, again and again: with their answers more than the caches of a core hold.
pub const QUESTIONS: usize = 1 << 16;
/// Share of the questions for IPv4 addresses; the others are for IPv6.
const IPV4_SHARE: f64 = 0.7;

/// TTL and RDATA of a set.
type Rdatas = (u32, Vec<Vec<u8>>);

/// All zones.
pub struct Content {
    /// In no order.
    pub zones: Vec<ZoneContent>,
}

/// A zone: its names in lower case.
pub struct ZoneContent {
    /// Its apex.
    pub apex: Box<[u8]>,
    /// What each name has.
    pub nodes: BTreeMap<Box<[u8]>, Vec<RRset>>,
}

impl ZoneContent {
    /// Whether a name is where another zone begins.
    pub fn is_cut(&self, name: &[u8]) -> bool {
        *name != *self.apex && self.nodes.get(name).is_some_and(|sets| has(sets, rtype::NS))
    }

    fn names(&self, wanted: impl Fn(&[u8], &[RRset]) -> bool) -> Vec<String> {
        let wanted = self.nodes.iter().filter(|(name, sets)| wanted(name, sets));
        wanted.filter_map(|(name, _)| Some(wire::Name::from_wire(name).ok()?.to_string())).collect()
    }
}

/// Names that questions are about.
pub struct Asked {
    is_cache: bool,
    names: Vec<String>,
}

impl Asked {
    /// Whether there is nothing to ask for.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Queries as packets. Skewed ones are as at a root server (see [`Skew::Paper`]). `nxdomain`: share of names in no zone.
    pub fn questions(&self, often: Names, nxdomain: f64, seed: u64) -> Vec<Box<[u8]>> {
        let Asked { is_cache, names } = self;
        // All threads have the same favourites.
        let skew = match often {
            Names::Uniform => Skew::Uniform,
            Names::Skewed => Skew::Paper,
        };
        let popularity = Popularity::new(skew, names, 1);
        let mut random = Random::part(seed, 11);
        let question = |_| {
            let (index, is_favourite) = popularity.draw(&mut random);
            let fails = !is_favourite && random.chance(nxdomain * popularity.others_factor());
            let (number, name) = (random.below(100_000), &names[index]);
            let text = match (*is_cache, fails) {
                (true, false) => name.clone(),
                (true, true) => format!("no{number}.{name}"),
                (false, false) => format!("www.d{number}.{name}"),
                (false, true) => format!("www.no-{number}."),
            };
            let qtype = if random.chance(IPV4_SHARE) { rtype::A } else { rtype::AAAA };
            // A name too long for a label more is asked for itself.
            let name =
                NameBuf::from_text(&text).or_else(|_| NameBuf::from_text(name)).unwrap_or(NameBuf::root());
            query_packet(&name, qtype).into()
        };
        (0..QUESTIONS).map(question).collect()
    }
}

fn has(sets: &[RRset], rtype: u16) -> bool {
    sets.iter().any(|set| set.rtype == rtype)
}

impl Content {
    /// Of a zone file. Signatures are left out: what is compared here are locks.
    pub fn of_zone(name: &str, text: &[u8]) -> Result<Content, Box<Report>> {
        let mut records: BTreeMap<Box<[u8]>, BTreeMap<u16, Rdatas>> = BTreeMap::new();
        let mut apex = NameBuf::root();
        let mut take = |record: &Record<'_>| {
            let owner = record.owner.to_owned().to_lowercase();
            match record.rtype {
                rtype::RRSIG | rtype::NSEC | rtype::NSEC3 | rtype::NSEC3PARAM => return Ok(()),
                rtype::SOA => apex = owner.clone(),
                _ => {}
            }
            let sets = records.entry(owner.octets().into()).or_default();
            let (_, rdatas) = sets.entry(record.rtype).or_insert((record.ttl, Vec::new()));
            rdatas.push(record.rdata.to_vec());
            Ok(())
        };
        let source = Source { name: name.to_owned(), input: Box::new(text) };
        zonefile::read(source, &Options::new(wire::Name::root()), &mut NoIncludes, &mut take)
            .map_err(Box::new)?;
        let set = |owner: &[u8], (rtype, (ttl, rdatas)): (u16, Rdatas)| {
            RRset::new(owner, rtype, ttl, rdatas.iter().map(Vec::as_slice))
        };
        let nodes = records.into_iter().map(|(owner, sets)| {
            let sets = sets.into_iter().map(|found| set(&owner, found)).collect();
            (owner, sets)
        });
        Ok(Content { zones: vec![ZoneContent { apex: apex.octets().into(), nodes: nodes.collect() }] })
    }

    /// Addresses of 200,000 names, as a resolver has learned them.
    pub fn of_cache() -> Content {
        let nodes = cached_names().map(|name| {
            let [a, b] = (tree_number(&name) as u16).to_be_bytes();
            let sets = vec![
                RRset::new(name.octets(), rtype::A, 3600, [&[192u8, 0, a, b][..]]),
                RRset::new(
                    name.octets(),
                    rtype::AAAA,
                    3600,
                    [&[[0x20; 14].as_slice(), &[a, b]].concat()[..]],
                ),
            ];
            (name.octets().into(), sets)
        });
        Content { zones: vec![ZoneContent { apex: b"\0"[..].into(), nodes: nodes.collect() }] }
    }

    /// Names to ask for: below delegations, or where there are none, names with addresses.
    pub fn asked(&self) -> Asked {
        let zone = &self.zones[0];
        let cuts = zone.names(|name, _| zone.is_cut(name));
        let is_cache = cuts.is_empty();
        Asked { is_cache, names: if is_cache { zone.names(|_, sets| has(sets, rtype::A)) } else { cuts } }
    }

    /// Sets that an update may replace: addresses.
    pub fn addresses(&self) -> Vec<RRset> {
        let sets = self.zones.iter().flat_map(|zone| zone.nodes.values()).flatten();
        sets.filter(|set| matches!(set.rtype, rtype::A | rtype::AAAA)).cloned().collect()
    }
}

fn cached_names() -> impl Iterator<Item = NameBuf> {
    (0..CACHED_ZONES * CACHED_NAMES_A_ZONE).filter_map(|number| {
        let (zone, host) = (number / CACHED_NAMES_A_ZONE, number % CACHED_NAMES_A_ZONE);
        NameBuf::from_text(&format!("h{host}.z{zone}.example.")).ok()
    })
}

fn tree_number(name: &NameBuf) -> u64 {
    crate::tree::hash_of(name.octets())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::message::Query;

    pub(crate) const ZONE: &str = "\
. 86400 SOA a. b. 1 2 3 4 5
. 86400 NS a.
COM. 86400 NS ns.com.
com. 86400 NS ns2.net.
com. 86400 RRSIG NS 8 1 86400 20300101000000 20200101000000 1 . AA==
ns.com. 86400 A 192.0.2.1
ns.com. 86400 AAAA 2001:db8::1
ns2.net. 86400 A 192.0.2.2
net. 86400 NS ns2.net.
";

    #[test]
    fn a_zone_is_what_its_file_says() {
        let content = Content::of_zone("test", ZONE.as_bytes()).unwrap();
        let zone = &content.zones[0];
        assert_eq!((zone.nodes.len(), &*zone.apex), (5, &b"\0"[..]));
        assert!(zone.is_cut(b"\x03com\0") && !zone.is_cut(b"\0") && !zone.is_cut(b"\x02ns\x03com\0"));
        assert_eq!(zone.nodes[&b"\x03com\0"[..]].len(), 1, "both servers in one set, no signature");
        assert_eq!(content.addresses().len(), 3);
        let report = Content::of_zone("test", b". 5 A 192.0.2\n").err().unwrap();
        assert!(report.to_string().contains("test:1"), "{report}");
    }

    #[test]
    fn questions_are_drawn_as_wished() {
        let content = Content::of_zone("test", ZONE.as_bytes()).unwrap();
        let share = |nxdomain, what: &dyn Fn(&str) -> bool| {
            let questions = content.asked().questions(Names::Uniform, nxdomain, 1);
            let names = questions.iter().map(|packet| Query::read(packet).unwrap().name.to_string());
            names.filter(|name| what(name)).count() as f64 / QUESTIONS as f64
        };
        assert!((0.48..0.52).contains(&share(0.0, &|name| name.ends_with(".com."))));
        assert!((0.24..0.26).contains(&share(0.25, &|name| name.starts_with("www.no-"))));
        let cache = Content::of_cache();
        assert_eq!(cache.zones[0].nodes.len(), 200_000);
        let first = cache.asked().questions(Names::Skewed, 0.0, 1);
        let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
        first
            .iter()
            .for_each(|packet| *counts.entry(Query::read(packet).unwrap().name.octets()).or_default() += 1);
        let most = counts.values().max().unwrap();
        assert!((14_000..16_000).contains(most), "{most}");
    }
}
