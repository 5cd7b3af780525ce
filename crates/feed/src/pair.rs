//! The socket pair, from either end: frames out as a whole, frames in as they come.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::frame::{Frame, HEAD_OCTETS, REST_OCTETS_MAX};

/// Octets that are read at a time: some frames of the largest kind.
const READ_OCTETS: usize = 4 * (HEAD_OCTETS + REST_OCTETS_MAX);

/// Octets that are taken in before they are wanted: all answers that a server may have for its feeder (some 28,000, of up to 300 octets each). Of more, such as
/// of a million zones that are to be raised, the other end waits.
const TAKEN_IN_MAX: usize = 16 << 20;

/// How long one end may let the other one wait, with nothing said, or with nothing taken from a pair that is full, before that gives it up: it hangs. A feeder that is well takes in what is said each second and says
/// each five seconds that it is there, in the midst of a statement too, however long that takes; what it cannot leave is a flush of its file, or a step of SQLite, on a disk
/// that stands still, or a server that is busy itself. More would have its zones wait for longer than they need where it does hang.
pub const SILENCE_MAX: Duration = Duration::from_secs(120);

/// What comes over a pair.
pub struct Reader {
    stream: UnixStream,
    /// Room for what comes, which stays as it is: filled with zeros once, and not for each read.
    octets: Vec<u8>,
    /// Where what was not handed over begins, and where what has come ends.
    at: usize,
    end: usize,
}

impl Reader {
    /// Of this end.
    #[must_use]
    pub fn new(stream: UnixStream) -> Reader {
        Reader { stream, octets: Vec::new(), at: 0, end: 0 }
    }

