#![allow(clippy::unwrap_used)]

use super::*;
use wire::iana::rtype;

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn record(owner: &str, rtype: u16, rdata: &[u8]) -> Record {
    Record { owner: name(owner), rtype, ttl: 60, rdata: rdata.into() }
}

/// One word for what is found.
fn word(local: &Local, asked: &str, qtype: u16) -> String {
    match local.find(&name(asked), qtype).0 {
        Found::Nothing => "resolved".into(),
        Found::Data(set) => format!("{} of type {}", set.rdatas.count(), set.rtype),
        Found::Alias(_, target) => target.to_string(),
        Found::Denied { has_name: true, is_blocked, .. } => format!("NODATA{}", mark(is_blocked)),
        Found::Denied { has_name: false, is_blocked, .. } => format!("NXDOMAIN{}", mark(is_blocked)),
        Found::Null => "null".into(),
        Found::Refused => "REFUSED".into(),
        Found::Dropped => "dropped".into(),
    }
}

fn mark(is_blocked: bool) -> &'static str {
    if is_blocked { " blocked" } else { "" }
}

#[test]
fn special_names() {
    let local = Local::default();
    for (asked, qtype, expected) in [
        ("localhost", rtype::A, "1 of type 1"),
        ("a.b.localhost", rtype::AAAA, "1 of type 28"),
        ("localhost", rtype::MX, "NODATA"),
        ("www.test", rtype::A, "NXDOMAIN"),
        ("invalid", rtype::A, "NXDOMAIN"),
        ("x.onion", rtype::A, "NXDOMAIN"),
        ("printer.local", rtype::A, "NXDOMAIN"),
        ("home.arpa", rtype::SOA, "1 of type 6"),
        ("home.arpa", rtype::NS, "1 of type 2"),
        ("home.arpa", rtype::DS, "resolved"),
        ("tv.home.arpa", rtype::A, "NXDOMAIN"),
        ("_dns.resolver.arpa", rtype::SVCB, "NODATA"),
        ("ipv4only.arpa", rtype::A, "resolved"),
        ("10.in-addr.arpa", rtype::DS, "resolved"),
        ("4.3.2.10.in-addr.arpa", rtype::PTR, "NXDOMAIN"),
        ("1.1.15.172.in-addr.arpa", rtype::PTR, "resolved"),
        ("1.1.16.172.in-addr.arpa", rtype::PTR, "NXDOMAIN"),
        ("1.1.31.172.in-addr.arpa", rtype::PTR, "NXDOMAIN"),
        ("1.1.63.100.in-addr.arpa", rtype::PTR, "resolved"),
        ("1.1.64.100.in-addr.arpa", rtype::PTR, "NXDOMAIN"),
        ("1.0.0.127.in-addr.arpa", rtype::PTR, "1 of type 12"),
        ("0.0.127.in-addr.arpa", rtype::PTR, "NODATA"),
        ("2.0.0.127.in-addr.arpa", rtype::PTR, "NXDOMAIN"),
        (
            "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa",
            rtype::PTR,
            "1 of type 12",
        ),
        ("example", rtype::A, "resolved"),
        ("www.example.com", rtype::A, "resolved"),
        (".", rtype::NS, "resolved"),
        ("arpa", rtype::NS, "resolved"),
    ] {
        assert_eq!(word(&local, asked, qtype), expected, "{asked} {qtype}");
    }
    let with = Local::new(&Source { has_dns64: true, ..Source::default() });
    assert_eq!(word(&with, "ipv4only.arpa", rtype::A), "2 of type 1");
    assert_eq!(word(&with, "170.0.0.192.in-addr.arpa", rtype::PTR), "1 of type 12");
}

