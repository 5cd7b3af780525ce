//! The program as a user runs it: generators, echo and load against each other, complaints.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use common::{Echo, Process, bench, check_zone, complaint, done, json};

fn query_file(folder: &Path) -> String {
    let lines: String =
        (0..300).map(|number| format!("name{number}.example. A{}\n", ["", " do"][number % 2])).collect();
    let path = folder.join("queries.txt");
    fs::write(&path, lines).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn zones_that_peers_accept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, words) in [
        ("relative", &["--style", "relative"][..]),
        ("shuffled", &["--style", "absolute", "--order", "random", "--seed", "7"]),
    ] {
        let file = path(name);
        done(bench(&[&["gen", "zone", "net-like", "--delegations", "3000", "-o", &file], words].concat()));
        check_zone("net.", &file);
        let first = fs::read(&file).unwrap();
        done(bench(&[&["gen", "zone", "net-like", "--delegations", "3000", "-o", &file], words].concat()));
        assert!(first == fs::read(&file).unwrap(), "same options, same octets");
    }
    let flat = path("flat");
    done(bench(&["gen", "zone", "flat", "--hosts", "500", "--origin", "flat.example", "-o", &flat]));
    check_zone("flat.example.", &flat);
    let hosting = path("hosting");
    done(bench(&["gen", "zone", "hosting", "--zones", "3", "-o", &hosting]));
    for apex in fs::read_to_string(folder.path().join("hosting/zones.txt")).unwrap().lines() {
        check_zone(apex, &format!("{hosting}/zones/{apex}zone"));
    }
}

#[test]
fn recorded_sizes_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (queries, sizes) = (query_file(folder.path()), folder.path().join("sizes"));
    let sizes = sizes.to_str().unwrap();
    let server = Echo::start(&["--size", "333"]);
    let recorded = json(bench(&[
        "load",
        "--server",
        &server.address,
        "--queries",
        &queries,
        "--record-sizes",
        sizes,
        "--json",
        "--flows",
        "8",
    ]));
    assert_eq!(recorded["outcome"]["received"], 300);
    assert_eq!(fs::read_to_string(sizes).unwrap().lines().count(), 300);
    let limit = Echo::start(&["--sizes", sizes]);
    let words =
        ["load", "--server", &limit.address, "--queries", &queries, "--rate", "3000", "--seconds", "0.2"];
    let result = json(bench(&[&words[..], &["--json", "--flows", "8", "--trains"]].concat()));
    assert_eq!(result["outcome"]["octets_per_answer"], 333.0);
    assert_eq!((&result["outcome"]["lost"], &result["outcome"]["wrong"]), (&0.into(), &0.into()));
    assert!(result["machine"]["kernel"].is_string());
}

#[test]
fn search_ends_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let queries = query_file(folder.path());
    let server = Echo::start(&[]);
    let result = bench(&[
        "load",
        "--cpus",
        "0,0",
        "--server",
        &server.address,
        "--queries",
        &queries,
        "--find-maximum",
        "--json",
        "--flows",
        "8",
        "--burst-seconds",
        "0.05",
        "--trial-seconds",
        "0.05",
        "--confirm-trials",
        "0",
        "--width",
        "0.5",
        "--lateness-ms",
        "50",
    ]);
    let result: serde_json::Value = serde_json::from_slice(&result.stdout).unwrap();
    let steps = result["maximum"]["steps"].as_array().unwrap();
    assert!((2..80).contains(&steps.len()));
    assert!(result["maximum"]["rate"].as_f64().unwrap() >= 0.0);
}

