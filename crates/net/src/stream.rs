//! Responses of many messages: pulled one by one while the client takes them.
//!
//! ```text
//!   ring: -> a -> b -> c ->     each turn of the worker: a message of each in turn, until the budget of octets is spent
//!            |    |    `- waits: out of the ring until its waker fires
//!            |    `- its client does not read: out of the ring until there is room again
//!            `- end: its connection has one less open; abort, a panic, too slow: its connection is closed
//! ```

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::inbox::{Note, Sink};
use crate::token::ConnectionId;

/// Streams of one connection: a secondary asks for a few zones at once.
pub const STREAMS_PER_CONNECTION_MAX: usize = 4;

/// Streams of one worker: each pins a view and holds up to 64 KiB.
pub const STREAMS_PER_WORKER_MAX: usize = 256;

/// Octets that all streams of a worker may write in a turn, one message of a transfer: some ten microseconds, after which every socket
/// that is ready is served. With 64 KiB the p99 of UDP beside streams is half as much again, and they leave no faster.
pub(crate) const STREAM_OCTETS_PER_TURN: usize = 16 << 10;

/// Longest wait of a stream for whoever makes its messages.
pub const STREAM_WAIT_MAX: Duration = Duration::from_secs(60);

/// Octets that a client must take in [`STREAM_WINDOW`]: 1 KiB a second. A slower one would hold a view of a zone for hours.
pub(crate) const STREAM_OCTETS_PER_WINDOW: u64 = 60 << 10;

/// See [`STREAM_OCTETS_PER_WINDOW`].
pub(crate) const STREAM_WINDOW: Duration = Duration::from_secs(60);

/// A response of many messages. It owns all that it needs.
pub trait Messages: Send {
    /// Before the first message. `waker` is for who says [`Pull::Wait`].
    fn start(&mut self, waker: StreamWaker) {
        drop(waker);
    }

    /// Writes the next message to `room`, which has 65,535 octets.
    fn next(&mut self, room: &mut [u8]) -> Pull;
}

/// What came of asking for the next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pull {
    /// A message of so many octets, 1 to 65,535.
    Message(usize),
    /// There is none yet; the waker says when to ask again.
    Wait,
    /// That was the last.
    End,
    /// It cannot be completed: the connection is closed, as a truncated transfer must not look complete.
    Abort,
}

/// Which stream of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamId {
    index: u32,
    generation: u32,
}

/// Says that a stream which waits can go on; from any thread, also before it says that it waits.
#[derive(Clone)]
pub struct StreamWaker {
    sink: Arc<dyn Sink>,
    id: StreamId,
    /// Whether it has fired and the worker has not seen it.
    has_fired: Arc<AtomicBool>,
}

