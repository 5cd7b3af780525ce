//! Answers that are made later: by the worker, by other threads, to clients that are gone; and every bound of them.
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::time::{Duration, Instant};

use crate::common::toy::{self, Shared};
use crate::common::{
    PATIENCE, address, ask, ask_tcp, await_counts, framed, is_closed, local, on, receive, tcp, total, udp,
};
use net::{
    Backend, LATER_PER_CLIENT_MAX, LATER_PER_CONNECTION_MAX, Listen, REPLIES_PER_EVENT, Running, TapRecord,
    Tapped, TcpLimits, Transport, WorkerCounters,
};

/// Every ticket ended in one way.
fn all_ended(counters: &WorkerCounters) -> bool {
    let WorkerCounters { later_replied, later_streamed, later_dropped, later_gone, later_overflowed, .. } =
        *counters;
    counters.later_open == 0
        && counters.later_tickets
            == later_replied + later_streamed + later_dropped + later_gone + later_overflowed
}

fn await_all_ended(running: &Running) -> WorkerCounters {
    await_counts(running, "the end of all tickets", all_ended)
}

fn await_heard(shared: &Shared, what: &str) {
    let start = Instant::now();
    while !shared.heard.lock().unwrap().iter().any(|heard| heard == what) {
        assert!(start.elapsed() < PATIENCE, "{what} is not among {:?}", shared.heard.lock().unwrap());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn late_replies_over_datagrams_come_from_the_address_asked() {
    for backend in [Backend::Mmsg, Backend::Portable] {
        for (at, asked) in
            [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("0.0.0.0:0", "127.0.0.2"), ("[::]:0", "::1")]
        {
            if backend == Backend::Portable && asked == "127.0.0.2" {
                continue;
            }
            let (running, _, _tickets) = toy::serve(&Listen { backend, ..on(at) });
            let client = udp((asked.parse::<std::net::IpAddr>().unwrap(), address(&running).port()).into());
            let start = Instant::now();
            assert_eq!(ask(&client, b"later 30 a while"), b"later 30 a while");
            assert!(start.elapsed() >= Duration::from_millis(30));
            assert_eq!(ask(&client, b"at once"), b"at once");
            let counters = await_counts(&running, "both", |counters| counters.udp_responses == 2);
            assert_eq!((counters.later_replied, counters.later_open, counters.udp_unanswered), (1, 0, 0));
        }
    }
}

#[test]
fn another_thread_replies_past_the_worker() {
    for backend in [Backend::Mmsg, Backend::Portable] {
        for (at, asked) in
            [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("0.0.0.0:0", "127.0.0.2"), ("[::]:0", "::1")]
        {
            if backend == Backend::Portable && asked == "127.0.0.2" {
                continue;
            }
            let (running, _, tickets) = toy::serve(&Listen { backend, ..on(at) });
            let client = udp((asked.parse::<std::net::IpAddr>().unwrap(), address(&running).port()).into());
            client.send(b"thread one").unwrap();
            let (ticket, query) = tickets.recv().unwrap();
            std::thread::sleep(Duration::from_millis(20));
            ticket.reply_at_once(&query);
            let mut buffer = [0; 64];
            assert_eq!(client.recv(&mut buffer).unwrap(), 10);
            // Also while the worker sleeps on, and does not know of it.
            let counters = await_counts(&running, "the reply", |counters| counters.udp_responses == 1);
            assert_eq!((counters.later_replied, counters.later_open), (1, 0));
            assert_eq!(ask(&client, b"now at once"), b"now at once");
            let counters = await_counts(&running, "both", |counters| counters.udp_responses == 2);
            assert_eq!((counters.later_replied, counters.later_open, counters.later_gone), (1, 0, 0));
        }
    }
}

#[test]
fn what_cannot_go_past_the_worker_goes_by_it() {
    let (running, _, tickets) = toy::serve(&local());
    let mut connection = tcp(address(&running));
    connection.write_all(&framed(b"thread over TCP")).unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    ticket.reply_at_once(&query);
    assert_eq!(receive(&mut connection), b"thread over TCP");
    // Nothing to say is nothing said, and more than there is room for too.
    let client = udp(address(&running));
    for octets in [0, 5000] {
        client.send(b"thread no reply").unwrap();
        tickets.recv().unwrap().0.reply_at_once(&vec![0; octets]);
    }
    assert_eq!(await_all_ended(&running).later_dropped, 2);
    // What the tap is to see.
    let wants = sync::tap::Wants { one_in: 1, query_octets: 8, response_octets: 100, others: false };
    let mut reader = running.taps()[0].attach(wants).unwrap();
    client.send(b"thread is told").unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    ticket.reply_at_once(&query);
    let (mut octets, mut responses, start) = (Vec::new(), 0, Instant::now());
    while responses == 0 {
        assert!(start.elapsed() < PATIENCE, "no response was told of");
        if reader.read(&mut octets) {
            responses += usize::from(TapRecord::read(&octets).unwrap().outcome == Tapped::LateResponse);
        }
    }
    assert_eq!(client.recv(&mut [0; 64]).unwrap(), 14);
}

#[test]
fn late_replies_leave_a_connection_in_any_order() {
    let (running, _, _tickets) = toy::serve(&local());
    let mut client = tcp(address(&running));
    let queries = ["later 120 third", "later 60 second", "now at once 1", "later 0 the first"];
    client.write_all(&queries.map(|query| framed(query.as_bytes())).concat()).unwrap();
    // The end of its input only means that it asks no more.
    client.shutdown(Shutdown::Write).unwrap();
    for expected in [2, 3, 1, 0] {
        assert_eq!(receive(&mut client), queries[expected].as_bytes());
    }
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "closed after the last");
    assert_eq!(await_all_ended(&running).later_replied, 3);
    await_counts(&running, "the end", |counters| counters.tcp_open == 0);
}

#[test]
fn other_threads_reply_in_any_order() {
    let (running, _, tickets) = toy::serve(&Listen { workers: 2, ..local() });
    let at = address(&running);
    let replier = std::thread::spawn(move || {
        // In pairs, the second first; each from a thread of its own.
        for _ in 0..50 {
            let (first, second) = (tickets.recv().unwrap(), tickets.recv().unwrap());
            std::thread::spawn(move || {
                second.0.reply(second.1);
                first.0.reply(first.1);
            })
            .join()
            .unwrap();
        }
    });
    let mut client = tcp(at);
    let datagrams = udp(at);
    for round in 0..50 {
        let (one, other) = (format!("thread {round} over TCP"), format!("thread {round} over UDP"));
        client.write_all(&framed(one.as_bytes())).unwrap();
        assert_eq!(ask(&datagrams, other.as_bytes()), other.as_bytes());
        assert_eq!(receive(&mut client), one.as_bytes());
    }
    replier.join().unwrap();
    assert_eq!(await_all_ended(&running).later_replied, 100);
}

#[test]
fn clients_that_are_gone() {
    let (running, shared, tickets) = toy::serve(&local());
    let at = address(&running);
    let mut client = tcp(at);
    client.write_all(&[framed(b"hold 77 for ever"), framed(b"thread to another")].concat()).unwrap();
    let (ticket, _) = tickets.recv().unwrap();
    // Unread octets make closing a reset.
    client.write_all(&framed(b"now this answer")).unwrap();
    std::thread::sleep(Duration::from_millis(50));
    drop(client);
    let start = Instant::now();
    while !shared.gone.lock().unwrap().contains(&77) {
        assert!(start.elapsed() < PATIENCE, "the service was not told");
    }
    // Gone rows count until their tickets end.
    assert_eq!(total(&running).later_open, 2);
    ticket.reply(*b"too late, sorry");
    assert_eq!(ask(&udp(at), b"forget"), b"forgotten");
    let counters = await_all_ended(&running);
    assert_eq!((counters.later_gone, counters.later_replied, counters.tcp_open), (2, 0, 0));
}

#[test]
fn dropped_tickets_are_counted_and_hold_nothing() {
    let (running, _, tickets) = toy::serve(&local());
    let mut client = tcp(address(&running));
    let queries =
        ["drop the ticket", "discard the ticket", "thread 1 dropped", "thread 2 empty", "thread 3 too long"];
    client.write_all(&queries.map(|query| framed(query.as_bytes())).concat()).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    drop(tickets.recv().unwrap());
    tickets.recv().unwrap().0.reply([]);
    let (ticket, _) = tickets.recv().unwrap();
    let octets = vec![1; ticket.room() + 1];
    ticket.reply(octets);
    assert_eq!(client.read(&mut [0; 1]).unwrap(), 0, "closed, as nothing is open");
    assert_eq!(await_all_ended(&running).later_dropped, 5);
}

#[test]
fn a_connection_waits_once_it_has_as_many_open_as_it_may() {
    let (running, _, _tickets) = toy::serve(&local());
    let mut client = tcp(address(&running));
    let held = LATER_PER_CONNECTION_MAX;
    let queries: Vec<u8> = (0..held + 40).flat_map(|_| framed(b"hold 1 for a while")).collect();
    client.write_all(&queries).unwrap();
    client.write_all(&framed(b"now the last one")).unwrap();
    await_counts(&running, "as many as may be", |counters| counters.later_open == held as u64);
    std::thread::sleep(Duration::from_millis(50));
    // Neither refused nor read.
    let counters = total(&running);
    assert_eq!((counters.later_refused, counters.tcp_queries), (0, held as u64));
    assert_eq!(ask(&udp(address(&running)), b"release"), b"released");
    for _ in 0..held {
        assert_eq!(receive(&mut client), b"held for you");
    }
    // The others come once those are answered.
    assert_eq!(receive(&mut client), b"now the last one");
    await_counts(&running, "the others", |counters| counters.later_open == 40);
    assert_eq!(ask(&udp(address(&running)), b"release"), b"released");
    for _ in 0..40 {
        assert_eq!(receive(&mut client), b"held for you");
    }
    await_all_ended(&running);
}

#[test]
fn a_client_has_its_share_and_replies_come_in_portions() {
    let (running, shared, _tickets) = toy::serve(&local());
    let client = udp(address(&running));
    for batch in 0..LATER_PER_CLIENT_MAX / 32 {
        for _ in 0..32 {
            client.send(b"hold 5").unwrap();
        }
        await_counts(&running, "a batch", |counters| counters.later_open == (batch as u64 + 1) * 32);
    }
    assert_eq!(ask(&client, b"hold 5"), b"refused Client");
    // One room is free as soon as a ticket is.
    assert_eq!(ask(&udp(address(&running)), b"later 0 x"), b"refused Client");
    let releaser = udp(address(&running));
    assert_eq!(ask(&releaser, b"release"), b"released");
    let counters = await_all_ended(&running);
    assert_eq!(counters.later_replied, LATER_PER_CLIENT_MAX as u64);
    let rounds = shared.heard.lock().unwrap().iter().filter(|heard| *heard == "again").count();
    assert!(rounds >= LATER_PER_CLIENT_MAX / REPLIES_PER_EVENT - 1, "{rounds}");
    let mut buffer = [0; 64];
    assert_eq!(client.recv(&mut buffer).unwrap(), 12);
}

#[test]
fn open_tickets_keep_a_connection_from_being_idle() {
    let limits = TcpLimits { idle: Duration::from_millis(150), ..TcpLimits::default() };
    let (running, _, _tickets) = toy::serve(&Listen { tcp: limits, ..local() });
    let mut client = tcp(address(&running));
    let start = Instant::now();
    assert_eq!(ask_tcp(&mut client, b"later 500 ms later"), b"later 500 ms later");
    // The idle time runs from then.
    assert_eq!(ask_tcp(&mut client, b"now after that"), b"now after that");
    assert!(is_closed(&mut client));
    assert!(start.elapsed() >= Duration::from_millis(650));
    assert_eq!(total(&running).tcp_idle_closed, 1);
}

#[test]
fn timers_wakers_and_messages() {
    let (running, shared, _tickets) = toy::serve(&Listen { workers: 2, ..local() });
    let at = address(&running);
    let client = udp(at);
    assert_eq!(ask(&client, b"timers"), b"set");
    await_heard(&shared, "timer 1050");
    assert_eq!(*shared.heard.lock().unwrap(), ["timer 1010", "timer 1020", "timer 1030", "timer 1050"]);
    for worker in 0..2 {
        assert_eq!(ask(&client, format!("tell {worker} hello").as_bytes()), b"told");
    }
    assert_eq!(ask(&client, b"tell 2 nobody"), b"not told");
    let asked = usize::from(running.counters()[1].udp_queries > 0);
    for worker in 0..2 {
        await_heard(&shared, &format!("hello from {asked} to {worker}"));
    }
    assert_eq!(ask(&client, b"waker"), b"given away");
    let waker = shared.service_waker.lock().unwrap().clone().unwrap();
    std::thread::sleep(Duration::from_millis(20));
    waker.wake();
    await_heard(&shared, "woken");
    let before = shared.heard.lock().unwrap().len();
    for _ in 0..1000 {
        waker.wake();
    }
    std::thread::sleep(Duration::from_millis(50));
    let woken = shared.heard.lock().unwrap().len() - before;
    assert!((1..=1000).contains(&woken), "{woken}");
}

#[test]
fn upstream_echo() {
    let at = toy::udp_server(101);
    let (running, _, _tickets) = toy::serve(&local());
    let query = format!("upstream {at}");
    assert_eq!(ask(&udp(address(&running)), query.as_bytes()), query.as_bytes());
    let mut client = tcp(address(&running));
    for round in 0..100 {
        let query = format!("upstream {at} {round}");
        assert_eq!(ask_tcp(&mut client, query.as_bytes()), query.as_bytes());
    }
    await_all_ended(&running);
}

#[test]
fn streams_to_servers() {
    let (running, shared, _tickets) = toy::serve(&local());
    let client = udp(address(&running));
    // The toy closes the stream at the first message: it is not told of the second.
    let query = format!("server {}", toy::tcp_server(2));
    for _ in 0..2 {
        assert_eq!(ask(&client, query.as_bytes()), query.as_bytes());
    }
    assert_eq!(*shared.heard.lock().unwrap(), ["connected", "connected"]);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    client.send(format!("server {nobody}").as_bytes()).unwrap();
    await_heard(&shared, "Refused");
    // A panic ends the streams of that service, and not the worker.
    let query = format!("server {} explode", toy::tcp_server(1));
    client.send(query.as_bytes()).unwrap();
    await_counts(&running, "the panic", |counters| counters.service_panics == 1);
    await_counts(&running, "no stream", |counters| counters.upstream_streams_open == 0);
    let query = format!("server {}", toy::tcp_server(1));
    assert_eq!(ask(&client, query.as_bytes()), query.as_bytes());
    assert_eq!(total(&running).upstream_streams_begun, 5);
    await_all_ended(&running);
}

/// A service is told that its worker has begun before anybody asks it anything, and can be woken from then on; one that takes the place of another that panicked
/// is told too.
#[test]
fn a_service_is_told_that_its_worker_begins() {
    let (running, shared, _tickets) = toy::serve(&Listen { workers: 2, ..local() });
    let await_started = |count: usize| {
        let start = Instant::now();
        while shared.started.lock().unwrap().len() < count {
            assert!(start.elapsed() < PATIENCE, "{:?}", shared.started.lock().unwrap());
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut started = shared.started.lock().unwrap().clone();
        started.sort_unstable();
        started
    };
    assert_eq!(await_started(2), [0, 1]);
    let waker = shared.service_waker.lock().unwrap().clone().unwrap();
    waker.wake();
    await_heard(&shared, "woken");
    assert_eq!(total(&running).udp_queries, 0);
    udp(address(&running)).send(b"panic").unwrap();
    await_counts(&running, "the panic", |counters| counters.service_panics == 1);
    assert_eq!(await_started(3).len(), 3);
}

#[test]
fn after_a_panic_tickets_in_other_hands_live_on() {
    let (running, shared, tickets) = toy::serve(&local());
    let at = address(&running);
    let mut client = tcp(at);
    client.write_all(&[framed(b"hold 3 with the service"), framed(b"thread lives on")].concat()).unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    assert_eq!(ask(&udp(at), b"timers"), b"set");
    udp(at).send(b"panic").unwrap();
    await_counts(&running, "the panic", |counters| counters.service_panics == 1);
    // The one that the service held died with it.
    await_counts(&running, "one ticket", |counters| counters.later_open == 1 && counters.later_dropped == 1);
    ticket.reply(query);
    assert_eq!(receive(&mut client), b"thread lives on");
    std::thread::sleep(Duration::from_millis(80));
    assert_eq!(*shared.heard.lock().unwrap(), [""; 0], "timers of before are no more");
    await_all_ended(&running);
}

#[test]
fn stopping_waits_for_open_tickets() {
    for (over_tcp, at_once) in [(false, false), (false, true), (true, false)] {
        let (running, shared, tickets) = toy::serve(&local());
        let at = address(&running);
        let (client, mut connection) = (udp(at), tcp(at));
        if over_tcp {
            connection.write_all(&framed(b"thread before the end")).unwrap();
        } else {
            client.send(b"thread before the end").unwrap();
        }
        let (ticket, query) = tickets.recv().unwrap();
        let replier = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            match at_once {
                true => ticket.reply_at_once(&query),
                false => ticket.reply(query),
            }
        });
        let start = Instant::now();
        let counters = running.stop(PATIENCE);
        assert!(start.elapsed() >= Duration::from_millis(300) && start.elapsed() < PATIENCE / 2);
        assert!(all_ended(&counters[0]), "{counters:?}");
        if over_tcp {
            assert_eq!(receive(&mut connection), b"thread before the end");
        } else {
            assert_eq!(client.recv(&mut [0; 64]).unwrap(), 21);
        }
        assert_eq!(*shared.heard.lock().unwrap(), ["stopping"]);
        replier.join().unwrap();
    }
}