#[test]
fn staircases_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let queries = query_file(folder.path());
    let server = Echo::start(&[]);
    let walk = |turns: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zonda-bench"));
        command.args([
            "load",
            "--server",
            &server.address,
            "--queries",
            &queries,
            "--staircase",
            "3",
            "--take-turns",
        ]);
        command.args([
            "--json",
            "--flows",
            "8",
            "--trial-seconds",
            "0.02",
            "--width",
            "0.5",
            "--count",
            "50",
        ]);
        command
            .args(["--lateness-ms", "50"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // It may have ended before all was written. Without more turns it ends.
        let _ = child.stdin.take().unwrap().write_all(turns.as_bytes());
        child.wait_with_output().unwrap()
    };
    // The approach has 60 trials at most, the staircase 12.
    let found = json(walk(&"\n".repeat(72)));
    let walked = |part: &str| found["staircase"][part].as_array().unwrap().len();
    assert!((1..=60).contains(&walked("approach")) && (3..=12).contains(&walked("steps")));
    let cut = walk("\n");
    assert_eq!(cut.status.code(), Some(1));
    let complaint = String::from_utf8(cut.stderr).unwrap();
    assert!(complaint.contains("standard input"), "{complaint}");
}

#[test]
fn queries_of_a_zone() {
    let folder = tempfile::tempdir().unwrap();
    let zone = folder.path().join("zone");
    fs::write(&zone, "$ORIGIN example.\n@ SOA a b 1 2 3 4 5\nwww A 192.0.2.1\n").unwrap();
    let words =
        ["gen", "queries", "--zone", zone.to_str().unwrap(), "--count", "50", "--nxdomain", "0", "--plain"];
    let text = String::from_utf8(done(bench(&words)).stdout).unwrap();
    assert_eq!(text.lines().count(), 50);
    assert!(text.lines().all(|line| line.ends_with(|last: char| last.is_ascii_uppercase())));
    assert!(text.lines().all(|line| line.starts_with("example. ") || line.starts_with("www.example. ")));
}

#[test]
fn complaints() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.txt");
    fs::write(&bad, "a.example. A\nb.example. NOTYPE\n").unwrap();
    let bad = bad.to_str().unwrap();
    let good = query_file(folder.path());
    let load = ["load", "--server", "127.0.0.1:1", "--queries"];
    complaint(&[&load[..], &[bad, "--rate", "1"]].concat(), 1, "bad.txt:2: unknown RR type");
    complaint(&[&load[..], &["/nonexistent", "--rate", "1"]].concat(), 1, "cannot open /nonexistent");
    complaint(&[&load[..], &[&good, "--rate", "100", "--seconds", "0.1"]].concat(), 1, "connection refused");
    complaint(&[&load[..], &[&good]].concat(), 2, "--rate: or --closed");
    complaint(&[&load[..], &[&good, "--rate", "nan"]].concat(), 2, "--rate: must be");
    complaint(&[&load[..], &[&good, "--rate", "1", "--cpu", "100000"]].concat(), 1, "core of --cpu");
    complaint(&[&load[..], &[&good, "--rate", "1", "--cpus", "0,1023"]].concat(), 1, "cores of --cpus");
    complaint(&[&load[..], &[&good, "--rate", "1", "--cpus", "1-"]].concat(), 2, "core numbers and ranges");
    complaint(&[&load[..], &[&good, "--rate", "1", "--threads", "0"]].concat(), 2, "--threads: must be");
    for (words, needle) in [
        (&["--replay"][..], "--replay: needs --queries with a capture"),
        (&["--rate", "1", "--generate", "random=a"], "cannot be used with"),
        (&["--rate", "1", "--source-ports", "5-1"], "expected random or FIRST-LAST"),
        (&["--rate", "1", "--source", "::1"], "--source: must be of the same family"),
        (&["--closed", "1", "--poisson"], "--poisson: needs --rate"),
        (&["--closed", "1", "--speed", "2"], "--speed: needs --replay"),
        (&["--rate", "1", "--self-pacing"], "cannot be used with"),
        (&["--rate", "1", "--tcp", "--trains"], "cannot be used with"),
        (&["--rate", "1", "--connections", "5"], "--tcp"),
    ] {
        complaint(&[&load[..], &[&good], words].concat(), 2, needle);
    }
    let made = |words: &[&str], needle| {
        complaint(&[&["load", "--server", "127.0.0.1:1", "--rate", "1"], words].concat(), 2, needle);
    };
    made(&[], "--queries");
    made(&["--generate", "random"], "expected random=NAME or zone=FILE");
    made(&["--generate", "random=a..b"], "--generate: random=NAME needs a domain name");
    made(&["--generate", "random=a", "--loops", "2"], "has no end");
    complaint(&[&load[..], &[&good, "--tcp", "--closed", "1"]].concat(), 1, "connection refused");
    complaint(&["echo", "--size", "5"], 2, "--size: must be");
    complaint(&["echo", "--listen", "192.0.2.1:53"], 1, "cannot listen on 192.0.2.1:53");
    complaint(&["gen", "queries", "--from", bad], 1, "neither pcap nor pcapng");
    complaint(&["gen", "zone", "flat", "--hosts", "0", "-o", "x"], 2, "--hosts: must be");
    complaint(
        &["gen", "zone", "flat", "--hosts", "1", "-o", "/nonexistent/x"],
        1,
        "cannot create /nonexistent/x",
    );
    let commits = ["commits", "--server", "127.0.0.1:1", "--zones", bad, "--key-file", &good];
    complaint(&[&commits[..], &["--connections", "0"]].concat(), 2, "--connections: must be");
    complaint(&commits, 2, "--key-file: must have one key");
    complaint(&["nonsense"], 2, "unrecognized subcommand");
}

