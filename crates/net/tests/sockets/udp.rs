//! Datagrams over real sockets of the loopback interface.
use crate::common;
use std::net::{SocketAddr, UdpSocket};
use std::time::Instant;

use crate::common::{Echo, PATIENCE, address, ask, await_counts, local, on, serve, total, udp};
use net::systemd::{Activated, ActivatedSocket};
use net::{Backend, BindError, Listen, Pin, Server, Steer, Transport};

const BACKENDS: [Backend; 2] = [Backend::Mmsg, Backend::Portable];

#[test]
fn echoes_over_both_families() {
    for backend in BACKENDS {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let running = serve(&Listen { backend, ..on(at) });
            let client = udp(address(&running));
            for octets in [1, 12, 512, 1232, 4096] {
                let query = vec![octets as u8; octets];
                assert_eq!(ask(&client, &query), query);
            }
            let expected = format!("UDP {} {}", client.local_addr().unwrap(), address(&running));
            assert_eq!(ask(&client, b"where"), expected.as_bytes());
        }
    }
}

#[test]
fn wildcard_sockets_answer_from_the_address_asked() {
    let running = serve(&on("0.0.0.0:0"));
    for asked in ["127.0.0.1", "127.0.0.2", "127.3.2.1"] {
        let asked = SocketAddr::new(asked.parse().unwrap(), address(&running).port());
        // A connected socket receives from `asked` only.
        let client = udp(asked);
        let expected = format!("UDP {} {asked}", client.local_addr().unwrap());
        assert_eq!(ask(&client, b"where"), expected.as_bytes());
    }
    let running = serve(&on("[::]:0"));
    let asked = SocketAddr::new("::1".parse().unwrap(), address(&running).port());
    let client = udp(asked);
    assert_eq!(ask(&client, b"where"), format!("UDP {} {asked}", client.local_addr().unwrap()).as_bytes());
}

#[test]
fn a_wildcard_of_ipv6_leaves_ipv4_alone() {
    let running = serve(&on("[::]:0"));
    // The same port is free for IPv4, at an address that no other test has clients at.
    let v4 = SocketAddr::new("127.0.0.11".parse().unwrap(), address(&running).port());
    let other = serve(&Listen { addresses: vec![v4], ..local() });
    let client = udp(v4);
    assert_eq!(ask(&client, b"hello"), b"hello");
    assert_eq!((total(&running).udp_queries, total(&other).udp_queries), (0, 1));
}

