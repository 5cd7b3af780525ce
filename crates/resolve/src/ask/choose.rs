//! Whom to ask: the best of a zone's servers, a task that asks the same already, or addresses that have to be sought first.

use std::net::SocketAddr;

use wire::Name;

use crate::ask::exchange::ExchangeId;
use crate::ask::lines::Turn;
use crate::ask::minimise::MINIMISED_TYPE;
use crate::ask::target::{Choice, Circumstances};
use crate::limits::{
    EXPLORED_ONE_IN, FORWARD_FIRST_AGAIN_MS, FORWARD_FIRST_MS, LATE_MS_MAX, LATE_MS_MAX_UNHEARD, RETRY_MS,
    SOUGHT_AGAIN_MS, SOUGHT_AT_ONCE, SOUGHT_AT_ONCE_BELOW, VAIN_MAX, VAIN_MAX_BELOW,
};
use crate::outcome::Outcome;
use crate::resolver::{Flow, Resolver};
use crate::settings::{ConfiguredKind, Minimisation};
use crate::task::mesh::TaskId;
use crate::task::state::State;
use crate::task::{Purpose, Source, Task};
use crate::world::World;

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
        if self.forwarders_are_silent(task) {
            return self.give_up(task, world);
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
                    && self.stand_in_line(id, server)
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

    /// Puts a task in line for a busy server. `false`: the line is long enough.
    fn stand_in_line(&mut self, id: TaskId, server: SocketAddr) -> bool {
        let Resolver { exchanges, mesh, .. } = self;
        let is_there = |task: &Task| task.is_in_line(&server) && mesh.is_wanted(task);
        exchanges.queue_up(server, id, |other| mesh.get(other).is_some_and(is_there))
    }

    /// A task that stood in line for a server whose turn has come.
    pub(crate) fn next_in_line(&mut self, world: &dyn World) -> Option<TaskId> {
        let Resolver { exchanges, mesh, .. } = self;
        let turn = |id: TaskId, server: &SocketAddr, in_flight: u16| match mesh.get(id) {
            Some(task) if task.is_in_line(server) && mesh.is_wanted(task) => {
                let window = task.candidates.window(server, &task.place.zone, world.servers());
                if in_flight < window { Turn::Goes } else { Turn::Waits }
            }
            _ => Turn::Gone,
        };
        let id = exchanges.next_in_line(turn)?;
        let task = mesh.get_mut(id)?;
        (task.queued_at, task.again_at) = (None, None);
        Some(id)
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
            self.counters.seeks.add(1);
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

    /// The forward zone that the task is at, if the zone's servers are asked where its forwarders fail.
    pub(crate) fn forward_first(&self, task: &Task) -> Option<u16> {
        let Source::Forward(number) = task.place.source else { return None };
        let zone = self.settings.zones.get(usize::from(number))?;
        (zone.kind == ConfiguredKind::Forward { is_first: true }).then_some(number)
    }

    /// Whether such forwarders have been waited for as long as may be.
    fn forwarders_are_silent(&self, task: &Task) -> bool {
        let since = task.forwarded_at.filter(|_| self.forward_first(task).is_some());
        since.is_some_and(|since| self.time.now.ms_since(since) >= FORWARD_FIRST_MS)
    }

    /// Nobody of the zone's servers is left.
    fn give_up(&mut self, task: &mut Task, world: &mut dyn World) -> Flow {
        let is_over = !self.asks_otherwise(task);
        if is_over && self.awaits_late(task) {
            return Flow::Wait;
        }
        self.close_exchanges(task, world);
        match is_over {
            true => Flow::End(Box::new(self.no_answer(task))),
            false => Flow::Go,
        }
    }

    /// Has a task that somebody waits for await late answers, while there is time.
    fn awaits_late(&self, task: &mut Task) -> bool {
        let is_theirs = self.is_for_sure(task) || self.is_theirs_alone(task);
        let until = task.begun.plus_ms(if is_theirs { LATE_MS_MAX } else { LATE_MS_MAX_UNHEARD });
        let is_open = |open: &ExchangeId| self.exchanges.get(*open).is_some();
        let is_in_time = until > self.time.now && self.network.out_since().is_none();
        let awaits = is_in_time && !task.waiters.is_empty() && task.open.iter().flatten().any(is_open);
        if awaits {
            task.again_at = Some(until);
        }
        awaits
    }

    /// Whether there is another way to find it out: others to be asked, or for something else.
    fn asks_otherwise(&mut self, task: &mut Task) -> bool {
        if task.place.source == Source::Mirror && !task.passes_mirrors() {
            // The zone has servers beside.
            task.pass_mirrors();
            task.state = State::Start;
            return true;
        }
        if let Some(number) = self.forward_first(task) {
            if self.forwarders_are_silent(task) {
                let now = self.time.now;
                self.unheard.retain(|(zone, until)| *zone != number && *until > now);
                self.unheard.push((number, now.plus_ms(FORWARD_FIRST_AGAIN_MS)));
            }
            task.note(|| "no forwarder gives an answer: the servers of the zones are asked".into());
            (task.passed_over, task.forwarded_at) = (Some(number), None);
            task.questions = 0;
            task.state = State::Start;
            return true;
        }
        if self.next_question(task).left_out > 0 && self.settings.minimisation == Minimisation::Relaxed {
            // Servers that fail on a part of a name mostly know the whole (RFC 9156 2.3).
            task.minimiser.give_up();
            task.candidates.try_again();
            return true;
        }
        if task.second_hand == (true, false) {
            task.second_hand.1 = true;
            task.candidates.try_again();
            return true;
        }
        false
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
}
