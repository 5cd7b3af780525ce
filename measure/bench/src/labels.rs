//! Labels for generated zones: real ones where a list of names is given, recombined ones after that.
//!
//! A label of a zone like `net.` has about 10 to 11 characters, letters mostly, hyphens and digits at times.
//! The sizes and shared beginnings of labels decide what a zone costs in memory, so they should be real:
//! the labels of a names file come first, each once, in an order set by the seed; then new ones are made
//! from the first part of one and the last part of another. Without a file the parts are syllables.

use std::{collections::HashSet, fs::File, io::BufRead, io::BufReader, path::Path};

use crate::{Error, error, random::Random};

/// Most octets of a made label; the limit of the DNS is 63 (RFC 1035 2.3.4), names above 40 are rare.
const MADE_OCTETS_MAX: usize = 40;
/// Longest line taken from a names file: a name of 255 octets with every octet escaped, and columns after it.
const LINE_OCTETS_MAX: usize = 2_000;
/// Tries for one new label before a digit string is appended; collisions are rare until most pairs are used.
const TRIES_MAX: usize = 100;
/// Never made: the generated top-level zone has its own name servers below this label.
pub const RESERVED: &[u8] = b"gtld-servers";

/// Different lower-case labels of letters, digits and hyphens, one after the other in one run of octets.
#[derive(Default)]
pub struct Labels {
    octets: Vec<u8>,
    ends: Vec<u32>,
}

impl Labels {
    /// How many labels there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Label number `index`, which must be below the count.
    pub fn label(&self, index: usize) -> &[u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] as usize };
        &self.octets[start..self.ends[index] as usize]
    }

    /// Mean length in octets; 0 where there are none.
    pub fn octets_mean(&self) -> f64 {
        self.octets.len() as f64 / self.ends.len().max(1) as f64
    }

    fn push(&mut self, label: &[u8]) {
        self.octets.extend_from_slice(label);
        self.ends.push(self.octets.len() as u32);
    }
}

/// Makes `count` different labels from `seed`, beginning with those of the names in `names` where given.
pub fn make(count: usize, names: Option<&Path>, seed: u64) -> Result<Labels, Error> {
    let mut random = Random::part(seed, 0x1abe1);
    let mut parts = match names {
        Some(path) => read_names(path, 1)?,
        None => Labels::default(),
    };
    let real = parts.count();
    if real == 0 {
        syllable_labels(&mut parts, &mut random);
    }
    let mut order: Vec<u32> = (0..real as u32).collect();
    random.shuffle(&mut order);
    let mut labels = Labels::default();
    // Hashes instead of labels: at 4 M labels one is given up by accident in two million runs.
    let mut seen = HashSet::with_capacity(count);
    seen.insert(hash(RESERVED));
    for &index in order.iter().take(count) {
        let label = parts.label(index as usize);
        if seen.insert(hash(label)) {
            labels.push(label);
        }
    }
    let mut made = Vec::new();
    while labels.count() < count {
        recombine(&parts, &mut random, &seen, &mut made);
        if seen.insert(hash(&made)) {
            labels.push(&made);
        }
    }
    Ok(labels)
}

/// Top-level labels that every root zone made here has, the most used first, so that skewed queries find theirs.
const TOP_LEVEL: [&str; 20] = [
    "net", "com", "org", "info", "arpa", "br", "de", "uk", "jp", "fr", "cn", "ru", "nl", "it", "edu", "gov",
    "mil", "int", "biz", "eu",
];
/// Lengths of the top-level labels of the root zone of 2026, and how many have them.
const TOP_LEVEL_OCTETS: [(usize, usize); 14] = [
    (2, 248),
    (3, 216),
    (4, 205),
    (5, 155),
    (6, 158),
    (7, 123),
    (8, 82),
    (9, 55),
    (10, 57),
    (11, 67),
    (12, 21),
    (13, 10),
    (14, 17),
    (18, 24),
];

