//! What access lists mean for a query: whether it may be answered, from which zones, and what is said if not.
//!
//! Nothing here is called where everybody may ask everything ([`crate::Access::is_open`]).

use crate::access::{Asker, Decision, Kind};
use crate::answer::{Outcome, Session};
use crate::keys::KeyNumber;
use crate::responder::Verdict;
use crate::server::{Client, Server};
use std::net::{IpAddr, Ipv4Addr};
use wire::Transport;
use wire::header;
use wire::iana::{class, ede, rcode};
use wire::query::Query;
use zone::catalog::{Group, SlotNumber};

/// Who asks, and whether that is enough where no zone has a rule of its own.
#[derive(Clone, Copy)]
pub(crate) struct Admission {
    address: IpAddr,
    transport: Transport,
    is_proved: bool,
    /// Of the signature, which was verified.
    key: Option<KeyNumber>,
    /// The COOKIE option of the query is answered.
    has_cookie: bool,
    by_default: Decision,
}

impl Default for Admission {
    /// That of nobody.
    fn default() -> Admission {
        let address = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        Admission {
            address,
            transport: Transport::Udp,
            is_proved: false,
            key: None,
            has_cookie: false,
            by_default: Decision::Denied,
        }
    }
}

impl Admission {
    /// That of a client. `has_good_cookie`: whether the COOKIE option of its query is a good one, if there is one that is answered; `key`: what signed it.
    pub(crate) fn of(
        server: &Server,
        client: &Client<'_>,
        has_good_cookie: Option<bool>,
        key: Option<KeyNumber>,
    ) -> Admission {
        let mut admission = Admission {
            address: client.address.ip(),
            transport: client.transport,
            is_proved: client.is_proved || has_good_cookie == Some(true),
            key,
            has_cookie: has_good_cookie.is_some(),
            by_default: Decision::Denied,
        };
        let asker = admission.asker(server);
        admission.by_default = server.access.decide(Kind::Query, Group::default(), &asker);
        admission
    }

    /// Who asks, as access lists want it. `server`: the one whose keys the number is of.
    fn asker<'s>(&self, server: &'s Server) -> Asker<'s> {
        let Admission { address, transport, is_proved, .. } = *self;
        let key = self.key.and_then(|number| server.keys.get(number));
        Asker { address, transport, is_proved, key: key.map(|key| key.name()) }
    }

    /// Whether zones without a rule of their own are for this client.
    pub(crate) fn is_let_in(&self) -> bool {
        self.by_default == Decision::Allowed
    }

    /// What is said to a query whatever zone it is about; `None`: the zone decides, or nothing is wrong.
    pub(crate) fn refusal(&self, query: &Query<'_>, server: &Server) -> Option<Verdict> {
        let is_about_zone =
            query.question.is_some_and(|question| matches!(question.qclass, class::IN | class::ANY));
        let is_left_to_zone = is_about_zone && server.access.has_group_queries();
        outcome(self.by_default).filter(|_| !is_left_to_zone).map(|outcome| self.verdict(outcome))
    }

    /// What is said where this became of a question.
    pub(crate) fn verdict(&self, outcome: Outcome) -> Verdict {
        match outcome {
            Outcome::Unproved if !self.transport.is_stream() => match self.has_cookie {
                // It comes again with the cookie that it gets (RFC 7873 5.2.3).
                true => Verdict::of(rcode::BADCOOKIE),
                // It comes again over TCP.
                false => Verdict { flags: header::TC, ..Verdict::of(rcode::NOERROR) },
            },
            _ => Verdict::with_ede(rcode::REFUSED, ede::PROHIBITED),
        }
    }
}

/// What becomes of a question; `None`: it is answered.
fn outcome(decision: Decision) -> Option<Outcome> {
    match decision {
        Decision::Allowed => None,
        Decision::Unproved => Some(Outcome::Unproved),
        Decision::Denied => Some(Outcome::Prohibited),
    }
}

impl Session<'_, '_, '_> {
    /// Why a client gets nothing of what was found in this slot; `None` if it does.
    #[cold]
    #[inline(never)]
    pub(crate) fn keeps_out(&self, slot: SlotNumber) -> Option<Outcome> {
        let admission = &self.buffers.admission;
        let group = self.catalog.group_of(slot);
        if group.is_mirror() {
            return Some(Outcome::NotOurs);
        }
        if self.server.access.is_open() {
            return None;
        }
        let decision = match group.is_for_some() {
            true => self.server.access.decide(Kind::Query, group, &admission.asker(self.server)),
            false => admission.by_default,
        };
        outcome(decision)
    }

    /// The same where no zone has been found.
    pub(crate) fn keeps_all_out(&self) -> Option<Outcome> {
        if self.server.access.is_open() { None } else { outcome(self.buffers.admission.by_default) }
    }
}
