//! Clients: what they ask, and what they get.

use super::{Happening, World};
use crate::reply::{Asked, Opt, Reply};
use crate::tested::{Outside, Tested, Ticket};
use crate::time::Micros;
use std::net::SocketAddr;
use wire::iana::class;
use wire::{NameBuf, Transport, header};

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The name, in any case.
    pub qname: NameBuf,
    /// The type.
    pub qtype: u16,
    /// RD, CD, AD, as they are.
    pub flags: u16,
    /// OPT, if there is one.
    pub opt: Option<Opt>,
    /// How it is sent.
    pub transport: Transport,
    /// By whom.
    pub from: SocketAddr,
}

impl Question {
    /// A stub's question: RD, no EDNS, over UDP from 127.0.0.1.
    pub fn new(qname: &str, qtype: u16) -> Question {
        Question {
            qname: qname.parse().expect("a name"),
            qtype,
            flags: header::RD,
            opt: None,
            transport: Transport::Udp,
            from: SocketAddr::from(([127, 0, 0, 1], 40_000)),
        }
    }

    /// The same with DO.
    pub fn dnssec(mut self) -> Question {
        self.opt = Some(Opt { payload_octets: 1232, dnssec_ok: true, ..Opt::default() });
        self
    }
}

/// What a client got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// When.
    pub at: Micros,
    /// The message.
    pub octets: Vec<u8>,
}

/// A question and what came.
pub(super) struct Waiting {
    pub octets: Vec<u8>,
    pub from: SocketAddr,
    pub transport: Transport,
    pub asked_at: Micros,
    pub answers: Vec<Answer>,
}

impl World {
    /// Has a client ask after a time.
    pub fn ask_after(&mut self, after: Micros, question: &Question) -> Ticket {
        let id = self.of_clients.next_u64() as u16;
        let query = Reply {
            id,
            flags: question.flags,
            question: Some(Asked { qname: question.qname.clone(), qtype: question.qtype, qclass: class::IN }),
            opt: question.opt.clone(),
            ..Reply::default()
        };
        let ticket = Ticket(self.questions.last_key_value().map_or(0, |(last, _)| last.0) + 1);
        let waiting = Waiting {
            octets: query.octets(),
            from: question.from,
            transport: question.transport,
            asked_at: self.now + after,
            answers: Vec::new(),
        };
        self.questions.insert(ticket, waiting);
        self.asked += 1;
        self.put(after, Happening::Query { ticket });
        ticket
    }

    /// Has a client ask now.
    pub fn ask(&mut self, question: &Question) -> Ticket {
        self.ask_after(0, question)
    }

    /// What came of a question: none or one answer if all is right.
    pub fn answers(&self, ticket: Ticket) -> &[Answer] {
        self.questions.get(&ticket).map_or(&[], |waiting| &waiting.answers)
    }

    /// How long the first answer to a question took.
    pub fn took(&self, ticket: Ticket) -> Option<Micros> {
        let waiting = self.questions.get(&ticket)?;
        waiting.answers.first().map(|answer| answer.at - waiting.asked_at)
    }

    /// Forgets a question, and its answers, which are returned: long runs ask millions.
    pub fn forget(&mut self, ticket: Ticket) -> Vec<Answer> {
        self.questions.remove(&ticket).map(|waiting| waiting.answers).unwrap_or_default()
    }

    /// Says something to the resolver as its operator would.
    pub fn command(&mut self, tested: &mut dyn Tested, words: &str) -> Result<String, String> {
        self.transcript.say(self.now, || format!("operator: {words}"));
        let said = tested.command(words, self);
        debug_assert!(self.time().now == self.now);
        said
    }
}
