//! From a response to what it is worth: validation, what it needs, and keeping what came of it.
//!
//! ```text
//! response -> Proof: reply | validation | facts fetched for it
//!   step -> Need -> sub-task for DS or DNSKEY -> fact -> step ... -> verdict
//!   secure, insecure -> kept, and accepted      bogus -> what the chain blames is fetched anew, or another server asked; then bogus it is
//! ```

mod again;
pub(crate) mod facts;

use std::net::SocketAddr;

use cache::Security;
use validate::limits::Limit;
use validate::verdict::Break;
use validate::{Context, Ending, Fault, Insecurity, Need, Reason, Response, Step, Validation, Verdict, Work};
use wire::iana::{rcode, rtype};
use wire::name::NameRoom;
use wire::{NameBuf, Rrset};

use self::again::Again;
use crate::ask::exchange::Exchange;
use crate::known::start::whole;
use crate::known::store::{self, Finding, Times};
use crate::limits::PROVING_OCTETS_MAX;
use crate::outcome::Outcome;
use crate::proving::facts::{CacheFacts, Fact};
use crate::resolver::{Flow, Resolver};
use crate::response::{Kind, Reply};
use crate::task::mesh::TaskId;
use crate::task::state::State;
use crate::task::{Purpose, Task};
use crate::world::World;

/// A response that is being validated.
pub(crate) struct Proof {
    reply: Reply,
    /// Octets of it and of the facts, as they are counted.
    pub octets: usize,
    pub exchange: Exchange,
    pub validation: Validation,
    /// What was fetched for it.
    pub facts: Vec<Fact>,
    /// What is being fetched.
    wanted: Option<(NameBuf, u16)>,
    /// How often a part of the chain was fetched anew.
    again: u8,
    /// Who gave parts of the chain that were bogus.
    avoided: Vec<SocketAddr>,
}

impl Proof {
    /// One at its begin, which takes the reply; with the memory of one that has ended, if there is such: then the room of the reply of before is left for the next one.
    fn begun(
        spare: Option<Box<Proof>>,
        reply: &mut Reply,
        octets: usize,
        exchange: Exchange,
        before: Work,
    ) -> Box<Proof> {
        let mut begun = Proof {
            reply: Reply::new(),
            octets,
            exchange,
            validation: Validation::continued(before),
            facts: Vec::new(),
            wanted: None,
            again: 0,
            avoided: Vec::new(),
        };
        let Some(mut spare) = spare else {
            begun.reply = std::mem::take(reply);
            return Box::new(begun);
        };
        begun.reply = std::mem::replace(reply, std::mem::take(&mut spare.reply));
        begun.facts = std::mem::take(&mut spare.facts);
        begun.avoided = std::mem::take(&mut spare.avoided);
        begun.validation = std::mem::take(&mut spare.validation).again(before);
        *spare = begun;
        spare
    }

    /// Octets of the response that it has room for.
    pub(crate) fn room_octets(&self) -> usize {
        self.reply.octets()
    }

    /// What it leaves, emptied, and the room of a name.
    fn emptied(mut self: Box<Proof>) -> (Box<Proof>, NameRoom) {
        self.facts.clear();
        self.avoided.clear();
        self.validation = std::mem::take(&mut self.validation).again(Work::default());
        let room = self.exchange.name.take();
        (self, room)
    }

    /// Whether it is about a part of the name, which servers were asked for first.
    fn is_of_part(&self, task: &Task) -> bool {
        self.exchange.name.octets().len() != task.qname.octets().len()
    }

    /// Octets of the response and of what was fetched for it.
    fn octets_now(&self) -> usize {
        self.reply.octets() + self.facts.iter().map(Fact::octets).sum::<usize>()
    }
}

impl Resolver {
    /// A response that ends a name came.
    pub(crate) fn concluded(
        &mut self,
        id: TaskId,
        task: &mut Task,
        exchange: &Exchange,
        reply: &mut Reply,
        world: &mut dyn World,
    ) -> Flow {
        if self.settings.is_validating && !task.is_unchecked {
            let octets = reply.octets();
            if self.proving_octets + octets > PROVING_OCTETS_MAX {
                return Flow::End(Box::new(Outcome::unfinished()));
            }
            self.proving_octets += octets;
            let before = self.budgets.work(task.budget);
            let exchange = Exchange { name: self.rooms.copy(&exchange.name), ..*exchange };
            let mut proof = Proof::begun(self.spares.proof(), reply, octets, exchange, before);
            if task.story.is_some() {
                proof.validation = std::mem::take(&mut proof.validation).explained();
            }
            task.proof = Some(proof);
            task.state = State::Proving;
            return Flow::Go;
        }
        let security = if task.is_unchecked { Security::Unchecked } else { Security::Insecure };
        let verdict = store::Verdict::of(security);
        task.said_by = Some(exchange.server);
        self.store_reply(task, exchange, reply, &verdict, world);
        let _ = id;
        self.accept(task, reply, security)
    }

