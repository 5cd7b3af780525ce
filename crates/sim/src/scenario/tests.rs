#![allow(clippy::unwrap_used)]

use super::*;
use crate::naive::Naive;

/// Runs a scenario with the small resolver.
#[track_caller]
fn check(text: &str) {
    let scenario = Scenario::read("text", text).unwrap();
    if let Err(failure) = run(&scenario, &Naive::boxed) {
        panic!("line {}: {}\n{}\n{text}", failure.line, failure.words, failure.story);
    }
}

/// What the small resolver fails with.
#[track_caller]
fn check_failure(text: &str, line: usize, words: &str) {
    let scenario = Scenario::read("text", text).unwrap();
    let failure = run(&scenario, &Naive::boxed).unwrap_err();
    assert!(
        failure.line == line && failure.words.contains(words),
        "{}: {}\n{}",
        failure.line,
        failure.words,
        failure.story
    );
}

#[test]
fn from_the_root_down() {
    check(
        "\
zone example.
zone www.example.
    @ 300 A 192.0.2.80
    alias 60 CNAME www.example.
at 0 query www.example. A
expect NOERROR
answer
    www.example. 300 IN A 192.0.2.80
expect queries all = 3
expect queries ns.example. = 1
expect took = 30
query alias.www.example. A
expect NOERROR
answer
    alias.www.example. ~ IN CNAME www.example.
    www.example. 300 IN A 192.0.2.80
query nothing.www.example. A
expect NXDOMAIN
answer
",
    );
}

#[test]
fn what_is_not_as_expected() {
    let zone = "zone example.\n    @ 300 A 192.0.2.80\n    long 300 TXT x\n";
    let fails = |steps: &str, line, words| check_failure(&format!("{zone}{steps}"), line, words);
    fails("query example. A\nexpect NXDOMAIN\n", 4, "NXDOMAIN was expected: example. A rd ra: NOERROR");
    fails("query example. A\nexpect NOERROR ad\n", 4, "ad is not set");
    fails("query example. A\nexpect NOERROR ede 7\n", 4, "extended error 7");
    fails(
        "query example. A\nexpect NOERROR\nanswer\n",
        4,
        "answer: example. 300 in a 192.0.2.80 was not expected",
    );
    fails("query example. A\nexpect NOERROR\nanswer\n    example. ~ A 192.0.2.8\n", 4, "is missing");
    fails("query example. A\nexpect NOERROR\nexpect queries ns.example. <= 0\n", 6, "is 1, expected <= 0");
    fails("query example. A\nexpect nothing\n", 4, "no answer was expected");
    fails("command flush all\n", 4, "does not know flush all");
    let setting = Scenario::read("text", &format!("{zone}set prefetch\nwait\n")).unwrap();
    assert!(run(&setting, &Naive::boxed).unwrap_err().words.contains("no setting prefetch"));
}

#[test]
fn wrong_files() {
    for (text, words) in [
        ("zone example.\n", "text: nothing happens"),
        ("zone example.\n\n    @ 5 A 1.2.3.4\nquery example.", "text:4: query is no step"),
        ("expect NOERROR\n", "text:1: no query that this is expected of"),
        ("    x\n", "text:1: a record that belongs to nothing"),
        ("sign a. nsec\nwait\n", "text:1: there is no zone a."),
        ("zone a.\nsign a. nsec4\nwait\n", "text:2: nsec4 is no way to sign"),
        ("zone a.\nfault a. expired\nwait\n", "text:2: a. is not signed"),
        ("zone a.\nbehaviour ns.a. explode\nwait\n", "text:2: explode is no behaviour"),
        ("query a. A\nexpect NOEROR\n", "text:2: NOEROR is no RCODE"),
    ] {
        assert_eq!(Scenario::read("text", text).unwrap_err(), words);
    }
}

