use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::atomic::{AtomicU64, Ordering},
};

use super::*;

const DONE: &str = "HTTP/1.1 204 No Content\r\n\r\n";
const CLOSES: &str = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
const REFUSED: &str = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 3\r\n\r\nno\n";

/// A server that gives `answers` in turn, over all connections; where there is none it closes the connection, and to `-` it is silent.
fn server(answers: &'static [&'static str]) -> SocketAddr {
    static COUNTS: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let count = &COUNTS[NEXT.fetch_add(1, Ordering::Relaxed) as usize];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut stream = BufReader::new(stream);
                while let Some(body) = request(&mut stream) {
                    assert!(body.starts_with("{\"rrsets\":[{\"name\":\"client-"), "{body}");
                    let at = count.fetch_add(1, Ordering::Relaxed) as usize % answers.len();
                    match answers[at] {
                        "" => return,
                        "-" => continue,
                        answer => stream.get_mut().write_all(answer.as_bytes()).unwrap(),
                    }
                    if answers[at].contains("close") {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// The body of the next request; nothing at the end of a connection.
fn request(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let (mut octets, mut line) = (0, String::new());
    loop {
        line.clear();
        stream.read_line(&mut line).ok().filter(|&read| read > 0)?;
        match line.trim_end().strip_prefix("Content-Length: ") {
            Some(length) => octets = length.parse().unwrap(),
            None if line.trim_end().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; octets];
    stream.read_exact(&mut body).ok()?;
    String::from_utf8(body).ok()
}

fn settings(server: SocketAddr, connections: usize) -> Settings {
    let zones = vec!["a.test.".to_owned(), "b.test.".to_owned()];
    Settings { server, key: "key".to_owned(), zones, connections, timeout: Duration::from_secs(20) }
}

fn outcome(settings: &Settings, requests_max: u64) -> Outcome {
    run(settings, Plan { seconds: 60.0, requests_max }).unwrap()
}

#[test]
fn connections_are_kept() {
    let outcome = outcome(&settings(server(&[DONE]), 4), 100);
    assert_eq!((outcome.sent, outcome.accepted(), outcome.opened, outcome.latency.len()), (100, 100, 4, 100));
    assert!(outcome.accepted_per_second() > 0.0 && outcome.to_json()["refused"] == serde_json::json!({}));
}

#[test]
fn a_rate_is_of_the_plan_or_of_all() {
    let rate = |in_time, seconds| {
        let statuses = [(204, 100)].into_iter().collect();
        Outcome { statuses, in_time, planned_seconds: 1.0, seconds, ..Outcome::default() }
            .accepted_per_second()
    };
    // One that waited long; all of them in the midst at the end.
    assert_eq!((rate(90, 4.0), rate(0, 2.0)), (90.0, 50.0));
}

#[test]
fn made_anew_where_the_server_closes_them() {
    let outcome = outcome(&settings(server(&[DONE, CLOSES, REFUSED]), 1), 9);
    assert_eq!((outcome.accepted(), outcome.statuses[&500], outcome.opened), (6, 3, 4));
    let text = outcome.to_string();
    assert!(text.contains("refused   3 with 500\n") && text.contains("4 connections were made"), "{text}");
}

#[test]
fn closed_without_a_word() {
    // The third finds a connection that was used before, and comes again; the fourth is that, on a new one.
    let outcome = outcome(&settings(server(&[DONE, DONE, "", ""]), 1), 6);
    assert_eq!((outcome.sent, outcome.accepted(), outcome.lost, outcome.again), (6, 4, 2, 2), "{outcome}");
}

#[test]
fn silence_and_what_is_no_reply() {
    let settings = settings(server(&[DONE, "-", "SSH-2.0-x\r\n\r\n"]), 1);
    let outcome = outcome(&Settings { timeout: Duration::from_millis(500), ..settings }, 3);
    assert_eq!((outcome.accepted(), outcome.lost, outcome.unreadable), (1, 1, 1), "{outcome}");
}

#[test]
fn names_of_zones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zones");
    let read = |text: &str| {
        fs::write(&path, text).unwrap();
        zones(&path).map_err(|error| error.to_string())
    };
    assert_eq!(read("# two\na.test.\n\n b.test \n").unwrap(), ["a.test.", "b.test."]);
    for (text, expected) in
        [("", "names"), ("a.test.\na\"b.\n", "2"), ("a/b.\n", "letters"), ("a..b\n", "letters")]
    {
        let said = read(text).unwrap_err();
        assert!(said.contains(expected), "{text:?}: {said}");
    }
}
