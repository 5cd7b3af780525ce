//! Why a server cannot listen, with what the operator can do about it.

use std::net::SocketAddr;
use std::{error, fmt, io};

use crate::context::Transport;

/// Why the sockets could not be opened. Its text is one line: address, cause, hint.
#[derive(Debug)]
pub enum BindError {
    /// Neither an address nor an inherited socket was given.
    NoAddress,
    /// The same address is listed twice.
    Duplicate {
        /// The address.
        address: SocketAddr,
    },
    /// A worker is to run on a processor that this process may not use.
    Processor {
        /// Its number.
        cpu: usize,
    },
    /// More workers than could ever be of use: surely a mistake.
    Workers {
        /// How many were asked for.
        asked: usize,
        /// How many may be.
        most: usize,
    },
    /// A system call on a socket failed.
    Socket {
        /// Where it should listen.
        address: SocketAddr,
        /// What for.
        transport: Transport,
        /// What was being done.
        step: Step,
        /// The system's reason.
        cause: io::Error,
    },
    /// A socket handed over by a service manager cannot be used.
    Inherited {
        /// The name the service manager gave it.
        name: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// A socket handed over by the server before is not what it was said to be.
    Handed {
        /// Where it should listen.
        address: SocketAddr,
        /// What for.
        transport: Transport,
        /// What is wrong with it.
        cause: io::Error,
    },
    /// The workers' own descriptors (epoll, eventfd) could not be made.
    Event {
        /// The system's reason.
        cause: io::Error,
    },
}

/// What was being done with a socket when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Creating it.
    Open,
    /// Setting an option.
    Option,
    /// Binding it to its address.
    Bind,
    /// Starting to listen for connections.
    Listen,
}

impl fmt::Display for BindError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress => write!(out, "there is no address to listen on"),
            Self::Duplicate { address } => write!(out, "{address} is listed twice"),
            Self::Processor { cpu } => {
                write!(out, "processor {cpu} is not one that this process may use (see `taskset -p`)")
            }
            Self::Workers { asked, most } => {
                write!(out, "{asked} workers were asked for, {most} are the most")
            }
            Self::Socket { address, transport, step, cause } => {
                write!(out, "cannot {} {address} for {}: {}", step.verb(), transport.name(), plain(cause))?;
                match hint(*address, cause) {
                    Some(hint) => write!(out, " ({hint})"),
                    None => Ok(()),
                }
            }
            Self::Inherited { name, cause } => {
                write!(out, "cannot use the socket \"{name}\" of the service manager: {}", plain(cause))
            }
            Self::Handed { address, transport, cause } => {
                let (transport, cause) = (transport.name(), plain(cause));
                write!(out, "cannot use the socket for {address} ({transport}) that was handed over: {cause}")
            }
            Self::Event { cause } => write!(out, "cannot set up a worker: {}", plain(cause)),
        }
    }
}

impl BindError {
    /// The address that cannot be listened on, if it is one.
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Duplicate { address } | Self::Socket { address, .. } | Self::Handed { address, .. } => {
                Some(*address)
            }
            _ => None,
        }
    }
}

impl error::Error for BindError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            Self::Socket { cause, .. }
            | Self::Inherited { cause, .. }
            | Self::Handed { cause, .. }
            | Self::Event { cause } => Some(cause),
            Self::NoAddress | Self::Duplicate { .. } | Self::Processor { .. } | Self::Workers { .. } => None,
        }
    }
}

impl Step {
    fn verb(self) -> &'static str {
        match self {
            Self::Open => "open a socket for",
            Self::Option => "set up a socket for",
            Self::Bind => "bind",
            Self::Listen => "listen on",
        }
    }
}

/// What the operator can do about `cause`.
fn hint(address: SocketAddr, cause: &io::Error) -> Option<String> {
    let port = address.port();
    match cause.kind() {
        io::ErrorKind::PermissionDenied if port < 1024 => Some(format!(
            "port {port} needs CAP_NET_BIND_SERVICE, or root, or a socket from the service manager"
        )),
        io::ErrorKind::AddrInUse => {
            Some(format!("another program listens there; `ss -lunpt 'sport = :{port}'` names it"))
        }
        io::ErrorKind::AddrNotAvailable => {
            Some("no interface of this machine has the address; `free-bind` allows it to come later".into())
        }
        _ => match cause.raw_os_error() {
            Some(libc::EAFNOSUPPORT) => Some("the system has no such address family".into()),
            Some(libc::EMFILE | libc::ENFILE) => Some("raise the limit of open files".into()),
            _ => None,
        },
    }
}

/// The system's text without the number that the standard library appends.
fn plain(cause: &io::Error) -> String {
    let text = cause.to_string();
    match text.rsplit_once(" (os error ") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(address: &str, step: Step, errno: i32) -> String {
        let cause = io::Error::from_raw_os_error(errno);
        BindError::Socket { address: address.parse().unwrap(), transport: Transport::Udp, step, cause }
            .to_string()
    }

    #[test]
    fn errors_name_address_cause_and_remedy() {
        assert_eq!(
            text("192.0.2.1:53", Step::Bind, libc::EACCES),
            "cannot bind 192.0.2.1:53 for UDP: permission denied (port 53 needs CAP_NET_BIND_SERVICE, or root, or a \
             socket from the service manager)"
        );
        assert_eq!(
            text("[::1]:5300", Step::Bind, libc::EADDRINUSE),
            "cannot bind [::1]:5300 for UDP: address already in use (another program listens there; `ss -lunpt 'sport \
             = :5300'` names it)"
        );
        assert!(text("192.0.2.1:53", Step::Bind, libc::EADDRNOTAVAIL).contains("free-bind"));
        assert_eq!(
            text("[::1]:53", Step::Open, libc::EAFNOSUPPORT),
            "cannot open a socket for [::1]:53 for UDP: address family not supported by protocol (the system has no \
             such address family)"
        );
    }
}
