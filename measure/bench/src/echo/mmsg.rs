//! `mmsg`: batches of packets in one call each way, after a wait with epoll: what a worker of the server does. With
//! trains, each packet of a batch may be a whole train of them.

use std::{io, net::UdpSocket};

use super::{
    Counters,
    epoll::Waiter,
    reply::{Fate, QR},
    trains::Trains,
    worker::Worker,
};
use crate::{
    Error,
    mmsg::{self, Batch},
    sizes::ANSWER_OCTETS_MAX,
};

/// Batches taken before the socket is waited for again, as in a worker that serves other sockets too.
const BATCHES_A_TURN: usize = 16;

/// Room for a train.
const TRAIN_ROOM_OCTETS: usize = 65_535;

/// Serves until stopped.
pub(super) fn run(worker: &mut Worker) -> Result<(), Error> {
    let mut batch = Batch::new(worker.batch, ANSWER_OCTETS_MAX);
    for slot in 0..batch.count() {
        batch.slot_mut(slot).fill(b'z');
    }
    serve(worker, &mut batch, reply)
}

/// The same with trains.
pub(super) fn run_trains(worker: &mut Worker) -> Result<(), Error> {
    mmsg::take_trains(worker.socket).map_err(worker.fault("take trains (UDP_GRO) on"))?;
    let mut batch = Batch::with_controls(worker.batch, TRAIN_ROOM_OCTETS);
    let mut trains = Trains::new(worker.batch);
    serve(worker, &mut batch, |worker, batch, count| reply_with_trains(worker, batch, count, &mut trains))
}

fn serve(
    worker: &mut Worker,
    batch: &mut Batch,
    mut reply: impl FnMut(&mut Worker, &mut Batch, usize),
) -> Result<(), Error> {
    let mut waiter = Waiter::new(worker)?;
    while !worker.is_stopped() {
        let ready = waiter.wait().map_err(worker.fault("wait on"))?;
        worker.relay_turn(ready.upstream);
        for _ in 0..if ready.asked { BATCHES_A_TURN } else { 0 } {
            match batch.receive(worker.socket, true, false) {
                Ok(count) => {
                    reply(worker, batch, count);
                    if count < batch.count() {
                        break;
                    }
                }
                // Anything else is an error an earlier reply met (a client gone): told once, then forgotten.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => {}
            }
        }
    }
    Ok(())
}

fn reply(worker: &mut Worker, batch: &mut Batch, count: usize) {
    worker.counters.received += count as u64;
    for slot in 0..count {
        match worker.judge.fate(batch.datagram(slot), batch.length(slot)) {
            Fate::Reply(size) => {
                batch.slot_mut(slot)[2] |= QR;
                batch.set_length(slot, size);
            }
            Fate::Relay => {
                let (asker, octets) = (batch.peer(slot), batch.datagram(slot).len());
                if let Some(asker) = asker {
                    worker.forward(&mut batch.slot_mut(slot)[..octets], asker);
                }
                batch.set_length(slot, 0);
            }
            Fate::Ignore => {
                worker.counters.ignored += 1;
                batch.set_length(slot, 0);
            }
        }
    }
    send_filled(batch, worker.socket, count, &mut worker.counters);
}

fn reply_with_trains(worker: &mut Worker, batch: &mut Batch, count: usize, trains: &mut Trains) {
    for slot in 0..count {
        let Some(asker) = batch.peer(slot) else { continue };
        for query in batch.datagrams(slot) {
            worker.counters.received += 1;
            match worker.judge.fate(query, query.len()) {
                Fate::Reply(size) => {
                    let size = size.min(ANSWER_OCTETS_MAX);
                    trains.add(worker.socket, asker, query, size, &mut worker.counters);
                }
                // A relay does not go with trains.
                Fate::Ignore | Fate::Relay => worker.counters.ignored += 1,
            }
        }
    }
    trains.send(worker.socket, &mut worker.counters);
}

/// Sends each run of slots with something in them; what the kernel refuses is counted and left.
pub(super) fn send_filled(batch: &mut Batch, socket: &UdpSocket, count: usize, counters: &mut Counters) {
    let mut from = 0;
    while from < count {
        if batch.length(from) == 0 {
            from += 1;
            continue;
        }
        let mut to = from + 1;
        while to < count && batch.length(to) > 0 {
            to += 1;
        }
        match batch.send(socket, from, to) {
            Ok(sent) => {
                let datagrams = (from..from + sent).map(|slot| batch.datagrams(slot).count() as u64);
                counters.sent += datagrams.sum::<u64>();
                from += sent;
            }
            Err(_) => {
                counters.dropped += batch.datagrams(from).count() as u64;
                from += 1;
            }
        }
    }
}
