//! Class CHAOS: who this server is (RFC 4892). Each answer is off unless it is set.

use crate::answer::Buffers;
use crate::responder::Verdict;
use crate::server::Server;
use wire::header::{self, HEADER_OCTETS};
use wire::iana::{class, ede, rcode, rtype};
use wire::question::Question;
use wire::render::Renderer;

/// Longest character-string (RFC 1035 3.3).
const STRING_OCTETS_MAX: usize = 255;
/// Most octets of an answer, so that it fits 512 octets with its question.
const TEXT_OCTETS_MAX: usize = 2 * STRING_OCTETS_MAX - 128;

/// Answers a question of class CHAOS.
#[cold]
pub(crate) fn answer(
    question: &Question,
    server: &Server,
    buffers: &mut Buffers,
    out: &mut Renderer<'_>,
) -> Verdict {
    let places = &buffers.places;
    let name = places.copy_ancestor(out.message(), places.label_count(), &mut buffers.name);
    let is = |octets: &[u8]| name.octets().eq_ignore_ascii_case(octets);
    let text = if is(b"\x07version\x04bind\0") || is(b"\x07version\x06server\0") {
        &server.version
    } else if is(b"\x08hostname\x04bind\0") {
        &server.hostname
    } else if is(b"\x02id\x06server\0") {
        &server.id_server
    } else {
        &None
    };
    let Some(text) = text else { return Verdict::with_ede(rcode::REFUSED, ede::NOT_AUTHORITATIVE) };
    if matches!(question.qtype, rtype::TXT | rtype::ANY) && put_text(text, out).is_none() {
        return Verdict { rcode: rcode::NOERROR, ede: None, flags: header::AA | header::TC };
    }
    Verdict { rcode: rcode::NOERROR, ede: None, flags: header::AA }
}

/// Writes a TXT record of as many strings as the text needs. `None` when it does not fit.
fn put_text(text: &[u8], out: &mut Renderer<'_>) -> Option<()> {
    let mut rdata = [0; TEXT_OCTETS_MAX + 2];
    let mut length = 0;
    let text = &text[..text.len().min(TEXT_OCTETS_MAX)];
    let mut strings = text.chunks(STRING_OCTETS_MAX);
    loop {
        // An empty text is one empty string.
        let string = strings.next();
        if string.is_none() && length > 0 {
            break;
        }
        let string = string.unwrap_or(&[]);
        rdata[length] = string.len() as u8;
        rdata[length + 1..length + 1 + string.len()].copy_from_slice(string);
        length += 1 + string.len();
    }
    let [t, y] = rtype::TXT.to_be_bytes();
    let [c, h] = class::CH.to_be_bytes();
    // TTL 0: who answers may change from query to query (RFC 4892 3).
    out.record(HEADER_OCTETS as u16, [t, y, c, h, 0, 0, 0, 0], &rdata[..length]).ok()
}
