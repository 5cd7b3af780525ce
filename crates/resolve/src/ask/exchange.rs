//! Questions that were sent and have no answer yet: which task a response is for.
//!
//! ```text
//! slots: [ Exchange: task, server, way, ID, name as sent, type, sent at, ... | next of the same way | late: before, after ]
//! ways:  (path, server) -> first slot
//! loads: server -> [ in flight | late: how many, oldest, newest ]       lines: server that has as many in flight as it may -> tasks (lines.rs)
//! ```
//!
//! A question whose time is over is *late*: its answer still counts, but it is not in flight any more. Else a server that was silent for a moment while many
//! were on their way could be asked nothing until the last of their tasks had ended. Of late ones a server has a bounded number; the oldest goes.
//!
//! A datagram belongs to a question only by path, address and port of the server, ID and name in the case that it was sent in.

use std::collections::HashMap;
use std::net::SocketAddr;

use cache::{Cookie, Moment, Secret};
use wire::name::NameRoom;

use crate::ask::lines::{Lines, Turn};
use crate::response::{Asked, Prefix};
use crate::slab::{Key, Slab};
use crate::task::Task;
use crate::task::mesh::TaskId;
use crate::world::{Path, StreamId};

const NONE: u32 = u32::MAX;

/// The number of a question that was sent. After its end it finds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExchangeId(Key);

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
    /// Its time is over; an answer still counts. Set by [`Exchanges::set_late`].
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
    exchange: Exchange,
    /// The next of the same path and server.
    next: u32,
    /// Of a late one those before and after it, by when they became late.
    late: [u32; 2],
}

const BEFORE: usize = 0;
const AFTER: usize = 1;

/// What a server has not answered.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    /// Questions that have time yet.
    in_flight: u16,
    /// Questions whose time is over.
    late: u16,
    oldest: u32,
    newest: u32,
}

const IDLE: Load = Load { in_flight: 0, late: 0, oldest: NONE, newest: NONE };

/// Questions on their way, by path and server; and how busy each server is.
#[derive(Default)]
pub(crate) struct Exchanges {
    slots: Slab<Slot>,
    pub(crate) ways: HashMap<(Path, SocketAddr), u32, Secret>,
    /// Only of servers with open questions.
    pub(crate) loads: HashMap<SocketAddr, Load, Secret>,
    lines: Lines,
}

impl Exchanges {
    /// A question is on its way.
    pub(crate) fn open(&mut self, exchange: Exchange) -> ExchangeId {
        let (server, way) = (exchange.server, exchange.way);
        self.loads.entry(server).or_insert(IDLE).in_flight += 1;
        let key = self.slots.insert(Slot { exchange, next: NONE, late: [NONE; 2] });
        if let Way::Datagram(path) = way
            && let Some(next) = self.ways.insert((path, server), key.slot)
            && let Some(slot) = self.slots.get_mut(key)
        {
            slot.next = next;
        }
        ExchangeId(key)
    }

    /// What was sent.
    pub(crate) fn get(&self, id: ExchangeId) -> Option<&Exchange> {
        self.slots.get(id.0).map(|slot| &slot.exchange)
    }

    /// The time of a question is over. Where its server has more than `late_max` of that kind now: the oldest of them, to be closed.
    pub(crate) fn set_late(&mut self, id: ExchangeId, late_max: u16) -> Option<ExchangeId> {
        let slot = self.slots.get_mut(id.0).filter(|slot| !slot.exchange.is_late)?;
        let server = slot.exchange.server;
        let load = self.loads.get_mut(&server)?;
        load.in_flight -= 1;
        load.late += 1;
        let before = std::mem::replace(&mut load.newest, id.0.slot);
        (slot.exchange.is_late, slot.late) = (true, [before, NONE]);
        if load.oldest == NONE {
            load.oldest = id.0.slot;
        }
        let (is_too_many, oldest) = (load.late > late_max, load.oldest);
        if let Some(before) = self.slots.at_mut(before) {
            before.late[AFTER] = id.0.slot;
        }
        self.lines.ended(&server);
        if is_too_many { self.at(oldest) } else { None }
    }

    /// The newest open question that went this way to this server.
    pub(crate) fn first_on_way(&self, path: Path, server: SocketAddr) -> Option<ExchangeId> {
        self.at(*self.ways.get(&(path, server))?)
    }

