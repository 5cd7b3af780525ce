//! A window over one input: text not yet read, moved to the front and refilled as entries are taken.
//!
//! ```text
//! octets:  | read already | text of whole and partial entries | padding of blanks |
//!          0              at                                filled           filled + PADDING
//! ```
//!
//! The padding lets scanners load whole blocks; being blank it looks like nothing. At the end of the
//! input a missing final newline is added, so that an entry always ends in one.

use std::io::{self, Read};

use crate::limits;
use crate::scan::PADDING;

/// What [`Window::fill`] achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Filled {
    /// There is more text than before.
    More,
    /// The input has ended; nothing was added.
    Ended,
    /// The window is at its greatest size and full.
    Full,
}

pub(crate) struct Window<'i> {
    input: Box<dyn Read + 'i>,
    octets: Vec<u8>,
    /// Start of the text that has not been read.
    pub at: usize,
    filled: usize,
    /// Whether anything was read, or tried to.
    is_begun: bool,
    ended: bool,
}

impl<'i> Window<'i> {
    /// A window over `input`. `octets`: room that was used before, or none; what is in it does not matter.
    pub fn new(input: Box<dyn Read + 'i>, mut octets: Vec<u8>) -> Window<'i> {
        if octets.len() < limits::FIRST_WINDOW_OCTETS + PADDING {
            octets.resize(limits::FIRST_WINDOW_OCTETS + PADDING, b' ');
        }
        Window { input, octets, at: 0, filled: 0, is_begun: false, ended: false }
    }

    /// The room, to be used again. What grew for one long entry is given up.
    pub fn into_room(self) -> Vec<u8> {
        if self.octets.capacity() > limits::WINDOW_OCTETS + PADDING { Vec::new() } else { self.octets }
    }

    /// All text with its padding; valid up to [`Window::filled`].
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// The end of the text.
    pub fn filled(&self) -> usize {
        self.filled
    }

    /// Whether all of the input is in the window.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// Gives up the rest of the input.
    pub fn end(&mut self) {
        self.at = self.filled;
        self.ended = true;
    }

    /// Drops what was read and reads on until the window is full or the input ends. The window takes its usual size
    /// once the first, small one was not enough, and when nothing was read it grows, up to the bound of an entry.
    pub fn fill(&mut self) -> io::Result<Filled> {
        if self.ended {
            return Ok(Filled::Ended);
        }
        self.octets.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        let mut room = self.octets.len() - PADDING;
        if self.filled == room {
            // One octet more than the bound, so that an entry of exactly the bound still has its newline.
            if room > limits::ENTRY_OCTETS_MAX {
                return Ok(Filled::Full);
            }
            room = (room * 2).min(limits::ENTRY_OCTETS_MAX + 1);
        }
        if self.is_begun {
            room = room.max(limits::WINDOW_OCTETS);
        }
        self.is_begun = true;
        self.octets.resize(room + PADDING, b' ');
        let result = self.read_to(room);
        self.octets[self.filled..self.filled + PADDING].fill(b' ');
        result.map(|()| Filled::More)
    }

    /// Reads until `room` octets are filled or the input ends, so that what is scanned again after each
    /// growth stays a fraction of the text, however small the pieces in which the input arrives.
    fn read_to(&mut self, room: usize) -> io::Result<()> {
        while self.filled < room {
            match self.input.read(&mut self.octets[self.filled..room]) {
                Ok(0) => {
                    self.ended = true;
                    if self.filled > 0 && self.octets[self.filled - 1] != b'\n' {
                        self.octets[self.filled] = b'\n';
                        self.filled += 1;
                    }
                    return Ok(());
                }
                Ok(count) => self.filled += count.min(room - self.filled),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Gives one octet at a time, as a slow pipe would.
    struct Dribble<'a>(&'a [u8]);

    impl Read for Dribble<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(buffer.len()).min(1);
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    #[test]
    fn adds_final_newline_once() {
        for (text, whole) in [(&b"a\nb"[..], &b"a\nb\n"[..]), (b"a\n", b"a\n"), (b"", b"")] {
            // Room that was used before, and full of what would be another entry.
            let mut window =
                Window::new(Box::new(Dribble(text)), vec![b'z'; 2 * limits::FIRST_WINDOW_OCTETS]);
            assert_eq!(window.fill().unwrap(), Filled::More);
            assert_eq!(&window.octets()[..window.filled()], whole);
            assert_eq!(window.octets()[window.filled()..][..PADDING], [b' '; PADDING]);
            assert_eq!(window.fill().unwrap(), Filled::Ended);
        }
    }

    #[test]
    fn grows_to_its_bound_only() {
        let mut window = Window::new(Box::new(io::repeat(b'x')), Vec::new());
        let mut fills = 0;
        while window.fill().unwrap() == Filled::More {
            fills += 1;
        }
        assert!(fills <= 6);
        assert_eq!(window.filled(), limits::ENTRY_OCTETS_MAX + 1);
        assert_eq!(window.into_room().capacity(), 0, "a megabyte is not kept");
    }

    #[test]
    fn keeps_what_was_not_read() {
        let text: Vec<u8> = (0..3 * limits::WINDOW_OCTETS).map(|at| b'a' + (at % 26) as u8).collect();
        let mut window = Window::new(Box::new(&text[..]), Vec::new());
        let mut seen = Vec::new();
        while window.fill().unwrap() == Filled::More {
            let take = (window.filled() - window.at).saturating_sub(7);
            seen.extend_from_slice(&window.octets()[window.at..window.at + take]);
            window.at += take;
        }
        seen.extend_from_slice(&window.octets()[window.at..window.filled()]);
        assert_eq!(&seen[..text.len()], &text[..]);
    }
}
