//! Names that are answered from here, blocked names, private addresses.

use super::{A, local, outcome, waiting};
use crate::kit::{Kit, name, query};
use crate::local::Kind;
use crate::names::Names;
use crate::rebinding::{Reaction, Rebinding};
use cache::Security::{Insecure, Secure};
use wire::header::AD;
use wire::iana::rtype;

#[test]
fn local_names() {
    let mut kit = Kit::new();
    kit.policy.local = local(
        &[
            ("s.x", Kind::Static),
            ("n.x", Kind::Null),
            ("r.x", Kind::Refuse),
            ("d.x", Kind::Drop),
            ("nx.x", Kind::NxDomain),
        ],
        &[
            ("www.s.x", rtype::A, "192.0.2.7"),
            ("out.s.x", rtype::CNAME, "www.y"),
            ("in.s.x", rtype::CNAME, "www.s.x"),
            ("loop.s.x", rtype::CNAME, "loop.s.x"),
            ("far.s.x", rtype::CNAME, "unknown.y"),
        ],
    );
    kit.data("www.y", rtype::A, 50, A, Secure);
    for (asked, qtype, expected) in [
        ("wWw.s.x", rtype::A, "NOERROR aa | wWw.s.x. 60 A 192.0.2.7"),
        ("www.s.x", rtype::AAAA, "NOERROR aa |  | s.x. 10800 SOA s.x."),
        ("no.s.x", rtype::A, "NXDOMAIN aa |  | s.x. 10800 SOA s.x."),
        ("in.s.x", rtype::A, "NOERROR aa | in.s.x. 60 CNAME www.s.x., www.s.x. 60 A 192.0.2.7"),
        ("out.s.x", rtype::A, "NOERROR | out.s.x. 60 CNAME www.y., www.y. 50 A 192.0.2.1"),
        ("loop.s.x", rtype::A, "SERVFAIL"),
        ("far.s.x", rtype::A, "Miss"),
        ("a.n.x", rtype::A, "NOERROR aa 15 | a.n.x. 10800 A 0.0.0.0"),
        ("a.n.x", rtype::AAAA, "NOERROR aa 15 | a.n.x. 10800 AAAA ::"),
        ("a.n.x", rtype::MX, "NOERROR aa 15 |  | n.x. 10800 SOA n.x."),
        ("a.r.x", rtype::A, "REFUSED 15"),
        ("a.d.x", rtype::A, "Drop"),
        ("a.nx.x", rtype::A, "NXDOMAIN aa 15 |  | nx.x. 10800 SOA nx.x."),
        ("localhost", rtype::A, "NOERROR aa | localhost. 10800 A 127.0.0.1"),
        ("a.test", rtype::A, "NXDOMAIN aa |  | test. 10800 SOA test."),
    ] {
        assert_eq!(kit.ask(asked, qtype, AD, false), expected, "{asked} {qtype}");
        assert_eq!(kit.responder.is_told(), asked.ends_with(".x"), "{asked}");
    }
    // Whoever may have recursion gets them without RD too.
    assert!(kit.serve(&query("localhost", rtype::A, 0, None, b"")).1.is_some());
    // An alias that leads to what is not known: its target is asked for, and the alias stands before what comes.
    kit.ask("far.s.x", rtype::A, 0, false);
    assert_eq!(kit.responder.ask(0).name, &*name("unknown.y"));
    let mut waiting = kit.responder.waiting();
    let outcome = outcome(&[("unknown.y", rtype::A, 60, A)], &[], Secure);
    let said = kit.reply(&mut waiting, &outcome).unwrap();
    assert_eq!(said.words(), "NOERROR | far.s.x. 60 CNAME unknown.y., unknown.y. 60 A 192.0.2.1");
}

/// An alias of others is no way round what the operator has blocked.
#[test]
fn blocked_targets() {
    let mut kit = Kit::new();
    kit.policy.local = local(&[("nx.y", Kind::NxDomain), ("r.y", Kind::Refuse), ("n.y", Kind::Null)], &[]);
    for (target, expected) in
        [("a.nx.y", "NXDOMAIN 15"), ("a.r.y", "REFUSED 15"), ("a.n.y", "NOERROR 15"), ("fine.y", "NOERROR |")]
    {
        kit.data("www.x", rtype::CNAME, 60, &[target], Insecure);
        kit.data(target, rtype::A, 60, A, Insecure);
        let said = kit.ask("www.x", rtype::A, 0, false);
        assert!(said.starts_with(expected) && (said.len() == expected.len() || target == "fine.y"), "{said}");
        let mut waiting = waiting(&mut kit, "other.x", rtype::A, 0, false);
        let rows: &[(&str, u16, u32, &[&str])] =
            &[("other.x", rtype::CNAME, 60, &[target]), (target, rtype::A, 60, A)];
        let said = kit.reply(&mut waiting, &outcome(rows, &[], Insecure)).unwrap().words();
        assert!(said.starts_with(expected) && (said.len() == expected.len() || target == "fine.y"), "{said}");
    }
    let local = &kit.policy.local;
    for (text, expected) in [("y.onion", true), ("a.home.arpa", true), ("a.nx.y", false), ("www.x", false)] {
        assert_eq!(local.keeps_inside(&name(text)), expected, "{text}");
    }
}