    /// The next frame; waits for it, `wait` at the longest. `None`: none has come as a whole. Errors: the other end is closed (`UnexpectedEof`), or says what
    /// is no frame (`InvalidData`).
    pub fn next(&mut self, wait: Duration) -> io::Result<Option<Frame>> {
        if let Some(frame) = self.buffered()? {
            return Ok(Some(frame));
        }
        let wait = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(errno) => return Err(errno.into()),
        }
        match self.read() {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => self.buffered(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes in what has come, for later: who has much to say waits for nobody then. Waits for nothing. The error: the other end is closed.
    pub fn take_in(&mut self) -> io::Result<()> {
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        while self.end - self.at < TAKEN_IN_MAX {
            match poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&at_once)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(()),
                Ok(_) => {}
                Err(errno) => return Err(errno.into()),
            }
            match self.read() {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether something was taken in that was not handed over.
    #[must_use]
    pub fn has_some(&self) -> bool {
        self.at < self.end
    }

    /// Whether the next frame is here as a whole already, or what is none: it costs no call of the system.
    #[must_use]
    pub fn has_frame(&self) -> bool {
        Frame::is_there(self.held())
    }

    /// What has come and was not handed over.
    fn held(&self) -> &[u8] {
        &self.octets[self.at..self.end]
    }

    /// Reads some of what has come; how many octets.
    fn read(&mut self) -> io::Result<usize> {
        if self.at > 0 {
            self.octets.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
        }
        if self.octets.len() < self.end + READ_OCTETS {
            self.octets.resize(self.end + READ_OCTETS, 0);
        }
        let read = self.stream.read(&mut self.octets[self.end..])?;
        self.end += read;
        Ok(read)
    }

    fn buffered(&mut self) -> io::Result<Option<Frame>> {
        let read = Frame::read(self.held());
        let read = read.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(read.map(|(frame, octets)| {
            self.at += octets;
            frame
        }))
    }
}

/// Says frames; waits until the system has them.
pub fn say<'f>(stream: &UnixStream, frames: impl IntoIterator<Item = &'f Frame>) -> io::Result<()> {
    let mut together = Together::new(stream);
    frames.into_iter().try_for_each(|frame| together.say(frame))?;
    together.end()
}

/// Frames that are said together, by one call of the system for many. What is not said when this is dropped never is.
pub struct Together<'s> {
    stream: &'s UnixStream,
    /// Whole frames that wait.
    octets: Vec<u8>,
}

impl<'s> Together<'s> {
    /// Of this end. Others may say whole frames by it in between.
    #[must_use]
    pub fn new(stream: &'s UnixStream) -> Together<'s> {
        Together { stream, octets: Vec::new() }
    }

    /// Has a frame be said with those before it and after it. Where these are many octets already it waits until the system has them.
    pub fn say(&mut self, frame: &Frame) -> io::Result<()> {
        frame.write(&mut self.octets);
        if self.octets.len() >= REST_OCTETS_MAX { self.end() } else { Ok(()) }
    }

    /// Says what waits; waits until the system has it.
    pub fn end(&mut self) -> io::Result<()> {
        let mut stream = self.stream;
        let said = stream.write_all(&self.octets);
        // Half of it may be said: nobody is to say it once more.
        self.octets.clear();
        said
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    #[test]
    fn frames_arrive_in_their_order() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut reader = Reader::new(theirs);
        assert_eq!(reader.next(Duration::ZERO).unwrap(), None);
        let zone = NameBuf::from_text("a.example").unwrap();
        let frames = [Frame::Go, Frame::Gone(zone), Frame::Message(vec![1; 60_000]), Frame::End];
        let sent = frames.clone();
        let thread = std::thread::spawn(move || (0..20).try_for_each(|_| say(&ours, &sent)).unwrap());
        for _ in 0..20 {
            for frame in &frames {
                let wait = Duration::from_secs(10);
                let next = std::iter::repeat_with(|| reader.next(wait).unwrap()).flatten().next().unwrap();
                assert_eq!(next, *frame);
            }
        }
        thread.join().unwrap();
        assert_eq!(reader.next(Duration::ZERO).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    /// Who takes in what is said while it has something else to do holds up nobody, and hands all of it over afterwards.
    #[test]
    fn what_is_taken_in_comes_later() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut reader = Reader::new(theirs);
        let zone = NameBuf::from_text("a.example").unwrap();
        let frames: Vec<Frame> = (0..100_000).map(|serial| Frame::Back(zone.clone(), serial)).collect();
        let said = frames.clone();
        let thread = std::thread::spawn(move || say(&ours, &said).map(|()| ours));
        while !thread.is_finished() {
            reader.take_in().unwrap();
        }
        let ours = thread.join().unwrap().expect("all of it was taken");
        reader.take_in().unwrap();
        assert!(reader.has_some());
        for frame in frames {
            assert_eq!(reader.next(Duration::ZERO).unwrap(), Some(frame));
        }
        assert!(!reader.has_some());
        drop(ours);
        assert_eq!(reader.take_in().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    /// What waits is said together with what comes, and what has come is known without asking the system.
    #[test]
    fn frames_that_are_said_together() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut reader = Reader::new(theirs);
        let mut together = Together::new(&ours);
        for _ in 0..3 {
            together.say(&Frame::Beat).unwrap();
        }
        assert_eq!(reader.next(Duration::ZERO).unwrap(), None, "nothing is said yet");
        together.end().unwrap();
        together.end().unwrap();
        assert!(!reader.has_frame());
        for has_another in [true, true, false] {
            assert_eq!(reader.next(Duration::ZERO).unwrap(), Some(Frame::Beat));
            assert_eq!(reader.has_frame(), has_another);
        }
        // Half a frame is none.
        let mut octets = Vec::new();
        [Frame::Beat, Frame::Message(vec![7; 1_000])].iter().for_each(|frame| frame.write(&mut octets));
        (&ours).write_all(&octets[..700]).unwrap();
        assert_eq!(reader.next(Duration::ZERO).unwrap(), Some(Frame::Beat));
        assert!(!reader.has_frame() && reader.has_some());
        (&ours).write_all(&octets[700..]).unwrap();
        assert_eq!(reader.next(Duration::ZERO).unwrap(), Some(Frame::Message(vec![7; 1_000])));
        // What is too much to wait is said at once.
        together.say(&Frame::Message(vec![7; REST_OCTETS_MAX])).unwrap();
        assert!(matches!(reader.next(Duration::ZERO).unwrap(), Some(Frame::Message(_))));
    }

    #[test]
    fn what_is_no_frame_is_an_error() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        ours.write_all(b"GET / HTTP/1.1\r\n").unwrap();
        let mut reader = Reader::new(theirs);
        let error = reader.next(Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(reader.has_frame(), "nobody waits for the rest of it");
    }
}
