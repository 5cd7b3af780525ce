//! What the page about moving from other resolvers says corresponds to what, tried: the option there and the setting here, one by one, each with questions that show
//! what it does. Without `but` all say the same.
//!
//! ```text
//! 127.0.0.1 zonda   127.0.0.2 unbound   127.0.0.3 named      in the Internet of `internet`
//! ```

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use zonda_tests::patience::await_or;
use zonda_tests::response::Response;
use zonda_tests::server::Guarded;
use zonda_tests::server::peers::require;

use super::internet::{Internet, Resolver, dig, in_internet, ip};
use super::shown;
use crate::kit::{folder, text};

const UNBOUND: &str = "127.0.0.2";
const NAMED: &str = "127.0.0.3";

/// A correspondence. Lines of settings that are empty: nothing is said of that server.
struct Row {
    /// The options, as the page has them.
    what: &'static str,
    /// In `server:`, unless they open a section.
    unbound: &'static str,
    /// In `options`.
    named: &'static str,
    /// In `[resolver]`, unless they open a section.
    zonda: &'static str,
    asked: &'static [Asked],
}

/// What is looked at of an answer.
#[derive(Clone, Copy)]
enum Part {
    /// The records of the answer section, without TTL; with it.
    Answer,
    Timed,
    /// Owner, TTL, class and type of those of the authority section.
    Authority,
}

/// Status and records.
type Said = (&'static str, &'static [&'static str]);

/// A question in words of dig, and what everybody says to it.
struct Asked {
    words: &'static [&'static str],
    part: Part,
    said: Said,
    /// What Zonda says in place of that, where the page says so.
    but: Option<Said>,
}

const fn says(
    words: &'static [&'static str],
    status: &'static str,
    answer: &'static [&'static str],
) -> Asked {
    Asked { words, part: Part::Answer, said: (status, answer), but: None }
}

