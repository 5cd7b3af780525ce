//! NOTIFY from others (RFC 1996): a zone of theirs has changed, they say.
//!
//! What a NOTIFY says is a hint and nothing more: it leads to a question to a primary, whose answer counts. Whether the sender may
//! send one is decided by whoever knows addresses and keys; [`crate::refresh::Schedule::notify`] takes what is left.

use wire::header::{self, HEADER_OCTETS, OPCODE_MASK, u16_at};
use wire::iana::{class, opcode, rcode, rtype};
use wire::message::Message;
use wire::name::NAME_OCTETS_MAX;
use wire::render::Section;
use wire::{Name, Places};
use zone::change::soa_serial;

/// What a NOTIFY says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notify<'m> {
    /// The zone, in the case in which it was sent.
    pub zone: &'m Name,
    /// The serial of the SOA record that it may have (RFC 1996 3.7).
    pub serial: Option<u32>,
}

/// Why a message is no NOTIFY that can be heeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is no request of this operation: nothing is answered to it here.
    NotNotify,
    /// It cannot be read, or has not one question.
    Malformed,
    /// It is about something else than the SOA record of a zone of class IN.
    NotImplemented,
}

impl Fault {
    /// The response code that says it.
    pub fn rcode(self) -> u16 {
        match self {
            Fault::NotNotify | Fault::Malformed => rcode::FORMERR,
            Fault::NotImplemented => rcode::NOTIMP,
        }
    }
}

/// Reads a NOTIFY. Records beside the SOA record of the zone in the answer section are passed over (RFC 1996 3.7).
pub fn read(octets: &[u8]) -> Result<Notify<'_>, Fault> {
    let message = Message::read(octets).map_err(|_| Fault::Malformed)?;
    if message.flags() & header::QR != 0 || message.opcode() != opcode::NOTIFY {
        return Err(Fault::NotNotify);
    }
    let question = message.question(&mut Places::new()).ok().flatten().ok_or(Fault::Malformed)?;
    if (question.qtype, question.qclass) != (rtype::SOA, class::IN) {
        return Err(Fault::NotImplemented);
    }
    let name = octets.get(HEADER_OCTETS..question.end - 4).ok_or(Fault::Malformed)?;
    let zone = Name::from_wire(name).map_err(|_| Fault::Malformed)?;
    let mut serial = None;
    for record in message.records().map_err(|_| Fault::Malformed)? {
        let record = record.map_err(|_| Fault::Malformed)?;
        let view = record.view;
        if (record.section, view.rtype, view.class) != (Section::Answer, rtype::SOA, class::IN) {
            continue;
        }
        let mut buffer = [0; NAME_OCTETS_MAX];
        let owner = record.owner_name(&mut buffer).map_err(|_| Fault::Malformed)?;
        if owner.eq_ignore_case(zone) {
            // The numbers stand at the end, whether or not the names before them are compressed.
            serial = soa_serial(view.rdata);
        }
    }
    Ok(Notify { zone, serial })
}

/// Writes the response to a NOTIFY, or to what was to be one: its header and its question (RFC 1996 4.7). Returns its octets; `None`
/// where there is no room, or nothing that could be answered.
pub fn respond(notify: &[u8], rcode: u16, to: &mut [u8]) -> Option<usize> {
    let flags = u16_at(notify.get(..HEADER_OCTETS)?, 2);
    if flags & header::QR != 0 {
        return None;
    }
    let message = Message::read(notify).ok();
    let question = message.and_then(|message| message.question(&mut Places::new()).ok().flatten());
    let octets = question.map_or(HEADER_OCTETS, |question| question.end);
    let to = to.get_mut(..octets)?;
    to.copy_from_slice(&notify[..octets]);
    let flags = header::QR | header::AA | flags & OPCODE_MASK | rcode & 0xf;
    let questions = u16::from(octets > HEADER_OCTETS);
    for (to, field) in to[2..HEADER_OCTETS].chunks_exact_mut(2).zip([flags, questions, 0, 0, 0]) {
        to.copy_from_slice(&field.to_be_bytes());
    }
    Some(octets)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SOA: &[u8] = b"\0\0\0\0\0\x07\0\0\0\x01\0\0\0\x02\0\0\0\x03\0\0\0\x04";

    fn notify(flags: u16, qtype: u16, owner: &[u8]) -> Vec<u8> {
        let mut octets = b"ID\0\0\0\x01\0\x01\0\0\0\0\x07Example\0".to_vec();
        octets[2..4].copy_from_slice(&flags.to_be_bytes());
        octets.extend(qtype.to_be_bytes());
        octets.extend(b"\0\x01");
        octets.extend(owner);
        octets.extend(b"\0\x06\0\x01\0\0\0\0\0\x16");
        octets.extend(SOA);
        octets
    }

    #[test]
    fn zone_and_serial() {
        let octets = notify(0x2400, rtype::SOA, b"\xc0\x0c");
        let found = read(&octets).unwrap();
        assert_eq!((found.zone.to_string().as_str(), found.serial), ("Example.", Some(7)));
        // Another name's says nothing.
        let other = notify(0x2400, rtype::SOA, b"\x01a\0");
        assert_eq!(read(&other).unwrap().serial, None);
        for end in 0..octets.len() {
            assert!(read(&octets[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn what_is_none() {
        assert_eq!(read(&notify(0xa400, rtype::SOA, b"\0")), Err(Fault::NotNotify));
        assert_eq!(read(&notify(0, rtype::SOA, b"\0")), Err(Fault::NotNotify));
        assert_eq!(read(&notify(0x2000, rtype::CDS, b"\0")), Err(Fault::NotImplemented));
        assert_eq!(read(b"ID\x20\0\0\0\0\0\0\0\0\0"), Err(Fault::Malformed));
    }

    #[test]
    fn responses() {
        let mut to = [0; 64];
        let octets = respond(&notify(0x2500, rtype::SOA, b"\0"), rcode::NOTAUTH, &mut to).unwrap();
        assert_eq!(to[..octets], *b"ID\xa4\x09\0\x01\0\0\0\0\0\0\x07Example\0\0\x06\0\x01");
        assert_eq!(respond(&notify(0xa400, rtype::SOA, b"\0"), 0, &mut to), None);
        assert_eq!(respond(b"ID", 0, &mut to), None);
    }
}
