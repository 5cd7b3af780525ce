//! What carries messages.

/// How a message came, and how its response goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transport {
    /// A datagram: a long response must set TC.
    Udp,
    /// A connection with two octets of length before each message (RFC 1035 4.2.2).
    Tcp,
    /// The same through TLS (RFC 7858).
    Tls,
    /// A request of HTTP, version 2 or 3 (RFC 8484).
    Https,
    /// A stream of a QUIC connection (RFC 9250).
    Quic,
}

impl Transport {
    /// Whether there is a connection: responses may have up to 65,535 octets.
    #[inline(always)]
    pub fn is_stream(self) -> bool {
        self != Transport::Udp
    }

    /// Whether nobody on the way can read or change messages.
    #[inline(always)]
    pub fn is_encrypted(self) -> bool {
        matches!(self, Transport::Tls | Transport::Https | Transport::Quic)
    }

    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Udp => "UDP",
            Transport::Tcp => "TCP",
            Transport::Tls => "TLS",
            Transport::Https => "HTTPS",
            Transport::Quic => "QUIC",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Transport::{Https, Quic, Tcp, Tls, Udp};

    #[test]
    fn kinds() {
        assert_eq!([Udp, Tcp, Tls, Https, Quic].map(|one| one.is_stream()), [false, true, true, true, true]);
        assert_eq!(
            [Udp, Tcp, Tls, Https, Quic].map(|one| one.is_encrypted()),
            [false, false, true, true, true]
        );
        assert_eq!(
            [Udp, Tcp, Tls, Https, Quic].map(|one| one.name()),
            ["UDP", "TCP", "TLS", "HTTPS", "QUIC"]
        );
    }
}
