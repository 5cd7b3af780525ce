//! Puts TCP streams together and cuts the messages out of them (RFC 9293; RFC 1035 4.2.2, RFC 7766 8).
//!
//! A stream is read in the order of its sequence numbers: what comes early waits, what came before is left away. Where
//! octets never come (the capture lost them), reading goes on at the next segment that begins with a message.
//!
//! ```text
//! session: two sides, each
//!   | read ... expected |  gap  | early segment | early segment |
//!     `- begun message
//! ```
//!
//! Everything that waits is bounded; segments that become part of no message are counted.

use std::{
    collections::{HashMap, VecDeque},
    net::SocketAddr,
};

use super::{
    Message, Source, Take,
    capture::Nanoseconds,
    oldest_quarter,
    packet::{Segment, flag},
};

/// Sessions remembered, open and closed: a busy server has some thousands open at a time, and a closed one must be
/// known for as long as late segments may come. At some 300 octets each, 20 MB.
const SESSIONS_MAX: usize = 65_536;
/// Octets that wait in all sessions together: early segments and begun messages. Enough for 256 transfers at a time
/// that all lost a packet.
const WAITING_OCTETS_MAX: usize = 256 << 20;
/// Octets of early segments of one side: a receive window of this size is large for the DNS. With more of them what
/// is missing never comes.
const EARLY_OCTETS_MAX: usize = 1 << 20;
/// Early segments of one side: such a window in segments of 256 octets.
const EARLY_SEGMENTS_MAX: usize = 4096;
/// Largest window there is (RFC 7323 2.3). Sequence numbers further away are of another session.
const WINDOW_MAX: u32 = 1 << 30;
/// Room that a side keeps for the next message: most need less.
const KEPT_OCTETS: usize = 4096;

/// What was seen of TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Segments, with data or without.
    pub packets: u64,
    /// Connections, those that began before the capture too.
    pub sessions: u64,
    /// Sessions of which neither FIN nor RST was seen.
    pub never_closed: u64,
    /// Segments all of whose data had come before.
    pub retransmitted: u64,
    /// Segments whose data became part of no message.
    pub not_analysed: u64,
}

/// All sessions.
#[derive(Default)]
pub struct Streams {
    sessions: HashMap<Key, Session>,
    waiting_octets: usize,
    /// When the first packet of the trace was captured, for the messages.
    pub start: Nanoseconds,
    pub counts: Counts,
}

/// Both ends of a connection, the lower one first.
type Key = (SocketAddr, SocketAddr);

struct Session {
    /// What the lower and the higher end send.
    sides: [Side; 2],
    /// FIN or RST was seen.
    is_closed: bool,
    /// Time of the latest segment.
    time: Nanoseconds,
    /// Sessions before this one: at the end they are done in this order.
    number: u64,
}

/// What one end sends.
#[derive(Default)]
struct Side {
    /// Sequence number of its SYN, or what it must have been.
    initial: Option<u32>,
    /// Number of the first octet that has not been read; valid with `initial`.
    expected: u32,
    /// Where the next message begins is not known.
    is_lost: bool,
    /// Begun message with its length.
    begun: Vec<u8>,
    /// Segments in it.
    begun_segments: u64,
    /// Segments beyond a gap, in the order of their numbers; they may overlap.
    early: VecDeque<Early>,
    early_octets: usize,
}

/// A segment that came early.
struct Early {
    time: Nanoseconds,
    sequence: u32,
    data: Vec<u8>,
    cut: usize,
}

