//! Several generators as one, as a user runs them: agents and coordinator against the echo server.
#![allow(clippy::unwrap_used)]

mod common;

use std::{
    fs,
    io::{BufRead, BufReader},
    net::UdpSocket,
    process::ChildStderr,
    time::{Duration, Instant},
};

use common::{Echo, Process, complaint};

/// A coordinator and the address it waits on; its standard error is read up to there.
fn coordinator(words: &[&str]) -> (Process, String, BufReader<ChildStderr>) {
    let mut coordinator = Process::start(words);
    let mut errors = BufReader::new(coordinator.0.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).unwrap();
    let address = address.trim_end_matches(':').to_owned();
    (coordinator, address, errors)
}

/// Lines up to the one with all agents.
fn joined(errors: &mut BufReader<ChildStderr>, count: usize) {
    let mut line = String::new();
    for _ in 0..count {
        line.clear();
        errors.read_line(&mut line).unwrap();
        assert!(line.contains("has joined"), "{line}");
    }
}

/// Longest wait for anything. Machines that compile at the same time are slow.
const PATIENCE: Duration = Duration::from_secs(60);
const SECRET: &str = "a secret of the tests";

#[test]
fn two_agents_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (queries, secret) = (path("queries"), path("secret"));
    fs::write(&queries, "a.example. A\nb.example. AAAA do\nc.example. NS\n").unwrap();
    fs::write(&secret, format!("{SECRET}\n")).unwrap();
    let Echo { address: server, .. } = &Echo::start(&[]);
    let work = ["load", "--server", server, "--queries", &queries, "--lateness-ms", "10000", "--json"];
    let joining = ["--coordinate", "127.0.0.1:0", "--agents", "2", "--secret", &secret];
    for pace in [&["--rate", "1001", "--seconds", "1"][..], &["--closed", "5", "--count", "777"]] {
        let (coordinator, address, mut errors) = coordinator(&[&work[..], &joining, pace].concat());
        // One that does not know the secret is left outside, and says so.
        let stranger = Process::start(&["load", "--join", &address, "--token", "not that secret"]);
        let (status, _, said) = stranger.end();
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("has another secret"), "{said}");
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert!(line.contains("has another secret"), "{line}");
        let agents = [0, 1].map(|_| Process::start(&["load", "--join", &address, "--secret", &secret]));
        joined(&mut errors, 2);
        let (status, output, _) = coordinator.end();
        assert_eq!(status, Some(0), "{output}");
        let result: serde_json::Value = serde_json::from_str(&output).unwrap();
        let expected = if pace[0] == "--rate" { 1001 } else { 777 };
        for count in ["planned", "sent", "received"] {
            assert_eq!(result["outcome"][count], expected, "{count}: {result}");
        }
        assert_eq!(result["outcome"]["rcodes"]["NOERROR"], expected);
        assert_eq!(result["agents"]["is_partial"], false);
        for agent in agents {
            let (status, _, said) = agent.end();
            assert_eq!(status, Some(0), "{said}");
            assert!(said.contains("1 trials done"), "{said}");
        }
    }
}

#[test]
fn an_agent_that_dies() {
    let Echo { address: server, .. } = &Echo::start(&[]);
    // It dies after the first line of progress, a second from the begin: long before the end.
    let (coordinator, _errors, [dying, living]) = at_work(server, &["--rate", "200", "--seconds", "4"]);
    drop(dying);
    let (status, output, _) = coordinator.end();
    assert_eq!(status, Some(1), "{output}");
    let result: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert_eq!(result["agents"]["is_partial"], true);
    let lost = result["agents"]["lost"][0].as_str().unwrap();
    assert!(lost.starts_with("agent ") && lost.ends_with("went away"), "{lost}");
    assert_eq!(result["outcome"]["received"], 400, "{result}");
    assert_eq!(living.end().0, Some(0));
}

#[test]
fn a_search() {
    let folder = tempfile::tempdir().unwrap();
    let queries = folder.path().join("queries").to_str().unwrap().to_owned();
    fs::write(&queries, "a.example. A\n").unwrap();
    let Echo { address: server, .. } = &Echo::start(&[]);
    let work = ["load", "--server", server, "--queries", &queries, "--lateness-ms", "10000", "--json"];
    let search = [
        "--staircase",
        "3",
        "--width",
        "0.5",
        "--trial-seconds",
        "0.2",
        "--rate-start",
        "100",
        "--overtime-share",
        "1",
        "--stolen-share",
        "1",
    ];
    let joining = ["--coordinate", "127.0.0.1:0", "--agents", "2", "--token", SECRET];
    let (coordinator, address, mut errors) = coordinator(&[&work[..], &search, &joining].concat());
    let agents = [0, 1].map(|_| Process::start(&["load", "--join", &address, "--token", SECRET]));
    joined(&mut errors, 2);
    // The steps of the search are read, so that the pipe never fills.
    let reading = std::thread::spawn(move || errors.lines().count());
    let (_, output, _) = coordinator.end();
    let result: serde_json::Value = serde_json::from_str(&output).unwrap();
    assert!(result["staircase"].is_object() && result["agents"]["is_partial"] == false, "{result}");
    assert!(reading.join().unwrap() >= 3);
    for agent in agents {
        let (status, _, said) = agent.end();
        assert_eq!(status, Some(0), "{said}");
    }
}

