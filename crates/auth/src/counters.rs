//! What a responder did, counted. Each worker has its own; readers add them up.

use wire::iana::rcode;

/// Counts since the responder was made.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// Messages handed in.
    pub queries: u64,
    /// Of these, without response: shorter than a header, responses, or a buffer too small.
    pub dropped: u64,
    /// Queries over TCP.
    pub tcp: u64,
    /// Queries with EDNS.
    pub edns: u64,
    /// Queries that want DNSSEC records.
    pub dnssec_ok: u64,
    /// Responses with TC.
    pub truncated: u64,
    /// Answers with data of the type that was asked for.
    pub answers: u64,
    /// Answers that the name has no such data.
    pub no_data: u64,
    /// Answers that the name does not exist.
    pub name_errors: u64,
    /// Referrals to other servers.
    pub referrals: u64,
    /// Answers that end with an alias to elsewhere.
    pub aliases: u64,
    /// Answers of class CHAOS.
    pub chaos: u64,
    /// Responses that a damaged pack made SERVFAIL.
    pub damaged: u64,
    /// Responses by response code, those from 24 on in the last.
    pub rcodes: [u64; Counters::RCODES],
}

impl Counters {
    /// How many response codes are told apart: all that are assigned.
    pub const RCODES: usize = rcode::BADCOOKIE as usize + 2;

    /// Adds another worker's counts.
    pub fn add(&mut self, other: &Counters) {
        let Counters { queries, dropped, tcp, edns, dnssec_ok, truncated, answers, no_data, .. } = other;
        let Counters { name_errors, referrals, aliases, chaos, damaged, rcodes, .. } = other;
        for (to, from) in [
            (&mut self.queries, queries),
            (&mut self.dropped, dropped),
            (&mut self.tcp, tcp),
            (&mut self.edns, edns),
            (&mut self.dnssec_ok, dnssec_ok),
            (&mut self.truncated, truncated),
            (&mut self.answers, answers),
            (&mut self.no_data, no_data),
            (&mut self.name_errors, name_errors),
            (&mut self.referrals, referrals),
            (&mut self.aliases, aliases),
            (&mut self.chaos, chaos),
            (&mut self.damaged, damaged),
        ] {
            *to += from;
        }
        self.rcodes.iter_mut().zip(rcodes).for_each(|(to, from)| *to += from);
    }

    #[inline(always)]
    pub(crate) fn rcode(&mut self, rcode: u16) {
        self.rcodes[(rcode as usize).min(Counters::RCODES - 1)] += 1;
    }
}
