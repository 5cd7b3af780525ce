//! Scenario files from their text.

use super::{Comparison, Expected, Network, Plan, Quantity, Scenario, ServerPlan, Step, What, ZonePlan};
use crate::behaviour::flag;
use crate::behaviour::read::rcode_of;
use crate::reply::Opt;
use crate::signer::{Denial, Fault, FaultKind, Signing};
use crate::time::{MILLISECOND, micros_of};
use crate::world::Question;
use std::net::SocketAddr;
use std::str::FromStr;
use wire::iana::{algorithm, rtype};
use wire::{NameBuf, Transport, header};

/// What indented lines belong to.
enum Open {
    Nothing,
    /// The text of a zone of the plan.
    Zone(usize),
    /// The text of the last step, which changes a zone.
    NewZone,
    /// A section of the last step.
    Section(usize),
}

impl Scenario {
    /// Reads a file. The error says which line is wrong, and why.
    pub fn read(name: &str, text: &str) -> Result<Scenario, String> {
        let mut scenario = Scenario {
            name: name.to_owned(),
            pending: None,
            seed: 1,
            plan: Plan::default(),
            settings: Vec::new(),
            without_rules: Vec::new(),
            steps: Vec::new(),
        };
        let mut open = Open::Nothing;
        let mut signs = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = match line.strip_prefix("    ") {
                Some(record) => scenario.add_line(&open, record),
                None => scenario.add(number, line, &mut signs).map(|now_open| open = now_open),
            };
            read.map_err(|error| format!("{name}:{number}: {error}"))?;
        }
        scenario.plan.add_root();
        for (number, line) in signs {
            scenario.sign(&line).map_err(|error| format!("{name}:{number}: {error}"))?;
        }
        if scenario.steps.is_empty() {
            return Err(format!("{name}: nothing happens"));
        }
        Ok(scenario)
    }

    fn add_line(&mut self, open: &Open, record: &str) -> Result<(), String> {
        let last = self.steps.last_mut().map(|step| &mut step.what);
        let into = match (open, last) {
            (Open::Zone(number), _) => &mut self.plan.zones[*number].text,
            (Open::NewZone, Some(What::Zone(_, text))) => text,
            (Open::Section(number), Some(What::Query(_, expected))) => {
                expected.sections[*number].get_or_insert_default()
            }
            _ => return Err("a record that belongs to nothing".to_owned()),
        };
        into.push_str(record);
        into.push('\n');
        Ok(())
    }

    /// Reads a line that is not indented. What is said of signing waits until all zones are known.
    fn add(&mut self, number: usize, line: &str, signs: &mut Vec<(usize, String)>) -> Result<Open, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["zone", apex, ref rest @ ..] if rest.first() != Some(&"becomes") => {
                let mut zone = ZonePlan::new(&name(apex)?, "");
                match rest {
                    [] => {}
                    ["at", servers @ ..] => {
                        zone.servers = servers.iter().map(|&name| name.to_owned()).collect()
                    }
                    other => return Err(format!("{} is nothing that a zone has", other[0])),
                }
                self.plan.zones.push(zone);
                return Ok(Open::Zone(self.plan.zones.len() - 1));
            }
            ["sign" | "fault", ..] => signs.push((number, line.to_owned())),
            ["pending", ..] => self.pending = Some(line["pending".len()..].trim().to_owned()),
            ["without-rule", rule] => self.without_rules.push(rule.to_owned()),
            ["seed", seed] => self.seed = parse(seed, "number")?,
            ["set", ..] => self.settings.push(line["set".len()..].trim().to_owned()),
            ["server", ref rest @ ..] => self.plan.servers.push(server(rest)?),
            ["behaviour", server, ..] if self.steps.is_empty() => {
                self.plan.behaviours.push((server.to_owned(), after(line, 2).parse()?));
            }
            ["answer"] => return self.section(0),
            ["authority"] => return self.section(1),
            ["additional"] => return self.section(2),
            ["expect", quantity, ..] if is_quantity(quantity) => {
                let what = compare(&words[1..])?;
                self.steps.push(Step { line: number, at: None, what });
            }
            ["expect", ref rest @ ..] => self.expect(rest)?,
            ["at", time, ref rest @ ..] => {
                let at = Some(micros_of(time)?);
                let what = step(rest, &after(line, 2))?;
                self.steps.push(Step { line: number, at, what });
                return Ok(Open::NewZone);
            }
            _ => {
                let what = step(&words, line)?;
                self.steps.push(Step { line: number, at: None, what });
                return Ok(Open::NewZone);
            }
        }
        Ok(Open::Nothing)
    }

    fn last_expected(&mut self) -> Result<&mut Expected, String> {
        match self.steps.last_mut().map(|step| &mut step.what) {
            Some(What::Query(_, expected)) => Ok(expected),
            _ => Err("no query that this is expected of".to_owned()),
        }
    }

    fn section(&mut self, number: usize) -> Result<Open, String> {
        self.last_expected()?.sections[number] = Some(String::new());
        Ok(Open::Section(number))
    }

    /// `expect nothing`, `expect any`, `expect RCODE [aa] [tc] [ad] [ede N]`
    fn expect(&mut self, words: &[&str]) -> Result<(), String> {
        let expected = self.last_expected()?;
        let (first, mut rest) = words.split_first().ok_or("an RCODE is missing")?;
        if *first == "nothing" {
            expected.rcode = None;
            return Ok(());
        }
        if *first == "any" {
            expected.is_any = true;
            return Ok(());
        }
        expected.rcode = Some(rcode_of(first)?);
        while let [word, after @ ..] = rest {
            rest = after;
            if *word == "ede" {
                let (code, after) = rest.split_first().ok_or("a number is missing")?;
                expected.ede = Some(parse(code, "number")?);
                rest = after;
            } else {
                expected.flags |= flag(word).ok_or_else(|| format!("{word} is no flag"))?;
            }
        }
        Ok(())
    }

    /// `sign ZONE|all WORDS`, `fault ZONE KIND WORDS [at NAME [TYPE] | type TYPE]`
    fn sign(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [verb, zone, ref rest @ ..] = words[..] else { return Err("a zone is missing".to_owned()) };
        let seed = self.seed;
        if verb == "fault" {
            let (zone, fault) = (name(zone)?, fault(rest)?);
            let signing = self.plan.zone(&zone).and_then(|plan| plan.signing.as_mut());
            signing.ok_or_else(|| format!("{zone} is not signed"))?.faults.push(fault);
            return Ok(());
        }
        let is_all = zone == "all";
        let apex = if is_all { NameBuf::root() } else { name(zone)? };
        let mut found = false;
        for plan in &mut self.plan.zones {
            let is_it = if is_all { plan.signing.is_none() } else { plan.apex.eq_ignore_case(&apex) };
            if is_it {
                found = true;
                plan.is_island = rest.contains(&"no-ds");
                plan.signing = Some(signing(seed, rest)?);
            }
        }
        if found { Ok(()) } else { Err(format!("there is no zone {apex}")) }
    }
}

