//! What the page about moving from other resolvers says corresponds to what, tried: the option there and the setting here, one by one, each with questions that show
//! what it does. Without `but` all say the same.
//!
//! ```text
//! 127.0.0.1 zonda   127.0.0.2 unbound   127.0.0.3 named      in the Internet of `internet`
//! ```

mod kinds;
mod peers;
mod rows;
mod seen;

use super::internet::{Internet, Resolver, dig, in_internet};
use super::shown;
use peers::{NAMED, UNBOUND, await_peer, named, unbound};
use rows::{CLIENTS, FILTERS, MADE, Part, Row, SERVERS, Said, TTLS};

/// Status, and what is looked at of an answer.
fn heard(said: &str, part: Part) -> (String, Vec<String>) {
    let (status, _, answer) = shown(said);
    let records = match part {
        Part::Answer | Part::Timed => answer,
        Part::Authority | Part::Denial => {
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
            Part::Denial => [&words[..1], &words[2..4]].concat().join(" "),
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
