//! DNS64 for clients that waited: what comes after the outcome that a name has no IPv6 address (RFC 6147 5.1).

use crate::answer::{self, Asked, Buffers, End, Parts, is_of_validation, put_data, put_made};
use crate::limits::DNS64_TTL;
use crate::outcome::{edes, lasts};
use crate::policy::Policy;
use crate::verdict::Verdict;
use crate::wishes::{Stage, Waiting};
use crate::writer::{Lasts, Writer};
use cache::Security;
use resolve::Outcome;
use wire::iana::{ede, rcode, rtype};
use wire::render::Section;
use wire::rrset::RdataListBuf;

/// What the client waits for next, if the name has no addresses of its own: those of type A. NXDOMAIN is final (5.1.2), and so is what is bogus (5.5).
pub(super) fn goes_on_to_a(waiting: &Waiting, outcome: &Outcome, policy: &Policy) -> Option<Stage> {
    let wishes = &waiting.wishes;
    let dns64 = policy.dns64.as_ref().filter(|_| wishes.wants_dns64 && wishes.qtype == rtype::AAAA)?;
    let security = outcome.security.unwrap_or(Security::Insecure);
    match outcome.rcode {
        rcode::NOERROR => {
            let is_own = outcome.answer.list().iter().any(|set| {
                set.rtype == rtype::AAAA && set.rdatas.into_iter().any(|rdata| dns64.counts(rdata))
            });
            let is_bogus = security == Security::Bogus && !wishes.checking_disabled();
            let soa = outcome.authority.list().iter().find(|set| set.rtype == rtype::SOA);
            let ttl = soa.map_or(DNS64_TTL, |set| set.ttl);
            (!is_own && !is_bogus).then_some(Stage::Dns64 { ttl, security, has_failed: false })
        }
        rcode::NXDOMAIN | rcode::YXDOMAIN => None,
        // Servers that fail for one type may answer for the other (5.1.2, 5.1.3); what is bogus stays so (5.5).
        _ => {
            let is_bogus = outcome.edes.into_iter().flatten().any(is_of_validation);
            let security = Security::Insecure;
            (!is_bogus).then_some(Stage::Dns64 { ttl: DNS64_TTL, security, has_failed: true })
        }
    }
}

/// Writes the chain of aliases and the addresses made of those at its end; `None`: there are none.
pub(super) fn made_of(
    asked: &Asked<'_>,
    outcome: &Outcome,
    ttl: u32,
    made: &mut RdataListBuf,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Option<Verdict> {
    let security = outcome.security.unwrap_or(Security::Unchecked);
    let a = outcome.answer.list().iter().find(|set| set.rtype == rtype::A)?;
    if outcome.rcode != rcode::NOERROR || asked.policy.dns64.as_ref()?.count(a.rdatas) == 0 {
        return None;
    }
    if security == Security::Bogus && !asked.wishes.checking_disabled() {
        let why = outcome.edes.into_iter().flatten().find(|code| is_of_validation(*code));
        return Some(Verdict::failure([Some(why.unwrap_or(ede::DNSSEC_BOGUS)), None]));
    }
    // What is to be said of those of type A is to be said of what is made of them.
    edes(outcome).into_iter().flatten().for_each(|code| parts.note(code));
    parts.security = parts.security.worst(security);
    let lasts = |ttl: u32| lasts(asked, outcome, ttl);
    for set in outcome.answer.list() {
        let end = match set.rtype {
            rtype::A => put_made(asked, &set, lasts(set.ttl.min(ttl)), made, parts, writer),
            _ => put_data(asked, &set, lasts(set.ttl), parts, writer),
        };
        if let Some(End::Answer(verdict)) = end {
            return Some(verdict);
        }
    }
    None
}

/// Answers as if there was no DNS64: no address of either type. `outcome`: of those of type A; `has_failed`: nobody would say whether there is one of the other.
pub(super) fn without_made(
    asked: &Asked<'_>,
    (outcome, has_failed): (&Outcome, bool),
    buffers: &mut Buffers,
    parts: &mut Parts,
    writer: &mut Writer<'_>,
) -> Verdict {
    let start = writer.mark();
    let hash = asked.cache.name_hash(buffers.name.name());
    match answer::answer(asked, hash, buffers, parts, writer) {
        End::Answer(verdict) => verdict,
        // Nothing is known of either.
        End::Miss(..) if has_failed && outcome.rcode == rcode::SERVFAIL => Verdict::failure(outcome.edes),
        End::Miss(..) => {
            // What denied the addresses was not kept: the denial of those of type A has the same SOA.
            writer.back_to(start);
            writer.begin_section(Section::Authority);
            for set in outcome.authority.list().iter().filter(|set| set.rtype == rtype::SOA) {
                let lasts = Lasts { ttl: set.ttl, until: asked.now.plus_seconds(set.ttl) };
                writer.rrset(&set, lasts);
            }
            Verdict::of(rcode::NOERROR)
        }
    }
}
