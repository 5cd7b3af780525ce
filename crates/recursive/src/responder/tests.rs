#![allow(clippy::unwrap_used)]

use crate::dns64::{Dns64, Prefix};
use crate::kit::{BEGIN, Kit, list, name, query, sets};
use crate::local::{self, Kind, Local, Record, Zone};
use crate::names::Names;
use crate::networks::Networks;
use crate::policy::{Clients, Decision, Policy};
use crate::rebinding::{Reaction, Rebinding};
use crate::{Served, Waiting};
use cache::Security::{self, Bogus, Insecure, Secure, Unchecked};
use resolve::Outcome;
use std::sync::Arc;
use wire::Transport;
use wire::cookie::Secrets;
use wire::header::{AD, CD, RA, RD};
use wire::iana::{ede, rcode, rtype};
use wire::rrset::RrsetListBuf;

const A: &[&str] = &["192.0.2.1"];

/// Every row of the table of flags: what a part of the answer is, what the client says, what it gets.
#[test]
fn flags() {
    let mut kit = Kit::new();
    kit.data("secure.x", rtype::A, 60, A, Secure);
    kit.data("insecure.x", rtype::A, 60, A, Insecure);
    kit.data("unchecked.x", rtype::A, 60, A, Unchecked);
    kit.data("bogus.x", rtype::A, 60, A, Bogus);
    kit.failure("bogus.x", rtype::A, Some(ede::SIGNATURE_EXPIRED));
    kit.failure("failed.x", rtype::A, Some(ede::NO_REACHABLE_AUTHORITY));
    kit.data("mixed.x", rtype::CNAME, 60, &["insecure.x"], Secure);
    kit.data("proved.x", rtype::CNAME, 60, &["secure.x"], Secure);
    let data = |owner: &str| format!(" | {owner}.x. 60 A 192.0.2.1");
    let signed = |owner: &str| format!("{}, {owner}.x. 60 RRSIG sig", data(owner));
    for (owner, flags, dnssec_ok, expected) in [
        ("secure", 0, false, "NOERROR".to_string() + &data("secure")),
        ("secure", AD, false, "NOERROR ad".to_string() + &data("secure")),
        ("secure", 0, true, "NOERROR ad".to_string() + &signed("secure")),
        ("secure", CD, false, "NOERROR cd".to_string() + &data("secure")),
        ("secure", CD | AD, true, "NOERROR ad cd".to_string() + &signed("secure")),
        ("insecure", AD, true, "NOERROR".to_string() + &data("insecure")),
        ("insecure", CD | AD, true, "NOERROR cd".to_string() + &data("insecure")),
        ("unchecked", AD, true, "Miss".into()),
        ("unchecked", CD | AD, true, "NOERROR cd".to_string() + &data("unchecked")),
        ("bogus", AD, true, "SERVFAIL 7 13".into()),
        ("bogus", 0, false, "SERVFAIL 7 13".into()),
        ("bogus", CD | AD, true, "NOERROR cd 7".to_string() + &signed("bogus")),
        ("failed", 0, false, "SERVFAIL 22 13".into()),
        ("failed", CD, false, "SERVFAIL cd 22 13".into()),
        ("mixed", AD, false, "NOERROR | mixed.x. 60 CNAME insecure.x., insecure.x. 60 A 192.0.2.1".into()),
        ("proved", AD, false, "NOERROR ad | proved.x. 60 CNAME secure.x., secure.x. 60 A 192.0.2.1".into()),
    ] {
        assert_eq!(
            kit.ask(&format!("{owner}.x"), rtype::A, flags, dnssec_ok),
            expected,
            "{owner} {flags:x} {dnssec_ok}"
        );
    }
}

/// Without EDNS there is no OPT and no room for errors; ID, RD and the letters of the question come back.
#[test]
fn the_question_comes_back() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::A, 60, A, Insecure);
    kit.failure("failed.x", rtype::A, None);
    let (_, said) = kit.serve(&query("wWw.X", rtype::A, RD, None, b""));
    let said = said.unwrap();
    assert_eq!((&said.octets[..2], &said.octets[12..17]), (&b"\xab\xcd"[..], &b"\x03wWw\x01"[..]));
    assert_eq!((said.flags, said.has_opt), (0x8180, false));
    assert_eq!(said.sections[0], ["wWw.X. 60 A 192.0.2.1"]);
    let (_, said) = kit.serve(&query("failed.X", rtype::A, RD, None, b""));
    assert_eq!(said.unwrap().words(), "SERVFAIL");
}

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

