//! Addresses made of others.

use super::{outcome, waiting, with_dns64};
use crate::kit::name;
use cache::Security::{Bogus, Insecure, Secure};
use resolve::Outcome;
use wire::header::{AD, CD};
use wire::iana::{rcode, rtype};

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
    let unsigned = Outcome { edes: [Some(1), None], ..four.clone() };
    let stale = Outcome { is_stale: true, edes: [Some(22), None], ..four.clone() };
    let expired = Outcome { security: Some(Bogus), edes: [Some(7), None], ..four.clone() };
    let made = "NOERROR | a.x. 60 CNAME b.x., b.x. 25 AAAA 64:ff9b::808:808";
    let six = outcome(&[("a.x", rtype::AAAA, 60, &["2001:db8::6"])], &[], Insecure);
    for (first, second, expected) in [
        (&no_data, Some(&four), made),
        (&silent, Some(&four), "NOERROR | a.x. 60 CNAME b.x., b.x. 60 AAAA 64:ff9b::808:808"),
        (&no_data, Some(&no_data), "NOERROR |  | x. 25 SOA x."),
        (&no_data, Some(&silent), "NOERROR"),
        (&silent, Some(&silent), "SERVFAIL 22"),
        (&silent, Some(&no_data), "NOERROR |  | x. 25 SOA x."),
        (&no_data, Some(&unsigned), "NOERROR 1 | a.x. 60 CNAME b.x., b.x. 25 AAAA 64:ff9b::808:808"),
        (&no_data, Some(&stale), "NOERROR 3 22 | a.x. 30 CNAME b.x., b.x. 25 AAAA 64:ff9b::808:808"),
        (&no_data, Some(&expired), "SERVFAIL 7"),
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
