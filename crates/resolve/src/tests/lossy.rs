//! Worlds drawn at random: servers that lose, delay, lie and die. Whatever they do, each question has one outcome in time, no answer is wrong, and nothing is
//! held when all is over.

use std::cell::Cell;
use std::rc::Rc;

use proptest::prelude::*;

use super::scripted::{Record, Response, Scene, lines};
use wire::iana::rtype;

/// What a server does to a question, by a number.
fn behave(kind: u8, number: u64, is_stream: bool, response: Response) -> Option<Response> {
    match (kind, number % 4) {
        (0, _) => Some(response),
        (1, 0 | 1) | (2, _) => None,
        (3, 0) => Some(Response::rcode(2)),
        (4, _) => Some(Response::rcode(5)),
        (5, 0) => Some(Response { edns: None, ..Response::rcode(1) }),
        (6, _) => Some(Response { is_truncated: !is_stream, ..response }),
        (7, 0 | 2) => Some(Response { wrong_id: true, ..response }),
        (8, 0) => Some(Response { later_ms: 3_000, ..response }),
        (9, _) => {
            let root = Record::from_text(". 60 NS a.root.");
            Some(Response { is_authoritative: false, sections: [vec![], vec![root], vec![]], ..response })
        }
        (10, _) => Some(Response { sections: Default::default(), is_authoritative: false, ..response }),
        (11, 0) => Some(Response::rcode(23)),
        _ => Some(response),
    }
}

fn world(kinds: &[u8], has_tcp: &[bool]) -> Scene {
    let count = Rc::new(Cell::new(0u64));
    let mut scene = Scene::new(
        "test. 86400 NS a.test.\ntest. 86400 NS b.test.\na.test. 86400 A 192.0.9.2\nb.test. 86400 A 192.0.9.3",
    );
    let test = "example.test. 3600 NS ns.example.test.
                example.test. 3600 NS ns.far.test.
                ns.example.test. 3600 A 192.0.9.4
                far.test. 3600 NS ns.far.test.
                ns.far.test. 3600 A 192.0.9.5
                loop.test. 3600 NS ns.pool.test.
                pool.test. 3600 NS ns.loop.test.";
    let example = "www.example.test. 60 A 203.0.113.1
                   alias.example.test. 60 CNAME www.far.test.
                   d.example.test. 60 DNAME far.test.
                   a.b.c.example.test. 1 A 203.0.113.1";
    let far = "www.far.test. 60 A 203.0.113.1
               ns.far.test. 60 A 192.0.9.5
               round.far.test. 60 CNAME round.example.test.";
    for (at, number) in (2..6).enumerate() {
        let zones: &[(&str, &str)] =
            if number < 4 { &[("test.", test)] } else { &[("example.test.", example), ("far.test.", far)] };
        let (kind, count) = (kinds[at], count.clone());
        scene.serve_so(number, zones, move |question, response| {
            count.set(count.get().wrapping_mul(31).wrapping_add(question.id.into()));
            behave(kind, count.get() >> 3, question.is_stream, response)
        });
        scene.server(number).has_tcp = has_tcp[at];
    }
    scene
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 75, ..ProptestConfig::default() })]

    #[test]
    fn one_outcome_each_and_none_wrong(
        kinds in proptest::collection::vec(0u8..12, 4),
        has_tcp in proptest::collection::vec(any::<bool>(), 4),
        asked in proptest::collection::vec((0usize..8, 0u64..3_000), 1..12),
    ) {
        let mut scene = world(&kinds, &has_tcp);
        let names = ["www.example.test.", "alias.example.test.", "www.d.example.test.", "a.b.c.example.test.",
            "no.example.test.", "www.loop.test.", "ns.far.test.", "x.y.z.far.test."];
        let mut waiters = Vec::new();
        for (number, pause) in asked {
            waiters.push((number, scene.net.now, scene.ask(names[number], rtype::A).unwrap()));
            scene.pass(pause);
        }
        for (number, begun, waiter) in waiters {
            let outcome = scene.outcome(waiter);
            let _ = begun;
            let addresses: Vec<_> = lines(&outcome).into_iter().filter(|line| line.contains(" A ")).collect();
            match outcome.rcode {
                0 => {
                    let expected = if number == 6 { "192.0.9.5" } else { "203.0.113.1" };
                    prop_assert!(addresses.iter().all(|line| line.ends_with(expected)), "{addresses:?}");
                    prop_assert!(!addresses.is_empty() || number == 7, "{} {outcome:?}", names[number]);
                }
                3 => prop_assert!([4, 7].contains(&number), "{} {outcome:?}", names[number]),
                rcode => prop_assert_eq!(rcode, 2),
            }
        }
        scene.check_nothing_held();
    }
}

mod long {
    use super::*;

    /// A week with servers that come and go.
    #[test]
    #[ignore = "a minute"]
    fn a_week() {
        let mut random = 7u64;
        for round in 0..200 {
            let mut draw = |below: u64| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) % below
            };
            let kinds: Vec<u8> = (0..4).map(|_| draw(12) as u8).collect();
            let mut scene = world(&kinds, &[true, false, true, true]);
            for number in 0..2_000u64 {
                let _ = scene.ask(&format!("n{}.example.test.", draw(500)), rtype::A);
                scene.pass(draw(600));
                assert!(number > 0 || round < 200);
            }
            scene.check_nothing_held();
        }
    }
}