/// Eleven aliases are followed, and not one more.
#[test]
fn long_chains() {
    for (aliases, expected) in [(11, "NOERROR"), (12, "SERVFAIL")] {
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
    kit.policy.stale_seconds = 90;
    assert_eq!(kit.ask("www.x", rtype::A, 0, false), "SERVFAIL 22 13");
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

/// Whole sets only, TC, and what streams take.
#[test]
fn what_does_not_fit() {
    let mut kit = Kit::new();
    let texts: Vec<String> = (0..100).map(|number| format!("192.0.2.{number}")).collect();
    let texts: Vec<&str> = texts.iter().map(|text| &text[..]).collect();
    kit.data("many.x", rtype::A, 60, &texts, Insecure);
    kit.data("alias.x", rtype::CNAME, 60, &["many.x"], Insecure);
    assert_eq!(kit.ask("many.x", rtype::A, 0, false), "NOERROR tc");
    assert_eq!(kit.ask("alias.x", rtype::A, 0, false), "NOERROR tc | alias.x. 60 CNAME many.x.");
    kit.transport = Transport::Tcp;
    let (served, said) = kit.serve(&query("many.x", rtype::A, RD, Some((1232, false)), b""));
    assert_eq!(said.unwrap().sections[0].len(), 100);
    assert!(matches!(served, Served::Octets(1600..1700)));
}

/// The size that the client takes, 512 at least and ours at most.
#[test]
fn sizes() {
    let mut kit = Kit::new();
    kit.data("text.x", rtype::TXT, 60, &[&"t".repeat(600)], Insecure);
    kit.data("long.x", rtype::TXT, 60, &[&"t".repeat(1300)], Insecure);
    for (owner, edns, is_cut) in [
        ("text.x", None, true),
        ("text.x", Some(100), true),
        ("text.x", Some(512), true),
        ("text.x", Some(700), false),
        ("long.x", Some(4096), true),
    ] {
        let (_, said) = kit.serve(&query(owner, rtype::TXT, RD, edns.map(|size| (size, false)), b""));
        assert_eq!(said.unwrap().words().contains(" tc"), is_cut, "{owner} {edns:?}");
    }
}

#[test]
fn recursion_is_for_some() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::A, 60, A, Insecure);
    let with = query("www.x", rtype::A, RD, Some((1232, false)), b"");
    let without = query("www.x", rtype::A, 0, Some((1232, false)), b"");
    assert_eq!(kit.serve(&without).0, Served::Refused);
    kit.policy.answers_without_rd = true;
    assert_eq!(kit.serve(&without).1.unwrap().words(), "NOERROR | www.x. 60 A 192.0.2.1");
    let said = kit.serve(&query("y.x", rtype::A, 0, Some((1232, false)), b"")).1.unwrap();
    let refused = (rcode::REFUSED, RA, &[ede::NOT_AUTHORITATIVE][..]);
    assert_eq!((said.rcode, said.flags & RA, &said.edes[..]), refused);
    for (clients, address, expected) in [
        (Clients::loopback(), "192.0.2.1:5", false),
        (Clients::loopback(), "127.0.0.9:5", true),
        (Clients::loopback(), "[::1]:5", true),
        (Clients::loopback(), "[::ffff:127.0.0.1]:5", true),
        (Clients::Of(Networks::new(&[("192.0.2.0".parse().unwrap(), 24)])), "192.0.2.1:5", true),
        (Clients::By(Arc::new(|_| Decision::Denied)), "127.0.0.1:5", false),
    ] {
        (kit.policy.clients, kit.address) = (clients, address);
        let (served, _) = kit.serve(&with);
        assert_eq!(matches!(served, Served::Octets(_)), expected, "{address}");
        if !expected {
            assert_eq!(served, Served::Refused);
            let octets = kit.responder.refuse(&kit.policy, kit.now, &mut kit.room);
            let said = crate::kit::read(&kit.room[..octets]);
            assert_eq!(
                (said.rcode, said.flags & RA, &said.edes[..]),
                (rcode::REFUSED, 0, &[ede::PROHIBITED][..])
            );
        }
    }
}

