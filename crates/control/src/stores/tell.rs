//! What a feeder is told: by a thread of its own, so that nobody else waits until it listens.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use feed::frame::{Frame, ON_THEIR_WAY_MAX};
use feed::pair::{SILENCE_MAX, say};

use super::StoreName;
use super::batch::BATCH_MAX;

/// Answers to pushes that wait to be told: some for each that may be on its way, and as many zones as are served at once. A feeder that lets more wait pushes without
/// listening.
const WAITING_MAX: usize = 8 * ON_THEIR_WAY_MAX.0 + 2 * BATCH_MAX.0;
/// Frames that are told at a time.
const FRAMES_A_TIME: usize = 1_000;

/// The server's end of a pair, to say frames by: each as a whole, whoever says it.
#[derive(Clone)]
pub(super) struct Line {
    stream: Arc<UnixStream>,
    saying: Arc<Mutex<()>>,
}

impl Line {
    pub(super) fn new(stream: UnixStream) -> io::Result<Line> {
        // From one time that it takes something to the next: a feeder that is well does so in the midst of a statement, however long that takes.
        stream.set_write_timeout(Some(SILENCE_MAX))?;
        Ok(Line { stream: Arc::new(stream), saying: Arc::default() })
    }

    /// Says frames; waits until the system has them.
    pub(super) fn say(&self, frames: &[Frame]) -> io::Result<()> {
        let _saying = self.saying.lock().unwrap_or_else(PoisonError::into_inner);
        say(&self.stream, frames)
    }

    /// Nothing is said and heard any more, from now on: who waits waits no longer.
    pub(super) fn hang_up(&self) {
        // Where the other end is gone already there is nothing to do.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// To a feeder. Clones tell the same one.
#[derive(Clone)]
pub(super) struct Tell {
    sender: Sender<Frame>,
    waiting: Arc<AtomicUsize>,
    line: Line,
}

impl Tell {
    /// Starts the thread, which ends with the feeder, or once nobody has anything to tell any more.
    pub(super) fn start(name: StoreName, line: Line) -> io::Result<Tell> {
        let (sender, told) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (count, own) = (Arc::clone(&waiting), line.clone());
        let thread = std::thread::Builder::new().name(format!("store-{name}-tell"));
        thread.spawn(move || run(&own, &told, &count))?;
        Ok(Tell { sender, waiting, line })
    }

    /// Has the feeder be told something. Where there is none any more nobody is to be told.
    pub(super) fn say(&self, frame: Frame) {
        self.waiting.fetch_add(usize::from(is_answer(&frame)), Ordering::Relaxed);
        drop(self.sender.send(frame));
    }

    /// Nothing is said and heard any more.
    pub(super) fn hang_up(&self) {
        self.line.hang_up();
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
            // Half a frame may have been said: nobody is to go on after that.
            line.hang_up();
            return;
        }
        waiting.fetch_sub(frames.iter().filter(|frame| is_answer(frame)).count(), Ordering::Relaxed);
    }
}

/// Whether it is the feeder that makes it come. The others are of zones that the server has, all of them at once where an operator confirms that.
fn is_answer(frame: &Frame) -> bool {
    !matches!(frame, Frame::Left(_) | Frame::Raise(..))
}
