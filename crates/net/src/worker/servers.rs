//! What comes from other servers: datagrams, and what happens to streams.

use super::Worker;
use crate::context::Transport;
use crate::service::Service;
use crate::upstream::{PathId, StreamId};

impl<S: Service> Worker<S> {
    /// Takes what waits at a socket that other servers answer to.
    pub(super) fn take_arrivals(&mut self, path: PathId) {
        while self.host.core.upstream.receive(path) {
            self.tell_arrivals();
        }
    }

    pub(super) fn tell_arrivals(&mut self) {
        let arrivals = self.host.core.upstream.take_arrivals();
        if self.host.core.tap.tells_others() {
            for arrival in arrivals.iter() {
                self.host.core.tap.arrival(arrival.sender, Transport::Udp, arrival.octets);
            }
        }
        self.event(|service, driver| service.arrivals(&arrivals, driver));
        self.host.core.upstream.give_back(arrivals);
    }

    /// Goes on with a stream to a server, and tells what that brought.
    pub(super) fn turn_stream(&mut self, id: StreamId) {
        // It is ready still in the next turn.
        let Some(brought) = self.host.core.upstream.turn(id) else { return };
        if brought.is_open {
            self.event(|service, driver| service.connected(id, driver));
        }
        for message in brought.messages() {
            // The service may have closed it, or have panicked, meanwhile.
            let core = &mut self.host.core;
            let Some((server, transport)) = core.upstream.to(id) else { break };
            core.upstream.told(id);
            core.tap.arrival(server, transport, message);
            self.event(|service, driver| service.message(id, message, driver));
        }
        self.host.core.upstream.give_back_stream(id, brought);
    }

    /// Tells of streams that have ended. Those that end by what the service does then are told in the next turn.
    pub(super) fn tell_ended(&mut self) {
        if self.host.core.upstream.has_ended() {
            for (id, why) in self.host.core.upstream.take_ended() {
                self.event(|service, driver| service.closed(id, why, driver));
            }
        }
    }

    /// Tells of datagrams that could not be sent. What the service asks then leaves with this event; if that fails too it is told in the next turn.
    pub(super) fn tell_unsent(&mut self) {
        if self.host.core.upstream.has_failed() {
            let unsent = self.host.core.upstream.take_failed();
            self.event(|service, driver| service.unsent(&unsent, driver));
        }
    }
}
