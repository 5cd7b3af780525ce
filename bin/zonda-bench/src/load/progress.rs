//! How a run goes, of one generator or of several that work as one, once a second on standard error.

use std::{
    io::{IsTerminal, Write},
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bench::{join::live::Joint, load::progress::Snapshot};

/// How often a line is written.
const PERIOD: Duration = Duration::from_secs(1);

/// What a line says.
#[derive(Clone, Copy)]
pub struct Look {
    all: Snapshot,
    /// Several generators: answers a second, agents that report, agents in all.
    joint: Option<(f64, usize, usize)>,
}

impl From<Snapshot> for Look {
    fn from(all: Snapshot) -> Look {
        Look { all, joint: None }
    }
}

impl From<Joint> for Look {
    fn from(Joint { all, rate, reporting, agents }: Joint) -> Look {
        Look { all, joint: Some((rate, reporting, agents)) }
    }
}

/// A thread that writes lines until it is dropped.
pub struct Watcher {
    /// Dropped to end it.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watcher {
    /// Begins to watch what `look` gives.
    pub fn start<L: Into<Look>>(look: impl Fn() -> L + Send + 'static) -> Watcher {
        let (end, ended) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let (start, mut before) = (Instant::now(), Snapshot::default());
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let now: Look = look().into();
                tell(start.elapsed(), &now, now.all.received.saturating_sub(before.received) as f64);
                before = now.all;
            }
        });
        Watcher { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // It only writes lines; should it have failed, the result does not suffer.
            let _ = thread.join();
        }
        if std::io::stderr().is_terminal() {
            // Clears the line.
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// On a terminal the line replaces the one before; a line that cannot be written is left away.
fn tell(elapsed: Duration, now: &Look, answered: f64) {
    let Snapshot { sent, received, p50_ns, p99_ns } = now.all;
    let micros = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
    let (rate, agents) = match now.joint {
        Some((rate, reporting, agents)) => (rate, format!("  agents {reporting} of {agents}")),
        None => (answered, String::new()),
    };
    let line = format!(
        "{:4.0} s  sent {sent}  answered {received} ({rate:.0}/s)  waiting or lost {}  p50 {:.0} us  p99 {:.0} us{agents}",
        elapsed.as_secs_f64(),
        sent.saturating_sub(received),
        micros(p50_ns),
        micros(p99_ns)
    );
    let mut output = std::io::stderr().lock();
    let _ = match std::io::stderr().is_terminal() {
        true => write!(output, "\r{line}\x1b[K").and_then(|()| output.flush()),
        false => writeln!(output, "{line}"),
    };
}
