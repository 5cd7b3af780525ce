//! What the log says of a zone: one record for each version that it gets, and what else a start has to know.
//!
//! ```text
//! 0..4 octets, a multiple of 8 | 4 kind | 5 octets of the name | 6..8 zero | 8..16 group of the zone's record before, 0 none that is needed
//! 16..20 serial before | 20..24 serial after | 24..32 seconds since 1970 | name in wire form | by kind | zeros
//!
//! 1 difference   octets removed u32, octets added u32, removed, added: in wire form, both with their SOA record first (RFC 1995 4)
//! 2 contents     octets u32, all records of the zone
//! 3 pack         number u64, checksum u64
//! 4 removed      nothing
//! 5 checked      time u64, seconds until it expires u32
//! 6 damaged      octets u32, what is wrong in words; none: not any more
//! 7 at rest      number u64, checksum u64: as 3, and the log has nothing more of it
//! 8 asked        API key, key of repeats, request: 16 octets each; status u16, zones u16
//! ```

use wire::Name;

use crate::octets::{Reader, put};

/// Octets before the zone's name.
const HEAD_OCTETS: usize = 32;
/// The kind of [`Body::Checked`].
const KIND_CHECKED: u8 = 5;
/// The kind of [`Body::Asked`].
const KIND_ASKED: u8 = 8;
/// Octets of each hash of [`Asked`].
pub const ASKED_HASH_OCTETS: usize = 16;
/// Records begin at multiples of this.
const ALIGNMENT: usize = 8;
/// Most octets of a record: four segments, which a log of the usual size has free. What is larger comes as a pack.
pub const RECORD_OCTETS_MAX: usize = 16 << 20;

/// What has become of a zone. Records are in wire form without compression, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'r> {
    /// Records that went and records that came, each with the SOA record of its version first (RFC 1995 4).
    Difference {
        /// Those that went.
        removed: &'r [u8],
        /// Those that came.
        added: &'r [u8],
    },
    /// All records of a zone that came as a whole.
    Contents(&'r [u8]),
    /// The zone is in this pack, which is on the disk.
    Pack {
        /// The number of the pack.
        number: u64,
        /// The checksum of its content.
        checksum: u64,
    },
    /// The zone is in this pack, which is on the disk, as it is: what the log has of it before is needed no more, and the next that it has of it begins anew.
    AtRest {
        /// The number of the zone in the pack.
        number: u64,
        /// The checksum of the pack's content.
        checksum: u64,
    },
    /// The zone is no longer served.
    Removed,
    /// Changes of the zone were lost: why. Holds until this comes without words, or the zone is no longer served.
    Damaged(&'r [u8]),
    /// A primary has said that the zone is current.
    Checked {
        /// When, in seconds since 1970.
        time: u64,
        /// Seconds from then until it expires.
        expiry: u32,
    },
    /// The zone's part of a request that its client may make again: serials are what is told of it then. It stands in the group of what changed, behind all that does.
    Asked(Asked),
}

/// A request that was carried out, by which it is known when it comes again. Hashes are their writer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Of the key of the API.
    pub key: [u8; ASKED_HASH_OCTETS],
    /// Of what the client calls the request.
    pub repeat: [u8; ASKED_HASH_OCTETS],
    /// Of what was asked for.
    pub request: [u8; ASKED_HASH_OCTETS],
    /// The status that was told.
    pub status: u16,
    /// Zones that it was of: as many such records there are.
    pub zones: u16,
}

impl Body<'_> {
    /// Whether it says anything of the zone's data. What does not is neither named again nor the zone's last record, and its loss is no harm to them.
    pub fn is_change(&self) -> bool {
        !matches!(self, Body::Checked { .. } | Body::Asked(_))
    }
}

/// A record as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'r> {
    /// The apex of the zone.
    pub zone: &'r Name,
    /// The serial of the version that it is applied to; 0 where there is none.
    pub serial_before: u32,
    /// The serial of the version that it makes.
    pub serial_after: u32,
    /// When it was committed, in seconds since 1970.
    pub time: u64,
    /// The group in which the zone had its last record before, those that say when it was checked aside; 0: none since the checkpoint
    /// before. It may be the same group.
    pub group_before: u64,
    /// What has changed.
    pub body: Body<'r>,
}

