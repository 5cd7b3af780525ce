//! Queries for a zone: names drawn from its master file, types by weight, a share of names that do not exist.
//!
//! The reader takes what this tool and the publishers of large zones write: one RR a line, the owner first,
//! `$ORIGIN`, comments; lines that begin with a blank carry on the owner before and add nothing. It is no full
//! master file parser and needs none: an owner missed or a continuation taken for one costs a query, not a fault.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
};

use wire::{NameBuf, iana::rtype};

use crate::{
    Error, error,
    query::{Edns, PAYLOAD_OCTETS, Query},
    random::Random,
};

/// Most owners kept to draw from; a sample of that size is as good as all.
const OWNERS_MAX: usize = 1_000_000;
/// Longest line looked at; the rest of longer ones (keys, signatures) is skipped.
const LINE_OCTETS_MAX: u64 = 1 << 16;

/// What the queries should be like.
#[derive(Clone, Debug)]
pub struct Mix {
    /// How many.
    pub count: usize,
    /// Share of names that are not in the file, 0 to 1.
    pub nxdomain_share: f64,
    /// Share of queries with DO set, 0 to 1.
    pub dnssec_share: f64,
    /// Share of queries for a name one label below an owner (`www.OWNER`), as referrals see them, 0 to 1.
    pub below_share: f64,
    /// Start of the random stream.
    pub seed: u64,
}

/// Types of the questions and their weights: the mix resolvers send (A and AAAA mostly).
const TYPES: [(u16, u64); 6] =
    [(rtype::A, 62), (rtype::AAAA, 24), (rtype::NS, 4), (rtype::MX, 4), (rtype::TXT, 3), (rtype::HTTPS, 3)];

/// Draws queries for the zone file `path`, or for all files of that folder, and hands them to `take`.
///
/// `origin`: the apex, where the file does not begin with `$ORIGIN`.
pub fn from_zone(
    path: &Path,
    origin: Option<&str>,
    mix: &Mix,
    mut take: impl FnMut(Query),
) -> Result<(), Error> {
    let mut random = Random::part(mix.seed, 6);
    let mut owners = Reservoir::new();
    for file in files(path)? {
        read_owners(&file, origin, &mut owners, &mut random)?;
    }
    if owners.kept.is_empty() {
        return Err(Error::Empty { path: path.to_owned(), wanted: "owner names" });
    }
    let known: HashSet<&str> = owners.kept.iter().map(String::as_str).collect();
    for _ in 0..mix.count {
        let owner = &owners.kept[random.index(owners.kept.len())];
        let text = if random.chance(mix.nxdomain_share) {
            absent(owner, &known, &mut random)
        } else if random.chance(mix.below_share) {
            format!("www.{owner}")
        } else {
            owner.clone()
        };
        let edns = random
            .chance(mix.dnssec_share)
            .then_some(Edns { payload_octets: PAYLOAD_OCTETS, dnssec_ok: true });
        // Owners near the limits of the DNS cannot take a label more; they are asked as they are.
        let name = NameBuf::from_text(&text).or_else(|_| NameBuf::from_text(owner));
        let Ok(name) = name else { continue };
        take(Query { name, rtype: draw_type(&mut random), edns, rd: false, cd: false });
    }
    Ok(())
}

/// A sibling of `owner` that is not among the known names.
fn absent(owner: &str, known: &HashSet<&str>, random: &mut Random) -> String {
    let parent = owner.split_once('.').map_or("", |(_, parent)| parent);
    // Names asked for in error are mostly random or mistyped; both differ from every owner in a few letters.
    loop {
        let mut text = format!("nx{:08x}.{parent}", random.next_u64() as u32);
        if parent.is_empty() || parent == "." {
            text.truncate(11);
        }
        if !known.contains(text.as_str()) {
            return text;
        }
    }
}

fn draw_type(random: &mut Random) -> u16 {
    let mut ticket = random.below(TYPES.iter().map(|&(_, weight)| weight).sum());
    for (rtype, weight) in TYPES {
        if ticket < weight {
            return rtype;
        }
        ticket -= weight;
    }
    rtype::A
}

/// The file itself, or the files of a folder by name, so that the result does not depend on the disk.
fn files(path: &Path) -> Result<Vec<PathBuf>, Error> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).map_err(error::file(path, "read"))?;
    let mut files = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    if let Ok(files) = &mut files {
        files.retain(|file| file.is_file());
        files.sort();
    }
    files.map_err(error::file(path, "read"))
}

