//! Every bound of the iteration, each with its reason. `docs/design/iteration.md` 6 has them beside those of other resolvers.

/// Questions sent for one question of a client, by all its tasks together. A cold, validating one with aliases over four zones takes up to 80; what endless
/// delegations, aliases and name servers cause ends here. Unbound has 200, too (max-global-quota).
pub const QUESTIONS_MAX: u16 = 200;
/// Questions that a task sends between two steps ahead: a referral, an alias, a label more. Unbound's max-sent-count.
pub const QUESTIONS_A_STEP: u8 = 32;
/// Tasks begun for one question of a client: five aliases over cold, signed zones with servers elsewhere take some 25; the rest is delegations that lead
/// to each other.
pub const CHILDREN_MAX: u16 = 64;
/// How long a task lives, whoever joins it.
pub const TASK_MS_MAX_OF_ALL: u64 = 30_000;
/// How long a question of a client is worked on. Clients give up after 5 s, so what comes then is for the cache.
pub const TASK_MS_MAX: u64 = 6_000;
/// How long a client waits for fresh data where stale ones are there, unless the operator says otherwise (RFC 8767 5: 1.8 s).
pub const STALE_AFTER_MS: u64 = 1_800;
/// For how long after a failure stale data are given at once (RFC 8767 5: the failure recheck timer, 30 s).
pub const STALE_RECHECK_MS: u64 = 30_000;
/// How often a name that is given stale is tried again meanwhile, with nobody who waits for it; from begin to begin. As long as a failure is kept (RFC 9520 3.2): with
/// the 30 s of RFC 8767 5 a server that is back is not seen for as long.
pub const STALE_AGAIN_MS: u64 = 5_000;
/// The TTL of stale data (RFC 8767 4).
pub const STALE_TTL_SECONDS: u32 = 30;
/// Aliases in a chain. Real ones have up to 8; each is a question to whoever makes chains without end. PowerDNS follows 10, Unbound and BIND 11.
pub const ALIASES_MAX: u8 = 10;
/// Octets of the chain of aliases that a task keeps: 10 with signatures of RSA. More is no answer that anybody takes.
pub const CHAIN_OCTETS_MAX: usize = 16 << 10;
/// Referrals on the way to one name: each goes at least one label down, and names below ip6.arpa have at most some ten cuts.
pub const REFERRALS_MAX: u8 = 30;
/// Tasks that wait for each other, one below the other. BIND has 7 for fetches; sound delegations need 3.
pub const DEPTH_MAX: u8 = 8;
/// Tasks looked at to find out whether one would wait for itself. Beyond it is taken as so.
pub const WALK_MAX: usize = 256;
/// Labels from the root down at which a zone cut is looked for: reverse zones of IPv6 are cut at 18 at most (/64), others far above.
pub const CUT_LABELS_MAX: usize = 20;
/// Labels above a name at which DNAME and denials are looked for.
pub const ABOVE_LABELS_MAX: usize = 8;
/// State changes of a task: two hundred questions, each with some; a fault of ours ends here and not in a circle.
pub const STEPS_MAX: u16 = 2_000;

