//! Transfers over pinned zones, rendered ahead: one state whatever is published, bounds, clients that vanish, sources that panic.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

#[path = "common/transfer.rs"]
mod transfer;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use net::{Listen, Pin, Renderer, Running, Server, TcpLimits, WorkerCounters};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};
use sync::Collector;
use transfer::{MESSAGES_BEFORE_PANIC, PANICKING, Toy};
use wire::iana::{rcode, rtype};
use wire::{Name, NameBuf};
use zone::catalog::{PINS_MAX, PINS_PER_CLIENT_MAX, SlotNumber, ViewSource};
use zone::contents::SourcePosition;
use zone::{Catalog, ContentsBuilder, Pack, PackBuilder, TextStamp};

/// No wait in these tests takes so long unless something stands still.
const PATIENCE: Duration = Duration::from_secs(30);
/// Names of the large zone: 18 MB of messages, several times what a send buffer grows to, from a pack of some hundred kilobytes.
const NAMES: usize = 20_000;

fn apex() -> NameBuf {
    "example.test".parse().unwrap()
}

/// A zone of so many names that all say the serial.
fn pack(serial: u32, names: usize) -> Arc<Pack> {
    let apex = apex();
    let mut contents = ContentsBuilder::new(&apex);
    let soa = [&[0; 2][..], &serial.to_be_bytes(), &[0; 16]].concat();
    let text = [&[250][..], &[b'x'; 250]].concat();
    let text = [&[4][..], &serial.to_be_bytes(), &text, &text, &text].concat();
    contents.push(&apex, false, rtype::SOA, 60, &soa, SourcePosition::default()).unwrap();
    for name in 0..names {
        let owner: NameBuf = format!("n{name}.example.test").parse().unwrap();
        contents.push(&owner, false, rtype::TXT, 60, &text, SourcePosition::default()).unwrap();
    }
    let mut builder = PackBuilder::new(u64::from(serial));
    builder.add_zone(&contents.finish(), TextStamp::default()).map_err(|_| "a zone").unwrap();
    Arc::new(Pack::open(builder.finish().unwrap()).unwrap())
}

/// A server with one zone.
struct Bed {
    // Dropped in this order: the workers end before what their streams need.
    running: Running,
    renderer: Renderer,
    catalog: Catalog,
    _collector: Collector,
    slot: SlotNumber,
}

impl Bed {
    fn new(first: Arc<Pack>, workers: usize) -> Bed {
        let catalog = Catalog::new(5);
        let collector = Collector::start(&[catalog.domain().clone()]).unwrap();
        let slot = insert(&catalog, first);
        let renderer = Renderer::start().unwrap();
        let tcp = TcpLimits { idle: Duration::from_secs(600), ..TcpLimits::default() };
        let addresses = vec!["127.0.0.1:0".parse().unwrap()];
        let listen = Listen { addresses, workers, pin: Pin::Off, tcp, ..Listen::default() };
        // Each worker begins with a reader, and has no other made, as none of these services panics.
        let readers: Vec<_> = (0..workers).map(|_| std::sync::Mutex::new(Some(catalog.reader()))).collect();
        let queue = renderer.queue();
        let make = move |worker: usize| {
            let reader = readers[worker].lock().unwrap().take().unwrap();
            Toy::new(reader, Some(queue.clone()))
        };
        let running = Server::bind(&listen).unwrap().start(make).unwrap();
        Bed { running, renderer, catalog, _collector: collector, slot }
    }

    fn publish(&self, pack: Arc<Pack>) {
        let hold = self.catalog.add_pack(pack);
        self.catalog.publish(self.slot, None, ViewSource::Pack(hold.number(), 0)).unwrap();
    }

    fn counters(&self) -> WorkerCounters {
        self.running.counters().into_iter().fold(WorkerCounters::default(), WorkerCounters::sum)
    }

