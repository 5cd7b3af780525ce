//! The side of the server that hands over.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use std::{env, io, process};

use net::systemd::Notifier;
use wire::NameBuf;

use super::channel::Channel;
use super::words::{ControlLine, FORMAT, Offer, Ready, Word, lines};
use super::{FROM, STEP_WAIT, WAIT_MAX};
use crate::command::Upgraded;
use crate::controller::{Changing, Controller};
use crate::identity::drawn_secret;
use crate::text::{Span, cannot};
use crate::wanted::Source;

/// Names of zones in one line.
const NAMES_A_LINE: usize = 10;

/// The upgrade of a server: one at a time, and the last is the end.
#[derive(Default)]
pub(crate) struct State {
    under_way: Mutex<()>,
    to: OnceLock<u32>,
    /// [`OPEN`], [`COMMITTING`] or [`ENDING`].
    phase: AtomicU8,
}

/// Neither of the others.
const OPEN: u8 = 0;
/// The new server takes over.
const COMMITTING: u8 = 1;
/// This server ends, and hands over no more.
const ENDING: u8 = 2;

impl State {
    fn step(&self, from: u8, to: u8) -> bool {
        self.phase.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// This server ends: nobody takes over from now on. Returns the process that had just done so.
    pub(crate) fn end(&self) -> Option<u32> {
        if self.step(OPEN, ENDING) { None } else { self.await_end() }
    }

    /// The process that is the server now.
    pub(crate) fn handed_to(&self) -> Option<u32> {
        self.to.get().copied()
    }

    /// Waits for the end of an upgrade, if one is under way; returns the process that is the server then.
    pub(crate) fn await_end(&self) -> Option<u32> {
        drop(self.under_way.lock().unwrap_or_else(PoisonError::into_inner));
        self.handed_to()
    }
}

/// What was asked for.
pub(crate) struct Asked {
    pub(crate) program: Option<PathBuf>,
    /// Until the new server must be ready.
    pub(crate) wait: Duration,
    /// Whether root asks, or who the server is.
    pub(crate) is_owner: bool,
}

/// The new server, ended when dropped: until it has taken over it is nobody's.
pub(crate) struct Process {
    child: Child,
    has_taken_over: bool,
}

impl Process {
    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it has ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<Ended> {
        match self.child.try_wait() {
            Ok(None) => None,
            // It was stopped, or another one has taken over from it.
            Ok(Some(status)) if status.success() => Some(Ended::InOrder),
            _ => Some(Ended::Otherwise),
        }
    }

    /// Ends it, the hard way where it has not ended itself; says how.
    fn end(&mut self, wait: Duration) -> io::Result<ExitStatus> {
        let until = Instant::now() + wait;
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.kill()?;
        self.child.wait()
    }
}

/// How a server that had taken over has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As it was told to.
    InOrder,
    /// By a fault, or somebody has killed it.
    Otherwise,
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.has_taken_over {
            let _ = self.end(Duration::ZERO);
        }
    }
}

/// Has another program take over. `Err`: lines that say why it has not; all is as it was then.
pub(crate) fn upgrade(
    controller: &Arc<Controller>,
    asked: &Asked,
) -> Result<(Upgraded, Process), Vec<String>> {
    let one = |line: &str| vec![line.to_owned()];
    if process::id() == 1 {
        return Err(one(
            "this server is process 1, whose end would be that of the container: start a new container",
        ));
    }
    if asked.program.is_some() && !asked.is_owner {
        return Err(one("another program may be named by root and the server's own user only"));
    }
    if asked.wait > WAIT_MAX {
        return Err(vec![format!("the wait is longer than {} seconds", WAIT_MAX.as_secs())]);
    }
    let _under_way = match controller.upgrade.under_way.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
        Err(TryLockError::WouldBlock) => return Err(one("an upgrade is under way")),
    };
    if let Some(pid) = controller.upgrade.handed_to() {
        return Err(vec![format!("process {pid} has taken over as the server already")]);
    }
    let outcome = {
        // No change and no merge until it is over: the new server would not see it.
        let changing = controller.change();
        // Before what is served stays as it is: who has asked for a change is told of it.
        let _unasked = controller.stores.stop_writing();
        let _serving = (controller.secondaries.rest(), controller.stores.rest());
        let _resting = controller.store_and_rest();
        let _held = controller.dynamic.hold().map_err(one)?;
        attempt(controller, &changing, asked)
    };
    match &outcome {
        Ok((upgraded, _)) => tracing::info!(
            pid = upgraded.pid,
            version = upgraded.version,
            duration_ms = upgraded.milliseconds,
            "handed over to process {} (version {}) after {}",
            upgraded.pid,
            upgraded.version,
            Span(Duration::from_millis(upgraded.milliseconds))
        ),
        Err(lines) => lines.iter().for_each(|error| tracing::error!(error, "upgrade: {error}")),
    }
    outcome
}