impl Asked {
    /// Another answer of Zonda's.
    const fn but(self, status: &'static str, answer: &'static [&'static str]) -> Asked {
        Asked { but: Some((status, answer)), ..self }
    }

    /// Another part of the answer.
    const fn shown(self, part: Part) -> Asked {
        Asked { part, ..self }
    }
}

const PLAIN: &str = "www.plain.org. IN A 192.0.2.9";
const BOTH: [&str; 2] = ["www.signed.org. IN A 192.0.2.1", "www.signed.org. IN A 192.0.2.2"];

const CLIENTS: [Row; 3] = [
    Row {
        what: "access-control: allow, refuse; allow-recursion",
        unbound: "access-control: 127.0.0.0/8 refuse\naccess-control: 127.0.0.9/32 allow",
        named: "allow-recursion { 127.0.0.9; }; allow-query-cache { 127.0.0.9; };",
        zonda: "[access]\nrecursion = \"office\"\n[[acl]]\nname = \"office\"\naddresses = [\"127.0.0.9\"]",
        asked: &[
            says(&["www.plain.org", "A", "-b", "127.0.0.9"], "NOERROR", &[PLAIN]),
            says(&["www.plain.org", "A", "-b", "127.0.0.8"], "REFUSED", &[]),
        ],
    },
    Row {
        what: "access-control: allow_snoop; allow-query-cache",
        unbound: "access-control: 127.0.0.0/8 allow_snoop",
        named: "allow-query-cache { any; };",
        zonda: "without-recursion = \"cache\"",
        asked: &[
            says(&["www.plain.org", "A"], "NOERROR", &[PLAIN]),
            says(&["www.plain.org", "A", "+norecurse"], "NOERROR", &[PLAIN]),
        ],
    },
    Row {
        what: "identity, version",
        unbound: "identity: \"one.example\"\nversion: \"two\"",
        named: "server-id \"one.example\"; version \"two\";",
        zonda: "[server]\nid-server = \"one.example\"\nversion = \"two\"",
        asked: &[
            says(&["id.server", "TXT", "CH"], "NOERROR", &["id.server. CH TXT \"one.example\""]),
            says(&["version.bind", "TXT", "CH"], "NOERROR", &["version.bind. CH TXT \"two\""]),
        ],
    },
];

const TTLS: [Row; 3] = [
    Row {
        what: "cache-max-ttl; max-cache-ttl",
        unbound: "cache-max-ttl: 60",
        named: "max-cache-ttl 60;",
        zonda: "ttl-max-seconds = 60",
        asked: &[says(&["www.plain.org", "A"], "NOERROR", &["www.plain.org. 60 IN A 192.0.2.9"])
            .shown(Part::Timed)],
    },
    Row {
        what: "cache-min-ttl; min-cache-ttl",
        unbound: "cache-min-ttl: 80",
        named: "min-cache-ttl 80;",
        zonda: "ttl-min-seconds = 80",
        asked: &[says(&["brief.plain.org", "A"], "NOERROR", &["brief.plain.org. 80 IN A 192.0.2.10"])
            .shown(Part::Timed)],
    },
    Row {
        what: "cache-max-negative-ttl; max-ncache-ttl",
        unbound: "cache-max-negative-ttl: 3",
        named: "max-ncache-ttl 3;",
        zonda: "negative-ttl-max-seconds = 3",
        asked: &[says(&["none.plain.org", "A"], "NXDOMAIN", &["plain.org. 3 IN SOA"]).shown(Part::Authority)],
    },
];

const FILTERS: [Row; 6] = [
    Row {
        what: "private-address",
        unbound: "private-address: 192.0.2.9/32",
        named: "",
        zonda: "private-addresses = [\"192.0.2.9\"]",
        asked: &[
            says(&["www.plain.org", "A"], "NOERROR", &[]).but("REFUSED", &[]),
            says(&["www.signed.org", "A"], "NOERROR", &BOTH),
        ],
    },
    Row {
        what: "deny-answer-addresses",
        unbound: "",
        named: "deny-answer-addresses { 192.0.2.9; };",
        zonda: "private-addresses = [\"192.0.2.9\"]",
        asked: &[says(&["www.plain.org", "A"], "SERVFAIL", &[]).but("REFUSED", &[])],
    },
    Row {
        what: "private-domain; except-from",
        unbound: "private-address: 192.0.2.0/24\nprivate-domain: org",
        named: "deny-answer-addresses { 192.0.2.0/24; } except-from { \"org\"; };",
        zonda: "private-addresses = [\"192.0.2.0/24\"]\nprivate-names = [\"org\"]",
        asked: &[says(&["www.plain.org", "A"], "NOERROR", &[PLAIN])],
    },
    Row {
        what: "domain-insecure; validate-except",
        unbound: "domain-insecure: broken.org",
        named: "validate-except { \"broken.org\"; };",
        zonda: "insecure = [\"broken.org\"]",
        asked: &[says(&["www.broken.org", "A"], "NOERROR", &["www.broken.org. IN A 192.0.2.67"])],
    },
    Row {
        what: "do-not-query-address; server { bogus yes; }",
        unbound: "do-not-query-address: 127.0.4.1",
        named: "",
        zonda: "never-ask = [\"127.0.4.1\"]",
        asked: &[
            says(&["www.plain.org", "A"], "SERVFAIL", &[]),
            says(&["www.signed.org", "A"], "NOERROR", &BOTH),
        ],
    },
    Row {
        what: "unblock-lan-zones; disable-empty-zone",
        unbound: "unblock-lan-zones: yes",
        named: "disable-empty-zone \"10.in-addr.arpa\";",
        zonda: "not-special = [\"10.in-addr.arpa\"]",
        // The root, which denies it, is asked: its SOA comes back.
        asked: &[says(&["1.0.0.10.in-addr.arpa", "PTR"], "NXDOMAIN", &[". 5 IN SOA"]).shown(Part::Authority)],
    },
];

const MADE: [Row; 3] = [
    Row {
        what: "dns64-prefix",
        unbound: "module-config: \"dns64 validator iterator\"\ndns64-prefix: 2001:db8:64::/96",
        named: "dns64 2001:db8:64::/96 { };",
        zonda: "dns64-prefixes = [\"2001:db8:64::/96\"]",
        asked: &[
            says(&["www.plain.org", "AAAA"], "NOERROR", &["www.plain.org. IN AAAA 2001:db8:64::c000:209"]),
            says(&["www.signed.org", "AAAA"], "NOERROR", &["www.signed.org. IN AAAA 2001:db8::1"]),
        ],
    },
    Row {
        what: "dns64-synthall; exclude",
        unbound: "module-config: \"dns64 validator iterator\"\ndns64-prefix: 2001:db8:64::/96\ndns64-synthall: yes",
        named: "dns64 2001:db8:64::/96 { exclude { ::/0; }; };",
        zonda: "dns64-prefixes = [\"2001:db8:64::/96\"]\ndns64-exclude = [\"::/0\"]",
        asked: &[says(
            &["www.signed.org", "AAAA"],
            "NOERROR",
            &[
                "www.signed.org. IN AAAA 2001:db8:64::c000:201",
                "www.signed.org. IN AAAA 2001:db8:64::c000:202",
            ],
        )],
    },
    Row {
        what: "local-data-ptr",
        unbound: "local-data-ptr: \"192.0.2.77 printer.home.example\"",
        named: "",
        zonda: "[[local-zone]]\nname = \"77.2.0.192.in-addr.arpa\"\nrecords = [\"@ 3600 PTR printer.home.example.\"]",
        asked: &[says(
            &["-x", "192.0.2.77"],
            "NOERROR",
            &["77.2.0.192.in-addr.arpa. IN PTR printer.home.example."],
        )],
    },
];

// 127.0.3.1 does not have plain.org.
const SERVERS: [Row; 4] = [
    Row {
        what: "stub-zone: stub-addr",
        unbound: "stub-zone:\n name: plain.org\n stub-addr: 127.0.3.1",
        named: "",
        zonda: "[[stub]]\nname = \"plain.org\"\naddresses = [\"127.0.3.1\"]",
        asked: &[
            says(&["www.plain.org", "A"], "SERVFAIL", &[]),
            says(&["www.signed.org", "A"], "NOERROR", &BOTH),
        ],
    },
    Row {
        what: "forward-zone: forward-addr; forwarders",
        unbound: "forward-zone:\n name: plain.org\n forward-addr: 127.0.3.1",
        named: "forwarders { 127.0.3.1; }; forward only;",
        zonda: "[[forward]]\nname = \"plain.org\"\naddresses = [\"127.0.3.1\"]",
        asked: &[says(&["www.plain.org", "A", "+time=9"], "SERVFAIL", &[])],
    },
    Row {
        what: "forward-first; forward first",
        unbound: "forward-zone:\n name: plain.org\n forward-addr: 127.0.3.1\n forward-first: yes",
        named: "forwarders { 127.0.3.1; }; forward first;",
        zonda: "[[forward]]\nname = \"plain.org\"\naddresses = [\"127.0.3.1\"]\nfirst = true",
        asked: &[says(&["www.plain.org", "A", "+time=9"], "NOERROR", &[PLAIN])],
    },
    Row {
        what: "do-ip4",
        unbound: "",
        named: "",
        zonda: "ipv4 = false",
        asked: &[says(&["www.plain.org", "A", "+time=9"], "SERVFAIL", &[])],
    },
];

/// The kinds of local zones: Unbound's name, and ours where it is another.
const KINDS: [(&str, &str); 14] = [
    ("static", "static"),
    ("transparent", "transparent"),
    ("typetransparent", "typetransparent"),
    ("redirect", "redirect"),
    ("refuse", "refuse"),
    ("deny", "drop"),
    ("nodefault", ""),
    ("inform", ""),
    ("always_nxdomain", "nxdomain"),
    ("always_nodata", "nodata"),
    ("always_refuse", "refuse"),
    ("always_deny", "drop"),
    ("always_null", "null"),
    ("always_transparent", ""),
];

/// What is asked below and at a local zone that has an A record of its own and one of a name.
const OF_KINDS: [(&str, &str); 7] = [
    ("plain.org", "A"),
    ("plain.org", "TXT"),
    ("here.plain.org", "A"),
    ("here.plain.org", "AAAA"),
    ("www.plain.org", "A"),
    ("www.plain.org", "AAAA"),
    ("none.plain.org", "A"),
];

/// Starts unbound with lines in `server:` and sections after it.
fn unbound(internet: &Internet, lines: &str) -> (Guarded, TempDir) {
    let scratch = folder(&[]);
    let home = scratch.path().display();
    let settings = format!(
        "server:\n interface: {UNBOUND}\n do-daemonize: no\n username: \"\"\n chroot: \"\"\n pidfile: \"\"\n directory: \"{home}\"\n use-syslog: no\n \
         root-hints: \"{}\"\n trust-anchor-file: \"{}\"\n do-ip6: no\n do-not-query-localhost: no\n num-threads: 1\n access-control: 127.0.0.0/8 allow\n\
         remote-control:\n control-enable: no\nserver:\n{lines}\n",
        internet.hints().display(),
        internet.anchor().display()
    );
    let path = scratch.path().join("unbound.conf");
    fs::write(&path, settings).expect("the settings");
    let mut command = Command::new(require("unbound", "unbound"));
    command.args(["-d", "-c", text(&path)]);
    (Guarded::spawn(command, scratch.path()), scratch)
}

/// Starts named with clauses in `options`.
fn named(internet: &Internet, lines: &str) -> (Guarded, TempDir) {
    // It listens on addresses that an interface has; the first time it is not there yet.
    ip(&["address", "replace", &format!("{NAMED}/32"), "dev", "lo"]);
    let scratch = folder(&[]);
    let home = scratch.path().display();
    let anchor = fs::read_to_string(internet.anchor()).expect("the trust anchor");
    let words: Vec<&str> = anchor.split_whitespace().skip(4).collect();
    let [tag, algorithm, digest_type, ref digest @ ..] = words[..] else { panic!("no anchor: {anchor}") };
    let recursion = if lines.contains("allow-recursion") { "" } else { "allow-recursion { any; }; " };
    let settings = format!(
        "options {{ directory \"{home}\"; pid-file none; session-keyfile none; listen-on {{ {NAMED}; }}; listen-on-v6 {{ none; }}; recursion yes; \
         {recursion}dnssec-validation yes; minimal-responses yes; {lines} }};\ncontrols {{ }};\nzone \".\" {{ type hint; file \"{}\"; }};\n\
         trust-anchors {{ \".\" static-ds {tag} {algorithm} {digest_type} \"{}\"; }};\n",
        internet.hints().display(),
        digest.concat()
    );
    let path = scratch.path().join("named.conf");
    fs::write(&path, settings).expect("the settings");
    let mut command = Command::new(require("named", "bind9"));
    command.args(["-4", "-g", "-n", "1", "-U", "1", "-c", text(&path)]);
    (Guarded::spawn(command, scratch.path()), scratch)
}

/// Waits until a server answers anything at all.
fn await_peer(address: &str, peer: &(Guarded, TempDir)) {
    let log = || fs::read_to_string(peer.1.path().join("log")).unwrap_or_default();
    await_or(log, || {
        assert!(peer.0.is_running(), "{}", log());
        dig(&format!("@{address}"), &["localhost", "A", "+time=1"]).contains("status: ")
    });
}

/// Status, and what is looked at of an answer.
fn heard(said: &str, part: Part) -> (String, Vec<String>) {
    let (status, _, answer) = shown(said);
    let records = match part {
        Part::Answer | Part::Timed => answer,
        Part::Authority => {
            let after = said.split_once(";; AUTHORITY SECTION:\n").map_or("", |(_, rest)| rest);
            after.lines().take_while(|line| !line.is_empty()).map(str::to_owned).collect()
        }
    };
    let words = |line: &String| -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        match part {
            Part::Answer => [&words[..1], &words[2..]].concat().join(" "),
            Part::Timed => words.join(" "),
            Part::Authority => words[..4].join(" "),
        }
    };
    (status, records.iter().map(words).collect())
}

