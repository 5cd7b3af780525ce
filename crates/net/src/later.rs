//! The clients of a worker that wait for an answer that is made later.
//!
//! ```text
//! rows      [ row 0 | free | row 2 | row 3 ... ]       slab; a ticket holds index and generation
//! by age    oldest -> 2 <-> 0 <-> 3                    to find those that are too old
//! by connection     first -> 3 <-> 0                   to find those whose client is gone
//! ```
//!
//! A row is *waiting* until its client is answered, or *gone* from when the client is: it takes no reply, but counts until its
//! ticket is used or dropped, since the work behind it goes on too. Otherwise a client could have unbounded work done by
//! opening and resetting.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::context::{Address, Transport};
use crate::ticket::Refused;
use crate::token::ConnectionId;

/// More than the 20,000 in flight of a busy resolver; a row is at most 128 octets.
pub const LATER_PER_WORKER_MAX: usize = 32_768;

/// Of these, for clients whose addresses are not proved: spoofed floods leave room for clients that proved theirs.
pub const LATER_UNPROVED_MAX: usize = LATER_PER_WORKER_MAX / 4 * 3;

/// One client may not have all rows; a primary may tell of thousands of zones in a moment. Counted by prefix, as connections are.
pub const LATER_PER_CLIENT_MAX: usize = LATER_PER_WORKER_MAX / 4;

/// What clients pipeline (RFC 7766 6.2.1.1); more is read once some are answered.
pub const LATER_PER_CONNECTION_MAX: usize = 128;

/// No resolution takes longer; a ticket kept by a fault must not hold a connection for ever.
pub const LATER_AGE_MAX: Duration = Duration::from_secs(60);

/// Which row. The generation tells it from an earlier one at the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowId {
    index: u32,
    generation: u32,
}

impl RowId {
    pub(crate) fn index(self) -> u32 {
        self.index
    }

    pub(crate) fn generation(self) -> u32 {
        self.generation
    }
}

/// Says of a row that the tap was told of its query, and has to be told what becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) row: RowId,
    /// One query in so many was told then.
    pub(crate) one_in: u32,
    pub(crate) transport: Transport,
}

/// The way back to a client: opaque to all but the back end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// A datagram from `local`, of UDP socket `port`, to `peer`.
    Datagram { port: u16, peer: Address, local: Address },
    /// A message of a connection; the tag is its layer's.
    Connection { id: ConnectionId, tag: u64 },
}

/// No row.
const NONE: u32 = u32::MAX;

/// Two links of a list.
#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    after: u32,
}

const UNLINKED: Links = Links { before: NONE, after: NONE };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// `by_age.after` is the next free one.
    Free,
    Waiting,
    Gone,
}

#[derive(Debug)]
struct Row {
    path: Path,
    /// The service's.
    key: u64,
    arrived: Instant,
    /// Whom it counts for.
    prefix: IpAddr,
    generation: u32,
    by_age: Links,
    by_connection: Links,
    state: State,
    is_proved: bool,
    /// See [`Mark`].
    transport: Transport,
    /// See [`Mark`]; 0 where the tap was not told of the query, or was told what became of it.
    told_one_in: u32,
}

impl Row {
    fn take_mark(&mut self, index: u32) -> Option<Mark> {
        let one_in = std::mem::take(&mut self.told_one_in);
        let row = RowId { index, generation: self.generation };
        (one_in > 0).then_some(Mark { row, one_in, transport: self.transport })
    }
}

const _: () = assert!(size_of::<Row>() <= 128);

/// What a connection has open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    first: u32,
    /// Queries to be answered later.
    pub(crate) tickets: u16,
    /// Responses of many messages.
    pub(crate) streams: u16,
}

impl Default for Open {
    fn default() -> Self {
        Self { first: NONE, tickets: 0, streams: 0 }
    }
}

impl Open {
    /// Whether anything is.
    pub(crate) fn is_any(&self) -> bool {
        self.tickets > 0 || self.streams > 0
    }
}

/// Who asks for a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) path: Path,
    pub(crate) prefix: IpAddr,
    pub(crate) is_proved: bool,
}

#[cfg(test)]
impl Asker {
    /// A client of datagrams.
    pub(crate) fn of_test(host: u8) -> Self {
        let peer = Address::v4([192, 0, 2, host], 53);
        let path = Path::Datagram { port: 0, peer, local: Address::NONE };
        Self { path, prefix: peer.ip(), is_proved: true }
    }
}

/// A row whose client is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenUp {
    /// The service's.
    pub(crate) key: u64,
    /// The connection that the client had.
    pub(crate) connection: Option<ConnectionId>,
    pub(crate) mark: Option<Mark>,
}