#[test]
fn behaviours_reach_the_resolver() {
    let zone = "zone example.\n    @ 300 A 192.0.2.80\n    @ 3600 NS ns\n    @ 3600 NS ns2\n    ns 60 A 192.0.2.1\n    ns2 60 A 192.0.2.2\n";
    let all = |lines: &str| check(&format!("{zone}{lines}"));
    let good = "query example. A\nexpect NOERROR\nanswer\n    example. ~ A 192.0.2.80\n";
    // One server is lame, dead, wrong: the other one is asked.
    for fault in [
        "drop",
        "rcode refused",
        "rcode servfail",
        "wrong id",
        "wrong name",
        "wrong type",
        "wrong qr",
        "no-question",
        "sender 192.0.2.99",
        "port 5353",
        "no-edns formerr",
        "loses-above 20",
    ] {
        all(&format!("behaviour ns.example. {fault}\n{good}expect queries ns2.example. >= 0\n"));
        all(&format!(
            "behaviour ns.example. {fault}\nbehaviour ns2.example. {fault}\nquery example. A\nexpect SERVFAIL\n"
        ));
    }
    // TCP.
    for fault in ["truncate", "limit 20"] {
        let both = format!("behaviour ns.example. {fault}\nbehaviour ns2.example. {fault}\n");
        all(&format!("{both}{good}expect streams = 1\n"));
        for stream in ["refuse", "drop", "close"] {
            let no =
                format!("behaviour ns.example. no-tcp {stream}\nbehaviour ns2.example. no-tcp {stream}\n");
            all(&format!("{both}{no}query example. A\nexpect SERVFAIL\nexpect streams >= 2\n"));
        }
        let slow = "behaviour ns.example. no-tcp slow 1\nbehaviour ns2.example. no-tcp slow 1\n";
        all(&format!("{both}{slow}{good}expect took >= 60\n"));
    }
    // What is added arrives; time windows and counts hold.
    all(
        "behaviour ns.example. instead [QNAME 5 A 192.0.2.66]\nbehaviour ns2.example. instead [QNAME 5 A 192.0.2.66]\nquery example. A\nexpect NOERROR\nanswer\n    example. 5 A 192.0.2.66\n",
    );
    all(&format!(
        "behaviour ns.example. drop until 10s\nbehaviour ns2.example. drop until 10s\nquery example. A\nexpect SERVFAIL\nat 10s {good}"
    ));
    all(
        "behaviour ns.example. alias-chain\nbehaviour ns2.example. alias-loop\nquery x.example. A\nexpect SERVFAIL\n",
    );
    all(
        "behaviour ns.example. referrals\nbehaviour ns2.example. referrals\nquery a.b.c.d.example. A\nexpect SERVFAIL\nexpect queries all <= 33\n",
    );
    all(
        "behaviour ns.example. name-servers 50 example.\nbehaviour ns2.example. name-servers 50 example.\nquery a.b.example. A\nexpect SERVFAIL\nexpect queries all <= 33\n",
    );
    // A forger that knows everything wins, one that knows nothing does not.
    let forged = "[example. 9 A 192.0.2.66]";
    all(&format!(
        "behaviour ns.example. forge 100 {forged}\nbehaviour ns2.example. forge 100 {forged}\n{good}"
    ));
    let knowing = "knowing id knowing port";
    all(&format!(
        "behaviour ns.example. forge 1 {forged} {knowing}\nbehaviour ns2.example. forge 1 {forged} {knowing}\nquery example. A\nexpect NOERROR\nanswer\n    example. 9 A 192.0.2.66\n"
    ));
}

#[test]
fn zones_change_and_networks_go() {
    check(
        "\
zone example.
    @ 300 A 192.0.2.80
query example. A
expect NOERROR
at 5s zone example. becomes
    @ 300 A 192.0.2.81
query example. A
expect NOERROR
answer
    example. 300 A 192.0.2.81
withdraw example.
query example. A
expect NXDOMAIN
delegate example.
network cut
query example. A
expect SERVFAIL
network whole
count
query example. A
expect NOERROR
expect queries all = 2
network no-ipv4
query example. A
expect SERVFAIL
restart
network whole
query example. A
expect NOERROR
",
    );
}

/// A signed chain from the root down: DS where it belongs, denial proved by the zone that was asked.
#[test]
fn signed_zones() {
    let text = "zone example.\nzone a.example.\n    @ 300 A 192.0.2.80\nsign all nsec3 opt-out\nsign example. ecdsap256sha256\nwait\n";
    let scenario = Scenario::read("text", text).unwrap();
    assert_eq!(scenario.plan.anchors().len(), 1);
    let zones = scenario.plan.complete().unwrap();
    let types = |number: usize, owner: &str| {
        let owner: NameBuf = owner.parse().unwrap();
        let zone: &crate::Records = &zones[number];
        let mut types: Vec<u16> =
            zone.list.iter().filter(|one| one.owner == owner).map(|one| one.rtype).collect();
        types.dedup();
        types
    };
    use wire::iana::rtype::{A, DS, NS, NSEC, RRSIG};
    assert_eq!(types(0, "example."), [NS, DS, RRSIG]);
    assert_eq!(types(1, "a.example."), [NS, DS, RRSIG, NSEC, RRSIG]);
    assert_eq!(types(2, "a.example.")[..2], [A, RRSIG]);
}
