//! Streams to servers: a round trip to open, messages in their order unless a server holds one back.

use super::{Happening, World};
use crate::behaviour::StreamFault;
use crate::tested::{Closed, StreamEvent, StreamId, Tested, Unsent};
use crate::time::{MILLISECOND, Micros, SECOND};
use std::net::SocketAddr;
use wire::Transport;

/// How long a handshake may take: what `net` gives up after.
pub const HANDSHAKE_MAX: Micros = 3 * SECOND;
/// How long servers keep a stream on which nothing comes (RFC 7766 6.2.3 wants seconds).
pub const SERVER_IDLE: Micros = 10 * SECOND;
/// How long a server holds an answer back so that the next one comes first.
const HELD_BACK: Micros = 100 * MILLISECOND;

/// An open stream, or one that opens.
pub(super) struct Stream {
    pub to: SocketAddr,
    /// When it takes messages at the server.
    ready: Micros,
    fault: Option<StreamFault>,
    /// When the last message arrives at the resolver.
    last: Micros,
    queries: u64,
    /// When the last query came.
    used: Micros,
}

impl World {
    pub(super) fn open_stream(&mut self, to: SocketAddr) -> Result<StreamId, Unsent> {
        if !self.internet.is_reachable(to.ip()) {
            return Err(Unsent::Unreachable);
        }
        self.totals.streams += 1;
        self.stream_count += 1;
        let stream = StreamId(self.stream_count);
        let (now, half) = (self.now, self.half_to(to));
        let is_cut_off = self.internet.is_cut_off;
        let server = self.internet.at(to.ip()).filter(|_| !is_cut_off);
        let fault = match server {
            Some(server) => {
                server.counts.streams += 1;
                server.stream_fault(now)
            }
            None => Some(StreamFault::Drop),
        };
        self.transcript.say(now, || format!("  -> {} tcp opens", self.internet.name_of(to.ip())));
        let open = Stream { to, ready: now + 2 * half, fault, last: 0, queries: 0, used: now };
        self.streams.insert(stream, open);
        match fault {
            Some(StreamFault::Drop) => {
                self.put(HANDSHAKE_MAX, Happening::StreamClosed { stream, why: Closed::TimedOut });
            }
            Some(StreamFault::Refuse) => {
                self.put(2 * half, Happening::StreamClosed { stream, why: Closed::Broken });
            }
            _ => self.put(2 * half, Happening::Opened { stream }),
        }
        Ok(stream)
    }

    pub(super) fn opened(&mut self, stream: StreamId, tested: &mut dyn Tested) {
        if self.streams.contains_key(&stream) {
            self.put(SERVER_IDLE, Happening::StreamIdle { stream, since: self.now });
            tested.stream(stream, StreamEvent::Connected, self);
        }
    }

    pub(super) fn write_stream(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Unsent> {
        let (to, ready) = match self.streams.get(&stream) {
            Some(open) => (open.to, open.ready),
            None => return Err(Unsent::Gone),
        };
        self.totals.stream_messages += 1;
        self.totals.octets += octets.len() as u64;
        self.say_message(&format!("  -> {} tcp", self.internet.name_of(to.ip())), octets);
        if !self.internet.is_cut_off {
            let after = ready.saturating_sub(self.now) + self.half_to(to);
            self.put(after, Happening::StreamAtServer { stream, octets: octets.to_vec() });
        }
        Ok(())
    }

    pub(super) fn query_at_server(&mut self, stream: StreamId, octets: &[u8]) {
        let now = self.now;
        let Some(open) = self.streams.get_mut(&stream) else { return };
        let Some(server) = self.internet.at(open.to.ip()) else { return };
        let (half, fault, to) = (server.round_trip / 2, open.fault, open.to);
        if matches!(fault, Some(StreamFault::Drop | StreamFault::Refuse)) {
            return; // written before it opened, which it never does
        }
        open.queries += 1;
        open.used = now;
        let ends = match fault {
            Some(StreamFault::Close) => Some(Closed::Ended),
            Some(StreamFault::Cut) => Some(Closed::Broken),
            _ => None,
        };
        if let Some(why) = ends {
            server.counts.stream_queries += 1;
            return self.put(half, Happening::StreamClosed { stream, why });
        }
        let mut arrivals = Vec::new();
        for sent in server.answer(octets, Transport::Tcp, to, now, &mut self.of_servers) {
            let mut after = half + sent.after;
            match fault {
                Some(StreamFault::Slow(milliseconds)) => {
                    after += milliseconds * MILLISECOND * sent.octets.len() as u64;
                }
                Some(StreamFault::Reorder) if open.queries % 2 == 1 => after += HELD_BACK,
                Some(StreamFault::Reorder) => {}
                _ => after = after.max(open.last.saturating_sub(now)),
            }
            open.last = open.last.max(now + after);
            arrivals.push((after, sent.octets));
        }
        for (after, octets) in arrivals {
            self.put(after, Happening::StreamMessage { stream, octets });
        }
        self.put(SERVER_IDLE, Happening::StreamIdle { stream, since: now });
    }

    pub(super) fn idle(&mut self, stream: StreamId, since: Micros, tested: &mut dyn Tested) {
        if self.streams.get(&stream).is_some_and(|open| open.used <= since && open.last <= self.now) {
            self.closed(stream, Closed::Ended, tested);
        }
    }

    pub(super) fn closed(&mut self, stream: StreamId, why: Closed, tested: &mut dyn Tested) {
        let Some(open) = self.streams.remove(&stream) else { return };
        self.transcript
            .say(self.now, || format!("  <- {} tcp is over: {why:?}", self.internet.name_of(open.to.ip())));
        tested.stream(stream, StreamEvent::Closed(why), self);
    }

    /// How many streams are open.
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }
}
