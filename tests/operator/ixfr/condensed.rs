//! `ixfr-condense`: who is many versions behind gets one difference, where that is shorter by half, and comes to the same zone.

use super::*;

/// Changes of so many octets that the history of these is longer than the zone, and would not be sent version by version.
const STEPS: u32 = 120;

/// A text of one name that is other in each version, and names that come and go.
fn step(number: u32) -> String {
    let text = format!("{number:03}").repeat(70);
    format!(
        "update delete long.{ORIGIN} TXT\nupdate add long.{ORIGIN} 60 TXT \"{text}\" \"{text}\"\n\
         update add u{number}.{ORIGIN} 60 TXT \"{number}\"\nupdate delete u{}.{ORIGIN} TXT",
        number - 1
    )
}

fn condensed(server: &Server) -> u64 {
    let said = ctl(server, &["stats"]);
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("history-condensed")).expect("a line").to_owned();
    line.split_whitespace().find_map(|word| word.parse().ok()).expect("a number")
}

#[test]
fn many_versions_are_one_difference() {
    let (one, two) = (free_address(), free_address());
    let bed = Bed::of_text("ixfr-condense = true\nnotify = [\"one\", \"two\"]", &[one, two]);
    let server = bed.start();
    let (named, knot) =
        (Peer::secondary(Kind::Named, one, bed.address), Peer::secondary(Kind::Knot, two, bed.address));
    await_that("named", || serial(one) == Some(1));
    await_that("knotd", || serial(two) == Some(1));
    // Two versions that have nothing in common are sent as they were.
    update(bed.address, &format!("update add one.{ORIGIN} 60 A 192.0.2.1"));
    update(bed.address, &format!("update add two.{ORIGIN} 60 A 192.0.2.2"));
    let apart = ["SOA 3", "SOA 1", "SOA 2", "one A 192.0.2.1", "SOA 2", "SOA 3", "two A 192.0.2.2", "SOA 3"];
    assert_eq!(ixfr(bed.address, 1), apart);
    await_that("the peers", || [one, two].iter().all(|peer| serial(*peer) == Some(3)));
    assert_eq!(condensed(&server), 0);
    let peers = [named._process.pid(), knot._process.pid()];
    peers.iter().for_each(|pid| signal(*pid, "STOP"));
    let steps: Vec<String> = (1..=STEPS).map(step).collect();
    update(bed.address, &steps.join("\nsend\n"));
    let last = 3 + STEPS;
    let text = format!("{STEPS:03}").repeat(70);
    let newest = [
        format!("SOA {last}"),
        "SOA 3".into(),
        format!("SOA {last}"),
        format!("long TXT \"{text}\" \"{text}\""),
        format!("u{STEPS} TXT \"{STEPS}\""),
        format!("SOA {last}"),
    ];
    assert_eq!(ixfr(bed.address, 3), newest);
    assert_eq!(condensed(&server), 1);
    // From a version within: what it has goes.
    let within = ixfr(bed.address, last - 40);
    assert!(
        within.len() == 8
            && within[2].starts_with("long TXT")
            && within[3] == format!("u{0} TXT \"{0}\"", STEPS - 40),
        "{within:?}"
    );
    // One version has nothing to be left out.
    let before = condensed(&server);
    assert_eq!(ixfr(bed.address, last - 1).len(), 8);
    assert_eq!(condensed(&server), before);
    peers.iter().for_each(|pid| signal(*pid, "CONT"));
    await_that("named to follow", || serial(one) == Some(last));
    await_that("knotd to follow", || serial(two) == Some(last));
    // To them, and the three from here.
    await_that("the last transfers to be told", || sent_up_to(&server, last) >= 5);
    let (whole, _) = sent(&server);
    assert!(
        whole == 2 && condensed(&server) >= before + 2,
        "{whole} whole\n{}\n{}",
        server.log(),
        knot.log()
    );
    // Only now: these are transfers too.
    let all = records(bed.address);
    assert!(records(one) == all && records(two) == all);
}

/// Without the setting all versions are sent, or the whole zone.
#[test]
fn it_is_done_where_it_is_asked_for() {
    let bed = Bed::of_text("", &[]);
    let server = bed.start();
    let steps: Vec<String> = (1..=STEPS).map(step).collect();
    update(bed.address, &steps.join("\nsend\n"));
    assert!(is_whole(&ixfr(bed.address, 1)));
    let sent = ixfr(bed.address, 1 + STEPS - 10);
    assert_eq!(sent.iter().filter(|line| line.starts_with("SOA")).count(), 22);
    assert_eq!(condensed(&server), 0);
}
