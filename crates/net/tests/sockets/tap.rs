//! What the tap is told over real sockets: which queries, which late responses, and each way to end without one.
use crate::common;
use std::collections::HashMap;
use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::common::toy;
use crate::common::{PATIENCE, address, ask, ask_tcp, await_counts, framed, local, receive, tcp, udp};
use net::{LATER_PER_CONNECTION_MAX, Listen, Messages, Pull, TapEnd, TapRecord, TapRow, Tapped, Transport};
use sync::tap::{Reader, Tap, Wants};

const ALL: Wants = Wants { one_in: 1, query_octets: 40, response_octets: 40, others: false };

/// A record, kept.
#[derive(Clone, Debug)]
struct Told {
    outcome: Tapped,
    end: Option<TapEnd>,
    transport: Transport,
    row: Option<TapRow>,
    one_in: u32,
    taken: u64,
    took: u32,
    query: String,
    response: String,
    local: SocketAddr,
}

/// A reader, and all that it was told.
struct Records {
    reader: Reader,
    told: Vec<Told>,
}

impl Records {
    fn of(tap: &Tap, wants: Wants) -> Self {
        Self { reader: tap.attach(wants).unwrap(), told: Vec::new() }
    }

    fn read(&mut self) {
        let mut octets = Vec::new();
        while self.reader.read(&mut octets) {
            let record = TapRecord::read(&octets).unwrap();
            let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
            self.told.push(Told {
                outcome: record.outcome,
                end: record.end,
                transport: record.transport,
                row: record.row,
                one_in: record.one_in,
                taken: record.taken,
                took: record.took,
                query: text(record.query),
                response: text(record.response),
                local: record.local.into(),
            });
        }
    }

    /// Waits until so many records were told.
    fn wait(&mut self, count: usize) -> &[Told] {
        let start = Instant::now();
        while self.told.len() < count {
            assert!(start.elapsed() < PATIENCE, "{count} records are not among {:#?}", self.told);
            self.read();
        }
        &self.told
    }

    /// Of each query that is answered later what it was and how it ended; `None` where that was not told. Nothing is told of a row twice, and nothing of one whose query was not.
    fn ends(&self) -> Vec<(&str, Option<&Told>)> {
        let mut queries: HashMap<TapRow, usize> = HashMap::new();
        let mut ends: Vec<(&str, Option<&Told>)> = Vec::new();
        for told in &self.told {
            match told.outcome {
                Tapped::Later => {
                    let before = queries.insert(told.row.unwrap(), ends.len());
                    assert_eq!(before, None, "{told:?} has the row of another");
                    ends.push((&told.query, None));
                }
                Tapped::LateResponse | Tapped::Ended => {
                    let place = *queries.get(&told.row.unwrap()).expect("a query");
                    assert!(ends[place].1.is_none(), "{told:?} and {:?}", ends[place]);
                    ends[place].1 = Some(told);
                }
                _ => assert_eq!(told.row, None),
            }
        }
        ends
    }

    /// How each query that is answered later ended, by what it asked.
    fn ended(&self) -> Vec<(&str, Option<TapEnd>)> {
        self.ends().into_iter().map(|(query, told)| (query, told.expect("an end").end)).collect()
    }
}

fn wall_nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

/// Two queries that had the same place, one after the other.
#[test]
fn a_late_response_is_joined_with_its_query_by_the_generation() {
    let (running, _, _tickets) = toy::serve(&local());
    let mut records = Records::of(&running.taps()[0], ALL);
    let client = udp(address(&running));
    for query in ["later 0 the first", "later 0 the second", "swift one"] {
        assert_eq!(ask(&client, query.as_bytes()), query.as_bytes());
    }
    records.wait(6);
    let ends = records.ends();
    for (query, end) in &ends {
        let end = end.unwrap();
        assert_eq!((end.outcome, end.end, &end.response[..]), (Tapped::LateResponse, None, *query));
    }
    let rows: Vec<TapRow> = records.told.iter().filter_map(|told| told.row).collect();
    assert!(rows.iter().all(|row| row.index == rows[0].index), "one place is enough for one after another");
    assert_eq!(rows[0], rows[1]);
    assert!(rows[2] != rows[0] && rows[4] != rows[2]);
}

#[test]
fn records_say_when() {
    let running = common::serve(&local());
    let mut records = Records::of(&running.taps()[0], ALL);
    let client = udp(address(&running));
    let before = wall_nanoseconds();
    ask(&client, b"slow one");
    ask(&client, b"another one");
    let after = wall_nanoseconds();
    let told = records.wait(2);
    assert!(before <= told[0].taken && told[1].taken <= after, "{before} {after} {told:?}");
    assert!(told[0].taken + u64::from(told[0].took) <= told[1].taken, "{told:?}");
    assert!(told[0].took >= 200_000_000, "{told:?}");
}