impl<'r> Record<'r> {
    /// Reads the record that `octets` begin with, and says how many octets it has. `None`: there is none.
    pub fn read(octets: &'r [u8]) -> Option<(Record<'r>, usize)> {
        let length = Reader::new(octets).u32()? as usize;
        if !length.is_multiple_of(ALIGNMENT) || length < HEAD_OCTETS {
            return None;
        }
        let mut reader = Reader::new(octets.get(4..length)?);
        let (kind, name_octets, _) = (reader.u8()?, reader.u8()?, reader.u16()?);
        let (group_before, serial_before, serial_after, time) =
            (reader.u64()?, reader.u32()?, reader.u32()?, reader.u64()?);
        let zone = Name::from_wire(reader.take(usize::from(name_octets))?).ok()?;
        let body = match kind {
            1 => {
                let (removed, added) = (reader.u32()? as usize, reader.u32()? as usize);
                Body::Difference { removed: reader.take(removed)?, added: reader.take(added)? }
            }
            2 => {
                let octets = reader.u32()? as usize;
                Body::Contents(reader.take(octets)?)
            }
            3 => Body::Pack { number: reader.u64()?, checksum: reader.u64()? },
            4 => Body::Removed,
            KIND_CHECKED => Body::Checked { time: reader.u64()?, expiry: reader.u32()? },
            6 => {
                let octets = reader.u32()? as usize;
                Body::Damaged(reader.take(octets)?)
            }
            7 => Body::AtRest { number: reader.u64()?, checksum: reader.u64()? },
            KIND_ASKED => {
                let mut hash = || reader.take(ASKED_HASH_OCTETS)?.try_into().ok();
                let (key, repeat, request) = (hash()?, hash()?, hash()?);
                Body::Asked(Asked { key, repeat, request, status: reader.u16()?, zones: reader.u16()? })
            }
            _ => return None,
        };
        if reader.rest().len() >= ALIGNMENT {
            return None;
        }
        Some((Record { zone, serial_before, serial_after, time, group_before, body }, length))
    }

    /// All records of octets, up to the first place that has none.
    pub(crate) fn all(octets: &'r [u8]) -> impl Iterator<Item = (Record<'r>, usize)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let (record, length) = Record::read(octets.get(at..)?)?;
            let place = at;
            at += length;
            Some((record, place))
        })
    }
}

/// A record that is to be committed, in the octets of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    octets: Vec<u8>,
}

/// The record has more than [`RECORD_OCTETS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a change of more than {RECORD_OCTETS_MAX} octets")
    }
}

impl std::error::Error for TooLarge {}

impl Entry {
    /// Makes a record. `time`: seconds since 1970. Serials: see [`Record`].
    pub fn new(
        zone: &Name,
        serial_before: u32,
        serial_after: u32,
        time: u64,
        body: Body<'_>,
    ) -> Result<Entry, TooLarge> {
        let length = |octets: &[u8]| (octets.len() as u32).to_le_bytes();
        let mut numbers = Vec::with_capacity(16);
        let (kind, parts): (u8, [&[u8]; 2]) = match body {
            Body::Difference { removed, added } => {
                numbers.extend([length(removed), length(added)].as_flattened());
                (1, [removed, added])
            }
            Body::Contents(records) => {
                numbers.extend(length(records));
                (2, [records, &[]])
            }
            Body::Pack { number, checksum } | Body::AtRest { number, checksum } => {
                numbers.extend([number.to_le_bytes(), checksum.to_le_bytes()].as_flattened());
                let kind = if matches!(body, Body::Pack { .. }) { 3 } else { 7 };
                (kind, [&[], &[]])
            }
            Body::Removed => (4, [&[], &[]]),
            Body::Damaged(fault) => {
                numbers.extend(length(fault));
                (6, [fault, &[]])
            }
            Body::Checked { time, expiry } => {
                numbers.extend(time.to_le_bytes());
                numbers.extend(expiry.to_le_bytes());
                (KIND_CHECKED, [&[], &[]])
            }
            Body::Asked(Asked { key, repeat, request, status, zones }) => {
                numbers.extend([key, repeat, request].as_flattened());
                numbers.extend([status.to_le_bytes(), zones.to_le_bytes()].as_flattened());
                (KIND_ASKED, [&[], &[]])
            }
        };
        let name = zone.octets();
        let parts_octets: usize = parts.iter().map(|part| part.len()).sum();
        let octets = (HEAD_OCTETS + name.len() + numbers.len() + parts_octets).next_multiple_of(ALIGNMENT);
        if octets > RECORD_OCTETS_MAX {
            return Err(TooLarge);
        }
        let mut record = Vec::with_capacity(octets);
        record.extend((octets as u32).to_le_bytes());
        record.extend([kind, name.len() as u8, 0, 0]);
        record.extend([0; 8]);
        record.extend(serial_before.to_le_bytes());
        record.extend(serial_after.to_le_bytes());
        record.extend(time.to_le_bytes());
        record.extend_from_slice(name);
        record.extend_from_slice(&numbers);
        parts.iter().for_each(|part| record.extend_from_slice(part));
        record.resize(octets, 0);
        Ok(Entry { octets: record })
    }

