//! Queries like recorded ones, but all for different names: what is recorded within a minute fits whole into what servers keep of their
//! answers, and then says nothing of any other.
//!
//! Each query is drawn from a recorded one, whose type, flags, EDNS and length it has. Of its name stays what it has in common with others:
//!
//! ```text
//!  recorded          others have            drawn
//!  ns1.Example.net   net (in the zone)      xk7.Buqwjra.net
//!  dc1.corp          corp (other names)     pz4.corp
//!  mgaqzwockh        nothing                qjxaivbsne
//!  net, local        whole: in the zone, or asked for by more names than this one; such a query comes again as often as recorded
//! ```
//!
//! Labels of services (`_ldap._tcp`) stay too. So names exist, lie below a zone cut or do not exist, and top-level domains are asked for, as often as recorded.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use wire::{Name, NameBuf};

use super::owners;
use crate::{
    Error,
    query::{Query, QuerySet},
    random::Random,
    sizes::query_hash,
};

/// Recorded queries that are drawn from; of more the first.
const RECORDED_MAX: usize = 1_000_000;
/// Letters are exchanged so often for a name that was not drawn before; from then on it grows by a letter each time.
const ATTEMPTS_OF_LENGTH: usize = 4;
/// And so often in all: with some letters more every name is different. One that has no room for them is drawn no more.
const ATTEMPTS_MAX: usize = 16;
/// Queries drawn for each different one: more only where nearly all that is recorded comes again as it is.
const DRAWN_FACTOR_MAX: usize = 100;
/// Longest label and name (RFC 1035 2.3.4).
const LABEL_OCTETS_MAX: usize = 63;
/// Numbers of so many digits are parts of addresses.
const ADDRESS_DIGITS_MAX: usize = 3;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Different queries, by name and type; those that come again as recorded are beside them.
    pub different: usize,
    /// Start of the random stream.
    pub seed: u64,
}

/// Draws queries like those of `recorded`, for the zone at `zone`, and hands them to `take`. Returns how many of them are different ones.
///
/// `origin`: the apex, where the zone's file does not begin with `$ORIGIN`. Memory: a word for each different query, beside zone and recorded
/// queries. Fails where files cannot be read, and where all that is recorded is asked for in the zone itself, so that nothing can differ.
pub fn from_recorded(
    recorded: &QuerySet,
    zone: (&Path, Option<&str>),
    wanted: Wanted,
    mut take: impl FnMut(Query),
) -> Result<usize, Error> {
    let mut random = Random::part(wanted.seed, 12);
    let owners = Owners::read(zone, &mut random)?;
    let templates = templates(recorded, &owners);
    if templates.iter().all(|template| template.stays.is_none()) {
        return Err(Error::Empty { path: zone.0.to_owned(), wanted: "recorded queries for names not in it" });
    }
    let mut seen = HashSet::with_capacity(wanted.different);
    for _ in 0..wanted.different.saturating_mul(DRAWN_FACTOR_MAX) {
        if seen.len() >= wanted.different {
            break;
        }
        let template = &templates[random.index(templates.len())];
        let drawn = match template.stays {
            None => Some(template.query.clone()),
            Some(stays) => template.exchanged(stays, &owners, &mut seen, &mut random),
        };
        drawn.into_iter().for_each(&mut take);
    }
    Ok(seen.len())
}

/// Names of the zone, in lower case.
struct Owners(HashSet<NameBuf>);

impl Owners {
    fn read((path, origin): (&Path, Option<&str>), random: &mut Random) -> Result<Owners, Error> {
        let texts = owners::read(path, origin, random)?;
        Ok(Owners(texts.iter().filter_map(|text| NameBuf::from_text(text).ok()).collect()))
    }

    /// `name`: in lower case.
    fn has(&self, name: &Name) -> bool {
        name.is_root() || self.0.contains(name)
    }
}

/// A recorded query.
struct Template {
    query: Query,
    /// Octets at the end of its name that stay; `None` where all of it does.
    stays: Option<usize>,
}

fn templates(recorded: &QuerySet, owners: &Owners) -> Vec<Template> {
    let indices = 0..recorded.kept().min(RECORDED_MAX);
    let queries: Vec<Query> = indices.filter_map(|index| Query::of_packet(recorded.packet(index))).collect();
    let names: HashSet<NameBuf> = queries.iter().map(|query| query.name.to_lowercase()).collect();
    // How many names are at or below each.
    let mut below: HashMap<&Name, usize> = HashMap::new();
    for name in &names {
        for suffix in suffixes(name) {
            *below.entry(suffix).or_default() += 1;
        }
    }
    let template =
        |query: Query| Template { stays: stays(&query.name.to_lowercase(), owners, &below), query };
    queries.into_iter().map(template).collect()
}

