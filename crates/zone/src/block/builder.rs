//! Names into blocks: cut where they share most of their keys.
//!
//! A block has up to 16 names, and what all of them begin with once. Fewer are better where names of two parts of the zone would meet in it, as those below
//! two customers' sites do: neither would be stored without what its own have in common. So names are collected, and of all ways to make two blocks of the
//! next ones that which spares most octets a name says where the first of them ends.

use super::{BLOCK_ALIGNMENT, DIRECTORY_ROW_OCTETS, NAMES_MAX, PREFIX_OCTETS_MAX, WIDE, push_varint};

/// Names that are collected before a block is cut off: as many as the next two may have.
pub const COLLECTED_MAX: usize = 2 * NAMES_MAX;
/// What a block costs beside its names: its head, what fills it up, and its row in the directory twice, as each search for who comes before a name has one
/// row more to choose from. Counted once, the pack of a registry's zone has 20 % more blocks, and is no smaller.
const COST_OCTETS: i64 = 2 * DIRECTORY_ROW_OCTETS as i64 + 4;

/// Collects names of one zone in canonical order.
#[derive(Default)]
pub struct Builder {
    /// Shape number and references of each entry, one after the other.
    heads: Vec<u8>,
    keys: Vec<u8>,
    ends: Vec<End>,
}

/// Where an entry ends.
#[derive(Clone, Copy, Default)]
struct End {
    head: usize,
    key: usize,
    /// Octets that its key has in common with the one before; of the first that is of no use.
    shared: usize,
    /// Whether it has an NSEC record that proves something.
    is_nsec: bool,
}

/// Octets that some blocks spare, beside names that share nothing, and how many names they have.
#[derive(Clone, Copy)]
struct Spared {
    octets: i64,
    names: usize,
    /// What all names of the last of the blocks begin with, in octets.
    prefix: usize,
}

impl Spared {
    /// Whether it is more a name.
    fn is_better_than(self, other: Spared) -> bool {
        self.octets * other.names as i64 > other.octets * self.names as i64
    }
}

impl Builder {
    /// Adds the next name, of which there are at most [`COLLECTED_MAX`]: its key, shape number and references. `is_nsec`: it is to be told of by
    /// [`Builder::nsec_names`].
    pub fn push(&mut self, key: &[u8], shape: usize, references: &[u8], is_nsec: bool) {
        debug_assert!(self.ends.len() < COLLECTED_MAX);
        let before = self.ends.len().checked_sub(2).map_or(0, |at| self.ends[at].key);
        let last = self.keys[before..].iter();
        let shared = last.zip(key).take_while(|(a, b)| a == b).count().min(PREFIX_OCTETS_MAX);
        push_varint(shape, &mut self.heads);
        self.heads.extend_from_slice(references);
        self.keys.extend_from_slice(key);
        self.ends.push(End { head: self.heads.len(), key: self.keys.len(), shared, is_nsec });
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.heads.clear();
        self.keys.clear();
        self.ends.clear();
    }

    /// The first key.
    pub fn first_key(&self) -> &[u8] {
        &self.keys[..self.ends.first().map_or(0, |end| end.key)]
    }

    /// Those of the first `count` names that have NSEC records: which they are, and their keys.
    pub fn nsec_names(&self, count: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let names = self.ends[..count].iter().enumerate().filter(|(_, end)| end.is_nsec);
        names.map(|(at, end)| (at, &self.keys[self.end_before(at).key..end.key]))
    }

    /// How many names the next block is to have: all that are left may be in it.
    pub fn best(&self) -> usize {
        let mut best: Option<(Spared, usize)> = None;
        for first in self.spared_from(0).filter(|first| self.may_end(first)) {
            let more = self.spared_from(first.names).map(|second| Spared {
                octets: first.octets + second.octets,
                names: first.names + second.names,
                ..second
            });
            // Where names are left for a second block it is looked at.
            let both = more.reduce(|one, other| if other.is_better_than(one) { other } else { one });
            let found = both.unwrap_or(first);
            if best.is_none_or(|(best, _)| !best.is_better_than(found)) {
                best = Some((found, first.names));
            }
        }
        best.map_or(0, |(_, names)| names)
    }

    /// Whether it can be best to end the first block so: where the next name shares less than its names do, or less than with the one behind it. Any other
    /// would spare more octets in this block, or the last of this in the next.
    fn may_end(&self, first: &Spared) -> bool {
        let Some([next, behind]) = self.ends.get(first.names..first.names + 2) else { return true };
        first.names == NAMES_MAX || next.shared < first.prefix.max(behind.shared)
    }

