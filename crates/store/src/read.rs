//! What a version has, row by row, and a zone from its rows.

use wire::Name;
use zone::contents::{Contents, ContentsBuilder, SourcePosition};

use crate::fault::{Fault, REFUSALS_MAX};
use crate::row::{Reader, Refusal, Row};

/// Whether a row came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The version has it, the one before has not.
    Added,
    /// The reverse.
    Removed,
}

/// Rows of a zone on their way to its contents.
pub(crate) struct Collector {
    name: String,
    builder: ContentsBuilder,
    reader: Reader,
    refused: Refused,
}

impl Collector {
    /// One for the zone `apex`, which the database calls `name`.
    pub(crate) fn of(apex: &Name, name: &str) -> Collector {
        let (builder, reader) = (ContentsBuilder::new(apex), Reader::of(apex));
        Collector { name: name.to_owned(), builder, reader, refused: Refused::default() }
    }

    /// Takes a row. Those that are no records are counted.
    pub(crate) fn push(&mut self, row: Row) -> Result<(), Fault> {
        match self.reader.read(&row) {
            Ok(record) => {
                let (owner, rdata) = (&record.owner, &record.rdata);
                let position = SourcePosition::default();
                let pushed = self.builder.push(owner, false, record.rtype, record.ttl, rdata, position);
                pushed.map_err(|_| Fault::TooMany(self.name.clone()))?;
            }
            Err(why) => self.refused.push(Refusal { row, why }),
        }
        Ok(())
    }

    /// The zone, if all of its rows were records.
    pub(crate) fn finish(self) -> Result<Contents, Fault> {
        self.refused.none_of(&self.name)?;
        Ok(self.builder.finish())
    }
}

/// Rows that are no records: the first of them, and how many.
#[derive(Default)]
pub(crate) struct Refused {
    refusals: Vec<Refusal>,
    count: usize,
}

impl Refused {
    /// One more.
    pub(crate) fn push(&mut self, refusal: Refusal) {
        self.count += 1;
        if self.refusals.len() < REFUSALS_MAX {
            self.refusals.push(refusal);
        }
    }

    /// An error if there are any.
    pub(crate) fn none_of(self, zone: &str) -> Result<(), Fault> {
        match self.count {
            0 => Ok(()),
            count => Err(Fault::Rows { zone: zone.to_owned(), refusals: self.refusals, count }),
        }
    }
}