    /// State Proving: validation goes on with what came.
    pub(crate) fn prove(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> Flow {
        let Some(mut proof) = task.proof.take() else {
            task.state = State::Choosing;
            return Flow::Go;
        };
        if proof.wanted.is_some() {
            task.proof = Some(proof);
            return Flow::Wait;
        }
        if !self.has_room_for(&mut proof) {
            task.proof = Some(proof);
            return Flow::End(Box::new(Outcome::unfinished()));
        }
        let before = proof.validation.work();
        let step = self.validate((id, task), &mut proof, world);
        let work = proof.validation.work();
        self.budgets.set_work(task.budget, work);
        self.counters.signatures.add(u64::from(work.signatures - before.signatures));
        self.counters.known_signatures.add(u64::from(work.known - before.known));
        self.counters.digests.add(u64::from(work.digests - before.digests));
        self.counters.hash_rounds.add(u64::from(work.hash_rounds - before.hash_rounds));
        match step {
            Step::Need(need) => {
                self.fetch(id, task, &mut proof, need, world);
                let is_waiting = proof.wanted.is_some();
                task.proof = Some(proof);
                if is_waiting { Flow::Wait } else { Flow::Go }
            }
            Step::Done(verdict) => self.proved(id, task, proof, &verdict, world),
        }
    }

    /// Counts what has come for a proof. Whether there is room for it: what is not there says nothing about the response.
    fn has_room_for(&mut self, proof: &mut Proof) -> bool {
        let octets = proof.octets_now();
        self.proving_octets = self.proving_octets - proof.octets + octets;
        proof.octets = octets;
        self.proving_octets <= PROVING_OCTETS_MAX
    }

    fn validate(&mut self, (id, task): (TaskId, &Task), proof: &mut Proof, world: &mut dyn World) -> Step {
        let response = Response {
            // A part of the name that is denied is proved for itself.
            qname: if proof.is_of_part(task) { proof.reply.name() } else { &task.qname },
            qtype: proof.exchange.rtype,
            rcode: proof.reply.rcode,
            answer: proof.reply.answer.list(),
            authority: proof.reply.authority.list(),
        };
        let mut facts = CacheFacts {
            cache: world.cache(),
            time: self.time,
            standings: &mut self.standings,
            facts: &proof.facts,
            copied: &mut self.scratch.copied,
            kept: &mut self.scratch.kept,
            work: &self.scratch.work,
            asked: task.begun,
            task: Some(id),
            is_explained: task.story.is_some(),
        };
        let context =
            Context { anchors: &self.settings.anchors, policy: &self.settings.policy, now: self.time.wall };
        proof.validation.step(&response, &mut facts, &mut self.scratch.verifier, &context)
    }

    /// Has DS or DNSKEY fetched. What cannot be is a fact, too.
    fn fetch(&mut self, id: TaskId, task: &mut Task, proof: &mut Proof, need: Need, world: &mut dyn World) {
        let name = need.name.to_lowercase();
        if let Some(fact) = self.passing.take(id, &name, need.rtype) {
            proof.facts.push(fact);
            return;
        }
        let child = self.child((id, task), (&name, need.rtype), Purpose::Trust, world);
        match child {
            Some(child) => {
                if let Some(child) = self.mesh.get_mut(child).filter(|child| child.state == State::Start) {
                    child.avoided.clone_from(&proof.avoided);
                }
                proof.wanted = Some((name, need.rtype));
            }
            None => proof.facts.push(Fact { name, rtype: need.rtype, found: None, from: None }),
        }
    }

    /// A verdict is there.
    fn proved(
        &mut self,
        id: TaskId,
        task: &mut Task,
        mut proof: Box<Proof>,
        verdict: &Verdict,
        world: &mut dyn World,
    ) -> Flow {
        self.counters.proofs.add(1);
        let held_octets = std::mem::take(&mut proof.octets);
        self.proving_octets -= held_octets;
        if !verdict.is_fact() {
            return Flow::End(Box::new(Outcome::unfinished()));
        }
        self.note_verdict(task, &proof, verdict, world);
        let security = security_of(verdict.security);
        if proof.is_of_part(task) && !denies_below(&proof.reply, verdict) {
            // Servers deny names that have others below them (RFC 9156 2.3): the question itself decides.
            task.minimiser.give_up();
            task.candidates.try_again();
            task.state = State::Choosing;
            return Flow::Go;
        }
        let ede = verdict.reason.as_ref().and_then(Reason::ede);
        if security == Security::Bogus {
            self.counters.bogus.add(1);
            if let Some(flow) = self.prove_again(id, task, &mut proof, verdict, world) {
                match flow {
                    Again::Chain => {
                        task.note(|| "what breaks the chain is fetched anew".into());
                        proof.octets = held_octets;
                        self.proving_octets += held_octets;
                        task.proof = Some(proof);
                    }
                    Again::Server => {
                        task.note(|| "another server is asked".into());
                        // Should it fail, that is why: clients with CD are not told of a failure then.
                        task.ede = ede.or(task.ede);
                        task.state = State::Choosing;
                    }
                }
                return if task.proof.as_ref().is_some_and(|proof| proof.wanted.is_some()) {
                    Flow::Wait
                } else {
                    Flow::Go
                };
            }
            self.keep_bogus_zone(verdict, world);
            if let Some(broken) = blamed(verdict) {
                self.note_private(task, broken, world);
            }
        }
        // The response code is not signed: what is proved counts.
        if security == Security::Secure
            && proof.reply.kind == Kind::NameError
            && verdict.ending == Ending::NoData
        {
            proof.reply.kind = Kind::NoData;
        }
        let answers = proof.reply.answer.list().iter().count();
        let (of_answer, of_authority) = verdict.rrsets.split_at(answers.min(verdict.rrsets.len()));
        // TTLs that their signatures allow (RFC 4035 5.3.3).
        proof.reply.answer.cap_ttls(of_answer.iter().map(|one| one.ttl_max));
        proof.reply.authority.cap_ttls(of_authority.iter().map(|one| one.ttl_max));
        let work = std::mem::take(&mut self.scratch.work);
        let findings = work.slice(of_answer.len(), Finding::of(security));
        for (finding, one) in findings.iter_mut().zip(of_answer) {
            (finding.security, finding.ttl_max) = (security_of(one.security), one.ttl_max);
            // Why the whole is not secure is no reason of what is.
            finding.ede = ede.filter(|_| finding.security != Security::Secure);
        }
        // A denial ends with what denies, not with the aliases before it.
        let of_denial = of_authority.iter().map(|one| one.ttl_max).min();
        let is_denial = matches!(proof.reply.kind, Kind::NoData | Kind::NameError);
        let ttl_max = of_denial.filter(|_| is_denial).unwrap_or(verdict.ttl_max);
        let whole = Finding { security, ttl_max, ede };
        let kept = store::Verdict { whole, answer: findings };
        self.store_reply(task, &proof.exchange, &proof.reply, &kept, world);
        self.scratch.work = work;
        if security == Security::Secure {
            self.keep_denials(proof.reply.authority.list(), of_authority, world);
        }
        if security == Security::Bogus {
            let outcome = Outcome {
                is_fact: true,
                security: Some(Security::Bogus),
                edes: [ede, None],
                reason: blamed(verdict).map(words),
                ..Outcome::failed()
            };
            return Flow::End(Box::new(outcome));
        }
        task.unsigned_ede = task.unsigned_ede.or(ede);
        let flow = self.accept(task, &proof.reply, security);
        let (proof, room) = proof.emptied();
        self.rooms.put(room);
        self.spares.put_proof(proof);
        flow
    }

    /// Takes a response for what it says.
    pub(crate) fn accept(&mut self, task: &mut Task, reply: &Reply, security: Security) -> Flow {
        let lists = (reply.answer.list(), reply.authority.list());
        let rcode = match reply.kind {
            Kind::Alias => {
                return self.follow_alias(task, lists, security, Some(reply.name()));
            }
            Kind::NameError => rcode::NXDOMAIN,
            Kind::TooLong => rcode::YXDOMAIN,
            _ => rcode::NOERROR,
        };
        Flow::End(whole(task, rcode, lists, security))
    }

    /// Keeps what a response says.
    fn store_reply(
        &mut self,
        task: &Task,
        exchange: &Exchange,
        reply: &Reply,
        verdict: &store::Verdict<'_>,
        world: &mut dyn World,
    ) {
        let asked = exchange.asked(task, &self.settings.not_servers);
        // Cuts keep their own TTL: that those above are still there is looked at when they are used (`Lookup::cut`).
        let times = Times { asked: exchange.sent, now: self.time.now };
        store::store(reply, &asked, verdict, &times, world.cache());
    }

    /// Keeps a delegation.
    pub(crate) fn store_referral(
        &mut self,
        task: &Task,
        exchange: &Exchange,
        reply: &Reply,
        world: &mut dyn World,
    ) {
        let security = if self.settings.is_validating { Security::Unchecked } else { Security::Insecure };
        self.store_reply(task, exchange, reply, &store::Verdict::of(security), world);
    }

    /// Forgets what was found out about zones: anchors have changed, or names were flushed.
    pub fn forget_standings(&mut self) {
        self.standings.clear();
        self.broken.clear();
        self.disowned.clear();
    }
}

/// What a task needed for its proof has come, or not.
pub(crate) fn provided(parent: &mut Task, child: &Task, outcome: &Outcome) {
    let Some(proof) = &mut parent.proof else { return };
    let is_it = |(name, rtype): &(NameBuf, u16)| *rtype == child.rtype && **name == *child.name;
    if !proof.wanted.as_ref().is_some_and(is_it) {
        return;
    }
    proof.wanted = None;
    proof.facts.push(Fact::of(child, outcome));
}

/// As the cache has it.
fn security_of(security: validate::Security) -> Security {
    match security {
        validate::Security::Secure => Security::Secure,
        validate::Security::Insecure | validate::Security::Indeterminate => Security::Insecure,
        validate::Security::Unchecked => Security::Unchecked,
        validate::Security::Bogus => Security::Bogus,
    }
}

/// Whether a denial of a part of a name is one of the whole (RFC 8020): proved; or by signed NSEC3 records that prove nothing only for their iterations. Such a chain has
/// the names in between (RFC 5155 7.1), and to ask for the whole would bring the same once more. Not with opt-out, where names above insecure delegations may be left out.
fn denies_below(reply: &Reply, verdict: &Verdict) -> bool {
    let is_denied = match verdict.reason {
        None => verdict.security == validate::Security::Secure,
        // A zone below, not signed at all, may be insecure for the same reason: none of its records are secure.
        Some(Reason::Insecure(Insecurity::Nsec3Iterations)) => {
            let answers = reply.answer.list().iter().count();
            let of_authority = reply.authority.list().iter().zip(verdict.rrsets.iter().skip(answers));
            let mut chain = of_authority.filter(|(set, _)| set.rtype == rtype::NSEC3).peekable();
            let is_whole = |set: &Rrset<'_>| set.rdatas.iter().all(|rdata| !has_opt_out(rdata));
            chain.peek().is_some()
                && chain.all(|(set, one)| one.security == validate::Security::Secure && is_whole(&set))
        }
        Some(_) => false,
    };
    is_denied && verdict.ending == Ending::NameError
}

/// The flag of NSEC3 RDATA (RFC 5155 3.1.2.1).
fn has_opt_out(nsec3: &[u8]) -> bool {
    nsec3.get(1).is_none_or(|flags| flags & 1 != 0)
}

/// What is bogus of a response or the chain to it.
fn blamed(verdict: &Verdict) -> Option<&Break> {
    match &verdict.reason {
        Some(Reason::Bogus(broken)) => Some(broken),
        _ => None,
    }
}

/// Why it is bogus, in few words that are no allocation.
fn words(broken: &Break) -> &'static str {
    match (broken.is_in_chain, broken.rtype) {
        _ if broken.fault == Fault::TooMuchWork(Limit::Rrsets) => {
            "a loop of aliases, or too many RRsets in one response"
        }
        _ if matches!(broken.fault, Fault::TooMuchWork(_)) => "validation would take too much work",
        (true, rtype::DS) => "a DS RRset breaks the chain of trust",
        (true, _) => "a DNSKEY RRset breaks the chain of trust",
        _ => "the response is not what the zone has signed",
    }
}
