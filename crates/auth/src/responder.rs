//! The entry point: from the octets of a query to those of its response.
//!
//! What concerns the message as a whole is decided here, in the order in which the peers do: faults, operation, EDNS
//! version, signature, class, type. Everything else is `answer`.

use crate::admission::Admission;
use crate::answer::{Buffers, Outcome, Session, Stop};
use crate::cache::{Asked, Cache, Given, Scope};
use crate::counters::Counters;
use crate::denial::Proofs;
use crate::limits::UDP_OCTETS_MIN;
use crate::server::{Client, Server};
use crate::{chaos, tsig};
use wire::Transport;
use wire::cookie::{self, Cookie, Malformed};
use wire::edns::{self, Edns, OPT_OCTETS, ResponseOpt};
use wire::header::{self, HEADER_OCTETS};
use wire::iana::{class, ede, opcode, rcode, rtype};
use wire::query::{Fault, PlainQuery, Query};
use wire::render::{Renderer, Section};
use zone::CatalogView;
use zone::catalog::{KeyLabels, Version};

/// Answers queries; one belongs to each worker.
#[derive(Default)]
pub struct Responder {
    buffers: Buffers,
    cache: Cache,
    /// Whether the query at hand, whose options were read, has a good cookie, if it has one that is answered; and what is said to that.
    has_good_cookie: Option<bool>,
    cookie: cookie::Reply,
    /// What the cache wants to know of the answer at hand.
    given: Given,
    counters: Counters,
    /// Answers that were given before.
    repeated: u64,
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

    /// A responder that has answered nothing yet, in the place of one that had counted so much.
    pub fn counting_from(counters: Counters) -> Responder {
        Responder { counters, ..Responder::default() }
    }