/// Starts Zonda with lines in `[server]`, or in `[resolver]` and after it.
fn start(internet: &Internet, lines: &str) -> Resolver {
    match lines.strip_prefix("[server]\n") {
        Some(lines) => internet.resolver_with(lines),
        None => internet.resolver(lines),
    }
}

/// Starts all of whom a row says something, asks and compares.
fn check(internet: &Internet, row: &Row) {
    let zonda = start(internet, row.zonda);
    let unbound = (!row.unbound.is_empty()).then(|| unbound(internet, row.unbound));
    let named = (!row.named.is_empty()).then(|| named(internet, row.named));
    let peers = [(UNBOUND, &unbound), (NAMED, &named)];
    let peers = peers.into_iter().filter_map(|(address, peer)| Some((address, peer.as_ref()?)));
    let peers: Vec<_> = peers.inspect(|(address, peer)| await_peer(address, peer)).collect();
    for asked in row.asked {
        let compare = |who: &str, said: &str, expected: &Said| {
            let (status, records) = heard(said, asked.part);
            let what = row.what;
            assert!(
                (&*status, records.iter().map(String::as_str).collect::<Vec<_>>())
                    == (expected.0, expected.1.to_vec()),
                "{what}: {who} says not {expected:?} but\n{said}"
            );
        };
        compare("zonda", &zonda.dig(asked.words), asked.but.as_ref().unwrap_or(&asked.said));
        for (address, _) in &peers {
            compare(address, &dig(&format!("@{address}"), asked.words), &asked.said);
        }
    }
}