/// How a ticket found its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Waiting(Path),
    Gone,
}

#[derive(Debug)]
pub(crate) struct Later {
    rows: Vec<Row>,
    free: u32,
    oldest: u32,
    newest: u32,
    count: usize,
    unproved: usize,
    /// Rows that wait for an answer over UDP.
    datagrams: usize,
    by_prefix: HashMap<IpAddr, u32>,
    /// By index of the connection.
    open: Vec<Open>,
}

impl Later {
    pub(crate) fn new() -> Self {
        Self {
            rows: Vec::new(),
            free: NONE,
            oldest: NONE,
            newest: NONE,
            count: 0,
            unproved: 0,
            datagrams: 0,
            by_prefix: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// Rows in use, gone ones included.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.count
    }

    /// Clients that wait for an answer over UDP.
    pub(crate) fn datagrams(&self) -> usize {
        self.datagrams
    }

    /// What connection `index` has open.
    pub(crate) fn open(&self, index: u32) -> Open {
        self.open.get(index as usize).copied().unwrap_or_default()
    }

    /// As `open`, to be changed.
    pub(crate) fn open_mut(&mut self, index: u32) -> &mut Open {
        let index = index as usize;
        if self.open.len() <= index {
            self.open.resize(index + 1, Open::default());
        }
        &mut self.open[index]
    }

    /// Takes a row.
    pub(crate) fn add(&mut self, asker: Asker, key: u64, now: Instant) -> Result<RowId, Refused> {
        if self.count >= LATER_PER_WORKER_MAX {
            return Err(Refused::Worker);
        }
        if !asker.is_proved && self.unproved >= LATER_UNPROVED_MAX {
            return Err(Refused::Unproved);
        }
        if let Path::Connection { id, .. } = asker.path
            && usize::from(self.open(id.index).tickets) >= LATER_PER_CONNECTION_MAX
        {
            return Err(Refused::Connection);
        }
        let of_client = self.by_prefix.entry(asker.prefix).or_insert(0);
        if *of_client as usize >= LATER_PER_CLIENT_MAX {
            return Err(Refused::Client);
        }
        *of_client += 1;
        self.count += 1;
        self.unproved += usize::from(!asker.is_proved);
        let index = self.take_free(asker, key, now);
        self.link_by_age(index);
        match asker.path {
            Path::Datagram { .. } => self.datagrams += 1,
            Path::Connection { id, .. } => self.link_by_connection(index, id.index),
        }
        Ok(RowId { index, generation: self.rows[index as usize].generation })
    }

    fn take_free(&mut self, asker: Asker, key: u64, now: Instant) -> u32 {
        let Asker { path, prefix, is_proved } = asker;
        let (index, generation) = match self.rows.get(self.free as usize) {
            Some(row) => (std::mem::replace(&mut self.free, row.by_age.after), row.generation),
            None => (self.rows.len() as u32, 0),
        };
        let (by_age, by_connection) = (UNLINKED, UNLINKED);
        let state = State::Waiting;
        let row = Row {
            path,
            key,
            arrived: now,
            prefix,
            generation,
            by_age,
            by_connection,
            state,
            is_proved,
            transport: Transport::Udp,
            told_one_in: 0,
        };
        match self.rows.get_mut(index as usize) {
            Some(place) => *place = row,
            None => self.rows.push(row),
        }
        index
    }

    /// The row of a ticket that is used or dropped: it is free again. `None`: it was none.
    pub(crate) fn end(&mut self, id: RowId) -> Option<Found> {
        let row = self.rows.get(id.index as usize).filter(|row| row.generation == id.generation)?;
        let found = match row.state {
            State::Free => return None,
            State::Waiting => Found::Waiting(row.path),
            State::Gone => Found::Gone,
        };
        let (prefix, is_proved) = (row.prefix, row.is_proved);
        if found != Found::Gone {
            self.leave(id.index);
        }
        self.count -= 1;
        self.unproved -= usize::from(!is_proved);
        if let Some(count) = self.by_prefix.get_mut(&prefix) {
            *count -= 1;
            if *count == 0 {
                self.by_prefix.remove(&prefix);
            }
        }
        let row = &mut self.rows[id.index as usize];
        (row.state, row.generation) = (State::Free, row.generation.wrapping_add(1));
        row.by_age.after = std::mem::replace(&mut self.free, id.index);
        Some(found)
    }

    /// The tap was told of the query of a row.
    pub(crate) fn mark(&mut self, mark: Mark) {
        if let Some(row) = self.row_mut(mark.row) {
            (row.transport, row.told_one_in) = (mark.transport, mark.one_in);
        }
    }

    /// The mark of a row. It is gone by that, so that nothing is told twice.
    pub(crate) fn take_mark(&mut self, id: RowId) -> Option<Mark> {
        self.row_mut(id)?.take_mark(id.index)
    }

    fn row_mut(&mut self, id: RowId) -> Option<&mut Row> {
        self.rows.get_mut(id.index as usize).filter(|row| row.generation == id.generation)
    }

    /// The way back of a row that waits.
    pub(crate) fn path(&self, id: RowId) -> Option<Path> {
        let row = self.rows.get(id.index as usize).filter(|row| row.generation == id.generation)?;
        (row.state == State::Waiting).then_some(row.path)
    }

    /// The connection at `index` is closed: its rows are gone, each of which is told.
    pub(crate) fn abandon(&mut self, index: u32, mut tell: impl FnMut(GivenUp)) {
        while let Some(row) = self.give_up(self.open(index).first) {
            tell(row);
        }
        if let Some(open) = self.open.get_mut(index as usize) {
            *open = Open::default();
        }
    }

    /// The oldest row that waits, if it is too old, is gone.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<GivenUp> {
        let row = self.rows.get(self.oldest as usize)?;
        if now.saturating_duration_since(row.arrived) < LATER_AGE_MAX {
            return None;
        }
        self.give_up_oldest()
    }

