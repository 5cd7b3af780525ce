//! Streams and the thread that renders for them, without sockets.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::*;
use crate::inbox::{Note, Sink};
use crate::stream::{Pulled, StreamId, Streams};
use crate::token::ConnectionId;

/// No wait in these tests takes so long unless something stands still.
const PATIENCE: Duration = Duration::from_secs(20);

/// A worker's inbox that hears of streams.
struct Ear(Mutex<Sender<StreamId>>);

impl Sink for Ear {
    fn push(&self, note: Note) -> bool {
        match note {
            Note::StreamReady(id) => self.0.lock().unwrap().send(id).is_ok(),
            _ => true,
        }
    }

    fn reserve(&self, _: usize) -> bool {
        true
    }

    fn wake_service(&self) {}
}

/// The streams of a worker.
struct Worker {
    streams: Streams,
    sink: Arc<Ear>,
    heard: Receiver<StreamId>,
    room: Vec<u8>,
}

impl Worker {
    fn new() -> Self {
        let (sender, heard) = channel();
        let sink = Arc::new(Ear(Mutex::new(sender)));
        Self { streams: Streams::default(), sink, heard, room: vec![0; ROOM_OCTETS] }
    }

    fn begin(&mut self, ahead: Ahead) -> StreamId {
        let connection = ConnectionId { index: 0, generation: 0 };
        let sink = Arc::clone(&self.sink) as Arc<dyn Sink>;
        self.streams.add(connection, Box::new(ahead), sink, Instant::now())
    }

    /// Pulls until something comes.
    fn pull(&mut self, id: StreamId) -> Result<&[u8], Pulled> {
        loop {
            match self.streams.pull(id, &mut self.room, Instant::now()) {
                Pulled::Message(octets) => return Ok(&self.room[..octets]),
                Pulled::Nothing => {
                    let woken = self.heard.recv_timeout(PATIENCE).expect("a stream is woken");
                    self.streams.wake(woken, Instant::now());
                }
                other => return Err(other),
            }
        }
    }
}

/// What the sources of a test did.
#[derive(Default)]
struct Log {
    rendered: Mutex<Vec<char>>,
    /// The threads on which sources were dropped.
    dropped: Mutex<Vec<Option<String>>>,
}

/// Messages that count down, each as many octets as its number says, up to an end.
struct Count {
    name: char,
    left: usize,
    end: Rendered,
    /// Waits for a word before each message.
    gate: Option<Receiver<()>>,
    log: Arc<Log>,
}

impl Count {
    fn new(name: char, left: usize, log: &Arc<Log>) -> Self {
        Self { name, left, end: Rendered::End, gate: None, log: Arc::clone(log) }
    }

    fn ending(mut self, end: Rendered) -> Self {
        self.end = end;
        self
    }

    /// The same behind a gate, which opens once for each word, and for good when the sender is dropped.
    fn gated(mut self) -> (Self, Sender<()>) {
        let (open, gate) = channel();
        self.gate = Some(gate);
        (self, open)
    }
}

impl Render for Count {
    fn render(&mut self, room: &mut [u8]) -> Rendered {
        if let Some(gate) = &self.gate {
            let _ = gate.recv();
        }
        assert!(self.name != '!' || self.left > 1, "asked to");
        self.log.rendered.lock().unwrap().push(self.name);
        if self.left == 0 {
            return self.end;
        }
        let octets = self.left;
        room[..octets].fill(self.left as u8);
        self.left -= 1;
        Rendered::Message(octets)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        self.log.dropped.lock().unwrap().push(thread::current().name().map(str::to_owned));
    }
}

