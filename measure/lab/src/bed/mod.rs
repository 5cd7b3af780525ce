//! What lies between generator and server: a pair of network namespaces joined by a veth pair, or the loopback
//! interface.

mod crowd;
pub mod link;
mod slow;
mod steer;
mod sysctl;
mod veth;

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket},
    process::Command,
};

pub use crowd::{Count, Crowd, Gone};
pub use slow::Slow;
pub use steer::Steered;
use sysctl::Sysctls;
use veth::Pair;

use crate::{Error, place::Place, process};

/// What every server's socket shall hold: a tenth of a second of queries at several hundred thousand a second, each
/// counted by the kernel with some 800 octets, so that a machine that stands still for a moment loses none. Servers that
/// set a size get twice that from the kernel; those that set none get the default, hence twice as much.
pub const RECEIVE_OCTETS: usize = 64 << 20;
/// Where the authoritative servers of a caching experiment are on the loopback interface: that of the parent, and that of the
/// children.
const UPSTREAMS: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 0, 53, 2), Ipv4Addr::new(127, 0, 53, 1)];
/// Where addresses of a model Internet begin: of a network for measurements (RFC 2544) behind the generator's end, or on the loopback interface.
const INTERNET: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 0), Ipv4Addr::new(127, 53, 0, 0)];
/// Their port: resolvers follow glue, which has none.
pub const DNS_PORT: u16 = 53;
/// First port tried in namespaces; on the loopback interface so many others, as two runs at a time would look at the same port and both find it free.
const PORT: u16 = 5300;
const PORTS: u32 = 16_384;

/// What the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BedKind {
    /// A pair where that is permitted, else the loopback interface.
    Auto,
    /// A pair of namespaces.
    Veth,
    /// The loopback interface.
    Loopback,
    /// Nothing: what is measured sends no packets.
    None,
}

/// The bed of a run; what it changed on the machine is changed back when it is dropped.
pub struct Bed {
    pair: Option<Pair>,
    _sysctls: Option<Sysctls>,
    is_none: bool,
    server_cores: Vec<usize>,
    load_cores: Vec<usize>,
    /// Next port to hand out in namespaces, where all are free.
    next: u16,
    /// On whose cores packets are received.
    pub receiving: String,
    /// What the user should know.
    pub notes: Vec<String>,
}

impl Bed {
    /// Makes the bed.
    pub fn make(kind: BedKind, server_cores: &[usize], load_cores: &[usize]) -> Result<Bed, Error> {
        let mut notes = Vec::new();
        sysctl::restore_left();
        let is_none = kind == BedKind::None;
        let sysctls = (!is_none).then(|| Sysctls::raise(&mut notes));
        let pair = match kind {
            BedKind::Loopback | BedKind::None => None,
            BedKind::Veth => Some(Pair::make()?),
            BedKind::Auto => match Pair::make() {
                Ok(pair) => Some(pair),
                Err(error) => {
                    notes.push(format!("measured over the loopback interface: {error}"));
                    None
                }
            },
        };
        let receiving = match (&pair, is_none) {
            (Some(pair), _) => pair.steer(server_cores, load_cores).unwrap_or_else(|error| {
                notes.push(format!("packets are received on the core that sent them: {error}"));
                "on the core of the sender".to_owned()
            }),
            (None, false) => {
                notes.push(
                    "over the loopback interface packets are received on the core that sent them: a server's queries at \
                     the generator's cost, and the answers at the server's"
                        .to_owned(),
                );
                "on the core of the sender".to_owned()
            }
            (None, true) => "nothing is received".to_owned(),
        };
        let (server_cores, load_cores) = (server_cores.to_vec(), load_cores.to_vec());
        let next = match pair {
            Some(_) => PORT,
            None => PORT + (std::process::id() % PORTS) as u16,
        };
        Ok(Bed { pair, _sysctls: sysctls, is_none, server_cores, load_cores, next, receiving, notes })
    }

