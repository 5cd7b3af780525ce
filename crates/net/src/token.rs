//! What an epoll event is about, packed into the 64 bits that epoll keeps for us.
//!
//! ```text
//!  63    60 59                 32 31                  0
//! | kind   | generation          | index               |
//! ```

use rustix::event::epoll::EventData;

use crate::upstream::{PathId, StreamId};

/// The source of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// UDP socket of this number.
    Udp(usize),
    /// TCP listener of this number.
    Listener(usize),
    /// A connection.
    Stream(ConnectionId),
    /// The signal to stop.
    Stop,
    /// The signal to leave the sockets to another process.
    Leave,
    /// Something is in the inbox.
    Inbox,
    /// A UDP socket to ask other servers through.
    Upstream(PathId),
    /// A stream to another server.
    Server(StreamId),
}

/// Which connection of a worker: where it sits in the table.
///
/// The generation tells it from an earlier connection at the same index, for which an event may still be waiting in
/// the turn in which that one was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionId {
    pub(crate) index: u32,
    /// Below `GENERATIONS`.
    pub(crate) generation: u32,
}

/// Generations until they start over.
pub(crate) const GENERATIONS: u32 = 1 << 28;

impl Token {
    pub(crate) fn data(self) -> EventData {
        let pack = |kind: u64, generation: u32, index: u64| kind << 60 | u64::from(generation) << 32 | index;
        EventData::new_u64(match self {
            Self::Udp(index) => pack(0, 0, index as u64),
            Self::Listener(index) => pack(1, 0, index as u64),
            Self::Stream(id) => pack(2, id.generation, u64::from(id.index)),
            Self::Stop => pack(3, 0, 0),
            Self::Inbox => pack(4, 0, 0),
            Self::Upstream(id) => pack(5, id.generation, u64::from(id.index)),
            Self::Leave => pack(6, 0, 0),
            Self::Server(id) => pack(7, id.generation, u64::from(id.index)),
        })
    }
}

impl From<EventData> for Token {
    fn from(data: EventData) -> Self {
        let data = data.u64();
        let (index, generation) = (data as u32, (data >> 32) as u32 & (GENERATIONS - 1));
        match data >> 60 {
            0 => Self::Udp(index as usize),
            1 => Self::Listener(index as usize),
            2 => Self::Stream(ConnectionId { index, generation }),
            4 => Self::Inbox,
            5 => Self::Upstream(PathId { index, generation }),
            6 => Self::Leave,
            7 => Self::Server(StreamId { index, generation }),
            _ => Self::Stop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_survive_the_way_through_the_kernel() {
        let id = ConnectionId { index: u32::MAX, generation: GENERATIONS - 1 };
        let upstream = Token::Upstream(PathId { index: 9, generation: GENERATIONS - 1 });
        for token in [
            Token::Udp(7),
            Token::Listener(0),
            Token::Stream(id),
            Token::Stop,
            Token::Leave,
            Token::Inbox,
            upstream,
            Token::Server(StreamId { index: u32::MAX, generation: 3 }),
        ] {
            assert_eq!(Token::from(token.data()), token);
        }
    }
}
