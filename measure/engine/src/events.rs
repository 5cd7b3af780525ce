//! What a program without threads looks for between questions: timers that are due, and other descriptors that have something for
//! it. A program with threads leaves both to threads that sleep.
//!
//! Source: Jinmei and Vixie (USENIX 2006), 6.1.3: why BIND 9 with one thread answered more than without threads. How often that
//! looked is not told.

use std::{
    io::{self, PipeReader, PipeWriter},
    time::{Duration, Instant},
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Time between two events of the timer: a server has some a second, for its zones and its log.
const TIMER_EVERY: Duration = Duration::from_millis(100);
/// Without waiting.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// A timer and a descriptor that never has anything.
pub struct Events {
    every: u32,
    left: u32,
    due: Instant,
    /// Its ends: nothing comes out of the first, as nothing is put into the second.
    pipe: Option<(PipeReader, PipeWriter)>,
    /// Events that there were.
    seen: u64,
}

impl Events {
    /// Looks after every so many questions, at least one.
    pub fn new(every: u32) -> Events {
        let every = every.max(1);
        Events { every, left: every, due: Instant::now() + TIMER_EVERY, pipe: io::pipe().ok(), seen: 0 }
    }

    /// A question was answered.
    #[inline]
    pub fn after_question(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.every;
            self.look();
        }
    }

    fn look(&mut self) {
        if let Some((other, _)) = &self.pipe {
            let ready = poll(&mut [PollFd::new(other, PollFlags::IN)], Some(&AT_ONCE)).unwrap_or(0);
            self.seen += ready as u64;
        }
        let now = Instant::now();
        if now >= self.due {
            self.due = now + TIMER_EVERY;
            self.seen += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timer_is_seen_and_nothing_else() {
        let mut events = Events::new(2);
        events.due = Instant::now();
        events.after_question();
        assert_eq!(events.seen, 0, "not looked yet");
        (0..5).for_each(|_| events.after_question());
        assert_eq!((events.seen, events.left), (1, 2), "once, and then not for a while");
    }
}
