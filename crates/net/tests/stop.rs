//! The end with a thousand connections, half of whose clients do not read.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use net::systemd::{Activated, ActivatedSocket};
use net::{Driver, Listen, Queries, Server, Service, TcpLimits};

const OCTETS: usize = 4000;

/// Answers with 4,000 octets and counts the answers to those that read.
struct Filler(Arc<AtomicU64>);

impl Service for Filler {
    type Message = ();

    fn queries(&mut self, queries: &mut Queries<'_>, _: &mut Driver<'_, ()>) {
        while let Some(item) = queries.next() {
            self.0.fetch_add(u64::from(item.query[0] == b'r'), Ordering::Relaxed);
            item.room[..OCTETS].fill(item.query[0]);
            item.answer(OCTETS);
        }
    }
}

/// A listener whose connections have small send buffers, so that a client that does not read is soon noticed.
fn listener() -> TcpListener {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::sockopt::set_socket_send_buffer_size(&socket, 16 << 10).unwrap();
    // The backlog of the standard library is 128, which a thousand clients at once may exceed.
    rustix::net::listen(&socket, 1000).unwrap();
    socket
}

fn query(kind: u8) -> [u8; 14] {
    let mut query = [kind; 14];
    query[..2].copy_from_slice(&12_u16.to_be_bytes());
    query
}

/// Asks and reads until the server closes; returns how many whole answers came, and whether a part of one did.
fn read_all(clients: Vec<TcpStream>, is_stopping: &AtomicBool) -> (u64, u64) {
    let (mut whole, mut cut) = (0, 0);
    let mut open: Vec<TcpStream> = clients;
    let mut answer = [0; 2 + OCTETS];
    while !open.is_empty() {
        open.retain_mut(|client| {
            if client.write_all(&query(b'r')).is_err() {
                return false;
            }
            let mut filled = 0;
            while filled < answer.len() {
                match client.read(&mut answer[filled..]) {
                    Ok(0) => break,
                    Ok(octets) => filled += octets,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no answer and no end"),
                    Err(_) => break,
                }
            }
            whole += u64::from(filled == answer.len());
            cut += u64::from(filled > 0 && filled < answer.len());
            filled == answer.len()
        });
        if !is_stopping.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    (whole, cut)
}

/// Processor time of the threads of this process that are called `worker-…`.
fn worker_time() -> Duration {
    let mut sum = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let read = |file| std::fs::read_to_string(task.path().join(file)).unwrap_or_default();
        if read("comm").starts_with("worker-") {
            sum += read("schedstat").split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0);
        }
    }
    Duration::from_nanos(sum)
}

fn connect(at: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(at).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    client
}

#[test]
fn the_end_is_in_time_cheap_and_cuts_no_answer() {
    const READERS: usize = 500;
    const OTHERS: usize = 500;
    let deadline = Duration::from_secs(2);
    let listen = Listen {
        workers: 1,
        tcp: TcpLimits {
            connections: 2000,
            connections_per_prefix: 0,
            idle: Duration::from_secs(60),
            ..TcpLimits::default()
        },
        ..Listen::default()
    };
    let socket = listener();
    let at = socket.local_addr().unwrap();
    // As a service manager does, which has the socket open for longer than the server.
    let kept = socket.try_clone().unwrap();
    let inherited = vec![Activated { name: "dns".into(), socket: ActivatedSocket::Tcp(socket) }];
    let answers = Arc::new(AtomicU64::new(0));
    let given = Arc::clone(&answers);
    let server = Server::bind_with(&listen, inherited).unwrap();
    let running = server.start(move |_| Filler(Arc::clone(&given))).unwrap();

    let mut others: Vec<TcpStream> = (0..OTHERS).map(|_| connect(at)).collect();
    for client in &mut others {
        client.set_nonblocking(true).unwrap();
        // As much as the server takes before it stops reading, and more.
        for _ in 0..400 {
            if client.write(&query(b'o').repeat(20)).is_err() {
                break;
            }
        }
    }
    let is_stopping = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let clients: Vec<TcpStream> = (0..READERS / 4).map(|_| connect(at)).collect();
            let is_stopping = Arc::clone(&is_stopping);
            std::thread::spawn(move || read_all(clients, &is_stopping))
        })
        .collect();
    std::thread::sleep(Duration::from_millis(700));
    let counters = running.counters()[0];
    assert_eq!((counters.tcp_open, counters.tcp_memory_closed), (1000, 0), "{counters:?}");

    // The thread's time is gone with the thread: the last that was seen of it.
    let watcher_ends = Arc::new(AtomicBool::new(false));
    let watcher = {
        let (ends, before) = (Arc::clone(&watcher_ends), worker_time());
        std::thread::spawn(move || {
            let mut last = before;
            while !ends.load(Ordering::Relaxed) {
                last = last.max(worker_time());
                std::thread::sleep(Duration::from_millis(2));
            }
            last - before
        })
    };
    is_stopping.store(true, Ordering::Relaxed);
    let start = Instant::now();
    // One whom nobody accepts: the listener is ready until the end.
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        connect(at)
    });
    let counters = running.stop(deadline)[0];
    let took = start.elapsed();
    watcher_ends.store(true, Ordering::Relaxed);
    let used = watcher.join().unwrap();
    let (mut whole, mut cut) = (0, 0);
    for reader in readers {
        let counts = reader.join().unwrap();
        (whole, cut) = (whole + counts.0, cut + counts.1);
    }
    println!("{took:?}, {used:?} of processor time, {whole} answers to readers");
    assert_eq!((whole, cut), (answers.load(Ordering::Relaxed), 0), "answers that were cut");
    assert!(took >= deadline && took < deadline + Duration::from_millis(500), "{took:?}");
    assert!(used <= Duration::from_millis(50), "{used:?} of processor time");
    assert_eq!(counters.tcp_open, 0);
    drop((others, late.join().unwrap(), kept));
}
