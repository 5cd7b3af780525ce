//! What comes back: which question it answers, and who waits for that. What it says of the server: `learn`; what the task does with it: `reaction`. No answer at all: `silence`.

mod learn;
mod reaction;
mod silence;

use cache::Case;

use crate::ask::exchange::{Exchange, ExchangeId, Way};
use crate::ask::inquiry::InquiryId;
use crate::limits::NEAR_MISSES_MAX;
use crate::resolver::{Flow, Resolver};
use crate::response::{Asked, ClientCookie, Kind, Mismatch, Reply};
use crate::task::mesh::TaskId;
use crate::task::state::State;
use crate::task::{OverStream, Source};
use crate::world::{Closed, Received, StreamId, World};

impl Resolver {
    /// A datagram came: for the open question of its path and server that it answers.
    pub(crate) fn received(&mut self, received: &Received<'_>, world: &mut dyn World) {
        let mut miss = None;
        let mut reply = std::mem::take(&mut self.scratch.reply);
        let mut found = None;
        let mut next = self.exchanges.first_on_way(received.path, received.from);
        while let Some(id) = next {
            next = self.exchanges.next_on_way(id);
            match self.read(id, received.octets, &mut reply, world) {
                Some(Ok(())) => {
                    found = Some(id);
                    break;
                }
                Some(Err(why)) => {
                    // The most telling one: with the right ID it is from somebody who knows the question.
                    let is_close = matches!(why, Mismatch::Case | Mismatch::Cookie);
                    if miss.is_none() || is_close {
                        miss = Some((id, why));
                    }
                }
                None => {}
            }
        }
        match (found, miss) {
            (Some(id), _) => {
                if received.is_cut {
                    reply.kind = Kind::Truncated;
                }
                self.answered(id, received.octets, &mut reply, world);
            }
            (None, Some((id, why))) => self.missed(id, why, world),
            (None, None) => self.counters.strays.add(1),
        }
        self.scratch.reply = reply;
    }

    /// A message came over a stream.
    pub(crate) fn streamed(&mut self, stream: StreamId, octets: &[u8], world: &mut dyn World) {
        let Some([a, b]) = octets.first_chunk() else { return };
        let Some(id) = self.streams.find(stream, u16::from_be_bytes([*a, *b])) else {
            self.counters.strays.add(1);
            return;
        };
        let mut reply = std::mem::take(&mut self.scratch.reply);
        match self.read(id, octets, &mut reply, world) {
            Some(Ok(())) => self.answered(id, octets, &mut reply, world),
            Some(Err(why)) => {
                // Nobody can guess here: the server answers something else.
                self.counters.mismatches.add(1);
                if let Some(Exchange { task, server, .. }) = self.exchanges.get(id)
                    && let Some(task) = self.mesh.get_mut(*task)
                {
                    task.note_mismatch(server, why);
                }
                self.fail_exchange(id, world);
            }
            None => {}
        }
        self.scratch.reply = reply;
    }

    /// A stream is over, and with it what was asked there.
    pub(crate) fn stream_closed(&mut self, stream: StreamId, why: Closed, world: &mut dyn World) {
        let Some((questions, has_answered)) = self.streams.closed(stream) else { return };
        for (_, id) in questions {
            let Some(exchange) = self.exchanges.close(id) else { continue };
            let Some(mut task) = self.mesh.take(exchange.task) else { continue };
            task.open.iter_mut().filter(|open| **open == Some(id)).for_each(|open| *open = None);
            if matches!(task.state, State::Streaming { exchange, .. } if exchange == id) {
                task.state = State::Choosing;
                task.note(|| format!("{} {}", exchange.server, words(why)));
                match why {
                    Closed::Untrusted => {
                        world.distrusted(exchange.server);
                        self.stream_failed(&mut task, &exchange.server);
                    }
                    Closed::Unreachable => {
                        self.network.unreachable(&exchange.server, self.time.now);
                        task.candidates.untried(&exchange.server);
                    }
                    // It was open and is closed now, as servers do with what is idle: once more.
                    Closed::Ended if has_answered => task.candidates.untried(&exchange.server),
                    _ => self.stream_failed(&mut task, &exchange.server),
                }
            }
            self.steps(exchange.task, task, world);
        }
    }

    /// A stream was found to be gone when it was written to.
    pub(crate) fn lost_stream(&mut self, stream: StreamId, world: &mut dyn World) {
        let Some((questions, _)) = self.streams.closed(stream) else { return };
        for (_, id) in questions {
            let Some(exchange) = self.exchanges.close(id) else { continue };
            if let Some(task) = self.mesh.get_mut(exchange.task)
                && matches!(task.state, State::Streaming { exchange, .. } if exchange == id)
            {
                task.open.iter_mut().filter(|open| **open == Some(id)).for_each(|open| *open = None);
                task.state = State::Choosing;
                self.mesh.make_ready(exchange.task);
            }
        }
        let _ = world;
    }

