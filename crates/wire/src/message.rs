//! A message of somebody else, read record by record: for transfers, updates, answers from upstream, comparison.
//!
//! ```text
//! Message::read -> question -> records -> owner, names, RDATA uncompressed
//! ```
//!
//! Nothing is allocated, and nothing copied until it is asked for. RDATA is read by the table of [`crate::rdata`] where its
//! class says that it is data; types without names pass as they are.
//!
//! Reading takes at most a hundred instructions an octet of the message, and a constant: a message of 64 KiB could otherwise
//! ask for more than that by pointers from thousands of records to one name of 127 labels. Each access is charged what it
//! costs to a *budget* inside the message, whoever asks how often; when it is spent, all further access fails with
//! [`Error::Work`]. A test counts the instructions of the worst messages.

use std::cell::Cell;

use crate::header::{self, HEADER_OCTETS, u16_at};
use crate::iana::{class, opcode};
use crate::name::{LABELS_MAX, NAME_OCTETS_MAX, NameError, POINTERS_MAX};
use crate::places::{Places, Walked, walk};
use crate::question::Question;
use crate::rdata::{self, BadRdata, NameField};
use crate::record::{FIXED_OCTETS, RecordView};
use crate::render::Section;

/// Instructions that a message is worth for each of its octets. Common messages take a fifth of that; those of a transfer with
/// owners of 34 labels take two thirds to be read once, and so with less they could not be read at all.
pub const BUDGET_AN_OCTET: u32 = 100;
/// Instructions that each message is worth beside: names in small ones may be as deep as in large ones, and one that cannot be
/// read is charged as the worst.
pub const BUDGET_AT_LEAST: u32 = 20_000;

/// Octets of the smallest question and the smallest record.
const QUESTION_OCTETS_MIN: usize = 1 + 4;
const RECORD_OCTETS_MIN: usize = 1 + FIXED_OCTETS;
/// Most octets of RDATA (RFC 1035 3.2.1).
const RDATA_OCTETS_MAX: usize = u16::MAX as usize;

/// What accesses cost in instructions, rounded up: as counted on x86-64 by `tests/message_work.rs`.
mod cost {
    /// A record: its head.
    pub(super) const RECORD: usize = 150;
    /// A name that is looked for in RDATA.
    pub(super) const NAME: usize = 170;
    /// Each octet of a name that is stepped over.
    pub(super) const STEPPED_OCTET: usize = 8;
    /// A walk along a name.
    pub(super) const WALK: usize = 80;
    /// A label on it.
    pub(super) const LABEL: usize = 16;
    /// A pointer on it.
    pub(super) const POINTER: usize = 40;
    /// Octets that are copied, each run of labels more, and how many octets cost one instruction more.
    pub(super) const COPY: usize = 55;
    pub(super) const COPIED_RUN: usize = 26;
    pub(super) const COPIED_OCTETS: usize = 4;
}

/// Why a message cannot be read, with the offset where that shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// It ends inside of what begins here.
    Truncated(usize),
    /// No name begins here.
    BadName(usize),
    /// RDATA leaves the form of its type here, or is longer than RDATA can be when this name of it is expanded.
    BadRdata(usize),
    /// More than one question (RFC 9619), or more questions and records than its octets can hold.
    Counts,
    /// It takes more work than a message of its length is worth.
    Work(usize),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Truncated(at) => write!(f, "message ends inside of what begins at octet {at}"),
            Error::BadName(at) => write!(f, "no name at octet {at}"),
            Error::BadRdata(at) => write!(f, "RDATA not of its type's form at octet {at}"),
            Error::Counts => f.write_str("more than one question, or more records than octets"),
            Error::Work(at) => write!(f, "too many names and pointers to follow, at octet {at}"),
        }
    }
}

impl std::error::Error for Error {}

/// A message; see the module.
#[derive(Debug)]
pub struct Message<'m> {
    octets: &'m [u8],
    /// Instructions that are left.
    budget: Cell<u32>,
}

