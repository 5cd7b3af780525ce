//! Where a thread runs, and how many sockets its process may have.

use std::io;

use rustix::{
    process::{Resource, Rlimit, getrlimit, setrlimit},
    thread::{CpuSet, sched_setaffinity},
};

/// Keeps the calling thread on one core.
pub fn pin(core: usize) -> io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}

/// Raises the number of descriptors this process may have to what the system allows it; returns that number.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum;
    setrlimit(Resource::Nofile, Rlimit { current: most, ..limit })?;
    Ok(most.unwrap_or(u64::MAX))
}
