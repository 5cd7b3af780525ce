//! Connections over real sockets of the loopback interface.
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::common::{
    PATIENCE, address, ask, ask_tcp, await_counts, framed, is_closed, local, on, receive, serve, tcp, total,
    udp,
};
use net::{Listen, Running, TcpLimits};

fn with(tcp: TcpLimits) -> Running {
    serve(&Listen { tcp, ..local() })
}

#[test]
fn echoes_over_both_families_and_wildcards() {
    for (at, asked) in
        [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("0.0.0.0:0", "127.0.0.2"), ("[::]:0", "::1")]
    {
        let running = serve(&on(at));
        let asked = SocketAddr::new(asked.parse().unwrap(), address(&running).port());
        let mut client = tcp(asked);
        assert_eq!(ask_tcp(&mut client, b"hello server"), b"hello server");
        let seen = ask_tcp(&mut client, b"where am I seen");
        assert_eq!(seen, format!("TCP {} {asked}", client.local_addr().unwrap()).as_bytes());
        let longest = vec![7; 65_535];
        assert_eq!(ask_tcp(&mut client, &longest), longest);
    }
}

#[test]
fn pipelined_queries_in_odd_pieces() {
    let running = serve(&local());
    let mut client = tcp(address(&running));
    client.set_nodelay(true).unwrap();
    let queries: Vec<Vec<u8>> =
        (0..100_u8).map(|number| vec![number; 12 + usize::from(number) * 3]).collect();
    let octets: Vec<u8> = queries.iter().flat_map(|query| framed(query)).collect();
    for (index, piece) in octets.chunks(17).enumerate() {
        client.write_all(piece).unwrap();
        if index % 50 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    for query in &queries {
        assert_eq!(&receive(&mut client), query);
    }
    // One octet at a time.
    for octet in framed(b"octet by octet") {
        client.write_all(&[octet]).unwrap();
    }
    assert_eq!(receive(&mut client), b"octet by octet");
    assert_eq!(total(&running).tcp_queries, 101);
}

#[test]
fn a_half_closed_client_gets_its_answers() {
    let running = serve(&local());
    let mut client = tcp(address(&running));
    let mut octets: Vec<u8> = (0..50_u8).flat_map(|number| framed(&[number; 100])).collect();
    octets.extend([0, 100, 1, 2, 3]);
    client.write_all(&octets).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    for number in 0..50_u8 {
        assert_eq!(receive(&mut client), [number; 100]);
    }
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "closed after the last answer");
    await_counts(&running, "the end", |counters| counters.tcp_open == 0);
}

