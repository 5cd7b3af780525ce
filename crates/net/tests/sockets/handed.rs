//! A server takes over the sockets of another while clients ask: no query is lost.
use crate::common;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Echo, PATIENCE, address, ask, ask_tcp, is_closed, tcp, total, udp};
use net::{Handed, Listen, Listener, Running, Server, Transport};

/// Queries in flight of a client.
const WINDOW: u32 = 16;

fn listen(addresses: &[SocketAddr], workers: usize) -> Listen {
    Listen { addresses: addresses.to_vec(), workers, ..Listen::default() }
}

fn take_over(old: &Running, listen: &Listen) -> Running {
    Server::bind_handed(listen, old.hand().unwrap()).unwrap().start(|_| Echo).unwrap()
}

/// Asks over UDP until told to end, each query once; returns how many, all of them answered.
fn ask_all(at: SocketAddr, ends: &AtomicBool) -> u64 {
    let mut asked = 0;
    while !ends.load(Ordering::Relaxed) {
        // Another port each time, so that all sockets of the group are met.
        let client = udp(at);
        let mut missing: u32 = 0;
        for number in 0..WINDOW {
            client.send(&[b'q', number as u8]).unwrap();
            missing |= 1 << number;
        }
        asked += u64::from(WINDOW);
        while missing != 0 {
            let mut answer = [0; 16];
            let octets = client.recv(&mut answer).unwrap_or_else(|error| panic!("{missing:b} lost: {error}"));
            assert_eq!(octets, 2);
            missing &= !(1 << answer[1]);
        }
    }
    asked
}

/// Asks over a new connection for each query.
fn connect_and_ask(at: SocketAddr, ends: &AtomicBool) -> u64 {
    let mut asked = 0;
    while !ends.load(Ordering::Relaxed) {
        assert_eq!(ask_tcp(&mut tcp(at), b"hello server"), b"hello server");
        asked += 1;
    }
    asked
}

/// Ends clients, also where a test fails.
struct AtEnd<'e>(&'e AtomicBool);

