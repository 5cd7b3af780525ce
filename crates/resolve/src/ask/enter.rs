//! Going to a zone's servers: those that settings name, those of a cut that is known, the root's; and their addresses, from glue and cache.

use std::net::{IpAddr, SocketAddr};

use wire::Name;
use wire::iana::rtype;
use wire::name::NameRoom;
use wire::rrset::{RdataList, RrsetList};

use crate::ask::target::address_of;
use crate::known::lookup::Lookup;
use crate::known::start::above;
use crate::limits::NAMES_MAX;
use crate::resolver::{Flow, Resolver};
use crate::response::is_server;
use crate::settings::ConfiguredKind;
use crate::task::mesh::TaskId;
use crate::task::state::State;
use crate::task::{NEVER, Place, Purpose, Source, Task};
use crate::world::World;

impl Resolver {
    /// Goes to servers that the settings name.
    pub(crate) fn enter_configured(
        &mut self,
        id: TaskId,
        task: &mut Task,
        number: usize,
        world: &mut dyn World,
    ) -> Flow {
        let zone = &self.settings.zones[number];
        // A cut above the name of now with more labels than the zone, which the name is in, is in the zone too.
        let floor = zone.name.label_count() + 1;
        if zone.kind == ConfiguredKind::Stub
            && let Some(flow) = self.enter_known(id, task, floor, world)
        {
            return flow;
        }
        let zone = &self.settings.zones[number];
        let source = match zone.kind {
            ConfiguredKind::Stub => Source::Stub(number as u16),
            ConfiguredKind::Forward { .. } => Source::Forward(number as u16),
        };
        let place = Place { zone: self.rooms.copy(&zone.name), end: NEVER, source };
        self.move_to(id, task, place, world);
        let name = &self.settings.zones[number].name;
        task.note(|| format!("zone {name} has servers in the settings"));
        for (at, endpoint) in self.settings.zones[number].servers.iter().enumerate() {
            task.candidates.add(endpoint.address, Some(at as u16));
        }
        Flow::Go
    }

    /// Goes to the servers of the deepest zone cut that is known, else of the root, once they are known.
    pub(crate) fn enter_cut(
        &mut self,
        id: TaskId,
        task: &mut Task,
        floor: usize,
        world: &mut dyn World,
    ) -> Flow {
        let is_from_root = task.is_refresh && task.story.is_some();
        if is_from_root {
            return self.enter_hints(id, task, world);
        }
        if let Some(flow) = self.enter_known(id, task, floor, world) {
            return flow;
        }
        let is_priming = task.purpose == Purpose::Priming || task.is_primed;
        if !is_priming {
            task.is_primed = true;
            let root = (Name::root(), rtype::NS);
            if self.child((id, task), root, Purpose::Priming, world).is_some() {
                task.state = State::Priming;
                return Flow::Wait;
            }
        }
        self.enter_hints(id, task, world)
    }

    /// Goes to the servers of the deepest zone cut that the cache has, with `floor` labels at least. `None`: it has none.
    pub(crate) fn enter_known(
        &mut self,
        id: TaskId,
        task: &mut Task,
        floor: usize,
        world: &mut dyn World,
    ) -> Option<Flow> {
        let lookup = Lookup { is_unchecked: true, floor, ..Lookup::new(world.cache(), self.time.now) };
        // Taken out, as what is found lies in it while servers are entered.
        let mut copied = std::mem::take(&mut self.scratch.cut);
        let mut flow = None;
        if let Some((cut, entry)) = lookup.cut(above(task), &mut copied, &mut self.scratch.cuts) {
            let end = entry.stored.plus_seconds(entry.ttl);
            let place = Place { zone: self.rooms.copy(cut), end, source: Source::Cut };
            flow = Some(self.enter(id, task, place, (entry.rdatas, entry.beside), world));
        }
        self.scratch.cut = copied;
        flow
    }

    /// Goes to where the root's servers are first looked for.
    fn enter_hints(&mut self, id: TaskId, task: &mut Task, world: &mut dyn World) -> Flow {
        let place = Place { zone: NameRoom::new(), end: NEVER, source: Source::Hints };
        self.move_to(id, task, place, world);
        task.note(|| "the root has the servers of the hints".into());
        self.add_hints(task, world);
        Flow::Go
    }

    /// Takes the hints, begun at a random one.
    fn add_hints(&mut self, task: &mut Task, world: &mut dyn World) {
        let first = world.random() as usize;
        for at in 0..self.settings.hints.len() {
            let hint = self.settings.hints[first.wrapping_add(at) % self.settings.hints.len()];
            self.add_address(task, hint);
        }
    }