fn attempt(
    controller: &Controller,
    changing: &Changing,
    asked: &Asked,
) -> Result<(Upgraded, Process), Vec<String>> {
    let began = Instant::now();
    let one = |act: &str, error: io::Error| vec![cannot(act, &error)];
    let (offer, descriptors) =
        offer(controller, changing).map_err(|error| one("hand sockets over", error))?;
    let (channel, theirs) = Channel::pair().map_err(|error| one("make a socket pair", error))?;
    let mut process = start(asked, theirs)?;
    let pid = process.id();
    tracing::info!(pid, "upgrade: process {pid} was started and loads");
    let ready = channel
        .send(&Word::Offer(Box::new(offer)), &descriptors)
        // It has ended, or does not read: what it says last tells more.
        .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
        .map_err(|error| one("hand sockets over", error))
        .and_then(|()| await_ready(&channel, asked.wait));
    drop(descriptors);
    let ready = match ready {
        Ok(ready) => ready,
        Err(mut lines) => {
            lines.push(how_it_ended(&mut process));
            return Err(lines);
        }
    };
    look_for_losses(controller, &ready)?;
    commit(controller, &channel, &mut process, &ready)?;
    process.has_taken_over = true;
    let _ = controller.upgrade.to.set(process.id());
    let milliseconds = began.elapsed().as_millis() as u64;
    let (pid, old_pid) = (process.id(), process::id());
    Ok((Upgraded { pid, version: ready.version, old_pid, milliseconds }, process))
}

/// What is handed over, and the descriptors of that.
fn offer(controller: &Controller, changing: &Changing) -> io::Result<(Offer, Vec<OwnedFd>)> {
    let handed = match &*controller.running.lock() {
        Some(running) => running.hand()?,
        None => return Err(io::Error::other("this server is ending")),
    };
    let (sockets, mut descriptors) = lines(handed);
    let mut control = None;
    if let Some(listening) = controller.control.get() {
        let (descriptor, file) = listening.hand()?;
        let file = file.and_then(|(path, device, inode)| Some((path.to_str()?.to_owned(), device, inode)));
        control = Some(ControlLine { file });
        descriptors.push(descriptor);
    }
    let lock = controller.folder().map(|folder| folder.lock()).transpose()?.flatten();
    let has_lock = lock.is_some();
    descriptors.extend(lock.map(OwnedFd::from));
    let cache = controller.recursion.as_ref().and_then(|recursion| recursion.hand());
    let has_cache = cache.is_some();
    descriptors.extend(cache.map(OwnedFd::from));
    let state_lock = controller.recursion.as_ref().map(|recursion| recursion.lock()).transpose()?.flatten();
    let has_state_lock = state_lock.is_some();
    descriptors.extend(state_lock.map(OwnedFd::from));
    let (http, listeners) = lines(controller.http.hand()?);
    descriptors.extend(listeners);
    let (api, listeners) = lines(controller.api.hand()?);
    descriptors.extend(listeners);
    let (mut added, mut listed) = (Vec::new(), Vec::new());
    for zone in changing.commanded.added() {
        let Source::File(path) = &zone.source else { continue };
        let Some(path) = path.to_str() else { continue };
        if let Some(listing) = &zone.listing {
            let groups = listing.groups.texts().iter().map(|group| group.to_string()).collect();
            listed.push((added.len(), listing.catalog.to_string(), groups));
        }
        added.push((zone.name.to_string(), path.to_owned()));
    }
    let offer = Offer {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        sockets,
        control,
        has_lock,
        has_cache,
        has_state_lock,
        http,
        api,
        added,
        listed,
        removed: changing.commanded.removed().map(ToString::to_string).collect(),
        secret: drawn_secret().map(|secret| secret.to_vec()),
    };
    Ok((offer, descriptors))
}

