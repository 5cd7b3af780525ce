//! The contract between sockets and whatever answers: events in, actions out.
//!
//! A worker owns one [`Service`] value and calls it only from its own thread, so the value needs no lock. A service never
//! waits and never sees a socket of a client: it is told what happened, and says through the items of a batch and
//! through the [`Driver`] what is to be done. `docs/design/service.md` is the whole contract.

use crate::driver::Driver;
use crate::queries::Queries;

/// Answers queries. One value per worker; called only from that worker's thread.
pub trait Service: Send {
    /// What the services of workers tell each other.
    type Message: Send;

    /// Answers `queries`: the datagrams that one system call brought, or the messages that one read found in a
    /// connection. Between here and the end it may hold a snapshot of the data it serves; nothing waits in between.
    fn queries(&mut self, queries: &mut Queries<'_>, driver: &mut Driver<'_, Self::Message>);
}
