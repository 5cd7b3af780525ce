//! What a resolver has done, counted since its begin, or since that of the worker whose words it counts in.

sync::counters! {
    /// The counts of one resolver, where others read them at any time. Its owner alone changes them.
    pub live LiveCounters;
    /// Counters of one resolver; see each.
    pub values Counters;

    /// Questions that clients asked and the cache could not answer.
    asked,
    /// Of these, those that another task was already at.
    joined,
    /// Tasks begun, sub-tasks included.
    tasks,
    /// Tasks begun because something popular was about to expire, or was given stale.
    prefetches,
    /// Tasks given up to make room.
    tasks_dropped,
    /// Datagrams to servers, those that could not leave included.
    datagrams,
    /// Of these, those that could not leave.
    datagrams_unsent,
    /// Streams opened to servers.
    streams,
    /// Questions sent over streams.
    stream_questions,
    /// Responses read.
    responses,
    /// Questions that no answer came to in time.
    timeouts,
    /// Times that the system had no way to a server.
    unreachable,
    /// Datagrams from servers that were asked, on the right path, but no answer to what was asked.
    mismatches,
    /// Questions that went over TCP because of such.
    guessed,
    /// Datagrams that no open question belongs to.
    strays,
    /// Responses of servers cut off, so that TCP had to be used.
    cut_off,
    /// Responses of servers that do not serve the zone they were asked for.
    lame,
    /// Responses with an error.
    failed,
    /// Questions sent again without EDNS.
    no_edns,
    /// Questions sent again with another cookie.
    bad_cookies,
    /// Referrals followed.
    referrals,
    /// Aliases followed.
    aliases,
    /// Addresses of name servers that were sought.
    seeks,
    /// Answers by records that were validated for others (RFC 8198).
    denied,
    /// Answers by zones of this process.
    own,
    /// Tasks that ended with what had expired.
    tasks_stale,
    /// Tasks that ended because their budget or time was used up.
    spent,
    /// Tasks given up because nobody waited for them any more.
    deserted,
    /// Tasks that ended without an answer.
    tasks_failed,
    /// Responses validated.
    proofs,
    /// Signatures verified for that.
    signatures,
    /// Signatures that were verified before, and remembered.
    known_signatures,
    /// Digests of keys computed for that.
    digests,
    /// Rounds of NSEC3 hashes computed for that.
    hash_rounds,
    /// Pieces of memory for one event that work areas had no room for, so that the system's allocator gave them.
    system_pieces,
    /// Responses that validation rejected.
    bogus,
    /// Questions not asked, or not validated, as all of their zone is bogus for now, or disowned by its servers.
    hopeless,
}
