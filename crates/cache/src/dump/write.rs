//! A dump as it is written: spans and servers, then shard by shard, then the heads of all these once more.

use std::io::{self, Write};
use std::sync::Arc;

use super::{
    ABOUT_OCTETS_MAX, BESIDE_PARTS, END_OCTETS, FLAGS_AT, GROUP_ENTRIES, HEAD_OCTETS, HEADER_OCTETS,
    IS_PROVEN, MAGIC, SUM_OCTETS, Situation, VERSION, checksum, checksum_of, checksum_of_group, entry_octets,
    group_of, is_worth_it, part_of,
};
use crate::Moment;
use crate::entry;
use crate::index::Which;
use crate::shard::Shard;
use crate::store::Cache;

/// The entries of one shard, on their way out.
#[derive(Default)]
struct Collected {
    /// One after the other, as the rings have them.
    octets: Vec<u8>,
    /// Of each entry its group, and where it is.
    places: Vec<(u32, usize)>,
}

impl Cache {
    /// Writes all that is worth it; what changes meanwhile may be in it or not. Locks of writers are taken for some microseconds each. `about`: see the module; what is longer than
    /// [`ABOUT_OCTETS_MAX`] is an error. Memory: the octets of a shard. How many entries.
    pub fn write_dump(&self, to: &mut dyn Write, situation: &Situation, about: &[u8]) -> io::Result<usize> {
        if about.len() > ABOUT_OCTETS_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // What moves has come where it goes, and stays there.
        let _frozen = self.core.freeze();
        let shards = self.core.layout().parts();
        let mut header = Vec::with_capacity(HEADER_OCTETS);
        header.extend(MAGIC);
        header.extend(VERSION.to_le_bytes());
        header.extend((shards.len() as u32).to_le_bytes());
        let [point, first, second] = self.core.shared.secret.words();
        [situation.wall, situation.now.0, point, first, second, about.len() as u64]
            .iter()
            .for_each(|field| header.extend(field.to_le_bytes()));
        header.extend(checksum_of(&header, about).to_le_bytes());
        to.write_all(&header)?;
        to.write_all(about)?;
        let mut parts = Parts { to, heads: Vec::new() };
        self.write_beside(&mut parts, situation.now)?;
        let (mut collected, mut all) = (Collected::default(), 0);
        for number in 0..shards.len() {
            all += self.write_part(&shards, number, situation.now, &mut collected, &mut parts)?;
        }
        let Parts { to, heads } = parts;
        to.write_all(&heads)?;
        Ok(all)
    }

    fn write_part(
        &self,
        shards: &[Arc<Shard>],
        number: usize,
        now: Moment,
        collected: &mut Collected,
        parts: &mut Parts<'_>,
    ) -> io::Result<usize> {
        let groups = (shards[number].counts().entries as usize / GROUP_ENTRIES).clamp(1, 1 << 30);
        self.collect((shards, number), groups, now, collected);
        let Collected { octets, places } = collected;
        let entries =
            |of: &[(u32, usize)]| -> usize { of.iter().map(|(_, at)| entry_octets(&octets[*at..])).sum() };
        let group_of = |group: usize| {
            let first = places.partition_point(|(of, _)| (*of as usize) < group);
            let count = places[first..].partition_point(|(of, _)| *of as usize == group);
            &places[first..first + count]
        };
        let (mut ends, mut end) = (Vec::with_capacity(groups * END_OCTETS), 0);
        for group in 0..groups {
            end += match entries(group_of(group)) {
                0 => 0,
                octets => SUM_OCTETS + octets,
            };
            ends.extend((end as u64).to_le_bytes());
        }
        let number = BESIDE_PARTS + number;
        parts.begin(number, &ends)?;
        let mut written = Vec::new();
        for group in 0..groups {
            written.clear();
            for (_, at) in group_of(group) {
                written.extend_from_slice(&octets[*at..*at + entry_octets(&octets[*at..])]);
            }
            if !written.is_empty() {
                parts.group((number, group), &written)?;
            }
        }
        Ok(places.len())
    }

    /// Entries of one shard by group; within one those of the main ring first, which are older.
    fn collect(
        &self,
        (shards, number): (&[Arc<Shard>], usize),
        groups: usize,
        now: Moment,
        to: &mut Collected,
    ) {
        let shared = &self.core.shared;
        let limits = shared.limits();
        let Collected { octets, places } = to;
        octets.clear();
        places.clear();
        for ring in [Which::Main, Which::Small] {
            shards[number].each(shared, ring, |entry, is_visited| {
                let (Some(key), Some(known)) = (entry::key_of(entry), entry::read(entry)) else { return };
                let hash = shared.secret.hash(key.name.octets());
                // Where some of the shards have been divided, and others not yet, one has more than one part.
                if part_of(hash, shards.len()) == number && is_worth_it(&limits, &key, &known, now) {
                    let group = group_of(hash, groups);
                    places.push((group as u32, octets.len()));
                    octets.extend_from_slice(entry);
                    if ring == Which::Main || is_visited {
                        let at = octets.len() - entry.len() + FLAGS_AT;
                        octets[at] |= IS_PROVEN;
                    }
                }
            });
        }
        places.sort_unstable();
    }
}

/// Parts on their way out.
pub(super) struct Parts<'w> {
    to: &'w mut dyn Write,
    /// Those of the parts so far, which are written once more after the last.
    heads: Vec<u8>,
}

impl Parts<'_> {
    /// Writes the head of a part, and the ends of its groups.
    fn begin(&mut self, number: usize, ends: &[u8]) -> io::Result<()> {
        let octets = ends.last_chunk().map_or(0, |end| u64::from_le_bytes(*end));
        let mut head = Vec::with_capacity(HEAD_OCTETS);
        head.extend((number as u32).to_le_bytes());
        head.extend(((ends.len() / END_OCTETS) as u32).to_le_bytes());
        head.extend(octets.to_le_bytes());
        head.extend(checksum(&head).to_le_bytes());
        self.to.write_all(&head)?;
        self.heads.extend(head);
        self.to.write_all(ends)
    }

    /// Writes a group of a part, by their numbers.
    fn group(&mut self, (part, group): (usize, usize), octets: &[u8]) -> io::Result<()> {
        self.to.write_all(&checksum_of_group(part, group, octets).to_le_bytes())?;
        self.to.write_all(octets)
    }

    /// Writes a whole part of which all groups are there.
    pub(super) fn whole(&mut self, part: usize, groups: &[Vec<u8>]) -> io::Result<()> {
        let (mut ends, mut end) = (Vec::with_capacity(groups.len() * END_OCTETS), 0_u64);
        for group in groups {
            end += if group.is_empty() { 0 } else { (SUM_OCTETS + group.len()) as u64 };
            ends.extend(end.to_le_bytes());
        }
        self.begin(part, &ends)?;
        for (number, group) in groups.iter().enumerate().filter(|(_, group)| !group.is_empty()) {
            self.group((part, number), group)?;
        }
        Ok(())
    }
}
