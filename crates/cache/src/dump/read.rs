//! A dump that is read where it lies, as much of it as is needed.

use std::io;
use std::ops::Range;

use wire::Name;

use super::{
    ABOUT_OCTETS_MAX, BESIDE_PARTS, DumpError, END_OCTETS, GROUP_OCTETS_MAX, HEAD_OCTETS, HEADER_OCTETS,
    MAGIC, SHARDS_MAX, SUM_OCTETS, Situation, VERSION, checksum, checksum_of, checksum_of_group, group_of,
    half, long, part_of,
};
use crate::{Moment, Secret};

/// Octets that are read at once by who takes in all groups one after the other.
const RUN_OCTETS_MAX: usize = 1 << 20;

/// Octets that any thread can read from any place: a file.
pub trait Source: Send + Sync {
    /// How many there are.
    fn octets(&self) -> u64;
    /// Fills `to` with those from `at` on; an error where there are not as many.
    fn read(&self, at: u64, to: &mut [u8]) -> io::Result<()>;
}

impl Source for Vec<u8> {
    fn octets(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, at: u64, to: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..to.len()));
        from.map(|from| to.copy_from_slice(from)).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// A dump whose header was checked, and whose parts were found.
pub struct Dump {
    source: Box<dyn Source>,
    secret: Secret,
    parts: Vec<Part>,
    mended: usize,
    /// Shards, as many as the header says: a power of two.
    shard_count: usize,
    about: Vec<u8>,
    /// When it was written, by the clock of ages of then.
    pub(super) then: Moment,
    /// Milliseconds from then until it was opened.
    pub(super) since_ms: u64,
    /// When it was opened.
    pub(super) opened: Moment,
}

#[derive(Clone, Copy)]
struct Part {
    groups: usize,
    /// The number of its first group, counted over all parts.
    first: usize,
    /// Where its ends begin; its groups follow them.
    at: u64,
    octets: u64,
}

/// Room for octets that are read; made to be used again.
#[derive(Default)]
pub(super) struct Room {
    ends: Vec<u8>,
    octets: Vec<u8>,
}

impl Dump {
    /// Checks the header and finds the parts; looks at nothing else. `situation`: that of the reader.
    pub fn open(source: Box<dyn Source>, situation: &Situation) -> Result<Dump, DumpError> {
        let mut header = [0; HEADER_OCTETS];
        if source.octets() < HEADER_OCTETS as u64 {
            return Err(DumpError::NotADump);
        }
        source.read(0, &mut header).map_err(|_| DumpError::Unreadable)?;
        let (fields, sum) = header.split_at(HEADER_OCTETS - 8);
        if fields[..8] != MAGIC {
            return Err(DumpError::NotADump);
        }
        if half(fields, 8) != VERSION {
            return Err(DumpError::Version(half(fields, 8)));
        }
        let (shard_count, about_octets) = (half(fields, 12) as usize, long(fields, 56));
        if about_octets > (ABOUT_OCTETS_MAX as u64).min(source.octets()) {
            return Err(DumpError::NotADump);
        }
        let mut about = vec![0; about_octets as usize];
        source.read(HEADER_OCTETS as u64, &mut about).map_err(|_| DumpError::NotADump)?;
        let secret = Secret::of_words([long(fields, 32), long(fields, 40), long(fields, 48)]);
        let is_sound = checksum_of(fields, &about) == long(sum, 0);
        let secret =
            secret.filter(|_| is_sound && shard_count.is_power_of_two() && shard_count <= SHARDS_MAX);
        let secret = secret.ok_or(DumpError::NotADump)?;
        let since = situation.wall.checked_sub(long(fields, 16)).ok_or(DumpError::ClockWentBack)?;
        let first = HEADER_OCTETS as u64 + about_octets;
        let (parts, mended) = find_parts(&*source, first, BESIDE_PARTS + shard_count);
        let (then, since_ms) = (Moment(long(fields, 24)), since.saturating_mul(1000));
        Ok(Dump { source, secret, parts, mended, shard_count, about, then, since_ms, opened: situation.now })
    }

    /// What the writer said about it.
    pub fn about(&self) -> &[u8] {
        &self.about
    }

    /// How many parts are cut off or damaged as a whole.
    pub fn missing(&self) -> usize {
        BESIDE_PARTS + self.shard_count - self.parts.len()
    }

    /// Of how many parts that are there one of the two heads is damaged.
    pub fn mended(&self) -> usize {
        self.mended
    }

    /// Groups of all parts.
    pub(super) fn groups(&self) -> usize {
        self.parts.last().map_or(0, |last| last.first + last.groups)
    }

    /// The group that has all that is known of a name, in lower case.
    pub(super) fn group_of(&self, name: &Name) -> Option<usize> {
        let hash = self.secret.hash(name.octets());
        let part = self.parts.get(BESIDE_PARTS + part_of(hash, self.shard_count))?;
        Some(part.first + group_of(hash, part.groups))
    }

