//! What a resolver has done, counted since its begin.

macro_rules! counters {
    ($($name:ident: $doc:literal;)*) => {
        /// Counters of one resolver; see each.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $(#[doc = $doc] pub $name: u64,)*
        }

        impl Counters {
            /// Name, meaning and value of each.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                [$((stringify!($name), $doc, self.$name)),*].into_iter()
            }

            /// Adds those of another worker.
            pub fn add(&mut self, other: &Counters) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counters! {
    asked: "Questions that clients asked and the cache could not answer.";
    joined: "Of these, those that another task was already at.";
    tasks: "Tasks begun, sub-tasks included.";
    prefetches: "Tasks begun because something popular was about to expire, or was given stale.";
    tasks_dropped: "Tasks given up to make room.";
    datagrams: "Datagrams to servers, those that could not leave included.";
    datagrams_unsent: "Of these, those that could not leave.";
    streams: "Streams opened to servers.";
    stream_questions: "Questions sent over streams.";
    responses: "Responses read.";
    timeouts: "Questions that no answer came to in time.";
    unreachable: "Times that the system had no way to a server.";
    mismatches: "Datagrams from servers that were asked, on the right path, but no answer to what was asked.";
    guessed: "Questions that went over TCP because of such.";
    strays: "Datagrams that no open question belongs to.";
    cut_off: "Responses of servers cut off, so that TCP had to be used.";
    lame: "Responses of servers that do not serve the zone they were asked for.";
    failed: "Responses with an error.";
    no_edns: "Questions sent again without EDNS.";
    bad_cookies: "Questions sent again with another cookie.";
    referrals: "Referrals followed.";
    aliases: "Aliases followed.";
    seeks: "Addresses of name servers that were sought.";
    denied: "Answers by records that were validated for others (RFC 8198).";
    own: "Answers by zones of this process.";
    tasks_stale: "Tasks that ended with what had expired.";
    spent: "Tasks that ended because their budget or time was used up.";
    deserted: "Tasks given up because nobody waited for them any more.";
    tasks_failed: "Tasks that ended without an answer.";
    proofs: "Responses validated.";
    signatures: "Signatures verified for that.";
    known_signatures: "Signatures that were verified before, and remembered.";
    digests: "Digests of keys computed for that.";
    hash_rounds: "Rounds of NSEC3 hashes computed for that.";
    system_pieces: "Pieces of memory for one event that work areas had no room for, so that the system's allocator gave them.";
    bogus: "Responses that validation rejected.";
    hopeless: "Questions not asked, or not validated, as all of their zone is bogus for now, or disowned by its servers.";
}
