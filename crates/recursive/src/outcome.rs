//! From an outcome of the resolver: what a client that waited gets.

use crate::answer::{Asked, End, Parts, is_of_validation, put_data};
use crate::limits::STALE_TTL_MAX;
use crate::space::NameSpace;
use crate::verdict::Verdict;
use crate::writer::{Lasts, Writer};
use cache::Security;
use resolve::Outcome;
use resolve::outcome::EDES_MAX;
use wire::Name;
use wire::iana::{ede, rcode, rtype};
use wire::render::Section;

/// Writes the records of an outcome after what is written already.
pub(crate) fn write(
    asked: &Asked<'_>,
    outcome: &Outcome,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Verdict {
    let is_answer = matches!(outcome.rcode, rcode::NOERROR | rcode::NXDOMAIN | rcode::YXDOMAIN);
    if !is_answer {
        return Verdict { rcode: outcome.rcode, edes: outcome.edes, flags: 0 };
    }
    let security = outcome.security.unwrap_or(Security::Unchecked);
    if security == Security::Bogus && !asked.wishes.checking_disabled() {
        let why = outcome.edes.into_iter().flatten().find(|code| is_of_validation(*code));
        return Verdict::failure([Some(why.unwrap_or(ede::DNSSEC_BOGUS)), None]);
    }
    parts.security = parts.security.worst(security);
    for set in outcome.answer.list() {
        if set.rtype == rtype::CNAME
            && let Some(rcode) = blocked(asked, set.rdatas.iter().next())
        {
            return Verdict::with_ede(rcode, ede::BLOCKED);
        }
        if let Some(End::Answer(verdict)) =
            put_data(asked, &set, lasts(asked, outcome, set.ttl), parts, writer)
        {
            return verdict;
        }
    }
    writer.begin_section(Section::Authority);
    for set in outcome.authority.list() {
        writer.rrset(&set, lasts(asked, outcome, set.ttl));
    }
    let mut edes = edes(outcome);
    if parts.is_filtered {
        edes = [Some(ede::FILTERED), edes[0]];
    }
    Verdict { rcode: outcome.rcode, edes, flags: 0 }.proved(parts.security, asked.wishes)
}

/// What is said instead, where an alias leads to a name that the operator has blocked.
fn blocked(asked: &Asked<'_>, target: Option<&[u8]>) -> Option<u16> {
    let mut name = NameSpace::new();
    name.set_lower(Name::from_wire(target?).ok()?);
    asked.policy.local.blocks(name.name(), asked.wishes.qtype)
}

/// How long what has so long a TTL is given.
pub(crate) fn lasts(asked: &Asked<'_>, outcome: &Outcome, ttl: u32) -> Lasts {
    let ttl = if outcome.is_stale { ttl.min(STALE_TTL_MAX) } else { ttl };
    Lasts { ttl, until: asked.now.plus_seconds(ttl) }
}

/// Its extended errors; that it is stale goes first.
pub(crate) fn edes(outcome: &Outcome) -> [Option<u16>; EDES_MAX] {
    if !outcome.is_stale {
        return outcome.edes;
    }
    let stale = match outcome.rcode {
        rcode::NXDOMAIN => ede::STALE_NXDOMAIN_ANSWER,
        _ => ede::STALE_ANSWER,
    };
    let why = outcome.edes.into_iter().flatten().find(|code| *code != stale);
    [Some(stale), why]
}
