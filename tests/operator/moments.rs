//! Killed at any moment while many zones are updated: no acknowledged update is missing, of no other is there a half, no serial
//! goes back, and every start serves.
//!
//! ```text
//! update n of a zone, in one message:   a -> n     r(n mod 8) -> n     every 8th: t -> n, some of these long
//! after a start that shows N:           a = N,  r((N - k) mod 8) = N - k,  t = N - N mod 8
//!                                       last acknowledged <= N <= last sent;  N and serial >= what any client saw before
//! ```

use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use zonda_tests::exchange::{Transport, ask, batch, read_framed, tcp_stream, udp_within, write_framed};
use zonda_tests::message::{Query, header, question, record};
use zonda_tests::mutate::Random;
use zonda_tests::name::Name;
use zonda_tests::response::Response;
use zonda_tests::rtype;
use zonda_tests::server::{Guarded, free_address, program_command, settings, signal, write};

/// Names that updates take in turn.
const RING: u32 = 8;
/// Updates in flight of one client.
const WINDOW: usize = 16;
/// Clients, each with zones of its own; the last one sends datagrams.
const CLIENTS: usize = 4;
/// Longest time until all zones are answered for: seconds on a machine that compiles beside it, and a bound all the same.
const START_MAX: Duration = Duration::from_secs(20);
/// The smallest log there is: each third of it, 8 MiB, and zones say anew what they have.
const JOURNAL_OCTETS: u32 = 24 << 20;
const ZONE: &str = "$TTL 60\n@ SOA ns host 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n";

/// What is known of a zone.
#[derive(Clone, Default)]
struct Zone {
    /// The last update that was acknowledged, and the last that was sent.
    acknowledged: u32,
    sent: u32,
    /// The highest number and serial that a client was told.
    seen: u32,
    serial: u32,
}

fn origin(zone: usize) -> String {
    format!("z{zone}.moments.test.")
}

fn below(label: &str, zone: usize) -> Name {
    Name::parse(&format!("{label}.{}", origin(zone)))
}

/// Update `number` of a zone. `is_long`: some have more octets than a datagram takes.
fn message(id: u16, zone: usize, number: u32, is_long: bool) -> Vec<u8> {
    let text = number.is_multiple_of(RING);
    let mut out = header(id, 5 << 11, [1, 0, if text { 6 } else { 4 }, 0]);
    question(&mut out, &Name::parse(&origin(zone)), rtype::SOA, 1);
    let mut replace = |label: &str, rtype, rdata: &[u8]| {
        record(&mut out, &below(label, zone), rtype, 255, 0, b"");
        record(&mut out, &below(label, zone), rtype, 1, 60, rdata);
    };
    let address = number.to_be_bytes();
    replace("a", rtype::A, &address);
    if text {
        let mut rdata = [&[4][..], &address].concat();
        if is_long && number.is_multiple_of(4 * RING) {
            (0..48).for_each(|_| rdata.extend([&[255][..], &[number as u8; 255]].concat()));
        }
        replace("t", rtype::TXT, &rdata);
    }
    replace(&format!("r{}", number % RING), rtype::A, &address);
    out
}

/// The serial of an SOA record.
fn serial_of(rdata: &[u8]) -> u32 {
    u32::from_be_bytes(*rdata[rdata.len() - 20..].first_chunk().expect("four octets"))
}

/// The first four octets of the first record, from `at`; zero if there is none.
fn number_of(response: &Response, at: usize) -> u32 {
    response
        .answer
        .first()
        .map_or(0, |record| u32::from_be_bytes(*record.rdata[at..].first_chunk().expect("a number")))
}

/// A client: some zones, and updates of them in flight.
struct Client<'z> {
    zones: &'z mut [Zone],
    first: usize,
    random: Random,
    waiting: HashMap<u16, (usize, u32)>,
    id: u16,
    /// What the server says to updates that is not NOERROR.
    refused: Vec<u8>,
}