impl Drop for AtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn await_end(running: &Running) {
    let start = Instant::now();
    while !running.has_ended() {
        assert!(start.elapsed() < PATIENCE, "it does not end: {:?}", total(running));
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn no_query_is_lost_whatever_the_number_of_workers() {
    let mut running =
        Server::bind(&listen(&["127.0.0.1:0".parse().unwrap()], 2)).unwrap().start(|_| Echo).unwrap();
    let (at, ends) = (address(&running), AtomicBool::new(false));
    let mut answered = 0;
    let asked = std::thread::scope(|scope| {
        let datagrams: Vec<_> = (0..3).map(|_| scope.spawn(|| ask_all(at, &ends))).collect();
        let connections = scope.spawn(|| connect_and_ask(at, &ends));
        let at_end = AtEnd(&ends);
        for workers in [2, 3, 1, 4, 2] {
            let mut kept = tcp(at);
            assert_eq!(ask_tcp(&mut kept, b"hello server"), b"hello server");
            // All workers have sockets, whatever there was before.
            let start = Instant::now();
            while !running.counters().iter().all(|counts| counts.udp_queries > 0) {
                assert!(start.elapsed() < PATIENCE, "one reads nothing: {:?}", running.counters());
                std::thread::sleep(Duration::from_millis(2));
            }
            let new = take_over(&running, &listen(&[at], workers));
            let mut old = std::mem::replace(&mut running, new);
            old.leave(Instant::now() + PATIENCE, PATIENCE);
            assert_eq!(ask_tcp(&mut kept, b"hello again,"), b"hello again,");
            assert!(!old.has_ended(), "it has a client");
            drop(kept);
            await_end(&old);
            let counts = old.stop(PATIENCE);
            answered += counts.iter().map(|counts| counts.udp_responses + counts.tcp_responses).sum::<u64>();
        }
        drop(at_end);
        datagrams.into_iter().chain([connections]).map(|client| client.join().unwrap()).sum::<u64>()
    });
    answered += running.stop(PATIENCE).iter().map(|it| it.udp_responses + it.tcp_responses).sum::<u64>();
    // Ten are those of the connections that were kept.
    assert_eq!(answered, asked + 10);
}

#[test]
fn one_that_leaves_ends_each_connection_with_what_it_asks_next() {
    let mut old =
        Server::bind(&listen(&["127.0.0.1:0".parse().unwrap()], 1)).unwrap().start(|_| Echo).unwrap();
    let at = address(&old);
    // One that has asked, one that is about to, and two that say nothing.
    let [mut kept, mut fresh, mut idle, mut silent] = [tcp(at), tcp(at), tcp(at), tcp(at)];
    for client in [&mut kept, &mut idle] {
        assert_eq!(ask_tcp(client, b"hello server"), b"hello server");
    }
    while total(&old).tcp_accepted < 4 {
        std::thread::sleep(Duration::from_millis(2));
    }
    let new = take_over(&old, &listen(&[at], 1));
    old.leave(Instant::now() + PATIENCE, PATIENCE);
    // Who is answered before it has seen that is not sent away.
    std::thread::sleep(Duration::from_millis(50));
    let counts = |running| {
        let counts = total(running);
        (counts.tcp_accepted, counts.udp_queries)
    };
    for client in [&mut kept, &mut fresh] {
        assert_eq!(ask_tcp(client, b"hello server"), b"hello server");
        assert!(is_closed(client));
    }
    let start = Instant::now();
    loop {
        let before = (counts(&old), counts(&new));
        for _ in 0..20 {
            assert_eq!(ask_tcp(&mut tcp(at), b"hello server"), b"hello server");
            assert_eq!(ask(&udp(at), b"hello"), b"hello");
        }
        // It may still be in its last turns.
        if counts(&old) == before.0 {
            assert_eq!(counts(&new), (before.1.0 + 20, before.1.1 + 20));
            break;
        }
        assert!(start.elapsed() < PATIENCE, "it still reads and accepts: {:?}", total(&old));
    }
    // Their clients do nothing, and are not waited for.
    assert!(is_closed(&mut idle) && is_closed(&mut silent));
    await_end(&old);
    assert!(start.elapsed() < PATIENCE / 2, "{:?}", start.elapsed());
}

#[test]
fn its_time_is_bounded_and_a_stop_is_heard() {
    for is_stopped in [false, true] {
        let mut old = common::serve(&common::local());
        let at = address(&old);
        let _kept: Vec<_> = (0..3)
            .map(|_| {
                let mut client = tcp(at);
                assert_eq!(ask_tcp(&mut client, b"hello server"), b"hello server");
                client
            })
            .collect();
        let _new = take_over(&old, &listen(&[at], 1));
        let (start, short) = (Instant::now(), Duration::from_millis(200));
        old.leave(if is_stopped { start + PATIENCE } else { start + short }, short);
        if is_stopped {
            assert_eq!(old.stop(short)[0].tcp_open, 0);
        } else {
            await_end(&old);
        }
        assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    }
}

#[test]
fn addresses_come_go_and_keep_their_ports() {
    let [one, two]: [SocketAddr; 2] = ["127.0.0.1:0", "127.0.0.2:0"].map(|at| at.parse().unwrap());
    let mut old = Server::bind(&listen(&[one, two], 2)).unwrap().start(|_| Echo).unwrap();
    let (kept, gone) = (address(&old), old.listeners()[2].address);
    let three: SocketAddr = "127.0.0.3:0".parse().unwrap();
    let new = take_over(&old, &listen(&[three, one], 2));
    old.leave(Instant::now() + PATIENCE, PATIENCE);
    await_end(&old);
    drop(old);
    assert_eq!(new.listeners()[2].address, kept, "port 0 is the one that was chosen");
    for at in [kept, new.listeners()[0].address] {
        assert_eq!(ask(&udp(at), b"hello"), b"hello");
        assert_eq!(ask_tcp(&mut tcp(at), b"hello server"), b"hello server");
    }
    assert!(UdpSocket::bind(gone).is_ok() && TcpListener::bind(gone).is_ok(), "{gone} is free");
    // All addresses where there was one: found busy only by ourselves.
    let any = SocketAddr::from(([0, 0, 0, 0], kept.port()));
    let newer = take_over(&new, &listen(&[any], 2));
    drop(new);
    assert_eq!(ask(&udp(kept), b"hello"), b"hello");
    assert_eq!(total(&newer).udp_queries, 1);
}

#[test]
fn sockets_of_a_service_manager_stay() {
    use net::systemd::{Activated, ActivatedSocket};
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    let activated = vec![Activated { name: "dns".into(), socket: ActivatedSocket::Udp(socket) }];
    let mut old = Server::bind_with(&listen(&[], 1), activated).unwrap().start(|_| Echo).unwrap();
    let new = take_over(&old, &listen(&[], 3));
    old.leave(Instant::now(), PATIENCE);
    await_end(&old);
    for _ in 0..20 {
        assert_eq!(ask(&udp(at), b"hello"), b"hello");
    }
    assert_eq!(total(&new).udp_queries, 20);
    assert!(new.hand().unwrap()[0].listener.inherited);
}

#[test]
fn what_is_not_as_described_is_refused() {
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let listening = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = datagrams.local_addr().unwrap();
    let connected = std::net::TcpStream::connect(listening.local_addr().unwrap()).unwrap();
    let refusal = |socket: OwnedFd, address: SocketAddr, transport| {
        let listener = Listener { address, transport, inherited: false };
        let handed = vec![Handed { listener, sockets: vec![socket] }];
        match Server::bind_handed(&listen(&[at], 1), handed) {
            Ok(_) => panic!("it was taken"),
            Err(error) => error.to_string(),
        }
    };
    let datagrams = || OwnedFd::from(datagrams.try_clone().unwrap());
    assert!(refusal(datagrams(), at, Transport::Tcp).contains("it is no TCP socket"));
    assert!(
        refusal(datagrams(), listening.local_addr().unwrap(), Transport::Udp).contains("another address")
    );
    let client = connected.local_addr().unwrap();
    assert!(refusal(connected.into(), client, Transport::Tcp).contains("it does not listen"));
    assert!(refusal(listening.into(), at, Transport::Udp).contains("it is no UDP socket"));
    let file = std::fs::File::open("/dev/null").unwrap();
    assert!(refusal(file.into(), at, Transport::Udp).contains("socket operation on non-socket"));
}

#[test]
fn addresses_of_all_kinds() {
    for text in ["[::1]:0", "[::]:0", "0.0.0.0:0"] {
        let at: SocketAddr = text.parse().unwrap();
        let mut old = Server::bind(&listen(&[at], 2)).unwrap().start(|_| Echo).unwrap();
        let new = take_over(&old, &listen(&[at], 2));
        old.leave(Instant::now(), PATIENCE);
        await_end(&old);
        let client = if at.is_ipv4() { "127.0.0.1" } else { "::1" };
        let there = SocketAddr::new(client.parse().unwrap(), address(&new).port());
        assert_eq!(there.port(), address(&old).port());
        assert_eq!(ask(&udp(there), b"hello"), b"hello", "{text}");
        assert_eq!(ask_tcp(&mut tcp(there), b"hello server"), b"hello server", "{text}");
    }
}
