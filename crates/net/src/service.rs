//! The contract between sockets and whatever answers: events in, actions out.
//!
//! A worker owns one [`Service`] value and calls it only from its own thread, so the value needs no lock. A service never
//! waits and never sees a socket of a client: it is told what happened, and says through the items of a batch and
//! through the [`Driver`] what is to be done. `docs/design/service.md` is the whole contract.

use std::time::Instant;

use crate::driver::Driver;
use crate::queries::Queries;
use crate::upstream::{Arrivals, Closed, NotSent, StreamId};

/// Answers queries. One value per worker; called only from that worker's thread.
///
/// After a panic the value is dropped, with its tickets, and a new one made; timers, sockets and streams to
/// other servers of before are closed. Tickets in other hands and streams live on.
pub trait Service: Send {
    /// What the services of workers tell each other.
    type Message: Send + 'static;

    /// The worker's thread begins, or goes on with this value after a panic of the one before; called once, before any other event.
    fn started(&mut self, driver: &mut Driver<'_, Self::Message>) {
        let _ = driver;
    }

    /// Answers `queries`: the datagrams that one system call brought, or the messages that one read found in a
    /// connection. Between here and the end it may hold a snapshot of the data it serves; nothing waits in between.
    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, Self::Message>);

    /// Datagrams came from upstream.
    fn arrivals(&mut self, arrivals: &Arrivals, driver: &mut Driver<'_, Self::Message>) {
        let _ = (arrivals, driver);
    }

    /// Datagrams that [`crate::Driver::ask`] took could not be sent.
    fn unsent(&mut self, unsent: &[NotSent], driver: &mut Driver<'_, Self::Message>) {
        let _ = (unsent, driver);
    }

    /// A stream to a server is open.
    fn connected(&mut self, stream: StreamId, driver: &mut Driver<'_, Self::Message>) {
        let _ = (stream, driver);
    }

    /// A message came by a stream, of 12 octets at least.
    fn message(&mut self, stream: StreamId, octets: &[u8], driver: &mut Driver<'_, Self::Message>) {
        let _ = (stream, octets, driver);
    }

    /// A stream is over, and not by this service; nothing more is told of it.
    fn closed(&mut self, stream: StreamId, why: Closed, driver: &mut Driver<'_, Self::Message>) {
        let _ = (stream, why, driver);
    }

    /// A timer fired.
    fn timer(&mut self, key: u64, driver: &mut Driver<'_, Self::Message>) {
        let _ = (key, driver);
    }

    /// The clients that waited under these keys are gone; their tickets count until they are used or dropped.
    fn gone(&mut self, keys: &[u64], driver: &mut Driver<'_, Self::Message>) {
        let _ = (keys, driver);
    }

    /// Other workers' services tell something; what is left in `messages` is dropped.
    fn messages(&mut self, messages: &mut Vec<Self::Message>, driver: &mut Driver<'_, Self::Message>) {
        let _ = (messages, driver);
    }

    /// Somebody used a [`crate::Waker`], once or more.
    fn woken(&mut self, driver: &mut Driver<'_, Self::Message>) {
        let _ = driver;
    }

    /// The turn after [`Driver::again`].
    fn again(&mut self, driver: &mut Driver<'_, Self::Message>) {
        let _ = driver;
    }

    /// No more queries come; replies to open tickets are sent until `deadline`.
    fn stopping(&mut self, deadline: Instant, driver: &mut Driver<'_, Self::Message>) {
        let _ = (deadline, driver);
    }
}
