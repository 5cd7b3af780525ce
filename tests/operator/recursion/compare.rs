//! The same questions to three resolvers over sockets: Zonda, unbound and named, which know nothing but the root's addresses and key, in an Internet of real names
//! that a few servers serve. Each difference has a rule in `explained.toml`, or fails the test.
//!
//! ```text
//! group 0: root   1: TLDs   2, 3: hosters, in halves   4: all other name servers     (sim::generated::group)
//!       zonda     nsd       zonda nsd                  zonda                         a few addresses each, 198.18.GROUP.N
//! resolvers: 127.0.0.1 zonda, 127.0.0.2 unbound, 127.0.0.3 named
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use tempfile::TempDir;
use zonda_tests::exchange::{read_framed, tcp_stream, udp_within, write_framed};
use zonda_tests::message::{Query, flag};
use zonda_tests::patience::await_or;
use zonda_tests::response::{Record, Response};
use zonda_tests::rtype;
use zonda_tests::server::peers::require;
use zonda_tests::server::{Guarded, export_program, program};

use super::internet::{enter, leave};
use crate::kit::{folder, text};

/// Who is asked, and where.
const RESOLVERS: [(&str, &str); 3] =
    [("zonda", "127.0.0.1"), ("unbound", "127.0.0.2"), ("named", "127.0.0.3")];
/// What serves each group of servers.
const GROUPS: [&str; 5] = ["zonda", "nsd", "zonda", "nsd", "zonda"];
/// Addresses that a group shares.
const ADDRESSES: &str = "8";
/// How long an answer may take: servers that lame zones are delegated to are tried again and again.
const WAIT: Duration = Duration::from_secs(10);
/// Who ask at once: each of the resolvers has work then, and none is overrun.
const CLIENTS: usize = 8;

