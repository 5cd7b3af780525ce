#![allow(clippy::unwrap_used)]

use super::*;
use crate::kit::{BEGIN, Kit, name, query, sets};
use crate::{Responder, Served};
use cache::Security::{self, Bogus, Insecure, Secure, Unchecked};
use proptest::prelude::*;
use wire::header::{AD, CD, RD};
use wire::iana::rtype;

const A: &[&str] = &["192.0.2.1", "192.0.2.2", "192.0.2.3"];

/// Has a question served three times, so that the third time it is given again if it is kept. What is said then, and whether it was.
fn thrice(kit: &mut Kit, text: &str, qtype: u16, dnssec_ok: bool) -> (String, bool) {
    let mut said = String::new();
    let mut before = 0;
    for _ in 0..3 {
        before = kit.responder.counters().rendered;
        said = kit.ask(text, qtype, 0, dnssec_ok);
    }
    (said, kit.responder.counters().rendered > before)
}

#[test]
fn what_is_kept() {
    let mut kit = Kit::new();
    kit.data("www.x", rtype::A, 60, A, Secure);
    kit.data("alias.x", rtype::CNAME, 60, &["www.x"], Secure);
    kit.data("d.x", rtype::DNAME, 60, &["x"], Secure);
    kit.denial("none.x", None, "x", 30, Secure);
    kit.denial("empty.x", Some(rtype::A), "x", 30, Insecure);
    kit.failure("failed.x", rtype::A, None);
    (0..4).for_each(|step| {
        kit.data(&format!("{step}.x"), rtype::CNAME, 60, &[&format!("{}.x", step + 1)], Insecure);
    });
    kit.data("4.x", rtype::A, 60, A, Insecure);
    kit.data("old.x", rtype::A, 1, A, Insecure);
    for (asked, qtype, is_kept) in [
        ("www.x", rtype::A, true),
        ("alias.x", rtype::A, true),
        ("www.d.x", rtype::A, true),
        ("none.x", rtype::A, true),
        ("a.b.none.x", rtype::MX, true),
        ("empty.x", rtype::A, true),
        ("failed.x", rtype::A, false),
        ("2.x", rtype::A, true),
        ("0.x", rtype::A, false),
        ("localhost", rtype::A, false),
        ("unknown.x", rtype::A, false),
        ("unknown.x", rtype::ANY, false),
        ("www.x", rtype::ANY, true),
    ] {
        assert_eq!(thrice(&mut kit, asked, qtype, true).1, is_kept, "{asked} {qtype}");
    }
    kit.now = BEGIN.plus_seconds(10);
    kit.failure("old.x", rtype::A, None);
    assert_eq!(
        thrice(&mut kit, "old.x", rtype::A, false),
        ("NOERROR 3 | old.x. 30 A 192.0.2.1, old.x. 30 A 192.0.2.2, old.x. 30 A 192.0.2.3".into(), false)
    );
}

/// A refresh, a flush, other settings: what was made before is not given any more.
#[test]
fn what_ends_it() {
    let mut kit = Kit::new();
    let fill = |kit: &Kit| {
        kit.data("alias.x", rtype::CNAME, 60, &["www.x"], Secure);
        kit.data("www.x", rtype::A, 60, &A[..1], Secure);
    };
    fill(&kit);
    let chain = "NOERROR | alias.x. 60 CNAME www.x., www.x. 60 A 192.0.2.1";
    assert_eq!(thrice(&mut kit, "alias.x", rtype::A, false), (chain.into(), true));
    kit.data("www.x", rtype::A, 60, &A[1..2], Secure);
    assert!(kit.ask("alias.x", rtype::A, 0, false).ends_with("192.0.2.2"));
    // It was asked for often enough to be kept anew at once.
    let before = kit.responder.counters().rendered;
    assert!(kit.ask("alias.x", rtype::A, 0, false).ends_with("192.0.2.2"));
    assert_eq!(kit.responder.counters().rendered, before + 1);
    kit.cache.flush(&cache::Flush::Name(name("www.x")), kit.now);
    assert_eq!(kit.ask("alias.x", rtype::A, 0, false), "Miss");
    kit.now = kit.now.plus_ms(1);
    fill(&kit);
    assert!(thrice(&mut kit, "alias.x", rtype::A, false).1);
    let before = kit.responder.counters().rendered;
    kit.policy.version += 1;
    kit.ask("alias.x", rtype::A, 0, false);
    assert_eq!(kit.responder.counters().rendered, before);
}