/// Reads lines up to one that contains this.
#[track_caller]
fn wait_for(errors: &mut BufReader<ChildStderr>, needle: &str) -> String {
    let mut all = String::new();
    loop {
        let before = all.len();
        assert!(errors.read_line(&mut all).unwrap() > 0, "no {needle} in {all}");
        if all[before..].contains(needle) {
            return all[before..].to_owned();
        }
    }
}

/// A coordinator and its two agents, with a trial under way.
fn at_work(server: &str, words: &[&str]) -> (Process, BufReader<ChildStderr>, [Process; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let queries = folder.path().join("queries").to_str().unwrap().to_owned();
    fs::write(&queries, "a.example. A\n").unwrap();
    let load = ["load", "--server", server, "--queries", &queries, "--progress", "--json"];
    let joining = ["--coordinate", "127.0.0.1:0", "--agents", "2", "--token", SECRET];
    let (coordinator, address, mut errors) = coordinator(&[&load[..], &joining, words].concat());
    let agents = [0, 1].map(|_| Process::start(&["load", "--join", &address, "--token", SECRET]));
    joined(&mut errors, 2);
    wait_for(&mut errors, "agents 2 of 2");
    (coordinator, errors, agents)
}

/// A server that takes queries and never answers.
fn silent_server() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (socket, address)
}

