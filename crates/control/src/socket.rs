//! The control socket: who may connect, how much may be said, how long it may take.

mod place;
mod seats;

use std::io::{self, BufWriter, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::net::sockopt;
use rustix::process::Uid;

use place::bind_at;
pub(crate) use place::{SocketFile, group};
use seats::{Output, Seat, Seats};

use crate::answer::answer;
use crate::command::{Reply, Request};
use crate::controller::Controller;
use crate::serve::Event;
use crate::settings::Settings;
use crate::text::cannot;
use crate::upgrade::{self, give};

/// Longest request. Two names and a path fit many times; more is no request of ours.
const REQUEST_OCTETS_MAX: u64 = 16 << 10;

/// Time for a client to send its whole request, and to take each piece of the reply. A client does both at once.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(5);

/// Clients served at a time; each holds a thread. Operators and a monitor or two are fewer.
const CLIENTS_MAX: usize = 16;

/// Where the control socket is unless the settings say: `None` where this user has no place for it.
pub fn default_path() -> Option<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Some("/run/zonda/control.sock".into());
    }
    let folder = std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty())?;
    Some(Path::new(&folder).join("zonda/control.sock"))
}

/// The path of the control socket by these settings.
pub fn path(settings: &Settings) -> Option<PathBuf> {
    match settings.control.socket.as_os_str().is_empty() {
        true => default_path(),
        false => Some(settings.path(&settings.control.socket)),
    }
}

/// A socket that listens; its file is removed at the end.
pub(crate) struct ControlSocket {
    pub(crate) listener: UnixListener,
    pub(crate) file: Option<SocketFile>,
}

/// Opens the control socket, or takes that of the service manager. A place that was only a default may fail:
/// the server then runs without.
pub(crate) fn bind(
    settings: &Settings,
    inherited: Option<UnixListener>,
) -> Result<Option<ControlSocket>, Vec<String>> {
    if let Some(listener) = inherited {
        return Ok(Some(ControlSocket { listener, file: None }));
    }
    let is_default = settings.control.socket.as_os_str().is_empty();
    let Some(path) = path(settings) else {
        tracing::info!("no control socket: neither [control] socket nor XDG_RUNTIME_DIR is set");
        return Ok(None);
    };
    match bind_at(&path, &settings.server.user, &settings.control.group) {
        Ok(socket) => Ok(Some(socket)),
        Err(problem) if is_default => {
            tracing::warn!(error = problem, "{problem}; the server runs without (see [control] socket)");
            Ok(None)
        }
        Err(problem) => Err(vec![problem]),
    }
}

/// A file, with device and inode.
type FileIdentity = (PathBuf, u64, u64);

/// The control socket while it is served: by a thread that can be told to rest.
pub(crate) struct Listening {
    listener: UnixListener,
    file: Mutex<Option<SocketFile>>,
    state: Mutex<Accepting>,
    changed: Condvar,
    /// Ready when the state is to be looked at.
    event: OwnedFd,
}

/// What the thread that accepts does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accepting {
    On,
    /// It is asked to rest.
    Asked,
    /// It rests.
    Off,
}

