//! Servers of all kinds over the loopback interface: threads that do with a connection what they are told.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::event::{Timespec, epoll};

use super::super::{Authentication, Roots, TlsFault, UNSENT_OCTETS_MAX, Upstream};
use super::*;

mod secure;

/// What the service would be told.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Connected(StreamId),
    Message(StreamId, Vec<u8>),
    Closed(StreamId, Closed),
}

/// An upstream with the part of a worker that serves its streams.
struct Client {
    upstream: Upstream,
    epoll: Arc<OwnedFd>,
}

impl Client {
    fn new(settings: UpstreamSettings) -> Self {
        let epoll = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC).unwrap());
        let mut upstream = Upstream::new(Arc::clone(&epoll), 1, Arc::new(Counters::default())).unwrap();
        upstream.configure(Arc::new(settings));
        Self { upstream, epoll }
    }

    /// What is told until there are so many things, or nothing for long.
    fn told(&mut self, count: usize) -> Vec<Told> {
        let mut told = Vec::new();
        loop {
            for (id, why) in self.upstream.take_ended() {
                told.push(Told::Closed(id, why));
            }
            if told.len() >= count {
                return told;
            }
            let mut space = [const { MaybeUninit::<epoll::Event>::uninit() }; 16];
            let patience = Timespec { tv_sec: 2, tv_nsec: 0 };
            self.upstream.set_now(self.upstream.now);
            let (ready, _) = epoll::wait(&*self.epoll, &mut space, Some(&patience)).unwrap();
            if ready.is_empty() {
                return told;
            }
            for event in &*ready {
                let Token::Server(id) = Token::from(event.data) else { continue };
                let Some(brought) = self.upstream.turn(id) else { continue };
                if brought.is_open {
                    told.push(Told::Connected(id));
                }
                for message in brought.messages() {
                    self.upstream.told(id);
                    told.push(Told::Message(id, message.to_vec()));
                }
                self.upstream.give_back_stream(id, brought);
            }
        }
    }

    /// Lets time pass.
    fn pass(&mut self, time: Duration) {
        self.upstream.set_now(self.upstream.now + time);
        self.upstream.sweep();
    }

    /// A stream that is open.
    fn open(&mut self, server: SocketAddr) -> StreamId {
        let id = self.upstream.connect(server, &Protocol::Tcp).unwrap();
        assert_eq!(self.told(1), [Told::Connected(id)]);
        id
    }

    fn counts(&self) -> (u64, u64) {
        let counts = self.upstream.counters.read();
        (counts.upstream_streams_begun, counts.upstream_streams_open)
    }
}

/// Serves the connections that come, each as `serve` says.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    address
}

/// Accepts and does nothing; what connects is kept open as long as the receiver is.
fn silent() -> (SocketAddr, Receiver<TcpStream>) {
    let (sender, receiver) = channel();
    (server(move |stream| drop(sender.send(stream))), receiver)
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

fn read_message(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut message).ok()?;
    Some(message)
}

/// Answers each message with itself.
fn echo(mut stream: TcpStream) {
    while let Some(message) = read_message(&mut stream) {
        stream.write_all(&framed(&message)).unwrap();
    }
}

#[test]
fn messages_are_pipelined() {
    let mut client = Client::new(UpstreamSettings::default());
    let id = client.upstream.connect(server(echo), &Protocol::Tcp).unwrap();
    let messages: Vec<Vec<u8>> = (12..112).map(|octets| vec![octets as u8; octets * 5]).collect();
    // Before it is open, and after.
    for message in &messages[..50] {
        client.upstream.send(id, message).unwrap();
    }
    let mut told = client.told(51);
    for message in &messages[50..] {
        client.upstream.send(id, message).unwrap();
    }
    told.extend(client.told(50));
    assert_eq!(told.remove(0), Told::Connected(id));
    assert_eq!(told, messages.into_iter().map(|message| Told::Message(id, message)).collect::<Vec<_>>());
    client.upstream.close(id);
    assert_eq!(client.upstream.send(id, b"twelve or so"), Err(Unsent::Closed));
    assert_eq!((client.told(1), client.counts()), (vec![], (1, 0)));
}

