//! The resolver of one worker: events in, actions out.
//!
//! ```text
//! ask, datagram, stream, tick -> one task steps, and whatever that makes ready, until nothing is
//! ```
//!
//! How tasks begin is in `begin`, who pays for them in `payers`, when nobody wants them any more in `deserted`; what a step does in the module of the state: `start`, `choose`, `receive`, `reaction`, `proving`, `finish`.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use cache::{Copied, Moment, Secret};
use sync::Areas;
use sync::area::Work;
use validate::Verifier;
use wire::iana::rtype;
use wire::name::NameRooms;

use crate::ask::ahead::Passing;
use crate::ask::exchange::{Exchanges, Way};
use crate::ask::inquiry::Inquiries;
use crate::ask::network::Network;
use crate::ask::stream::Streams;
use crate::counters::{Counters, LiveCounters};
use crate::explain::Told;
use crate::known::cuts::Cuts;
use crate::known::disowned::Disowned;
use crate::known::links::BrokenLinks;
use crate::known::lookup::Kept;
use crate::known::uncut::Uncut;
use crate::limits::{DUE_A_TURN, STEPS_MAX};
use crate::outcome::{Ask, Outcome, Waiter};
use crate::proving::facts::Standings;
use crate::response::{Reader, Reply};
use crate::settings::Settings;
use crate::task::budget::Budgets;
use crate::task::mesh::{Mesh, TaskId};
use crate::task::spare::Spares;
use crate::task::state::State;
use crate::task::{Task, Waiting};
use crate::world::{NotSent, Received, StreamEvent, StreamId, Time, World};

/// Why a question is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// As many wait for the same as may.
    Crowded,
    /// There are as many tasks as there may be, none of which can be given up.
    Full,
    /// The type is not one that can be resolved (RFC 8482 for ANY).
    Meta,
}

/// What a step came to.
pub(crate) enum Flow {
    /// Another step, at once.
    Go,
    /// Nothing more until something happens.
    Wait,
    /// The end.
    End(Box<Outcome>),
}

/// Room that steps use, and leave as they found it.
pub(crate) struct Scratch {
    pub reader: Reader,
    pub verifier: Verifier,
    pub reply: Reply,
    pub copied: Copied,
    /// The zone cut that a task enters.
    pub cut: Copied,
    pub cuts: Cuts,
    pub kept: Kept,
    pub query: Vec<u8>,
    pub own: Vec<u8>,
    /// What lives for one event.
    pub work: Work,
}

/// The resolver of one worker: tasks, questions on their way, and what it knows beside the cache.
pub struct Resolver {
    pub(crate) settings: Settings,
    pub(crate) mesh: Mesh,
    pub(crate) budgets: Budgets,
    pub(crate) exchanges: Exchanges,
    pub(crate) inquiries: Inquiries,
    pub(crate) streams: Streams,
    pub(crate) network: Network,
    pub(crate) counters: Arc<LiveCounters>,
    /// What was counted of the system's pieces before this resolver.
    pieces_before: u64,
    pub(crate) scratch: Scratch,
    pub(crate) standings: Standings,
    pub(crate) passing: Passing,
    pub(crate) uncut: Uncut,
    pub(crate) spares: Spares,
    pub(crate) rooms: NameRooms,
    pub(crate) broken: BrokenLinks,
    pub(crate) disowned: Disowned,
    /// The task of each waiter, to abandon it.
    pub(crate) waiting: HashMap<Waiter, TaskId, Secret>,
    /// Tasks that nobody waited for at their begin.
    pub(crate) prefetches: usize,
    /// Octets of the responses that are being validated.
    pub(crate) proving_octets: usize,
    /// Who is to be told in the next turns.
    pub(crate) telling: VecDeque<(Vec<Waiting>, Box<Outcome>)>,
    /// How many were told in this one.
    pub(crate) told_now: usize,
    /// Most tasks at once since the last flood.
    pub(crate) most_tasks: usize,
    /// The last tick left some that were due.
    pub(crate) has_more_due: bool,
    /// Forward zones whose servers are asked in the place of forwarders that were silent, and until when. At most one row a zone of the settings.
    pub(crate) unheard: Vec<(u16, Moment)>,
    /// How many are being written down, and those that were, until they are fetched.
    pub(crate) explained: usize,
    pub(crate) stories: Vec<Told>,
    pub(crate) time: Time,
}

