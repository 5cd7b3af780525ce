//! How long UDP clients wait while transfers read a pack whose pages are not in memory.
//!
//! `cargo run --release -p control --example cold_pages [-- OPTION VALUE ...]`
//!
//! One worker, tied to one processor, answers datagrams at once and AXFR with a stream over a pinned zone. The pack is mapped from a file in the
//! system's folder for temporary files, which must be on a disk; its RRsets lie in another order than the names of the zone. Kinds of runs, in
//! rounds: without streams; with streams whose messages the worker renders (`worker`) or a renderer does ahead (`ahead`), each with the pack in memory (`warm`) and with
//! its pages taken out before the run and every quarter of a second in it (`cold`). The client asks in an open loop of even gaps; a
//! latency runs from the time at which a query was due, and a lost answer counts as one of a second.
//!
//! | option | default | |
//! |---|---|---|
//! | `--rounds` | 5 | |
//! | `--streams` | 4 | connections, a transfer each, and another when it is over |
//! | `--names` | 150000 | names of the zone, of 1.2 KB each |
//! | `--rate` | 2000 | queries a second over UDP, up to 10000 |
//! | `--seconds` | 4 | of a run, up to 6 |

#[path = "../tests/common/transfer.rs"]
mod transfer;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use control::packs::write_file;
use control::system::{map_pack, page_out};
use net::{Listen, Pin, Renderer, Running, Server, TcpLimits, allowed_processors};
use sync::random::Random;
use sync::{Collector, Mutex};
use transfer::Toy;
use wire::NameBuf;
use wire::iana::rtype;
use zone::catalog::ViewSource;
use zone::contents::SourcePosition;
use zone::{Catalog, Contents, ContentsBuilder, Pack, PackBuilder, TextStamp};

/// The zone that is transferred.
const APEX: &str = "cold.test";
/// Octets of a text.
const TEXT_OCTETS: usize = 1200;
/// How long a run waits for its last answers.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often pages are taken out.
const COLD_EVERY: Duration = Duration::from_millis(250);

struct Settings {
    rounds: usize,
    streams: usize,
    names: usize,
    rate: u32,
    seconds: u64,
}

impl Settings {
    fn read() -> Result<Settings, String> {
        let mut settings = Settings { rounds: 5, streams: 4, names: 150_000, rate: 2000, seconds: 4 };
        let mut arguments = std::env::args().skip(1);
        while let Some(option) = arguments.next() {
            let value = arguments.next().and_then(|value| value.parse::<usize>().ok());
            let value = value.ok_or_else(|| format!("{option} wants a number"))?.max(1);
            match &*option {
                "--rounds" => settings.rounds = value,
                "--streams" => settings.streams = value.min(zone::catalog::PINS_PER_CLIENT_MAX),
                "--names" => settings.names = value,
                "--rate" => settings.rate = value.min(10_000) as u32,
                "--seconds" => settings.seconds = value.min(6) as u64,
                _ => return Err(format!("{option}: the head of the source tells which options there are")),
            }
        }
        Ok(settings)
    }
}

/// What a run is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Without,
    With { is_ahead: bool, is_cold: bool },
}

const KINDS: [(&str, Kind); 5] = [
    ("without streams", Kind::Without),
    ("worker, warm", Kind::With { is_ahead: false, is_cold: false }),
    ("ahead, warm", Kind::With { is_ahead: true, is_cold: false }),
    ("worker, cold", Kind::With { is_ahead: false, is_cold: true }),
    ("ahead, cold", Kind::With { is_ahead: true, is_cold: true }),
];

fn main() -> Result<(), String> {
    let settings = Settings::read()?;
    let path = std::env::temp_dir().join(format!("cold-pages-{}.zpack", std::process::id()));
    let outcome = measure(&settings, &path);
    let _ = fs::remove_file(&path);
    outcome
}

