//! What became of a query: the code of its response, or a word where there is none.

use std::fmt;

use net::TapEnd;
use wire::iana::rcode;

use crate::seen::Seen;
use crate::told::{Outcome, Told};

/// What became of a query, beside codes: words of lines and of filters.
pub(super) const DROPPED: &str = "dropped";
pub(super) const STREAM: &str = "stream";
pub(super) const GONE: &str = "gone";

/// What became of a query: a code or a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// Of the response.
    Number(u16),
    /// There is no response to have one.
    Word(&'static str),
}

impl Code {
    /// `None`: nothing yet.
    pub(super) fn of(told: &Told<'_>) -> Option<Code> {
        Some(match told.outcome {
            Outcome::Waits => return None,
            Outcome::Answered | Outcome::AnsweredLate => {
                Code::Number(Seen::of(told.response).map_or(0, |seen| seen.extended().0))
            }
            Outcome::Dropped | Outcome::Ended(TapEnd::Dropped) => Code::Word(DROPPED),
            Outcome::Stream | Outcome::Ended(TapEnd::Stream) => Code::Word(STREAM),
            Outcome::Ended(TapEnd::Gone) => Code::Word(GONE),
        })
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Code::Number(_))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Code::Word(word) => f.write_str(word),
            Code::Number(code) => match rcode::mnemonic(code) {
                Some(mnemonic) => f.write_str(mnemonic),
                None => write!(f, "RCODE{code}"),
            },
        }
    }
}
