//! The table of zones: which of them is closest above a name.

use crate::{database::suffixes, tree::Tree};

/// Apexes, and the number of each zone.
#[derive(Clone)]
pub struct Table(Tree<u32>);

impl Table {
    /// Of apexes in lower case, numbered as they come.
    pub fn new<'z>(apexes: impl ExactSizeIterator<Item = &'z [u8]>) -> Table {
        let mut tree = Tree::new(apexes.len());
        for (number, apex) in (0..).zip(apexes) {
            tree.insert(apex, number);
        }
        Table(tree)
    }

    /// The number of the zone whose apex is the longest that a name in lower case ends with.
    pub fn closest(&self, name: &[u8]) -> Option<usize> {
        let above = suffixes(name).filter_map(|at| self.0.get(&name[at..]));
        above.last().map(|&number| number as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_apex_counts() {
        let apexes: [&[u8]; 3] = [b"\x01b\x01c\0", b"\x01c\0", b"\x02cb\x01c\0"];
        let table = Table::new(apexes.into_iter());
        let of = |name: &[u8]| table.closest(name);
        assert_eq!(
            [of(b"\x01a\x01b\x01c\0"), of(b"\x01b\x01c\0"), of(b"\x01x\x01c\0")],
            [Some(0), Some(0), Some(1)]
        );
        assert_eq!([of(b"\x02cb\x01c\0"), of(b"\x01d\0"), of(b"\0")], [Some(2), None, None]);
        assert_eq!(Table::new([&b"\0"[..]].into_iter()).closest(b"\x01d\0"), Some(0));
    }
}