/// Others with other wishes get their own, whatever was kept; letters, ID, RD and OPT are the query's.
#[test]
fn who_gets_it() {
    let mut kit = Kit::new();
    kit.policy.answers_without_rd = true;
    kit.data("www.x", rtype::A, 60, &A[..1], Secure);
    assert!(thrice(&mut kit, "www.x", rtype::A, false).1);
    let plain = "NOERROR | www.x. 60 A 192.0.2.1";
    let signed = "NOERROR ad | www.x. 60 A 192.0.2.1, www.x. 60 RRSIG sig";
    for _ in 0..3 {
        assert_eq!(kit.ask("www.x", rtype::A, 0, false), plain);
        assert_eq!(kit.ask("www.x", rtype::A, 0, true), signed);
        assert_eq!(kit.ask("www.x", rtype::A, AD, false), plain.replace("NOERROR", "NOERROR ad"));
        assert_eq!(kit.ask("www.x", rtype::A, CD, false), plain.replace("NOERROR", "NOERROR cd"));
    }
    let mut octets = query("wWw.X", rtype::A, 0, None, b"");
    octets[..2].copy_from_slice(b"id");
    let before = kit.responder.counters().rendered;
    let said = kit.serve(&octets).1.unwrap();
    assert_eq!((&said.octets[..2], said.flags, said.has_opt), (&b"id"[..], 0x8080, false));
    assert_eq!(said.sections[0], ["wWw.X. 60 A 192.0.2.1"]);
    assert_eq!(kit.responder.counters().rendered, before + 1);
}

#[test]
fn too_long_to_keep() {
    let mut kit = Kit::new();
    kit.transport = wire::Transport::Tcp;
    for (length, is_kept) in [(3_000, true), (4_200, false)] {
        kit.data("text.x", rtype::TXT, 60, &[&"t".repeat(length)], Insecure);
        assert_eq!(thrice(&mut kit, "text.x", rtype::TXT, false).1, is_kept);
    }
    // What is kept and does not fit is cut.
    kit.data("text.x", rtype::TXT, 60, &[&"t".repeat(3_000)], Insecure);
    assert!(thrice(&mut kit, "text.x", rtype::TXT, false).1);
    kit.transport = wire::Transport::Udp;
    assert_eq!(kit.ask("text.x", rtype::TXT, 0, false), "NOERROR tc");
}

/// The ring goes round many times; what is there is right, and what has gone is found anew.
#[test]
fn the_newest_stay() {
    let mut kit = Kit::new();
    kit.cache = Cache::with(&cache::Settings { octets: 64 << 20, ..cache::Settings::default() }, [1, 2, 3]);
    kit.transport = wire::Transport::Tcp;
    let text = "t".repeat(3_800);
    for round in 0..3 {
        for number in 0..RING_OCTETS / 3_800 {
            let owner = format!("{number}.text.x");
            if round == 0 {
                kit.data(&owner, rtype::TXT, 86_400, &[&text[..3_700 + number % 100]], Insecure);
            }
            let (said, _) = thrice(&mut kit, &owner, rtype::TXT, false);
            assert!(said.len() > 3_700 && said.contains(&owner), "{number}");
        }
    }
    assert!(kit.responder.counters().rendered > 1_000);
}

/// What the cache or a client does next.
#[derive(Clone, Debug)]
enum Next {
    Data { owner: usize, ttl: u32, count: usize, security: usize },
    Alias { owner: usize, target: usize, ttl: u32, security: usize },
    Denial { owner: usize, is_name: bool, ttl: u32, security: usize },
    Wait { ms: u64 },
    Ask { owner: usize, qtype: usize, flags: u16, edns: Option<(u16, bool)>, upper: bool },
}

const DATA: [&str; 3] = ["a.x", "www.long-label-of-a-name.x", "b.y"];
const ALIASES: [&str; 3] = ["c.x", "d.c.x", "e.y"];
const DENIED: [&str; 2] = ["no.x", "none.y"];
const ASKED: [&str; 11] = [
    "a.x",
    "www.long-label-of-a-name.x",
    "b.y",
    "c.x",
    "d.c.x",
    "e.y",
    "no.x",
    "none.y",
    "sub.none.y",
    "localhost",
    "1.2.d.x",
];
const TYPES: [u16; 4] = [rtype::A, rtype::TXT, rtype::CNAME, rtype::ANY];
const SECURITIES: [Security; 4] = [Secure, Insecure, Bogus, Unchecked];

