//! What a responder did, counted. Each worker has its own; readers add them up.

use wire::header;
use wire::iana::rcode;

sync::counters! {
    /// The counts of one responder for others to read: shown by its owner from time to time.
    pub live LiveCounters;
    /// Counts since the responder was made.
    pub values Counters;

    /// Messages not answered: no queries, too short, without room for a response, or beyond a limit.
    dropped,
    /// Queries with EDNS.
    edns,
    /// Queries that want DNSSEC records.
    dnssec_ok,
    /// Responses cut for their length.
    truncated,
    /// Answers with data of the type that was asked for.
    answers,
    /// Answers that the name has no such data.
    no_data,
    /// Answers that the name does not exist.
    name_errors,
    /// Referrals to other servers.
    referrals,
    /// Answers that end with an alias to elsewhere.
    aliases,
    /// Answers about the server itself (class CHAOS).
    chaos,
    /// Queries that access lists refused, or had come again to show that they are from their address.
    refused_by_access_lists,
    /// Queries that a damaged pack left without answer.
    damaged,
    /// Responses by response code, those from 24 on in the last.
    rcodes: [Counters::RCODES],
}

impl Counters {
    /// How many response codes are told apart: all that are assigned.
    pub const RCODES: usize = rcode::BADCOOKIE as usize + 2;

    /// Counts a response with these flags and this response code.
    #[inline(always)]
    pub(crate) fn response(&mut self, flags: u16, rcode: u16) {
        self.truncated += u64::from(flags & header::TC != 0);
        self.rcodes[(rcode as usize).min(Counters::RCODES - 1)] += 1;
    }
}
