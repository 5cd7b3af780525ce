//! Waiting for sockets: `epoll` and `select`.
#![allow(unsafe_code)] // system calls without a safe form in the standard library

use std::{
    io, mem,
    net::UdpSocket,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use super::check;

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