#[test]
fn the_longest_messages() {
    let mut client = Client::new(UpstreamSettings::default());
    let id = client.open(server(echo));
    for _ in 0..3 {
        let message = vec![7; 65_535];
        client.upstream.send(id, &message).unwrap();
        assert!(client.told(1) == [Told::Message(id, message)]);
    }
    assert_eq!(client.upstream.send(id, &[]), Err(Unsent::Length));
    assert_eq!(client.upstream.send(id, &vec![0; 65_536]), Err(Unsent::Length));
}

#[test]
fn messages_in_pieces_and_in_heaps() {
    let mut client = Client::new(UpstreamSettings::default());
    let id = client.open(server(|mut stream| {
        stream.set_nodelay(true).unwrap();
        for octet in framed(b"octet by octet") {
            stream.write_all(&[octet]).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
        let heap =
            [framed(b"both of these"), framed(b"at the same time"), framed(b"and half of this")].concat();
        stream.write_all(&heap[..heap.len() - 3]).unwrap();
        thread::sleep(Duration::from_millis(20));
        stream.write_all(&heap[heap.len() - 3..]).unwrap();
    }));
    let texts = ["octet by octet", "both of these", "at the same time", "and half of this"];
    let mut expected: Vec<Told> = texts.map(|text| Told::Message(id, text.into())).into();
    expected.push(Told::Closed(id, Closed::Peer));
    assert_eq!(client.told(5), expected);
}

/// What a server that does this with a connection makes of a stream.
fn check(serve: impl Fn(TcpStream) + Send + 'static, expected: &[&[u8]], why: Closed) {
    let mut client = Client::new(UpstreamSettings::default());
    let other = client.open(server(echo));
    let id = client.upstream.connect(server(serve), &Protocol::Tcp).unwrap();
    let mut told = client.told(2 + expected.len());
    assert_eq!(told.remove(0), Told::Connected(id));
    assert_eq!(told.pop(), Some(Told::Closed(id, why)));
    assert_eq!(told, expected.iter().map(|&message| Told::Message(id, message.into())).collect::<Vec<_>>());
    // Nobody else is harmed.
    client.upstream.send(other, b"still there?").unwrap();
    assert_eq!(client.told(1), [Told::Message(other, b"still there?".into())]);
    assert_eq!(client.counts(), (2, 1));
}

#[test]
fn hostile_peers_harm_their_own_streams() {
    check(drop, &[], Closed::Peer);
    check(|mut stream| stream.write_all(&[0]).unwrap(), &[], Closed::Peer);
    check(|mut stream| stream.write_all(&framed(b"in the middle")[..9]).unwrap(), &[], Closed::Peer);
    check(|mut stream| stream.write_all(&[0, 0]).unwrap(), &[], Closed::Malformed);
    let short = |mut stream: TcpStream| {
        stream.write_all(&[&framed(b"a whole one, then")[..], &[0, 11], &[7; 99]].concat()).unwrap()
    };
    check(short, &[b"a whole one, then"], Closed::Malformed);
    check(|mut stream| stream.write_all(b"HTTP/1.1 400 Bad Request\r\n").unwrap(), &[], Closed::Peer);
    // One that is reset before anybody saw it open is as one that was refused: it waits for a message.
    let reset = |mut stream: TcpStream| {
        read_message(&mut stream);
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    };
    let mut client = Client::new(UpstreamSettings::default());
    let (other, id) = (client.open(server(echo)), client.open(server(reset)));
    client.upstream.send(id, b"now").unwrap();
    assert_eq!(client.told(1), [Told::Closed(id, Closed::Peer)]);
    client.upstream.send(other, b"still there?").unwrap();
    assert_eq!(client.told(1), [Told::Message(other, b"still there?".into())]);
}

#[test]
fn an_octet_a_second_completes_nothing() {
    let (address, accepted) = silent();
    let mut client = Client::new(UpstreamSettings::default());
    let id = client.open(address);
    client.upstream.send(id, b"a long question").unwrap();
    let mut peer = accepted.recv().unwrap();
    peer.set_nodelay(true).unwrap();
    for octet in &framed(&[7; 100])[..2] {
        peer.write_all(&[*octet]).unwrap();
        thread::sleep(Duration::from_millis(2));
        client.pass(Duration::from_millis(1_000));
        assert!(client.upstream.to(id).is_some());
        // One turn.
        let brought = client.upstream.turn(id).unwrap();
        client.upstream.give_back_stream(id, brought);
    }
    client.pass(Duration::from_millis(1_001));
    assert_eq!(client.told(1), [Told::Closed(id, Closed::Slow)]);
}

#[test]
fn times_of_all_states() {
    let (address, accepted) = silent();
    let mut client = Client::new(UpstreamSettings {
        handshake: Duration::from_secs(1),
        stall: Duration::from_secs(6),
        first_answer: Duration::from_secs(4),
        idle: Duration::from_secs(2),
        ..UpstreamSettings::default()
    });
    let millisecond = Duration::from_millis(1);
    let over = |client: &mut Client, id, seconds, why| {
        client.pass(Duration::from_secs(seconds) - millisecond);
        assert!(client.upstream.to(id).is_some(), "{why:?} too early");
        client.pass(millisecond);
        assert_eq!(client.told(1), [Told::Closed(id, why)]);
    };
    let opening = client.upstream.connect(address, &Protocol::Tcp).unwrap();
    over(&mut client, opening, 1, Closed::Slow);
    let idle = client.open(address);
    over(&mut client, idle, 2, Closed::Idle);
    let owing = client.open(address);
    client.pass(Duration::from_secs(1));
    client.upstream.send(owing, b"who is there?").unwrap();
    over(&mut client, owing, 4, Closed::Slow);
    // One that has answered before has more time, and more to be idle in if that is granted.
    let worker = client.open(address);
    drop((accepted.recv(), accepted.recv(), accepted.recv()));
    let mut peer = accepted.recv().unwrap();
    client.upstream.send(worker, b"a question, then").unwrap();
    peer.write_all(&framed(b"an answer, so that")).unwrap();
    assert_eq!(client.told(1).len(), 1);
    client.upstream.keep(worker, Duration::from_secs(30));
    client.pass(Duration::from_secs(29));
    client.upstream.send(worker, b"another question").unwrap();
    over(&mut client, worker, 6, Closed::Slow);
    // What nobody asked for keeps nothing open.
    let chatting = client.open(address);
    let mut peer = accepted.recv().unwrap();
    client.pass(Duration::from_secs(1));
    peer.write_all(&framed(b"did you know?")).unwrap();
    assert_eq!(client.told(1), [Told::Message(chatting, b"did you know?".into())]);
    over(&mut client, chatting, 1, Closed::Idle);
    assert_eq!(client.upstream.next_deadline(), None);
}

#[test]
fn one_that_does_not_read_is_busy_then_slow() {
    let (address, _accepted) = silent();
    let mut client = Client::new(UpstreamSettings::default());
    let id = client.open(address);
    let message = vec![7; 10_000];
    let sent = (0..10_000).take_while(|_| client.upstream.send(id, &message).is_ok()).count();
    assert_eq!(client.upstream.send(id, &message), Err(Unsent::Busy));
    assert!((6..2_000).contains(&sent), "{sent}");
    client.pass(Duration::from_secs(3));
    assert_eq!(client.told(1), [Told::Closed(id, Closed::Slow)]);
    const { assert!(UNSENT_OCTETS_MAX >= 65_537) };
}

#[test]
fn as_many_as_may_be() {
    let mut client =
        Client::new(UpstreamSettings { streams: 3, streams_per_server: 2, ..UpstreamSettings::default() });
    let ((one, _kept), (two, _as_well)) = (silent(), silent());
    let first = client.open(one);
    client.pass(Duration::from_secs(1));
    let second = client.open(one);
    assert_eq!(client.upstream.connect(one, &Protocol::Tcp), Err(Unsent::Full));
    client.upstream.send(first, b"owes an answer").unwrap();
    let third = client.upstream.connect(two, &Protocol::Tcp).unwrap();
    // All are there: the one that owes nothing and is open makes room.
    let fourth = client.upstream.connect(two, &Protocol::Tcp).unwrap();
    let told = client.told(3);
    assert_eq!(told[0], Told::Closed(second, Closed::Displaced));
    assert!(told.contains(&Told::Connected(third)) && told.contains(&Told::Connected(fourth)), "{told:?}");
}

#[test]
fn who_holds_streams_open_keeps_others_from_none() {
    const SEATS: usize = 8;
    let mut client = Client::new(UpstreamSettings { streams: SEATS, ..UpstreamSettings::default() });
    let working = client.open(server(echo));
    client.upstream.send(working, b"a question, then").unwrap();
    assert_eq!(client.told(1).len(), 1);
    // It owes a second answer, and has given one.
    let (holder, _held) = silent();
    let mut holders = Vec::new();
    let question = |client: &mut Client, id| client.upstream.send(id, b"never answered").unwrap();
    question(&mut client, working);
    for _ in 0..20 {
        client.pass(Duration::from_millis(10));
        let id = loop {
            // Those of one server are few, so it comes as many.
            match client.upstream.connect(holder, &Protocol::Tcp) {
                Ok(id) => break id,
                Err(_) => client.upstream.configure(Arc::new(UpstreamSettings {
                    streams: SEATS,
                    streams_per_server: 100,
                    ..UpstreamSettings::default()
                })),
            }
        };
        question(&mut client, id);
        holders.push(id);
    }
    // Each new one has displaced the oldest of them, and not the one at work.
    assert!(client.upstream.to(working).is_some());
    let left: Vec<_> = holders.iter().filter(|&&id| client.upstream.to(id).is_some()).copied().collect();
    assert_eq!(left, holders[20 - (SEATS - 1)..]);
}

#[test]
fn one_network_has_its_share() {
    let mut client = Client::new(UpstreamSettings { streams_per_prefix: 3, ..UpstreamSettings::default() });
    let to: [SocketAddr; 5] = ["127.0.0.1:9", "127.0.0.2:9", "127.0.0.3:9", "127.0.0.4:9", "127.0.1.1:9"]
        .map(|at| at.parse().unwrap());
    // Refused at once, and there until that is told.
    let servers = to.map(|at| TcpListener::bind((at.ip(), 0)).unwrap());
    let listeners = servers.each_ref().map(|server| server.local_addr().unwrap());
    let connect =
        |client: &mut Client, index: usize| client.upstream.connect(listeners[index], &Protocol::Tcp);
    for index in 0..3 {
        assert!(connect(&mut client, index).is_ok());
    }
    assert_eq!(connect(&mut client, 3), Err(Unsent::Full));
    assert!(connect(&mut client, 4).is_ok());
    drop(servers);
    let of = |at: &str| prefix(at.parse().unwrap());
    assert_eq!(of("[2001:db8:7::1]:53"), of("[2001:db8:7:ffff::2]:853"));
    assert_ne!(of("[2001:db8:7::1]:53"), of("[2001:db8:8::1]:53"));
    assert_ne!(of("[::]:53"), of("0.0.0.0:53"));
}

#[test]
fn one_that_leaves_answers_out_is_asked_no_more() {
    // Every second question is answered.
    let mut client = Client::new(UpstreamSettings::default());
    let id = client.open(server(|mut stream| {
        while let (Some(message), Some(_)) = (read_message(&mut stream), read_message(&mut stream)) {
            stream.write_all(&framed(&message)).unwrap();
        }
    }));
    let mut asked = 0;
    while client.upstream.send(id, b"one question").is_ok() {
        asked += 1;
        if asked % 2 == 0 {
            assert_eq!(client.told(1).len(), 1);
        }
    }
    assert_eq!(asked, 2 * 128 - 1);
    client.pass(Duration::from_secs(10));
    assert_eq!(client.told(1), [Told::Closed(id, Closed::Slow)]);
}

#[test]
fn incomplete_messages_are_bounded_together() {
    const STREAMS: usize = INPUT_OCTETS_MAX / 65_000 + 1;
    let (address, accepted) = silent();
    let mut client = Client::new(UpstreamSettings {
        streams_per_server: 1_000,
        streams_per_prefix: 1_000,
        ..UpstreamSettings::default()
    });
    let mut peers = Vec::new();
    let mut ids = Vec::new();
    for number in 0..STREAMS {
        ids.push(client.open(address));
        let mut peer = accepted.recv().unwrap();
        client.pass(Duration::from_millis(1));
        peer.write_all(&[&[0xFF, 0xFF][..], &vec![7; 65_000]].concat()).unwrap();
        peers.push(peer);
        while client.upstream.streams.held < (number + 1).min(STREAMS - 1) * 65_002 {
            client.pass(Duration::ZERO);
            let brought = client.upstream.turn(ids[number]).unwrap();
            client.upstream.give_back_stream(ids[number], brought);
        }
    }
    thread::sleep(Duration::from_millis(20));
    assert_eq!(client.told(1), [Told::Closed(ids[0], Closed::Memory)]);
    assert_eq!(client.upstream.streams.held, (STREAMS - 1) * 65_002);
    // Those that are left can be completed.
    peers[1].write_all(&vec![8; 535]).unwrap();
    let told = client.told(1);
    assert!(matches!(&told[..], [Told::Message(id, message)] if *id == ids[1] && message.len() == 65_535));
    client.upstream.close_all();
    assert_eq!(client.upstream.streams.held, 0);
}

#[test]
fn a_turn_brings_no_more_than_it_may() {
    let talkative = |mut stream: TcpStream| {
        let heap = framed(&[7; 1_000]).repeat(1_000);
        let _ = stream.write_all(&heap);
        let _ = stream.read(&mut [0]);
    };
    let mut client = Client::new(UpstreamSettings::default());
    let address = server(talkative);
    let id = client.upstream.connect(address, &Protocol::Tcp).unwrap();
    let mut turns = 0;
    let mut messages = 0;
    while messages < 1_000 {
        thread::sleep(Duration::from_millis(1));
        client.pass(Duration::ZERO);
        let mut octets = 0;
        while let Some(brought) = client.upstream.turn(id) {
            let count = brought.messages().count();
            (octets, messages) = (octets + brought.read, messages + count);
            let is_over = brought.read == 0;
            client.upstream.give_back_stream(id, brought);
            if is_over {
                break;
            }
        }
        assert!(octets < (256 << 10) + READ_OCTETS, "{octets} octets in a turn");
        turns += 1;
    }
    assert!((4..1_000).contains(&turns), "{turns} turns");
}

#[test]
fn failures_to_connect() {
    let mut client = Client::new(UpstreamSettings::default());
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let id = client.upstream.connect(nobody, &Protocol::Tcp).unwrap();
    assert_eq!(client.told(1), [Told::Closed(id, Closed::Refused)]);
    assert_eq!(client.counts(), (1, 0));
    client.upstream.configure(Arc::new(UpstreamSettings {
        sources: vec!["192.0.2.77".parse().unwrap()],
        ..UpstreamSettings::default()
    }));
    assert_eq!(client.upstream.connect(nobody, &Protocol::Tcp), Err(Unsent::NoRoute));
    client.upstream.configure(Arc::new(UpstreamSettings {
        sources: vec!["127.0.0.9".parse().unwrap()],
        ..UpstreamSettings::default()
    }));
    let (address, accepted) = silent();
    client.open(address);
    assert_eq!(accepted.recv().unwrap().peer_addr().unwrap().ip().to_string(), "127.0.0.9");
}

#[test]
fn a_server_that_half_closes_has_said_all() {
    let mut client = Client::new(UpstreamSettings::default());
    let half_closes = server(|mut stream| {
        stream.write_all(&framed(b"last words of mine")).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        thread::sleep(Duration::from_millis(100));
    });
    let id = client.upstream.connect(half_closes, &Protocol::Tcp).unwrap();
    let last = Told::Message(id, b"last words of mine".into());
    assert_eq!(client.told(3), [Told::Connected(id), last, Told::Closed(id, Closed::Peer)]);
}
