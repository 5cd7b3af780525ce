//! What is said to queries that are not looked at any further.

use super::Verdict;
use crate::tsig;
use wire::Transport;
use wire::edns;
use wire::header;
use wire::iana::{ede, opcode, rcode, rtype};
use wire::query::{Fault, Query};

/// What is said to a query that is not looked at any further. `None`: look at it.
/// `has_cookie`: it has a COOKIE option that is answered.
pub(super) fn refusal(query: &Query<'_>, transport: Transport, has_cookie: bool) -> Option<Verdict> {
    if header::opcode(query.flags) != opcode::QUERY {
        return Some(Verdict::with_ede(rcode::NOTIMP, ede::NOT_SUPPORTED));
    }
    // Without question it is about the cookie alone (RFC 7873 5.4).
    if query.fault == Some(Fault::NoQuestion) && has_cookie {
        return Some(Verdict::of(rcode::NOERROR));
    }
    if query.fault.is_some() {
        return Some(Verdict::of(rcode::FORMERR));
    }
    if query.edns.is_some_and(|edns| edns.version != edns::VERSION) {
        return Some(Verdict::of(rcode::BADVERS));
    }
    // No keys are known, so every signature is one of an unknown key (RFC 8945 5.2.1).
    if let Some(record) = &query.tsig {
        let is_whole = tsig::is_whole(query.message, record);
        return Some(Verdict::of(if is_whole { rcode::NOTAUTH } else { rcode::FORMERR }));
    }
    refusal_of_type(query.question?.qtype, transport)
}

/// What is said to types that no record has; ANY is answered.
fn refusal_of_type(qtype: u16, transport: Transport) -> Option<Verdict> {
    if !rtype::is_meta(qtype) || qtype == rtype::ANY {
        return None;
    }
    Some(match qtype {
        // AXFR is not defined over UDP (RFC 5936 4.2).
        rtype::AXFR if !transport.is_stream() => Verdict::of(rcode::FORMERR),
        rtype::AXFR | rtype::IXFR => Verdict::with_ede(rcode::REFUSED, ede::PROHIBITED),
        rtype::MAILA | rtype::MAILB => Verdict::with_ede(rcode::NOTIMP, ede::NOT_SUPPORTED),
        rtype::NXNAME => Verdict::with_ede(rcode::FORMERR, ede::INVALID_QUERY_TYPE),
        _ => Verdict::of(rcode::FORMERR),
    })
}