impl Client<'_> {
    fn next(&mut self, is_long: bool) -> Vec<u8> {
        let at = self.random.below(self.zones.len());
        self.zones[at].sent += 1;
        self.id = self.id.wrapping_add(1);
        self.waiting.insert(self.id, (at, self.zones[at].sent));
        message(self.id, self.first + at, self.zones[at].sent, is_long)
    }

    fn heard(&mut self, answer: &[u8]) {
        let id = u16::from_be_bytes([answer[0], answer[1]]);
        let Some((at, number)) = self.waiting.remove(&id) else { return };
        match answer[3] & 15 {
            0 => self.zones[at].acknowledged = self.zones[at].acknowledged.max(number),
            rcode => self.refused.push(rcode),
        }
    }

    /// Sends until the server is gone.
    fn stream(&mut self, server: SocketAddr) {
        let Ok(mut stream) = tcp_stream(server) else { return };
        loop {
            while self.waiting.len() < WINDOW {
                let message = self.next(true);
                if write_framed(&mut stream, &message).is_err() {
                    // What was acknowledged before is there to be read.
                    while let Ok(answer) = read_framed(&mut stream) {
                        self.heard(&answer);
                    }
                    return;
                }
            }
            let Ok(answer) = read_framed(&mut stream) else { return };
            self.heard(&answer);
        }
    }

    fn datagrams(&mut self, server: SocketAddr, is_over: &AtomicBool) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        socket.connect(server).expect("a connected socket");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a time limit");
        let mut buffer = [0; 1500];
        loop {
            let was_over = is_over.load(Ordering::Acquire);
            while self.waiting.len() < WINDOW && !was_over {
                let message = self.next(false);
                if socket.send(&message).is_err() {
                    break;
                }
            }
            match socket.recv(&mut buffer) {
                Ok(octets) => self.heard(&buffer[..octets]),
                Err(_) if was_over => return,
                Err(_) => {}
            }
        }
    }
}

/// What came of it.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    starts_killed: usize,
    acknowledged: u64,
    /// Sent and never answered: there after the start, and not.
    kept: u64,
    lost: u64,
    shortened: u64,
    starts: Vec<Duration>,
}

struct Bed {
    files: tempfile::TempDir,
    address: SocketAddr,
    zones: Vec<Zone>,
    random: Random,
    tally: Tally,
}

impl Bed {
    fn new(seed: u64, zones: usize) -> Bed {
        let files = tempfile::tempdir().expect("a scratch folder");
        write(files.path(), "zone", ZONE);
        let names: String = (0..zones).map(|zone| origin(zone) + "\n").collect();
        write(files.path(), "names", &names);
        let zones = vec![Zone { serial: 1, ..Zone::default() }; zones];
        Bed { files, address: free_address(), zones, random: Random::new(seed), tally: Tally::default() }
    }

