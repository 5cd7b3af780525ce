//! Sockets handed over by a service manager: a child process gets them as descriptors 3, 4 and 5.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

#[path = "sockets/common/mod.rs"]
mod common;

use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::{Echo, PATIENCE, ask, ask_tcp, tcp, total, udp};
use net::systemd::{ActivatedSocket, activated_sockets};
use net::{Listen, Server, Transport};

/// A child process; ended with the value.
struct Started(Option<Child>);

impl Started {
    /// Waits for its end.
    fn output(mut self) -> Output {
        self.0.take().expect("it is there until now").wait_with_output().unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs test `name` of this program as a child that finds `third`, `fourth` and perhaps standard error as
/// descriptors 3 to 5.
fn spawn(name: &str, third: OwnedFd, fourth: OwnedFd, count: usize, names: &str, more: &str) -> Started {
    // The shell moves the sockets to where a service manager puts them, and knows the process it becomes.
    let script = "LISTEN_PID=$$ exec \"$@\" 3<&0 4<&1 5<&2 </dev/null >&2";
    let child = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", name, "--nocapture"])
        .envs([
            ("LISTEN_FDS", count.to_string().as_str()),
            ("LISTEN_FDNAMES", names),
            ("MORE_ADDRESSES", more),
        ])
        .stdin(Stdio::from(third))
        .stdout(Stdio::from(fourth))
        .stderr(Stdio::piped())
        .spawn();
    Started(Some(child.unwrap()))
}

/// The system gives a port that no UDP socket has: a connection of another test may begin at it.
fn both_on_one_port() -> (UdpSocket, TcpListener) {
    let tries = (0..20).map(|_| {
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        TcpListener::bind(datagrams.local_addr().unwrap()).map(|connections| (datagrams, connections))
    });
    tries.flatten().next().expect("one of them is free for both")
}

#[test]
fn inherited_sockets_are_served() {
    let (datagrams, connections) = both_on_one_port();
    let at = datagrams.local_addr().unwrap();
    // The child is also told to bind an address of its own, and the inherited one, which it must not bind again.
    let child = spawn(
        "child_serves_what_it_inherits",
        datagrams.into(),
        connections.into(),
        2,
        "dns-udp:dns-tcp",
        &at.to_string(),
    );
    assert_eq!(ask(&udp(at), b"hello"), b"hello");
    // Connections by several sockets of several workers: all are accepted, by whichever worker.
    for _ in 0..20 {
        assert_eq!(ask_tcp(&mut tcp(at), b"hello server"), b"hello server");
        assert_eq!(ask(&udp(at), b"hello"), b"hello");
    }
    assert_eq!(ask(&udp(at), b"last one"), b"last one");
    let output = child.output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "runs as a child of another test"]
fn child_serves_what_it_inherits() {
    let sockets = activated_sockets().unwrap();
    let names: Vec<&str> = sockets.iter().map(|socket| socket.name.as_str()).collect();
    assert_eq!(names, ["dns-udp", "dns-tcp"]);
    assert!(matches!(sockets[0].socket, ActivatedSocket::Udp(_)));
    assert!(matches!(sockets[1].socket, ActivatedSocket::Tcp(_)));
    assert!(activated_sockets().unwrap().is_empty(), "they can be taken only once");
    let inherited = std::env::var("MORE_ADDRESSES").unwrap().parse().unwrap();
    let own = (Ipv4Addr::new(127, 0, 0, 7), 0).into();
    let listen = Listen { addresses: vec![inherited, own], workers: 3, ..Listen::default() };
    let running = Server::bind_with(&listen, sockets).unwrap().start(|_| Echo).unwrap();
    let kinds: Vec<_> = running.listeners().iter().map(|known| (known.transport, known.inherited)).collect();
    assert_eq!(
        kinds,
        [(Transport::Udp, true), (Transport::Tcp, true), (Transport::Udp, false), (Transport::Tcp, false)]
    );
    assert_eq!(ask(&udp(running.listeners()[2].address), b"own"), b"own");
    let start = Instant::now();
    while total(&running).udp_responses < 23 {
        assert!(start.elapsed() < PATIENCE, "{:?}", total(&running));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(total(&running).tcp_responses, 20);
    running.stop(PATIENCE);
}

#[test]
fn what_is_no_socket_is_named() {
    let file = std::fs::File::open("/dev/null").unwrap();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let child = spawn("child_refuses_a_file", datagrams.into(), file.into(), 2, "dns::", "");
    let output = child.output();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "runs as a child of another test"]
fn child_refuses_a_file() {
    let error = activated_sockets().unwrap_err();
    assert_eq!((error.descriptor, error.name.as_str()), (4, "unknown"));
    assert!(
        error.to_string().starts_with("descriptor 4 (\"unknown\") of the service manager is neither"),
        "{error}"
    );
}

#[test]
fn without_a_service_manager_there_are_none() {
    assert!(activated_sockets().unwrap().is_empty());
}
