//! Queries over UDP: bursts of datagrams from one flow after the other.

use std::{
    io,
    net::UdpSocket,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{Link, Settings, book::Book, flows::Flows, pace::Share};
use crate::{
    Error,
    mmsg::{self, Batch, Epoll},
    query::QUERY_OCTETS_MAX,
};

/// Octets kept of a reply: header and question are looked at, nothing else; its full length is known anyway.
const REPLY_OCTETS: usize = QUERY_OCTETS_MAX;
/// Where answers are compared or recorded, they are kept whole: the largest datagram.
const WHOLE_REPLY_OCTETS: usize = 65_535;
/// Where trains are taken: room for one, and how many at once.
const TRAIN_ROOM_OCTETS: usize = 65_535;
const TRAINS: usize = 16;
/// Ready sockets taken from the system at once.
const EVENTS: usize = 64;

/// The sockets of a worker and the buffers of their calls.
pub struct Udp {
    settings: Settings,
    flows: Flows,
    next_flow: usize,
    /// When each flow sent its last query.
    sent_ns: Vec<u64>,
    epoll: Epoll,
    send_batch: Batch,
    receive_batch: Batch,
    /// The next train.
    train: Batch,
}

impl Udp {
    /// Opens the sockets.
    pub fn open(settings: &Settings, share: Share) -> Result<Udp, Error> {
        let fault = |cause| Error::Socket { address: settings.server, action: "make sockets towards", cause };
        let flows = Flows::open(settings, share)?;
        let epoll = Epoll::new(EVENTS).map_err(fault)?;
        for flow in 0..flows.count() {
            prepare(flows.socket(flow), settings).map_err(fault)?;
            epoll.add(flows.socket(flow), flow as u64).map_err(fault)?;
        }
        Ok(Udp {
            settings: settings.clone(),
            sent_ns: vec![0; flows.count()],
            flows,
            next_flow: 0,
            epoll,
            send_batch: Batch::new(settings.burst, QUERY_OCTETS_MAX),
            receive_batch: receive_batch(settings),
            train: Batch::with_controls(1, mmsg::TRAIN_OCTETS_MAX),
        })
    }

    /// Sends the next `count` queries as packets of their own; returns how many went out.
    fn send_batch(&mut self, book: &Book<'_>, flow: usize, count: usize) -> io::Result<usize> {
        let mut query = book.next_query();
        for slot in 0..count {
            let room = self.send_batch.slot_mut(slot);
            let octets = book.queries().write(query, room);
            room[..2].copy_from_slice(&book.id(flow, slot).to_be_bytes());
            self.send_batch.set_length(slot, octets);
            query = book.after(query);
        }
        self.send_batch.send(self.flows.socket(flow), 0, count)
    }

    /// Sends the next queries as one train, up to `most` and up to a change of their length; returns how many.
    fn send_train(&mut self, book: &Book<'_>, flow: usize, most: usize) -> io::Result<usize> {
        let mut query = book.next_query();
        let octets = book.queries().octets(query);
        let most = most.min(mmsg::TRAIN_MAX).min(mmsg::TRAIN_OCTETS_MAX / octets);
        let rooms = self.train.slot_mut(0).chunks_exact_mut(octets).take(most);
        let mut count = 0;
        for room in rooms {
            if book.queries().octets(query) != octets {
                break;
            }
            book.queries().write(query, room);
            room[..2].copy_from_slice(&book.id(flow, count).to_be_bytes());
            query = book.after(query);
            count += 1;
        }
        self.train.set_length(0, count * octets);
        // A query is far shorter than 64 KiB.
        self.train.set_segment(0, octets as u16);
        self.train.send(self.flows.socket(flow), 0, 1)?;
        Ok(count)
    }

    /// Gives the flow whose turn is next another source port, unless its queries may still be answered.
    fn renew_next(&mut self, book: &mut Book<'_>, now_ns: u64) -> Result<(), Error> {
        let flow = self.next_flow;
        let timeout_ns = self.settings.timeout.as_nanos() as u64;
        if book.waiting(flow) > 0 {
            if now_ns.saturating_sub(self.sent_ns[flow]) <= timeout_ns {
                return Ok(());
            }
            book.forget(flow, u64::MAX);
        }
        let address = self.settings.server;
        let fault = |cause| Error::Socket { address, action: "make sockets towards", cause };
        let socket = self.flows.renew(flow)?;
        prepare(socket, &self.settings).map_err(fault)?;
        // The old one left the set when it was closed.
        self.epoll.add(socket, flow as u64).map_err(|cause| Error::Socket {
            address,
            action: "make sockets towards",
            cause,
        })?;
        book.outcome.renewed += 1;
        Ok(())
    }

    /// Notes how long replies were there before they were read.
    fn note_receipt(&self, book: &mut Book<'_>, count: usize) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        for slot in 0..count {
            if let Some(came) = self.receive_batch.time(slot) {
                let receipt_ns = now.saturating_sub(came).as_nanos() as u64;
                book.outcome.receipt.saturating_record(receipt_ns.max(1));
            }
        }
    }

    /// Sorts the errors of a socket call: those that pass are counted and mean nothing moved.
    fn judge(&self, book: &mut Book<'_>, result: io::Result<usize>) -> Result<usize, Error> {
        let error = match result {
            Ok(count) => return Ok(count),
            Err(error) => error,
        };
        match (error.kind(), error.raw_os_error()) {
            (io::ErrorKind::ConnectionRefused, _) => book.outcome.refused += 1,
            (io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted, _) | (_, Some(libc::ENOBUFS)) => {
                book.outcome.blocked += 1;
            }
            _ => {
                return Err(Error::unreachable(self.settings.server, "talk to", error));
            }
        }
        Ok(0)
    }
}