#[test]
fn who_may_ask_and_for_how_long_it_is_kept() {
    in_internet(|internet| CLIENTS.iter().chain(&TTLS).for_each(|row| check(internet, row)));
}

#[test]
fn what_is_filtered_and_made() {
    in_internet(|internet| FILTERS.iter().chain(&MADE).for_each(|row| check(internet, row)));
}

#[test]
fn which_servers_are_asked() {
    in_internet(|internet| SERVERS.iter().for_each(|row| check(internet, row)));
}

/// Each kind of a local zone answers as Unbound's of that name: status, AA and records.
#[test]
fn kinds_of_local_zones() {
    in_internet(|internet| {
        for (theirs, ours) in KINDS.iter().filter(|(_, ours)| !ours.is_empty()) {
            // With data of its own, where that kind has any here, too.
            let (mut unbound_lines, mut records) = (format!("local-zone: \"plain.org\" {theirs}\n"), "");
            if !theirs.starts_with("always_") && !["refuse", "drop"].contains(ours) {
                unbound_lines += "local-data: \"plain.org. 300 A 192.0.2.70\"\n";
                records = "records = [\"@ 300 A 192.0.2.70\"]\n";
                if *theirs != "redirect" {
                    unbound_lines += "local-data: \"here.plain.org. 300 A 192.0.2.71\"\n";
                    records = "records = [\"@ 300 A 192.0.2.70\", \"here 300 A 192.0.2.71\"]\n";
                }
            }
            let unbound = unbound(internet, &unbound_lines);
            let zonda = internet
                .resolver(&format!("[[local-zone]]\nname = \"plain.org\"\nkind = \"{ours}\"\n{records}"));
            await_peer(UNBOUND, &unbound);
            for (name, rtype) in OF_KINDS {
                let words = [name, rtype, "+time=1"];
                let (said, expected) = (zonda.dig(&words), dig(&format!("@{UNBOUND}"), &words));
                let ((status, flags, answer), other) = (shown(&said), shown(&expected));
                // REFUSED is nobody's answer: AA says nothing there.
                let has_aa = |status: &str, flags: &str| status != "REFUSED" && flags.contains("aa");
                let records = |lines: &[String]| {
                    lines
                        .iter()
                        .map(|line| line.split(' ').skip(2).collect::<Vec<_>>().join(" "))
                        .collect::<Vec<_>>()
                };
                assert_eq!(
                    (has_aa(&status, &flags), status, records(&answer)),
                    (has_aa(&other.0, &other.1), other.0, records(&other.2)),
                    "{theirs}: {name} {rtype}\n{said}\n{expected}"
                );
            }
        }
    });
}

