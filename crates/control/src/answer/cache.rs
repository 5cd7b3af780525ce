//! The cache of the resolver, negative trust anchors, and how a name is found out, for operators.

use std::io;

use cache::{Entry, Flush, Kind, Moment, Rank, Security, Subject};
use recursive::waiting::WAITED_MS;
use wire::iana::{ede, rcode, rtype};
use wire::rrset::{Rrset, RrsetList};
use wire::{Name, NameBuf};

use super::stats::Recursed;
use crate::command::{CacheCommand, CacheEntry, CacheStats, Explanation, NegativeCommand, Reply, Waited};
use crate::recursion::Recursion;

/// Carries out a command about the cache.
pub(super) fn answer(
    command: &CacheCommand,
    recursion: &Recursion,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> Result<bool, super::Failure> {
    let now = recursion.now();
    match command {
        CacheCommand::Stats => reply(Reply::CacheStats(stats(recursion)))?,
        CacheCommand::Show { name } => {
            for entry in entries(recursion, &name_of(name)?) {
                reply(Reply::CacheEntry(entry))?;
            }
        }
        CacheCommand::Write => match recursion.write()? {
            Some(entries) => reply(Reply::Written { entries: entries as u64 })?,
            None => {
                return Err(String::from("there is no `state-directory` in [resolver] to write to").into());
            }
        },
        CacheCommand::Flush { name, tree } => {
            let flush = match name.as_deref().map(name_of).transpose()? {
                None => Flush::All,
                Some(name) if *tree => Flush::Tree(name),
                Some(name) => Flush::Name(name),
            };
            let entries = recursion.cache().flush(&flush, now) as u64;
            recursion.forget_zones();
            reply(Reply::Flushed { entries })?;
        }
    }
    Ok(true)
}

/// Carries out a command about negative trust anchors, and says which there are.
pub(super) fn negative_anchors(
    command: &NegativeCommand,
    recursion: &Recursion,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> Result<bool, super::Failure> {
    let fault = match command {
        NegativeCommand::List => None,
        NegativeCommand::Add { name, seconds } => recursion.set_negative(&name_of(name)?, Some(*seconds))?,
        NegativeCommand::Remove { name } => recursion.set_negative(&name_of(name)?, None)?,
    };
    for (name, seconds) in recursion.negatives() {
        reply(Reply::NegativeAnchor { name: name.to_string(), seconds })?;
    }
    let is_well = fault.is_none();
    if let Some(message) = fault {
        reply(Reply::Error { message })?;
    }
    Ok(is_well)
}

pub(super) fn name_of(text: &str) -> Result<NameBuf, String> {
    let name =
        NameBuf::from_text(text).map_err(|error| format!("expected a name, found {text:?}: {error}"))?;
    Ok(name.to_lowercase())
}

/// What is known of a name.
pub(crate) fn entries(recursion: &Recursion, name: &Name) -> Vec<CacheEntry> {
    let (mut entries, now) = (Vec::new(), recursion.now());
    recursion.cache().show(name, |subject, entry| entries.push(line(name, subject, entry, now)));
    entries
}

pub(crate) fn stats(recursion: &Recursion) -> CacheStats {
    let counts = recursion.cache().counts();
    let Recursed { answers: asked, waited, waited_ms, .. } = Recursed::of(recursion);
    let ends = WAITED_MS.into_iter().map(Some).chain([None]);
    CacheStats {
        entries: counts.entries,
        entry_octets: counts.octets,
        octets: recursion.cache().octets() as u64,
        resident_octets: recursion.cache().resident_octets() as u64,
        hits: asked.hits,
        misses: asked.misses,
        puts: counts.puts,
        restored: counts.restored,
        refused: counts.refused,
        evicted_unread: counts.evicted_unread,
        evicted: counts.evicted + counts.evicted_index,
        expired: counts.expired,
        waited: ends.zip(waited).map(|(ms, answers)| Waited { ms, answers }).collect(),
        waited_ms,
    }
}

fn line(name: &Name, subject: Subject, entry: &Entry<'_>, now: Moment) -> CacheEntry {
    let of_type = match subject {
        Subject::Rrset(rtype) | Subject::Unchecked(rtype) | Subject::Failure(rtype) => rtype,
        Subject::Cut => rtype::NS,
        Subject::Existence => 0,
    };
    let subject = match subject {
        Subject::Rrset(rtype) => rtype::Text(rtype).to_string(),
        Subject::Unchecked(rtype) => format!("unchecked {}", rtype::Text(rtype)),
        Subject::Failure(rtype) => format!("failure {}", rtype::Text(rtype)),
        Subject::Existence => "existence".into(),
        Subject::Cut => "cut".into(),
    };
    let ttl = entry.ttl_left(now);
    let own = Rrset {
        owner: name,
        rtype: of_type,
        ttl: ttl.unwrap_or(0),
        rdatas: entry.rdatas,
        signatures: entry.signatures,
    };
    let mut records = lines(&own);
    for set in entry.beside {
        // As clients get it: what is left of its own, and no longer than the whole.
        let left = Entry { ttl: set.ttl, ..*entry }.ttl_left(now).min(ttl).unwrap_or(0);
        records.extend(lines(&Rrset { ttl: left, ..set }));
    }
    CacheEntry {
        subject,
        kind: match entry.kind {
            Kind::Data => "data",
            Kind::NoData => "no data",
            Kind::NameError => "no such name",
            Kind::Failure => "failure",
            Kind::Cut => "cut",
        }
        .into(),
        security: security(entry.security).into(),
        rank: match entry.rank {
            Rank::Additional => "additional",
            Rank::Referral => "referral",
            Rank::Answer => "answer",
            Rank::Authority => "authority",
            Rank::Authoritative => "authoritative answer",
        }
        .into(),
        extended_error: entry.ede.map(error),
        ttl,
        records,
    }
}

pub(crate) fn security(security: Security) -> &'static str {
    match security {
        Security::Unchecked => "unchecked",
        Security::Insecure => "insecure",
        Security::Secure => "secure",
        Security::Bogus => "bogus",
    }
}

/// Has something found out anew, and says how.
pub(super) fn explain(
    (name, rtype): (&str, &str),
    recursion: &Recursion,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> Result<bool, super::Failure> {
    let name = name_of(name)?;
    let of_type = rtype::from_text(rtype.as_bytes()).filter(|rtype| !rtype::is_meta(*rtype));
    let of_type = of_type.ok_or_else(|| format!("expected a type of records, found {rtype:?}"))?;
    let told = recursion.explain(&name, of_type)?;
    let outcome = &told.outcome;
    let now = recursion.now();
    let all = |list: RrsetList<'_>| list.iter().flat_map(|set| lines(&set)).collect();
    let mut kept = Vec::new();
    recursion.cache().show(&name, |subject, entry| kept.push(line(&name, subject, entry, now)));
    let explanation = Explanation {
        rcode: rcode::mnemonic(outcome.rcode).map_or_else(|| outcome.rcode.to_string(), str::to_owned),
        security: outcome.security.map(|found| security(found).into()),
        extended_errors: outcome.edes.iter().flatten().map(|code| error(*code)).collect(),
        reason: outcome.reason.map(str::to_owned),
        answer: all(outcome.answer.list()),
        authority: all(outcome.authority.list()),
        kept,
        lines: recursion
            .said_here(&name, of_type)
            .map(|words| format!("{words}; what follows is what the DNS says"))
            .into_iter()
            .chain(told.lines)
            .collect(),
    };
    let is_well = outcome.rcode != rcode::SERVFAIL;
    reply(Reply::Explanation(Box::new(explanation)))?;
    Ok(is_well)
}

/// An extended error with its number.
fn error(code: u16) -> String {
    match ede::mnemonic(code) {
        Some(words) => format!("{code} ({words})"),
        None => code.to_string(),
    }
}

/// A set as lines of a zone file.
fn lines(set: &Rrset<'_>) -> Vec<String> {
    let text = |rtype, rdata: &[u8]| {
        let mut line = Vec::new();
        zonefile::print::line(set.owner, set.ttl, rtype, rdata, &mut line);
        String::from_utf8_lossy(&line).trim_end().to_owned()
    };
    let data = set.rdatas.iter().map(|rdata| text(set.rtype, rdata));
    data.chain(set.signatures.iter().map(|rdata| text(rtype::RRSIG, rdata))).collect()
}