/// Sets what a socket of a flow is to tell and take.
fn prepare(socket: &UdpSocket, settings: &Settings) -> io::Result<()> {
    if settings.check_latency {
        mmsg::stamp(socket)?;
    }
    if settings.trains {
        mmsg::take_trains(socket)?;
    }
    Ok(())
}

/// Room for replies.
fn receive_batch(settings: &Settings) -> Batch {
    let whole = settings.expected.is_some() || settings.record_answers;
    let octets = if whole { WHOLE_REPLY_OCTETS } else { REPLY_OCTETS };
    match settings {
        Settings { trains: true, .. } => Batch::with_controls(TRAINS, TRAIN_ROOM_OCTETS),
        Settings { check_latency: true, burst, .. } => Batch::with_controls(*burst.max(&64), octets),
        Settings { burst, .. } => Batch::new(*burst.max(&64), octets),
    }
}

impl Link for Udp {
    fn flows(&self) -> usize {
        self.flows.count()
    }

    fn burst(&self) -> usize {
        self.send_batch.count()
    }

    fn send(&mut self, book: &mut Book<'_>, times_ns: &[u64]) -> Result<usize, Error> {
        let flow = self.next_flow;
        let most = times_ns.len().min(self.send_batch.count());
        let result = match self.settings.trains {
            true => self.send_train(book, flow, most),
            false => self.send_batch(book, flow, most),
        };
        let sent = self.judge(book, result)?;
        let now_ns = book.now_ns();
        book.sent(flow, &times_ns[..sent], now_ns);
        self.sent_ns[flow] = now_ns;
        self.next_flow = if flow + 1 < self.flows.count() { flow + 1 } else { 0 };
        if self.flows.is_renewal_due(sent) {
            self.renew_next(book, now_ns)?;
        }
        Ok(sent)
    }

    fn receive(&mut self, book: &mut Book<'_>, wait_ms: i32) -> Result<u64, Error> {
        let address = self.settings.server;
        let fault = |cause| Error::Socket { address, action: "receive from", cause };
        let ready = self.epoll.wait(wait_ms).map_err(fault)?;
        for event in 0..ready {
            let flow = self.epoll.token(event) as usize;
            // One more than wait, for replies that nobody waits for; what is beyond is reported again.
            let most = book.waiting(flow) as usize + 1;
            let result = self.receive_batch.receive_up_to(self.flows.socket(flow), false, false, most);
            let count = self.judge(book, result)?;
            let now_ns = book.now_ns();
            if self.settings.check_latency {
                self.note_receipt(book, count);
            }
            for slot in 0..count {
                if self.settings.trains {
                    let replies = self.receive_batch.datagrams(slot);
                    replies.for_each(|reply| book.take_reply(flow, reply, reply.len(), now_ns));
                } else {
                    let octets = self.receive_batch.length(slot);
                    book.take_reply(flow, self.receive_batch.datagram(slot), octets, now_ns);
                }
            }
        }
        Ok(ready as u64)
    }
}
