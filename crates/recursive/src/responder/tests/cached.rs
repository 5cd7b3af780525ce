//! Answers from the cache.

use super::A;
use crate::kit::{BEGIN, Kit, name, sets};
use crate::names::Names;
use cache::Security::{Insecure, Secure};
use wire::header::AD;
use wire::iana::{ede, rtype};

#[test]
fn chains() {
    let mut kit = Kit::new();
    kit.data("a.x", rtype::CNAME, 60, &["b.X"], Insecure);
    kit.data("b.x", rtype::CNAME, 50, &["c.x"], Insecure);
    kit.data("c.x", rtype::A, 40, A, Insecure);
    kit.data("to-nothing.x", rtype::CNAME, 60, &["nothing.x"], Insecure);
    kit.denial("nothing.x", Some(rtype::A), "x", 30, Insecure);
    kit.data("to-none.x", rtype::CNAME, 60, &["none.x"], Insecure);
    kit.denial("none.x", None, "x", 30, Insecure);
    kit.data("to-unknown.x", rtype::CNAME, 60, &["unknown.x"], Insecure);
    kit.data("to-failed.x", rtype::CNAME, 60, &["failed.x"], Insecure);
    kit.failure("failed.x", rtype::A, None);
    kit.data("loop.x", rtype::CNAME, 60, &["loop.x"], Insecure);
    kit.data("d.x", rtype::DNAME, 60, &["e.x"], Insecure);
    kit.data("1.2.e.x", rtype::A, 60, A, Insecure);
    kit.data("long.x", rtype::DNAME, 60, &[&"a.".repeat(120)], Insecure);
    for (asked, qtype, expected) in [
        ("a.x", rtype::A, "NOERROR | a.x. 60 CNAME b.x., b.x. 50 CNAME c.x., c.x. 40 A 192.0.2.1"),
        ("a.x", rtype::CNAME, "NOERROR | a.x. 60 CNAME b.x."),
        ("to-nothing.x", rtype::A, "NOERROR | to-nothing.x. 60 CNAME nothing.x. | x. 30 SOA x."),
        ("to-none.x", rtype::A, "NXDOMAIN | to-none.x. 60 CNAME none.x. | x. 30 SOA x."),
        ("to-unknown.x", rtype::A, "Miss"),
        ("to-failed.x", rtype::A, "SERVFAIL 13"),
        ("loop.x", rtype::A, "SERVFAIL"),
        (
            "1.2.d.x",
            rtype::A,
            "NOERROR | d.x. 60 DNAME e.x., 1.2.d.x. 60 CNAME 1.2.e.x., 1.2.e.x. 60 A 192.0.2.1",
        ),
        ("1.2.d.x", rtype::CNAME, "NOERROR | d.x. 60 DNAME e.x., 1.2.d.x. 60 CNAME 1.2.e.x."),
        ("d.x", rtype::A, "Miss"),
        ("d.x", rtype::DNAME, "NOERROR | d.x. 60 DNAME e.x."),
        ("1234567890.1234567890.long.x", rtype::A, "YXDOMAIN | long.x. 60 DNAME"),
    ] {
        let said = kit.ask(asked, qtype, 0, false);
        assert!(
            said == expected || expected.ends_with("DNAME") && said.starts_with(expected),
            "{asked}: {said}"
        );
    }
    assert_eq!(kit.ask("to-unknown.x", rtype::A, 0, false), "Miss");
    let ask = kit.responder.ask(7);
    assert_eq!((ask.name, ask.rtype, ask.client), (&*name("to-unknown.x"), rtype::A, Some(7)));
}

