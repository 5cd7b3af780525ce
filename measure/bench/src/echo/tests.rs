#![allow(clippy::unwrap_used)]

use std::{
    io::{ErrorKind, Read, Write},
    net::{TcpStream, UdpSocket},
    sync::Arc,
    thread::JoinHandle,
    time::Instant,
};

use super::*;
use crate::{
    mmsg::{Batch, TRAIN_OCTETS_MAX},
    sizes::{Sizes, query_hash},
};

/// An echo server in threads of this process.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<Counters, Error>>,
}

impl Running {
    fn start(settings: Settings) -> Running {
        let echo = Echo::new(settings).unwrap();
        let (address, stop) = (echo.address(), Arc::new(AtomicBool::new(false)));
        let flag = Arc::clone(&stop);
        Running { address, stop, thread: thread::spawn(move || echo.run(&flag)) }
    }

    fn client(&self) -> UdpSocket {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        client.connect(self.address).unwrap();
        client
    }

    fn stream(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    fn end(self) -> Counters {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap().unwrap()
    }
}

/// All models, without io_uring where the system forbids it, which it must not where `CI` is set.
fn models() -> impl Iterator<Item = Model> {
    let has_io_uring = io_uring::probe().inspect_err(|error| eprintln!("left out: {error}")).is_ok();
    assert!(has_io_uring || std::env::var_os("CI").is_none(), "the system forbids io_uring");
    Model::ALL.into_iter().filter(move |&model| has_io_uring || model != Model::IoUring)
}

/// Waits for a reply. A thread that has closed an io_uring may have work of the kernel to do later, which interrupts a
/// call with a time-out.
fn receive(client: &UdpSocket, room: &mut [u8]) -> usize {
    loop {
        match client.recv(room) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            received => return received.unwrap(),
        }
    }
}

fn udp(model: Model, sizes: ReplySize) -> Settings {
    let plain = Settings::plain("127.0.0.1:0".parse().unwrap(), sizes);
    Settings { service: Service::Udp(model), batch: model.batch_default(), ..plain }
}

fn tcp(idle: Duration, sizes: ReplySize) -> Settings {
    Settings { service: Service::Tcp { idle }, ..udp(Model::Epoll, sizes) }
}

/// Sends `queries`; replies must come in their order with these sizes, with QR and else the octets of the query.
fn check(model: Model, sizes: ReplySize, queries: &[&[u8]], replies: &[(usize, usize)]) {
    let echo = Running::start(udp(model, sizes));
    let client = echo.client();
    for query in queries {
        client.send(query).unwrap();
    }
    let mut room = [0; 5000];
    for &(query, size) in replies {
        let mut expected = queries[query].to_vec();
        expected[2] |= 0x80;
        let length = receive(&client, &mut room);
        assert_eq!(length, size, "{model:?}");
        let same = length.min(expected.len());
        assert_eq!(room[..same], expected[..same], "{model:?}");
    }
    let (received, sent) = (queries.len() as u64, replies.len() as u64);
    let expected = Counters { received, sent, ignored: received - sent, ..Counters::default() };
    assert_eq!(echo.end(), expected, "{model:?}");
}

const QUERIES: [&[u8]; 3] = [b"\0\x01\0\0............", b"\0\x02\0\0........", b"\0\x03\0\0............"];

#[test]
fn all_models_reply_alike() {
    for model in models() {
        check(model, ReplySize::Same, &QUERIES, &[(0, 16), (1, 12), (2, 16)]);
        check(model, ReplySize::Fixed(100), &QUERIES, &[(0, 100), (1, 100), (2, 100)]);
        let sizes = || Sizes::new(&[(query_hash(QUERIES[0]), 700), (1, 50)]);
        check(model, ReplySize::ByQuery(sizes()), &QUERIES, &[(0, 700), (1, 12), (2, 700)]);
        check(model, ReplySize::InOrder(sizes()), &QUERIES, &[(0, 700), (1, 50), (2, 700)]);
        let queries: [&[u8]; 4] = [b"\0\x01\x80\0........", b"short", b"", b"\0\x02\0\0........"];
        check(model, ReplySize::Fixed(40), &queries, &[(3, 40)]);
        // Longer than a reply can be: what comes back is cut.
        let long = [&b"\0\x01\0\0"[..], &[b'x'; 5000]].concat();
        check(model, ReplySize::Same, &[&long], &[(0, 4096)]);
    }
}

