//! What a feeder is told: by a thread of its own, so that nobody else waits until it listens. What waits is told together; what became of changes is noted before that.

use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use feed::frame::{Frame, ON_THEIR_WAY_MAX};
use feed::pair::{SILENCE_MAX, say};

use super::batch::BATCH_MAX;
use super::outcome::{Outcome, Outcomes};

/// Answers to pushes that wait to be told: some for each that may be on its way, and as many zones as are served at once. A feeder that lets more wait pushes without
/// listening.
const WAITING_MAX: usize = 8 * ON_THEIR_WAY_MAX.0 + 2 * BATCH_MAX.0;
/// Frames that are told at a time.
const FRAMES_A_TIME: usize = 1_000;
/// From one time that something is told to the next, at least: each has feeder and thread wake up, which at thousands of changes a second takes more than the changes. A change that comes
/// by itself is told at once, as the one before was long ago; and so is all as long as somebody waits until what he has changed is in the store and served.
const PAUSE: Duration = Duration::from_millis(2);

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
    sender: Sender<Thing>,
    waiting: Arc<AtomicUsize>,
    line: Line,
}

/// What is to be told.
enum Thing {
    Frame(Frame),
    /// Of one piece: nothing is said in between.
    Frames(Vec<Frame>),
    Outcome(Outcome),
}

impl Thing {
    fn is_answer(&self) -> bool {
        match self {
            Thing::Frame(frame) => is_answer(frame),
            Thing::Frames(_) => false,
            Thing::Outcome(_) => true,
        }
    }

    fn outcome(&self) -> Option<&Outcome> {
        match self {
            Thing::Frame(_) | Thing::Frames(_) => None,
            Thing::Outcome(outcome) => Some(outcome),
        }
    }

    /// Appends what is said of it.
    fn put_into(self, frames: &mut Vec<Frame>) {
        match self {
            Thing::Frame(frame) => frames.push(frame),
            Thing::Frames(all) => frames.extend(all),
            Thing::Outcome(outcome) => frames.push(outcome.into_frame()),
        }
    }
}

impl Tell {
    /// Starts the thread, which ends once nobody has anything to tell any more.
    ///
    /// `awaited`: how many wait for what they have changed.
    pub(super) fn start(outcomes: Outcomes, line: Line, awaited: Arc<AtomicUsize>) -> io::Result<Tell> {
        let (sender, told) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (count, own) = (Arc::clone(&waiting), line.clone());
        let thread = std::thread::Builder::new().name(format!("store-{}-tell", outcomes.store()));
        thread.spawn(move || run(&own, &told, (&count, &awaited), outcomes))?;
        Ok(Tell { sender, waiting, line })
    }

    /// Has the feeder be told something. Where there is none any more nobody is to be told.
    pub(super) fn say(&self, frame: Frame) {
        self.send(Thing::Frame(frame));
    }

    /// The same of frames that belong together.
    pub(super) fn say_together(&self, frames: Vec<Frame>) {
        self.send(Thing::Frames(frames));
    }

    /// Has it be noted and said what became of changes, and the feeder be told.
    pub(super) fn outcome(&self, outcome: Outcome) {
        self.send(Thing::Outcome(outcome));
    }

    fn send(&self, thing: Thing) {
        self.waiting.fetch_add(usize::from(thing.is_answer()), Ordering::Relaxed);
        drop(self.sender.send(thing));
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

fn run(
    line: &Line,
    told: &Receiver<Thing>,
    (waiting, awaited): (&AtomicUsize, &AtomicUsize),
    mut outcomes: Outcomes,
) {
    let (mut is_heard, mut last) = (true, None::<Instant>);
    loop {
        let first = match outcomes.due() {
            Some(due) => told.recv_timeout(due.saturating_duration_since(Instant::now())),
            None => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let first = match first {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                outcomes.say_others(false);
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return outcomes.say_others(true),
        };
        if awaited.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(last.map_or(Duration::ZERO, |last| PAUSE.saturating_sub(last.elapsed())));
        }
        last = Some(Instant::now());
        let things: Vec<Thing> = std::iter::once(first).chain(told.try_iter().take(FRAMES_A_TIME)).collect();
        outcomes.take(things.iter().filter_map(Thing::outcome));
        let answers = things.iter().filter(|thing| thing.is_answer()).count();
        let mut frames = Vec::with_capacity(things.len());
        things.into_iter().for_each(|thing| thing.put_into(&mut frames));
        // What becomes of changes that the feeder had said is noted after its end, too.
        if is_heard && line.say(&frames).is_err() {
            // Half a frame may have been said: nobody is to go on after that.
            line.hang_up();
            is_heard = false;
        }
        waiting.fetch_sub(answers, Ordering::Relaxed);
    }
}

/// Whether it is the feeder that makes it come. The others are of zones that the server has, all of them at once where an operator confirms that.
fn is_answer(frame: &Frame) -> bool {
    !matches!(frame, Frame::Left(_) | Frame::Raise(..))
}
