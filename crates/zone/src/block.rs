//! Blocks: up to 16 names of one zone in canonical order, sharing the octets that their keys begin with.
//!
//! ```text
//! block:  names - 1, with 0x80 for wide ends: u8 | prefix length: u8 | prefix | ends: u8 or u16 each | entries
//! entry:  shape number: varint | references, as many octets as the shape says | suffix of the key
//! ```
//!
//! An entry ends where `ends` says, counted from the first entry; its suffix is what remains, so suffixes
//! need no length of their own. Block and slot make the number of a name: `block * 16 + slot`.

use crate::section::u16_at;

mod builder;

pub use builder::{Builder, COLLECTED_MAX};

/// Names of a block: enough to share a prefix, few enough to search.
pub const NAMES_MAX: usize = 16;
/// Longest shared prefix: one octet of length.
pub const PREFIX_OCTETS_MAX: usize = 255;
/// Octets of a directory row: first eight octets of the block's first key as a number that sorts as
/// they do (u64), and where the block begins in units of four octets (u32).
pub const DIRECTORY_ROW_OCTETS: usize = 12;
/// Blocks begin at multiples of this, so that 32 bits reach 16 GiB.
pub const BLOCK_ALIGNMENT: usize = 4;

const WIDE: u8 = 0x80;

/// A block, taken apart. Octets after the block are visible to it and never interpreted.
#[derive(Clone, Copy)]
pub struct Block<'p> {
    prefix: &'p [u8],
    ends: &'p [u8],
    entries: &'p [u8],
    count: usize,
    wide: bool,
}

impl<'p> Block<'p> {
    /// The block that begins at `octets`; `None` when it is cut off.
    #[inline(always)]
    pub fn at(octets: &'p [u8]) -> Option<Block<'p>> {
        let [head, prefix_octets, rest @ ..] = octets else {
            return None;
        };
        let count = (*head & 0x0f) as usize + 1;
        let wide = *head & WIDE != 0;
        let (prefix, rest) = rest.split_at_checked(*prefix_octets as usize)?;
        let (ends, entries) = rest.split_at_checked(count << u32::from(wide))?;
        Some(Block { prefix, ends, entries, count, wide })
    }

    /// How many names, 1..=16.
    #[inline(always)]
    pub fn count(&self) -> usize {
        self.count
    }

    /// What all keys of the block begin with.
    #[inline(always)]
    pub fn prefix(&self) -> &'p [u8] {
        self.prefix
    }

    #[inline(always)]
    fn end(&self, slot: usize) -> usize {
        if self.wide {
            u16_at(self.ends, 2 * slot) as usize
        } else {
            self.ends.get(slot).map_or(0, |&end| end as usize)
        }
    }

    /// Entry number `slot`: its shape number and the octets that follow.
    #[inline(always)]
    pub fn entry(&self, slot: usize) -> Option<(usize, &'p [u8])> {
        if slot >= self.count {
            return None;
        }
        let start = if slot == 0 { 0 } else { self.end(slot - 1) };
        let entry = self.entries.get(start..self.end(slot))?;
        split_varint(entry)
    }
}

/// Reads a number stored seven bits an octet, lowest first, and returns what follows it.
#[inline(always)]
fn split_varint(octets: &[u8]) -> Option<(usize, &[u8])> {
    match octets {
        [a @ 0..=0x7f, rest @ ..] => Some((*a as usize, rest)),
        [a, b @ 0..=0x7f, rest @ ..] => Some(((*a & 0x7f) as usize | (*b as usize) << 7, rest)),
        [a, b, c @ 0..=0x7f, rest @ ..] => {
            Some(((*a & 0x7f) as usize | ((*b & 0x7f) as usize) << 7 | (*c as usize) << 14, rest))
        }
        [a, b, c, d @ 0..=0x7f, rest @ ..] => Some((
            (*a & 0x7f) as usize
                | ((*b & 0x7f) as usize) << 7
                | ((*c & 0x7f) as usize) << 14
                | (*d as usize) << 21,
            rest,
        )),
        _ => None,
    }
}

/// The largest number that [`push_varint`] takes: four octets.
pub const VARINT_MAX: usize = (1 << 28) - 1;

/// Appends a number of at most [`VARINT_MAX`] as [`Block::entry`] reads it.
pub fn push_varint(mut number: usize, out: &mut Vec<u8>) {
    debug_assert!(number <= VARINT_MAX);
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn check(keys: &[&[u8]], shape: usize, references: &[u8]) {
        let mut builder = Builder::default();
        for key in keys {
            builder.push(key, shape, references, false);
        }
        let mut out = vec![9];
        let at = builder.finish(keys.len(), &mut out);
        assert_eq!(at, 4);
        let block = Block::at(&out[at..]).unwrap();
        assert_eq!(block.count(), keys.len());
        for (slot, key) in keys.iter().enumerate() {
            let (found, rest) = block.entry(slot).unwrap();
            assert_eq!((found, &rest[..references.len()]), (shape, references));
            assert_eq!([block.prefix(), &rest[references.len()..]].concat(), *key);
        }
        assert!(block.entry(keys.len()).is_none());
    }

    #[test]
    fn round_trip() {
        check(&[b""], 0, b"");
        check(&[b"", b"a\0"], 127, b"1234");
        check(&[b"alpha\0", b"alpha\0www\0", b"alps\0"], 128, b"1234");
        check(&[b"x\0", b"y\0"], VARINT_MAX, b"");
        let long = [b'a'; 300];
        check(&[&long, &[b'a'; 301]], 20_000, &[7; 64]);
    }

    #[test]
    fn cut_off_blocks_are_none() {
        assert!(Block::at(b"").is_none());
        assert!(Block::at(b"\x00\x05ab").is_none());
        assert!(Block::at(b"\x0f\x00abc").is_none());
        assert!(Block::at(b"\x00\x00\x09ab").unwrap().entry(0).is_none());
        assert!(Block::at(b"\x00\x00\x02\xff\xff").unwrap().entry(0).is_none());
    }
}