#[test]
fn a_half_closed_slow_reader_gets_its_answers() {
    let running = serve(&local());
    let mut client = tcp(address(&running));
    for _ in 0..200 {
        client.write_all(&framed(b"big answer please")).unwrap();
    }
    client.shutdown(Shutdown::Write).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    for _ in 0..200 {
        assert_eq!(receive(&mut client).len(), 65_535);
    }
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn a_slow_reader_is_not_read_from_and_then_cut_off() {
    let limits = TcpLimits { idle: Duration::from_secs(2), ..TcpLimits::default() };
    let running = with(limits);
    let mut client = tcp(address(&running));
    client.set_nonblocking(true).unwrap();
    // Send until the server takes no more: its answers fill both socket buffers, then it stops reading.
    let query = framed(b"big answer please");
    let (mut sent, mut queries, mut last) = (0, 0, Instant::now());
    while last.elapsed() < Duration::from_millis(300) {
        match client.write(&query) {
            Ok(octets) => (sent, last) = (sent + octets, Instant::now()),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
        let now = total(&running).tcp_queries;
        if now != queries {
            (queries, last) = (now, Instant::now());
        }
    }
    assert!(queries < (sent / query.len()) as u64, "{queries} of {sent} octets were read");
    // The other clients do not notice.
    assert_eq!(ask_tcp(&mut tcp(address(&running)), b"someone else"), b"someone else");
    let counters = await_counts(&running, "cut off", |counters| counters.tcp_slow_reader_closed == 1);
    assert_eq!(counters.tcp_queries, queries + 1);
}

#[test]
fn idle_connections_are_closed() {
    let running = with(TcpLimits { idle: Duration::from_millis(200), ..TcpLimits::default() });
    let start = Instant::now();
    let mut never = tcp(address(&running));
    let mut once = tcp(address(&running));
    assert_eq!(ask_tcp(&mut once, b"hello server"), b"hello server");
    // A query begun and not completed does not help.
    let mut begun = tcp(address(&running));
    begun.write_all(&[0, 50, 1]).unwrap();
    for client in [&mut never, &mut once, &mut begun] {
        assert_eq!(client.read(&mut [0; 1]).unwrap_or(0), 0);
    }
    assert!(start.elapsed() >= Duration::from_millis(200));
    assert!(start.elapsed() < PATIENCE);
    assert_eq!(await_counts(&running, "closed", |counters| counters.tcp_open == 0).tcp_idle_closed, 3);
}

#[test]
fn a_query_octet_by_octet_runs_out_of_time() {
    let running = with(TcpLimits { idle: Duration::from_millis(300), ..TcpLimits::default() });
    let mut client = tcp(address(&running));
    let start = Instant::now();
    for octet in framed(&[1; 500]) {
        if client.write_all(&[octet]).is_err() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(start.elapsed() < Duration::from_secs(4), "it was not cut off");
    assert_eq!(total(&running).tcp_idle_closed, 1);
}

#[test]
fn a_prefix_has_its_share() {
    let running = with(TcpLimits { connections_per_prefix: 3, ..TcpLimits::default() });
    let mut clients: Vec<TcpStream> = (0..3).map(|_| tcp(address(&running))).collect();
    for client in &mut clients {
        assert_eq!(ask_tcp(client, b"hello server"), b"hello server");
    }
    assert!(is_closed(&mut tcp(address(&running))));
    assert_eq!(total(&running).tcp_limit_prefix, 1);
    // A place becomes free, and limits may change.
    drop(clients.pop());
    await_counts(&running, "a place", |counters| counters.tcp_open == 2);
    clients.push(tcp(address(&running)));
    assert_eq!(ask_tcp(&mut clients[2], b"hello server"), b"hello server");
    running.set_tcp_limits(&TcpLimits { connections_per_prefix: 4, ..TcpLimits::default() });
    clients.push(tcp(address(&running)));
    for client in &mut clients {
        assert_eq!(ask_tcp(client, b"hello server"), b"hello server");
    }
}

#[test]
fn the_oldest_makes_room() {
    let running = with(TcpLimits { connections: 3, ..TcpLimits::default() });
    let mut clients: Vec<TcpStream> = (0..3).map(|_| tcp(address(&running))).collect();
    for client in &mut clients {
        assert_eq!(ask_tcp(client, b"hello server"), b"hello server");
    }
    // The first becomes the most active.
    assert_eq!(ask_tcp(&mut clients[0], b"hello server"), b"hello server");
    let mut late = tcp(address(&running));
    assert_eq!(ask_tcp(&mut late, b"hello server"), b"hello server");
    assert!(is_closed(&mut clients[1]));
    for index in [0, 2] {
        assert_eq!(ask_tcp(&mut clients[index], b"hello server"), b"hello server");
    }
    let counters = total(&running);
    assert_eq!((counters.tcp_limit_all, counters.tcp_open, counters.tcp_accepted), (1, 3, 4));
}

#[test]
fn queries_per_connection_are_limited_without_losing_answers() {
    let running = with(TcpLimits { queries: 100, ..TcpLimits::default() });
    let mut client = tcp(address(&running));
    let octets: Vec<u8> = (0..150_u8).flat_map(|number| framed(&[number; 200])).collect();
    client.write_all(&octets).unwrap();
    for number in 0..100_u8 {
        assert_eq!(receive(&mut client), [number; 200]);
    }
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "a FIN, not a reset");
    drop(client);
    assert_eq!(await_counts(&running, "the end", |counters| counters.tcp_open == 0).tcp_worn_out, 1);
}

#[test]
fn what_is_no_dns_is_cut_off() {
    let running = serve(&local());
    let mut client = tcp(address(&running));
    client.write_all(&framed(b"hello server")).unwrap();
    client.write_all(&[0, 0]).unwrap();
    assert_eq!(receive(&mut client), b"hello server");
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
    assert_eq!(total(&running).tcp_malformed, 1);
    // An HTTP request looks like a message of 18,245 octets: it waits for the rest until its time is over.
    let mut client = tcp(address(&running));
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
}

#[test]
fn unanswered_queries_do_not_hold_up_others() {
    let running = serve(&local());
    let mut client = tcp(address(&running));
    client.write_all(&[framed(b"silent is gold"), framed(b"speech is silver")].concat()).unwrap();
    assert_eq!(receive(&mut client), b"speech is silver");
    assert_eq!(total(&running).tcp_unanswered, 1);
}

#[test]
fn resets_and_random_octets_leave_the_server_alone() {
    let running = with(TcpLimits { idle: Duration::from_millis(300), ..TcpLimits::default() });
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..60 {
        let mut client = tcp(address(&running));
        let octets: Vec<u8> = (0..random() % 5000).map(|_| random() as u8).collect();
        let _ = client.write_all(&octets);
        if round % 3 == 0 {
            // Unread answers make closing a reset.
            let _ = client.write_all(&framed(b"big answer please"));
        }
        if round % 2 == 0 {
            let _ = client.shutdown(Shutdown::Write);
        }
    }
    assert_eq!(ask_tcp(&mut tcp(address(&running)), b"hello server"), b"hello server");
    await_counts(&running, "all closed", |counters| counters.tcp_open == 0 && counters.tcp_accepted == 61);
    assert_eq!(total(&running).service_panics, 0);
}

#[test]
fn a_panic_costs_its_connection_alone() {
    let running = serve(&local());
    let mut other = tcp(address(&running));
    assert_eq!(ask_tcp(&mut other, b"hello server"), b"hello server");
    for round in 1..=3 {
        let mut cause = tcp(address(&running));
        cause.write_all(&framed(b"panic now and here")).unwrap();
        assert!(is_closed(&mut cause));
        assert_eq!(ask_tcp(&mut other, b"hello again"), b"hello again ");
        assert_eq!(total(&running).service_panics, round);
    }
    await_counts(&running, "one left", |counters| counters.tcp_open == 1);
}

#[test]
fn udp_and_tcp_share_a_worker() {
    let running = serve(&local());
    let at = address(&running);
    let flood = std::thread::spawn(move || {
        let client = udp(at);
        let mut buffer = [0; 64];
        for _ in 0..200 {
            for _ in 0..32 {
                client.send(b"flood").unwrap();
            }
            for _ in 0..32 {
                client.recv(&mut buffer).unwrap();
            }
        }
    });
    let mut client = tcp(at);
    for _ in 0..200 {
        assert_eq!(ask_tcp(&mut client, b"hello server"), b"hello server");
    }
    flood.join().unwrap();
    await_counts(&running, "all responses", |counters| {
        (counters.udp_responses, counters.tcp_responses) == (6400, 200)
    });
}

#[test]
fn stopping_answers_what_arrived_and_flushes() {
    let running = serve(&on("127.0.0.14:0"));
    let at = address(&running);
    let mut slow_reader = tcp(at);
    for _ in 0..100 {
        slow_reader.write_all(&framed(b"big answer please")).unwrap();
    }
    let mut idle = tcp(at);
    assert_eq!(ask_tcp(&mut idle, b"hello server"), b"hello server");
    let client = udp(at);
    // While the worker sleeps, more arrives.
    client.send(b"slow").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    client.send(b"arrived before the end").unwrap();
    let reader = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        let mut octets = Vec::new();
        let _ = slow_reader.read_to_end(&mut octets);
        octets.len()
    });
    let start = Instant::now();
    let counters = running.stop(PATIENCE);
    assert!(start.elapsed() < PATIENCE / 2);
    assert_eq!(counters[0].udp_responses, 2);
    assert_eq!(counters[0].tcp_open, 0);
    let mut buffer = [0; 64];
    assert_eq!(client.recv(&mut buffer).unwrap(), 4);
    assert_eq!(client.recv(&mut buffer).unwrap(), 22);
    let whole = 65_537;
    let octets = reader.join().unwrap();
    assert!(octets > 0 && octets % whole == 0, "{octets} octets are not whole answers");
    assert_eq!(idle.read(&mut [0; 1]).unwrap_or(0), 0);
    assert!(TcpStream::connect(at).is_err());
}