/// A name and its ancestors, the root left out.
fn suffixes(name: &Name) -> impl Iterator<Item = &Name> {
    std::iter::successors(Some(name), |name| name.parent()).take_while(|name| !name.is_root())
}

/// How much of a name stays: what is in the zone, or in another name. Of one that is not in the zone and has several labels the first never does.
fn stays(name: &Name, owners: &Owners, below: &HashMap<&Name, usize>) -> Option<usize> {
    let is_shared = |name: &Name| below.get(name).is_some_and(|&names| names > 1);
    if owners.has(name) || name.label_count() == 1 && is_shared(name) {
        return None;
    }
    // Labels of services say nothing of the host, so one more is to be exchanged with them if there is one that may be.
    let has_host = |suffix: &Name| {
        let rest = name.octets().len() - suffix.octets().len();
        Labels { rest: &name.octets()[..rest] }.any(|label| !label.starts_with(b"_"))
    };
    let shared = || suffixes(name).skip(1).filter(|suffix| owners.has(suffix) || is_shared(suffix));
    let kept = shared().find(|suffix| owners.has(suffix) || has_host(suffix)).or_else(|| shared().next());
    Some(kept.map_or(1, |suffix| suffix.octets().len()))
}

impl Template {
    /// The query for a name that was not drawn before; `None` where none is found.
    fn exchanged(
        &self,
        stays: usize,
        owners: &Owners,
        seen: &mut HashSet<u64>,
        random: &mut Random,
    ) -> Option<Query> {
        for attempt in 0..ATTEMPTS_MAX {
            let more = attempt.saturating_sub(ATTEMPTS_OF_LENGTH);
            let octets = exchanged(self.query.name.octets(), stays, more, random);
            let Ok(name) = Name::from_wire(&octets) else { continue };
            let lower = name.to_lowercase();
            // What is not in the zone stays so.
            let is_there = suffixes(&lower)
                .take_while(|suffix| suffix.octets().len() > stays)
                .any(|suffix| owners.has(suffix));
            if !is_there && seen.insert(key(lower, self.query.rtype)) {
                return Some(Query { name: name.to_owned(), ..self.query.clone() });
            }
        }
        None
    }
}

/// A number for a name and a type.
fn key(name: NameBuf, rtype: u16) -> u64 {
    let mut packet = Vec::new();
    Query { name, rtype, edns: None, rd: false, cd: false }.write(&mut packet);
    query_hash(&packet)
}

/// A name with other letters and digits, but for its last `stays` octets and for labels of services (`_tcp`) beside others. The first label
/// that is exchanged has `more` letters more, if there is room.
fn exchanged(name: &[u8], stays: usize, more: usize, random: &mut Random) -> Vec<u8> {
    let (begin, end) = name.split_at(name.len() - stays);
    let labels = || Labels { rest: begin };
    let all_are_services = labels().all(|label| label.starts_with(b"_"));
    let mut octets = Vec::with_capacity(name.len() + more);
    let mut more = more;
    for label in labels() {
        let at = octets.len();
        octets.push(0);
        if label.starts_with(b"_") && !all_are_services {
            octets.extend_from_slice(label);
        } else {
            exchange(label, &mut octets, random);
            let room = LABEL_OCTETS_MAX.saturating_sub(octets.len() - at - 1);
            octets.extend((0..std::mem::take(&mut more).min(room)).map(|_| letter(b'a', 26, random)));
        }
        octets[at] = (octets.len() - at - 1) as u8;
    }
    octets.extend_from_slice(end);
    octets
}

/// Labels of the beginning of a name.
struct Labels<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (&length, rest) = self.rest.split_first()?;
        let (label, rest) = rest.split_at_checked(length.into())?;
        self.rest = rest;
        Some(label)
    }
}

