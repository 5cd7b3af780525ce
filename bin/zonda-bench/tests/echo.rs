//! `zonda-bench echo` as a user runs it: models, processes and threads, TCP, relay, its end, complaints.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    fs,
    io::{Read, Write},
    net::{TcpStream, UdpSocket},
    process::Command,
    time::{Duration, Instant},
};

use common::{Echo, bench};

const MODELS: [&str; 6] = ["blocking", "poll", "select", "epoll", "mmsg", "io_uring"];

/// Longest wait for anything. Machines that compile at the same time are slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// All models, without io_uring where the system forbids it, which it must not where `CI` is set.
fn models() -> impl Iterator<Item = &'static str> {
    let words = ["echo", "--listen", "127.0.0.1:0", "--model", "io_uring", "--cpus", "1023"];
    let said = String::from_utf8(bench(&words).stderr).unwrap();
    let is_forbidden = said.contains("cannot use io_uring");
    if is_forbidden {
        assert!(std::env::var_os("CI").is_none(), "{said}");
        eprintln!("left out: {said}");
    }
    MODELS.into_iter().filter(move |&model| model != "io_uring" || !is_forbidden)
}

impl Echo {
    /// Ends it as an operator does and returns the number after each word of its last line.
    fn end(mut self, signal: &str) -> impl Fn(&str) -> u64 {
        self.process.signal(signal);
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        assert!(self.process.0.wait().unwrap().success(), "{said}");
        move |word| {
            let mut items = said.trim().split(", ");
            let number = items.find_map(|item| item.strip_prefix(word)?.trim().parse().ok());
            number.unwrap_or_else(|| panic!("{word} in {said}"))
        }
    }

    fn client(&self) -> UdpSocket {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.connect(&self.address).unwrap();
        client
    }

    /// Asks once from each of `clients` ports.
    fn ask(&self, clients: usize, reply_octets: usize) {
        let clients: Vec<UdpSocket> = (0..clients).map(|_| self.client()).collect();
        for client in &clients {
            client.send(b"\0\x01\0\0........").unwrap();
        }
        for client in &clients {
            let mut room = [0; 5000];
            assert_eq!(client.recv(&mut room).unwrap(), reply_octets);
            assert_eq!(room[..4], [0, 1, 0x80, 0]);
        }
    }
}

#[test]
fn every_model_stands_a_load() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("queries.txt");
    let lines: String = (0..300).map(|number| format!("name{number}.example. A\n")).collect();
    fs::write(&path, lines).unwrap();
    let queries = path.to_str().unwrap();
    for model in models() {
        let echo = Echo::start(&["--model", model, "--size", "333", "--cpus", "0"]);
        let server = ["load", "--server", &echo.address, "--queries", queries];
        let pace = ["--closed", "20", "--seconds", "0.3", "--flows", "8", "--json"];
        let output = bench(&[&server[..], &pace].concat());
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["outcome"]["octets_per_answer"], 333.0, "{model}");
        assert_eq!(result["outcome"]["wrong"], 0, "{model}");
        let received = result["outcome"]["received"].as_u64().unwrap();
        let counted = echo.end("-TERM");
        assert!(counted("sent") >= received && received > 300, "{model}: {received}");
        assert_eq!(counted("received"), counted("sent"), "{model}");
    }
}

#[test]
fn processes_and_threads() {
    for model in models() {
        for sockets in ["shared", "each"] {
            let words = ["--processes", "3", "--threads", "2", "--sockets", sockets, "--model", model];
            let echo = Echo::start(&[&words[..], &["--size", "100", "--cpus", "0-0,0"]].concat());
            echo.ask(60, 100);
            let counted = echo.end("-INT");
            assert_eq!((counted("received"), counted("sent")), (60, 60), "{model} {sockets}");
        }
    }
}