/// Ten aliases are followed, and not one more.
#[test]
fn long_chains() {
    for (aliases, expected) in [(10, "NOERROR"), (11, "SERVFAIL")] {
        let mut kit = Kit::new();
        for alias in 0..aliases {
            kit.data(&format!("{alias}.x"), rtype::CNAME, 60, &[&format!("{}.x", alias + 1)], Insecure);
        }
        kit.data(&format!("{aliases}.x"), rtype::A, 60, A, Insecure);
        let said = kit.ask("0.x", rtype::A, 0, false);
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn denials() {
    let mut kit = Kit::new();
    kit.denial("proved.x", None, "x", 30, Secure);
    kit.denial("said.x", None, "x", 30, Insecure);
    kit.denial("www.x", Some(rtype::MX), "x", 30, Secure);
    for (asked, qtype, dnssec_ok, expected) in [
        ("proved.x", rtype::A, false, "NXDOMAIN | | x. 30 SOA x."),
        ("a.b.proved.x", rtype::A, false, "NXDOMAIN | | x. 30 SOA x."),
        (
            "a.proved.x",
            rtype::A,
            true,
            "NXDOMAIN ad | | x. 30 SOA x., x. 30 RRSIG sig, x. 30 NSEC nsec, x. 30 RRSIG sig",
        ),
        ("1.2.3.4.5.6.7.8.9.proved.x", rtype::A, false, "Miss"),
        ("said.x", rtype::A, true, "NXDOMAIN | | x. 30 SOA x."),
        ("a.said.x", rtype::A, false, "Miss"),
        ("www.x", rtype::MX, false, "NOERROR | | x. 30 SOA x."),
        ("www.x", rtype::A, false, "Miss"),
    ] {
        let said = kit.ask(asked, qtype, 0, dnssec_ok).replace("|  |", "| |");
        assert_eq!(said, expected, "{asked}");
    }
    kit.policy.cuts_below_unproved = true;
    assert!(kit.ask("a.said.x", rtype::A, 0, false).starts_with("NXDOMAIN"));
    // Below a forwarded or stub zone what is above it says nothing.
    kit.policy.points = Names::new(&[name("b.proved.x")]);
    assert_eq!(kit.ask("a.b.proved.x", rtype::A, 0, false), "Miss");
    assert_eq!(kit.ask("b.proved.x", rtype::A, 0, false), "Miss");
    assert!(kit.ask("c.proved.x", rtype::A, 0, false).starts_with("NXDOMAIN"));
}

/// What has expired is given again and again where it cannot be found out anew, also inside of a chain; not if signatures are the fault.
#[test]
fn what_has_expired() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::A, 10, A, Secure);
    kit.data("alias.x", rtype::CNAME, 1000, &["www.x"], Secure);
    kit.data("old.x", rtype::CNAME, 10, &["new.x"], Secure);
    kit.data("new.x", rtype::A, 1000, A, Secure);
    kit.denial("none.x", None, "x", 10, Secure);
    kit.denial("empty.x", Some(rtype::A), "x", 10, Insecure);
    kit.data("bogus.x", rtype::A, 10, A, Secure);
    kit.now = BEGIN.plus_seconds(100);
    for owner in ["www.x", "old.x", "none.x", "empty.x", "unknown.x"] {
        assert_eq!(kit.ask(owner, rtype::A, 0, false), "Miss", "{owner}");
        kit.failure(owner, rtype::A, Some(ede::NO_REACHABLE_AUTHORITY));
    }
    kit.failure("bogus.x", rtype::A, Some(ede::SIGNATURE_EXPIRED));
    for _ in 0..3 {
        for (asked, expected) in [
            ("www.x", "NOERROR 3 22 | www.x. 30 A 192.0.2.1"),
            ("alias.x", "NOERROR 3 22 | alias.x. 900 CNAME www.x., www.x. 30 A 192.0.2.1"),
            ("old.x", "NOERROR 3 22 | old.x. 30 CNAME new.x., new.x. 900 A 192.0.2.1"),
            ("none.x", "NXDOMAIN 19 22 |  | x. 10 SOA x."),
            ("empty.x", "NOERROR 3 22 |  | x. 10 SOA x."),
            ("unknown.x", "SERVFAIL 22 13"),
            ("bogus.x", "SERVFAIL 7 13"),
        ] {
            assert_eq!(kit.ask(asked, rtype::A, AD, false), expected, "{asked}");
        }
    }
    // Without a network nothing fails: it is given, or has to be found out.
    for owner in ["www.x", "unknown.x"] {
        kit.no_fact(owner, rtype::A, ede::NETWORK_ERROR);
    }
    assert_eq!(kit.ask("www.x", rtype::A, 0, false), "NOERROR 3 23 | www.x. 30 A 192.0.2.1");
    assert_eq!(kit.ask("unknown.x", rtype::A, 0, false), "Miss");
    kit.policy.stale_seconds = 90;
    assert_eq!(kit.ask("www.x", rtype::A, 0, false), "Miss");
    kit.failure("www.x", rtype::A, Some(ede::NO_REACHABLE_AUTHORITY));
    assert_eq!(kit.ask("www.x", rtype::A, 0, false), "SERVFAIL 22 13");
}

