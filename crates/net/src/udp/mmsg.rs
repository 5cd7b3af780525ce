//! Batches by `recvmmsg` and `sendmmsg`.
//!
//! The message headers, their I/O vectors, the space for addresses and for control messages are allocated once.
//! Headers for receiving are preset: they always point to the same buffers, and after a call only the three fields
//! that the kernel overwrote are restored, in the headers it used. Headers for sending are filled per response and
//! point to the address (and control message) that came with the query.
//!
//! The calls go to the kernel as they are: around the C library's own a thread could be cancelled, which no thread of ours is,
//! and which costs two atomic operations a call.
#![allow(unsafe_code)] // Two batch system calls and what they read and write; listed in ARCHITECTURE.md.

use std::io;
use std::mem::{size_of, zeroed};
use std::net::IpAddr;
use std::os::fd::AsRawFd;

use super::address::{self, INFO_V4_OCTETS, INFO_V6_OCTETS, NAME_OCTETS, Name};
use super::arena::Arena;
use super::{BATCH, Datagram, Port, STRIDE, Slots, UDP_QUERY_OCTETS_MAX, send};
use crate::context::Address;
use crate::counters::Counters;
use crate::queries::{DROPPED, octets_of};

/// Room for control messages per datagram. The one we ask for, `in6_pktinfo`, takes 40 octets with its header; an
/// inherited socket may have others switched on, and what does not fit is cut by the kernel.
const CONTROL_OCTETS: usize = 128;

/// Control messages of one datagram, aligned as `struct cmsghdr` demands.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_OCTETS]);

/// The preset headers of one worker.
///
/// Invariant "preset": `headers[i]` points to `iovecs[i]`, `names[i]` and `controls[i]`, and `iovecs[i]` to receive
/// buffer `i` of the [`Slots`] this was made for, [`UDP_QUERY_OCTETS_MAX`] long. Both live in the same `Receiver`.
/// `replies[i]` points to `reply_iovecs[i]`.
pub(super) struct Mmsg {
    headers: Arena<libc::mmsghdr>,
    _iovecs: Arena<libc::iovec>,
    names: Arena<Name>,
    controls: Arena<Control>,
    /// Headers for sending; names, control messages and buffers of the first entries are written before each call.
    replies: Arena<libc::mmsghdr>,
    reply_iovecs: Arena<libc::iovec>,
    /// Addresses and control messages of datagrams to others than the senders of the batch.
    late_names: Arena<Name>,
    late_controls: Arena<Control>,
    /// Headers at the front of `headers` that the kernel has written to since they were last restored.
    used: usize,
}

// SAFETY: the pointers in the headers lead only into arenas owned by this value and by the `Slots` that move with it.
unsafe impl Send for Mmsg {}

impl Mmsg {
    pub(super) fn new(slots: &Slots) -> Self {
        // SAFETY: all-zero octets are valid values of these plain C structures (null pointers, no lengths).
        let (header, iovec): (libc::mmsghdr, libc::iovec) = unsafe { (zeroed(), zeroed()) };
        let names = Arena::new(vec![Name([0; NAME_OCTETS]); BATCH]);
        let controls = Arena::new(vec![Control([0; CONTROL_OCTETS]); BATCH]);
        let mut iovecs = Arena::new(vec![iovec; BATCH]);
        for (index, iovec) in iovecs.as_mut_slice().iter_mut().enumerate() {
            iovec.iov_base = slots.queries.pointer(index * STRIDE).cast();
            iovec.iov_len = UDP_QUERY_OCTETS_MAX;
        }
        let mut headers = Arena::new(vec![header; BATCH]);
        for (index, header) in headers.as_mut_slice().iter_mut().enumerate() {
            header.msg_hdr.msg_name = names.pointer(index).cast();
            header.msg_hdr.msg_iov = iovecs.pointer(index);
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = controls.pointer(index).cast();
        }
        let reply_iovecs = Arena::new(vec![iovec; BATCH]);
        let mut replies = Arena::new(vec![header; BATCH]);
        for (index, reply) in replies.as_mut_slice().iter_mut().enumerate() {
            reply.msg_hdr.msg_iov = reply_iovecs.pointer(index);
            reply.msg_hdr.msg_iovlen = 1;
        }
        let late_names = Arena::new(vec![Name([0; NAME_OCTETS]); BATCH]);
        let late_controls = Arena::new(vec![Control([0; CONTROL_OCTETS]); BATCH]);
        Self {
            headers,
            _iovecs: iovecs,
            names,
            controls,
            replies,
            reply_iovecs,
            late_names,
            late_controls,
            used: BATCH,
        }
    }

    /// Takes up to `BATCH` datagrams and admits them to `slots`; returns how many were taken.
    pub(super) fn receive(
        &mut self,
        port: &Port,
        slots: &mut Slots,
        counters: &Counters,
    ) -> io::Result<usize> {
        self.restore();
        let descriptor = port.socket.as_raw_fd();
        // SAFETY: by "preset" the kernel writes only into arenas that live through the call, of which no slice is
        // in use here; the descriptor is open because `port` is borrowed.
        let outcome = unsafe {
            libc::syscall(
                libc::SYS_recvmmsg,
                descriptor,
                self.headers.pointer(0),
                BATCH as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut::<libc::timespec>(),
            )
        };
        if outcome < 0 {
            return Err(io::Error::last_os_error());
        }
        let datagrams = (outcome as usize).min(BATCH);
        self.used = datagrams;
        for index in 0..datagrams {
            self.admit(index, port, slots, counters);
        }
        Ok(datagrams)
    }