fn measure(settings: &Settings, path: &Path) -> Result<(), String> {
    write_file(path, &path.with_extension("tmp"), build(settings.names)?.octets())?;
    let pack = Arc::new(map_pack(path)?.0);
    println!("pack of {} MB at {}", pack.octets().len() / 1_000_000, path.display());
    let catalog = Catalog::new(1);
    let _collector = Collector::start(&[catalog.domain().clone()]).map_err(text)?;
    let hold = catalog.add_pack(Arc::clone(&pack));
    let apex: NameBuf = APEX.parse().map_err(|_| "a name")?;
    catalog.insert(&[(apex, ViewSource::Pack(hold.number(), 1))]);
    let renderer = Renderer::start().map_err(text)?;
    // A server for each way to render; one at a time has something to do.
    let (worker, ahead) = (serve(&catalog, None)?, serve(&catalog, Some(&renderer))?);
    let transfer_octets = transfer_octets(worker.listeners()[0].address).map_err(text)?;
    println!("transfers of {} MB", transfer_octets / 1_000_000);
    println!("round  kind              p50 us   p99 us  p99.9 us    max us  lost   MB/s  major faults");
    let mut p99 = KINDS.map(|_| Vec::new());
    for round in 0..settings.rounds {
        for at in 0..KINDS.len() {
            // Another first one in each round.
            let at = (at + round) % KINDS.len();
            let (name, kind) = KINDS[at];
            let is_ahead = matches!(kind, Kind::With { is_ahead: true, .. });
            let server = if is_ahead { &ahead } else { &worker };
            let bed = Bed { settings, pack: &pack, server: server.listeners()[0].address, transfer_octets };
            let outcome = bed.run(kind)?;
            let latency = |share| outcome.latency(share);
            println!(
                "{:5}  {name:15}  {:7.0}  {:7.0}  {:8.0}  {:8.0}  {:4}  {:5.0}  {:12}",
                round + 1,
                latency(0.5),
                latency(0.99),
                latency(0.999),
                latency(1.0),
                outcome.lost,
                outcome.octets as f64 / 1e6 / settings.seconds as f64,
                outcome.faults,
            );
            p99[at].push(latency(0.99));
        }
    }
    for ((name, _), mut p99) in KINDS.into_iter().zip(p99) {
        p99.sort_by(f64::total_cmp);
        println!("{name:15}  p99: median {:.0} us of {:.0?}", p99[p99.len() / 2], p99);
    }
    Ok(())
}

fn text(error: io::Error) -> String {
    error.to_string()
}

/// Two zones with the same RRsets, of which a pack has one each: those of the second lie in no order.
fn build(names: usize) -> Result<Pack, String> {
    let mut random = Random::new(7);
    let mut text = vec![0; TEXT_OCTETS];
    for octets in text.chunks_exact_mut(8) {
        octets.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    // Strings of 199 octets.
    (0..TEXT_OCTETS).step_by(200).for_each(|at| text[at] = 199);
    // Without a divisor in common with the number of names each is met once.
    let step = (names * 5 / 8..names).find(|step| greatest_divisor(names, *step) == 1).unwrap_or(1);
    let mut builder = PackBuilder::new(7);
    for (apex, step) in [("warm.test", 1), (APEX, step)] {
        let contents = contents(apex, names, step, &mut text)?;
        builder.add_zone(&contents, TextStamp::default()).map_err(|_| "a zone of the pack")?;
    }
    let backing = builder.finish().map_err(|_| "a pack")?;
    Pack::open(backing).map_err(|error| error.to_string())
}

fn greatest_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}

fn contents(apex: &str, names: usize, step: usize, text: &mut [u8]) -> Result<Contents, String> {
    let name = |text: String| text.parse::<NameBuf>().map_err(|_| format!("name {text}"));
    let apex = name(apex.to_owned())?;
    let mut contents = ContentsBuilder::new(&apex);
    let mut push = |owner: &NameBuf, rtype, rdata: &[u8]| {
        let pushed = contents.push(owner, false, rtype, 60, rdata, SourcePosition::default());
        pushed.map_err(|_| "a record".to_owned())
    };
    push(&apex, rtype::SOA, &[0; 22])?;
    for at in 0..names {
        let number = (at * step % names) as u64;
        text[8..16].copy_from_slice(&number.to_le_bytes());
        push(&name(format!("n{at:07}.{apex}"))?, rtype::TXT, text)?;
    }
    Ok(contents.finish())
}

fn serve(catalog: &Catalog, renderer: Option<&Renderer>) -> Result<Running, String> {
    let processor = *allowed_processors().first().ok_or("no processor")?;
    let listen = Listen {
        addresses: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        workers: 1,
        pin: Pin::List(vec![processor]),
        tcp: TcpLimits { idle: Duration::from_secs(600), ..TcpLimits::default() },
        ..Listen::default()
    };
    let reader = Mutex::new(Some(catalog.reader()));
    let queue = renderer.map(Renderer::queue);
    let make = move |_| {
        let reader = reader.lock().take().expect("one service, which does not panic");
        Toy::new(reader, queue.clone())
    };
    Server::bind(&listen).map_err(|error| error.to_string())?.start(make).map_err(text)
}

/// Octets of a transfer on its connection.
fn transfer_octets(server: SocketAddr) -> io::Result<u64> {
    let mut stream = begin(server)?;
    let (mut octets, mut room) = (0, vec![0; 64 << 10]);
    // Nothing comes for a while: it was the last.
    while let Ok(count) = stream.read(&mut room) {
        octets += count as u64;
    }
    Ok(octets)
}

