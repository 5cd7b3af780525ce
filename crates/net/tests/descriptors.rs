//! Running out of descriptors. A program of its own, because the limit is the process's.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

#[path = "sockets/common/mod.rs"]
mod common;

use std::fs::File;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use common::{address, ask, ask_tcp, await_counts, local, serve, tcp, total, udp};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Processor time of this process.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Occupies all numbers below the highest descriptor, which is what the limit is about; returns that one.
fn plug_gaps() -> (u64, Vec<File>) {
    let numbers = std::fs::read_dir("/proc/self/fd").unwrap();
    let number =
        |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().to_str()?.parse::<i32>().ok();
    let highest = numbers.filter_map(number).max().unwrap();
    let mut plugs = Vec::new();
    loop {
        let plug = File::open("/dev/null").unwrap();
        let number = plug.as_raw_fd();
        plugs.push(plug);
        if number >= highest {
            return (number as u64, plugs);
        }
    }
}

#[test]
fn running_out_of_descriptors_costs_the_oldest_connection_and_never_spins() {
    let running = serve(&local());
    let at = address(&running);
    let datagrams = udp(at);
    let (highest, _plugs) = plug_gaps();
    let whole = getrlimit(Resource::Nofile);
    let limit = |current| setrlimit(Resource::Nofile, Rlimit { current: Some(current), ..whole }).unwrap();

    // The server has no connection it could close, and the client takes the last descriptor: the one that connects
    // waits in the backlog, nothing spins, UDP is answered.
    let mut waiting: TcpStream = {
        limit(highest + 2);
        tcp(at)
    };
    let (start, time) = (Instant::now(), processor_time());
    await_counts(&running, "a pause", |counters| counters.tcp_accept_pauses >= 3);
    assert_eq!(ask(&datagrams, b"hello"), b"hello");
    let (elapsed, used) = (start.elapsed(), processor_time() - time);
    assert!(elapsed >= Duration::from_millis(150), "pauses are as long as they should be: {elapsed:?}");
    assert!(used < elapsed / 2, "{used:?} of {elapsed:?} were used");

    // Descriptors are there again: so is the connection.
    limit(highest + 20);
    assert_eq!(ask_tcp(&mut waiting, b"hello server"), b"hello server");

    // The last descriptor for a connection: nobody has to make room when nobody else waits.
    let (highest, plugs) = plug_gaps();
    limit(highest + 3);
    let mut last = tcp(at);
    assert_eq!(ask_tcp(&mut last, b"hello server"), b"hello server");
    assert_eq!(ask_tcp(&mut waiting, b"hello server"), b"hello server");
    assert_eq!(total(&running).tcp_exhausted, 0);
    drop((last, plugs));
    await_counts(&running, "one left", |counters| counters.tcp_open == 1);
    limit(highest + 20);

    // Short again, with a connection to close: the oldest makes room.
    let (highest, _more_plugs) = plug_gaps();
    limit(highest + 2);
    let mut next = tcp(at);
    assert_eq!(ask_tcp(&mut next, b"hello server"), b"hello server");
    assert!(common::is_closed(&mut waiting));
    assert_eq!((total(&running).tcp_exhausted, total(&running).tcp_limit_all), (1, 0));
    setrlimit(Resource::Nofile, whole).unwrap();
}
