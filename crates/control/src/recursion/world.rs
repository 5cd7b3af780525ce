//! The world of a worker's resolver: the worker's sockets, timer and clients.

use std::net::SocketAddr;

use cache::{Cache, Moment, Servers};
use net::{Driver, Need, PathId, Protocol};
use resolve::{Closed, Held, NotSent, Outcome, Path, StreamId, StreamSecurity, Time, Unsent, Waiter, World};
use wire::Name;
use zone::CatalogView;

use super::Recursion;
use super::own::{self, OwnZones};
use super::recursor::Message;
use super::replies::Replies;
use super::terms::Terms;

/// What an event can do.
pub(super) struct Outside<'a, 'd> {
    pub time: Time,
    pub terms: &'a Terms,
    pub driver: &'a mut Driver<'d, Message>,
    pub zones: &'a CatalogView<'a>,
    pub own: &'a mut OwnZones,
    pub replies: &'a mut Replies,
}

impl Recursion {
    /// The time of the worker's turn, as what is kept counts it.
    pub(super) fn time(&self, now: net::Now) -> Time {
        let since = now.instant.saturating_duration_since(self.began);
        Time {
            now: Moment(self.first.0 + since.as_millis() as u64),
            wall: self.clock.wall(now.wall, since.as_secs()),
        }
    }

    /// When that is by the worker's clock.
    pub(super) fn instant(&self, moment: Moment) -> std::time::Instant {
        self.began + std::time::Duration::from_millis(moment.ms_since(self.first))
    }
}

impl World for Outside<'_, '_> {
    fn time(&self) -> Time {
        self.time
    }

    fn random(&mut self) -> u64 {
        self.driver.random()
    }

    fn cache(&self) -> &Cache {
        &self.terms.cache
    }

    fn servers(&self) -> &Servers {
        self.terms.cache.servers()
    }

    fn send(&mut self, to: SocketAddr, octets: &[u8], has_cookie: bool) -> Result<Path, Unsent> {
        let need = if has_cookie { Need::Any } else { Need::Fresh };
        let path = self.driver.ask(to, octets, need).map_err(unsent)?;
        Ok(Path(path.bits()))
    }

    fn settle(&mut self, path: Path) {
        self.driver.upstream().settle(PathId::from_bits(path.0));
    }

    fn connect(&mut self, to: SocketAddr, security: StreamSecurity<'_>) -> Result<StreamId, Unsent> {
        let secured = |key| self.terms.secured.get(key).map(Protocol::Tls).ok_or(Unsent::Unreachable);
        let protocol = match security {
            StreamSecurity::Plain => Protocol::Tcp,
            StreamSecurity::Opportunistic => secured("")?,
            StreamSecurity::Named(key) => secured(key)?,
        };
        let stream = self.driver.upstream().connect(to, &protocol).map_err(unsent)?;
        Ok(StreamId(stream.bits()))
    }

    fn write(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Unsent> {
        self.driver.send(net::StreamId::from_bits(stream.0), octets).map_err(unsent)
    }

    fn close(&mut self, stream: StreamId) {
        self.driver.upstream().close(net::StreamId::from_bits(stream.0));
    }

    fn authoritative(&mut self, query: &[u8], response: &mut Vec<u8>) -> Held {
        self.own.answer(self.zones, query, response)
    }

    fn has_zones(&self) -> bool {
        !self.zones.is_empty()
    }

    fn is_of_ours(&self, name: &Name) -> bool {
        own::is_of_ours(self.zones, name)
    }

    fn keeps_inside(&self, name: &Name) -> bool {
        self.terms.policy.local.keeps_inside(name)
    }

    fn distrusted(&mut self, server: SocketAddr) {
        self.replies.said.distrusted(server, self.time.now);
    }

    fn unproved(&mut self, zone: &Name) {
        self.replies.said.unproved(zone, self.time.now);
    }

    fn done(&mut self, waiter: Waiter, outcome: &Outcome) {
        let known = (&self.terms.policy, &*self.terms.cache);
        self.replies.done(waiter, outcome, known, self.time, self.driver);
    }
}

/// What the resolver makes of what is not sent.
fn unsent(why: net::Unsent) -> Unsent {
    use net::Unsent as Why;
    match why {
        Why::NoRoute => Unsent::Unreachable,
        Why::Closed => Unsent::Gone,
        Why::Busy | Why::Sockets | Why::Full | Why::Length => Unsent::Busy,
    }
}

/// The same of what did not leave at the end of an event.
pub(super) fn not_sent(not_sent: &net::NotSent) -> NotSent {
    let net::NotSent { path, server, id, why } = *not_sent;
    NotSent { path: Path(path.bits()), to: server, id, why: unsent(why) }
}

/// What the resolver makes of the end of a stream.
pub(super) fn closed(why: net::Closed) -> Closed {
    use net::Closed as Why;
    match why {
        Why::Idle | Why::Peer | Why::Displaced => Closed::Ended,
        Why::Refused | Why::Malformed | Why::Memory => Closed::Broken,
        Why::Slow => Closed::TimedOut,
        Why::Handshake | Why::Certificate => Closed::Untrusted,
        Why::NoRoute => Closed::Unreachable,
    }
}
