//! Segments and groups to the octet: `docs/design/journal.md` 1. All numbers are little-endian.

use crate::disk::PAGE_OCTETS;
use crate::octets::{Reader, put};
use crate::sum::{Identity, Key};

/// The first octets of every segment.
pub(crate) const MAGIC: [u8; 8] = *b"ZONDALG\n";
/// Version of the format; a reader takes no other.
pub(crate) const FORMAT_VERSION: u32 = 1;
/// Octets of a group's head.
pub(crate) const GROUP_HEAD_OCTETS: usize = 56;
/// Most zones of one group that the next two name again: 16 KiB, a fraction of a group that has so many.
pub(crate) const ZONES_NAMED_MAX: usize = 2048;
/// No group has a higher number: with a million groups a second that is a hundred thousand years.
const NUMBER_MAX: u64 = u64::MAX >> 2;
/// Nor is there a higher epoch: with one a second that is seventy years.
const EPOCH_MAX: u32 = u32::MAX >> 1;
/// Said instead of a count: too many to name.
const TOO_MANY: u16 = u16::MAX;

/// Where a segment is in the log's life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Term {
    /// Each start and each attempt after a failure has a new one.
    pub(crate) epoch: u32,
    /// Number of the first group in the segment.
    pub(crate) first: u64,
}

/// What begins a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHead {
    pub(crate) term: Term,
    pub(crate) identity: Identity,
}

/// Why a page is no head of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoHead {
    /// It has only zeros: nothing was written there yet.
    Empty,
    /// Of another version of the format.
    Version(u32),
    /// It is damaged.
    Damaged,
}

impl SegmentHead {
    pub(crate) fn write(&self, segment: u32) -> [u8; PAGE_OCTETS] {
        let mut page = [0; PAGE_OCTETS];
        put(&mut page, 0, &MAGIC);
        put(&mut page, 8, &FORMAT_VERSION.to_le_bytes());
        put(&mut page, 12, &self.term.epoch.to_le_bytes());
        put(&mut page, 16, &self.term.first.to_le_bytes());
        put(&mut page, 24, &self.identity);
        put(&mut page, 40, &segment.to_le_bytes());
        let sum = place(&self.identity, segment, 0).sum(&page[..56]);
        put(&mut page, 56, &sum.to_le_bytes());
        page
    }

    /// Reads the head of segment `segment`, whose first page is given.
    pub(crate) fn read(page: &[u8], segment: u32) -> Result<SegmentHead, NoHead> {
        if page.iter().all(|octet| *octet == 0) {
            return Err(NoHead::Empty);
        }
        Self::read_written(page, segment).ok_or(NoHead::Damaged)?
    }

    fn read_written(page: &[u8], segment: u32) -> Option<Result<SegmentHead, NoHead>> {
        let mut reader = Reader::new(page);
        let (magic, version) = (reader.take(8)?, reader.u32()?);
        let term = Term { epoch: reader.u32()?, first: reader.u64()? };
        let identity: Identity = reader.take(16)?.try_into().ok()?;
        let (number, _, sum) = (reader.u32()?, reader.take(12)?, reader.u64()?);
        if magic != MAGIC {
            return None;
        }
        if version != FORMAT_VERSION {
            return Some(Err(NoHead::Version(version)));
        }
        let is_possible = term.epoch <= EPOCH_MAX && term.first <= NUMBER_MAX;
        let is_right =
            is_possible && number == segment && place(&identity, segment, 0).sum(page.get(..56)?) == sum;
        is_right.then_some(Ok(SegmentHead { term, identity }))
    }
}

/// The key of a page of a segment, in this version of the format: what another wrote is no group of this one.
pub(crate) fn place(identity: &Identity, segment: u32, page: usize) -> Key {
    Key::new(identity).at(u64::from(FORMAT_VERSION)).at(u64::from(segment) << 32 | page as u64)
}

