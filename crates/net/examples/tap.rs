//! What an answer costs a worker while nobody reads its tap, with a sample, and with all: `tap QUERIES ONE-IN`, 0 for nobody.
//!
//! Queries of 40 octets are answered with 260, and whole messages are told. They come in batches of 64, as the worker is held up while they are sent. The
//! instructions of two runs of different lengths can be subtracted; the worker is the second thread:
//! `valgrind --tool=callgrind --separate-threads=yes tap 6400 1`.

use std::net::UdpSocket;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use net::{Asked, BATCH, Driver, Listen, Queries, Server, Service};
use sync::tap::Wants;

const QUERY_OCTETS: usize = 40;
const RESPONSE_OCTETS: usize = 260;

/// Held up by a query of one octet.
struct Fixed {
    barrier: Arc<Barrier>,
}

impl Service for Fixed {
    type Message = ();

    fn queries(&mut self, queries: &mut Queries<'_>, _: &mut Driver<'_, ()>) {
        while let Some(Asked { query, room, .. }) = queries.next_query() {
            if query.len() < QUERY_OCTETS {
                self.barrier.wait();
                continue;
            }
            room[..QUERY_OCTETS].copy_from_slice(&query[..QUERY_OCTETS]);
            queries.answer(RESPONSE_OCTETS);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number =
        || arguments.next().ok_or("usage: tap QUERIES ONE-IN")?.parse::<u32>().map_err(|_| "no number");
    let (queries, one_in) = (number()? as usize, number()?);
    let listen = Listen { addresses: vec!["127.0.0.1:0".parse()?], workers: 1, ..Listen::default() };
    let barrier = Arc::new(Barrier::new(2));
    let of_worker = Arc::clone(&barrier);
    let running = Server::bind(&listen)?.start(move |_| Fixed { barrier: Arc::clone(&of_worker) })?;
    let wants = Wants { one_in, query_octets: u16::MAX, response_octets: u16::MAX, others: false };
    let mut reader = if one_in > 0 { running.taps()[0].attach(wants) } else { None };
    let client = UdpSocket::bind("127.0.0.1:0")?;
    client.connect(running.listeners()[0].address)?;
    client.set_read_timeout(Some(Duration::from_secs(10)))?;
    let (mut record, mut told) = (Vec::new(), 0);
    for _ in 0..queries.div_ceil(BATCH) {
        client.send(&[7])?;
        for _ in 0..BATCH {
            client.send(&[7; QUERY_OCTETS])?;
        }
        barrier.wait();
        for _ in 0..BATCH {
            client.recv(&mut [0; 512])?;
        }
        while reader.as_mut().is_some_and(|reader| reader.read(&mut record)) {
            told += 1;
        }
    }
    let counters = running.counters()[0];
    println!("{} answers in {} batches, {told} told", counters.udp_responses, counters.udp_batches);
    Ok(())
}
