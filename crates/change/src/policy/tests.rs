#![allow(clippy::unwrap_used)]

use super::*;
use wire::NameBuf;

fn name(text: &str) -> NameBuf {
    NameBuf::from_text(text).unwrap()
}

fn asker(key: Option<&NameBuf>, address: &str, transport: Transport) -> Asker<'static> {
    let key = key.map(|key| &**Box::leak(Box::new(key.clone())));
    Asker { address: address.parse().unwrap(), transport, key }
}

#[test]
fn first_rule_that_fits_decides() {
    let policy = Policy::new([
        "deny  *                name      gateway.dyn.example.",
        "deny  dhcp-key.        subdomain static.dyn.example. TXT",
        "grant dhcp-key.        subdomain dyn.example. A AAAA DHCID TXT",
        "grant *.hosts.example. self      *   A AAAA",
        "grant *.hosts.example. selfsub   .   TXT",
        "grant root-key.        zonesub   ANY",
        "grant *                wildcard  *.open.example. TXT",
    ])
    .unwrap();
    use rtype::{A, CNAME, NS, SOA, TXT};
    for (key, owner, rtype, rule, is_granted) in [
        ("dhcp-key.", "gateway.dyn.example.", A, Some(1), false),
        ("DHCP-key.", "A.DYN.example.", A, Some(3), true),
        ("dhcp-key.", "dyn.example.", A, Some(3), true),
        ("dhcp-key.", "xdyn.example.", A, None, false),
        ("dhcp-key.", "a.dyn.example.", CNAME, None, false),
        ("dhcp-key.", "a.static.dyn.example.", TXT, Some(2), false),
        ("dhcp-key.", "a.static.dyn.example.", A, Some(3), true),
        ("h1.hosts.example.", "h1.hosts.example.", A, Some(4), true),
        ("h1.hosts.example.", "h2.hosts.example.", A, None, false),
        ("h1.hosts.example.", "a.h1.hosts.example.", A, None, false),
        ("h1.hosts.example.", "a.h1.hosts.example.", TXT, Some(5), true),
        ("hosts.example.", "hosts.example.", A, None, false),
        ("root-key.", "example.", SOA, Some(6), true),
        ("root-key.", "example.", NS, Some(6), true),
        ("", "a.b.open.example.", TXT, Some(7), true),
        ("", "open.example.", TXT, None, false),
    ] {
        let key = (!key.is_empty()).then(|| name(key));
        let asker = asker(key.as_ref(), "192.0.2.1", Transport::Udp);
        let owner = name(owner);
        let decision = policy.of(&asker).decide(SortKey::of(&owner).octets(), rtype);
        assert_eq!((decision.rule, decision.is_granted), (rule, is_granted), "{key:?} {owner}");
        let explained = policy.explain(&asker, &owner, rtype);
        assert_eq!(explained.is_granted, is_granted, "{explained}");
        assert_eq!(explained.lines.len(), usize::from(rule.unwrap_or(7)) + 1, "{explained}");
        // The last one that is looked at is the one that decides.
        let (permission, key) = (policy.of(&asker), SortKey::of(&owner));
        let looked: Vec<Looked<'_>> = permission.look(key.octets(), rtype).collect();
        assert!(looked.iter().zip(1..).all(|(looked, number)| looked.number == number), "{looked:?}");
        let last = looked.last().filter(|last| last.misfit.is_none());
        assert_eq!(last.map(|last| (last.number, last.is_grant)), rule.map(|rule| (rule, is_granted)));
        assert_eq!(
            looked.iter().filter(|looked| looked.misfit.is_none()).count(),
            usize::from(last.is_some())
        );
    }
}

#[test]
fn usual_types_are_not_those_of_structure() {
    let policy = Policy::new(["grant k. zonesub"]).unwrap();
    let asker = asker(Some(&name("k.")), "::1", Transport::Udp);
    for (rtype, is_granted) in [
        (rtype::A, true),
        (rtype::CNAME, true),
        (65_280, true),
        (rtype::NS, false),
        (rtype::DNAME, false),
        (rtype::RRSIG, false),
        (rtype::DS, false),
        (rtype::CSYNC, false),
    ] {
        assert_eq!(policy.of(&asker).decide(b"example\0", rtype).is_granted, is_granted, "{rtype}");
    }
}

#[test]
fn addresses_name_themselves_over_streams() {
    let policy = Policy::new(["grant * tcp-self * PTR"]).unwrap();
    for (address, owner) in [
        ("192.0.2.7", "7.2.0.192.in-addr.arpa."),
        ("::ffff:192.0.2.7", "7.2.0.192.in-addr.arpa."),
        ("2001:db8::a1", "1.a.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa."),
    ] {
        let key = SortKey::of(&name(owner));
        let ask = |transport| {
            let asker = asker(None, address, transport);
            (policy.of(&asker).is_known(), policy.of(&asker).decide(key.octets(), rtype::PTR).is_granted)
        };
        assert_eq!(ask(Transport::Tcp), (true, true));
        assert_eq!(ask(Transport::Udp), (false, false), "an address over UDP can be forged");
    }
}