#[test]
fn help_has_examples() {
    for words in [
        &["echo"][..],
        &["load"],
        &["commits"],
        &["trace"],
        &["gen", "queries"],
        &["gen", "zone", "net-like"],
        &["gen", "zone", "hosting"],
        &["gen", "zone", "root-like"],
        &["gen", "zone", "net"],
        &["gen", "zone", "com"],
        &["gen", "zone", "dynamic"],
        &["gen", "zone", "caching"],
        &["gen", "updates"],
        &["gen", "internet"],
        &["gen", "slice"],
        &["host"],
    ] {
        let output = done(bench(&[words, &["--help"]].concat()));
        assert!(String::from_utf8(output.stdout).unwrap().contains("zonda-bench "), "{words:?}");
    }
}

/// A capture of one query for `a.` by UDP over raw IPv4.
fn small_capture() -> Vec<u8> {
    let message = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01";
    let udp_octets = message.len() as u16 + 8;
    let mut packet =
        vec![0x45, 0, 0, udp_octets as u8 + 20, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    for field in [4096, 53, udp_octets, 0] {
        packet.extend_from_slice(&field.to_be_bytes());
    }
    packet.extend_from_slice(message);
    let mut file = Vec::new();
    for field in
        [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 101, 9, 0, packet.len() as u32, packet.len() as u32]
    {
        file.extend_from_slice(&field.to_le_bytes());
    }
    [file, packet].concat()
}

#[test]
fn queries_of_captures_zones_and_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (capture, zone) = (path("a.pcap"), path("zone"));
    fs::write(&capture, small_capture()).unwrap();
    fs::write(&zone, "$ORIGIN example.\n@ SOA a b 1 2 3 4 5\nwww A 192.0.2.1\n").unwrap();
    let server = Echo::start(&[]);
    let run = |words: &[&str]| {
        let all = [&["load", "--server", &server.address, "--json", "--flows", "8"], words].concat();
        json(bench(&all))["outcome"].clone()
    };
    // The packet of `a. A` has 19 octets, and 11 more with OPT.
    let replayed = run(&["--queries", &capture, "--replay", "--speed", "100"]);
    assert_eq!((&replayed["received"], &replayed["octets_per_answer"]), (&1.into(), &19.0.into()));
    let often = run(&["--queries", &capture, "--closed", "1", "--loops", "5", "--edns-size", "4096"]);
    assert_eq!((&often["received"], &often["octets_per_answer"]), (&5.into(), &30.0.into()));
    let drawn = format!("zone={zone}");
    let drawn = run(&["--generate", &drawn, "--closed", "5", "--count", "40", "--source-ports", "random"]);
    assert_eq!((&drawn["received"], &drawn["wrong"]), (&40.into(), &0.into()));
    let words = ["--generate", "random=example", "--rate", "2000", "--poisson", "--seconds", "0.1"];
    let made = run(&[&words[..], &["--do", "--lateness-ms", "1000"]].concat());
    // Header, a label of 12, example, the root, type and class, OPT.
    assert_eq!(made["octets_per_answer"], f64::from(12 + 13 + 8 + 1 + 4 + 11));
    assert_eq!(made["received"], made["planned"]);
    let paced = run(&["--queries", &capture, "--self-pacing", "--timeout-ms", "100", "--seconds", "1.5"]);
    assert!(paced["window"].as_u64() > Some(20), "{paced}");
}

