//! UDP sockets and batches of datagrams: `recvmmsg`, `sendmmsg` and the options both ends of a measurement set.
//!
//! A [`Batch`] is a row of slots, each with room for one datagram and its sender:
//!
//! ```text
//! headers[i] -> names[i]     sockaddr_storage, only where the socket is not connected
//!            -> vectors[i] -> octets[i * stride ..][.. slot_octets]
//! ```
//!
//! The pointers are written afresh before each call from the owned boxes, so none outlives a borrow.
//! The safe twin is `std::net::UdpSocket`; the test holds the two against each other.
#![allow(unsafe_code)] // system calls without a safe form in the standard library: batches and socket options

use std::{
    io,
    mem::{self, MaybeUninit},
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    time::Duration,
};

/// Datagrams a call moves at most. 64 spreads the cost of a call to under a twentieth of a packet's; more only
/// costs cache.
pub const BATCH_MAX: usize = 1024;

/// Room for a control message with a timespec, 32 octets, aligned as its header wants (asserted).
type Control = [u64; 4];
const _: () =
    assert!(mem::size_of::<libc::cmsghdr>() + mem::size_of::<libc::timespec>() <= mem::size_of::<Control>());
const _: () = assert!(mem::align_of::<libc::cmsghdr>() <= mem::align_of::<Control>());

/// Slots for datagrams of up to `slot_octets`; belongs to one thread.
pub struct Batch {
    slot_octets: usize,
    /// Distance between slots: a cache line more than the slot, so that equal offsets in slots of a power of two
    /// do not all fall into one set of the cache.
    stride: usize,
    octets: Box<[u8]>,
    /// Length of each datagram as received (may exceed the slot) or to be sent (may not).
    lengths: Box<[usize]>,
    names: Box<[libc::sockaddr_storage]>,
    name_octets: Box<[u32]>,
    vectors: Box<[libc::iovec]>,
    /// Room for the control message that tells when a datagram came; empty where nobody asks.
    controls: Box<[Control]>,
    headers: Box<[libc::mmsghdr]>,
}

// SAFETY: every pointer in `vectors` and `headers` is written afresh from the boxes of this same value, by `point`,
// before the one call that uses it (head of this file); what is in them in between is never followed, so the thread
// that wrote them is of no account. All else is owned octets and integers.
unsafe impl Send for Batch {}

impl Batch {
    /// `count` slots, 1 to [`BATCH_MAX`], of `slot_octets` each.
    pub fn new(count: usize, slot_octets: usize) -> Batch {
        let count = count.clamp(1, BATCH_MAX);
        let stride = slot_octets.next_multiple_of(64) + 64;
        // SAFETY: all three are plain C structures of integers and pointers, valid when all octets are zero.
        let (name, vector, header) = unsafe { (mem::zeroed(), mem::zeroed(), mem::zeroed()) };
        Batch {
            slot_octets,
            stride,
            octets: vec![0; count * stride].into(),
            lengths: vec![0; count].into(),
            names: vec![name; count].into(),
            name_octets: vec![0; count].into(),
            vectors: vec![vector; count].into(),
            controls: Box::default(),
            headers: vec![header; count].into(),
        }
    }

    /// The same, for receiving with the time at which each datagram came: see [`stamp`].
    pub fn with_times(count: usize, slot_octets: usize) -> Batch {
        let mut batch = Batch::new(count, slot_octets);
        batch.controls = vec![[0; 4]; batch.count()].into();
        batch
    }