/// A sample of owners, each as likely as any other (Vitter's algorithm R).
struct Reservoir {
    kept: Vec<String>,
    seen: u64,
}

impl Reservoir {
    fn new() -> Reservoir {
        Reservoir { kept: Vec::new(), seen: 0 }
    }

    fn offer(&mut self, owner: String, random: &mut Random) {
        self.seen += 1;
        if self.kept.len() < OWNERS_MAX {
            self.kept.push(owner);
        } else if let Some(slot) = self.kept.get_mut(random.below(self.seen) as usize) {
            *slot = owner;
        }
    }
}

fn read_owners(
    path: &Path,
    origin: Option<&str>,
    owners: &mut Reservoir,
    random: &mut Random,
) -> Result<(), Error> {
    let mut reader = BufReader::with_capacity(1 << 18, File::open(path).map_err(error::file(path, "open"))?);
    let mut origin = origin.unwrap_or(".").trim_end_matches('.').to_ascii_lowercase() + ".";
    let mut line = Vec::new();
    let mut previous = Vec::new();
    let mut at_line_start = true;
    loop {
        line.clear();
        let read = std::io::Read::take(&mut reader, LINE_OCTETS_MAX).read_until(b'\n', &mut line);
        if read.map_err(error::file(path, "read"))? == 0 {
            return Ok(());
        }
        let is_start = std::mem::replace(&mut at_line_start, line.ends_with(b"\n"));
        let first = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        if !is_start || first.is_empty() || first[0] == b';' || first == previous {
            continue;
        }
        if first.eq_ignore_ascii_case(b"$ORIGIN") {
            let given = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).nth(1);
            origin = String::from_utf8_lossy(given.unwrap_or(b".")).to_ascii_lowercase();
        } else if first[0] != b'$' {
            let text = String::from_utf8_lossy(first).to_ascii_lowercase();
            let owner = match text.as_str() {
                "@" => origin.clone(),
                absolute if absolute.ends_with('.') => absolute.to_owned(),
                relative if origin == "." => format!("{relative}."),
                relative => format!("{relative}.{origin}"),
            };
            previous = first.to_owned();
            owners.offer(owner, random);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ZONE: &str = "$ORIGIN Example.\n$TTL 5\n@ SOA a b (\n 1 2 3 4 5 )\n; note\nhost A 192.0.2.1\n\tAAAA 2001:db8::1\nother.example. 5 IN A 192.0.2.2\n";

    fn draw(mix: &Mix) -> Vec<String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), ZONE).unwrap();
        let mut lines = Vec::new();
        from_zone(file.path(), None, mix, |query| lines.push(query.to_string())).unwrap();
        lines
    }

    fn mix(nxdomain_share: f64, below_share: f64) -> Mix {
        Mix { count: 10_000, nxdomain_share, dnssec_share: 0.5, below_share, seed: 1 }
    }

    fn share(lines: &[String], wanted: impl Fn(&str) -> bool) -> f64 {
        lines.iter().filter(|line| wanted(line)).count() as f64 / lines.len() as f64
    }

    #[test]
    fn shares_are_kept() {
        let lines = draw(&mix(0.4, 0.25));
        assert_eq!(lines.len(), 10_000);
        let absent = share(&lines, |line| line.starts_with("nx"));
        assert!((0.38..0.42).contains(&absent), "{absent}");
        let below = share(&lines, |line| line.starts_with("www."));
        assert!((0.13..0.17).contains(&below), "{below}");
        assert!((0.48..0.52).contains(&share(&lines, |line| line.contains(" do"))));
        assert!((0.59..0.65).contains(&share(&lines, |line| line.split(' ').nth(1) == Some("A"))));
    }

    #[test]
    fn owners_of_the_file_and_nothing_else() {
        let mut names: Vec<_> =
            draw(&mix(0.0, 0.0)).iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
        names.sort();
        names.dedup();
        assert_eq!(names, ["example.", "host.example.", "other.example."]);
        assert!(draw(&mix(0.5, 0.5)) == draw(&mix(0.5, 0.5)));
    }

    #[test]
    fn absent_names_of_the_root() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), ".\t5\tIN\tNS\ta.\ncom.\t5\tIN\tNS\ta.\n").unwrap();
        let mut lines = Vec::new();
        from_zone(file.path(), None, &mix(1.0, 0.0), |query| lines.push(query.to_string())).unwrap();
        assert!(
            lines.iter().all(|line| line.starts_with("nx") && line.split(' ').next().unwrap().len() == 11)
        );
    }
}
