//! Several processes: the first binds all sockets, starts the others with its own program and adds up what they did.
//!
//! Each of them has one end of a stream as its standard input. Through it come its sockets, and back go lines:
//!
//! ```text
//! parent --> sockets, then nothing; its end means: stop         (also where the parent died)
//!       <--  "ready", then "counters N N ...", or "error TEXT"
//! ```

use std::{
    env,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr},
    os::{
        fd::{AsFd, OwnedFd},
        unix::net::UnixStream,
    },
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use super::{Counters, Echo, STOP_CHECK_MS, Settings, sockets::Sockets};
use crate::Error;

/// The option that makes a process one of several, with its number; in a process that has none it has no meaning.
pub const OPTION: &str = "--process";
/// How long processes may take to end once told: a hundred times what they need, even on a busy machine.
const END_TIME_MAX: Duration = Duration::from_secs(10);

impl Echo {
    /// Echoes with all processes of the settings until `stop`; `ready` is called once all are at work. The others
    /// get this program's arguments and [`OPTION`].
    pub fn run_processes(self, stop: &AtomicBool, ready: impl FnOnce(SocketAddr)) -> Result<Counters, Error> {
        let count = self.settings.processes;
        let (sender, said) = mpsc::channel();
        let mut others = Vec::new();
        for process in 0..count {
            let fault = |cause| Error::System { action: "start a process", cause };
            others.push(Other::start(process, &self, sender.clone()).map_err(fault)?);
        }
        let (address, mut ready) = (self.address(), Some(ready));
        // From now on the sockets are theirs alone: one that ends takes its own along.
        drop((self.sockets, sender));
        let mut sum = Sum { counters: vec![None; count], failure: None };
        let (mut ready_count, mut ended) = (0, 0);
        let mut give_up = None;
        while ended < count {
            match said.recv_timeout(Duration::from_millis(STOP_CHECK_MS as u64)) {
                Ok((_, Some(line))) if line == "ready" => ready_count += 1,
                Ok((process, Some(line))) => sum.note(process, &line),
                Ok((process, None)) => {
                    ended += 1;
                    sum.end(process, stop.load(Ordering::Relaxed));
                    stop.store(true, Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if ready_count == count
                && let Some(ready) = ready.take()
            {
                ready(address);
            }
            if stop.load(Ordering::Relaxed) && give_up.is_none() {
                give_up = Some(Instant::now() + END_TIME_MAX);
                others.iter().for_each(Other::tell_end);
            }
            if give_up.is_some_and(|until| Instant::now() > until) {
                others.iter_mut().for_each(|other| drop(other.child.kill()));
                give_up = Some(Instant::now() + END_TIME_MAX);
            }
        }
        for other in &mut others {
            let _ = other.child.wait();
        }
        sum.finish()
    }
}

/// What the processes have said.
struct Sum {
    counters: Vec<Option<Counters>>,
    failure: Option<Error>,
}

impl Sum {
    fn note(&mut self, process: usize, line: &str) {
        match line.strip_prefix("counters ").and_then(from_text) {
            Some(counters) => self.counters[process] = Some(counters),
            None => self.fail(process, line.strip_prefix("error ").unwrap_or(line)),
        }
    }

    /// Notes the end of a process: a failure where it said nothing of its work and was not told to end.
    fn end(&mut self, process: usize, was_told: bool) {
        if self.counters[process].is_none() && !was_told {
            self.fail(process, "ended too early");
        }
    }

    fn fail(&mut self, process: usize, account: &str) {
        self.failure.get_or_insert(Error::Process { process, account: account.to_owned() });
    }

    fn finish(self) -> Result<Counters, Error> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut sum = Counters::default();
        self.counters.into_iter().flatten().for_each(|counters| sum.add(counters));
        Ok(sum)
    }
}

/// One of the other processes.
struct Other {
    child: Child,
    stream: UnixStream,
}

impl Other {
    /// Starts process number `process`, gives it its sockets and has what it says sent to `to`.
    fn start(process: usize, echo: &Echo, to: Sender<(usize, Option<String>)>) -> io::Result<Other> {
        let (stream, theirs) = UnixStream::pair()?;
        let mut command = Command::new(env::current_exe()?);
        command.args(env::args_os().skip(1)).arg(OPTION).arg(process.to_string());
        let child = command.stdin(OwnedFd::from(theirs)).spawn()?;
        // The command keeps the other end open, and with it this one from seeing the end.
        drop(command);
        let other = Other { child, stream };
        echo.sockets.hand_over(&other.stream, process, echo.settings.threads)?;
        let lines = BufReader::new(other.stream.try_clone()?).lines();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = to.send((process, Some(line)));
            }
            let _ = to.send((process, None));
        });
        Ok(other)
    }

    fn tell_end(&self) {
        let _ = self.stream.shutdown(Shutdown::Write);
    }
}

