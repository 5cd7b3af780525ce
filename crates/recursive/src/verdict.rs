//! What is known about a response before it is finished: its code, flags and errors; and the end of writing it.

use crate::counters::Words;
use crate::policy::Policy;
use crate::wishes::Wishes;
use crate::writer::Writer;
use cache::Security;
use resolve::outcome::EDES_MAX;
use wire::header;
use wire::iana::{ede, rcode};

/// Response code, flags and extended errors of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub rcode: u16,
    /// Extended errors, the most telling first.
    pub edes: [Option<u16>; EDES_MAX],
    /// AA, AD and TC.
    pub flags: u16,
}

impl Verdict {
    pub(crate) fn of(rcode: u16) -> Verdict {
        Verdict { rcode, ..Verdict::default() }
    }

    pub(crate) fn with_ede(rcode: u16, ede: u16) -> Verdict {
        Verdict { rcode, edes: [Some(ede), None], flags: 0 }
    }

    /// Something could not be found out, or is not to be believed.
    pub(crate) fn failure(edes: [Option<u16>; EDES_MAX]) -> Verdict {
        Verdict { rcode: rcode::SERVFAIL, edes, flags: 0 }
    }

    /// Whether what was written before is of no use: something failed, or is kept back.
    pub(crate) fn has_no_records(&self) -> bool {
        let is_blocked = self.edes[0] == Some(ede::BLOCKED) && self.flags & header::AA == 0;
        matches!(self.rcode, rcode::SERVFAIL | rcode::REFUSED) || is_blocked
    }

    /// That of an answer whose parts are so: AD only where all is proved and the client wants to know (RFC 4035 3.2.3, RFC 6840 5.8).
    pub(crate) fn proved(self, security: Security, wishes: &Wishes) -> Verdict {
        let is_said = security == Security::Secure && wishes.wants_ad();
        Verdict { flags: self.flags | if is_said { header::AD } else { 0 }, ..self }
    }
}

/// Adds OPT, writes the header, and counts the response; `offers`: whether the client may have recursion (RA). Returns the octets.
pub(crate) fn finish(
    counters: &Words,
    verdict: Verdict,
    (wishes, offers): (&Wishes, bool),
    policy: &Policy,
    writer: Writer<'_>,
    words: Option<&str>,
) -> Option<usize> {
    let is_truncated = writer.is_truncated();
    let questions = u16::from(writer.has_question());
    let mut out = writer.release();
    if let Some(mut opt) = wishes.opt(policy) {
        opt.rcode = verdict.rcode;
        [opt.ede, opt.ede_beside] = verdict.edes;
        match words {
            None => opt.write(&mut out).ok()?,
            Some(words) => opt.write_with_words(words, &mut out).ok()?,
        }
    }
    counters.response(verdict.rcode);
    Some(out.finish(flags(&verdict, wishes, offers, is_truncated), questions))
}

/// The flags of a response: RD and CD are copied.
pub(crate) fn flags(verdict: &Verdict, wishes: &Wishes, offers: bool, is_truncated: bool) -> u16 {
    let copied = wishes.flags & (header::OPCODE_MASK | header::RD | header::CD);
    let when = |is_set: bool, flag: u16| if is_set { flag } else { 0 };
    header::QR
        | copied
        | verdict.flags
        | when(offers, header::RA)
        | when(is_truncated, header::TC)
        | (verdict.rcode & 15)
}
