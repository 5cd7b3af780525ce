//! Responses of many messages: back-pressure, fairness, waiting, and every way they end.
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use crate::common::toy;
use crate::common::{
    PATIENCE, address, ask, ask_tcp, await_counts, framed, is_closed, local, receive, tcp, total, udp,
};
use net::{Listen, STREAMS_PER_CONNECTION_MAX, STREAMS_PER_WORKER_MAX, TcpLimits};

fn ask_for(client: &mut TcpStream, query: &str) {
    client.write_all(&framed(query.as_bytes())).unwrap();
}

/// Reads a stream of `messages` messages of `octets` octets to its end.
fn take(client: &mut TcpStream, messages: u64, octets: usize) {
    for left in (1..=messages).rev() {
        assert_eq!(receive(client), vec![left as u8; octets]);
    }
}

#[test]
fn a_hundred_streams_and_a_slow_reader() {
    const MESSAGES: u64 = 120;
    const OCTETS: usize = 16_000;
    let (running, _, _tickets) = toy::serve(&local());
    let at = address(&running);
    let mut slow = tcp(at);
    // More than the socket buffers of both ends hold.
    ask_for(&mut slow, &format!("stream {} {OCTETS}", 10 * MESSAGES));
    let clients: Vec<TcpStream> = (0..99).map(|_| tcp(at)).collect();
    let start = Instant::now();
    let readers: Vec<_> = clients
        .into_iter()
        .map(|mut client| {
            std::thread::spawn(move || {
                ask_for(&mut client, &format!("stream {MESSAGES} {OCTETS}"));
                take(&mut client, MESSAGES, OCTETS);
                // The connection goes on after it.
                assert_eq!(ask_tcp(&mut client, b"now another one"), b"now another one");
            })
        })
        .collect();
    // Datagrams are answered between portions.
    let client = udp(at);
    let mut worst = Duration::ZERO;
    while readers.iter().any(|reader| !reader.is_finished()) {
        let sent = Instant::now();
        assert_eq!(ask(&client, b"now between"), b"now between");
        worst = worst.max(sent.elapsed());
    }
    for reader in readers {
        reader.join().unwrap();
    }
    let took = start.elapsed();
    println!("{} MB in {took:?}, worst answer over UDP {worst:?}", 99 * MESSAGES * OCTETS as u64 / 1_000_000);
    assert!(worst < Duration::from_secs(1), "{worst:?}");
    // The end of one is only pulled when its turn comes.
    let counters = await_counts(&running, "99 ends", |counters| counters.streams_completed >= 99);
    assert_eq!((counters.streams_begun, counters.streams_completed), (100, 99));
    // The slow one was pulled from no further than its client reads.
    take(&mut slow, 10 * MESSAGES, OCTETS);
    await_counts(&running, "the slow one", |counters| counters.streams_completed == 100);
    assert_eq!(total(&running).tcp_open, 1);
}

#[test]
fn several_on_one_connection_take_turns() {
    let (running, _, _tickets) = toy::serve(&local());
    let mut client = tcp(address(&running));
    let queries = [framed(b"stream 200 100 a"), framed(b"stream 200 150 b"), framed(b"now in between")];
    client.write_all(&queries.concat()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let (mut one, mut other, mut switches, mut last) = (200, 200, 0, 0);
    for _ in 0..401 {
        let message = receive(&mut client);
        match message.len() {
            100 => {
                assert_eq!(message[0], one as u8);
                one -= 1;
            }
            150 => {
                assert_eq!(message[0], other as u8);
                other -= 1;
            }
            _ => assert_eq!(message, b"now in between"),
        }
        switches += usize::from(message.len() != last);
        last = message.len();
    }
    assert_eq!((one, other), (0, 0));
    assert!(switches > 350, "{switches} turns");
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "closed after the end of all");
}

