//! The query log: a line for each query, for people (`text`) or programs (`json`).
//!
//! `line`: what a line says and how it looks; `filter`: which queries have one; `code`: what became of them.

mod code;
mod filter;
mod line;

use std::time::Instant;

use sync::tap::Wants;
use wire::name::NameRoom;

use self::code::Code;
pub use self::filter::Filter;
pub use self::line::Format;
use self::line::{Clock, Flags, Line, Time};
use crate::Zones;
use crate::observer::Consumer;
use crate::queue::Filler;
use crate::seen::{Question, Seen};
use crate::told::Told;

/// What is told and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How a line looks.
    pub format: Format,
    /// One query in so many.
    pub one_in: u32,
    /// Which of them.
    pub filter: Filter,
}

/// Writes lines.
pub struct QueryLog {
    terms: Terms,
    filler: Filler,
    zones: Box<dyn Zones>,
    zone: NameRoom,
    clock: Clock,
}

impl QueryLog {
    /// One that fills this queue.
    pub fn new(terms: Terms, filler: Filler, zones: Box<dyn Zones>) -> QueryLog {
        QueryLog { terms, filler, zones, zone: NameRoom::new(), clock: Clock::default() }
    }
}

impl Consumer for QueryLog {
    /// Query and response whole: EDNS is at the end of both.
    fn wants(&self) -> Wants {
        let one_in = self.terms.one_in;
        Wants { one_in, query_octets: u16::MAX, response_octets: u16::MAX, others: false }
    }

    fn is_urgent(&self) -> bool {
        false
    }

    fn take(&mut self, told: &Told<'_>) {
        let Some(code) = Code::of(told) else { return };
        let query = Seen::of(told.query);
        let response = Seen::of(told.response).filter(|_| code.is_number());
        let question = match query.or(response) {
            Some(seen) => seen.question,
            None => Question::Malformed,
        };
        if !self.terms.filter.has_code(code) || !self.terms.filter.has_name(&question) {
            return;
        }
        let zone = match question {
            Question::Asks { name, qtype, .. } if self.zones.find(name, qtype, &mut self.zone) => {
                Some(&*self.zone)
            }
            _ => None,
        };
        let at = told.asked.map_or(told.answered, |asked| asked.at);
        let line = Line {
            time: Time {
                second: self.clock.second((at / NANOSECONDS) as u32),
                microseconds: (at % NANOSECONDS / 1000) as u32,
            },
            told,
            question,
            code,
            flags: Flags::of(query.as_ref(), response.as_ref()),
            zone,
        };
        let format = self.terms.format;
        self.filler.add(|block| line.write(format, block));
    }

    fn hand_over(&mut self, now: Instant) {
        self.filler.hand_over(now);
    }

    fn flush(&mut self) {
        self.filler.flush();
    }
}

const NANOSECONDS: u64 = 1_000_000_000;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
