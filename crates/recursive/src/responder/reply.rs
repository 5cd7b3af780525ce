//! What clients get that waited, and responses without records.

use super::find::{count, filter_for};
use super::here::local;
use super::made::{goes_on_to_a, made_of, without_made};
use super::{Replied, Responder, Served};
use crate::answer::{self, Asked, End, Parts, Stale};
use crate::outcome;
use crate::policy::Policy;
use crate::verdict::{self, Verdict};
use crate::wishes::{Stage, Waiting, Wishes};
use crate::writer::Writer;
use cache::{Cache, Moment, Security};
use resolve::{Outcome, Time};
use wire::header;
use wire::iana::{class, ede, rcode, rtype};

impl Responder {
    /// Answers a client that waited, with what its question came to.
    pub fn reply(
        &mut self,
        waiting: &mut Waiting,
        outcome: &Outcome,
        (policy, cache): (&Policy, &Cache),
        time: Time,
        room: &mut [u8],
    ) -> Replied {
        if waiting.stage == Stage::Asked
            && let Some(stage) = goes_on_to_a(waiting, outcome, policy)
        {
            self.take_up(waiting, policy, time.now);
            (waiting.stage, self.stage, self.missed_type) = (stage, stage, rtype::A);
            return Replied::Ask;
        }
        let turn = self.next_turn(policy);
        self.question.set(&waiting.name);
        self.wishes = waiting.wishes;
        let Responder { buffers, question, wishes, suffixes, marks, counters, made, .. } = self;
        let counters = counters.words();
        buffers.name.set_lower(question.name());
        let asked_for = (&*wishes, Some((question.name(), class::IN)));
        let tables = (&mut **suffixes, marks);
        let Some(mut writer) = Writer::new(room, tables, asked_for, wishes.opt(policy), (time.now, turn))
        else {
            return Replied::Octets(0);
        };
        let start = writer.mark();
        let filter = filter_for(policy, wishes, buffers.name.name());
        let asked = Asked { wishes, policy, cache, now: time.now, filter, ours: None, stale: None };
        let mut parts = Parts::new();
        if waiting.is_aliased {
            local(policy, wishes, &mut buffers.name, time.now, &mut writer);
            parts.security = Security::Insecure;
        }
        let verdict = match waiting.stage {
            Stage::Asked => outcome::write(&asked, outcome, &mut parts, &mut writer),
            Stage::Dns64 { ttl, security, has_failed } => {
                parts.security = parts.security.worst(security);
                made_of(&asked, outcome, ttl, made, &mut parts, &mut writer).unwrap_or_else(|| {
                    let plain = Wishes { wants_dns64: false, ..*asked.wishes };
                    let asked = Asked { wishes: &plain, ..asked };
                    without_made(&asked, (outcome, has_failed), buffers, &mut parts, &mut writer)
                })
            }
        };
        if verdict.has_no_records() {
            writer.back_to(start);
        }
        count(counters, &parts);
        counters.failures.add(u64::from(verdict.rcode == rcode::SERVFAIL));
        counters.stale.add(u64::from(outcome.is_stale));
        counters.truncated.add(u64::from(writer.is_truncated()));
        let words = outcome.reason.filter(|_| verdict.edes[0].is_some() && verdict.edes == outcome.edes);
        Replied::Octets(
            verdict::finish(counters, verdict, (wishes, true), policy, writer, words).unwrap_or(0),
        )
    }

    /// Tells a client that its query came to nothing for want of time or room.
    pub fn give_up(&mut self, waiting: &Waiting, policy: &Policy, now: Moment, room: &mut [u8]) -> usize {
        self.fail(waiting, ede::OTHER, policy, now, room)
    }

    /// Answers a client that waited for as long as anybody may: with what has expired, if there is such (RFC 8767), else that it failed and why, as an extended error.
    /// The response to a failure has the question alone, and no more octets than any query of its kind but six for the error.
    pub fn unanswered(
        &mut self,
        waiting: &Waiting,
        why: u16,
        (policy, cache): (&Policy, &Cache),
        now: Moment,
        room: &mut [u8],
    ) -> usize {
        match why {
            ede::NETWORK_ERROR => self.counters.words().without_network.add(1),
            _ => self.counters.words().unanswered.add(1),
        }
        if policy.stale_seconds > 0
            && let Some(octets) = self.expired(waiting, why, (policy, cache), now, room)
        {
            return octets;
        }
        self.fail(waiting, why, policy, now, room)
    }