/// Addresses of name servers sought at once for a client's question: the second is there when the first does not come. BIND and Unbound begin with as many.
pub const SOUGHT_AT_ONCE: usize = 2;
/// The same of a task that others wait for: with two, delegations that lead to each other (iDNS) double with each step down.
pub const SOUGHT_AT_ONCE_BELOW: usize = 1;
/// Names of servers sought in vain of one domain, and of all, before no more are: who has two servers that are not there has no third one. Of a name that has no
/// address, or none that is new. An attacker's delegation of hundreds (NXNSAttack, NRDelegation) asks its victim twice, as BIND does.
pub const VAIN_MAX: [usize; 2] = [2, 5];
/// The same of a task that others wait for.
pub const VAIN_MAX_BELOW: [usize; 2] = [1, 3];
/// Names of servers without addresses beyond which one in vain of a domain is enough, and an address that refuses is one: no sound delegation has so many, the largest
/// (the root, TLDs) 13 and with glue.
pub const CROWD: u8 = 13;
/// Addresses sought for one zone by a task. BIND takes 13 servers of a delegation.
pub const SOUGHT_MAX: u8 = 13;
/// Names looked at of an NS RRset, begun at a random one.
pub const NAMES_MAX: usize = 20;
/// Octets of names of servers without address that a task keeps: of any length 4, of usual ones 50.
pub const NAMES_OCTETS_MAX: usize = 1024;
/// Addresses of one zone's servers that a task keeps: 13 of each family but two.
pub const CANDIDATES_MAX: usize = 24;
/// How often one address is asked for one zone by a task. The second time with the same patience, as loss is the likelier cause, then with twice as much each:
/// 4 s in all for one that nothing is known of, so that a zone with one dead server has failed before the client's time is over.
pub const TRIES_MAX: u8 = 5;
/// The least that the last three tries of [`TRIES_MAX`] at the only server that is left are waited for: a near one would be given up after half a second in all,
/// and one name that it has to look for, or a line that is cut for a moment, be a failure. With the two before 1.43 s: within
/// 1.5 s clients are told that there is no network, and who needs 1.2 s is heard.
pub const ONLY_TIMEOUT_MS_MIN: [u64; 3] = [130, 350, 890];
/// Until when after its begin a task that somebody waits for awaits late answers, when nobody is left to be asked: clients are told after 1.9 s. Two near servers,
/// asked five times each, are given up within a second, and either may be slow for once.
pub const LATE_MS_MAX: u64 = 1_800;
/// The same where it may be the network: clients are told of that within 1.5 s.
pub const LATE_MS_MAX_UNHEARD: u64 = 1_430;
/// The longest wait for a datagram: clients give up after 5 s, and another server should have been tried before.
pub const TIMEOUT_MS_MAX: u64 = 1_200;
/// One choice of a server in so many is random, so that what was slow once is measured again.
pub const EXPLORED_ONE_IN: u64 = 32;
/// The value of a server of which nothing is known is random up to this, in milliseconds: a near one that is known mostly wins, a far one never.
pub const UNKNOWN_MS_MAX: u64 = 120;
/// What a time-out in a row adds to a server's value, in milliseconds.
pub const TIMEOUT_PENALTY_MS: u64 = 400;
/// What makes a server the last choice.
pub const LAST_CHOICE_MS: u64 = 10_000;
/// A server that is lame for a zone is left out for so long: delegations are repaired within the hour, if at all.
pub const LAME_SECONDS: u32 = 600;
/// Questions in flight from a worker to one server that answers, halved with each time-out in a row. At 40,000 a second, as a worker asks, they last for 25 ms: with 256
/// a server that was not scheduled for 6 ms had thousands stand in line.
pub const WINDOW_MAX: u16 = 1_024;
/// The same to one of which no answer has come yet.
pub const WINDOW_UNHEARD: u16 = 256;
/// The same to a server that settings name: all questions of a worker may go there.
pub const WINDOW_CONFIGURED: u16 = 4_096;
/// The least of it: a server that is back is seen by as many.
pub const WINDOW_MIN: u16 = 2;
/// Questions to one server whose time is over that stay open, as a late answer counts: as many as were in flight when it fell silent, or are when it is slower
/// than it was. Each holds a way, and is one more that a forger may guess for. To a server that settings name [`WINDOW_CONFIGURED`].
pub const LATE_MAX: u16 = WINDOW_MAX;
/// Tasks of a line that one end of a question calls, where the window has room: with two a server that was silent for a moment has its whole window again after
/// ten round trips.
pub const CALLED_AT_ONCE: u8 = 2;
/// Tasks that stand in line for one server that has so many: what a worker asks one within a quarter of a second, after which those beyond look again by
/// themselves.
pub const QUEUE_MAX: usize = 4_096;
/// Datagrams open for one question at a time: a late answer counts, and a forger has two to guess for, of different servers mostly.
pub const OPEN_MAX: usize = 2;

/// With no network, or every server at its window: when to look again. Eight times within the 2 s of recovery that are promised.
pub const RETRY_MS: u64 = 250;
/// So many servers of a family in silence while the other family is heard: it does not work.
pub const SILENT_MAX: u8 = 4;
/// One question in this time finds out whether a family that seems dead works again.
pub const PROBE_MS: u64 = 1_000;
/// Time-outs that wait until it is clear whether there is a network; more than servers asked within 2 s at a usual rate are not needed, as one that
/// is dead is asked again.
pub const SUSPENDED_MAX: usize = 64;
/// Older ones are not held against anybody.
pub const SUSPENDED_MS: u64 = 2_000;

/// That anybody was heard so shortly before a task speaks for the network where nobody is heard during it, and its servers alone are silent: with less a resolver
/// that few ask never learns that a server is dead (RFC 9520 3.2), with more one that is asked once a minute holds its own lost line against others.
pub const HEARD_LATELY_MS: u64 = 10_000;
/// For how long such a failure is kept, each time: within the 2 s of recovery that are promised, should it be the network after all.
pub const FAILURE_SECONDS_UNSURE: u32 = 2;

/// Wrong IDs, names or cookies from the right address on the right path before the question goes over TCP: somebody guesses.
pub const NEAR_MISSES_MAX: u8 = 3;

/// Streams to one server: RFC 7766 6.2.2 asks for few; a second one when the first has as many questions as it may.
pub const STREAMS_A_SERVER: usize = 2;
/// Questions in flight on one stream.
pub const QUESTIONS_A_STREAM: usize = 64;
/// Streams of a worker; the one that was idle for longest goes.
pub const STREAMS_MAX: usize = 256;
/// How long a stream is kept open without a question. RFC 7766 6.2.3: as long as it is of use; servers keep them for 10 to 30 s.
pub const STREAM_IDLE_MS: u64 = 8_000;
/// The least that a forwarder is waited for: it resolves before it answers.
pub const FORWARDER_TIMEOUT_MS_MIN: u64 = 1_500;
/// The same while another one is left, which is asked beside it then: an answer that comes late is still taken, and one that is dead leaves the other time before clients
/// go.
pub const FORWARDERS_TIMEOUT_MS_MIN: u64 = 600;
/// What forwarders that are silent are waited for, all of them, where the zone's servers are asked in their place (*forward-first*): clients leave after 1.9 s, and
/// servers need the rest of that. Two questions, to one or two of them.
pub const FORWARD_FIRST_MS: u64 = 900;
/// How long they are passed over then (RFC 9520 3.2): one question in so long tries them again.
pub const FORWARD_FIRST_AGAIN_MS: u64 = 5_000;
/// The least that an answer over a stream is waited for: it is opened first, and the handshake of TLS takes two round trips more.
pub const STREAM_TIMEOUT_MS_MIN: u64 = 1_500;
/// The longest that an answer over a stream is waited for.
pub const STREAM_TIMEOUT_MS_MAX: u64 = 4_000;