fn next() -> impl Strategy<Value = Next> {
    let ttl = prop_oneof![1..5_u32, 10..40_u32];
    prop_oneof![
        1 => (0..3_usize, ttl.clone(), 1..5_usize, 0..4_usize)
            .prop_map(|(owner, ttl, count, security)| Next::Data { owner, ttl, count, security }),
        1 => (0..3_usize, 0..6_usize, ttl.clone(), 0..2_usize)
            .prop_map(|(owner, target, ttl, security)| Next::Alias { owner, target, ttl, security }),
        1 => (0..2_usize, any::<bool>(), ttl, 0..2_usize)
            .prop_map(|(owner, is_name, ttl, security)| Next::Denial { owner, is_name, ttl, security }),
        2 => (1..3_000_u64).prop_map(|ms| Next::Wait { ms }),
        12 => (
            0..ASKED.len(),
            0..4_usize,
            prop_oneof![Just(RD), Just(RD | AD), Just(RD | CD), Just(0)],
            prop_oneof![Just(None), (400..1300_u16, any::<bool>()).prop_map(Some)],
            any::<bool>(),
        )
            .prop_map(|(owner, qtype, flags, edns, upper)| Next::Ask { owner, qtype, flags, edns, upper }),
    ]
}

/// Does it; of a question, what was said.
fn act(kit: &mut Kit, other: &mut Responder, next: &Next) -> Result<(), TestCaseError> {
    match *next {
        Next::Data { owner, ttl, count, security } => {
            let proof = sets(&[("w.x", rtype::NSEC, ttl + 1, &["nsec"])], true);
            let texts: Vec<String> = (0..count).map(|number| format!("192.0.2.{number}")).collect();
            let texts: Vec<&str> = texts.iter().map(|text| &text[..]).collect();
            kit.try_wildcard(DATA[owner], rtype::A, ttl, &texts, SECURITIES[security], &proof);
            kit.try_wildcard(DATA[owner], rtype::TXT, ttl + 1, &["text"], SECURITIES[security], &proof);
        }
        Next::Alias { owner, target, ttl, security } => {
            let target = [&DATA[..], &ALIASES[..]].concat()[target];
            let nothing = wire::rrset::RrsetListBuf::new();
            kit.try_wildcard(ALIASES[owner], rtype::CNAME, ttl, &[target], SECURITIES[security], &nothing);
            if owner == 1 {
                kit.try_wildcard("d.x", rtype::DNAME, ttl, &["none.y"], SECURITIES[security], &nothing);
            }
        }
        Next::Denial { owner, is_name, ttl, security } => {
            let rtype = (!is_name).then_some(rtype::A);
            kit.try_denial(DENIED[owner], rtype, "x", ttl, SECURITIES[security]);
        }
        Next::Wait { ms } => kit.now = kit.now.plus_ms(ms),
        Next::Ask { owner, qtype, flags, edns, upper } => {
            let text = if upper { ASKED[owner].to_uppercase() } else { ASKED[owner].to_string() };
            let query = query(&text, TYPES[qtype], flags, edns, b"");
            let batch = [&query[..], &query[..20], b"", &query, &query];
            kit.responder.read_ahead(batch.into_iter(), &kit.cache);
            let said = kit.serve(&query);
            let is_due = kit.responder.due().is_some();
            other.forget();
            std::mem::swap(&mut kit.responder, other);
            let expected = kit.serve(&query);
            let due = kit.responder.due().is_some();
            std::mem::swap(&mut kit.responder, other);
            prop_assert_eq!(said, expected);
            prop_assert_eq!(is_due, due);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// An answer that is given again is the same octets as one that is not, at any moment, whatever has become of the cache and whoever asks.
    #[test]
    fn the_same_octets(steps in proptest::collection::vec(next(), 1..400), rotates: bool) {
        let mut kit = Kit::new();
        kit.policy.rotates = rotates;
        kit.policy.answers_without_rd = true;
        let mut other = Responder::new(2);
        for step in &steps {
            act(&mut kit, &mut other, step)?;
        }
        prop_assert_eq!(other.counters().rendered, 0);
    }
}

/// The property is about something: most questions of such a sequence are answered again.
#[test]
fn most_are_given_again() {
    let mut kit = Kit::new();
    DATA.iter().for_each(|owner| kit.data(owner, rtype::A, 60, A, Secure));
    for _ in 0..100 {
        for owner in DATA {
            assert!(matches!(kit.serve(&query(owner, rtype::A, RD, None, b"")).0, Served::Octets(_)));
        }
    }
    assert_eq!(kit.responder.counters().rendered, 3 * 98);
}
