#![allow(clippy::unwrap_used)]

use std::{
    net::UdpSocket,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use super::{book::CHECK_EACH, *};
use crate::{
    echo::{BATCH, Counters, Echo, RECEIVE_OCTETS, ReplySize},
    query::Query,
};

fn queries(count: usize) -> QuerySet {
    let mut set = QuerySet::default();
    for number in 0..count {
        let line = format!("name{number}.example. A{}", if number % 2 == 0 { " do" } else { "" });
        set.push(&Query::from_line(line.as_bytes()).unwrap().unwrap());
    }
    set
}

/// An echo server in a thread, stopped and joined at the end.
struct RunningEcho {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Counters>>,
    address: SocketAddr,
}

impl RunningEcho {
    fn start(sizes: ReplySize) -> RunningEcho {
        let echo = Echo::bind("127.0.0.1:0".parse().unwrap(), sizes, BATCH, RECEIVE_OCTETS).unwrap();
        let (stop, address) = (Arc::new(AtomicBool::new(false)), echo.address());
        let flag = Arc::clone(&stop);
        RunningEcho { stop, thread: Some(std::thread::spawn(move || echo.run(&flag).unwrap())), address }
    }

    fn end(mut self) -> Counters {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

fn settings(server: SocketAddr) -> Settings {
    let (timeout, lateness_max) = (Duration::from_secs(2), Duration::from_secs(1));
    Settings { flows: 64, burst: 32, timeout, lateness_max, ..Settings::new(server) }
}

#[test]
fn open_loop_keeps_its_count() {
    let echo = RunningEcho::start(ReplySize::Fixed(100));
    let queries = queries(1000);
    let mut generator = Generator::new(settings(echo.address), &queries).unwrap();
    let trial = Trial { pace: Pace::Open { rate: 5_000.0 }, seconds: 0.4, queries_max: u64::MAX };
    let outcome = generator.run(trial).unwrap();
    let counters = echo.end();
    assert_eq!(outcome.planned, 2_000);
    assert_eq!(counters.received, outcome.sent);
    assert_eq!((outcome.received, outcome.lost(), outcome.wrong, outcome.stray), (outcome.sent, 0, 0, 0));
    assert_eq!(outcome.octets, outcome.received * 100);
    assert_eq!(outcome.rcodes[0], outcome.received);
    assert_eq!((outcome.latency.len(), outcome.lateness.len()), (outcome.received, outcome.sent));
    // Counted from the planned time, so never below the lateness of the same query.
    assert!(outcome.latency.max() >= outcome.lateness.value_at_percentile(50.0));
}

#[test]
fn gathered_queries_are_as_many_and_leave_together() {
    let echo = RunningEcho::start(ReplySize::Same);
    let queries = queries(1000);
    let gather = Duration::from_millis(20);
    let mut generator = Generator::new(Settings { gather, ..settings(echo.address) }, &queries).unwrap();
    let trial = Trial { pace: Pace::Open { rate: 5_000.0 }, seconds: 0.4, queries_max: u64::MAX };
    let outcome = generator.run(trial).unwrap();
    assert_eq!((outcome.planned, outcome.sent, outcome.received), (2_000, 2_000, 2_000));
    // Planned evenly over 20 ms and sent at the end of it: half of them wait at least half of that.
    assert!(outcome.lateness.value_at_percentile(60.0) >= 9_000_000);
    assert_eq!(echo.end().received, 2_000);
}

#[test]
fn trains_are_the_same_queries() {
    let echo = RunningEcho::start(ReplySize::Same);
    let queries = queries(1000).in_runs(32, 1);
    let settings = Settings { trains: true, ..settings(echo.address) };
    let mut generator = Generator::new(settings, &queries).unwrap();
    let trial = Trial { pace: Pace::Closed { window: 100 }, seconds: 20.0, queries_max: 1000 };
    let outcome = generator.run(trial).unwrap();
    assert_eq!((outcome.sent, outcome.received, outcome.wrong, outcome.stray), (1000, 1000, 0, 0));
    assert!((0..1000).all(|index| usize::from(generator.sizes()[index]) == queries.packet(index).len()));
    assert_eq!(echo.end().received, 1000);
}

#[test]
fn closed_loop_asks_every_query_once() {
    let echo = RunningEcho::start(ReplySize::Same);
    let queries = queries(777);
    let mut generator = Generator::new(settings(echo.address), &queries).unwrap();
    let trial = Trial { pace: Pace::Closed { window: 10 }, seconds: 20.0, queries_max: 777 };
    let outcome = generator.run(trial).unwrap();
    assert_eq!((outcome.planned, outcome.sent, outcome.received), (777, 777, 777));
    let expected: Vec<_> = (0..777).map(|index| queries.packet(index).len() as u16).collect();
    assert_eq!(generator.sizes(), expected);
    assert_eq!(echo.end().sent, 777);
}

#[test]
fn closed_loop_goes_on_past_lost_queries() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let queries = queries(10);
    let timeout = Duration::from_millis(50);
    let settings = Settings { timeout, ..settings(silent.local_addr().unwrap()) };
    let mut generator = Generator::new(settings, &queries).unwrap();
    let trial = Trial { pace: Pace::Closed { window: 4 }, seconds: 0.5, queries_max: u64::MAX };
    let outcome = generator.run(trial).unwrap();
    assert!((8..=44).contains(&outcome.sent), "{}", outcome.sent);
    assert_eq!((outcome.received, outcome.lost()), (0, outcome.sent));
}

#[test]
fn wrong_replies_are_seen() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    server.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let address = server.local_addr().unwrap();
    let answering = std::thread::spawn(move || {
        let mut room = [0; 512];
        while let Ok((length, client)) = server.recv_from(&mut room) {
            room[2] |= 0x80;
            room[3] |= 3;
            room[13] ^= 0x20; // another letter case in the question
            server.send_to(&room[..length], client).unwrap();
            server.send_to(&room[..length], client).unwrap();
        }
    });
    let queries = queries(64);
    let mut generator = Generator::new(settings(address), &queries).unwrap();
    let trial = Trial { pace: Pace::Closed { window: 1 }, seconds: 20.0, queries_max: 64 };
    let outcome = generator.run(trial).unwrap();
    answering.join().unwrap();
    assert_eq!((outcome.received, outcome.rcodes[3]), (64, 64));
    assert_eq!(outcome.wrong, 64 / CHECK_EACH);
    assert!((63..=64).contains(&outcome.stray), "{}", outcome.stray);
}

#[test]
fn nobody_there() {
    let address = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let queries = queries(10);
    let settings = Settings { timeout: Duration::from_millis(100), ..settings(address) };
    let mut generator = Generator::new(settings, &queries).unwrap();
    let trial = Trial { pace: Pace::Open { rate: 1000.0 }, seconds: 0.1, queries_max: 100 };
    assert!(matches!(generator.run(trial), Err(Error::Refused { .. })));
}

#[test]
fn window_survives_queries_that_made_room() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let queries = queries(10);
    // One flow has 65,536 places; a window above that must overwrite some, and still come to its end.
    let settings =
        Settings { flows: 1, timeout: Duration::from_millis(600), ..settings(silent.local_addr().unwrap()) };
    let mut generator = Generator::new(settings, &queries).unwrap();
    let trial = Trial { pace: Pace::Closed { window: 70_000 }, seconds: 20.0, queries_max: 80_000 };
    let outcome = generator.run(trial).unwrap();
    assert_eq!((outcome.sent, outcome.received), (80_000, 0));
    assert!(outcome.overrun > 0);
}

