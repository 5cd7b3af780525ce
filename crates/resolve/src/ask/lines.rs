//! Lines of tasks for servers that have as many questions as they may.
//!
//! ```text
//! queues: server -> tasks, in the order in which they came        most of the time there is none
//! roomy:  servers of which a question ended, and how many may be called for that
//! ```
//!
//! Each question that ends calls the next task, and one more where the window has room for it: a server that was silent and is back has its whole window
//! again after a few round trips, not at once.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use cache::Secret;

use crate::limits::{CALLED_AT_ONCE, QUEUE_MAX};
use crate::task::mesh::TaskId;

/// How it is with the first of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// It has gone elsewhere, or nobody waits for it any more.
    Gone,
    /// The server has no room for it yet.
    Waits,
    /// It asks now.
    Goes,
}

/// Tasks in line for servers that have as many questions as they may.
#[derive(Default)]
pub(crate) struct Lines {
    queues: HashMap<SocketAddr, VecDeque<TaskId>, Secret>,
    roomy: Vec<(SocketAddr, u8)>,
}

impl Lines {
    /// Puts a task at the end of the line for a server. `false`: the line is long enough, also without those at its begin who are not there any more.
    pub(crate) fn join(
        &mut self,
        server: SocketAddr,
        task: TaskId,
        is_there: impl Fn(TaskId) -> bool,
    ) -> bool {
        let queue = self.queues.entry(server).or_default();
        if queue.len() >= QUEUE_MAX {
            while queue.pop_front_if(|first| !is_there(*first)).is_some() {}
        }
        let has_room = queue.len() < QUEUE_MAX;
        if has_room {
            queue.push_back(task);
        }
        has_room
    }

    /// A question to the server has ended.
    pub(crate) fn ended(&mut self, server: &SocketAddr) {
        if !self.queues.is_empty() && self.queues.contains_key(server) {
            self.roomy.push((*server, CALLED_AT_ONCE));
        }
    }

    /// A task whose turn has come. `in_flight`: how many questions a server has; where it is none, whose end would call the next, all of the line are called,
    /// until one asks.
    pub(crate) fn next(
        &mut self,
        in_flight: impl Fn(&SocketAddr) -> u16,
        turn: impl Fn(TaskId, &SocketAddr, u16) -> Turn,
    ) -> Option<TaskId> {
        while let Some((server, left)) = self.roomy.pop() {
            let Some(queue) = self.queues.get_mut(&server) else { continue };
            let in_flight = in_flight(&server);
            let mut called = None;
            while let Some(first) = queue.front().copied() {
                let turn = turn(first, &server, in_flight);
                if turn == Turn::Waits {
                    break;
                }
                queue.pop_front();
                if turn == Turn::Goes {
                    called = Some(first);
                    break;
                }
            }
            let left = if in_flight == 0 { CALLED_AT_ONCE } else { left - 1 };
            if queue.is_empty() {
                self.queues.remove(&server);
            } else if called.is_some() && left > 0 {
                self.roomy.push((server, left));
            }
            if called.is_some() {
                return called;
            }
        }
        None
    }

    /// Tasks in line, and those that were there and have gone elsewhere.
    pub(crate) fn count(&self) -> usize {
        self.queues.values().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::mesh::Mesh;
    use std::cell::Cell;

    fn server() -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], 53))
    }

    /// Tasks that go one after the other, of a line of `count`, each of which asks where `asks`, once a question has ended; `window` is what the server may have.
    fn called(lines: &mut Lines, in_flight: &Cell<u16>, window: u16, asks: bool) -> usize {
        in_flight.set(in_flight.get() - 1);
        lines.ended(&server());
        let mut called = 0;
        let turn = |_, _: &SocketAddr, in_flight| if in_flight < window { Turn::Goes } else { Turn::Waits };
        while lines.next(|_| in_flight.get(), turn).is_some() {
            called += 1;
            in_flight.set(in_flight.get() + u16::from(asks));
        }
        called
    }

    #[test]
    fn an_end_calls_one_and_one_more_where_there_is_room() {
        for (before, window, asks, expected) in [
            (4, 4, true, 1),
            (4, 8, true, 2),
            (4, 2, true, 0),
            (2, 2, true, 1),
            (4, 8, false, 2),
            // Nothing is left whose end would call them.
            (1, 2, false, 10),
        ] {
            let mut lines = Lines::default();
            (0..10).for_each(|_| assert!(lines.join(server(), Mesh::test_id(), |_| true)));
            let in_flight = Cell::new(before);
            assert_eq!(
                called(&mut lines, &in_flight, window, asks),
                expected,
                "{before} of {window}, {asks}"
            );
            assert_eq!(lines.count(), 10 - expected);
        }
    }

    #[test]
    fn those_who_are_gone_make_room() {
        let mut lines = Lines::default();
        (0..QUEUE_MAX).for_each(|_| assert!(lines.join(server(), Mesh::test_id(), |_| true)));
        assert!(!lines.join(server(), Mesh::test_id(), |_| true), "it is long enough");
        assert!(lines.join(server(), Mesh::test_id(), |_| false));
        assert_eq!(lines.count(), 1);
        lines.ended(&server());
        assert_eq!(lines.next(|_| 1, |_, _, _| Turn::Gone), None);
        assert_eq!(lines.count(), 0);
    }
}
