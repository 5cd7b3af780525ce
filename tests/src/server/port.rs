//! Ports for servers that tests start.
//!
//! A port that the system gives is out of those that it gives to every client that sends: until the server binds it, it may
//! be gone, and on a machine where many tests run at once it was, once in some runs. So ports are taken from outside of that range: only
//! another test looks for one there, and it sees by a name of the port that somebody has it.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::ops::Range;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{self, UnixDatagram};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Where Linux says which ports clients get.
const OF_CLIENTS: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// The lowest port that is taken: below are many that belong to services.
const LOWEST: u16 = 10_000;

/// Fewer ports than these are not enough for all tests that run at once, with space between the processes.
const COUNT_MIN: usize = 2_000;

/// How far apart processes begin whose numbers follow each other: more ports than tests of one start in the time that a
/// server needs to bind its own. A prime, so that all ports are begun at.
const APART: usize = 389;

/// Names that a process has at a time: more than servers that are being started, and fewer than files that it may open.
const NAMES_MAX: usize = 128;

/// Whether nobody has the name of a port, which is this process's from then on, until it has taken many others. A name of the system, beside
/// its networks and in each namespace of its own.
fn take_name(port: u16) -> bool {
    static NAMES: Mutex<VecDeque<UnixDatagram>> = Mutex::new(VecDeque::new());
    let name = net::SocketAddr::from_abstract_name(format!("zonda-test-port-{port}"));
    let Ok(taken) = name.and_then(|name| UnixDatagram::bind_addr(&name)) else { return false };
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if names.len() == NAMES_MAX {
        names.pop_front();
    }
    names.push_back(taken);
    true
}

/// A loopback address whose port is free for UDP and TCP just now, and which no other call in this process has returned for long.
pub fn free_address() -> SocketAddr {
    static RANGE: OnceLock<Range<u16>> = OnceLock::new();
    static TAKEN: AtomicUsize = AtomicUsize::new(0);
    let range = RANGE.get_or_init(|| {
        let text = std::fs::read_to_string(OF_CLIENTS).unwrap_or_default();
        let mut bounds = text.split_whitespace().filter_map(|word| word.parse().ok());
        not_of_clients(bounds.next().zip(bounds.next()))
    });
    let begin = std::process::id() as usize * APART;
    // Each of the range at most once.
    for _ in range.clone() {
        let at = (begin + TAKEN.fetch_add(1, Ordering::Relaxed)) % range.len();
        let address = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), range.start + at as u16);
        let is_free = || TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok();
        if take_name(address.port()) && is_free() {
            return address;
        }
    }
    panic!("no port of {range:?} is free for UDP and TCP");
}

/// The ports below those of clients (the first and the last of them), or above, or all where neither are enough.
fn not_of_clients(of_clients: Option<(u16, u16)>) -> Range<u16> {
    let all = LOWEST..u16::MAX;
    let Some((first, last)) = of_clients else { return all };
    let sides = [LOWEST..first.max(LOWEST), last.max(LOWEST)..u16::MAX];
    let found = sides.into_iter().max_by_key(|side| side.len()).filter(|side| side.len() >= COUNT_MIN);
    // Where the last of the clients' own is the first of a range it is left out.
    found.map_or(all, |side| if side.start == last { last + 1..side.end } else { side })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_that_clients_do_not_get() {
        assert_eq!(not_of_clients(Some((32768, 60999))), 10_000..32768);
        assert_eq!(not_of_clients(Some((1024, 30_000))), 30_001..65535);
        assert_eq!(not_of_clients(Some((1024, 65535))), 10_000..65535);
        assert_eq!(not_of_clients(None), 10_000..65535);
    }

    #[test]
    fn no_address_comes_twice() {
        let addresses: std::collections::BTreeSet<SocketAddr> = (0..100).map(|_| free_address()).collect();
        assert_eq!(addresses.len(), 100);
        // Nor does another process get one of them.
        assert!(addresses.iter().all(|address| !take_name(address.port())));
    }
}
