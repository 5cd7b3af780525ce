//! What a feeder is told: by a thread of its own, so that nobody else waits until it listens.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use feed::frame::{Frame, ON_THEIR_WAY_MAX};
use feed::pair::say;

use super::StoreName;

/// Frames that wait to be told: some for each push that may be on its way. A feeder that lets more wait pushes without listening.
const WAITING_MAX: usize = 8 * ON_THEIR_WAY_MAX.0;
/// Frames that are told at a time.
const FRAMES_A_TIME: usize = 1_000;
/// How long a feeder may let the pair be full.
const PATIENCE: Duration = Duration::from_secs(20);

/// The server's end of a pair, to say frames by: each as a whole, whoever says it.
#[derive(Clone)]
pub(super) struct Line(Arc<std::sync::Mutex<UnixStream>>);

impl Line {
    pub(super) fn new(stream: UnixStream) -> io::Result<Line> {
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Line(Arc::new(std::sync::Mutex::new(stream))))
    }

    /// Says frames; waits until the system has them.
    pub(super) fn say(&self, frames: &[Frame]) -> io::Result<()> {
        say(&self.0.lock().unwrap_or_else(PoisonError::into_inner), frames)
    }
}

/// To a feeder. Clones tell the same one.
#[derive(Clone)]
pub(super) struct Tell {
    sender: Sender<Frame>,
    waiting: Arc<AtomicUsize>,
}

impl Tell {
    /// Starts the thread, which ends with the feeder, or once nobody has anything to tell any more.
    pub(super) fn start(name: StoreName, line: Line) -> io::Result<Tell> {
        let (sender, told) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&waiting);
        let thread = std::thread::Builder::new().name(format!("store-{name}-tell"));
        thread.spawn(move || run(&line, &told, &count))?;
        Ok(Tell { sender, waiting })
    }

    /// Has the feeder be told something. Where there is none any more nobody is to be told.
    pub(super) fn say(&self, frame: Frame) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        drop(self.sender.send(frame));
    }

    /// Whether the feeder does not listen.
    pub(super) fn is_unheard(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > WAITING_MAX
    }
}

fn run(line: &Line, told: &Receiver<Frame>, waiting: &AtomicUsize) {
    while let Ok(first) = told.recv() {
        let frames: Vec<Frame> = std::iter::once(first).chain(told.try_iter().take(FRAMES_A_TIME)).collect();
        if line.say(&frames).is_err() {
            return;
        }
        waiting.fetch_sub(frames.len(), Ordering::Relaxed);
    }
}
