//! Asking: a datagram, or a question over a stream; and closing what was asked.

use std::net::SocketAddr;

use cache::{Case, Cookie, Edns, Quality};
use wire::Name;
use wire::name::{NAME_OCTETS_MAX, NameRoom};

use crate::ask::choose::Wanted;
use crate::ask::exchange::{Exchange, ExchangeId, Way};
use crate::ask::query::{self, CaseBits, Query, QueryEdns};
use crate::ask::target::Candidate;
use crate::limits::{
    EDNS_AGAIN_ONE_IN, FORWARD_FIRST_MS, FORWARDER_TIMEOUT_MS_MIN, FORWARDERS_TIMEOUT_MS_MIN,
    ONLY_TIMEOUT_MS_MIN, OPEN_MAX, QUESTIONS_A_STEP, RETRY_MS, STREAM_TIMEOUT_MS_MAX, STREAM_TIMEOUT_MS_MIN,
    TIMEOUT_MS_MAX, TRIES_MAX,
};
use crate::outcome::Outcome;
use crate::resolver::{Flow, Resolver};
use crate::settings::Protection;
use crate::task::mesh::TaskId;
use crate::task::state::State;
use crate::task::{Source, Task};
use crate::world::{NotSent, Unsent, World};

/// What is about to be sent.
struct Draft {
    candidate: Candidate,
    wanted: Wanted,
    has_edns: bool,
    cookie: Option<Cookie>,
}

impl Resolver {
    /// Asks a server. Where that does not work Choosing goes on.
    pub(crate) fn send(
        &mut self,
        id: TaskId,
        task: &mut Task,
        (candidate, quality): (Candidate, &Quality),
        wanted: Wanted,
        world: &mut dyn World,
    ) -> Flow {
        let is_wanted = self.mesh.is_wanted(task);
        if !is_wanted || task.questions >= QUESTIONS_A_STEP || !self.pay(task, world) {
            return Flow::End(Box::new(Outcome::unfinished()));
        }
        task.questions += 1;
        if self.forward_first(task).is_some() {
            task.forwarded_at.get_or_insert(self.time.now);
        }
        // The oldest question that is still open makes place, so that there are never more for a forger to guess.
        if let Some(oldest) = task.open[0].take() {
            self.close_exchange(oldest, world);
        }
        let has_edns = quality.edns != Edns::None || world.random().is_multiple_of(EDNS_AGAIN_ONE_IN);
        let cookie = has_edns.then(|| cookie_for(quality.cookie, world));
        let draft = Draft { candidate, wanted, has_edns, cookie };
        let protection = self.protection(task, &candidate);
        let is_stream = protection != Protection::Plain || quality.is_tcp_only || task.over_stream.is_some();
        let sent = match is_stream {
            true => self.send_over_stream(id, task, &draft, &protection, world),
            false => self.send_datagram(id, task, &draft, quality, world),
        };
        match sent {
            Ok(state) => {
                task.state = state;
                self.ask_keys_ahead(id, task, world);
                Flow::Wait
            }
            Err(why) => {
                self.unreached(task, &candidate.address, why);
                Flow::Go
            }
        }
    }

    /// A question did not leave, which says nothing of the server: others are asked at once where its family has no way, else it is tried again soon.
    fn unreached(&mut self, task: &mut Task, server: &SocketAddr, why: Unsent) {
        task.candidates.untried(server);
        if why == Unsent::Unreachable {
            self.counters.unreachable.add(1);
            self.network.unreachable(server, self.time.now);
        } else {
            task.again_at = Some(self.time.now.plus_ms(RETRY_MS));
        }
    }