impl Listening {
    /// Accepts nobody until [`Listening::resume`]; who connects waits. Returns once that is so.
    pub(crate) fn pause(&self) {
        let mut state = locked(&self.state);
        *state = Accepting::Asked;
        // Fails only when the counter is full, and then it is ready anyway.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
        while *state == Accepting::Asked {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Accepts again.
    pub(crate) fn resume(&self) {
        *locked(&self.state) = Accepting::On;
        self.changed.notify_all();
    }

    /// The socket, for the server that is to take over, and its file with device and inode.
    pub(crate) fn hand(&self) -> io::Result<(OwnedFd, Option<FileIdentity>)> {
        let file = locked(&self.file);
        let file = file.as_ref().map(|file| (file.path.clone(), file.identity.0, file.identity.1));
        Ok((self.listener.try_clone()?.into(), file))
    }

    /// Leaves the file to the server that has taken over.
    pub(crate) fn leave_file(&self) {
        std::mem::forget(locked(&self.file).take());
    }

    /// Waits for a client. `None`: there may be one the next time.
    fn accept(&self) -> Option<UnixStream> {
        let mut ready = [PollFd::new(&self.listener, PollFlags::IN), PollFd::new(&self.event, PollFlags::IN)];
        let _ = poll(&mut ready, None);
        if ready[1].revents().contains(PollFlags::IN) {
            self.rest();
        }
        match self.listener.accept() {
            Ok((stream, _)) => Some(stream),
            // The other server has taken it, or there was none.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(_) => {
                // Out of descriptors or memory: they come back, and turning in circles would not help.
                std::thread::sleep(Duration::from_millis(100));
                None
            }
        }
    }

    /// Rests for as long as it is asked to.
    fn rest(&self) {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        let mut state = locked(&self.state);
        if *state == Accepting::Asked {
            *state = Accepting::Off;
            self.changed.notify_all();
        }
        while *state == Accepting::Off {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves clients on threads of their own until the program ends.
pub(crate) fn serve(
    socket: ControlSocket,
    controller: &Arc<Controller>,
    events: mpsc::SyncSender<Event>,
) -> io::Result<SocketGuard> {
    let ControlSocket { listener, file } = socket;
    // One that is handed over has two who accept for a moment: who comes too late must not wait.
    listener.set_nonblocking(true)?;
    let listening = Arc::new(Listening {
        listener,
        file: Mutex::new(file),
        state: Mutex::new(Accepting::On),
        changed: Condvar::new(),
        event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
    });
    let _ = controller.control.set(Arc::clone(&listening));
    let guard = SocketGuard(Arc::clone(&listening));
    let controller = Arc::clone(controller);
    let accept = move || {
        let seats = Arc::new(Seats::default());
        loop {
            let Some(stream) = listening.accept().map(Arc::new) else { continue };
            let Some(seat) = Seat::take(&seats, &stream) else {
                refuse(&stream);
                continue;
            };
            let (controller, events) = (Arc::clone(&controller), events.clone());
            let serve = move || {
                // A client that went away is its own affair.
                let _ = converse(&stream, &seat, &controller, &events);
                drop(seat);
                // The client has its reply and does not wait for this.
                controller.tidy();
            };
            // Without a thread there is no client, and its seat is free again with what was not run.
            let _ = std::thread::Builder::new().name("control-client".into()).spawn(serve);
        }
    };
    std::thread::Builder::new().name("control".into()).spawn(accept)?;
    Ok(guard)
}

/// Removes the socket's file when dropped.
pub(crate) struct SocketGuard(Arc<Listening>);

impl Drop for SocketGuard {
    fn drop(&mut self) {
        drop(locked(&self.0.file).take());
    }
}

fn refuse(mut stream: &UnixStream) {
    let message = format!("{CLIENTS_MAX} clients are served already; try again");
    let _ = stream.set_write_timeout(Some(CLIENT_TIMEOUT));
    let _ = write_line(&mut stream, &Reply::Error { message });
    let _ = write_line(&mut stream, &Reply::End { ok: false });
}

fn converse(
    stream: &UnixStream,
    seat: &Seat,
    controller: &Arc<Controller>,
    events: &mpsc::SyncSender<Event>,
) -> io::Result<()> {
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let is_owner = sockopt::socket_peercred(stream).is_ok_and(|peer| is_owner(peer.uid));
    let request = read_request(stream, Instant::now() + CLIENT_TIMEOUT);
    seat.has_asked();
    let mut output = BufWriter::new(Output::new(stream, seat));
    let (ok, event) = respond(request, is_owner, controller, &mut |reply| write_line(&mut output, &reply))?;
    let written = write_line(&mut output, &Reply::End { ok }).and_then(|()| output.flush());
    if let Some(event) = event {
        // A full queue holds a reason to stop already, or will be read in a moment.
        let _ = events.send(event);
    }
    written
}

/// Whether this is root or who the server is: who may do anything as it.
fn is_owner(uid: Uid) -> bool {
    uid.is_root() || uid == rustix::process::geteuid()
}

/// Does what is asked for; says whether all went well, and what follows from it for the server once the client has its reply.
fn respond(
    request: Result<Request, String>,
    is_owner: bool,
    controller: &Arc<Controller>,
    reply: &mut dyn FnMut(Reply) -> io::Result<()>,
) -> io::Result<(bool, Option<Event>)> {
    let request = match request {
        Ok(request) => request,
        Err(message) => return reply(Reply::Error { message }).map(|()| (false, None)),
    };
    match request {
        Request::Stop => Ok((true, Some(Event::Stop("zonda ctl stop")))),
        Request::Upgrade { program, wait_seconds } => {
            let wait = wait_seconds.map_or(upgrade::WAIT, Duration::from_secs);
            let asked = give::Asked { program: program.map(PathBuf::from), wait, is_owner };
            match give::upgrade(controller, &asked) {
                Ok((upgraded, process)) => {
                    // Handed over whether or not the client hears of it.
                    let _ = reply(Reply::Upgraded(upgraded));
                    Ok((true, Some(Event::HandedOver(process))))
                }
                Err(lines) => {
                    lines.into_iter().try_for_each(|message| reply(Reply::Error { message }))?;
                    Ok((false, None))
                }
            }
        }
        request => {
            let is_change = request.is_change();
            let handed_over = match is_change {
                true => controller.upgrade.await_end(),
                false => None,
            };
            let mut ok = false;
            if handed_over.is_none() {
                ok = answer(&request, controller, reply)?;
            }
            // What was changed here while another server took over is not changed there.
            match controller.upgrade.handed_to().filter(|_| is_change) {
                Some(pid) => {
                    let message =
                        format!("process {pid} has taken over as the server meanwhile; ask it again");
                    reply(Reply::Error { message }).map(|()| (false, None))
                }
                None => Ok((ok, None)),
            }
        }
    }
}

/// Reads one line, which has to be there at a time.
fn read_request(mut stream: &UnixStream, until: Instant) -> Result<Request, String> {
    let describe = |error: io::Error| cannot("read the request", &error);
    let mut line = Vec::new();
    let mut piece = [0; 1024];
    while !line.contains(&b'\n') {
        let left = until.saturating_duration_since(Instant::now());
        // A limit of nothing would be none.
        let left = Some(left).filter(|left| !left.is_zero()).ok_or(io::ErrorKind::TimedOut);
        stream.set_read_timeout(Some(left.map_err(|kind| describe(kind.into()))?)).map_err(describe)?;
        let octets = stream.read(&mut piece).map_err(describe)?;
        line.extend_from_slice(&piece[..octets]);
        if octets == 0 {
            break;
        }
        if line.len() as u64 > REQUEST_OCTETS_MAX {
            return Err(format!("the request is longer than {REQUEST_OCTETS_MAX} octets"));
        }
    }
    let line = line.split(|octet| *octet == b'\n').next().unwrap_or(&[]);
    serde_json::from_slice(line).map_err(|error| format!("the request is not understood: {error}"))
}

fn write_line(output: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    output.write_all(&line)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// One that sends an octet now and then is not listened to for longer than one that sends none.
    #[test]
    fn a_request_has_one_time_limit() {
        let (mut client, server) = UnixStream::pair().unwrap();
        let trickle = std::thread::spawn(move || {
            let until = Instant::now() + Duration::from_secs(10);
            while Instant::now() < until && client.write_all(b" ").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let started = Instant::now();
        let read = read_request(&server, started + Duration::from_millis(100));
        assert!(read.is_err_and(|line| line.contains("cannot read the request")));
        assert!(started.elapsed() < Duration::from_secs(5));
        drop(server);
        trickle.join().unwrap();
    }
}
