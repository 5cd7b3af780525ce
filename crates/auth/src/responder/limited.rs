//! Answers for clients who are limited: who is, what is the same answer, and what they get beyond their limits.
//!
//! A response is made as for everybody, looked at, and taken back where it is one too many: so the way of those who are not limited knows nothing of
//! limits.

use super::client::{bare_opt, octets_max};
use super::{Answered, Responder, Verdict, finish};
use crate::access::{Asker, Decision};
use crate::answer::ToldBy;
use crate::rate::{Kind, Limits};
use crate::server::{Client, Server};
use std::sync::Arc;
use std::time::Duration;
use wire::edns::ResponseOpt;
use wire::header::{self, HEADER_OCTETS, u16_at};
use wire::iana::rcode;
use wire::query::Query;
use wire::render::Renderer;
use wire::sort_key::fold_case;
use zone::CatalogView;

/// The two upper bits of a length octet: a compression pointer.
const POINTER: u8 = 0xc0;

impl Responder {
    /// Tells the time to the limits, since a moment that is the same for the life of the worker. To be called once a batch where there are some.
    pub fn set_time(&mut self, elapsed: Duration) {
        self.limiter.set_time(elapsed);
    }

    /// Shows what the limits did.
    pub fn show_limited(&self) {
        self.limiter.show();
    }