/// What begins a group. Its checksum says that all of it is as it was written at this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GroupHead {
    /// One more than that of the group before.
    pub(crate) number: u64,
    /// The checksum of what follows.
    pub(crate) body_sum: u64,
    /// Octets with this head.
    pub(crate) octets: u32,
    /// Which part of a commit, from 0 on, and how many it has.
    pub(crate) part: u16,
    pub(crate) parts: u16,
    /// Zones of the commit before and of the one before that which are named; `None`: too many.
    pub(crate) named: [Option<u16>; 2],
    /// Records of the commit, in its first part.
    pub(crate) records: u32,
    /// That of the segment.
    pub(crate) term: Term,
}

impl GroupHead {
    /// Pages that the group takes.
    pub(crate) fn pages(&self) -> usize {
        (self.octets as usize).div_ceil(PAGE_OCTETS)
    }

    /// The number of the first part of its commit.
    pub(crate) fn commit(&self) -> u64 {
        self.number - u64::from(self.part)
    }

    /// Octets of the names of zones, which its body begins with.
    pub(crate) fn named_octets(&self) -> usize {
        self.named.iter().flatten().map(|count| usize::from(*count) * 8).sum()
    }

    /// Puts the head in front of the body, which is in `group` from [`GROUP_HEAD_OCTETS`] on, and fills the last page up.
    pub(crate) fn seal(mut self, key: Key, group: &mut Vec<u8>) {
        self.octets = group.len() as u32;
        self.body_sum = key.sum(&group[GROUP_HEAD_OCTETS..]);
        let named = self.named.map(|count| count.unwrap_or(TOO_MANY));
        put(group, 8, &self.number.to_le_bytes());
        put(group, 16, &self.body_sum.to_le_bytes());
        put(group, 24, &self.octets.to_le_bytes());
        put(group, 28, &self.part.to_le_bytes());
        put(group, 30, &self.parts.to_le_bytes());
        put(group, 32, &named[0].to_le_bytes());
        put(group, 34, &named[1].to_le_bytes());
        put(group, 36, &self.records.to_le_bytes());
        put(group, 40, &self.term.epoch.to_le_bytes());
        put(group, 44, &[0; 4]);
        put(group, 48, &self.term.first.to_le_bytes());
        let sum = key.sum(&group[8..GROUP_HEAD_OCTETS]);
        put(group, 0, &sum.to_le_bytes());
        group.resize(group.len().next_multiple_of(PAGE_OCTETS), 0);
    }

    /// The head that `octets` begin with, if they are one of this place. Of the body it says nothing.
    pub(crate) fn read(key: Key, octets: &[u8]) -> Option<GroupHead> {
        let head = octets.get(..GROUP_HEAD_OCTETS)?;
        let mut reader = Reader::new(head);
        if reader.u64()? != key.sum(head.get(8..)?) {
            return None;
        }
        let (number, body_sum, octets) = (reader.u64()?, reader.u64()?, reader.u32()?);
        let (part, parts) = (reader.u16()?, reader.u16()?);
        let named = [reader.u16()?, reader.u16()?].map(|count| (count != TOO_MANY).then_some(count));
        let records = reader.u32()?;
        let (epoch, _, first) = (reader.u32()?, reader.u32()?, reader.u64()?);
        let head =
            GroupHead { number, body_sum, octets, part, parts, named, records, term: Term { epoch, first } };
        let is_possible = octets as usize >= GROUP_HEAD_OCTETS + head.named_octets()
            && part < parts
            && number >= first
            && number > u64::from(part)
            && number <= NUMBER_MAX
            && head.term.epoch <= EPOCH_MAX;
        is_possible.then_some(head)
    }

    /// The body of the group that `octets` begin with, if it is as it was written.
    pub(crate) fn body<'o>(&self, key: Key, octets: &'o [u8]) -> Option<&'o [u8]> {
        let body = octets.get(GROUP_HEAD_OCTETS..self.octets as usize)?;
        (key.sum(body) == self.body_sum).then_some(body)
    }
}