/// Tasks of a worker: with 1.5 KiB as usual 100 MiB, and two workers hold the 100,000 clients that are promised.
pub const TASKS_MAX: usize = 64_000;
/// Of them, one in so many may be without anybody who waits: they are made for no client's answer of now.
pub const PREFETCH_ONE_IN: usize = 8;
/// Lists of tasks by their zone, and by client: with more, counters fill more lines of the processor's cache; with fewer, more zones share one.
pub const LISTS: usize = 1024;
/// Who wait for one task: a name that everybody asks for, 30 ms long. 24 octets each.
pub const WAITERS_MAX: usize = 10_000;
/// How many are told what it came to in one turn: the worker has others to serve, and a server must not choose the moment of a pulse of answers
/// (DNSBomb, CVE-2024-33655).
pub const TOLD_A_TURN: usize = 100;
/// Tasks whose moment has come that are looked at in one turn: each may send a question (10 us), and what has come to the sockets meanwhile should not wait
/// for more than a few milliseconds.
pub const DUE_A_TURN: usize = 256;
/// For how long a task that nobody wants any more waits for a late answer: with the time-out before it, servers that take 3 s are heard.
pub const LINGER_MS: u64 = 2_000;
/// Questions that nobody answered when the last who waited has gone: with so many it is a failure that is remembered (RFC 9520), with fewer it says nothing.
pub const DESERTED_QUESTIONS_MIN: u8 = 2;
/// Tasks that wait for one: name servers of a hosting company are needed by many.
pub const PARENTS_MAX: usize = 10_000;

/// Names of which a worker remembers that their zone's servers do not refer for them: one is asked for no more than this often. 24 octets each; those that many names
/// lie below are some thousands (the public suffix list has 10,000).
pub const UNCUT_MAX: usize = 16_384;
/// For how long: what becomes a cut meanwhile is found by the next question all the same, which is for a name below.
pub const UNCUT_SECONDS_MAX: u32 = 900;
/// When the address of a name server that is sought has not come: another one is sought beside it. A lookup over two cold zones takes less.
pub const SOUGHT_AGAIN_MS: u64 = 400;

/// A server that failed with EDNS is tried with it again once in so many questions.
pub const EDNS_AGAIN_ONE_IN: u64 = 64;
/// Servers whose answers validation may reject before the rejection stands; the same for DS and DNSKEY that break a chain.
pub const BOGUS_TRIES: u8 = 3;

/// Zones, one above the other, whose keys are asked for beside one question: with all of them cold they are begun one by one on the way down.
pub const AHEAD_MAX: usize = 4;

/// DNSKEY RRsets with TTL 0 that came before the proofs that they are for: those of some dozen questions at once. Fewer, and some are asked for twice; of each a response is
/// kept, up to 64 KiB.
pub const PASSING_MAX: usize = 64;

/// Zones of which a worker knows whether they are signed, with their keys: a kilobyte each at most.
pub const STANDINGS_MAX: usize = 10_000;

/// Broken links of chains of trust that a worker remembers to have fetched anew: zones that are bogus are few, and what is forgotten costs a question.
pub const BROKEN_LINKS_MAX: usize = 1_024;

/// Names one label below a zone of which a worker remembers that the zone's servers disown what is below: 40 octets each. Faults of that kind are few.
pub const DISOWNED_MAX: usize = 1_024;
/// Names below one that have to be disowned in a row before no more are asked for: one may be at fault alone.
pub const DISOWNED_IN_A_ROW: u8 = 2;

/// Octets of responses that wait to be validated, and of DS and DNSKEY that were fetched for them, of a worker: 8,000 usual ones with theirs, 256 of the longest.
pub const PROVING_OCTETS_MAX: usize = 16 << 20;

/// What is written down for people at a time, of a worker: operators, one by one.
pub const EXPLAINED_MAX: usize = 16;
/// Lines of one of them: a long chain of aliases with all that leads to them has about a hundred.
pub const STORY_LINES_MAX: usize = 512;

/// A failure is kept for so long at first (RFC 9520 3.2: at least 1 s, 5 s proposed) ...
pub const FAILURE_SECONDS_MIN: u32 = 5;
/// ... and doubled for each further one up to this (RFC 9520 3.2: at most 5 minutes).
pub const FAILURE_SECONDS_MAX: u32 = 300;
