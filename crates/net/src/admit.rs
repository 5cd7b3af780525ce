//! Limits of TCP: how many connections, for how long, from whom.
//!
//! The limits and the counts are shared by all workers. Limits are plain atomics, so they change while the server
//! runs; the counts per client prefix sit in a table behind a lock, which is taken when a connection opens or
//! closes and never for a query. The table holds at most one entry per open connection.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use sync::Mutex;

/// What TCP clients may use up. Every limit is an answer to a way of exhausting a server (RFC 7766 6.2, RFC 9210 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpLimits {
    /// Open connections of all clients, 1 or more. At the limit the connection that has been idle longest makes room.
    pub connections: usize,
    /// Open connections of one client prefix; 0: no limit.
    pub connections_per_prefix: usize,
    /// Length of an IPv4 client prefix, 0 to 32.
    pub prefix_v4: u8,
    /// Length of an IPv6 client prefix, 0 to 128.
    pub prefix_v6: u8,
    /// How long a connection may go without completing a query, or without reading what waits for it.
    pub idle: Duration,
    /// How long a connection may exist; it ends with the first read after that.
    pub lifetime: Duration,
    /// Queries a connection may send; 0: no limit.
    pub queries: u64,
}

impl Default for TcpLimits {
    fn default() -> Self {
        Self {
            // BIND allows 150, NSD 100, which a single busy resolver farm with persistent connections exhausts. A
            // thousand idle ones cost about 300 KiB here and fit the usual limit of 1,024 descriptors once that is
            // raised to its hard limit, as binding does.
            connections: 1000,
            // A tenth: one network cannot shut out the others, and no real resolver opens this many (RFC 7766 6.2.2
            // asks for one).
            connections_per_prefix: 100,
            // One IPv4 address is a customer, possibly a whole NAT; an IPv6 customer gets a /56 (RFC 6177).
            prefix_v4: 32,
            prefix_v6: 56,
            // RFC 7766 6.2.3 asks for "a few seconds"; Knot has 10, BIND 30.
            idle: Duration::from_secs(10),
            // Lets clients rebalance after a change of workers or addresses; reconnecting hourly costs nothing.
            lifetime: Duration::from_secs(3600),
            queries: 0,
        }
    }
}

/// The limits in force and what is counted against them, shared by all workers.
pub(crate) struct Admission {
    connections: AtomicUsize,
    connections_per_prefix: AtomicUsize,
    prefixes: AtomicUsize,
    idle_ms: AtomicU64,
    lifetime_ms: AtomicU64,
    queries: AtomicU64,
    open: AtomicUsize,
    by_prefix: Mutex<HashMap<IpAddr, usize>>,
}

/// Permission for one connection; dropping it gives the seat back.
#[derive(Debug)]
pub(crate) struct Seat {
    /// The client prefix it is counted under: its first address.
    prefix: IpAddr,
}

/// Why a connection may not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// All seats are taken.
    All,
    /// Its prefix has its share.
    Prefix,
}

impl Admission {
    pub(crate) fn new(limits: &TcpLimits) -> Self {
        let admission = Self {
            connections: AtomicUsize::new(0),
            connections_per_prefix: AtomicUsize::new(0),
            prefixes: AtomicUsize::new(0),
            idle_ms: AtomicU64::new(0),
            lifetime_ms: AtomicU64::new(0),
            queries: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            by_prefix: Mutex::named("connections", HashMap::new()),
        };
        admission.set(limits);
        admission
    }

    /// Puts new limits in force. Connections that exceed them live on until their next read or their idle time.
    ///
    /// Each limit by itself is changed at once; a worker may see the new one of one and the old one of another for
    /// a moment, which none of them minds.
    pub(crate) fn set(&self, limits: &TcpLimits) {
        let prefixes = usize::from(limits.prefix_v4.min(32)) << 8 | usize::from(limits.prefix_v6.min(128));
        self.connections.store(limits.connections.max(1), Ordering::Relaxed);
        self.connections_per_prefix.store(limits.connections_per_prefix, Ordering::Relaxed);
        self.prefixes.store(prefixes, Ordering::Relaxed);
        self.idle_ms.store(milliseconds(limits.idle), Ordering::Relaxed);
        self.lifetime_ms.store(milliseconds(limits.lifetime), Ordering::Relaxed);
        self.queries.store(limits.queries, Ordering::Relaxed);
    }

    pub(crate) fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn lifetime(&self) -> Duration {
        Duration::from_millis(self.lifetime_ms.load(Ordering::Relaxed))
    }

    /// Queries per connection; `u64::MAX` for no limit.
    pub(crate) fn queries(&self) -> u64 {
        match self.queries.load(Ordering::Relaxed) {
            0 => u64::MAX,
            limit => limit,
        }
    }