impl Resolver {
    /// A resolver that has nothing to do. `random`: any number that nobody can guess.
    pub fn new(settings: Settings, random: u64) -> Resolver {
        let scratch = Scratch {
            reader: Reader::new(random),
            verifier: Verifier::default(),
            reply: Reply::new(),
            copied: Copied::new(),
            cut: Copied::new(),
            cuts: Cuts::default(),
            kept: Kept::default(),
            query: Vec::new(),
            own: Vec::new(),
            work: Work::of_system(),
        };
        Resolver {
            settings,
            mesh: Mesh::new(),
            budgets: Budgets::default(),
            exchanges: Exchanges::default(),
            inquiries: Inquiries::default(),
            streams: Streams::default(),
            network: Network::default(),
            counters: Arc::default(),
            pieces_before: 0,
            scratch,
            standings: Standings::default(),
            passing: Passing::default(),
            uncut: Uncut::default(),
            spares: Spares::default(),
            rooms: NameRooms::default(),
            broken: BrokenLinks::default(),
            disowned: Disowned::default(),
            waiting: HashMap::default(),
            prefetches: 0,
            proving_octets: 0,
            telling: VecDeque::new(),
            told_now: 0,
            most_tasks: 0,
            has_more_due: false,
            unheard: Vec::new(),
            explained: 0,
            stories: Vec::new(),
            time: Time::default(),
        }
    }

    /// Has what lives for one event cut from these areas, where before the system's allocator was asked for each piece.
    pub fn work_in(&mut self, areas: Arc<Areas>) {
        self.scratch.work = Work::new(areas);
    }

    /// Counts in these words from now on, which others read.
    pub fn count_in(&mut self, counters: Arc<LiveCounters>) {
        self.pieces_before = counters.system_pieces.read();
        self.counters = counters;
    }

    /// Takes other settings: for tasks that begin from now on, and for the next steps of the others.
    pub fn configure(&mut self, settings: Settings) {
        self.settings = settings;
        self.unheard.clear();
        self.forget_standings();
    }

    /// Finds something out. `waiter` is told by [`World::done`], perhaps at once.
    pub fn ask(
        &mut self,
        ask: &Ask<'_>,
        waiter: Option<Waiter>,
        world: &mut dyn World,
    ) -> Result<(), Refused> {
        self.turn(world);
        if rtype::is_meta(ask.rtype) {
            return Err(Refused::Meta);
        }
        // Without validation all that is learned is the same for all.
        let is_unchecked = ask.checking_disabled && self.settings.is_validating;
        let found = self.mesh.find(ask.name, ask.rtype, is_unchecked);
        match (found, waiter) {
            (Some(_), None) => return Ok(()),
            (Some(id), Some(waiter)) => self.join(id, ask, waiter)?,
            (None, waiter) => self.begin(ask, is_unchecked, waiter, world)?,
        }
        self.counters.asked.add(1);
        self.run(world);
        Ok(())
    }

    /// A datagram came.
    pub fn datagram(&mut self, received: &Received<'_>, world: &mut dyn World) {
        self.turn(world);
        self.received(received, world);
        self.run(world);
    }

    /// A datagram that the world took could not be sent.
    pub fn unsent(&mut self, unsent: &NotSent, world: &mut dyn World) {
        self.turn(world);
        self.not_sent(unsent, world);
        self.run(world);
    }

    /// Something happened to a stream.
    pub fn stream(&mut self, stream: StreamId, event: StreamEvent<'_>, world: &mut dyn World) {
        self.turn(world);
        match event {
            StreamEvent::Connected => {}
            StreamEvent::Message(octets) => self.streamed(stream, octets, world),
            StreamEvent::Closed(why) => self.stream_closed(stream, why, world),
        }
        self.run(world);
    }

    /// Does what is due.
    pub fn tick(&mut self, world: &mut dyn World) {
        self.turn(world);
        self.tell_left(world);
        for _ in 0..DUE_A_TURN {
            let Some(id) = self.mesh.next_due(self.time.now) else { break };
            self.due(id, world);
        }
        self.has_more_due = self.mesh.deadline().is_some_and(|at| at <= self.time.now);
        self.streams.tick(self.time.now, world);
        self.run(world);
    }

    /// Whether there is no way to the Internet, as it seems: nobody there was heard since then. Who waits may be told so, rather than nothing.
    pub fn is_network_out(&self, since: Moment) -> bool {
        self.network.is_out(since)
    }

    /// Since when there is no way to the Internet, as it seems, if that is so; and when somebody there was heard last.
    pub fn outage(&self) -> (Option<Moment>, Option<Moment>) {
        (self.network.out_since(), self.network.last_heard())
    }

