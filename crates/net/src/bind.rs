//! Opening all sockets, before any thread starts and before privileges are dropped.
//!
//! Each worker gets its own UDP and TCP socket for every address, which the system joins to groups by SO_REUSEPORT.
//! Because that option also lets a second server of the same user join silently and take half the queries, every
//! address is first bound once without it: that fails if anybody is there. Sockets that were handed over are dealt to workers as
//! they are (`handed`).

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
use crate::handed::{Handed, deal, is_overlapping, prepare, with_ports};
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

/// What was opened.
pub(crate) struct Bound {
    /// The sockets of each worker.
    pub(crate) workers: Vec<Sockets>,
    pub(crate) listeners: Vec<Listener>,
    /// Second descriptors of all sockets, to be handed on.
    pub(crate) groups: Vec<Handed>,
}

impl Bound {
    /// Gives the sockets of an address to workers.
    fn add(&mut self, group: Handed) -> io::Result<()> {
        deal(&group.listener, &group.sockets, &mut self.workers)?;
        self.listeners.push(group.listener);
        self.groups.push(group);
        Ok(())
    }

    fn has(&self, address: SocketAddr, transport: Transport) -> bool {
        self.listeners.iter().any(|known| known.address == address && known.transport == transport)
    }
}

/// What others opened for this server.
#[derive(Default)]
pub(crate) struct Given {
    /// By a service manager.
    pub(crate) activated: Vec<Activated>,
    /// By the server before, which goes on with them until this one is at work.
    pub(crate) handed: Vec<Handed>,
}

/// Opens the sockets of `cpus.len()` workers and takes over those that were given to us.
///
/// An address of `listen` that a given socket of the same transport has is not bound again. Of those that were handed over, what is not in
/// `listen` is given back.
pub(crate) fn bind_all(listen: &Listen, cpus: &[Option<usize>], given: Given) -> Result<Bound, BindError> {
    let mut asked = HashSet::new();
    if let Some(&address) = listen.addresses.iter().find(|at| at.port() != 0 && !asked.insert(**at)) {
        return Err(BindError::Duplicate { address });
    }
    raise_descriptor_limit();
    let Given { activated, mut handed } = given;
    let mut bound = Bound {
        workers: cpus.iter().map(|_| Sockets::default()).collect(),
        listeners: Vec::new(),
        groups: Vec::new(),
    };
    for group in &handed {
        let Listener { address, transport, .. } = group.listener;
        group.check().map_err(|cause| BindError::Handed { address, transport, cause })?;
    }
    for activated in activated {
        share(activated, &mut bound)?;
    }
    let addresses = with_ports(&listen.addresses, &handed);
    let is_of_manager = |group: &mut Handed| group.listener.inherited;
    for group in handed.extract_if(.., is_of_manager).collect::<Vec<_>>() {
        take(group, &mut bound, listen, cpus)?;
    }
    let mut wanted = Vec::new();
    for address in addresses {
        wanted.push(probe(address, listen, |transport| {
            let is_handed =
                |group: &Handed| group.listener.address == address && group.listener.transport == transport;
            bound.has(address, transport)
                || handed.iter().any(is_handed)
                || is_overlapping(address, transport, &handed)
        })?);
    }
    for address in wanted {
        for transport in [Transport::Udp, Transport::Tcp] {
            if bound.has(address, transport) {
                continue;
            }
            let is_it = |group: &mut Handed| {
                group.listener.address == address && group.listener.transport == transport
            };
            let listener = Listener { address, transport, inherited: false };
            let group = handed.extract_if(.., is_it).next();
            take(group.unwrap_or(Handed { listener, sockets: Vec::new() }), &mut bound, listen, cpus)?;
        }
    }
    if bound.listeners.is_empty() { Err(BindError::NoAddress) } else { Ok(bound) }
}

