//! What operators see and set: the cache, how a name is found out, trust anchors, settings told anew.

use std::time::{Duration, Instant};

use zonda_tests::patience::{await_or, await_some};

use super::internet::{self, Resolver, in_internet};
use super::{check, check_order};

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
            servers.starts_with("zone ")
                && servers.contains("\nplain.org. ")
                && servers.contains(" 127.0.4.1 ")
                && servers.contains(" ms"),
            "{servers}"
        );
        assert_eq!(resolver.ctl(&["cache", "flush", "www.plain.org"]), "1 entry forgotten\n");
        let nothing = "nothing is kept of www.plain.org\n";
        assert_eq!(resolver.ctl(&["cache", "show", "www.plain.org"]), nothing);
        assert_eq!(resolver.ctl(&["--json", "cache", "show", "www.plain.org"]), "");
        let flushed = resolver.ctl(&["cache", "flush", "--tree", "org"]);
        assert!(flushed.ends_with(" entries forgotten\n"), "{flushed}");
        assert_eq!(resolver.ctl(&["cache", "show", "plain.org"]), "nothing is kept of plain.org\n");
        assert!(
            resolver.ctl(&["cache", "stats"]).contains(" of 16.0 MiB"),
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

/// Why something failed, and what is left of each TTL of a denial.
#[test]
fn the_cache_says_why_and_for_how_long() {
    in_internet(|internet| {
        let resolver = internet.resolver("");
        resolver.dig(&["www.broken.org", "A"]);
        let shown = resolver.ctl(&["cache", "show", "www.broken.org"]);
        assert!(
            shown.contains("; failure A: failure, EDE 6 (DNSSEC Bogus), not asked again for "),
            "{shown}"
        );
        resolver.dig(&["none.signed.org", "A"]);
        let ttls = || -> Vec<u32> {
            let shown = resolver.ctl(&["cache", "show", "none.signed.org"]);
            let records = shown.lines().filter(|line| !line.starts_with(';'));
            records.filter_map(|line| line.split(' ').nth(1)?.parse().ok()).collect()
        };
        let first = ttls();
        assert!(first.len() >= 4 && first.iter().all(|ttl| (1..=5).contains(ttl)), "{first:?}");
        await_or(|| resolver.log(), || ttls().iter().all(|ttl| *ttl <= 3));
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
                // Nobody asks the worker, which may not have begun yet.
                "stats" => await_or(|| resolver.ctl(words), || resolver.ctl(words).contains("\nresolver\n")),
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

/// What `ctl explain` says of a name, once no server was late: of a busy machine one may be, which is said then, and asked again elsewhere.
fn explained(resolver: &Resolver, of: &[&str]) -> String {
    let explain = || Some(resolver.ctl(&[&["explain"], of].concat()));
    await_some(
        || format!("servers in time, for {of:?}"),
        || explain().filter(|said| !said.contains(" in time")),
    )
}

#[test]
fn how_a_name_is_found_out_is_explained() {
    in_internet(|internet| {
        let resolver = internet.resolver("");
        // The second time, too, though the cache has it all then.
        for _ in 0..2 {
            let said = explained(&resolver, &["WWW.signed.org"]);
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
        let said = explained(&resolver, &["www.plain.org"]);
        let insecure = [
            "validation of www.plain.org. A: insecure: the parent proves that the zone is not signed\n",
            "\n  org. DNSKEY: signed by org. with key ",
            "\n  plain.org. DS: insecure: the parent proves that the zone is not signed\n",
            "    proved by plain.org. NSEC, signed by org.\n",
            "\nNOERROR, insecure\nwww.plain.org. 300 IN A 192.0.2.9\n",
        ];
        check_order(&said, &insecure);
        let said = explained(&resolver, &["www.broken.org", "A"]);
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
        check_order(&explained(&resolver, &["alias.plain.org"]), &aliases);
        let denied = [
            "there is no none.signed.org. (",
            "none.signed.org. TXT: proved not to exist",
            "NXDOMAIN, secure",
        ];
        check_order(&explained(&resolver, &["none.signed.org", "TXT"]), &denied);
        let json = [
            "{\"reply\":\"explanation\",\"lines\":[\"the root ",
            "\"rcode\":\"NOERROR\",\"security\":\"insecure\"",
        ];
        check_order(&resolver.ctl(&["--json", "explain", "www.plain.org"]), &json);
        assert!(explained(&resolver, &["www.plain.org", "ANY"]).contains("expected a type of records"));
        assert_eq!(resolver.ctl(&["requests"]), "", "nothing is left");
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