#[test]
fn answers_of_one_server_held_against_another() {
    let folder = tempfile::tempdir().unwrap();
    let queries = query_file(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let answers = path("answers");
    let server = Echo::start(&[]);
    let words = ["load", "--server", &server.address, "--queries", &queries, "--flows", "8"];
    let run = |more: &[&str]| bench(&[&words[..], more].concat());
    done(run(&["--record-answers", &answers]));
    let text = fs::read_to_string(&answers).unwrap();
    assert_eq!(text.lines().count(), 300);
    let expect = ["--closed", "20", "--loops", "2", "--expect", &answers, "--json"];
    let outcome = &json(run(&expect))["outcome"];
    assert_eq!((&outcome["compared"], &outcome["different"]), (&600.into(), &0.into()));
    // The echo answers NOERROR without records.
    assert!(text.starts_with("name0.example. A : NOERROR 0 "), "{text}");
    fs::write(&answers, text.replacen("A : NOERROR 0 ", "A : NXDOMAIN 0 ", 1)).unwrap();
    let output = run(&expect[..6]);
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.starts_with("machine   "), "{shown}");
    assert!(shown.contains("compared  600 answers, 2 differ"), "{shown}");
    assert!(shown.contains("different name0.example. A\n  expected NXDOMAIN 0 "), "{shown}");
    fs::write(&answers, "a. A : NOERROR\na. A : NOPE\n").unwrap();
    complaint(&[&words[..], &expect].concat(), 1, "answers:2: unknown response code");
}