    /// `veth`, `loopback` or `none`.
    pub fn name(&self) -> &'static str {
        match (&self.pair, self.is_none) {
            (Some(_), _) => "veth",
            (None, false) => "loopback",
            (None, true) => "none",
        }
    }

    /// Where servers run.
    pub fn server(&self) -> Place {
        Place {
            namespace: self.pair.as_ref().map(|pair| pair.server.handle()),
            cores: self.server_cores.clone(),
        }
    }

    /// Where the generator runs.
    pub fn load(&self) -> Place {
        Place {
            namespace: self.pair.as_ref().map(|pair| pair.client.handle()),
            cores: self.load_cores.clone(),
        }
    }

    /// Has a core receive what comes to the servers, for as long as the result lives; nothing where there is no pair of namespaces.
    pub fn receive_on(&self, core: usize) -> Result<Option<Steered>, Error> {
        self.pair.as_ref().map(|pair| Steered::to(&pair.server, core)).transpose()
    }

    /// An address for a server, with a port that is free for UDP and TCP. Servers share ports silently
    /// (SO_REUSEPORT): one that is in use would have two servers measured as one.
    pub fn address(&mut self) -> Result<SocketAddr, Error> {
        let ip = if self.pair.is_some() { veth::SERVER } else { Ipv4Addr::LOCALHOST };
        self.free(ip, &self.server())
    }

    /// The same of IPv6; an error where there is none.
    pub fn address_v6(&mut self) -> Result<SocketAddr, Error> {
        let ip = match &self.pair {
            Some(pair) if !pair.has_ipv6 => return Err(no_ipv6()),
            Some(_) => veth::SERVER_V6,
            None => Ipv6Addr::LOCALHOST,
        };
        let is_there = self.server().enter(|| Ok(UdpSocket::bind((ip, 0)).is_ok()))?;
        if is_there { self.free(ip, &self.server()) } else { Err(no_ipv6()) }
    }

    /// The same at the generator's end, for a primary that servers have their zones from.
    pub fn load_address(&mut self) -> Result<SocketAddr, Error> {
        let ip = if self.pair.is_some() { veth::CLIENT } else { Ipv4Addr::LOCALHOST };
        self.free(ip, &self.load())
    }

    /// Addresses of two authoritative servers at the generator's end that a resolver asks: that of the parent, and that of the
    /// children. Port 53 of both is free.
    pub fn upstreams(&self) -> Result<[Ipv4Addr; 2], Error> {
        let all = if self.pair.is_some() { veth::UPSTREAMS } else { UPSTREAMS };
        let is_free = |ip: Ipv4Addr| {
            let address = SocketAddr::new(IpAddr::V4(ip), DNS_PORT);
            self.load().enter(|| Ok(TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok()))
        };
        for ip in all {
            if !is_free(ip)? {
                let rule = format!("port 53 of {ip} is taken, or needs root");
                return Err(Error::Option { option: "--bed", rule });
            }
        }
        Ok(all)
    }

    /// Addresses for clients in many networks and for name servers, which only namespaces have.
    pub fn crowd(&self) -> Result<Crowd, Error> {
        let rule = "clients in many networks and servers out of reach need namespaces, which root may make"
            .to_owned();
        let pair = self.pair.as_ref().ok_or(Error::Option { option: "--bed", rule })?;
        Crowd::make(pair, self.server(), self.load())
    }

    /// Has sockets of servers that set no size hold so much from now on; what was before comes back at the end of the run.
    pub fn receive_by_default(&self, octets: usize) -> Result<(), Error> {
        sysctl::receive_by_default(octets)
    }

    /// Where addresses of the servers of a model Internet begin; two networks of 65,536 from there on are free.
    pub fn internet(&self) -> Ipv4Addr {
        INTERNET[usize::from(self.pair.is_none())]
    }

    /// Gives the generator's end these addresses of a model Internet, and leads the servers' end to them.
    pub fn take(&self, addresses: impl Iterator<Item = Ipv4Addr>) -> Result<(), Error> {
        // The loopback interface has all of its network.
        self.pair.as_ref().map_or(Ok(()), |pair| pair.take(addresses, INTERNET[0]))
    }

    /// An address for a server that is asked by others at the generator's end alone, with a port that is free there.
    pub fn hidden_address(&mut self) -> Result<SocketAddr, Error> {
        self.free(Ipv4Addr::LOCALHOST, &self.load())
    }

    fn free(&mut self, ip: impl Into<IpAddr>, place: &Place) -> Result<SocketAddr, Error> {
        let ip = ip.into();
        for _ in 0..u16::MAX {
            let address = SocketAddr::new(ip, self.next);
            self.next = self.next.checked_add(1).unwrap_or(PORT);
            let is_free =
                place.enter(|| Ok(TcpListener::bind(address).is_ok() && UdpSocket::bind(address).is_ok()))?;
            if is_free {
                return Ok(address);
            }
        }
        Err(Error::Option { option: "--bed", rule: "no port is free".to_owned() })
    }

    /// What became of datagrams in the sockets of servers on a port, over IPv4 and IPv6.
    pub fn sockets(&self, port: u16) -> Result<Sockets, Error> {
        sockets(&self.server(), port)
    }

    /// What the UDP sockets on a port may hold at least, as the kernel counts it; `None` where that cannot be told.
    pub fn receive_octets(&self, port: u16) -> Option<usize> {
        let program = process::find("ss")?;
        let place = self.server();
        let port = format!(":{port}");
        let list = move || Command::new(program).args(["-Huanm", "sport", "=", &port]).output();
        let output = place.enter(list).ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split(',').filter_map(|field| field.strip_prefix("rb")?.parse().ok()).min()
    }
}

