//! Where a thread runs, and how many sockets its process may have.
#![allow(unsafe_code)] // system calls without a safe form in the standard library

use std::{
    io,
    mem::{self, MaybeUninit},
};

use super::check;

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
