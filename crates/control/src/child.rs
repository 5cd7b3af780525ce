//! A process of this program that does for the server what is to be apart from it: started with one end of a pair, ended with the server.

use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child as Process, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Pid;

/// The program that runs, whatever a package has put in its place.
const PROGRAM: &str = "/proc/self/exe";

/// As much of what it says last is read: it is the reason why it could not start, or a panic's.
const SAID_OCTETS_MAX: usize = 512;

/// How often it is looked whether it has ended, at the end.
pub(crate) const END_PAUSE: Duration = Duration::from_millis(2);

/// How long one that was killed may take to be gone: it cannot go while a disk keeps it waiting, and nobody waits for that.
const KILLED_WAIT: Duration = Duration::from_secs(2);

/// The process, ended when dropped.
pub(crate) struct Child {
    process: Process,
}

impl Child {
    /// Starts the program with this command and this environment, without anything of the server's; its standard input is the other end of the pair that is returned.
    pub(crate) fn start(command: &str, environment: &[(&str, PathBuf)]) -> io::Result<(Child, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let process = Command::new(PROGRAM)
            .arg0("zonda")
            .arg(command)
            .env_clear()
            .envs(environment.iter().map(|(name, path)| (name, path)))
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            // Not the server's own, which may be its log.
            .stderr(Stdio::piped())
            .spawn()?;
        Ok((Child { process }, ours))
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The process, for who is to end it.
    pub(crate) fn handle(&self) -> Option<OwnedFd> {
        let pid = Pid::from_child(&self.process);
        rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
    }

    /// What it said last on its standard error, after it has ended: one line, of what can be shown.
    fn said(&mut self) -> String {
        let Some(mut pipe) = self.process.stderr.take() else { return String::new() };
        let mut octets = [0; SAID_OCTETS_MAX];
        // Somebody else may have the other end, if the process was taken over.
        let read = rustix::io::ioctl_fionbio(&pipe, true).ok().and_then(|()| pipe.read(&mut octets).ok());
        let said = String::from_utf8_lossy(&octets[..read.unwrap_or(0)]);
        said.trim().escape_debug().to_string()
    }

    /// Ends it, if it does not end by itself in `wait`; says how.
    fn end(&mut self, wait: Duration) -> io::Result<ExitStatus> {
        if let Some(status) = self.await_end(wait)? {
            return Ok(status);
        }
        self.process.kill()?;
        self.await_end(KILLED_WAIT)?.ok_or(io::ErrorKind::TimedOut.into())
    }

    fn await_end(&mut self, wait: Duration) -> io::Result<Option<ExitStatus>> {
        let until = Instant::now() + wait;
        loop {
            let status = self.process.try_wait()?;
            if status.is_some() || until <= Instant::now() {
                return Ok(status);
            }
            std::thread::sleep(END_PAUSE);
        }
    }

    /// How it has ended, where it says nothing any more; `wait`: how long it may take to end.
    pub(crate) fn how_it_ended(&mut self, error: &io::Error, wait: Duration) -> String {
        match self.end(wait) {
            Ok(status) => match self.said() {
                said if said.is_empty() => format!("has ended ({status}; {error})"),
                said => format!("has ended ({status}; it said last: {said})"),
            },
            Err(error) => format!("cannot be ended: {error}"),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.end(Duration::ZERO);
    }
}
