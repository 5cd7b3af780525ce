//! Opening all sockets, before any thread starts and before privileges are dropped.
//!
//! Each worker gets its own UDP and TCP socket for every address, which the system joins to groups by SO_REUSEPORT.
//! Because that option also lets a second server of the same user join silently and take half the queries, every
//! address is first bound once without it: that fails if anybody is there.

use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::bind_error::{BindError, Step};
use crate::context::Transport;
use crate::listen::{Listen, Steer};
use crate::systemd::{Activated, ActivatedSocket};
use crate::udp::{Port, option};

/// Connections the system completes while a worker is busy. 511 is ample for a worker that accepts every few
/// microseconds, and below `net.core.somaxconn` (4096) everywhere.
const BACKLOG: i32 = 511;

/// Ports to try where the system shall choose one that is free for both UDP and TCP.
const FREE_PORT_TRIES_MAX: usize = 16;

/// A socket that is being listened on, for the log and for tests that let the system choose the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The address it is bound to.
    pub address: SocketAddr,
    /// What arrives there.
    pub transport: Transport,
    /// Whether a service manager opened it.
    pub inherited: bool,
}

/// The sockets of one worker.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    pub(crate) udp: Vec<Port>,
    pub(crate) tcp: Vec<TcpPort>,
}

/// One listening TCP socket of a worker.
#[derive(Debug)]
pub(crate) struct TcpPort {
    /// Non-blocking.
    pub(crate) socket: TcpListener,
    /// What epoll is to wait for.
    pub(crate) flags: EventFlags,
}

/// Opens the sockets of `cpus.len()` workers and takes over those a service manager handed us.
///
/// An address of `listen` that an inherited socket of the same transport has is not bound again.
pub(crate) fn bind_all(
    listen: &Listen,
    cpus: &[Option<usize>],
    inherited: Vec<Activated>,
) -> Result<(Vec<Sockets>, Vec<Listener>), BindError> {
    let mut asked = HashSet::new();
    if let Some(&address) = listen.addresses.iter().find(|at| at.port() != 0 && !asked.insert(**at)) {
        return Err(BindError::Duplicate { address });
    }
    raise_descriptor_limit();
    let mut workers: Vec<Sockets> = cpus.iter().map(|_| Sockets::default()).collect();
    let mut listeners = Vec::new();
    for activated in inherited {
        listeners.extend(share(activated, &mut workers)?);
    }
    let mut wanted = Vec::new();
    for &address in &listen.addresses {
        let held = |transport| {
            listeners.iter().any(|known: &Listener| known.address == address && known.transport == transport)
        };
        wanted.push((probe(address, listen, held)?, !held(Transport::Udp), !held(Transport::Tcp)));
    }
    for (address, udp, tcp) in wanted {
        for sockets in &mut workers {
            if udp {
                sockets.udp.push(bind_udp(address, listen)?);
            }
            if tcp {
                sockets.tcp.push(bind_tcp(address, listen)?);
            }
        }
        let new = [(udp, Transport::Udp), (tcp, Transport::Tcp)].into_iter().filter(|(wanted, _)| *wanted);
        listeners.extend(new.map(|(_, transport)| Listener { address, transport, inherited: false }));
        steer(address, listen, &workers, cpus)?;
    }
    if listeners.is_empty() { Err(BindError::NoAddress) } else { Ok((workers, listeners)) }
}

/// Makes sure that nobody has `address` yet, and chooses a port that is free for both transports where it has none.
fn probe(
    address: SocketAddr,
    listen: &Listen,
    held: impl Fn(Transport) -> bool,
) -> Result<SocketAddr, BindError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut chosen = address;
        if !held(Transport::Udp) {
            let socket = UdpSocket::from(open(address, Transport::Udp, listen)?);
            try_bind(&socket, address, Transport::Udp)?;
            chosen =
                socket.local_addr().map_err(|cause| failed(address, Transport::Udp, Step::Bind, cause))?;
        }
        if held(Transport::Tcp) {
            return Ok(chosen);
        }
        let socket = open(chosen, Transport::Tcp, listen)?;
        match try_bind(&socket, chosen, Transport::Tcp) {
            Ok(()) => return Ok(chosen),
            Err(_) if address.port() == 0 && tries < FREE_PORT_TRIES_MAX => {}
            Err(error) => return Err(error),
        }
    }
}

fn bind_udp(address: SocketAddr, listen: &Listen) -> Result<Port, BindError> {
    let failed = |step, cause: io::Error| failed(address, Transport::Udp, step, cause);
    let socket = open(address, Transport::Udp, listen)?;
    sockopt::set_socket_reuseport(&socket, true).map_err(|errno| failed(Step::Option, errno.into()))?;
    prepare_udp(&socket, address).map_err(|cause| failed(Step::Option, cause))?;
    buffer_sizes(&socket, listen);
    try_bind(&socket, address, Transport::Udp)?;
    Port::new(socket.into()).map_err(|cause| failed(Step::Bind, cause))
}

