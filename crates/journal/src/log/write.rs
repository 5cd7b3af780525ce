//! How a group gets onto the disk: put together, into the segment that has room, in parts where none has, or as the first of a new epoch.

use std::io;

use super::format::{GROUP_HEAD_OCTETS, GroupHead, SegmentHead, Term, ZONES_NAMED_MAX, place};
use super::segments::{Fate, RESERVED, Segment};
use super::{AppendError, Current, Log, Urgency, Used, Zones};
use crate::disk::PAGE_OCTETS;
use crate::record::Entry;
use crate::sum::Key;

impl Log {
    /// Octets of a group that a segment has room for.
    pub(super) fn capacity(&self) -> usize {
        self.segments.octets() - PAGE_OCTETS
    }

    /// Head, zones named again and records, in the buffer; zones of this group in `here`.
    pub(super) fn put_together(&mut self, entries: &[&Entry]) {
        let key = Key::new(&self.identity);
        self.buffer.clear();
        self.buffer.resize(GROUP_HEAD_OCTETS, 0);
        for zone in self.named.iter().flatten().flatten() {
            self.buffer.extend_from_slice(&zone.to_le_bytes());
        }
        self.here.clear();
        for entry in entries {
            if !entry.is_change() {
                entry.write(0, &mut self.buffer);
                continue;
            }
            let zone = key.zone(entry.record().zone);
            // A zone that has several records in a group names the group itself.
            let is_first = self.here.insert(zone);
            let before = if is_first { self.zones.get(&zone).copied().unwrap_or(0) } else { self.next };
            entry.write(before, &mut self.buffer);
        }
    }

    /// The zones of the group that was put together, as the next two name them.
    pub(super) fn take_named(&self) -> Zones {
        (self.here.len() <= ZONES_NAMED_MAX).then(|| self.here.iter().copied().collect())
    }

    pub(super) fn note_commit(&mut self, zones: Zones) {
        self.named.swap(0, 1);
        self.named[0] = zones;
    }

    fn head(&self, number: u64, records: u32, term: Term) -> GroupHead {
        let named = [0, 1].map(|each: usize| self.named[each].as_ref().map(|zones| zones.len() as u16));
        GroupHead { number, body_sum: 0, octets: 0, part: 0, parts: 1, named, records, term }
    }

    /// Writes and syncs what was put together. Returns the number of the last group of it.
    pub(super) fn write(&mut self, records: u32, urgency: Urgency) -> Result<u64, AppendError> {
        let octets = self.buffer.len().next_multiple_of(PAGE_OCTETS);
        if octets > self.capacity() {
            return self.write_parts(records, urgency);
        }
        let left =
            self.current.as_ref().map_or(0, |current| self.segments.octets() - current.page * PAGE_OCTETS);
        if octets > left {
            let mut taken = self.take(1, urgency)?;
            if let Some(segment) = taken.pop() {
                self.go_on_in(segment)?;
            }
        }
        let number = self.next;
        let term = self.current.as_ref().map(|current| current.term).unwrap_or_default();
        let head = self.head(number, records, term);
        self.write_group(head)?;
        Ok(number)
    }

    fn take(&self, count: usize, urgency: Urgency) -> Result<Vec<Segment>, AppendError> {
        let left = if urgency == Urgency::Last { 0 } else { RESERVED };
        self.segments.take(count, left).ok_or(AppendError::Full)
    }

    /// A commit that no segment has room for: a part in each of some. Each part is synced before the next is written.
    fn write_parts(&mut self, records: u32, urgency: Urgency) -> Result<u64, AppendError> {
        let body = self.buffer.split_off(GROUP_HEAD_OCTETS);
        let parts: Vec<&[u8]> = body.chunks(self.capacity() - GROUP_HEAD_OCTETS).collect();
        let mut segments = self.take(parts.len(), urgency)?.into_iter();
        for (part, octets) in parts.iter().enumerate() {
            let Some(segment) = segments.next() else { return Err(AppendError::Full) };
            let result = self.write_part(segment, octets, (part as u16, parts.len() as u16), records);
            if let Err(error) = result {
                segments.for_each(|segment| self.segments.give_back(segment, Fate::Free));
                return Err(error);
            }
        }
        Ok(self.next + parts.len() as u64 - 1)
    }