/// Takes the sockets of an address, as many as there are, binds those that workers lack, and gives them to workers.
fn take(
    mut group: Handed,
    bound: &mut Bound,
    listen: &Listen,
    cpus: &[Option<usize>],
) -> Result<(), BindError> {
    let Listener { address, transport, inherited } = group.listener;
    let failed = |cause| failed(address, transport, Step::Option, cause);
    let is_new = group.sockets.is_empty();
    for socket in &group.sockets {
        prepare(&group.listener, socket).map_err(failed)?;
        if !inherited {
            adapt(socket, transport, listen, false);
        }
    }
    while group.sockets.len() < bound.workers.len() && !inherited {
        match bind_one(address, transport, listen) {
            Ok(socket) => group.sockets.push(socket),
            Err(error) if is_new => return Err(error),
            // Those that there are do for all.
            Err(error) => {
                tracing::info!("workers share the sockets of {address}: {error}");
                break;
            }
        }
    }
    let first = group.sockets.first().map(OwnedFd::try_clone).transpose().map_err(failed)?;
    let is_enough = group.sockets.len() >= bound.workers.len();
    bound.add(group).map_err(failed)?;
    match first {
        Some(first) if !inherited && is_enough => steer(&first, listen, cpus, is_new).map_err(failed),
        _ => Ok(()),
    }
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

/// Binds one more socket to `address`.
fn bind_one(address: SocketAddr, transport: Transport, listen: &Listen) -> Result<OwnedFd, BindError> {
    let failed = |step, cause: io::Error| failed(address, transport, step, cause);
    let socket = open(address, transport, listen)?;
    sockopt::set_socket_reuseport(&socket, true).map_err(|errno| failed(Step::Option, errno.into()))?;
    let is_udp = transport == Transport::Udp;
    if is_udp {
        prepare_udp(&socket, address).map_err(|cause| failed(Step::Option, cause))?;
    } else {
        // Inherited by accepted connections, which saves a system call on each. Answers of one read leave in one write,
        // so there is nothing to gather and no reason to wait for an acknowledgement.
        sockopt::set_tcp_nodelay(&socket, true).map_err(|errno| failed(Step::Option, errno.into()))?;
    }
    adapt(&socket, transport, listen, true);
    try_bind(&socket, address, transport)?;
    if !is_udp {
        rustix::net::listen(&socket, BACKLOG).map_err(|errno| failed(Step::Listen, errno.into()))?;
    }
    Ok(socket)
}

/// Opens a socket that listens at `address` over TCP for something else than DNS. Fails where anybody else does.
pub fn listen_at(address: SocketAddr, free_bind: bool) -> Result<OwnedFd, BindError> {
    let socket = open(address, Transport::Tcp, &Listen { free_bind, ..Listen::default() })?;
    try_bind(&socket, address, Transport::Tcp)?;
    rustix::net::listen(&socket, BACKLOG)
        .map_err(|errno| failed(address, Transport::Tcp, Step::Listen, errno.into()))?;
    Ok(socket)
}

/// Sets what settings say of a socket, and what it can do without.
fn adapt(socket: &OwnedFd, transport: Transport, listen: &Listen, is_new: bool) {
    if transport == Transport::Udp {
        buffer_sizes(socket, listen, is_new);
    } else if listen.fast_open > 0 {
        // Refused where the kernel was built without it: the handshake then costs one more round trip, no more.
        let _ = option::accept_fast_open(socket, listen.fast_open);
    }
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
pub(crate) fn prepare_udp(socket: &impl AsFd, local: SocketAddr) -> io::Result<()> {
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
/// that bursts are dropped earlier, so nothing here is an error. One that is not new may be beyond the limit, from when the server had the
/// right to that: it stays as it is where we may not, as it would be cut to the limit.
fn buffer_sizes(socket: &OwnedFd, listen: &Listen, is_new: bool) {
    let is_forced = sockopt::set_socket_recv_buffer_size_force(socket, listen.receive_buffer_octets).is_ok();
    if !is_forced && is_new {
        let _ = sockopt::set_socket_recv_buffer_size(socket, listen.receive_buffer_octets);
    }
    let is_forced = sockopt::set_socket_send_buffer_size_force(socket, listen.send_buffer_octets).is_ok();
    if !is_forced && is_new {
        let _ = sockopt::set_socket_send_buffer_size(socket, listen.send_buffer_octets);
    }
}

/// Has the group that `socket` is in choose by processor if the settings say so, and no more if they do not. `is_new`: whether it has chosen by
/// nothing yet.
fn steer(socket: &OwnedFd, listen: &Listen, cpus: &[Option<usize>], is_new: bool) -> io::Result<()> {
    // Without pinning, no processor belongs to a worker: the hash is then the better choice.
    let owners = cpus.iter().copied().collect::<Option<Vec<usize>>>();
    match owners.filter(|_| listen.steer == Steer::ByCpu) {
        Some(owners) => option::steer_by_cpu(socket, &owners),
        None if is_new => Ok(()),
        None => {
            // There may have been nothing to take away.
            let _ = option::steer_by_hash(socket);
            Ok(())
        }
    }
}

/// Gives a socket of a service manager to all workers: they wait on the same one, and the system wakes one of them.
fn share(activated: Activated, bound: &mut Bound) -> Result<(), BindError> {
    let Activated { name, socket } = activated;
    let failed = |cause| BindError::Inherited { name: name.clone(), cause };
    let (address, transport, socket) = match socket {
        ActivatedSocket::Udp(socket) => (socket.local_addr(), Transport::Udp, OwnedFd::from(socket)),
        ActivatedSocket::Tcp(socket) => {
            if !sockopt::socket_acceptconn(&socket).map_err(|errno| failed(errno.into()))? {
                let cause = "it does not listen; its unit must have Accept=no";
                return Err(failed(io::Error::new(io::ErrorKind::InvalidInput, cause)));
            }
            (socket.local_addr(), Transport::Tcp, OwnedFd::from(socket))
        }
        // Not for queries: the caller takes what it knows before it hands the rest over.
        ActivatedSocket::Unix(_) => return Ok(()),
    };
    let listener = Listener { address: address.map_err(failed)?, transport, inherited: true };
    prepare(&listener, &socket).map_err(failed)?;
    bound.add(Handed { listener, sockets: vec![socket] }).map_err(failed)
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

    fn bound_at(address: &str) -> Sockets {
        let listen = Listen { addresses: vec![address.parse().unwrap()], ..Listen::default() };
        let mut bound = bind_all(&listen, &[None], Given::default()).unwrap();
        assert_eq!(bound.listeners.len(), 2);
        assert_eq!(bound.listeners[0].address, bound.listeners[1].address);
        bound.workers.pop().unwrap()
    }

    #[test]
    fn options_of_sockets() {
        let sockets = bound_at("127.0.0.1:0");
        let udp = &sockets.udp[0].socket;
        assert_eq!(sockopt::ip_mtu_discover(udp).unwrap(), sockopt::Ipv4PathMtuDiscovery::OMIT);
        assert!(sockopt::socket_reuseport(udp).unwrap());
        assert!(sockopt::tcp_nodelay(&sockets.tcp[0].socket).unwrap());
        assert!(!sockets.udp[0].wildcard);

        let sockets = bound_at("[::]:0");
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
        let activated = vec![Activated { name: "dns".into(), socket }];
        let given = Given { activated, ..Given::default() };
        let Err(error) = bind_all(&Listen::default(), &[None], given) else { panic!("it was taken") };
        let error = error.to_string();
        assert!(error.contains("\"dns\"") && error.contains("Accept=no"), "{error}");
    }
}
