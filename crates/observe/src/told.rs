//! A query and what became of it, as consumers are told: a record of the tap, with what the observer knows beside it.

use net::{TapEnd, TapRecord, Tapped};
use wire::{Address, Transport};

/// What became of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The response is there.
    Answered,
    /// No response was sent.
    Dropped,
    /// It is answered by many messages, which are not told.
    Stream,
    /// It is answered later, or never: that is told with the query once more.
    Waits,
    /// It had to wait, and the response is there.
    AnsweredLate,
    /// It had to wait, and there is no response to tell.
    Ended(TapEnd),
}

/// Who asked, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The client.
    pub client: Address,
    /// Where it sent the query to.
    pub local: Address,
    /// Nanoseconds since 1970: when the query's batch was taken off its socket.
    pub at: u64,
}

/// What consumers are told.
#[derive(Clone, Copy, Debug)]
pub struct Told<'t> {
    /// What became of the query.
    pub outcome: Outcome,
    /// How it came.
    pub transport: Transport,
    /// `None` of a response or an end whose query the observer no longer has: it had no room for it, or came later.
    pub asked: Option<Asked>,
    /// Nanoseconds since 1970: when the response was rendered, or sent if it was late; of what has ended without, when it did.
    pub answered: u64,
    /// How many queries this one stands for, as only one in so many is told.
    pub one_in: u32,
    /// How long the query is; 0 if it is not known.
    pub query_octets: u16,
    /// How long the response is; 0 for none.
    pub response_octets: u16,
    /// As much of the query as was wanted by some consumer.
    pub query: &'t [u8],
    /// The same of the response.
    pub response: &'t [u8],
}

/// A question to another server, or what came from one.
#[derive(Clone, Copy, Debug)]
pub struct Exchanged<'t> {
    /// Whether it came, rather than went.
    pub is_response: bool,
    /// The other server; of what came as far as can be seen, as anybody may forge it.
    pub server: Address,
    /// How it went or came.
    pub transport: Transport,
    /// Nanoseconds since 1970: when it was asked, and when it was taken off its socket.
    pub at: u64,
    /// As much of the message as was wanted by some consumer.
    pub message: &'t [u8],
}

impl<'t> Exchanged<'t> {
    /// What a record says; `None` if it is about a query.
    pub(crate) fn of(record: &TapRecord<'t>) -> Option<Exchanged<'t>> {
        let (is_response, message) = match record.outcome {
            Tapped::Question => (false, record.query),
            Tapped::Arrival => (true, record.response),
            _ => return None,
        };
        let (server, transport, at) = (record.local, record.transport, record.taken);
        Some(Exchanged { is_response, server, transport, at, message })
    }
}

impl<'t> Told<'t> {
    /// What a record says by itself.
    pub(crate) fn of(record: &TapRecord<'t>) -> Told<'t> {
        let outcome = match (record.outcome, record.end) {
            (Tapped::Answered, _) => Outcome::Answered,
            (Tapped::Stream, _) => Outcome::Stream,
            (Tapped::Later, _) => Outcome::Waits,
            (Tapped::LateResponse, _) => Outcome::AnsweredLate,
            (Tapped::Ended, end) => Outcome::Ended(end.unwrap_or(TapEnd::Gone)),
            // The latter two are no queries: `Exchanged` has them.
            (Tapped::Dropped | Tapped::Question | Tapped::Arrival, _) => Outcome::Dropped,
        };
        let is_alone = matches!(outcome, Outcome::AnsweredLate | Outcome::Ended(_));
        let (client, local, at) = (record.client, record.local, record.taken);
        Told {
            outcome,
            transport: record.transport,
            asked: (!is_alone).then_some(Asked { client, local, at }),
            answered: at.saturating_add(u64::from(record.took)),
            one_in: record.one_in.max(1),
            query_octets: record.query_octets,
            response_octets: record.response_octets,
            query: record.query,
            response: record.response,
        }
    }
}