    /// Shows `each` what is in some groups that follow each other, group by group, or that they are damaged; of one part only, of which it gets the number: how many it were.
    pub(super) fn read_some(
        &self,
        groups: Range<usize>,
        room: &mut Room,
        mut each: impl FnMut(usize, usize, Result<&[u8], ()>),
    ) -> usize {
        let number = self.parts.partition_point(|part| part.first + part.groups <= groups.start);
        let Some(part) = self.parts.get(number) else { return 0 };
        let first = groups.start - part.first;
        let count = groups.len().min(part.groups - first);
        let is_read = self.read_ends(part, first, count, &mut room.ends);
        let ends = is_read.then(|| End { begin: first == 0, octets: &room.ends });
        // At once where they are not too many octets.
        let all = ends
            .as_ref()
            .and_then(|ends| ends.span(0, count))
            .filter(|(_, octets)| *octets <= RUN_OCTETS_MAX);
        let all = all.filter(|span| self.read_span(part, *span, &mut room.octets));
        for at in 0..count {
            let span = ends.as_ref().and_then(|ends| ends.span(at, at + 1));
            let octets = span.filter(|(_, octets)| *octets <= GROUP_OCTETS_MAX).and_then(|span| match all {
                Some((from, _)) => {
                    let begin = usize::try_from(span.0.checked_sub(from)?).ok()?;
                    room.octets.get(begin..begin.checked_add(span.1)?)
                }
                None => self.read_span(part, span, &mut room.octets).then_some(&room.octets[..]),
            });
            let entries = octets.and_then(|octets| entries_of(number, first + at, octets));
            each(number, groups.start + at, entries.ok_or(()));
        }
        count
    }

    /// The ends of so many groups, and the one before where there is one.
    fn read_ends(&self, part: &Part, first: usize, count: usize, to: &mut Vec<u8>) -> bool {
        let before = first.saturating_sub(1);
        to.resize((first + count - before) * END_OCTETS, 0);
        self.source.read(part.at + (before * END_OCTETS) as u64, to).is_ok()
    }

    fn read_span(&self, part: &Part, (begin, octets): (u64, usize), to: &mut Vec<u8>) -> bool {
        let is_inside = begin.checked_add(octets as u64).is_some_and(|end| end <= part.octets);
        to.clear();
        to.resize(if is_inside { octets } else { 0 }, 0);
        is_inside && self.source.read(part.at + (part.groups * END_OCTETS) as u64 + begin, to).is_ok()
    }
}

/// Ends of groups as they were read, by number from the first.
struct End<'e> {
    /// The first group begins at 0; else the end before it is there too.
    begin: bool,
    octets: &'e [u8],
}

impl End<'_> {
    /// Where groups begin, and how many octets they have; `None`: they end before.
    fn span(&self, from: usize, to: usize) -> Option<(u64, usize)> {
        // The begin of one is the end of the one before.
        let begin_of = |group: usize| match (self.begin, group) {
            (true, 0) => 0,
            (true, group) => long(self.octets, (group - 1) * END_OCTETS),
            (false, group) => long(self.octets, group * END_OCTETS),
        };
        let (begin, end) = (begin_of(from), begin_of(to));
        Some((begin, usize::try_from(end.checked_sub(begin)?).ok()?))
    }
}

/// The entries in the octets of a group, none where it has none; `None`: it is damaged.
fn entries_of(part: usize, group: usize, octets: &[u8]) -> Option<&[u8]> {
    if octets.is_empty() {
        return Some(octets);
    }
    let (sum, entries) = octets.split_at_checked(SUM_OCTETS)?;
    (checksum_of_group(part, group, entries) == long(sum, 0)).then_some(entries)
}

/// Goes from part to part: by the head before each, or where that is damaged by the one at the end of the dump, until neither is as it should be. Heads are not looked for anywhere
/// else: who has had a record kept may have written one there. Of how many parts one was damaged.
fn find_parts(source: &dyn Source, mut at: u64, count: usize) -> (Vec<Part>, usize) {
    let (mut parts, mut mended, mut first) = (Vec::new(), 0, 0);
    let copies = source.octets().checked_sub((count * HEAD_OCTETS) as u64);
    while parts.len() < count {
        let number = parts.len();
        let own = head(source, at, number, at);
        let copy = copies.and_then(|copies| head(source, copies + (number * HEAD_OCTETS) as u64, number, at));
        let Some(Part { groups, octets, at: ends, .. }) = own.or(copy) else { break };
        mended += usize::from(own.is_none() || copy.is_none());
        parts.push(Part { groups, first, at: ends, octets });
        (at, first) = (ends + (groups * END_OCTETS) as u64 + octets, first + groups);
    }
    (parts, mended)
}

/// What a head that lies at `at` says of the part of this number that begins at `begin`, whose groups are counted from 0; `None`: it is damaged.
fn head(source: &dyn Source, at: u64, number: usize, begin: u64) -> Option<Part> {
    let mut head = [0; HEAD_OCTETS];
    source.read(at, &mut head).ok()?;
    let (fields, sum) = head.split_at(HEAD_OCTETS - 8);
    let (found, groups, octets) = (half(fields, 0) as usize, half(fields, 4) as usize, long(fields, 8));
    if checksum(fields) != long(sum, 0) || found != number || groups == 0 {
        return None;
    }
    let at = begin.checked_add(HEAD_OCTETS as u64)?;
    // So no more is taken for the groups than the dump has octets.
    let end = octets.checked_add((groups * END_OCTETS) as u64).and_then(|octets| at.checked_add(octets))?;
    (end <= source.octets()).then_some(Part { groups, first: 0, at, octets })
}
