//! What a resolver is finding out now, for people (`zonda ctl requests`).

use std::net::SocketAddr;

use cache::Moment;
use wire::Name;

use crate::resolver::Resolver;
use crate::state::State;
use crate::task::{Place, Purpose};

/// One task, as it is now.
#[derive(Clone, Copy, Debug)]
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
    /// How many tasks wait.
    pub parents: usize,
    /// Tasks that it waits for.
    pub children: usize,
}

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
            parents: task.parents.len(),
            children: task.children.len(),
        })
    }

    /// What is held: tasks, questions on their way, streams, budgets, inquiries. All are 0 when nobody waits and nothing is asked, streams after a while.
    pub fn held(&self) -> [usize; 5] {
        let questions = self.exchanges.count() + self.exchanges.queued();
        let streams = self.streams.count();
        [self.mesh.count(), questions, streams, self.budgets.count(), self.inquiries.count()]
    }
}