#[test]
fn trains_are_the_same_replies() {
    let recorded = || Sizes::new(&[(query_hash(QUERIES[0]), 700), (1, 50)]);
    let kinds: [&dyn Fn() -> ReplySize; 5] = [
        &|| ReplySize::Same,
        &|| ReplySize::Fixed(100),
        &|| ReplySize::Fixed(2000),
        &|| ReplySize::ByQuery(recorded()),
        &|| ReplySize::InOrder(recorded()),
    ];
    for sizes in kinds {
        // Two servers, asked alike by two clients, in trains and in single packets.
        let (plain, trains) = (udp(Model::Mmsg, sizes()), udp(Model::Mmsg, sizes()));
        let echoes = [plain, Settings { trains: true, ..trains }].map(Running::start);
        let replies = echoes.each_ref().map(|echo| {
            let clients = [echo.client(), echo.client()];
            let mut batch = Batch::with_controls(3, TRAIN_OCTETS_MAX);
            let queries = |octets: usize| {
                (0..15u8)
                    .flat_map(move |id| [&[id, id, 0, 0][..], &[b'.'; 100][..octets - 4]].concat())
                    .collect()
            };
            let all: [(Vec<u8>, u16); 3] = [(queries(16), 16), (queries(12), 12), (b"short".to_vec(), 0)];
            for (slot, (octets, segment)) in all.iter().enumerate() {
                batch.slot_mut(slot)[..octets.len()].copy_from_slice(octets);
                batch.set_length(slot, octets.len());
                batch.set_segment(slot, *segment);
            }
            for client in &clients {
                assert_eq!(batch.send(client, 0, 3).unwrap(), 3);
            }
            let mut room = [0; 5000];
            clients.map(|client| {
                [(); 30].map(|()| {
                    let length = receive(&client, &mut room);
                    // What is behind the query is filler of any kind.
                    (length, room[..12].to_vec())
                })
            })
        });
        assert_eq!(replies[0], replies[1]);
        let done = echoes.map(Running::end);
        assert_eq!(done[0], done[1]);
        assert_eq!((done[1].received, done[1].sent, done[1].ignored), (62, 60, 2));
    }
}

#[test]
fn trains_go_with_batches_only() {
    let relay = RelaySettings {
        upstream: "127.0.0.1:9".parse().unwrap(),
        share: 0.5,
        seed: 1,
        timeout: Duration::from_secs(1),
    };
    let plain = |model| Settings { trains: true, ..udp(model, ReplySize::Same) };
    let tcp = Settings { trains: true, ..tcp(Duration::from_secs(1), ReplySize::Same) };
    for settings in [plain(Model::Epoll), Settings { relay: Some(relay), ..plain(Model::Mmsg) }, tcp] {
        let complaint = Echo::new(settings).err().unwrap().to_string();
        assert!(complaint.contains("--trains"), "{complaint}");
    }
}

#[test]
fn bursts_come_back_whole() {
    for model in models() {
        let echo = Running::start(udp(model, ReplySize::Same));
        let client = echo.client();
        for burst in 0..20u16 {
            for number in 0..100u16 {
                client.send(&[&(burst * 100 + number).to_be_bytes()[..], &[0; 10]].concat()).unwrap();
            }
            let mut seen = [false; 100];
            for _ in 0..100 {
                let mut room = [0; 100];
                assert_eq!(receive(&client, &mut room), 12);
                seen[usize::from(u16::from_be_bytes([room[0], room[1]]) - burst * 100)] = true;
            }
            assert_eq!(seen, [true; 100], "{model:?}");
        }
        assert_eq!(echo.end().sent, 2000, "{model:?}");
    }
}

