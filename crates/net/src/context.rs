//! What is known of a query beside its octets: of the item, of its connection, and the time.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use wire::Transport;

/// An address and port in 24 octets, which a standard one takes 32 for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Address {
    /// IPv4: the first four.
    ip: [u8; 16],
    /// The interface of a link-local address; 0 for others.
    scope: u32,
    port: u16,
    is_v4: bool,
}

const _: () = assert!(size_of::<Address>() == 24);

impl Address {
    /// Nobody.
    pub(crate) const NONE: Self = Self { ip: [0; 16], scope: 0, port: 0, is_v4: true };

    #[inline]
    pub(crate) fn v4(octets: [u8; 4], port: u16) -> Self {
        let mut ip = [0; 16];
        ip[..4].copy_from_slice(&octets);
        Self { ip, scope: 0, port, is_v4: true }
    }

    #[inline]
    pub(crate) fn v6(ip: [u8; 16], port: u16, scope: u32) -> Self {
        Self { ip, scope, port, is_v4: false }
    }

    /// The address alone. Only on a dual-stack socket that a service manager opened is an IPv4 address a mapped one.
    #[must_use]
    pub fn ip(&self) -> IpAddr {
        if self.is_v4 {
            IpAddr::V4(Ipv4Addr::new(self.ip[0], self.ip[1], self.ip[2], self.ip[3]))
        } else {
            IpAddr::V6(Ipv6Addr::from(self.ip))
        }
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The interface of a link-local address; 0 for others.
    pub(crate) fn scope(&self) -> u32 {
        self.scope
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(at) => Self::v4(at.ip().octets(), at.port()),
            SocketAddr::V6(at) => Self::v6(at.ip().octets(), at.port(), at.scope_id()),
        }
    }
}

impl From<Address> for SocketAddr {
    fn from(address: Address) -> Self {
        match address.ip() {
            IpAddr::V4(ip) => (ip, address.port).into(),
            IpAddr::V6(ip) => SocketAddrV6::new(ip, address.port, 0, address.scope).into(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        SocketAddr::from(*self).fmt(out)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

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
    pub fn peer<'s>(&self, session: &'s Session) -> Address {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_they_were() {
        for text in
            ["192.0.2.1:53", "[2001:db8::1]:65535", "[fe80::1%7]:1", "[::ffff:192.0.2.1]:53", "0.0.0.0:0"]
        {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(SocketAddr::from(Address::from(address)), address);
            assert_eq!(Address::from(address).to_string(), text);
            assert_eq!(
                (Address::from(address).ip(), Address::from(address).port()),
                (address.ip(), address.port())
            );
        }
        assert_eq!(Address::NONE, "0.0.0.0:0".parse::<SocketAddr>().unwrap().into());
    }

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
