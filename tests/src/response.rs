//! Reads responses, strictly: whatever does not parse to the last octet is a fault of the server.

use std::fmt;

use crate::message::{Edns, flag};
use crate::name::Name;
use crate::rtype;

/// One resource record, RDATA without compression.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    /// Owner name, case as received.
    pub owner: Name,
    /// RR type.
    pub rtype: u16,
    /// Class.
    pub class: u16,
    /// Time to live, seconds.
    pub ttl: u32,
    /// RDATA with the names of RFC 1035 types written out in full.
    pub rdata: Vec<u8>,
}

impl Record {
    /// Owner and the names in the RDATA of RFC 1035 types in lower case, to compare.
    pub fn folded(&self) -> Record {
        let mut record = self.clone();
        record.owner = self.owner.lower();
        if rtype::has_compressible_names(self.rtype) {
            record.rdata = self.rdata.to_ascii_lowercase();
        }
        record
    }

    /// The type covered, where the record is an RRSIG.
    pub fn covered(&self) -> Option<u16> {
        (self.rtype == rtype::RRSIG).then(|| u16::from_be_bytes([self.rdata[0], self.rdata[1]]))
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { owner, ttl, .. } = self;
        write!(
            out,
            "{owner} {ttl} {} {}",
            rtype::name(self.rtype),
            rtype::rdata_text(self.rtype, &self.rdata)
        )
    }
}

/// A response, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Message ID.
    pub id: u16,
    /// Second 16 bits of the header.
    pub flags: u16,
    /// Questions as (QNAME, QTYPE, QCLASS), case as received.
    pub questions: Vec<(Name, u16, u16)>,
    /// Answer section.
    pub answer: Vec<Record>,
    /// Authority section.
    pub authority: Vec<Record>,
    /// Additional section without OPT.
    pub additional: Vec<Record>,
    /// The OPT record.
    pub edns: Option<Edns>,
    /// Length of the message in octets.
    pub octets: usize,
}

impl Response {
    /// The RCODE with the extended bits of the OPT record.
    pub fn rcode(&self) -> u16 {
        let high = self.edns.as_ref().map_or(0, |edns| u16::from(edns.rcode_high));
        high << 4 | self.flags & 0xf
    }

    /// Whether this flag of the header is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    /// The content of the first EDNS option of this code.
    pub fn option(&self, code: u16) -> Option<&[u8]> {
        let edns = self.edns.as_ref()?;
        edns.options.iter().find(|(found, _)| *found == code).map(|(_, content)| content.as_slice())
    }

    /// INFO-CODE of the first extended error (RFC 8914).
    pub fn extended_error(&self) -> Option<u16> {
        self.option(15).map(|content| u16::from_be_bytes([content[0], content[1]]))
    }

    /// What kind of answer it is, as far as the message tells.
    pub fn kind(&self) -> &'static str {
        let alias = |record: &Record| matches!(record.rtype, rtype::CNAME | rtype::DNAME);
        let has_soa = self.authority.iter().any(|record| record.rtype == rtype::SOA);
        match self.rcode() {
            _ if self.has(flag::TC) => "truncated",
            0 | 3 if self.answer.iter().any(alias) => "alias",
            3 => "nxdomain",
            0 if !self.answer.is_empty() => "answer",
            0 if has_soa || self.has(flag::AA) => "nodata",
            0 => "referral",
            _ => "error",
        }
    }

    /// Reads a whole message. The error says what is wrong and where.
    pub fn parse(message: &[u8]) -> Result<Response, String> {
        let mut reader = Reader { message, at: 0 };
        let id = reader.u16()?;
        let flags = reader.u16()?;
        let counts = [reader.u16()?, reader.u16()?, reader.u16()?, reader.u16()?];
        let mut questions = Vec::new();
        for _ in 0..counts[0] {
            questions.push((reader.name()?, reader.u16()?, reader.u16()?));
        }
        let mut sections = [Vec::new(), Vec::new(), Vec::new()];
        for (section, count) in sections.iter_mut().zip(&counts[1..]) {
            for _ in 0..*count {
                section.push(reader.record()?);
            }
        }
        if reader.at != message.len() {
            return Err(format!("{} octets after the last record", message.len() - reader.at));
        }
        let [answer, authority, mut additional] = sections;
        let edns = take_opt(&mut additional)?;
        Ok(Response { id, flags, questions, answer, authority, additional, edns, octets: message.len() })
    }
}

/// Takes the OPT record out of the additional section.
fn take_opt(additional: &mut Vec<Record>) -> Result<Option<Edns>, String> {
    let Some(at) = additional.iter().position(|record| record.rtype == rtype::OPT) else {
        return Ok(None);
    };
    let record = additional.remove(at);
    if additional.iter().any(|record| record.rtype == rtype::OPT) {
        return Err("two OPT records".into());
    }
    if record.owner != Name::root() {
        return Err(format!("OPT record at {}", record.owner));
    }
    let mut options = Vec::new();
    let mut reader = Reader { message: &record.rdata, at: 0 };
    while reader.at < record.rdata.len() {
        let code = reader.u16()?;
        let length = reader.u16()?;
        options.push((code, reader.take(length as usize)?.to_vec()));
    }
    Ok(Some(Edns {
        payload_octets: record.class,
        rcode_high: (record.ttl >> 24) as u8,
        version: (record.ttl >> 16) as u8,
        flags: record.ttl as u16,
        options,
    }))
}

