//! An update message (RFC 2136 2), read once: what must hold and what changes, uncompressed.

use crate::failure::{Failure, Why};
use wire::edns::Edns;
use wire::header::{HEADER_OCTETS, QR, TC};
use wire::iana::{class, opcode, rtype};
use wire::message::{self, Message, Record};
use wire::name::NAME_OCTETS_MAX;
use wire::render::Section;
use wire::{Name, NameBuf, Places, SortKey};

/// An update message. Borrows nothing, so that it can wait for its turn.
#[derive(Clone, Debug)]
pub struct Request {
    id: u16,
    flags: u16,
    zone: NameBuf,
    /// Keys and RDATA of all entries.
    octets: Vec<u8>,
    prerequisites: Vec<Row>,
    updates: Vec<Row>,
    edns: Option<Edns>,
}

/// One record of the two sections; places in the octets.
#[derive(Clone, Copy, Debug)]
struct Row {
    key_at: u32,
    rdata_at: u32,
    key_octets: u16,
    rdata_octets: u16,
    rtype: u16,
    class: u16,
    ttl: u32,
}

/// One record of the two sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'r> {
    /// Key of the owner ([`wire::sort_key`]), counted from the root.
    pub key: &'r [u8],
    /// The type.
    pub rtype: u16,
    /// IN, ANY or NONE in what can be done.
    pub class: u16,
    /// The TTL.
    pub ttl: u32,
    /// The RDATA, uncompressed, letters as they were sent.
    pub rdata: &'r [u8],
}

impl Request {
    /// Reads a message: its header, the zone and all records of all sections. What they mean is not looked at. Takes the budget of [`Message`].
    pub fn read(octets: &[u8]) -> Result<Request, Failure> {
        let message = Message::read(octets).map_err(Why::Malformed)?;
        if message.opcode() != opcode::UPDATE || message.flags() & (QR | TC) != 0 {
            return Err(Why::NoUpdate.into());
        }
        let mut request = Request {
            id: message.id(),
            flags: message.flags(),
            zone: zone(&message)?,
            octets: Vec::with_capacity(octets.len()),
            prerequisites: Vec::with_capacity(usize::from(message.counts()[0])),
            updates: Vec::with_capacity(usize::from(message.counts()[1])),
            edns: None,
        };
        let mut reader = Reader { key: SortKey::new(), buffer: Vec::new() };
        for record in message.records().map_err(Why::Malformed)? {
            let record = record.map_err(Why::Malformed)?;
            match record.section {
                Section::Answer => request.prerequisites.push(reader.row(&record, &mut request.octets)?),
                Section::Authority => request.updates.push(reader.row(&record, &mut request.octets)?),
                // Nothing there is asked for by RFC 2136 2.6 but what all messages may have.
                Section::Additional if record.view.rtype == rtype::OPT && request.edns.is_none() => {
                    request.edns = Some(Edns::read(octets, &record.view).0);
                }
                Section::Additional => {}
            }
        }
        Ok(request)
    }

    /// The ID.
    pub fn id(&self) -> u16 {
        self.id
    }

    /// Flags as they were sent.
    pub fn flags(&self) -> u16 {
        self.flags
    }

    /// The name of the zone, as it was written.
    pub fn zone(&self) -> &Name {
        &self.zone
    }

    /// What its OPT record says, if there is one.
    pub fn edns(&self) -> Option<&Edns> {
        self.edns.as_ref()
    }

    /// Octets of memory that it takes while it waits, roughly: names that were pointers make it longer than the message.
    pub fn memory_octets(&self) -> usize {
        let rows = self.prerequisites.capacity() + self.updates.capacity();
        size_of::<Request>() + self.octets.capacity() + rows * size_of::<Row>()
    }

    /// What must hold.
    pub fn prerequisites(&self) -> impl ExactSizeIterator<Item = Entry<'_>> + Clone {
        self.prerequisites.iter().map(|row| self.entry(row))
    }

    /// What changes.
    pub fn updates(&self) -> impl ExactSizeIterator<Item = Entry<'_>> + Clone {
        self.updates.iter().map(|row| self.entry(row))
    }

    fn entry(&self, row: &Row) -> Entry<'_> {
        Entry {
            key: &self.octets[row.key_at as usize..][..usize::from(row.key_octets)],
            rtype: row.rtype,
            class: row.class,
            ttl: row.ttl,
            rdata: &self.octets[row.rdata_at as usize..][..usize::from(row.rdata_octets)],
        }
    }
}

/// The name in the zone section (RFC 2136 2.3, 3.1.1).
fn zone(message: &Message<'_>) -> Result<NameBuf, Failure> {
    let mut places = Places::new();
    let question = message.question(&mut places).map_err(Why::Malformed)?.ok_or(Why::ZoneSection)?;
    if question.qtype != rtype::SOA {
        return Err(Why::ZoneSection.into());
    }
    if question.qclass != class::IN {
        return Err(Why::ZoneClass.into());
    }
    // The first name of a message has nothing that it could point at.
    let (name, _) = message
        .octets()
        .get(HEADER_OCTETS..)
        .and_then(|octets| Name::split_from(octets).ok())
        .ok_or(Why::Malformed(message::Error::BadName(HEADER_OCTETS)))?;
    Ok(name.to_owned())
}

/// Room that is used again from record to record.
struct Reader {
    key: SortKey,
    buffer: Vec<u8>,
}

impl Reader {
    /// Copies owner and RDATA of a record to `octets`.
    fn row(&mut self, record: &Record<'_, '_>, octets: &mut Vec<u8>) -> Result<Row, Failure> {
        let mut name = [0; NAME_OCTETS_MAX];
        self.key.set(record.owner_name(&mut name).map_err(Why::Malformed)?);
        // As much more as two names that were pointers may be longer.
        self.buffer.resize(record.view.rdata.len() + 2 * NAME_OCTETS_MAX, 0);
        let rdata = record.rdata_uncompressed(&mut self.buffer).map_err(Why::Malformed)?;
        let (key_at, key) = (octets.len() as u32, self.key.octets());
        octets.extend_from_slice(key);
        let rdata_at = octets.len() as u32;
        octets.extend_from_slice(rdata);
        Ok(Row {
            key_at,
            rdata_at,
            key_octets: key.len() as u16,
            rdata_octets: rdata.len() as u16,
            rtype: record.view.rtype,
            class: record.view.class,
            ttl: record.view.ttl,
        })
    }
}
