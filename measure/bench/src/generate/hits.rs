//! Queries for the bed of a caching server, with a set share of cache hits.
//!
//! Names whose TTL is 1 are misses if they come so rarely that they have left the cache: each is asked for once before
//! any is asked for again, in an order by chance. All other names are hits after a first round, which [`kept`] is.

use std::path::Path;

use wire::{NameBuf, iana::rtype};

use super::{
    owners::files,
    popularity::{Popularity, Skew},
    zone_file::ZoneFile,
};
use crate::{Error, query::Query, random::Random};

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Queries.
    pub count: usize,
    /// Share of them for names that stay in a cache.
    pub hit_share: f64,
    /// How often each of these is asked for; the others are in any case asked for one after the other.
    pub skew: Skew,
    /// Start of the random streams.
    pub seed: u64,
}

/// Draws queries with RD for the zone files below `path`. Returns how many names of either kind there are: that stay, and
/// that do not.
pub fn from_zones(path: &Path, mix: &Mix, mut take: impl FnMut(Query)) -> Result<(usize, usize), Error> {
    let Mix { count, hit_share, skew, seed } = *mix;
    let (kept, mut short) = names(path)?;
    let empty = |wanted| Error::Empty { path: path.to_owned(), wanted };
    if kept.is_empty() && hit_share > 0.0 {
        return Err(empty("addresses with a TTL above 1"));
    }
    if short.is_empty() && hit_share < 1.0 {
        return Err(empty("addresses with a TTL of 1"));
    }
    let mut random = Random::part(seed, 10);
    random.shuffle(&mut short);
    let texts: Vec<String> = kept.iter().map(ToString::to_string).collect();
    let popularity = Popularity::new(if texts.is_empty() { Skew::Uniform } else { skew }, &texts, seed);
    let mut rounds = short.iter().cycle();
    for _ in 0..count {
        let name: Option<&NameBuf> = match random.chance(hit_share) {
            true => kept.get(popularity.draw(&mut random).0),
            false => rounds.next(),
        };
        if let Some(name) = name {
            take(query(name));
        }
    }
    Ok((kept.len(), short.len()))
}

/// A query for each name that stays in a cache, once, in an order by chance. Returns how many there are.
pub fn kept(path: &Path, seed: u64, take: impl FnMut(Query)) -> Result<usize, Error> {
    let (mut kept, _) = names(path)?;
    if kept.is_empty() {
        return Err(Error::Empty { path: path.to_owned(), wanted: "addresses with a TTL above 1" });
    }
    Random::part(seed, 11).shuffle(&mut kept);
    kept.iter().map(query).for_each(take);
    Ok(kept.len())
}

/// Owners of addresses: those that stay in a cache, and those that do not.
fn names(path: &Path) -> Result<(Vec<NameBuf>, Vec<NameBuf>), Error> {
    let (mut kept, mut short) = (Vec::new(), Vec::new());
    for file in files(path)? {
        ZoneFile::open(&file, None)?.each_record(|record| {
            if record.rtype == rtype::A {
                let names = if record.ttl > 1 { &mut kept } else { &mut short };
                names.push(record.owner.to_owned());
            }
        })?;
    }
    Ok((kept, short))
}

fn query(name: &NameBuf) -> Query {
    Query { name: name.clone(), rtype: rtype::A, edns: None, rd: true, cd: false }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn zone() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let mut text = "$ORIGIN a.example.\n$TTL 600\n@ SOA a b 1 2 3 4 5\n@ NS ns.example.\n".to_owned();
        for number in 0..100 {
            text += &format!("host{number} {} A 192.0.2.1\n", if number < 50 { 1 } else { 600 });
        }
        std::fs::write(folder.path().join("zone"), &text).unwrap();
        (folder, text)
    }

    fn number(line: &str) -> u32 {
        line[4..].split_once('.').unwrap().0.parse().unwrap()
    }

    const MIX: Mix = Mix { count: 10_000, hit_share: 0.8, skew: Skew::Uniform, seed: 1 };

    #[test]
    fn share_of_hits_and_rounds_of_misses() {
        let (folder, text) = zone();
        let mut lines = Vec::new();
        let mut take = |query: Query| lines.push(query.to_string());
        assert_eq!(from_zones(folder.path(), &MIX, &mut take).unwrap(), (50, 50));
        let misses: Vec<u32> = lines.iter().map(|line| number(line)).filter(|&number| number < 50).collect();
        assert!((1_850..2_150).contains(&misses.len()), "{}", misses.len());
        let mut round = misses[50..100].to_vec();
        round.sort_unstable();
        round.dedup();
        assert_eq!(round.len(), 50, "each once before any again");
        assert!(lines[0].ends_with(" A rd"));
        std::fs::write(folder.path().join("zone"), text.replace(" 1 A", " 600 A")).unwrap();
        assert!(matches!(from_zones(folder.path(), &MIX, |_| ()), Err(Error::Empty { .. })));
    }

    #[test]
    fn few_of_those_that_stay_are_most_of_the_hits() {
        let (folder, _) = zone();
        let mut counts: HashMap<u32, usize> = HashMap::new();
        let take = |query: Query| *counts.entry(number(&query.to_string())).or_default() += 1;
        from_zones(folder.path(), &Mix { skew: Skew::Zipf, ..MIX }, take).unwrap();
        let of = |is_kept: bool| -> Vec<usize> {
            let meant = counts.iter().filter(|&(&number, _)| (number >= 50) == is_kept);
            meant.map(|(_, &count)| count).collect()
        };
        let (kept, short) = (of(true), of(false));
        let most = *kept.iter().max().unwrap();
        assert!(most > 8000 / 6, "the first of 50 has more than a fifth by Zipf's law: {most}");
        assert!(short.iter().max().unwrap() - short.iter().min().unwrap() <= 1, "{short:?}");
    }

    #[test]
    fn the_first_round_has_each_that_stays_once() {
        let (folder, _) = zone();
        let mut numbers = Vec::new();
        assert_eq!(kept(folder.path(), 1, |query| numbers.push(number(&query.to_string()))).unwrap(), 50);
        assert!(!numbers.is_sorted());
        numbers.sort_unstable();
        assert_eq!(numbers, (50..100).collect::<Vec<u32>>());
    }
}
