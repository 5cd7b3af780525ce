//! UDP sockets and batches of datagrams: the system calls that both ends of a measurement make.
//!
//! | part | |
//! |---|---|
//! | [`Batch`] | datagrams of one `recvmmsg` or `sendmmsg`, and trains of datagrams |
//! | `control` | control messages: when a datagram came, how a train is cut |
//! | `socket`, `address` | sockets, their options and names |
//! | `wait` | `epoll` and `select` |
//! | `thread` | where a thread runs, how many sockets its process may have |
//!
//! The safe twin is `std::net::UdpSocket`; the tests hold the two against each other.

mod address;
mod batch;
mod control;
mod socket;
mod thread;
mod wait;

use std::io;

pub use address::any_like;
pub(crate) use address::from_sockaddr;
pub use batch::{BATCH_MAX, Batch, TRAIN_MAX, TRAIN_OCTETS_MAX};
pub use socket::{SocketOptions, bind, stamp, take_trains};
pub use thread::{pin, raise_descriptor_limit};
pub use wait::{Epoll, select};

/// The error of a system call that returned -1.
fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