fn bind_tcp(address: SocketAddr, listen: &Listen) -> Result<TcpPort, BindError> {
    let failed = |step, cause: io::Error| failed(address, Transport::Tcp, step, cause);
    let socket = open(address, Transport::Tcp, listen)?;
    sockopt::set_socket_reuseport(&socket, true).map_err(|errno| failed(Step::Option, errno.into()))?;
    // Inherited by accepted connections, which saves a system call on each. Answers of one read leave in one write,
    // so there is nothing to gather and no reason to wait for an acknowledgement.
    sockopt::set_tcp_nodelay(&socket, true).map_err(|errno| failed(Step::Option, errno.into()))?;
    if listen.fast_open > 0 {
        // Refused where the kernel was built without it: the handshake then costs one more round trip, no more.
        let _ = option::accept_fast_open(&socket, listen.fast_open);
    }
    try_bind(&socket, address, Transport::Tcp)?;
    rustix::net::listen(&socket, BACKLOG).map_err(|errno| failed(Step::Listen, errno.into()))?;
    Ok(TcpPort { socket: socket.into(), flags: EventFlags::IN })
}

/// Opens a non-blocking socket for `address` with the options that both a probe and a real one need.
fn open(address: SocketAddr, transport: Transport, listen: &Listen) -> Result<OwnedFd, BindError> {
    let (kind, protocol) = match transport {
        Transport::Udp | Transport::Quic => (SocketType::DGRAM, ipproto::UDP),
        Transport::Tcp | Transport::Tls | Transport::Https => (SocketType::STREAM, ipproto::TCP),
    };
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let configure = |socket: &OwnedFd| -> Result<(), Errno> {
        if transport == Transport::Tcp {
            // Connections of the last run may linger in TIME_WAIT; they do not make the address busy.
            sockopt::set_socket_reuseaddr(socket, true)?;
        }
        if address.is_ipv6() {
            // IPv4 clients have sockets of their own: mapped addresses would defeat limits by prefix and logs.
            sockopt::set_ipv6_v6only(socket, true)?;
        }
        match (listen.free_bind, address.is_ipv4()) {
            (false, _) => Ok(()),
            (true, true) => sockopt::set_ip_freebind(socket, true),
            (true, false) => sockopt::set_ipv6_freebind(socket, true),
        }
    };
    let socket = socket_with(family, kind, flags, Some(protocol))
        .map_err(|errno| failed(address, transport, Step::Open, errno.into()))?;
    configure(&socket).map_err(|errno| failed(address, transport, Step::Option, errno.into()))?;
    Ok(socket)
}

fn try_bind(socket: &impl AsFd, address: SocketAddr, transport: Transport) -> Result<(), BindError> {
    rustix::net::bind(socket, &address).map_err(|errno| failed(address, transport, Step::Bind, errno.into()))
}

/// Options of every UDP socket, inherited ones included.
fn prepare_udp(socket: &impl AsFd, local: SocketAddr) -> io::Result<()> {
    // Never set DF and never believe a path MTU learnt from ICMP: a forged "fragmentation needed" could otherwise
    // make the system fragment responses so that an attacker replaces the second fragment (RFC 9715 appendix A).
    // With DF, as that document recommends where it is safe, responses would vanish on narrow paths, since nobody
    // listens to the complaint. What avoids fragments is the payload size that the handler keeps to (1232).
    if local.is_ipv4() {
        sockopt::set_ip_mtu_discover(socket, sockopt::Ipv4PathMtuDiscovery::OMIT)?;
    } else {
        sockopt::set_ipv6_mtu_discover(socket, sockopt::Ipv6PathMtuDiscovery::OMIT)?;
        // Routers do not fragment IPv6 and their complaints are not believed: where settings allow larger
        // responses than every path carries, they must leave in fragments that are not larger.
        option::fragment_at_minimum_mtu(socket)?;
        // For the IPv4 half of a dual-stack socket of a service manager; others have none.
        let _ = sockopt::set_ip_mtu_discover(socket, sockopt::Ipv4PathMtuDiscovery::OMIT);
    }
    if local.ip().is_unspecified() {
        option::report_local_address(socket, local.is_ipv6())?;
    }
    Ok(())
}

/// Sets the buffer sizes: beyond the system's limit where we may, up to it where not. Smaller buffers only mean
/// that bursts are dropped earlier, so nothing here is an error.
fn buffer_sizes(socket: &OwnedFd, listen: &Listen) {
    if sockopt::set_socket_recv_buffer_size_force(socket, listen.receive_buffer_octets).is_err() {
        let _ = sockopt::set_socket_recv_buffer_size(socket, listen.receive_buffer_octets);
    }
    if sockopt::set_socket_send_buffer_size_force(socket, listen.send_buffer_octets).is_err() {
        let _ = sockopt::set_socket_send_buffer_size(socket, listen.send_buffer_octets);
    }
}

