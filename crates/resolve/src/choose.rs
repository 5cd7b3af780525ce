//! Whom to ask: the best of a zone's servers, a task that asks the same already, or addresses that have to be sought first.

use std::net::SocketAddr;

use wire::Name;

use crate::limits::{
    EXPLORED_ONE_IN, RETRY_MS, SOUGHT_AGAIN_MS, SOUGHT_AT_ONCE, SOUGHT_AT_ONCE_BELOW, VAIN_MAX,
    VAIN_MAX_BELOW,
};
use crate::lines::Turn;
use crate::mesh::TaskId;
use crate::minimise::MINIMISED_TYPE;
use crate::outcome::Outcome;
use crate::resolver::{Flow, Resolver};
use crate::settings::{ConfiguredKind, Minimisation};
use crate::state::State;
use crate::target::{Choice, Circumstances};
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
        Flow::End(Box::new(self.no_answer(task)))
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
