//! System calls that a process beside the server gives up: what Landlock does not keep from one that was taken over, or not on older kernels.
//!
//! Landlock knows TCP from 6.7 on, signals from 6.12 on, and neither UDP nor sockets with a path, such as the control socket. Here is refused what makes a
//! socket or gives one a peer, a program or a process, and what reaches for other processes of the same user. All that is not listed is let
//! through: memory, time, waiting, and the reading, writing, accepting and closing of what is open. [`Left`] says what a process keeps beside that.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod listed;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod program;

use std::io;

/// Sockets that a process may make and connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sockets {
    /// None.
    None,
    /// Of TCP: to where, others say (Landlock).
    Tcp,
    /// With a path.
    Unix,
}

/// What comes of a call that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It fails with EPERM: libraries that ask for more than they need go on without.
    Fails,
    /// It ends the process by SIGSYS: nothing of it is needed, and who calls it is not what was started.
    Ends,
}

/// What a process keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Sockets of its own.
    pub sockets: Sockets,
    /// Whether files are opened and taken away by their path.
    pub files: bool,
    /// What comes of all else.
    pub refusal: Refusal,
}

/// Refuses all else to this thread, and to no other: to be called while there is no other, and after the last thing that needs it. Says whether the kernel sees to that.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub fn refuse(left: Left) -> io::Result<bool> {
    let program = program::program(left).map_err(io::Error::other)?;
    match seccompiler::apply_filter(&program) {
        Ok(()) => Ok(true),
        // A kernel without it (ENOSYS, EINVAL), or whoever started the server keeps it from its programs (EPERM).
        Err(seccompiler::Error::Seccomp(_)) => Ok(false),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// The numbers of system calls are a processor's own, and these are not written down.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn refuse(_: Left) -> io::Result<bool> {
    Ok(false)
}