/// Starts the program as this one was started, with its end of the pair as standard input.
fn start(asked: &Asked, theirs: OwnedFd) -> Result<Process, Vec<String>> {
    let mut arguments = env::args_os();
    // The path by which this one was started, not the file behind it: a package has put a new one there.
    let own = arguments.next().unwrap_or_else(|| OsString::from("/proc/self/exe"));
    let program = asked.program.as_ref().map_or(own, |path| path.clone().into_os_string());
    let mut command = Command::new(&program);
    command.args(arguments).stdin(Stdio::from(theirs)).env(FROM, process::id().to_string());
    // They are this process's: the sockets are handed over with the others, the watchdog is fed by whoever is the server.
    for name in ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID"] {
        command.env_remove(name);
    }
    if !is_watched() {
        command.env_remove("WATCHDOG_USEC");
    }
    let child = command
        .spawn()
        .map_err(|error| vec![format!("{}: {}", program.display(), cannot("start it", &error))])?;
    Ok(Process { child, has_taken_over: false })
}

/// Whether the watchdog of the service manager is this process's.
fn is_watched() -> bool {
    env::var("WATCHDOG_PID").map_or(true, |pid| pid == process::id().to_string())
}

fn await_ready(channel: &Channel, wait: Duration) -> Result<Ready, Vec<String>> {
    match channel.receive(Some(wait)) {
        Ok(Some((Word::Ready(ready), _))) => Ok(ready),
        Ok(Some((Word::Failed { lines }, _))) => Err(lines),
        Ok(Some(_)) => Err(vec!["the new server said what it should not".into()]),
        Ok(None) => Err(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => {
            Err(vec![format!("the new server was not ready after {}", Span(wait))])
        }
        Err(error) => Err(vec![format!("the new server is not understood: {error}")]),
    }
}

/// The line about its end.
fn how_it_ended(process: &mut Process) -> String {
    // It has said what it had to say, or is to be ended.
    match process.end(Duration::from_millis(500)) {
        Ok(status) => format!("the new server did not take over ({status}); this one goes on"),
        Err(error) => format!("the new server did not take over; {}", cannot("end it", &error)),
    }
}

/// Refuses a server that has no data of a zone which this one has.
fn look_for_losses(controller: &Controller, ready: &Ready) -> Result<(), Vec<String>> {
    let mut lost = Vec::new();
    controller.catalog.reader().with(|view| {
        for name in ready.absent.iter().filter_map(|name| NameBuf::from_text(name).ok()) {
            let slot = controller.zones.read().slot(view, &name);
            if slot.is_some_and(|slot| matches!(view.view_of(slot), Some(zone::catalog::View::Zone(_)))) {
                lost.push(name.to_string());
            }
        }
    });
    if lost.is_empty() {
        return Ok(());
    }
    let (count, names) = (lost.len(), lost[..lost.len().min(NAMES_A_LINE)].join(", "));
    Err(vec![
        format!("the new server has no data of zones that are served ({count}): {names}"),
        "see its log; this server goes on".into(),
    ])
}

/// Hands over. An error leaves all with this server.
fn commit(
    controller: &Controller,
    channel: &Channel,
    process: &mut Process,
    ready: &Ready,
) -> Result<(), Vec<String>> {
    if !controller.upgrade.step(OPEN, COMMITTING) {
        return Err(vec!["this server is ending".into()]);
    }
    let control = controller.control.get();
    if let Some(listening) = control {
        listening.pause();
    }
    if let Some(folder) = controller.folder() {
        folder.hold(true);
    }
    let taken = channel.send(&Word::Take, &[]).and_then(|()| channel.receive(Some(STEP_WAIT)));
    if !matches!(taken, Ok(Some((Word::Taken, _)))) {
        // Ended before anything is taken back, so that there are never two.
        let _ = process.end(Duration::ZERO);
        if let Some(folder) = controller.folder() {
            folder.hold(false);
        }
        if let Some(listening) = control {
            listening.resume();
        }
        controller.upgrade.step(COMMITTING, OPEN);
        return Err(vec!["the new server was ready and did not take over; this one goes on".into()]);
    }
    if let Some(listening) = control.filter(|_| ready.keeps_control) {
        listening.leave_file();
    }
    if let Some(notifier) = controller.notifier.get() {
        // The last that is heard of this process; the time until the new one is alive begins here.
        let told = Notifier::alive(notifier).and_then(|()| notifier.main_process(process.id()));
        if let Err(error) = told {
            tracing::warn!("the service manager could not be told of the new server: {error}");
        }
    }
    // If it does not hear this it goes on without.
    let _ = channel.send(&Word::Named, &[]);
    Ok(())
}