impl<'m> Message<'m> {
    /// Reads the header. A message with TC can have fewer records than its header says, and is then not read at all
    /// (RFC 2181 9): look at its flags before.
    pub fn read(octets: &'m [u8]) -> Result<Message<'m>, Error> {
        if octets.len() < HEADER_OCTETS {
            return Err(Error::Truncated(0));
        }
        // More than 64 KiB is no message; what stands beyond is not read, as if it was not there.
        let octets = &octets[..octets.len().min(u16::MAX as usize)];
        let budget = BUDGET_AN_OCTET * octets.len() as u32 + BUDGET_AT_LEAST;
        let message = Message { octets, budget: Cell::new(budget) };
        let questions = usize::from(message.question_count());
        let records: usize = message.counts().into_iter().map(usize::from).sum();
        let octets_min = HEADER_OCTETS + questions * QUESTION_OCTETS_MIN + records * RECORD_OCTETS_MIN;
        if questions > 1 || octets_min > octets.len() {
            return Err(Error::Counts);
        }
        Ok(message)
    }

    /// The whole message.
    pub fn octets(&self) -> &'m [u8] {
        self.octets
    }

    /// ID.
    pub fn id(&self) -> u16 {
        u16_at(self.octets, 0)
    }

    /// Flags, operation code and response code.
    pub fn flags(&self) -> u16 {
        u16_at(self.octets, 2)
    }

    /// Operation code.
    pub fn opcode(&self) -> u8 {
        header::opcode(self.flags())
    }

    /// How many questions: 0 or 1. Messages of a transfer after the first may have none (RFC 5936 2.2.1).
    pub fn question_count(&self) -> u16 {
        u16_at(self.octets, 4)
    }

    /// How many records the sections have.
    pub fn counts(&self) -> [u16; 3] {
        [6, 8, 10].map(|at| u16_at(self.octets, at))
    }

    /// What is left of the budget, in instructions.
    pub fn budget_left(&self) -> u32 {
        self.budget.get()
    }

    /// The question, if there is one; its labels are put into `places`.
    pub fn question(&self, places: &mut Places) -> Result<Option<Question>, Error> {
        if self.question_count() == 0 {
            return Ok(None);
        }
        let read = Question::read(self.octets, places);
        self.charge(cost::NAME + cost::LABEL * LABELS_MAX, HEADER_OCTETS)?;
        match read {
            Ok(question) => Ok(Some(question)),
            Err(NameError::Truncated) => Err(Error::Truncated(HEADER_OCTETS)),
            Err(_) => Err(Error::BadName(HEADER_OCTETS)),
        }
    }

    /// All records in their order.
    pub fn records(&self) -> Result<Records<'_, 'm>, Error> {
        let at = self.question(&mut Places::new())?.map_or(HEADER_OCTETS, |question| question.end);
        Ok(Records { message: self, at, section: 0, left: self.counts() })
    }

    /// Takes from the budget what the access at `at` costs.
    #[inline]
    fn charge(&self, cost: usize, at: usize) -> Result<(), Error> {
        match self.budget.get().checked_sub(cost as u32) {
            Some(left) => {
                self.budget.set(left);
                Ok(())
            }
            None => {
                self.budget.set(0);
                Err(Error::Work(at))
            }
        }
    }

    /// Charges for a walk along the name at `at`, and says what came of it.
    #[inline]
    fn charge_walk(&self, walked: Result<Walked, NameError>, at: usize) -> Result<Walked, Error> {
        match walked {
            Ok(walked) => {
                let cost = cost::WALK + cost::LABEL * walked.labels + cost::POINTER * walked.pointers;
                self.charge(cost, at).map(|()| walked)
            }
            Err(error) => {
                // How far it came is not known.
                self.charge(cost::WALK + cost::LABEL * LABELS_MAX + cost::POINTER * POINTERS_MAX, at)?;
                Err(if error == NameError::Truncated { Error::Truncated(at) } else { Error::BadName(at) })
            }
        }
    }