#[test]
fn senders_that_nothing_is_granted_to_are_not_known() {
    let policy = Policy::new([
        "deny a. zonesub ANY",
        "deny b. zonesub TXT",
        "grant b. name x.example. A",
        "grant * self *",
    ])
    .unwrap();
    let knows = |key: Option<&str>| {
        let key = key.map(name);
        policy.of(&asker(key.as_ref(), "::1", Transport::Udp)).is_known()
    };
    assert_eq!((knows(Some("b.")), knows(Some("c.")), knows(None)), (true, true, false));
    let of = |key, owner: &str| {
        let asker = asker(Some(&name(key)), "::1", Transport::Udp);
        policy.of(&asker).decide_any(SortKey::of(&name(owner)).octets())
    };
    assert_eq!(of("b.", "x.example."), Decision { is_granted: true, rule: Some(3) });
    assert_eq!(of("b.", "y.example."), Decision { is_granted: false, rule: None });
    assert_eq!(of("a.", "a."), Decision { is_granted: false, rule: Some(1) });
}

#[test]
fn faults_of_rules() {
    for (text, expected) in [
        ("", RuleFault::Action),
        ("allow a. zonesub", RuleFault::Action),
        ("grant", RuleFault::Identity),
        ("grant . zonesub", RuleFault::Identity),
        ("grant a..b zonesub", RuleFault::Identity),
        ("grant a.", RuleFault::Match(String::new())),
        ("grant a. 6to4-self *", RuleFault::Match("6to4-self".into())),
        ("grant a. name", RuleFault::Name(String::new())),
        ("grant a. wildcard b.", RuleFault::Name("b.".into())),
        ("grant a. zonesub A FOO", RuleFault::Type("FOO".into())),
        ("grant a. self * AXFR", RuleFault::Type("AXFR".into())),
        ("grant api: zonesub", RuleFault::Identity),
        ("grant api:a/b zonesub", RuleFault::Identity),
        ("grant a. label", RuleFault::Name(String::new())),
        ("grant a. label .", RuleFault::Name(".".into())),
    ] {
        assert_eq!(Policy::new(["grant a. zonesub", text]).err(), Some((1, expected)), "{text}");
    }
    let many = vec!["deny * zonesub"; RULES_MAX + 1];
    assert_eq!(Policy::new(many.iter().copied()).err(), Some((RULES_MAX, RuleFault::TooMany)));
}

#[test]
fn first_labels() {
    let policy = Policy::new(["grant * label _acme-challenge TXT", "grant * label a.b A"]).unwrap();
    let asker = asker(None, "::1", Transport::Udp);
    let decide =
        |owner: &str, rtype| policy.of(&asker).decide(SortKey::of(&name(owner)).octets(), rtype).rule;
    use rtype::{A, TXT};
    for (owner, rtype, rule) in [
        ("_acme-challenge.example.", TXT, Some(1)),
        ("_ACME-challenge.", TXT, Some(1)),
        ("x_acme-challenge.example.", TXT, None),
        ("x._acme-challenge.example.", TXT, None),
        ("_acme-challenge.example.", A, None),
        ("a.b.example.", A, Some(2)),
        ("a.example.", A, None),
        ("b.", A, None),
        ("xa.b.example.", A, None),
        // Octets that have a meaning in keys.
        ("x\\000a.b.example.", A, None),
    ] {
        assert_eq!(decide(owner, rtype), rule, "{owner}");
    }
}

/// A key of the API is no key of that name, and none of these is one of the API.
#[test]
fn keys_of_the_api() {
    let policy = Policy::new([
        "grant acme. zonesub A",
        "grant api:acme zonesub TXT",
        "grant api:acme. zonesub MX",
        "grant * self *",
        "grant * tcp-self * PTR",
        "grant * name open.example. AAAA",
    ])
    .unwrap();
    let owner = |text: &str| SortKey::of(&name(text)).octets().to_vec();
    let decide = |of: &Permission<'_>, text: &str, rtype| of.decide(&owner(text), rtype).rule;
    use rtype::{A, AAAA, MX, PTR, TXT};
    let api = policy.of_api("acme");
    assert!(api.is_known() && !Policy::new(["grant acme. zonesub"]).unwrap().of_api("acme").is_known());
    let said = [A, TXT, MX].map(|rtype| decide(&api, "x.example.", rtype));
    assert_eq!(said, [None, Some(2), None]);
    assert_eq!(decide(&policy.of_api("acme."), "x.example.", MX), Some(3));
    assert_eq!(decide(&policy.of_api("Acme"), "x.example.", TXT), None);
    assert_eq!(decide(&api, "open.example.", AAAA), Some(6));
    assert_eq!(decide(&api, "acme.", A), None);
    assert_eq!(decide(&api, "1.0.0.127.in-addr.arpa.", PTR), None);
    for key in ["acme.", "api:acme."] {
        let tsig = asker(Some(&name(key)), "::1", Transport::Tcp);
        assert_eq!(decide(&policy.of(&tsig), "x.example.", TXT), None, "{key}");
    }
}

#[test]
fn rules_of_keys_of_the_api() {
    assert_eq!(
        of_api_key(" grant  label _acme-challenge TXT ").unwrap(),
        "grant * label _acme-challenge TXT"
    );
    for (text, expected) in [
        ("grant self *", RuleFault::NoSelf),
        ("grant tcp-self", RuleFault::NoSelf),
        ("grant * zonesub", RuleFault::Match("*".into())),
        ("grant", RuleFault::Match(String::new())),
        ("allow zonesub", RuleFault::Action),
    ] {
        assert_eq!(of_api_key(text), Err(expected), "{text}");
    }
}