impl Streams {
    /// Reads a segment; hands on the messages that end with it.
    pub fn segment(
        &mut self,
        time: Nanoseconds,
        from: SocketAddr,
        to: SocketAddr,
        segment: &Segment<'_>,
        take: Take<'_>,
    ) {
        self.counts.packets += 1;
        let (key, side) = if from <= to { ((from, to), 0) } else { ((to, from), 1) };
        let is_opening = segment.flags & flag::SYN != 0;
        if is_opening
            && self.sessions.get(&key).is_some_and(|it| it.sides[side].is_of_other(segment.sequence))
        {
            self.close(&key, take);
        }
        if self.sessions.len() >= SESSIONS_MAX && !self.sessions.contains_key(&key) {
            self.close_oldest(take);
        }
        let session = self.sessions.entry(key).or_insert_with(|| {
            self.counts.sessions += 1;
            let sides = [Side::default(), Side::default()];
            Session { sides, is_closed: false, time, number: self.counts.sessions }
        });
        session.time = time;
        session.is_closed |= segment.flags & (flag::FIN | flag::RST) != 0;
        let side = &mut session.sides[side];
        // What a reset carries is a note, not part of the stream (RFC 9293 3.5.3).
        if segment.flags & flag::RST == 0 {
            let before = side.waiting_octets();
            let mut output = Output {
                start: self.start,
                source: Source::Tcp { from, to },
                counts: &mut self.counts,
                take: &mut *take,
            };
            side.segment(time, segment, &mut output);
            self.waiting_octets = self.waiting_octets + side.waiting_octets() - before;
        }
        while self.waiting_octets > WAITING_OCTETS_MAX {
            self.close_oldest(take);
        }
    }

    /// Ends all sessions: nothing comes any more.
    pub fn end(&mut self, take: Take<'_>) {
        let mut keys: Vec<_> = self.sessions.iter().map(|(key, session)| (session.number, *key)).collect();
        keys.sort_unstable();
        for (_, key) in keys {
            self.close(&key, take);
        }
    }

    fn close_oldest(&mut self, take: Take<'_>) {
        for key in oldest_quarter(self.sessions.iter().map(|(key, session)| (session.time, *key))) {
            self.close(&key, take);
        }
    }

    fn close(&mut self, key: &Key, take: Take<'_>) {
        let Some(session) = self.sessions.remove(key) else { return };
        self.counts.never_closed += u64::from(!session.is_closed);
        for (mut side, (from, to)) in session.sides.into_iter().zip([*key, (key.1, key.0)]) {
            self.waiting_octets -= side.waiting_octets();
            let mut output = Output {
                start: self.start,
                source: Source::Tcp { from, to },
                counts: &mut self.counts,
                take: &mut *take,
            };
            while !side.early.is_empty() {
                side.skip_gap(&mut output);
            }
            side.lose_place(&mut output);
        }
    }
}

/// Where messages go.
struct Output<'o> {
    start: Nanoseconds,
    source: Source,
    counts: &'o mut Counts,
    take: Take<'o>,
}

impl Output<'_> {
    fn message(&mut self, time: Nanoseconds, octets: &[u8], is_whole: bool) {
        (self.take)(&Message { start: self.start, time, source: self.source, octets, is_whole });
    }
}

impl Side {
    /// Whether a SYN with this number opens another session.
    fn is_of_other(&self, sequence: u32) -> bool {
        self.initial.is_some_and(|initial| initial != sequence)
    }

    fn waiting_octets(&self) -> usize {
        self.begun.capacity() + self.early_octets
    }

    fn segment(&mut self, time: Nanoseconds, segment: &Segment<'_>, output: &mut Output<'_>) {
        let is_opening = segment.flags & flag::SYN != 0;
        // SYN counts as one octet before the data.
        let sequence = segment.sequence.wrapping_add(is_opening.into());
        if self.initial.is_none() {
            self.initial = Some(sequence.wrapping_sub(1));
            self.expected = sequence;
            self.is_lost = !is_opening;
        }
        if segment.data.is_empty() && segment.cut == 0 {
            return;
        }
        let ahead = sequence.wrapping_sub(self.expected);
        if ahead > WINDOW_MAX && ahead < WINDOW_MAX.wrapping_neg() {
            self.start_again(sequence, output);
        }
        let (data, cut) = (segment.data, segment.cut);
        match self.is_early(sequence) {
            true => self.keep(Early { time, sequence, data: data.to_vec(), cut }, output),
            false => self.read(time, sequence, data, cut, output),
        }
        self.read_early(output);
        while self.early_octets > EARLY_OCTETS_MAX || self.early.len() > EARLY_SEGMENTS_MAX {
            self.skip_gap(output);
        }
    }

    /// Whether octets before this one are missing.
    fn is_early(&self, sequence: u32) -> bool {
        (sequence.wrapping_sub(self.expected) as i32) > 0
    }

