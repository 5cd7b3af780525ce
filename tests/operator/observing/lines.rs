//! The query log.

use std::os::unix::net::UnixDatagram;
use std::sync::atomic::{AtomicBool, Ordering};

use zonda_tests::message::header;

use super::*;

const FILE: &str = "[query-log]\noutput = \"file:queries\"\n";

fn lines(server: &Fixture, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(server.path(name)).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "whole lines");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_line_for_each_query() {
    let mut server = start(FILE);
    let since = now();
    let (client, response) = ask(server.address, &Query::new("www.example.", rtype::A).dnssec().octets());
    tcp(server.address, &query("nothing.example."));
    let odd = [&header(1, 0, [1, 0, 0, 0])[..], b"\x04a\nb \x07example\0\0\x01\0\x01"].concat();
    ask(server.address, &odd);
    // A question that is cut off.
    ask(server.address, &odd[..20]);
    ask(server.address, &query("example.net."));
    server.stop();
    let lines = lines(&server, "queries");
    assert_eq!(lines.len(), 5, "{lines:?}");
    // Two workers have answered: what one has is in order.
    let line = |words: &str| {
        let found = lines.iter().find(|line| line.contains(words));
        found.unwrap_or_else(|| panic!("no {words} in {lines:?}"))
    };
    let (time, rest) = line(" www.example. ").split_once(' ').expect("a time");
    let length = response.len();
    assert_eq!(
        rest,
        format!("127.0.0.1#{} udp www.example. A IN NOERROR aa,do 40 {length} zone=example.", client.port())
    );
    assert!((since..=now()).contains(&seconds(time)), "{time}");
    line(" tcp nothing.example. A IN NXDOMAIN aa ");
    line(" udp a\\010b\\032.example. A IN NXDOMAIN aa ");
    line(" udp malformed - - FORMERR - 20 ");
    assert!(line(" udp example.net. A IN REFUSED - ").ends_with(" -"), "no zone");
}

/// Seconds since 1970 of a time of today or tomorrow.
fn seconds(time: &str) -> u64 {
    let output = Command::new("date").args(["-u", "+%s", "-d", time]).output().expect("date runs");
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

#[test]
fn objects_in_datagrams() {
    let scratch = folder(&[("example.zone", SOUND.as_bytes())]);
    let socket = UnixDatagram::bind(scratch.path().join("reader")).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("patience");
    let sections = "[query-log]\noutput = \"unix:reader\"\nformat = \"json\"\nzones = \"example\"\nrcodes = \"NXDOMAIN\"\n";
    let server = start_in(scratch, sections, None);
    for name in ["example.net.", "www.example.", "nothing.example."] {
        ask(server.address, &query(name));
    }
    let mut line = [0; 4096];
    let length = socket.recv(&mut line).expect("a line");
    let object: Value = serde_json::from_slice(&line[..length]).expect("an object");
    assert_eq!(
        ["name", "type", "code", "zone", "transport", "client"]
            .map(|key| object[key].as_str().unwrap_or("none")),
        ["nothing.example.", "A", "NXDOMAIN", "example.", "udp", "127.0.0.1"],
        "the only one that is asked for"
    );
}

/// One in ten of 10,000, by chance: the standard deviation is below 32.
#[test]
fn a_sample() {
    let mut server = start(&format!("{FILE}one-in = 10\n"));
    ask_many(server.address, 10_000);
    server.stop();
    let count = lines(&server, "queries").len();
    assert!((840..1160).contains(&count), "{count} of 10,000");
}

/// Whatever is done to it while queries come, each has a line, or is counted.
#[test]
fn nothing_is_lost_by_changes() {
    let mut server = start(FILE);
    let (is_over, address) = (AtomicBool::new(false), server.address);
    let asked = std::thread::scope(|scope| {
        let asks = scope.spawn(|| {
            let mut asked = 0;
            while !is_over.load(Ordering::Relaxed) {
                ask(address, &query("www.example."));
                asked += 1;
            }
            asked
        });
        for round in 0..4 {
            std::thread::sleep(Duration::from_millis(100));
            std::fs::rename(server.path("queries"), server.path(&format!("moved-{round}"))).expect("a file");
            assert!(server.ctl(&["query-log", "reopen"]).is_some());
            await_that("a new file", || server.path("queries").exists());
        }
        // Another consumer comes and goes, and other settings of this one come.
        for sections in ["[dnstap]\noutput = \"file:tap\"\n", "format = \"json\"\n", ""] {
            std::thread::sleep(Duration::from_millis(100));
            write_settings(server.scratch.path(), address, &format!("{FILE}{sections}"));
            assert!(server.ctl(&["reload"]).is_some());
        }
        std::thread::sleep(Duration::from_millis(100));
        is_over.store(true, Ordering::Relaxed);
        asks.join().expect("queries")
    });
    let lost = ["tap-lost-in-rings", "query-log-dropped-at-queue", "query-log-dropped-at-sink"];
    let lost: u64 = lost.iter().map(|name| server.count(name)).sum();
    server.stop();
    let files = ["queries", "moved-0", "moved-1", "moved-2", "moved-3"];
    let written: usize = files.iter().map(|name| lines(&server, name).len()).sum();
    assert_eq!(written as u64 + lost, asked, "{lost} were lost");
    assert_eq!(lost, 0, "there was room for all");
}

/// A file that is moved away is left alone, without a command: tools that rotate logs do no more.
#[test]
fn a_file_that_is_moved_away() {
    let mut server = start(FILE);
    ask_many(server.address, 10);
    await_that("lines", || lines(&server, "queries").len() == 10);
    std::fs::rename(server.path("queries"), server.path("moved")).expect("a file");
    let mut asked = 10;
    await_that("a new file", || {
        ask(server.address, &query("www.example."));
        asked += 1;
        std::thread::sleep(Duration::from_millis(200));
        server.path("queries").exists()
    });
    server.stop();
    assert_eq!(lines(&server, "moved").len() + lines(&server, "queries").len(), asked);
}
