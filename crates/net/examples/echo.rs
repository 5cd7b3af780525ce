//! An echo server, which shows what the packet path itself costs: `echo ADDRESS:PORT [QUERIES]`.
//!
//! Ends after so many queries where a number is given, so that the instructions of two runs can be subtracted:
//! `valgrind --tool=callgrind echo 127.0.0.1:5301 100000`.

use std::time::Duration;

use net::{Asked, Driver, Listen, Queries, Server, Service, WorkerCounters};

struct Echo;

impl Service for Echo {
    type Message = ();

    fn queries(&mut self, queries: &mut Queries<'_>, _: &mut Driver<'_, ()>) {
        while let Some(Asked { query, room, .. }) = queries.next_query() {
            let octets = query.len().min(room.len());
            room[..octets].copy_from_slice(&query[..octets]);
            // QR, so that load generators take it for a response.
            if let Some(flags) = room[..octets].get_mut(2) {
                *flags |= 0x80;
            }
            queries.answer(octets);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().ok_or("usage: echo ADDRESS:PORT [QUERIES]")?.parse()?;
    let queries = arguments.next().map_or(Ok(u64::MAX), |count| count.parse())?;
    let listen = Listen { addresses: vec![address], workers: 1, ..Listen::default() };
    let running = Server::bind(&listen)?.start(|_| Echo)?;
    let count =
        |counters: Vec<WorkerCounters>| counters.iter().map(|one| one.udp_queries + one.tcp_queries).sum();
    let mut done: u64 = 0;
    while done < queries {
        std::thread::sleep(Duration::from_millis(50));
        done = count(running.counters());
    }
    for counters in running.stop(Duration::from_secs(1)) {
        for (name, _, value) in counters.each().filter(|(_, _, value)| *value > 0) {
            println!("{name} {value}");
        }
    }
    Ok(())
}
