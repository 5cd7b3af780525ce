//! Zones of this process: asked as servers would be, but at once and without a message on any wire.
//!
//! ```text
//! zone of ours -> answer: final, kept nowhere, as it may change at any time      referral -> the cut
//! mirror       -> as one of its zone's servers: validated, kept                  referral -> the cut, kept      anything else, or bogus -> servers
//! ```
//!
//! What ours have goes before the cache, also where an alias of others leads to it; a referral and a mirror after it, as what was learned by them is there. A deeper cut that was learned goes before what either refers to. A mirror that is missing or has expired is none: servers are asked (RFC 8806 2).

use cache::Security;
use wire::iana::{rcode, rtype};
use wire::{Name, NameBuf};

use crate::ask::exchange::{Exchange, Way};
use crate::ask::query::{self, Query, QueryEdns};
use crate::explain::said;
use crate::known::lookup::Lookup;
use crate::known::start::{above, whole};
use crate::resolver::{Flow, Resolver};
use crate::response::{Asked, Kind, Reply, Source as Asks};
use crate::task::mesh::TaskId;
use crate::task::{MIRROR, NEVER, Place, Purpose, Source, Task};
use crate::world::{Held, StreamId, World};

/// What becomes of a referral in a zone of ours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refers {
    /// The way goes on there.
    ToCut,
    /// It is left for later.
    Nowhere,
}

impl Resolver {
    /// Asks zones of ours for what a client gets, before the cache is looked at: what they have goes before all. `None`: they have nothing of the name of now, or refer to others.
    pub(crate) fn ask_ours(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> Option<Flow> {
        let is_for_client = task.aliases > 0 || task.purpose == Purpose::Question;
        if !is_for_client || !world.has_zones() || !world.is_of_ours(&task.qname) {
            return None;
        }
        match self.write_own(task, world) {
            Held::Ours => self.read_own(id, task, world, Refers::Nowhere),
            Held::Mirror { .. } | Held::Nothing => None,
        }
    }

    /// Asks zones of this process for the name of now. `None`: they have nothing to say, or not more than the cache.
    pub(crate) fn ask_own(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> Option<Flow> {
        if !world.has_zones() {
            return None;
        }
        match self.write_own(task, world) {
            Held::Nothing => None,
            Held::Mirror { labels } => self.ask_mirror(id, task, labels, world),
            Held::Ours => self.read_own(id, task, world, Refers::ToCut),
        }
    }

    /// Has them write their response.
    fn write_own(&mut self, task: &Task, world: &mut dyn World) -> Held {
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
        world.authoritative(&self.scratch.query, &mut self.scratch.own)
    }

    /// Reads the response of a zone of ours.
    fn read_own(
        &mut self,
        id: TaskId,
        task: &mut Task,
        world: &mut dyn World,
        refers: Refers,
    ) -> Option<Flow> {
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
        let is_wanted = read.is_ok() && (refers == Refers::ToCut || reply.kind != Kind::Referral);
        let flow = is_wanted.then(|| {
            if task.story.is_some() {
                let (name, said) = (task.qname.to_lowercase(), said(&reply));
                task.note(|| {
                    format!("a zone of this server, which goes before all others, says about {name}: {said}")
                });
            }
            self.own_reply(id, task, &reply, world)
        });
        self.scratch.reply = reply;
        flow.flatten()
    }

    /// What a mirror of the zone with so many labels says, which was just asked.
    fn ask_mirror(
        &mut self,
        id: TaskId,
        task: &mut Task,
        labels: usize,
        world: &mut dyn World,
    ) -> Option<Flow> {
        // Where the root's servers are is for them to say (RFC 9609): when the mirror expires that has to be known.
        let is_priming = task.rtype == rtype::NS && task.qname.is_root() || task.purpose == Purpose::Priming;
        if is_priming || task.passes_mirrors() {
            return None;
        }
        let mut apex: &Name = &task.qname;
        while apex.label_count() > labels {
            apex = apex.parent()?;
        }
        let apex = apex.to_lowercase();
        let exchange = Exchange {
            task: id,
            server: MIRROR,
            // Nobody could forge it, and it is as long as it is.
            way: Way::Stream(StreamId(0)),
            id: 0,
            name: task.qname.clone(),
            rtype: task.rtype,
            sent: self.time.now,
            has_edns: true,
            cookie: None,
            has_case: false,
            is_late: false,
        };
        task.note(|| format!("zone {apex} has a mirror here"));
        let place = Place { zone: self.rooms.lower(&apex), end: NEVER, source: Source::Mirror };
        self.move_to(id, task, place, world);
        let mut reply = std::mem::take(&mut self.scratch.reply);
        let asked = exchange.asked(task, &self.settings.not_servers);
        let read = self.scratch.reader.read(&asked, &self.scratch.own, &mut reply);
        let is_of_use = match reply.kind {
            Kind::Answer | Kind::Alias | Kind::NoData | Kind::NameError | Kind::TooLong => true,
            Kind::Referral => !self.has_deeper(task, &reply, world),
            _ => false,
        };
        let flow = (read.is_ok() && is_of_use).then(|| {
            self.counters.own.add(1);
            self.replied(id, task, &exchange, &mut reply, world)
        });
        self.scratch.reply = reply;
        flow
    }

    /// Whether a cut is known that is deeper than what a reply refers to, or as deep.
    fn has_deeper(&mut self, task: &Task, reply: &Reply, world: &dyn World) -> bool {
        let Some(cut) = reply.referral.list().iter().next() else { return false };
        let lookup = Lookup {
            is_unchecked: true,
            floor: cut.owner.label_count(),
            ..Lookup::new(world.cache(), self.time.now)
        };
        lookup.deepest_cut(above(task), &mut self.scratch.copied, &mut self.scratch.cuts).is_some()
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
                self.counters.own.add(1);
                let target: NameBuf = reply.name().to_owned();
                return Some(self.follow_alias(task, lists, Security::Insecure, Some(&target)));
            }
            Kind::Referral => return self.own_referral(id, task, reply, world),
            _ => return None,
        };
        self.counters.own.add(1);
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
        if let Some(flow) = self.enter_known(id, task, servers.owner.label_count() + 1, world) {
            return Some(flow);
        }
        let end = self.time.now.plus_seconds(servers.ttl);
        let place = Place { zone: self.rooms.lower(servers.owner), end, source: Source::Cut };
        Some(self.enter(id, task, place, (servers.rdatas, reply.glue.list()), world))
    }
}
