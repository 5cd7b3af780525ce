//! Queries whose sources are made up, as a flood by reflection has them, and a client beside it that shows by a cookie who it is.
//!
//! | part | |
//! |---|---|
//! | [`Flood`] | sends queries over IPv4 at a rate, from addresses in as many networks as asked for |
//! | [`Client`] | gets a cookie (RFC 7873), asks with it and counts what it is answered |
//! | `packet` | the heads of IP and UDP |
//!
//! What a flood asks goes out by a raw socket (raw(7), `IPPROTO_RAW`), prepared before: a call sends many packets, and for each the kernel
//! looks up its way and hands it over. The safe twin of the packets is `std::net::UdpSocket`: a test holds what arrives against what was to.
//!
//! A flood refuses to begin but in a network namespace that a thread of this process has entered: answers to made-up addresses
//! must not leave the machine.

mod client;
mod packet;
mod sender;

use std::{fs, io};

pub use client::{Asked, Client};
pub use packet::Sources;
pub use sender::{Flood, Sent, Settings};

/// Refuses unless this thread has entered a network namespace that is not that of its process, nor that of the machine.
fn in_own_namespace() -> io::Result<()> {
    let of = |who: &str| fs::read_link(format!("/proc/{who}/ns/net"));
    let own = of("thread-self")?;
    // Who may not look at the first process cannot send such packets either.
    if own == of("self")? || of("1").is_ok_and(|machine| machine == own) {
        let rule = "made-up sources are for a network namespace that was made for them alone";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, rule));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
