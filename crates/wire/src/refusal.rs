//! What is said to queries that are not looked at any further, whoever answers.

use crate::edns;
use crate::header;
use crate::iana::{ede, opcode, rcode, rtype};
use crate::query::{Fault, Query};

/// Why a query is not looked at any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The response code.
    pub rcode: u16,
    /// The extended error.
    pub ede: Option<u16>,
}

impl Refusal {
    /// What is said to a query that is not looked at any further. `None`: look at it.
    /// `has_cookie`: it has a COOKIE option that is answered.
    pub fn of(query: &Query<'_>, has_cookie: bool) -> Option<Refusal> {
        let with = |rcode, ede| Some(Refusal { rcode, ede });
        if header::opcode(query.flags) != opcode::QUERY {
            return with(rcode::NOTIMP, Some(ede::NOT_SUPPORTED));
        }
        // Without question it is about the cookie alone (RFC 7873 5.4).
        if query.fault == Some(Fault::NoQuestion) && has_cookie {
            return with(rcode::NOERROR, None);
        }
        if query.fault.is_some() {
            return with(rcode::FORMERR, None);
        }
        if query.edns.is_some_and(|edns| edns.version != edns::VERSION) {
            return with(rcode::BADVERS, None);
        }
        Refusal::of_type(query.question?.qtype)
    }

    /// What is said to types that no record has; ANY is answered, and transfers are no concern of this.
    fn of_type(qtype: u16) -> Option<Refusal> {
        if !rtype::is_meta(qtype) || qtype == rtype::ANY {
            return None;
        }
        let (rcode, ede) = match qtype {
            rtype::MAILA | rtype::MAILB => (rcode::NOTIMP, Some(ede::NOT_SUPPORTED)),
            rtype::NXNAME => (rcode::FORMERR, Some(ede::INVALID_QUERY_TYPE)),
            _ => (rcode::FORMERR, None),
        };
        Some(Refusal { rcode, ede })
    }
}
