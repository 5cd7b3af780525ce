//! The process itself: what it has, and that there is one as long as there is a server, and no longer.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use zonda_tests::patience::{await_some, await_that};
use zonda_tests::server::{ctl, signal, write};

use super::client::{get, value};
use super::{Fixture, fixture, with};

fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn it_has_next_to_nothing() {
    let fixture = fixture();
    let child = fixture.child();
    let path = |name: &str| format!("/proc/{child}/{name}");
    assert_eq!(fs::read(path("environ")).expect("an environment"), b"");
    assert_ne!(fs::metadata(path("status")).expect("a process").uid(), 0);
    let status = fs::read_to_string(path("status")).expect("a status");
    for line in [
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "Threads:\t1",
    ] {
        assert!(status.lines().any(|known| known == line), "{line}: {status}");
    }
    // The pair is there twice, the second time as standard input.
    let links = || -> BTreeSet<String> {
        let descriptors = fs::read_dir(path("fd")).expect("descriptors").filter_map(Result::ok);
        let links = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
        links.map(|link| link.display().to_string()).collect()
    };
    let of = |kind: &str| links().iter().filter(|link| link.starts_with(kind)).count();
    // Standard output; the listener and the pair, once who has looked for the server is gone; the pipe that beats come by, and standard error.
    await_that("two sockets", || of("socket:") == 2);
    assert_eq!((of("/"), of("pipe:")), (1, 2), "{:?}", links());
    assert!(links().contains("/dev/null"), "{:?}", links());
    let by_hand = zonda_tests::server::program_command(&["http"]).stdin(std::process::Stdio::null()).output();
    let by_hand = by_hand.expect("the program");
    assert!(!by_hand.status.success() && String::from_utf8_lossy(&by_hand.stderr).contains("zonda serve"));
}

#[test]
fn one_that_dies_comes_back() {
    let fixture = fixture();
    let first = fixture.child();
    signal(first, "KILL");
    let server = fixture.server.process.pid();
    let is_another = || fixture.child_of(server).filter(|child| *child != first);
    await_some(|| fixture.server.log(), is_another);
    await_that("an answer", || get(fixture.at, "/health").is_some_and(|reply| reply.status == 200));
    fixture.server.await_log("ERROR the HTTP process has ended (signal: 9 (SIGKILL)");
}

#[test]
fn it_ends_with_the_server() {
    let mut fixture = fixture();
    let child = fixture.child();
    signal(fixture.server.process.pid(), "KILL");
    await_that("the end of the process", || !is_running(child));
    assert!(get(fixture.at, "/health").is_none());
    fixture.server.process.stop();
    // And in order.
    let fixture = with("", "");
    let child = fixture.child();
    assert!(ctl(&fixture.server, &["stop"]).status.success());
    await_that("the end of both", || !is_running(child) && !fixture.server.process.is_running());
    assert!(!fixture.server.log().contains("the HTTP process"), "{}", fixture.server.log());
}

/// It would keep the listeners from whoever comes next.
#[test]
fn one_that_hangs_does_not_outlive_the_server() {
    let fixture = fixture();
    let child = fixture.child();
    signal(child, "STOP");
    assert!(ctl(&fixture.server, &["stop"]).status.success());
    await_that("the end of both", || !is_running(child) && !fixture.server.process.is_running());
}

/// A server that hangs is not well: nobody says that it is.
#[test]
fn silence_is_not_well() {
    let fixture = fixture();
    let server = fixture.server.process.pid();
    signal(server, "STOP");
    await_that("503", || get(fixture.at, "/health").is_some_and(|reply| reply.status == 503));
    signal(server, "CONT");
    await_that("200", || get(fixture.at, "/health").is_some_and(|reply| reply.status == 200));
}

#[test]
fn an_upgrade_goes_unnoticed() {
    let fixture = fixture();
    write(fixture.server.scratch.path(), "successors", "");
    let is_over = AtomicBool::new(false);
    let began = |fixture: &Fixture| {
        let text = get(fixture.at, "/metrics").expect("numbers").text;
        value(&text, "process_start_time_seconds").expect("a time")
    };
    let (before, first) = (began(&fixture), fixture.child());
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut asked = 0;
            while !is_over.load(Ordering::Relaxed) {
                for path in ["/metrics", "/health"] {
                    let reply = get(fixture.at, path);
                    assert!(reply.as_ref().is_some_and(|reply| reply.status == 200), "{asked}: {reply:?}");
                }
                asked += 1;
            }
            asked
        });
        for _ in 0..2 {
            let upgraded = ctl(&fixture.server, &["upgrade"]);
            assert!(upgraded.status.success(), "{upgraded:?}\n{}", fixture.server.log());
            std::thread::sleep(Duration::from_millis(500));
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(asking.join().expect("answers") > 0);
    });
    await_that("the successor's numbers", || began(&fixture) > before);
    await_that("the end of the first process for HTTP", || !is_running(first));
    assert!(!fixture.server.log().contains(" ERROR "), "{}", fixture.server.log());
}
