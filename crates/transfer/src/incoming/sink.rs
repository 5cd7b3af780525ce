//! Where the records of a whole zone go.

use super::fault::Fault;
use wire::Name;
use zone::contents::SourcePosition;
use zone::{Contents, ContentsBuilder};

/// Takes records in any order, duplicates among them, and serves none of them before the transfer says that it is whole.
pub trait Sink {
    /// A record of the zone, of class IN, its RDATA of the form of its type and without compression. `same_owner` promises that the
    /// owner is that of the record before. Errors: [`Fault::Full`].
    fn record(
        &mut self,
        owner: &Name,
        same_owner: bool,
        rtype: u16,
        ttl: u32,
        rdata: &[u8],
    ) -> Result<(), Fault>;
}

/// What a record takes in [`ContentsBuilder`] beside its RDATA and its owner: rows of record, run and node, each of which may have been
/// moved to a place twice as large.
const RECORD_OCTETS: u64 = 96;

/// How much a zone has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    pub(super) records: usize,
    pub(super) owners: usize,
    pub(super) key_octets: usize,
    pub(super) rdata_octets: usize,
}

impl Sizes {
    /// One more record, of key and RDATA of so many octets.
    pub(super) fn count(&mut self, key_octets: usize, rdata_octets: usize, same_owner: bool) {
        self.records += 1;
        self.rdata_octets += rdata_octets;
        if !same_owner {
            self.owners += 1;
            self.key_octets += key_octets;
        }
    }

    /// Octets of memory that a [`Builder`] counts for it.
    fn octets(&self) -> u64 {
        self.records as u64 * RECORD_OCTETS + 2 * (self.key_octets + self.rdata_octets) as u64
    }
}

/// A sink that builds contents in memory, up to a bound.
pub struct Builder {
    contents: ContentsBuilder,
    /// Octets of memory that are left.
    left: u64,
}

impl Builder {
    /// For zone `apex`, with about so many octets of memory at most.
    pub fn new(apex: &Name, octets_max: u64) -> Builder {
        Builder { contents: ContentsBuilder::new(apex), left: octets_max }
    }

    /// The same with room for what is to come, where that is known and within the bound: nothing has to be moved then.
    pub(super) fn with_room(apex: &Name, octets_max: u64, sizes: &Sizes) -> Builder {
        let mut builder = Builder::new(apex, octets_max);
        if sizes.octets() <= octets_max {
            builder.contents.reserve(sizes.records, sizes.owners, sizes.key_octets, sizes.rdata_octets);
        }
        builder
    }

    /// A record of an owner that is given by its key relative to the apex.
    pub(super) fn record_of_key(
        &mut self,
        key: &[u8],
        same_owner: bool,
        (rtype, ttl): (u16, u32),
        rdata: &[u8],
    ) -> Result<(), Fault> {
        self.hold(if same_owner { 0 } else { key.len() }, rdata)?;
        self.contents.push_key(key, same_owner, rtype, ttl, rdata).map_err(|_| Fault::Full)
    }

    fn hold(&mut self, name_octets: usize, rdata: &[u8]) -> Result<(), Fault> {
        let octets = RECORD_OCTETS + 2 * (name_octets + rdata.len()) as u64;
        self.left = self.left.checked_sub(octets).ok_or(Fault::Full)?;
        Ok(())
    }

    /// How many records came.
    pub fn record_count(&self) -> usize {
        self.contents.record_count()
    }

    /// Sorts, joins, drops duplicates: only of a transfer that is whole.
    pub fn finish(self) -> Contents {
        self.contents.finish()
    }
}

impl Sink for Builder {
    fn record(
        &mut self,
        owner: &Name,
        same_owner: bool,
        rtype: u16,
        ttl: u32,
        rdata: &[u8],
    ) -> Result<(), Fault> {
        self.hold(if same_owner { 0 } else { owner.octets().len() }, rdata)?;
        let pushed = self.contents.push(owner, same_owner, rtype, ttl, rdata, SourcePosition::default());
        pushed.map_err(|_| Fault::Full)
    }
}
