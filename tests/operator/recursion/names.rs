//! What clients get: names resolved and validated, or said why not.

use zonda_tests::patience::await_or;

use super::internet::in_internet;
use super::{check, milliseconds};

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
        let said = resolver.dig(&["www.plain.org", "A"]);
        assert!((1_800..2_900).contains(&milliseconds(&said)), "{said}");
        check(&said, "SERVFAIL", "qr rd ra", &[]);
        assert!(said.contains("EDE: 22 (No Reachable Authority)"), "{said}");
        let requests = resolver.ctl(&["requests"]);
        assert!(requests.contains("www.plain.org."), "it goes on: {requests}");
        let stats = resolver.ctl(&["stats"]);
        assert!(stats.contains("unanswered"), "{stats}");
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
            let said = resolver.dig(&["brief.plain.org", "A"]);
            assert!(milliseconds(&said) < 1_000, "{said}");
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
            let said = said.split_once('\n').map_or("", |(_, lines)| lines);
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
