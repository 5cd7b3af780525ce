//! Zones in canonical order (RFC 4034 6.1), quickly enough for a million of them.

use wire::SortKey;

use crate::wanted::Wanted;

/// Where the sort key of a zone lies in the buffer that all share. Comparing the first octets as a number settles
/// nearly all comparisons without going to the buffer.
struct KeyRange {
    prefix: u128,
    start: usize,
    end: usize,
    /// Which zone it is.
    number: usize,
}

/// Sorts zones by name.
pub fn in_order(zones: Vec<Wanted>) -> Vec<Wanted> {
    let (mut key, mut keys) = (SortKey::new(), Vec::new());
    let mut ranges = Vec::with_capacity(zones.len());
    for (number, zone) in zones.iter().enumerate() {
        key.set(&zone.name);
        let start = keys.len();
        keys.extend_from_slice(key.octets());
        ranges.push(KeyRange { prefix: prefix(key.octets()), start, end: keys.len(), number });
    }
    let rest = |range: &KeyRange| &keys[range.start..range.end];
    ranges.sort_unstable_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| rest(a).cmp(rest(b))));
    drop(keys);
    let mut zones: Vec<Option<Wanted>> = zones.into_iter().map(Some).collect();
    ranges.iter().filter_map(|range| zones[range.number].take()).collect()
}

/// The first octets of a key as a number that sorts as they do; equal for keys of which one goes on with zeros.
fn prefix(key: &[u8]) -> u128 {
    let mut octets = [0; size_of::<u128>()];
    let count = key.len().min(octets.len());
    octets[..count].copy_from_slice(&key[..count]);
    u128::from_be_bytes(octets)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wanted::{Folders, Source};
    use std::path::Path;
    use wire::NameBuf;

    #[test]
    fn the_order_is_canonical() {
        // RFC 4034 6.1, with names whose first sixteen octets are the same, and one inside another.
        let sorted = [
            "example",
            "a.example",
            "yljkjljk.a.example",
            "Z.a.example",
            "zABC.a.EXAMPLE",
            "z.example",
            "\\001.z.example",
            "*.z.example",
            "\\200.z.example",
            "a-very-long-name-of-a-zone.example2",
            "a-very-long-name-of-a-zone2.example2",
            "b.a-very-long-name-of-a-zone2.example2",
        ];
        let source = Source::File(Folders::default().share(Path::new("x")));
        let wanted = |name: &&str| Wanted { name: NameBuf::from_text(name).unwrap(), source: source.clone() };
        let names = |zones: &[Wanted]| zones.iter().map(|zone| zone.name.to_string()).collect::<Vec<_>>();
        let expected = names(&sorted.iter().map(wanted).collect::<Vec<_>>());
        for step in [1, 5, 7, 11] {
            let mixed = (0..sorted.len()).map(|at| wanted(&sorted[at * step % sorted.len()])).collect();
            assert_eq!(names(&in_order(mixed)), expected);
        }
    }
}
