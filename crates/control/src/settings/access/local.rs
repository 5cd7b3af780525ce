//! The list that settings need not write down: this machine, and the networks that it is in.

use std::net::IpAddr;

use auth::access::Prefix;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

/// Most networks: of a machine that has more interfaces, the first.
const NETWORKS_MAX: usize = 4096;

/// Loopback, and the networks of the addresses that this machine has now, each once. Only loopback where the system does not tell.
pub(super) fn networks() -> Vec<Prefix> {
    let loopback =
        [("127.0.0.0", 8), ("::1", 128)].map(|(address, length)| address.parse().ok().map(|ip| (ip, length)));
    let found = getifaddrs()
        .into_iter()
        .flatten()
        .filter_map(|interface| Some((address(&interface.address?)?, length(address(&interface.netmask?)?))));
    let mut networks: Vec<Prefix> = Vec::new();
    for (address, length) in loopback.into_iter().flatten().chain(found).take(NETWORKS_MAX) {
        if let Some(network) = Prefix::of(address, length)
            && !networks.contains(&network)
        {
            networks.push(network);
        }
    }
    networks
}

/// The addresses that this machine has now, as many as are looked at.
pub(crate) fn machine_addresses() -> Vec<IpAddr> {
    let found = getifaddrs().into_iter().flatten().filter_map(|interface| address(&interface.address?));
    found.take(NETWORKS_MAX).collect()
}

fn address(socket: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = || socket.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    let v6 = || socket.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip()));
    v4().or_else(v6)
}

/// How many bits a mask has set from the left.
fn length(mask: IpAddr) -> u8 {
    match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones() as u8,
        IpAddr::V6(mask) => mask.to_bits().leading_ones() as u8,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_local() {
        let networks: Vec<String> = networks().iter().map(ToString::to_string).collect();
        assert_eq!(networks[..2], ["127.0.0.0/8", "::1/128"]);
        assert_eq!(networks.iter().filter(|network| **network == "127.0.0.0/8").count(), 1);
        assert_eq!(length("255.255.254.0".parse().unwrap()), 23);
        let inside = Prefix::of("192.0.2.130".parse().unwrap(), 25).unwrap();
        assert_eq!(inside.to_string(), "192.0.2.128/25");
    }
}
