//! What a batch of queries will read of the memory, read before and of all of them together.
//!
//! A query whose answer is kept waits for memory at three to five places, half of its time where there are hundreds of thousands of names; those of a batch wait at the same time instead.

use super::Responder;
use crate::rendered::Spot;
use cache::{Cache, NameHash};
use wire::Name;
use wire::header::{HEADER_OCTETS, u16_at};
use wire::name::{LABEL_OCTETS_MAX, NAME_OCTETS_MAX};

/// Queries that are looked at together: a batch of datagrams. What they read fits the processor's first cache.
const AHEAD_MAX: usize = 64;
/// With fewer there is too little to wait for together.
const AHEAD_MIN: usize = 4;

/// What is read ahead.
pub(super) struct Ahead {
    /// Of each query the hash of its name; `None`: it cannot be read.
    names: Vec<Option<NameHash>>,
    asked: Vec<(NameHash, Spot)>,
    /// Slots of answers that are kept.
    kept: Vec<usize>,
}

impl Default for Ahead {
    fn default() -> Ahead {
        let (names, asked) = (Vec::with_capacity(AHEAD_MAX), Vec::with_capacity(AHEAD_MAX));
        Ahead { names, asked, kept: Vec::with_capacity(AHEAD_MAX) }
    }
}

impl Ahead {
    /// The hash of the name in query `number`, if it was read ahead: hashing it once more is longer than looking here.
    #[inline(always)]
    pub(super) fn name(&self, number: Option<usize>) -> Option<NameHash> {
        *self.names.get(number?)?
    }
}

impl Responder {
    /// Reads ahead what the answers to queries that come next will be made of. `queries`: whole messages as received; those that cannot be read, and those beyond a bound,
    /// are passed over. Says nothing of them, and changes nothing. [`Client::ahead`](super::Client::ahead) counts them from here on.
    pub fn read_ahead<'q>(&mut self, queries: impl ExactSizeIterator<Item = &'q [u8]>, cache: &Cache) {
        let Ahead { names, asked, kept } = &mut self.ahead;
        names.clear();
        if queries.len() < AHEAD_MIN {
            return;
        }
        asked.clear();
        for query in queries.take(AHEAD_MAX) {
            let Some((name, qtype)) = question(query) else {
                names.push(None);
                continue;
            };
            self.missed.set_lower(name);
            let hash = cache.name_hash(self.missed.name());
            names.push(Some(hash));
            asked.push((hash, Spot::of(hash, qtype)));
        }
        self.rendered.read_ahead(asked, kept, cache);
        cache.read_ahead(asked.iter().map(|(name, _)| *name));
    }
}

/// Name and type of the first question.
#[inline(always)]
fn question(query: &[u8]) -> Option<(&Name, u16)> {
    let mut at = HEADER_OCTETS;
    loop {
        match usize::from(*query.get(at)?) {
            0 => break,
            octets if octets <= LABEL_OCTETS_MAX => at += 1 + octets,
            _ => return None,
        }
    }
    let octets = query.get(HEADER_OCTETS..=at).filter(|octets| octets.len() <= NAME_OCTETS_MAX)?;
    query.get(at + 2)?;
    Some((Name::trusted(octets), u16_at(query, at + 1)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::kit::{Kit, query};
    use wire::header;
    use wire::iana::rtype;

    /// What is kept as octets is told from what is looked for in the cache; the wishes of a query do not matter.
    #[test]
    fn kept_and_not() {
        let mut kit = Kit::new();
        kit.data("kept.x", rtype::A, 60, &["192.0.2.1"], cache::Security::Secure);
        kit.data("known.x", rtype::A, 60, &["192.0.2.1"], cache::Security::Secure);
        let of = |name: &str, edns| query(name, rtype::A, header::RD, edns, b"");
        for _ in 0..2 {
            kit.serve(&of("kept.x", None));
        }
        kit.serve(&of("known.x", None));
        let (kept, with_do) = (of("KEPT.x", None), of("kept.x", Some((1232, true))));
        let (known, unknown) = (of("known.x", None), of("unknown.x", None));
        let batch = [&kept[..], &known, b"garbage", &unknown, &with_do];
        kit.responder.read_ahead(batch.into_iter(), &kit.cache);
        let Ahead { names: all, asked, kept } = &kit.responder.ahead;
        let names: Vec<_> = asked.iter().map(|(name, _)| *name).collect();
        let hash = |name: &str| kit.cache.name_hash(&crate::kit::name(name));
        assert_eq!((names, kept.len()), (vec![hash("known.x"), hash("unknown.x")], 2));
        let kept = Some(hash("kept.x"));
        assert_eq!(all[..], [kept, Some(hash("known.x")), None, Some(hash("unknown.x")), kept]);
        kit.responder.read_ahead(batch[..3].iter().copied(), &kit.cache);
        assert_eq!(kit.responder.ahead.kept.len(), 2, "too few to be worth it");
        assert_eq!(kit.responder.ahead.name(Some(0)), None, "of another batch");
    }

    #[test]
    fn questions() {
        let header = [0; HEADER_OCTETS];
        let read = |after: &[u8]| {
            question(&[&header, after].concat()).map(|(name, qtype)| (name.to_string(), qtype))
        };
        assert_eq!(read(b"\x01a\x02bc\0\0\x1c\0\x01"), Some(("a.bc.".to_owned(), 28)));
        assert_eq!(read(b"\0\0\x02"), Some((".".to_owned(), 2)));
        for broken in
            [&b""[..], b"\x01", b"\x01a", b"\x01a\0", b"\x01a\0\0", b"\xc0\x0c\0\x01", b"\x40a\0\0\x01"]
        {
            assert_eq!(read(broken), None, "{broken:?}");
        }
        let long = [&b"\x3f"[..], &[b'x'; 63]].concat().repeat(4);
        assert_eq!(read(&[&long, &b"\0\0\x01"[..]].concat()), None, "256 octets");
        assert!(question(&[]).is_none());
    }
}