    /// Sends the responses in `slots`, whose queries came by the last `receive`.
    pub(super) fn send(&mut self, port: &Port, slots: &mut Slots, counters: &Counters) -> send::Outcome {
        let count = self.prepare(port, slots);
        let outcomes = &slots.outcomes[..slots.queries_held];
        // Most are answered, and then nobody counts the others.
        if count < outcomes.len() {
            let unanswered = outcomes.iter().filter(|&&outcome| outcome == DROPPED).count();
            counters.udp_unanswered.add(unanswered as u64);
        }
        self.drain(port, count)
    }

    /// Sends `datagrams`, a batch at most.
    pub(super) fn send_to<'a>(
        &mut self,
        port: &Port,
        datagrams: impl Iterator<Item = Datagram<'a>>,
    ) -> send::Outcome {
        let mut count = 0;
        for (index, datagram) in datagrams.take(BATCH).enumerate() {
            let name_octets = address::encode(datagram.peer, &mut self.late_names.as_mut_slice()[index].0);
            let control_octets = if port.wildcard {
                let is_ipv6 = port.local.ip().is_ipv6();
                let (level, kind, info, octets) = address::encode_info(datagram.local, is_ipv6);
                write_control(self.late_controls.pointer(index), (level, kind), &info[..octets])
            } else {
                0
            };
            let iovec = &mut self.reply_iovecs.as_mut_slice()[index];
            // The kernel only reads what a header for sending points to.
            iovec.iov_base = datagram.octets.as_ptr().cast_mut().cast();
            iovec.iov_len = datagram.octets.len();
            let header = &mut self.replies.as_mut_slice()[index].msg_hdr;
            header.msg_name = self.late_names.pointer(index).cast();
            header.msg_namelen = name_octets as libc::socklen_t;
            header.msg_control = if control_octets > 0 {
                self.late_controls.pointer(index).cast()
            } else {
                std::ptr::null_mut()
            };
            header.msg_controllen = control_octets as _;
            count = index + 1;
        }
        self.drain(port, count)
    }

    /// Sends the datagrams of the first `count` headers for sending, which lead to memory that lives through the call.
    fn drain(&mut self, port: &Port, count: usize) -> send::Outcome {
        let descriptor = port.socket.as_raw_fd();
        let replies = &self.replies;
        send::drain(count, |from| {
            // SAFETY: the caller wrote headers 0 to `count`; their pointers lead into arenas, or to octets that the
            // caller borrows, which live through the call and are not written meanwhile. `from < count <= BATCH`.
            let sent = unsafe {
                libc::syscall(
                    libc::SYS_sendmmsg,
                    descriptor,
                    replies.pointer(from),
                    (count - from) as libc::c_uint,
                    libc::MSG_DONTWAIT,
                )
            };
            if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
        })
    }

    /// Restores in the headers of the last call what the kernel overwrote.
    fn restore(&mut self) {
        for header in &mut self.headers.as_mut_slice()[..self.used] {
            header.msg_hdr.msg_namelen = NAME_OCTETS as libc::socklen_t;
            header.msg_hdr.msg_controllen = CONTROL_OCTETS as _;
            header.msg_hdr.msg_flags = 0;
        }
        self.used = 0;
    }

    /// Hands datagram `index` of the last call to `slots`, unless its address is missing.
    fn admit(&mut self, index: usize, port: &Port, slots: &mut Slots, counters: &Counters) {
        let header = &self.headers.as_slice()[index];
        let (flags, name_octets) = (header.msg_hdr.msg_flags, header.msg_hdr.msg_namelen as usize);
        let octets = if flags & libc::MSG_TRUNC == 0 { header.msg_len as usize } else { usize::MAX };
        let client = address::decode(&self.names.as_slice()[index].0, name_octets);
        let local = if port.wildcard { self.local(index, port.local) } else { Some(port.local) };
        match (client, local) {
            (Some(client), Some(local)) => slots.admit(index, octets, client, local, counters),
            _ => counters.udp_no_address.add(1),
        }
    }

    /// The local address in the control messages of datagram `index`, which are replaced by the one that makes its
    /// response leave from there. `None` if the kernel sent none.
    fn local(&mut self, index: usize, bound: Address) -> Option<Address> {
        let header = &raw const self.headers.as_slice()[index].msg_hdr;
        // SAFETY: `header` is a message header that the kernel filled; by "preset" its control area is
        // `controls[index]`, and the kernel set the length of what it wrote there. The CMSG functions walk that range.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(header);
            while !message.is_null() {
                let kind = ((*message).cmsg_level, (*message).cmsg_type);
                let data_octets = ((*message).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
                let data = libc::CMSG_DATA(message);
                if kind == (libc::IPPROTO_IP, libc::IP_PKTINFO) && data_octets >= INFO_V4_OCTETS {
                    let (source, reply) =
                        address::decode_info_v4(&data.cast::<[u8; INFO_V4_OCTETS]>().read());
                    self.write_control(index, kind, &reply);
                    return match source {
                        IpAddr::V4(source) => Some(Address::v4(source.octets(), bound.port())),
                        IpAddr::V6(_) => None,
                    };
                }
                if kind == (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) && data_octets >= INFO_V6_OCTETS {
                    let (source, scope, reply) =
                        address::decode_info_v6(&data.cast::<[u8; INFO_V6_OCTETS]>().read());
                    self.write_control(index, kind, &reply);
                    return Some(Address::v6(source.octets(), bound.port(), scope));
                }
                message = libc::CMSG_NXTHDR(header, message);
            }
        }
        None
    }

    /// Makes `info` the only control message of datagram `index`.
    fn write_control(&mut self, index: usize, kind: (i32, i32), info: &[u8]) {
        let space = write_control(self.controls.pointer(index), kind, info);
        self.headers.as_mut_slice()[index].msg_hdr.msg_controllen = space as _;
    }

    /// Writes a header for each response that is to be sent; returns how many.
    fn prepare(&mut self, port: &Port, slots: &Slots) -> usize {
        let headers = self.headers.as_slice();
        let (replies, iovecs) = (self.replies.as_mut_slice(), self.reply_iovecs.as_mut_slice());
        let responses = slots.responses.pointer(0);
        let mut count = 0;
        for index in 0..slots.queries_held.min(BATCH) {
            let octets = octets_of(slots.outcomes[index]);
            if octets == 0 {
                continue;
            }
            let received = &headers[usize::from(slots.origins[index])].msg_hdr;
            let (reply, iovec) = (&mut replies[count], &mut iovecs[count]);
            iovec.iov_base = responses.wrapping_add(index * STRIDE).cast();
            iovec.iov_len = octets;
            reply.msg_hdr.msg_name = received.msg_name;
            reply.msg_hdr.msg_namelen = received.msg_namelen;
            if port.wildcard {
                reply.msg_hdr.msg_control = received.msg_control;
                reply.msg_hdr.msg_controllen = received.msg_controllen;
            } else {
                reply.msg_hdr.msg_control = std::ptr::null_mut();
                reply.msg_hdr.msg_controllen = 0;
            }
            count += 1;
        }
        count
    }
}