/// Clients that must show where they are: by a cookie, or by TCP.
#[test]
fn proofs_of_addresses() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::A, 60, A, Insecure);
    kit.policy.cookies = Secrets::new(&[[7; 16]]);
    let prove = |asker: &crate::policy::Asker| match asker.is_proved {
        true => Decision::Allowed,
        false => Decision::Unproved,
    };
    kit.policy.clients = Clients::By(Arc::new(prove));
    let with = |options: &[u8]| query("www.x", rtype::A, RD, Some((1232, false)), options);
    assert_eq!(kit.serve(&with(b"")).1.unwrap().words(), "NOERROR tc");
    let said = kit.serve(&with(b"\0\x0a\0\x08client--")).1.unwrap();
    assert_eq!(said.words(), "BADCOOKIE");
    let cookie = &said.octets[said.octets.len() - 24..];
    let said = kit.serve(&with(&[b"\0\x0a\0\x18", cookie].concat())).1.unwrap();
    assert_eq!(said.words(), "NOERROR | www.x. 60 A 192.0.2.1");
    assert!(kit.responder.is_proved());
    assert_eq!(kit.serve(&with(b"\0\x0a\0\x03abc")).1.unwrap().words(), "FORMERR");
    kit.policy.clients = Clients::All;
    kit.policy.demands_cookies = true;
    assert_eq!(kit.serve(&with(b"\0\x0a\0\x08client--")).1.unwrap().words(), "BADCOOKIE");
    assert!(kit.serve(&with(b"")).1.unwrap().words().starts_with("NOERROR |"));
    kit.transport = Transport::Tcp;
    assert!(kit.serve(&with(b"\0\x0a\0\x08client--")).1.unwrap().words().starts_with("NOERROR |"));
    kit.policy.nsid = Some(b"me".to_vec().into());
    let said = kit.serve(&with(b"\0\x03\0\0")).1.unwrap();
    assert!(said.octets.ends_with(b"\0\x03\0\x02me"));
}

#[test]
fn what_is_wrong_and_what_is_for_others() {
    let mut kit = Kit::new();
    let plain = query("www.x", rtype::A, RD, Some((1232, false)), b"");
    let changed = |at: usize, to: &[u8]| {
        let mut octets = plain.clone();
        octets[at..at + to.len()].copy_from_slice(to);
        octets
    };
    let type_at = 12 + 7;
    for (octets, expected) in [
        (plain[..11].to_vec(), "Drop"),
        (changed(2, &[0x80, 0]), "Drop"),
        (changed(2, &[0x21, 0]), "Other"),
        (changed(2, &[0x29, 0]), "Other"),
        (changed(type_at + 2, &[0, 3]), "Other"),
        (changed(type_at + 2, &[0, 255]), "Other"),
        (changed(type_at, &[0, 252]), "Other"),
        (changed(type_at, &[0, 251]), "Other"),
        (changed(4, &[0, 2]), "FORMERR"),
        (changed(4, &[0, 0]), "FORMERR"),
        (changed(type_at, &[0, 41]), "FORMERR"),
        (changed(type_at, &[0, 128]), "FORMERR 30"),
        (changed(type_at, &[0, 254]), "NOTIMP 21"),
        (changed(type_at + 10, &[1]), "BADVERS"),
        (plain.clone(), "Miss"),
    ] {
        let said = match kit.serve(&octets) {
            (_, Some(said)) => said.words(),
            (served, _) => format!("{served:?}"),
        };
        assert_eq!(said, expected, "{octets:?}");
    }
}

/// A query without question is about the cookie alone (RFC 7873 5.4).
#[test]
fn cookies_alone() {
    let mut kit = Kit::new();
    kit.policy.cookies = Secrets::new(&[[7; 16]]);
    let mut octets = b"id\x01\0\0\0\0\0\0\0\0\x01".to_vec();
    octets.extend(b"\0\0\x29\x04\xd0\0\0\0\0\0\x0c\0\x0a\0\x08client--");
    let said = kit.serve(&octets).1.unwrap();
    assert_eq!(
        (said.words(), &said.octets[4..6], said.octets.len()),
        ("NOERROR".into(), &b"\0\0"[..], 12 + 11 + 28)
    );
}