impl StreamWaker {
    /// Says it.
    pub fn wake(&self) {
        if !self.has_fired.swap(true, Ordering::SeqCst) {
            self.sink.push(Note::StreamReady(self.id));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the ring.
    Ready,
    /// Its connection has no room.
    Blocked,
    /// It said so, then.
    Waiting(Instant),
}

struct Stream {
    connection: ConnectionId,
    messages: Box<dyn Messages>,
    has_fired: Arc<AtomicBool>,
    state: State,
    /// Whether its waker fired while it did not wait.
    is_woken: bool,
    /// Octets since `window`.
    octets: u64,
    window: Instant,
}

/// What a turn of one stream came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pulled {
    /// So many octets are in the room.
    Message(usize),
    /// Nothing now.
    Nothing,
    /// It is over.
    End,
    /// Its connection is to be closed.
    Abort,
    /// The same, by a panic.
    Panic,
}

/// The streams of one worker.
#[derive(Default)]
pub(crate) struct Streams {
    entries: Vec<(u32, Option<Stream>)>,
    free: Vec<u32>,
    ring: VecDeque<StreamId>,
    /// When slow and waiting ones are looked for next.
    next_check: Option<Instant>,
}

/// How often slow and waiting streams are looked for.
const CHECK_PAUSE: Duration = Duration::from_secs(1);

impl Streams {
    pub(crate) fn count(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(crate) fn add(
        &mut self,
        connection: ConnectionId,
        messages: Box<dyn Messages>,
        sink: Arc<dyn Sink>,
        now: Instant,
    ) -> StreamId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push((0, None));
            (self.entries.len() - 1) as u32
        });
        let (generation, entry) = &mut self.entries[index as usize];
        let id = StreamId { index, generation: *generation };
        let has_fired = Arc::new(AtomicBool::new(false));
        let waker = StreamWaker { sink, id, has_fired: Arc::clone(&has_fired) };
        let mut stream = Stream {
            connection,
            messages,
            has_fired,
            state: State::Ready,
            is_woken: false,
            octets: 0,
            window: now,
        };
        // One that panics here panics again when it is pulled, or says abort.
        let _ = catch_unwind(AssertUnwindSafe(|| stream.messages.start(waker)));
        *entry = Some(stream);
        self.ring.push_back(id);
        self.next_check.get_or_insert(now + CHECK_PAUSE);
        id
    }

    fn get(&mut self, id: StreamId) -> Option<&mut Stream> {
        let (generation, stream) = self.entries.get_mut(id.index as usize)?;
        if *generation == id.generation { stream.as_mut() } else { None }
    }

    fn remove(&mut self, index: usize) {
        let (generation, stream) = &mut self.entries[index];
        if let Some(stream) = stream.take() {
            *generation = generation.wrapping_add(1);
            self.free.push(index as u32);
            // It is the service's code that runs here.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(stream)));
        }
    }

    /// Whether one can go on.
    pub(crate) fn has_ready(&self) -> bool {
        !self.ring.is_empty()
    }

    /// The next of the ring with its connection; it is out of the ring until `pulled` or `block`.
    pub(crate) fn next(&mut self) -> Option<(StreamId, ConnectionId)> {
        while let Some(id) = self.ring.pop_front() {
            if let Some(stream) = self.get(id) {
                return Some((id, stream.connection));
            }
        }
        None
    }

    /// Pulls a message; the stream goes back into the ring, waits, or ends.
    pub(crate) fn pull(&mut self, id: StreamId, room: &mut [u8], now: Instant) -> Pulled {
        let Some(stream) = self.get(id) else { return Pulled::Nothing };
        let pull = catch_unwind(AssertUnwindSafe(|| stream.messages.next(room)));
        match pull {
            Ok(Pull::Message(octets)) if (1..=room.len()).contains(&octets) => {
                stream.octets += octets as u64;
                self.ring.push_back(id);
                Pulled::Message(octets)
            }
            Ok(Pull::Wait) => {
                if std::mem::take(&mut stream.is_woken) {
                    self.ring.push_back(id);
                } else {
                    stream.state = State::Waiting(now);
                }
                Pulled::Nothing
            }
            Ok(Pull::End) => {
                self.remove(id.index as usize);
                Pulled::End
            }
            // No message, or one that cannot be, is a fault of whoever makes them.
            Ok(Pull::Abort | Pull::Message(_)) => {
                self.remove(id.index as usize);
                Pulled::Abort
            }
            Err(_) => {
                self.remove(id.index as usize);
                Pulled::Panic
            }
        }
    }

    /// Its client does not read.
    pub(crate) fn block(&mut self, id: StreamId) {
        if let Some(stream) = self.get(id) {
            stream.state = State::Blocked;
        }
    }

    /// The connection has room again.
    pub(crate) fn unblock(&mut self, connection: ConnectionId) {
        for (index, (generation, stream)) in self.entries.iter_mut().enumerate() {
            if let Some(stream) = stream
                && stream.connection == connection
                && stream.state == State::Blocked
            {
                stream.state = State::Ready;
                self.ring.push_back(StreamId { index: index as u32, generation: *generation });
            }
        }
    }

    /// A waker fired.
    pub(crate) fn wake(&mut self, id: StreamId, now: Instant) {
        let Some(stream) = self.get(id) else { return };
        stream.has_fired.store(false, Ordering::SeqCst);
        if let State::Waiting(since) = stream.state {
            // The client is not slow because nothing was there for it; nor is it fast because that happens again and again.
            stream.state = State::Ready;
            stream.window += now.saturating_duration_since(since);
            self.ring.push_back(id);
        } else {
            stream.is_woken = true;
        }
    }

    /// The connection is closed.
    pub(crate) fn abandon(&mut self, connection: ConnectionId) {
        for index in 0..self.entries.len() {
            if self.entries[index].1.as_ref().is_some_and(|stream| stream.connection == connection) {
                self.remove(index);
            }
        }
    }

    /// When `expire` has something to do next.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.next_check.filter(|_| self.count() > 0)
    }

    /// Connections with a stream that waits for too long or whose client is too slow.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<ConnectionId> {
        if self.next_check.is_none_or(|at| now < at) {
            return Vec::new();
        }
        self.next_check = if self.count() > 0 { Some(now + CHECK_PAUSE) } else { None };
        let mut late = Vec::new();
        for stream in self.entries.iter_mut().filter_map(|(_, stream)| stream.as_mut()) {
            let is_late = match stream.state {
                State::Waiting(since) => now.saturating_duration_since(since) >= STREAM_WAIT_MAX,
                State::Ready | State::Blocked
                    if now.saturating_duration_since(stream.window) >= STREAM_WINDOW =>
                {
                    let is_slow = stream.octets < STREAM_OCTETS_PER_WINDOW;
                    (stream.window, stream.octets) = (now, 0);
                    is_slow
                }
                State::Ready | State::Blocked => false,
            };
            if is_late {
                late.push(stream.connection);
            }
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody listens.
    struct Deaf;

    impl Sink for Deaf {
        fn push(&self, _: Note) -> bool {
            true
        }

        fn reserve(&self, _: usize) -> bool {
            true
        }

        fn wake_service(&self) {}
    }

    /// Waits before each message of so many octets.
    struct Waiting {
        octets: usize,
        waits: bool,
    }

    impl Messages for Waiting {
        fn next(&mut self, _: &mut [u8]) -> Pull {
            self.waits = !self.waits;
            if self.waits { Pull::Wait } else { Pull::Message(self.octets) }
        }
    }

    /// How many messages of so many octets a stream sends that waits so long for each, and whose client takes as long to read it, until it
    /// counts as slow; or all of them.
    fn messages_sent(octets: usize, seconds: u64) -> usize {
        const ALL: usize = 40;
        let (mut streams, mut now) = (Streams::default(), Instant::now());
        let connection = ConnectionId { index: 3, generation: 0 };
        let id = streams.add(connection, Box::new(Waiting { octets, waits: false }), Arc::new(Deaf), now);
        let mut room = vec![0; 65_535];
        for sent in 0..ALL {
            assert_eq!(streams.pull(id, &mut room, now), Pulled::Nothing);
            now += Duration::from_secs(seconds);
            assert_eq!(streams.expire(now), [], "it is not the client that is slow");
            streams.wake(id, now);
            assert_eq!(streams.pull(id, &mut room, now), Pulled::Message(octets));
            streams.block(id);
            for _ in 0..seconds {
                now += Duration::from_secs(1);
                if streams.expire(now) == [connection] {
                    return sent;
                }
            }
            streams.unblock(connection);
        }
        ALL
    }

    #[test]
    fn waiting_is_nobodys_slowness_and_hides_none() {
        // 2,000 octets a second while the client may read, and 400.
        assert_eq!(messages_sent(40_000, 20), 40);
        assert_eq!(messages_sent(8_000, 20), 2);
    }
}
