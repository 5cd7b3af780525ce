//! A name that no zone here has: what the resolver has of it, by the aliases that it knows, and whom it would ask for the rest. Nobody is asked, and nothing counts as read.

use cache::{Entry, Kind, Moment, Subject};
use wire::iana::rtype;
use wire::{Name, NameBuf};

use super::{Step, step};
use crate::answer::{security_word, servers_of};
use crate::recursion::Recursion;
use crate::text::{Seconds, count as counted};

/// Names of a chain of aliases, as in answers from zones.
const CHAIN_MAX: usize = auth::limits::CHAIN_MAX;

/// What its cache has for a question.
enum Has {
    /// An answer, if only that there is nothing.
    Answer(Step),
    /// An alias.
    Alias(Step, NameBuf),
    /// Nothing that is good still; perhaps what was.
    Nothing(Option<Step>),
}

pub(super) fn steps(recursion: &Recursion, name: &Name, of: u16) -> Vec<Step> {
    let (mut steps, mut at) = (Vec::new(), name.to_lowercase());
    for _ in 0..CHAIN_MAX {
        if let Some(words) = recursion.said_here(&at, of) {
            steps.push(step("resolver", words));
            return steps;
        }
        match look(recursion, &at, of) {
            Has::Answer(step) => {
                steps.push(step);
                return steps;
            }
            Has::Alias(step, target) => {
                steps.push(step);
                at = target;
            }
            Has::Nothing(expired) => {
                steps.extend(expired);
                steps.push(asked(recursion, &at, of));
                return steps;
            }
        }
    }
    steps.push(step("alias", format!("the chain ends after {CHAIN_MAX} names")));
    steps
}

/// The entry that the question would be answered by, before those that would not.
fn look(recursion: &Recursion, at: &Name, of: u16) -> Has {
    let (mut best, now) = ((0, Has::Nothing(None)), recursion.now());
    recursion.cache().show(at, |subject, entry| {
        if let Some((rank, has)) = has(at, of, (subject, entry), now)
            && rank > best.0
        {
            best = (rank, has);
        }
    });
    best.1
}

/// What an entry says of a question, and how near it is to it; `None`: nothing.
fn has(at: &Name, of: u16, (subject, entry): (Subject, &Entry<'_>), now: Moment) -> Option<(u8, Has)> {
    let is_followed = !matches!(of, rtype::CNAME | rtype::ANY | rtype::RRSIG);
    let rank = match subject {
        Subject::Rrset(own) if own == of => 5,
        Subject::Rrset(rtype::CNAME) if is_followed && entry.kind == Kind::Data => 4,
        Subject::Existence => 3,
        Subject::Failure(own) if own == of => 2,
        _ => return None,
    };
    let Some(left) = entry.ttl_left(now) else {
        let words =
            format!("the cache had something of {at}, which has expired: served only where nobody answers");
        return Some((1, Has::Nothing(Some(step("cache", words)))));
    };
    let (left, found) = (Seconds(left.into()), security_word(entry.security));
    let type_text = rtype::Text(of);
    let words = match entry.kind {
        Kind::Data if rank == 4 => {
            let target = Name::from_wire(entry.rdatas.iter().next()?).ok()?.to_lowercase();
            let words = format!("the cache has CNAME of {at} to {target}, {found}, for {left} more");
            return Some((rank, Has::Alias(step("cache", words), target)));
        }
        Kind::Data => {
            let records = counted(entry.rdatas.iter().count(), "record");
            format!("the cache has {type_text} of {at}: {records}, {found}, for {left} more")
        }
        Kind::NoData => format!("the cache has that {at} has no {type_text}, {found}, for {left} more"),
        Kind::NameError => format!("the cache has that there is no {at}: NXDOMAIN, {found}, for {left} more"),
        Kind::Failure => format!("{at} was asked for in vain: SERVFAIL, and not asked for again for {left}"),
        Kind::Cut => return None,
    };
    Some((rank, Has::Answer(step("cache", words))))
}

/// Whom the resolver would ask.
fn asked(recursion: &Recursion, at: &Name, of: u16) -> Step {
    let servers = servers_of(recursion, at);
    let type_text = rtype::Text(of);
    let Some(first) = servers.first() else {
        return step(
            "resolver",
            format!("the cache has no {type_text} of {at}, and nobody is known to be asked"),
        );
    };
    let kind =
        first.marks.iter().map(String::as_str).find(|mark| ["forwarder", "stub", "hint"].contains(mark));
    let whom = match kind {
        Some("forwarder") => format!("the forwarders of {}", first.zone),
        Some("stub") => format!("the servers that the settings have for {}", first.zone),
        Some(_) => "the root servers".to_owned(),
        None => format!("the servers of {}", first.zone),
    };
    let resting = servers.iter().filter(|server| server.backoff_seconds > 0).count();
    let resting = match resting {
        0 => String::new(),
        some => format!(", {some} of which have not answered and are asked last"),
    };
    let known = counted(servers.iter().filter(|server| !server.address.is_empty()).count(), "address");
    step(
        "resolver",
        format!("the cache has no {type_text} of {at}: {whom} would be asked ({known} known{resting})"),
    )
}
