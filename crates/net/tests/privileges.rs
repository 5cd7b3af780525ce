//! Dropping privileges, in child processes: it cannot be taken back.
//!
//! Run as root, the children become `nobody`. Run as an ordinary user, they check that they are refused.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

#[path = "sockets/common/mod.rs"]
mod common;

use std::process::Command;

use common::{Echo, PATIENCE, address, ask, udp};
use net::privileges::{self, Identity};
use net::{Listen, Server};

/// Runs test `name` of this program as a child and wants it to succeed.
fn run_child(name: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", name, "--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

/// Whether this user may become another. Where `CI` is set that right must be there: nothing is left out silently.
fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    assert!(is_root || std::env::var_os("CI").is_none(), "only root may become another user");
    is_root
}

/// A line of `/proc/thread-self/status`, without its name.
fn status(name: &str) -> String {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn nobody() -> Identity {
    Identity { user: Some("nobody".into()), ..Identity::default() }
}

#[test]
fn becoming_another_user() {
    run_child(if is_root() { "child_becomes_nobody" } else { "child_is_refused" });
}

#[test]
#[ignore = "runs as a child of another test"]
fn child_becomes_nobody() {
    let listen = Listen { addresses: vec!["127.0.0.1:0".parse().unwrap()], workers: 1, ..Listen::default() };
    let server = Server::bind(&listen).unwrap();
    privileges::drop(&nobody()).unwrap();
    assert_eq!(status("Uid"), "65534 65534 65534 65534");
    assert_eq!(status("Gid"), "65534 65534 65534 65534");
    assert_eq!(status("Groups"), "65534");
    assert_eq!(status("NoNewPrivs"), "1");
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(status(set), "0000000000000000", "{set}");
    }
    assert!(std::fs::read("/etc/shadow").is_err());
    // The whole process has changed: also the thread that waits for this test.
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let status = std::fs::read_to_string(task.unwrap().path().join("status")).unwrap();
        assert!(status.contains("Uid:\t65534\t65534\t65534\t65534"), "{status}");
    }
    let running = server.start(|_| Echo).unwrap();
    assert_eq!(ask(&udp(address(&running)), b"hello"), b"hello");
    let low = Server::bind(&Listen { addresses: vec!["127.0.0.1:53".parse().unwrap()], ..listen });
    if unprivileged_ports_start() > 53 {
        let error = low.err().expect("refused").to_string();
        assert!(error.contains("port 53 needs CAP_NET_BIND_SERVICE"), "{error}");
    }
    running.stop(PATIENCE);
}

#[test]
#[ignore = "runs as a child of another test"]
fn child_is_refused() {
    let error = privileges::drop(&nobody()).unwrap_err().to_string();
    assert!(error.contains("only root may"), "{error}");
}

#[test]
fn keeping_the_right_to_bind() {
    if is_root() {
        run_child("child_keeps_binding");
    }
}

#[test]
#[ignore = "runs as a child of another test"]
fn child_keeps_binding() {
    privileges::drop(&Identity { group: Some("65533".into()), keep_bind: true, ..nobody() }).unwrap();
    assert_eq!(status("Gid"), "65533 65533 65533 65533");
    // CAP_NET_BIND_SERVICE is number 10.
    assert_eq!((status("CapPrm"), status("CapEff")), ("0000000000000400".into(), "0000000000000400".into()));
    let port = (600..1000).find(|&port| {
        let listen =
            Listen { addresses: vec![([127, 0, 0, 1], port).into()], workers: 1, ..Listen::default() };
        Server::bind(&listen).is_ok()
    });
    assert!(port.is_some(), "no low port could be bound");
}

#[test]
fn a_new_root_directory() {
    if is_root() {
        run_child("child_sees_one_directory");
    }
}

#[test]
#[ignore = "runs as a child of another test"]
fn child_sees_one_directory() {
    // Names are looked up before, so `/etc` need not be inside.
    privileges::drop(&Identity { root_directory: Some("/proc/self".into()), ..nobody() }).unwrap();
    assert!(std::fs::metadata("/etc/passwd").is_err());
    assert!(std::fs::metadata("/status").is_ok());
    assert_eq!(std::env::current_dir().unwrap().to_str(), Some("/"));
}

#[test]
fn staying_who_we_are() {
    run_child("child_stays");
}

#[test]
#[ignore = "runs as a child of another test"]
fn child_stays() {
    let before = status("Uid");
    privileges::drop(&Identity::default()).unwrap();
    assert_eq!(status("Uid"), before);
    assert_eq!(status("NoNewPrivs"), "1");
}

fn unprivileged_ports_start() -> u16 {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start").unwrap();
    text.trim().parse().unwrap()
}

#[test]
fn sockets_that_are_kept_keep_their_buffers_and_are_shared() {
    if is_root() {
        run_child("child_takes_over_as_nobody");
    }
}

#[test]
#[ignore = "runs as a child of another test"]
fn child_takes_over_as_nobody() {
    use rustix::net::sockopt::socket_recv_buffer_size;
    let listen = |workers| Listen {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        workers,
        receive_buffer_octets: 32 << 20,
        ..Listen::default()
    };
    let old = Server::bind(&listen(1)).unwrap().start(|_| Echo).unwrap();
    privileges::drop(&nobody()).unwrap();
    // Neither may it raise buffers beyond the limit, nor join the group of another user.
    let new = Server::bind_handed(&listen(3), old.hand().unwrap()).unwrap().start(|_| Echo).unwrap();
    drop(old);
    let handed = new.hand().unwrap();
    assert_eq!(handed.iter().map(|group| group.sockets.len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(socket_recv_buffer_size(&handed[0].sockets[0]).unwrap(), 64 << 20);
    for _ in 0..20 {
        assert_eq!(ask(&udp(address(&new)), b"hello"), b"hello");
    }
    new.stop(PATIENCE);
}