    /// A connection from 127.0.x.y, whose client takes little before it reads.
    fn connect(&self, client: u16) -> TcpStream {
        let SocketAddr::V4(server) = self.running.listeners()[0].address else { unreachable!() };
        let own = SocketAddrV4::new(Ipv4Addr::from(0x7f00_0100 + u32::from(client)), 0);
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        sockopt::set_socket_recv_buffer_size(&socket, 16 << 10).unwrap();
        bind(&socket, &own).unwrap();
        connect(&socket, &server).unwrap();
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

fn insert(catalog: &Catalog, pack: Arc<Pack>) -> SlotNumber {
    let hold = catalog.add_pack(pack);
    catalog.insert(&[(apex(), ViewSource::Pack(hold.number(), 0))])[0]
}

fn await_that(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn ask(stream: &mut TcpStream, qtype: u16) {
    let apex = apex();
    let query =
        [&[7, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], apex.octets(), &qtype.to_be_bytes(), &[0, 1]].concat();
    stream.write_all(&[&(query.len() as u16).to_be_bytes()[..], &query].concat()).unwrap();
}

fn receive(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut message)?;
    Ok(message)
}

/// What a transfer has brought so far.
#[derive(Default)]
struct Taken {
    soas: Vec<u32>,
    /// By number of the name: what it says.
    names: Vec<Option<u32>>,
    octets: usize,
}

impl Taken {
    fn of(names: usize) -> Taken {
        Taken { names: vec![None; names], ..Taken::default() }
    }

    /// Whether the last record was there.
    fn is_over(&self) -> bool {
        self.soas.len() == 2
    }

    fn message(&mut self, message: &[u8]) {
        assert_eq!((&message[..4], message.len() <= 16 << 10), (&[7, 9, 0x84, 0][..], true));
        self.octets += message.len();
        let (mut records, mut rest) = (u16::from_be_bytes([message[6], message[7]]), &message[12..]);
        while records > 0 {
            let (owner, after) = Name::split_from(rest).unwrap();
            let rtype = u16::from_be_bytes([after[0], after[1]]);
            let octets = usize::from(u16::from_be_bytes([after[8], after[9]]));
            let (rdata, next) = after[10..].split_at(octets);
            assert!(!self.is_over(), "nothing follows the last SOA record");
            match rtype {
                rtype::SOA => self.soas.push(u32::from_be_bytes(rdata[2..6].try_into().unwrap())),
                _ => {
                    assert_eq!(self.soas.len(), 1, "a transfer begins with the SOA record");
                    let text = owner.to_string();
                    let number: usize = text[1..text.find('.').unwrap()].parse().unwrap();
                    let said =
                        self.names[number].replace(u32::from_be_bytes(rdata[1..5].try_into().unwrap()));
                    assert_eq!(said, None, "{owner} comes once");
                }
            }
            (records, rest) = (records - 1, next);
        }
        assert!(rest.is_empty());
    }

    /// All names of one state.
    fn check(&self, serial: u32) {
        assert_eq!(self.soas, [serial, serial]);
        let wrong = self.names.iter().position(|said| *said != Some(serial));
        assert_eq!(wrong, None, "a name that is missing or of another state");
    }
}

/// Takes a transfer to its end.
fn take(stream: &mut TcpStream, mut taken: Taken) -> Taken {
    while !taken.is_over() {
        taken.message(&receive(stream).unwrap());
    }
    taken
}

#[test]
fn a_transfer_is_of_one_state() {
    let first = pack(1, NAMES);
    let gone: Weak<Pack> = Arc::downgrade(&first);
    let mut bed = Bed::new(first, 1);
    let mut stream = bed.connect(1);
    ask(&mut stream, rtype::AXFR);
    let mut taken = Taken::of(NAMES);
    let all = NAMES * 780;
    taken.message(&receive(&mut stream).unwrap());
    // Slow: a few messages between publications, half of the zone in all.
    for serial in 2..1002 {
        bed.publish(pack(serial, 3));
        if serial % 2 == 0 && taken.octets < all / 2 {
            taken.message(&receive(&mut stream).unwrap());
        }
    }
    bed.catalog.remove(&[bed.slot]);
    await_that("garbage to be freed", || bed.catalog.domain().garbage().0 == 0);
    assert!(gone.upgrade().is_some(), "the stream is under way");
    assert_eq!(bed.catalog.pins().now, 1);
    let taken = take(&mut stream, taken);
    taken.check(1);
    await_that("the pack to be freed", || gone.upgrade().is_none());
    assert_eq!((bed.catalog.pins().now, bed.catalog.pins().made), (0, 1));
    // The zone is gone; once it is there again it is the newest that leaves, on the same connection.
    ask(&mut stream, rtype::AXFR);
    assert_eq!(receive(&mut stream).unwrap()[3], rcode::SERVFAIL as u8);
    bed.slot = insert(&bed.catalog, pack(5000, 3));
    ask(&mut stream, rtype::AXFR);
    take(&mut stream, Taken::of(3)).check(5000);
    await_that("the end", || bed.renderer.counts().streams == 0 && bed.counters().streams_completed == 2);
    assert_eq!(bed.renderer.counts().octets, 0);
}

#[test]
fn bounds_and_clients_that_vanish() {
    const STREAMS: usize = 4;
    const CONNECTIONS: usize = PINS_PER_CLIENT_MAX / STREAMS;
    let bed = Bed::new(pack(1, NAMES), 8);
    let mut clients = Vec::new();
    for client in 1..=PINS_MAX / PINS_PER_CLIENT_MAX {
        for _ in 0..CONNECTIONS {
            let mut stream = bed.connect(client as u16);
            (0..STREAMS).for_each(|_| ask(&mut stream, rtype::AXFR));
            clients.push(stream);
        }
    }
    await_that("all streams", || bed.counters().streams_begun == PINS_MAX as u64);
    assert_eq!(bed.catalog.pins().now, PINS_MAX);
    let refused = |client: u16| {
        let mut stream = bed.connect(client);
        ask(&mut stream, rtype::AXFR);
        receive(&mut stream).unwrap()[3]
    };
    assert_eq!(refused(1), rcode::REFUSED as u8, "the ninth of a client");
    assert_eq!(refused(500), rcode::SERVFAIL as u8, "the 1,025th of all");
    assert_eq!(bed.catalog.pins().refused, 2);
    // Those who vanish give back what they had, though they never read, and others get it.
    drop(clients.drain(..CONNECTIONS));
    await_that("places", || bed.catalog.pins().now == PINS_MAX - PINS_PER_CLIENT_MAX);
    let mut stream = bed.connect(500);
    ask(&mut stream, rtype::AXFR);
    take(&mut stream, Taken::of(NAMES)).check(1);
    drop(clients);
    await_that("the end of all", || bed.catalog.pins().now == 0 && bed.renderer.counts().streams == 0);
    let counts = bed.renderer.counts();
    assert_eq!((counts.streams_most <= PINS_MAX, counts.octets, counts.refused), (true, 0, 0));
}

#[test]
fn a_source_that_panics_closes_its_connection_alone() {
    let bed = Bed::new(pack(1, NAMES), 1);
    let (mut other, mut stream) = (bed.connect(1), bed.connect(2));
    ask(&mut other, rtype::AXFR);
    let mut taken = Taken::of(NAMES);
    taken.message(&receive(&mut other).unwrap());
    ask(&mut stream, PANICKING);
    let mut own = Taken::of(NAMES);
    for _ in 0..MESSAGES_BEFORE_PANIC {
        own.message(&receive(&mut stream).unwrap());
    }
    assert!(receive(&mut stream).is_err(), "no end that looks like one");
    await_that("the pin", || bed.catalog.pins().now == 1);
    let counters = bed.counters();
    assert_eq!((counters.streams_aborted, counters.service_panics, counters.tcp_open), (1, 0, 1));
    assert_eq!(bed.renderer.counts().panics, 1);
    take(&mut other, taken).check(1);
    await_that("the other pin", || bed.catalog.pins().now == 0);
}

#[test]
fn the_end_of_the_server_gives_everything_back() {
    let first = pack(1, NAMES);
    let gone = Arc::downgrade(&first);
    let bed = Bed::new(first, 1);
    let mut stream = bed.connect(1);
    ask(&mut stream, rtype::AXFR);
    receive(&mut stream).unwrap();
    let Bed { running, renderer, catalog, _collector, .. } = bed;
    // The renderer first: the stream is aborted, not completed.
    drop(renderer);
    await_that("the end of the stream", || {
        let _ = stream.read(&mut [0; 4096]);
        running.counters()[0].streams_aborted == 1
    });
    running.stop(Duration::ZERO);
    assert_eq!(catalog.pins().now, 0);
    drop((catalog, _collector));
    assert!(gone.upgrade().is_none());
}