/// Sends one datagram, which is no answer to a batch: from any thread.
pub(super) fn send_one(port: &Port, datagram: Datagram<'_>) -> send::Outcome {
    let (mut name, mut control) = (Name([0; NAME_OCTETS]), Control([0; CONTROL_OCTETS]));
    let name_octets = address::encode(datagram.peer, &mut name.0);
    let mut iovec = libc::iovec {
        // The kernel only reads what a header for sending points to.
        iov_base: datagram.octets.as_ptr().cast_mut().cast(),
        iov_len: datagram.octets.len(),
    };
    // SAFETY: all-zero octets are a valid header: null pointers, no lengths.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_name = (&raw mut name).cast();
    header.msg_namelen = name_octets as libc::socklen_t;
    header.msg_iov = &raw mut iovec;
    header.msg_iovlen = 1;
    if port.wildcard {
        let (level, kind, info, octets) = address::encode_info(datagram.local, port.local.ip().is_ipv6());
        let control = &raw mut control;
        header.msg_controllen = write_control(control, (level, kind), &info[..octets]) as _;
        header.msg_control = control.cast();
    }
    let descriptor = port.socket.as_raw_fd();
    send::drain(1, |_| {
        // SAFETY: the header points to name, vector and control message above and to the octets that are borrowed, all of
        // which live through the call and are not written meanwhile; the descriptor is open because `port` is borrowed.
        let sent = unsafe { libc::sendmsg(descriptor, &raw const header, libc::MSG_DONTWAIT) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(1) }
    })
}

/// Makes `info` the only control message in an area, in which nothing else is in use; returns how many octets it takes.
fn write_control(control: *mut Control, (level, kind): (i32, i32), info: &[u8]) -> usize {
    // SAFETY: all-zero octets are a valid `cmsghdr`.
    let mut message: libc::cmsghdr = unsafe { zeroed() };
    // SAFETY: these two only compute lengths.
    let (octets, space) = unsafe { (libc::CMSG_LEN(info.len() as u32), libc::CMSG_SPACE(info.len() as u32)) };
    message.cmsg_len = octets as _;
    message.cmsg_level = level;
    message.cmsg_type = kind;
    assert!(space as usize <= CONTROL_OCTETS, "a control message is longer than its area");
    // SAFETY: the area is aligned for `cmsghdr` (its type says so) and, by the assertion, long enough for header
    // and data; no reference to it is in use.
    unsafe {
        control.cast::<libc::cmsghdr>().write(message);
        let data = control.cast::<u8>().add(size_of::<libc::cmsghdr>());
        std::ptr::copy_nonoverlapping(info.as_ptr(), data, info.len());
    }
    space as usize
}
