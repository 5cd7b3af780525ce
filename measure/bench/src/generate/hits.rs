//! Queries for the bed of a caching server, with a set share of cache hits.
//!
//! Names whose TTL is 1 are misses if they come so rarely that they have left the cache: each is asked for once before
//! any is asked for again, in an order by chance. All other names are hits after a first round.

use std::path::Path;

use wire::{NameBuf, iana::rtype};

use super::{owners::files, zone_file::ZoneFile};
use crate::{Error, query::Query, random::Random};

/// Draws `count` queries with RD for the zone files below `path`, `hit_share` of them for names that stay in a cache.
/// Returns how many names of either kind there are: that stay, and that do not.
pub fn from_zones(
    path: &Path,
    count: usize,
    hit_share: f64,
    seed: u64,
    mut take: impl FnMut(Query),
) -> Result<(usize, usize), Error> {
    let (mut kept, mut short) = (Vec::new(), Vec::new());
    for file in files(path)? {
        ZoneFile::open(&file, None)?.each_record(|record| {
            if record.rtype == rtype::A {
                let names = if record.ttl > 1 { &mut kept } else { &mut short };
                names.push(record.owner.to_owned());
            }
        })?;
    }
    let empty = |wanted| Error::Empty { path: path.to_owned(), wanted };
    if kept.is_empty() && hit_share > 0.0 {
        return Err(empty("addresses with a TTL above 1"));
    }
    if short.is_empty() && hit_share < 1.0 {
        return Err(empty("addresses with a TTL of 1"));
    }
    let mut random = Random::part(seed, 10);
    random.shuffle(&mut short);
    let mut rounds = short.iter().cycle();
    for _ in 0..count {
        let name: Option<&NameBuf> = match random.chance(hit_share) {
            true => kept.get(random.index(kept.len())),
            false => rounds.next(),
        };
        if let Some(name) = name {
            take(Query { name: name.clone(), rtype: rtype::A, edns: None, rd: true, cd: false });
        }
    }
    Ok((kept.len(), short.len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn share_of_hits_and_rounds_of_misses() {
        let folder = tempfile::tempdir().unwrap();
        let mut text = "$ORIGIN a.example.\n$TTL 600\n@ SOA a b 1 2 3 4 5\n@ NS ns.example.\n".to_owned();
        for number in 0..100 {
            text += &format!("host{number} {} A 192.0.2.1\n", if number < 50 { 1 } else { 600 });
        }
        std::fs::write(folder.path().join("zone"), &text).unwrap();
        let mut lines = Vec::new();
        let mut take = |query: Query| lines.push(query.to_string());
        assert_eq!(from_zones(folder.path(), 10_000, 0.8, 1, &mut take).unwrap(), (50, 50));
        let number = |line: &String| line[4..].split_once('.').unwrap().0.parse::<u32>().unwrap();
        let misses: Vec<u32> = lines.iter().map(number).filter(|&number| number < 50).collect();
        assert!((1_850..2_150).contains(&misses.len()), "{}", misses.len());
        let mut round = misses[50..100].to_vec();
        round.sort_unstable();
        round.dedup();
        assert_eq!(round.len(), 50, "each once before any again");
        assert!(lines[0].ends_with(" A rd"));
        std::fs::write(folder.path().join("zone"), text.replace(" 1 A", " 600 A")).unwrap();
        assert!(matches!(from_zones(folder.path(), 1, 0.8, 1, |_| ()), Err(Error::Empty { .. })));
    }
}
