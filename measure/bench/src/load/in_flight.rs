//! The queries in flight on each flow of a worker: what a reply's ID stands for.
//!
//! A flow is a socket or connection. Its queries take IDs in turn; the lower bits of an ID choose a place in the
//! flow's row, where the query waits for its reply:
//!
//! ```text
//! places[flow * row + (id & (row - 1))] = { planned time, query, id }   planned = FREE where nothing waits
//! ```
//!
//! A place still taken when its turn comes round again holds a query lost long ago; it is overwritten and counted.

use std::ops::Range;

/// Places of a worker, if its flows are not too few: a second of queries at a million a second.
const PLACES: usize = 1 << 20;
/// Places of a flow, limited by the 16 bits of an ID.
const ROW: Range<usize> = 64..1 << 16;
/// Planned time of a place where nothing waits.
const FREE: u64 = u64::MAX;

/// A query in flight.
#[derive(Clone, Copy)]
struct Place {
    planned_ns: u64,
    query: u32,
    id: u16,
}

/// A query whose reply came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// When it was to be sent, from the start of the trial.
    pub planned_ns: u64,
    /// Its index in the query set.
    pub query: u32,
}

/// All queries in flight of a worker.
pub struct InFlight {
    next_ids: Box<[u16]>,
    /// How many queries wait on each flow.
    waiting: Box<[u32]>,
    places: Box<[Place]>,
    row: usize,
}

impl InFlight {
    /// For so many flows, at least one.
    pub fn new(flows: usize) -> InFlight {
        let flows = flows.max(1);
        let row = (PLACES / flows).next_power_of_two().clamp(ROW.start, ROW.end);
        let free = Place { planned_ns: FREE, query: 0, id: 0 };
        InFlight {
            next_ids: vec![0; flows].into(),
            waiting: vec![0; flows].into(),
            places: vec![free; row * flows].into(),
            row,
        }
    }

    /// The ID of the query that will be number `ahead` from now on a flow.
    pub fn id(&self, flow: usize, ahead: usize) -> u16 {
        self.next_ids[flow].wrapping_add(ahead as u16)
    }

    /// Notes that the next query of a flow went out; returns whether an unanswered one had to make room.
    pub fn sent(&mut self, flow: usize, planned_ns: u64, query: u32) -> bool {
        let id = self.next_ids[flow];
        self.next_ids[flow] = id.wrapping_add(1);
        let place = self.place(flow, id);
        let overrun = self.places[place].planned_ns != FREE;
        self.places[place] = Place { planned_ns, query, id };
        self.waiting[flow] += u32::from(!overrun);
        overrun
    }

    /// Takes the query that a reply with `id` belongs to; `None` for replies nobody waits for.
    pub fn answered(&mut self, flow: usize, id: u16) -> Option<Waiting> {
        let place = self.place(flow, id);
        let place = &mut self.places[place];
        if place.planned_ns == FREE || place.id != id {
            return None;
        }
        let waiting = Waiting { planned_ns: place.planned_ns, query: place.query };
        place.planned_ns = FREE;
        self.waiting[flow] -= 1;
        Some(waiting)
    }

    /// Whether a query still waits for its reply.
    pub fn is_waiting(&self, flow: usize, id: u16) -> bool {
        let place = &self.places[self.place(flow, id)];
        place.planned_ns != FREE && place.id == id
    }

    /// How many queries wait on a flow.
    pub fn waiting(&self, flow: usize) -> u32 {
        self.waiting[flow]
    }

    /// Forgets the last `sent` queries of a flow that still wait, as it is no more; returns how many they were.
    pub fn forget(&mut self, flow: usize, sent: u64) -> u64 {
        let reach = sent.min(self.row as u64) as usize;
        let mut forgotten = 0;
        for back in 1..=reach {
            if self.waiting[flow] == 0 {
                break;
            }
            let id = self.next_ids[flow].wrapping_sub(back as u16);
            forgotten += u64::from(self.answered(flow, id).is_some());
        }
        forgotten
    }

    /// Forgets all queries in flight; IDs go on, so that a late reply of an old trial meets no new query soon.
    pub fn clear(&mut self) {
        self.places.iter_mut().for_each(|place| place.planned_ns = FREE);
        self.waiting.fill(0);
    }

    fn place(&self, flow: usize, id: u16) -> usize {
        flow * self.row + (id as usize & (self.row - 1))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn replies_find_their_query() {
        let mut flows = InFlight::new(2);
        let id = flows.id(1, 0);
        assert!(!flows.sent(1, 10, 7));
        assert!(!flows.sent(1, 20, 8));
        assert!(flows.is_waiting(1, id));
        assert_eq!(flows.answered(0, id), None, "another flow");
        assert_eq!(flows.answered(1, id), Some(Waiting { planned_ns: 10, query: 7 }));
        assert_eq!(flows.answered(1, id), None, "a second reply");
        assert!(!flows.is_waiting(1, id));
        assert_eq!(flows.answered(1, id.wrapping_add(1)), Some(Waiting { planned_ns: 20, query: 8 }));
    }

    #[test]
    fn a_flow_that_is_gone() {
        let mut flows = InFlight::new(2);
        (0..5).for_each(|query| assert!(!flows.sent(0, 1, query)));
        flows.sent(1, 1, 9);
        let answered = flows.id(0, 0).wrapping_sub(2);
        assert_eq!(flows.answered(0, answered), Some(Waiting { planned_ns: 1, query: 3 }));
        assert_eq!((flows.waiting(0), flows.waiting(1)), (4, 1));
        assert_eq!(flows.forget(0, 3), 2, "the last three, of which one was answered");
        assert_eq!(flows.forget(0, u64::MAX), 2);
        assert_eq!((flows.waiting(0), flows.waiting(1)), (0, 1));
    }

    #[test]
    fn old_queries_make_room() {
        let mut flows = InFlight::new(1);
        let first = flows.id(0, 0);
        assert!(!flows.sent(0, 1, 1));
        for _ in 1..ROW.end {
            assert!(!flows.sent(0, 2, 2));
            let id = flows.id(0, 0).wrapping_sub(1);
            flows.answered(0, id).unwrap();
        }
        assert_eq!(flows.id(0, 0), first, "all IDs used");
        assert!(flows.sent(0, 3, 3));
        flows.clear();
        assert_eq!(flows.answered(0, first), None);
    }
}
