//! Asks and answers of many connections over one pair, each with its number.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;

use ::api::frame::{Answer, Ask, Asking, Frame, HEAD_OCTETS, REST_OCTETS_MAX, Said, Shown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Notify, mpsc, watch};

use super::secure::Identity;

/// Pieces of an answer that may be on their way: 64 KiB each, so that one is read while the next ones come.
const PIECES_MAX: u8 = 4;

/// Frames of an answer that wait here: the pieces that there was credit for, and its end.
const FRAMES_MAX: usize = PIECES_MAX as usize + 1;

/// What was said, for all connections.
#[derive(Clone)]
pub(super) struct Talk(Rc<Inner>);

struct Inner {
    /// Of the ask before.
    number: Cell<u32>,
    waiting: RefCell<HashMap<u32, Waiting>>,
    /// What is to be written. As long as the asks of all connections at the most, of which each has one at a time.
    out: RefCell<Vec<u8>>,
    has_more: Notify,
    /// Names of the settings, and what is shown over TLS.
    names: Rc<[String]>,
    shown: watch::Sender<Option<Rc<Identity>>>,
}

/// Who waits for an answer.
struct Waiting {
    frames: mpsc::Sender<Box<[u8]>>,
    /// What is to be sent once there is room for it.
    asking: Option<Asking>,
}

/// An answer as it comes. Dropped before its end, the server is told that nobody reads it.
pub(super) struct Answering {
    number: u32,
    frames: mpsc::Receiver<Box<[u8]>>,
    talk: Talk,
    is_over: bool,
}

impl Talk {
    /// `names`: those that requests may be for, whatever a certificate says.
    pub(super) fn new(names: Rc<[String]>) -> Talk {
        let (number, waiting, (shown, _)) = (Cell::new(0), RefCell::default(), watch::channel(None));
        let (out, has_more) = (RefCell::default(), Notify::new());
        Talk(Rc::new(Inner { number, waiting, out, has_more, names, shown }))
    }

    /// What is shown over TLS, as soon as and whenever the server says it.
    pub(super) fn shown(&self) -> watch::Receiver<Option<Rc<Identity>>> {
        self.0.shown.subscribe()
    }

    /// Says that rights could not be given up, or not all.
    pub(super) fn say_unconfined(&self) {
        self.say(0, &Said::Unconfined);
    }

    /// Asks. `None`: it is longer than any ask may be.
    pub(super) fn ask(&self, ask: &Ask<'_>) -> Option<Answering> {
        let inner = &self.0;
        let number = inner.number.get().wrapping_add(1);
        inner.number.set(number);
        let asking = Asking::of(number, ask)?;
        let (sender, frames) = mpsc::channel(FRAMES_MAX);
        asking.begin(&mut inner.out.borrow_mut());
        self.say(number, &Said::Credit(PIECES_MAX));
        let is_long = asking.parts().next().is_some();
        let waiting = Waiting { frames: sender, asking: is_long.then_some(asking) };
        inner.waiting.borrow_mut().insert(number, waiting);
        Some(Answering { number, frames, talk: self.clone(), is_over: false })
    }

    fn say(&self, number: u32, said: &Said<'_>) {
        said.write(number, &mut self.0.out.borrow_mut());
        self.0.has_more.notify_one();
    }

    /// Speaks with the server until that ends, which is no fault of this process. The error: it says what is not understood.
    pub(super) async fn run(&self, pair: UnixStream) -> io::Result<()> {
        let (reader, writer) = pair.into_split();
        tokio::select! {
            ended = self.read(reader) => ended,
            () = self.write(writer) => Ok(()),
        }
    }

    async fn write(&self, mut pair: OwnedWriteHalf) {
        loop {
            let octets = std::mem::take(&mut *self.0.out.borrow_mut());
            if octets.is_empty() {
                self.0.has_more.notified().await;
            } else if pair.write_all(&octets).await.is_err() {
                return;
            }
        }
    }

