//! Many addresses at the generator's end, for clients in many networks and for name servers; and a link that leads nowhere, for
//! servers that are dead.
//!
//! ```text
//! server's namespace -- veth-s ----- veth-c -- generator's namespace: all of 10.80.0.0/12 (clients) and 198.18.0.0/16 (servers) is its own
//!                    -- dead-s ----- dead-c    no addresses: what goes to 198.19.0.0/16 is counted and gone
//! ```
//!
//! A server that is dead says nothing, not even that its port is closed; so packets for it leave by a link of their own, whose other
//! end has no address and passes nothing on. How many left is how often somebody asked.

use std::{fs, net::Ipv4Addr};

use super::veth::{CLIENT, Pair, ip, ip_with};
use crate::{Error, place::Place};

/// First two octets of name servers' addresses: of a network for measurements (RFC 2544). Resolvers may take servers in networks of one's own for
/// near ones, which are heard whether the Internet is there or not.
const SERVERS: [u8; 2] = [198, 18];
/// Of clients', by group: one in each network of 24 bits.
const CLIENTS: [[u8; 2]; 3] = [[10, 81], [10, 82], [10, 83]];
/// Of the dead.
const DEAD: [u8; 2] = [198, 19];
/// Networks of a group.
const NETWORKS_MAX: usize = 250;
/// The next hop into the dead end, which nobody is.
const NOBODY: &str = "10.97.0.2";

/// What is counted of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Packets that went where nobody is.
    Vanished,
    /// Their octets, heads of the link among them.
    Octets,
    /// Datagrams that servers in the servers' namespace have read from their sockets.
    Read,
}

/// How a server is out of reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// Packets to it get lost.
    Silent,
    /// This machine has no way to it, and says so to who wants to send.
    Unreachable,
}

/// The addresses of a bed; they last as long as its namespaces.
pub struct Crowd {
    server: String,
    place: Place,
    /// The generator's end.
    load: Place,
}

impl Crowd {
    /// Makes them.
    pub(super) fn make(pair: &Pair, place: Place, load: Place) -> Result<Crowd, Error> {
        let (server, client) = (&pair.server.name, &pair.client.name);
        for network in ["10.80.0.0/12", "198.18.0.0/16"] {
            ip(&format!("-n {client} route add local {network} dev lo"))?;
            ip(&format!("-n {server} route add {network} via {CLIENT} dev veth-s"))?;
        }
        ip(&format!("link add dead-s netns {server} type veth peer name dead-c netns {client}"))?;
        for (name, link) in [(server, "dead-s"), (client, "dead-c")] {
            // Without addresses of IPv6 nobody looks for neighbours, which would be counted.
            ip(&format!("-n {name} link set {link} addrgenmode none"))?;
            ip(&format!("-n {name} link set {link} up"))?;
        }
        ip(&format!("-n {server} address add 10.97.0.1/30 dev dead-s"))?;
        ip(&format!(
            "-n {server} neighbour replace {NOBODY} lladdr 02:00:00:00:00:09 dev dead-s nud permanent"
        ))?;
        ip(&format!("-n {server} route add 198.19.0.0/16 via {NOBODY} dev dead-s"))?;
        Ok(Crowd { server: server.clone(), place, load })
    }

    /// The address of a name server.
    pub fn server(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(SERVERS[0], SERVERS[1], 0, number)
    }

    /// Addresses of so many clients of a group, each in a network of its own.
    pub fn clients(group: usize, count: usize) -> Vec<Ipv4Addr> {
        let [first, second] = CLIENTS[group % CLIENTS.len()];
        (0..count.min(NETWORKS_MAX)).map(|network| Ipv4Addr::new(first, second, network as u8, 1)).collect()
    }

    /// The address of a server that is dead.
    pub fn dead(number: u16) -> Ipv4Addr {
        let [third, fourth] = number.to_be_bytes();
        Ipv4Addr::new(DEAD[0], DEAD[1], third, fourth)
    }

    /// Leads all addresses that nobody has into the dead end, and has the servers' end take packets from them, whatever way leads back.
    pub fn lead_away(&self) -> Result<(), Error> {
        ip(&format!("-n {} route add default via {NOBODY} dev dead-s", self.server))?;
        let script =
            "for link in all veth-s; do echo 0 > /proc/sys/net/ipv4/conf/$link/rp_filter || exit 1; done";
        ip_with(&["netns", "exec", &self.server, "sh", "-c", script]).map(drop)
    }

    /// Packets that went where nobody is, up to now.
    pub fn vanished(&self) -> Result<u64, Error> {
        self.count(Count::Vanished)
    }

    /// What there is to count, up to now.
    pub fn count(&self, what: Count) -> Result<u64, Error> {
        // Eight columns of what was received come first: octets, packets, …
        let column = match what {
            Count::Octets => 8,
            Count::Vanished => 9,
            Count::Read => return udp(&self.place, "InDatagrams", "what servers have read"),
        };
        let text = self.place.enter(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
        let line = text.lines().find_map(|line| line.trim().strip_prefix("dead-s:"));
        let sent = line.and_then(|line| line.split_whitespace().nth(column)?.parse().ok());
        sent.ok_or(Error::Output { program: "/proc/net/dev", wanted: "what went into the dead end" })
    }

    /// Datagrams for ports of the generator's end that nobody listens at, up to now: questions for name servers that have ended.
    pub fn refused(&self) -> Result<u64, Error> {
        udp(&self.load, "NoPorts", "what came to closed ports")
    }

    /// Datagrams that a server's socket had no room for, up to now.
    pub fn dropped(&self, port: u16) -> Result<u64, Error> {
        Ok(super::sockets(&self.place, port)?.dropped)
    }

    /// Takes name servers out of reach.
    pub fn take_away(&self, servers: &[Ipv4Addr], how: Gone) -> Result<(), Error> {
        for server in servers {
            ip(&match how {
                Gone::Silent => format!("-n {} route add {server}/32 via {NOBODY} dev dead-s", self.server),
                Gone::Unreachable => format!("-n {} route add unreachable {server}/32", self.server),
            })?;
        }
        Ok(())
    }

    /// Puts them back.
    pub fn put_back(&self, servers: &[Ipv4Addr]) -> Result<(), Error> {
        servers
            .iter()
            .try_for_each(|server| ip(&format!("-n {} route delete {server}/32", self.server)).map(drop))
    }
}

/// A count of UDP in a namespace, by its name there.
fn udp(place: &Place, name: &str, wanted: &'static str) -> Result<u64, Error> {
    let text = place.enter(|| fs::read_to_string("/proc/thread-self/net/snmp"))?;
    let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
    let column = lines.next().and_then(|names| names.split(' ').position(|known| known == name));
    let count = column.zip(lines.next()).and_then(|(at, values)| values.split(' ').nth(at)?.parse().ok());
    count.ok_or(Error::Output { program: "/proc/net/snmp", wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_in_networks_of_their_own() {
        let clients = Crowd::clients(1, 300);
        assert_eq!((clients.len(), clients[3]), (NETWORKS_MAX, Ipv4Addr::new(10, 82, 3, 1)));
        assert_eq!(Crowd::dead(258), Ipv4Addr::new(198, 19, 1, 2));
    }
}
