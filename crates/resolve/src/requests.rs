//! What a resolver is finding out now, for people (`zonda ctl requests`).

use std::net::SocketAddr;

use cache::Moment;
use wire::Name;

use crate::resolver::Resolver;
use crate::task::mesh::TaskId;
use crate::task::state::State;
use crate::task::{Place, Purpose};

/// One task, as it is now.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// What is found out.
    pub name: &'a Name,
    /// See `name`.
    pub rtype: u16,
    /// The name of now: the last of the chain of aliases.
    pub qname: &'a Name,
    /// Why it was begun.
    pub purpose: Purpose,
    /// What it is doing.
    pub state: State,
    /// The zone that is asked.
    pub place: &'a Place,
    /// The server that was asked last.
    pub server: Option<SocketAddr>,
    /// Since when.
    pub begun: Moment,
    /// How many clients wait.
    pub waiters: usize,
    /// How many tasks wait, and what some of them find out.
    pub parents: (usize, Vec<(&'a Name, u16)>),
    /// What the tasks that it waits for find out, or some of them.
    pub children: (usize, Vec<(&'a Name, u16)>),
}

/// Tasks that are named of those that wait, or are waited for: what a person reads.
const NAMED_MAX: usize = 8;

impl Resolver {
    /// All that is being found out, in no order.
    pub fn requests(&self) -> impl Iterator<Item = Request<'_>> {
        self.mesh.iter().map(|(_, task)| Request {
            name: &task.name,
            rtype: task.rtype,
            qname: &task.qname,
            purpose: task.purpose,
            state: task.state,
            place: &task.place,
            server: match task.state {
                State::Asking { exchange, .. } | State::Streaming { exchange, .. } => {
                    self.exchanges.get(exchange).map(|exchange| exchange.server)
                }
                _ => None,
            },
            begun: task.begun,
            waiters: task.waiters.len(),
            parents: (task.parents.len(), self.named(&task.parents)),
            children: (task.children.len(), self.named(&task.children)),
        })
    }

    /// What some tasks find out.
    fn named(&self, tasks: &[TaskId]) -> Vec<(&Name, u16)> {
        let known = tasks.iter().filter_map(|id| self.mesh.get(*id)).take(NAMED_MAX);
        known.map(|task| (&*task.name, task.rtype)).collect()
    }

    /// What is held: tasks, questions on their way, streams, budgets, inquiries. All are 0 when nobody waits and nothing is asked, streams after a while.
    pub fn held(&self) -> [usize; 5] {
        let questions = self.exchanges.count() + self.exchanges.queued();
        let streams = self.streams.count();
        [self.mesh.count(), questions, streams, self.budgets.count(), self.inquiries.count()]
    }
}
