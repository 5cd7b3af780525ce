//! Queries that are answered later, kept until their response or end is told.

use std::collections::{HashMap, VecDeque};

use net::TapRow;

use crate::observer::SLOTS;
use crate::told::{Asked, Told};

/// Most octets that the queries of one worker take here. Short queries have room for nearly all of its 32,768 tickets; of larger ones, as updates are, the oldest go. Less would
/// lose queries of a busy resolver; more is memory that only those take who keep many waiting.
pub(crate) const LATE_OCTETS_MAX: usize = 4 << 20;

/// What a row takes beside its query, roughly: itself, its place in the table and in the order.
const ROW_OCTETS: usize = size_of::<Row>() + size_of::<u32>() + 2 * size_of::<TapRow>();

const _: () =
    assert!(ROW_OCTETS * net::LATER_PER_WORKER_MAX <= LATE_OCTETS_MAX, "the rows alone fit for all tickets");

/// Who is told of a query.
#[derive(Clone, Copy)]
pub(crate) struct Takers {
    /// A bit each.
    pub(crate) slots: u8,
    /// How many queries it stands for, by slot: what comes of it later stands for as many, whatever is wanted then.
    pub(crate) times: [u32; SLOTS],
}

/// A query that waits.
pub(crate) struct Row {
    generation: u32,
    pub(crate) query_octets: u16,
    pub(crate) takers: Takers,
    pub(crate) asked: Asked,
    pub(crate) query: Box<[u8]>,
}

impl Row {
    /// `takers`: who was told; where nobody was, the query is not kept.
    pub(crate) fn new(row: TapRow, told: &Told<'_>, asked: Asked, takers: Takers) -> Row {
        let query = if takers.slots == 0 { Box::default() } else { told.query.into() };
        Row { generation: row.generation, query_octets: told.query_octets, takers, asked, query }
    }

    fn octets(&self) -> usize {
        ROW_OCTETS + self.query.len()
    }
}

/// Those of one worker.
#[derive(Default)]
pub(crate) struct Join {
    rows: HashMap<u32, Row>,
    /// As they came; those that have gone since are passed over.
    order: VecDeque<TapRow>,
    octets: usize,
}

impl Join {
    /// Keeps a query; returns how many had to go for it, or were here although they must have ended: nobody hears what became of them.
    pub(crate) fn put(&mut self, at: TapRow, row: Row) -> u64 {
        let mut lost = 0;
        self.octets += row.octets();
        if let Some(before) = self.rows.insert(at.index, row) {
            self.octets -= before.octets();
            lost += 1;
        }
        self.order.push_back(at);
        while self.octets > LATE_OCTETS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            lost += u64::from(self.take(oldest).is_some());
        }
        if self.order.len() > 2 * self.rows.len() + SPARE {
            let rows = &self.rows;
            self.order.retain(|at| rows.get(&at.index).is_some_and(|row| row.generation == at.generation));
        }
        lost
    }

    /// Takes a query out.
    pub(crate) fn take(&mut self, at: TapRow) -> Option<Row> {
        self.rows.get(&at.index).filter(|row| row.generation == at.generation)?;
        let row = self.rows.remove(&at.index)?;
        self.octets -= row.octets();
        Some(row)
    }
}

/// Places in the order that may be of rows which have gone: few enough to be no memory, enough that the order is seldom looked through.
const SPARE: usize = 1024;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::told::Outcome;
    use wire::{Address, Transport};

    fn row(index: u32, generation: u32, query: &[u8]) -> (TapRow, Row) {
        let asked = Asked { client: Address::NONE, local: Address::NONE, at: u64::from(index) };
        let told = Told {
            outcome: Outcome::Waits,
            transport: Transport::Udp,
            asked: Some(asked),
            answered: 0,
            one_in: 1,
            query_octets: query.len() as u16,
            response_octets: 0,
            query,
            response: &[],
        };
        let at = TapRow { index, generation };
        (at, Row::new(at, &told, asked, Takers { slots: 1, times: [1; SLOTS] }))
    }

    #[test]
    fn a_row_is_its_own_generation_s() {
        let mut join = Join::default();
        let (at, first) = row(7, 1, b"one");
        assert_eq!(join.put(at, first), 0);
        assert!(join.take(TapRow { index: 7, generation: 2 }).is_none(), "another query of that row");
        let (again, second) = row(7, 2, b"two");
        assert_eq!(join.put(again, second), 1, "the end of the first was lost");
        assert!(join.take(at).is_none());
        assert_eq!(&*join.take(again).unwrap().query, b"two");
        assert_eq!(join.octets, 0, "nothing is left");
    }

    #[test]
    fn the_oldest_make_room_and_all_is_bounded() {
        let mut join = Join::default();
        let query = [0; 4000];
        let mut lost = 0;
        let rows = 2000;
        for index in 0..rows {
            let (at, row) = row(index, 0, &query);
            lost += join.put(at, row);
            assert!(join.octets <= LATE_OCTETS_MAX);
        }
        assert!(lost > 0, "not all have room");
        assert!(join.take(TapRow { index: 0, generation: 0 }).is_none(), "the oldest went");
        assert!(join.take(TapRow { index: rows - 1, generation: 0 }).is_some(), "the newest stayed");
        assert_eq!(join.rows.len() as u64, u64::from(rows) - lost - 1);
    }

    #[test]
    fn rows_that_come_and_go_leave_nothing() {
        let mut join = Join::default();
        let (old, stays) = row(0, 0, b"stays");
        join.put(old, stays);
        for generation in 1..100_000 {
            let (at, row) = row(1, generation, b"goes");
            join.put(at, row);
            assert!(join.take(at).is_some());
        }
        assert!(join.order.len() <= 2 + SPARE + 1, "{} places", join.order.len());
        assert!(join.take(old).is_some());
    }
}