fn is_quantity(word: &str) -> bool {
    matches!(word, "queries" | "each" | "streams" | "took" | "open" | "counter")
}

/// `queries SERVER|all OP N`, `each SERVER|all OP N.NNN`, `streams OP N`, `took OP MILLISECONDS`, `open OP N`, `counter NAME OP N`
fn compare(words: &[&str]) -> Result<What, String> {
    let (quantity, rest) = match words {
        ["queries", "all", rest @ ..] => (Quantity::AllQueries, rest),
        ["queries", server, rest @ ..] => (Quantity::Queries((*server).to_owned()), rest),
        ["each", "all", rest @ ..] => (Quantity::Each(None), rest),
        ["each", server, rest @ ..] => (Quantity::Each(Some((*server).to_owned())), rest),
        ["streams", rest @ ..] => (Quantity::Streams, rest),
        ["took", rest @ ..] => (Quantity::Took, rest),
        ["open", rest @ ..] => (Quantity::Open, rest),
        ["counter", name, rest @ ..] => (Quantity::Counter((*name).to_owned()), rest),
        _ => return Err("nothing that can be compared".to_owned()),
    };
    let [operator, number] = rest else { return Err("<=, >= or = and a number are missing".to_owned()) };
    let comparison = match *operator {
        "<=" => Comparison::Most,
        ">=" => Comparison::Least,
        "=" => Comparison::Equal,
        other => return Err(format!("{other} is none of <=, >=, =")),
    };
    let number = match quantity {
        Quantity::Each(_) => (parse::<f64>(number, "number")? * 1_000.0) as u64,
        _ => parse(number, "number")?,
    };
    Ok(What::Compare(quantity, comparison, number))
}