    /// The one before it that went the same way.
    pub(crate) fn next_on_way(&self, id: ExchangeId) -> Option<ExchangeId> {
        self.at(self.slots.at(id.0.slot)?.next)
    }

    fn at(&self, slot: u32) -> Option<ExchangeId> {
        self.slots.key_at(slot).map(ExchangeId)
    }

    /// It is answered or given up.
    pub(crate) fn close(&mut self, id: ExchangeId) -> Option<Exchange> {
        let Slot { exchange, next, late } = self.slots.remove(id.0)?;
        self.unload(&exchange, late);
        self.lines.ended(&exchange.server);
        if let Way::Datagram(path) = exchange.way {
            self.unlink((path, exchange.server), id.0.slot, next);
        }
        Some(exchange)
    }

    /// Its server has one less.
    fn unload(&mut self, exchange: &Exchange, [before, after]: [u32; 2]) {
        let Some(load) = self.loads.get_mut(&exchange.server) else { return };
        match exchange.is_late {
            true => {
                load.late -= 1;
                match self.slots.at_mut(before) {
                    Some(slot) => slot.late[AFTER] = after,
                    None => load.oldest = after,
                }
                match self.slots.at_mut(after) {
                    Some(slot) => slot.late[BEFORE] = before,
                    None => load.newest = before,
                }
            }
            false => load.in_flight -= 1,
        }
        if (load.in_flight, load.late) == (0, 0) {
            self.loads.remove(&exchange.server);
        }
    }

    /// Questions that a server was sent and that have time yet.
    pub(crate) fn in_flight(&self, server: &SocketAddr) -> u16 {
        self.loads.get(server).map_or(0, |load| load.in_flight)
    }

    /// Puts a task in line for a server that has as many questions as it may. `false`: the line is long enough.
    pub(crate) fn queue_up(
        &mut self,
        server: SocketAddr,
        task: TaskId,
        is_there: impl Fn(TaskId) -> bool,
    ) -> bool {
        // Without any in flight nothing would end.
        self.in_flight(&server) > 0 && self.lines.join(server, task, is_there)
    }

    /// A task in line whose turn has come. `turn` is given a task, the server that it may be in line for, and how many that has in flight.
    pub(crate) fn next_in_line(&mut self, turn: impl Fn(TaskId, &SocketAddr, u16) -> Turn) -> Option<TaskId> {
        let Exchanges { lines, loads, .. } = self;
        lines.next(|server| loads.get(server).map_or(0, |load| load.in_flight), turn)
    }

    /// Tasks in line, and those that were there and have gone elsewhere.
    pub(crate) fn queued(&self) -> usize {
        self.lines.count()
    }

    /// All open questions.
    pub(crate) fn count(&self) -> usize {
        self.slots.count()
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
        while let Some(held) = self.slots.at_mut(at) {
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
    use crate::task::mesh::Mesh;

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
        assert!(exchanges.ways.is_empty() && exchanges.loads.is_empty());
    }

    /// Late ones leave the count of those in flight; of those that are too many the oldest is named, whichever were closed between.
    #[test]
    fn late_ones() {
        let server = SocketAddr::from(([192, 0, 2, 1], 53));
        let late = |exchanges: &Exchanges| exchanges.loads.get(&server).map_or(0, |load| load.late);
        for closed in [None, Some(0), Some(1), Some(2)] {
            let mut exchanges = Exchanges::default();
            let ids: Vec<_> = (0..5).map(|id| exchanges.open(exchange(Mesh::test_id(), 7, id))).collect();
            assert!(ids[..3].iter().all(|id| exchanges.set_late(*id, 3).is_none()));
            assert_eq!((exchanges.in_flight(&server), late(&exchanges)), (2, 3));
            assert_eq!(exchanges.set_late(ids[0], 1), None, "it was late before");
            if let Some(closed) = closed {
                assert!(exchanges.close(ids[closed]).is_some_and(|exchange| exchange.is_late));
            }
            let oldest = ids[usize::from(closed == Some(0))];
            assert_eq!(
                exchanges.set_late(ids[3], 2),
                if closed.is_some() { Some(oldest) } else { Some(ids[0]) }
            );
            ids.iter().for_each(|id| _ = exchanges.close(*id));
            assert!(exchanges.loads.is_empty() && exchanges.count() == 0);
        }
    }
}