/// Whatever comes: an answer that can be read, or none. Where recursion is refused the room stays as it was.
#[test]
fn hostile_octets() {
    let mut random = sync::random::Random::new(3);
    let mut kit = with_dns64();
    kit.policy.cookies = Secrets::new(&[[7; 16]]);
    kit.data("www.x", rtype::A, 60, A, Secure);
    kit.denial("none.x", None, "x", 30, Secure);
    let options = b"\0\x0a\0\x08client--\0\x03\0\0";
    let seeds: Vec<Vec<u8>> = ["www.x", "none.x", "a.test", "a.b.c.d.e.f.g.h.i.none.x"]
        .iter()
        .flat_map(|text| [rtype::A, rtype::AAAA, rtype::ANY, rtype::PTR].map(|qtype| (text, qtype)))
        .map(|(text, qtype)| query(text, qtype, RD, Some((1232, true)), options))
        .collect();
    let mut answered = 0;
    for _ in 0..50_000 {
        let mut octets = seeds[random.index(seeds.len())].clone();
        for _ in 0..random.below(4) {
            let at = random.index(octets.len());
            octets[at] = random.next_u64() as u8;
        }
        octets.truncate(if random.chance(0.2) { random.index(octets.len()) } else { octets.len() });
        kit.now = kit.now.plus_ms(random.below(10));
        answered += u32::from(kit.serve(&octets).1.is_some());
    }
    assert!(answered > 10_000, "{answered}");
    kit.policy.clients = Clients::loopback();
    kit.room.fill(0xee);
    assert_eq!(kit.serve(&seeds[0]).0, Served::Refused);
    kit.policy.clients = Clients::All;
    assert_eq!(kit.serve(&query("www.x", rtype::A, 0, None, b"")).0, Served::Refused);
    assert!(kit.room.iter().all(|octet| *octet == 0xee));
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

fn local(zones: &[(&str, Kind)], records: &[(&str, u16, &str)]) -> Local {
    let record = |&(owner, rtype, text): &(&str, u16, &str)| Record {
        owner: name(owner),
        rtype,
        ttl: 60,
        rdata: crate::kit::rdata(rtype, text).into(),
    };
    Local::new(&local::Source {
        zones: zones
            .iter()
            .map(|(zone, kind)| Zone { is_told: true, ..Zone::new(name(zone), *kind) })
            .collect(),
        records: records.iter().map(record).collect(),
        has_dns64: true,
        ..local::Source::default()
    })
}

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

fn outcome(
    answer: &[(&str, u16, u32, &[&str])],
    authority: &[(&str, u16, u32, &[&str])],
    security: Security,
) -> Outcome {
    let signed = security == Secure;
    Outcome {
        rcode: rcode::NOERROR,
        is_fact: true,
        security: Some(security),
        answer: sets(answer, signed),
        authority: sets(authority, signed),
        ..Outcome::default()
    }
}

fn waiting(kit: &mut Kit, text: &str, qtype: u16, flags: u16, dnssec_ok: bool) -> Waiting {
    assert_eq!(kit.ask(text, qtype, flags, dnssec_ok), "Miss");
    kit.responder.waiting()
}

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

/// Who asks for too much that is not known gets what is, and is told to come by TCP; there, that it failed.
#[test]
fn too_many_questions() {
    let mut kit = Kit::new();
    kit.policy.misses_per_second = 3;
    kit.data("www.x", rtype::A, 60, A, Insecure);
    for (transport, beyond) in [(Transport::Udp, "NOERROR tc"), (Transport::Tcp, "SERVFAIL 0")] {
        kit.transport = transport;
        let said: Vec<_> = (0..5).map(|number| kit.ask(&format!("{number}.y"), rtype::A, 0, false)).collect();
        assert_eq!(said, ["Miss", "Miss", "Miss", beyond, beyond]);
        assert!(kit.ask("www.x", rtype::A, 0, false).starts_with("NOERROR |"));
    }
    assert_eq!((kit.responder.counters().misses, kit.responder.counters().paced), (6, 4));
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

fn with_dns64() -> Kit {
    let mut kit = Kit::new();
    let prefix = Prefix::new("64:ff9b::".parse().unwrap(), 96).unwrap();
    kit.policy.dns64 = Dns64::new(&[prefix], &[], Networks::default(), Clients::All);
    kit.policy.local = local(&[], &[]);
    kit
}

#[test]
fn addresses_made_from_the_cache() {
    let mut kit = with_dns64();
    kit.denial("four.x", Some(rtype::AAAA), "x", 30, Insecure);
    kit.data("four.x", rtype::A, 60, &["8.8.8.8"], Insecure);
    kit.denial("secure.x", Some(rtype::AAAA), "x", 30, Secure);
    kit.data("secure.x", rtype::A, 20, &["8.8.8.8"], Secure);
    kit.data("alias.x", rtype::CNAME, 60, &["four.x"], Insecure);
    kit.data("six.x", rtype::AAAA, 60, &["2001:db8::6"], Insecure);
    kit.data("mapped.x", rtype::AAAA, 60, &["::ffff:1.2.3.4"], Insecure);
    kit.data("mapped.x", rtype::A, 50, &["1.2.3.4"], Insecure);
    kit.data("both.x", rtype::AAAA, 60, &["::ffff:1.2.3.4", "2001:db8::6"], Insecure);
    kit.denial("none.x", None, "x", 30, Insecure);
    kit.denial("empty.x", Some(rtype::AAAA), "x", 30, Insecure);
    kit.denial("empty.x", Some(rtype::A), "x", 30, Insecure);
    kit.denial("private.x", Some(rtype::AAAA), "x", 30, Insecure);
    kit.data("private.x", rtype::A, 60, &["10.0.0.1"], Insecure);
    kit.denial("half.x", Some(rtype::AAAA), "x", 30, Insecure);
    kit.data("8.8.8.8.in-addr.arpa", rtype::PTR, 60, &["dns"], Insecure);
    let reverse = "8.0.8.0.8.0.8.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.b.9.f.f.4.6.0.0.ip6.arpa";
    for (asked, flags, dnssec_ok, expected) in [
        ("four.x", 0, false, "NOERROR | four.x. 30 AAAA 64:ff9b::808:808"),
        ("secure.x", AD, false, "NOERROR ad | secure.x. 20 AAAA 64:ff9b::808:808"),
        ("secure.x", 0, true, "NOERROR ad | secure.x. 20 AAAA 64:ff9b::808:808"),
        ("alias.x", 0, false, "NOERROR | alias.x. 60 CNAME four.x., four.x. 30 AAAA 64:ff9b::808:808"),
        ("four.x", CD, false, "NOERROR cd | four.x. 30 AAAA 64:ff9b::808:808"),
        ("none.x", 0, false, "NXDOMAIN |  | x. 30 SOA x."),
        ("six.x", 0, false, "NOERROR | six.x. 60 AAAA 2001:db8::6"),
        ("mapped.x", 0, false, "NOERROR | mapped.x. 50 AAAA 64:ff9b::102:304"),
        ("both.x", 0, false, "NOERROR | both.x. 60 AAAA 2001:db8::6"),
        ("empty.x", 0, false, "NOERROR |  | x. 30 SOA x."),
        ("private.x", 0, false, "NOERROR |  | x. 30 SOA x."),
        ("half.x", 0, false, "Miss"),
        (
            "ipv4only.arpa",
            0,
            false,
            "NOERROR aa | ipv4only.arpa. 10800 AAAA 64:ff9b::c000:aa, ipv4only.arpa. 10800 AAAA 64:ff9b::c000:ab",
        ),
    ] {
        assert_eq!(kit.ask(asked, rtype::AAAA, flags, dnssec_ok), expected, "{asked}");
    }
    // Who validates for himself gets what there is.
    assert!(kit.ask("secure.x", rtype::AAAA, CD, true).contains("x. 30 SOA x."));
    assert!(
        kit.ask(reverse, rtype::PTR, 0, false)
            .ends_with("CNAME 8.8.8.8.in-addr.arpa., 8.8.8.8.in-addr.arpa. 60 PTR dns.")
    );
    kit.policy.dns64 = None;
    assert!(kit.ask("four.x", rtype::AAAA, 0, false).contains("SOA"));
}

#[test]
fn addresses_made_of_outcomes() {
    let soa: &[(&str, u16, u32, &[&str])] = &[("x", rtype::SOA, 25, &["x"])];
    let no_data = outcome(&[], soa, Secure);
    let four =
        outcome(&[("a.x", rtype::CNAME, 60, &["b.x"]), ("b.x", rtype::A, 60, &["8.8.8.8"])], &[], Insecure);
    let silent = Outcome { rcode: rcode::SERVFAIL, edes: [Some(22), None], ..Outcome::default() };
    let bogus = Outcome { rcode: rcode::SERVFAIL, edes: [Some(6), None], ..Outcome::default() };
    let made = "NOERROR | a.x. 60 CNAME b.x., b.x. 25 AAAA 64:ff9b::808:808";
    let six = outcome(&[("a.x", rtype::AAAA, 60, &["2001:db8::6"])], &[], Insecure);
    for (first, second, expected) in [
        (&no_data, Some(&four), made),
        (&silent, Some(&four), "NOERROR | a.x. 60 CNAME b.x., b.x. 60 AAAA 64:ff9b::808:808"),
        (&no_data, Some(&no_data), "NOERROR |  | x. 25 SOA x."),
        (&no_data, Some(&silent), "NOERROR"),
        (
            &Outcome { rcode: rcode::REFUSED, ..Outcome::default() },
            Some(&four),
            "NOERROR | a.x. 60 CNAME b.x., b.x. 60 AAAA 64:ff9b::808:808",
        ),
        (&bogus, None, "SERVFAIL 6"),
        (&six, None, "NOERROR | a.x. 60 AAAA 2001:db8::6"),
        (&Outcome { rcode: rcode::NXDOMAIN, ..no_data.clone() }, None, "NXDOMAIN |  | x. 25 SOA x."),
    ] {
        let mut kit = with_dns64();
        let mut waiting = waiting(&mut kit, "a.x", rtype::AAAA, 0, false);
        let said = match kit.reply(&mut waiting, first) {
            Some(said) => said,
            None => {
                assert_eq!(
                    (kit.responder.ask(0).rtype, kit.responder.ask(0).name),
                    (rtype::A, &*name("a.x"))
                );
                kit.reply(&mut waiting, second.unwrap()).unwrap()
            }
        };
        assert_eq!(said.words(), expected);
    }
    // The denial is there already: only the addresses are asked for.
    let mut kit = with_dns64();
    kit.denial("a.x", Some(rtype::AAAA), "x", 30, Insecure);
    let mut waiting = waiting(&mut kit, "a.x", rtype::AAAA, 0, false);
    assert_eq!(kit.responder.ask(0).rtype, rtype::A);
    assert!(kit.reply(&mut waiting, &four).unwrap().words().ends_with("b.x. 30 AAAA 64:ff9b::808:808"));
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
    kit.data("www.x", rtype::A, 60, both, Insecure);
    kit.policy.rebinding.as_mut().unwrap().reaction = Reaction::Remove;
    assert_eq!(kit.ask("evil.x", rtype::A, AD, true), "NOERROR 17 | evil.x. 60 A 8.8.8.8");
    assert_eq!(kit.ask("alias.x", rtype::A, AD, false), "NOERROR 17 | alias.x. 60 CNAME www.corp.");
    let mut waiting = waiting(&mut kit, "any.x", rtype::A, 0, true);
    let outcome = outcome(&[("any.x", rtype::A, 60, both)], &[], Secure);
    assert_eq!(kit.reply(&mut waiting, &outcome).unwrap().words(), "NOERROR 17 | any.x. 60 A 8.8.8.8");
}

#[test]
fn defaults_are_safe() {
    let policy = Policy::default();
    assert!(matches!(policy.clients, Clients::Of(_)) && !policy.answers_without_rd);
    assert_eq!((policy.udp_payload_octets, policy.rotates), (1232, true));
    assert!(list(rtype::A, A).list().count() == 1 && RrsetListBuf::new().list().is_empty());
}
