//! A query costs no allocation: counted by an allocator that counts, over everything the process does.
#![allow(unsafe_code)] // An allocator that counts and hands on; tests only.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

#[path = "sockets/common/mod.rs"]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use common::{address, framed, serve, tcp, udp};
use net::{
    Arrivals, Backend, Driver, Listen, Need, Protocol, Queries, Server, Service, StreamId, TcpLimits, Ticket,
    UpstreamSettings,
};
use sync::tap::Wants;

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// Octets allocated and not freed.
static HELD: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call is handed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        HELD.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's duty is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, octets: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        HELD.fetch_add(octets as i64 - layout.size() as i64, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, octets) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of the whole process while `act` runs, which makes none itself.
fn allocations(act: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    act();
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// Asks a server what it is asked, over datagrams or one stream, and passes the answers on in the order of the questions.
struct Relay {
    server: SocketAddr,
    settings: Arc<UpstreamSettings>,
    stream: Option<StreamId>,
    by_stream: bool,
    waiting: VecDeque<Ticket>,
}

impl Relay {
    fn answer(&mut self, octets: &[u8], driver: &mut Driver<'_, ()>) {
        let Some(ticket) = self.waiting.pop_front() else { return };
        let reply = driver.reply(ticket, |room| {
            room[..octets.len()].copy_from_slice(octets);
            octets.len()
        });
        assert!(reply.is_ok());
    }
}

impl Service for Relay {
    type Message = ();

    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, ()>) {
        while let Some(mut item) = queries.next() {
            let query = item.query;
            self.waiting.push_back(item.later(driver, 0, true).unwrap());
            if self.by_stream {
                let server = self.server;
                let stream = self
                    .stream
                    .get_or_insert_with(|| driver.upstream().connect(server, &Protocol::Tcp).unwrap());
                driver.send(*stream, query).unwrap();
            } else {
                if self.settings.sources.is_empty() {
                    let sources = vec![self.server.ip()];
                    self.settings = Arc::new(UpstreamSettings { sources, ..(*self.settings).clone() });
                    driver.upstream().configure(Arc::clone(&self.settings));
                }
                driver.ask(self.server, query, Need::Fresh).unwrap();
            }
        }
    }

    fn arrivals(&mut self, arrivals: &Arrivals, driver: &mut Driver<'_, ()>) {
        for arrival in arrivals.iter() {
            driver.upstream().settle(arrival.path);
            self.answer(arrival.octets, driver);
        }
    }

    fn message(&mut self, _: StreamId, octets: &[u8], driver: &mut Driver<'_, ()>) {
        self.answer(octets, driver);
    }
}

/// Questions to another server, by sockets of the pool, by fresh ones and by a stream.
fn asking_costs_none() {
    for (fresh_per_second, by_stream) in [(0, false), (100_000, false), (0, true)] {
        let server = serve(&common::local());
        let at = address(&server);
        let settings = Arc::new(UpstreamSettings { fresh_per_second, ..UpstreamSettings::default() });
        let relay = move |_| Relay {
            server: at,
            settings: Arc::clone(&settings),
            stream: None,
            by_stream,
            waiting: VecDeque::with_capacity(64),
        };
        let running = Server::bind(&common::local()).unwrap().start(relay).unwrap();
        let client = udp(address(&running));
        let mut buffer = [0; 512];
        let mut rounds = |count: usize| {
            for _ in 0..count {
                for number in 0..20_u8 {
                    client.send(&[number; 40]).unwrap();
                }
                for _ in 0..20 {
                    assert_eq!(client.recv(&mut buffer).unwrap(), 40);
                }
            }
        };
        // The pool is complete, and its table as long as it gets.
        rounds(150);
        let made = allocations(|| rounds(250));
        assert_eq!(made, 0, "5,000 questions, {fresh_per_second} fresh a second, by stream: {by_stream}");
    }
}

/// Queries that the tap's reader is told of; its ring was taken when it came.
fn telling_costs_none() {
    let running = serve(&common::local());
    let wants = Wants { one_in: 1, query_octets: u16::MAX, response_octets: u16::MAX, others: false };
    let mut reader = running.taps()[0].attach(wants).unwrap();
    let client = udp(address(&running));
    let (mut buffer, mut record, mut told) = ([0; 512], Vec::with_capacity(1024), 0);
    let mut rounds = |count: usize| {
        for _ in 0..count {
            client.send(&[7; 40]).unwrap();
            assert_eq!(client.recv(&mut buffer).unwrap(), 40);
            while reader.read(&mut record) {
                told += 1;
            }
        }
    };
    rounds(1);
    assert_eq!(allocations(|| rounds(1000)), 0, "1,000 queries that are told");
    assert_eq!(told, 1001);
}

/// One test, because tests of one program run side by side and would count each other's allocations.
#[test]
fn queries_cost_no_allocation() {
    assert!(allocations(|| drop(std::hint::black_box(vec![1_u8; 100]))) > 0, "the counter counts");
    for (backend, wildcard) in [(Backend::Mmsg, false), (Backend::Mmsg, true), (Backend::Portable, false)] {
        let at = if wildcard { "0.0.0.0:0" } else { "127.0.0.1:0" };
        let running = serve(&Listen { backend, ..common::on(at) });
        let client = udp(([127, 0, 0, 1], address(&running).port()).into());
        let mut buffer = [0; 512];
        let mut rounds = |count: usize| {
            for _ in 0..count {
                for number in 0..20_u8 {
                    client.send(&[number; 40]).unwrap();
                }
                for _ in 0..20 {
                    assert_eq!(client.recv(&mut buffer).unwrap(), 40);
                }
            }
        };
        // The first datagram may meet things that are set up lazily, in the standard library for instance.
        rounds(1);
        assert_eq!(
            allocations(|| rounds(500)),
            0,
            "10,000 queries over UDP, {backend:?}, wildcard: {wildcard}"
        );
    }

    let running = serve(&common::local());
    let mut client = tcp(address(&running));
    let octets = framed(&[7; 40]).repeat(20);
    let mut buffer = [0; 20 * 42];
    let mut rounds = |count: usize| {
        for _ in 0..count {
            client.write_all(&octets).unwrap();
            client.read_exact(&mut buffer).unwrap();
        }
    };
    rounds(1);
    assert_eq!(allocations(|| rounds(500)), 0, "10,000 queries over one TCP connection");

    asking_costs_none();
    telling_costs_none();

    // Idle connections: those that asked once and those that began a query.
    const IDLE: usize = 512;
    let limits = TcpLimits { connections_per_prefix: 0, ..TcpLimits::default() };
    let running = serve(&Listen { tcp: limits, ..common::local() });
    drop(tcp(address(&running)));
    common::await_counts(&running, "the first", |counters| {
        counters.tcp_accepted == 1 && counters.tcp_open == 0
    });
    let mut clients = Vec::with_capacity(IDLE);
    let before = HELD.load(Ordering::Relaxed);
    for _ in 0..IDLE {
        let mut client = tcp(address(&running));
        client.write_all(&octets[..42]).unwrap();
        client.read_exact(&mut buffer[..42]).unwrap();
        clients.push(client);
    }
    common::await_counts(&running, "all", |counters| counters.tcp_open == IDLE as u64);
    let each = (HELD.load(Ordering::Relaxed) - before) / IDLE as i64;
    println!("{each} octets per idle connection");
    assert!(each <= 1024, "{each} octets per idle connection");
    assert!(each >= 100, "{each} octets cannot be: the measurement is wrong");
}