#[test]
fn processes_end_with_the_first() {
    let echo = Echo::start(&["--processes", "2", "--sockets", "shared"]);
    echo.ask(1, 12);
    echo.process.signal("-KILL");
    let start = Instant::now();
    // Without SO_REUSEPORT the port is free only if nobody has it any more.
    while UdpSocket::bind(&echo.address).is_err() {
        assert!(start.elapsed() < PATIENCE, "a process has outlived the first");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_process_that_dies_ends_all() {
    let mut echo = Echo::start(&["--processes", "2"]);
    let children = format!("/proc/{0}/task/{0}/children", echo.process.0.id());
    let children = fs::read_to_string(children).unwrap();
    let victim = children.split_whitespace().nth(1).unwrap();
    assert!(Command::new("kill").args(["-KILL", victim]).status().unwrap().success());
    let mut said = String::new();
    echo.stderr.read_to_string(&mut said).unwrap();
    assert_eq!(echo.process.0.wait().unwrap().code(), Some(1));
    assert_eq!(said, "zonda-bench: process 1: ended too early\n");
}

#[test]
fn tcp_with_pipelining() {
    for words in [&["--tcp"][..], &["--tcp", "--processes", "2", "--sockets", "shared"]] {
        let echo = Echo::start(&[words, &["--size", "50"]].concat());
        let mut streams: Vec<TcpStream> =
            (0..20).map(|_| TcpStream::connect(&echo.address).unwrap()).collect();
        for stream in &mut streams {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let frames: Vec<u8> =
                (0..100).flat_map(|id| [0, 12, 0, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).collect();
            stream.write_all(&frames).unwrap();
        }
        for stream in &mut streams {
            for id in 0..100 {
                let mut frame = [0; 52];
                stream.read_exact(&mut frame).unwrap();
                assert_eq!(frame[..5], [0, 50, 0, id, 0x80]);
            }
        }
        let counted = echo.end("-TERM");
        assert_eq!((counted("received"), counted("sent")), (2000, 2000));
        assert_eq!((counted("connections"), counted("refused")), (20, 0));
    }
}

#[test]
fn idle_tcp_connections_are_closed() {
    let echo = Echo::start(&["--tcp", "--idle-ms", "100"]);
    let mut stream = TcpStream::connect(&echo.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn relay_of_all_and_of_a_share() {
    let upstream = Echo::start(&["--size", "200"]);
    let all = Echo::start(&["--relay", &upstream.address, "--share", "1", "--processes", "2"]);
    all.ask(50, 200);
    let counted = all.end("-TERM");
    assert_eq!((counted("relayed"), counted("returned"), counted("sent")), (50, 50, 50));
    let words =
        ["--relay", &upstream.address, "--seed", "5", "--size", "200", "--model", models().last().unwrap()];
    let share = Echo::start(&words);
    share.ask(300, 200);
    let counted = share.end("-TERM");
    assert!((30..90).contains(&counted("relayed")), "a fifth of 300 is {}", counted("relayed"));
    assert_eq!((counted("relayed"), counted("sent")), (counted("returned"), 300));
    let counted_upstream = upstream.end("-TERM");
    assert_eq!(counted_upstream("received"), 50 + counted("relayed"));
}

#[track_caller]
fn complaint(words: &[&str], status: i32, needle: &str) {
    common::complaint(&[&["echo", "--listen", "127.0.0.1:0"], words].concat(), status, needle);
}

#[test]
fn complaints() {
    complaint(&["--model", "kqueue"], 2, "possible values: blocking, poll, select, epoll, mmsg, io_uring");
    complaint(&["--processes", "0"], 2, "--processes: must be");
    complaint(&["--threads", "0"], 2, "--threads: must be");
    complaint(&["--processes", "100", "--threads", "100"], 2, "--threads: must be at most 512");
    complaint(&["--sockets", "two"], 2, "possible values: shared, each");
    complaint(&["--cpus", "0,x"], 2, "expected core numbers and ranges");
    complaint(&["--cpus", "3-1"], 2, "a range ends before it begins");
    complaint(&["--cpus", "0", "--cpu", "0"], 2, "cannot be used with");
    complaint(&["--cpus", "1023"], 1, "run on a core of --cpu or --cpus");
    complaint(&["--cpus", "0,1023", "--threads", "2"], 1, "run on a core of --cpu or --cpus");
    complaint(&["--cpus", "0,1023", "--processes", "2"], 1, "zonda-bench: cannot run on a core");
    complaint(&["--batch", "0"], 2, "--batch: must be");
    complaint(&["--share", "0.2"], 2, "--relay");
    complaint(&["--relay", "127.0.0.1:1", "--share", "1.5"], 2, "--share: must be");
    complaint(&["--relay", "127.0.0.1:1", "--model", "blocking"], 2, "--relay: does not go with");
    complaint(&["--relay", "127.0.0.1:1", "--tcp"], 2, "cannot be used with");
    complaint(&["--tcp", "--model", "epoll"], 2, "cannot be used with");
    complaint(&["--tcp", "--idle-ms", "0"], 2, "--idle-ms: must be");
    complaint(&["--idle-ms", "5"], 2, "--tcp");
    complaint(&["--sizes", "/nonexistent", "--processes", "2"], 1, "cannot open /nonexistent");
}

#[test]
fn address_in_use() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = bench(&["echo", "--listen", &address, "--processes", "2"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.starts_with(&format!("zonda-bench: cannot listen on {address}")), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