#[test]
fn bounds_are_refused() {
    let (running, _, _tickets) = toy::serve(&Listen {
        tcp: TcpLimits { connections_per_prefix: 0, ..TcpLimits::default() },
        ..local()
    });
    let at = address(&running);
    assert_eq!(ask(&udp(at), b"stream 1 100"), b"refused Transport");
    let mut clients = Vec::new();
    for _ in 0..STREAMS_PER_WORKER_MAX / STREAMS_PER_CONNECTION_MAX {
        let mut client = tcp(at);
        for _ in 0..STREAMS_PER_CONNECTION_MAX {
            ask_for(&mut client, "waiting 1 for ever");
        }
        clients.push(client);
    }
    await_counts(&running, "all", |counters| counters.streams_begun == STREAMS_PER_WORKER_MAX as u64);
    assert_eq!(ask_tcp(&mut tcp(at), b"stream 1 100"), b"refused Worker");
    await_counts(&running, "the end of that", |counters| counters.tcp_open == 64);
    // A connection that is gone gives its places back.
    for mut reset in clients.drain(62..) {
        ask_for(&mut reset, "now this is not read");
        std::thread::sleep(Duration::from_millis(50));
    }
    await_counts(&running, "the end of two", |counters| counters.tcp_open == 62);
    let mut client = tcp(at);
    for _ in 0..STREAMS_PER_CONNECTION_MAX - 1 {
        ask_for(&mut client, "waiting 1 for ever");
    }
    assert_eq!(ask_tcp(&mut client, b"stream 1 100"), [1; 100]);
    ask_for(&mut client, "waiting 1 for ever");
    assert_eq!(ask_tcp(&mut client, b"stream 1 100"), b"refused Connection");
}

#[test]
fn one_that_waits_is_woken_and_not_idle() {
    let limits = TcpLimits { idle: Duration::from_millis(100), ..TcpLimits::default() };
    let (running, shared, _tickets) = toy::serve(&Listen { tcp: limits, ..local() });
    let mut client = tcp(address(&running));
    ask_for(&mut client, "waiting 3 messages");
    await_counts(&running, "the beginning", |counters| counters.streams_begun == 1);
    let start = Instant::now();
    while shared.wakers.lock().unwrap().is_empty() {
        assert!(start.elapsed() < PATIENCE);
    }
    let waker = shared.wakers.lock().unwrap()[0].clone();
    for left in [3, 2, 1] {
        client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let before = client.read(&mut [0; 1]);
        assert!(before.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "nothing before");
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        waker.wake();
        assert_eq!(receive(&mut client), [left; 100]);
    }
    waker.wake();
    await_counts(&running, "the end", |counters| counters.streams_completed == 1);
    waker.wake();
    assert!(is_closed(&mut client), "idle from then on");
}

#[test]
fn aborts_and_panics_close_their_connection_alone() {
    let (running, _, _tickets) = toy::serve(&local());
    let at = address(&running);
    let mut other = tcp(at);
    ask_for(&mut other, "waiting 1 for ever");
    for (round, query) in ["abort 3 messages", "explode 3 messages"].iter().enumerate() {
        let mut client = tcp(at);
        ask_for(&mut client, query);
        for left in [3, 2, 1] {
            assert_eq!(receive(&mut client), [left; 100]);
        }
        assert!(is_closed(&mut client));
        let counters = await_counts(&running, "the end", |counters| counters.tcp_open == 1);
        assert_eq!((counters.streams_aborted, counters.service_panics), (round as u64 + 1, round as u64));
    }
    assert_eq!(ask_tcp(&mut other, b"now still here"), b"now still here");
}

#[test]
fn who_does_not_read_is_cut_off() {
    let limits = TcpLimits { idle: Duration::from_millis(200), ..TcpLimits::default() };
    let (running, _, _tickets) = toy::serve(&Listen { tcp: limits, ..local() });
    let mut client = tcp(address(&running));
    ask_for(&mut client, "stream 100000 16000");
    let counters = await_counts(&running, "cut off", |counters| counters.tcp_slow_reader_closed == 1);
    assert_eq!((counters.tcp_open, counters.streams_completed), (0, 0));
}

#[test]
fn stopping_lets_streams_end() {
    let (running, _, _tickets) = toy::serve(&local());
    let mut client = tcp(address(&running));
    ask_for(&mut client, "stream 2000 16000");
    assert_eq!(receive(&mut client).len(), 16_000);
    let reader = std::thread::spawn(move || {
        for left in (1..2000_u64).rev() {
            assert_eq!(receive(&mut client), vec![left as u8; 16_000]);
        }
        assert_eq!(client.read(&mut [0; 1]).unwrap(), 0);
    });
    let counters = running.stop(PATIENCE);
    assert_eq!(counters[0].streams_completed, 1);
    reader.join().unwrap();
}
