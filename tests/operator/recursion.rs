//! The recursive server in a model Internet of real servers, each test in a network namespace of its own.

mod attacks;
mod compare;
mod internet;
mod kept;
mod moved;
mod outage;
mod resized;
mod secured;
mod waiting;

use std::time::{Duration, Instant};

use internet::in_internet;
use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::patience::await_or;
use zonda_tests::rtype;

/// What dig shows of an answer: status, flags, and the lines of the answer section.
fn shown(said: &str) -> (String, String, Vec<String>) {
    let after = |mark: &str, end: char| {
        let rest = said.split_once(mark).map_or("", |(_, rest)| rest);
        rest.split(end).next().unwrap_or("").trim().to_owned()
    };
    let lines = said
        .split_once(";; ANSWER SECTION:\n")
        .map_or("", |(_, rest)| rest.split("\n\n").next().unwrap_or(""));
    let mut lines: Vec<String> =
        lines.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    lines.sort();
    (after("status: ", ','), after(";; flags: ", ';'), lines)
}

#[track_caller]
fn check(said: &str, status: &str, flags: &str, answer: &[&str]) {
    let (found_status, found_flags, found) = shown(said);
    let without_ttl = |line: &String| {
        let mut words: Vec<&str> = line.split(' ').collect();
        words.remove(1);
        words.join(" ")
    };
    let found: Vec<String> = found.iter().filter(|line| !line.contains("RRSIG")).map(without_ttl).collect();
    assert_eq!((&*found_status, &*found_flags), (status, flags), "{said}");
    assert_eq!(found, answer, "{said}");
}

