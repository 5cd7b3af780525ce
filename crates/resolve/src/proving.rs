//! From a response to what it is worth: validation, what it needs, and keeping what came of it.

use cache::Security;
use wire::iana::rcode;

use crate::exchange::Exchange;
use crate::mesh::TaskId;
use crate::outcome::Outcome;
use crate::resolver::{Flow, Resolver};
use crate::response::{Asked, Kind, Reply};
use crate::start::whole;
use crate::state::State;
use crate::store::{self, Times, Verdict};
use crate::task::{NEVER, Task};
use crate::world::World;

/// A response that is being validated.
pub(crate) struct Proof {
    reply: Reply,
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
        let _ = id;
        let security = match self.settings.is_validating {
            _ if task.is_unchecked => Security::Unchecked,
            _ => Security::Insecure,
        };
        self.store_reply(task, exchange, reply, &Verdict::of(security), world);
        self.accept(task, reply, security)
    }

    /// State Proving: validation goes on with what came.
    pub(crate) fn prove(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> Flow {
        let _ = (id, task, world);
        Flow::Wait
    }

    /// Takes a response for what it says.
    pub(crate) fn accept(&mut self, task: &mut Task, reply: &Reply, security: Security) -> Flow {
        let lists = (reply.answer.list(), reply.authority.list());
        let rcode = match reply.kind {
            Kind::Alias => {
                let target = reply.name().to_owned();
                return self.follow_alias(task, lists, security, Some(&target));
            }
            Kind::NameError => rcode::NXDOMAIN,
            Kind::TooLong => rcode::YXDOMAIN,
            _ => rcode::NOERROR,
        };
        let outcome = whole(task, rcode, lists, security);
        Flow::End(Box::new(outcome))
    }

    /// Keeps what a response says.
    fn store_reply(
        &mut self,
        task: &Task,
        exchange: &Exchange,
        reply: &Reply,
        verdict: &Verdict<'_>,
        world: &mut dyn World,
    ) {
        let asked = Asked {
            zone: &task.place.zone,
            qname: &exchange.name,
            qtype: exchange.rtype,
            full: &task.qname,
            id: exchange.id,
            source: task.place.source.of_response(),
            has_edns: exchange.has_edns,
            cookie: None,
            is_case_random: false,
            is_stream: exchange.way_is_stream(),
            not_servers: &self.settings.not_servers,
        };
        let zone_ends = (task.place.end != NEVER).then_some(task.place.end);
        let times = Times { asked: exchange.sent, now: self.time.now, zone_ends };
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
        self.store_reply(task, exchange, reply, &Verdict::of(Security::Unchecked), world);
    }
}

/// What a task needed for its proof has come, or not.
pub(crate) fn provided(parent: &mut Task, child: &Task, outcome: &Outcome) {
    let _ = (child, outcome);
    if parent.proof.is_some() && parent.children.is_empty() {
        parent.state = State::Proving;
    }
}
