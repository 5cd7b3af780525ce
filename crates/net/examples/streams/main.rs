//! How long UDP clients wait while large responses leave over TCP.
//!
//! `cargo run --release -p net --example streams [-- OPTION VALUE ...]`
//!
//! One worker on one processor serves a toy: it answers a datagram at once and a query of type AXFR over TCP with a stream. The
//! client is one thread on another processor, so that nothing but the server can make queries wait: it goes round between
//! the queries that are due (an open loop of even gaps; a latency runs from the time a query was due), the answers, and a portion
//! of what one connection has. What connections bring is counted and thrown away by the system, uncopied.
//!
//! Each pair is a run with streams, from the first query to their last octet, and one as long without, in random order. The verdict
//! is the median, over the pairs, of the ratio of their p99; a lost answer counts as one of a second. Exit status 1: above the limit,
//! or a stream with too few octets or too many.
//!
//! | option | default | |
//! |---|---|---|
//! | `--pairs` | 9 | |
//! | `--streams` | 100 | connections, a stream each |
//! | `--octets` | 100000000 | octets of the messages of a stream |
//! | `--message` | 16384 | octets of a message, up to 65535 |
//! | `--rate` | 20000 | queries a second over UDP |
//! | `--rest` | 200 | milliseconds of silence before each run |
//! | `--limit` | 1.5 | largest median of ratios that passes |
//! | `--seed` | 1 | of the order within pairs |

mod client;
mod toy;

use std::net::SocketAddr;
use std::time::Duration;

use client::{Client, Outcome};
use net::{Listen, Pin, Server, TcpLimits, WorkerCounters, allowed_processors};
use sync::random::Random;

/// What the arguments say.
pub struct Settings {
    pairs: usize,
    streams: usize,
    octets: u64,
    message: usize,
    rate: u64,
    rest: Duration,
    limit: f64,
    seed: u64,
}

impl Settings {
    fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut settings = Self {
            pairs: 9,
            streams: 100,
            octets: 100_000_000,
            message: 16_384,
            rate: 20_000,
            rest: Duration::from_millis(200),
            limit: 1.5,
            seed: 1,
        };
        let mut arguments = arguments;
        while let Some(option) = arguments.next() {
            let value = arguments.next().ok_or(format!("{option} wants a value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("{option} {value}: not a number"));
            match &*option {
                "--pairs" => settings.pairs = number()?.max(1) as usize,
                "--streams" => settings.streams = number()? as usize,
                "--octets" => settings.octets = number()?,
                "--message" => settings.message = number()?.clamp(1, 65_535) as usize,
                "--rate" => settings.rate = number()?.max(1),
                "--rest" => settings.rest = Duration::from_millis(number()?),
                "--limit" => settings.limit = value.parse().map_err(|_| format!("{value}: not a number"))?,
                "--seed" => settings.seed = number()?,
                _ => {
                    return Err(format!(
                        "{option}: not an option; the head of the source tells which there are"
                    ));
                }
            }
        }
        Ok(settings)
    }
}

fn main() -> Result<(), String> {
    let settings = Settings::read(std::env::args().skip(1))?;
    let processors = allowed_processors();
    let &[server, client, ..] = &processors[..] else { return Err("two processors are needed".into()) };
    let unlimited =
        TcpLimits { connections_per_prefix: 0, connections: settings.streams + 10, ..TcpLimits::default() };
    let listen = Listen {
        addresses: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        workers: 1,
        pin: Pin::List(vec![server]),
        tcp: unlimited,
        ..Listen::default()
    };
    let bound = Server::bind(&listen).map_err(|error| error.to_string())?;
    let (octets, message) = (settings.octets, settings.message);
    let running = bound.start(move |_| toy::Toy { octets, message }).map_err(|error| error.to_string())?;
    client::pin_to(client).map_err(|error| error.to_string())?;
    let mut client = Client::new(running.listeners()[0].address, settings.rate)?;
    // Caches, sockets and the clock of the processor are warm from here on.
    client.run(Duration::from_millis(500), None)?;
    let ratios = pairs(&settings, &mut client)?;
    let counters =
        running.stop(Duration::from_secs(5)).into_iter().fold(WorkerCounters::default(), WorkerCounters::sum);
    let expected = (settings.pairs * settings.streams) as u64;
    if counters.streams_completed != expected {
        return Err(format!("{} of {expected} streams came to their end", counters.streams_completed));
    }
    let median = ratios[ratios.len() / 2];
    println!("p99 with streams / p99 without: median {median:.2} of {} pairs, {ratios:.2?}", ratios.len());
    if median > settings.limit {
        return Err(format!("above {}", settings.limit));
    }
    Ok(())
}

/// All pairs; the ratios of their p99, sorted.
fn pairs(settings: &Settings, client: &mut Client) -> Result<Vec<f64>, String> {
    let mut random = Random::new(settings.seed);
    // How long the last run with streams took: the first pair begins with one.
    let mut span = Duration::ZERO;
    let mut ratios = Vec::new();
    println!(
        "pair  streams  seconds  MB/s   p50 us   p99 us  p99.9 us   max us  lost  left late p99 us  worker busy  stolen"
    );
    for pair in 1..=settings.pairs {
        let mut p99 = [0.0; 2];
        let first = if pair == 1 { 1 } else { (random.next_u64() >> 63) as usize };
        for mode in [first, 1 - first] {
            let streams = (mode == 1).then_some(settings);
            std::thread::sleep(settings.rest);
            let outcome = client.run(span, streams)?;
            if mode == 1 {
                span = outcome.span;
            }
            show(pair, mode == 1, &outcome);
            p99[mode] = outcome.latency.at(0.99);
        }
        println!("{pair:4}  ratio of p99 {:.2}", p99[1] / p99[0]);
        ratios.push(p99[1] / p99[0]);
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios)
}

fn show(pair: usize, has_streams: bool, outcome: &Outcome) {
    let seconds = outcome.span.as_secs_f64();
    println!(
        "{pair:4}  {:7}  {seconds:7.2}  {:5.0}  {:7.1}  {:7.1}  {:8.1}  {:7.1}  {:4}  {:16.1}  {:10.0}%  {:5.1}%",
        if has_streams { "with" } else { "without" },
        outcome.octets as f64 / seconds / 1e6,
        outcome.latency.at(0.5),
        outcome.latency.at(0.99),
        outcome.latency.at(0.999),
        outcome.latency.at(1.0),
        outcome.lost,
        outcome.lateness.at(0.99),
        100.0 * outcome.worker_seconds / seconds,
        100.0 * outcome.stolen_seconds / seconds,
    );
}
