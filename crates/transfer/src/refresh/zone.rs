//! What is known of one secondary zone: 64 octets, as there can be a million.

use std::fmt;

use super::due::NOWHERE;
use super::times::Intervals;
use crate::incoming::Stop;

/// What a zone does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Checked, or tried in vain: nothing is to be done before it is due.
    Waiting,
    /// Due: stands in the line of a primary.
    Ready,
    /// A probe is under way.
    Asking,
    /// A transfer is under way.
    Transferring,
    /// What was transferred is being made to be served: the connection serves others.
    Arrived,
}

/// What went wrong last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// The primary has an older serial than we have.
    Behind {
        /// The serial that it has.
        serial: u32,
    },
    /// The question or the transfer came to nothing.
    Stop(Stop),
}

/// Completes "the server …".
impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Last::Behind { serial } => write!(f, "says serial {serial}, which is behind ours"),
            Last::Stop(stop) => stop.fmt(f),
        }
    }
}

impl Last {
    /// Where an operator may look.
    pub fn advice(&self) -> Option<&'static str> {
        match self {
            Last::Behind { .. } => {
                Some("`zonda ctl retransfer` takes what it has; else its serial has to grow beyond ours")
            }
            Last::Stop(stop) => stop.fault.advice(),
        }
    }
}

/// That, and when; kept until the zone is known to be current.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    /// What.
    pub last: Last,
    /// Which primary.
    pub primary: u16,
    /// When, in seconds of the schedule.
    pub at: u32,
}

/// Facts about a zone, as bits.
pub(super) mod flag {
    /// A version is held, served or expired.
    pub(in crate::refresh) const DATA: u8 = 1;
    /// It is too old to be served.
    pub(in crate::refresh) const EXPIRED: u8 = 2;
    /// NOTIFY, or a command: goes before those that are merely due.
    pub(in crate::refresh) const URGENT: u8 = 4;
    /// A primary says that it has a newer one: no probe is needed.
    pub(in crate::refresh) const NEWER: u8 = 8;
    /// All of it is to be transferred, since differences did not help.
    pub(in crate::refresh) const WHOLE: u8 = 16;
    /// All of it, whatever its serial: a command.
    pub(in crate::refresh) const FORCED: u8 = 32;
    /// Once more when the present job is done.
    pub(in crate::refresh) const AGAIN: u8 = 64;
    /// Nobody wants it any more; its job is still under way.
    pub(in crate::refresh) const GONE: u8 = 128;
}

/// In no line.
pub(super) const NO_LINE: u8 = u8::MAX;

/// A zone. Times are those of the schedule.
pub(super) struct Zone {
    pub(super) state: State,
    pub(super) flags: u8,
    /// Rounds through all primaries in vain.
    pub(super) rounds: u8,
    /// Primaries of this round that are behind.
    pub(super) tried: u8,
    /// The present primary, and the one that last served us: places in the list.
    pub(super) at: u8,
    pub(super) served: u8,
    /// The line of the present primary that it stands in.
    pub(super) line: u8,
    /// Number of its list of primaries.
    pub(super) list: u32,
    pub(super) serial: u32,
    pub(super) intervals: Intervals,
    /// When a primary last said that it is current, or sent it.
    pub(super) checked: u32,
    pub(super) expires: u32,
    /// When it is to be asked for, `u32::MAX` while that is under way.
    pub(super) due: u32,
    /// When the last NOTIFY leads to a question, or did; 0 where that was not in vain.
    pub(super) notified: u32,
    /// Neighbours in the line.
    pub(super) next: u32,
    pub(super) before: u32,
    /// Place in the heap.
    pub(super) place: u32,
    pub(super) trouble: Option<Box<Trouble>>,
}

const _: () = assert!(size_of::<Zone>() == 64);

impl Zone {
    pub(super) fn new(list: u32) -> Zone {
        Zone {
            state: State::Waiting,
            flags: 0,
            rounds: 0,
            tried: 0,
            at: 0,
            served: 0,
            line: NO_LINE,
            list,
            serial: 0,
            intervals: Intervals::default(),
            checked: 0,
            expires: u32::MAX,
            due: u32::MAX,
            notified: 0,
            next: NOWHERE,
            before: NOWHERE,
            place: NOWHERE,
            trouble: None,
        }
    }

    pub(super) fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Whether there are data that count: what has expired is void, and whatever a primary has is better (RFC 1034 4.3.5).
    pub(super) fn is_current(&self) -> bool {
        self.flags & (flag::DATA | flag::EXPIRED) == flag::DATA
    }

    /// Whether a job is under way.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Asking | State::Transferring | State::Arrived)
    }

    /// When something is to be done without being told.
    pub(super) fn wakes(&self) -> u32 {
        let expires = if self.flags & (flag::DATA | flag::EXPIRED | flag::GONE) == flag::DATA {
            self.expires
        } else {
            u32::MAX
        };
        self.due.min(expires)
    }

    /// When a NOTIFY that comes now is followed: at once where the last one led to another version, else once a second.
    pub(super) fn after_notify(&mut self, now: u32) -> u32 {
        if self.notified <= now {
            self.notified = if self.notified == now { now + 1 } else { now };
        }
        self.notified
    }

    /// How long to wait after a round in vain, before it is spread.
    pub(super) fn pause(&self) -> u32 {
        let (first, most) = match self.is_current() {
            true => (self.intervals.retry, self.intervals.refresh.max(self.intervals.retry)),
            false => EMPTY_PAUSE,
        };
        let doublings = u32::from(self.rounds.saturating_sub(1)).min(16);
        u32::try_from(u64::from(first) << doublings).unwrap_or(u32::MAX).min(most)
    }
}

/// First and longest pause of a zone without data that count, in seconds: it fails those who ask for it, and says nothing of its retry.
const EMPTY_PAUSE: (u32, u32) = (5, 300);
