//! Streams to servers: kept while they are of use, with many questions at a time (RFC 7766 6.2.1.1).
//!
//! ```text
//! streams:  StreamId -> [ server, TLS? | open? | questions: (ID, exchange) ... | answered | idle since ]
//! servers:  (server, TLS?) -> its streams, at most 2
//! ```
//!
//! A question goes over the first stream with room; another stream is opened when all are full.

use std::collections::HashMap;
use std::net::SocketAddr;

use cache::Moment;

use crate::ask::exchange::ExchangeId;
use crate::limits::{QUESTIONS_A_STREAM, STREAM_IDLE_MS, STREAMS_A_SERVER, STREAMS_MAX};
use crate::settings::Protection;
use crate::world::{StreamId, Unsent, World};

/// Server, and whether it is asked over TLS.
type Peer = (SocketAddr, bool);

#[derive(Debug)]
struct Stream {
    peer: Peer,
    questions: Vec<(u16, ExchangeId)>,
    /// Messages that came.
    answered: u32,
    idle_since: Moment,
}

/// Streams to servers, by server.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    streams: HashMap<StreamId, Stream>,
    servers: HashMap<Peer, Vec<StreamId>>,
    /// When the next may have been idle for too long; not later.
    idle_at: Option<Moment>,
}

impl Streams {
    /// A stream to the server with room for a question, opened if need be; and whether it was.
    pub(crate) fn to(
        &mut self,
        server: SocketAddr,
        protection: &Protection,
        now: Moment,
        world: &mut dyn World,
    ) -> Result<(StreamId, bool), Unsent> {
        let peer = (server, *protection != Protection::Plain);
        let known = self.servers.get(&peer).map(Vec::as_slice).unwrap_or_default();
        let has_room = |id: &&StreamId| {
            self.streams.get(id).is_some_and(|stream| stream.questions.len() < QUESTIONS_A_STREAM)
        };
        if let Some(id) = known.iter().find(has_room) {
            return Ok((*id, false));
        }
        if known.len() >= STREAMS_A_SERVER {
            return Err(Unsent::Busy);
        }
        if self.streams.len() >= STREAMS_MAX {
            self.close_oldest_idle(world)?;
        }
        let id = world.connect(server, protection.of_stream())?;
        self.streams.insert(id, Stream { peer, questions: Vec::new(), answered: 0, idle_since: now });
        self.servers.entry(peer).or_default().push(id);
        Ok((id, true))
    }

    /// Whether an ID is in use on a stream.
    pub(crate) fn has_id(&self, stream: StreamId, id: u16) -> bool {
        self.streams.get(&stream).is_some_and(|stream| stream.questions.iter().any(|(used, _)| *used == id))
    }

    /// A question was written.
    pub(crate) fn asked(&mut self, stream: StreamId, id: u16, exchange: ExchangeId) {
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.questions.push((id, exchange));
        }
    }

    /// The question that a message with this ID answers.
    pub(crate) fn find(&mut self, stream: StreamId, id: u16) -> Option<ExchangeId> {
        let stream = self.streams.get_mut(&stream)?;
        stream.answered = stream.answered.saturating_add(1);
        stream.questions.iter().find(|(used, _)| *used == id).map(|(_, exchange)| *exchange)
    }

    /// A question is answered or given up.
    pub(crate) fn settled(&mut self, id: StreamId, exchange: ExchangeId, now: Moment) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.questions.retain(|(_, asked)| *asked != exchange);
        if stream.questions.is_empty() {
            stream.idle_since = now;
            let end = now.plus_ms(STREAM_IDLE_MS);
            self.idle_at = Some(self.idle_at.map_or(end, |at| at.min(end)));
        }
    }

    /// A stream is over: the questions on it, and whether it ever answered one.
    pub(crate) fn closed(&mut self, id: StreamId) -> Option<(Vec<(u16, ExchangeId)>, bool)> {
        let stream = self.streams.remove(&id)?;
        if let Some(ids) = self.servers.get_mut(&stream.peer) {
            ids.retain(|kept| *kept != id);
            if ids.is_empty() {
                self.servers.remove(&stream.peer);
            }
        }
        Some((stream.questions, stream.answered > 0))
    }

    /// When to look for idle ones.
    pub(crate) fn deadline(&self) -> Option<Moment> {
        self.idle_at
    }

    /// Closes what was idle for too long.
    pub(crate) fn tick(&mut self, now: Moment, world: &mut dyn World) {
        if self.idle_at.is_none_or(|at| at > now) {
            return;
        }
        let is_over =
            |stream: &Stream| stream.questions.is_empty() && stream.idle_since.plus_ms(STREAM_IDLE_MS) <= now;
        let over: Vec<_> =
            self.streams.iter().filter(|(_, stream)| is_over(stream)).map(|(id, _)| *id).collect();
        for id in over {
            world.close(id);
            self.closed(id);
        }
        let idle = self.streams.values().filter(|stream| stream.questions.is_empty());
        self.idle_at = idle.map(|stream| stream.idle_since.plus_ms(STREAM_IDLE_MS)).min();
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.streams.len()
    }

    fn close_oldest_idle(&mut self, world: &mut dyn World) -> Result<(), Unsent> {
        let idle = self.streams.iter().filter(|(_, stream)| stream.questions.is_empty());
        let oldest = idle.min_by_key(|(_, stream)| stream.idle_since).map(|(id, _)| *id);
        let id = oldest.ok_or(Unsent::Busy)?;
        world.close(id);
        self.closed(id);
        Ok(())
    }
}