#[test]
fn stopping_does_not_wait_longer_than_told() {
    let running = serve(&local());
    let mut never_reads = tcp(address(&running));
    for _ in 0..200 {
        never_reads.write_all(&framed(b"big answer please")).unwrap();
    }
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    running.stop(Duration::from_millis(200));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn stopping_under_load() {
    let running = serve(&Listen { workers: 2, ..local() });
    let at = address(&running);
    let load = std::thread::spawn(move || {
        let client = udp(at);
        let start = Instant::now();
        // Ends with the server: the port is then unreachable.
        while start.elapsed() < PATIENCE && client.send(b"load").is_ok() {}
        start.elapsed()
    });
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    running.stop(Duration::from_secs(1));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(load.join().unwrap() < PATIENCE);
}

#[test]
fn dropping_ends_the_server() {
    let running = serve(&on("127.0.0.13:0"));
    let at = address(&running);
    assert_eq!(ask(&udp(at), b"hello"), b"hello");
    drop(running);
    drop(serve(&Listen { addresses: vec![at], ..local() }));
}

#[test]
fn the_limit_of_connections_is_one_of_the_process() {
    // Few connections and many workers: most newcomers come to one that has none to close.
    let limits = TcpLimits { connections: 2, ..TcpLimits::default() };
    let running = serve(&Listen { workers: 4, tcp: limits, ..local() });
    let mut first = tcp(address(&running));
    assert_eq!(ask_tcp(&mut first, b"hello server"), b"hello server");
    let mut clients = Vec::new();
    for _ in 0..40 {
        let mut client = tcp(address(&running));
        assert_eq!(ask_tcp(&mut client, b"hello server"), b"hello server");
        clients.push(client);
    }
    assert!(is_closed(&mut first), "the one that was idle longest");
    // One a worker may be open beyond the limit, for which a request to close came too late.
    let counters = await_counts(&running, "the limit", |counters| counters.tcp_open <= 2 + 4);
    assert_eq!((counters.tcp_accepted, counters.tcp_limit_all), (41, 39));
}
