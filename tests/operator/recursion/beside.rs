//! Zones of its own beside the resolver.

use std::time::Duration;

use zonda_tests::exchange::udp_within;
use zonda_tests::message::Query;
use zonda_tests::rtype;

use super::check;
use super::internet::in_internet;

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

/// What operators watch, `queries`, types and response codes, is what clients asked for and got, with zones beside the resolver and without.
#[test]
fn what_clients_get_is_counted() {
    in_internet(|internet| {
        let files = tempfile::tempdir().expect("a folder");
        let file = files.path().join("own.example");
        std::fs::write(&file, "$TTL 300\n@ SOA ns host 1 7200 900 86400 5\n@ NS ns\nns A 192.0.2.1\n")
            .expect("a zone");
        let own = format!("[[zone]]\nname = \"own.example\"\nfile = \"{}\"\n", file.display());
        let asked = [
            ("ns.own.example", "A", "+recurse"),
            ("www.plain.org", "A", "+recurse"),
            ("www.plain.org", "A", "+recurse"),
            ("www.plain.org", "MX", "+noedns"),
            ("none.plain.org", "A", "+recurse"),
            ("www.broken.org", "A", "+recurse"),
            ("www.plain.org", "A", "+norecurse"),
        ];
        for (zone, codes) in [
            (&*own, [("NOERROR", 4), ("NXDOMAIN", 1), ("SERVFAIL", 1), ("REFUSED", 1)]),
            // The root of this Internet proves that there is no example.
            ("", [("NOERROR", 3), ("NXDOMAIN", 2), ("SERVFAIL", 1), ("REFUSED", 1)]),
        ] {
            let resolver = internet.resolver(zone);
            let count = |name: &str| -> u32 {
                let stats = resolver.ctl(&["stats"]);
                let of_name = |line: &str| {
                    line.split_whitespace().next().filter(|first| *first == name)?;
                    line.split_whitespace().nth(1)?.parse().ok()
                };
                stats.lines().find_map(of_name).unwrap_or(0)
            };
            let kinds = [("queries", 7), ("edns", 6), ("A", 6), ("MX", 1), ("udp-ipv4", 7)];
            let expected: Vec<(&str, u32)> = kinds.into_iter().chain(codes).collect();
            // Some were asked to see that it has begun.
            let before: Vec<u32> = expected.iter().map(|(name, _)| count(name)).collect();
            for (name, rtype, how) in asked {
                resolver.dig(&[name, rtype, how]);
            }
            let counted =
                expected.iter().zip(before).map(|((name, _), before)| (*name, count(name) - before));
            assert_eq!(counted.collect::<Vec<_>>(), expected);
        }
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

/// Zones of its own go before what is known from others, at the end of aliases too; and the filter against rebinding holds beside them.
#[test]
fn own_zones_at_the_end_of_aliases() {
    in_internet(|internet| {
        let files = tempfile::tempdir().expect("a folder");
        let file = |apex: &str, records: &str| {
            let path = files.path().join(apex);
            let text =
                format!("$ORIGIN {apex}.\n$TTL 300\n@ SOA ns host 1 7200 900 86400 5\n@ NS ns\n{records}");
            std::fs::write(&path, text).expect("a zone file");
            path.display().to_string()
        };
        let corp = file("corp.internal", "ns A 127.0.0.2\nhost A 192.0.2.60\n");
        let plain = file("plain.org", "ns A 127.0.0.2\nwww A 192.0.2.61\n");
        let resolver = internet.resolver(&format!(
            "private-addresses = [\"192.0.2.9\"]\n[[zone]]\nname = \"corp.internal\"\nfile = \"{corp}\"\n\
             [[local-zone]]\nname = \"home.example\"\nrecords = [\"p 60 CNAME host.corp.internal.\", \"w 60 CNAME www.plain.org.\"]\n"
        ));
        // The root of this Internet proves that there is no internal, and hence nothing below it.
        check(&resolver.dig(&["foo.internal", "A"]), "NXDOMAIN", "qr rd ra ad", &[]);
        let host = ["host.corp.internal. IN A 192.0.2.60", "p.home.example. IN CNAME host.corp.internal."];
        check(&resolver.dig(&["p.home.example", "A"]), "NOERROR", "qr rd ra", &host);
        // Of others, and private.
        assert!(resolver.dig(&["www.plain.org", "A"]).contains("EDE: 17 (Filtered)"));
        for _ in 0..3 {
            let said = resolver.dig(&["w.home.example", "A"]);
            assert!(said.contains("192.0.2.9"), "{said}");
        }
        resolver.ctl(&["add-zone", "plain.org", &plain]);
        let ours = ["w.home.example. IN CNAME www.plain.org.", "www.plain.org. IN A 192.0.2.61"];
        for _ in 0..3 {
            check(&resolver.dig(&["w.home.example", "A"]), "NOERROR", "qr rd ra", &ours);
        }
    });
}