    /// As [`Responder::serve`], within the limits of the server.
    #[inline(never)]
    pub fn serve_limited(
        &mut self,
        query: &[u8],
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Answered {
        // The option and the key of a query before are none of this one.
        (self.has_good_cookie, self.is_signed) = (None, false);
        self.before = (self.repeated, self.counters.answers);
        match self.serve(query, catalog, server, client, response) {
            Answered::Octets(octets) => self.limit(query, octets, server, client, response),
            other => other,
        }
    }

    /// Holds the answer that was just made against the limits: what [`Answered::Elsewhere`] came with and is sent all the same.
    pub fn limit(
        &mut self,
        query: &[u8],
        octets: usize,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Answered {
        let answered = Answered::Octets(octets);
        let (repeated, answers) = self.before;
        let Some(limits) = server.access.limits() else { return answered };
        let is_known = client.is_proved || client.transport.is_stream() || self.is_signed;
        if is_known || self.has_good_cookie == Some(true) {
            return answered;
        }
        let Some(made) = response.get(..octets).and_then(Made::read) else { return answered };
        let is_new = self.repeated == repeated;
        let (kind, token) = self.told(&made, is_new);
        if !self
            .limiter
            .prepare(limits)
            .refuses(client.address, kind, token, || is_exempt(limits, server, client))
        {
            return answered;
        }
        let has_data = self.counters.answers != answers;
        self.uncount(kind, has_data, u16_at(response, 2));
        let octets = self.answer_refused(query, kind, server, client, response);
        self.count_dropped(octets)
    }

    /// What a response is to the limits, and what tells it from others of its kind. `is_new`: it was not kept, so that it is known what it was made from.
    #[inline(always)]
    fn told(&self, made: &Made<'_>, is_new: bool) -> (Kind, u64) {
        let kind = made.kind();
        let token = match kind {
            Kind::Answer if is_new && self.buffers.sources.told_by == ToldBy::Zone => {
                return (Kind::Wildcard, u64::from(self.buffers.sources.first_slot().0));
            }
            Kind::Answer => {
                hash_of(made.octets, HEADER_OCTETS, made.question_end) ^ u64::from(made.qtype()) << 32
            }
            Kind::Other => 0,
            // SOA stands at the zone's name, NS at that of the cut.
            _ => hash_of(made.octets, made.first_owner(), made.question_end),
        };
        (kind, token)
    }

    /// Takes back that a response was given, which is not after all. `has_data`: it was counted as an answer with data.
    #[cold]
    fn uncount(&mut self, kind: Kind, has_data: bool, flags: u16) {
        let counters = &mut self.counters;
        let count = match kind {
            Kind::Answer | Kind::Wildcard if has_data => Some(&mut counters.answers),
            // A truncated one without records may have been any.
            Kind::Answer | Kind::Wildcard if flags & header::TC == 0 => Some(&mut counters.aliases),
            Kind::Referral => Some(&mut counters.referrals),
            Kind::NoData => Some(&mut counters.no_data),
            Kind::NameError => Some(&mut counters.name_errors),
            _ => None,
        };
        if let Some(count) = count {
            *count = count.saturating_sub(1);
        }
        // Those of more than four bits are errors, which stay counted.
        let rcode = &mut counters.rcodes[usize::from(flags & 15)];
        *rcode = rcode.saturating_sub(u64::from(kind != Kind::Other));
        counters.truncated = counters.truncated.saturating_sub(u64::from(flags & header::TC != 0));
    }

    /// What a client gets instead of an answer that is beyond a limit: mostly nothing; else none of its records, and how to come again.
    #[cold]
    #[inline(never)]
    fn answer_refused(
        &mut self,
        message: &[u8],
        kind: Kind,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Option<usize> {
        let query = Query::read(message, &mut self.buffers.places)?;
        let (question, edns) = (query.question?, query.edns.as_ref());
        let cookie = self.cookie;
        let has_cookie = self.has_good_cookie.is_some();
        let verdict = match has_cookie {
            true => Verdict::of(rcode::BADCOOKIE),
            // It helps nobody to ask again over TCP what is wrong.
            false if kind == Kind::Other => return None,
            false => Verdict { flags: header::TC, ..Verdict::of(rcode::NOERROR) },
        };
        let opt =
            edns.map(|edns| ResponseOpt { cookie: has_cookie.then_some(&cookie), ..bare_opt(edns, server) });
        let octets = question.end + opt.as_ref().map_or(0, ResponseOpt::octets);
        if !self.limiter.slips(message.len(), octets) {
            return None;
        }
        let mut out = Renderer::new(response, octets_max(edns, server, client.transport), 0)?;
        out.copy_query(message, question.end).ok()?;
        let query = Query { tsig: None, ..query };
        self.counters.response(verdict.flags, verdict.rcode);
        finish(&query, verdict, opt, &mut out)
    }
}

/// A response with a question, as far as limits look at it.
struct Made<'r> {
    octets: &'r [u8],
    /// Where the labels of the question end: at the root label.
    question_end: usize,
}

impl<'r> Made<'r> {
    /// Reads a response of ours. `None` where there is none.
    #[inline(always)]
    fn read(octets: &'r [u8]) -> Option<Made<'r>> {
        let mut at = HEADER_OCTETS;
        // One without a question is an error, and looked at no further.
        if octets.len() <= HEADER_OCTETS || u16_at(octets, 4) == 0 {
            return (!octets.is_empty()).then_some(Made { octets, question_end: HEADER_OCTETS });
        }
        while let Some(&length) = octets.get(at)
            && length != 0
        {
            at += 1 + usize::from(length);
        }
        Some(Made { octets, question_end: at })
    }

    /// What it is. Wildcards do not show.
    #[inline(always)]
    fn kind(&self) -> Kind {
        let Some(&[_, _, high, low, _, questions, a, b, n, s, _, _]) =
            self.octets.first_chunk::<HEADER_OCTETS>()
        else {
            return Kind::Other;
        };
        // Class CH.
        if questions == 0 || self.octets.get(self.question_end + 4) == Some(&3) {
            return Kind::Other;
        }
        match (u16::from(low & 15), (a | b) != 0, (n | s) != 0) {
            (rcode::NXDOMAIN, _, true) => Kind::NameError,
            (rcode::NOERROR | rcode::YXDOMAIN, true, _) => Kind::Answer,
            (rcode::NOERROR, false, true) if high & (header::AA >> 8) as u8 == 0 => Kind::Referral,
            (rcode::NOERROR, false, true) => Kind::NoData,
            // Truncated before its first record.
            (rcode::NOERROR | rcode::NXDOMAIN | rcode::YXDOMAIN, ..) => Kind::Answer,
            _ => Kind::Other,
        }
    }

    /// The type asked for.
    #[inline(always)]
    fn qtype(&self) -> u16 {
        self.octets.get(self.question_end + 1..self.question_end + 3).map_or(0, |octets| u16_at(octets, 0))
    }

    /// Where in the question the owner of the first record of the authority section begins: at the name asked for or an ancestor of that, where nothing answers; the name
    /// itself if it stands elsewhere, behind aliases.
    #[inline(always)]
    fn first_owner(&self) -> usize {
        match self.octets.get(self.question_end + 5..self.question_end + 7) {
            Some(&[0, _]) => self.question_end,
            Some(&[high, low]) if high & POINTER == POINTER => {
                let at = usize::from(u16::from_be_bytes([high & !POINTER, low]));
                if at < self.question_end { at } else { HEADER_OCTETS }
            }
            _ => HEADER_OCTETS,
        }
    }
}

/// A hash of the labels at `from..to` of a message, whatever their case. Whoever can have two names meet has answers counted together that are not the same.
#[inline(always)]
fn hash_of(message: &[u8], from: usize, to: usize) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let Some(labels) = message.get(from..to) else { return 0 };
    let (words, rest) = labels.as_chunks::<8>();
    let add = |hash: u64, word| (hash ^ fold_case(word)).wrapping_mul(K).rotate_left(29);
    let hash = words.iter().fold(0, |hash, word| add(hash, u64::from_le_bytes(*word)));
    // The eight octets that end with the labels: the header stands before them.
    match message.get(to.wrapping_sub(8)..to).and_then(|last| last.first_chunk()) {
        Some(last) if !rest.is_empty() => add(hash, u64::from_le_bytes(*last) >> (64 - 8 * rest.len())),
        _ => hash,
    }
}

/// Whether lists say that a client is not limited.
#[cold]
fn is_exempt(limits: &Arc<Limits>, server: &Server, client: &Client<'_>) -> bool {
    let (address, transport) = (client.address.ip(), client.transport);
    let asker = Asker { address, transport, is_proved: client.is_proved, key: None };
    server.access.of_rule(&limits.exempt, &asker) == Decision::Allowed
}
