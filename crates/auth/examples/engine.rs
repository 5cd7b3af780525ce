//! How long the engine takes for an answer, without sockets.
//!
//! `cargo run --release -p auth --example engine -- ZONEFILE ORIGIN QUERYFILE [ROUNDS [forget]]`
//!
//! QUERYFILE: a line a query, `NAME TYPE [do|edns|plain] [cookie] [tcp]`, DO by default; with `cookie` a client cookie. Prints processor time and octets per
//! answer, and what the answers were. With `forget` nothing is kept from round to round. For instructions run it under callgrind with two numbers of rounds:
//! (I(2N) - I(N)) / N / queries is the cost of an answer, loading left out.

use auth::{Client, Responder, Server, Transport, inspect};
use wire::NameBuf;
use wire::iana::rtype;

/// Queries answered in one batch, as a busy worker takes them from its socket.
const BATCH: usize = 64;

/// A COOKIE option with a client's part alone (RFC 7873 4.1).
const COOKIE: &[u8; 12] = b"\0\x0a\0\x08client--";

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [zone, origin, queries, rest @ ..] = &arguments[..] else {
        return Err("usage: engine ZONEFILE ORIGIN QUERYFILE [ROUNDS [forget]]".into());
    };
    let rounds: u64 = rest.first().map_or(Ok(100), |text| text.parse()).map_err(|_| "rounds: a number")?;
    let forgets = match rest.get(1).map(String::as_str) {
        None => false,
        Some("forget") => true,
        Some(other) => return Err(format!("unknown word {other}")),
    };
    let read = |path: &str| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let catalog = inspect::catalog(&[(origin, &read(zone)?)])?;
    let queries: Vec<(Vec<u8>, Transport)> =
        read(queries)?.lines().filter(|line| !line.is_empty()).map(query).collect::<Result<_, _>>()?;
    if queries.is_empty() {
        return Err("no queries".into());
    }
    let server = Server::default();
    let mut responder = Responder::new();
    let mut reader = catalog.reader();
    let mut buffer = vec![0; 65535];
    let mut octets = 0;
    let begin = processor_ns();
    for _ in 0..rounds {
        if forgets {
            responder.forget();
        }
        for batch in queries.chunks(BATCH) {
            reader.with(|view| {
                for (query, transport) in batch {
                    octets +=
                        responder.answer(query, view, &server, &Client::unknown(*transport), &mut buffer);
                }
            });
        }
    }
    let ns = processor_ns() - begin;
    let count = rounds * queries.len() as u64;
    println!(
        "{count} answers, {:.1} ns and {:.1} octets each",
        ns as f64 / count as f64,
        octets as f64 / count as f64
    );
    println!("{:#?}", responder.counters());
    Ok(())
}

/// Reads a line of the query file.
fn query(line: &str) -> Result<(Vec<u8>, Transport), String> {
    let mut words = line.split_whitespace();
    let (Some(name), Some(text)) = (words.next(), words.next()) else {
        return Err(format!("expected NAME TYPE: {line}"));
    };
    let name: NameBuf = name.parse().map_err(|error| format!("{name}: {error}"))?;
    let qtype = rtype::from_text(text.as_bytes()).ok_or_else(|| format!("unknown type {text}"))?;
    let (mut edns, mut transport, mut has_cookie) = (Some((1232, true)), Transport::Udp, false);
    for word in words {
        match word {
            "do" => {}
            "edns" => edns = Some((1232, false)),
            "plain" => edns = None,
            "cookie" => has_cookie = true,
            "tcp" => transport = Transport::Tcp,
            _ => return Err(format!("unknown word {word}: {line}")),
        }
    }
    let mut query = inspect::query(0, &name, qtype, edns);
    if has_cookie && edns.is_some() {
        let length = query.len();
        query[length - 1] = COOKIE.len() as u8;
        query.extend(COOKIE);
    }
    Ok((query, transport))
}

/// Processor time of this process, which others on the machine do not disturb much.
fn processor_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0)
}
