//! Zones in canonical order (RFC 4034 6.1), for those who ask for a list of them.

use wire::{Name, SortKey};

/// Where the sort key of a zone lies in the buffer that all share. Comparing the first octets as a number settles
/// nearly all comparisons without going to the buffer.
struct KeyRange {
    prefix: u128,
    start: usize,
    end: usize,
    /// Which zone it is.
    number: usize,
}

/// Names that are to be sorted.
#[derive(Default)]
pub struct Order {
    key: SortKey,
    keys: Vec<u8>,
    ranges: Vec<KeyRange>,
}

impl Order {
    /// Adds a name; its number is the count before.
    pub fn push(&mut self, name: &Name) {
        self.key.set(name);
        let start = self.keys.len();
        self.keys.extend_from_slice(self.key.octets());
        let (prefix, number) = (prefix(self.key.octets()), self.ranges.len());
        self.ranges.push(KeyRange { prefix, start, end: self.keys.len(), number });
    }

    /// The numbers of the names in canonical order.
    pub fn sorted(mut self) -> Vec<usize> {
        let rest = |range: &KeyRange| &self.keys[range.start..range.end];
        self.ranges.sort_unstable_by(|a, b| a.prefix.cmp(&b.prefix).then_with(|| rest(a).cmp(rest(b))));
        self.ranges.iter().map(|range| range.number).collect()
    }
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
        for step in [1, 5, 7, 11] {
            let mixed: Vec<usize> = (0..sorted.len()).map(|at| at * step % sorted.len()).collect();
            let mut order = Order::default();
            mixed.iter().for_each(|&at| order.push(&NameBuf::from_text(sorted[at]).unwrap()));
            assert!(order.sorted().into_iter().map(|number| mixed[number]).eq(0..sorted.len()));
        }
    }
}
