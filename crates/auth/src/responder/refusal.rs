//! What is said to queries that are not looked at any further.

use super::Verdict;
use wire::edns;
use wire::header;
use wire::iana::{ede, opcode, rcode, rtype};
use wire::query::{Fault, Query};

/// What is said to a query that is not looked at any further. `None`: look at it.
/// `has_cookie`: it has a COOKIE option that is answered.
pub(super) fn refusal(query: &Query<'_>, has_cookie: bool) -> Option<Verdict> {
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
    refusal_of_type(query.question?.qtype)
}

/// What is said to types that no record has; ANY is answered, and transfers never come here.
fn refusal_of_type(qtype: u16) -> Option<Verdict> {
    if !rtype::is_meta(qtype) || qtype == rtype::ANY {
        return None;
    }
    Some(match qtype {
        rtype::MAILA | rtype::MAILB => Verdict::with_ede(rcode::NOTIMP, ede::NOT_SUPPORTED),
        rtype::NXNAME => Verdict::with_ede(rcode::FORMERR, ede::INVALID_QUERY_TYPE),
        _ => Verdict::of(rcode::FORMERR),
    })
}
