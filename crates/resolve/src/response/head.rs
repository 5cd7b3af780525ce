//! Whether octets are the response to a query: header, question (RFC 5452 9.1), cookie (RFC 7873 5.3).

use wire::cookie::Cookie;
use wire::header::{self, HEADER_OCTETS, u16_at};
use wire::iana::{class, edns_option, opcode, rcode};
use wire::question::Question;
use wire::{Name, Places};

use super::sets::Seen;
use super::{Asked, Mismatch, Reply};

/// Flags, and where the question's name ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) flags: u16,
    /// 0: there is no question.
    pub(super) qname_octets: usize,
}

impl Head {
    /// Reads header and question.
    pub(super) fn read(asked: &Asked<'_>, octets: &[u8]) -> Result<Head, Mismatch> {
        if octets.len() < HEADER_OCTETS {
            return Err(Mismatch::Malformed);
        }
        let flags = u16_at(octets, 2);
        if flags & header::QR == 0 || header::opcode(flags) != opcode::QUERY {
            return Err(Mismatch::Malformed);
        }
        if u16_at(octets, 0) != asked.id {
            return Err(Mismatch::Id);
        }
        match u16_at(octets, 4) {
            0 => Head::bare(flags),
            1 => Head::with_question(asked, flags, octets),
            _ => Err(Mismatch::Malformed),
        }
    }

    /// Some servers leave out the question that they did not read, or do not want to answer. Nothing else is believed of such a response.
    fn bare(flags: u16) -> Result<Head, Mismatch> {
        let is_error = !matches!(flags & 0xf, rcode::NOERROR | rcode::NXDOMAIN | rcode::YXDOMAIN);
        match is_error && flags & header::TC == 0 {
            true => Ok(Head { flags, qname_octets: 0 }),
            false => Err(Mismatch::Question),
        }
    }

    fn with_question(asked: &Asked<'_>, flags: u16, octets: &[u8]) -> Result<Head, Mismatch> {
        let question = Question::read(octets, &mut Places::new()).map_err(|_| Mismatch::Malformed)?;
        let qname = Name::trusted(&octets[HEADER_OCTETS..question.end - 4]);
        if question.qtype != asked.qtype || question.qclass != class::IN || !qname.eq_ignore_case(asked.qname)
        {
            return Err(Mismatch::Question);
        }
        if asked.is_case_random && !asked.is_stream && qname != asked.qname {
            return Err(Mismatch::Case);
        }
        Ok(Head { flags, qname_octets: qname.octets().len() })
    }
}

/// Takes over what the OPT record says, and checks that it has our cookie.
pub(super) fn edns(asked: &Asked<'_>, message: &[u8], seen: &Seen, into: &mut Reply) -> Result<(), Mismatch> {
    into.rcode |= u16::from(seen.rcode_upper) << 4;
    let options = seen.edns.map(|edns| edns.options).unwrap_or_default();
    into.udp_payload_octets = seen.edns.map(|edns| edns.udp_payload_octets);
    into.ede = match options.data(message, edns_option::EDE) {
        Some(&[high, low, ..]) => Some(u16::from_be_bytes([high, low])),
        _ => None,
    };
    let Some(ours) = asked.cookie else { return Ok(()) };
    match options.cookie(message).map(Cookie::read) {
        // Where nobody else can answer nothing is to be proved.
        None if ours.is_required && !asked.is_stream => Err(Mismatch::Cookie),
        None => Ok(()),
        Some(Ok(cookie)) if cookie.client == ours.client => {
            let server = cookie.server.unwrap_or_default();
            into.cookie_octets = server.len() as u8;
            into.cookie[..server.len()].copy_from_slice(server);
            Ok(())
        }
        Some(_) => Err(Mismatch::Cookie),
    }
}