    fn write_part(
        &mut self,
        segment: Segment,
        octets: &[u8],
        (part, parts): (u16, u16),
        records: u32,
    ) -> Result<(), AppendError> {
        self.buffer.truncate(GROUP_HEAD_OCTETS);
        self.buffer.extend_from_slice(octets);
        let number = self.next + u64::from(part);
        self.go_on_in_at(segment, number)?;
        let term = Term { epoch: self.epoch, first: number };
        let head = GroupHead { part, parts, ..self.head(number, records, term) };
        // Zones are named in the first part alone.
        self.write_group(if part == 0 { head } else { GroupHead { named: [Some(0); 2], ..head } })
    }

    fn go_on_in(&mut self, segment: Segment) -> Result<(), AppendError> {
        self.go_on_in_at(segment, self.next)
    }

    /// Writes the head of a free segment, in which the log goes on with group `first`.
    fn go_on_in_at(&mut self, segment: Segment, first: u64) -> Result<(), AppendError> {
        let term = Term { epoch: self.epoch, first };
        if let Some(Current { segment, .. }) = self.current.take() {
            self.used.push(Used { segment, last: first - 1, fate: Fate::Free, is_superseded: false });
        }
        let head = SegmentHead { term, identity: self.identity }.write(segment.number);
        let result = segment.file.write_synced(&head, 0);
        self.current = Some(Current { segment, term, page: 1 });
        result.map_err(|error| self.give_up(error, first))
    }

    /// Seals what is in the buffer, writes it where the current segment goes on, and syncs.
    fn write_group(&mut self, head: GroupHead) -> Result<(), AppendError> {
        let Some(current) = &mut self.current else {
            return Err(AppendError::Undecided(io::Error::other("no segment")));
        };
        head.seal(place(&self.identity, current.segment.number, current.page), &mut self.buffer);
        let at = (current.page * PAGE_OCTETS) as u64;
        let result = current.segment.file.write_synced(&self.buffer, at);
        self.counted.octets += self.buffer.len() as u64;
        current.page += self.buffer.len() / PAGE_OCTETS;
        result.map_err(|error| self.give_up(error, head.number))
    }

    /// After a failure nothing is written to the current segment any more. `last`: the group that it may have.
    fn give_up(&mut self, error: io::Error, last: u64) -> AppendError {
        if let Some(Current { segment, .. }) = self.current.take() {
            self.used.push(Used { segment, last, fate: Fate::Remove, is_superseded: false });
        }
        AppendError::Undecided(error)
    }

    /// Begins a segment of a new epoch with group `number`: this one, or an empty one. What an epoch before has from that number on is void
    /// when this is on the disk.
    pub(super) fn begin_epoch(
        &mut self,
        number: u64,
        group: Option<&(GroupHead, Vec<u8>)>,
    ) -> Result<(), AppendError> {
        let mut taken = self.segments.take(1, 0).ok_or(AppendError::Full)?;
        let Some(segment) = taken.pop() else { return Err(AppendError::Full) };
        self.epoch += 1;
        let term = Term { epoch: self.epoch, first: number };
        self.put_together(&[]);
        let head = match group {
            Some((head, body)) => {
                self.buffer.truncate(GROUP_HEAD_OCTETS);
                self.buffer.extend_from_slice(body);
                GroupHead { term, ..*head }
            }
            None => self.head(number, 0, term),
        };
        head.seal(place(&self.identity, segment.number, 1), &mut self.buffer);
        let segment_head = SegmentHead { term, identity: self.identity }.write(segment.number);
        let result = segment
            .file
            .write_synced(&segment_head, 0)
            .and_then(|()| segment.file.write_synced(&self.buffer, PAGE_OCTETS as u64))
            .and_then(|()| self.segments.sync_folder());
        self.counted.octets += self.buffer.len() as u64;
        if let Err(error) = result {
            // It says no more than what is undecided, whether it is found again or not.
            self.segments.give_back(segment, Fate::Remove);
            return Err(AppendError::Undecided(error));
        }
        if let Some(Current { segment, .. }) = self.current.take() {
            self.used.push(Used { segment, last: number, fate: Fate::Free, is_superseded: false });
        }
        self.current = Some(Current { segment, term, page: 1 + self.buffer.len() / PAGE_OCTETS });
        Ok(())
    }
}
