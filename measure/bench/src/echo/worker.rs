//! One thread at one UDP socket, whatever the way it waits and moves packets.

use std::{
    io,
    net::{SocketAddr, UdpSocket},
    sync::atomic::{AtomicBool, Ordering},
};

use super::{
    Counters, Model, Settings, blocking, epoll, io_uring, mmsg, poll,
    relay::{self, Relay},
    reply::{Fate, Judge, QR},
    select,
};
use crate::{Error, random::Random, sizes::ANSWER_OCTETS_MAX};

/// Which sockets have something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ready {
    /// The one that is asked at.
    pub(super) asked: bool,
    /// The one to the upstream.
    pub(super) upstream: bool,
}

/// What one thread works with.
pub(super) struct Worker<'a> {
    pub(super) socket: &'a UdpSocket,
    /// Where the relay waits for replies.
    pub(super) upstream: Option<&'a UdpSocket>,
    pub(super) judge: Judge<'a>,
    pub(super) relay: Option<Relay<'a>>,
    /// Packets of a call or of a turn.
    pub(super) batch: usize,
    pub(super) counters: Counters,
    address: SocketAddr,
    stop: &'a AtomicBool,
}

/// Serves `socket` as thread number `thread` of all until `stop`.
pub(super) fn run(
    settings: &Settings,
    model: Model,
    socket: &UdpSocket,
    thread: usize,
    stop: &AtomicBool,
) -> Result<Counters, Error> {
    let chooser = settings.relay.map(|relay| (Random::part(relay.seed, thread as u64), relay.share));
    let upstream = settings.relay.map(|relay| relay::connect(relay.upstream)).transpose()?;
    let relay = settings.relay.zip(upstream.as_ref());
    let mut worker = Worker {
        socket,
        upstream: upstream.as_ref(),
        judge: Judge::new(&settings.sizes, chooser),
        relay: relay.map(|(settings, socket)| Relay::new(socket, settings.timeout)),
        batch: settings.batch,
        counters: Counters::default(),
        address: settings.address,
        stop,
    };
    match model {
        Model::Blocking => blocking::run(&mut worker),
        Model::Poll => poll::run(&mut worker),
        Model::Select => select::run(&mut worker),
        Model::Epoll => epoll::run(&mut worker),
        Model::Mmsg if settings.trains => mmsg::run_trains(&mut worker),
        Model::Mmsg => mmsg::run(&mut worker),
        Model::IoUring => io_uring::run(&mut worker),
    }?;
    Ok(worker.counters)
}

impl<'a> Worker<'a> {
    /// Whether the thread shall end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The sockets to wait for, the one that is asked at first.
    pub(super) fn sockets(&self) -> Vec<&'a UdpSocket> {
        [Some(self.socket), self.upstream].into_iter().flatten().collect()
    }

    /// Names a failed call on the socket.
    pub(super) fn fault(&self, action: &'static str) -> impl Fn(io::Error) -> Error + use<> {
        let address = self.address;
        move |cause| Error::Socket { address, action, cause }
    }

    /// Room for one packet, with filler for what a reply has more than its query.
    pub(super) fn room() -> Box<[u8]> {
        vec![b'z'; ANSWER_OCTETS_MAX].into()
    }

    /// The loop of the models that wait for readiness and move one packet a call: up to a batch of packets is
    /// taken before the next `wait`.
    pub(super) fn serve(&mut self, mut wait: impl FnMut() -> io::Result<Ready>) -> Result<(), Error> {
        let fault = self.fault("wait on");
        self.socket.set_nonblocking(true).map_err(&fault)?;
        let mut room = Worker::room();
        while !self.is_stopped() {
            let ready = wait().map_err(&fault)?;
            self.relay_turn(ready.upstream);
            for _ in 0..if ready.asked { self.batch } else { 0 } {
                if !self.take(&mut room) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Takes one packet and answers it; false where there was none.
    pub(super) fn take(&mut self, room: &mut [u8]) -> bool {
        let (length, asker) = match self.socket.recv_from(room) {
            Ok(received) => received,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return false;
            }
            // Anything else is an error an earlier reply met (a client gone): told once, then forgotten.
            Err(_) => return true,
        };
        self.counters.received += 1;
        match self.judge.fate(&room[..length], length) {
            Fate::Ignore => self.counters.ignored += 1,
            Fate::Relay => self.forward(&mut room[..length], asker),
            Fate::Reply(size) => {
                room[2] |= QR;
                match self.socket.send_to(&room[..size.min(room.len())], asker) {
                    Ok(_) => self.counters.sent += 1,
                    Err(_) => self.counters.dropped += 1,
                }
            }
        }
        true
    }

    /// Sends a query on to the upstream.
    pub(super) fn forward(&mut self, query: &mut [u8], asker: SocketAddr) {
        if let Some(relay) = &mut self.relay {
            relay.forward(query, asker, &mut self.counters);
        }
    }

    /// What the relay has to do once a turn: pass replies back where there are some, give up what is overdue.
    pub(super) fn relay_turn(&mut self, has_replies: bool) {
        if let Some(relay) = &mut self.relay {
            if has_replies {
                relay.collect(self.socket, &mut self.counters);
            }
            relay.expire(&mut self.counters);
        }
    }
}
