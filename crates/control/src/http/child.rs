//! One HTTP process: started, given what it needs, listened to, ended.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use web::pair::{self, Request, Terms};

use super::{END_PAUSE, Listening};

/// The program that runs, whatever a package has put in its place.
const PROGRAM: &str = "/proc/self/exe";

/// How long the process may take to read what it is given.
const GIVE_WAIT: Duration = Duration::from_secs(5);

/// As much of what it says last is read: it is the reason why it could not start, or a panic's.
const SAID_OCTETS_MAX: usize = 512;

/// The process, ended when dropped.
pub(super) struct Child {
    process: Process,
    pair: UnixStream,
}

impl Child {
    /// Starts one, without anything of this server's environment. Returns it with the end of its pipe.
    pub(super) fn start(listening: &[Listening], terms: &Terms) -> io::Result<(Child, File)> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_write_timeout(Some(GIVE_WAIT))?;
        let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // Nobody waits for a process that does not listen.
        rustix::io::ioctl_fionbio(&writer, true)?;
        let process = Command::new(PROGRAM)
            .arg0("zonda")
            .arg("http")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            // Not the server's own, which may be its log.
            .stderr(Stdio::piped())
            .spawn()?;
        let child = Child { process, pair: ours };
        let sockets: Vec<OwnedFd> =
            listening.iter().map(|one| one.socket.try_clone()).collect::<io::Result<_>>()?;
        pair::introduce(&child.pair, terms, &reader, &sockets)?;
        Ok((child, File::from(writer)))
    }

    /// Its number.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
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

    /// The process, for who is to end it.
    pub(super) fn handle(&self) -> Option<OwnedFd> {
        let pid = Pid::from_child(&self.process);
        rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
    }

    /// What it said last on its standard error, after it has ended: one line, of what can be shown.
    pub(super) fn said(&mut self) -> String {
        let Some(mut pipe) = self.process.stderr.take() else { return String::new() };
        let mut octets = [0; SAID_OCTETS_MAX];
        // Somebody else may have the other end, if the process was taken over.
        let read = rustix::io::ioctl_fionbio(&pipe, true).ok().and_then(|()| pipe.read(&mut octets).ok());
        let said = String::from_utf8_lossy(&octets[..read.unwrap_or(0)]);
        said.trim().escape_debug().to_string()
    }

    /// Gives it the numbers.
    pub(super) fn give(&self, text: &str) -> io::Result<()> {
        pair::give(&self.pair, text)
    }

    /// Ends it, if it does not end by itself in `wait`; says how.
    pub(super) fn end(&mut self, wait: Duration) -> io::Result<ExitStatus> {
        let until = Instant::now() + wait;
        loop {
            if let Some(status) = self.process.try_wait()? {
                return Ok(status);
            }
            if until <= Instant::now() {
                break;
            }
            std::thread::sleep(END_PAUSE);
        }
        self.process.kill()?;
        self.process.wait()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.end(Duration::ZERO);
    }
}