    /// The record, with no group before.
    pub fn record(&self) -> Record<'_> {
        Record::read(&self.octets).expect("made by `new`").0
    }

    /// See [`Body::is_change`].
    pub(crate) fn is_change(&self) -> bool {
        !matches!(self.octets[4], KIND_CHECKED | KIND_ASKED)
    }

    /// Whether it stands behind all others of its group: programs that do not know its kind read no further there.
    pub(crate) fn is_last(&self) -> bool {
        self.octets[4] == KIND_ASKED
    }

    /// Octets that it takes in the log.
    pub fn octets(&self) -> usize {
        self.octets.len()
    }

    /// Appends it to a group's records.
    pub(crate) fn write(&self, group_before: u64, group: &mut Vec<u8>) {
        let at = group.len();
        group.extend_from_slice(&self.octets);
        put(group, at + 8, &group_before.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_is_read_as_it_was_written() {
        let zone: wire::NameBuf = "Example.com".parse().expect("a name");
        for body in [
            Body::Difference { removed: b"removed", added: b"what was added" },
            Body::Difference { removed: b"", added: b"" },
            Body::Contents(b"contents"),
            Body::Pack { number: 7, checksum: u64::MAX },
            Body::AtRest { number: u64::MAX, checksum: 7 },
            Body::Removed,
            Body::Damaged(b"why"),
            Body::Checked { time: 12, expiry: 34 },
            Body::Asked(Asked { key: [1; 16], repeat: [2; 16], request: [3; 16], status: 204, zones: 256 }),
        ] {
            let entry = Entry::new(&zone, 1, u32::MAX, 1_800_000_000, body).expect("small");
            let mut octets = Vec::new();
            entry.write(99, &mut octets);
            let record = Record {
                zone: &zone,
                serial_before: 1,
                serial_after: u32::MAX,
                time: 1_800_000_000,
                group_before: 99,
                body,
            };
            assert_eq!(Record::read(&octets), Some((record, entry.octets())));
            for cut in 0..octets.len() {
                assert_eq!(Record::read(&octets[..cut]), None, "cut off at {cut}");
            }
        }
    }

    #[test]
    fn what_is_too_large_is_refused() {
        let octets = vec![0; RECORD_OCTETS_MAX];
        assert_eq!(Entry::new(Name::root(), 1, 2, 3, Body::Contents(&octets)), Err(TooLarge));
    }

    proptest! {
        #[test]
        fn any_octets_are_a_record_or_none(octets in proptest::collection::vec(any::<u8>(), 0..200), length in 0u32..200) {
            let mut octets = octets;
            let _ = Record::read(&octets);
            if octets.len() >= 8 {
                put(&mut octets, 0, &(length / 8 * 8).to_le_bytes());
                octets[4] %= 9;
                let _ = Record::read(&octets);
            }
        }
    }
}
