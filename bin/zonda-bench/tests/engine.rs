//! `zonda-bench engine` as a user runs it: in process, over UDP, with what cannot be.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    fs,
    io::{BufRead, BufReader},
};

use common::{Process, bench, complaint, done, free_port, json, peer};

const SHORT: [&str; 5] = ["engine", "--seconds", "0.1", "--warm", "0"];

#[test]
fn results_as_text_and_as_data() {
    let text =
        done(bench(&[&SHORT[..], &["--protection", "paper", "--threads", "2", "--waits"]].concat())).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("root, paper, memory areas, 2 threads") && text.contains("waiting"), "{text}");
    let words =
        ["--protection", "bind9", "--memory", "shared", "--data", "cache", "--profile-locks", "--json"];
    let result = json(bench(&[&SHORT[..], &words, &["--threads", "2", "--writes", "100"]].concat()));
    assert!(result["rate"].as_f64().unwrap() > 0.0 && result["writes"]["asked"] == 10, "{result}");
    let causes = result["locks"]["causes"].as_array().unwrap();
    for name in ["memory", "counter", "zone table", "zone data", "bucket", "rwlock internals"] {
        assert!(causes.iter().any(|cause| cause["name"] == name), "{name}: {result}");
    }
}

/// bind9 brings jemalloc's library, and where it is missing the program says so.
#[test]
fn other_allocators() {
    for memory in ["system", "mimalloc", "snmalloc", "none"] {
        done(bench(&[&SHORT[..], &["--memory", memory]].concat()));
    }
    let output = bench(&[&SHORT[..], &["--memory", "jemalloc", "--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() || said.contains("libjemalloc2"), "{said}");
    assert!(output.status.success() || std::env::var_os("CI").is_none(), "{said}");
}

#[test]
fn serves_what_dig_asks() {
    let folder = tempfile::tempdir().unwrap();
    let zone = folder.path().join("zone");
    fs::write(&zone, "$TTL 60\n. SOA a. b. 1 2 3 4 5\n. NS ns.net.\nnet. NS ns.net.\nns.net. A 192.0.2.7\n")
        .unwrap();
    for sockets in ["shared", "each"] {
        let port = free_port().to_string();
        let address = format!("127.0.0.1:{port}");
        let words = ["engine", "--zone", zone.to_str().unwrap(), "--protection", "paper", "--threads", "2"];
        let mut server = Process::start(&[&words[..], &["--serve", &address, "--sockets", sockets]].concat());
        let mut said = BufReader::new(server.0.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, format!("serving {address}\n"));
        let question = ["@127.0.0.1", "-p", &port, "+norec", "+tries=3", "www.example.net", "A"];
        if let Some(answer) = peer("dig", &question) {
            let text = String::from_utf8_lossy(&answer.stdout).into_owned();
            assert!(text.contains("AUTHORITY: 1") && text.contains("192.0.2.7"), "{text}");
        }
        server.signal("-TERM");
        assert_eq!(server.0.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn what_cannot_be() {
    complaint(&["engine", "--threads", "0"], 2, "--threads: from 1 to 64");
    complaint(&["engine", "--protection", "unshared", "--threads", "2"], 2, "one thread");
    complaint(&["engine", "--own", "--writes", "5"], 2, "--writes");
    complaint(&["engine", "--hits", "2"], 2, "--hits");
    complaint(&["engine", "--seconds", "nan"], 2, "--seconds");
    complaint(&["engine", "--data", "cache", "--zone", "x"], 2, "--zone");
    complaint(&["engine", "--zone", "/nowhere/zone"], 1, "/nowhere/zone");
    complaint(&["engine", "--serve", "192.0.2.1:1"], 1, "192.0.2.1:1");
    let folder = tempfile::tempdir().unwrap();
    let zone = folder.path().join("zone");
    fs::write(&zone, ". 60 SOA a. b. 1 2 3 4 5\n. 60 A 192.0.2\n").unwrap();
    complaint(&["engine", "--zone", zone.to_str().unwrap()], 1, "zone:2");
}