#[test]
fn wildcards_are_proved() {
    let mut kit = Kit::new();
    let proof = sets(&[("w.x", rtype::NSEC, 20, &["nsec"])], true);
    kit.wildcard("1.w.x", rtype::CNAME, 60, &["2.w.x"], Secure, &proof);
    kit.wildcard("2.w.x", rtype::A, 60, A, Secure, &proof);
    assert_eq!(
        kit.ask("1.w.x", rtype::A, 0, true),
        "NOERROR ad | 1.w.x. 60 CNAME 2.w.x., 1.w.x. 60 RRSIG sig, 2.w.x. 60 A 192.0.2.1, 2.w.x. 60 RRSIG sig | w.x. 20 NSEC nsec, w.x. 20 RRSIG sig"
    );
    assert_eq!(
        kit.ask("1.w.x", rtype::A, 0, false),
        "NOERROR | 1.w.x. 60 CNAME 2.w.x., 2.w.x. 60 A 192.0.2.1"
    );
}

/// What a referral left of a denial is none for clients: it lacks the SOA that they keep it by.
#[test]
fn denials_without_soa() {
    let mut kit = Kit::new();
    kit.bare_denial("child.x", rtype::DS);
    assert_eq!(kit.ask("child.x", rtype::DS, 0, true), "Miss");
}

/// TTLs are what is left, rounded up; what is near its end is to be asked for anew, and what is over is not given.
#[test]
fn time_goes_by() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::A, 100, A, Insecure);
    kit.data("short.x", rtype::A, 5, A, Insecure);
    for (after_ms, expected, is_due) in [
        (0, "100", false),
        (1, "100", false),
        (1000, "99", false),
        (89_999, "11", false),
        (90_000, "10", true),
        (99_999, "1", true),
    ] {
        kit.now = BEGIN.plus_ms(after_ms);
        let said = kit.ask("www.x", rtype::A, 0, false);
        assert_eq!(said, format!("NOERROR | www.x. {expected} A 192.0.2.1"));
        assert_eq!(kit.responder.due().is_some(), is_due, "{after_ms}");
    }
    kit.now = BEGIN.plus_ms(100_000);
    assert_eq!(kit.ask("www.x", rtype::A, 0, false), "Miss");
    kit.now = BEGIN.plus_ms(4_999);
    assert!(kit.ask("short.x", rtype::A, 0, false).starts_with("NOERROR") && kit.responder.due().is_none());
}

#[test]
fn records_take_turns() {
    let mut kit = Kit::new();
    kit.policy.rotates = true;
    kit.data("www.x", rtype::A, 60, &["192.0.2.1", "192.0.2.2", "192.0.2.3"], Insecure);
    let mut first = || {
        let said = kit.ask("www.x", rtype::A, 0, false);
        said.chars().nth("NOERROR | www.x. 60 A 192.0.2.".len()).unwrap()
    };
    assert_eq!([first(), first(), first(), first()], ['2', '3', '1', '2']);
}

#[test]
fn any() {
    let mut kit = Kit::new();
    assert_eq!(kit.ask("www.x", rtype::ANY, 0, true), "NOERROR | www.x. 3600 HINFO RFC8482\0");
    kit.denial("www.x", None, "x", 30, Insecure);
    assert_eq!(kit.ask("www.x", rtype::ANY, 0, false), "NXDOMAIN |  | x. 30 SOA x.");
    kit.data("www.x", rtype::MX, 60, &["mx"], Insecure);
    assert_eq!(kit.ask("www.x", rtype::ANY, 0, false), "NOERROR | www.x. 60 MX mx");
    kit.data("www.x", rtype::A, 60, A, Secure);
    assert_eq!(
        kit.ask("www.x", rtype::ANY, 0, true),
        "NOERROR ad | www.x. 60 A 192.0.2.1, www.x. 60 RRSIG sig"
    );
}

/// Signatures and proofs that are asked for come without DO.
#[test]
fn proofs_by_themselves() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::NSEC, 60, &["nsec"], Secure);
    kit.data("www.x", rtype::RRSIG, 60, &["rrsig"], Insecure);
    assert_eq!(kit.ask("www.x", rtype::NSEC, 0, false), "NOERROR | www.x. 60 NSEC nsec");
    assert_eq!(kit.ask("www.x", rtype::RRSIG, 0, false), "NOERROR | www.x. 60 RRSIG rrsig");
}
