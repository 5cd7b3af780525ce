//! Responses as messages: flags, the question, sizes, what is wrong with queries, hostile octets.

use super::{A, with_dns64};
use crate::Served;
use crate::kit::{Kit, list, query};
use crate::policy::{Clients, Policy};
use cache::Security::{Bogus, Insecure, Secure, Unchecked};
use wire::Transport;
use wire::cookie::Secrets;
use wire::header::{AD, CD, RD};
use wire::iana::{ede, rtype};
use wire::rrset::RrsetListBuf;

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
fn defaults_are_safe() {
    let policy = Policy::default();
    assert!(matches!(policy.clients, Clients::Of(_)) && !policy.answers_without_rd);
    assert_eq!((policy.udp_payload_octets, policy.rotates), (1232, true));
    assert!(list(rtype::A, A).list().count() == 1 && RrsetListBuf::new().list().is_empty());
}