    /// A datagram that was taken did not leave: its task goes on as if it had been refused at once.
    pub(crate) fn not_sent(&mut self, unsent: &NotSent, world: &mut dyn World) {
        let first = self.exchanges.first_on_way(unsent.path, unsent.to);
        let mut on_way = std::iter::successors(first, |id| self.exchanges.next_on_way(*id));
        let is_it = |id: &ExchangeId| self.exchanges.get(*id).is_some_and(|asked| asked.id == unsent.id);
        let Some(id) = on_way.find(is_it) else { return };
        let Some(exchange) = self.close_exchange(id, world) else { return };
        // Counted apart, and not taken back: what has grown once does not go down.
        self.counters.datagrams_unsent.add(1);
        self.rooms.put(exchange.name);
        let Some(mut task) = self.mesh.take(exchange.task) else { return };
        task.open.iter_mut().filter(|open| **open == Some(id)).for_each(|open| *open = None);
        if matches!(task.state, State::Asking { exchange, .. } if exchange == id) {
            task.state = State::Choosing;
            self.unreached(&mut task, &exchange.server, unsent.why);
        }
        self.steps(exchange.task, task, world);
    }

    fn send_datagram(
        &mut self,
        id: TaskId,
        task: &mut Task,
        draft: &Draft,
        quality: &Quality,
        world: &mut dyn World,
    ) -> Result<State, Unsent> {
        let now = self.time.now;
        let has_case = self.settings.is_case_random && quality.case != Case::Lost && !task.is_case_plain;
        let mut room = [0; NAME_OCTETS_MAX];
        let name = draft.wanted.name(task);
        let name = match has_case {
            true => CaseBits::draw(name, || world.random()).mix(name, &mut room),
            false => name,
        };
        let message_id = world.random() as u16;
        self.write(task, draft, name, message_id, false);
        let name = self.rooms.copy(name);
        let server = draft.candidate.address;
        // As `receive` demands it: of servers that gave their part once.
        let has_cookie = draft.has_edns && quality.cookie.octets().len() > wire::cookie::CLIENT_OCTETS;
        let path = world.send(server, &self.scratch.query, has_cookie)?;
        self.counters.datagrams.add(1);
        self.network.asked(&server, now);
        let exchange = self.opened(id, task, draft, (name, has_case), (Way::Datagram(path), message_id));
        let timeout_ms = timeout_ms(task, &draft.candidate, quality, world)
            .max(self.only_timeout_ms(task, &draft.candidate));
        let timeout_ms = self.at_most_first(task, timeout_ms, FORWARD_FIRST_MS / 2);
        Ok(State::Asking { exchange, until: now.plus_ms(timeout_ms) })
    }

    /// How long an answer is waited for, if forwarders are that others stand beside: `most_ms`, so that these have time too.
    fn at_most_first(&self, task: &Task, timeout_ms: u64, most_ms: u64) -> u64 {
        match self.forward_first(task) {
            Some(_) => timeout_ms.min(most_ms),
            None => timeout_ms,
        }
    }

    /// The least that the only server that is left is waited for. Without a network clients are told soon that it is that.
    fn only_timeout_ms(&self, task: &Task, candidate: &Candidate) -> u64 {
        let last = usize::from(TRIES_MAX) - ONLY_TIMEOUT_MS_MIN.len();
        match usize::from(candidate.tried).checked_sub(last + 1).and_then(|at| ONLY_TIMEOUT_MS_MIN.get(at)) {
            Some(&ms) if task.candidates.is_only_one() && self.network.out_since().is_none() => ms,
            _ => 0,
        }
    }

    fn send_over_stream(
        &mut self,
        id: TaskId,
        task: &mut Task,
        draft: &Draft,
        protection: &Protection,
        world: &mut dyn World,
    ) -> Result<State, Unsent> {
        let now = self.time.now;
        let server = draft.candidate.address;
        let is_private = *protection != Protection::Plain;
        // A stream that was idle may be gone when it is written to: then a new one, once.
        let mut written = Err(Unsent::Gone);
        for _ in 0..2 {
            let (stream, is_opened) = self.streams.to(server, protection, now, world)?;
            self.counters.streams.add(is_opened.into());
            let mut message_id = world.random() as u16;
            while self.streams.has_id(stream, message_id) {
                message_id = message_id.wrapping_add(1);
            }
            self.write(task, draft, draft.wanted.name(task), message_id, is_private);
            written = world.write(stream, &self.scratch.query).map(|()| (stream, message_id));
            match written {
                Err(Unsent::Gone) => self.lost_stream(stream, world),
                _ => break,
            }
        }
        let (stream, message_id) = written?;
        self.counters.stream_questions.add(1);
        let way = (Way::Stream(stream), message_id);
        let name = self.rooms.copy(draft.wanted.name(task));
        let exchange = self.opened(id, task, draft, (name, false), way);
        self.streams.asked(stream, message_id, exchange);
        let timeout_ms = 4 * timeout_ms(task, &draft.candidate, &world.servers().read(&server), world);
        let timeout_ms = timeout_ms.clamp(STREAM_TIMEOUT_MS_MIN, STREAM_TIMEOUT_MS_MAX);
        let until = now.plus_ms(self.at_most_first(task, timeout_ms, FORWARD_FIRST_MS));
        Ok(State::Streaming { exchange, until })
    }