    fn keep(&mut self, early: Early, output: &mut Output<'_>) {
        let distance = |sequence: u32| sequence.wrapping_sub(self.expected);
        let at = self.early.partition_point(|other| distance(other.sequence) < distance(early.sequence));
        let is_same =
            |other: &Early| other.sequence == early.sequence && other.data.len() >= early.data.len();
        if self.early.get(at).is_some_and(is_same) {
            output.counts.retransmitted += 1;
            return;
        }
        self.early_octets += early.data.len();
        self.early.insert(at, early);
    }

    fn read_early(&mut self, output: &mut Output<'_>) {
        while self.early.front().is_some_and(|early| !self.is_early(early.sequence)) {
            let Some(early) = self.early.pop_front() else { return };
            self.early_octets -= early.data.len();
            self.read(early.time, early.sequence, &early.data, early.cut, output);
        }
    }

    /// Reads data that begins at the expected octet or before it.
    fn read(&mut self, time: Nanoseconds, sequence: u32, data: &[u8], cut: usize, output: &mut Output<'_>) {
        let known = self.expected.wrapping_sub(sequence) as usize;
        if known >= data.len() + cut {
            output.counts.retransmitted += 1;
            return;
        }
        self.expected = sequence.wrapping_add((data.len() + cut) as u32);
        // Perhaps only octets that were cut off are new.
        if let Some(new) = data.get(known..).filter(|new| !new.is_empty()) {
            self.add(time, new, output);
        }
        if cut > 0 {
            self.cut_off(time, output);
        }
    }

    /// Adds the next octets of the stream; hands on the messages that are whole.
    fn add(&mut self, time: Nanoseconds, data: &[u8], output: &mut Output<'_>) {
        if self.is_lost && !begins_message(data) {
            output.counts.not_analysed += 1;
            return;
        }
        self.is_lost = false;
        self.begun.extend_from_slice(data);
        self.begun_segments += 1;
        let mut at = 0;
        while let Some((message, after)) = first_message(&self.begun[at..]) {
            output.message(time, message, true);
            at = self.begun.len() - after.len();
        }
        if at > 0 {
            self.begun.drain(..at);
            self.begun_segments = u64::from(!self.begun.is_empty());
            self.begun.shrink_to(KEPT_OCTETS);
        }
    }

    /// The capture cut off what comes next: hands on what there is of a message and looks for the next one.
    fn cut_off(&mut self, time: Nanoseconds, output: &mut Output<'_>) {
        if self.begun.len() > 2 {
            output.message(time, &self.begun[2..], false);
            self.begun_segments = 0;
        }
        self.lose_place(output);
    }

    /// Goes on at the first early segment: what is missing does not come.
    fn skip_gap(&mut self, output: &mut Output<'_>) {
        let Some(first) = self.early.front() else { return };
        self.expected = first.sequence;
        self.lose_place(output);
        self.read_early(output);
    }

    fn start_again(&mut self, sequence: u32, output: &mut Output<'_>) {
        output.counts.not_analysed += self.early.len() as u64;
        self.early.clear();
        self.early_octets = 0;
        self.lose_place(output);
        self.expected = sequence;
    }

    /// Gives up the begun message: its rest does not come.
    fn lose_place(&mut self, output: &mut Output<'_>) {
        output.counts.not_analysed += self.begun_segments;
        self.begun_segments = 0;
        self.begun.clear();
        self.is_lost = true;
    }
}

/// The message at the start of a stream and what follows it, if it is whole.
fn first_message(stream: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = stream.split_first_chunk()?;
    rest.split_at_checked(u16::from_be_bytes(*length).into())
}

/// Whether data that stands anywhere in a stream seems to begin with a message: a length that holds a header, an
/// operation code in use, at most one question. Some clients send the two octets of length on their own.
fn begins_message(data: &[u8]) -> bool {
    let Some((length, message)) = data.split_first_chunk() else { return false };
    let holds_header = u16::from_be_bytes(*length) >= 12;
    match *message {
        [] => holds_header,
        [_, _, flags, _, 0, 0 | 1, ..] => holds_header && matches!(flags >> 3 & 15, 0 | 4 | 5),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
