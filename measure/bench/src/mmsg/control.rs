//! Control messages of a datagram (cmsg(3)), written and read as words, without pointers.
//!
//! ```text
//! word 0        length with this header, without the padding
//! word 1        level, type: two 32-bit integers
//! word 2 …      data, padded to a whole word; then the next message
//! ```

use std::{mem, time::Duration};

/// Words of a message before its data.
const HEADER_WORDS: usize = 2;
/// Two messages: a timespec (4 words in all) and a length (3).
const WORDS: usize = 8;
const WORD_OCTETS: usize = mem::size_of::<u64>();
const HEADER_OCTETS: usize = HEADER_WORDS * WORD_OCTETS;

// Else the drawing above is wrong.
const _: () = assert!(mem::size_of::<libc::cmsghdr>() == HEADER_OCTETS);
const _: () = assert!(mem::align_of::<libc::cmsghdr>() <= WORD_OCTETS);
const _: () = assert!(mem::size_of::<libc::timespec>() == 2 * WORD_OCTETS);

/// Room for the control messages of one datagram.
#[derive(Clone, Copy)]
pub(super) struct Control([u64; WORDS]);

impl Control {
    /// Without a message.
    pub(super) const EMPTY: Control = Control([0; WORDS]);
    /// What the kernel may write.
    pub(super) const OCTETS: usize = WORDS * WORD_OCTETS;
    /// What [`Control::cut`] takes.
    pub(super) const CUT_OCTETS: usize = HEADER_OCTETS + WORD_OCTETS;

    /// Tells the kernel to cut a train into datagrams of so many octets (`UDP_SEGMENT`, udp(7)).
    pub(super) fn cut(segment_octets: u16) -> Control {
        let mut words = [0; WORDS];
        words[0] = (HEADER_OCTETS + mem::size_of::<u16>()) as u64;
        words[1] = join(libc::SOL_UDP.to_ne_bytes(), libc::UDP_SEGMENT.to_ne_bytes());
        let [low, high] = segment_octets.to_ne_bytes();
        words[2] = u64::from_ne_bytes([low, high, 0, 0, 0, 0, 0, 0]);
        Control(words)
    }

    /// When the datagram came, from the beginning of 1970, if the first `used` octets say so (`SO_TIMESTAMPNS`).
    pub(super) fn time(&self, used: usize) -> Option<Duration> {
        let data = self.find(used, libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, 2 * WORD_OCTETS)?;
        let seconds = i64::from_ne_bytes(data[0].to_ne_bytes()).max(0) as u64;
        Some(Duration::new(seconds, u32::try_from(data[1]).unwrap_or(0)))
    }

    /// Octets of each datagram of a train, if the first `used` octets say so (`UDP_GRO`).
    pub(super) fn segment_octets(&self, used: usize) -> Option<u16> {
        let data = self.find(used, libc::SOL_UDP, libc::UDP_GRO, mem::size_of::<i32>())?;
        let (low, _) = split(data[0]);
        u16::try_from(i32::from_ne_bytes(low)).ok().filter(|&octets| octets > 0)
    }

    /// The data of the first message of a kind that has enough of it.
    fn find(&self, used: usize, level: i32, kind: i32, data_octets: usize) -> Option<&[u64]> {
        let words = &self.0[..used.min(Control::OCTETS) / WORD_OCTETS];
        let mut at = 0;
        while at + HEADER_WORDS <= words.len() {
            let octets = usize::try_from(words[at]).ok()?;
            let end = at.checked_add(octets.div_ceil(WORD_OCTETS))?;
            if octets < HEADER_OCTETS || end > words.len() {
                return None;
            }
            if split(words[at + 1]) == (level.to_ne_bytes(), kind.to_ne_bytes())
                && octets >= HEADER_OCTETS + data_octets
            {
                return Some(&words[at + HEADER_WORDS..end]);
            }
            at = end;
        }
        None
    }
}

fn join(first: [u8; 4], second: [u8; 4]) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (first, second);
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

fn split(word: u64) -> ([u8; 4], [u8; 4]) {
    let [a, b, c, d, e, f, g, h] = word.to_ne_bytes();
    ([a, b, c, d], [e, f, g, h])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: [u64; 4] = [32, 0, 7, 9];

    fn control(messages: &[(i32, i32, &[u64])]) -> (Control, usize) {
        let mut words = [0; WORDS];
        let mut at = 0;
        for (level, kind, data) in messages {
            words[at] = (HEADER_OCTETS + data.len() * WORD_OCTETS) as u64;
            words[at + 1] = join(level.to_ne_bytes(), kind.to_ne_bytes());
            words[at + 2..at + 2 + data.len()].copy_from_slice(data);
            at += HEADER_WORDS + data.len();
        }
        (Control(words), at * WORD_OCTETS)
    }

    #[test]
    fn each_message_is_found_among_others() {
        let time = (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &TIME[2..]);
        let size: &[u64] = &[join(40i32.to_ne_bytes(), [0; 4])];
        let cut = (libc::SOL_UDP, libc::UDP_GRO, size);
        for order in [[time, cut], [cut, time]] {
            let (control, used) = control(&order);
            assert_eq!(control.time(used), Some(Duration::new(7, 9)));
            assert_eq!(control.segment_octets(used), Some(40));
            assert_eq!(control.time(0), None);
            assert_eq!((control.time(15), control.segment_octets(15)), (None, None), "cut off");
        }
        let (only, used) = control(&[time]);
        assert_eq!((only.segment_octets(used), only.time(used - 8)), (None, None));
    }

    #[test]
    fn nonsense_is_nothing() {
        for length in [0, 1, 15, 16, 17, 23, 1000, u64::MAX, u64::MAX - 7] {
            let mut words = [u64::MAX; WORDS];
            words[0] = length;
            words[1] = join(libc::SOL_UDP.to_ne_bytes(), libc::UDP_GRO.to_ne_bytes());
            let control = Control(words);
            for used in 0..=Control::OCTETS + 9 {
                assert_eq!(
                    (control.time(used), control.segment_octets(used)),
                    (None, None),
                    "{length} {used}"
                );
            }
        }
    }
}
