//! Messages seen on networks, cut short and with bits turned: the server answers in form or not at all, and goes on.
//!
//! `ZONDA_HOSTILE=full` has every length and turns every bit of every message, instead of each third length and one bit in each third octet.

use std::io::Write;
use std::net::UdpSocket;
use std::time::Duration;

use zonda_tests::exchange::{Transport, ask, tcp_stream, write_framed};
use zonda_tests::message::Query;
use zonda_tests::mutate::{Random, damage, flip};
use zonda_tests::response::Response;
use zonda_tests::rtype;
use zonda_tests::server::{Kind, Server};
use zonda_tests::zone::{ZoneFile, data, repository, unpack};

/// Datagrams between two probes: fewer than any server's receive buffer holds, so that none is lost unseen.
const BETWEEN_PROBES: usize = 64;

/// Message ID of probes; hostile messages that would have it are given another.
const PROBE: u16 = 0xabcd;

/// The messages of the corpus, responses made queries so that they are looked at.
fn corpus() -> Vec<Vec<u8>> {
    let octets = unpack(&data().join("packets.bin.zst"));
    let mut rest = octets.as_slice();
    let mut messages = Vec::new();
    while let [high, low, tail @ ..] = rest {
        let (message, next) = tail.split_at(usize::from(u16::from_be_bytes([*high, *low])));
        let mut message = message.to_vec();
        if let Some(flags) = message.get_mut(2) {
            *flags &= 0x7f;
        }
        messages.push(message);
        rest = next;
    }
    assert!(messages.len() > 4000, "the corpus is whole");
    messages
}

/// Whether time does not matter.
fn is_full() -> bool {
    std::env::var("ZONDA_HOSTILE").is_ok_and(|value| value == "full")
}

/// A server with zones that the messages hit: the root, and generated ones.
fn server() -> Server {
    let zones = [
        ZoneFile::new(".", repository().join("data/root.zone")),
        ZoneFile::new("nsec3.test.", data().join("zones/nsec3.test.zone")),
        ZoneFile::new("corners.test.", data().join("zones/corners.zone")),
    ];
    Server::start(Kind::under_test(), &zones)
}

/// Sends messages and checks that whatever comes back is sound, and that probes in between are answered.
struct Attack<'a> {
    server: &'a Server,
    socket: UdpSocket,
    sent: usize,
    answered: usize,
}

impl Attack<'_> {
    fn on(server: &Server) -> Attack<'_> {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(server.address).expect("a connected socket");
        socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a time limit");
        Attack { server, socket, sent: 0, answered: 0 }
    }

    fn send(&mut self, mut message: Vec<u8>) {
        if message.starts_with(&PROBE.to_be_bytes()) {
            message[0] = 0;
        }
        self.socket.send(&message).expect("a datagram");
        self.sent += 1;
        if self.sent.is_multiple_of(BETWEEN_PROBES) {
            self.probe();
        }
    }

    /// Asks an ordinary question and reads answers until that one is answered.
    fn probe(&mut self) {
        let probe = Query::new("www.corners.test.", rtype::A).id(PROBE);
        self.socket.send(&probe.octets()).expect("a datagram");
        let mut buffer = [0; 65536];
        loop {
            let octets = self.socket.recv(&mut buffer).unwrap_or_else(|error| {
                panic!("no answer after {} messages: {error}\n{}", self.sent, self.server.log())
            });
            let answer = &buffer[..octets];
            let response = Response::parse(answer).unwrap_or_else(|fault| panic!("{fault}: {answer:02x?}"));
            assert_ne!(response.flags & 0x8000, 0, "an answer without QR: {answer:02x?}");
            if response.id == PROBE {
                assert_eq!(response.answer.len(), 2, "{response:#?}");
                return;
            }
            self.answered += 1;
        }
    }

    /// The last probe, and the tally.
    fn finish(mut self) {
        self.probe();
        assert!(self.server.process.is_running());
        assert!(self.answered > self.sent / 50, "only {} of {} were answered", self.answered, self.sent);
        eprintln!("{} messages, {} answered", self.sent, self.answered);
    }
}

#[test]
fn truncations_of_every_message() {
    let server = server();
    let mut attack = Attack::on(&server);
    let mut random = Random::new(7);
    for message in corpus() {
        let (first, step) = if is_full() { (0, 1) } else { (random.below(3), 3) };
        for octets in (first..=message.len()).step_by(step) {
            attack.send(message[..octets].to_vec());
        }
    }
    attack.finish();
}

#[test]
fn bit_flips_of_every_message() {
    let server = server();
    let mut attack = Attack::on(&server);
    let mut random = Random::new(8);
    for message in corpus() {
        let bits = message.len() * 8;
        let (first, step) = if is_full() { (0, 1) } else { (random.below(48), 48) };
        for bit in (first..bits).step_by(step) {
            attack.send(flip(&message, bit));
        }
    }
    attack.finish();
}

#[test]
fn random_damage_to_queries_for_names_that_exist() {
    let server = server();
    let mut attack = Attack::on(&server);
    let mut random = Random::new(9);
    let queries = [
        Query::new("www.corners.test.", rtype::A).edns(1232),
        Query::new("x.dname.corners.test.", rtype::A).dnssec(),
        Query::new("a.b.c.absent.nsec3.test.", rtype::TXT).dnssec().option(3, b"").option(10, b"12345678"),
        Query::new("www.example.com.", rtype::A).dnssec(),
    ];
    for round in 0..100_000 {
        let mut message = queries[round % queries.len()].octets();
        for _ in 0..=random.below(3) {
            message = damage(&message, &mut random);
        }
        // A response is not answered; keep QR clear so that the message is looked at.
        if let Some(flags) = message.get_mut(2) {
            *flags &= 0x7f;
        }
        attack.send(message);
    }
    attack.finish();
}

#[test]
fn broken_streams() {
    let server = server();
    let mut random = Random::new(10);
    let mut open = Vec::new();
    for (round, message) in corpus().iter().enumerate().step_by(7) {
        let mut stream = tcp_stream(server.address).expect("a connection");
        let mut octets = Vec::new();
        write_framed(&mut octets, message).expect("a vector grows");
        write_framed(&mut octets, &damage(message, &mut random)).expect("a vector grows");
        if round % 3 == 0 {
            octets = damage(&octets, &mut random);
        }
        stream.write_all(&octets).ok();
        // Some of the connections stay open until the test ends (fewer than one client may have), the others are closed
        // by the client at once.
        if round % 14 == 0 && open.len() < 40 {
            open.push(stream);
        }
    }
    let response = ask(server.address, Transport::Tcp, &Query::new("www.corners.test.", rtype::A));
    assert_eq!(response.answer.len(), 2);
    assert!(server.process.is_running());
}
