//! Catalogs that want to do harm: huge ones, names at their limits, damaged ones.

use proptest::prelude::*;
use wire::iana::rtype;
use wire::{Name, NameBuf};
use zone::contents::SourcePosition;
use zone::{ContentsBuilder, Records, ZoneView};

use super::super::*;
use super::kit::{lines as lines_of, *};

/// A name of 255 octets that ends with that number.
fn longest(number: u32) -> NameBuf {
    let digits = format!("{number:061}");
    let label = "x".repeat(63);
    name(&format!("{digits}.{label}.{label}.{label}."))
}

/// The longest catalog name that has room for a group of a label of 63 octets; zones of 255 octets.
#[test]
fn names_at_their_limits() {
    let label = "l".repeat(63);
    let apex = format!("{}.{}.{}.", "a".repeat(63), "b".repeat(63), "c".repeat(49));
    assert_eq!(name(&format!("group.{label}.zones.{apex}")).octets().len(), 255);
    let mut state = State::catalog(&apex, 1, &[&format!("group.{label}.zones TXT signed")]);
    state.add(&format!("{label}.zones PTR {}", longest(1)));
    let mut claims = claims(&[&apex]);
    let taken = take(&mut claims, &state).unwrap();
    assert_eq!(taken.len(), 1);
    assert!(taken[0].ends_with(" signed"), "{taken:?}");
    let lines = lines_of(&claims);
    assert!(lines[0].len() < kept::LINE_OCTETS_MAX);
    // A label of 63 octets that are no letters, in a zone of which all are escapes.
    let zone = format!("{0}.{0}.{0}.{1}.", "\\255".repeat(63), "\\255".repeat(61));
    let line = format!("+ {0} {1} {2} {3} {0} holds", zone, "\\255".repeat(63) + ".", zone, "t".repeat(255));
    assert!(line.len() < kept::LINE_OCTETS_MAX, "{}", line.len());
    kept::read_line(&mut claims, &line).unwrap();
    // A property at a name that cannot be is none, and does not end the walk.
    let apex = format!("{0}.{0}.{0}.{1}.", "a".repeat(63), "b".repeat(40));
    let state = State::catalog(&apex, 1, &["l.zones PTR x.example."]);
    assert_eq!(take(&mut super::kit::claims(&[&apex]), &state).unwrap().len(), 1);
}

#[test]
fn one_zone_a_thousand_times() {
    let mut state = State::catalog("c.", 1, &["a.zones PTR x.example."]);
    let mut claims = claims(&["c."]);
    take(&mut claims, &state).unwrap();
    (0..1_000).for_each(|number| {
        state.add(&format!("l{number}.zones PTR {}.example.", if number % 2 == 0 { "X" } else { "x" }))
    });
    assert_eq!(take(&mut claims, &state).unwrap_err().fault, Fault::Twice);
    // At one node.
    let mut state = State::catalog("c.", 2, &[]);
    (0..1_000).for_each(|number| state.add(&format!("a.zones PTR z{number}.example.")));
    assert_eq!(take(&mut claims, &state).unwrap_err().fault, Fault::Members);
    assert_eq!(claims.len(), 1);
}

/// Each offers the zone to the next: it moves once a state, and nothing runs round.
#[test]
fn a_ring_of_offers() {
    let mut claims = claims(&["a.", "b.", "c."]);
    let rings = [("a.", "b."), ("b.", "c."), ("c.", "a.")];
    let state = |serial, (own, next): (&str, &str)| {
        State::catalog(own, serial, &["x.zones PTR x.example.", &format!("coo.x.zones PTR {next}")])
    };
    rings.iter().for_each(|ring| drop(take(&mut claims, &state(1, *ring)).unwrap()));
    for serial in 2..5 {
        for (own, next) in rings {
            let taken = take(&mut claims, &state(serial, (own, next))).unwrap();
            assert!(taken.len() <= 1 && claims.iter().filter(|(_, claim)| claim.holds).count() == 1);
        }
    }
    assert!(claims.offers.len() == 1);
}