#[test]
fn private_addresses() {
    let mut kit = Kit::new();
    let both: &[&str] = &["10.0.0.1", "8.8.8.8"];
    kit.policy.rebinding = Some(Rebinding { allowed: Names::new(&[name("corp")]), ..Rebinding::usual() });
    kit.data("evil.x", rtype::A, 60, both, Secure);
    kit.data("www.corp", rtype::A, 60, &["10.0.0.1"], Secure);
    kit.data("alias.x", rtype::CNAME, 60, &["www.corp"], Secure);
    kit.data("out.corp", rtype::CNAME, 60, &["evil.x"], Secure);
    for (asked, expected) in [
        ("evil.x", "REFUSED 17"),
        ("alias.x", "REFUSED 17"),
        ("www.corp", "NOERROR ad | www.corp. 60 A 10.0.0.1"),
        ("out.corp", "NOERROR ad | out.corp. 60 CNAME evil.x., evil.x. 60 A 10.0.0.1, evil.x. 60 A 8.8.8.8"),
        ("any.x", "Miss"),
    ] {
        assert_eq!(kit.ask(asked, rtype::A, AD, false), expected, "{asked}");
    }
    // From a zone of ours, wherever it leads; and not for the next who asks.
    kit.is_of_ours = true;
    assert!(kit.ask("evil.x", rtype::A, AD, false).starts_with("NOERROR ad"));
    assert!(kit.ask("evil.x", rtype::A, AD, false).starts_with("NOERROR ad"));
    kit.is_of_ours = false;
    assert_eq!(kit.ask("evil.x", rtype::A, AD, false), "REFUSED 17");
    kit.data("www.x", rtype::A, 60, both, Insecure);
    kit.policy.rebinding.as_mut().unwrap().reaction = Reaction::Remove;
    assert_eq!(kit.ask("evil.x", rtype::A, AD, true), "NOERROR 17 | evil.x. 60 A 8.8.8.8");
    assert_eq!(kit.ask("alias.x", rtype::A, AD, false), "NOERROR 17 | alias.x. 60 CNAME www.corp.");
    let mut waiting = waiting(&mut kit, "any.x", rtype::A, 0, true);
    let outcome = outcome(&[("any.x", rtype::A, 60, both)], &[], Secure);
    assert_eq!(kit.reply(&mut waiting, &outcome).unwrap().words(), "NOERROR 17 | any.x. 60 A 8.8.8.8");
}

/// What a zone of ours has is for the resolver to have asked, whatever is known of its names and of what is above.
#[test]
fn aliases_to_zones_of_ours() {
    let mut kit = Kit::new();
    kit.policy.local = local(&[("home.x", Kind::Static)], &[("p.home.x", rtype::CNAME, "www.ours.x")]);
    kit.data("to.x", rtype::CNAME, 60, &["www.ours.x"], Secure);
    kit.data("sub.y", rtype::DNAME, 60, &["ours.x"], Secure);
    kit.data("www.ours.x", rtype::A, 60, &["192.0.2.1"], Secure);
    kit.denial("x", None, "x", 60, Secure);
    for name in ["to.x", "www.sub.y", "p.home.x"] {
        assert!(kit.ask(name, rtype::A, AD, false).starts_with("NOERROR"), "{name}");
    }
    assert!(kit.ask("none.ours.x", rtype::A, AD, false).starts_with("NXDOMAIN"));
    kit.ours = Some(name("ours.x"));
    kit.policy.version += 1;
    for name in ["to.x", "www.sub.y", "p.home.x"] {
        assert_eq!(kit.ask(name, rtype::A, AD, false), "Miss", "{name}");
    }
    kit.is_of_ours = true;
    assert_eq!(kit.ask("none.ours.x", rtype::A, AD, false), "Miss");
}