#[test]
fn threads_share_a_socket_or_have_one_each() {
    for model in models() {
        for sharing in [Sharing::Shared, Sharing::Each] {
            let cores = Some("0".parse().unwrap());
            let echo = Running::start(Settings { threads: 3, sharing, cores, ..udp(model, ReplySize::Same) });
            let clients: Vec<UdpSocket> = (0..40).map(|_| echo.client()).collect();
            for client in &clients {
                client.send(b"\0\x01\0\0........").unwrap();
            }
            for client in &clients {
                assert_eq!(receive(client, &mut [0; 20]), 12, "{model:?} {sharing:?}");
            }
            assert_eq!(echo.end().sent, 40, "{model:?} {sharing:?}");
        }
    }
}

#[test]
fn a_core_that_is_not_there() {
    let cores = Some("1023".parse().unwrap());
    let settings = Settings { threads: 2, cores, ..udp(Model::Mmsg, ReplySize::Same) };
    let error = Echo::new(settings).err().unwrap().to_string();
    assert!(error.contains("run on a core"), "{error}");
}

#[test]
fn the_relay_gives_replies_to_who_asked() {
    for model in models().filter(|&model| model != Model::Blocking) {
        let upstream = Running::start(udp(Model::Mmsg, ReplySize::Fixed(200)));
        let timeout = Duration::from_secs(5);
        let relay = Some(RelaySettings { upstream: upstream.address, share: 0.5, seed: 3, timeout });
        let echo = Running::start(Settings { relay, ..udp(model, ReplySize::Same) });
        let clients: Vec<UdpSocket> = (0..20).map(|_| echo.client()).collect();
        let mut from_upstream = 0;
        for round in 0..20u8 {
            // The same ID from everybody, so that only the table can tell them apart.
            for (number, client) in clients.iter().enumerate() {
                client.send(&[&[7, round, 0, 0, number as u8], &[0; 7][..]].concat()).unwrap();
            }
            for (number, client) in clients.iter().enumerate() {
                let mut room = [0; 300];
                let length = receive(client, &mut room);
                assert_eq!(room[..5], [7, round, 0x80, 0, number as u8], "{model:?}");
                assert!(length == 12 || length == 200, "{model:?} {length}");
                from_upstream += u64::from(length == 200);
            }
        }
        let counters = echo.end();
        assert!((140..260).contains(&from_upstream), "{from_upstream}");
        assert_eq!((counters.relayed, counters.returned), (from_upstream, from_upstream), "{model:?}");
        assert_eq!((counters.received, counters.sent, counters.expired), (400, 400, 0), "{model:?}");
        assert_eq!(upstream.end().received, from_upstream);
    }
}

#[test]
fn relayed_queries_expire() {
    for model in models().filter(|model| matches!(model, Model::Epoll | Model::IoUring)) {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let upstream = silent.local_addr().unwrap();
        let timeout = Duration::from_millis(20);
        let relay = Some(RelaySettings { upstream, share: 1.0, seed: 3, timeout });
        let echo = Running::start(Settings { relay, ..udp(model, ReplySize::Same) });
        let client = echo.client();
        client.send(b"\0\x01\0\0........").unwrap();
        let mut query = [0; 20];
        let (length, relay) = silent.recv_from(&mut query).unwrap();
        thread::sleep(Duration::from_millis(300));
        query[2] |= 0x80;
        silent.send_to(&query[..length], relay).unwrap();
        client.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        assert!(client.recv(&mut [0; 20]).is_err(), "nobody waits for it any more");
        let counters = echo.end();
        assert_eq!((counters.relayed, counters.returned, counters.expired), (1, 0, 1), "{model:?}");
    }
}

#[test]
fn blocking_cannot_relay() {
    let upstream = "127.0.0.1:1".parse().unwrap();
    let relay = Some(RelaySettings { upstream, share: 0.2, seed: 1, timeout: Duration::from_secs(1) });
    let error = Echo::new(Settings { relay, ..udp(Model::Blocking, ReplySize::Same) }).err().unwrap();
    assert!(error.to_string().starts_with("--relay: does not go with --model blocking"), "{error}");
}

