//! The entry point: from the octets of a query to those of its response.
//!
//! What concerns the message as a whole is decided here, in the order in which the peers do: faults, operation, EDNS
//! version, signature, class, type. Everything else is `answer`.

mod client;
mod kept;
mod limited;
mod refusal;
mod signed;

use crate::answer::{Buffers, Outcome, Session, Stop};
use crate::cache::{Cache, Given, Scope};
use crate::chaos;
use crate::counters::Counters;
use crate::denial::Proofs;
use crate::keys::KeyNumber;
use crate::rate::{Limiter, Told};
use crate::server::{Client, Server};
use crate::tally::Tally;
use client::{bare_opt, octets_max, response_opt};
use refusal::refusal;
use std::sync::Arc;
use wire::Transport;
use wire::cookie::{self, Malformed};
use wire::edns::{Edns, OPT_OCTETS, ResponseOpt};
use wire::header::{self, HEADER_OCTETS};
use wire::iana::{class, ede, rcode};
use wire::query::{PlainQuery, Query};
use wire::render::{Renderer, Section};
use zone::CatalogView;
use zone::catalog::Version;

/// Answers queries; one belongs to each worker.
#[derive(Default)]
pub struct Responder {
    buffers: Buffers,
    cache: Cache,
    /// Whether the query at hand, whose options were read, has a good cookie, if it has one that is answered; and what is said to that.
    has_good_cookie: Option<bool>,
    cookie: cookie::Reply,
    /// Who signed the query at hand, while it is answered; and whether anybody did, which limits ask afterwards.
    signer: Option<KeyNumber>,
    is_signed: bool,
    /// Whether the query at hand has a TSIG record: what is said to it is signed, and must not be changed. Until it is asked for.
    has_tsig: bool,
    /// What the cache wants to know of the answer at hand.
    given: Given,
    /// Whether a resolver can say more than the answer at hand.
    is_elsewhere: bool,
    /// The query at hand as it was read, where that is so and it was plain.
    elsewhere: Option<PlainQuery>,
    counters: Counters,
    tally: Arc<Tally>,
    /// Answers that were given before.
    repeated: u64,
    /// How many these were before the answer at hand, and how many had data, where that is limited.
    before: (u64, u64),
    limiter: Limiter,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// A response of so many octets; 0 when none must be sent.
    Octets(usize),
    /// It asks for something else than an answer, and nothing was written: see [`Responder::request`].
    Request,
    /// A resolver can say more: what was written, so many octets, is for clients that it is not for. See [`Server::recurses`].
    Elsewhere(usize),
}

/// What is known about a response before it is finished.
#[derive(Clone, Copy, Default)]
pub(crate) struct Verdict {
    /// The response code.
    pub rcode: u16,
    /// The extended error.
    pub ede: Option<u16>,
    /// AA and TC.
    pub flags: u16,
}

impl Verdict {
    pub(crate) fn of(rcode: u16) -> Verdict {
        Verdict { rcode, ..Verdict::default() }
    }

    pub(crate) fn with_ede(rcode: u16, ede: u16) -> Verdict {
        Verdict { rcode, ede: Some(ede), flags: 0 }
    }
}

impl Responder {
    /// A responder that has answered nothing yet.
    pub fn new() -> Responder {
        Responder::default()
    }

    /// A responder that has answered nothing yet, in the place of one that had counted so much, one of so many workers. `tally`: where it counts on;
    /// `told`: where it shows what its limits do.
    pub fn counting_from(counters: Counters, tally: Arc<Tally>, workers: u32, told: Arc<Told>) -> Responder {
        let responder =
            Responder { counters, tally, limiter: Limiter::new(workers, told), ..Responder::default() };
        responder.tally.show_kept(responder.cache.octets());
        responder
    }

    /// What it did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether what was just answered had a signature, and the answer has one, so that nothing of it may be changed. Told once.
    #[inline]
    pub fn take_signed(&mut self) -> bool {
        std::mem::take(&mut self.has_tsig)
    }

    /// The query that was just answered with [`Answered::Elsewhere`] as it was read, if it was plain: so that a resolver need not read it again.
    #[inline]
    pub fn elsewhere(&self) -> Option<&PlainQuery> {
        self.elsewhere.as_ref()
    }

