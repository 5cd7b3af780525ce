//! What the tests with real sockets share: an echoing service and ways to talk to it.
#![allow(dead_code)] // Each test program uses a part.

pub mod toy;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use net::{Context, Driver, Listen, Queries, Running, Server, Service, Transport, WorkerCounters};

/// Longest wait for anything that should happen at once.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Answers with the query. Some first words do otherwise: `silent` is not answered, `big` gets an answer of 65,535
/// octets, `slow` takes 200 ms, `panic` panics, `where` gets its context as text.
#[derive(Default)]
pub struct Echo;

impl Service for Echo {
    type Message = ();

    fn queries(&mut self, queries: &mut Queries<'_>, _: &mut Driver<'_, ()>) {
        while let Some(item) = queries.next() {
            let octets = respond(item.query, item.context, item.room);
            item.answer(octets);
        }
    }
}

/// Writes what `Echo` answers; returns its octets.
pub fn respond(query: &[u8], context: &Context, room: &mut [u8]) -> usize {
    let answer = |room: &mut [u8], octets: &[u8]| {
        room[..octets.len()].copy_from_slice(octets);
        octets.len()
    };
    match query.split(|&octet| octet == b' ').next().unwrap_or(query) {
        b"silent" => 0,
        b"big" => {
            assert_eq!(context.transport, Transport::Tcp);
            room.fill(b'b');
            room.len()
        }
        b"slow" => {
            std::thread::sleep(Duration::from_millis(200));
            answer(room, query)
        }
        b"panic" => panic!("asked to"),
        b"where" => answer(
            room,
            format!("{} {} {}", context.transport.name(), context.client, context.local).as_bytes(),
        ),
        _ => answer(room, query),
    }
}

/// Starts an echo server as `listen` says.
pub fn serve(listen: &Listen) -> Running {
    Server::bind(listen).expect("bind").start(|_| Echo).expect("start")
}

/// One worker on a free port of 127.0.0.1.
pub fn local() -> Listen {
    on("127.0.0.1:0")
}

/// One worker at `address`.
pub fn on(address: &str) -> Listen {
    Listen { addresses: vec![address.parse().unwrap()], workers: 1, ..Listen::default() }
}

pub fn address(running: &Running) -> SocketAddr {
    running.listeners()[0].address
}

/// The counts of all workers together.
pub fn total(running: &Running) -> WorkerCounters {
    running.counters().into_iter().fold(WorkerCounters::default(), WorkerCounters::sum)
}

/// Waits until the counts satisfy `condition`.
pub fn await_counts(
    running: &Running,
    what: &str,
    condition: impl Fn(&WorkerCounters) -> bool,
) -> WorkerCounters {
    let start = Instant::now();
    loop {
        let counters = total(running);
        if condition(&counters) {
            return counters;
        }
        assert!(start.elapsed() < PATIENCE, "waited for {what}: {counters:#?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A UDP client of `server`, which takes datagrams from there only.
pub fn udp(server: SocketAddr) -> UdpSocket {
    let client = UdpSocket::bind(if server.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" }).unwrap();
    client.connect(server).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
}

/// Asks over UDP.
pub fn ask(client: &UdpSocket, query: &[u8]) -> Vec<u8> {
    client.send(query).unwrap();
    let mut answer = [0; 4096];
    let octets = client.recv(&mut answer).expect("an answer");
    answer[..octets].to_vec()
}

/// A TCP client of `server`.
pub fn tcp(server: SocketAddr) -> TcpStream {
    let client = TcpStream::connect(server).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.set_write_timeout(Some(PATIENCE)).unwrap();
    client
}

/// A message behind its length, padded to at least a header.
pub fn framed(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    if message.len() < 12 {
        message.resize(12, b' ');
    }
    let mut octets = (message.len() as u16).to_be_bytes().to_vec();
    octets.append(&mut message);
    octets
}

/// Reads one message.
pub fn receive(client: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 2];
    client.read_exact(&mut length).expect("a length");
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    client.read_exact(&mut message).expect("a message");
    message
}

/// Asks over TCP.
pub fn ask_tcp(client: &mut TcpStream, query: &[u8]) -> Vec<u8> {
    client.write_all(&framed(query)).unwrap();
    receive(client)
}

/// Whether the server has closed the connection: by FIN, or by a reset.
pub fn is_closed(client: &mut TcpStream) -> bool {
    matches!(client.read(&mut [0; 64]), Ok(0) | Err(_))
        && !matches!(client.read(&mut [0; 1]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
}
