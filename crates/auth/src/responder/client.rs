//! What depends on who asks: cookies, access lists, and the OPT record that comes of them.

use super::{Responder, Verdict};
use crate::admission::Admission;
use crate::answer::Outcome;
use crate::limits::UDP_OCTETS_MIN;
use crate::server::{Client, Server};
use wire::Transport;
use wire::cookie::{self, Cookie, Malformed};
use wire::edns::{Edns, ResponseOpt};
use wire::query::{PlainQuery, Query};

impl Responder {
    /// Whether access lists let a client ask what may have been answered before. Apart from that, and the query is read twice, so that who has no lists
    /// pays for one test.
    #[cold]
    #[inline(never)]
    pub(super) fn is_let_in(&mut self, message: &[u8], server: &Server, client: &Client<'_>) -> bool {
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
    pub(super) fn admit(&mut self, edns: Option<&Edns>, server: &Server, client: &Client<'_>) -> bool {
        let has_good_cookie = edns.filter(|edns| !edns.options.is_empty()).and(self.has_good_cookie);
        self.buffers.admission = Admission::of(server, client, has_good_cookie, self.signer);
        self.buffers.admission.is_let_in()
    }

    /// What access lists have said to a query that no zone needs to be looked for.
    pub(super) fn refusal_of_client(
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
    pub(super) fn cookie(&self) -> Option<&cookie::Reply> {
        self.has_good_cookie.map(|_| &self.cookie)
    }

    /// Looks at the options of a query that concern the answer: leaves what is said to its COOKIE. Whether there is no cookie, or the
    /// good one that is demanded (RFC 7873 5.2.3).
    #[inline(always)]
    pub(super) fn read_options(
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
            let is_good = secrets.reply(&cookie, client.address.ip(), client.now as u32, &mut self.cookie);
            self.has_good_cookie = Some(is_good);
            return Ok(is_good || !server.demands_cookies || client.transport.is_stream());
        }
        Ok(true)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn count_kept_out(&mut self, outcome: Outcome) -> Verdict {
        self.counters.refused_by_access_lists += 1;
        self.buffers.admission.verdict(outcome)
    }
}

/// The OPT record of the response to a query with EDNS; `cookie`: what is said to that of the query.
#[inline(always)]
pub(super) fn response_opt<'o>(
    edns: &Edns,
    server: &'o Server,
    cookie: Option<&'o cookie::Reply>,
) -> ResponseOpt<'o> {
    ResponseOpt {
        cookie,
        nsid: if edns.wants_nsid() { server.nsid() } else { None },
        ..bare_opt(edns, server)
    }
}

/// The same where the query has no options.
#[inline(always)]
pub(super) fn bare_opt(edns: &Edns, server: &Server) -> ResponseOpt<'static> {
    ResponseOpt {
        udp_payload_octets: server.udp_payload_octets,
        dnssec_ok: edns.dnssec_ok,
        ..ResponseOpt::default()
    }
}

/// The largest response the client takes.
#[inline(always)]
pub(super) fn octets_max(edns: Option<&Edns>, server: &Server, transport: Transport) -> usize {
    if transport.is_stream() {
        return u16::MAX as usize;
    }
    let wanted = edns.map_or(0, |edns| edns.udp_payload_octets.min(server.udp_payload_octets));
    UDP_OCTETS_MIN.max(wanted as usize)
}
