//! A sink: the thread that writes what waits in its queue. Nobody waits for it; while it has nowhere to write to, what comes is dropped and counted, as a
//! collector that is back wants the present.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::file::File;
use crate::output::{ANSWER_PATIENCE, Cut, FileBounds, Output, Units, Write};
use crate::queue::{Block, Counts, Filler, Item, Shared, queue};
use crate::socket::{Datagrams, Stream};

/// How often it is looked, while nothing is to be written, whether anybody reads.
const LOOK_PAUSE: Duration = Duration::from_secs(1);
/// After a failure it is tried again after so long, then twice as long, and so on.
const PAUSE_MIN: Duration = Duration::from_secs(1);
/// But no longer: a collector that is started again is found within this.
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// What is to be written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// What it is called in the log and in names of threads, at most 15 octets.
    pub name: &'static str,
    /// Where to.
    pub output: Output,
    /// Most octets that wait.
    pub queue_octets: usize,
    /// Of files.
    pub bounds: FileBounds,
}

/// A sink at work.
pub struct Sink {
    orders: Sender<Item>,
    /// Told when the thread ends, or closed.
    ended: Mutex<Receiver<()>>,
    shared: Arc<Shared>,
}

impl Sink {
    /// Starts one for frames of dnstap. Fails if there can be no thread.
    pub fn of_frames(terms: &Terms) -> io::Result<(Sink, Filler)> {
        let write: Box<dyn Write> = match &terms.output {
            Output::File(path) => Box::new(File::of_frames(path, terms.bounds)),
            Output::Unix(_) | Output::Tcp(_) => Box::new(Stream::new(&terms.output)),
        };
        Sink::start(terms, Units::Frames, write)
    }

    /// Starts one for lines.
    pub fn of_lines(terms: &Terms) -> io::Result<(Sink, Filler)> {
        let write: Box<dyn Write> = match &terms.output {
            Output::Unix(path) => Box::new(Datagrams::new(path)),
            Output::File(path) => Box::new(File::of_lines(path, terms.bounds)),
            Output::Tcp(_) => return Err(io::Error::from(io::ErrorKind::Unsupported)),
        };
        Sink::start(terms, Units::Lines, write)
    }

    fn start(terms: &Terms, units: Units, write: Box<dyn Write>) -> io::Result<(Sink, Filler)> {
        let (filler, from, orders, shared) = queue(terms.queue_octets);
        let (end, ended) = channel();
        let mut run = Run {
            name: terms.name,
            output: terms.output.to_string(),
            write,
            units,
            shared: Arc::clone(&shared),
            state: State::Closed { due: Instant::now(), pause: PAUSE_MIN },
            is_failing: false,
        };
        thread::Builder::new().name(terms.name.into()).spawn(move || {
            run.run(&from);
            // Nobody may care any more.
            let _ = end.send(());
        })?;
        Ok((Sink { orders, ended: Mutex::new(ended), shared }, filler))
    }

    /// Has it close what it writes to and open it again, after what waits.
    pub fn reopen(&self) {
        // One that has ended by a fault of its own has nothing open.
        let _ = self.orders.send(Item::Reopen);
    }

    /// Has it write what waits, and ends it. What is not written at `until` is lost, and counted so: but for what is being written then, nothing is written later.
    pub fn end(&self, until: Instant) -> Counts {
        let _ = self.orders.send(Item::End(until));
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        match ended.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Err(RecvTimeoutError::Timeout) => self.shared.give_up(),
            Ok(()) | Err(RecvTimeoutError::Disconnected) => self.shared.counts.read(),
        }
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.shared.counts.read()
    }

    /// Octets that wait now.
    pub fn queued_octets(&self) -> usize {
        self.shared.queued()
    }

    /// Both, for others.
    pub fn watch(&self) -> Watch {
        Watch(Arc::clone(&self.shared))
    }
}

