//! One entry to one record: owner, TTL, class and type in their orders, and what is inherited (RFC 1035 5.1).

use wire::Name;
use wire::iana::{class, rtype};

use crate::error::{Cause, Fault, Found};
use crate::fields::{Field, Fields, word};
use crate::name::{self, NAME_ROOM, Origin};
use crate::octets::Octets;
use crate::text::number;
use crate::{Record, Refusal, Sink, SourcePosition, rdata};

/// What may follow the owner name.
const FIRST_FIELDS: &str = "a TTL, class or record type";

/// What later entries inherit from earlier ones, and the buffers of the record being read.
pub(crate) struct Entries<'b> {
    pub origin: Origin,
    /// Set by `$TTL`, or by an SOA record without TTL.
    pub default_ttl: Option<u32>,
    /// The TTL of the record before.
    pub last_ttl: Option<u32>,
    /// The text of the TTL read last, as a word, and its value; `0` has that text.
    ttl_read: (u64, u32),
    owner: Owner,
    rdata: &'b mut Octets,
    /// Records handed over.
    pub records: u64,
}

/// The owner name of the present entry, and whether it is that of the record before.
struct Owner {
    /// The present name and room for the next.
    buffers: [[u8; NAME_ROOM]; 2],
    lengths: [usize; 2],
    /// Which of the two is the present name.
    present: usize,
    /// Whether an entry may inherit the name: not before the first.
    is_known: bool,
    /// Where the text of the present name stands in the window, while origin and window stay the same.
    text: Option<(usize, usize)>,
    /// Whether the octets differ from the name of the record handed over last.
    is_changed: bool,
}

/// The state that an included file or a `$GENERATE` must not change: the origin (RFC 1035 5.1), and the owner that
/// the next entry may inherit. TTLs go on, as if the file stood where it is included.
pub(crate) struct Saved {
    origin: wire::NameBuf,
    owner: Option<wire::NameBuf>,
}

