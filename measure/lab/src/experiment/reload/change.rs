//! Zones that are told to be read again, one after the other.

use std::{
    net::UdpSocket,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use bench::{query, transfer::drain};
use rustix::process::{getpriority_process, setpriority_process};
use wire::NameBuf;

use super::super::Lab;
use crate::{
    Error,
    contender::{self, Server},
    data::{Set, serial},
    error::ServerProblem,
    place::Place,
    process::Process,
};

/// How often the serial is asked for.
const ASK_EVERY: Duration = Duration::from_millis(1);
/// From the beginning of a run to the first reload: the generator is there by then.
const SETTLE: Duration = Duration::from_millis(300);
/// From a file's change to the command. The clock of file systems has ticks of up to 10 ms: who reads a file within that of its
/// change cannot tell it from one that changes once more.
const TICK: Duration = Duration::from_millis(20);
/// By how much who asks for serials goes before the generator, in steps of `nice`: ten times its weight. It sleeps most of the time.
const AHEAD: i32 = 10;

/// What a server is told with, and asked.
pub struct Changes<'a> {
    server: &'a Server,
    zones: &'a [(String, PathBuf)],
    socket: UdpSocket,
    /// Where commands run: where the server is, and on its core. On the generator's they would hold up queries for as long as they take,
    /// up to some 10 ms with TLS, and it would look as if the server had.
    place: Place,
    folder: PathBuf,
    rest: Duration,
    /// How long a new serial is waited for.
    patience: f64,
    stop: Arc<AtomicBool>,
}

impl Changes<'_> {
    /// For a server that runs.
    pub fn new<'a>(lab: &Lab, server: &'a Server, set: &'a Set) -> Result<Changes<'a>, Error> {
        let socket = contender::socket(&lab.bed, server.address)?;
        let cause = |cause| Error::System { action: "set a time-out", cause };
        socket.set_read_timeout(Some(ASK_EVERY)).map_err(cause)?;
        Ok(Changes {
            server,
            zones: &set.zones.list,
            socket,
            place: lab.bed.server().on(&lab.server_cores[..1]),
            folder: lab.folder("control")?,
            rest: Duration::from_millis(lab.recipe.changes.rest_ms.into()),
            patience: lab.effort.load_seconds,
            stop: lab.stop.clone(),
        })
    }

    /// Has zones read again until the load has ended, at least one; returns how long each took until its new serial was answered, in
    /// milliseconds. The last one may outlast the load.
    pub fn go_on_until(
        &self,
        order: &[usize],
        first: usize,
        has_ended: impl Fn() -> bool,
    ) -> Result<Vec<f64>, Error> {
        let mut times = Vec::new();
        thread::sleep(SETTLE);
        while times.is_empty() || !has_ended() {
            self.go_on()?;
            times.push(self.reload(order[(first + times.len()) % order.len()])?.as_secs_f64() * 1e3);
            thread::sleep(self.rest);
        }
        Ok(times)
    }

    /// Asks as often, and changes nothing.
    pub fn look_on_until(&self, has_ended: impl Fn() -> bool) -> Result<(), Error> {
        let apex = apex(&self.zones[0].0)?;
        let _first = Precedence::take();
        while !has_ended() {
            self.go_on()?;
            let asked = Instant::now();
            drain::serial(&self.socket, &apex);
            thread::sleep(ASK_EVERY.saturating_sub(asked.elapsed()));
        }
        Ok(())
    }

    fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Has one zone read again.
    fn reload(&self, zone: usize) -> Result<Duration, Error> {
        let (text, wanted) = (&self.zones[zone].0, serial::raise(&self.server.copy_of(zone))?);
        thread::sleep(TICK);
        let began = Instant::now();
        let mut told = self.server.reload(text, &self.place, &self.folder)?;
        let took = self.wait(&apex(text)?, wanted, began, &mut told)?;
        match told.wait(&self.stop)?.success() {
            true => Ok(took),
            false => Err(self.server.reload_fault(told.said())),
        }
    }

    /// Waits until a serial is answered.
    fn wait(
        &self,
        apex: &NameBuf,
        wanted: u32,
        began: Instant,
        told: &mut Process,
    ) -> Result<Duration, Error> {
        let _first = Precedence::take();
        loop {
            let asked = Instant::now();
            if drain::serial(&self.socket, apex).is_some_and(|serial| serial >= wanted) {
                return Ok(began.elapsed());
            }
            self.go_on()?;
            if told.ended().is_some_and(|status| !status.success()) {
                return Err(self.server.reload_fault(told.said()));
            }
            if began.elapsed().as_secs_f64() > self.patience {
                return Err(self.server.fault(ServerProblem::Stale(self.patience)));
            }
            thread::sleep(ASK_EVERY.saturating_sub(asked.elapsed()));
        }
    }
}

/// As long as it lives the calling thread goes before others on its core, where the system lets it (root): the generator spins there, and who
/// wakes up beside it at the same priority waits for its turn, so that times to new serials would be those of the scheduler. Not to be
/// held where programs are started, which would have it too.
struct Precedence {
    usual: i32,
}

impl Precedence {
    fn take() -> Precedence {
        let usual = getpriority_process(None).unwrap_or(0);
        let _ = setpriority_process(None, usual - AHEAD);
        Precedence { usual }
    }
}

impl Drop for Precedence {
    fn drop(&mut self) {
        let _ = setpriority_process(None, self.usual);
    }
}

fn apex(text: &str) -> Result<NameBuf, Error> {
    query::name_from_text(text).ok_or(Error::Output { program: "gen zone", wanted: "names of zones" })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_first_does_so_for_a_while() {
        let usual = getpriority_process(None).unwrap();
        let first = Precedence::take();
        let taken = getpriority_process(None).unwrap();
        let permitted = setpriority_process(None, usual - AHEAD).is_ok();
        assert_eq!(taken, if permitted { usual - AHEAD } else { usual });
        drop(first);
        assert_eq!(getpriority_process(None).unwrap(), usual);
    }
}