/// A step; `line` is its text from the first word on.
fn step(words: &[&str], line: &str) -> Result<What, String> {
    Ok(match words {
        ["query", name, qtype, rest @ ..] => What::Query(question(name, qtype, rest)?, Box::default()),
        ["flood", count, pattern, qtype] => {
            What::Flood(parse(count, "number")?, (*pattern).to_owned(), rtype_of(qtype)?)
        }
        ["expect", rest @ ..] => compare(rest)?,
        ["count"] => What::Count,
        ["zone", apex, "becomes"] => What::Zone(name(apex)?, String::new()),
        ["withdraw", apex] => What::Withdraw(name(apex)?),
        ["delegate", apex] => What::Delegate(name(apex)?),
        ["rekey", apex] => What::Rekey(name(apex)?),
        ["behaviour", server, "none"] => What::Behave((*server).to_owned()),
        ["behaviour", server, ..] => What::Behaviour((*server).to_owned(), after(line, 2).parse()?),
        ["network", what] => What::Network(match *what {
            "whole" => Network::Whole,
            "no-ipv4" => Network::NoIpv4,
            "no-ipv6" => Network::NoIpv6,
            "cut" => Network::Cut,
            other => return Err(format!("{other} is nothing that a network is")),
        }),
        ["clock", seconds] => What::Clock(parse(seconds, "number of seconds")?),
        ["command", ..] => What::Command(after(line, 1)),
        ["restart"] => What::Restart,
        ["wait"] => What::Wait,
        [word, ..] => return Err(format!("{word} is no step")),
        [] => return Err("a step is missing".to_owned()),
    })
}

fn question(qname: &str, qtype: &str, words: &[&str]) -> Result<Question, String> {
    let mut question = Question::new(".", rtype_of(qtype)?);
    question.qname = name(qname)?;
    let mut payload = None;
    let mut dnssec_ok = false;
    for word in words {
        match word.split_once('=') {
            Some(("edns", octets)) => payload = Some(parse(octets, "number of octets")?),
            Some(("from", address)) => {
                question.from = SocketAddr::new(parse(address, "address")?, question.from.port());
            }
            None if *word == "tcp" => question.transport = Transport::Tcp,
            None if *word == "do" => dnssec_ok = true,
            None if *word == "-rd" => question.flags &= !header::RD,
            None if matches!(*word, "cd" | "ad") => question.flags |= flag(word).unwrap_or(0),
            _ => return Err(format!("{word} is nothing that a query has")),
        }
    }
    if dnssec_ok || payload.is_some() {
        question.opt = Some(Opt { payload_octets: payload.unwrap_or(1232), dnssec_ok, ..Opt::default() });
    }
    Ok(question)
}

/// `NAME ADDRESS... [rtt MILLISECONDS]`
fn server(words: &[&str]) -> Result<ServerPlan, String> {
    let (name, mut rest) = words.split_first().ok_or("a name is missing")?;
    let mut plan = ServerPlan { name: (*name).to_owned(), addresses: Vec::new(), round_trip: None };
    while let [word, after @ ..] = rest {
        rest = after;
        if *word == "rtt" {
            let (number, after) = rest.split_first().ok_or("milliseconds are missing")?;
            plan.round_trip = Some(parse::<u64>(number, "number")? * MILLISECOND);
            rest = after;
        } else {
            plan.addresses.push(parse(word, "address")?);
        }
    }
    Ok(plan)
}