#[test]
fn a_service_made_while_stopping_hears_of_it() {
    let (running, shared, tickets) = toy::serve(&local());
    let client = udp(address(&running));
    client.send(b"thread keeps the server up").unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    assert_eq!(ask(&client, b"fuse 200"), b"lit");
    let replier = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        ticket.reply(query);
    });
    let counters = running.stop(PATIENCE);
    assert_eq!((counters[0].service_panics, counters[0].later_open), (1, 0));
    assert_eq!(*shared.heard.lock().unwrap(), ["stopping", "stopping"]);
    replier.join().unwrap();
}

#[test]
fn a_ticket_outlives_the_server() {
    let (running, _, tickets) = toy::serve(&local());
    udp(address(&running)).send(b"thread and the end").unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    let start = Instant::now();
    running.stop(Duration::from_millis(100));
    assert!(start.elapsed() < Duration::from_secs(2), "the deadline is kept");
    ticket.reply_at_once(&query);
}

#[test]
fn the_tap_is_told_of_queries_and_late_responses() {
    let (running, _, _tickets) = toy::serve(&local());
    let client = udp(address(&running));
    assert_eq!(ask(&client, b"now before it"), b"now before it");
    let wants = sync::tap::Wants { one_in: 1, query_octets: 8, response_octets: 100, others: false };
    let mut reader = running.taps()[0].attach(wants).unwrap();
    assert_eq!(ask(&client, b"now it is told"), b"now it is told");
    let mut connection = tcp(address(&running));
    connection.write_all(&[framed(b"later 20 joined"), framed(b"now at once 2")].concat()).unwrap();
    assert_eq!(receive(&mut connection), b"now at once 2");
    assert_eq!(receive(&mut connection), b"later 20 joined");
    let (mut records, mut octets, start) = (Vec::new(), Vec::new(), Instant::now());
    while records.len() < 4 {
        assert!(start.elapsed() < PATIENCE, "{} records", records.len());
        if reader.read(&mut octets) {
            records.push(octets.clone());
        }
    }
    let records: Vec<TapRecord<'_>> = records.iter().map(|record| TapRecord::read(record).unwrap()).collect();
    let outcomes: Vec<Tapped> = records.iter().map(|record| record.outcome).collect();
    assert_eq!(outcomes, [Tapped::Answered, Tapped::Later, Tapped::Answered, Tapped::LateResponse]);
    let first = &records[0];
    assert_eq!((first.query, first.response), (&b"now it i"[..], &b"now it is told"[..]));
    assert_eq!((first.query_octets, first.response_octets, first.transport), (14, 14, Transport::Udp));
    assert_eq!(std::net::SocketAddr::from(first.client), client.local_addr().unwrap());
    assert_eq!(std::net::SocketAddr::from(first.local), address(&running));
    assert!(first.row.is_none() && !first.is_proved && first.taken > 1_700_000_000_000_000_000);
    assert_eq!((records[1].query, records[1].response_octets), (&b"later 20"[..], 0));
    assert!(records[1].row.is_some() && records[1].is_proved);
    assert_eq!((records[3].row, records[3].response), (records[1].row, &b"later 20 joined"[..]));
    assert_eq!((records[2].response, reader.dropped()), (&b"now at once 2"[..], 0));
}
