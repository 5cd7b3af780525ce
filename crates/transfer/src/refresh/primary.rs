//! What is known of one primary: who waits for it, what is under way, whether it is there.

use super::due::NOWHERE;

/// Probes at once to a primary of which nothing is known yet.
pub(super) const WINDOW_FIRST: u16 = 8;
/// So many that do not answer, one after the other, and a primary is down. One may be a lost datagram; more only cost time.
const DOWN_AFTER: u8 = 2;
/// Longest pause between two questions to a primary that is down, in seconds: nobody waits longer than that for one that is back.
const PAUSE_MAX: u32 = 4;
/// How long it is remembered that a primary does not know EDNS or IXFR, in seconds: it may be replaced.
const MANNER_SECONDS: u32 = 3_600;
/// How long it is remembered that a primary answers no datagrams, in seconds: a filter may be mended.
const STREAM_SECONDS: u32 = 600;
/// Probes over TCP at once: each is a connection, and a thread of ours.
const STREAM_PROBES_MAX: u16 = 8;
/// Urgent zones that go before a routine one.
const URGENT_IN_A_ROW: u8 = 3;

/// The lines of a primary.
pub(super) const URGENT: u8 = 0;
pub(super) const ROUTINE: u8 = 1;
pub(super) const TRANSFER: u8 = 2;

/// Zones in their order, linked through the zones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) first: u32,
    pub(super) last: u32,
    pub(super) count: u32,
}

impl Line {
    const EMPTY: Line = Line { first: NOWHERE, last: NOWHERE, count: 0 };
}

/// Whether a primary answers, for operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrimaryState {
    /// As far as is known.
    Up,
    /// It does not answer.
    Down {
        /// Since when.
        since: u32,
        /// When it is asked next.
        next: u32,
    },
}

/// A primary that does not answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Down {
    pub(super) since: u32,
    pub(super) next: u32,
    tries: u8,
    /// The zone whose job asks for all.
    asking: Option<u32>,
}

/// How a primary is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By datagrams. `is_lost`: the last was lost, so that the next probe goes over TCP.
    Datagrams { is_lost: bool },
    /// It answered over TCP after datagrams were lost: the next one, alone, tells whether it takes any.
    Doubt,
    /// Over TCP until then: it answers no datagrams.
    Streams(u32),
}

/// A primary.
#[derive(Debug)]
pub(super) struct Primary {
    pub(super) lines: [Line; 3],
    /// Urgent ones that went since the last routine one.
    in_a_row: u8,
    /// Probes that may be under way, and jobs that are.
    window: u16,
    pub(super) probes: u16,
    pub(super) transfers: u16,
    /// Jobs in a row that got no answer.
    silent: u8,
    pub(super) down: Option<Down>,
    way: Way,
    /// What it was found not to know, until when.
    plain: (Plain, u32),
    /// Whether it waits for its turn, for probes and for transfers.
    pub(super) in_turn: [bool; 2],
    /// Whether differences are asked for, and whether in datagrams: settings.
    pub(super) ixfr: bool,
    pub(super) ixfr_over_udp: bool,
}

/// What is left out of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Plain {
    Nothing,
    Edns,
    EdnsAndIxfr,
}

impl Primary {
    pub(super) fn new(ixfr: bool, ixfr_over_udp: bool) -> Primary {
        Primary {
            lines: [Line::EMPTY; 3],
            in_a_row: 0,
            window: WINDOW_FIRST,
            probes: 0,
            transfers: 0,
            silent: 0,
            down: None,
            way: Way::Datagrams { is_lost: false },
            plain: (Plain::Nothing, 0),
            in_turn: [false; 2],
            ixfr,
            ixfr_over_udp,
        }
    }

    /// The line that the next probe comes from.
    pub(super) fn next_line(&mut self) -> Option<u8> {
        let [urgent, routine, _] = self.lines.map(|line| line.count > 0);
        let is_urgent = urgent && !(routine && self.in_a_row >= URGENT_IN_A_ROW);
        self.in_a_row = if is_urgent { self.in_a_row.saturating_add(1) } else { 0 };
        match (is_urgent, routine) {
            (true, _) => Some(URGENT),
            (false, true) => Some(ROUTINE),
            _ => None,
        }
    }

    /// Whether one more probe, or transfer, may begin.
    pub(super) fn has_place(&self, is_transfer: bool, most: u16, now: u32) -> bool {
        match &self.down {
            Some(down) => down.asking.is_none() && now >= down.next && self.probes + self.transfers == 0,
            None if is_transfer => self.transfers < most,
            None if matches!(self.way, Way::Streams(_)) => self.probes < STREAM_PROBES_MAX.min(most),
            None => self.probes < self.window.min(most),
        }
    }