#[test]
fn a_signal_ends_all() {
    let Echo { address: server, .. } = &Echo::start(&[]);
    for signal in ["-INT", "-TERM"] {
        let (coordinator, mut errors, agents) = at_work(server, &["--rate", "200", "--seconds", "600"]);
        coordinator.signal(signal);
        let reading = std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        let (status, output, _) = coordinator.end();
        reading.join().unwrap().unwrap();
        assert_eq!(status, Some(0), "{output}");
        let result: serde_json::Value = serde_json::from_str(&output).unwrap();
        assert_eq!(
            (&result["ended_by_signal"], &result["agents"]["is_partial"]),
            (&true.into(), &false.into())
        );
        let outcome = &result["outcome"];
        assert!(outcome["received"].as_u64() > Some(100), "{result}");
        assert_eq!((&outcome["planned"], &outcome["lost"]), (&outcome["sent"], &0.into()), "{result}");
        for agent in agents {
            let (status, _, said) = agent.end();
            assert_eq!((status, said.contains("1 trials done")), (Some(0), true), "{said}");
        }
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    // Who waits for replies that never come is still there when the second signal does.
    let (_socket, server) = silent_server();
    let (mut coordinator, _errors, agents) =
        at_work(&server, &["--rate", "50", "--seconds", "600", "--timeout-ms", "5000"]);
    coordinator.signal("-INT");
    // Two that come together are one: it is told until it ends, which is before any reply is given up.
    let asked = Instant::now();
    while coordinator.0.try_wait().unwrap().is_none() {
        assert!(asked.elapsed() < PATIENCE, "it is still there");
        std::thread::sleep(Duration::from_millis(200));
        coordinator.signal("-INT");
    }
    let (status, output, _) = coordinator.end();
    assert_eq!((status, &output[..]), (Some(1), ""));
    for agent in agents {
        let (status, _, said) = agent.end();
        assert_eq!(status, Some(1));
        assert!(said.contains("the coordinator at 127.0.0.1:") && said.contains("went away"), "{said}");
    }
}

#[test]
fn a_coordinator_that_vanishes() {
    let Echo { address: server, .. } = &Echo::start(&[]);
    let (coordinator, _errors, agents) = at_work(server, &["--rate", "200", "--seconds", "600"]);
    coordinator.signal("-KILL");
    for agent in agents {
        let (status, _, said) = agent.end();
        assert_eq!(status, Some(1));
        assert!(said.contains("the coordinator at 127.0.0.1:") && said.contains("went away"), "{said}");
    }
}

#[test]
fn a_signal_before_all_have_joined() {
    let words = ["load", "--server", "127.0.0.1:9", "--generate", "random=a.example", "--rate", "5"];
    let joining = ["--coordinate", "127.0.0.1:0", "--agents", "2", "--token", SECRET];
    let (coordinator, address, mut errors) = coordinator(&[&words[..], &joining].concat());
    let agent = Process::start(&["load", "--join", &address, "--token", SECRET]);
    joined(&mut errors, 1);
    coordinator.signal("-TERM");
    wait_for(&mut errors, "zonda-bench: ended by a signal before anything was measured");
    assert_eq!(coordinator.end().0, Some(1));
    let (status, _, said) = agent.end();
    assert_eq!(status, Some(1));
    assert!(said.contains("stopped: ended by a signal"), "{said}");
}

#[test]
fn expected_answers_histogram_and_progress() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (queries, answers, histogram) = (path("queries"), path("answers"), path("latency.hgrm"));
    fs::write(&queries, "a.example. A\nb.example. AAAA do\nc.example. NS\n").unwrap();
    // The echo answers NOERROR without records. Of three queries one is to be answered otherwise, one nobody speaks of.
    fs::write(&answers, "a.example. A : NOERROR 0\nb.example. AAAA : NXDOMAIN\n").unwrap();
    let Echo { address: server, .. } = &Echo::start(&[]);
    let work = ["load", "--server", server, "--queries", &queries, "--rate", "300", "--seconds", "2.5"];
    let results = ["--expect", &answers, "--histogram", &histogram, "--progress", "--lateness-ms", "10000"];
    let joining = ["--coordinate", "127.0.0.1:0", "--agents", "2", "--token", SECRET];
    for (words, status) in [(&["--json"][..], 1), (&[], 1)] {
        let (coordinator, address, mut errors) =
            coordinator(&[&work[..], &results, &joining, words].concat());
        let agents = [0, 1].map(|_| Process::start(&["load", "--join", &address, "--token", SECRET]));
        joined(&mut errors, 2);
        let line = wait_for(&mut errors, "agents 2 of 2");
        let field = |word: &str| {
            let mut words = line.split_whitespace().skip_while(|&found| found != word);
            words.nth(1).and_then(|number| number.parse::<u64>().ok())
        };
        assert!(field("sent") > Some(0) && field("answered") > Some(0) && field("p99") > Some(0), "{line}");
        let (found, output, _) = coordinator.end();
        assert_eq!(found, Some(status), "{output}");
        agents.into_iter().for_each(|agent| assert_eq!(agent.end().0, Some(0)));
        if words.is_empty() {
            assert!(output.contains("different b.example. AAAA do\n  expected NXDOMAIN "), "{output}");
            continue;
        }
        let result: serde_json::Value = serde_json::from_str(&output).unwrap();
        let outcome = &result["outcome"];
        // 750 queries in turn, from both agents, which leave out the last of them where the machine has no time for them.
        let count = |name: &str| outcome[name].as_u64().unwrap();
        let received = count("received");
        assert_eq!((count("planned"), count("sent")), (750, received), "{outcome}");
        let thirds = |number: u64| (number * received / 3).saturating_sub(2)..=number * received / 3 + 2;
        assert!(received >= 600 && thirds(2).contains(&count("compared")), "{outcome}");
        assert!(thirds(1).contains(&count("different")), "{outcome}");
        assert_eq!(outcome["mismatches"].as_array().unwrap().len(), 10);
        assert_eq!(outcome["mismatches"][0]["expected"], "NXDOMAIN - - - -");
        let text = fs::read_to_string(&histogram).unwrap();
        let last = text.lines().find(|line| line.contains("1.000000000000")).unwrap();
        assert_eq!(last.split_whitespace().nth(2), Some(&*received.to_string()), "{text}");
    }
}

#[test]
fn complaints() {
    complaint(&["load", "--join", "127.0.0.1:9"], 2, "--secret: or --token is needed");
    complaint(&["load", "--join", "127.0.0.1", "--token", SECRET], 2, "--join: must be a host and a port");
    complaint(&["load", "--join", "127.0.0.1:9", "--token", "short"], 2, "--secret: must have at least 12");
    let queries = tempfile::NamedTempFile::new().unwrap();
    fs::write(queries.path(), "a.example. A\n").unwrap();
    let path = queries.path().to_str().unwrap();
    let load =
        ["load", "--server", "127.0.0.1:9", "--queries", path, "--rate", "5", "--coordinate", "127.0.0.1:0"];
    complaint(&[&load[..], &["--agents", "0"]].concat(), 2, "--agents: must be from 1 to 256");
    complaint(
        &[&load[..], &["--agents", "1", "--join-seconds", "0"]].concat(),
        1,
        "0 of 1 agents came in time",
    );
    let record = ["load", "--server", "127.0.0.1:9", "--queries", path, "--coordinate", "127.0.0.1:0"];
    for option in ["--record-sizes", "--record-answers"] {
        let words = [&record[..], &["--agents", "1", option, "/nonexistent/file"]].concat();
        complaint(&words, 2, &format!("{option}: cannot go with --coordinate: it asks every query once"));
    }
}
