//! Signed messages (TSIG, RFC 8945), and requests for something else than an answer. A signature is verified here, once, whatever it signs; plain queries
//! have none and never come here.

use super::client::octets_max;
use super::{Answered, Responder};
use crate::access::{Asker, Kind};
use crate::request::{Envelope, Opt, Request, Signer};
use crate::server::{Client, Server};
use std::sync::Arc;
use wire::cookie;
use wire::edns::{self, OPT_OCTETS};
use wire::header::{self, u16_at};
use wire::iana::{ede, opcode, rcode, rtype};
use wire::query::Query;
use wire::tsig::{self, Fault, Rejected};
use wire::{Name, Transport};
use zone::CatalogView;

/// What a message asks for, if that is something else than an answer. `None`: a query, or what nobody carries out.
pub(super) fn kind_of(query: &Query<'_>) -> Option<Kind> {
    match header::opcode(query.flags) {
        opcode::QUERY => {
            let qtype = query.question?.qtype;
            (query.fault.is_none() && matches!(qtype, rtype::AXFR | rtype::IXFR)).then_some(Kind::Transfer)
        }
        opcode::NOTIFY => Some(Kind::Notify),
        opcode::UPDATE => Some(Kind::Update),
        _ => None,
    }
}

impl Responder {
    /// Answers a query whose TSIG record could be read, once that is verified; within the client's room for what it takes, with the signature.
    #[cold]
    pub(super) fn answer_signed(
        &mut self,
        query: &Query<'_>,
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Option<usize> {
        let unsigned = Query { tsig: None, ..*query };
        self.has_tsig = true;
        let limit = octets_max(query.edns.as_ref(), server, client.transport).min(response.len());
        let response = &mut response[..limit];
        match tsig::verify(query.message, &server.keys, client.now) {
            Ok(verified) => {
                let end = query.question.map_or(header::HEADER_OCTETS, |question| question.end);
                let least = end + if query.edns.is_some() { OPT_OCTETS } else { 0 };
                let room = limit.saturating_sub(verified.reply.octets()).max(least).min(limit);
                self.signer = server.keys.number(verified.key.name());
                self.is_signed = true;
                let octets = self.answer_other(&unsigned, catalog, server, client, &mut response[..room]);
                self.signer = None;
                verified.reply.append(response, octets?, client.now)
            }
            Err(rejected) => {
                self.count_edns(query.edns.as_ref());
                let envelope = envelope(&unsigned, server, client, None);
                let octets = self.reject(&envelope, &rejected, response, client.now);
                (octets > 0).then_some(octets)
            }
        }
    }

    /// Says what is wrong with the signature of a message: the response code, and a TSIG record where one belongs there, signed where that is allowed (RFC 8945 5.2). Returns the
    /// octets of the response, 0 where it does not fit.
    pub fn reject(
        &mut self,
        envelope: &Envelope,
        rejected: &Rejected<'_, '_>,
        response: &mut [u8],
        now: u64,
    ) -> usize {
        let octets = self.refuse(envelope, (rejected.fault.rcode(), None), response, now);
        if octets == 0 {
            return 0;
        }
        let room = response.len().min(envelope.limit);
        // Without room for the record that says what is wrong, the code says it alone.
        rejected.append(&mut response[..room], octets, now).unwrap_or(octets)
    }

    /// Says no more than this response code and extended error. Returns the octets of the response, 0 where it does not fit.
    fn refuse(
        &mut self,
        envelope: &Envelope,
        (rcode, ede): (u16, Option<u16>),
        response: &mut [u8],
        now: u64,
    ) -> usize {
        self.count_reply(rcode);
        envelope.write(response, rcode, ede, now)
    }

    /// Reads a message of which [`Responder::serve`] said that it is a request. What is wrong with it is answered: then it gives the octets of that response, 0
    /// for none.
    pub fn request<'m, 's>(
        &mut self,
        message: &'m [u8],
        server: &'s Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> Result<Request<'m, 's>, usize> {
        let query = Query::read(message, &mut self.buffers.places).ok_or(0usize)?;
        let kind = kind_of(&query).ok_or(0usize)?;
        let mut is_proved = client.is_proved;
        let mut fault = query.fault.is_some() || query.question.is_none();
        if let Some(edns) = &query.edns {
            match self.read_options(message, edns, server, client) {
                Ok(_) => is_proved |= self.has_good_cookie == Some(true),
                Err(_) => fault = true,
            }
        }
        let cookie = query.edns.as_ref().and(self.cookie()).copied();
        let mut envelope = envelope(&query, server, client, cookie);
        let is_other_version = query.edns.is_some_and(|edns| edns.version != edns::VERSION);
        if fault || is_other_version {
            let rcode = if fault { rcode::FORMERR } else { rcode::BADVERS };
            return Err(self.refuse(&envelope, (rcode, None), response, client.now));
        }
        let (mut key, mut octets, mut is_sig0, mut unknown_key) = (None, message.len(), false, None);
        match tsig::verify(message, &server.keys, client.now) {
            Ok(verified) => {
                octets = verified.octets;
                key = server.keys.number(verified.key.name()).and_then(|number| server.keys.get(number));
                envelope.signer =
                    key.map(|key| Signer { key: Arc::clone(key), reply: verified.reply.detached() });
            }
            Err(rejected) => match rejected.fault {
                Fault::Unsigned => {}
                // Who knows the keys of the zone judges it.
                Fault::Sig0 if kind == Kind::Update => is_sig0 = true,
                // Its primary may know it, where it is one for another server.
                Fault::Key if kind == Kind::Update => unknown_key = Some(rejected),
                _ => return Err(self.reject(&envelope, &rejected, response, client.now)),
            },
        }
        let asker = Asker {
            address: client.address.ip(),
            transport: client.transport,
            is_proved,
            key: key.map(|key| key.name()),
        };
        let qtype = query.question.map_or(0, |question| question.qtype);
        let qclass = query.question.map_or(0, |question| question.qclass);
        Ok(Request { message, octets, kind, qtype, qclass, key, is_sig0, unknown_key, asker, envelope })
    }

    /// Says what is said to a request that nobody carries out. Returns the octets of the response.
    #[cold]
    pub fn decline(
        &mut self,
        message: &[u8],
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> usize {
        let request = match self.request(message, server, client, response) {
            Ok(request) => request,
            Err(octets) => return octets,
        };
        if let Some(rejected) = &request.unknown_key {
            return self.reject(&request.envelope, rejected, response, client.now);
        }
        let said = match request.kind {
            Kind::Transfer if request.is_unfit(client.transport) => (rcode::FORMERR, None),
            Kind::Transfer => (rcode::REFUSED, Some(ede::PROHIBITED)),
            _ => (rcode::NOTIMP, Some(ede::NOT_SUPPORTED)),
        };
        self.refuse(&request.envelope, said, response, client.now)
    }

    /// Counts the response to a request, which somebody else made.
    pub fn count_reply(&mut self, rcode: u16) {
        self.counters.response(0, rcode);
    }

    /// As [`Responder::serve`], for who carries out no requests: they are [declined](Responder::decline).
    #[inline]
    pub fn answer(
        &mut self,
        query: &[u8],
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> usize {
        match self.serve(query, catalog, server, client, response) {
            Answered::Octets(octets) | Answered::Elsewhere(octets) => octets,
            Answered::Request => self.decline(query, server, client, response),
        }
    }

    /// The same for [`Responder::serve_limited`].
    #[inline]
    pub fn answer_limited(
        &mut self,
        query: &[u8],
        catalog: &CatalogView<'_>,
        server: &Server,
        client: &Client<'_>,
        response: &mut [u8],
    ) -> usize {
        match self.serve_limited(query, catalog, server, client, response) {
            Answered::Octets(octets) | Answered::Elsewhere(octets) => octets,
            Answered::Request => self.decline(query, server, client, response),
        }
    }
}

/// What a reply to a query or another request needs of it; `cookie`: what is said to that of the query.
fn envelope(
    query: &Query<'_>,
    server: &Server,
    client: &Client<'_>,
    cookie: Option<cookie::Reply>,
) -> Envelope {
    let opt = query.edns.as_ref().map(|edns| Opt {
        udp_payload_octets: server.udp_payload_octets,
        dnssec_ok: edns.dnssec_ok,
        cookie,
    });
    let mut envelope = Envelope::of(query, octets_max(query.edns.as_ref(), server, client.transport));
    envelope.opt = opt;
    envelope
}

impl Request<'_, '_> {
    /// Whether a transfer cannot be asked for like this: AXFR is not defined over UDP (RFC 5936 4.2).
    #[must_use]
    pub fn is_unfit(&self, transport: Transport) -> bool {
        self.qtype == rtype::AXFR && !transport.is_stream()
    }

    /// The name asked about.
    #[must_use]
    pub fn name(&self) -> &Name {
        self.envelope.name()
    }

    /// The flags of its header.
    #[must_use]
    pub fn flags(&self) -> u16 {
        u16_at(self.message, 2)
    }
}
