//! The answer to an update (RFC 2136 2.2, 3.8): the header, the zone, and why it was not done. A signature of the transaction is the caller's.

use crate::failure::Failure;
use crate::request::Request;
use std::fmt::Write;
use wire::header::{HEADER_OCTETS, OPCODE_MASK, QR, RD};
use wire::iana::{class, edns_option, rcode, rtype};

/// Most octets of words in an extended error: what is beyond is cut, as nobody reads it.
const EDE_TEXT_OCTETS_MAX: usize = 200;
/// Most octets of a response, without a signature: header, zone, OPT with an extended error.
pub const RESPONSE_OCTETS_MAX: usize = HEADER_OCTETS + 255 + 4 + 11 + 6 + EDE_TEXT_OCTETS_MAX;

/// The answer to a request that was read. `failure` `None`: NOERROR. `udp_payload_octets`: what we take.
pub fn response(request: &Request, failure: Option<&Failure>, udp_payload_octets: u16) -> Vec<u8> {
    let rcode = failure.map_or(rcode::NOERROR, Failure::rcode);
    let mut octets = Vec::with_capacity(RESPONSE_OCTETS_MAX);
    push_header(&mut octets, request.id(), request.flags(), rcode, 1);
    octets.extend_from_slice(request.zone().octets());
    octets.extend_from_slice(&rtype::SOA.to_be_bytes());
    octets.extend_from_slice(&class::IN.to_be_bytes());
    if request.edns().is_some() {
        push_opt(&mut octets, failure, udp_payload_octets);
        octets[11] = 1;
    }
    octets
}

/// The answer to one that was not read: its header turned around. `None`: not even that is there, or it is an answer itself.
pub fn header_only(message: &[u8], failure: &Failure) -> Option<Vec<u8>> {
    let (head, _) = message.split_first_chunk::<HEADER_OCTETS>()?;
    let [i, d, f, l, ..] = *head;
    let flags = u16::from_be_bytes([f, l]);
    if flags & QR != 0 {
        return None;
    }
    let mut octets = Vec::with_capacity(HEADER_OCTETS);
    push_header(&mut octets, u16::from_be_bytes([i, d]), flags, failure.rcode(), 0);
    Some(octets)
}

fn push_header(octets: &mut Vec<u8>, id: u16, flags: u16, rcode: u16, zones: u16) {
    let flags = QR | flags & (OPCODE_MASK | RD) | rcode;
    for field in [id, flags, zones, 0, 0, 0] {
        octets.extend_from_slice(&field.to_be_bytes());
    }
}

/// Adds an OPT record (RFC 6891 6.1.2), with what there is to say in an extended error (RFC 8914 2).
fn push_opt(octets: &mut Vec<u8>, failure: Option<&Failure>, udp_payload_octets: u16) {
    octets.push(0);
    octets.extend_from_slice(&rtype::OPT.to_be_bytes());
    octets.extend_from_slice(&udp_payload_octets.to_be_bytes());
    octets.extend_from_slice(&[0; 4]);
    let Some((failure, code)) = failure.and_then(|failure| Some((failure, failure.ede()?))) else {
        return octets.extend_from_slice(&[0, 0]);
    };
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(text, "{failure}");
    let text = &text.as_bytes()[..text.len().min(EDE_TEXT_OCTETS_MAX)];
    let option_octets = 2 + text.len() as u16;
    for field in [4 + option_octets, edns_option::EDE, option_octets, code] {
        octets.extend_from_slice(&field.to_be_bytes());
    }
    octets.extend_from_slice(text);
}
