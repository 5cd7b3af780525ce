//! Keys of the cache.

use wire::Places;
use wire::query::PlainQuery;
use wire::sort_key::fold_case;

/// Most octets of the labels of a key: four words.
const NAME_OCTETS_MAX: usize = 8 * WORDS;
const WORDS: usize = 4;

/// Bits of [`Asked::conditions`].
const DNSSEC_OK: u64 = 1;
/// The labels are the whole name, and the type counts.
const WHOLE: u64 = 4;
const ROOM_SHIFT: u32 = 8;
const QTYPE_SHIFT: u32 = 16;
const EPOCH_SHIFT: u32 = 32;

/// Rooms below this are told apart: there glue is left out of referrals.
const SHORT_ROOM: usize = 512;
/// Octets of the smallest record of glue: rooms that differ by less mostly have the same answer.
const GLUE_OCTETS_LOG: u32 = 4;

/// A question as the cache sees it: labels and conditions (DO, epoch).
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    /// The upper labels as on the wire, lower-case, without root, filled with zeros.
    name: [u64; WORDS],
    hash: u64,
    /// DO of the query, and the epoch.
    conditions: u64,
    /// The type, if the labels are the whole name.
    whole: Option<u16>,
}

/// What an answer is kept under: labels, and whatever else an answer depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheKey {
    name: [u64; WORDS],
    conditions: u64,
}

impl CacheKey {
    /// The key of nothing: there is no epoch 0.
    pub(super) const NONE: CacheKey = CacheKey { name: [0; WORDS], conditions: 0 };

    /// The epoch it is of.
    pub(super) fn epoch(&self) -> u32 {
        (self.conditions >> EPOCH_SHIFT) as u32
    }
}

impl Asked {
    /// The last `labels` labels of the question, at most all that it has; `None` when they are long. `epoch`: what is kept from
    /// another one does not count.
    #[inline(always)]
    pub(crate) fn of(
        message: &[u8],
        query: &PlainQuery,
        places: &Places,
        (labels, epoch): (usize, u32),
    ) -> Option<Asked> {
        let from = places.of_ancestor(labels) as usize;
        let (name, hash) = read(message, from, places.of_ancestor(0) as usize)?;
        let wanted = DNSSEC_OK * u64::from(query.edns.is_some_and(|edns| edns.dnssec_ok));
        let conditions = wanted | u64::from(epoch) << EPOCH_SHIFT;
        Some(Asked { name, hash, conditions, whole: (places.label_count() == labels).then_some(query.qtype) })
    }

    /// The key of what all names with these labels get.
    #[inline(always)]
    pub(super) fn upper(&self) -> (CacheKey, u64) {
        self.key(0)
    }

    /// The same where the answer depends on the room for it; `None` where there is enough in any case.
    #[inline(always)]
    pub(super) fn upper_in(&self, room: usize) -> Option<(CacheKey, u64)> {
        let class = (room >> GLUE_OCTETS_LOG) as u64 | 0x80;
        (room < SHORT_ROOM).then(|| self.key(class << ROOM_SHIFT))
    }

    /// The key of what the name itself gets, asked for the type; `None` when the name is longer than these labels.
    #[inline(always)]
    pub(super) fn whole(&self) -> Option<(CacheKey, u64)> {
        let qtype = self.whole?;
        Some(self.key(WHOLE | u64::from(qtype) << QTYPE_SHIFT))
    }

    #[inline(always)]
    fn key(&self, more: u64) -> (CacheKey, u64) {
        let conditions = self.conditions | more;
        (
            CacheKey { name: self.name, conditions },
            fold_multiply(self.hash ^ conditions, 0xc2b2_ae3d_27d4_eb4f),
        )
    }
}

/// The labels at `from..to` of a message, lower-case, and a hash of the words that they take: the length octets are below the letters.
#[inline(always)]
fn read(message: &[u8], from: usize, to: usize) -> Option<([u64; WORDS], u64)> {
    let length = to - from;
    if length > NAME_OCTETS_MAX {
        return None;
    }
    let (mut name, mut hash) = ([0; WORDS], 0);
    for (index, word) in name.iter_mut().enumerate() {
        let at = from + 8 * index;
        if at >= to {
            break;
        }
        *word = if at + 8 <= to {
            fold_case(u64::from_le_bytes(*message.get(at..)?.first_chunk()?))
        } else {
            // The eight octets that end with the labels: the header stands before them.
            let word = u64::from_le_bytes(*message.get(to - 8..)?.first_chunk()?);
            fold_case(word >> (8 * (at + 8 - to)))
        };
        hash = fold_multiply(hash ^ *word, 0x9e37_79b9_7f4a_7c15);
    }
    Some((name, hash))
}

/// The two halves of a product, folded together.
#[inline(always)]
fn fold_multiply(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The keys of a question, of its last `labels` labels.
    fn keys(name: &str, qtype: u16, labels: usize) -> Option<(CacheKey, Option<CacheKey>)> {
        let name: wire::NameBuf = name.parse().unwrap();
        let message = crate::inspect::query(0, &name, qtype, Some((1232, true)));
        let mut places = Places::new();
        let query = PlainQuery::read(&message, &mut places).unwrap();
        let asked = Asked::of(&message, &query, &places, (labels.min(places.label_count()), 1))?;
        Some((asked.upper().0, asked.whole().map(|(key, _)| key)))
    }

    #[test]
    fn labels_and_case() {
        let com = keys("com", 1, 1).unwrap();
        assert!(keys("www.google.COM", 1, 1).unwrap().0 == com.0);
        assert!(keys("www.google.com", 28, 1).unwrap() == (com.0, None));
        assert!(keys("con", 1, 1).unwrap().0 != com.0 && keys("com", 1, 2).unwrap().0 == com.0);
        assert!(keys("com", 2, 1).unwrap().1 != com.1);
        assert!(keys("a.com", 1, 2).unwrap().0 != keys("b.com", 1, 2).unwrap().0);
        assert!(keys(".", 2, 1).unwrap().1.is_some());
    }

    #[test]
    fn long_labels_have_no_key() {
        for length in 1..=63 {
            let label = "x".repeat(length);
            assert_eq!(keys(&format!("www.{label}"), 1, 1).is_some(), length < 32, "{length}");
            let other = format!("{}y", "x".repeat(length - 1));
            assert!(length >= 32 || keys(&label, 1, 1) != keys(&other, 1, 1));
        }
    }

    impl std::fmt::Debug for CacheKey {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "{:x?} {:x}", self.name, self.conditions)
        }
    }
}