impl<'b> Entries<'b> {
    pub fn new(origin: &Name, default_ttl: Option<u32>, rdata: &'b mut Octets) -> Entries<'b> {
        let owner = Owner {
            buffers: [[0; NAME_ROOM]; 2],
            lengths: [1; 2],
            present: 0,
            is_known: false,
            text: None,
            is_changed: true,
        };
        Entries {
            origin: Origin::new(origin),
            default_ttl,
            last_ttl: None,
            ttl_read: (word(b"0"), 0),
            owner,
            rdata,
            records: 0,
        }
    }

    /// Keeps what is to be brought back later.
    pub fn save(&mut self) -> Saved {
        let owner = self.owner.is_known.then(|| self.owner.name().to_owned());
        self.forget_text();
        Saved { origin: self.origin.name().to_owned(), owner }
    }

    /// Brings back what was kept.
    pub fn restore(&mut self, saved: Saved) {
        self.origin.set(&saved.origin);
        self.forget_text();
        self.owner.is_known = saved.owner.is_some();
        if let Some(name) = saved.owner {
            self.owner.next()[..name.octets().len()].copy_from_slice(name.octets());
            self.owner.accept(name.octets().len());
        }
    }

    /// The window moved or the origin changed: equal text need no longer be an equal name.
    pub fn forget_text(&mut self) {
        self.owner.text = None;
    }

    /// Reads the record in `fields` and hands it over. `inherits`: the entry begins with a blank.
    pub fn record(
        &mut self,
        fields: &mut Fields<'_>,
        inherits: bool,
        position: SourcePosition,
        sink: &mut dyn Sink,
    ) -> Result<(), Failure> {
        if !inherits {
            let field = fields.take("an owner name")?;
            self.set_owner(fields, &field)?;
        } else if !self.owner.is_known {
            return Err(Failure::Fault(first_fault(fields, Cause::NoOwner)));
        }
        let (rtype, ttl) = self.type_and_ttl(fields)?;
        // What `\#` begins are octets and no words.
        let has_bare_words = matches!(rtype, rtype::TXT | rtype::SPF)
            && fields.are_bare_words()
            && fields.peek().is_some_and(|field| field.text != b"\\#");
        self.rdata.clear();
        rdata::parse::rdata(rtype, fields, &self.origin, self.rdata)?;
        let ttl = match ttl.or(self.default_ttl).or(self.last_ttl) {
            Some(ttl) => ttl,
            None => self.ttl_from_soa(rtype, fields)?,
        };
        self.last_ttl = Some(ttl);
        let record = Record {
            owner: self.owner.name(),
            same_owner: !self.owner.is_changed,
            rtype,
            ttl,
            rdata: self.rdata.as_slice(),
            has_bare_words,
            position,
        };
        sink.record(&record)?;
        self.owner.is_changed = false;
        self.records += 1;
        Ok(())
    }

    #[inline]
    fn set_owner(&mut self, fields: &Fields<'_>, field: &Field<'_>) -> Result<(), Fault> {
        let octets = fields.octets;
        if let Some((start, end)) = self.owner.text
            && octets[start..end] == *field.text
        {
            return Ok(());
        }
        let (start, end) = (field.start, field.end());
        let length =
            match name::to_wire(octets, start, end, fields.may_escape, &self.origin, self.owner.next()) {
                Ok(length) => length,
                Err(error) => return Err(field.fault(Cause::Name(error))),
            };
        self.owner.accept(length);
        self.owner.text = Some((start, end));
        Ok(())
    }

    /// TTL and class in either order, or none of them, then the type.
    #[inline]
    fn type_and_ttl(&mut self, fields: &mut Fields<'_>) -> Result<(u16, Option<u32>), Fault> {
        let mut ttl = None;
        let mut has_class = false;
        loop {
            let field = fields.take(FIRST_FIELDS)?;
            let word = field.word(fields.octets);
            if word == Some(IN) && !has_class {
                has_class = true;
            } else if field.text.first().is_some_and(u8::is_ascii_digit) && ttl.is_none() {
                // No mnemonic of a type or class begins with a digit, and every TTL does.
                let value = self.ttl(&field, word)?;
                ttl = Some(value);
                self.last_ttl = ttl;
            } else if let Some(rtype) = word.and_then(frequent_type) {
                return Ok((rtype, ttl));
            } else if let Some(rtype) = rtype::from_mnemonic(field.text) {
                if rtype::is_meta(rtype) {
                    return Err(field.fault(Cause::MetaType));
                }
                return Ok((rtype, ttl));
            } else if let Some(rtype) = type_by_number(&field, has_class, ttl.is_some())? {
                return Ok((rtype, ttl));
            } else {
                has_class = true;
            }
        }
    }

    /// The TTL in a field; most are the same as the one read before.
    #[inline]
    fn ttl(&mut self, field: &Field<'_>, word: Option<u64>) -> Result<u32, Fault> {
        if word == Some(self.ttl_read.0) {
            return Ok(self.ttl_read.1);
        }
        let value = number::ttl(field.text).ok_or_else(|| field.fault(Cause::Ttl))?;
        if let Some(word) = word {
            self.ttl_read = (word, value);
        }
        Ok(value)
    }

    /// An SOA record without any TTL takes its own minimum, which becomes the default, as named does it.
    #[cold]
    fn ttl_from_soa(&mut self, rtype: u16, fields: &Fields<'_>) -> Result<u32, Fault> {
        let minimum = self.rdata.as_slice().last_chunk().filter(|_| rtype == rtype::SOA);
        match minimum.map(|octets| u32::from_be_bytes(*octets)) {
            Some(ttl) => {
                self.default_ttl = Some(ttl);
                Ok(ttl)
            }
            None => Err(Fault::saying(fields.entry_start(), Cause::NoTtl, Found::Unsaid)),
        }
    }
}

impl Owner {
    fn name(&self) -> &Name {
        Name::trusted(&self.buffers[self.present][..self.lengths[self.present]])
    }

