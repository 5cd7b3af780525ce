//! Datagrams of one system call, and trains of datagrams.
//!
//! A [`Batch`] is a row of slots, each with room for one datagram, or one train, and its sender:
//!
//! ```text
//! headers[i] -> names[i]     sockaddr_storage, only where the socket is not connected
//!            -> vectors[i] -> octets[i * stride ..][.. slot_octets]
//!            -> controls[i]  when it came, how it is cut; only where the batch was made for that
//! ```
//!
//! The pointers are written afresh before each call from the owned boxes, so none outlives a borrow.
//!
//! A *train* is a row of datagrams to or from one address, all of the same length but the last, which may be shorter.
//! Sender and receiver handle it as one; the kernel cuts it into packets as late as it can (`UDP_SEGMENT`), and puts
//! packets together as early as it can (`UDP_GRO`): udp(7). On a wire, they are packets as any others.
#![allow(unsafe_code)] // system calls without a safe form in the standard library

use std::{io, mem, net::SocketAddr, os::fd::AsRawFd, time::Duration};

use super::{
    address::{from_sockaddr, to_sockaddr},
    control::Control,
};

/// Datagrams a call moves at most. 64 spreads the cost of a call to under a twentieth of a packet's; more only
/// costs cache.
pub const BATCH_MAX: usize = 1024;

/// Most datagrams of a train (`UDP_MAX_SEGMENTS` of kernels before 6.5).
pub const TRAIN_MAX: usize = 64;

/// Most octets of a train: what fits a datagram over IPv4.
pub const TRAIN_OCTETS_MAX: usize = 65_507;

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
    /// Octets of each datagram of a train; 0 where a slot is one datagram.
    segments: Box<[u16]>,
    /// Empty where nobody asks for times or trains.
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
            segments: vec![0; count].into(),
            controls: Box::default(),
            headers: vec![header; count].into(),
        }
    }

    /// The same for sockets that tell when a datagram came ([`super::stamp`]) or take trains ([`super::take_trains`]),
    /// and for sending trains.
    pub fn with_controls(count: usize, slot_octets: usize) -> Batch {
        let mut batch = Batch::new(count, slot_octets);
        batch.controls = vec![Control::EMPTY; batch.count()].into();
        batch
    }

    /// When the system got the datagram in a slot, from the beginning of 1970; `None` where it did not say.
    pub fn time(&self, slot: usize) -> Option<Duration> {
        self.controls.get(slot)?.time(self.headers[slot].msg_hdr.msg_controllen)
    }

    /// The datagrams of the train in a slot, most often one; the last is cut where they did not fit.
    pub fn datagrams(&self, slot: usize) -> impl Iterator<Item = &[u8]> {
        let all = self.datagram(slot);
        let segment_octets = match self.segments[slot] {
            0 => all.len().max(1),
            octets => octets.into(),
        };
        // A datagram without octets is one, too.
        let empty = all.is_empty().then_some(all);
        all.chunks(segment_octets).chain(empty)
    }

    /// Sets of how many octets each datagram of the train in a slot is; 0 makes it one datagram. In a batch with
    /// controls only.
    pub fn set_segment(&mut self, slot: usize, octets: u16) {
        assert!(octets == 0 || !self.controls.is_empty(), "a batch with controls");
        self.segments[slot] = octets;
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
            header.msg_hdr.msg_control = (&raw mut *control).cast();
            header.msg_hdr.msg_controllen = Control::OCTETS;
        }
        let flags = libc::MSG_TRUNC | if wait { libc::MSG_WAITFORONE } else { libc::MSG_DONTWAIT };
        let (fd, headers) = (socket.as_raw_fd(), self.headers.as_mut_ptr());
        // SAFETY: `point` and the loop made each of the `count` headers refer to this batch's own boxes with their true sizes;
        // they are borrowed mutably by `self` during the call and the kernel keeps no pointer after it.
        let received = unsafe { libc::recvmmsg(fd, headers, count as u32, flags, std::ptr::null_mut()) };
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        for slot in 0..received {
            self.lengths[slot] = self.headers[slot].msg_len as usize;
            let header = &self.headers[slot].msg_hdr;
            self.name_octets[slot] = header.msg_namelen;
            let control = self.controls.get(slot);
            self.segments[slot] =
                control.and_then(|control| control.segment_octets(header.msg_controllen)).unwrap_or(0);
        }
        Ok(received)
    }

    /// Sends slots `from..to` to whom they came from, or on a connected socket to its peer. Never waits.
    /// Returns how many went out, a train whole or not at all; an error only where the first could not.
    pub fn send(&mut self, socket: &impl AsRawFd, from: usize, to: usize) -> io::Result<usize> {
        assert!(from <= to && to <= self.count(), "slots of this batch");
        if from == to {
            return Ok(0);
        }
        self.point(from, to);
        for slot in (from..to).filter(|&slot| self.segments[slot] > 0) {
            // There are controls where a segment is set (`set_segment`, and `receive` reads them from there).
            let control = &mut self.controls[slot];
            *control = Control::cut(self.segments[slot]);
            let header = &mut self.headers[slot].msg_hdr;
            header.msg_control = (&raw mut *control).cast();
            header.msg_controllen = Control::CUT_OCTETS;
        }
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