/// A connection that has asked for a transfer.
fn begin(server: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&framed(&query(0, rtype::AXFR)))?;
    Ok(stream)
}

struct Outcome {
    /// Nanoseconds, ascending.
    latencies: Vec<u64>,
    lost: usize,
    octets: u64,
    faults: u64,
}

impl Outcome {
    /// What this share does not exceed, in microseconds.
    fn latency(&self, share: f64) -> f64 {
        let at = (self.latencies.len() as f64 * share).ceil() as usize;
        self.latencies.get(at.max(1) - 1).map_or(0.0, |&ns| ns as f64 / 1e3)
    }
}

/// What runs share.
struct Bed<'b> {
    settings: &'b Settings,
    pack: &'b Pack,
    server: SocketAddr,
    transfer_octets: u64,
}

impl Bed<'_> {
    fn run(&self, kind: Kind) -> Result<Outcome, String> {
        let (is_over, octets) = (AtomicBool::new(false), AtomicU64::new(0));
        let is_cold = matches!(kind, Kind::With { is_cold: true, .. });
        let streams = if kind == Kind::Without { 0 } else { self.settings.streams };
        if is_cold {
            page_out(self.pack).map_err(text)?;
        } else {
            // Each page is looked at.
            let pages = self.pack.octets().iter().step_by(4096);
            std::hint::black_box(pages.fold(0, |sum: u8, octet| sum.wrapping_add(*octet)));
        }
        let before = major_faults();
        let streams =
            (0..streams).map(|_| begin(self.server)).collect::<io::Result<Vec<_>>>().map_err(text)?;
        let latencies = thread::scope(|scope| {
            for stream in streams {
                scope.spawn(|| self.take(stream, &is_over, &octets));
            }
            if is_cold {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        thread::sleep(COLD_EVERY);
                        let _ = page_out(self.pack);
                    }
                });
            }
            let latencies = self.ask();
            is_over.store(true, Ordering::Relaxed);
            latencies
        });
        let latencies = latencies.map_err(text)?;
        let lost = latencies.iter().filter(|latency| **latency == PATIENCE.as_nanos() as u64).count();
        Ok(Outcome { latencies, lost, octets: octets.into_inner(), faults: major_faults() - before })
    }

    /// Counts what a connection brings, and asks again where a transfer is over.
    fn take(&self, mut stream: TcpStream, is_over: &AtomicBool, octets: &AtomicU64) {
        let (mut room, mut taken) = (vec![0; 64 << 10], 0);
        while !is_over.load(Ordering::Relaxed) {
            let Ok(count) = stream.read(&mut room) else { continue };
            octets.fetch_add(count as u64, Ordering::Relaxed);
            taken += count as u64;
            if taken == self.transfer_octets {
                taken = 0;
                let _ = stream.write_all(&framed(&query(0, rtype::AXFR)));
            }
        }
    }

    /// Asks as long as the run lasts; the latencies in ascending order.
    fn ask(&self) -> io::Result<Vec<u64>> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.connect(self.server)?;
        socket.set_read_timeout(Some(Duration::from_millis(20)))?;
        let count = self.settings.rate as usize * self.settings.seconds as usize;
        let gap = Duration::from_secs(1) / self.settings.rate;
        let start = Instant::now() + Duration::from_millis(10);
        let due = |at: usize| start + gap * at as u32;
        let mut latencies = vec![PATIENCE.as_nanos() as u64; count];
        thread::scope(|scope| {
            scope.spawn(|| {
                for at in 0..count {
                    thread::sleep(due(at).saturating_duration_since(Instant::now()));
                    let _ = socket.send(&query(at as u16, rtype::A));
                }
            });
            let (mut answer, mut missing) = ([0; 512], count);
            while missing > 0 && Instant::now() < due(count) + PATIENCE {
                let Ok(octets) = socket.recv(&mut answer) else { continue };
                let Some(&id) = answer[..octets].first_chunk() else { continue };
                let at = usize::from(u16::from_be_bytes(id));
                latencies[at] = Instant::now().saturating_duration_since(due(at)).as_nanos() as u64;
                missing -= 1;
            }
        });
        latencies.sort_unstable();
        Ok(latencies)
    }
}

fn query(id: u16, qtype: u16) -> Vec<u8> {
    let name: NameBuf = APEX.parse().expect("a constant");
    [&id.to_be_bytes()[..], &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0], name.octets(), &qtype.to_be_bytes(), &[0, 1]]
        .concat()
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes()[..], message].concat()
}

/// Page faults of this process that had to read from a disk.
fn major_faults() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().nth(9).and_then(|text| text.parse().ok()).unwrap_or(0)
}