    /// The oldest row that waits is gone.
    pub(crate) fn give_up_oldest(&mut self) -> Option<GivenUp> {
        self.give_up(self.oldest)
    }

    /// When `expire` has something to do next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.rows.get(self.oldest as usize).map(|row| row.arrived + LATER_AGE_MAX)
    }

    /// The client of the row, if it is one, is gone.
    fn give_up(&mut self, index: u32) -> Option<GivenUp> {
        let row = self.rows.get_mut(index as usize)?;
        row.state = State::Gone;
        let connection = match row.path {
            Path::Connection { id, .. } => Some(id),
            Path::Datagram { .. } => None,
        };
        let given_up = GivenUp { key: row.key, connection, mark: row.take_mark(index) };
        self.leave(index);
        Some(given_up)
    }

    /// Takes a row that waits out of the lists.
    fn leave(&mut self, index: u32) {
        let row = &self.rows[index as usize];
        let Links { before, after } = row.by_age;
        match self.rows.get_mut(before as usize) {
            Some(row) => row.by_age.after = after,
            None => self.oldest = after,
        }
        match self.rows.get_mut(after as usize) {
            Some(row) => row.by_age.before = before,
            None => self.newest = before,
        }
        match self.rows[index as usize].path {
            Path::Datagram { .. } => self.datagrams -= 1,
            Path::Connection { id, .. } => self.unlink_by_connection(index, id.index),
        }
        let row = &mut self.rows[index as usize];
        (row.by_age, row.by_connection) = (UNLINKED, UNLINKED);
    }

    fn link_by_age(&mut self, index: u32) {
        let before = std::mem::replace(&mut self.newest, index);
        self.rows[index as usize].by_age = Links { before, after: NONE };
        match self.rows.get_mut(before as usize) {
            Some(row) => row.by_age.after = index,
            None => self.oldest = index,
        }
    }

    fn link_by_connection(&mut self, index: u32, connection: u32) {
        let open = self.open_mut(connection);
        open.tickets += 1;
        let after = std::mem::replace(&mut open.first, index);
        self.rows[index as usize].by_connection = Links { before: NONE, after };
        if let Some(row) = self.rows.get_mut(after as usize) {
            row.by_connection.before = index;
        }
    }

    fn unlink_by_connection(&mut self, index: u32, connection: u32) {
        let Links { before, after } = self.rows[index as usize].by_connection;
        if let Some(row) = self.rows.get_mut(after as usize) {
            row.by_connection.before = before;
        }
        match self.rows.get_mut(before as usize) {
            Some(row) => row.by_connection.after = after,
            None => self.open_mut(connection).first = after,
        }
        self.open_mut(connection).tickets -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn udp(host: u8, is_proved: bool) -> Asker {
        let peer = Address::v4([192, 0, 2, host], 53);
        let path = Path::Datagram { port: 0, peer, local: Address::NONE };
        Asker { path, prefix: peer.ip(), is_proved }
    }

    fn tcp(index: u32, host: u8) -> Asker {
        let path = Path::Connection { id: ConnectionId { index, generation: 0 }, tag: 0 };
        Asker { path, ..udp(host, true) }
    }

    #[test]
    fn every_bound_refuses_and_is_given_back() {
        let (mut later, now) = (Later::new(), Instant::now());
        let own: Vec<RowId> =
            (0..LATER_PER_CLIENT_MAX).map(|_| later.add(udp(1, true), 0, now).unwrap()).collect();
        assert_eq!(later.add(udp(1, true), 0, now), Err(Refused::Client));
        assert_eq!(later.end(own[0]), Some(Found::Waiting(udp(1, true).path)));
        assert_eq!(later.end(own[0]), None, "a ticket is used once");
        later.add(udp(1, true), 0, now).unwrap();

        let mut later = Later::new();
        for _ in 0..LATER_PER_CONNECTION_MAX {
            later.add(tcp(7, 2), 0, now).unwrap();
        }
        assert_eq!(later.add(tcp(7, 2), 0, now), Err(Refused::Connection));
        assert!(later.add(tcp(8, 2), 0, now).is_ok());

        let mut host = 3;
        while later.unproved < LATER_UNPROVED_MAX {
            if later.add(udp(host, false), 0, now) == Err(Refused::Client) {
                host += 1;
            }
        }
        assert_eq!(later.add(udp(99, false), 0, now), Err(Refused::Unproved));
        let mut host = 100;
        while later.count() < LATER_PER_WORKER_MAX {
            if later.add(udp(host, true), 0, now) == Err(Refused::Client) {
                host += 1;
            }
        }
        assert_eq!(later.add(udp(250, true), 0, now), Err(Refused::Worker));
    }

    #[test]
    fn rows_whose_clients_are_gone_count_until_their_tickets_end() {
        let (mut later, now) = (Later::new(), Instant::now());
        let rows: Vec<RowId> = (0..5).map(|key| later.add(tcp(3, 1), key, now).unwrap()).collect();
        let other = later.add(tcp(4, 1), 9, now).unwrap();
        assert_eq!(later.end(rows[2]), Some(Found::Waiting(tcp(3, 1).path)));
        assert_eq!(later.open(3).tickets, 4);
        let mut gone = Vec::new();
        later.abandon(3, |row| gone.push(row.key));
        gone.sort_unstable();
        assert_eq!((gone, later.open(3).tickets, later.count()), (vec![0, 1, 3, 4], 0, 5));
        assert_eq!(later.path(rows[0]), None);
        for row in [rows[0], rows[1], rows[3], rows[4]] {
            assert_eq!(later.end(row), Some(Found::Gone));
        }
        assert_eq!((later.count(), later.by_prefix.len()), (1, 1));
        assert_eq!(later.end(other), Some(Found::Waiting(tcp(4, 1).path)));
        assert_eq!((later.count(), later.by_prefix.len(), later.next_deadline()), (0, 0, None));
    }

    #[test]
    fn what_is_too_old_is_gone_in_order_of_age() {
        let (mut later, start) = (Later::new(), Instant::now());
        let first = later.add(tcp(0, 1), 1, start).unwrap();
        later.add(udp(1, false), 2, start + Duration::from_secs(1)).unwrap();
        assert_eq!(later.next_deadline(), Some(start + LATER_AGE_MAX));
        assert_eq!(later.expire(start + LATER_AGE_MAX - Duration::from_millis(1)), None);
        let now = start + LATER_AGE_MAX;
        let connection = Some(ConnectionId { index: 0, generation: 0 });
        assert_eq!(later.expire(now), Some(GivenUp { key: 1, connection, mark: None }));
        assert_eq!(later.expire(now), None);
        let second = GivenUp { key: 2, connection: None, mark: None };
        assert_eq!(later.expire(now + Duration::from_secs(1)), Some(second));
        assert_eq!((later.count(), later.datagrams()), (2, 0));
        assert_eq!(later.end(first), Some(Found::Gone));
    }

    #[test]
    fn a_mark_is_of_one_query_and_taken_once() {
        let (mut later, now) = (Later::new(), Instant::now());
        let mark = |row| Mark { row, one_in: 7, transport: Transport::Tcp };
        let first = later.add(tcp(3, 1), 1, now).unwrap();
        later.mark(mark(first));
        assert_eq!(later.take_mark(first), Some(mark(first)));
        assert_eq!(later.take_mark(first), None);
        later.mark(mark(first));
        later.end(first);
        // The same place, and the next query: nothing that was said of the one before is of it.
        let second = later.add(tcp(3, 1), 2, now).unwrap();
        assert_eq!(second.index(), first.index());
        later.mark(mark(first));
        assert_eq!((later.take_mark(first), later.take_mark(second)), (None, None));
        later.mark(mark(second));
        let mut gone = Vec::new();
        later.abandon(3, |row| gone.push(row.mark));
        assert_eq!((gone, later.take_mark(second)), (vec![Some(mark(second))], None));
    }
}