    /// A job began.
    pub(super) fn begin(&mut self, zone: u32, is_transfer: bool) {
        if let Some(down) = &mut self.down {
            down.asking = Some(zone);
        }
        *(if is_transfer { &mut self.transfers } else { &mut self.probes }) += 1;
    }

    /// Whether the next probe goes over TCP.
    pub(super) fn probes_over_tcp(&mut self, now: u32) -> bool {
        match (&mut self.way, &self.down) {
            (Way::Streams(until), _) if now < *until => true,
            (way @ Way::Streams(_), _) => {
                // Whether that is still so one datagram tells.
                (*way, self.window) = (Way::Doubt, 1);
                false
            }
            (Way::Datagrams { is_lost }, None) => std::mem::take(is_lost),
            // Either may be the way that it is back by.
            (Way::Datagrams { .. } | Way::Doubt, Some(down)) => down.tries % 2 == 1,
            (Way::Doubt, None) => false,
        }
    }

    /// Whether a zone whose datagram was lost is to be asked for here once more.
    pub(super) fn has_another_way(&self) -> bool {
        self.down.is_none() && matches!(self.way, Way::Datagrams { is_lost: true } | Way::Streams(_))
    }

    /// A job got an answer, of whatever kind. `most`: probes at once.
    pub(super) fn answered(&mut self, (is_transfer, is_udp): (bool, bool), most: u16) {
        self.end(is_transfer);
        self.silent = 0;
        if self.down.take().is_some() {
            self.window = WINDOW_FIRST;
        } else if !is_transfer {
            self.window = self.window.saturating_add(1).min(most);
        }
        match self.way {
            _ if is_udp => self.way = Way::Datagrams { is_lost: false },
            // Asked over TCP as datagrams were lost.
            Way::Datagrams { .. } if !is_transfer => (self.way, self.window) = (Way::Doubt, 1),
            _ => {}
        }
    }

    /// A job got none. Returns whether the primary is down by that, having been up.
    pub(super) fn lost(&mut self, zone: u32, (is_transfer, is_udp): (bool, bool), now: u32) -> bool {
        self.end(is_transfer);
        match &mut self.way {
            Way::Datagrams { is_lost } => *is_lost = is_udp,
            way @ Way::Doubt if is_udp && self.down.is_none() => {
                // That it is there was seen a moment ago.
                (*way, self.silent) = (Way::Streams(now.saturating_add(STREAM_SECONDS)), 0);
                return false;
            }
            Way::Streams(_) if is_udp && self.down.is_none() => return false,
            Way::Doubt | Way::Streams(_) => {}
        }
        self.silent = self.silent.saturating_add(1);
        self.window = (self.window / 2).max(1);
        match &mut self.down {
            Some(down) if down.asking == Some(zone) => {
                down.asking = None;
                down.tries = down.tries.saturating_add(1);
                down.next = now + (1 << down.tries.min(8)).min(PAUSE_MAX);
                false
            }
            Some(_) => false,
            None if self.silent >= DOWN_AFTER => {
                self.down = Some(Down { since: now, next: now + 1, tries: 0, asking: None });
                true
            }
            None => false,
        }
    }

    fn end(&mut self, is_transfer: bool) {
        let running = if is_transfer { &mut self.transfers } else { &mut self.probes };
        *running = running.saturating_sub(1);
    }

    /// It said something by itself: if it was down it may be back, and is asked at once, but not more often than each second.
    pub(super) fn heard(&mut self, now: u32) {
        if let Some(down) = &mut self.down
            && now > down.since
        {
            down.next = down.next.min(now.max(down.since + 1));
        }
    }

    /// What is left out of questions now.
    pub(super) fn plain(&self, now: u32) -> Plain {
        if now < self.plain.1 { self.plain.0 } else { Plain::Nothing }
    }

    /// It did not understand a question. Returns whether a plainer one is left to try.
    pub(super) fn be_plainer(&mut self, now: u32, had_edns: bool, was_ixfr: bool) -> bool {
        let plain = match (had_edns, was_ixfr) {
            (true, _) => Plain::Edns,
            (false, true) => Plain::EdnsAndIxfr,
            _ => return false,
        };
        self.plain = (self.plain(now).max(plain), now.saturating_add(MANNER_SECONDS));
        true
    }

    pub(super) fn state(&self) -> PrimaryState {
        match self.down {
            None => PrimaryState::Up,
            Some(Down { since, next, .. }) => PrimaryState::Down { since, next },
        }
    }
}