    fn spawn(&self) -> Guarded {
        let path = self.files.path().display();
        let more = format!(
            "pack-directory = \"{path}/packs\"\njournal-octets = {JOURNAL_OCTETS}\n\n[access]\nupdate = \"all\"\n\n\
             [[zone]]\nnames-file = \"{path}/names\"\nfile = \"{path}/zone\"\n"
        );
        let settings =
            write(self.files.path(), "zonda.toml", &settings(self.files.path(), self.address, &[], &more));
        let mut command = program_command(&["serve", "--config"]);
        command.arg(settings).current_dir(self.files.path());
        // The folder must outlive this server: its guard has one of its own.
        let scratch = self.files.path().join("guard");
        std::fs::create_dir_all(&scratch).expect("a folder");
        Guarded::spawn(command, &scratch)
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.files.path().join("guard/log")).unwrap_or_default())
            .into_owned()
    }

    /// Starts it, and waits until all zones are answered for, and then until they can be updated.
    fn start(&mut self) -> Guarded {
        let begun = Instant::now();
        let process = self.spawn();
        let mut left = (0..self.zones.len()).peekable();
        while let Some(&zone) = left.peek() {
            assert!(begun.elapsed() < START_MAX && process.is_running(), "no start\n{}", self.log());
            let query = Query::new(&origin(zone), rtype::SOA).octets();
            match udp_within(self.address, &query, Duration::from_millis(50)) {
                Ok(Some(answer)) if answer[3] & 15 == 0 => drop(left.next()),
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
        self.tally.starts.push(begun.elapsed());
        self.check();
        while !self.log().contains("INFO serving ") {
            assert!(begun.elapsed() < START_MAX && process.is_running(), "no start\n{}", self.log());
            std::thread::sleep(Duration::from_millis(2));
        }
        process
    }

    /// Compares what is served with what clients know, and takes it over.
    fn check(&mut self) {
        let labels: Vec<String> =
            std::iter::once("a".to_owned()).chain((0..RING).map(|at| format!("r{at}"))).collect();
        let queries: Vec<Vec<u8>> = (0..self.zones.len())
            .flat_map(|zone| {
                let addresses =
                    labels.iter().map(move |label| Query::of(below(label, zone), rtype::A).octets());
                std::iter::once(Query::new(&origin(zone), rtype::SOA).octets()).chain(addresses)
            })
            .collect();
        let answers = batch(self.address, Transport::Udp, &queries);
        let answers: Vec<Response> = answers
            .iter()
            .map(|answer| Response::parse(answer.as_ref().expect("an answer")).expect("a response"))
            .collect();
        let long = self.random.below(self.zones.len());
        for (at, (zone, answers)) in self.zones.iter_mut().zip(answers.chunks(labels.len() + 1)).enumerate() {
            let serial = serial_of(&answers[0].answer.first().expect("an SOA record").rdata);
            let number = number_of(&answers[1], 0);
            let Zone { acknowledged, sent, seen, .. } = *zone;
            assert!(
                acknowledged <= number && number <= sent,
                "zone {at}: {number}, not {acknowledged} to {sent}"
            );
            assert!(seen <= number, "zone {at}: {number}, and {seen} was served before");
            assert!(
                zone.serial <= serial,
                "zone {at}: serial {serial}, and {} was served before",
                zone.serial
            );
            for back in 0..RING.min(number) {
                let there = number_of(&answers[2 + ((number - back) % RING) as usize], 0);
                assert_eq!(there, number - back, "zone {at}: a half of an update before {number}");
            }
            self.tally.kept += u64::from(number - acknowledged);
            self.tally.lost += u64::from(sent - number);
            if at == long {
                let text = ask(self.address, Transport::Tcp, &Query::of(below("t", at), rtype::TXT));
                let there = text.answer.first().map_or(0, |_| number_of(&text, 1));
                assert_eq!(there, number - number % RING, "zone {at}: a half of an update at {number}");
            }
            *zone = Zone { acknowledged: number, sent: number, seen: number, serial };
        }
    }

    /// Has clients send updates and others look, until the server is killed after this long.
    fn kill_under_load(&mut self, mut process: Guarded, after: Duration) {
        let before: u64 = self.zones.iter().map(|zone| u64::from(zone.acknowledged)).sum();
        let (address, is_over) = (self.address, AtomicBool::new(false));
        let mut seen: Vec<(u32, u32)> = self.zones.iter().map(|zone| (zone.seen, zone.serial)).collect();
        let part = self.zones.len().div_ceil(CLIENTS);
        let seeds: Vec<u64> = (0..=CLIENTS).map(|_| self.random.bits()).collect();
        let is_over = &is_over;
        let refused = std::thread::scope(|scope| {
            let clients: Vec<_> = self
                .zones
                .chunks_mut(part)
                .enumerate()
                .map(|(at, zones)| {
                    let random = Random::new(seeds[at]);
                    let mut client = Client {
                        zones,
                        first: at * part,
                        random,
                        waiting: HashMap::new(),
                        id: 0,
                        refused: Vec::new(),
                    };
                    scope.spawn(move || {
                        match at {
                            0 => client.datagrams(address, is_over),
                            _ => client.stream(address),
                        }
                        client.refused
                    })
                })
                .collect();
            let (seen, mut random) = (&mut seen, Random::new(seeds[CLIENTS]));
            scope.spawn(move || {
                while !is_over.load(Ordering::Acquire) {
                    look(address, random.below(seen.len()), seen);
                }
            });
            std::thread::sleep(after);
            signal(process.pid(), "KILL");
            process.wait(Duration::from_secs(10)).expect("an end");
            is_over.store(true, Ordering::Release);
            clients.into_iter().flat_map(|client| client.join().expect("a client")).collect::<Vec<u8>>()
        });
        assert_eq!(refused, [0u8; 0], "updates are refused\n{}", self.log());
        for (zone, (number, serial)) in self.zones.iter_mut().zip(seen) {
            (zone.seen, zone.serial) = (number, serial);
        }
        self.tally.kills += 1;
        self.tally.acknowledged +=
            self.zones.iter().map(|zone| u64::from(zone.acknowledged)).sum::<u64>() - before;
    }

    /// Kills a server while it starts.
    fn kill_in_start(&mut self, after: Duration) {
        let mut process = self.spawn();
        std::thread::sleep(after);
        assert!(process.is_running(), "it ended by itself\n{}", self.log());
        signal(process.pid(), "KILL");
        process.wait(Duration::from_secs(10)).expect("an end");
        (self.tally.kills, self.tally.starts_killed) = (self.tally.kills + 1, self.tally.starts_killed + 1);
    }

    fn run(mut self, kills: usize) -> Tally {
        while self.tally.kills < kills {
            let process = self.start();
            let after = Duration::from_micros(self.random.below(300_000) as u64);
            self.kill_under_load(process, after);
            // One start in three is killed too, some of those twice in a row: at a moment of the time that the last one took.
            while self.random.one_in(3) {
                let whole = self.tally.starts.last().map_or(0, Duration::as_micros) as usize;
                let after = Duration::from_micros(self.random.below(whole + 1) as u64);
                self.kill_in_start(after);
            }
        }
        let process = self.start();
        self.tally.shortened = anchor_number(&self.files.path().join("packs/journal/anchor"));
        drop(process);
        self.tally
    }
}

/// Asks for the number and the serial of a zone: what was served stays, whatever comes.
fn look(server: SocketAddr, zone: usize, seen: &mut [(u32, u32)]) {
    let wait = Duration::from_millis(20);
    let number = udp_within(server, &Query::of(below("a", zone), rtype::A).octets(), wait);
    let serial = udp_within(server, &Query::new(&origin(zone), rtype::SOA).octets(), wait);
    let parsed = |answer: std::io::Result<Option<Vec<u8>>>| Response::parse(&answer.ok().flatten()?).ok();
    let (Some(number), Some(serial)) = (parsed(number), parsed(serial)) else { return };
    let (number, serial) = (number_of(&number, 0), serial_of(&serial.answer[0].rdata));
    let (number_before, serial_before) = seen[zone];
    assert!(number >= number_before && serial >= serial_before, "zone {zone} goes back while it is served");
    seen[zone] = (number, serial);
}

/// How often the beginning of the log was moved (docs/design/journal.md 4): the higher number of the two pages.
fn anchor_number(path: &Path) -> u64 {
    let octets = std::fs::read(path).unwrap_or_default();
    let numbers = octets.chunks(4096).filter_map(|page| page.get(16..24)?.first_chunk().copied());
    numbers.map(u64::from_le_bytes).max().unwrap_or(0)
}

fn killed(seed: u64, kills: usize, zones: usize) -> Tally {
    eprintln!("seed {seed}");
    let mut tally = Bed::new(seed, zones).run(kills);
    tally.starts.sort();
    let (median, longest) = (tally.starts[tally.starts.len() / 2], tally.starts[tally.starts.len() - 1]);
    let Tally { kills, starts_killed, acknowledged, kept, lost, shortened, .. } = tally;
    eprintln!(
        "{kills} kills, {starts_killed} of them in starts; {acknowledged} updates acknowledged, all there; {kept} unanswered ones there, \
         {lost} not, none by half; the log shortened {shortened} times; {} starts: median {median:?}, longest {longest:?}",
        tally.starts.len()
    );
    tally
}

#[test]
fn killed_at_some_moments() {
    let tally = killed(14, 15, 40);
    assert!(tally.acknowledged > 100, "{tally:?}");
}

mod long {
    /// `ZONDA_SEED` repeats one.
    #[test]
    #[ignore = "long: make test-long"]
    fn killed_at_a_thousand_moments() {
        let given = std::env::var("ZONDA_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a time");
        let tally = super::killed(given.unwrap_or(now.as_nanos() as u64), 1000, 100);
        assert!(tally.shortened >= 10 && tally.kept + tally.lost > 1000, "{tally:?}");
    }
}