/// What a sink counts, for others than whoever has it.
#[derive(Clone)]
pub struct Watch(Arc<Shared>);

impl Watch {
    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.0.counts.read()
    }

    /// Octets that wait now.
    pub fn queued_octets(&self) -> usize {
        self.0.queued()
    }
}

/// Whether it is open.
enum State {
    Open,
    /// `due`: when it is tried next; `pause`: how long after that, should it fail.
    Closed {
        due: Instant,
        pause: Duration,
    },
}

/// What the thread has.
struct Run {
    name: &'static str,
    output: String,
    write: Box<dyn Write>,
    units: Units,
    shared: Arc<Shared>,
    state: State,
    /// Whether it was said that it cannot be written to.
    is_failing: bool,
}

impl Run {
    fn run(&mut self, from: &Receiver<Item>) {
        loop {
            if !self.shared.is_given_up() {
                self.open_if_due();
            }
            let item = match self.state {
                State::Open => from.recv_timeout(LOOK_PAUSE),
                State::Closed { due, .. } => from.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match item {
                Ok(Item::Block(block)) => self.take(&block),
                Ok(Item::Reopen) => {
                    self.write.close(Instant::now() + ANSWER_PATIENCE);
                    self.state = State::Closed { due: Instant::now(), pause: PAUSE_MIN };
                }
                Ok(Item::End(until)) => return self.write.close(until),
                Err(RecvTimeoutError::Timeout) => self.look(),
                Err(RecvTimeoutError::Disconnected) => {
                    return self.write.close(Instant::now() + ANSWER_PATIENCE);
                }
            }
        }
    }

    /// Opens anew at once where nobody reads any more and nothing is to be written: what comes next is not to find that out.
    fn look(&mut self) {
        if matches!(self.state, State::Open) && self.write.is_gone() {
            self.state = State::Closed { due: Instant::now(), pause: PAUSE_MIN };
        }
    }

    fn open_if_due(&mut self) {
        let now = Instant::now();
        let State::Closed { due, pause } = self.state else { return };
        if now < due {
            return;
        }
        match self.write.open(now + ANSWER_PATIENCE) {
            Ok(()) => {
                self.shared.counts.opened.add(1);
                self.state = State::Open;
            }
            Err(error) => {
                self.say_failing(&error);
                self.state = State::Closed { due: Instant::now() + pause, pause: (2 * pause).min(PAUSE_MAX) };
            }
        }
    }

    fn take(&mut self, block: &Block) {
        let counts = &self.shared.counts;
        self.shared.taken(block);
        if !matches!(self.state, State::Open) || self.shared.is_given_up() {
            return counts.dropped_at_sink.add(block.units);
        }
        let Err(Cut { kept, error, is_closed }) = self.write.write(&block.octets) else {
            counts.written.add(block.units);
            counts.octets.add(block.octets.len() as u64);
            return self.say_well();
        };
        let (units, octets) = self.units.whole(&block.octets[..kept]);
        counts.written.add(units);
        counts.octets.add(octets as u64);
        counts.dropped_at_sink.add(block.units - units);
        if is_closed {
            self.state = State::Closed { due: Instant::now() + PAUSE_MIN, pause: 2 * PAUSE_MIN };
        }
        self.say_failing(&error);
    }

    /// Once, until something is written again.
    fn say_failing(&mut self, error: &io::Error) {
        self.shared.counts.failed.add(1);
        if !std::mem::replace(&mut self.is_failing, true) {
            let (name, output) = (self.name, &self.output);
            tracing::warn!(sink = name, output, %error, "{name}: {output}: {error}; what is not written is counted");
        }
    }

    fn say_well(&mut self) {
        if std::mem::take(&mut self.is_failing) {
            let (name, output) = (self.name, &self.output);
            let lost = self.shared.counts.read().dropped_at_sink;
            tracing::info!(
                sink = name,
                output,
                lost,
                "{name}: {output} is written again; {lost} were lost until now"
            );
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
