//! Zone cuts of which all above them were there: what a walk up to the root found, so that it need not be walked again while nothing of it has changed.
//!
//! ```text
//! keyed hash of a zone -> place -> line: zone | end of the first to end | chain: labels, stamp | labels, stamp | ... up to the root
//! ```
//!
//! A stamp costs a load where finding a cut costs hashing its name and copying its entry. Names on the way that have no cut, as `co.uk.` between `example.co.uk.` and `uk.` may be,
//! are looked for as before: a cut that came there since makes another chain.

use cache::{Cache, Moment, Secret, Stamp};
use std::hash::BuildHasher;
use wire::Name;
use wire::name::NameRoom;

/// Zones that are remembered, by hash: as many as are busy at a worker. 200 octets each.
const LINES: usize = 1_024;
/// Cuts of a chain that is remembered: few names have more than four.
pub(crate) const CHAIN_MAX: usize = 8;

/// Cuts one above the other, the deepest first: its labels, and the stamp of its entry.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    cuts: [Option<(u8, Stamp)>; CHAIN_MAX],
    count: usize,
    /// When the first of them ends.
    end: Moment,
}

impl Chain {
    pub(crate) fn new() -> Chain {
        Chain { cuts: [None; CHAIN_MAX], count: 0, end: Moment(u64::MAX) }
    }

    /// Takes the next cut above. One too many, or of which no stamp is known, makes it a chain that is not remembered.
    pub(crate) fn push(&mut self, labels: usize, stamp: Option<Stamp>, end: Moment) {
        match (self.cuts.get_mut(self.count), stamp) {
            (Some(cut), Some(stamp)) => *cut = Some((labels as u8, stamp)),
            _ => self.end = Moment(0),
        }
        self.count += 1;
        self.end = self.end.min(end);
    }

    /// Takes the rest of the way up as another chain has it.
    pub(crate) fn extend(&mut self, above: &Chain) {
        let cuts = above.cuts[..above.count].iter().flatten();
        cuts.for_each(|(labels, stamp)| self.push(usize::from(*labels), Some(*stamp), above.end));
    }
}

struct Line {
    zone: NameRoom,
    chain: Chain,
}

/// Ways up to the root that were walked, by zone; lossy, as a zone takes the line of another.
#[derive(Default)]
pub(crate) struct Cuts {
    /// The number of the line of each hash, and 1; 0: there is none.
    places: Box<[u16]>,
    /// As many as were needed: a worker that asks little touches little memory.
    lines: Vec<Line>,
    keys: Secret,
}

impl Cuts {
    /// The chain from `zone` to the root, if all of it is as it was when it was kept. `is_cut`: whether there is a cut at a name, for those between.
    pub(crate) fn holds(
        &self,
        zone: &Name,
        cache: &Cache,
        now: Moment,
        mut is_cut: impl FnMut(&Name) -> bool,
    ) -> Option<&Chain> {
        let line = self.lines.get(usize::from(*self.places.get(self.place(zone))?).checked_sub(1)?)?;
        let chain = Some(&line.chain).filter(|chain| *line.zone == *zone && now < chain.end)?;
        let mut cuts = chain.cuts[..chain.count].iter().flatten().peekable();
        let (mut at, mut labels) = (zone, zone.label_count());
        loop {
            match cuts.next_if(|(of_cut, _)| usize::from(*of_cut) == labels) {
                Some((_, stamp)) if cache.is_current(stamp) => {}
                // The root's servers are known without a cut.
                None if labels == 0 || !is_cut(at) => {}
                _ => return None,
            }
            match at.parent() {
                Some(parent) => (at, labels) = (parent, labels - 1),
                None => return Some(chain),
            }
        }
    }

    /// Keeps the chain of a zone, which ends at the root.
    pub(crate) fn keep(&mut self, zone: &Name, chain: Chain, now: Moment) {
        if chain.end <= now {
            return;
        }
        if self.places.is_empty() {
            self.places = vec![0; LINES].into();
        }
        let place = self.place(zone);
        match usize::from(self.places[place]).checked_sub(1).and_then(|at| self.lines.get_mut(at)) {
            Some(line) => {
                line.zone.set(zone);
                line.chain = chain;
            }
            None => {
                self.lines.push(Line { zone: zone.into(), chain });
                self.places[place] = self.lines.len() as u16;
            }
        }
    }

    fn place(&self, zone: &Name) -> usize {
        self.keys.hash_one(zone.octets()) as usize & (LINES - 1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::known::lookup::Lookup;
    use cache::{Copied, Entry, Key, Kind, Rank, Subject};
    use wire::NameBuf;
    use wire::rrset::RdataListBuf;

    const NAMES: [&str; 8] = [".", "a.", "b.a.", "c.b.a.", "d.c.b.a.", "e.d.c.b.a.", "x.", "y.x."];

    fn put(cache: &Cache, zone: &Name, parent_labels: usize, ttl: u32, now: Moment) {
        let rdatas: RdataListBuf = [&b"\x02ns\0"[..]].into_iter().collect();
        let entry = Entry {
            kind: Kind::Cut,
            rank: Rank::Referral,
            zone_labels: parent_labels as u8,
            ..Entry::data(rdatas.list(), now, ttl)
        };
        cache.put(&Key { name: zone, subject: Subject::Cut }, &entry, now, now);
    }

    /// Cuts come, end and go at random; whatever is remembered, a walk finds what one finds that remembers nothing.
    #[test]
    fn as_if_nothing_was_remembered() {
        let names = NAMES.map(|text| NameBuf::from_text(text).unwrap());
        let (cache, mut cuts, mut copied) = (Cache::new(), Cuts::default(), Copied::new());
        let (mut now, mut random, mut found, mut held) = (Moment(1_000_000), 4711_u64, 0, 0);
        let mut draw = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        for _ in 0..20_000 {
            let name = &names[draw(names.len())];
            match draw(20) {
                0 => cache.remove(&Key::cut(name)),
                1..=3 => put(
                    &cache,
                    name,
                    draw(name.label_count() + 1).min(name.label_count()),
                    1 + draw(40) as u32,
                    now,
                ),
                4 => put(&cache, name, name.label_count().saturating_sub(1), 60, now),
                5 => now = now.plus_ms(draw(5_000) as u64),
                _ => {
                    let lookup = Lookup { is_unchecked: true, ..Lookup::new(&cache, now) };
                    held += usize::from(cuts.holds(name, &cache, now, |_| false).is_some());
                    let expected =
                        lookup.cut(name, &mut copied, &mut Cuts::default()).map(|(cut, _)| cut.to_owned());
                    let known = lookup.cut(name, &mut copied, &mut cuts).map(|(cut, _)| cut.to_owned());
                    assert_eq!(known, expected, "{name}");
                    found += usize::from(known.is_some());
                }
            }
        }
        assert!(found > 2_000 && held > 500, "{found} {held}");
    }
}