#[test]
fn a_reader_that_comes_in_between() {
    let (running, _, tickets) = toy::serve(&local());
    let client = udp(address(&running));
    client.send(b"thread before it").unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    let mut records = Records::of(&running.taps()[0], ALL);
    // Past the worker, and by it.
    ticket.reply_at_once(&query);
    assert_eq!(client.recv(&mut [0; 64]).unwrap(), 16);
    client.send(b"thread with it").unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    ticket.reply_at_once(&query);
    assert_eq!(client.recv(&mut [0; 64]).unwrap(), 14);
    records.wait(2);
    assert_eq!(records.ends().len(), 1);
    assert_eq!(records.told[1].response, "thread with it");
    // It leaves in between.
    client.send(b"thread after it").unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    drop(records);
    ticket.reply_at_once(&query);
    assert_eq!(client.recv(&mut [0; 64]).unwrap(), 15);
    let mut records = Records::of(&running.taps()[0], ALL);
    ask(&client, b"now at once");
    records.wait(1);
    assert_eq!((records.told.len(), &records.told[0].query[..]), (1, "now at once"));
}

/// Whose reply comes while the worker is held up, as one in so many is told: whether it has gone past the worker.
fn goes_past_the_worker(one_in: u32) -> bool {
    let (running, shared, tickets) = toy::serve(&local());
    let mut records = Records::of(&running.taps()[0], Wants { one_in, ..ALL });
    let (client, blocker) = (udp(address(&running)), udp(address(&running)));
    client.send(b"thread one").unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    let gate = shared.gate.lock().unwrap();
    blocker.send(b"block").unwrap();
    await_counts(&running, "the worker held up", |counters| counters.udp_queries == 2);
    ticket.reply_at_once(&query);
    client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let is_there = client.recv(&mut [0; 64]).is_ok();
    drop(gate);
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    if !is_there {
        assert_eq!(client.recv(&mut [0; 64]).unwrap(), 10);
    }
    assert_eq!(blocker.recv(&mut [0; 64]).unwrap(), 11);
    records.read();
    is_there
}

#[test]
fn only_what_is_told_goes_by_the_worker() {
    assert!(!goes_past_the_worker(1));
    assert!(goes_past_the_worker(u32::MAX));
}