/// Makes `count` different top-level labels from `seed`: some that exist, those of the names in `names` where given,
/// then made ones with the lengths of real ones.
pub fn make_top_level(count: usize, names: Option<&Path>, seed: u64) -> Result<Labels, Error> {
    let mut random = Random::part(seed, 0x1abe2);
    let mut labels = Labels::default();
    let mut seen = HashSet::with_capacity(count);
    let listed = match names {
        Some(path) => read_names(path, 0)?,
        None => Labels::default(),
    };
    let listed = (0..listed.count()).map(|index| listed.label(index));
    for label in TOP_LEVEL.iter().map(|label| label.as_bytes()).chain(listed) {
        let is_usual = label.len() <= MADE_OCTETS_MAX && label.iter().any(u8::is_ascii_alphabetic);
        if labels.count() < count && is_usual && seen.insert(hash(label)) {
            labels.push(label);
        }
    }
    let weights = TOP_LEVEL_OCTETS.iter().map(|&(_, weight)| weight).sum::<usize>();
    let mut made = Vec::new();
    let mut tries = 0;
    while labels.count() < count {
        let mut ticket = random.index(weights);
        let octets = TOP_LEVEL_OCTETS.iter().find(|&&(_, weight)| match ticket.checked_sub(weight) {
            Some(rest) => {
                ticket = rest;
                false
            }
            None => true,
        });
        // There are only 676 labels of two letters: after many tries they grow.
        let octets = octets.map_or(2, |&(octets, _)| octets) + tries / TRIES_MAX;
        made.clear();
        made.extend((0..octets).map(|_| b'a' + random.below(26) as u8));
        tries += 1;
        if seen.insert(hash(&made)) {
            labels.push(&made);
            tries = 0;
        }
    }
    Ok(labels)
}

/// One label from the beginning of one part and the end of another, different from all in `seen` as far as
/// a bounded number of tries can tell.
fn recombine(parts: &Labels, random: &mut Random, seen: &HashSet<u64>, made: &mut Vec<u8>) {
    for attempt in 0..TRIES_MAX {
        let first = parts.label(random.index(parts.count()));
        let second = parts.label(random.index(parts.count()));
        made.clear();
        made.extend_from_slice(&first[..1 + random.index(first.len())]);
        made.extend_from_slice(&second[random.index(second.len())..]);
        if attempt + 10 > TRIES_MAX {
            made.extend_from_slice(random.below(1_000_000).to_string().as_bytes());
        }
        let hyphen = made.last() == Some(&b'-') || made.get(2..4) == Some(b"--");
        if (2..=MADE_OCTETS_MAX).contains(&made.len()) && !hyphen && !seen.contains(&hash(made)) {
            return;
        }
    }
}

/// Parts for recombination where no real names are at hand: two to four syllables, digits at times.
fn syllable_labels(labels: &mut Labels, random: &mut Random) {
    const ONSETS: [&str; 24] = [
        "b", "c", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "st", "tr", "pl",
        "ch", "sh", "br", "gr", "x",
    ];
    const NUCLEI: [&str; 10] = ["a", "e", "i", "o", "u", "ea", "ai", "oo", "ar", "er"];
    const CODAS: [&str; 10] = ["", "", "", "", "n", "r", "s", "t", "l", "ng"];
    let mut made = String::new();
    for _ in 0..20_000 {
        made.clear();
        for _ in 0..2 + random.index(3) {
            made += ONSETS[random.index(ONSETS.len())];
            made += NUCLEI[random.index(NUCLEI.len())];
            made += CODAS[random.index(CODAS.len())];
        }
        if random.chance(0.1) {
            made += &random.below(1000).to_string();
        }
        labels.push(made.as_bytes());
    }
}