/// Has the groups at `address`, the last sockets of each worker, choose by processor if the settings say so.
fn steer(
    address: SocketAddr,
    listen: &Listen,
    workers: &[Sockets],
    cpus: &[Option<usize>],
) -> Result<(), BindError> {
    if listen.steer == Steer::ByHash {
        return Ok(());
    }
    // Without pinning, no processor belongs to a worker: the hash is then the better choice.
    let Some(owners) = cpus.iter().copied().collect::<Option<Vec<usize>>>() else { return Ok(()) };
    let Some(first) = workers.first() else { return Ok(()) };
    let failed = |transport, cause| failed(address, transport, Step::Option, cause);
    if let Some(port) = first.udp.last().filter(|port| port.local == address.into()) {
        option::steer_by_cpu(&port.socket, &owners).map_err(|cause| failed(Transport::Udp, cause))?;
    }
    if let Some(port) = first.tcp.last().filter(|port| port.socket.local_addr().is_ok_and(|at| at == address))
    {
        option::steer_by_cpu(&port.socket, &owners).map_err(|cause| failed(Transport::Tcp, cause))?;
    }
    Ok(())
}

/// Gives an inherited socket to all workers: they wait on the same one, and the system wakes one of them.
fn share(activated: Activated, workers: &mut [Sockets]) -> Result<Option<Listener>, BindError> {
    let name = activated.name.clone();
    let failed = |cause| BindError::Inherited { name: name.clone(), cause };
    // One socket for several workers: wake one of them, not all.
    let flags = if workers.len() > 1 { EventFlags::IN | EventFlags::EXCLUSIVE } else { EventFlags::IN };
    let (address, transport) = match activated.socket {
        ActivatedSocket::Udp(socket) => {
            socket.set_nonblocking(true).map_err(failed)?;
            let address = socket.local_addr().map_err(failed)?;
            prepare_udp(&socket, address).map_err(failed)?;
            for sockets in workers {
                let socket = socket.try_clone().map_err(failed)?;
                let port = Port::new(socket).map_err(failed)?;
                sockets.udp.push(Port { flags, ..port });
            }
            (address, Transport::Udp)
        }
        ActivatedSocket::Tcp(socket) => {
            socket.set_nonblocking(true).map_err(failed)?;
            let address = socket.local_addr().map_err(failed)?;
            if !sockopt::socket_acceptconn(&socket).map_err(|errno| failed(errno.into()))? {
                let cause = "it does not listen; its unit must have Accept=no";
                return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, cause)));
            }
            sockopt::set_tcp_nodelay(&socket, true).map_err(|errno| failed(errno.into()))?;
            for sockets in workers {
                sockets.tcp.push(TcpPort { socket: socket.try_clone().map_err(failed)?, flags });
            }
            (address, Transport::Tcp)
        }
        // Not for queries: the caller takes what it knows before it hands the rest over.
        ActivatedSocket::Unix(_) => return Ok(None),
    };
    Ok(Some(Listener { address, transport, inherited: true }))
}

/// Raises the soft limit of descriptors to the hard one: the soft limit protects programs that use `select`, which
/// we do not, and a busy server with many addresses needs more than 1,024.
fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // What cannot be raised shows up later as connections that are not accepted, counted there.
    let _ = setrlimit(Resource::Nofile, limit);
}

fn failed(address: SocketAddr, transport: Transport, step: Step, cause: io::Error) -> BindError {
    BindError::Socket { address, transport, step, cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind_one(address: &str) -> Sockets {
        let listen = Listen { addresses: vec![address.parse().unwrap()], ..Listen::default() };
        let (mut workers, listeners) = bind_all(&listen, &[None], Vec::new()).unwrap();
        assert_eq!(listeners.len(), 2);
        assert_eq!(listeners[0].address, listeners[1].address);
        workers.pop().unwrap()
    }

    #[test]
    fn options_of_sockets() {
        let sockets = bind_one("127.0.0.1:0");
        let udp = &sockets.udp[0].socket;
        assert_eq!(sockopt::ip_mtu_discover(udp).unwrap(), sockopt::Ipv4PathMtuDiscovery::OMIT);
        assert!(sockopt::socket_reuseport(udp).unwrap());
        assert!(sockopt::tcp_nodelay(&sockets.tcp[0].socket).unwrap());
        assert!(!sockets.udp[0].wildcard);

        let sockets = bind_one("[::]:0");
        let udp = &sockets.udp[0].socket;
        assert_eq!(sockopt::ipv6_mtu_discover(udp).unwrap(), sockopt::Ipv6PathMtuDiscovery::OMIT);
        assert!(sockopt::ipv6_v6only(udp).unwrap());
        assert!(sockets.udp[0].wildcard);
    }

    #[test]
    fn an_inherited_socket_must_listen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // What a unit with Accept=yes passes: a connection.
        let socket = ActivatedSocket::Tcp(TcpListener::from(OwnedFd::from(client)));
        let inherited = vec![Activated { name: "dns".into(), socket }];
        let error = bind_all(&Listen::default(), &[None], inherited).unwrap_err().to_string();
        assert!(error.contains("\"dns\"") && error.contains("Accept=no"), "{error}");
    }
}