/// A frame with ID `id`.
fn framed(id: u16, octets: usize) -> Vec<u8> {
    let mut frame = (octets as u16).to_be_bytes().to_vec();
    frame.extend(id.to_be_bytes());
    frame.resize(2 + octets, 0);
    frame
}

/// Reads the reply to query `id`.
#[track_caller]
fn expect_reply(stream: &mut TcpStream, id: u16, octets: usize) {
    let mut frame = vec![0; 2 + octets];
    stream.read_exact(&mut frame).unwrap();
    let [high, low] = (octets as u16).to_be_bytes();
    let [first, second] = id.to_be_bytes();
    assert_eq!(frame[..5], [high, low, first, second, 0x80]);
}

const IDLE: Duration = Duration::from_secs(10);

#[test]
fn pipelined_queries_over_tcp() {
    let echo = Running::start(tcp(IDLE, ReplySize::Same));
    let mut stream = echo.stream();
    let mut writer = stream.try_clone().unwrap();
    let writing = thread::spawn(move || {
        let frames: Vec<u8> = (0..5000).flat_map(|id| framed(id, 12 + usize::from(id % 50))).collect();
        // In pieces that are no frames, then to the end: the client says at once that it will ask no more.
        frames.chunks(1001).for_each(|piece| writer.write_all(piece).unwrap());
        writer.shutdown(std::net::Shutdown::Write).unwrap();
    });
    for id in 0..5000 {
        expect_reply(&mut stream, id, 12 + usize::from(id % 50));
    }
    writing.join().unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "closed after the last reply");
    let counters = echo.end();
    assert_eq!((counters.received, counters.sent, counters.connections), (5000, 5000, 1));
}

#[test]
fn who_does_not_read_waits() {
    let echo = Running::start(tcp(IDLE, ReplySize::Fixed(4096)));
    let mut stream = echo.stream();
    let mut writer = stream.try_clone().unwrap();
    // 80 MB of replies, far beyond what the kernel keeps for a connection.
    let writing = thread::spawn(move || {
        (0..20_000).for_each(|id| writer.write_all(&framed(id, 20)).unwrap());
    });
    thread::sleep(Duration::from_millis(200));
    (0..20_000).for_each(|id| expect_reply(&mut stream, id, 4096));
    writing.join().unwrap();
    // The largest frame that there is, and one of nothing, which is no query.
    stream.write_all(&framed(7, 65_535)).unwrap();
    expect_reply(&mut stream, 7, 4096);
    stream.write_all(b"\0\0").unwrap();
    stream.write_all(&framed(8, 12)).unwrap();
    expect_reply(&mut stream, 8, 4096);
    let counters = echo.end();
    assert_eq!((counters.received, counters.sent, counters.ignored), (20_003, 20_002, 1));
}

#[test]
fn many_connections_at_threads() {
    for sharing in [Sharing::Shared, Sharing::Each] {
        let echo = Running::start(Settings { threads: 2, sharing, ..tcp(IDLE, ReplySize::Same) });
        let mut streams: Vec<TcpStream> = (0..200).map(|_| echo.stream()).collect();
        for round in 0..3 {
            streams.iter_mut().for_each(|stream| stream.write_all(&framed(round, 12)).unwrap());
            streams.iter_mut().for_each(|stream| expect_reply(stream, round, 12));
        }
        let counters = echo.end();
        assert_eq!((counters.sent, counters.connections, counters.refused), (600, 200, 0), "{sharing:?}");
    }
}

#[test]
fn idle_connections_are_closed() {
    let echo = Running::start(tcp(Duration::from_millis(200), ReplySize::Same));
    let (mut idle, mut slow) = (echo.stream(), echo.stream());
    // A frame that never ends is not traffic.
    slow.write_all(b"\0\x0c\0").unwrap();
    let start = Instant::now();
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    assert_eq!(slow.read(&mut [0]).unwrap(), 0);
    assert!(start.elapsed() < Duration::from_secs(3));
    assert_eq!(echo.end().connections, 2);
}
