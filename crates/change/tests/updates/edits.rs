//! Edited texts over zones that have changed since: what both sides did stays, or neither is touched.
use std::collections::BTreeSet;

use crate::kit::{NOW, name, pack, records, text, trimmed, view};
use change::draft::NoChange;
use change::{Draft, Edit, EditFault, SerialStyle};
use wire::NameBuf;
use wire::iana::rtype;
use zone::Pack;

const HEAD: &str = "@ 60 NS ns\nns 60 A 192.0.2.1\n";

fn zone(serial: u32, rest: &str) -> Pack {
    pack(&records(&format!("@ 60 SOA ns host {serial} 2 3 4 5\n{HEAD}{rest}")))
}

/// What comes of an edit from one text to another over what is served.
fn edited(before: &Pack, after: &Pack, served: &Pack) -> Result<String, EditFault> {
    let edit = Edit::between(&view(before), &view(after), 1 << 20)?;
    let mut draft = Draft::new(view(served)).unwrap();
    draft.edit(&edit, SerialStyle::Increment, NOW)?;
    match draft.into_change(SerialStyle::Increment, NOW) {
        Ok(change) => Ok(text(&change)),
        Err(NoChange::Nothing) => Ok("nothing".into()),
        Err(NoChange::Damaged) => Err(EditFault::Damaged),
    }
}

#[track_caller]
fn check(before: &str, after: (u32, &str), served: (u32, &str), expected: &str) {
    let said = edited(&zone(1, before), &zone(after.0, after.1), &zone(served.0, served.1)).unwrap();
    assert_eq!(said, trimmed(expected));
}

#[test]
fn both_sides_stay() {
    check(
        "a 60 A 192.0.2.2\nb 60 A 192.0.2.3\n",
        (1, "a 60 A 192.0.2.2\nc 60 A 192.0.2.4\n"),
        (7, "a 60 A 192.0.2.22\nb 60 A 192.0.2.3\nd 60 A 192.0.2.5\n"),
        "7 -> 8
         - b.example. 60 A 192.0.2.3
         + c.example. 60 A 192.0.2.4",
    );
    // What the other side has done already.
    check("a 60 A 192.0.2.2\n", (1, "b 60 A 192.0.2.2\n"), (7, "b 60 A 192.0.2.2\n"), "nothing");
    // Records of one RRset.
    check(
        "a 60 TXT x\na 60 TXT y\n",
        (1, "a 60 TXT x\na 60 TXT z\n"),
        (7, "a 60 TXT y\na 60 TXT w\n"),
        "7 -> 8
         - a.example. 60 TXT \"y\"
         + a.example. 60 TXT \"z\"",
    );
}

#[test]
fn serials_go_on_from_what_is_served() {
    let a = "a 60 A 192.0.2.2\n";
    check("", (9, a), (7, ""), "7 -> 9\n+ a.example. 60 A 192.0.2.2");
    check("", (7, a), (7, ""), "7 -> 8\n+ a.example. 60 A 192.0.2.2");
    check("", (3, a), (7, ""), "7 -> 8\n+ a.example. 60 A 192.0.2.2");
    check("", (4_000_000_000, a), (7, ""), "7 -> 8\n+ a.example. 60 A 192.0.2.2");
    // The serial alone.
    check(a, (9, a), (7, a), "7 -> 9");
    check(a, (7, a), (7, a), "nothing");
    check(a, (1, a), (7, ""), "nothing");
}

#[test]
fn ttls_that_became_others() {
    check(
        "a 60 TXT x\na 60 TXT y\n",
        (1, "a 90 TXT x\na 90 TXT y\n"),
        (7, "a 60 TXT y\na 60 TXT w\n"),
        "7 -> 8
         - a.example. 60 TXT \"w\"
         - a.example. 60 TXT \"y\"
         + a.example. 90 TXT \"w\"
         + a.example. 90 TXT \"y\"",
    );
    // That of the updates stays where no other was written.
    check(
        "a 60 TXT x\n",
        (1, "a 60 TXT x\na 60 TXT z\n"),
        (7, "a 5 TXT x\n"),
        "7 -> 8\n+ a.example. 5 TXT \"z\"",
    );
}

#[test]
fn soa_records_but_for_the_serial() {
    let soa = |serial: u32, minimum: u32| {
        pack(&records(&format!("@ 60 SOA ns host {serial} 2 3 4 {minimum}\n{HEAD}")))
    };
    let of = |edit: Edit, served: &Pack| {
        let mut draft = Draft::new(view(served)).unwrap();
        draft.edit(&edit, SerialStyle::Increment, NOW)?;
        let change = draft.into_change(SerialStyle::Increment, NOW).unwrap();
        let soa = change.added().iter().next().unwrap();
        Ok::<_, EditFault>((change.serial_after(), *soa.rdata.last().unwrap()))
    };
    let between = |one: &Pack, other: &Pack| Edit::between(&view(one), &view(other), 9999).unwrap();
    assert_eq!(of(between(&soa(1, 5), &soa(1, 6)), &soa(7, 5)), Ok((8, 6)));
    assert_eq!(of(between(&soa(1, 5), &soa(9, 6)), &soa(7, 5)), Ok((9, 6)));
    let conflict = Err(EditFault::Conflict(name("@"), rtype::SOA));
    assert_eq!(of(between(&soa(1, 5), &soa(1, 6)), &soa(7, 9)), conflict);
}