/// Asks `questions` of a generated Internet of so many names, and compares.
fn compare(names: usize, seed: u64, questions: usize) {
    let run = || {
        let files = folder(&[]);
        let internet = files.path().join("internet");
        let export = Command::new(export_program())
            .args([text(&internet), &names.to_string(), &seed.to_string(), "40", "5", "1", ADDRESSES])
            .status();
        assert!(export.is_ok_and(|status| status.success()), "the export");
        let read = |name: &str| fs::read_to_string(internet.join(name)).expect("an exported file");
        let groups = read("groups");
        let addresses: Vec<&str> = groups
            .lines()
            .flat_map(|line| line.split(' ').skip(1))
            .chain(RESOLVERS[1..].iter().map(|one| one.1))
            .collect();
        let Some(namespace) = enter(&addresses) else { return };
        let _namespace = Namespace(namespace);
        let mut processes = Vec::new();
        for (group, kind) in GROUPS.iter().enumerate() {
            let on: Vec<&str> = groups.lines().nth(group).expect("a group").split(' ').skip(1).collect();
            processes.push(serve(kind, &internet, &read(&format!("group-{group}")), &on));
        }
        for (group, (process, scratch)) in processes.iter().enumerate() {
            let zones = read(&format!("group-{group}"));
            let last = zones.lines().last().and_then(|line| line.split(' ').next()).expect("a zone");
            let on = groups.lines().nth(group).and_then(|line| line.split(' ').nth(1)).expect("an address");
            await_answer(on, last, process, scratch);
        }
        for (kind, address) in RESOLVERS {
            let resolver = resolve(kind, address, &internet, &read("anchor"));
            await_answer(address, ".", &resolver.0, &resolver.1);
            processes.push(resolver);
        }
        judge(&read("questions"), questions);
    };
    std::thread::scope(|scope| {
        if let Err(panic) = scope.spawn(run).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

struct Namespace(String);

impl Drop for Namespace {
    fn drop(&mut self) {
        leave(&self.0);
    }
}

/// Starts a server with the zones of a group at its addresses.
fn serve(kind: &str, internet: &Path, zones: &str, on: &[&str]) -> (Guarded, TempDir) {
    let scratch = folder(&[]);
    let home = scratch.path().display();
    let zones = zones.lines().filter_map(|line| line.split_once(' '));
    let path = internet.join("zones");
    let mut config = String::new();
    let mut command = match kind {
        "zonda" => {
            let listen: Vec<String> = on.iter().map(|address| format!("\"{address}:53\"")).collect();
            let listen = listen.join(", ");
            let _ = write!(
                config,
                "[server]\nlisten = [{listen}]\nworkers = 1\n[control]\nsocket = \"{home}/control.sock\"\n"
            );
            for (zone, file) in zones {
                let _ =
                    write!(config, "[[zone]]\nname = \"{zone}\"\nfile = \"{}\"\n", path.join(file).display());
            }
            let mut command = Command::new(program());
            command.args(["serve", "--config"]);
            command
        }
        _ => {
            config += "server:\n";
            on.iter().for_each(|address| _ = writeln!(config, " ip-address: {address}@53"));
            let _ = write!(
                config,
                " server-count: 1\n username: \"\"\n chroot: \"\"\n zonesdir: \"{home}\"\n database: \"\"\n pidfile: \"{home}/nsd.pid\"\n \
                 zonelistfile: \"{home}/zone.list\"\n xfrdfile: \"{home}/xfrd.state\"\n xfrdir: \"{home}\"\n rrl-ratelimit: 0\n \
                 rrl-whitelist-ratelimit: 0\n tcp-count: 100\n zonefiles-write: 0\n answer-cookie: no\nremote-control:\n control-enable: no\n"
            );
            for (zone, file) in zones {
                let _ = write!(
                    config,
                    "zone:\n name: \"{zone}\"\n zonefile: \"{}\"\n",
                    path.join(file).display()
                );
            }
            let mut command = Command::new(require("nsd", "nsd"));
            command.args(["-d", "-c"]);
            command
        }
    };
    let file = scratch.path().join("config");
    fs::write(&file, config).expect("the settings");
    command.arg(&file).current_dir(scratch.path());
    (Guarded::spawn(command, scratch.path()), scratch)
}

/// Starts a resolver.
fn resolve(kind: &str, address: &str, internet: &Path, anchor: &str) -> (Guarded, TempDir) {
    let scratch = folder(&[]);
    let (home, hints) = (scratch.path().display(), internet.join("hints"));
    let (hints, anchor_file) = (hints.display(), internet.join("anchor"));
    let anchor_file = anchor_file.display();
    let (config, mut command) = match kind {
        "zonda" => {
            let mut command = Command::new(program());
            command.args(["serve", "--config"]);
            let config = format!(
                "[server]\nlisten = [\"{address}:53\"]\nworkers = 2\n[control]\nsocket = \"{home}/control.sock\"\n\
                 [resolver]\nenabled = true\nroot-hints = \"{hints}\"\ntrust-anchor-file = \"{anchor_file}\"\nnever-ask = []\n"
            );
            (config, command)
        }
        "unbound" => {
            let mut command = Command::new(require("unbound", "unbound"));
            command.args(["-d", "-c"]);
            // It writes to the file of an anchor that it is to keep; this one it only reads.
            let config = format!(
                "server:\n interface: {address}\n do-daemonize: no\n username: \"\"\n chroot: \"\"\n pidfile: \"\"\n directory: \"{home}\"\n \
                 use-syslog: no\n root-hints: \"{hints}\"\n trust-anchor-file: \"{anchor_file}\"\n module-config: \"validator iterator\"\n \
                 do-ip6: no\n access-control: 127.0.0.0/8 allow\n qname-minimisation: yes\n num-threads: 1\nremote-control:\n control-enable: no\n"
            );
            (config, command)
        }
        _ => {
            let mut command = Command::new(require("named", "bind9"));
            command.args(["-4", "-g", "-n", "1", "-U", "1", "-c"]);
            let fields: Vec<&str> = anchor.split_whitespace().skip(4).collect();
            let [tag, algorithm, digest_type, digest] = fields[..4] else { panic!("no anchor: {anchor}") };
            let config = format!(
                "options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on {{ {address}; }}; listen-on-v6 {{ none; }}; \
                 recursion yes; allow-recursion {{ any; }}; dnssec-validation yes; empty-zones-enable no; minimal-responses yes; max-cache-size 64M; }};\n\
                 controls {{ }};\nzone \".\" {{ type hint; file \"{hints}\"; }};\n\
                 trust-anchors {{ \".\" static-ds {tag} {algorithm} {digest_type} \"{digest}\"; }};\n"
            );
            (config, command)
        }
    };
    let file = scratch.path().join("config");
    fs::write(&file, config).expect("the settings");
    command.arg(&file).current_dir(scratch.path());
    (Guarded::spawn(command, scratch.path()), scratch)
}

fn await_answer(address: &str, zone: &str, process: &Guarded, scratch: &TempDir) {
    let log = || fs::read_to_string(scratch.path().join("log")).unwrap_or_default();
    let query = Query::new(zone, rtype::SOA).flags(flag::RD).octets();
    let server: SocketAddr = format!("{address}:53").parse().expect("an address");
    await_or(
        || format!("no answer of {address} about {zone}: {}", log()),
        || {
            assert!(process.is_running(), "{address} ended: {}", log());
            let answer = udp_within(server, &query, Duration::from_millis(500)).ok().flatten();
            answer.is_some_and(|answer| answer.get(3).is_some_and(|low| low & 0xf == 0))
        },
    );
}

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
fn judge(questions: &str, most: usize) {
    let rules: Rules = toml::from_str(include_str!("explained.toml")).expect("the rules");
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
        for (peer, (name, _)) in peers.iter().zip(&RESOLVERS[1..]) {
            let Some(part) = zonda.difference(peer) else { continue };
            let explains = |rule: &&Rule| {
                rule.part == part
                    && rule.peers.iter().any(|one| one == name)
                    && rule.cd.is_none_or(|cd| cd == is_cd)
                    && rule.alias.is_none_or(|alias| alias == is_alias)
                    && rule
                        .without
                        .as_ref()
                        .is_none_or(|left_out| zonda.without(left_out) == peer.without(left_out))
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

#[test]
fn a_thousand_questions() {
    compare(500, 7, 1_000);
}

mod long {
    /// All questions of all names that ship with the model, several times with other seeds.
    #[test]
    #[ignore = "minutes"]
    fn all_names() {
        for seed in 1..=6 {
            super::compare(8_000, seed, usize::MAX);
        }
    }
}