    /// Finds the labels of the name at `at`.
    fn follow(&self, at: usize, places: &mut Places) -> Result<usize, Error> {
        let walked = places.follow_counted(self.octets, at);
        self.charge_walk(walked, at).map(|walked| walked.end)
    }

    /// Copies the name at `at` without compression to the begin of `to`. Returns its octets, which may be more than there is
    /// room for: then only some were copied.
    fn copy_name(&self, at: usize, to: &mut [u8]) -> Result<usize, Error> {
        let mut length = 0;
        let run = |begin: usize, end: usize| {
            copy_run(self.octets, begin, end, to, length);
            length += end - begin;
        };
        let walked = walk(self.octets, at, |_, _| {}, run);
        let walked = self.charge_walk(walked, at)?;
        let runs = cost::COPY + cost::COPIED_RUN * walked.pointers;
        self.charge(runs + walked.octets / cost::COPIED_OCTETS, at)?;
        Ok(walked.octets)
    }
}

/// Copies a run of labels to `to[length..]`, if there is room.
#[inline(always)]
fn copy_run(from: &[u8], begin: usize, end: usize, to: &mut [u8], length: usize) {
    // Most runs are short: as many octets as a register has cost less than counting them.
    const CHUNK: usize = 16;
    if end - begin <= CHUNK
        && let Some(from) = from.get(begin..).and_then(|from| from.first_chunk::<CHUNK>())
        && let Some(to) = to.get_mut(length..).and_then(|to| to.first_chunk_mut::<CHUNK>())
    {
        *to = *from;
    } else if let (Some(from), Some(to)) = (from.get(begin..end), to.get_mut(length..length + end - begin)) {
        to.copy_from_slice(from);
    }
}

/// Iterator over the records of a message. It ends after the first error.
#[derive(Debug)]
pub struct Records<'r, 'm> {
    message: &'r Message<'m>,
    at: usize,
    section: usize,
    left: [u16; 3],
}

impl<'r, 'm> Records<'r, 'm> {
    /// Where the next record begins, or the octets after the last, which are the caller's to judge.
    pub fn at(&self) -> usize {
        self.at
    }
}

impl<'r, 'm> Iterator for Records<'r, 'm> {
    type Item = Result<Record<'r, 'm>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let number = loop {
            let left = self.left.get_mut(self.section)?;
            match left.checked_sub(1) {
                Some(less) => {
                    *left = less;
                    break self.section;
                }
                None => self.section += 1,
            }
        };
        let section = [Section::Answer, Section::Authority, Section::Additional][number];
        let read = self.message.record(self.at, section);
        match &read {
            Ok(record) => self.at = record.view.end(),
            Err(_) => self.left = [0; 3],
        }
        Some(read)
    }
}

impl<'m> Message<'m> {
    /// Reads the record at `at`.
    fn record(&self, at: usize, section: Section) -> Result<Record<'_, 'm>, Error> {
        let Some(view) = RecordView::read(self.octets, at) else {
            // An owner that could be read is cut off, or what follows it is.
            self.charge(cost::RECORD + NAME_OCTETS_MAX * cost::STEPPED_OCTET, at)?;
            let is_name = self.octets.get(at).is_none_or(|&length| !matches!(length, 0x40..0xc0));
            return Err(if is_name { Error::Truncated(at) } else { Error::BadName(at) });
        };
        let owner_octets = view.rdata_at - FIXED_OCTETS - at;
        self.charge(cost::RECORD + owner_octets * cost::STEPPED_OCTET, at)?;
        Ok(Record { message: self, section, view })
    }
}

/// A record of a [`Message`].
#[derive(Clone, Copy, Debug)]
pub struct Record<'r, 'm> {
    message: &'r Message<'m>,
    /// Where it stands. Of an update, these are prerequisites, updates and additional data (RFC 2136 2.2).
    pub section: Section,
    /// Type, class, TTL and RDATA as they stand.
    pub view: RecordView<'m>,
}

impl<'r, 'm> Record<'r, 'm> {
    /// Finds the labels of the owner.
    pub fn owner(&self, places: &mut Places) -> Result<(), Error> {
        self.message.follow(self.view.owner, places).map(|_| ())
    }