/// All catalogs that there may be claim one zone, and let go one after the other.
#[test]
fn a_zone_of_all_catalogs() {
    let names: Vec<String> = (0..CATALOGS_MAX).map(|number| format!("c{number}.")).collect();
    let mut claims = claims(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for name in &names {
        take(&mut claims, &State::catalog(name, 1, &["a.zones PTR x.example."])).unwrap();
    }
    assert_eq!(claims.len(), CATALOGS_MAX);
    for (name, next) in names.iter().zip(&names[1..]) {
        let taken = take(&mut claims, &State::catalog(name, 2, &[])).unwrap();
        assert_eq!(taken, [format!("x.example.: moved and reset {next} plain")]);
    }
    let more = (0..=CATALOGS_MAX).map(|number| settings(&format!("d{number}."))).collect();
    assert_eq!(claims.configure(more), Err(TooManyCatalogs));
    let templates = (0..=TEMPLATES_MAX).map(|number| number.to_string().into()).collect();
    assert_eq!(
        claims.configure(vec![CatalogSettings { templates, ..settings("c0.") }]),
        Err(TooManyCatalogs)
    );
    assert!(claims.is_configured(claims.catalog(&name("c1.")).unwrap()), "nothing changed");
}

/// Records that are no RDATA, as only a damaged store has them.
#[test]
fn rdata_that_is_none() {
    let claims = claims(&["c."]);
    let fault = |owner: &str, rtype, rdata: &[u8]| {
        let mut records = Records::default();
        records.push(&name(owner), rtype, 0, rdata);
        records.push(&name("version.c."), rtype::TXT, 0, b"\x012");
        let catalog = claims.catalog(&name("c.")).unwrap();
        Difference::of_records(&claims, catalog, records.iter(), 1).err().map(|broken| broken.fault)
    };
    for rdata in [&b""[..], b"\x01", b"\x01a\0\0", b"\xc0\x0c", &[1; 300]] {
        assert_eq!(fault("a.zones.c.", rtype::PTR, rdata), Some(Fault::NotName), "{rdata:?}");
        assert_eq!(fault("coo.a.zones.c.", rtype::PTR, rdata), Some(Fault::NotName));
        assert_eq!(fault("group.a.zones.c.", rtype::TXT, rdata), None);
    }
    assert_eq!(fault("version.c.", rtype::TXT, b""), Some(Fault::Versions));
}

/// Claims come and go for long, and the room that they take stays what those need that are there.
#[test]
fn room_is_used_again() {
    let mut claims = claims(&["c."]);
    for round in 0..20u32 {
        let lines: Vec<String> = (0..300)
            .map(|number| format!("l{number}-{round}.zones PTR z{}.example.", number + 150 * round))
            .collect();
        let state = State::catalog("c.", round, &lines.iter().map(String::as_str).collect::<Vec<_>>());
        take(&mut claims, &state).unwrap();
        assert_eq!(claims.len(), 300);
        let found = claims.of_zone(&name(&format!("Z{}.example.", 150 * round))).count();
        assert_eq!(found, 1);
        assert_eq!(claims.of_zone(&name("y.example.")).count(), 0);
    }
    assert!(claims.memory_octets() < 64 * 1_024, "{}", claims.memory_octets());
}

/// Words of lines, sound and not.
const WORDS: [&str; 16] = [
    "+",
    "-",
    "c.",
    "d.",
    "l.",
    "x.example.",
    "",
    " ",
    "\\",
    "\\000.",
    "\\s",
    "holds",
    ".",
    "a..b",
    "\n",
    "\u{fffd}",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]
    /// Whatever a damaged file has, nothing panics, at most one claim holds a zone, and what was taken is written as it is read.
    #[test]
    fn damaged_lines(lines in prop::collection::vec(prop::collection::vec(0..WORDS.len(), 0..8), 0..30)) {
        let mut damaged = claims(&["c."]);
        for line in lines {
            let line = line.into_iter().map(|word| WORDS[word]).collect::<Vec<_>>().join(" ");
            let _ = kept::read_line(&mut damaged, &line);
        }
        for (_, claim) in damaged.iter() {
            prop_assert!(damaged.of_zone(claim.zone).filter(|(_, other)| other.holds).count() <= 1);
        }
        let mut again = claims(&["c."]);
        for line in lines_of(&damaged) {
            prop_assert!(kept::read_line(&mut again, line.trim_end_matches('\n')).is_ok(), "{line}");
        }
        prop_assert_eq!(lines_of(&again), lines_of(&damaged));
    }

    /// Whatever octets stand in records, in whatever order: a difference or a fault.
    #[test]
    fn any_records(records in prop::collection::vec((0..6usize, 0..3usize, prop::collection::vec(any::<u8>(), 0..12)), 0..12)) {
        let claims = claims(&["c."]);
        let owners = ["c.", "version.c.", "a.zones.c.", "coo.a.zones.c.", "group.b.zones.c.", "elsewhere."];
        let mut all = Records::default();
        for (owner, rtype, rdata) in &records {
            all.push(&name(owners[*owner]), [rtype::PTR, rtype::TXT, rtype::A][*rtype], 0, rdata);
        }
        let catalog = claims.catalog(&name("c.")).unwrap();
        let _ = Difference::of_records(&claims, catalog, all.iter(), 1);
    }
}