#[test]
fn workers_share_queries_and_add_up() {
    let echo = RunningEcho::start(ReplySize::Same);
    let queries = queries(777);
    let settings = Settings { threads: 3, ..settings(echo.address) };
    let mut generator = Generator::new(settings, &queries).unwrap();
    let trial = Trial { pace: Pace::Closed { window: 10 }, seconds: 20.0, queries_max: 777 };
    let outcome = generator.run(trial).unwrap();
    assert_eq!((outcome.planned, outcome.sent, outcome.received), (777, 777, 777));
    let expected: Vec<_> = (0..777).map(|index| queries.packet(index).len() as u16).collect();
    assert_eq!(generator.sizes(), expected, "each query once");
    // A window smaller than the number of workers.
    let outcome = generator.run(Trial { pace: Pace::Closed { window: 1 }, ..trial }).unwrap();
    assert_eq!((outcome.sent, outcome.received), (777, 777));
    let open = Trial { pace: Pace::Open { rate: 3_000.0 }, seconds: 0.4, queries_max: 1000 };
    let outcome = generator.run(open).unwrap();
    assert_eq!((outcome.planned, outcome.sent, outcome.received, outcome.wrong), (1000, 1000, 1000, 0));
    assert_eq!((outcome.latency.len(), outcome.lateness.len()), (1000, 1000));
    assert!((outcome.planned_seconds - 0.333).abs() < 1e-9, "{}", outcome.planned_seconds);
    assert_eq!(echo.end().sent, 777 * 2 + 1000);
}

#[test]
fn workers_run_on_their_cores_or_say_why_not() {
    let echo = RunningEcho::start(ReplySize::Same);
    let queries = queries(10);
    let trial = Trial { pace: Pace::Closed { window: 2 }, seconds: 20.0, queries_max: 100 };
    let cores =
        |text: &str| Settings { threads: 2, cores: Some(text.parse().unwrap()), ..settings(echo.address) };
    let outcome = Generator::new(cores("0"), &queries).unwrap().run(trial).unwrap();
    assert_eq!(outcome.received, 100);
    let refused = Generator::new(cores("0,1023"), &queries).unwrap().run(trial);
    assert!(matches!(refused, Err(Error::System { .. })));
    echo.end();
}

#[test]
fn stopped_from_outside() {
    let echo = RunningEcho::start(ReplySize::Same);
    let queries = queries(10);
    let mut generator = Generator::new(settings(echo.address), &queries).unwrap();
    let stop = generator.stop_flag();
    let stopping = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
    });
    let trial = Trial { pace: Pace::Open { rate: 1000.0 }, seconds: 3600.0, queries_max: u64::MAX };
    let outcome = generator.run(trial).unwrap();
    stopping.join().unwrap();
    assert!(outcome.seconds < 60.0 && outcome.sent < 60_000);
    echo.end();
}

#[test]
fn outcomes_merge() {
    let mut all = Outcome { sent: 10, received: 8, seconds: 2.0, stolen_share: 0.1, ..Outcome::default() };
    all.latency.record(1000).unwrap();
    let mut other = Outcome { sent: 5, received: 5, seconds: 3.0, own_drops: 1, ..Outcome::default() };
    (other.rcodes[3], other.finished_seconds) = (5, 3.1);
    other.latency.record(3000).unwrap();
    all.merge(&other);
    assert_eq!((all.sent, all.received, all.lost(), all.own_drops, all.rcodes[3]), (15, 13, 2, 1, 5));
    assert_eq!((all.seconds, all.finished_seconds, all.stolen_share), (3.0, 3.1, 0.1));
    assert_eq!((all.latency.len(), all.latency.min(), all.latency.max() >= 3000), (2, 1000, true));
}