    /// Room for the next name.
    #[inline]
    fn next(&mut self) -> &mut [u8; NAME_ROOM] {
        &mut self.buffers[1 - self.present]
    }

    /// Makes the name in that room, `length` octets long, the present one.
    #[inline]
    fn accept(&mut self, length: usize) {
        let next = 1 - self.present;
        if self.is_known || !self.is_changed {
            self.is_changed |= self.buffers[next][..length] != *self.name().octets();
        }
        self.lengths[next] = length;
        self.present = next;
        self.is_known = true;
    }
}

const IN: u64 = word(b"IN");

/// The types that large zones are made of, by their mnemonic in upper case; all others go the general way.
#[inline]
fn frequent_type(text: u64) -> Option<u16> {
    const NS: u64 = word(b"NS");
    const A: u64 = word(b"A");
    const AAAA: u64 = word(b"AAAA");
    const DS: u64 = word(b"DS");
    const RRSIG: u64 = word(b"RRSIG");
    const NSEC: u64 = word(b"NSEC");
    const NSEC3: u64 = word(b"NSEC3");
    const MX: u64 = word(b"MX");
    const TXT: u64 = word(b"TXT");
    const CNAME: u64 = word(b"CNAME");
    const PTR: u64 = word(b"PTR");
    Some(match text {
        NS => rtype::NS,
        A => rtype::A,
        AAAA => rtype::AAAA,
        DS => rtype::DS,
        RRSIG => rtype::RRSIG,
        NSEC => rtype::NSEC,
        NSEC3 => rtype::NSEC3,
        MX => rtype::MX,
        TXT => rtype::TXT,
        CNAME => rtype::CNAME,
        PTR => rtype::PTR,
        _ => return None,
    })
}

/// A field that is neither TTL nor mnemonic of a type: `TYPEnnn`, or `None` for a class that is IN.
#[cold]
fn type_by_number(field: &Field<'_>, has_class: bool, has_ttl: bool) -> Result<Option<u16>, Fault> {
    if let Some(rtype) = rtype::from_text(field.text) {
        // Type 0 is reserved for signatures of messages (RFC 2931 4.1.1).
        return if rtype::is_meta(rtype) || rtype == 0 {
            Err(field.fault(Cause::MetaType))
        } else {
            Ok(Some(rtype))
        };
    }
    match class::from_text(field.text) {
        Some(class::IN) if !has_class => Ok(None),
        Some(class) if class != class::IN => Err(field.fault(Cause::Class)),
        _ if has_class && has_ttl => Err(field.fault(Cause::Type)),
        _ if has_class => Err(field.fault(Cause::Missing("a TTL or record type"))),
        _ if has_ttl => Err(field.fault(Cause::Missing("a class or record type"))),
        _ => Err(field.fault(Cause::Missing(FIRST_FIELDS))),
    }
}

/// A problem of the first field that is left, for want of something before it.
#[cold]
fn first_fault(fields: &Fields<'_>, cause: Cause) -> Fault {
    match fields.peek() {
        Some(field) => Fault::saying(field.start, cause, Found::Unsaid),
        None => Fault::saying(fields.end_at(), cause, Found::EndOfEntry),
    }
}

/// Why a record was not handed over.
pub(crate) enum Failure {
    /// The entry is wrong.
    Fault(Fault),
    /// The receiver refused the record.
    Refused(Box<Refusal>),
}

impl From<Fault> for Failure {
    #[cold]
    fn from(fault: Fault) -> Failure {
        Failure::Fault(fault)
    }
}

impl From<Refusal> for Failure {
    #[cold]
    fn from(refusal: Refusal) -> Failure {
        Failure::Refused(Box::new(refusal))
    }
}
