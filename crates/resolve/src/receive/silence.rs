//! Silence: a question's time is over, and what that says of the server.

use std::net::SocketAddr;

use crate::ask::exchange::Way;
use crate::limits::{LATE_MAX, WINDOW_CONFIGURED};
use crate::resolver::Resolver;
use crate::task::state::State;
use crate::task::{OverStream, Source, Task};
use crate::world::World;

impl Resolver {
    /// The newest question of a task had no answer in time.
    pub(crate) fn timed_out(&mut self, task: &mut Task, world: &mut dyn World) {
        let (State::Asking { exchange, .. } | State::Streaming { exchange, .. }) = task.state else { return };
        self.note_silence(task);
        task.state = State::Choosing;
        self.counters.timeouts.add(1);
        let Some(late) = self.exchanges.get(exchange) else { return };
        let (server, sent, way) = (late.server, late.sent, late.way);
        let is_common = COMMON.contains(&late.rtype) && !matches!(task.place.source, Source::Forward(_));
        let late_max = match task.place.source {
            Source::Stub(_) | Source::Forward(_) => WINDOW_CONFIGURED,
            Source::Cut | Source::Hints | Source::Mirror => LATE_MAX,
        };
        if let Some(oldest) = self.exchanges.set_late(exchange, late_max) {
            self.close_exchange(oldest, world);
        }
        let now = self.time.now;
        let zone = world.servers().zone(&task.place.zone);
        if is_common && self.network.timed_out(&server, zone, sent, now) {
            world.servers().update(&server, now, |quality| quality.timed_out(zone, now));
        }
        if let Way::Stream(_) = way {
            self.stream_failed(task, &server);
        }
    }

    /// A forwarder answers what others did not in their time: then it was they, and not the name that is slow.
    pub(crate) fn blame_forwarders(&self, task: &Task, heard: &SocketAddr, world: &mut dyn World) {
        if !matches!(task.place.source, Source::Forward(_)) {
            return;
        }
        let (servers, now) = (world.servers(), self.time.now);
        let zone = servers.zone(&task.place.zone);
        let open = task.open.iter().flatten().filter_map(|id| self.exchanges.get(*id));
        for silent in open.filter(|exchange| exchange.is_late && exchange.server != *heard) {
            servers.update(&silent.server, now, |quality| quality.timed_out(zone, now));
        }
    }

    /// A server did not answer over a stream. Where that was only tried because letters changed, their case is not looked at.
    pub(crate) fn stream_failed(&mut self, task: &mut Task, server: &SocketAddr) {
        match task.over_stream {
            Some(OverStream::Case) => (task.over_stream, task.is_case_plain) = (None, true),
            _ => task.candidates.leave_out(server),
        }
    }
}

/// Types that every server answers: silence to others says nothing about the server, as some drop what they do not know.
const COMMON: [u16; 8] = {
    use wire::iana::rtype::{A, AAAA, DNSKEY, DS, MX, NS, SOA, TXT};
    [A, AAAA, NS, SOA, MX, TXT, DS, DNSKEY]
};
