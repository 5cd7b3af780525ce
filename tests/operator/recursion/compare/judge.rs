//! What three resolvers said to the same questions, compared; what is different needs a rule.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use zonda_tests::exchange::{read_framed, tcp_stream, udp_within, write_framed};
use zonda_tests::message::{Query, flag};
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;

use super::RESOLVERS;

/// How long an answer may take: servers that lame zones are delegated to are tried again and again.
const WAIT: Duration = Duration::from_secs(10);
/// Who ask at once: each of the resolvers has work then, and none is overrun.
const CLIENTS: usize = 8;

/// What is compared of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    rcode: u16,
    ad: bool,
    /// Records of the answer, folded, without TTLs and signatures.
    answer: BTreeSet<(String, u16, Vec<u8>)>,
    /// Types of the authority section, and the owners of SOA records; what is delegated left out.
    authority: BTreeSet<(String, u16)>,
}

impl Said {
    fn of(response: &Response) -> Said {
        let plain = |records: &[Record]| -> Vec<Record> {
            records.iter().filter(|one| one.rtype != rtype::RRSIG).map(Record::folded).collect()
        };
        let row = |one: Record| (one.owner.to_string(), one.rtype, one.rdata);
        let authority = plain(&response.authority).into_iter().filter(|one| one.rtype != rtype::NS);
        let place = |one: Record| {
            (if one.rtype == rtype::SOA { one.owner.to_string() } else { String::new() }, one.rtype)
        };
        Said {
            rcode: response.rcode(),
            ad: response.has(flag::AD),
            answer: plain(&response.answer).into_iter().map(row).collect(),
            authority: authority.map(place).collect(),
        }
    }

    /// Whether a part is the same as another's.
    fn agrees(&self, other: &Said, part: &str) -> bool {
        match part {
            "rcode" => self.rcode == other.rcode,
            "answer" => self.answer == other.answer,
            "ad" => self.ad == other.ad,
            _ => self.authority == other.authority,
        }
    }

    /// The answer without records of a type.
    fn without(&self, left_out: &str) -> Vec<&(String, u16, Vec<u8>)> {
        let number = rtype::number(left_out).expect("the type of a rule");
        self.answer.iter().filter(|(_, rtype, _)| *rtype != number).collect()
    }

    /// The parts in which it differs from another, the first one alone: the others follow from it.
    fn difference(&self, other: &Said) -> Option<&'static str> {
        match () {
            () if self.rcode != other.rcode => Some("rcode"),
            () if self.answer != other.answer => Some("answer"),
            () if self.ad != other.ad => Some("ad"),
            () if self.authority != other.authority => Some("authority"),
            () => None,
        }
    }
}

/// An explained difference.
#[derive(Deserialize)]
struct Rule {
    name: String,
    part: String,
    peers: Vec<String>,
    cd: Option<bool>,
    alias: Option<bool>,
    /// Whether the other peer says what Zonda says.
    agreed: Option<bool>,
    /// Zonda's RCODE.
    rcode: Option<u16>,
    /// The answers are the same without records of this type.
    without: Option<String>,
    #[serde(rename = "reason")]
    _reason: String,
}

#[derive(Deserialize)]
struct Rules {
    rule: Vec<Rule>,
}

/// Asks all and compares; panics with what is not explained.
pub fn judge(questions: &str, most: usize) {
    let rules: Rules = toml::from_str(include_str!("../explained.toml")).expect("the rules");
    let questions: Vec<(&str, u16)> = questions
        .lines()
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(name, qtype)| Some((name, rtype::number(qtype)?)))
        .take(most)
        .collect();
    let mut said: Vec<Option<[Said; 3]>> = vec![None; questions.len()];
    std::thread::scope(|scope| {
        let share = questions.len().div_ceil(CLIENTS).max(1);
        for (questions, (said, client)) in questions.chunks(share).zip(said.chunks_mut(share).zip(0..)) {
            scope.spawn(move || {
                for (number, ((name, qtype), said)) in questions.iter().zip(said).enumerate() {
                    let query = query(name, *qtype, client * share + number);
                    *said = Some(RESOLVERS.map(|(_, address)| Said::of(&ask(address, &query))));
                }
            });
        }
    });
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    let mut unexplained = Vec::new();
    for (number, (question, said)) in questions.iter().zip(&said).enumerate() {
        let [zonda, peers @ ..] = said.as_ref().expect("it was asked");
        let is_alias = zonda.answer.iter().any(|(_, rtype, _)| *rtype == rtype::CNAME);
        let is_cd = query(question.0, question.1, number).flags & flag::CD != 0;
        for (at, (peer, (name, _))) in peers.iter().zip(&RESOLVERS[1..]).enumerate() {
            let other = &peers[1 - at];
            let Some(part) = zonda.difference(peer) else { continue };
            let explains = |rule: &&Rule| {
                rule.part == part
                    && rule.peers.iter().any(|one| one == name)
                    && rule.cd.is_none_or(|cd| cd == is_cd)
                    && rule.alias.is_none_or(|alias| alias == is_alias)
                    && rule.rcode.is_none_or(|rcode| rcode == zonda.rcode)
                    && rule.agreed.is_none_or(|agreed| agreed == zonda.agrees(other, part))
                    && rule
                        .without
                        .as_ref()
                        .is_none_or(|type_of| zonda.without(type_of) == peer.without(type_of))
            };
            match rules.rule.iter().find(explains) {
                Some(rule) => *used.entry(&rule.name).or_default() += 1,
                None => {
                    let (name_asked, qtype) = (question.0, rtype::name(question.1));
                    unexplained.push(format!(
                        "{name_asked} {qtype}{}: {part} is another than {name}'s\n  zonda {zonda:?}\n  {name} {peer:?}",
                        if is_cd { " cd" } else { "" }
                    ));
                }
            }
        }
    }
    let _ = writeln!(std::io::stderr(), "{} questions, explained: {used:?}", questions.len());
    let shown = unexplained.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(unexplained.is_empty(), "{} of {} questions:\n{shown}", unexplained.len(), questions.len());
}

/// Question number `number`: with DO, CD and AD by turns.
fn query(name: &str, qtype: u16, number: usize) -> Query {
    let mut query = Query::new(name, qtype).flags(flag::RD).edns(1232).id(number as u16);
    if number.is_multiple_of(2) {
        query = query.dnssec();
    }
    if number.is_multiple_of(5) {
        query = query.flags(flag::CD);
    }
    if number.is_multiple_of(3) {
        query = query.flags(flag::AD);
    }
    query
}

/// Asks as clients do: over UDP, again where nothing comes, over TCP where it was too long.
fn ask(address: &str, query: &Query) -> Response {
    let server: SocketAddr = format!("{address}:53").parse().expect("an address");
    let octets = query.octets();
    let parse = |answer: &[u8]| {
        Response::parse(answer).unwrap_or_else(|fault| panic!("{address} {query:?}: {fault}"))
    };
    for _ in 0..3 {
        let Some(answer) = udp_within(server, &octets, WAIT).expect("a socket") else { continue };
        let response = parse(&answer);
        if !response.has(flag::TC) {
            return response;
        }
        let mut stream = tcp_stream(server).expect("a connection");
        stream.set_read_timeout(Some(WAIT)).expect("a limit");
        write_framed(&mut stream, &octets).expect("a query");
        return parse(&read_framed(&mut stream).expect("an answer"));
    }
    panic!("no answer of {address} to {query:?}");
}