    async fn read(&self, mut pair: OwnedReadHalf) -> io::Result<()> {
        let mut octets = Vec::with_capacity(2 * (HEAD_OCTETS + REST_OCTETS_MAX));
        loop {
            match pair.read_buf(&mut octets).await {
                Ok(0) | Err(_) => return Ok(()),
                Ok(_) => {}
            }
            let mut read = 0;
            while let Some((frame, count)) = Frame::read(&octets[read..]).map_err(invalid)? {
                let answer = Answer::of(&frame).map_err(invalid)?;
                self.hear(frame.ask, &answer, &octets[read..read + count])?;
                read += count;
            }
            octets.drain(..read);
        }
    }

    /// The next handshakes show this. The error: the server has not tried it.
    fn show(&self, shown: &Shown<'_>) -> io::Result<()> {
        let identity = Identity::of(shown, &self.0.names);
        self.0.shown.send_replace(Some(Rc::new(identity.map_err(|_| io::ErrorKind::InvalidData)?)));
        Ok(())
    }

    fn hear(&self, number: u32, answer: &Answer<'_>, octets: &[u8]) -> io::Result<()> {
        if let Answer::Shown(shown) = answer {
            return self.show(shown);
        }
        let mut all = self.0.waiting.borrow_mut();
        // Nobody waits for it any more.
        let Some(waiting) = all.get_mut(&number) else { return Ok(()) };
        if *answer == Answer::More {
            let asking = waiting.asking.take().ok_or(io::ErrorKind::InvalidData)?;
            asking.parts().for_each(|part| self.say(number, &part));
            return Ok(());
        }
        match waiting.frames.try_send(octets.into()) {
            Err(mpsc::error::TrySendError::Full(_)) => return Err(io::ErrorKind::InvalidData.into()),
            // Who asked has gone in this moment.
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
        }
        if matches!(answer, Answer::Done(_)) {
            all.remove(&number);
        }
        Ok(())
    }
}

fn invalid(_: ::api::frame::NoFrame) -> io::Error {
    io::ErrorKind::InvalidData.into()
}

impl Answering {
    /// The next frame; to be read by [`answer`]. `None`: there is none any more, as the process ends.
    pub(super) async fn next(&mut self) -> Option<Box<[u8]>> {
        std::future::poll_fn(|context| self.poll_next(context)).await
    }

