//! Dynamic updates as a user sends them: to a named that wants them signed.
#![allow(clippy::unwrap_used)]

mod common;

use std::{fs, net::UdpSocket, time::Duration};

use common::{Named, bench, complaint};

const SECRET: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";

#[track_caller]
fn json(words: &[&str], status: i32) -> serde_json::Value {
    let output = bench(&[words, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{words:?}: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

const ALGORITHMS: [&str; 6] =
    ["hmac-sha256", "hmac-sha384", "hmac-sha512", "hmac-sha1", "hmac-sha224", "hmac-md5"];

/// Additions of hosts, one a message.
fn additions(range: std::ops::Range<u32>) -> String {
    let line = |number| format!("update add new{number}.dynamic.example. 60 A 192.0.2.1\nsend\n");
    format!("zone dynamic.example.\n{}", range.map(line).collect::<String>())
}

#[test]
fn signed_updates() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let zone = path("zone");
    assert!(bench(&["gen", "zone", "dynamic", "--records", "50", "-o", &zone]).status.success());
    let keys: String = ALGORITHMS
        .map(|name| format!("key \"{name}.key\" {{ algorithm {name}; secret \"{SECRET}\"; }};\n"))
        .concat();
    let allowed = ALGORITHMS.map(|name| format!("key \"{name}.key\"; ")).concat();
    let Some(named) = Named::start(folder.path(), "dynamic.example.", &zone, &keys, &allowed) else { return };
    let records = || named.records("dynamic.example.").len();
    let before = records();
    let server = format!("127.0.0.1:{}", named.port);
    let load = |words: &[&str]| [&["load", "--update-server", &server][..], words].concat().join(" ");
    let run = |words: &[&str], status| json(&load(words).split(' ').collect::<Vec<_>>(), status);

    // As fast as they are accepted, with every algorithm and over both transports.
    for (number, algorithm) in ALGORITHMS.into_iter().enumerate() {
        let (updates, key) = (path("updates"), path("key"));
        fs::write(&updates, additions(number as u32 * 20..number as u32 * 20 + 20)).unwrap();
        let text =
            format!("key \"{algorithm}.key\" {{\n algorithm {algorithm};\n secret \"{SECRET}\";\n}};\n");
        fs::write(&key, text).unwrap();
        let mut words = vec!["--updates", &updates, "--update-rate", "max", "--tsig", &key];
        words.extend(["--seconds", "60", "--update-timeout-ms", "30000"]);
        words.extend(if number % 2 == 0 { &["--update-tcp"][..] } else { &["--update-window", "5"] });
        let result = run(&words, 0);
        assert_eq!(result["updates"]["accepted"], 20, "{algorithm}: {result}");
        assert_eq!((&result["updates"]["lost"], &result["updates"]["changes"]), (&0.into(), &20.into()));
    }
    assert_eq!(records(), before + 120);

    // At a rate; another secret, a key that the server does not know, no key.
    let updates = path("more");
    fs::write(&updates, additions(200..220)).unwrap();
    for (key, code) in [
        (Some("hmac-sha256.key:hmac-sha256:bm90IHRoZSBzZWNyZXQ="), "NOTAUTH (BADSIG)"),
        (Some("unknown.key:hmac-sha256:bm90IHRoZSBzZWNyZXQ="), "NOTAUTH (BADKEY)"),
        (None, "REFUSED"),
    ] {
        let mut words = vec!["--updates", &updates, "--update-rate", "200", "--update-timeout-ms", "30000"];
        words.extend(key.iter().flat_map(|key| ["--tsig", key]));
        let result = run(&words, 1);
        assert_eq!(result["updates"]["refused"][code], 20, "{result}");
        assert_eq!(
            (&result["updates"]["accepted"], &result["updates"]["ran_out"]),
            (&0.into(), &true.into())
        );
        assert!(!result["machine"]["command"].to_string().contains("bm90"), "the secret is shown");
    }
    assert_eq!(records(), before + 120);

    // Beside queries, as long as they last.
    let queries = path("queries");
    fs::write(&queries, "dynamic.example. SOA\n").unwrap();
    let key = format!("hmac-sha256.key:hmac-sha256:{SECRET}");
    let words = ["--server", &server, "--queries", &queries, "--rate", "100", "--seconds", "1", "--updates"];
    let more = [&updates, "--update-rate", "5", "--tsig", &key, "--update-timeout-ms", "30000"];
    let result = run(&[&words[..], &more].concat(), 0);
    assert!(result["outcome"]["received"].as_u64() > Some(0), "{result}");
    let accepted = result["updates"]["accepted"].as_u64().unwrap();
    assert!((1..=20).contains(&accepted), "{result}");
    assert_eq!(result["updates"]["sent"], accepted);
    assert_eq!(records(), before + 120 + accepted as usize);
}

/// Answers every update at once and keeps nothing: what a server without fsync looks like.
#[test]
fn faster_than_the_disk() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let server = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut room = [0; 2048];
        while let Ok((octets, client)) = socket.recv_from(&mut room) {
            room[2] |= 0x80;
            socket.send_to(&room[..octets], client).unwrap();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let updates = folder.path().join("updates").to_str().unwrap().to_owned();
    fs::write(&updates, additions(0..50)).unwrap();
    let directory = folder.path().to_str().unwrap();
    let words = ["load", "--server", &server, "--updates", &updates, "--update-rate", "max"];
    let result = json(&[&words[..], &["--update-sync-folder", directory]].concat(), 0);
    let updates = &result["updates"];
    let (accepted, commits) =
        (updates["accepted_per_second"].as_f64().unwrap(), updates["commits_per_second"].as_f64().unwrap());
    assert_eq!(updates["outran_disk"], accepted > commits);
}

#[test]
fn complaints() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (good, bad) = (file("good", &additions(0..1)), file("bad", "zone a.\nupdate add b.a. 5 A 1.2.3\n"));
    let key = file("key", "key x { algorithm hmac-sha3; secret AAAA; };");
    let load = |words: &[&'static str], updates: &str, status, needle| {
        let head = ["load", "--updates", updates, "--update-rate", "5", "--seconds", "0.1"];
        complaint(&[&head[..], words].concat(), status, needle);
    };
    load(&["--server", "127.0.0.1:9"], &bad, 1, "bad:2:21: expected an IPv4 address");
    load(&["--server", "127.0.0.1:9"], "/nonexistent", 1, "cannot open /nonexistent");
    load(&[], &good, 2, "--update-server: is needed");
    load(&["--server", "127.0.0.1:9", "--tsig", "a:b:c"], &good, 1, "--tsig: unknown algorithm");
    load(&["--server", "127.0.0.1:9", "--update-window", "0"], &good, 2, "--update-window: must be");
    load(&["--server", "127.0.0.1:9", "--rate", "5"], &good, 2, "--queries: is needed");
    load(&["--server", "127.0.0.1:9", "--update-timeout-ms", "100"], &good, 1, "connection refused");
    let words = ["load", "--server", "127.0.0.1:9", "--updates", &good, "--update-rate"];
    complaint(&[&words[..], &["5", "--tsig", &key]].concat(), 1, "key: unknown algorithm");
    complaint(&[&words[..], &["fast"]].concat(), 2, "expected a number from 0.001 to 100000, or max");
    complaint(&words[..5], 2, "--update-rate");
}
