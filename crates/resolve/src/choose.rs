//! Whom to ask, and asking: a datagram, or a question over a stream.

use std::net::SocketAddr;

use cache::{Case, Cookie, Edns, Quality};
use wire::iana::ede;
use wire::name::NAME_OCTETS_MAX;
use wire::{Name, NameBuf};

use crate::exchange::{Exchange, ExchangeId, Way};
use crate::limits::{
    EDNS_AGAIN_ONE_IN, EXPLORED_ONE_IN, FORWARDER_TIMEOUT_MS_MIN, OPEN_MAX, QUESTIONS_A_STEP, RETRY_MS,
    SOUGHT_AGAIN_MS, SOUGHT_AT_ONCE, SOUGHT_AT_ONCE_BELOW, STREAM_TIMEOUT_MS_MAX, STREAM_TIMEOUT_MS_MIN,
    TIMEOUT_MS_MAX, VAIN_MAX, VAIN_MAX_BELOW,
};
use crate::mesh::TaskId;
use crate::minimise::MINIMISED_TYPE;
use crate::outcome::Outcome;
use crate::query::{self, CaseBits, Query, QueryEdns};
use crate::resolver::{Flow, Resolver};
use crate::settings::{ConfiguredKind, Minimisation, Protection};
use crate::state::State;
use crate::target::{Candidate, Choice, Circumstances};
use crate::task::{OverStream, Purpose, Source, Task};
use crate::world::{Unsent, World};

/// What is about to be sent.
struct Draft {
    candidate: Candidate,
    wanted: Wanted,
    has_edns: bool,
    cookie: Option<Cookie>,
}

/// What the servers of now are asked for: the name of now or an ancestor of it, and a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Octets of the labels that are left out.
    left_out: usize,
    pub rtype: u16,
}

impl Wanted {
    /// The name, of a task that has not gone on since.
    pub(crate) fn name<'t>(&self, task: &'t Task) -> &'t Name {
        Name::trusted(&task.qname.octets()[self.left_out..])
    }
}