/// Echoes as process number `process`, which another has started for the same settings, until `stop` or until that
/// other one ends. A failure is said there, where it is one line for all processes, and here by the exit status.
pub fn run_as(process: usize, settings: Settings, stop: &Arc<AtomicBool>) -> Result<Counters, Error> {
    let fault = |cause| Error::System { action: "talk to the process that started this one", cause };
    let mut stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().map_err(fault)?);
    let done = Sockets::receive(&stream, &settings).map_err(fault).and_then(|sockets| {
        stop_at_end(&stream, Arc::clone(stop)).map_err(fault)?;
        writeln!(stream, "ready").map_err(fault)?;
        let settings = Settings { address: sockets.address(), ..settings };
        let thread_first = process * settings.threads;
        Echo { settings, sockets, thread_first }.run(stop)
    });
    let line = match &done {
        Ok(counters) => format!("counters {}", to_text(*counters)),
        Err(error) => format!("error {error}"),
    };
    // Where nobody listens any more there is nobody to tell.
    let _ = writeln!(stream, "{line}");
    done
}

/// Sets `stop` when the other end of `stream` is closed.
fn stop_at_end(stream: &UnixStream, stop: Arc<AtomicBool>) -> io::Result<()> {
    let mut stream = stream.try_clone()?;
    thread::spawn(move || {
        let _ = stream.read_to_end(&mut Vec::new());
        stop.store(true, Ordering::Relaxed);
    });
    Ok(())
}

fn to_text(mut counters: Counters) -> String {
    counters.all_mut().map(|counter| counter.to_string()).join(" ")
}

fn from_text(text: &str) -> Option<Counters> {
    let mut counters = Counters::default();
    let mut words = text.split(' ');
    for counter in counters.all_mut() {
        *counter = words.next()?.parse().ok()?;
    }
    words.next().is_none().then_some(counters)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn counters() -> Counters {
        let mut counters = Counters::default();
        for (number, counter) in counters.all_mut().into_iter().enumerate() {
            *counter = 1 << (7 * number);
        }
        counters
    }

    #[test]
    fn counters_travel_as_text() {
        assert_eq!(from_text(&to_text(counters())), Some(counters()));
        for text in ["", "1", "1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 8 x", "1 2 3 4 5 6 7 8 9 10"] {
            assert_eq!(from_text(text), None, "{text}");
        }
    }

    #[test]
    fn sums_and_failures() {
        let mut sum = Sum { counters: vec![None; 2], failure: None };
        let line = format!("counters {}", to_text(counters()));
        sum.note(0, &line);
        sum.note(1, &line);
        sum.end(1, false);
        assert_eq!(sum.finish().unwrap().received, 2);

        let failure = |line: &str, was_told| {
            let mut sum = Sum { counters: vec![None; 2], failure: None };
            sum.note(0, line);
            sum.end(1, was_told);
            sum.finish().map_err(|error| error.to_string())
        };
        assert_eq!(failure("error no such core", true).unwrap_err(), "process 0: no such core");
        assert_eq!(failure(&line, false).unwrap_err(), "process 1: ended too early");
        assert_eq!(failure(&line, true).unwrap(), counters());
    }
}
