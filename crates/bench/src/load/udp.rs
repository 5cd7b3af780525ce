//! Queries over UDP: bursts of datagrams from one flow after the other.

use std::{
    io,
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
    train: Vec<u8>,
}

impl Udp {
    /// Opens the sockets.
    pub fn open(settings: &Settings, share: Share) -> Result<Udp, Error> {
        let fault = |cause| Error::Socket { address: settings.server, action: "make sockets towards", cause };
        let flows = Flows::open(settings, share)?;
        let epoll = Epoll::new(EVENTS).map_err(fault)?;
        for flow in 0..flows.count() {
            if settings.check_latency {
                mmsg::stamp(flows.socket(flow)).map_err(fault)?;
            }
            epoll.add(flows.socket(flow), flow as u64).map_err(fault)?;
        }
        let whole = settings.expected.is_some() || settings.record_answers;
        let reply_octets = if whole { WHOLE_REPLY_OCTETS } else { REPLY_OCTETS };
        let receive_slots = settings.burst.max(64);
        Ok(Udp {
            settings: settings.clone(),
            sent_ns: vec![0; flows.count()],
            flows,
            next_flow: 0,
            epoll,
            send_batch: Batch::new(settings.burst, QUERY_OCTETS_MAX),
            receive_batch: match settings.check_latency {
                true => Batch::with_times(receive_slots, reply_octets),
                false => Batch::new(receive_slots, reply_octets),
            },
            train: Vec::new(),
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
        let mut count = 0;
        self.train.clear();
        while count < most.min(mmsg::TRAIN_MAX) && book.queries().octets(query) == octets {
            let start = self.train.len();
            self.train.resize(start + octets, 0);
            book.queries().write(query, &mut self.train[start..]);
            self.train[start..start + 2].copy_from_slice(&book.id(flow, count).to_be_bytes());
            query = book.after(query);
            count += 1;
        }
        mmsg::send_train(self.flows.socket(flow), &self.train, octets as u16)?;
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
        if self.settings.check_latency {
            mmsg::stamp(socket).map_err(fault)?;
        }
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
                let octets = self.receive_batch.length(slot);
                book.take_reply(flow, self.receive_batch.datagram(slot), octets, now_ns);
            }
        }
        Ok(ready as u64)
    }
}