    /// Goes to the servers of a zone cut.
    pub(crate) fn enter(
        &mut self,
        id: TaskId,
        task: &mut Task,
        place: Place,
        (servers, glue): (RdataList<'_>, RrsetList<'_>),
        world: &mut dyn World,
    ) -> Flow {
        task.note_cut(&place.zone, servers);
        self.move_to(id, task, place, world);
        let count = servers.count();
        let first = if count > NAMES_MAX { world.random() as usize % count } else { 0 };
        let names = servers.iter().cycle().skip(first).take(count.min(NAMES_MAX));
        for name in names.filter_map(|rdata| Name::from_wire(rdata).ok()) {
            self.add_server(task, name, glue, world);
        }
        if task.place.zone.is_root() && task.candidates.is_empty() {
            self.add_hints(task, world);
        }
        for at in 0..task.avoided.len() {
            task.candidates.tried_again(&task.avoided[at]);
        }
        Flow::Go
    }

    /// Takes the addresses of a name of a server: its glue, or what the cache has.
    fn add_server(&mut self, task: &mut Task, name: &Name, glue: RrsetList<'_>, world: &mut dyn World) {
        let families = [(rtype::A, self.settings.has_ipv4), (rtype::AAAA, self.settings.has_ipv6)];
        let mut unsought = [false; 2];
        let has_glue = glue.iter().any(|set| set.owner.eq_ignore_case(name));
        for (at, (rtype, is_wanted)) in families.into_iter().enumerate() {
            if !is_wanted {
                continue;
            }
            let mut found = [IpAddr::from([0, 0, 0, 0]); 4];
            let mut count = 0;
            let mut take = |rdata: &[u8]| {
                if let Some(address) = address_of(rtype, rdata).filter(|_| count < found.len()) {
                    found[count] = address;
                    count += 1;
                }
            };
            let own = glue.iter().filter(|set| set.rtype == rtype && set.owner.eq_ignore_case(name));
            own.for_each(|set| set.rdatas.iter().for_each(&mut take));
            let is_known = has_glue
                || Lookup { is_unchecked: true, ..Lookup::new(world.cache(), self.time.now) }.addresses(
                    &name.to_lowercase(),
                    rtype,
                    &mut self.scratch.copied,
                    take,
                );
            // The addresses of the root's servers are in no signed zone, and its name has no letters to mix: what priming says counts only
            // where the hints say the same, so that nobody who forges one datagram has the root for days.
            let is_root = task.place.zone.is_root();
            let is_believed = |address: &&IpAddr| !is_root || self.settings.hints.contains(address);
            found[..count].iter().filter(is_believed).for_each(|address| self.add_address(task, *address));
            // Below the zone itself only glue can say it.
            unsought[at] = !is_known && !name.is_at_or_below(&task.place.zone);
        }
        task.candidates.add_name(name, unsought);
    }

    /// Takes an address of a server of the zone of now.
    pub(crate) fn add_address(&self, task: &mut Task, address: IpAddr) {
        let is_wanted = if address.is_ipv4() { self.settings.has_ipv4 } else { self.settings.has_ipv6 };
        let (four, six);
        let octets: &[u8] = match address {
            IpAddr::V4(ip) => {
                four = ip.octets();
                &four
            }
            IpAddr::V6(ip) => {
                six = ip.octets();
                &six
            }
        };
        if is_wanted && is_server(octets, &self.settings.not_servers) {
            task.candidates.add(SocketAddr::new(address, self.settings.port), None);
        }
    }

    /// Another zone's servers are asked from now on.
    pub(crate) fn move_to(&mut self, id: TaskId, task: &mut Task, place: Place, world: &mut dyn World) {
        self.close_exchanges(task, world);
        self.end_inquiry(id, task);
        if task.parents.is_empty() {
            let client = task.waiters.first().map_or(0, |waiting| waiting.client);
            self.mesh.count_under(id, &place.zone, client);
        }
        self.rooms.put(std::mem::replace(&mut task.place, place).zone);
        task.candidates.clear();
        (task.over_stream, task.is_case_plain) = (None, false);
        (task.questions, task.queued_at, task.has_asked_keys) = (0, None, false);
        (task.bogus, task.near_misses, task.second_hand) = (0, 0, (false, false));
        task.state = State::Choosing;
    }
}