#[test]
fn a_sample_is_fair_to_clients_that_take_turns() {
    const CLIENTS: usize = 100;
    const ROUNDS: usize = 300;
    let running = common::serve(&local());
    let wants = Wants { one_in: CLIENTS as u32, ..ALL };
    let mut records = Records::of(&running.taps()[0], wants);
    let clients: Vec<_> = (0..CLIENTS).map(|_| udp(address(&running))).collect();
    for _ in 0..ROUNDS {
        for (number, client) in clients.iter().enumerate() {
            ask(client, format!("{number}").as_bytes());
        }
        records.read();
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    records.told.iter().for_each(|told| *seen.entry(&told.query).or_default() += 1);
    let (told, most) = (records.told.len(), seen.values().max().copied().unwrap_or(0));
    println!("{told} told of {} clients, {most} of one", seen.len());
    // Of 300 each client has 3: 5 of 100 none. Seven times their standard deviation, and more.
    assert!((200..400).contains(&told), "{told} of {}", CLIENTS * ROUNDS);
    assert!(seen.len() >= 75, "{} of {CLIENTS} clients were seen", seen.len());
    assert!(most <= 20, "{most} of one client");
    assert!(records.told.iter().all(|told| told.one_in == CLIENTS as u32));
    // Another rate holds from the next query on, not from where the rare one would have been.
    records.reader.change(ALL);
    let before = records.told.len();
    for _ in 0..20 {
        ask(&clients[0], b"all");
    }
    let told = &records.wait(before + 20)[before..];
    assert!(told.iter().all(|told| (told.one_in, &told.query[..]) == (1, "all")));
}

/// One message, if there is a connection to send it on.
struct One;

impl Messages for One {
    fn next(&mut self, room: &mut [u8]) -> Pull {
        room[..20].fill(b'm');
        Pull::Message(20)
    }
}

#[test]
fn tickets_that_end_without_a_response_are_told() {
    let (running, _, tickets) = toy::serve(&local());
    let mut records = Records::of(&running.taps()[0], ALL);
    let mut client = tcp(address(&running));
    let queries = [
        "drop the ticket",
        "discard the ticket",
        "thread 1 dropped",
        "thread 2 empty",
        "thread 3 too long",
        "thread 4 a stream",
        "become a stream",
    ];
    client.write_all(&queries.map(|query| framed(query.as_bytes())).concat()).unwrap();
    drop(tickets.recv().unwrap());
    tickets.recv().unwrap().0.reply([]);
    let (ticket, _) = tickets.recv().unwrap();
    let octets = vec![1; ticket.room() + 1];
    ticket.reply(octets);
    tickets.recv().unwrap().0.stream(Box::new(One)).map_err(|_| ()).unwrap();
    records.wait(14);
    let ends = queries.map(|query| (query, Some(TapEnd::Dropped)));
    let ends =
        ends.map(|(query, end)| (query, if query.contains("stream") { Some(TapEnd::Stream) } else { end }));
    assert_eq!(records.ended(), ends);
    assert!(records.told.iter().all(|told| told.transport == Transport::Tcp && told.one_in == 1));
}

#[test]
fn clients_that_are_gone_are_told_once() {
    let (running, shared, tickets) = toy::serve(&local());
    let mut records = Records::of(&running.taps()[0], ALL);
    let mut client = tcp(address(&running));
    client.write_all(&[framed(b"hold 77 for ever"), framed(b"thread to another")].concat()).unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    // Unread octets make closing a reset.
    client.write_all(&framed(b"now this answer")).unwrap();
    records.wait(3);
    drop(client);
    records.wait(5);
    ticket.reply(query);
    let client = udp(address(&running));
    assert_eq!(ask(&client, b"forget"), b"forgotten");
    await_counts(&running, "both tickets", |counters| counters.later_gone == 2);
    assert_eq!(ask(&client, b"now the last"), b"now the last");
    records.wait(7);
    let mut ended = records.ended();
    ended.sort_unstable_by_key(|(query, _)| query.len());
    let gone = Some(TapEnd::Gone);
    assert_eq!(ended, [("hold 77 for ever", gone), ("thread to another", gone)]);
    assert_eq!(records.told.len(), 7, "{:#?}", records.told);
    drop(shared);
}

#[test]
fn a_worker_that_ends_tells_of_those_who_wait() {
    let (running, _, tickets) = toy::serve(&local());
    let taps = running.taps().to_vec();
    let mut records = Records::of(&taps[0], ALL);
    let mut connection = tcp(address(&running));
    connection.write_all(&framed(b"thread over TCP")).unwrap();
    let held = tickets.recv().unwrap();
    udp(address(&running)).send(b"hold 1 over UDP").unwrap();
    records.wait(2);
    running.stop(Duration::from_millis(50));
    drop(held);
    records.wait(4);
    let gone = Some(TapEnd::Gone);
    assert_eq!(records.ended(), [("thread over TCP", gone), ("hold 1 over UDP", gone)]);
}

/// The query before the one that panics has a ticket in other hands, and its connection is closed.
#[test]
fn batches_that_are_lost_are_told_and_counted() {
    let (running, _, tickets) = toy::serve(&local());
    let mut records = Records::of(&running.taps()[0], ALL);
    let mut connection = tcp(address(&running));
    let queries = [framed(b"now for nothing"), framed(b"thread before it"), framed(b"panic of a toy")];
    connection.write_all(&queries.concat()).unwrap();
    let (ticket, query) = tickets.recv().unwrap();
    let counters = await_counts(&running, "the panic", |counters| counters.service_panics == 1);
    assert_eq!((counters.queries_lost, counters.tcp_queries), (2, 0));
    ticket.reply(query);
    udp(address(&running)).send(b"panic").unwrap();
    let counters = await_counts(&running, "the other", |counters| counters.service_panics == 2);
    assert_eq!((counters.queries_lost, counters.later_gone), (3, 1));
    records.wait(5);
    let of = |outcome: Tapped| records.told.iter().filter(move |told| told.outcome == outcome);
    let dropped: Vec<&str> = of(Tapped::Dropped).map(|told| &told.query[..]).collect();
    assert_eq!(dropped, ["now for nothing", "panic of a toy", "panic"]);
    assert_eq!(records.ended(), [("thread before it", Some(TapEnd::Gone))]);
    assert_eq!(records.told.len(), 5);
}

/// More octets of replies than may wait at a worker, which is held up meanwhile.
#[test]
fn replies_that_are_dropped_for_want_of_room_are_told() {
    const CONNECTIONS: usize = 5;
    let (running, shared, tickets) = toy::serve(&local());
    let mut records = Records::of(&running.taps()[0], ALL);
    let mut connections: Vec<_> = (0..CONNECTIONS).map(|_| tcp(address(&running))).collect();
    for connection in &mut connections {
        let queries = framed(b"thread of many").repeat(LATER_PER_CONNECTION_MAX);
        connection.write_all(&queries).unwrap();
    }
    let count = CONNECTIONS * LATER_PER_CONNECTION_MAX;
    let held: Vec<_> = (0..count).map(|_| tickets.recv_timeout(PATIENCE).unwrap().0).collect();
    let gate = shared.gate.lock().unwrap();
    udp(address(&running)).send(b"block").unwrap();
    await_counts(&running, "the worker held up", |counters| counters.udp_queries == 1);
    for ticket in held {
        ticket.reply(vec![b'x'; 65_535]);
    }
    drop(gate);
    let counters = await_counts(&running, "all", |counters| counters.later_open == 0);
    assert!(counters.later_overflowed > 0, "{counters:?}");
    records.wait(2 * count + 1);
    let ends = records.ended();
    let dropped = ends.iter().filter(|(_, end)| *end == Some(TapEnd::Dropped)).count() as u64;
    let gone = ends.iter().filter(|(_, end)| *end == Some(TapEnd::Gone)).count() as u64;
    assert_eq!((ends.len(), dropped, gone), (count, counters.later_overflowed, counters.later_gone));
}

#[test]
fn a_ring_is_as_long_as_it_is_asked_to_be() {
    let running = common::serve(&Listen { tap_octets: 256, ..local() });
    let mut records = Records::of(&running.taps()[0], ALL);
    let client = udp(address(&running));
    for _ in 0..10 {
        ask(&client, b"one of ten");
    }
    records.read();
    let room = records.told.len();
    assert!((1..=3).contains(&room), "{room} records of 72 octets and more in 256");
    assert_eq!(records.reader.dropped(), 10 - room as u64);
}

/// All at once, over both transports and by several workers: each query that was told ends once, and in one way.
#[test]
fn nothing_is_told_twice() {
    const ROUNDS: usize = 200;
    let (running, _, tickets) = toy::serve(&Listen { workers: 2, tap_octets: 16 << 20, ..local() });
    let taps = running.taps().to_vec();
    let mut records: Vec<Records> = taps.iter().map(|tap| Records::of(tap, ALL)).collect();
    let at = address(&running);
    let replier = std::thread::spawn(move || {
        for (number, (ticket, query)) in tickets.iter().enumerate() {
            match number % 5 {
                0 => drop(ticket),
                1 | 2 => ticket.reply_at_once(&query),
                _ => ticket.reply(query),
            }
        }
    });
    let clients: Vec<_> = (0..4)
        .map(|number| {
            std::thread::spawn(move || {
                let client = udp(at);
                for round in 0..ROUNDS {
                    let mut connection = tcp(at);
                    let words = ["thread", "later 1", "discard", "drop", "swift", "hold", "now"];
                    for word in words {
                        let query = format!("{word} {number} {round}");
                        client.send(query.as_bytes()).unwrap();
                        connection.write_all(&framed(query.as_bytes())).unwrap();
                    }
                    match round % 3 {
                        0 => drop(ask_tcp(&mut tcp(at), b"release of all")),
                        1 => drop(receive(&mut connection)),
                        _ => {}
                    }
                }
            })
        })
        .collect();
    while !clients.iter().all(|client| client.is_finished()) {
        records.iter_mut().for_each(Records::read);
    }
    clients.into_iter().for_each(|client| client.join().unwrap());
    running.stop(Duration::from_millis(300));
    replier.join().unwrap();
    let mut later = 0;
    for records in &mut records {
        records.read();
        assert_eq!(records.reader.dropped(), 0);
        later += records.ended().len();
    }
    println!("{later} queries that were answered later");
    assert!(later > 4 * ROUNDS, "{later}");
}

/// Datagrams and streams, each as it went and came.
#[test]
fn what_other_servers_are_asked() {
    let (running, _, _tickets) = toy::serve(&local());
    let mut records = Records::of(&running.taps()[0], Wants { others: true, ..ALL });
    let (echo, stream) = (toy::udp_server(1), toy::tcp_server(1));
    let client = udp(address(&running));
    for query in [format!("upstream {echo}"), format!("server {stream}")] {
        assert_eq!(ask(&client, query.as_bytes()), query.as_bytes());
    }
    records.wait(8);
    let others: Vec<_> = records
        .told
        .iter()
        .filter(|told| matches!(told.outcome, Tapped::Question | Tapped::Arrival))
        .map(|told| (told.outcome, told.transport, told.local, &told.query[..], &told.response[..]))
        .collect();
    let (datagram, message) = (format!("upstream {echo}"), format!("server {stream}"));
    assert_eq!(
        others,
        [
            (Tapped::Question, Transport::Udp, echo, &datagram[..], ""),
            (Tapped::Arrival, Transport::Udp, echo, "", &datagram[..]),
            (Tapped::Question, Transport::Tcp, stream, &message[..], ""),
            (Tapped::Arrival, Transport::Tcp, stream, "", &message[..]),
        ]
    );
}
