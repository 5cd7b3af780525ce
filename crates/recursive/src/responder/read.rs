//! Who asks, and what for: cookies, access, and what the answer depends on.

use super::{Client, Responder};
use crate::policy::{Asker, Clients, Decision, Policy};
use crate::wishes::Wishes;
use resolve::Time;
use wire::Name;
use wire::cookie::{self, Cookie, Malformed};
use wire::edns::Edns;
use wire::header::{self, HEADER_OCTETS};
use wire::iana::rtype;
use wire::query::Query;

impl Responder {
    /// Reads what the client wants: the name and all else. Whether it has a cookie that is answered.
    pub(super) fn read_wishes(
        &mut self,
        read: &Query<'_>,
        client: &Client<'_>,
        policy: &Policy,
        time: Time,
    ) -> Result<bool, Malformed> {
        let edns = read.edns.as_ref();
        let qtype = read.question.map_or(0, |question| question.qtype);
        self.wishes = Wishes::of(header::u16_at(read.message, 0), read.flags, qtype, edns);
        self.wishes.is_of_ours = client.is_of_ours;
        self.wishes.limit(edns, policy, client.transport);
        if let Some(question) = read.question {
            // What was read as a question is whole: the name, and four octets.
            self.question.set(Name::trusted(&read.message[HEADER_OCTETS..question.end - 4]));
        }
        self.is_proved = client.is_proved || client.transport.is_stream();
        let cookie = self.read_cookie(read.message, edns, client, (policy, time))?;
        self.wishes.wants_dns64 = self.gets_dns64(client, policy);
        Ok(cookie)
    }

    fn read_cookie(
        &mut self,
        message: &[u8],
        edns: Option<&Edns>,
        client: &Client<'_>,
        (policy, time): (&Policy, Time),
    ) -> Result<bool, Malformed> {
        let Some(data) = edns.and_then(|edns| edns.options.cookie(message)) else { return Ok(false) };
        let Some(secrets) = &policy.cookies else { return Ok(false) };
        let cookie = Cookie::read(data)?;
        let mut reply = [0; cookie::COOKIE_OCTETS];
        self.is_proved |= secrets.reply(&cookie, client.address.ip(), time.wall as u32, &mut reply);
        self.wishes.cookie = Some(reply);
        Ok(true)
    }

    /// Whether a client may have recursion, and whether it would have to prove its address for that.
    pub(super) fn admit(&self, client: &Client<'_>, policy: &Policy) -> (bool, bool) {
        if let Clients::All = policy.clients {
            return (true, false);
        }
        match policy.clients.decide(&self.asker(client)) {
            Decision::Allowed => (true, false),
            Decision::Unproved => (true, true),
            Decision::Denied => (false, false),
        }
    }

    fn asker(&self, client: &Client<'_>) -> Asker {
        Asker { address: client.address.ip(), transport: client.transport, is_proved: self.is_proved }
    }

    /// Whether addresses are made for this client and query: not where it validates for itself (RFC 6147 5.5).
    fn gets_dns64(&self, client: &Client<'_>, policy: &Policy) -> bool {
        let Some(dns64) = &policy.dns64 else { return false };
        let makes_own = self.wishes.dnssec_ok && self.wishes.checking_disabled();
        let is_meant = matches!(self.wishes.qtype, rtype::AAAA | rtype::PTR);
        is_meant && !makes_own && dns64.clients().decide(&self.asker(client)) == Decision::Allowed
    }
}
