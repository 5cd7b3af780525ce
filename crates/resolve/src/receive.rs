//! What comes back: which question it answers, what that says of the server, and what the task does with it.

use cache::{Case, Cookie, Edns, Quality};
use wire::iana::{ede, rcode, rtype};

use crate::exchange::{Exchange, ExchangeId, Way};
use crate::inquiry::InquiryId;
use crate::limits::{LAME_SECONDS, NEAR_MISSES_MAX, REFERRALS_MAX};
use crate::mesh::TaskId;
use crate::resolver::{Flow, Resolver};
use crate::response::{Asked, ClientCookie, Kind, Mismatch, Reply};
use crate::settings::Minimisation;
use crate::state::State;
use crate::task::{OverStream, Place, Source, Task};
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
            (None, None) => self.counters.strays += 1,
        }
        self.scratch.reply = reply;
    }

    /// A message came over a stream.
    pub(crate) fn streamed(&mut self, stream: StreamId, octets: &[u8], world: &mut dyn World) {
        let Some([a, b]) = octets.first_chunk() else { return };
        let Some(id) = self.streams.find(stream, u16::from_be_bytes([*a, *b])) else {
            self.counters.strays += 1;
            return;
        };
        let mut reply = std::mem::take(&mut self.scratch.reply);
        match self.read(id, octets, &mut reply, world) {
            Some(Ok(())) => self.answered(id, octets, &mut reply, world),
            Some(Err(_)) => {
                // Nobody can guess here: the server answers something else.
                self.counters.mismatches += 1;
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
                match why {
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
        let asked = Asked {
            zone: &task.place.zone,
            qname: &exchange.name,
            qtype: exchange.rtype,
            full: &task.qname,
            id: exchange.id,
            source: task.place.source.of_response(),
            has_edns: exchange.has_edns,
            cookie,
            is_case_random: exchange.has_case,
            is_stream,
            not_servers: &self.settings.not_servers,
        };
        Some(self.scratch.reader.read(&asked, octets, reply))
    }

    /// Something came from the right server on the right path that is no answer to what was asked.
    fn missed(&mut self, id: ExchangeId, why: Mismatch, world: &mut dyn World) {
        self.counters.mismatches += 1;
        let Some(task_id) = self.exchanges.get(id).map(|exchange| exchange.task) else { return };
        let Some(task) = self.mesh.get_mut(task_id) else { return };
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
            self.counters.guessed += 1;
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
        self.counters.responses += 1;
        self.learn(&exchange, reply, world);
        let Some(mut task) = self.mesh.take(exchange.task) else { return };
        task.open.iter_mut().filter(|open| **open == Some(id)).for_each(|open| *open = None);
        if exchange.way_is_stream() && task.over_stream == Some(OverStream::Case) {
            let now = self.time.now;
            world.servers().update(&exchange.server, now, |quality| quality.case = Case::Lost);
        }
        let is_for_all = matches!(
            reply.kind,
            Kind::Answer
                | Kind::Alias
                | Kind::NoData
                | Kind::NameError
                | Kind::Referral
                | Kind::Exists
                | Kind::TooLong
        );
        let inquiry = task.leads.filter(|_| is_for_all);
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
            let asked = Asked {
                zone: &task.place.zone,
                qname: &exchange.name,
                qtype: exchange.rtype,
                full: &task.qname,
                id: exchange.id,
                source: task.place.source.of_response(),
                has_edns: exchange.has_edns,
                cookie: None,
                is_case_random: exchange.has_case,
                is_stream: exchange.way_is_stream(),
                not_servers: &self.settings.not_servers,
            };
            let flow = match self.scratch.reader.read(&asked, octets, reply) {
                Ok(()) => self.replied(id, &mut task, exchange, reply, world),
                Err(_) => Flow::Go,
            };
            self.follow(id, task, flow, world);
        }
    }

    /// What an answer says of the server.
    fn learn(&mut self, exchange: &Exchange, reply: &Reply, world: &mut dyn World) {
        let now = self.time.now;
        let servers = world.servers();
        let is_back = self.network.heard(&exchange.server, now, |silent, zone| {
            servers.update(silent, now, |quality| quality.timed_out(zone, now));
        });
        if is_back {
            // What failed meanwhile, with whatever worker, failed for the network.
            world.cache().outage_ended(now);
            servers.outage_ended(now);
        }
        let rtt_us = now.ms_since(exchange.sent).saturating_mul(1000).min(u64::from(u32::MAX)) as u32;
        let cookie = exchange.cookie.as_ref().and_then(|cookie| cookie.octets().first_chunk::<8>().copied());
        servers.update(&exchange.server, now, |quality| {
            match exchange.way {
                Way::Datagram(_) => quality.answered(rtt_us),
                Way::Stream(_) => quality.is_there(),
            }
            note_edns(quality, exchange, reply);
            if exchange.has_case {
                quality.case = Case::Kept;
            }
            if let (Some(client), Some(server)) = (cookie, reply.server_cookie()) {
                quality.cookie = joined(client, server).unwrap_or(quality.cookie);
            }
            if reply.kind == Kind::Truncated {
                quality.truncates = true;
            }
        });
    }

    /// What a task does with an answer.
    fn replied(
        &mut self,
        id: TaskId,
        task: &mut Task,
        exchange: &Exchange,
        reply: &mut Reply,
        world: &mut dyn World,
    ) -> Flow {
        self.note_reply(task, exchange, reply);
        let is_whole =
            exchange.name.octets().len() == task.qname.octets().len() && exchange.rtype == task.rtype;
        if !task.second_hand.1 && is_second_hand(task, reply) {
            // Others of the zone may have it at first hand; this is taken when none of them does.
            task.second_hand.0 = true;
            return self.next_server(task, exchange, None);
        }
        match reply.kind {
            Kind::Referral => self.referred(id, task, exchange, reply, world),
            Kind::Exists | Kind::Answer | Kind::Alias | Kind::NoData | Kind::TooLong if !is_whole => {
                self.close_exchanges(task, world);
                task.minimiser.took(&exchange.name);
                if reply.answer.list().iter().any(|set| set.rtype == rtype::DNAME) {
                    // All below is somewhere else.
                    task.minimiser.give_up();
                }
                task.candidates.try_again();
                self.step_ahead(id, task);
                task.state = State::Choosing;
                Flow::Go
            }
            Kind::NameError if !is_whole && self.settings.minimisation != Minimisation::Strict => {
                self.close_exchanges(task, world);
                task.minimiser.give_up();
                task.candidates.try_again();
                task.state = State::Choosing;
                Flow::Go
            }
            Kind::Answer | Kind::Alias | Kind::NoData | Kind::NameError | Kind::TooLong => {
                self.close_exchanges(task, world);
                self.step_ahead(id, task);
                reply.cap(&world.cache().limits());
                self.concluded(id, task, exchange, reply, world)
            }
            Kind::Truncated => {
                self.counters.truncated += 1;
                task.over_stream = Some(OverStream::Truncated);
                self.ask_again(id, task, exchange, world)
            }
            Kind::NoEdns | Kind::BadVersion if exchange.has_edns => {
                self.counters.no_edns += 1;
                self.ask_again(id, task, exchange, world)
            }
            Kind::BadCookie => {
                self.counters.bad_cookies += 1;
                // Once more with what the server sent; when it does not like its own cookie either, over TCP.
                let is_second = exchange.cookie.is_some_and(|cookie| cookie.octets().len() > 8);
                if is_second {
                    task.over_stream = Some(OverStream::Cookie);
                }
                self.ask_again(id, task, exchange, world)
            }
            Kind::Lame(how) => {
                self.counters.lame += 1;
                if how.is_of_server() && reply.has_question {
                    self.lame(task, exchange, world);
                }
                self.next_server(task, exchange, Some(ede::NOT_AUTHORITATIVE))
            }
            Kind::NoEdns | Kind::BadVersion | Kind::Failed | Kind::Exists | Kind::Unread => {
                self.counters.failed += 1;
                if reply.rcode == rcode::REFUSED && reply.has_question {
                    self.lame(task, exchange, world);
                }
                self.next_server(task, exchange, reply.ede)
            }
        }
    }

    /// The task got further: it is the youngest of those that may be given up, and has its whole share of questions for the next step.
    fn step_ahead(&mut self, id: TaskId, task: &mut Task) {
        task.questions = 0;
        if task.parents.is_empty() {
            let client = task.waiters.first().map_or(0, |waiting| waiting.client);
            self.mesh.count_under(id, &task.place.zone, client);
        }
    }

    /// The zone is delegated further.
    fn referred(
        &mut self,
        id: TaskId,
        task: &mut Task,
        exchange: &Exchange,
        reply: &mut Reply,
        world: &mut dyn World,
    ) -> Flow {
        self.counters.referrals += 1;
        task.referrals += 1;
        let Some(servers) = reply.referral.list().iter().next().filter(|set| set.rtype == rtype::NS) else {
            return self.next_server(task, exchange, None);
        };
        let is_deeper = servers.owner.label_count() > task.place.zone.label_count();
        // DS is the parent's: who refers to the zone itself does not know it.
        let is_wrong_side = task.rtype == rtype::DS && servers.owner.eq_ignore_case(&task.qname);
        if !is_deeper || is_wrong_side || task.referrals > REFERRALS_MAX {
            return self.next_server(task, exchange, None);
        }
        let end = task.place.end.min(self.time.now.plus_seconds(servers.ttl));
        self.store_referral(task, exchange, reply, world);
        task.minimiser.referred();
        let place = Place { zone: servers.owner.to_lowercase(), end, source: Source::Cut };
        self.enter(id, task, place, (servers.rdatas, reply.glue.list()), world)
    }

    /// The same server once more.
    fn ask_again(&mut self, id: TaskId, task: &mut Task, exchange: &Exchange, world: &mut dyn World) -> Flow {
        task.state = State::Choosing;
        task.candidates.untried(&exchange.server);
        let wanted = self.next_question(task);
        if !wanted.name(task).eq_ignore_case(&exchange.name) || wanted.rtype != exchange.rtype {
            return Flow::Go;
        }
        match task.candidates.tried_again(&exchange.server) {
            Some(candidate) => {
                let quality = world.servers().read(&candidate.address);
                self.send(id, task, (candidate, &quality), wanted, world)
            }
            None => Flow::Go,
        }
    }

    /// This server is of no use for this question.
    fn next_server(&mut self, task: &mut Task, exchange: &Exchange, why: Option<u16>) -> Flow {
        task.candidates.leave_out(&exchange.server);
        task.ede = why.or(task.ede);
        // One of two may have failed while the other is on its way.
        if !self.is_waiting(task) {
            task.state = State::Choosing;
            return Flow::Go;
        }
        Flow::Wait
    }

    /// Whether the newest question of a task is open.
    fn is_waiting(&self, task: &Task) -> bool {
        match task.state {
            State::Asking { exchange, .. } | State::Streaming { exchange, .. } => {
                self.exchanges.get(exchange).is_some()
            }
            _ => false,
        }
    }

    /// The server does not serve the zone: the last choice for it from now on.
    fn lame(&mut self, task: &Task, exchange: &Exchange, world: &mut dyn World) {
        let is_about_zone = exchange.name.eq_ignore_case(&task.place.zone)
            || exchange.name.parent().is_some_and(|parent| parent.eq_ignore_case(&task.place.zone));
        if is_about_zone && matches!(task.place.source, Source::Cut) {
            world.servers().set_lame(&exchange.server, &task.place.zone, self.time.now, LAME_SECONDS);
        }
    }

    /// An answer over a stream that is none.
    fn fail_exchange(&mut self, id: ExchangeId, world: &mut dyn World) {
        let Some(exchange) = self.close_exchange(id, world) else { return };
        let Some(mut task) = self.mesh.take(exchange.task) else { return };
        task.open.iter_mut().filter(|open| **open == Some(id)).for_each(|open| *open = None);
        let flow = self.next_server(&mut task, &exchange, Some(ede::INVALID_DATA));
        self.follow(exchange.task, task, flow, world);
    }
}

impl Exchange {
    /// Whether it went over a stream.
    pub(crate) fn way_is_stream(&self) -> bool {
        matches!(self.way, Way::Stream(_))
    }
}

/// Whether a server of a zone says what it has from others: a resolver in the place of a name server.
fn is_second_hand(task: &Task, reply: &Reply) -> bool {
    let is_of_kind =
        matches!(reply.kind, Kind::Answer | Kind::Alias | Kind::NoData | Kind::NameError | Kind::Exists);
    let is_forwarder = matches!(task.place.source, Source::Forward(_));
    is_of_kind && !is_forwarder && reply.has_recursion && !reply.is_authoritative
}

/// What is known of a server's EDNS after an answer. It is left out only for those that refuse it and say nothing of it (RFC 6891 7): never for
/// silence.
fn note_edns(quality: &mut Quality, exchange: &Exchange, reply: &Reply) {
    // BADVERS to the first version there is (RFC 6891 6.1.3) is no better.
    if !reply.has_question && reply.kind != Kind::NoEdns {
        return;
    }
    let is_refused = matches!(reply.kind, Kind::NoEdns | Kind::BadVersion) && exchange.has_edns;
    quality.edns = match (quality.edns, reply.has_edns()) {
        _ if is_refused => Edns::None,
        (_, true) => Edns::Works(reply.udp_payload_octets.unwrap_or(0)),
        (known, false) => known,
    };
}

/// The whole of a cookie.
fn joined(client: [u8; 8], server: &[u8]) -> Option<Cookie> {
    let mut octets = [0; Cookie::OCTETS_MAX];
    let length = 8 + server.len();
    octets[..8].copy_from_slice(&client);
    octets.get_mut(8..length)?.copy_from_slice(server);
    Cookie::from_octets(&octets[..length])
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