mod long {
    use super::*;
    use std::time::Instant;

    /// Figures of the design: `cargo test --release -p transfer a_million_members -- --ignored --nocapture`.
    #[test]
    #[ignore = "a million members"]
    fn a_million_members() {
        const MEMBERS: u32 = 1_000_000;
        let apex = name("catalog.example.");
        let mut builder = ContentsBuilder::new(&apex);
        let mut push = |owner: &Name, rtype, rdata: &[u8]| {
            builder.push(owner, false, rtype, 0, rdata, SourcePosition::default()).unwrap();
        };
        push(&apex, rtype::SOA, &[0; 22]);
        push(&apex, rtype::NS, b"\x07invalid\0");
        push(&name("version.catalog.example."), rtype::TXT, b"\x012");
        for number in 0..MEMBERS {
            let label = format!("{:032x}", u128::from(number) * 0x9e37_79b9_7f4a_7c15_f39c_c060);
            let zone = name(&format!("customer-{number}.example."));
            push(&name(&format!("{label}.zones.catalog.example.")), rtype::PTR, zone.octets());
            let group = if number % 2 == 0 { &b"\x06signed"[..] } else { b"\x05plain" };
            push(&name(&format!("group.{label}.zones.catalog.example.")), rtype::TXT, group);
        }
        let pack = pack_of(builder);
        let view = ZoneView::new(&pack, 0).unwrap();
        let mut claims = claims(&["catalog.example."]);
        let catalog = claims.catalog(&apex).unwrap();
        for round in ["new", "the same"] {
            let begin = Instant::now();
            let difference = Difference::of_state(&claims, catalog, &view, 1).unwrap();
            let compared = begin.elapsed();
            let mut plan = Plan::new(&mut claims, difference, &|_| false, false, 0);
            let planned = begin.elapsed();
            let steps = std::iter::from_fn(|| plan.next_step(&mut claims)).count();
            println!(
                "{round}: compared {compared:?}, planned {:?}, {steps} steps {:?}; {} octets a claim",
                planned - compared,
                begin.elapsed() - planned,
                claims.memory_octets() / claims.len()
            );
        }
        let touched: Records = (0..1_000).fold(Records::default(), |mut records, number| {
            if number == 0 {
                records.push(&apex, rtype::SOA, 0, &[&[0; 2][..], &1u32.to_be_bytes(), &[0; 16]].concat());
            }
            let label = format!("{:032x}", u128::from(number * 999u32) * 0x9e37_79b9_7f4a_7c15_f39c_c060);
            records.push(&name(&format!("group.{label}.zones.catalog.example.")), rtype::TXT, 0, b"\x01x");
            records
        });
        let change = zone::Change::new(touched.clone(), touched).unwrap();
        let begin = Instant::now();
        let difference = Difference::of_change(&claims, catalog, &change, &view).unwrap().unwrap();
        println!("1,000 members of a change: {:?}, {} differ", begin.elapsed(), difference.differing.len());
        let begin = Instant::now();
        let mut settle = Settle::new(&|_| false);
        assert!(settle.next_step(&mut claims).is_none());
        println!("settled: {:?}", begin.elapsed());
        let begin = Instant::now();
        let mut text = String::from(kept::HEAD);
        claims.iter().for_each(|(number, _)| kept::write_claim(&claims, number, &mut text));
        let written = begin.elapsed();
        let mut again = super::super::kit::claims(&["catalog.example."]);
        text.lines().skip(1).for_each(|line| kept::read_line(&mut again, line).unwrap());
        println!("lines: {} octets, written {written:?}, read {:?}", text.len(), begin.elapsed() - written);
        assert_eq!((claims.len(), again.len()), (MEMBERS as usize, MEMBERS as usize));
    }
}
