//! The states of a task. `docs/design/iteration.md` 1 has the whole table.

use cache::Moment;

use crate::ask::exchange::ExchangeId;
use crate::ask::inquiry::InquiryId;

/// What a task is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// It is new, or an alias leads elsewhere, or a forwarder failed that need not be used. Ends when the cache has it, or the zone to ask is
    /// found.
    #[default]
    Start,
    /// The root's servers are not known, and another task finds them. Ends with that.
    Priming,
    /// The zone is known, and whom to ask is to be chosen: after each referral, silence and failure of a server. Ends when somebody is asked, or nobody
    /// is left.
    Choosing,
    /// Nobody who is left has an address: other tasks seek some. Ends with the first that is found, or the last that is not.
    Addresses,
    /// A datagram was sent. Ends with a response, or in time.
    Asking {
        /// The newest of its questions; older ones may be open yet.
        exchange: ExchangeId,
        /// When it is given up.
        until: Moment,
    },
    /// Another task has the very question on its way. Ends with its response, or when it gives up.
    Following(InquiryId),
    /// A question went over a stream: a response was cut off, somebody guesses, or the server wants TLS. Ends with a response, with the stream, or in
    /// time.
    Streaming {
        /// The question.
        exchange: ExchangeId,
        /// When it is given up.
        until: Moment,
    },
    /// A response is being validated, and other tasks find what that needs. Ends with the verdict.
    Proving,
    /// It has come to something, and who waits is told. The task is gone after this.
    Done,
}

impl State {
    /// A word for people.
    pub fn word(&self) -> &'static str {
        match self {
            State::Start => "start",
            State::Priming => "priming",
            State::Choosing => "choosing",
            State::Addresses => "addresses",
            State::Asking { .. } => "asking",
            State::Following(_) => "following",
            State::Streaming { .. } => "streaming",
            State::Proving => "proving",
            State::Done => "done",
        }
    }

    /// When it is to be looked at again, whatever happens.
    pub(crate) fn until(&self) -> Option<Moment> {
        match self {
            State::Asking { until, .. } | State::Streaming { until, .. } => Some(*until),
            _ => None,
        }
    }
}
