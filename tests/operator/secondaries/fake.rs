//! A primary that does what a test tells it, over UDP and TCP.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use zonda_tests::server::free_address;

/// SOA, IXFR and AXFR as types in questions.
const SOA: u16 = 6;
const IXFR: u16 = 251;
const AXFR: u16 = 252;
const OPT: &[u8] = b"\0\0\x29\x04\xd0\0\0\0\0";

/// What it does.
#[derive(Clone, Debug)]
pub(super) struct Does {
    /// Serial of the zone.
    pub serial: u32,
    /// Whether it answers datagrams.
    pub udp: bool,
    /// Whether it takes connections.
    pub tcp: bool,
    /// The response code of each answer.
    pub rcode: u8,
    /// Whether it says that it is authoritative.
    pub is_authoritative: bool,
    /// The EXPIRE option, if any.
    pub expire: Option<u32>,
    /// Records of the zone beside SOA and NS: type and RDATA, of the name `host`.
    pub records: Vec<(u16, Vec<u8>)>,
    /// Whether there is an NS record of the apex.
    pub has_ns: bool,
    /// How often a message with these is sent.
    pub times: usize,
    /// Whether it answers IXFR with what differs, which is the SOA record alone, and not with the whole zone.
    pub has_differences: bool,
    /// Whether the last message of what is transferred has to wait.
    pub is_holding: bool,
}

impl Default for Does {
    fn default() -> Does {
        Does {
            serial: 1,
            udp: true,
            tcp: true,
            rcode: 0,
            is_authoritative: true,
            expire: None,
            records: Vec::new(),
            has_ns: true,
            times: 1,
            has_differences: false,
            is_holding: false,
        }
    }
}

struct Shared {
    does: Mutex<Does>,
    is_ending: AtomicBool,
    probes: AtomicUsize,
    transfers: AtomicUsize,
    /// Where the last question came from.
    from: Mutex<Option<SocketAddr>>,
}

/// See the module. It ends when it is dropped.
pub(super) struct Fake {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl Fake {
    pub fn start(does: Does) -> Fake {
        Fake::start_at(free_address(), does)
    }

    pub fn start_at(address: SocketAddr, does: Does) -> Fake {
        let (udp, tcp) =
            (UdpSocket::bind(address).expect("a socket"), TcpListener::bind(address).expect("a socket"));
        udp.set_read_timeout(Some(Duration::from_millis(20))).expect("a time");
        tcp.set_nonblocking(true).expect("a socket that does not wait");
        let shared = Arc::new(Shared {
            does: Mutex::new(does),
            is_ending: AtomicBool::new(false),
            probes: AtomicUsize::new(0),
            transfers: AtomicUsize::new(0),
            from: Mutex::default(),
        });
        let (of_udp, of_tcp) = (Arc::clone(&shared), Arc::clone(&shared));
        let threads = vec![
            std::thread::spawn(move || answer_datagrams(&udp, &of_udp)),
            std::thread::spawn(move || take_connections(&tcp, &of_tcp)),
        ];
        Fake { address, shared, threads }
    }

    /// Has it do something else from now on.
    pub fn change(&self, change: impl FnOnce(&mut Does)) {
        change(&mut self.shared.does());
    }

    /// Questions that it was asked over UDP, and for zones as a whole or differences over TCP.
    pub fn asked(&self) -> (usize, usize) {
        (self.shared.probes.load(Ordering::Relaxed), self.shared.transfers.load(Ordering::Relaxed))
    }

    /// Where the last question came from.
    pub fn from(&self) -> Option<SocketAddr> {
        *self.shared.from.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.shared.is_ending.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            drop(thread.join());
        }
    }
}

