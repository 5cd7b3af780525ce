//! The cache of the resolver and its servers, for operators.

use std::io;
use std::net::{IpAddr, SocketAddr};

use cache::{Case, Copied, Edns, Entry, Flush, Key, Kind, Moment, Rank, Security, Subject};
use wire::iana::{ede, rcode, rtype};
use wire::rrset::{Rrset, RrsetList};
use wire::{Name, NameBuf};

use crate::command::{CacheCommand, CacheEntry, CacheStats, Explanation, NegativeCommand, Reply, ServerLine};
use crate::recursion::Recursion;

/// Port of servers that delegations name.
const PORT: u16 = 53;

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
            let mut entries = Vec::new();
            let name = name_of(name)?;
            recursion.cache().show(&name, |subject, entry| entries.push(line(&name, subject, entry, now)));
            for entry in entries {
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
    match command {
        NegativeCommand::List => {}
        NegativeCommand::Add { name, seconds } => recursion.set_negative(&name_of(name)?, Some(*seconds))?,
        NegativeCommand::Remove { name } => recursion.set_negative(&name_of(name)?, None)?,
    }
    for (name, seconds) in recursion.negatives() {
        reply(Reply::NegativeAnchor { name: name.to_string(), seconds })?;
    }
    Ok(true)
}

fn name_of(text: &str) -> Result<NameBuf, String> {
    let name =
        NameBuf::from_text(text).map_err(|error| format!("expected a name, found {text:?}: {error}"))?;
    Ok(name.to_lowercase())
}

fn stats(recursion: &Recursion) -> CacheStats {
    let counts = recursion.cache().counts();
    let asked =
        recursion.counts().into_iter().fold(recursive::Counters::default(), |sum, of| sum.sum(of.answers));
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
    entry.beside.iter().for_each(|set| records.extend(lines(&set)));
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
        ttl,
        records,
    }
}

fn security(security: Security) -> &'static str {
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
    let error = |code: &u16| match ede::mnemonic(*code) {
        Some(words) => format!("{code} ({words})"),
        None => code.to_string(),
    };
    let mut kept = Vec::new();
    recursion.cache().show(&name, |subject, entry| kept.push(line(&name, subject, entry, now)));
    let explanation = Explanation {
        rcode: rcode::mnemonic(outcome.rcode).map_or_else(|| outcome.rcode.to_string(), str::to_owned),
        security: outcome.security.map(|found| security(found).into()),
        extended_errors: outcome.edes.iter().flatten().map(error).collect(),
        reason: outcome.reason.map(str::to_owned),
        answer: all(outcome.answer.list()),
        authority: all(outcome.authority.list()),
        kept,
        lines: told.lines,
    };
    let is_well = outcome.rcode != rcode::SERVFAIL;
    reply(Reply::Explanation(Box::new(explanation)))?;
    Ok(is_well)
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

/// The servers of the nearest zone above a name that a delegation is known of.
pub(super) fn servers(
    text: &str,
    recursion: &Recursion,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> Result<bool, super::Failure> {
    let name = name_of(text)?;
    let mut copied = Copied::new();
    let mut next: Option<&Name> = Some(&name);
    while let Some(zone) = next {
        let now = recursion.now();
        if let Some(cut) = recursion.cache().peek(&Key::cut(zone), &mut copied)
            && cut.ttl_left(now).is_some()
        {
            for line in servers_of(zone, &cut, recursion, now) {
                reply(Reply::Server(line))?;
            }
            return Ok(true);
        }
        next = zone.parent();
    }
    Err(format!("no delegation is known above {name}").into())
}

fn servers_of(zone: &Name, cut: &Entry<'_>, recursion: &Recursion, now: Moment) -> Vec<ServerLine> {
    let mut found = Vec::new();
    for server in cut.rdatas {
        let Ok(server) = Name::from_wire(server) else { continue };
        let server = server.to_lowercase();
        let mut addresses: Vec<IpAddr> = Vec::new();
        for set in cut.beside.iter().filter(|set| set.owner.eq_ignore_case(&server)) {
            addresses.extend(set.rdatas.iter().filter_map(address));
        }
        let mut copied = Copied::new();
        for rtype in [rtype::A, rtype::AAAA] {
            if let Some(entry) = recursion.cache().peek(&Key::rrset(&server, rtype), &mut copied) {
                addresses.extend(entry.rdatas.iter().filter_map(address));
            }
        }
        addresses.sort_unstable();
        addresses.dedup();
        let line = ServerLine { zone: zone.to_string(), name: server.to_string(), ..ServerLine::default() };
        if addresses.is_empty() {
            found.push(line.clone());
        }
        let known = addresses.iter().map(|address| quality(line.clone(), zone, *address, recursion, now));
        found.extend(known);
    }
    found
}

fn address(rdata: &[u8]) -> Option<IpAddr> {
    let v4 = || <[u8; 4]>::try_from(rdata).ok().map(IpAddr::from);
    let v6 = || <[u8; 16]>::try_from(rdata).ok().map(IpAddr::from);
    v4().or_else(v6)
}

fn quality(line: ServerLine, zone: &Name, address: IpAddr, recursion: &Recursion, now: Moment) -> ServerLine {
    let cache = recursion.cache();
    let servers = cache.servers();
    let socket = SocketAddr::new(address, PORT);
    let quality = servers.read(&socket);
    let marks = [
        (servers.is_lame(&socket, zone, now), "lame"),
        (quality.edns == Edns::None, "no EDNS"),
        (quality.is_tcp_only, "TCP only"),
        (quality.case == Case::Lost, "changes case"),
        (!quality.cookie.octets().is_empty(), "cookies"),
    ];
    ServerLine {
        address: address.to_string(),
        rtt_us: quality.rtt_us,
        timeouts: quality.timeouts,
        backoff_seconds: quality.backoff_until.ms_since(now).div_ceil(1000),
        marks: marks.into_iter().filter(|(is_so, _)| *is_so).map(|(_, mark)| mark.to_owned()).collect(),
        ..line
    }
}