fn no_ipv6() -> Error {
    Error::Option { option: "--bed", rule: "this kernel has no IPv6, or has it switched off".to_owned() }
}

/// What the kernel tells of UDP sockets on a port, of all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sockets {
    /// Octets of memory that datagrams take which wait to be read.
    pub queued: u64,
    /// Datagrams that there was no room for, from the beginning on.
    pub dropped: u64,
}

fn sockets(place: &Place, port: u16) -> Result<Sockets, Error> {
    let [four, six] = ["udp", "udp6"].map(|table| format!("/proc/thread-self/net/{table}"));
    // A kernel without IPv6 has no table of it.
    let read = || Ok(fs::read_to_string(four)? + &fs::read_to_string(six).unwrap_or_default());
    Ok(sockets_in(&place.enter(read)?, port))
}

/// Those of a table (proc(5), `/proc/net/udp`) with a local port: the queues are in the fifth column, what was dropped in the last.
fn sockets_in(table: &str, port: u16) -> Sockets {
    let mut sum = Sockets::default();
    for line in table.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let of = |at: usize| fields.get(at).and_then(|field| field.rsplit_once(':'));
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        if of(1).and_then(|(_, local)| number(local)) == Some(port.into()) {
            sum.queued += of(4).and_then(|(_, received)| number(received)).unwrap_or(0);
            sum.dropped += fields.last().and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_one_port() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n\
                     1: 01004D0A:14B4 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0 17\n\
                     2: 01004D0A:14B4 00000000:0000 07 00000000:00001A00 00:00000000 00000000     0        0 1 2 0 5\n\
                     3: 01004D0A:14B5 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 1 2 0 9\n\
                     1: B80D0120000077000000000001000000:14B4 00000000000000000000000000000000:0000 07 0:0 0:0 0 0 0 1 2 0 3\n";
        let dropped = |port| sockets_in(table, port).dropped;
        assert_eq!((dropped(5300), dropped(5301), dropped(53)), (25, 9, 0));
        assert_eq!((sockets_in(table, 5300).queued, sockets_in(table, 5301).queued), (0x1a00, 0));
    }
}