    /// The same for whoever polls.
    pub(super) fn poll_next(
        &mut self,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Box<[u8]>>> {
        let polled = self.frames.poll_recv(context);
        if let std::task::Poll::Ready(frame) = &polled {
            self.is_over |= frame.as_ref().is_none_or(|frame| matches!(answer(frame), Answer::Done(_)));
        }
        polled
    }

    /// A piece was taken: one more may come.
    pub(super) fn took_one(&self) {
        if !self.is_over {
            self.talk.say(self.number, &Said::Credit(1));
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.talk.0.waiting.borrow_mut().remove(&self.number);
        if !self.is_over {
            self.talk.say(self.number, &Said::Stop);
        }
    }
}

/// What a frame says that [`Answering::next`] gave.
pub(super) fn answer(frame: &[u8]) -> Answer<'_> {
    let read = Frame::read(frame).ok().flatten();
    let answer = read.and_then(|(frame, _)| Answer::of(&frame).ok());
    answer.expect("it was read when it came")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ::api::frame::{Asked, Done, SetsBuf, What, Who, ZonesBuf};
    use ::api::tag::Condition;
    use tokio::runtime::Builder;
    use wire::NameBuf;

    const DONE: Done<'static> = Done { status: 200, retry_after: 0, is_cut: false, next: None, words: "" };

    /// Has a talk run beside what is done with it and the server's end of the pair; what became of it.
    fn beside<F: Future<Output = ()>>(act: impl FnOnce(Talk, UnixStream) -> F) -> Option<io::Result<()>> {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let talk = Talk::new(Rc::default());
            let act = act(talk.clone(), theirs);
            tokio::select! {
                biased;
                ended = talk.run(ours) => Some(ended),
                () = act => None,
            }
        })
    }

    /// The next frames that the server gets, as what they say.
    async fn heard(server: &mut UnixStream, count: usize) -> Vec<String> {
        let (mut octets, mut said) = (Vec::new(), Vec::new());
        while said.len() < count {
            server.read_buf(&mut octets).await.unwrap();
            let mut at = 0;
            while let Some((frame, length)) = Frame::read(&octets[at..]).unwrap() {
                said.push(match Said::of(&frame).unwrap() {
                    Said::Ask(_) => format!("{} ask", frame.ask),
                    other => format!("{} {other:?}", frame.ask),
                });
                at += length;
            }
            octets.drain(..at);
        }
        said
    }

    async fn tell(server: &mut UnixStream, number: u32, answer: Answer<'_>) {
        let mut octets = Vec::new();
        assert!(answer.write(number, &mut octets));
        server.write_all(&octets).await.unwrap();
    }

    fn who() -> Ask<'static> {
        Ask { who: Who::Key(b"k"), address: [127, 0, 0, 1].into(), asked: Asked::Who }
    }

    #[test]
    fn answers_go_to_who_asked() {
        let ended = beside(|talk, mut server| async move {
            talk.say_unconfined();
            let (mut one, mut two) = (talk.ask(&who()).unwrap(), talk.ask(&who()).unwrap());
            let said = heard(&mut server, 5).await;
            assert_eq!(said, ["0 Unconfined", "1 ask", "1 Credit(4)", "2 ask", "2 Credit(4)"]);
            tell(&mut server, 2, Answer::Done(Done { status: 401, ..DONE })).await;
            tell(&mut server, 1, Answer::Done(DONE)).await;
            let status = |frame: Box<[u8]>| match answer(&frame) {
                Answer::Done(done) => done.status,
                _ => 0,
            };
            assert_eq!(status(one.next().await.unwrap()), 200);
            assert_eq!(status(two.next().await.unwrap()), 401);
            assert!(one.next().await.is_none());
            // One that is over is not stopped; one that is given up is, and what comes for it then is nobody's.
            drop((one, two));
            drop(talk.ask(&who()).unwrap());
            assert_eq!(heard(&mut server, 3).await, ["3 ask", "3 Credit(4)", "3 Stop"]);
            tell(&mut server, 3, Answer::Done(DONE)).await;
            assert!(talk.0.waiting.borrow().is_empty());
        });
        assert!(ended.is_none());
    }

    #[test]
    fn long_asks_go_in_parts() {
        let name: NameBuf = "x.".parse().unwrap();
        let (mut sets, mut zones) = (SetsBuf::default(), ZonesBuf::default());
        sets.begin(&name, 16, What::Replace, 60);
        (0..500).for_each(|_| assert!(sets.record(&[7; 300])));
        sets.end();
        zones.push(&name, Condition::None, &sets);
        let ended = beside(|talk, mut server| async move {
            let asked = Asked::Change { repeat: None, is_dry: false, zones: zones.zones() };
            let _answering = talk.ask(&Ask { asked, ..who() }).unwrap();
            let said = heard(&mut server, 2).await;
            assert!(said[0].starts_with("1 Long(15") && said[1] == "1 Credit(4)", "{said:?}");
            tell(&mut server, 1, Answer::More).await;
            let parts = heard(&mut server, 3).await;
            assert!(parts.iter().all(|part| part.starts_with("1 Part(")), "{parts:?}");
        });
        assert!(ended.is_none());
    }

    #[test]
    fn what_is_not_understood_ends_it() {
        let is_wrong = |ended: Option<io::Result<()>>| ended.is_some_and(|ended| ended.is_err());
        let octets = |octets: &'static [u8]| {
            beside(|_, mut server| async move {
                server.write_all(octets).await.unwrap();
                std::future::pending().await
            })
        };
        assert!(is_wrong(octets(&[0xff; 16])) && is_wrong(octets(b"\0\0\0\0\0\0\0\x01?")));
        // The end of the server is none of its faults.
        assert!(
            beside(|_, server| async move {
                drop(server);
                std::future::pending().await
            })
            .unwrap()
            .is_ok()
        );
        let flooded = beside(|talk, mut server| async move {
            let _answering = talk.ask(&who()).unwrap();
            for _ in 0..=FRAMES_MAX {
                let piece = ::api::frame::Piece::Keys(::api::frame::Run::read(b"\0").unwrap());
                tell(&mut server, 1, Answer::Piece(piece)).await;
            }
            std::future::pending().await
        });
        assert!(is_wrong(flooded));
    }
}
