//! A disk that hangs: what is told of the server goes on, and says so.

use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use zonda_tests::patience::{await_some, await_that};
use zonda_tests::server::Guarded;

use super::{Bed, Fixture, replace};
use crate::kit::{folder, text};

/// Longer than what is told of as something wrong, shorter than clients wait.
const DELAY: &str = "delay_enter=9s";
/// How the log of changes is written and synced.
const WRITES: &str = "pwrite64,pwritev,pwritev2,fdatasync";

impl Fixture<'_> {
    fn log_of_changes(&self) -> Value {
        self.beyond("journals", &self.bed.watcher).json()["log"].clone()
    }
}

#[test]
fn a_disk_that_hangs_is_told_of_meanwhile() {
    let bed = Bed::new();
    let fixture = bed.start();
    let change = |name: &str| fixture.patch("a.test.", &bed.acme, "", &[replace(name, "192.0.2.1")]).status;
    assert_eq!(fixture.log_of_changes()["state"], "not begun");
    assert_eq!(change("before.a.test."), 204);
    let is_ready = |log: &Value| log["state"] == "ready" && log["writing_seconds"] == 0;
    let log = await_some(
        || format!("{:#}", fixture.log_of_changes()),
        || Some(fixture.log_of_changes()).filter(is_ready),
    );
    assert!(log["records"].as_u64() > Some(0) && log["write_us_max"].as_u64() > Some(0), "{log:#}");
    assert!(log["segments"].as_u64() > Some(0) && log.get("problem").is_none(), "{log:#}");

    let files = folder(&[]);
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={WRITES}"), "-e"]);
    command.args([&format!("inject={WRITES}:{DELAY}"), "-p", &fixture.server.process.pid().to_string()]);
    let slow = Guarded::spawn(command, files.path());
    let traced = || {
        let tasks = format!("/proc/{}/status", fixture.server.process.pid());
        let status = std::fs::read_to_string(tasks).unwrap_or_default();
        status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
    };
    await_that(&format!("strace: {}", text(files.path())), traced);
    let wrong = || fixture.now()["wrong"].clone();
    let is_told = |wrong: &Value| wrong.to_string().contains("has waited for the disk");
    thread::scope(|scope| {
        let changed = scope.spawn(|| change("slow.a.test."));
        let told = await_some(|| format!("{:#}", fixture.now()), || Some(wrong()).filter(is_told));
        let log = fixture.log_of_changes();
        assert!(!changed.is_finished(), "the disk is slow: {told}");
        assert!(log["writing_seconds"].as_u64() >= Some(5), "{log:#}");
        assert!(log["problem"].as_str().is_some_and(|words| words.contains("the disk")), "{log:#}");
        // Readings go on, and answers.
        let before = fixture.now()["now"].clone();
        await_that("another reading", || fixture.now()["now"].as_u64() > before.as_u64());
        assert_eq!(fixture.addresses("before.a.test.").len(), 1);
        drop(slow);
        assert_eq!(changed.join().expect("a status"), 204);
    });
    await_that("all is well", || wrong() == json!([]));
    assert!(fixture.server.log().lines().all(|line| !line.contains("ERROR")), "{}", fixture.server.log());
}
