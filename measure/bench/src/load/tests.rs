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
    echo::{self, BATCH, Counters, Echo, RECEIVE_OCTETS, ReplySize},
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
        RunningEcho::of(Echo::bind("127.0.0.1:0".parse().unwrap(), sizes, BATCH, RECEIVE_OCTETS).unwrap())
    }

    fn of(echo: Echo) -> RunningEcho {
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
fn closed_loops_gather() {
    let echo = RunningEcho::start(ReplySize::Same);
    let queries = queries(50);
    let gather = Duration::from_millis(20);
    let mut generator = Generator::new(Settings { gather, ..settings(echo.address) }, &queries).unwrap();
    let trial = Trial { pace: Pace::Closed { window: 10 }, seconds: 20.0, queries_max: 50 };
    let outcome = generator.run(trial).unwrap();
    assert_eq!((outcome.sent, outcome.received), (50, 50));
    // Five windows, and a sleep after each but the last; replies of the first four lie there meanwhile.
    assert!(outcome.seconds >= 0.08, "{}", outcome.seconds);
    assert!(outcome.latency.value_at_percentile(70.0) >= 15_000_000);
    assert_eq!(echo.end().received, 50);
}

#[test]
fn trains_both_ways_and_gathered() {
    let plain = echo::Settings::plain("127.0.0.1:0".parse().unwrap(), ReplySize::Same);
    let echo = RunningEcho::of(Echo::new(echo::Settings { trains: true, ..plain }).unwrap());
    let queries = queries(1000).in_runs(64, 1);
    let gather = Duration::from_micros(200);
    let settings = Settings { trains: true, check_latency: true, gather, ..settings(echo.address) };
    let mut generator = Generator::new(settings, &queries).unwrap();
    for pace in [Pace::Closed { window: 500 }, Pace::SelfPaced { window: 100 }, Pace::Open { rate: 20_000.0 }]
    {
        let outcome = generator.run(Trial { pace, seconds: 20.0, queries_max: 1000 }).unwrap();
        assert_eq!((outcome.sent, outcome.received, outcome.wrong, outcome.stray), (1000, 1000, 0, 0));
        assert!(!outcome.receipt.is_empty());
    }
    assert!((0..1000).all(|index| usize::from(generator.sizes()[index]) == queries.packet(index).len()));
    assert_eq!(echo.end().received, 3000);
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
    // One flow has 65,536 places; a window above that must overwrite some, and still come to its end. The time-out
    // leaves a slow machine the time to fill them all before the first is given up.
    let timeout = Duration::from_secs(4);
    let settings = Settings { flows: 1, timeout, ..settings(silent.local_addr().unwrap()) };
    let mut generator = Generator::new(settings, &queries).unwrap();
    let trial = Trial { pace: Pace::Closed { window: 66_000 }, seconds: 20.0, queries_max: 67_000 };
    let outcome = generator.run(trial).unwrap();
    assert_eq!((outcome.sent, outcome.received), (67_000, 0));
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
    // A window smaller than the number of workers: still each query once.
    let mut narrow =
        Generator::new(Settings { threads: 3, ..self::settings(echo.address) }, &queries).unwrap();
    let outcome = narrow.run(Trial { pace: Pace::Closed { window: 2 }, ..trial }).unwrap();
    assert_eq!((outcome.sent, outcome.received), (777, 777));
    assert_eq!(narrow.sizes(), expected);
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

/// The queries that a server gets, in their order, with the ports they came from.
fn asked(
    settings: impl Fn(SocketAddr) -> Settings,
    queries: &QuerySet,
    trial: Trial,
) -> (Outcome, Vec<(u16, Vec<u8>)>) {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let answering = std::thread::spawn(move || {
        let (mut seen, mut room) = (Vec::new(), [0; 512]);
        while let Ok((length, client)) = server.recv_from(&mut room) {
            if length < 12 {
                break;
            }
            seen.push((client.port(), room[2..length].to_vec()));
            room[2] |= 0x80;
            server.send_to(&room[..length], client).unwrap();
        }
        seen
    });
    let outcome = Generator::new(settings(address), queries).unwrap().run(trial).unwrap();
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"end", address).unwrap();
    (outcome, answering.join().unwrap())
}

#[test]
fn replays_keep_order_and_times() {
    let mut recorded = QuerySet::default();
    for number in 0..20 {
        let line = format!("name{number}.example. A");
        // In pairs, 10 ms apart.
        recorded.push_at(&Query::from_line(line.as_bytes()).unwrap().unwrap(), number / 2 * 10_000_000);
    }
    let trial =
        Trial { pace: Pace::Replay { speed: 2.0, loops: Some(2) }, seconds: 100.0, queries_max: u64::MAX };
    let (outcome, seen) = asked(|address| Settings { burst: 1, ..settings(address) }, &recorded, trial);
    assert_eq!((outcome.planned, outcome.sent, outcome.received), (40, 40, 40));
    // 9.5 intervals of 10 ms, then 9 more, at twice the speed.
    assert!((outcome.planned_seconds - 0.0924).abs() < 0.0005, "{}", outcome.planned_seconds);
    assert!(outcome.seconds >= 0.092);
    let expected: Vec<_> = (0..40).map(|number| recorded.packet(number % 20)[2..].to_vec()).collect();
    assert_eq!(seen.into_iter().map(|(_, packet)| packet).collect::<Vec<_>>(), expected);
}

#[test]
fn poisson_and_self_pacing() {
    let echo = RunningEcho::start(ReplySize::Same);
    let queries = queries(100);
    let mut generator = Generator::new(Settings { threads: 2, ..settings(echo.address) }, &queries).unwrap();
    let poisson = Pace::Poisson { rate: 5_000.0, seed: 1 };
    let outcome = generator.run(Trial { pace: poisson, seconds: 0.2, queries_max: u64::MAX }).unwrap();
    assert!((850..1150).contains(&outcome.planned), "{}", outcome.planned);
    assert_eq!((outcome.sent, outcome.received, outcome.wrong), (outcome.planned, outcome.planned, 0));
    let again = generator.run(Trial { pace: poisson, seconds: 0.2, queries_max: u64::MAX }).unwrap();
    assert_eq!(again.planned, outcome.planned, "the same seed");
    // A reply that a busy machine keeps for longer than the time-out is a loss, and makes the window smaller.
    let settings = Settings { timeout: Duration::from_millis(100), ..settings(echo.address) };
    let mut generator = Generator::new(settings, &queries).unwrap();
    let trial = Trial { pace: Pace::SelfPaced { window: 2 }, seconds: 1.5, queries_max: u64::MAX };
    let outcome = generator.run(trial).unwrap();
    assert!(outcome.window > 2 && outcome.received > 0, "{}", outcome.window);
    echo.end();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let settings =
        Settings { timeout: Duration::from_millis(20), ..self::settings(silent.local_addr().unwrap()) };
    let mut generator = Generator::new(settings, &queries).unwrap();
    let trial = Trial { pace: Pace::SelfPaced { window: 64 }, seconds: 1.0, queries_max: u64::MAX };
    assert!(generator.run(trial).unwrap().window < 64);
}

#[test]
fn made_names_are_checked_too() {
    let echo = RunningEcho::start(ReplySize::Same);
    let query = Query::from_line(b"example. A do").unwrap().unwrap();
    let queries = QuerySet::made(crate::query::MadeNames::new(&query, 1).unwrap());
    for trains in [false, true] {
        let settings = Settings { trains, threads: 2, ..settings(echo.address) };
        let mut generator = Generator::new(settings, &queries).unwrap();
        let trial = Trial { pace: Pace::Closed { window: 64 }, seconds: 20.0, queries_max: 2000 };
        let outcome = generator.run(trial).unwrap();
        assert_eq!((outcome.sent, outcome.received, outcome.wrong), (2000, 2000, 0));
        assert!(generator.sizes().is_empty());
    }
    echo.end();
}

#[test]
fn source_ports_vary_or_stay() {
    let queries = queries(10);
    let trial = Trial { pace: Pace::Closed { window: 1 }, seconds: 20.0, queries_max: 300 };
    let ports = |ports| {
        let (outcome, seen) =
            asked(|address| Settings { flows: 4, ports, ..settings(address) }, &queries, trial);
        assert_eq!((outcome.received, outcome.wrong, outcome.stray), (300, 0, 0));
        let ports: std::collections::BTreeSet<_> = seen.into_iter().map(|(port, _)| port).collect();
        (ports.len() as u64, outcome.renewed)
    };
    assert_eq!(ports(flows::Ports::Kept), (4, 0));
    let (different, renewed) = ports(flows::Ports::Random { each: 3 });
    assert!(renewed >= 90 && different > 80, "{renewed} renewed, {different} different");
}

#[test]
fn servers_that_are_not_there_end_a_trial_soon() {
    let queries = queries(10);
    let trial = Trial { pace: Pace::Open { rate: 1000.0 }, seconds: 60.0, queries_max: u64::MAX };
    let run = |settings: Settings| {
        let start = Instant::now();
        let error =
            Generator::new(settings, &queries).and_then(|mut generator| generator.run(trial)).err().unwrap();
        assert!(start.elapsed() < Duration::from_secs(30));
        error
    };
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = |server| Settings { threads: 2, timeout: Duration::from_millis(100), ..settings(server) };
    assert!(matches!(run(settings(nobody)), Error::Refused { .. }));
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let error = run(settings(silent.local_addr().unwrap()));
    assert!(matches!(error, Error::Silent { seconds, .. } if seconds >= 2.0), "{error}");
    // Nothing but a loopback address is reached from one.
    let mut nowhere = settings("192.0.2.1:53".parse().unwrap());
    nowhere.sources = vec!["127.0.0.1".parse().unwrap()];
    let error = run(nowhere);
    assert!(matches!(error, Error::Unreachable { .. } | Error::Socket { .. }), "{error}");
}

mod tcp {
    use std::{
        io::{Read, Write},
        net::TcpListener,
    };

    use super::*;
    use crate::echo;

    fn start() -> RunningEcho {
        let service = echo::Service::Tcp { idle: Duration::from_secs(30) };
        let plain = echo::Settings::plain("127.0.0.1:0".parse().unwrap(), ReplySize::Same);
        RunningEcho::of(Echo::new(echo::Settings { service, ..plain }).unwrap())
    }

    fn settings(server: SocketAddr, connections: usize, queries_per_connection: u64) -> Settings {
        let tcp = Some(TcpSettings { connections, queries_per_connection });
        Settings { tcp, ..super::settings(server) }
    }

    #[test]
    fn connections_that_stay() {
        let echo = start();
        let queries = queries(777);
        let mut generator =
            Generator::new(Settings { threads: 2, ..settings(echo.address, 4, 0) }, &queries).unwrap();
        let trial = Trial { pace: Pace::Closed { window: 50 }, seconds: 20.0, queries_max: 777 };
        let outcome = generator.run(trial).unwrap();
        assert_eq!((outcome.planned, outcome.sent, outcome.received), (777, 777, 777));
        assert_eq!((outcome.connections, outcome.wrong, outcome.stray), (4, 0, 0));
        let expected: Vec<_> = (0..777).map(|index| queries.packet(index).len() as u16).collect();
        assert_eq!(generator.sizes(), expected);
        let trial = Trial { pace: Pace::Open { rate: 5_000.0 }, seconds: 0.2, queries_max: u64::MAX };
        let outcome = generator.run(trial).unwrap();
        assert_eq!((outcome.sent, outcome.received, outcome.connections), (1000, 1000, 0));
        let counters = echo.end();
        assert_eq!((counters.received, counters.connections), (1777, 4));
    }

    #[test]
    fn connections_that_are_opened_anew() {
        let echo = start();
        let queries = queries(100);
        let mut generator = Generator::new(settings(echo.address, 3, 10), &queries).unwrap();
        let trial = Trial { pace: Pace::Closed { window: 8 }, seconds: 60.0, queries_max: 600 };
        let outcome = generator.run(trial).unwrap();
        assert_eq!((outcome.sent, outcome.received, outcome.wrong, outcome.stray), (600, 600, 0, 0));
        assert!((60..=63).contains(&outcome.connections), "{}", outcome.connections);
        assert_eq!((outcome.connections_failed, outcome.connections_closed), (0, 0));
        echo.end();
    }

    #[test]
    fn replies_in_pieces_and_connections_closed_by_the_server() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        // Answers four queries of a connection, octet by octet, takes the fifth and closes.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                for number in 0..5 {
                    let mut length = [0; 2];
                    if stream.read_exact(&mut length).is_err() {
                        break;
                    }
                    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
                    stream.read_exact(&mut message).unwrap();
                    message[2] |= 0x80;
                    if number < 4 {
                        length.iter().chain(&message).for_each(|&octet| stream.write_all(&[octet]).unwrap());
                    }
                }
            }
        });
        let queries = queries(100);
        let settings = Settings { timeout: Duration::from_millis(500), burst: 1, ..settings(address, 1, 0) };
        let mut generator = Generator::new(settings, &queries).unwrap();
        let trial = Trial { pace: Pace::Closed { window: 1 }, seconds: 60.0, queries_max: 50 };
        let outcome = generator.run(trial).unwrap();
        assert_eq!((outcome.sent, outcome.received, outcome.lost(), outcome.wrong), (50, 40, 10, 0));
        assert_eq!(outcome.connections_closed, 10);
        assert!(outcome.seconds < 30.0, "a query on a closed connection is lost at once");
    }

    #[test]
    fn nobody_there() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let queries = queries(10);
        let trial = Trial { pace: Pace::Closed { window: 1 }, seconds: 60.0, queries_max: 50 };
        let mut generator =
            Generator::new(Settings { threads: 2, ..settings(address, 2, 0) }, &queries).unwrap();
        assert!(matches!(generator.run(trial), Err(Error::Refused { .. })));
    }
}