#[test]
fn an_inherited_dual_stack_socket_answers_both_families() {
    // As a service manager opens it unless told otherwise (`BindIPv6Only=`); ours are IPv6 only.
    let socket = UdpSocket::bind("[::]:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    let inherited = Activated { name: "dns".into(), socket: ActivatedSocket::Udp(socket) };
    let listen = Listen { workers: 2, ..Listen::default() };
    let running = Server::bind_with(&listen, vec![inherited]).unwrap().start(|_| Echo).unwrap();
    for (asked, local) in [("127.0.0.2", "[::ffff:127.0.0.2]"), ("::1", "[::1]")] {
        let client = udp(SocketAddr::new(asked.parse().unwrap(), port));
        let answer = String::from_utf8(ask(&client, b"where")).unwrap();
        assert!(answer.ends_with(&format!(" {local}:{port}")), "{answer}");
    }
    drop(running);
}

#[test]
fn several_addresses_and_workers() {
    let listen = Listen {
        addresses: ["127.0.0.1:0", "127.0.0.2:0", "[::1]:0"].map(|at| at.parse().unwrap()).to_vec(),
        workers: 3,
        ..Listen::default()
    };
    let running = serve(&listen);
    assert_eq!(running.listeners().len(), 6);
    for listener in running.listeners().iter().filter(|listener| listener.transport == Transport::Udp) {
        // Many source ports, so that the hash reaches every worker.
        for _ in 0..40 {
            assert_eq!(ask(&udp(listener.address), b"hello"), b"hello");
        }
    }
    let counters = running.counters();
    assert_eq!(counters.len(), 3);
    assert_eq!(total(&running).udp_queries, 120);
    assert!(counters.iter().all(|counters| counters.udp_queries > 0), "{counters:?}");
}

#[test]
fn steering_goes_by_the_processor_that_received() {
    let cpus = net::allowed_processors();
    let running = serve(&Listen { steer: Steer::ByCpu, workers: cpus.len(), ..local() });
    let at = address(&running);
    for (worker, &cpu) in cpus.iter().enumerate() {
        let before = running.counters()[worker].udp_queries;
        // On loopback a datagram is received by the processor that sends it.
        std::thread::spawn(move || {
            let mut set = rustix::thread::CpuSet::new();
            set.set(cpu);
            rustix::thread::sched_setaffinity(None, &set).unwrap();
            for _ in 0..20 {
                assert_eq!(ask(&udp(at), b"hello"), b"hello");
            }
        })
        .join()
        .unwrap();
        assert_eq!(running.counters()[worker].udp_queries, before + 20, "worker {worker}");
    }
    // Unpinned workers own no processor: the hash decides, and everything is answered.
    let running = serve(&Listen { steer: Steer::ByCpu, pin: Pin::Off, workers: 2, ..local() });
    assert_eq!(ask(&udp(address(&running)), b"hello"), b"hello");
}

#[test]
fn bursts_become_batches() {
    for backend in BACKENDS {
        let running = serve(&Listen { backend, ..local() });
        let client = udp(address(&running));
        // The worker sleeps through the rest of the burst.
        client.send(b"slow start").unwrap();
        for number in 0..200_u8 {
            client.send(&[number; 20]).unwrap();
        }
        let mut buffer = [0; 64];
        assert_eq!(client.recv(&mut buffer).unwrap(), b"slow start".len());
        for number in 0..200_u8 {
            assert_eq!(client.recv(&mut buffer).unwrap(), 20);
            assert_eq!(buffer[..20], [number; 20]);
        }
        let counters = await_counts(&running, "all responses", |counters| counters.udp_responses == 201);
        assert!(counters.udp_batches <= 20, "{} calls", counters.udp_batches);
    }
}

#[test]
fn what_is_not_answered_is_counted() {
    for backend in BACKENDS {
        let running = serve(&Listen { backend, ..local() });
        let client = udp(address(&running));
        client.send(b"silent").unwrap();
        client.send(&[]).unwrap();
        client.send(&[1; 4097]).unwrap();
        client.send(&[1; 60_000]).unwrap();
        assert_eq!(ask(&client, b"last"), b"last");
        let counters = await_counts(&running, "all datagrams", |counters| {
            counters.udp_truncated == 2 && counters.udp_responses == 1
        });
        assert_eq!((counters.udp_queries, counters.udp_unanswered), (3, 2));
    }
}

#[test]
fn what_the_system_drops_is_counted() {
    let running = serve(&Listen { receive_buffer_octets: 4096, ..local() });
    let client = udp(address(&running));
    assert_eq!(ask(&client, b"hello"), b"hello");
    assert_eq!(total(&running).udp_receive_overflows, 0);
    assert!(running.is_serving());
    client.send(b"slow").unwrap();
    for _ in 0..100 {
        client.send(&[1; 1000]).unwrap();
    }
    let counters = await_counts(&running, "the rest", |counters| counters.udp_responses >= 3);
    assert!(counters.udp_receive_overflows > 50, "{counters:?}");
    await_counts(&running, "all", |now| now.udp_queries + now.udp_receive_overflows == 102);
}

#[test]
fn a_panic_costs_one_batch() {
    let running = serve(&local());
    let client = udp(address(&running));
    for round in 1..=3 {
        client.send(b"panic").unwrap();
        await_counts(&running, "a panic", |counters| counters.service_panics == round);
        assert_eq!(ask(&client, b"hello"), b"hello");
    }
}

#[test]
fn a_busy_port_is_an_error_that_says_so() {
    let running = serve(&local());
    let taken = address(&running);
    // SO_REUSEPORT would let the same user join the group silently.
    let error =
        Server::bind(&Listen { addresses: vec![taken], ..local() }).err().expect("refused").to_string();
    assert!(error.starts_with(&format!("cannot bind {taken} for UDP: address")), "{error}");
    assert!(error.contains("another program listens there"), "{error}");

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap();
    let error =
        Server::bind(&Listen { addresses: vec![taken], ..local() }).err().expect("refused").to_string();
    assert!(error.starts_with(&format!("cannot bind {taken} for TCP")), "{error}");
}

#[test]
fn an_address_can_be_served_again_at_once() {
    let running = serve(&on("127.0.0.12:0"));
    let at = address(&running);
    let mut client = common::tcp(at);
    assert_eq!(common::ask_tcp(&mut client, b"hello server"), b"hello server");
    running.stop(common::PATIENCE);
    // Our side closed first, so its end of the connection is in TIME_WAIT or still waits for the client.
    let running = serve(&Listen { addresses: vec![at], ..local() });
    assert_eq!(ask(&udp(at), b"again"), b"again");
    assert_eq!(common::ask_tcp(&mut common::tcp(at), b"again and again"), b"again and again");
    drop(running);
}

#[test]
fn wrong_settings_are_refused() {
    let refuse = |listen: Listen| Server::bind(&listen).err().expect("refused").to_string();
    assert_eq!(refuse(Listen::default()), "there is no address to listen on");
    let twice = Listen { addresses: vec!["127.0.0.1:9953".parse().unwrap(); 2], ..local() };
    assert_eq!(refuse(twice), "127.0.0.1:9953 is listed twice");
    assert!(refuse(Listen { workers: 100_000, ..local() }).contains("1024 are the most"));
    assert!(refuse(Listen { pin: Pin::List(vec![1_000_000]), ..local() }).contains("processor 1000000"));
    let elsewhere = Listen { addresses: vec!["192.0.2.1:0".parse().unwrap()], ..local() };
    assert!(refuse(elsewhere.clone()).contains("free-bind"), "no interface has the address");
    assert!(Server::bind(&Listen { free_bind: true, ..elsewhere }).is_ok());
    assert!(matches!(Server::bind(&Listen::default()), Err(BindError::NoAddress)));
}

#[test]
fn a_thread_per_worker_with_its_name() {
    let running = serve(&Listen { workers: 2, pin: Pin::Off, ..local() });
    assert_eq!(running.counters().len(), 2);
    // A thread names itself, so this may take a moment.
    let start = Instant::now();
    for name in ["worker-0\n", "worker-1\n"] {
        let is_named = |task: std::io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(task.unwrap().path().join("comm")).is_ok_and(|known| known == name)
        };
        while !std::fs::read_dir("/proc/self/task").unwrap().any(is_named) {
            assert!(start.elapsed() < PATIENCE, "no thread is called {name}");
        }
    }
}
