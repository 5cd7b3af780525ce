//! What a task does with an answer: the next step, the next server, the same one in another way.
//!
//! ```text
//! Referral -> the cut, Choosing      part of the name -> the next part      whole -> `proving`
//! Truncated, NoEdns, BadCookie -> the same server, differently              Lame, Failed -> another one
//! ```

use wire::iana::{ede, rcode, rtype};

use crate::ask::exchange::{Exchange, ExchangeId};
use crate::limits::{LAME_SECONDS, REFERRALS_MAX};
use crate::outcome::Outcome;
use crate::proving::facts::lower;
use crate::resolver::{Flow, Resolver};
use crate::response::{Kind, Lame, Reply};
use crate::settings::Minimisation;
use crate::task::mesh::TaskId;
use crate::task::state::State;
use crate::task::{OverStream, Place, Source, Task};
use crate::world::World;

impl Resolver {
    /// What a task does with an answer.
    pub(crate) fn replied(
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
        if reply.kind.is_of_zone() {
            self.disowned.forget(&task.place.zone, &task.qname);
        }
        match reply.kind {
            Kind::Referral => self.referred(id, task, exchange, reply, world),
            Kind::Exists | Kind::Answer | Kind::Alias | Kind::NoData | Kind::TooLong if !is_whole => {
                self.close_exchanges(task, world);
                task.minimiser.took(&exchange.name);
                if reply.answer.list().iter().any(|set| set.rtype == rtype::DNAME) {
                    // All below is somewhere else.
                    task.minimiser.give_up();
                } else {
                    self.note_uncut(task, exchange, reply);
                }
                task.candidates.try_again();
                self.step_ahead(id, task);
                task.state = State::Choosing;
                Flow::Go
            }
            Kind::NameError if !is_whole && self.settings.minimisation != Minimisation::Strict => {
                self.close_exchanges(task, world);
                // What is proved not to be there has nothing below it (RFC 8020): that is for the proof to say.
                if self.is_provable(task, reply) {
                    self.step_ahead(id, task);
                    reply.cap(&world.cache().limits());
                    return self.concluded(id, task, exchange, reply, world);
                }
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
                self.counters.cut_off.add(1);
                task.over_stream = Some(OverStream::Truncated);
                self.ask_again(id, task, exchange, world)
            }
            Kind::NoEdns | Kind::BadVersion if exchange.has_edns => {
                self.counters.no_edns.add(1);
                self.ask_again(id, task, exchange, world)
            }
            Kind::BadCookie => {
                self.counters.bad_cookies.add(1);
                // Once more with what the server sent; when it does not like its own cookie either, over TCP.
                let is_second = exchange.cookie.is_some_and(|cookie| cookie.octets().len() > 8);
                if is_second {
                    task.over_stream = Some(OverStream::Cookie);
                }
                self.ask_again(id, task, exchange, world)
            }
            Kind::Lame(how) => {
                self.counters.lame.add(1);
                // Nobody else is asked where a zone with such a delegation leads: an attacker has as many servers as he likes.
                if how == Lame::Crowd {
                    let edes = [Some(ede_of(how)), None];
                    let reason = Some("a delegation to more servers than any zone has");
                    return Flow::End(Box::new(Outcome { is_fact: true, edes, reason, ..Outcome::failed() }));
                }
                let is_of_server = how.is_of_server() && reply.has_question;
                if is_of_server {
                    self.lame(task, exchange, world);
                }
                let flow = self.next_server(task, exchange, Some(ede_of(how)));
                if is_of_server && is_whole && !task.candidates.has_more() && task.place.source == Source::Cut
                {
                    self.disowned.keep(&task.place.zone, &task.qname, self.time.now);
                }
                flow
            }
            Kind::NoEdns | Kind::BadVersion | Kind::Failed | Kind::Exists | Kind::Unread => {
                self.counters.failed.add(1);
                if reply.rcode == rcode::REFUSED && reply.has_question {
                    self.lame(task, exchange, world);
                }
                self.next_server(task, exchange, reply.ede)
            }
        }
    }

    /// The zone's servers know the ancestor asked for themselves: the names below it need not ask that again.
    fn note_uncut(&mut self, task: &Task, exchange: &Exchange, reply: &Reply) {
        let sets = reply.answer.list().iter().chain(reply.authority.list().iter());
        let ttl = sets.map(|set| set.ttl).min().unwrap_or(crate::known::store::DENIAL_WITHOUT_SOA_SECONDS);
        let name = lower(&self.scratch.work, &exchange.name);
        self.uncut.keep(&task.place.zone, name, ttl, self.time.now);
    }

    /// Whether a denial may turn out to be a proved one.
    fn is_provable(&self, task: &Task, reply: &Reply) -> bool {
        let is_proof = |rtype| matches!(rtype, rtype::NSEC | rtype::NSEC3);
        let is_validated = self.settings.is_validating && !task.is_unchecked;
        is_validated && reply.authority.list().iter().any(|set| is_proof(set.rtype))
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
        self.counters.referrals.add(1);
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
        let place = Place { zone: self.rooms.lower(servers.owner), end, source: Source::Cut };
        self.enter(id, task, place, (servers.rdatas, reply.glue.list()), world)
    }

    /// The same server once more.
    pub(crate) fn ask_again(
        &mut self,
        id: TaskId,
        task: &mut Task,
        exchange: &Exchange,
        world: &mut dyn World,
    ) -> Flow {
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
    pub(crate) fn next_server(&mut self, task: &mut Task, exchange: &Exchange, why: Option<u16>) -> Flow {
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
    pub(crate) fn fail_exchange(&mut self, id: ExchangeId, world: &mut dyn World) {
        let Some(exchange) = self.close_exchange(id, world) else { return };
        let Some(mut task) = self.mesh.take(exchange.task) else { return };
        task.open.iter_mut().filter(|open| **open == Some(id)).for_each(|open| *open = None);
        let flow = self.next_server(&mut task, &exchange, Some(ede::INVALID_DATA));
        self.follow(exchange.task, task, flow, world);
    }
}

/// The extended error (RFC 8914 4) of a response that is not what a server of the zone says.
fn ede_of(how: Lame) -> u16 {
    match how {
        Lame::Malformed | Lame::Excess | Lame::Crowd => ede::INVALID_DATA,
        Lame::Empty | Lame::Upward | Lame::Itself | Lame::Sideways | Lame::Other | Lame::Child => {
            ede::NOT_AUTHORITATIVE
        }
    }
}

/// Whether a server of a zone says what it has from others: a resolver in the place of a name server.
fn is_second_hand(task: &Task, reply: &Reply) -> bool {
    let is_of_kind =
        matches!(reply.kind, Kind::Answer | Kind::Alias | Kind::NoData | Kind::NameError | Kind::Exists);
    let is_forwarder = matches!(task.place.source, Source::Forward(_));
    is_of_kind && !is_forwarder && reply.has_recursion && !reply.is_authoritative
}
