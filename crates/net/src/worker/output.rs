//! What leaves that is no answer to the batch at hand: replies that come late, streams that begin, datagrams that a full send buffer did not take.

use std::sync::Arc;

use rustix::event::epoll;

use super::Worker;
use crate::context::{Now, wall_nanoseconds};
use crate::driver::{Replies, Start};
use crate::later::Path;
use crate::service::Service;
use crate::tcp::Turn;
use crate::token::Token;

impl<S: Service> Worker<S> {
    /// Sends replies and begins streams.
    pub(super) fn deliver(&mut self) {
        let now = self.host.core.now;
        let mut replies = std::mem::take(&mut self.host.core.replies);
        self.receiver.send_late(&mut self.udp, &replies, now.instant, &self.counters);
        for index in 0..self.udp.len() {
            if !self.udp[index].held.is_empty() {
                self.rearm(index);
            }
        }
        for reply in replies.list() {
            if let Path::Connection { id, .. } = reply.path {
                self.connections.reply(id, replies.octets(reply), &mut lend!(self, now));
            }
        }
        self.tap_late(&replies);
        replies.clear();
        self.host.core.replies = replies;
        for Start { connection, messages } in std::mem::take(&mut self.host.core.starts) {
            self.counters.streams_begun.add(1);
            let sink = Arc::clone(self.host.core.sink());
            self.host.core.streams.add(connection, messages, sink, now.instant);
            self.connections.stir(connection);
        }
    }

    /// Has epoll wait for room to send while UDP socket `index` holds datagrams, and for datagrams otherwise.
    #[cold]
    pub(super) fn rearm(&mut self, index: usize) {
        let port = &mut self.udp[index];
        let waits_to_send = !port.held.is_empty();
        if waits_to_send == port.waits_to_send {
            return;
        }
        port.waits_to_send = waits_to_send;
        let data = Token::Udp(index).data();
        let flags = match (waits_to_send, self.reads) {
            (true, _) => epoll::EventFlags::OUT,
            (false, false) => epoll::EventFlags::empty(),
            (false, true) => port.flags,
        };
        // One that is shared among workers (EPOLLEXCLUSIVE) cannot be modified. A port that epoll refuses to take back
        // could never be read again: memory for it was given back a moment before.
        let _ = epoll::delete(&*self.epoll, &port.socket);
        if let Err(errno) = epoll::add(&*self.epoll, &port.socket, data, flags) {
            let (worker, error) = (self.index, tracing::field::display(errno));
            tracing::error!(
                worker,
                error,
                "worker {worker}: a UDP socket cannot be waited for any more: {errno}"
            );
        }
    }

    /// Drops what ports hold for too long.
    pub(super) fn expire_held(&mut self, now: Now) {
        for index in 0..self.udp.len() {
            let port = &mut self.udp[index];
            if port.held.deadline().is_some_and(|deadline| deadline <= now.instant) {
                self.receiver.flush(port, now.instant, &self.counters);
                self.rearm(index);
            }
        }
    }

    /// Tells the tap of late replies whose queries it was told of.
    fn tap_late(&mut self, replies: &Replies) {
        let tap = &mut self.host.core.tap;
        if tap.wants().is_none() {
            return;
        }
        let mut taken = None;
        for reply in replies.list() {
            let Some(mark) = reply.mark else { continue };
            tap.late(mark, *taken.get_or_insert_with(wall_nanoseconds), replies.octets(reply));
        }
        tap.publish();
    }
}
