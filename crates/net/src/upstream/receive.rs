//! Several datagrams of one socket by one `recvmmsg`, with what the system says of fragments.
#![allow(unsafe_code)] // One batch system call over memory of its caller; listed in ARCHITECTURE.md.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::context::Address;
use crate::udp::address::{self, NAME_OCTETS, Name};

/// Datagrams of one call. Most sockets have one; a call that brings fewer than it had room for need not be repeated to learn that
/// there are no more.
pub(super) const RECEIVE_MAX: usize = 8;

/// Room for one control message of a number: 16 octets of header and 4, in steps of 8.
const CONTROL_OCTETS: usize = 24;

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_OCTETS]);

/// What is known of a datagram that lies in its room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) sender: Address,
    /// How many lie there.
    pub(super) octets: usize,
    /// Whether it had more than there was room for.
    pub(super) is_cut: bool,
    /// Whether it came in fragments.
    pub(super) is_reassembled: bool,
}

/// Takes up to [`RECEIVE_MAX`] datagrams that wait at `socket`, which reports fragments and nothing else: number i to the `room` octets of `rooms` that begin
/// at `i * room`, as many as there are whole rooms. Calls `each` in the order of their coming, with `None` for one without an address. Returns how many; never waits.
pub(super) fn receive(
    socket: BorrowedFd<'_>,
    rooms: &mut [u8],
    room: usize,
    mut each: impl FnMut(Option<Received>),
) -> io::Result<usize> {
    let mut names = [Name([0; NAME_OCTETS]); RECEIVE_MAX];
    let mut controls = [Control([0; CONTROL_OCTETS]); RECEIVE_MAX];
    // SAFETY: all-zero octets are valid values of these plain C structures (null pointers, no lengths).
    let (mut headers, mut vectors): ([libc::mmsghdr; RECEIVE_MAX], [libc::iovec; RECEIVE_MAX]) =
        unsafe { (zeroed(), zeroed()) };
    let mut count = 0;
    for (index, octets) in rooms.chunks_exact_mut(room).take(RECEIVE_MAX).enumerate() {
        vectors[index] = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: room };
        let header = &mut headers[index].msg_hdr;
        header.msg_name = (&raw mut names[index]).cast();
        header.msg_namelen = NAME_OCTETS as libc::socklen_t;
        header.msg_iov = &raw mut vectors[index];
        header.msg_iovlen = 1;
        header.msg_control = (&raw mut controls[index]).cast();
        header.msg_controllen = CONTROL_OCTETS as _;
        count = index + 1;
    }
    // SAFETY: the descriptor is borrowed and open. Each of the first `count` headers points to a name, a vector and a control area of this frame and a room
    // of `rooms`, which is borrowed mutably; all live through the call and none is looked at before its end.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_recvmmsg,
            socket.as_raw_fd(),
            headers.as_mut_ptr(),
            count as libc::c_uint,
            libc::MSG_DONTWAIT,
            std::ptr::null_mut::<libc::timespec>(),
        )
    };
    if outcome < 0 {
        return Err(io::Error::last_os_error());
    }
    let taken = (outcome as usize).min(count);
    for (header, name) in headers[..taken].iter().zip(&names) {
        let message = &header.msg_hdr;
        let sender = address::decode(&name.0, (message.msg_namelen as usize).min(NAME_OCTETS));
        each(sender.map(|sender| Received {
            sender,
            octets: (header.msg_len as usize).min(room),
            is_cut: message.msg_flags & libc::MSG_TRUNC != 0,
            // Nothing else is reported by a control message.
            is_reassembled: message.msg_controllen > 0,
        }));
    }
    Ok(taken)
}