fn await_that(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited for {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn ahead(renderer: &Renderer, source: Count) -> Ahead {
    renderer.queue().ahead(source).map_err(|(refused, _)| refused).unwrap()
}

#[test]
fn every_message_in_order_and_the_end() {
    let (renderer, log, mut worker) = (Renderer::start().unwrap(), Arc::default(), Worker::new());
    let ids =
        [9000, 2500, 1, 0].map(|left| (left, worker.begin(ahead(&renderer, Count::new('a', left, &log)))));
    for (left, id) in ids {
        for left in (1..=left).rev() {
            assert_eq!(worker.pull(id).unwrap(), vec![left as u8; left]);
        }
        assert_eq!(worker.pull(id), Err(Pulled::End));
    }
    await_that("the end of all", || renderer.counts().streams == 0);
    let counts = renderer.counts();
    assert_eq!((counts.messages, counts.streams_most, counts.octets, counts.panics), (11_501, 4, 0, 0));
    assert_eq!(*log.dropped.lock().unwrap(), vec![Some("renderer".to_owned()); 4]);
}

#[test]
fn two_ahead_and_no_more() {
    let (renderer, log, mut worker) = (Renderer::start().unwrap(), Arc::default(), Worker::new());
    let slow = worker.begin(ahead(&renderer, Count::new('s', 60_000, &log)));
    // The thread has had many turns when this one is over.
    let rounds = |worker: &mut Worker| {
        let other = worker.begin(ahead(&renderer, Count::new('o', 50, &log)));
        while worker.pull(other).is_ok() {}
    };
    let rendered = || log.rendered.lock().unwrap().iter().filter(|name| **name == 's').count();
    for taken in 0..20 {
        rounds(&mut worker);
        assert_eq!(rendered(), taken + AHEAD_MESSAGES);
        assert_eq!(worker.pull(slow).unwrap().len(), 60_000 - taken);
    }
    let octets = renderer.counts().octets;
    assert!((2 * 59_000..=2 * ROOM_OCTETS).contains(&octets), "{octets} octets for a stream");
}

#[test]
fn a_message_of_each_in_turn() {
    let (renderer, log, mut worker) = (Renderer::start().unwrap(), Arc::default(), Worker::new());
    let (held, open) = Count::new('-', 0, &log).gated();
    worker.begin(ahead(&renderer, held));
    for name in ['a', 'b', 'c'] {
        worker.begin(ahead(&renderer, Count::new(name, 100, &log)));
    }
    open.send(()).unwrap();
    await_that("two of each", || log.rendered.lock().unwrap().len() == 7);
    assert_eq!(*log.rendered.lock().unwrap(), ['-', 'a', 'b', 'c', 'a', 'b', 'c']);
}

#[test]
fn faults_abort_their_own_stream() {
    let (renderer, log, mut worker) = (Renderer::start().unwrap(), Arc::default(), Worker::new());
    let other = worker.begin(ahead(&renderer, Count::new('o', 1000, &log)));
    let bad = [Rendered::Abort, Rendered::Message(0), Rendered::Message(ROOM_OCTETS + 1)];
    let faults = bad.map(|end| Count::new('f', 1, &log).ending(end));
    for source in faults.into_iter().chain([Count::new('!', 2, &log)]) {
        let id = worker.begin(ahead(&renderer, source));
        assert!(worker.pull(id).is_ok());
        assert_eq!(worker.pull(id), Err(Pulled::Abort));
        assert_eq!(worker.pull(other).map(<[u8]>::is_empty), Ok(false));
    }
    assert_eq!(renderer.counts().panics, 1);
    while worker.pull(other).is_ok() {}
    await_that("the end of all", || renderer.counts().streams == 0);
    assert_eq!(*log.dropped.lock().unwrap(), vec![Some("renderer".to_owned()); 5]);
}

#[test]
fn a_stream_that_is_gone_takes_its_source_along() {
    let (renderer, log, mut worker) = (Renderer::start().unwrap(), Arc::<Log>::default(), Worker::new());
    let connection = ConnectionId { index: 0, generation: 0 };
    // With two messages ready, and while one is rendered.
    worker.begin(ahead(&renderer, Count::new('r', 100, &log)));
    await_that("two messages", || log.rendered.lock().unwrap().len() == 2);
    let (held, open) = Count::new('g', 100, &log).gated();
    worker.begin(ahead(&renderer, held));
    worker.streams.abandon(connection);
    // The thread is held up; what it has yet counts.
    assert!(renderer.counts().streams >= 1);
    drop(open);
    await_that("the end of both", || renderer.counts().streams == 0);
    assert_eq!(*log.dropped.lock().unwrap(), vec![Some("renderer".to_owned()); 2]);
    // One that never began.
    drop(ahead(&renderer, Count::new('n', 100, &log)));
    await_that("the end of the third", || renderer.counts().streams == 0);
    assert!(!log.rendered.lock().unwrap().contains(&'n'));
}

#[test]
fn no_more_streams_than_there_may_be() {
    let (renderer, log) = (Renderer::start().unwrap(), Arc::default());
    let mut all: Vec<Ahead> =
        (0..AHEAD_STREAMS_MAX).map(|_| ahead(&renderer, Count::new('a', 1, &log))).collect();
    let queue = renderer.queue();
    let refused = queue.ahead(Count::new('b', 1, &log)).map(drop).map_err(|(refused, _)| refused);
    assert_eq!(refused, Err(RenderRefused));
    all.pop();
    await_that("a free place", || renderer.counts().streams < AHEAD_STREAMS_MAX);
    drop(ahead(&renderer, Count::new('c', 1, &log)));
    assert_eq!((renderer.counts().streams_most, renderer.counts().refused), (AHEAD_STREAMS_MAX, 1));
}

#[test]
fn the_end_of_the_renderer_aborts_streams() {
    let (renderer, log, mut worker) = (Renderer::start().unwrap(), Arc::<Log>::default(), Worker::new());
    let ready = worker.begin(ahead(&renderer, Count::new('r', 100, &log)));
    await_that("two messages", || log.rendered.lock().unwrap().len() == 2);
    let (held, open) = Count::new('w', 100, &log).gated();
    let waiting = worker.begin(ahead(&renderer, held));
    // It says that it waits before the end comes.
    assert_eq!(worker.streams.pull(waiting, &mut worker.room, Instant::now()), Pulled::Nothing);
    let queue = renderer.queue();
    let ended = thread::spawn(move || drop(renderer));
    await_that("the end", || queue.ahead(Count::new('n', 1, &log)).is_err());
    drop(open);
    ended.join().unwrap();
    // What was rendered is taken, and then nothing looks complete.
    let mut taken = 0;
    let last = loop {
        match worker.pull(waiting) {
            Ok(_) => taken += 1,
            Err(last) => break last,
        }
    };
    assert_eq!((taken <= AHEAD_MESSAGES, last), (true, Pulled::Abort));
    for left in [100, 99] {
        assert_eq!(worker.pull(ready).map(<[u8]>::len), Ok(left));
    }
    assert_eq!(worker.pull(ready), Err(Pulled::Abort));
}
