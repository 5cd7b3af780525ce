//! Recorded queries that last longer than the recording: lap after lap, in which names that hardly ever come twice get other letters.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use super::Store;
use crate::{Error, error};

impl Store<'_> {
    /// A file of `count` queries: laps of those in `queries`. Names of top-level domains that are not in the zone and come once in the
    /// recording get other letters in each further lap: such names hardly ever come twice, and a server that keeps its
    /// answers must not gain from laps. `zone`: the root zone, a record a line.
    pub fn laps(&self, zone: &Path, queries: &Path, count: usize) -> Result<PathBuf, Error> {
        let read = |path: &Path| fs::read_to_string(path).map_err(error::file(path, "read"));
        let name = queries.file_stem().unwrap_or_default().to_string_lossy();
        self.made(&format!("{name}-laps-{count}.queries"), |to| {
            let (zone, queries) = (read(zone)?, read(queries)?);
            let mut output = BufWriter::new(File::create(to).map_err(error::file(to, "create"))?);
            let written =
                Laps::of(&zone, &queries).take(count).try_for_each(|line| writeln!(output, "{line}"));
            written.and_then(|()| output.flush()).map_err(error::file(to, "write"))
        })
    }
}

/// Queries without end, as lines of a query file.
struct Laps<'a> {
    /// Names and what stands behind each.
    recorded: Vec<(&'a str, &'a str)>,
    /// How often each top-level domain comes, in lower case.
    times: HashMap<String, usize>,
    /// Those of the zone.
    domains: HashSet<String>,
    next: usize,
}

impl<'a> Laps<'a> {
    fn of(zone: &str, queries: &'a str) -> Laps<'a> {
        let lines = queries.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(';'));
        let recorded: Vec<_> = lines.filter_map(|line| line.split_once(char::is_whitespace)).collect();
        let mut times = HashMap::new();
        for (name, _) in &recorded {
            *times.entry(top(name).to_lowercase()).or_default() += 1;
        }
        Laps { recorded, times, domains: delegated(zone), next: 0 }
    }

    /// The name in a lap: with other letters where it is one of those that hardly ever come twice.
    fn name(&self, name: &str, lap: usize) -> String {
        let label = top(name);
        let lower = label.to_lowercase();
        let is_rare = self.times.get(&lower) == Some(&1) && !self.domains.contains(&lower);
        let other: String = label.chars().map(|letter| shifted(letter, lap)).collect();
        // With escapes, letters and digits of a label are not what they seem.
        if lap == 0 || !is_rare || label.contains('\\') || self.domains.contains(&other.to_lowercase()) {
            return name.to_owned();
        }
        let name = name.trim_end_matches('.');
        format!("{}{other}.", &name[..name.len() - label.len()])
    }
}

impl Iterator for Laps<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        let (lap, at) = (self.next.checked_div(self.recorded.len())?, self.next % self.recorded.len());
        self.next += 1;
        let (name, rest) = self.recorded[at];
        Some(format!("{} {}", self.name(name, lap), rest.trim()))
    }
}

/// Top-level domains of a root zone, in lower case.
fn delegated(zone: &str) -> HashSet<String> {
    let records = zone.lines().filter(|line| !line.starts_with(';'));
    let owner = |line: &str| {
        let mut words = line.split_whitespace();
        let owner = words.next()?;
        (words.nth(2)? == "NS").then(|| owner.trim_end_matches('.').to_lowercase())
    };
    records.filter_map(owner).collect()
}

/// The last label of a name.
fn top(name: &str) -> &str {
    let name = name.trim_end_matches('.');
    name.rsplit_once('.').map_or(name, |(_, label)| label)
}

/// The letter so many places further in the alphabet.
fn shifted(letter: char, by: usize) -> char {
    let first = match letter {
        'a'..='z' => b'a',
        'A'..='Z' => b'A',
        _ => return letter,
    };
    char::from(first + ((letter as usize - usize::from(first) + by) % 26) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_names_differ_from_lap_to_lap() {
        let zone = "com. 1 IN NS a.\nnet. 1 IN NS a.\nnet. 1 IN DS 1 8 2 00\n; org. 1 IN NS a.\n";
        let recorded =
            "www.com. A edns\nx.Local. AAAA\nonce. A do\ntwice. A\nTWICE. A\n; c\n\nbnl. A\ne\\046z. A\n";
        let lines: Vec<String> = Laps::of(zone, recorded).take(21).collect();
        let [first, second, third] = [0, 1, 2].map(|lap| lines[7 * lap..7 * (lap + 1)].join(", "));
        assert_eq!(
            first,
            "www.com. A edns, x.Local. AAAA, once. A do, twice. A, TWICE. A, bnl. A, e\\046z. A"
        );
        // `bnl` would be `com`, which is a domain.
        assert_eq!(
            second,
            "www.com. A edns, x.Mpdbm. AAAA, podf. A do, twice. A, TWICE. A, bnl. A, e\\046z. A"
        );
        assert_eq!(
            third,
            "www.com. A edns, x.Nqecn. AAAA, qpeg. A do, twice. A, TWICE. A, dpn. A, e\\046z. A"
        );
    }
}