    /// What it did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
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
    /// it beside the transport's limit, and 512 octets fit every answer to a UDP query. Returns the octets of the
    /// response; 0 when none must be sent.
    ///
    /// Whatever the octets: no panic, no allocation, work bounded by the constants in [`crate::limits`] and the
    /// lengths of the buffers.
    pub fn answer(
        &mut self,
        query: &[u8],
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> usize {
        self.counters.queries += 1;
        self.counters.tcp += u64::from(client.transport.is_stream());
        if self.cache.check(server) {
            self.buffers.negative.forget();
        }
        if !server.access.is_open() && !self.is_let_in(query, server, client) {
            let octets = self.answer_other(query, catalog, server, client, response);
            return self.count_dropped(octets);
        }
        let octets = match PlainQuery::read(query, &mut self.buffers.places) {
            Some(plain) => self.answer_plain(query, &plain, catalog, server, client, response),
            None => self.answer_other(query, catalog, server, client, response),
        };
        self.count_dropped(octets)
    }

    #[inline(always)]
    fn count_dropped(&mut self, octets: Option<usize>) -> usize {
        self.counters.dropped += u64::from(octets.is_none());
        octets.unwrap_or(0)
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
                _ => return self.answer_other(message, catalog, server, client, response),
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
        if self.given.scope != Scope::Nothing {
            let is_first = self.given.key_labels == decisive;
            let again = match is_first {
                true => None,
                false => self.asked_again(message, query, catalog, self.given.key_labels),
            };
            if let Some(asked) = if is_first { &asked } else { &again } {
                let made = (catalog, &mut self.buffers);
                self.cache.note(asked, query, &self.given, (limit, opt), response, made);
            }
        }
        Some(octets)
    }

    /// Gives an answer again, if there is one. `rooms`: see [`Cache::paste`].
    #[inline(always)]
    fn repeat(
        &mut self,
        message: &[u8],
        asked: &Asked,
        query: &PlainQuery,
        (catalog, server): (&CatalogView<'_>, &Server),
        rooms: (usize, usize),
        response: &mut [u8],
    ) -> Option<usize> {
        let pasted = self.cache.paste(asked, query, &self.buffers.places, catalog, rooms, response);
        let (end, flags, outcome) = pasted?;
        if let Some(edns) = &query.edns {
            let room = &mut response[end..end + rooms.1];
            match edns.options.is_empty() {
                true => bare_opt(edns, server).write_to(room),
                false => response_opt(edns, server, self.cookie()).write_to(room),
            }
        }
        self.count_edns(query.edns.as_ref());
        response[..2].copy_from_slice(&message[..2]);
        response[HEADER_OCTETS..query.end].copy_from_slice(&message[HEADER_OCTETS..query.end]);
        self.repeated += 1;
        let verdict = self.count(outcome);
        self.count_response(flags, verdict.rcode);
        Some(end + rooms.1)
    }

    /// The same for fewer labels than `before`.
    #[inline(never)]
    fn repeat_shorter(
        &mut self,
        message: &[u8],
        query: &PlainQuery,
        (catalog, server): (&CatalogView<'_>, &Server),
        (mut others, mut before): (KeyLabels, usize),
        rooms: (usize, usize),
        response: &mut [u8],
    ) -> Option<usize> {
        let labels = self.buffers.places.label_count();
        while !others.is_empty() {
            let decisive = others.take(labels);
            if decisive == before {
                continue;
            }
            before = decisive;
            let asked = self.cache.asked(message, query, &self.buffers.places, decisive);
            if let Some(asked) = &asked
                && let Some(octets) = self.repeat(message, asked, query, (catalog, server), rooms, response)
            {
                return Some(octets);
            }
        }
        None
    }

    /// The question under the labels that decided about it, if kept answers can be under so many. Mostly that is the one that was looked for first.
    #[inline(never)]
    fn asked_again(
        &mut self,
        message: &[u8],
        query: &PlainQuery,
        catalog: &CatalogView<'_>,
        labels: usize,
    ) -> Option<Asked> {
        let places = &mut self.buffers.other_places;
        places.read_plain(message, HEADER_OCTETS).ok()?;
        let is_tried = catalog.key_labels().each().any(|wanted| wanted.min(places.label_count()) == labels);
        self.cache.asked(message, query, places, labels).filter(|_| is_tried)
    }

    /// Answers, or refuses to, whatever else comes.
    #[cold]
    fn answer_other(
        &mut self,
        message: &[u8],
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Option<usize> {
        let query = Query::read(message, &mut self.buffers.places)?;
        let refusal = match query.edns.as_ref().map(|edns| self.read_options(message, edns, server, client)) {
            // What has a wrong length is not sent back (RFC 7873 5.2.2).
            Some(Err(Malformed)) => Some(Verdict::of(rcode::FORMERR)),
            Some(Ok(false)) => {
                Some(refusal(&query, client.transport, true).unwrap_or(Verdict::of(rcode::BADCOOKIE)))
            }
            Some(Ok(true)) => refusal(&query, client.transport, self.has_good_cookie.is_some()),
            None => refusal(&query, client.transport, false),
        };
        let refusal = refusal.or_else(|| self.refusal_of_client(&query, server, client));
        self.respond(&query, refusal, catalog, server, client, response)
    }

    /// Whether access lists let a client ask what may have been answered before. Apart from that, and the query is read twice, so that who has no lists
    /// pays for one test.
    #[cold]
    #[inline(never)]
    fn is_let_in(&mut self, message: &[u8], server: &Server, client: &Client<'_>) -> bool {
        let Some(query) = PlainQuery::read(message, &mut self.buffers.places) else { return false };
        if let Some(edns) = &query.edns
            && self.read_options(message, edns, server, client) != Ok(true)
        {
            return false;
        }
        self.admit(query.edns.as_ref(), server, client)
    }

    /// Whether access lists let a client ask, unless the zone has a rule of its own. Before an answer, as that looks at who asks; after the options
    /// of the query were read, if it has any.
    fn admit(&mut self, edns: Option<&Edns>, server: &Server, client: &Client<'_>) -> bool {
        let has_good_cookie = edns.filter(|edns| !edns.options.is_empty()).and(self.has_good_cookie);
        self.buffers.admission = Admission::of(server, client, has_good_cookie);
        self.buffers.admission.is_let_in()
    }

    /// What access lists have said to a query that no zone needs to be looked for.
    fn refusal_of_client(
        &mut self,
        query: &Query<'_>,
        server: &Server,
        client: &Client<'_>,
    ) -> Option<Verdict> {
        if server.access.is_open() || self.admit(query.edns.as_ref(), server, client) {
            return None;
        }
        let refusal = self.buffers.admission.refusal(query, server);
        self.counters.refused_by_access_lists += u64::from(refusal.is_some());
        refusal
    }

    /// What is said to the cookie of a query whose options were read.
    #[inline(always)]
    fn cookie(&self) -> Option<&cookie::Reply> {
        self.has_good_cookie.map(|_| &self.cookie)
    }

    /// Looks at the options of a query that concern the answer: leaves what is said to its COOKIE. Whether there is no cookie, or the
    /// good one that is demanded (RFC 7873 5.2.3).
    #[inline(always)]
    fn read_options(
        &mut self,
        message: &[u8],
        edns: &Edns,
        server: &Server,
        client: &Client<'_>,
    ) -> Result<bool, Malformed> {
        self.has_good_cookie = None;
        if let Some(data) = edns.options.cookie(message)
            && let Some(secrets) = &server.cookies
        {
            let cookie = Cookie::read(data)?;
            let is_good = secrets.reply(&cookie, client.address.ip(), client.now, &mut self.cookie);
            self.has_good_cookie = Some(is_good);
            return Ok(is_good || !server.demands_cookies || client.transport.is_stream());
        }
        Ok(true)
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
        let cookie = self.cookie;
        let opt = edns.map(|edns| response_opt(edns, server, has_cookie.then_some(&cookie)));
        let limit = octets_max(query.edns.as_ref(), server, client.transport);
        let reserve = opt.as_ref().map_or(0, ResponseOpt::octets);
        let mut out = Renderer::new(response, limit, reserve)?;
        out.copy_query(query.message, query.question.map_or(HEADER_OCTETS, |question| question.end)).ok()?;
        let verdict = match refusal {
            Some(verdict) => verdict,
            None => self.ask(query, catalog, server, client.transport, &mut out),
        };
        self.finish(query, verdict, opt, out)
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

    #[cold]
    #[inline(never)]
    fn count_kept_out(&mut self, outcome: Outcome) -> Verdict {
        self.counters.refused_by_access_lists += 1;
        self.buffers.admission.verdict(outcome)
    }

    #[inline(always)]
    fn count_edns(&mut self, edns: Option<&Edns>) {
        if let Some(edns) = edns {
            self.counters.edns += 1;
            self.counters.dnssec_ok += u64::from(edns.dnssec_ok);
        }
    }

    #[inline(always)]
    fn count_response(&mut self, flags: u16, rcode: u16) {
        self.counters.truncated += u64::from(flags & header::TC != 0);
        self.counters.rcode(rcode);
    }

    /// Adds OPT and TSIG and writes the header.
    #[inline(always)]
    fn finish(
        &mut self,
        query: &Query<'_>,
        verdict: Verdict,
        opt: Option<ResponseOpt<'_>>,
        mut out: Renderer<'_>,
    ) -> Option<usize> {
        out.release();
        out.begin_section(Section::Additional);
        if let Some(mut opt) = opt {
            opt.rcode = verdict.rcode;
            opt.ede = verdict.ede;
            opt.write(&mut out).ok()?;
        }
        if let Some(record) = &query.tsig
            && verdict.rcode == rcode::NOTAUTH
        {
            tsig::refuse(query, record, &mut out);
        }
        // CD is for resolvers, and cleared (RFC 4035 3.1.6).
        let kept = query.flags & (header::OPCODE_MASK | header::RD);
        let flags = header::QR | kept | verdict.flags | (verdict.rcode & 15);
        self.count_response(verdict.flags, verdict.rcode);
        Some(out.finish(flags, u16::from(query.question.is_some())))
    }
}

/// The OPT record of the response to a query with EDNS; `cookie`: what is said to that of the query.
#[inline(always)]
fn response_opt<'o>(edns: &Edns, server: &'o Server, cookie: Option<&'o cookie::Reply>) -> ResponseOpt<'o> {
    ResponseOpt {
        cookie,
        nsid: if edns.wants_nsid() { server.nsid() } else { None },
        ..bare_opt(edns, server)
    }
}

/// The same where the query has no options.
#[inline(always)]
fn bare_opt(edns: &Edns, server: &Server) -> ResponseOpt<'static> {
    ResponseOpt {
        udp_payload_octets: server.udp_payload_octets,
        dnssec_ok: edns.dnssec_ok,
        ..ResponseOpt::default()
    }
}

/// The largest response the client takes.
#[inline(always)]
fn octets_max(edns: Option<&Edns>, server: &Server, transport: Transport) -> usize {
    if transport.is_stream() {
        return u16::MAX as usize;
    }
    let wanted = edns.map_or(0, |edns| edns.udp_payload_octets.min(server.udp_payload_octets));
    UDP_OCTETS_MIN.max(wanted as usize)
}

/// What is said to a query that is not looked at any further. `None`: look at it.
/// `has_cookie`: it has a COOKIE option that is answered.
fn refusal(query: &Query<'_>, transport: Transport, has_cookie: bool) -> Option<Verdict> {
    if header::opcode(query.flags) != opcode::QUERY {
        return Some(Verdict::with_ede(rcode::NOTIMP, ede::NOT_SUPPORTED));
    }
    // Without question it is about the cookie alone (RFC 7873 5.4).
    if query.fault == Some(Fault::NoQuestion) && has_cookie {
        return Some(Verdict::of(rcode::NOERROR));
    }
    if query.fault.is_some() {
        return Some(Verdict::of(rcode::FORMERR));
    }
    if query.edns.is_some_and(|edns| edns.version != edns::VERSION) {
        return Some(Verdict::of(rcode::BADVERS));
    }
    // No keys are known, so every signature is one of an unknown key (RFC 8945 5.2.1).
    if let Some(record) = &query.tsig {
        let is_whole = tsig::is_whole(query.message, record);
        return Some(Verdict::of(if is_whole { rcode::NOTAUTH } else { rcode::FORMERR }));
    }
    refusal_of_type(query.question?.qtype, transport)
}

/// What is said to types that no record has; ANY is answered.
fn refusal_of_type(qtype: u16, transport: Transport) -> Option<Verdict> {
    if !rtype::is_meta(qtype) || qtype == rtype::ANY {
        return None;
    }
    Some(match qtype {
        // AXFR is not defined over UDP (RFC 5936 4.2).
        rtype::AXFR if !transport.is_stream() => Verdict::of(rcode::FORMERR),
        rtype::AXFR | rtype::IXFR => Verdict::with_ede(rcode::REFUSED, ede::PROHIBITED),
        rtype::MAILA | rtype::MAILB => Verdict::with_ede(rcode::NOTIMP, ede::NOT_SUPPORTED),
        rtype::NXNAME => Verdict::with_ede(rcode::FORMERR, ede::INVALID_QUERY_TYPE),
        _ => Verdict::of(rcode::FORMERR),
    })
}