/// Where a server of `seen.example` is that only looks.
const LOOKING: &str = "127.0.0.99:53";
const ASKED_OF_IT: &str = "a.b.c.seen.example";

/// What a server sees of the first question: from where, the name, and the payload that is offered.
#[derive(Debug)]
struct Seen {
    from: SocketAddr,
    name: String,
    payload_octets: Option<u16>,
}

/// Has a resolver ask the server that looks.
fn seen(looking: &UdpSocket, ask: impl FnOnce() -> String + Send) -> Seen {
    std::thread::scope(|scope| {
        let asking = scope.spawn(ask);
        let mut octets = [0; 4096];
        let mut first = None;
        // Those of the search for the zone cut or the keys come later.
        while let Ok((length, from)) = looking.recv_from(&mut octets) {
            let query = Response::parse(&octets[..length]).expect("a query");
            let name = query.questions[0].0.to_string();
            let payload_octets = query.edns.as_ref().map(|edns| edns.payload_octets);
            first.get_or_insert(Seen { from, name, payload_octets });
            // NXDOMAIN with AA, and nothing beside the question.
            let end = 12 + query.questions[0].0.wire().len() + 4;
            let mut answer = octets[..end].to_vec();
            answer[2] = 0x84;
            answer[3] = 3;
            answer[6..12].fill(0);
            let _ = looking.send_to(&answer, from);
            if asking.is_finished() {
                break;
            }
        }
        let said = asking.join().expect("dig");
        first.unwrap_or_else(|| panic!("nobody asked: {said}"))
    })
}