/// A position in a message.
struct Reader<'a> {
    message: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, octets: usize) -> Result<&'a [u8], String> {
        let end = self.at + octets;
        let found = self.message.get(self.at..end);
        let found = found.ok_or_else(|| format!("message ends within a field at octet {}", self.at))?;
        self.at = end;
        Ok(found)
    }

    fn u16(&mut self) -> Result<u16, String> {
        self.take(2).map(|octets| u16::from_be_bytes([octets[0], octets[1]]))
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from(self.u16()?) << 16 | u32::from(self.u16()?))
    }

    /// Reads a name; a pointer must point before itself (RFC 1035 4.1.4, "prior occurrence").
    fn name(&mut self) -> Result<Name, String> {
        let (name, end) = name_at(self.message, self.at)?;
        self.at = end;
        Ok(name)
    }

    fn record(&mut self) -> Result<Record, String> {
        let owner = self.name()?;
        let (rtype, class, ttl) = (self.u16()?, self.u16()?, self.u32()?);
        let length = self.u16()? as usize;
        let start = self.at;
        let raw = self.take(length)?;
        let rdata = match rtype::compressible_layout(rtype) {
            None => raw.to_vec(),
            Some((before, names, after)) => {
                let whole = Reader { message: &self.message[..start + length], at: start };
                whole.written_out(before, names, after, start + length)?
            }
        };
        Ok(Record { owner, rtype, class, ttl, rdata })
    }

    /// RDATA of `before` octets, `names` names, `after` octets, with the names in full.
    fn written_out(
        mut self,
        before: usize,
        names: usize,
        after: usize,
        end: usize,
    ) -> Result<Vec<u8>, String> {
        let mut rdata = self.take(before)?.to_vec();
        for _ in 0..names {
            rdata.extend_from_slice(self.name()?.wire());
        }
        rdata.extend_from_slice(self.take(after)?);
        if self.at != end {
            return Err(format!("RDATA does not end where its length says, octet {end}"));
        }
        Ok(rdata)
    }
}

/// Reads a possibly compressed name. Returns it and the offset behind it.
fn name_at(message: &[u8], start: usize) -> Result<(Name, usize), String> {
    let mut wire = Vec::new();
    let mut at = start;
    let mut end = None;
    loop {
        let length =
            *message.get(at).ok_or_else(|| format!("name at octet {start} runs out of the message"))?;
        match length {
            0 => break,
            1..=63 => {
                let label = message.get(at..at + 1 + length as usize);
                wire.extend_from_slice(label.ok_or_else(|| format!("label cut short at octet {at}"))?);
                at += 1 + length as usize;
            }
            0xc0.. => {
                let low = *message.get(at + 1).ok_or_else(|| format!("pointer cut short at octet {at}"))?;
                let target = usize::from(length & 0x3f) << 8 | usize::from(low);
                if target >= at {
                    return Err(format!("pointer at octet {at} does not point backwards"));
                }
                end.get_or_insert(at + 2);
                at = target;
            }
            _ => return Err(format!("reserved label type at octet {at}")),
        }
        if wire.len() > 254 {
            return Err(format!("name at octet {start} is longer than 255 octets"));
        }
    }
    wire.push(0);
    Ok((Name::from_wire(wire), end.unwrap_or(at + 1)))
}

#[cfg(test)]
mod tests {
    use super::Response;

    const REFERRAL: &[u8] = b"\x12\x34\x80\x00\0\x01\0\0\0\x01\0\x01\x01a\x00\0\x01\0\x01\
        \xc0\x0c\0\x02\0\x01\0\0\0\x05\0\x04\x01n\xc0\x0c\
        \0\0\x29\x04\xd0\0\0\x80\0\0\0";

    #[test]
    fn compressed_names_are_written_out() {
        let response = Response::parse(REFERRAL).expect("a sound message");
        assert_eq!(response.authority[0].rdata, b"\x01n\x01a\x00");
        assert_eq!(response.edns.as_ref().expect("an OPT record").flags, 0x8000);
        assert_eq!(response.kind(), "referral");
    }

    #[test]
    fn faults_are_found() {
        for end in 0..REFERRAL.len() {
            assert!(Response::parse(&REFERRAL[..end]).is_err(), "cut at {end}");
        }
        let mut forward = REFERRAL.to_vec();
        forward[20] = 0x14;
        assert!(Response::parse(&forward).is_err());
        assert!(Response::parse(&[REFERRAL, b"x"].concat()).is_err());
    }
}