    /// Reads a message as the answer to a question. `None`: there is no such question or task.
    fn read(
        &mut self,
        id: ExchangeId,
        octets: &[u8],
        reply: &mut Reply,
        world: &dyn World,
    ) -> Option<Result<(), Mismatch>> {
        let exchange = self.exchanges.get(id)?;
        let task = self.mesh.get(exchange.task)?;
        let is_stream = matches!(exchange.way, Way::Stream(_));
        let known = world.servers().read(&exchange.server).cookie;
        let client = exchange.cookie.as_ref().and_then(|cookie| cookie.octets().first_chunk().copied());
        let cookie = client.map(|client| ClientCookie {
            client,
            // A server that gave its part once has to send ours along; over a stream nobody else can answer.
            is_required: !is_stream && known.octets().len() > client.len(),
        });
        let asked = Asked { cookie, ..exchange.asked(task, &self.settings.not_servers) };
        Some(self.scratch.reader.read(&asked, octets, reply))
    }

    /// Something came from the right server on the right path that is no answer to what was asked.
    fn missed(&mut self, id: ExchangeId, why: Mismatch, world: &mut dyn World) {
        self.counters.mismatches.add(1);
        let Some(exchange) = self.exchanges.get(id) else { return };
        let (task_id, server) = (exchange.task, exchange.server);
        let Some(task) = self.mesh.get_mut(task_id) else { return };
        task.note_mismatch(&server, why);
        task.near_misses = task.near_misses.saturating_add(1);
        let over_stream = match why {
            // Whoever has ID and path right needs no more guesses: a server that changes case, or that has no cookies any more; or somebody
            // who was lucky. Over a stream only the server answers.
            Mismatch::Case => OverStream::Case,
            Mismatch::Cookie => OverStream::Cookie,
            _ if task.near_misses >= NEAR_MISSES_MAX => OverStream::Guessed,
            _ => return,
        };
        if over_stream == OverStream::Guessed {
            self.counters.guessed.add(1);
        }
        self.retry(task_id, id, Some(over_stream), world);
    }

    /// The same server is asked again, in another way.
    fn retry(
        &mut self,
        task_id: TaskId,
        id: ExchangeId,
        over_stream: Option<OverStream>,
        world: &mut dyn World,
    ) {
        let Some(exchange) = self.close_exchange(id, world) else { return };
        let Some(mut task) = self.mesh.take(task_id) else { return };
        task.open.iter_mut().filter(|open| **open == Some(id)).for_each(|open| *open = None);
        task.over_stream = over_stream.or(task.over_stream);
        let flow = self.ask_again(task_id, &mut task, &exchange, world);
        self.follow(task_id, task, flow, world);
    }

    /// An answer came for a question: for its task, and for those that wait for the same.
    fn answered(&mut self, id: ExchangeId, octets: &[u8], reply: &mut Reply, world: &mut dyn World) {
        let Some(exchange) = self.close_exchange(id, world) else { return };
        self.counters.responses.add(1);
        self.learn(&exchange, reply, world);
        let Some(mut task) = self.mesh.take(exchange.task) else { return };
        task.open.iter_mut().filter(|open| **open == Some(id)).for_each(|open| *open = None);
        self.blame_forwarders(&task, &exchange.server, world);
        // It may have stood in line to ask once more.
        (task.queued_at, task.again_at) = (None, None);
        if exchange.way_is_stream() && task.over_stream == Some(OverStream::Case) {
            let now = self.time.now;
            world.servers().update(&exchange.server, now, |quality| quality.case = Case::Lost);
        }
        let inquiry = task.leads.filter(|_| reply.kind.is_of_zone());
        let followers = match inquiry {
            Some(inquiry) => {
                task.leads = None;
                self.inquiries.end(inquiry, exchange.task)
            }
            None => Vec::new(),
        };
        let flow = self.replied(exchange.task, &mut task, &exchange, reply, world);
        self.follow(exchange.task, task, flow, world);
        if let Some(inquiry) = inquiry {
            self.tell_followers(inquiry, followers, &exchange, octets, reply, world);
        }
        self.rooms.put(exchange.name);
    }

    /// The answer is that of those who waited for it, too.
    fn tell_followers(
        &mut self,
        inquiry: InquiryId,
        followers: Vec<TaskId>,
        exchange: &Exchange,
        octets: &[u8],
        reply: &mut Reply,
        world: &mut dyn World,
    ) {
        for id in followers {
            let is_waiting = self.mesh.get(id).is_some_and(|task| task.state == State::Following(inquiry));
            let Some(mut task) = is_waiting.then(|| self.mesh.take(id)).flatten() else { continue };
            task.state = State::Choosing;
            let asked = exchange.asked(&task, &self.settings.not_servers);
            let flow = match self.scratch.reader.read(&asked, octets, reply) {
                Ok(()) => self.replied(id, &mut task, exchange, reply, world),
                Err(_) => Flow::Go,
            };
            self.follow(id, task, flow, world);
        }
    }
}

impl Source {
    /// As reading a response needs it.
    pub(crate) fn of_response(self) -> crate::response::Source {
        match self {
            Source::Forward(_) => crate::response::Source::Forwarder,
            _ => crate::response::Source::Authority,
        }
    }
}

/// How a stream ended, for operators.
fn words(why: Closed) -> &'static str {
    match why {
        Closed::Ended => "ended the stream",
        Closed::Broken => "refused the stream, or broke it off",
        Closed::TimedOut => "is too slow over a stream",
        Closed::Untrusted => "did not prove over TLS to be the one that is wanted",
        Closed::Unreachable => "cannot be reached over a stream from here",
    }
}
