//! `ctl stats`: counts by type, transport and response code, and memory by part.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

use serde_json::Value;
use zonda_tests::exchange::{Transport, ask, udp_within};
use zonda_tests::message::Query;
use zonda_tests::patience::await_that;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, free_address, program_command};

use crate::kit::{SOUND, folder, text, zonda};

/// A server with IPv4 and IPv6.
struct Fixture {
    /// Ends before its folder goes.
    _process: Guarded,
    scratch: tempfile::TempDir,
    v4: SocketAddr,
    v6: SocketAddr,
}

fn fixture() -> Fixture {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let v4 = free_address();
    let v6 = SocketAddr::from((Ipv6Addr::LOCALHOST, v4.port()));
    let settings = format!(
        "[server]\nlisten = [\"{v4}\", \"{v6}\"]\nworkers = 2\n[control]\nsocket = \"control\"\n\
         [[zone]]\nname = \"example\"\nfile = \"example.zone\"\n"
    );
    let path = scratch.path().join("zonda.toml");
    std::fs::write(&path, settings).expect("settings");
    let process = Guarded::spawn(program_command(&["serve", "--config", text(&path)]), scratch.path());
    let fixture = Fixture { _process: process, scratch, v4, v6 };
    await_that("the zones", || fixture.ctl(&["zones"]).is_some_and(|zones| zones.contains("served")));
    fixture
}

impl Fixture {
    fn ctl(&self, arguments: &[&str]) -> Option<String> {
        let config = self.scratch.path().join("zonda.toml");
        let said = zonda(&[&["ctl", "--config", text(&config)], arguments].concat());
        (said.status == 0).then_some(said.output)
    }

    fn stats(&self) -> Value {
        serde_json::from_str(&self.ctl(&["stats", "--json"]).expect("counts")).expect("an object")
    }
}

/// The counts of a section, by name.
fn counts(stats: &Value, section: &str) -> Vec<(String, u64)> {
    let count = |count: &Value| {
        (count["name"].as_str().expect("a name").to_owned(), count["count"].as_u64().expect("a number"))
    };
    stats[section].as_array().expect("a list").iter().map(count).collect()
}

fn named(counts: &[(&str, u64)]) -> Vec<(String, u64)> {
    counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

#[test]
fn queries_are_counted_by_type_transport_and_response_code() {
    let fixture = fixture();
    let empty = fixture.ctl(&["stats"]).expect("counts");
    assert_eq!(empty.matches("\n  none yet\n").count(), 2, "{empty}");
    let stats = fixture.stats();
    assert_eq!(counts(&stats, "types"), []);
    assert_eq!(counts(&stats, "answers")[0], ("queries".into(), 0));
    let udp = |address, name: &str, qtype| drop(ask(address, Transport::Udp, &Query::new(name, qtype)));
    // Made anew, given again as it was kept, and refused.
    for name in ["www.example.", "www.example.", "www.example.", "elsewhere."] {
        udp(fixture.v4, name, rtype::A);
    }
    udp(fixture.v6, "www.example.", 28);
    udp(fixture.v6, "none.example.", 28);
    udp(fixture.v4, "www.example.", 255);
    udp(fixture.v4, "www.example.", 65_280);
    udp(fixture.v4, "www.example.", 65_281);
    ask(fixture.v4, Transport::Tcp, &Query::new("example.", 257));
    for _ in 0..2 {
        ask(fixture.v6, Transport::Tcp, &Query::new("example.", rtype::SOA));
    }
    // A header alone is a query without a question.
    let header = [0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    udp_within(fixture.v4, &header, Duration::from_secs(2)).expect("an exchange");
    let stats = fixture.stats();
    let types = [("A", 4), ("SOA", 2), ("AAAA", 2), ("ANY", 1), ("CAA", 1), ("others", 2), ("none", 1)];
    let mut found = counts(&stats, "types");
    assert!(found.is_sorted_by_key(|(_, count)| u64::MAX - count), "{found:?}");
    found.sort();
    let mut types = named(&types);
    types.sort();
    assert_eq!(found, types);
    assert_eq!(
        counts(&stats, "queries"),
        named(&[("udp-ipv4", 8), ("udp-ipv6", 2), ("tcp-ipv4", 1), ("tcp-ipv6", 2)])
    );
    assert_eq!(
        counts(&stats, "rcodes"),
        named(&[("NOERROR", 10), ("FORMERR", 1), ("NXDOMAIN", 1), ("REFUSED", 1)])
    );
    assert_eq!(counts(&stats, "answers")[0], ("queries".into(), 13));
    let shown = fixture.ctl(&["stats"]).expect("counts");
    let row = |name: &str| shown.lines().find(|line| line.split_whitespace().next() == Some(name));
    assert!(row("A").is_some_and(|row| row.ends_with(" 30.8 %")), "{shown}");
}

#[test]
fn memory_is_told_by_part() {
    let fixture = fixture();
    let memory = fixture.stats()["memory"].clone();
    let parts = counts(&memory, "parts");
    let sum: u64 = parts.iter().map(|(_, count)| count).sum();
    let (told, resident) = (memory["sum"].as_u64(), memory["resident"].as_u64().expect("a number"));
    assert_eq!(told, Some(sum));
    assert!(sum.abs_diff(resident) < resident / 10, "{memory}");
    for part in ["packs-in-memory", "catalog", "kept-answers", "buffers", "rest", "program"] {
        assert!(parts.iter().any(|(name, count)| name == part && *count > 0), "{part}: {memory}");
    }
    // A pack in a file is told apart.
    let pack = fixture.scratch.path().join("example.pack");
    let zone = format!("example.={}", text(&fixture.scratch.path().join("example.zone")));
    zonda(&["compile", "-o", text(&pack), &zone]).assert_fine();
    for arguments in [vec!["remove-zone", "example"], vec!["add-zone", "example", text(&pack)]] {
        fixture.ctl(&arguments).expect("a change");
    }
    let mapped = |memory: &Value| counts(memory, "parts")[0].clone();
    assert_eq!(mapped(&memory), ("packs-mapped".into(), 0));
    let memory = fixture.stats()["memory"].clone();
    assert!(mapped(&memory).1 >= std::fs::metadata(&pack).expect("the pack").len(), "{memory}");
    assert!(fixture.ctl(&["stats"]).expect("counts").contains("\nmemory\n  packs-mapped "));
}
