//! What is known of a query beside its octets: of the item, of its connection, and the time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use wire::{Address, Transport};

/// What is known of an item besides its octets. One cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
pub struct Context {
    /// Who asked, as far as the transport tells; the announced one where PROXY tells it.
    pub client: Address,
    /// The address it was sent to; the response leaves from there.
    pub local: Address,
    /// How it came.
    pub transport: Transport,
    /// Whether the client was seen to receive at its address: by a handshake or a token, never by the kind of
    /// transport alone.
    pub is_proved: bool,
    /// Whether it came before the handshake was done, so that anybody may send it again (RFC 9250 4.5).
    pub is_early: bool,
    /// See [`Context::idle_left`], in tenths of a second; `NO_IDLE` for none.
    pub(crate) idle_left: u16,
}

const _: () = assert!(size_of::<Context>() == 64);

/// There is no idle time to tell.
pub(crate) const NO_IDLE: u16 = u16::MAX;

impl Context {
    /// Time after the answer until the connection is closed as idle, as edns-tcp-keepalive tells it (RFC 7828 3.1, in
    /// units of 100 ms); `None` where the transport has none or its own way to say so.
    #[must_use]
    pub fn idle_left(&self) -> Option<Duration> {
        (self.idle_left != NO_IDLE).then(|| Duration::from_millis(u64::from(self.idle_left) * 100))
    }

    /// Where the octets of an answer go: the client itself, unless a proxy announced it.
    #[must_use]
    pub fn peer(&self, session: &Session) -> Address {
        session.announced_by.unwrap_or(self.client)
    }
}

/// An idle time in the unit of RFC 7828, as much as fits.
pub(crate) fn idle_tenths(idle: Duration) -> u16 {
    u16::try_from(idle.as_millis() / 100).unwrap_or(NO_IDLE - 1).min(NO_IDLE - 1)
}

/// What is the same for all queries of a port or a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// The certificate that the peer showed, in DER.
    pub certificate: Option<Box<[u8]>>,
    /// The server name that the peer asked for (RFC 6066 3).
    pub server_name: Option<Box<str>>,
    /// The proxy that announced the client.
    pub announced_by: Option<Address>,
}

/// The session of a port or connection that knows nothing more.
pub(crate) static PLAIN: Session = Session { certificate: None, server_name: None, announced_by: None };

/// The time, read once a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// Of the monotonic clock: for timers and ages.
    pub instant: Instant,
    /// Seconds of the wall clock since 1970: for signatures and cookies.
    pub wall: u64,
}

impl Now {
    /// Reads both clocks.
    pub(crate) fn read() -> Self {
        // Before 1970 nothing is signed.
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { instant: Instant::now(), wall }
    }
}

/// Nanoseconds of the wall clock since 1970, as it is now and not when the turn began; they fit until the year 2554.
pub(crate) fn wall_nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_secs().wrapping_mul(1_000_000_000) + u64::from(since.subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_times_in_tenths() {
        let mut context = Context {
            client: Address::NONE,
            local: Address::NONE,
            transport: Transport::Tcp,
            is_proved: true,
            is_early: false,
            idle_left: idle_tenths(Duration::from_millis(10_050)),
        };
        assert_eq!(context.idle_left(), Some(Duration::from_secs(10)));
        context.idle_left = idle_tenths(Duration::MAX);
        assert_eq!(context.idle_left(), Some(Duration::from_millis(6_553_400)));
        context.idle_left = NO_IDLE;
        assert_eq!(context.idle_left(), None);
    }
}
