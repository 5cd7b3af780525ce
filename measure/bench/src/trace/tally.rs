//! Counts of the messages of a trace, requests and responses apart.
//!
//! A request failed if its response has a code other than NOERROR. Requests and responses are not matched one by one:
//! failures of a type are the failed responses whose question has this type, so that a capture of one direction, or one
//! that lost packets, still tells what it can.

use std::collections::BTreeMap;

use wire::{
    header::{AA, RD, TC},
    iana::rcode,
};

use super::{
    Message, Source,
    capture::seconds_between,
    message::{Asked, Parts},
};

/// Kinds of questions that are told apart: all types that exist in all classes that exist are some hundreds; a flood
/// of random types could otherwise fill memory.
const KINDS_MAX: usize = 1 << 17;
/// Seconds that have requests: 48 days of them; later ones are counted, but not for bursts and chart.
const SECONDS_MAX: usize = 1 << 22;

/// What questions ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum Kind {
    Question {
        class: u16,
        rtype: u16,
    },
    /// No question.
    Nothing,
    /// A question that cannot be read.
    Unreadable,
    /// Beyond the bound.
    Other,
}

/// Requests, and the failed ones among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// All.
    pub count: u64,
    /// Those that failed.
    pub failed: u64,
}

/// Messages of one direction.
#[derive(Clone, Debug, Default)]
pub struct Direction {
    /// All of them.
    pub all: Count,
    /// With RD set.
    pub recursive: Count,
    /// Over TCP.
    pub tcp: u64,
    /// By question.
    pub kinds: BTreeMap<Kind, Count>,
    /// By operation code.
    pub opcodes: [u64; 16],
    /// By second since [`Message::start`].
    pub seconds: BTreeMap<i64, u64>,
}

/// Counts of a trace.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Messages with QR clear.
    pub requests: Direction,
    /// Messages with QR set.
    pub responses: Direction,
    /// Responses with AA set.
    pub authoritative: u64,
    /// Responses with TC set.
    pub truncated: u64,
    /// Responses by code.
    pub rcodes: BTreeMap<u16, u64>,
    /// Too short for a header; neither requests nor responses.
    pub short: u64,
    /// Counted, but damaged.
    pub damaged: u64,
    /// Counted, but cut by the capture.
    pub cut: u64,
}

impl Tally {
    /// Counts a message. `parts`: of this message.
    pub fn add(&mut self, message: &Message<'_>, parts: Option<&Parts<'_>>) {
        let Some(parts) = parts else {
            self.short += 1;
            return;
        };
        self.damaged += u64::from(parts.is_damaged);
        self.cut += u64::from(!message.is_whole);
        if !parts.is_response() {
            self.requests.add(message, parts, false);
            return;
        }
        self.responses.add(message, parts, parts.rcode() != rcode::NOERROR);
        self.authoritative += u64::from(parts.flags & AA != 0);
        self.truncated += u64::from(parts.flags & TC != 0);
        *self.rcodes.entry(parts.rcode()).or_default() += 1;
    }
}

impl Direction {
    fn add(&mut self, message: &Message<'_>, parts: &Parts<'_>, is_failed: bool) {
        self.all.add(is_failed);
        if parts.flags & RD != 0 {
            self.recursive.add(is_failed);
        }
        self.tcp += u64::from(matches!(message.source, Source::Tcp { .. }));
        self.opcodes[usize::from(parts.opcode())] += 1;
        let mut kind = Kind::from(parts.question);
        if self.kinds.len() >= KINDS_MAX && !self.kinds.contains_key(&kind) {
            kind = Kind::Other;
        }
        self.kinds.entry(kind).or_default().add(is_failed);
        let second = seconds_between(message.start, message.time);
        if self.seconds.len() < SECONDS_MAX || self.seconds.contains_key(&second) {
            *self.seconds.entry(second).or_default() += 1;
        }
    }
}

impl Count {
    fn add(&mut self, is_failed: bool) {
        self.count += 1;
        self.failed += u64::from(is_failed);
    }
}

impl From<Asked<'_>> for Kind {
    fn from(asked: Asked<'_>) -> Kind {
        match asked {
            Asked::Question { rtype, class, .. } => Kind::Question { class, rtype },
            Asked::Nothing => Kind::Nothing,
            Asked::Unreadable => Kind::Unreadable,
        }
    }
}