fn signing(seed: u64, words: &[&str]) -> Result<Signing, String> {
    let mut signing = Signing::new(seed);
    let mut algorithms = Vec::new();
    let (mut iterations, mut salt, mut opt_out, mut is_nsec3) = (0, Vec::new(), false, false);
    for word in words {
        match word.split_once('=') {
            Some(("algorithm", number)) => algorithms.push(parse(number, "number")?),
            Some(("iterations", number)) => iterations = parse(number, "number")?,
            Some(("salt", hex)) => salt = octets_of_hex(hex)?,
            Some(("ds", numbers)) => {
                let numbers = numbers.split(',').map(|number| parse(number, "digest type"));
                signing.ds_digests = numbers.collect::<Result<_, _>>()?;
            }
            Some(("days", days)) => {
                signing.expiration = crate::BEGIN_UNIX_SECONDS + parse::<u32>(days, "number")? * 86_400;
            }
            Some(("ttl", ttl)) => signing.key_ttl = parse(ttl, "TTL")?,
            _ => match *word {
                "nsec" => {}
                "nsec3" => is_nsec3 = true,
                "no-denial" => signing.denial = Denial::None,
                "opt-out" => opt_out = true,
                "single-key" => signing.has_single_key = true,
                "standby" => signing.has_standby = true,
                "revoked" => signing.has_revoked = true,
                "no-ds" => {}
                known => {
                    let number = algorithm::from_mnemonic(known.as_bytes());
                    algorithms.push(number.ok_or_else(|| format!("{known} is no way to sign"))?);
                }
            },
        }
    }
    if is_nsec3 {
        signing.denial = Denial::Nsec3 { iterations, salt, opt_out };
    }
    if !algorithms.is_empty() {
        signing.algorithms = algorithms;
    }
    Ok(signing)
}

fn fault(words: &[&str]) -> Result<Fault, String> {
    let (kind, mut rest) = words.split_first().ok_or("a fault is missing")?;
    let mut take = |what: &str| {
        let (word, after) = rest.split_first().ok_or_else(|| format!("{what} is missing"))?;
        rest = after;
        Ok::<&str, String>(word)
    };
    let kind = match *kind {
        "expired" => FaultKind::Expired,
        "not-yet-valid" => FaultKind::NotYetValid,
        "missing" => FaultKind::Missing,
        "broken" => FaultKind::Broken,
        "labels" => FaultKind::Labels(parse(take("a number")?, "number")?),
        "original-ttl" => FaultKind::OriginalTtl(parse(take("a TTL")?, "TTL")?),
        "signer" => FaultKind::SignerName(name(take("a name")?)?),
        "signed-by" => FaultKind::SignedBy(name(take("a name")?)?),
        "unknown-key" => FaultKind::UnknownKey,
        "by-revoked" => FaultKind::ByRevoked,
        "signatures" => FaultKind::Signatures(parse(take("a number")?, "number")?),
        "colliding-keys" => FaultKind::CollidingKeys(parse(take("a number")?, "number")?),
        "next" => FaultKind::NextName(name(take("a name")?)?),
        "without-type" => FaultKind::WithoutType(rtype_of(take("a type")?)?),
        "strange-ds" => {
            FaultKind::StrangeDs(parse(take("a tag")?, "tag")?, parse(take("a number")?, "algorithm")?)
        }
        "colliding-ds" => FaultKind::CollidingDs(parse(take("a number")?, "number")?),
        "wrong-digest" => FaultKind::WrongDigest,
        other => return Err(format!("{other} is no fault")),
    };
    let mut fault = kind.everywhere();
    match rest {
        [] => {}
        ["at", owner] => fault.owner = Some(name(owner)?),
        ["at", owner, rtype] => {
            fault.owner = Some(name(owner)?);
            fault.rtype = Some(rtype_of(rtype)?);
        }
        ["type", rtype] => fault.rtype = Some(rtype_of(rtype)?),
        other => return Err(format!("{} is no place of a fault", other[0])),
    }
    Ok(fault)
}

/// What follows the first `count` words of a line.
fn after(line: &str, count: usize) -> String {
    let rest = (0..count).fold(line.trim_start(), |rest, _| {
        rest.split_once(char::is_whitespace).map_or("", |(_, after)| after.trim_start())
    });
    rest.to_owned()
}

fn name(text: &str) -> Result<NameBuf, String> {
    text.parse().map_err(|error| format!("{text}: {error}"))
}

fn rtype_of(text: &str) -> Result<u16, String> {
    rtype::from_text(text.as_bytes()).ok_or_else(|| format!("{text} is no type"))
}

fn parse<N: FromStr>(text: &str, what: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text} is no {what}"))
}

fn octets_of_hex(text: &str) -> Result<Vec<u8>, String> {
    let pairs = text.as_bytes().chunks(2);
    let octet = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok().filter(|text| text.len() == 2);
        text.and_then(|text| u8::from_str_radix(text, 16).ok())
    };
    pairs.map(octet).collect::<Option<_>>().ok_or_else(|| format!("{text} is no salt"))
}