    /// Keeps what was sent; the oldest question of the task that is still open makes place.
    fn opened(
        &mut self,
        id: TaskId,
        task: &mut Task,
        draft: &Draft,
        (name, has_case): (NameRoom, bool),
        (way, message_id): (Way, u16),
    ) -> ExchangeId {
        let exchange = self.exchanges.open(Exchange {
            task: id,
            server: draft.candidate.address,
            way,
            id: message_id,
            name,
            rtype: draft.wanted.rtype,
            sent: self.time.now,
            has_edns: draft.has_edns,
            cookie: draft.cookie,
            has_case,
            is_late: false,
        });
        task.open.rotate_left(1);
        task.open[OPEN_MAX - 1] = Some(exchange);
        exchange
    }

    fn write(&mut self, task: &Task, draft: &Draft, name: &Name, id: u16, is_private: bool) {
        let cookie = draft.cookie.as_ref().and_then(|cookie| cookie.octets().split_first_chunk::<8>());
        let edns = QueryEdns {
            is_dnssec_ok: true,
            cookie: cookie.map(|(client, server)| (*client, server)),
            is_padded: is_private,
        };
        let query = Query {
            id,
            name,
            rtype: draft.wanted.rtype,
            is_recursion_desired: matches!(task.place.source, Source::Forward(_)),
            is_checking_disabled: self.settings.is_validating,
            edns: draft.has_edns.then_some(edns),
        };
        query::write(&query, &mut self.scratch.query);
    }

    /// How a server is reached.
    fn protection(&self, task: &Task, candidate: &Candidate) -> Protection {
        let (Source::Stub(number) | Source::Forward(number)) = task.place.source else {
            return Protection::Plain;
        };
        let zone = self.settings.zones.get(usize::from(number));
        let endpoint = zone.zip(candidate.endpoint).and_then(|(zone, at)| zone.servers.get(usize::from(at)));
        endpoint.map(|endpoint| endpoint.security.clone()).unwrap_or_default()
    }

    /// Closes one question.
    pub(crate) fn close_exchange(&mut self, id: ExchangeId, world: &mut dyn World) -> Option<Exchange> {
        let exchange = self.exchanges.close(id)?;
        match exchange.way {
            Way::Datagram(path) => world.settle(path),
            Way::Stream(stream) => self.streams.settled(stream, id, self.time.now),
        }
        Some(exchange)
    }
}

/// How long to wait for a datagram. A forwarder is as slow as the name that it resolves.
fn timeout_ms(task: &Task, candidate: &Candidate, quality: &Quality, world: &dyn World) -> u64 {
    let zone = world.servers().zone(&task.place.zone);
    // What is doubled for the time-outs of this task is not doubled for the same ones in the server's row.
    let again = candidate.tried.saturating_sub(2).saturating_sub(quality.timeouts_for(zone));
    let timeout_ms = (u64::from(quality.timeout_ms(zone)) << again.min(8)).min(TIMEOUT_MS_MAX);
    match task.place.source {
        Source::Forward(_) if task.candidates.is_only_one() => timeout_ms.max(FORWARDER_TIMEOUT_MS_MIN),
        Source::Forward(_) => timeout_ms.max(FORWARDERS_TIMEOUT_MS_MIN),
        _ => timeout_ms,
    }
}

/// Our cookie with a server: what it gave, or a new one of ours alone.
fn cookie_for(known: Cookie, world: &mut dyn World) -> Cookie {
    match known.octets() {
        [] => Cookie::from_octets(&world.random().to_le_bytes()).unwrap_or_default(),
        _ => known,
    }
}