    /// What a block of names from number `begin` on spares: one name, two, and so on.
    fn spared_from(&self, begin: usize) -> impl Iterator<Item = Spared> + '_ {
        let from = self.end_before(begin);
        let mut prefix = PREFIX_OCTETS_MAX;
        self.ends[begin..].iter().take(NAMES_MAX).enumerate().map(move |(at, end)| {
            let (names, octets) = (at + 1, end.head - from.head + end.key - from.key);
            prefix =
                if at == 0 { (end.key - from.key).min(PREFIX_OCTETS_MAX) } else { prefix.min(end.shared) };
            // What all share is stored once, and ends of long entries take an octet more each.
            let ends = if octets - prefix * names > usize::from(u8::MAX) { names as i64 } else { 0 };
            Spared { octets: (prefix * at) as i64 - COST_OCTETS - ends, names, prefix }
        })
    }

    fn end_before(&self, number: usize) -> End {
        let before = number.checked_sub(1).map(|before| self.ends[before]);
        before.unwrap_or_default()
    }

    /// Writes a block of the first `count` names, of which there are as many at least, to `out`, which gets padded to [`BLOCK_ALIGNMENT`] first, and keeps
    /// those behind. Returns where the block begins in `out`.
    pub fn finish(&mut self, count: usize, out: &mut Vec<u8>) -> usize {
        out.resize(out.len().next_multiple_of(BLOCK_ALIGNMENT), 0);
        let at = out.len();
        let (ends, whole) = (&self.ends[..count], self.end_before(count));
        // Keys are in order: what each shares with the one before, all share.
        let prefix =
            ends[1..].iter().map(|end| end.shared).fold(ends[0].key.min(PREFIX_OCTETS_MAX), usize::min);
        let wide = whole.head + whole.key - prefix * count > u8::MAX as usize;
        out.push((count - 1) as u8 | if wide { WIDE } else { 0 });
        out.push(prefix as u8);
        out.extend_from_slice(&self.keys[..prefix]);
        for (names, end) in (1..).zip(ends) {
            let end = end.head + end.key - prefix * names;
            if wide {
                out.extend_from_slice(&(end as u16).to_le_bytes());
            } else {
                out.push(end as u8);
            }
        }
        let mut from = End::default();
        for &end in ends {
            out.extend_from_slice(&self.heads[from.head..end.head]);
            out.extend_from_slice(&self.keys[from.key + prefix..end.key]);
            from = end;
        }
        self.forget(count, whole);
        at
    }

    /// Forgets the first `count` names, which end there.
    fn forget(&mut self, count: usize, whole: End) {
        self.heads.drain(..whole.head);
        self.keys.drain(..whole.key);
        self.ends.drain(..count);
        for end in &mut self.ends {
            (end.head, end.key) = (end.head - whole.head, end.key - whole.key);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Block;
    use super::*;

    /// The keys of each block that these are cut into.
    fn cut(keys: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
        let (mut builder, mut out, mut blocks) = (Builder::default(), Vec::new(), Vec::new());
        let mut end = |builder: &mut Builder| {
            let (count, first) = (builder.best(), builder.first_key().to_vec());
            assert!((1..=NAMES_MAX.min(builder.len())).contains(&count));
            let at = builder.finish(count, &mut out);
            let block = Block::at(&out[at..]).unwrap();
            let keys =
                (0..block.count()).map(|slot| [block.prefix(), &block.entry(slot).unwrap().1[4..]].concat());
            let keys: Vec<_> = keys.collect();
            assert_eq!((keys.len(), &keys[0]), (count, &first));
            blocks.push(keys);
        };
        for key in keys {
            builder.push(key, 300, &[7; 4], key.last() == Some(&0));
            if builder.len() == COLLECTED_MAX {
                end(&mut builder);
            }
        }
        while !builder.is_empty() {
            end(&mut builder);
        }
        assert_eq!(blocks.concat(), keys);
        blocks
    }

    fn below(site: &str, hosts: std::ops::Range<usize>) -> Vec<Vec<u8>> {
        let own = std::iter::once(format!("{site}\0"));
        own.chain(hosts.map(|host| format!("{site}\0h{host:02}\0"))).map(String::into_bytes).collect()
    }

    #[test]
    fn blocks_are_full_where_nothing_is_shared() {
        let keys: Vec<Vec<u8>> = (2..102u8).map(|octet| vec![octet, 0]).collect();
        let counts: Vec<usize> = cut(&keys).iter().map(Vec::len).collect();
        assert!(counts.iter().rev().skip(2).all(|&count| count == NAMES_MAX), "{counts:?}");
        assert_eq!((cut(&[]).len(), cut(&keys[..1]).len()), (0, 1));
    }

    /// Names below one another are in blocks of their own.
    #[test]
    fn sites_are_kept_apart() {
        let sites = ["a-customers-blog", "an-intranet-of-theirs", "the-shop-of-another"];
        let keys: Vec<Vec<u8>> = sites.iter().flat_map(|site| below(site, 0..19)).collect();
        for block in cut(&keys) {
            let site = |key: &[u8]| key.split(|&octet| octet == 0).next().unwrap().to_vec();
            assert!(block.iter().all(|key| site(key) == site(&block[0])), "{block:?}");
        }
    }

    #[test]
    fn keys_of_any_length() {
        let mut keys: Vec<Vec<u8>> = (0..90usize)
            .map(|number| {
                [
                    vec![b'a' + (number / 45) as u8; 300],
                    vec![b'b'; number * 37 % 250],
                    number.to_be_bytes().to_vec(),
                ]
                .concat()
            })
            .collect();
        keys.sort();
        cut(&keys);
    }
}
