//! Zones of this process: asked as servers would be, but at once and without a message on any wire.
//!
//! What they answer is final and kept nowhere, as they may change at any time; what they refer to is a zone cut like others.

use cache::Security;
use wire::iana::{rcode, rtype};
use wire::{Name, NameBuf};

use crate::mesh::TaskId;
use crate::query::{self, Query, QueryEdns};
use crate::resolver::{Flow, Resolver};
use crate::response::{Asked, Kind, Reply, Source as Asks};
use crate::start::whole;
use crate::task::{Place, Source, Task};
use crate::world::World;

impl Resolver {
    /// Asks zones of this process for the name of now. `None`: they have nothing to say, or not more than the cache.
    pub(crate) fn ask_own(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> Option<Flow> {
        if !world.has_zones() {
            return None;
        }
        let edns = QueryEdns { is_dnssec_ok: true, cookie: None, is_padded: false };
        let query = Query {
            name: &task.qname,
            rtype: task.rtype,
            id: 0,
            is_recursion_desired: false,
            is_checking_disabled: true,
            edns: Some(edns),
        };
        query::write(&query, &mut self.scratch.query);
        self.scratch.own.clear();
        if !world.authoritative(&self.scratch.query, &mut self.scratch.own) {
            return None;
        }
        task.note(|| "a zone of this server is at or above the name".into());
        let mut reply = std::mem::take(&mut self.scratch.reply);
        let asked = Asked {
            zone: Name::root(),
            qname: &task.qname,
            qtype: task.rtype,
            full: &task.qname,
            id: 0,
            source: Asks::Authority,
            has_edns: true,
            cookie: None,
            is_case_random: false,
            is_stream: true,
            not_servers: &self.settings.not_servers,
        };
        let read = self.scratch.reader.read(&asked, &self.scratch.own, &mut reply);
        let flow = read.ok().and_then(|()| self.own_reply(id, task, &reply, world));
        self.scratch.reply = reply;
        flow
    }

    fn own_reply(
        &mut self,
        id: TaskId,
        task: &mut Task,
        reply: &Reply,
        world: &mut dyn World,
    ) -> Option<Flow> {
        let lists = (reply.answer.list(), reply.authority.list());
        let rcode = match reply.kind {
            Kind::Answer | Kind::NoData => rcode::NOERROR,
            Kind::NameError => rcode::NXDOMAIN,
            Kind::TooLong => rcode::YXDOMAIN,
            Kind::Alias => {
                self.counters.own += 1;
                let target: NameBuf = reply.name().to_owned();
                return Some(self.follow_alias(task, lists, Security::Insecure, Some(&target)));
            }
            Kind::Referral => return self.own_referral(id, task, reply, world),
            _ => return None,
        };
        self.counters.own += 1;
        Some(Flow::End(whole(task, rcode, lists, Security::Insecure)))
    }

    /// A delegation in a zone of ours: that of a local root (RFC 8806), or of our own children. A deeper one that was learned goes before it.
    fn own_referral(
        &mut self,
        id: TaskId,
        task: &mut Task,
        reply: &Reply,
        world: &mut dyn World,
    ) -> Option<Flow> {
        let servers = reply.referral.list().iter().next().filter(|set| set.rtype == rtype::NS)?;
        let lookup = crate::lookup::Lookup {
            cache: world.cache(),
            now: self.time.now,
            is_unchecked: true,
            is_stale: false,
            is_for_proof: false,
            floor: servers.owner.label_count() + 1,
        };
        if lookup.deepest_cut(&task.qname, &mut self.scratch.copied, &mut self.scratch.cuts).is_some() {
            return None;
        }
        let end = self.time.now.plus_seconds(servers.ttl);
        let place = Place { zone: self.rooms.lower(servers.owner), end, source: Source::Cut };
        Some(self.enter(id, task, place, (servers.rdatas, reply.glue.list()), world))
    }
}