    /// How many answers were given again as they were kept.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Forgets the answers given before, which are kept for when they are wanted again. Never needed for them to be right: that
    /// is for tests and measurements.
    pub fn forget(&mut self) {
        self.cache.forget();
        self.buffers.negative.forget();
    }

    /// Answers one query. `query`: a whole message as received. `response`: where the answer goes; its length bounds
    /// it beside the transport's limit, and 512 octets fit every answer to a UDP query.
    ///
    /// Whatever the octets: no panic, no allocation, work bounded by the constants in [`crate::limits`] and the
    /// lengths of the buffers.
    pub fn serve(
        &mut self,
        query: &[u8],
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Answered {
        if self.cache.check(server) {
            self.buffers.negative.restyle(server.style);
        }
        if !server.access.is_open() && !self.is_let_in(query, server, client) {
            return self.answer_unread(query, catalog, server, client, response);
        }
        let octets = match PlainQuery::read(query, &mut self.buffers.places) {
            Some(plain) => {
                self.tally.count(plain.qtype);
                self.answer_plain(query, &plain, catalog, server, client, response)
            }
            None => return self.answer_unread(query, catalog, server, client, response),
        };
        self.count_dropped(octets)
    }

    #[inline(always)]
    fn count_dropped(&mut self, octets: Option<usize>) -> Answered {
        self.counters.dropped += u64::from(octets.is_none());
        match std::mem::take(&mut self.is_elsewhere) {
            false => Answered::Octets(octets.unwrap_or(0)),
            true => Answered::Elsewhere(octets.unwrap_or(0)),
        }
    }

    /// Answers a query that nothing is wrong with: as before, if it was answered before.
    #[inline(always)]
    fn answer_plain(
        &mut self,
        message: &[u8],
        query: &PlainQuery,
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Option<usize> {
        let opt = match &query.edns {
            None => 0,
            Some(edns) if edns.options.is_empty() => OPT_OCTETS,
            Some(edns) => match self.read_options(message, edns, server, client) {
                Ok(true) => response_opt(edns, server, self.cookie()).octets(),
                _ => return self.answer_other(&query.query(message), catalog, server, client, response),
            },
        };
        let limit = octets_max(query.edns.as_ref(), server, client.transport).min(response.len());
        let labels = self.buffers.places.label_count();
        // Mostly there is one number of labels that decides.
        let mut others = catalog.key_labels();
        let decisive = others.take(labels);
        let asked = self.cache.asked(message, query, &self.buffers.places, decisive);
        if let Some(asked) = &asked
            && let Some(octets) =
                self.repeat(message, asked, query, (catalog, server), (limit, opt), response)
        {
            return Some(octets);
        }
        if !others.is_empty()
            && let Some(octets) = self.repeat_shorter(
                message,
                query,
                (catalog, server),
                (others, decisive),
                (limit, opt),
                response,
            )
        {
            return Some(octets);
        }
        let whole = query.query(message);
        let octets = self.respond(&whole, None, catalog, server, client, response)?;
        if self.is_elsewhere {
            self.elsewhere = Some(*query);
            return Some(octets);
        }
        if self.given.scope != Scope::Nothing {
            let is_first = self.given.key_labels == decisive;
            let again = match is_first {
                true => None,
                false => self.asked_again(message, query, catalog, self.given.key_labels),
            };
            if let Some(asked) = if is_first { &asked } else { &again } {
                let made = (catalog, &mut self.buffers);
                if self.cache.note(asked, query, &self.given, (limit, opt), response, made) {
                    self.tally.show_kept(self.cache.octets());
                }
            }
        }
        Some(octets)
    }

    /// Answers, or refuses to, what is not known to be plain.
    #[cold]
    fn answer_unread(
        &mut self,
        message: &[u8],
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Answered {
        self.elsewhere = None;
        let query = Query::read(message, &mut self.buffers.places);
        match query.as_ref().and_then(|query| query.question) {
            Some(question) => self.tally.count(question.qtype),
            None => self.tally.count_nothing(),
        }
        let octets = match &query {
            None => None,
            Some(query) if signed::kind_of(query).is_some() => return Answered::Request,
            // What else is wrong with it goes before.
            Some(query) if query.tsig.is_some() && query.fault.is_none() => {
                self.answer_signed(query, catalog, server, client, response)
            }
            Some(query) => self.answer_other(query, catalog, server, client, response),
        };
        self.count_dropped(octets)
    }

    /// Answers, or refuses to, whatever else comes.
    #[cold]
    fn answer_other(
        &mut self,
        query: &Query<'_>,
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Option<usize> {
        self.elsewhere = None;
        let message = query.message;
        let refusal = match query.edns.as_ref().map(|edns| self.read_options(message, edns, server, client)) {
            // What has a wrong length is not sent back (RFC 7873 5.2.2).
            Some(Err(Malformed)) => Some(Verdict::of(rcode::FORMERR)),
            Some(Ok(false)) => Some(refusal(query, true).unwrap_or(Verdict::of(rcode::BADCOOKIE))),
            Some(Ok(true)) => refusal(query, self.has_good_cookie.is_some()),
            None => refusal(query, false),
        };
        let refusal = refusal.or_else(|| self.refusal_of_client(query, server, client));
        self.respond(query, refusal, catalog, server, client, response)
    }

    /// Writes a response to a query whose options, if it has any, were read. Returns its octets.
    fn respond(
        &mut self,
        query: &Query<'_>,
        refusal: Option<Verdict>,
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Option<usize> {
        self.count_edns(query.edns.as_ref());
        let edns = query.edns.as_ref();
        let has_cookie = self.has_good_cookie.is_some() && edns.is_some_and(|edns| !edns.options.is_empty());
        let limit = octets_max(query.edns.as_ref(), server, client.transport);
        let opt = edns.map(|edns| response_opt(edns, server, has_cookie.then_some(&self.cookie)));
        let reserve = opt.as_ref().map_or(0, ResponseOpt::octets);
        let mut out = Renderer::new(response, limit, reserve)?;
        out.copy_query(query.message, query.question.map_or(HEADER_OCTETS, |question| question.end)).ok()?;
        let verdict = match refusal {
            Some(verdict) => verdict,
            None => self.ask(query, catalog, server, client.transport, &mut out),
        };
        // The same once more: what is said to a cookie would have to be copied to be kept meanwhile.
        let opt = edns.map(|edns| response_opt(edns, server, has_cookie.then_some(&self.cookie)));
        // What a resolver goes on from is no response yet.
        if !self.is_elsewhere {
            self.counters.response(verdict.flags, verdict.rcode);
        }
        finish(query, verdict, opt, &mut out)
    }

    /// Has the question answered, which there is; leaves in `given` what the cache wants to know.
    #[inline(always)]
    fn ask(
        &mut self,
        query: &Query<'_>,
        catalog: &CatalogView<'_>,
        server: &Server,
        transport: Transport,
        out: &mut Renderer<'_>,
    ) -> Verdict {
        self.given.scope = Scope::Nothing;
        let Some(question) = query.question else { return Verdict::of(rcode::FORMERR) };
        if question.qclass != class::IN && question.qclass != class::ANY {
            if question.qclass != class::CH {
                return Verdict::with_ede(rcode::REFUSED, ede::NOT_AUTHORITATIVE);
            }
            self.counters.chaos += 1;
            return chaos::answer(&question, server, &mut self.buffers, out);
        }
        let start = out.mark();
        let mut session = Session {
            out,
            buffers: &mut self.buffers,
            catalog,
            server,
            transport,
            qtype: question.qtype,
            dnssec_ok: query.edns.is_some_and(|edns| edns.dnssec_ok),
            is_referral: false,
            is_truncated: false,
            short_of: usize::MAX,
            scope: Scope::Nothing,
            key_labels: 0,
            source: Version::default(),
            proofs: Proofs::new(),
        };
        let result = session.answer();
        let Session { is_referral, is_truncated, short_of, scope, key_labels, .. } = session;
        let (outcome, scope) = match result {
            Ok(outcome) => (outcome, scope),
            Err(Stop::Full(outcome)) => (outcome, Scope::Nothing),
            Err(Stop::Damaged) => {
                out.rollback(start);
                self.counters.damaged += 1;
                return Verdict::of(rcode::SERVFAIL);
            }
        };
        let wants_recursion = query.flags & header::RD != 0;
        self.is_elsewhere = server.recurses && leads_elsewhere(outcome, wants_recursion);
        let mut verdict = self.count(outcome);
        if is_truncated || result.is_err() {
            verdict.flags |= header::TC;
        }
        // Answers to class ANY are never authoritative (RFC 1035 6.2).
        if is_referral || question.qclass == class::ANY {
            verdict.flags &= !header::AA;
        }
        let flags = verdict.flags | verdict.rcode;
        self.given =
            Given { scope, outcome, flags, short_of, key_labels, counts: out.counts(), end: out.at() };
        verdict
    }

    /// Counts an outcome and says what it means for the header.
    #[inline(always)]
    fn count(&mut self, outcome: Outcome) -> Verdict {
        let counters = &mut self.counters;
        let (count, rcode) = match outcome {
            Outcome::Answer => (&mut counters.answers, rcode::NOERROR),
            Outcome::NoData => (&mut counters.no_data, rcode::NOERROR),
            Outcome::NameError => (&mut counters.name_errors, rcode::NXDOMAIN),
            Outcome::Referral => (&mut counters.referrals, rcode::NOERROR),
            Outcome::Alias => (&mut counters.aliases, rcode::NOERROR),
            Outcome::TooLong => (&mut counters.aliases, rcode::YXDOMAIN),
            Outcome::NotOurs => return Verdict::with_ede(rcode::REFUSED, ede::NOT_AUTHORITATIVE),
            Outcome::NotLoaded => return Verdict::with_ede(rcode::SERVFAIL, ede::NOT_READY),
            Outcome::Expired => return Verdict::with_ede(rcode::SERVFAIL, ede::INVALID_DATA),
            Outcome::Prohibited | Outcome::Unproved => return self.count_kept_out(outcome),
        };
        *count += 1;
        Verdict { rcode, ede: None, flags: header::AA }
    }

    /// Counts a query that came here not at all, as there is no zone that it could be about: its type, 0 if it has no question, and its EDNS.
    #[inline]
    pub fn count_passed_by(&mut self, qtype: u16, has_edns: bool, dnssec_ok: bool) {
        match qtype {
            0 => self.tally.count_nothing(),
            qtype => self.tally.count(qtype),
        }
        self.counters.edns += u64::from(has_edns);
        self.counters.dnssec_ok += u64::from(dnssec_ok);
    }

    /// Counts what was [`Answered::Elsewhere`] and is the response after all. `response`: a header at least.
    #[cold]
    pub fn count_given(&mut self, response: &[u8]) {
        let flags = header::u16_at(response, 2);
        self.counters.response(flags, flags & 15);
    }

    #[inline(always)]
    fn count_edns(&mut self, edns: Option<&Edns>) {
        if let Some(edns) = edns {
            self.counters.edns += 1;
            self.counters.dnssec_ok += u64::from(edns.dnssec_ok);
        }
    }
}

/// Whether a resolver can say more than this.
fn leads_elsewhere(outcome: Outcome, wants_recursion: bool) -> bool {
    match outcome {
        Outcome::NotOurs => true,
        Outcome::Referral | Outcome::Alias => wants_recursion,
        _ => false,
    }
}

/// Adds OPT and writes the header.
#[inline(always)]
fn finish(
    query: &Query<'_>,
    verdict: Verdict,
    opt: Option<ResponseOpt<'_>>,
    out: &mut Renderer<'_>,
) -> Option<usize> {
    out.release();
    out.begin_section(Section::Additional);
    if let Some(mut opt) = opt {
        opt.rcode = verdict.rcode;
        opt.ede = verdict.ede;
        opt.write(out).ok()?;
    }
    // CD is for resolvers, and cleared (RFC 4035 3.1.6).
    let kept = query.flags & (header::OPCODE_MASK | header::RD);
    let flags = header::QR | kept | verdict.flags | (verdict.rcode & 15);
    Some(out.finish(flags, u16::from(query.question.is_some())))
}