    /// When the system got the datagram in a slot, from the beginning of 1970; `None` where it did not say.
    pub fn time(&self, slot: usize) -> Option<Duration> {
        let header = &self.headers[slot].msg_hdr;
        if self.controls.is_empty() || header.msg_controllen < mem::size_of::<libc::cmsghdr>() {
            return None;
        }
        // SAFETY: `receive` let the kernel write the control messages of this slot into `controls[slot]`, aligned as
        // a cmsghdr wants and no longer than it; nothing wrote to them since. A first header lies whole inside what
        // was written (checked above), and its data is read only where its own length covers a timespec.
        unsafe {
            let control = self.controls[slot].as_ptr().cast::<libc::cmsghdr>();
            let whole = libc::CMSG_LEN(mem::size_of::<libc::timespec>() as u32) as usize;
            let is_time =
                (*control).cmsg_level == libc::SOL_SOCKET && (*control).cmsg_type == libc::SCM_TIMESTAMPNS;
            if !is_time || (*control).cmsg_len < whole || header.msg_controllen < whole {
                return None;
            }
            let time = libc::CMSG_DATA(control).cast::<libc::timespec>().read_unaligned();
            Some(Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32))
        }
    }

    /// How many slots there are.
    pub fn count(&self) -> usize {
        self.lengths.len()
    }

    /// The datagram in a slot, cut to the slot's size.
    pub fn datagram(&self, slot: usize) -> &[u8] {
        let start = slot * self.stride;
        &self.octets[start..start + self.lengths[slot].min(self.slot_octets)]
    }

    /// The whole room of a slot.
    pub fn slot_mut(&mut self, slot: usize) -> &mut [u8] {
        let start = slot * self.stride;
        &mut self.octets[start..start + self.slot_octets]
    }

    /// Length of the datagram in a slot as it was on the wire, also where it did not fit.
    pub fn length(&self, slot: usize) -> usize {
        self.lengths[slot]
    }

    /// Sets how much of a slot is sent, at most its size.
    pub fn set_length(&mut self, slot: usize, octets: usize) {
        self.lengths[slot] = octets.min(self.slot_octets);
    }

    /// Who the datagram in a slot came from; None where names were not asked for, or of another kind than IP.
    pub fn peer(&self, slot: usize) -> Option<SocketAddr> {
        if self.name_octets[slot] == 0 { None } else { from_sockaddr(&self.names[slot]) }
    }

    /// Sets where the datagram in a slot is sent.
    pub fn set_peer(&mut self, slot: usize, peer: SocketAddr) {
        (self.names[slot], self.name_octets[slot]) = to_sockaddr(peer);
    }

    /// Receives up to a batch, with the sender of each where `with_names`. Waits for the first where `wait`,
    /// never for more. Returns how many came.
    pub fn receive(&mut self, socket: &impl AsRawFd, with_names: bool, wait: bool) -> io::Result<usize> {
        self.receive_up_to(socket, with_names, wait, self.count())
    }

    /// The same for `most` datagrams, at least one: where few are there, fewer slots are made ready for the call.
    pub fn receive_up_to(
        &mut self,
        socket: &impl AsRawFd,
        with_names: bool,
        wait: bool,
        most: usize,
    ) -> io::Result<usize> {
        let count = most.clamp(1, self.count());
        let name_octets = if with_names { mem::size_of::<libc::sockaddr_storage>() as u32 } else { 0 };
        self.name_octets[..count].fill(name_octets);
        self.lengths[..count].fill(self.slot_octets);
        self.point(0, count);
        for (header, control) in self.headers[..count].iter_mut().zip(&mut self.controls) {
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = mem::size_of::<Control>();
        }
        let flags = libc::MSG_TRUNC | if wait { libc::MSG_WAITFORONE } else { libc::MSG_DONTWAIT };
        let (fd, headers) = (socket.as_raw_fd(), self.headers.as_mut_ptr());
        // SAFETY: `point` and the loop made each of the `count` headers refer to this batch's own boxes with their true sizes;
        // they are borrowed mutably by `self` during the call and the kernel keeps no pointer after it.
        let received = unsafe { libc::recvmmsg(fd, headers, count as u32, flags, std::ptr::null_mut()) };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        for slot in 0..received {
            self.lengths[slot] = self.headers[slot].msg_len as usize;
            self.name_octets[slot] = self.headers[slot].msg_hdr.msg_namelen;
        }
        Ok(received)
    }

    /// Sends slots `from..to` to whom they came from, or on a connected socket to its peer. Never waits.
    /// Returns how many went out; an error only where the first could not.
    pub fn send(&mut self, socket: &impl AsRawFd, from: usize, to: usize) -> io::Result<usize> {
        assert!(from <= to && to <= self.count(), "slots of this batch");
        if from == to {
            return Ok(0);
        }
        self.point(from, to);
        let (fd, count) = (socket.as_raw_fd(), (to - from) as u32);
        let headers = self.headers[from..to].as_mut_ptr();
        // SAFETY: as in `receive`: `count` headers of this batch, pointing into it, none kept by the kernel;
        // lengths are at most the slot's size (`set_length`, and `receive` cuts nothing longer than `datagram`
        // shows: `point` takes the smaller of length and slot).
        let sent = unsafe { libc::sendmmsg(fd, headers, count, libc::MSG_DONTWAIT) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Writes the pointers and sizes of slots `from..to` for a call.
    fn point(&mut self, from: usize, to: usize) {
        let octets = self.octets.as_mut_ptr();
        let names = self.names.as_mut_ptr();
        let vectors = self.vectors.as_mut_ptr();
        for slot in from..to {
            let length = self.lengths[slot].min(self.slot_octets);
            let name_octets = self.name_octets[slot];
            // SAFETY: `slot` is below the count (callers), so each offset is inside its box; `vectors[slot]`
            // is written through the pointer the header will carry, while nothing else refers to it.
            unsafe {
                let vector = vectors.add(slot);
                *vector = libc::iovec { iov_base: octets.add(slot * self.stride).cast(), iov_len: length };
                let header = &mut self.headers[slot].msg_hdr;
                header.msg_name =
                    if name_octets == 0 { std::ptr::null_mut() } else { names.add(slot).cast() };
                header.msg_namelen = name_octets;
                header.msg_iov = vector;
                header.msg_iovlen = 1;
                header.msg_flags = 0;
                (header.msg_control, header.msg_controllen) = (std::ptr::null_mut(), 0);
            }
        }
    }
}

/// Most datagrams one call of [`send_train`] makes (`UDP_MAX_SEGMENTS` of kernels before 6.5).
pub const TRAIN_MAX: usize = 64;

/// Sends `octets` on a connected socket as datagrams of `segment_octets` each, cut by the kernel as late as it can
/// (`UDP_SEGMENT`): the packets are the same, but sender and link handle them as one. Never waits; all or nothing.
pub fn send_train(socket: &impl AsRawFd, octets: &[u8], segment_octets: u16) -> io::Result<()> {
    // Three words hold a control message header and two octets, aligned as the header wants.
    let mut control = [0u64; 3];
    let mut vector = libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    // SAFETY: msghdr is a plain structure of integers and pointers. `control` has room for CMSG_SPACE(2) octets
    // (asserted), so the first header and its two octets of data lie inside it. The kernel reads `octets`, the
    // vector and the control message during the call only and writes to none of them.
    let sent = unsafe {
        let space = libc::CMSG_SPACE(mem::size_of::<u16>() as u32) as usize;
        assert!(space <= mem::size_of_val(&control));
        let mut header: libc::msghdr = mem::zeroed();
        header.msg_iov = &raw mut vector;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = space;
        let message = libc::CMSG_FIRSTHDR(&header);
        (*message).cmsg_level = libc::SOL_UDP;
        (*message).cmsg_type = libc::UDP_SEGMENT;
        (*message).cmsg_len = libc::CMSG_LEN(mem::size_of::<u16>() as u32) as usize;
        libc::CMSG_DATA(message).cast::<u16>().write_unaligned(segment_octets);
        libc::sendmsg(socket.as_raw_fd(), &header, libc::MSG_DONTWAIT)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What a socket is made with.
#[derive(Clone, Copy, Debug, Default)]
pub struct SocketOptions {
    /// `SO_REUSEPORT`, as servers with a socket for each worker set it.
    pub reuse_port: bool,
    /// `SO_RCVBUF`; 0 leaves the system's default. Beyond the system's limit where rights allow.
    pub receive_octets: usize,
    /// `SO_SNDBUF`, likewise.
    pub send_octets: usize,
}

/// Has the system tell when it got each datagram that a socket receives (`SO_TIMESTAMPNS`): see [`Batch::time`].
pub fn stamp(socket: &impl AsRawFd) -> io::Result<()> {
    set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Makes a UDP socket bound to `address`.
pub fn bind(address: SocketAddr, options: SocketOptions) -> io::Result<UdpSocket> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: takes three integers; the result is checked and, being new, owned by nobody else.
    let socket = unsafe {
        let fd = libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd)
    };
    let fd = socket.as_raw_fd();
    if options.reuse_port {
        set_option(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
    }
    if address.is_ipv6() {
        set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
    }
    buffer(fd, options.receive_octets, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF)?;
    buffer(fd, options.send_octets, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)?;
    let (name, octets) = to_sockaddr(address);
    // SAFETY: `name` is an initialised sockaddr_storage, at least `octets` long, and outlives the call.
    check(unsafe { libc::bind(fd, (&raw const name).cast(), octets) })?;
    Ok(UdpSocket::from(socket))
}

/// Sets a buffer size with the option that needs rights, else with the ordinary one; 0 sets nothing.
fn buffer(fd: RawFd, octets: usize, forced: i32, ordinary: i32) -> io::Result<()> {
    if octets == 0 {
        return Ok(());
    }
    let octets = i32::try_from(octets).unwrap_or(i32::MAX);
    set_option(fd, libc::SOL_SOCKET, forced, octets)
        .or_else(|_| set_option(fd, libc::SOL_SOCKET, ordinary, octets))
}

fn set_option(fd: RawFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let octets = mem::size_of::<i32>() as u32;
    // SAFETY: `value` is an initialised i32 that outlives the call, and `octets` is its size.
    check(unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), octets) })
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn to_sockaddr(address: SocketAddr) -> (libc::sockaddr_storage, u32) {
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

/// Waits for any of many sockets.
pub struct Epoll {
    fd: OwnedFd,
    events: Box<[libc::epoll_event]>,
}

impl Epoll {
    /// An empty set that reports up to `events` ready sockets a call.
    pub fn new(events: usize) -> io::Result<Epoll> {
        // SAFETY: takes an integer; the result is checked and new.
        let fd = unsafe {
            let fd = libc::epoll_create1(libc::EPOLL_CLOEXEC);
            check(fd)?;
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Epoll { fd, events: vec![libc::epoll_event { events: 0, u64: 0 }; events.max(1)].into() })
    }

    /// Adds a socket to be reported as `token` while it has something to read.
    pub fn add(&self, socket: &impl AsRawFd, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: token };
        // SAFETY: `event` is initialised and outlives the call.
        check(unsafe {
            libc::epoll_ctl(self.fd.as_raw_fd(), libc::EPOLL_CTL_ADD, socket.as_raw_fd(), &mut event)
        })
    }

    /// Waits up to `timeout_ms` (0: not at all); returns how many are ready. A signal counts as none.
    pub fn wait(&mut self, timeout_ms: i32) -> io::Result<usize> {
        let (events, room) = (self.events.as_mut_ptr(), self.events.len() as i32);
        // SAFETY: `events` has room for that many and is borrowed mutably during the call.
        let ready = unsafe { libc::epoll_wait(self.fd.as_raw_fd(), events, room, timeout_ms) };
        match usize::try_from(ready) {
            Ok(ready) => Ok(ready),
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
                error => Err(error),
            },
        }
    }

    /// The token of ready socket number `index` of the last wait.
    pub fn token(&self, index: usize) -> u64 {
        self.events[index].u64
    }
}

