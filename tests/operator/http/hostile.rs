//! Strangers that send what is no request, or take their time.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use zonda_tests::patience::await_that;

use super::client::{connected, get, request};
use super::{Fixture, fixture};

/// Malformed requests.
const REQUESTS: usize = 10_000;

/// Memory that these may cost the process: connections are 64 at most, and what was theirs is used again.
const GROWTH_KIBIBYTES: u64 = 4096;

/// The memory of a process in kibibytes.
fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// A request that is none, and what may be answered; 0: nothing.
fn malformed(number: usize) -> (Vec<u8>, &'static [u16]) {
    let host = "Host: localhost\r\n";
    match number % 10 {
        0 => (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), &[400]),
        1 => (format!("GET /metrics HTTP/1.1\r\n{host}x{}: y\r\n\r\n", "x".repeat(9000)).into(), &[431]),
        2 => (format!("GET /{} HTTP/1.1\r\n{host}\r\n", "x".repeat(number % 2000)).into(), &[404]),
        3 => (format!("GET /metrics HTTP/9.9\r\n{host}\r\n").into(), &[400]),
        4 => (format!("GET /metrics HTTP/1.1\r\n{host}Content-Length: -1\r\n\r\n").into(), &[400]),
        5 => (
            format!("GET /metrics HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n")
                .into(),
            &[413],
        ),
        6 => (format!("GET /metrics HTTP/1.1\r\n{host}no header\r\n\r\n").into(), &[400]),
        7 => (format!("G\0T / HTTP/1.1\r\n{host}\r\n").into(), &[400]),
        8 => (format!("GET /metrics HTTP/1.1\r\n{}{host}\r\n", "A: b\r\n".repeat(200)).into(), &[431]),
        _ => (format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{number}").into(), &[0, 400]),
    }
}

fn assert_is_well(fixture: &Fixture) {
    let began = Instant::now();
    assert_eq!(fixture.get("/health").status, 200);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn malformed_requests_are_answered_as_such() {
    let fixture = fixture();
    let child = fixture.child();
    let round = |from: usize, to: usize| {
        for number in from..to {
            let (octets, expected) = malformed(number);
            let reply = request(fixture.at, &octets);
            let status = reply.map_or(0, |reply| reply.status);
            assert!(expected.contains(&status), "{number}: {status}");
        }
    };
    round(0, REQUESTS / 10);
    let before = memory(child);
    round(REQUESTS / 10, REQUESTS);
    let after = memory(child);
    assert!(after < before + GROWTH_KIBIBYTES, "{before} to {after} KiB");
    assert_is_well(&fixture);
    assert_eq!(fixture.child(), child, "it lives");
}

/// Whoever takes his time has a place only as long as nobody else wants it.
#[test]
fn slow_clients_do_not_keep_others_out() {
    let fixture = fixture();
    let child = fixture.child();
    let mut slow: Vec<TcpStream> = Vec::new();
    for round in 0..20 {
        for client in 0..10 {
            // From one address, and from many.
            let address =
                if client < 5 { "127.0.0.1".into() } else { format!("127.0.1.{}", 1 + slow.len() % 250) };
            let Some(mut stream) = connected(&address, fixture.at) else { continue };
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: ");
            slow.push(stream);
        }
        slow.iter_mut().for_each(|stream| drop(stream.write_all(b"x")));
        assert_is_well(&fixture);
        assert_eq!(get(fixture.at, "/metrics").expect("a reply").status, 200, "round {round}");
    }
    let open = || std::fs::read_dir(format!("/proc/{child}/fd")).expect("descriptors").count();
    assert!(open() < 64 + 32, "{}", open());
    // What was not asked for in time is not waited for.
    await_that("the end of the slow ones", || open() < 20);
    assert_is_well(&fixture);
}