/// Appends a label with each letter exchanged for one of its case, each digit for another; of addresses a number for a number.
fn exchange(label: &[u8], to: &mut Vec<u8>, random: &mut Random) {
    if label.len() <= ADDRESS_DIGITS_MAX && label.iter().all(u8::is_ascii_digit) {
        return to.extend_from_slice(random.below(256).to_string().as_bytes());
    }
    to.extend(label.iter().map(|&octet| match octet {
        b'a'..=b'z' => letter(b'a', 26, random),
        b'A'..=b'Z' => letter(b'A', 26, random),
        b'0'..=b'9' => letter(b'0', 10, random),
        _ => octet,
    }));
}

fn letter(first: u8, count: u64, random: &mut Random) -> u8 {
    first + random.below(count) as u8
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ZONE: &str = ". 5 IN NS a.nic.net.\nnet. 5 IN NS a.nic.net.\na.nic.net. 5 IN A 192.0.2.1\nxy. 5 IN NS a.nic.net.\n";
    const RECORDED: &str = ". NS do=4096\nnet. DS do cd\nNs1.exAmple7.net. A edns=512\nqx. A\nmgaqzwockh. AAAA do=4096 cookie\n\
                            dc1.corp. A\ndc2.corp. A\n_ldap._tcp.dc1.corp. SRV\n7.2.0.192.in-addr.arpa. PTR rd\n\
                            8.2.0.192.in-addr.arpa. PTR\n";

    fn draw(recorded: &str, different: usize, seed: u64) -> Result<Vec<Query>, Error> {
        let zone = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(zone.path(), ZONE).unwrap();
        let mut set = QuerySet::default();
        for line in recorded.lines() {
            set.push(&Query::from_line(line.as_bytes()).unwrap().unwrap());
        }
        let mut drawn = Vec::new();
        let wanted = Wanted { different, seed };
        let count = from_recorded(&set, (zone.path(), None), wanted, |query| drawn.push(query))?;
        assert_eq!(count, different);
        Ok(drawn)
    }

    #[test]
    fn all_are_different_but_those_for_names_of_the_zone() {
        let drawn = draw(RECORDED, 20_000, 1).unwrap();
        let of = |rtype: &str| drawn.iter().filter(|query| query.rtype_text().to_string() == rtype).count();
        // A tenth of the recorded queries each; these two come again as they are.
        assert!((2_250..2_750).contains(&of("NS")) && (2_250..2_750).contains(&of("DS")), "{}", of("NS"));
        assert!((4_700..5_300).contains(&of("PTR")) && (2_250..2_750).contains(&of("SRV")), "{}", of("PTR"));
        let mut others: Vec<_> = drawn
            .iter()
            .filter(|query| !["NS", "DS"].contains(&query.rtype_text().to_string().as_str()))
            .map(|query| (query.name.to_lowercase().to_string(), query.rtype))
            .collect();
        others.sort();
        let count = others.len();
        others.dedup();
        assert_eq!((count, others.len()), (20_000, 20_000));
    }

    #[test]
    fn names_are_of_the_kind_that_they_were() {
        for query in draw(RECORDED, 20_000, 2).unwrap() {
            let (text, name) = (query.to_string(), query.name.to_string());
            let labels: Vec<&str> = name.split_terminator('.').collect();
            let is_as_recorded = match query.rtype_text().to_string().as_str() {
                "NS" => text == ". NS do=4096",
                "DS" => text == "net. DS do cd",
                "AAAA" => labels.len() == 1 && name.len() == 11 && text.ends_with(" AAAA do=4096 cookie"),
                "SRV" => name.starts_with("_ldap._tcp.") && labels.len() == 4 && labels[3] == "corp",
                "PTR" => name.ends_with(".2.0.192.in-addr.arpa."),
                _ if text.ends_with("edns=512") => {
                    labels.len() == 3
                        && labels[0].starts_with(|first: char| first.is_ascii_uppercase())
                        && labels[1].len() == 8
                        && labels[2] == "net"
                }
                // The short one grows once all of its length are there; it never is a name of the zone.
                _ => labels.len() == 1 && name != "xy." || labels[1] == "corp" && labels.len() == 2,
            };
            assert!(is_as_recorded, "{text}");
        }
    }

    #[test]
    fn by_seed() {
        assert!(draw(RECORDED, 500, 3).unwrap() == draw(RECORDED, 500, 3).unwrap());
        assert!(draw(RECORDED, 500, 3).unwrap() != draw(RECORDED, 500, 4).unwrap());
        assert!(matches!(draw(". NS\nnet. DS\n", 10, 1), Err(Error::Empty { .. })));
    }
}
