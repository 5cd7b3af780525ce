//! The lock profiler of the server: who took which lock, and what share of the workers' time went into waiting.

use std::time::Duration;

use zonda_tests::exchange::{Transport, ask};
use zonda_tests::message::Query;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server, ctl};
use zonda_tests::zone::ZoneFile;

use crate::kit::{SOUND, folder};

fn start(settings: &str) -> (tempfile::TempDir, Server) {
    let files = folder(&[("example.zone", SOUND.as_bytes())]);
    let zone = ZoneFile::new("example.", files.path().join("example.zone"));
    (files, Server::start_with(Kind::Zonda, &[zone], settings))
}

fn locks(server: &Server, arguments: &[&str]) -> String {
    let output = ctl(server, &[&["locks"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn as_data(server: &Server, arguments: &[&str]) -> serde_json::Value {
    let text = locks(server, &[&["--json"], arguments].concat());
    serde_json::from_str(&text).expect("one JSON object")
}

/// How often locks of a name were taken, as `report` has it.
fn count(report: &serde_json::Value, name: &str) -> u64 {
    let locks = report["locks"].as_array().expect("a list of locks");
    locks.iter().filter(|lock| lock["name"] == name).filter_map(|lock| lock["count"].as_u64()).sum()
}

/// A line of text as BIND's profiler has it: place, count, seconds held and waited, and a name.
fn is_line_of(line: &str, file: &str, name: &str) -> bool {
    let Some((place, numbers)) = line.split_once(": ") else { return false };
    let mut words = numbers.split_whitespace();
    let number = |word: Option<&str>| word.is_some_and(|word| word.parse::<f64>().is_ok());
    place.starts_with(file)
        && number(words.next())
        && number(words.next())
        && number(words.next())
        && words.collect::<Vec<_>>().join(" ") == name
}

#[test]
fn the_profile_is_shown_on_demand_and_at_the_end() {
    let (_files, mut server) = start("profile-locks = true");
    for _ in 0..3 {
        ask(server.address, Transport::Tcp, &Query::new("www.example.", rtype::A));
        ask(server.address, Transport::Udp, &Query::new("www.example.", rtype::A));
    }
    assert!(ctl(&server, &["reload"]).status.success());

    let text = locks(&server, &[]);
    for (file, name) in [("controller.rs", "zones"), ("controller.rs", "change"), ("admit.rs", "connections")]
    {
        assert!(text.lines().any(|line| is_line_of(line, file, name)), "no {name} in\n{text}");
    }
    assert!(
        text.lines().any(|line| is_line_of(line, "  reload.rs", "")),
        "no line that takes a lock in\n{text}"
    );
    assert!(text.lines().any(|line| line.starts_with("workers: ") && line.contains(" % ")), "{text}");

    let data = as_data(&server, &[]);
    assert_eq!((&data["reply"], &data["on"], &data["threads"]), (&"locks".into(), &true.into(), &1.into()));
    let (seconds, working) = (data["seconds"].as_f64(), data["workers"]["working_s"].as_f64());
    let (seconds, working) = (seconds.expect("a number"), working.expect("a number"));
    assert!((working - seconds).abs() < 1e-6, "of one worker: {data}");
    let (waited, share) = (&data["workers"]["waited_s"], &data["workers"]["share_waited"]);
    let (waited, share) = (waited.as_f64().expect("a number"), share.as_f64().expect("a number"));
    assert!((share * working - waited).abs() < 1e-6, "{data}");
    assert!(count(&data["all"], "change") >= 2, "the first load and the reload: {data}");
    // Each connection is counted when it comes and when it goes, by a worker; and no query takes a lock.
    assert!(count(&data["workers"], "connections") >= 3, "{data}");
    assert_eq!(count(&data["workers"], "zones") + count(&data["workers"], "change"), 0, "{data}");

    server.process.stop();
    let log = server.log();
    assert!(log.lines().any(|line| is_line_of(line, "controller.rs", "zones")), "{log}");
    assert!(log.lines().any(|line| line.starts_with("workers: ")), "{log}");
}

#[test]
fn it_is_turned_on_and_off_while_the_server_runs() {
    let (_files, mut server) = start("[log]\nformat = \"json\"");
    let text = locks(&server, &[]);
    assert!(text.contains("nothing is counted; the lock profiler is off"), "{text}");
    assert_eq!(as_data(&server, &["--on"])["on"], true);
    assert!(ctl(&server, &["zones", "example."]).status.success());
    std::thread::sleep(Duration::from_millis(20));

    let before = as_data(&server, &["--clear"]);
    assert!(count(&before["all"], "zones") >= 1, "what was counted before: {before}");
    let after = as_data(&server, &["--off"]);
    assert_eq!((count(&after["all"], "zones"), &after["on"]), (0, &false.into()));
    let stopped = as_data(&server, &[]);
    assert!(ctl(&server, &["zones", "example."]).status.success());
    let later = as_data(&server, &[]);
    assert_eq!((&later["seconds"], count(&later["all"], "zones")), (&stopped["seconds"], 0));
    assert_eq!(ctl(&server, &["locks", "--on", "--off"]).status.code(), Some(2));

    locks(&server, &["--on"]);
    server.process.stop();
    let log = server.log();
    let objects: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("JSON alone: {line}")))
        .collect();
    let profile = objects.iter().find(|object| object["message"] == "locks").expect("the profile");
    assert!(profile["locks"]["all"]["locks"].is_array());
}

#[test]
fn without_it_the_log_says_nothing_of_locks() {
    let (_files, mut server) = start("");
    server.process.stop();
    assert!(!server.log().contains("workers: "), "{}", server.log());
}
