//! Differences from one version to another, in the order in which IXFR sends them.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use wire::{Name, NameBuf};

use super::files::{Place, ZoneFiles};
use super::show::Listed;
use crate::disk::Disk;
use crate::record::{Body, Entry, Record};

/// Most versions of one answer: what `ixfr-versions` can be.
const VERSIONS_MAX: usize = 65_536;

/// Where a difference is.
#[derive(Clone)]
enum Item {
    /// With the group that it is in.
    Queued(u64, Arc<Entry>),
    Filed(Place),
}

/// A difference: records in wire form, each with the SOA record of its version first (RFC 1995 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The serial before.
    pub before: u32,
    /// The serial after.
    pub after: u32,
    octets: Vec<u8>,
    removed: usize,
}

impl Difference {
    /// The records that went.
    pub fn removed(&self) -> &[u8] {
        &self.octets[..self.removed]
    }

    /// The records that went, and those that came.
    pub fn into_parts(mut self) -> (Vec<u8>, Vec<u8>) {
        let added = self.octets.split_off(self.removed);
        (self.octets, added)
    }

    /// The records that came.
    pub fn added(&self) -> &[u8] {
        &self.octets[self.removed..]
    }
}

/// Differences that lead from one version to another. Holds the files open that they are in, which stay as they are. A clone is read for itself.
#[derive(Clone)]
pub struct Versions {
    zone: NameBuf,
    items: VecDeque<Item>,
    octets: u64,
}

impl Versions {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.items.len()
    }

    /// Octets of all their records: what an answer with them has, but for compression.
    pub fn octets(&self) -> u64 {
        self.octets
    }

    /// Which they are, oldest first. Nothing is read for it.
    pub fn list(&self) -> impl DoubleEndedIterator<Item = Listed> {
        self.items.iter().map(|item| match item {
            Item::Queued(group, entry) => listed(*group, entry),
            Item::Filed(place) => place.listed(),
        })
    }

    /// Reads the next one. An error of kind `InvalidData`: it is damaged; the answer cannot go on, and [`super::History::forget`] has the next
    /// one be an AXFR.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator would own what it gives as well, but errors end it"
    )]
    pub fn next(&mut self) -> Option<io::Result<Difference>> {
        Some(match self.items.pop_front()? {
            Item::Queued(_, entry) => queued(&entry).ok_or_else(|| io::ErrorKind::InvalidData.into()),
            Item::Filed(place) => match place.read(&self.zone) {
                Ok(Some(octets)) => {
                    let Place { before, after, removed, .. } = place;
                    Ok(Difference { before, after, octets, removed })
                }
                Ok(None) => Err(io::ErrorKind::InvalidData.into()),
                Err(error) => Err(error),
            },
        })
    }
}

fn queued(entry: &Entry) -> Option<Difference> {
    let record = entry.record();
    let Body::Difference { removed, added } = record.body else { return None };
    let (before, after) = (record.serial_before, record.serial_after);
    Some(Difference { before, after, octets: [removed, added].concat(), removed: removed.len() })
}

fn listed(group: u64, entry: &Entry) -> Listed {
    let Record { serial_before: before, serial_after: after, time, body, .. } = entry.record();
    let octets = match body {
        Body::Difference { removed, added } => (removed.len() + added.len()) as u64,
        _ => 0,
    };
    Listed { group, before, after, time, octets }
}

/// Puts together what leads from `from`, or from as far back as anything does, to `to`. `queued`: groups and entries that are not in the files yet, or are being written there, in
/// order; `None` where nothing leads on.
pub(super) fn collect(
    disk: &dyn Disk,
    files: &ZoneFiles,
    queued: Vec<(u64, Option<Arc<Entry>>)>,
    zone: &Name,
    from: Option<u32>,
    to: u32,
) -> io::Result<Option<Versions>> {
    let mut versions = Versions { zone: zone.to_owned(), items: VecDeque::new(), octets: 0 };
    let mut wanted = to;
    // Entries of this group and later ones may be in the files as well.
    let mut oldest = u64::MAX;
    // Nothing leads on: that is all, unless there is somewhere to come from.
    let ended = |versions| Ok(from.is_none().then_some(versions));
    for (group, entry) in queued.into_iter().rev() {
        if Some(wanted) == from {
            return Ok(Some(versions));
        }
        let Some(entry) = entry else { return ended(versions) };
        let record = entry.record();
        match record.body {
            Body::Checked { .. } | Body::Asked(_) => continue,
            Body::Difference { removed, added } if record.serial_after == wanted => {
                versions.octets += (removed.len() + added.len()) as u64;
                (wanted, oldest) = (record.serial_before, group);
            }
            // A newer one than `to`.
            Body::Difference { .. } if versions.items.is_empty() => continue,
            _ => return ended(versions),
        }
        versions.items.push_front(Item::Queued(group, entry));
    }
    for place in files.backwards(disk)? {
        if Some(wanted) == from || versions.items.len() >= VERSIONS_MAX {
            break;
        }
        let place = place?;
        if place.after == wanted {
            versions.octets += (place.removed + place.added) as u64;
            wanted = place.before;
            versions.items.push_front(Item::Filed(place));
        } else if !versions.items.is_empty() && place.group < oldest {
            return ended(versions);
        }
    }
    Ok(from.is_none_or(|from| wanted == from).then_some(versions))
}