#[test]
fn lifted_names() {
    let exceptions = ["test", "1.168.192.in-addr.arpa", ".", "home.arpa"].map(name).to_vec();
    let local = Local::new(&Source { exceptions, ..Source::default() });
    for (asked, expected) in [
        ("www.test", "resolved"),
        ("www.invalid", "NXDOMAIN"),
        ("5.1.168.192.in-addr.arpa", "resolved"),
        ("5.2.168.192.in-addr.arpa", "NXDOMAIN"),
        ("tv.home.arpa", "resolved"),
    ] {
        assert_eq!(word(&local, asked, rtype::PTR), expected, "{asked}");
    }
    let none = Local::new(&Source { has_special: false, ..Source::default() });
    assert_eq!(word(&none, "www.invalid", rtype::A), "resolved");
}

#[test]
fn zones_of_the_operator() {
    use Kind::*;
    let kinds = [
        ("static.x", Static),
        ("transparent.x", Transparent),
        ("type.x", TypeTransparent),
        ("redirect.x", Redirect),
        ("nx.x", NxDomain),
        ("nodata.x", NoData),
        ("null.x", Null),
        ("refuse.x", Refuse),
        ("drop.x", Drop),
        ("fine.nx.x", Transparent),
    ];
    let zones = kinds.map(|(text, kind)| Zone::new(name(text), kind)).to_vec();
    let mut records = vec![record("alone.y", rtype::A, b"abcd"), record("pc.home.arpa", rtype::A, b"abcd")];
    for (zone, _) in &kinds[..3] {
        records.push(record(&format!("A.b.{zone}"), rtype::A, b"abcd"));
        records.push(record(&format!("a.b.{zone}"), rtype::A, b"efgh"));
        records.push(record(&format!("a.b.{zone}"), rtype::A, b"efgh"));
        records.push(record(&format!("alias.{zone}"), rtype::CNAME, b"\x01t\0"));
    }
    records.push(record("redirect.x", rtype::A, b"abcd"));
    let local = Local::new(&Source { zones, records, ..Source::default() });
    for (asked, qtype, expected) in [
        ("a.b.static.x", rtype::A, "2 of type 1"),
        ("a.b.static.x", rtype::MX, "NODATA"),
        ("b.static.x", rtype::A, "NODATA"),
        ("c.static.x", rtype::A, "NXDOMAIN"),
        ("static.x", rtype::SOA, "1 of type 6"),
        ("alias.static.x", rtype::A, "t."),
        ("alias.static.x", rtype::CNAME, "1 of type 5"),
        ("alias.static.x", rtype::ANY, "1 of type 5"),
        ("a.b.transparent.x", rtype::A, "2 of type 1"),
        ("a.b.transparent.x", rtype::MX, "NODATA"),
        ("b.transparent.x", rtype::A, "resolved"),
        ("c.transparent.x", rtype::A, "resolved"),
        ("a.b.type.x", rtype::A, "2 of type 1"),
        ("a.b.type.x", rtype::MX, "resolved"),
        ("any.redirect.x", rtype::A, "1 of type 1"),
        ("any.redirect.x", rtype::MX, "NODATA"),
        ("redirect.x", rtype::ANY, "1 of type 1"),
        ("a.nx.x", rtype::A, "NXDOMAIN blocked"),
        ("a.fine.nx.x", rtype::A, "resolved"),
        ("a.nodata.x", rtype::A, "NODATA blocked"),
        ("null.x", rtype::AAAA, "null"),
        ("null.x", rtype::MX, "NODATA blocked"),
        ("refuse.x", rtype::A, "REFUSED"),
        ("a.drop.x", rtype::A, "dropped"),
        ("alone.y", rtype::A, "1 of type 1"),
        ("alone.y", rtype::MX, "NODATA"),
        ("b.alone.y", rtype::A, "resolved"),
        ("x", rtype::A, "resolved"),
        ("pc.home.arpa", rtype::A, "1 of type 1"),
        ("tv.home.arpa", rtype::A, "NXDOMAIN"),
    ] {
        assert_eq!(word(&local, asked, qtype), expected, "{asked} {qtype}");
    }
    let root = Local::new(&Source { zones: vec![Zone::new(name("."), Refuse)], ..Source::default() });
    assert_eq!(word(&root, "www.example", rtype::A), "REFUSED");
}