#[test]
fn what_no_zone_can_have() {
    let fault = |before: &str, after: &str, served: &str| {
        edited(&zone(1, before), &zone(1, after), &zone(7, served)).unwrap_err()
    };
    let conflict = |owner| EditFault::Conflict(name(owner), rtype::CNAME);
    assert_eq!(fault("", "a 60 CNAME b\n", "a 60 A 192.0.2.1\n"), conflict("a"));
    assert_eq!(fault("", "a 60 A 192.0.2.1\n", "a 60 CNAME b\n"), conflict("a"));
    assert_eq!(fault("a 60 CNAME b\n", "a 60 CNAME c\n", "a 60 CNAME d\n"), conflict("a"));
    let servers = |ns: &str| pack(&records(&format!("@ 60 SOA ns host 1 2 3 4 5\n{ns}")));
    let (one, other, both) =
        (servers("@ 60 NS a\n"), servers("@ 60 NS b\n"), servers("@ 60 NS a\n@ 60 NS b\n"));
    assert_eq!(edited(&both, &one, &other), Err(EditFault::LastNs));
    let large = Edit::between(&view(&one), &view(&zone(1, "a 60 TXT xxxxxxxxxxxx\n")), 10);
    assert_eq!(large.unwrap_err(), EditFault::TooLarge);
    let signed = zone(
        9,
        &format!("a 60 A 192.0.2.1\n@ 60 RRSIG SOA 8 1 60 20300101000000 20200101000000 7 @ {}\n", "AAAA"),
    );
    assert_eq!(edited(&zone(1, ""), &signed, &zone(7, "")), Err(EditFault::Signed));
    assert!(edited(&zone(7, ""), &signed, &zone(7, "")).unwrap().starts_with("7 -> 9\n"));
    assert_eq!(edited(&zone(9, ""), &signed, &zone(9, "")), Err(EditFault::SignedSerial));
}

/// Random texts and zones: the result is what sets of records say, by itself.
#[test]
fn like_sets_of_records() {
    let mut state = 7u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    type Triple = (NameBuf, u16, Vec<u8>);
    let all: Vec<(String, Triple)> = ["a", "b", "a.b", "*.b", "z"]
        .iter()
        .flat_map(|owner| (1..5).map(move |data| format!("{owner} 60 A 192.0.2.{data}\n")))
        .chain((1..3).map(|data| format!("a 60 TXT t{data}\n")))
        .chain(["b 60 MX 5 A.b\n".to_owned(), "z 60 NS a.b\n".to_owned()])
        .map(|line| {
            let (owner, rtype, _, rdata) = records(&line).remove(0);
            (line, (owner, rtype, rdata))
        })
        .collect();
    let mut taken = 0;
    for _ in 0..400 {
        let mut pick = |all: &[(String, Triple)]| -> BTreeSet<usize> {
            (0..all.len()).filter(|_| random(3) > 0).collect()
        };
        let (before, after, served) = (pick(&all), pick(&all), pick(&all));
        let text_of = |of: &BTreeSet<usize>| of.iter().map(|&at| all[at].0.as_str()).collect::<String>();
        let said =
            edited(&zone(1, &text_of(&before)), &zone(1, &text_of(&after)), &zone(7, &text_of(&served)));
        let expected: BTreeSet<usize> = all
            .iter()
            .enumerate()
            .map(|(at, _)| at)
            .filter(|at| {
                (served.contains(at) && (after.contains(at) || !before.contains(at)))
                    || (after.contains(at) && !before.contains(at))
            })
            .collect();
        let lines = |sign: &str, of: Vec<usize>| -> BTreeSet<String> {
            of.into_iter()
                .map(|at| {
                    let (owner, rtype, rdata) = &all[at].1;
                    let rdata = zonefile::print::rdata(*rtype, rdata);
                    format!("{sign} {owner} 60 {} {rdata}", rtype::Text(*rtype))
                })
                .collect()
        };
        let gone = lines("-", served.difference(&expected).copied().collect());
        let come = lines("+", expected.difference(&served).copied().collect());
        let said = said.unwrap();
        if gone.is_empty() && come.is_empty() {
            assert_eq!(said, "nothing");
            continue;
        }
        let mut said_lines = said.lines();
        assert_eq!(said_lines.next(), Some("7 -> 8"));
        let said: BTreeSet<String> = said_lines.map(str::to_owned).collect();
        assert_eq!(said, gone.union(&come).cloned().collect(), "{before:?} {after:?} {served:?}");
        taken += 1;
    }
    assert!(taken > 300, "{taken}");
}