#[test]
fn names_are_resolved_and_validated() {
    in_internet(|internet| {
        let resolver = internet.resolver("");
        let www = ["www.signed.org. IN A 192.0.2.1", "www.signed.org. IN A 192.0.2.2"];
        // Asked of servers first, then of what was learned.
        for _ in 0..2 {
            check(&resolver.dig(&["www.signed.org", "A"]), "NOERROR", "qr rd ra ad", &www);
            check(
                &resolver.dig(&["www.plain.org", "A"]),
                "NOERROR",
                "qr rd ra",
                &["www.plain.org. IN A 192.0.2.9"],
            );
            check(&resolver.dig(&["none.signed.org", "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
            check(&resolver.dig(&["www.signed.org", "TXT", "+dnssec"]), "NOERROR", "qr rd ra ad", &[]);
            check(&resolver.dig(&["none.org", "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
            let both = [&["alias.plain.org. IN CNAME www.signed.org."], &www[..]].concat();
            check(&resolver.dig(&["alias.plain.org", "A"]), "NOERROR", "qr rd ra", &both);
            check(
                &resolver.dig(&["x.wild.signed.org", "A", "+dnssec"]),
                "NOERROR",
                "qr rd ra ad",
                &["x.wild.signed.org. IN A 192.0.2.3"],
            );
        }
    });
}

#[test]
fn the_cache_can_be_looked_at_and_flushed() {
    in_internet(|internet| {
        let resolver = internet.resolver("");
        check(
            &resolver.dig(&["brief.plain.org", "A"]),
            "NOERROR",
            "qr rd ra",
            &["brief.plain.org. IN A 192.0.2.10"],
        );
        check(
            &resolver.dig(&["www.plain.org", "A"]),
            "NOERROR",
            "qr rd ra",
            &["www.plain.org. IN A 192.0.2.9"],
        );
        let shown = resolver.ctl(&["cache", "show", "WWW.plain.org"]);
        assert!(shown.starts_with("; A: data, insecure, authoritative answer, "), "{shown}");
        assert!(shown.contains(" IN A 192.0.2.9\n"), "{shown}");
        assert!(resolver.ctl(&["cache", "show", "plain.org"]).contains("; cut: cut, "), "the delegation");
        let servers = resolver.ctl(&["servers", "www.plain.org"]);
        assert!(
            servers.starts_with("plain.org. ") && servers.contains(" 127.0.4.1 ") && servers.contains(" ms"),
            "{servers}"
        );
        assert_eq!(resolver.ctl(&["cache", "flush", "www.plain.org"]), "1 entry forgotten\n");
        assert_eq!(resolver.ctl(&["cache", "show", "www.plain.org"]), "");
        let flushed = resolver.ctl(&["cache", "flush", "--tree", "org"]);
        assert!(flushed.ends_with(" entries forgotten\n"), "{flushed}");
        assert_eq!(resolver.ctl(&["cache", "show", "plain.org"]), "");
        assert!(
            resolver.ctl(&["cache", "stats"]).contains(" of 256"),
            "{}",
            resolver.ctl(&["cache", "stats"])
        );
        check(
            &resolver.dig(&["www.plain.org", "A"]),
            "NOERROR",
            "qr rd ra",
            &["www.plain.org. IN A 192.0.2.9"],
        );
        assert!(resolver.ctl(&["cache", "flush", "--all"]).ends_with(" forgotten\n"));
        assert_eq!(resolver.ctl(&["requests"]), "", "nothing is being found out");
        let stats = resolver.ctl(&["stats"]);
        assert!(stats.contains("\nresolver\n") && stats.contains("misses"), "{stats}");
    });
}

/// Before anybody has asked anything: workers do what operators want, and the root has been asked for its servers (RFC 9609).
#[test]
fn operators_come_first() {
    in_internet(|internet| {
        for words in [&["stats"][..], &["requests"], &["explain", "www.signed.org"]] {
            let resolver = internet.unasked_at("127.0.0.1", "");
            await_or(|| resolver.log(), || resolver.has_begun());
            let began = Instant::now();
            let said = resolver.ctl(words);
            assert!(began.elapsed() < Duration::from_secs(1), "{said}");
            match words[0] {
                "stats" => assert!(said.contains("\nresolver\n"), "{said}"),
                "requests" => assert!(!said.contains("zonda: "), "{said}"),
                _ => assert!(
                    said.contains("\nNOERROR, secure\nwww.signed.org. 300 IN A 192.0.2.1\n"),
                    "{said}"
                ),
            }
            await_or(|| resolver.log(), || resolver.ctl(&["cache", "show", "."]).contains("; cut: cut, "));
        }
    });
}

/// Servers of a zone keep silent: clients over UDP are told so before they ask again.
#[test]
fn clients_are_told_that_servers_keep_silent() {
    in_internet(|internet| {
        // What answers there is no name server: the port is there, and nobody reads it.
        internet.end("plain.org.");
        let _silent =
            std::net::UdpSocket::bind("127.0.4.1:53").expect("the port of the server that has ended");
        let resolver = internet.resolver("");
        check(
            &resolver.dig(&["www.signed.org", "A"]),
            "NOERROR",
            "qr rd ra ad",
            &["www.signed.org. IN A 192.0.2.1", "www.signed.org. IN A 192.0.2.2"],
        );
        let began = Instant::now();
        let said = resolver.dig(&["www.plain.org", "A"]);
        assert!((1_800..2_900).contains(&began.elapsed().as_millis()), "{:?}: {said}", began.elapsed());
        check(&said, "SERVFAIL", "qr rd ra", &[]);
        assert!(said.contains("EDE: 22 (No Reachable Authority)"), "{said}");
        let requests = resolver.ctl(&["requests"]);
        assert!(requests.contains("www.plain.org."), "it goes on: {requests}");
        let stats = resolver.ctl(&["stats"]);
        assert!(stats.contains("unanswered"), "{stats}");
    });
}

#[test]
fn long_answers_come_over_tcp() {
    in_internet(|internet| {
        let resolver = internet.resolver("");
        let said = resolver.dig(&["large.signed.org", "TXT", "+ignore", "+bufsize=1232"]);
        assert!(said.contains(";; flags: qr tc rd ra"), "{said}");
        let said = resolver.dig(&["large.signed.org", "TXT"]);
        assert!(said.contains("Truncated, retrying in TCP mode") && said.contains("ANSWER: 1,"), "{said}");
    });
}

#[test]
fn what_has_expired_is_served_while_its_servers_are_gone() {
    in_internet(|internet| {
        let resolver = internet.resolver("stale-after-ms = 300\n");
        let brief = ["brief.plain.org. IN A 192.0.2.10"];
        check(&resolver.dig(&["brief.plain.org", "A"]), "NOERROR", "qr rd ra", &brief);
        internet.end("plain.org.");
        std::thread::sleep(std::time::Duration::from_millis(1_200));
        for _ in 0..3 {
            let asked = std::time::Instant::now();
            let said = resolver.dig(&["brief.plain.org", "A"]);
            assert!(asked.elapsed() < std::time::Duration::from_secs(1), "{said}");
            check(&said, "NOERROR", "qr rd ra", &brief);
            assert!(said.contains("EDE: 3 (Stale Answer)"), "{said}");
        }
    });
}

#[test]
fn forwarders_stubs_and_local_names() {
    in_internet(|internet| {
        let _forwarder = internet.resolver("");
        let resolver = internet.resolver_at(
            "127.0.0.2",
            "[[forward]]\nname = \"org\"\naddresses = [\"127.0.0.1\"]\n\
             [[stub]]\nname = \"inner.example\"\naddresses = [\"127.0.4.1\"]\n\
             [[local-zone]]\nname = \"home.example\"\nrecords = [\"printer 60 A 192.0.2.77\"]\n",
        );
        check(
            &resolver.dig(&["www.plain.org", "A"]),
            "NOERROR",
            "qr rd ra",
            &["www.plain.org. IN A 192.0.2.9"],
        );
        check(
            &resolver.dig(&["printer.home.example", "A"]),
            "NOERROR",
            "qr aa rd ra",
            &["printer.home.example. IN A 192.0.2.77"],
        );
        check(&resolver.dig(&["none.home.example", "A"]), "NXDOMAIN", "qr aa rd ra", &[]);
        check(&resolver.dig(&["1.0.0.10.in-addr.arpa", "PTR"]), "NXDOMAIN", "qr aa rd ra", &[]);
        check(&resolver.dig(&["www.plain.org", "A", "+norecurse"]), "REFUSED", "qr ra", &[]);
        for (name, zone, address, mark) in [
            ("www.plain.org", "org. ", " 127.0.0.1:53 ", "forwarder"),
            ("www.inner.example", "inner.example. ", " 127.0.4.1:53 ", "stub"),
            ("www.net", ". ", " 127.0.1.1 ", " ms"),
        ] {
            let said = resolver.ctl(&["servers", name]);
            assert!(said.starts_with(zone) && said.contains(address) && said.contains(mark), "{said}");
        }
    });
}

/// A forwarder for the root says nothing of whose names they are; what the operator has himself may have any address.
#[test]
fn private_addresses_behind_a_forwarder() {
    in_internet(|internet| {
        let _forwarder = internet.resolver("");
        let resolver = internet.resolver_at(
            "127.0.0.2",
            "private-addresses = [\"192.0.2.0/24\"]\n[[forward]]\nname = \".\"\naddresses = [\"127.0.0.1\"]\n\
             [[local-zone]]\nname = \"home.example\"\nrecords = [\"printer 60 A 192.0.2.77\", \"web 60 CNAME www.plain.org.\"]\n",
        );
        let said = resolver.dig(&["www.plain.org", "A"]);
        check(&said, "REFUSED", "qr rd ra", &[]);
        assert!(said.contains("EDE: 17 (Filtered)"), "{said}");
        for name in ["printer.home.example", "web.home.example"] {
            assert!(resolver.dig(&[name, "A"]).contains("status: NOERROR"), "{name}");
        }
    });
}

#[test]
fn what_is_bogus_is_kept_from_clients() {
    in_internet(|internet| {
        let resolver = internet.resolver("");
        let said = resolver.dig(&["www.broken.org", "A"]);
        check(&said, "SERVFAIL", "qr rd ra", &[]);
        assert!(said.contains("EDE: 6 (DNSSEC Bogus)"), "{said}");
        let there = ["www.broken.org. IN A 192.0.2.67"];
        check(&resolver.dig(&["www.broken.org", "A", "+cd"]), "NOERROR", "qr rd ra cd", &there);
        // As bogus as before, whoever asked with CD.
        check(&resolver.dig(&["www.broken.org", "A"]), "SERVFAIL", "qr rd ra", &[]);
        assert_eq!(
            resolver.ctl(&["negative-anchor", "broken.org", "--seconds", "3600"]),
            "broken.org. for 1 h 0 min\n"
        );
        check(&resolver.dig(&["www.broken.org", "A"]), "NOERROR", "qr rd ra", &there);
        check(
            &resolver.dig(&["www.signed.org", "AAAA"]),
            "NOERROR",
            "qr rd ra ad",
            &["www.signed.org. IN AAAA 2001:db8::1"],
        );
        assert_eq!(resolver.ctl(&["negative-anchor", "broken.org", "--remove"]), "");
        check(&resolver.dig(&["www.broken.org", "A"]), "SERVFAIL", "qr rd ra", &[]);
        assert!(
            resolver.ctl(&["negative-anchor", "broken.org", "--remove"]).contains("there is no negative")
        );
        // One that ends by itself.
        resolver.ctl(&["negative-anchor", "broken.org", "--seconds", "3"]);
        check(&resolver.dig(&["www.broken.org", "A"]), "NOERROR", "qr rd ra", &there);
        await_or(|| resolver.log(), || resolver.dig(&["www.broken.org", "A"]).contains("status: SERVFAIL"));
    });
}

#[test]
fn trust_anchors_follow_the_keys_of_the_root() {
    in_internet(|internet| {
        let state = tempfile::tempdir().expect("a folder");
        let file = state.path().join("trust-anchors");
        let more = format!("state-directory = \"{}\"\n", state.path().display());
        let kept = || std::fs::read_to_string(&file).unwrap_or_default();
        let count = |text: &str, what: &str| text.matches(what).count();
        let resolver = internet.resolver(&more);
        await_or(|| resolver.log(), || !kept().is_empty());
        // The key of the anchor, and the one that the root publishes beside it.
        let first = kept();
        assert_eq!([count(&first, "\nkey valid "), count(&first, "\nkey pending ")], [1, 1], "{first}");
        let shown = resolver.ctl(&["anchors"]);
        let is_first = |line: &str| line.contains(" valid; looked at ") && line.contains("; next look in ");
        assert!(shown.lines().count() == 2 && shown.lines().any(is_first), "{shown}");
        assert!(shown.contains(" pending for ") && shown.contains(", trusted in "), "{shown}");
        assert!(resolver.dig(&["www.signed.org", "A"]).contains("flags: qr rd ra ad"));
        drop(resolver);
        // The next start knows it, and does not look before it is time.
        let resolver = internet.resolver(&more);
        assert!(resolver.ctl(&["anchors"]).contains(" pending for "));
        assert!(resolver.dig(&["www.signed.org", "A"]).contains("flags: qr rd ra ad"));
        assert_eq!(kept(), first);
        drop(resolver);
        std::fs::write(&file, first.replace("key valid", "key trusted")).expect("a file");
        let resolver = internet.resolver(&more);
        await_or(|| resolver.log(), || count(&kept(), "\nkey valid ") == 1);
        let log = resolver.log();
        assert!(log.contains("trust-anchors: line ") && log.contains(" expected `valid`"), "{log}");
        drop(resolver);
        let resolver = internet.resolver(&format!("{more}anchor-renewal = false\n"));
        let shown = resolver.ctl(&["anchors"]);
        assert!(shown.lines().count() == 1 && shown.ends_with(" fixed\n"), "{shown}");
    });
}

/// Whether all of these are in what was said, one after the other.
#[track_caller]
fn check_order(said: &str, parts: &[&str]) {
    let mut rest = said;
    for part in parts {
        let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("no {part:?} there in\n{said}"));
        rest = after;
    }
}

#[test]
fn how_a_name_is_found_out_is_explained() {
    in_internet(|internet| {
        let resolver = internet.resolver("");
        // The second time, too, though the cache has it all then.
        for _ in 0..2 {
            let said = resolver.ctl(&["explain", "WWW.signed.org"]);
            let walk = [
                "the root has the servers of the hints\n127.0.1.1:53 says about org. A: zone org. is delegated (",
                "\nzone org. has the servers ns1.org., ns2.org.\n127.0.2.",
                "\nzone signed.org. has the servers ns1.signed.org., ns2.signed.org.\n127.0.3.",
                ":53 says about www.signed.org. A: data (",
                "\nvalidation of www.signed.org. A: secure\n  . DNSKEY: signed by . with key ",
                "\n  org. DS: signed by . with key ",
                "\n  org. DNSKEY: signed by org. with key ",
                "\n  signed.org. DS: signed by org. with key ",
                "\n  signed.org. DNSKEY: signed by signed.org. with key ",
                "\n  www.signed.org. A: signed by signed.org. with key ",
                "\nNOERROR, secure\nwww.signed.org. 300 IN A 192.0.2.1\n",
                "\nkept\n; A: data, secure, authoritative answer, ",
            ];
            check_order(&said, &walk);
        }
        let said = resolver.ctl(&["explain", "www.plain.org"]);
        let insecure = [
            "validation of www.plain.org. A: insecure: the parent proves that the zone is not signed\n",
            "\n  org. DNSKEY: signed by org. with key ",
            "\n  plain.org. DS: insecure: the parent proves that the zone is not signed\n",
            "    proved by plain.org. NSEC, signed by org.\n",
            "\nNOERROR, insecure\nwww.plain.org. 300 IN A 192.0.2.9\n",
        ];
        check_order(&said, &insecure);
        let said = resolver.ctl(&["explain", "www.broken.org", "A"]);
        let bogus = [
            "validation of www.broken.org. A: bogus: ",
            "\n  broken.org. DNSKEY: signed by broken.org. with key ",
            "\n  www.broken.org. A: bogus: the signature is not one of this key over these records\n",
            "\nSERVFAIL, bogus, EDE 6 (DNSSEC Bogus), ",
            "\nkept\n; failure A: failure, ",
        ];
        check_order(&said, &bogus);
        // Aliases lead on, from the root again; a name that does not exist is denied.
        let aliases = ["an alias of www.signed.org. (", "the root has the servers", "NOERROR, insecure\n"];
        check_order(&resolver.ctl(&["explain", "alias.plain.org"]), &aliases);
        let denied = [
            "there is no none.signed.org. (",
            "none.signed.org. TXT: proved not to exist",
            "NXDOMAIN, secure",
        ];
        check_order(&resolver.ctl(&["explain", "none.signed.org", "TXT"]), &denied);
        let json = [
            "{\"reply\":\"explanation\",\"lines\":[\"the root ",
            "\"rcode\":\"NOERROR\",\"security\":\"insecure\"",
        ];
        check_order(&resolver.ctl(&["--json", "explain", "www.plain.org"]), &json);
        assert!(resolver.ctl(&["explain", "www.plain.org", "ANY"]).contains("expected a type of records"));
        assert_eq!(resolver.ctl(&["requests"]), "", "nothing is left");
    });
}

/// A zone of its own beside the resolver: aliases that lead out of it and delegations are followed for those who want and may have recursion, and shown as
/// they are to others.
#[test]
fn zones_beside_the_resolver() {
    in_internet(|internet| {
        let files = tempfile::tempdir().expect("a folder");
        let zone = |apex: &str, records: &str| {
            let file = files.path().join(apex);
            let text =
                format!("$ORIGIN {apex}.\n$TTL 300\n@ SOA ns host 1 7200 900 86400 5\n@ NS ns\n{records}");
            std::fs::write(&file, text).expect("a zone file");
            format!("[[zone]]\nname = \"{apex}\"\nfile = \"{}\"\n", file.display())
        };
        let below = zone("sub.own.example", "ns A 127.0.0.3\nwww A 192.0.2.51\n");
        let own = zone(
            "own.example",
            "ns A 127.0.0.2\nwww A 192.0.2.50\nout CNAME www.signed.org.\nsub NS ns.sub\nns.sub A 127.0.0.3\n",
        );
        let _below = internet.resolver_at("127.0.0.3", &below);
        // The root of this Internet proves that there is no example.
        let resolver = internet.resolver_at("127.0.0.2", &format!("insecure = [\"own.example\"]\n{own}"));
        let www = ["www.own.example. IN A 192.0.2.50"];
        let out = ["out.own.example. IN CNAME www.signed.org."];
        let chain = [out[0], "www.signed.org. IN A 192.0.2.1", "www.signed.org. IN A 192.0.2.2"];
        let deeper = ["www.sub.own.example. IN A 192.0.2.51"];
        let is_referral = |said: &str| said.contains("sub.own.example.\t300\tIN\tNS\tns.sub.own.example.");
        // That recursion is available (RA) is said to all who may have it, whatever the answer comes from.
        for _ in 0..2 {
            check(&resolver.dig(&["www.own.example", "A"]), "NOERROR", "qr aa rd ra", &www);
            check(&resolver.dig(&["out.own.example", "A"]), "NOERROR", "qr rd ra", &chain);
            check(&resolver.dig(&["www.sub.own.example", "A"]), "NOERROR", "qr rd ra", &deeper);
            check(&resolver.dig(&["out.own.example", "A", "+norecurse"]), "NOERROR", "qr aa ra", &out);
            let said = resolver.dig(&["www.sub.own.example", "A", "+norecurse"]);
            check(&said, "NOERROR", "qr ra", &[]);
            assert!(is_referral(&said), "{said}");
            check(&resolver.dig(&["version.bind", "TXT", "CH", "+norecurse"]), "REFUSED", "qr ra", &[]);
            check(&resolver.dig(&["+opcode=STATUS"]), "NOTIMP", "qr rd ra", &[]);
        }
        drop(resolver);
        let nobody = format!("{own}[access]\nrecursion = \"nobody\"\n");
        let resolver = internet.resolver_at("127.0.0.2", &nobody);
        check(&resolver.dig(&["www.own.example", "A"]), "NOERROR", "qr aa rd", &www);
        check(&resolver.dig(&["out.own.example", "A"]), "NOERROR", "qr aa rd", &out);
        let said = resolver.dig(&["www.sub.own.example", "A"]);
        check(&said, "NOERROR", "qr rd", &[]);
        assert!(is_referral(&said), "{said}");
        check(&resolver.dig(&["www.plain.org", "A"]), "REFUSED", "qr rd", &[]);
    });
}

#[test]
fn limits_of_rates_hold_beside_a_resolver() {
    in_internet(|internet| {
        let files = tempfile::tempdir().expect("a folder");
        let file = files.path().join("own.example");
        std::fs::write(&file, "$TTL 300\n@ SOA ns host 1 7200 900 86400 5\n@ NS ns\nns A 192.0.2.1\n")
            .expect("a zone");
        let own = format!("[[zone]]\nname = \"own.example\"\nfile = \"{}\"\n", file.display());
        let limits = "[rate-limit]\nenabled = true\nresponses-per-second = 2\nslip = 0\n";
        let _resolver = internet.resolver(&format!("{limits}{own}"));
        let query = Query::new("ns.own.example", rtype::A).octets();
        let at = "127.0.0.1:53".parse().expect("an address");
        let ask = || udp_within(at, &query, Duration::from_millis(50)).ok().flatten().is_some();
        let answered = (0..30).filter(|_| ask()).count();
        assert!((1..20).contains(&answered), "{answered} of 30");
    });
}

/// Settings of what clients get, told anew while the server runs; what the log says of them.
#[test]
fn clients_by_settings() {
    in_internet(|internet| {
        let local = |kind: &str, more: &str| {
            format!("[[local-zone]]\nname = \"{kind}.example\"\nkind = \"{kind}\"\n{more}")
        };
        let of_resolver =
            "dns64-prefixes = [\"2001:db8:64::/96\"]\ndns64-clients = [\"127.0.0.6\"]\nlog-failures = true\n";
        let zones = local("null", "log = true\n") + &local("nodata", "");
        // One that others than this machine reach.
        assert!(internet::ip(&["address", "add", "198.18.0.1/32", "dev", "lo"]), "an address");
        let resolver = internet.resolver_at("198.18.0.1", &format!("{of_resolver}{zones}"));
        let www = ["www.plain.org", "AAAA"];
        let made = ["www.plain.org. IN AAAA 2001:db8:64::c000:209"];
        check(&resolver.dig(&[&www[..], &["-b", "127.0.0.6"]].concat()), "NOERROR", "qr rd ra", &made);
        check(&resolver.dig(&[&www[..], &["-b", "127.0.0.7"]].concat()), "NOERROR", "qr rd ra", &[]);
        check(
            &resolver.dig(&["a.null.example", "A"]),
            "NOERROR",
            "qr aa rd ra",
            &["a.null.example. IN A 0.0.0.0"],
        );
        check(&resolver.dig(&["a.nodata.example", "A"]), "NOERROR", "qr aa rd ra", &[]);
        check(&resolver.dig(&["www.broken.org", "A"]), "SERVFAIL", "qr rd ra", &[]);
        let log = resolver.log();
        assert!(log.contains("198.18.0.1 asks for a.null.example. A, of a local zone"), "{log}");
        assert!(!log.contains("nodata.example") && !log.contains("WARN recursion of"), "{log}");
        assert!(log.contains("SERVFAIL for www.broken.org. A, EDE 6 (DNSSEC Bogus)"), "{log}");
        // Who is in none of the machine's networks of when it started is not local, whatever it listens on.
        assert!(internet::ip(&["address", "add", "203.0.113.9/32", "dev", "lo"]), "an address");
        let stranger = ["-b", "203.0.113.9"];
        let refused = resolver.dig(&[&["www.plain.org", "A"][..], &stranger].concat());
        check(&refused, "REFUSED", "qr rd", &[]);
        resolver.reload(
            "private-addresses = [\"192.0.2.9\"]\nmisses-per-second = 1\n[access]\nrecursion = \"all\"\n",
        );
        let said = resolver.dig(&[&["www.plain.org", "A"][..], &stranger].concat());
        check(&said, "REFUSED", "qr rd ra", &[]);
        assert!(said.contains("EDE: 17 (Filtered)"), "{said}");
        let log = resolver.log();
        assert!(log.contains("WARN recursion of [access] lets in anybody"), "{log}");
        let said: Vec<String> = (0..6)
            .map(|number| resolver.dig(&[&format!("{number}.signed.org")[..], "A", "+ignore"]))
            .collect();
        assert!(said.iter().any(|said| said.contains(";; flags: qr tc rd ra")), "{said:?}");
        resolver.reload("");
        check(&resolver.dig(&["7.signed.org", "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
    });
}