impl Shared {
    fn does(&self) -> std::sync::MutexGuard<'_, Does> {
        self.does.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Waits as long as it is to hold what it sends last.
    fn hold(&self) {
        while self.does().is_holding && !self.is_ending() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn answer_datagrams(socket: &UdpSocket, shared: &Shared) {
    let mut octets = [0; 2048];
    while !shared.is_ending() {
        let Ok((length, from)) = socket.recv_from(&mut octets) else { continue };
        shared.probes.fetch_add(1, Ordering::Relaxed);
        *shared.from.lock().unwrap_or_else(PoisonError::into_inner) = Some(from);
        let does = shared.does().clone();
        if does.udp {
            let answer = message(&octets[..length], &does, |out, _| soa(out, &does));
            drop(socket.send_to(&answer, from));
        }
    }
}

fn take_connections(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.is_ending() {
        match listener.accept() {
            Ok((stream, _)) if shared.does().tcp => {
                let shared = Arc::clone(shared);
                std::thread::spawn(move || answer_stream(stream, &shared));
            }
            // Closed at once.
            Ok(_) => {}
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn answer_stream(mut stream: TcpStream, shared: &Shared) {
    let limit = Some(Duration::from_secs(5));
    if stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(limit)).is_err() {
        return;
    }
    let mut length = [0; 2];
    while !shared.is_ending() && stream.read_exact(&mut length).is_ok() {
        let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
        if stream.read_exact(&mut question).is_err() {
            return;
        }
        *shared.from.lock().unwrap_or_else(PoisonError::into_inner) = stream.peer_addr().ok();
        let does = shared.does().clone();
        let is_probe = qtype(&question) == SOA;
        let counted = if is_probe { &shared.probes } else { &shared.transfers };
        counted.fetch_add(1, Ordering::Relaxed);
        let mut send = |message: Vec<u8>| {
            let octets = u16::try_from(message.len()).expect("a message").to_be_bytes();
            stream.write_all(&[&octets[..], &message].concat()).is_ok()
        };
        if is_probe || does.rcode != 0 {
            send(message(&question, &does, |out, _| soa(out, &does)));
            continue;
        }
        if does.has_differences && qtype(&question) == IXFR {
            let before = Does { serial: serial_in(&question), ..does.clone() };
            shared.hold();
            send(message(&question, &does, |out, _| {
                [&does, &before, &does, &does].into_iter().map(|does| soa(out, does)).sum()
            }));
            continue;
        }
        let first = message(&question, &does, |out, _| soa(out, &does) + ns(out, &does));
        let midst = message(&question, &does, |out, _| {
            does.records.iter().for_each(|(rtype, rdata)| record(out, b"\x04host\xc0\x0c", *rtype, rdata));
            does.records.len()
        });
        let is_sent =
            send(first) && (does.records.is_empty() || (0..does.times).all(|_| send(midst.clone())));
        shared.hold();
        if !is_sent || !send(message(&question, &does, |out, _| soa(out, &does))) {
            return;
        }
    }
}

fn qtype(question: &[u8]) -> u16 {
    let end = question_end(question);
    u16::from_be_bytes([question[end - 4], question[end - 3]])
}

/// The serial of the SOA record behind the question, which an IXFR has.
fn serial_in(question: &[u8]) -> u32 {
    let mut at = question_end(question);
    while question[at] != 0 && question[at] < 0xc0 {
        at += 1 + usize::from(question[at]);
    }
    at += if question[at] == 0 { 1 } else { 2 };
    let octets = usize::from(u16::from_be_bytes([question[at + 8], question[at + 9]]));
    let end = at + 10 + octets;
    u32::from_be_bytes(question[end - 20..][..4].try_into().expect("four octets"))
}

/// Where the question ends.
fn question_end(message: &[u8]) -> usize {
    let mut at = 12;
    while message[at] != 0 {
        at += 1 + usize::from(message[at]);
    }
    at + 5
}

/// A response: header, question, what `answers` appends and counts, OPT with what it is told.
fn message(question: &[u8], does: &Does, answers: impl FnOnce(&mut Vec<u8>, u16) -> usize) -> Vec<u8> {
    let mut out = question[..question_end(question)].to_vec();
    let count = if does.rcode == 0 { answers(&mut out, AXFR) } else { 0 };
    let count = u16::try_from(count).expect("few records").to_be_bytes();
    out[2..12].copy_from_slice(&[
        0x80 | u8::from(does.is_authoritative) << 2,
        does.rcode,
        0,
        1,
        count[0],
        count[1],
        0,
        0,
        0,
        u8::from(does.expire.is_some()),
    ]);
    if let Some(expire) = does.expire {
        out.extend_from_slice(OPT);
        out.extend_from_slice(b"\0\x08\0\x09\0\x04");
        out.extend_from_slice(&expire.to_be_bytes());
    }
    out
}

fn record(out: &mut Vec<u8>, owner: &[u8], rtype: u16, rdata: &[u8]) {
    out.extend_from_slice(owner);
    out.extend_from_slice(&rtype.to_be_bytes());
    out.extend_from_slice(b"\0\x01\0\0\0\x3c");
    out.extend_from_slice(&u16::try_from(rdata.len()).expect("short data").to_be_bytes());
    out.extend_from_slice(rdata);
}

fn soa(out: &mut Vec<u8>, does: &Does) -> usize {
    let numbers = [does.serial, 3_600, 900, 604_800, 60].map(u32::to_be_bytes);
    record(out, b"\xc0\x0c", SOA, &[b"\0\0", numbers.as_flattened()].concat());
    1
}

fn ns(out: &mut Vec<u8>, does: &Does) -> usize {
    if does.has_ns {
        record(out, b"\xc0\x0c", 2, b"\x02ns\x05other\x04test\0");
    }
    usize::from(does.has_ns)
}
