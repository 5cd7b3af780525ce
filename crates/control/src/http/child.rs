//! One HTTP process: started, given what it needs, listened to.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use web::pair::{self, Request, Terms};

use super::Listening;
use crate::child;

/// How long the process may take to read what it is given.
const GIVE_WAIT: Duration = Duration::from_secs(5);

/// The process, ended when dropped.
pub(super) struct Child {
    process: child::Child,
    pair: UnixStream,
}

/// A process that listens for the server, and was given what it needs.
pub(crate) struct Started {
    pub(crate) process: child::Child,
    pub(crate) pair: UnixStream,
    /// The end of its pipe that beats are written to.
    pub(crate) pipe: File,
}

/// Starts the program with this command, and gives it listeners and terms.
pub(crate) fn start(command: &str, listening: &[Listening], terms: &Terms) -> io::Result<Started> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    // Nobody waits for a process that does not listen.
    rustix::io::ioctl_fionbio(&writer, true)?;
    let (process, pair) = child::Child::start(command, &[])?;
    let started = Started { process, pair, pipe: File::from(writer) };
    started.pair.set_write_timeout(Some(GIVE_WAIT))?;
    let sockets: Vec<OwnedFd> =
        listening.iter().map(|one| one.socket.try_clone()).collect::<io::Result<_>>()?;
    pair::introduce(&started.pair, terms, &reader, &sockets)?;
    Ok(started)
}

impl Child {
    /// Starts one. Returns it with the end of its pipe.
    pub(super) fn start(listening: &[Listening], terms: &Terms) -> io::Result<(Child, File)> {
        let Started { process, pair, pipe } = start("http", listening, terms)?;
        Ok((Child { process, pair }, pipe))
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The process, for who is to end it.
    pub(super) fn handle(&self) -> Option<OwnedFd> {
        self.process.handle()
    }

    /// Waits for what it says, `wait` at the longest. `TimedOut`: nothing; other errors: it has ended, or is to be.
    pub(super) fn hear(&mut self, wait: Duration) -> io::Result<Request> {
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        let mut waits = [PollFd::new(&self.pair, PollFlags::IN)];
        match poll(&mut waits, Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        let mut octet = [0];
        self.pair.read_exact(&mut octet)?;
        Request::of(octet[0]).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Gives it the numbers.
    pub(super) fn give(&self, text: &str) -> io::Result<()> {
        pair::give(&self.pair, text)
    }

    /// How it has ended, where it says nothing any more.
    pub(super) fn how_it_ended(&mut self, error: &io::Error, wait: Duration) -> String {
        self.process.how_it_ended(error, wait)
    }
}