/// Waits with `select` up to `timeout_ms` until a socket can be read; sets for each in `ready` whether it can. A
/// signal counts as none. Refuses sockets whose descriptor has no place in the set (1,024 and above).
pub fn select(sockets: &[&UdpSocket], ready: &mut [bool], timeout_ms: i32) -> io::Result<()> {
    ready.fill(false);
    let fds = || sockets.iter().map(|socket| socket.as_raw_fd());
    if fds().any(|fd| fd >= libc::FD_SETSIZE as i32) {
        return Err(io::Error::other("a descriptor is beyond the 1024 that select can wait for"));
    }
    let highest = fds().max().unwrap_or(-1);
    let mut timeout =
        libc::timeval { tv_sec: (timeout_ms / 1000).into(), tv_usec: (timeout_ms % 1000 * 1000).into() };
    let none = std::ptr::null_mut();
    // SAFETY: fd_set is an array of integers, valid when all octets are zero. Every descriptor is below FD_SETSIZE
    // (checked) and not negative (they are open sockets), so each bit lies inside the set. The kernel reads and
    // writes set and time-out during the call only.
    unsafe {
        let mut set: libc::fd_set = mem::zeroed();
        fds().for_each(|fd| libc::FD_SET(fd, &mut set));
        match check(libc::select(highest + 1, &mut set, none, none, &mut timeout)) {
            Ok(()) => fds().zip(ready).for_each(|(fd, ready)| *ready = libc::FD_ISSET(fd, &set)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Keeps the calling thread on one core.
pub fn pin(core: usize) -> io::Result<()> {
    if core >= libc::CPU_SETSIZE as usize {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: cpu_set_t is a plain array of integers, `core` is below its size, and the call reads the set only.
    check(unsafe {
        let mut set: libc::cpu_set_t = MaybeUninit::zeroed().assume_init();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, mem::size_of::<libc::cpu_set_t>(), &set)
    })
}

/// Raises the number of descriptors this process may have to what the system allows it; returns that number.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    // SAFETY: rlimit is a plain structure of integers that each call fills or reads during the call only.
    unsafe {
        let mut limit: libc::rlimit = mem::zeroed();
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit))?;
        limit.rlim_cur = limit.rlim_max;
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &limit))?;
        Ok(limit.rlim_cur)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Sends through a batch what the standard socket receives, and the other way round.
    fn check(address: &str) {
        let options = SocketOptions { reuse_port: true, receive_octets: 1 << 16, send_octets: 1 << 16 };
        let ours = bind(address.parse().unwrap(), options).unwrap();
        let other = UdpSocket::bind(any_like(ours.local_addr().unwrap())).unwrap();
        other.connect(ours.local_addr().unwrap()).unwrap();
        let datagrams: Vec<Vec<u8>> = (0..10u8).map(|index| vec![index; usize::from(index) * 7]).collect();
        for datagram in &datagrams {
            other.send(datagram).unwrap();
        }
        let mut batch = Batch::new(64, 32);
        let count = batch.receive(&ours, true, true).unwrap();
        assert_eq!(count, datagrams.len());
        for (slot, datagram) in datagrams.iter().enumerate() {
            assert_eq!(batch.length(slot), datagram.len());
            assert_eq!(batch.datagram(slot), &datagram[..datagram.len().min(32)]);
            batch.set_length(slot, slot * 2);
        }
        assert_eq!(batch.send(&ours, 0, count).unwrap(), count);
        let mut room = [0; 100];
        for (slot, datagram) in datagrams.iter().enumerate() {
            let received = other.recv(&mut room).unwrap();
            assert_eq!(received, slot * 2);
            assert!(room[..received].iter().zip(datagram).all(|(one, two)| one == two));
        }
        let nothing = batch.receive(&ours, true, false).unwrap_err();
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn batches_agree_with_single_calls() {
        check("127.0.0.1:0");
        check("[::1]:0");
    }

    #[test]
    fn times_of_datagrams() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let mut batch = Batch::with_times(4, 32);
        assert_eq!(batch.time(0), None, "nothing received");
        client.send(b"unasked").unwrap();
        assert_eq!(batch.receive(&server, false, true).unwrap(), 1);
        assert_eq!(batch.time(0), None);
        stamp(&server).unwrap();
        let before = now();
        for _ in 0..3 {
            client.send(b"x").unwrap();
        }
        let after = now();
        let count = batch.receive(&server, false, true).unwrap();
        assert!((1..=3).contains(&count));
        for slot in 0..count {
            let time = batch.time(slot).unwrap();
            // The clock of the kernel may be read a little coarser, and be set meanwhile by a moment.
            let slack = Duration::from_millis(50);
            assert!(before <= time + slack && time <= after + slack, "{before:?} {time:?} {after:?}");
        }
        let mut plain = Batch::new(4, 32);
        client.send(b"y").unwrap();
        assert_eq!((plain.receive(&server, false, true).unwrap(), plain.time(0)), (1, None));
    }

    #[test]
    fn trains_arrive_as_single_datagrams() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        let octets: Vec<u8> = (0..TRAIN_MAX as u8).flat_map(|index| [index; 30]).collect();
        send_train(&client, &octets, 30).unwrap();
        let mut room = [0; 100];
        for expected in octets.chunks(30) {
            let length = server.recv(&mut room).unwrap();
            assert_eq!(&room[..length], expected);
        }
    }

    #[test]
    fn epoll_reports_what_is_ready() {
        let socket = bind("127.0.0.1:0".parse().unwrap(), SocketOptions::default()).unwrap();
        let mut epoll = Epoll::new(4).unwrap();
        epoll.add(&socket, 42).unwrap();
        assert_eq!(epoll.wait(0).unwrap(), 0);
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        assert_eq!(epoll.wait(1000).unwrap(), 1);
        assert_eq!(epoll.token(0), 42);
    }

    #[test]
    fn select_reports_what_is_ready() {
        let sockets =
            [(); 2].map(|()| bind("127.0.0.1:0".parse().unwrap(), SocketOptions::default()).unwrap());
        let [first, second] = &sockets;
        let mut ready = [true; 2];
        select(&[first, second], &mut ready, 0).unwrap();
        assert_eq!(ready, [false, false]);
        second.send_to(b"x", second.local_addr().unwrap()).unwrap();
        select(&[first, second], &mut ready, 1000).unwrap();
        assert_eq!(ready, [false, true]);
    }

    #[test]
    fn names_and_addresses_agree() {
        for address in ["192.0.2.7:53", "[2001:db8::7]:5353", "[fe80::1%3]:1"] {
            let address: SocketAddr = address.parse().unwrap();
            assert_eq!(from_sockaddr(&to_sockaddr(address).0), Some(address));
            let mut batch = Batch::new(1, 32);
            assert_eq!(batch.peer(0), None);
            batch.set_peer(0, address);
            assert_eq!(batch.peer(0), Some(address));
        }
        let (mut name, _) = to_sockaddr("192.0.2.7:53".parse().unwrap());
        name.ss_family = libc::AF_UNIX as u16;
        assert_eq!(from_sockaddr(&name), None);
    }

    #[test]
    fn impossible_core_and_address() {
        assert!(pin(1 << 20).is_err());
        assert!(bind("192.0.2.1:0".parse().unwrap(), SocketOptions::default()).is_err());
    }
}
