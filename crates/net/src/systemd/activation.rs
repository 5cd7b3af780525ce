//! Sockets handed over by a service manager (`sd_listen_fds(3)`).
//!
//! The manager passes descriptors 3, 4, … and three variables: `LISTEN_FDS` counts them, `LISTEN_PID` names the
//! process they are meant for, `LISTEN_FDNAMES` gives each a name (`FileDescriptorName=` of the socket unit),
//! separated by colons.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixListener;
use std::{env, error, fmt, io};

use listenfd::ListenFd;

/// One socket from the service manager.
#[derive(Debug)]
pub struct Activated {
    /// The name its unit gives it; the unit's own name where it gives none; `unknown` without names at all.
    pub name: String,
    /// The socket by kind.
    pub socket: ActivatedSocket,
}

/// The kinds of sockets that this program can use.
#[derive(Debug)]
pub enum ActivatedSocket {
    /// `ListenDatagram=` with an Internet address.
    Udp(UdpSocket),
    /// `ListenStream=` with an Internet address.
    Tcp(TcpListener),
    /// `ListenStream=` with a path: for the control socket.
    Unix(UnixListener),
}

/// A descriptor from the service manager that is none of the kinds known.
#[derive(Debug)]
pub struct ActivationError {
    /// Its number.
    pub descriptor: usize,
    /// The name its unit gives it.
    pub name: String,
    /// Why it was refused.
    pub cause: io::Error,
}

impl fmt::Display for ActivationError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { descriptor, name, cause } = self;
        write!(
            out,
            "descriptor {descriptor} (\"{name}\") of the service manager is neither a UDP socket nor a listening TCP or \
             Unix socket: {cause}"
        )
    }
}

impl error::Error for ActivationError {}

/// The first descriptor that a service manager passes (`SD_LISTEN_FDS_START`).
const FIRST_DESCRIPTOR: usize = 3;

/// More sockets than any unit file lists; a larger count is a mistake in somebody's script.
const SOCKETS_MAX: usize = 512;

/// The name systemd itself uses where there is none.
const NAME_UNKNOWN: &str = "unknown";

/// Takes the sockets that a service manager left for this process; none if there is no such manager.
///
/// To be called once and early: it clears the variables, so that a child process does not take the sockets again,
/// and environment variables must not be read meanwhile by other threads.
pub fn activated_sockets() -> Result<Vec<Activated>, ActivationError> {
    // Before `from_env`, which clears them.
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    if env::var("LISTEN_FDS")
        .is_ok_and(|count| count.parse().is_ok_and(|count: u64| count > SOCKETS_MAX as u64))
    {
        let cause = io::Error::new(io::ErrorKind::InvalidInput, "LISTEN_FDS counts more than 512 sockets");
        return Err(ActivationError {
            descriptor: FIRST_DESCRIPTOR + SOCKETS_MAX,
            name: String::new(),
            cause,
        });
    }
    let mut descriptors = ListenFd::from_env();
    let mut names = names.split(':');
    let mut sockets = Vec::with_capacity(descriptors.len());
    for index in 0..descriptors.len() {
        let name = names.next().filter(|name| !name.is_empty()).unwrap_or(NAME_UNKNOWN).to_owned();
        match take(&mut descriptors, index) {
            Ok(Some(socket)) => sockets.push(Activated { name, socket }),
            Ok(None) => {}
            Err(cause) => {
                return Err(ActivationError { descriptor: FIRST_DESCRIPTOR + index, name, cause });
            }
        }
    }
    Ok(sockets)
}

/// Takes descriptor `index` as the kind of socket that it is; a kind it is not leaves it in place.
fn take(descriptors: &mut ListenFd, index: usize) -> io::Result<Option<ActivatedSocket>> {
    if let Ok(socket) = descriptors.take_tcp_listener(index) {
        return Ok(socket.map(ActivatedSocket::Tcp));
    }
    if let Ok(socket) = descriptors.take_unix_listener(index) {
        return Ok(socket.map(ActivatedSocket::Unix));
    }
    Ok(descriptors.take_udp_socket(index)?.map(ActivatedSocket::Udp))
}
