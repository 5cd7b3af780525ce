//! Answering over UDP: batches of packets as a server's worker takes them.

use std::{
    io,
    net::UdpSocket,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use bench::{
    Error,
    mmsg::{Batch, SocketOptions, bind},
    random::Random,
};

use crate::{
    memory::{Memory, Store},
    message::{Query, RESPONSE_OCTETS_MAX},
    server::{PUBLISH_EVERY, Server, Session},
    settings::{Data, Service, Settings},
};

/// Packets of a batch.
const BATCH: usize = 64;
/// How long a thread waits for packets before it looks whether it shall end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Binds, tells `ready`, and answers until `stop`; returns how many queries were answered.
pub(crate) fn serve<S: Server>(
    settings: &Settings,
    service: Service,
    stop: &AtomicBool,
    build: impl Fn() -> S + Sync,
    ready: impl FnOnce(),
) -> Result<u64, Error> {
    let sockets = sockets(settings, service)?;
    let memory = Memory::new(settings.memory, settings.areas);
    let shared = (!settings.is_own()).then(&build);
    let learns = settings.data == Data::Cache && settings.hits < 1.0;
    ready();
    thread::scope(|scope| {
        let (memory, shared, build) = (&memory, shared.as_ref(), &build);
        let worker = |(number, socket): (usize, UdpSocket)| {
            move || {
                let own;
                let server = match shared {
                    Some(server) => server,
                    None => {
                        own = build();
                        &own
                    }
                };
                let mut worker = Worker {
                    session: server.session(),
                    misses: if learns { 1.0 - settings.hits } else { 0.0 },
                    random: Random::part(settings.seed, 100 + number as u64),
                    answered: 0,
                };
                let Some(mut store) = memory.store() else { return 0 };
                worker.work(&socket, &mut store, stop);
                worker.answered
            }
        };
        let workers: Vec<_> = sockets.into_iter().enumerate().map(|work| scope.spawn(worker(work))).collect();
        if let Some(server) = shared.filter(|_| learns && S::PUBLISHES) {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    thread::sleep(PUBLISH_EVERY);
                    server.publish();
                }
            });
        }
        Ok(workers.into_iter().map(|worker| worker.join().unwrap_or(0)).sum())
    })
}

/// One for each thread: of its own, or the same.
fn sockets(settings: &Settings, service: Service) -> Result<Vec<UdpSocket>, Error> {
    let fault = |action: &'static str| {
        move |cause: io::Error| Error::Socket { address: service.address, action, cause }
    };
    let options = SocketOptions {
        reuse_port: !service.is_shared,
        receive_octets: service.receive_octets,
        send_octets: 0,
    };
    let new = || -> Result<UdpSocket, Error> {
        let socket = bind(service.address, options).map_err(fault("bind"))?;
        socket.set_read_timeout(Some(LOOK_EVERY)).map_err(fault("set a time limit on"))?;
        Ok(socket)
    };
    if !service.is_shared {
        return (0..settings.threads).map(|_| new()).collect();
    }
    let socket = new()?;
    (0..settings.threads).map(|_| socket.try_clone().map_err(fault("share"))).collect()
}

struct Worker<S: Session> {
    session: S,
    misses: f64,
    random: Random,
    answered: u64,
}

impl<S: Session> Worker<S> {
    fn work(&mut self, socket: &UdpSocket, store: &mut Store<'_>, stop: &AtomicBool) {
        let mut batch = Batch::new(BATCH, RESPONSE_OCTETS_MAX);
        while !stop.load(Ordering::Relaxed) {
            // Nothing came in time, or an earlier reply met an error: a client that is gone.
            let Ok(count) = batch.receive(socket, true, true) else { continue };
            self.session.begin();
            (0..count).for_each(|slot| self.answer(&mut batch, slot, store));
            self.session.end();
            send(&mut batch, socket, count);
        }
    }

    /// Answers one packet in its place; what is no query gets nothing.
    fn answer(&mut self, batch: &mut Batch, slot: usize, store: &mut Store<'_>) {
        let mut response = [0; RESPONSE_OCTETS_MAX];
        let mut octets = 0;
        if let Some((query, place)) = Query::read(batch.datagram(slot)).zip(store.begin()) {
            let is_miss = self.misses > 0.0 && self.random.chance(self.misses);
            self.session.answer(&query, &place, |message| {
                response[..message.len()].copy_from_slice(message);
                octets = message.len();
            });
            if is_miss {
                self.session.learn(&query, self.random.next_u64() as u32);
            }
        }
        self.answered += u64::from(octets > 0);
        batch.slot_mut(slot)[..octets].copy_from_slice(&response[..octets]);
        batch.set_length(slot, octets);
    }
}

/// Sends what has octets, in as few calls as can be.
fn send(batch: &mut Batch, socket: &UdpSocket, count: usize) {
    let mut from = 0;
    while from < count {
        let is_empty = |slot: &usize| batch.datagram(*slot).is_empty();
        let to = (from..count).find(is_empty).unwrap_or(count);
        while from < to {
            // A reply that cannot be sent is lost, as any may be.
            from += batch.send(socket, from, to).unwrap_or(1).max(1);
        }
        from = to + 1;
    }
}
