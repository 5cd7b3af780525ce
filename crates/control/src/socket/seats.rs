//! Clients of the control socket: how many are served at a time, and who makes room for whom.
//!
//! ```text
//! Asking   its request is not whole yet      makes room for who comes, the oldest first
//! Working  what it asked for is done         never does
//! Taking   a piece of its reply is not taken does after a while
//! ```
//!
//! So whoever may connect can hold up no others by saying nothing, or by saying it slowly.

use std::io::{self, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::{CLIENTS_MAX, locked};

/// How long a client may leave a piece of its reply lying before it makes room: a reader that looks at what it gets does not need it for a few
/// kilobytes.
const TAKING_MAX: Duration = Duration::from_secs(1);

/// What a client is about.
#[derive(Clone, Copy)]
enum Doing {
    Asking,
    Working,
    Taking(Instant),
}

/// One who is served.
struct Client {
    number: u64,
    stream: Arc<UnixStream>,
    doing: Doing,
}

/// Those who are served.
#[derive(Default)]
pub(super) struct Seats(Mutex<State>);

#[derive(Default)]
struct State {
    /// [`CLIENTS_MAX`] at most, in the order in which they came.
    clients: Vec<Client>,
    next: u64,
}

impl State {
    /// Has somebody make room: its connection ends, and with it what its thread waits for.
    fn make_room(&mut self) -> bool {
        let mut each = self.clients.iter();
        let asking = each.position(|client| matches!(client.doing, Doing::Asking));
        let is_stuck =
            |client: &Client| matches!(client.doing, Doing::Taking(since) if since.elapsed() > TAKING_MAX);
        let Some(at) = asking.or_else(|| self.clients.iter().position(is_stuck)) else { return false };
        // Fails where the client has gone by itself.
        let _ = self.clients.remove(at).stream.shutdown(Shutdown::Both);
        true
    }
}

/// A client's, free again when dropped: one whose thread panics does not keep it.
pub(super) struct Seat {
    seats: Arc<Seats>,
    number: u64,
}

impl Seat {
    /// A seat for a client. `None`: all are taken by clients that are being served.
    pub(super) fn take(seats: &Arc<Seats>, stream: &Arc<UnixStream>) -> Option<Seat> {
        let mut state = locked(&seats.0);
        if state.clients.len() >= CLIENTS_MAX && !state.make_room() {
            return None;
        }
        let number = state.next;
        state.next += 1;
        state.clients.push(Client { number, stream: Arc::clone(stream), doing: Doing::Asking });
        Some(Seat { seats: Arc::clone(seats), number })
    }

    /// The request is whole.
    pub(super) fn has_asked(&self) {
        self.set(Doing::Working);
    }

    fn set(&self, doing: Doing) {
        let mut state = locked(&self.seats.0);
        // Not there any more if it had to make room.
        if let Some(client) = state.clients.iter_mut().find(|client| client.number == self.number) {
            client.doing = doing;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        locked(&self.seats.0).clients.retain(|client| client.number != self.number);
    }
}

/// Where the reply goes.
pub(super) struct Output<'c> {
    stream: &'c UnixStream,
    seat: &'c Seat,
}

impl<'c> Output<'c> {
    pub(super) fn new(stream: &'c UnixStream, seat: &'c Seat) -> Output<'c> {
        Output { stream, seat }
    }
}

impl Write for Output<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.seat.set(Doing::Taking(Instant::now()));
        let written = self.stream.write(octets);
        self.seat.set(Doing::Working);
        written
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::Read;

    fn seat(seats: &Arc<Seats>) -> (Option<Seat>, UnixStream) {
        let (server, client) = UnixStream::pair().unwrap();
        (Seat::take(seats, &Arc::new(server)), client)
    }

    #[test]
    fn seats_come_back_whatever_happens() {
        let seats = Arc::new(Seats::default());
        let taken: Vec<(Option<Seat>, UnixStream)> = (0..CLIENTS_MAX).map(|_| seat(&seats)).collect();
        taken.iter().for_each(|(seat, _)| seat.as_ref().unwrap().has_asked());
        assert!(seat(&seats).0.is_none() && seat(&seats).0.is_none());
        let client = std::thread::spawn(move || {
            let _taken = taken;
            panic!("a client's thread");
        });
        assert!(client.join().is_err());
        assert!(locked(&seats.0).clients.is_empty());
    }

    #[test]
    fn the_oldest_that_has_not_asked_makes_room() {
        let seats = Arc::new(Seats::default());
        let mut taken: Vec<(Option<Seat>, UnixStream)> = (0..CLIENTS_MAX).map(|_| seat(&seats)).collect();
        taken[0].0.as_ref().unwrap().has_asked();
        assert!(seat(&seats).0.is_some());
        taken.iter().for_each(|(_, client)| client.set_nonblocking(true).unwrap());
        let mut has_ended = |at: usize| taken[at].1.read(&mut [0]).is_ok();
        assert!(!has_ended(0) && has_ended(1) && !has_ended(2));
    }
}
