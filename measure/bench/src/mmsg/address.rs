//! Addresses as system calls have them.
#![allow(unsafe_code)] // socket names are read and written through pointers of their kinds

use std::{
    mem,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6},
};

/// An address and how many octets of it count.
pub(super) fn to_sockaddr(address: SocketAddr) -> (libc::sockaddr_storage, u32) {
    // SAFETY: a plain C structure of integers, valid when all octets are zero.
    let mut storage: libc::sockaddr_storage = unsafe { mem::zeroed() };
    let octets = match address {
        SocketAddr::V4(v4) => {
            let name = (&raw mut storage).cast::<libc::sockaddr_in>();
            // SAFETY: sockaddr_storage is at least as large and as strictly aligned as any sockaddr (POSIX).
            unsafe {
                (*name).sin_family = libc::AF_INET as u16;
                (*name).sin_port = v4.port().to_be();
                (*name).sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
            }
            mem::size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let name = (&raw mut storage).cast::<libc::sockaddr_in6>();
            // SAFETY: as above.
            unsafe {
                (*name).sin6_family = libc::AF_INET6 as u16;
                (*name).sin6_port = v6.port().to_be();
                (*name).sin6_addr.s6_addr = v6.ip().octets();
                (*name).sin6_scope_id = v6.scope_id();
            }
            mem::size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, octets as u32)
}

/// The IP address and port in a socket name, where it is one.
pub(crate) fn from_sockaddr(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: sockaddr_storage is at least as large and as strictly aligned as any sockaddr (POSIX), and
            // any octets are a valid sockaddr_in.
            let name = unsafe { &*(&raw const *storage).cast::<libc::sockaddr_in>() };
            let address = Ipv4Addr::from(name.sin_addr.s_addr.to_ne_bytes());
            Some(SocketAddrV4::new(address, u16::from_be(name.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above, of sockaddr_in6.
            let name = unsafe { &*(&raw const *storage).cast::<libc::sockaddr_in6>() };
            let address = Ipv6Addr::from(name.sin6_addr.s6_addr);
            let (port, flow) = (u16::from_be(name.sin6_port), name.sin6_flowinfo);
            Some(SocketAddrV6::new(address, port, flow, name.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// The unspecified address of the family of `peer`, for a client's socket.
pub fn any_like(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => SocketAddrV6::new(Ipv6Addr::UNSPECIFIED, 0, 0, 0).into(),
    }
}