    /// The owner, uncompressed and in the case that it has.
    pub fn owner_name<'b>(&self, buffer: &'b mut [u8; NAME_OCTETS_MAX]) -> Result<&'b crate::Name, Error> {
        let octets = self.message.copy_name(self.view.owner, buffer)?;
        Ok(crate::Name::trusted(&buffer[..octets]))
    }

    /// Whether RDATA is data of its type. In an update, it is not where class ANY or NONE says that no data are meant
    /// (RFC 2136 2.4, 2.5): then it is empty, of any type.
    pub fn has_data(&self) -> bool {
        let is_without = self.view.rdata.is_empty()
            && matches!(self.view.class, class::ANY | class::NONE)
            && self.message.opcode() == opcode::UPDATE;
        !is_without
    }

    /// The names in the RDATA as they stand, offsets counted from the begin of the message.
    pub fn names(&self) -> Names<'r, 'm> {
        // Type 0 has no names.
        let rtype = if self.has_data() { self.view.rtype } else { 0 };
        let names = rdata::Names::in_message(rtype, self.message.octets, self.view.rdata_at, self.view.end());
        Names { message: self.message, names }
    }

    /// The RDATA with its names uncompressed: as it stands in the message where none has a pointer, else in `buffer`, for which
    /// 65,535 octets are enough in any case, and 510 more than the RDATA has. Letters stay as they are.
    ///
    /// Only names and the widths of fields are checked; what else RDATA must be, `zonefile::rdata::check` says.
    #[inline]
    pub fn rdata_uncompressed<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], Error>
    where
        'm: 'b,
    {
        if rdata::has_names(self.view.rtype) && self.has_data() {
            self.expand(buffer)
        } else {
            Ok(self.view.rdata)
        }
    }

    fn expand<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], Error>
    where
        'm: 'b,
    {
        let message = self.message;
        let room = buffer.len().min(RDATA_OCTETS_MAX);
        // Octets of the message that were dealt with, and octets written.
        let (mut done, mut length) = (self.view.rdata_at, 0);
        let push = |buffer: &mut [u8], length: &mut usize, from: std::ops::Range<usize>| {
            let at = from.start;
            message.charge(cost::COPY + from.len() / cost::COPIED_OCTETS, at)?;
            let to = buffer.get_mut(*length..*length + from.len()).ok_or(Error::BadRdata(at))?;
            to.copy_from_slice(&message.octets[from]);
            *length += to.len();
            Ok(())
        };
        for name in self.names() {
            let name = name?;
            if !name.has_pointer {
                continue;
            }
            push(&mut buffer[..room], &mut length, done..name.at)?;
            let octets = message.copy_name(name.at, &mut buffer[length..room])?;
            length += octets;
            if length > room {
                return Err(Error::BadRdata(name.at));
            }
            done = name.end;
        }
        if done == self.view.rdata_at {
            return Ok(self.view.rdata);
        }
        push(&mut buffer[..room], &mut length, done..self.view.end())?;
        Ok(&buffer[..length])
    }
}

/// Iterator over the names in RDATA; see [`rdata::Names`].
#[derive(Debug)]
pub struct Names<'r, 'm> {
    message: &'r Message<'m>,
    names: rdata::Names<'m>,
}

impl Names<'_, '_> {
    /// Finds the labels of a name that came from here.
    pub fn follow(&self, name: &NameField, places: &mut Places) -> Result<(), Error> {
        self.message.follow(name.at, places).map(|_| ())
    }
}

impl Iterator for Names<'_, '_> {
    type Item = Result<NameField, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.names.next()?;
        let (at, octets) = match found {
            Ok(name) => (name.at, name.end - name.at),
            Err(BadRdata(at)) => (at, NAME_OCTETS_MAX),
        };
        if let Err(error) = self.message.charge(cost::NAME + octets * cost::STEPPED_OCTET, at) {
            return Some(Err(error));
        }
        Some(found.map_err(|BadRdata(at)| Error::BadRdata(at)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