    /// Answers from the cache with what has expired too; `None`: a part is missing.
    fn expired(
        &mut self,
        waiting: &Waiting,
        why: u16,
        (policy, cache): (&Policy, &Cache),
        now: Moment,
        room: &mut [u8],
    ) -> Option<usize> {
        let turn = self.next_turn(policy);
        self.question.set(&waiting.name);
        self.wishes = waiting.wishes;
        let Responder { buffers, question, wishes, suffixes, marks, counters, .. } = self;
        let counters = counters.words();
        buffers.name.set_lower(question.name());
        let asked_for = (&*wishes, Some((question.name(), class::IN)));
        let tables = (&mut **suffixes, marks);
        let mut writer = Writer::new(room, tables, asked_for, wishes.opt(policy), (now, turn))?;
        let filter = filter_for(policy, wishes, buffers.name.name());
        let stale = Some(Stale { why: Some(why) });
        let asked = Asked { wishes, policy, cache, now, filter, ours: None, stale };
        let mut parts = Parts::new();
        if waiting.is_aliased {
            local(policy, wishes, &mut buffers.name, now, &mut writer);
            parts.security = Security::Insecure;
        }
        let hash = cache.name_hash(buffers.name.name());
        let End::Answer(verdict) = answer::answer(&asked, hash, buffers, &mut parts, &mut writer) else {
            return None;
        };
        if verdict.has_no_records() {
            return None;
        }
        count(counters, &parts);
        counters.truncated.add(u64::from(writer.is_truncated()));
        verdict::finish(counters, verdict, (wishes, true), policy, writer, None)
    }

    /// Tells a client that its query failed, in few octets.
    pub fn fail(
        &mut self,
        waiting: &Waiting,
        why: u16,
        policy: &Policy,
        now: Moment,
        room: &mut [u8],
    ) -> usize {
        self.question.set(&waiting.name);
        // Our name would be longer than the question.
        self.wishes = Wishes { wants_nsid: false, ..waiting.wishes };
        self.counters.words().failures.add(1);
        match self.say(Verdict::failure([Some(why), None]), Some(class::IN), policy, now, room) {
            Served::Octets(octets) => octets,
            _ => 0,
        }
    }

    /// Tells a client to ask over TCP: a response of its query's size.
    pub fn truncate(&mut self, waiting: &Waiting, policy: &Policy, now: Moment, room: &mut [u8]) -> usize {
        self.question.set(&waiting.name);
        self.wishes = waiting.wishes;
        let verdict = Verdict { flags: header::TC, ..Verdict::of(rcode::NOERROR) };
        match self.say(verdict, Some(class::IN), policy, now, room) {
            Served::Octets(octets) => octets,
            _ => 0,
        }
    }

    /// Says REFUSED to the query that was just served as [`Served::Refused`]: with RA to who may recurse and did not want to (RFC 1034 4.3.1).
    pub fn refuse(&mut self, policy: &Policy, now: Moment, room: &mut [u8]) -> usize {
        self.counters.words().refused.add(1);
        let wants_recursion = self.wishes.flags & header::RD != 0;
        let why = if wants_recursion { ede::PROHIBITED } else { ede::NOT_AUTHORITATIVE };
        let verdict = Verdict::with_ede(rcode::REFUSED, why);
        self.write(verdict, (Some(class::IN), self.is_let_in), policy, now, room).unwrap_or_default()
    }

    pub(super) fn say(
        &mut self,
        verdict: Verdict,
        class: Option<u16>,
        policy: &Policy,
        now: Moment,
        room: &mut [u8],
    ) -> Served {
        match self.write(verdict, (class, true), policy, now, room) {
            Some(octets) => Served::Octets(octets),
            None => Served::Drop,
        }
    }

    /// Writes a response without records.
    fn write(
        &mut self,
        verdict: Verdict,
        (class, offers): (Option<u16>, bool),
        policy: &Policy,
        now: Moment,
        room: &mut [u8],
    ) -> Option<usize> {
        let Responder { question, wishes, suffixes, marks, counters, .. } = self;
        let asked_for = (&*wishes, class.map(|class| (question.name(), class)));
        let tables = (&mut **suffixes, marks);
        let writer = Writer::new(room, tables, asked_for, wishes.opt(policy), (now, 0))?;
        verdict::finish(counters.words(), verdict, (wishes, offers), policy, writer, None)
    }

    /// Takes up again what a client waits for, such that [`Responder::ask`] says it.
    fn take_up(&mut self, waiting: &Waiting, policy: &Policy, now: Moment) {
        self.is_unknown = false;
        self.wishes = waiting.wishes;
        self.missed.set_lower(&waiting.name);
        if waiting.is_aliased {
            let mut scratch = [0; 2048];
            let tables = (&mut *self.suffixes, &mut self.marks);
            let asked_for = (&self.wishes, Some((&*waiting.name, class::IN)));
            if let Some(mut writer) = Writer::new(&mut scratch, tables, asked_for, None, (now, 0)) {
                local(policy, &self.wishes, &mut self.missed, now, &mut writer);
            }
        }
    }
}
