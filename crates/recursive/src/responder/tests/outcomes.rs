//! What clients get that waited.

use super::{A, outcome, waiting};
use crate::kit::{BEGIN, Kit, query, sets};
use cache::Security::{Bogus, Insecure, Secure, Unchecked};
use resolve::Outcome;
use wire::header::{AD, CD, RD};
use wire::iana::{ede, rcode, rtype};

#[test]
fn outcomes() {
    let mut kit = Kit::new();
    let www = outcome(&[("www.x", rtype::A, 60, A)], &[], Secure);
    let none = Outcome {
        rcode: rcode::NXDOMAIN,
        ..outcome(&[], &[("x", rtype::SOA, 30, &["x"]), ("x", rtype::NSEC, 30, &["nsec"])], Secure)
    };
    let stale = Outcome {
        is_stale: true,
        security: Some(Insecure),
        edes: [Some(ede::NO_REACHABLE_AUTHORITY), None],
        ..www.clone()
    };
    let failed = Outcome {
        rcode: rcode::SERVFAIL,
        edes: [Some(ede::DNSKEY_MISSING), None],
        reason: Some("no key of example."),
        ..Outcome::default()
    };
    let unsigned = sets(&[("www.x", rtype::A, 60, A)], false);
    for (outcome, flags, dnssec_ok, expected) in [
        (&www, 0, false, "NOERROR | wWw.x. 60 A 192.0.2.1"),
        (&www, AD, false, "NOERROR ad | wWw.x. 60 A 192.0.2.1"),
        (&www, 0, true, "NOERROR ad | wWw.x. 60 A 192.0.2.1, wWw.x. 60 RRSIG sig"),
        (&none, 0, false, "NXDOMAIN |  | x. 30 SOA x."),
        (&none, 0, true, "NXDOMAIN ad |  | x. 30 SOA x., x. 30 RRSIG sig, x. 30 NSEC nsec, x. 30 RRSIG sig"),
        (&Outcome { answer: unsigned, ..stale.clone() }, 0, true, "NOERROR 3 22 | wWw.x. 30 A 192.0.2.1"),
        (&Outcome { is_stale: true, ..none.clone() }, 0, false, "NXDOMAIN 19 |  | x. 30 SOA x."),
        (&failed, 0, false, "SERVFAIL 9"),
        (&Outcome { security: Some(Bogus), ..www.clone() }, 0, true, "SERVFAIL 6"),
        (&Outcome { security: Some(Bogus), ..www.clone() }, CD, false, "NOERROR cd | wWw.x. 60 A 192.0.2.1"),
        (
            &Outcome { security: Some(Unchecked), ..www.clone() },
            CD | AD,
            false,
            "NOERROR cd | wWw.x. 60 A 192.0.2.1",
        ),
    ] {
        let mut waiting = waiting(&mut kit, "wWw.x", rtype::A, flags, dnssec_ok);
        let said = kit.reply(&mut waiting, outcome).unwrap();
        assert_eq!(said.words(), expected);
        assert_eq!(said.octets[..2], [0xab, 0xcd]);
        let words = if outcome.reason.is_some() { "no key of example." } else { "" };
        assert!(said.texts.iter().all(|text| text == words), "{:?}", said.texts);
    }
    let waiting = waiting(&mut kit, "wWw.x", rtype::A, 0, true);
    let octets = kit.responder.truncate(&waiting, &kit.policy, BEGIN, &mut kit.room);
    assert_eq!(crate::kit::read(&kit.room[..octets]).words(), "NOERROR tc");
    let octets = kit.responder.give_up(&waiting, &kit.policy, BEGIN, &mut kit.room);
    assert_eq!(crate::kit::read(&kit.room[..octets]).words(), "SERVFAIL 0");
}

/// Reasons go from the cache and from outcomes to clients as they are.
#[test]
fn every_reason() {
    for code in [1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 14, 22, 23, 24, 25, 27] {
        let mut kit = Kit::new();
        let failed = Outcome { rcode: rcode::SERVFAIL, edes: [Some(code), None], ..Outcome::default() };
        let mut waiting = waiting(&mut kit, "www.x", rtype::A, 0, false);
        assert_eq!(kit.reply(&mut waiting, &failed).unwrap().edes, [code]);
        kit.failure("www.x", rtype::A, Some(code));
        assert_eq!(kit.ask("www.x", rtype::A, 0, false), format!("SERVFAIL {code} 13"));
        // What is wrong with signatures is no matter to who sets CD.
        let is_of_validation = crate::answer::is_of_validation(code);
        let expected = if is_of_validation { "Miss".into() } else { format!("SERVFAIL cd {code} 13") };
        assert_eq!(kit.ask("www.x", rtype::A, CD, false), expected);
    }
}

/// Who has waited for as long as may be gets what has expired, or a failure that is as short as its query.
#[test]
fn who_has_waited_too_long() {
    let mut kit = Kit::new();
    kit.data("old.x", rtype::A, 60, A, Secure);
    kit.data("alias.x", rtype::CNAME, 60, &["old.x"], Insecure);
    kit.data("half.x", rtype::CNAME, 60, &["none.x"], Insecure);
    kit.denial("no.x", None, "x", 60, Secure);
    kit.data("bad.x", rtype::A, 60, A, Bogus);
    kit.now = BEGIN.plus_ms(90_000);
    let none = ede::NO_REACHABLE_AUTHORITY;
    for (text, why, stale_seconds, expected) in [
        ("old.x", none, 86_400, "NOERROR 3 22 | old.x. 30 A 192.0.2.1, old.x. 30 RRSIG sig"),
        ("old.x", ede::NETWORK_ERROR, 86_400, "NOERROR 3 23 | old.x. 30 A 192.0.2.1, old.x. 30 RRSIG sig"),
        ("old.x", none, 0, "SERVFAIL 22"),
        ("old.x", none, 20, "SERVFAIL 22"),
        (
            "alias.x",
            none,
            86_400,
            "NOERROR 3 22 | alias.x. 30 CNAME old.x., old.x. 30 A 192.0.2.1, old.x. 30 RRSIG sig",
        ),
        ("half.x", none, 86_400, "SERVFAIL 22"),
        (
            "no.x",
            none,
            86_400,
            "NXDOMAIN 19 22 |  | x. 30 SOA x., x. 30 RRSIG sig, x. 30 NSEC nsec, x. 30 RRSIG sig",
        ),
        ("bad.x", none, 86_400, "SERVFAIL 22"),
        ("new.x", ede::NETWORK_ERROR, 86_400, "SERVFAIL 23"),
    ] {
        kit.policy.stale_seconds = stale_seconds;
        let waiting = waiting(&mut kit, text, rtype::A, 0, true);
        let known = (&kit.policy, &kit.cache);
        let octets = kit.responder.unanswered(&waiting, why, known, kit.now, &mut kit.room);
        let said = crate::kit::read(&kit.room[..octets]);
        assert_eq!(said.words(), expected, "{text}");
        let asked = query(text, rtype::A, RD, Some((1232, true)), b"").len();
        assert!(!expected.starts_with("SERVFAIL") || octets == asked + 6, "{octets} for {asked}");
    }
    let counters = kit.responder.counters();
    assert_eq!((counters.unanswered, counters.without_network, counters.failures), (7, 2, 5));
}
