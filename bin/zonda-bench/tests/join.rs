//! Several generators as one, as a user runs them: agents and coordinator against the echo server.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
};

/// A program of ours under way; ended with the value.
struct Running(Child);

impl Running {
    fn start(words: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zonda-bench"));
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running(command.spawn().unwrap())
    }

    /// Its exit status, what it printed and what it complained of.
    fn end(mut self) -> (Option<i32>, String, String) {
        let (mut output, mut errors) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut errors).unwrap();
        }
        (self.0.wait().unwrap().code(), output, errors)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An echo server and its address.
fn echo() -> (Running, String) {
    let mut echo = Running::start(&["echo", "--listen", "127.0.0.1:0"]);
    let mut line = String::new();
    BufReader::new(echo.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).unwrap().to_owned();
    (echo, address.trim_end_matches([',', ';']).to_owned())
}

/// A coordinator and the address it waits on; its standard error is read up to there.
fn coordinator(words: &[&str]) -> (Running, String, BufReader<std::process::ChildStderr>) {
    let mut coordinator = Running::start(words);
    let mut errors = BufReader::new(coordinator.0.stderr.take().unwrap());
    let mut line = String::new();
    errors.read_line(&mut line).unwrap();
    let address = line.split_whitespace().find(|word| word.starts_with("127.0.0.1:")).unwrap();
    let address = address.trim_end_matches(':').to_owned();
    (coordinator, address, errors)
}

/// Lines up to the one with all agents.
fn joined(errors: &mut BufReader<std::process::ChildStderr>, count: usize) {
    let mut line = String::new();
    for _ in 0..count {
        line.clear();
        errors.read_line(&mut line).unwrap();
        assert!(line.contains("has joined"), "{line}");
    }
}

const SECRET: &str = "a secret of the tests";

#[test]
fn two_agents_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (queries, secret) = (path("queries"), path("secret"));
    fs::write(&queries, "a.example. A\nb.example. AAAA do\nc.example. NS\n").unwrap();
    fs::write(&secret, format!("{SECRET}\n")).unwrap();
    let (_echo, server) = echo();
    let work = ["load", "--server", &server, "--queries", &queries, "--lateness-ms", "10000", "--json"];
    let joining = ["--coordinate", "127.0.0.1:0", "--agents", "2", "--secret", &secret];
    for pace in [&["--rate", "1001", "--seconds", "1"][..], &["--closed", "5", "--count", "777"]] {
        let (coordinator, address, mut errors) = coordinator(&[&work[..], &joining, pace].concat());
        // One that does not know the secret is left outside, and says so.
        let stranger = Running::start(&["load", "--join", &address, "--token", "not that secret"]);
        let (status, _, said) = stranger.end();
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("has another secret"), "{said}");
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert!(line.contains("has another secret"), "{line}");
        let agents = [0, 1].map(|_| Running::start(&["load", "--join", &address, "--secret", &secret]));
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
    let folder = tempfile::tempdir().unwrap();
    let queries = folder.path().join("queries").to_str().unwrap().to_owned();
    fs::write(&queries, "a.example. A\n").unwrap();
    let (_echo, server) = echo();
    let words =
        ["load", "--server", &server, "--queries", &queries, "--rate", "200", "--seconds", "4", "--json"];
    let joining = ["--coordinate", "127.0.0.1:0", "--agents", "2", "--token", SECRET];
    let (coordinator, address, mut errors) = coordinator(&[&words[..], &joining].concat());
    let agents = [0, 1].map(|_| Running::start(&["load", "--join", &address, "--token", SECRET]));
    joined(&mut errors, 2);
    std::thread::sleep(std::time::Duration::from_millis(2000));
    let [dying, living] = agents;
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
    let (_echo, server) = echo();
    let work = ["load", "--server", &server, "--queries", &queries, "--lateness-ms", "10000", "--json"];
    let search = [
        "--staircase",
        "3",
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
    let agents = [0, 1].map(|_| Running::start(&["load", "--join", &address, "--token", SECRET]));
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

#[test]
fn complaints() {
    let complaint = |words: &[&str], status, needle: &str| {
        let (found, _, said) = Running::start(words).end();
        assert!(
            found == Some(status) && said.contains(needle) && !said.contains("panicked"),
            "{found:?}: {said}"
        );
    };
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
}
