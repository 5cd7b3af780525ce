//! The octets of NOTIFY (RFC 1996 3).

use wire::header::{self, HEADER_OCTETS, u16_at};
use wire::iana::{class, opcode, rtype};
use wire::{Name, NameBuf, Places};

/// Where the operation stands in the flags.
const OPCODE_SHIFT: u32 = 11;

/// The message that a zone has changed, with its new SOA record (RDATA uncompressed), to be signed where that is wanted. The record is a hint: who gets it asks.
#[must_use]
pub fn request(zone: &Name, ttl: u32, soa: &[u8], id: u16) -> Vec<u8> {
    let flags = u16::from(opcode::NOTIFY) << OPCODE_SHIFT | header::AA;
    let mut octets = Vec::with_capacity(HEADER_OCTETS + zone.octets().len() + 16 + soa.len());
    for field in [id, flags, 1, 1, 0, 0] {
        octets.extend_from_slice(&field.to_be_bytes());
    }
    octets.extend_from_slice(zone.octets());
    octets.extend_from_slice(&rtype::SOA.to_be_bytes());
    octets.extend_from_slice(&class::IN.to_be_bytes());
    // The owner is the name of the question.
    octets.extend_from_slice(&[0xc0, HEADER_OCTETS as u8]);
    octets.extend_from_slice(&rtype::SOA.to_be_bytes());
    octets.extend_from_slice(&class::IN.to_be_bytes());
    octets.extend_from_slice(&ttl.to_be_bytes());
    octets.extend_from_slice(&(soa.len() as u16).to_be_bytes());
    octets.extend_from_slice(soa);
    octets
}

/// The response code, if a message is a response to NOTIFY with this question. One without a question is one too, where it says that something is wrong.
pub(super) fn response_to(message: &[u8], zone: &NameBuf) -> Option<u16> {
    if message.len() < HEADER_OCTETS {
        return None;
    }
    let flags = u16_at(message, 2);
    if flags & header::QR == 0 || header::opcode(flags) != opcode::NOTIFY {
        return None;
    }
    let rcode = flags & 0xf;
    if u16_at(message, 4) == 0 {
        return (rcode != 0).then_some(rcode);
    }
    let mut places = Places::new();
    let question = wire::question::Question::read(message, &mut places).ok()?;
    let mut buffer = [0; wire::name::NAME_OCTETS_MAX];
    let name = places.copy_ancestor(message, places.label_count(), &mut buffer);
    let is_it = question.qtype == rtype::SOA && question.qclass == class::IN && name.eq_ignore_case(zone);
    is_it.then_some(rcode)
}