    /// Counts a new connection of `client`, or says which limit forbids it.
    pub(crate) fn enter(&self, client: IpAddr) -> Result<Seat, Refused> {
        let prefix = self.prefix_of(client);
        let limit = self.connections.load(Ordering::Relaxed);
        let per_prefix = self.connections_per_prefix.load(Ordering::Relaxed);
        let mut by_prefix = self.lock();
        if self.open.load(Ordering::Relaxed) >= limit {
            // Its prefix comes first: whoever is over its own share may not displace others.
            let own = by_prefix.get(&prefix).copied().unwrap_or(0);
            return Err(if per_prefix != 0 && own >= per_prefix { Refused::Prefix } else { Refused::All });
        }
        let count = by_prefix.entry(prefix).or_insert(0);
        if per_prefix != 0 && *count >= per_prefix {
            return Err(Refused::Prefix);
        }
        *count += 1;
        self.open.fetch_add(1, Ordering::Relaxed);
        Ok(Seat { prefix })
    }

    /// Gives a seat back.
    pub(crate) fn leave(&self, seat: Seat) {
        let mut by_prefix = self.lock();
        self.open.fetch_sub(1, Ordering::Relaxed);
        if let Some(count) = by_prefix.get_mut(&seat.prefix) {
            *count -= 1;
            if *count == 0 {
                by_prefix.remove(&seat.prefix);
            }
        }
    }

    /// After a panic too: nothing panics between two steps that belong together.
    #[track_caller]
    fn lock(&self) -> sync::Guard<MutexGuard<'_, HashMap<IpAddr, usize>>> {
        self.by_prefix.lock()
    }

    /// The first address of the prefix that `client` is counted under.
    pub(crate) fn prefix_of(&self, client: IpAddr) -> IpAddr {
        let prefixes = self.prefixes.load(Ordering::Relaxed);
        // A dual-stack socket of the service manager shows IPv4 clients as mapped addresses.
        match client.to_canonical() {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - (prefixes >> 8) as u32).unwrap_or(0);
                IpAddr::V4((u32::from(address) & mask).into())
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - (prefixes & 0xFF) as u32).unwrap_or(0);
                IpAddr::V6((u128::from(address) & mask).into())
            }
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_prefix_has_its_share_and_no_more() {
        let limits = TcpLimits { connections: 4, connections_per_prefix: 2, ..TcpLimits::default() };
        let admission = Admission::new(&limits);
        let first = admission.enter(ip("2001:db8:0:1::1")).unwrap();
        admission.enter(ip("2001:db8:0:ff::2")).unwrap();
        assert_eq!(admission.enter(ip("2001:db8::3")).unwrap_err(), Refused::Prefix);
        admission.enter(ip("2001:db8:0:100::3")).unwrap();
        admission.enter(ip("192.0.2.1")).unwrap();
        assert_eq!(admission.enter(ip("192.0.2.2")).unwrap_err(), Refused::All);
        assert_eq!(admission.enter(ip("2001:db8::3")).unwrap_err(), Refused::Prefix);
        admission.leave(first);
        admission.enter(ip("2001:db8::3")).unwrap();
        assert_eq!(admission.lock().len(), 3);
    }

    #[test]
    fn prefixes_of_every_length() {
        for (v4, v6, client, expected) in [
            (0, 0, "203.0.113.7", "0.0.0.0"),
            (0, 0, "2001:db8::1", "::"),
            (24, 48, "203.0.113.7", "203.0.113.0"),
            (24, 48, "2001:db8:1:2::1", "2001:db8:1::"),
            (24, 48, "::ffff:203.0.113.7", "203.0.113.0"),
            (200, 255, "203.0.113.7", "203.0.113.7"),
            (200, 255, "2001:db8::1", "2001:db8::1"),
        ] {
            let limits = TcpLimits { prefix_v4: v4, prefix_v6: v6, ..TcpLimits::default() };
            assert_eq!(Admission::new(&limits).prefix_of(ip(client)), ip(expected));
        }
    }

    #[test]
    fn limits_change_while_running() {
        let admission = Admission::new(&TcpLimits::default());
        assert_eq!(admission.queries(), u64::MAX);
        admission.set(&TcpLimits { queries: 7, idle: Duration::MAX, connections: 0, ..TcpLimits::default() });
        assert_eq!(admission.queries(), 7);
        assert_eq!(admission.idle(), Duration::from_millis(u64::MAX));
        admission.enter(ip("192.0.2.1")).unwrap();
        assert_eq!(admission.enter(ip("192.0.2.1")).unwrap_err(), Refused::All);
    }
}
