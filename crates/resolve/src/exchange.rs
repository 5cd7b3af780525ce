//! Questions that were sent and have no answer yet: which task a response is for.
//!
//! ```text
//! slots: [ generation | Exchange: task, server, way, ID, name as sent, type, sent at, ... | next of the same way ]
//! ways:  (path, server) -> first slot            in flight: server -> how many
//! queues: server that has as many as it may -> tasks, in the order in which they came        most of the time there is none
//! ```
//!
//! A datagram belongs to a question only by path, address and port of the server, ID and name in the case that it was sent in.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use cache::{Cookie, Moment, Secret};
use wire::name::NameRoom;

use crate::limits::QUEUE_MAX;
use crate::mesh::TaskId;
use crate::response::{Asked, Prefix};
use crate::task::Task;
use crate::world::{Path, StreamId};

const NONE: u32 = u32::MAX;

/// The number of a question that was sent. After its end it finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExchangeId {
    slot: u32,
    generation: u32,
}

/// Which way a question went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Datagram(Path),
    Stream(StreamId),
}

/// What was sent.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub task: TaskId,
    pub server: SocketAddr,
    pub way: Way,
    pub id: u16,
    /// In the case in which it was sent.
    pub name: NameRoom,
    pub rtype: u16,
    pub sent: Moment,
    pub has_edns: bool,
    /// The cookie that it had, ours and the server's.
    pub cookie: Option<Cookie>,
    /// Whether its case was made random.
    pub has_case: bool,
    /// Its time is over; an answer still counts.
    pub is_late: bool,
}

impl Exchange {
    /// Whether it went over a stream.
    pub(crate) fn way_is_stream(&self) -> bool {
        matches!(self.way, Way::Stream(_))
    }

    /// What was asked, as a response to it is read and kept: for a task that asks it, or follows the one that does. Cookies are for whoever sent it.
    pub(crate) fn asked<'a>(&'a self, task: &'a Task, not_servers: &'a [Prefix]) -> Asked<'a> {
        Asked {
            zone: &task.place.zone,
            qname: &self.name,
            qtype: self.rtype,
            full: &task.qname,
            id: self.id,
            source: task.place.source.of_response(),
            has_edns: self.has_edns,
            cookie: None,
            is_case_random: self.has_case,
            is_stream: self.way_is_stream(),
            not_servers,
        }
    }
}