/// One label of each name in a file, each once: the top-level label (`level` 0), or the one left of it (1). One name a
/// line; columns after a tab or a blank are ignored, as are labels with octets other than letters, digits and inner
/// hyphens.
fn read_names(path: &Path, level: usize) -> Result<Labels, Error> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(error::file(path, "open"))?);
    let mut labels = Labels::default();
    let mut seen = HashSet::new();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = std::io::Read::take(&mut reader, LINE_OCTETS_MAX as u64).read_until(b'\n', &mut line);
        if read.map_err(error::file(path, "read"))? == 0 {
            break;
        }
        if line.len() == LINE_OCTETS_MAX {
            let problem = error::LineProblem::TooLong;
            return Err(Error::Line { path: path.to_owned(), line: number, problem });
        }
        line.make_ascii_lowercase();
        if let Some(label) = host_label(&line, level)
            && seen.insert(hash(label))
        {
            labels.push(label);
        }
    }
    if labels.count() == 0 {
        return Err(Error::Empty { path: path.to_owned(), wanted: "names" });
    }
    Ok(labels)
}

/// The label so many before the last one of the name that `line` begins with, if it is a host name label.
fn host_label(line: &[u8], level: usize) -> Option<&[u8]> {
    let name = line.split(|octet| octet.is_ascii_whitespace()).next()?;
    let name = name.strip_suffix(b".").unwrap_or(name);
    let label = name.rsplit(|&octet| octet == b'.').nth(level)?;
    let plain = label.iter().all(|&octet| octet.is_ascii_alphanumeric() || octet == b'-');
    let edges = label.first() != Some(&b'-') && label.last() != Some(&b'-');
    (plain && edges && (1..=63).contains(&label.len())).then_some(label)
}

/// FNV-1a with a final mix: labels are short, and no one chooses them against us.
fn hash(label: &[u8]) -> u64 {
    let mut value = 0xcbf2_9ce4_8422_2325u64;
    for &octet in label {
        value = (value ^ u64::from(octet)).wrapping_mul(0x100_0000_01b3);
    }
    value ^ (value >> 32)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn list(labels: &Labels) -> Vec<Vec<u8>> {
        (0..labels.count()).map(|index| labels.label(index).to_vec()).collect()
    }

    fn check_host_labels(labels: &Labels) {
        let mut all = list(labels);
        for label in &all {
            assert!(host_label(&[label, &b".net"[..]].concat(), 1).is_some(), "{label:?}");
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count, "labels differ");
    }

    #[test]
    fn synthetic_labels_differ_and_repeat_by_seed() {
        let labels = make(50_000, None, 1).unwrap();
        assert_eq!(labels.count(), 50_000);
        check_host_labels(&labels);
        assert!((8.0..13.0).contains(&labels.octets_mean()), "{}", labels.octets_mean());
        assert!(list(&labels) == list(&make(50_000, None, 1).unwrap()));
        assert!(list(&labels) != list(&make(50_000, None, 2).unwrap()));
    }

    #[test]
    fn real_names_come_first() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "www.Example.com.\t1\t0\nexample.org\n-bad.com\nb\\032d.com\nother-name.net. x\ncom.\n";
        std::fs::write(file.path(), text).unwrap();
        let labels = make(500, Some(file.path()), 3).unwrap();
        let mut first: Vec<_> = list(&labels)[..2].to_vec();
        first.sort();
        assert_eq!(first, [b"example".to_vec(), b"other-name".to_vec()]);
        check_host_labels(&labels);
    }

    #[test]
    fn top_level_labels() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "www.example.com\nexample.zone.\n192.0.2.1\nx.zone\n").unwrap();
        let labels = make_top_level(1_438, Some(file.path()), 1).unwrap();
        check_host_labels(&labels);
        assert_eq!((labels.label(0), labels.label(20)), (&b"net"[..], &b"zone"[..]));
        assert!(list(&labels) == list(&make_top_level(1_438, Some(file.path()), 1).unwrap()));
        let two = list(&labels).iter().filter(|label| label.len() == 2).count();
        assert!((200..300).contains(&two), "{two}");
        assert_eq!(make_top_level(3, None, 1).unwrap().count(), 3);
    }

    #[test]
    fn file_without_names() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(make(1, Some(file.path()), 0), Err(Error::Empty { .. })));
        std::fs::write(file.path(), "x".repeat(3000)).unwrap();
        assert!(matches!(make(1, Some(file.path()), 0), Err(Error::Line { line: 1, .. })));
        assert!(matches!(make(1, Some(Path::new("/nonexistent")), 0), Err(Error::File { .. })));
    }
}
