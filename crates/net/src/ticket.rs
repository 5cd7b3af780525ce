//! The right to answer one query later, and what becomes of it.

use std::fmt;
use std::sync::Arc;

use crate::inbox::{Note, Sink};
use crate::later::{Path, RowId};
use crate::stream::Messages;

/// The right to answer one query later, from any thread. Dropped unused, the query stays unanswered, which is counted.
///
/// On the worker that it comes from use the driver: [`crate::Driver::reply`] writes in place.
pub struct Ticket {
    /// `None` once it is used.
    sink: Option<Arc<dyn Sink>>,
    row: RowId,
    room: u32,
    is_stream: bool,
    /// Where a reply can be sent to past the worker.
    path: Option<Path>,
}

/// Why a query cannot be answered later, or not by a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The worker has as many as it may.
    Worker,
    /// Clients whose addresses are not proved have their share of those.
    Unproved,
    /// The client's prefix has as many as it may.
    Client,
    /// The connection has as many as it may.
    Connection,
    /// Datagrams carry no streams.
    Transport,
}

impl Ticket {
    pub(crate) fn new(
        sink: Arc<dyn Sink>,
        row: RowId,
        room: usize,
        is_stream: bool,
        path: Option<Path>,
    ) -> Self {
        Self { sink: Some(sink), row, room: room as u32, is_stream, path }
    }

    /// The most octets that its answer may have.
    #[must_use]
    pub fn room(&self) -> usize {
        self.room as usize
    }

    /// Whether it may become a stream.
    #[must_use]
    pub fn takes_streams(&self) -> bool {
        self.is_stream
    }

    /// Answers with `octets`, 1 to [`Ticket::room`]; none, or more than that, answers nothing. Whether the client is still there
    /// is not told: it may leave at any time.
    pub fn reply(mut self, octets: impl Into<Box<[u8]>>) {
        let Some(sink) = self.sink.take() else { return };
        let (row, octets) = (self.row, octets.into());
        let note = if octets.is_empty() || octets.len() > self.room() {
            Note::Dropped { row }
        } else if sink.reserve(octets.len()) {
            Note::Reply { row, octets }
        } else {
            Note::Overflowed { row }
        };
        sink.push(note);
    }

    /// As [`Ticket::reply`], but a datagram is sent by the calling thread, and the worker is not woken for it. Sooner for one reply, and dearer for many: each
    /// is a system call.
    pub fn reply_at_once(mut self, octets: &[u8]) {
        let is_fit = !octets.is_empty() && octets.len() <= self.room();
        let (Some(sink), Some(path), true) = (&self.sink, &self.path, is_fit) else {
            return self.reply(octets);
        };
        if !sink.send(path, octets) {
            return self.reply(octets);
        }
        if let Some(sink) = self.sink.take() {
            sink.push_quietly(Note::Sent { row: self.row });
        }
    }

    /// Answers with the messages of `messages`; gives both back where the transport carries datagrams. Where too many streams
    /// run the connection is closed: who wants to refuse asks the driver.
    pub fn stream(mut self, messages: Box<dyn Messages>) -> Result<(), (Ticket, Box<dyn Messages>)> {
        if !self.is_stream {
            return Err((self, messages));
        }
        if let Some(sink) = self.sink.take() {
            sink.push(Note::Stream { row: self.row, messages });
        }
        Ok(())
    }

    /// The row, of a ticket that is used up without a note.
    pub(crate) fn use_up(mut self) -> RowId {
        self.sink = None;
        self.row
    }

    pub(crate) fn row(&self) -> RowId {
        self.row
    }

    /// Whether it comes from the worker with this inbox.
    pub(crate) fn is_of(&self, inbox: *const ()) -> bool {
        self.sink.as_ref().is_some_and(|sink| Arc::as_ptr(sink).cast::<()>() == inbox)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(sink) = self.sink.take() {
            sink.push(Note::Dropped { row: self.row });
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Ticket").field("row", &self.row).field("room", &self.room).finish_non_exhaustive()
    }
}