#[test]
fn histograms_progress_and_the_error_of_latencies() {
    let folder = tempfile::tempdir().unwrap();
    let queries = query_file(folder.path());
    let histogram = folder.path().join("latency.hgrm");
    let server = Echo::start(&[]);
    let words = ["load", "--server", &server.address, "--queries", &queries, "--flows", "8", "--json"];
    let run = ["--rate", "500", "--seconds", "1.3", "--progress", "--check-latency", "--histogram"];
    let output = done(bench(&[&words[..], &run, &[histogram.to_str().unwrap()]].concat()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains(" s  sent ") && said.contains("  p99 "), "{said}");
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(result["outcome"]["receipt_us"]["p50"].as_f64() > Some(0.0), "{result}");
    let text = fs::read_to_string(histogram).unwrap();
    let last = text.lines().find(|line| line.contains("1.000000000000")).unwrap();
    let columns: Vec<f64> = last.split_whitespace().map(|column| column.parse().unwrap()).collect();
    assert_eq!(columns[2] as u64, result["outcome"]["received"].as_u64().unwrap());
    assert!(text.contains("#[Max     = "));
}

#[test]
fn load_over_tcp() {
    let folder = tempfile::tempdir().unwrap();
    let queries = query_file(folder.path());
    let server = Echo::start(&["--tcp"]);
    let words = ["load", "--server", &server.address, "--queries", &queries, "--tcp", "--json"];
    let once = ["--closed", "10", "--loops", "2", "--connections", "4", "--queries-per-connection", "50"];
    let outcome = &json(bench(&[&words[..], &once].concat()))["outcome"];
    assert_eq!((&outcome["received"], &outcome["wrong"]), (&600.into(), &0.into()));
    assert!(outcome["connections"].as_u64() >= Some(12), "{outcome}");
}

#[test]
fn traces() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (capture, chart, queries) = (path("a.pcap"), path("rate.svg"), path("queries.txt"));
    fs::write(&capture, small_capture()).unwrap();
    let words = ["trace", "--json", "--chart", &chart, "--queries", &queries, &capture, &capture];
    let found = json(bench(&words));
    assert_eq!((&found["requests"], &found["types"]["A"]["count"]), (&2.into(), &2.into()));
    assert!(fs::read_to_string(&chart).unwrap().starts_with("<svg "));
    assert_eq!(fs::read_to_string(&queries).unwrap(), "a. A rd\na. A rd\n");
    assert_eq!(json(bench(&["trace", "--json", "--port", "54", &capture]))["requests"], 0);
    let mut child = Command::new(env!("CARGO_BIN_EXE_zonda-bench"))
        .args(["trace", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // In pieces, as a pipe may give it.
    let mut input = child.stdin.take().unwrap();
    for piece in small_capture().chunks(7) {
        input.write_all(piece).unwrap();
        input.flush().unwrap();
    }
    drop(input);
    let text = String::from_utf8(done(child.wait_with_output().unwrap()).stdout).unwrap();
    assert!(
        text.starts_with("Start: Thu, 01 Jan 1970 00:00:09 +0000, duration: 0.00 seconds.\n1 requests"),
        "{text}"
    );
    let cut = path("cut.pcap");
    fs::write(&cut, [&small_capture()[..], b"half a head"].concat()).unwrap();
    let output = bench(&["trace", &cut]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\n1 requests") && text.contains("Not read to its end: "), "{text}");
    complaint(&["trace", &cut], 1, "cut.pcap: after 87 octets: a block is damaged");
    complaint(&["trace", "-", "-"], 2, "standard input can be read once");
    complaint(&["trace", "/nonexistent"], 1, "cannot open /nonexistent");
    complaint(&["trace", &chart], 1, "neither pcap nor pcapng");
}

#[test]
fn a_generator_that_is_the_limit_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let queries = query_file(folder.path());
    let server = Echo::start(&[]);
    let words = ["load", "--server", &server.address, "--queries", &queries, "--flows", "8"];
    // More than any core sends.
    let output = bench(&[&words[..], &["--rate", "50000000", "--seconds", "0.5"]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("warning: the generator did not keep its schedule"), "{text}");
}

#[test]
fn a_signal_ends_runs_and_searches() {
    let folder = tempfile::tempdir().unwrap();
    let queries = query_file(folder.path());
    let server = Echo::start(&[]);
    let words = ["load", "--server", &server.address, "--queries", &queries, "--flows", "8", "--json"];
    let run = ["--rate", "300", "--seconds", "600", "--progress"];
    let search = ["--staircase", "10000", "--trial-seconds", "0.1", "--stolen-share", "1"];
    // One turn, and none after it.
    let turns = ["--find-maximum", "--take-turns", "--burst-seconds", "0.1"];
    for (pace, signal) in [(&run[..], "-INT"), (&search, "-TERM"), (&turns, "-INT")] {
        let mut command = common::program(&[&words[..], pace].concat());
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process(pipes.spawn().unwrap());
        let mut stdin = process.0.stdin.take().unwrap();
        stdin.write_all(b"\n").unwrap();
        let (mut errors, mut line) = (BufReader::new(process.0.stderr.take().unwrap()), String::new());
        errors.read_line(&mut line).unwrap();
        process.signal(signal);
        std::io::copy(&mut errors, &mut std::io::sink()).unwrap();
        let (status, output, _) = process.end();
        let result: serde_json::Value = serde_json::from_str(&output).unwrap();
        assert_eq!(result["ended_by_signal"], true, "{result}");
        match pace == run {
            true => {
                assert_eq!(status, Some(0));
                assert!(result["outcome"]["received"].as_u64() > Some(0), "{result}");
            }
            false => {
                assert_eq!(status, Some(1));
                assert!(!result["search"]["steps"].as_array().unwrap().is_empty(), "{result}");
            }
        }
    }
}