    /// When to tick next. What was too much for a turn is for the next one, after what has come meanwhile.
    pub fn deadline(&self) -> Option<Moment> {
        let left = (!self.telling.is_empty() || self.has_more_due).then(|| self.time.now.plus_ms(1));
        let due = self.mesh.deadline().filter(|_| !self.has_more_due);
        [left, due, self.streams.deadline()].into_iter().flatten().min()
    }

    /// What was done so far, in this event too.
    pub fn counters(&self) -> Counters {
        Counters { system_pieces: self.system_pieces(), ..self.counters.read() }
    }

    /// An event begins.
    pub(crate) fn turn(&mut self, world: &dyn World) {
        self.time = world.time();
        self.told_now = 0;
        // Those of the event before.
        self.counters.system_pieces.write(self.system_pieces());
        self.scratch.work.clear();
    }

    fn system_pieces(&self) -> u64 {
        self.pieces_before + self.scratch.work.system_pieces()
    }

    /// Steps until nothing is ready.
    pub(crate) fn run(&mut self, world: &mut dyn World) {
        loop {
            while let Some(id) = self.mesh.next_ready() {
                if let Some(task) = self.mesh.take(id) {
                    self.steps(id, task, world);
                }
            }
            let Some(id) = self.next_in_line(world) else { return };
            self.mesh.make_ready(id);
        }
    }

    /// Lets a task step as far as it gets.
    pub(crate) fn steps(&mut self, id: TaskId, mut task: Box<Task>, world: &mut dyn World) {
        loop {
            if let Some(outcome) = self.hopeless(&task) {
                self.counters.hopeless.add(1);
                return self.finish(id, task, outcome, world);
            }
            let flow = match (self.desertion(&mut task), task.state) {
                (Some(flow), _) => flow,
                (None, State::Start) => self.start(id, &mut task, world),
                (None, State::Choosing) => self.choose(id, &mut task, world),
                (None, State::Proving) => self.prove(id, &mut task, world),
                _ => Flow::Wait,
            };
            match flow {
                Flow::Go if task.steps >= STEPS_MAX => {
                    return self.finish(id, task, Box::new(Outcome::unfinished()), world);
                }
                Flow::Go => task.steps += 1,
                Flow::Wait => return self.rest(id, task),
                Flow::End(outcome) => return self.finish(id, task, outcome, world),
            }
        }
    }

    /// What a step came to, of a task that is taken out.
    pub(crate) fn follow(&mut self, id: TaskId, task: Box<Task>, flow: Flow, world: &mut dyn World) {
        match flow {
            Flow::Go => self.steps(id, task, world),
            Flow::Wait => self.rest(id, task),
            Flow::End(outcome) => self.finish(id, task, outcome, world),
        }
    }

    /// Puts a task back until something happens.
    fn rest(&mut self, id: TaskId, task: Box<Task>) {
        let end = self.budgets.deadline(task.budget);
        let due = [task.state.until(), task.again_at, task.stale_at, Some(end)].into_iter().flatten().min();
        self.mesh.put(id, task);
        self.mesh.set_due(id, due);
    }

    /// A task's moment has come.
    fn due(&mut self, id: TaskId, world: &mut dyn World) {
        let now = self.time.now;
        let Some(mut task) = self.mesh.take(id) else { return };
        if task.stale_at.is_some_and(|at| at <= now) {
            task.stale_at = None;
            self.give_stale(&mut task, world);
        }
        if self.budgets.is_spent(task.budget, now) && !self.next_payer(&mut task, world) {
            return self.finish(id, task, Box::new(Outcome::unfinished()), world);
        }
        if task.again_at.is_some_and(|at| at <= now) {
            task.again_at = None;
            if task.state == State::Addresses {
                task.state = State::Choosing;
            }
        }
        if task.state.until().is_some_and(|until| until <= now) {
            self.timed_out(&mut task, world);
        }
        self.steps(id, task, world);
    }

    /// Closes what a task has asked.
    pub(crate) fn close_exchanges(&mut self, task: &mut Task, world: &mut dyn World) {
        for open in &mut task.open {
            let Some(id) = open.take() else { continue };
            let Some(exchange) = self.exchanges.close(id) else { continue };
            match exchange.way {
                Way::Datagram(path) => world.settle(path),
                Way::Stream(stream) => self.streams.settled(stream, id, self.time.now),
            }
        }
    }
}
