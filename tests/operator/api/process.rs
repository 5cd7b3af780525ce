//! The process itself: what it has, and that there is one as long as there is a server, and no longer.

use std::os::unix::fs::MetadataExt;

use zonda_tests::patience::{await_some, await_that};
use zonda_tests::server::{ctl, signal, write};

use super::client::Client;
use super::{Bed, await_child, child_of, proc_file, replace};

#[test]
fn it_has_next_to_nothing_and_comes_back() {
    let bed = Bed::new();
    let fixture = bed.start();
    let child = await_child(&fixture);
    assert_eq!(proc_file(child, "environ"), "");
    // Its memory is root's to look at, as it has the key of a certificate.
    let owner = std::fs::metadata(format!("/proc/{child}/environ")).map(|metadata| metadata.uid());
    assert_eq!(owner.ok(), Some(0));
    let status = proc_file(child, "status");
    for line in [
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "CapPrm:\t0000000000000000",
        "CapEff:\t0000000000000000",
        "Threads:\t1",
    ] {
        assert!(status.lines().any(|known| known == line), "{line}: {status}");
    }
    let nice = proc_file(child, "stat");
    let nice = nice.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(16)?.parse().ok());
    assert!(nice.is_some_and(|nice: i32| nice >= 10), "{nice:?}");
    // Killed with a connection that is kept: another one is started, and the zone goes on.
    let mut kept = Client::new(fixture.at).expect("a connection");
    assert_eq!(kept.ask("GET", "/api", &bed.reader, "", "").expect("a reply").status, 200);
    signal(child, "KILL");
    assert!(kept.ask("GET", "/api", &bed.reader, "", "").is_none());
    let server = fixture.server.process.pid();
    await_some(|| fixture.server.log(), || child_of(server).filter(|other| *other != child));
    await_that("an answer", || {
        fixture.ask("GET", "/api", &bed.reader, "", "").is_some_and(|reply| reply.status == 200)
    });
    fixture.server.await_log("ERROR the API's process has ended (signal: 9 (SIGKILL)");
    assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[replace("x.a.test.", "192.0.2.1")]).status, 204);
    // It ends with the server.
    let child = await_child(&fixture);
    assert!(ctl(&fixture.server, &["stop"]).status.success());
    await_that("the end of both", || {
        proc_file(child, "stat").is_empty() && !fixture.server.process.is_running()
    });
}

/// Another server takes over: the listeners go along, with what waits there.
#[test]
fn an_upgrade_goes_on() {
    let bed = Bed::new();
    let fixture = bed.start();
    write(fixture.server.scratch.path(), "successors", "");
    let (server, first) = (fixture.server.process.pid(), await_child(&fixture));
    let mut kept = Client::new(fixture.at).expect("a connection");
    assert_eq!(kept.ask("GET", "/api", &bed.reader, "", "").expect("a reply").status, 200);
    assert_eq!(fixture.patch("a.test.", &bed.acme, "", &[replace("x.a.test.", "192.0.2.1")]).status, 204);
    let upgraded = ctl(&fixture.server, &["upgrade"]);
    assert!(upgraded.status.success(), "{upgraded:?}");
    await_that("the end of the first process", || proc_file(first, "stat").is_empty());
    await_that("an answer", || {
        let reply = fixture.patch("a.test.", &bed.acme, "", &[replace("y.a.test.", "192.0.2.1")]);
        assert!(matches!(reply.status, 204 | 503), "{reply:?}");
        reply.status == 204
    });
    assert_eq!(fixture.serial("a.test."), 3);
    assert_eq!(child_of(server), None);
    assert!(ctl(&fixture.server, &["stop"]).status.success());
}
