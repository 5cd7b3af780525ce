//! One update on its way to the primaries of its zone, one after the other, and back (RFC 2136 6).

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::event::PollFlags;
use wire::header::TC;
use wire::iana::{ede, rcode};

use super::exchange::Exchange;
use crate::dynamic::Said;
use crate::requests::Handed;

/// How long one primary may take: connecting, and a commit that waits for its disk.
const PRIMARY_WAIT: Duration = Duration::from_secs(5);
/// How long all of them may: shorter than clients over TCP wait, and some repetitions of those over UDP.
const WAIT_MAX: Duration = Duration::from_secs(15);
/// Octets of an ID.
const ID_OCTETS: usize = 2;

/// A primary of the zone: where it is, and where from it is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Primary {
    pub(super) address: SocketAddr,
    pub(super) source: Option<IpAddr>,
}

/// See the module.
pub(super) struct Flight {
    pub(super) request: Box<Handed>,
    /// The request as it is sent on.
    message: Box<[u8]>,
    /// Those that were not asked yet, the next one last.
    left: Vec<Primary>,
    /// The one that is asked.
    pub(super) primary: Option<Primary>,
    exchange: Option<Exchange>,
    /// Until when it is asked, and until when any is.
    until: Instant,
    end: Instant,
}

/// What became of looking at a flight.
pub(super) enum Step {
    /// It goes on.
    Wait,
    /// This primary did not answer, for this reason; the next one is asked, if there is one.
    Failed(SocketAddr, std::io::Error),
    /// It has landed: this is the answer, with the ID of the primary's.
    Answer(Box<[u8]>),
    /// No primary has answered.
    Nobody,
}

impl Flight {
    /// A request that is to be sent on with this ID. One that is signed by SIG(0) keeps its own, as the signature is over that too; under TSIG the original one is in the record (RFC 8945 4.2).
    pub(super) fn new(request: Box<Handed>, id: u16, mut primaries: Vec<Primary>, now: Instant) -> Flight {
        let mut message = request.message.clone();
        if let Some(place) = message.get_mut(..ID_OCTETS).filter(|_| !request.is_sig0) {
            place.copy_from_slice(&id.to_be_bytes());
        }
        primaries.reverse();
        let (primary, exchange, end) = (None, None, now + WAIT_MAX);
        Flight { request, message, left: primaries, primary, exchange, until: now, end }
    }

    /// The socket, and what it is waited for.
    pub(super) fn wanted(&self) -> Option<(&std::net::TcpStream, PollFlags)> {
        self.exchange.as_ref().map(|exchange| exchange.wanted(&self.message))
    }

    /// When it is to be looked at at the latest.
    pub(super) fn until(&self) -> Instant {
        self.until.min(self.end)
    }

    /// Whether this is the same request once more, of a client that has heard nothing.
    pub(super) fn is_repeated(&self, request: &Handed) -> bool {
        self.request.client == request.client && self.request.message == request.message
    }

    /// Whether this is the same request, as a primary would send it that sends it on to us.
    pub(super) fn is_same(&self, request: &Handed) -> bool {
        self.request.message.get(ID_OCTETS..) == request.message.get(ID_OCTETS..)
    }

    /// Goes on. `is_ready`: whether its socket has something to say.
    pub(super) fn step(&mut self, is_ready: bool, now: Instant) -> Step {
        if let Some(exchange) = &mut self.exchange {
            let late = || Err(std::io::ErrorKind::TimedOut.into());
            let went = match now >= self.until.min(self.end) {
                true => late(),
                false if is_ready => exchange.go_on(&self.message),
                false => return Step::Wait,
            };
            match went {
                Ok(None) => return Step::Wait,
                Ok(Some(answer)) => return Step::Answer(answer.into()),
                Err(error) => return self.give_up(error),
            }
        }
        self.begin_next(now)
    }

    fn give_up(&mut self, error: std::io::Error) -> Step {
        self.exchange = None;
        match self.primary.take() {
            Some(primary) => Step::Failed(primary.address, error),
            None => Step::Wait,
        }
    }

    fn begin_next(&mut self, now: Instant) -> Step {
        let Some(primary) = self.left.pop().filter(|_| now < self.end) else { return Step::Nobody };
        self.primary = Some(primary);
        self.until = now + PRIMARY_WAIT;
        match Exchange::begin(primary.address, primary.source) {
            Ok(exchange) => {
                self.exchange = Some(exchange);
                Step::Wait
            }
            Err(error) => self.give_up(error),
        }
    }

    /// Gives the client what a primary has said, under the client's ID. Where that is more than it takes it hears the code alone.
    pub(super) fn land(self, mut answer: Box<[u8]>, now: u64) {
        let request = self.request;
        if answer.len() > request.ticket.room().min(request.envelope.limit) {
            let code = wire::header::u16_at(&answer, 2) & 0xf;
            return request.reply_with((code, None, TC), now);
        }
        if let Some(place) = answer.get_mut(..ID_OCTETS) {
            place.copy_from_slice(&request.envelope.id());
        }
        request.ticket.reply(answer);
    }

    /// Tells the client that no primary has answered: it may have been done all the same.
    pub(super) fn fail(self, now: u64) {
        let said = Said::with_ede(rcode::SERVFAIL, ede::NO_REACHABLE_AUTHORITY);
        self.request.reply(said, now);
    }
}