struct Slot {
    generation: u32,
    exchange: Option<Exchange>,
    /// The next of the same path and server.
    next: u32,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Exchanges {
    slots: Vec<Slot>,
    free: Vec<u32>,
    ways: HashMap<(Path, SocketAddr), u32, Secret>,
    in_flight: HashMap<SocketAddr, u16, Secret>,
    /// Only of servers with questions in flight.
    queues: HashMap<SocketAddr, VecDeque<TaskId>, Secret>,
    /// Those of them that have room.
    roomy: Vec<SocketAddr>,
}

impl Exchanges {
    /// A question is on its way.
    pub(crate) fn open(&mut self, exchange: Exchange) -> ExchangeId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, exchange: None, next: NONE });
            self.slots.len() as u32 - 1
        });
        *self.in_flight.entry(exchange.server).or_default() += 1;
        let next = match exchange.way {
            Way::Datagram(path) => self.ways.insert((path, exchange.server), slot).unwrap_or(NONE),
            Way::Stream(_) => NONE,
        };
        let held = &mut self.slots[slot as usize];
        (held.exchange, held.next) = (Some(exchange), next);
        ExchangeId { slot, generation: held.generation }
    }

    /// What was sent.
    pub(crate) fn get(&self, id: ExchangeId) -> Option<&Exchange> {
        let slot = self.slots.get(id.slot as usize).filter(|slot| slot.generation == id.generation)?;
        slot.exchange.as_ref()
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        let slot = self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation == id.generation)?;
        slot.exchange.as_mut()
    }

    /// The newest open question that went this way to this server.
    pub(crate) fn first_on_way(&self, path: Path, server: SocketAddr) -> Option<ExchangeId> {
        self.at(*self.ways.get(&(path, server))?)
    }

    /// The one before it that went the same way.
    pub(crate) fn next_on_way(&self, id: ExchangeId) -> Option<ExchangeId> {
        self.at(self.slots.get(id.slot as usize)?.next)
    }

    fn at(&self, slot: u32) -> Option<ExchangeId> {
        Some(ExchangeId { slot, generation: self.slots.get(slot as usize)?.generation })
    }

    /// It is answered or given up.
    pub(crate) fn close(&mut self, id: ExchangeId) -> Option<Exchange> {
        let slot = self.slots.get_mut(id.slot as usize).filter(|slot| slot.generation == id.generation)?;
        let exchange = slot.exchange.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        let next = std::mem::replace(&mut slot.next, NONE);
        if let Some(count) = self.in_flight.get_mut(&exchange.server) {
            *count -= 1;
            if *count == 0 {
                self.in_flight.remove(&exchange.server);
            }
        }
        if !self.queues.is_empty() && self.queues.contains_key(&exchange.server) {
            self.roomy.push(exchange.server);
        }
        if let Way::Datagram(path) = exchange.way {
            self.unlink((path, exchange.server), id.slot, next);
        }
        self.free.push(id.slot);
        Some(exchange)
    }

    /// Questions that a server was sent and has not answered.
    pub(crate) fn in_flight(&self, server: &SocketAddr) -> u16 {
        self.in_flight.get(server).copied().unwrap_or(0)
    }

    /// Puts a task in line for a server that has as many questions as it may. `false`: the line is long enough.
    pub(crate) fn queue_up(&mut self, server: SocketAddr, task: TaskId) -> bool {
        // Without any in flight nothing would end.
        if self.in_flight(&server) == 0 {
            return false;
        }
        let queue = self.queues.entry(server).or_default();
        let has_room = queue.len() < QUEUE_MAX;
        if has_room {
            queue.push_back(task);
        }
        has_room
    }

    /// A task whose turn has come, and the server that it stood in line for. `is_there`: whether it still does. One for each question that ended; all where
    /// there is none left in flight whose end would call the next.
    pub(crate) fn next_in_line(&mut self, is_there: impl Fn(TaskId, &SocketAddr) -> bool) -> Option<TaskId> {
        while let Some(server) = self.roomy.pop() {
            let Some(queue) = self.queues.get_mut(&server) else { continue };
            let mut next = None;
            while next.is_none()
                && let Some(task) = queue.pop_front()
            {
                next = Some(task).filter(|task| is_there(*task, &server));
            }
            if queue.is_empty() {
                self.queues.remove(&server);
            } else if self.in_flight(&server) == 0 {
                self.roomy.push(server);
            }
            if next.is_some() {
                return next;
            }
        }
        None
    }

    /// Tasks in line, and those that were there and have gone elsewhere.
    pub(crate) fn queued(&self) -> usize {
        self.queues.values().map(VecDeque::len).sum()
    }

    /// All open questions.
    pub(crate) fn count(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    fn unlink(&mut self, way: (Path, SocketAddr), slot: u32, next: u32) {
        let Some(first) = self.ways.get(&way).copied() else { return };
        if first == slot {
            match next {
                NONE => self.ways.remove(&way),
                next => self.ways.insert(way, next),
            };
            return;
        }
        let mut at = first;
        while let Some(held) = self.slots.get_mut(at as usize) {
            if held.next == slot {
                held.next = next;
                return;
            }
            at = held.next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Mesh;

    fn exchange(task: TaskId, path: u64, id: u16) -> Exchange {
        Exchange {
            task,
            server: SocketAddr::from(([192, 0, 2, 1], 53)),
            way: Way::Datagram(Path(path)),
            id,
            name: NameRoom::new(),
            rtype: 2,
            sent: Moment(0),
            has_edns: true,
            cookie: None,
            has_case: false,
            is_late: false,
        }
    }

    #[test]
    fn many_on_one_way() {
        let task = Mesh::test_id();
        let mut exchanges = Exchanges::default();
        let ids: Vec<_> = (0..4).map(|id| exchanges.open(exchange(task, 7, id))).collect();
        let other = exchanges.open(exchange(task, 8, 9));
        let server = SocketAddr::from(([192, 0, 2, 1], 53));
        let on_way = |exchanges: &Exchanges, path| {
            let first = exchanges.first_on_way(Path(path), server);
            let ids = std::iter::successors(first, |id| exchanges.next_on_way(*id));
            ids.filter_map(|id| exchanges.get(id).map(|exchange| exchange.id)).collect::<Vec<_>>()
        };
        assert_eq!(on_way(&exchanges, 7), [3, 2, 1, 0]);
        for (closed, left) in [(2, &[3, 1, 0][..]), (3, &[1, 0]), (0, &[1]), (1, &[])] {
            assert!(exchanges.close(ids[closed]).is_some());
            assert!(exchanges.close(ids[closed]).is_none(), "once");
            assert_eq!(on_way(&exchanges, 7), left);
        }
        assert_eq!((on_way(&exchanges, 8), exchanges.in_flight(&server), exchanges.count()), (vec![9], 1, 1));
        exchanges.close(other);
        assert!(exchanges.ways.is_empty() && exchanges.in_flight.is_empty());
    }
}