/// What servers see of questions, by options of Unbound and settings here.
#[test]
fn what_servers_see() {
    type Row = (&'static str, &'static str, &'static str, fn(&Seen) -> bool);
    let is_plain = |seen: &Seen| seen.name.bytes().all(|octet| !octet.is_ascii_uppercase());
    let _: fn(&Seen) -> bool = is_plain;
    let rows: [Row; 7] = [
        ("edns-buffer-size", "", "", |seen| seen.payload_octets == Some(1232)),
        (
            "outgoing-interface",
            "outgoing-interface: 127.0.0.8",
            "source-addresses = [\"127.0.0.8\"]",
            |seen| seen.from.ip().to_string() == "127.0.0.8",
        ),
        (
            "outgoing-port-permit",
            "outgoing-port-avoid: 0-65535\noutgoing-port-permit: 20000-24999",
            "source-ports = \"20000-24999\"",
            |seen| (20_000..25_000).contains(&seen.from.port()),
        ),
        ("use-caps-for-id: yes", "use-caps-for-id: yes", "", |seen| {
            seen.name.bytes().any(|octet| octet.is_ascii_uppercase())
        }),
        ("use-caps-for-id: no", "", "randomise-case = false", is_plain),
        ("qname-minimisation: yes", "", "", |seen| seen.name.eq_ignore_ascii_case("c.seen.example.")),
        ("qname-minimisation: no", "qname-minimisation: no", "qname-minimisation = \"off\"", |seen| {
            seen.name.eq_ignore_ascii_case("a.b.c.seen.example.")
        }),
    ];
    in_internet(|internet| {
        let looking = UdpSocket::bind(LOOKING).expect("an address of loopback");
        looking.set_read_timeout(Some(Duration::from_secs(2))).expect("a limit");
        for (what, theirs, ours, is_so) in rows {
            let stub = "stub-zone:\n name: seen.example\n stub-addr: 127.0.0.99\n";
            let unbound = unbound(internet, &format!("{theirs}\ndomain-insecure: seen.example\n{stub}"));
            await_peer(UNBOUND, &unbound);
            let by_unbound = seen(&looking, || dig(&format!("@{UNBOUND}"), &[ASKED_OF_IT, "A"]));
            assert!(is_so(&by_unbound), "{what}: unbound {by_unbound:?}");
            let stub = "[[stub]]\nname = \"seen.example\"\naddresses = [\"127.0.0.99\"]\n";
            let zonda = internet.resolver(&format!("{ours}\n{stub}"));
            let by_zonda = seen(&looking, || zonda.dig(&[ASKED_OF_IT, "A"]));
            assert!(is_so(&by_zonda), "{what}: zonda {by_zonda:?}");
        }
    });
}

/// What is so here whatever is set, or by a setting that others have in another form: settings, a question, and what dig shows of the answer.
const HERE: [(&str, &str, &[&str], &[&str]); 15] = [
    (
        "access-control: refuse",
        "[access]\nrecursion = \"nobody\"\n",
        &["www.plain.org", "A"],
        &["status: REFUSED", "EDE: 18 (Prohibited)"],
    ),
    (
        "access-control: allow_cookie",
        "[access]\nrecursion = \"proved\"\n[[acl]]\nname = \"proved\"\naddresses = [\"127.0.0.0/8\"]\nproved = true\n",
        &["www.plain.org", "A", "+nocookie", "+ignore"],
        &["ANSWER: 0"],
    ),
    (
        "access-control: allow_cookie",
        "[access]\nrecursion = \"proved\"\n[[acl]]\nname = \"proved\"\naddresses = [\"127.0.0.0/8\"]\nproved = true\n",
        &["www.plain.org", "A", "+cookie"],
        &["status: NOERROR", "ANSWER: 1"],
    ),
    ("edns-tcp-keepalive", "", &["www.plain.org", "A", "+tcp", "+keepalive"], &["status: NOERROR"]),
    ("module-config", "validate = false\n", &["www.broken.org", "A"], &["status: NOERROR", "ANSWER: 1"]),
    (
        "stub-zone",
        "[[stub]]\nname = \"broken.org\"\naddresses = [\"127.0.5.1\"]\n",
        &["www.broken.org", "A"],
        &["status: NOERROR", "ANSWER: 1"],
    ),
    (
        "stub-zone",
        "[[stub]]\nname = \"broken.org\"\naddresses = [\"127.0.5.1\"]\nvalidate = true\n",
        &["www.broken.org", "A"],
        &["status: SERVFAIL", "EDE: 6"],
    ),
    ("hide-identity", "", &["id.server", "TXT", "CH"], &["status: REFUSED"]),
    ("hide-version", "", &["version.bind", "TXT", "CH"], &["status: REFUSED"]),
    ("nsid", "[server]\nnsid = \"one.example\"\n", &["www.plain.org", "A", "+nsid"], &["(\"one.example\")"]),
    (
        "max-udp-size",
        "[server]\nudp-payload-octets = 512\n",
        &["large.signed.org", "TXT", "+bufsize=4096", "+ignore"],
        &["flags: qr tc rd ra"],
    ),
    ("minimal-responses", "", &["www.plain.org", "A"], &["ANSWER: 1, AUTHORITY: 0, ADDITIONAL: 1"]),
    ("answer-cookie", "", &["www.plain.org", "A", "+cookie"], &["(good)"]),
    (
        "private-address",
        "private-addresses = [\"192.0.2.9\"]\n",
        &["www.plain.org", "A"],
        &["EDE: 17 (Filtered)"],
    ),
    ("deny-any", "", &["www.signed.org", "ANY"], &["status: NOERROR", "ANSWER: 1,", "HINFO"]),
];

#[test]
fn what_is_so_here() {
    in_internet(|internet| {
        for (what, settings, words, shown) in HERE {
            let resolver = start(internet, settings);
            let said = resolver.dig(words);
            assert!(shown.iter().all(|shown| said.contains(shown)), "{what}: {shown:?} is not in\n{said}");
            assert!(!said.contains("TCP KEEPALIVE"), "{said}");
        }
    });
}

/// Records change their places by default, and keep them where that is set.
#[test]
fn places_of_records() {
    in_internet(|internet| {
        let firsts = |rotate: bool| {
            let resolver = internet.resolver(&format!("rotate = {rotate}\n"));
            let first = || {
                let said = resolver.dig(&["www.signed.org", "A", "+short"]);
                said.lines().next().unwrap_or_default().to_owned()
            };
            first();
            (0..30).map(|_| first()).collect::<std::collections::BTreeSet<String>>().len()
        };
        assert_eq!((firsts(true), firsts(false)), (2, 1));
    });
}