impl Resolver {
    /// State Choosing: asks the best of the zone's servers, follows a task that asks the same, or has addresses sought.
    pub(crate) fn choose(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> Flow {
        if task.again_at.is_some() {
            return Flow::Wait;
        }
        if task.is_ahead() && task.questions > 0 {
            return Flow::End(Box::new(Outcome::unfinished()));
        }
        self.step_over(task);
        let wanted = self.next_question(task);
        let inquiry = self.inquiries.id(&task.place, wanted.name(task), wanted.rtype);
        if task.leads != Some(inquiry) {
            self.end_inquiry(id, task);
            if self.inquiries.follow(inquiry, id) {
                task.state = State::Following(inquiry);
                return Flow::Wait;
            }
        }
        let random = world.random();
        let choice = {
            let circumstances = Circumstances {
                zone: &task.place.zone,
                servers: world.servers(),
                network: &self.network,
                now: self.time.now,
            };
            let in_flight = |server: &SocketAddr| self.exchanges.in_flight(server);
            task.candidates.choose(&circumstances, in_flight, random)
        };
        match choice {
            Choice::Ask(number, quality) => {
                // Who serves the zone to nobody is asked for the whole at once, as that is all that is left to try.
                if wanted.left_out > 0
                    && self.settings.minimisation == Minimisation::Relaxed
                    && task.candidates.is_lame(number, &task.place.zone, world.servers(), self.time.now)
                {
                    task.minimiser.give_up();
                    return Flow::Go;
                }
                let Some(candidate) = task.candidates.tried(number) else { return Flow::Wait };
                task.queued_at = None;
                // It was silent, or others may be nearer: one whose address is not known yet is looked for meanwhile.
                if (candidate.tried > 1 || random.is_multiple_of(EXPLORED_ONE_IN)) && task.children.is_empty()
                {
                    self.seek_one(id, task, world);
                }
                self.inquiries.lead(inquiry, id);
                task.leads = Some(inquiry);
                self.send(id, task, (candidate, &quality), wanted, world)
            }
            Choice::Later(busy) => {
                // A late answer may still come; those who follow look for themselves.
                self.end_inquiry(id, task);
                if let Some(server) = busy.and_then(|number| task.candidates.address(number))
                    && task.queued_at != Some(server)
                    && self.exchanges.queue_up(server, id)
                {
                    task.queued_at = Some(server);
                }
                task.again_at = Some(self.time.now.plus_ms(RETRY_MS));
                Flow::Wait
            }
            Choice::None => {
                self.end_inquiry(id, task);
                self.seek(id, task, world)
            }
        }
    }

    /// The name and type that the servers of now are to be asked for.
    pub(crate) fn next_question(&self, task: &Task) -> Wanted {
        let is_whole = self.settings.minimisation == Minimisation::Off
            || matches!(task.place.source, Source::Forward(_));
        if is_whole {
            return Wanted { left_out: 0, rtype: task.rtype };
        }
        let name = task.minimiser.next(&task.place.zone, &task.qname);
        match task.qname.octets().len() - name.octets().len() {
            0 => Wanted { left_out: 0, rtype: task.rtype },
            left_out => Wanted { left_out, rtype: MINIMISED_TYPE },
        }
    }

    /// Has addresses of servers sought, or gives the zone up.
    fn seek(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> Flow {
        if task.is_ahead() {
            return Flow::End(Box::new(Outcome::unfinished()));
        }
        let at_once = if task.depth == 0 { SOUGHT_AT_ONCE } else { SOUGHT_AT_ONCE_BELOW };
        // One address is enough to go on with; the next is sought when it does not come soon.
        if task.children.len() < at_once && self.seek_one(id, task, world) {
            task.again_at = Some(self.time.now.plus_ms(SOUGHT_AGAIN_MS));
        }
        if !task.children.is_empty() {
            task.state = State::Addresses;
            return Flow::Wait;
        }
        self.give_up(task, world)
    }

    /// Begins to seek an address of a name server. `false`: there is none left to be sought.
    fn seek_one(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> bool {
        let vain = if task.depth == 0 { VAIN_MAX } else { VAIN_MAX_BELOW };
        while !task.is_ahead()
            && let Some((name, rtype)) = task.candidates.next_sought(vain)
        {
            let name = name.to_lowercase();
            self.counters.seeks += 1;
            if self.child((id, task), (&name, rtype), Purpose::Address, world).is_some() {
                return true;
            }
            task.candidates.came_to(&name, false, [0, 0]);
        }
        false
    }

    /// Passes over ancestors of the name for which the servers of now are known not to refer.
    fn step_over(&self, task: &mut Task) {
        loop {
            let wanted = self.next_question(task);
            let name = wanted.name(task);
            if wanted.left_out == 0 || !self.uncut.has(&task.place.zone, name, self.time.now) {
                return;
            }
            let labels = name.label_count();
            task.minimiser.knows(labels);
        }
    }

    /// Nobody of the zone's servers is left.
    fn give_up(&mut self, task: &mut Task, world: &mut dyn World) -> Flow {
        self.close_exchanges(task, world);
        if task.place.source == Source::Mirror && !task.passes_mirrors() {
            // The zone has servers beside.
            task.pass_mirrors();
            task.state = State::Start;
            return Flow::Go;
        }
        if let Source::Forward(number) = task.place.source
            && self.settings.zones.get(usize::from(number)).map(|zone| zone.kind)
                == Some(ConfiguredKind::Forward { is_first: true })
        {
            task.passed_over = Some(number);
            task.state = State::Start;
            return Flow::Go;
        }
        if self.next_question(task).left_out > 0 && self.settings.minimisation == Minimisation::Relaxed {
            // Servers that fail on a part of a name mostly know the whole (RFC 9156 2.3).
            task.minimiser.give_up();
            task.candidates.try_again();
            return Flow::Go;
        }
        if task.second_hand == (true, false) {
            task.second_hand.1 = true;
            task.candidates.try_again();
            return Flow::Go;
        }
        // When nobody at all was heard since the begin it is the network, and says nothing about this name.
        let is_fact = self.network.heard_count() > task.heard_before;
        let why = if is_fact { ede::NO_REACHABLE_AUTHORITY } else { ede::NETWORK_ERROR };
        let edes = match task.ede {
            Some(ede) if ede != why => [Some(ede), Some(why)],
            _ => [Some(why), None],
        };
        let reason = Some("none of the zone's servers gave an answer");
        Flow::End(Box::new(Outcome { is_fact, edes, reason, ..Outcome::failed() }))
    }

    /// Asks a server. Where that does not work Choosing goes on.
    pub(crate) fn send(
        &mut self,
        id: TaskId,
        task: &mut Task,
        (candidate, quality): (Candidate, &Quality),
        wanted: Wanted,
        world: &mut dyn World,
    ) -> Flow {
        if task.questions >= QUESTIONS_A_STEP || !self.pay(task, world) {
            return Flow::End(Box::new(Outcome::unfinished()));
        }
        task.questions += 1;
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
                self.ask_keys_ahead(task, world);
                Flow::Wait
            }
            Err(why) => {
                task.candidates.untried(&candidate.address);
                if why == Unsent::Unreachable {
                    self.counters.unreachable += 1;
                    self.network.unreachable(&candidate.address, self.time.now);
                } else {
                    task.again_at = Some(self.time.now.plus_ms(RETRY_MS));
                }
                Flow::Go
            }
        }
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
        let name = name.to_owned();
        let server = draft.candidate.address;
        // As `receive` demands it: of servers that gave their part once.
        let has_cookie = draft.has_edns && quality.cookie.octets().len() > wire::cookie::CLIENT_OCTETS;
        let path = world.send(server, &self.scratch.query, has_cookie)?;
        self.counters.datagrams += 1;
        self.network.asked(&server, now);
        let exchange = self.opened(id, task, draft, (name, has_case), (Way::Datagram(path), message_id));
        let timeout_ms = timeout_ms(task, &draft.candidate, quality, world);
        Ok(State::Asking { exchange, until: now.plus_ms(timeout_ms) })
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
            let stream = self.streams.to(server, protection, now, world)?;
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
        self.counters.stream_questions += 1;
        let way = (Way::Stream(stream), message_id);
        let name = draft.wanted.name(task).to_owned();
        let exchange = self.opened(id, task, draft, (name, false), way);
        self.streams.asked(stream, message_id, exchange);
        let timeout_ms = 4 * timeout_ms(task, &draft.candidate, &world.servers().read(&server), world);
        let until = now.plus_ms(timeout_ms.clamp(STREAM_TIMEOUT_MS_MIN, STREAM_TIMEOUT_MS_MAX));
        Ok(State::Streaming { exchange, until })
    }

    /// Keeps what was sent; the oldest question of the task that is still open makes place.
    fn opened(
        &mut self,
        id: TaskId,
        task: &mut Task,
        draft: &Draft,
        (name, has_case): (NameBuf, bool),
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

    /// The task asks nothing any more for those that follow it: they look for themselves.
    pub(crate) fn end_inquiry(&mut self, id: TaskId, task: &mut Task) {
        let Some(inquiry) = task.leads.take() else { return };
        for follower in self.inquiries.end(inquiry, id) {
            if let Some(waiting) = self.mesh.get_mut(follower)
                && waiting.state == State::Following(inquiry)
            {
                waiting.state = State::Choosing;
                self.mesh.make_ready(follower);
            }
        }
    }

    /// The newest question of a task had no answer in time.
    pub(crate) fn timed_out(&mut self, task: &mut Task, world: &mut dyn World) {
        let (State::Asking { exchange, .. } | State::Streaming { exchange, .. }) = task.state else { return };
        self.note_silence(task);
        task.state = State::Choosing;
        self.counters.timeouts += 1;
        let Some(late) = self.exchanges.get_mut(exchange) else { return };
        late.is_late = true;
        let (server, sent, way) = (late.server, late.sent, late.way);
        let is_common = COMMON.contains(&late.rtype) && !matches!(task.place.source, Source::Forward(_));
        let now = self.time.now;
        let zone = world.servers().zone(&task.place.zone);
        if is_common && self.network.timed_out(&server, zone, sent, now) {
            world.servers().update(&server, now, |quality| quality.timed_out(zone, now));
        }
        if let Way::Stream(_) = way {
            self.stream_failed(task, &server);
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

/// How long to wait for a datagram. A forwarder is as slow as the name that it resolves.
fn timeout_ms(task: &Task, candidate: &Candidate, quality: &Quality, world: &dyn World) -> u64 {
    let zone = world.servers().zone(&task.place.zone);
    // What is doubled for the time-outs of this task is not doubled for the same ones in the server's row.
    let again = candidate.tried.saturating_sub(2).saturating_sub(quality.timeouts_for(zone));
    let timeout_ms = (u64::from(quality.timeout_ms(zone)) << again.min(8)).min(TIMEOUT_MS_MAX);
    match task.place.source {
        Source::Forward(_) => timeout_ms.max(FORWARDER_TIMEOUT_MS_MIN),
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

/// Types that every server answers: silence to others says nothing about the server, as some drop what they do not know.
const COMMON: [u16; 8] = {
    use wire::iana::rtype::{A, AAAA, DNSKEY, DS, MX, NS, SOA, TXT};
    [A, AAAA, NS, SOA, MX, TXT, DS, DNSKEY]
};
