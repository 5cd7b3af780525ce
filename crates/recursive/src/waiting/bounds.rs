//! How many wait, for how long, and what they get at once.

/// Age at which an answer to an address that was not proved is not sent any more, milliseconds. Held back longer, answers could be let loose on a victim at
/// a moment of an attacker's choice (DNSBomb, CVE-2024-33655); Unbound has 1.9 s. Stubs ask again after 1 to 5 s, and find it in the cache.
pub const AGE_MS_MAX: u64 = 2_000;
/// Age at which those without a proved address are told that servers keep silent, while the question goes on for the cache: shortly before it is too late for any
/// answer, and after stale ones are given (1.8 s, RFC 8767 5). A response of the query's size at the query's pace amplifies nothing.
pub const SILENCE_MS_MAX: u64 = 1_900;
/// Age at which all are told that there is no network, while there seems to be none: a link that is back sooner goes unnoticed, and stubs have not asked again yet.
pub const OUTAGE_MS_MAX: u64 = 1_400;
/// The same for clients who are where they say: more than the resolver takes for any question.
pub const PROVED_AGE_MS_MAX: u64 = 8_000;
/// A part of the places that those of one prefix have at most: one forwarder may be a city.
pub const PREFIX_PART: usize = 8;
/// A part of the places that those who wait for one zone have at most.
pub const ZONE_PART: usize = 2;
/// Quarters of the places that clients have whose address is not proved: floods with forged ones leave room for the others. As `net` has it.
pub const UNPROVED_QUARTERS: usize = 3;
/// Where all places are taken, a chain is a culprit only if it has more than such a part of the places ...
pub const CULPRIT_PART: usize = 64;
/// ... and more than so many times the mean of its kind: in a flood of names and addresses that are all different the longest chain is an honest forwarder, or a
/// large zone. Without a culprit the oldest of all goes.
pub const CULPRIT_MEANS: usize = 4;
/// Age from which on an answer counts as held back, milliseconds: servers far away take less.
pub const HELD_MS_MIN: u64 = 500;
/// Octets of answers that were held back which one prefix gets within [`PULSE_MS`], if its clients are not proved; the others get TC, of the size of their
/// query. That is 500 answers of DNSSEC's usual size, which a single /24 does not wait for at once unless somebody else asked for them.
pub const PULSE_OCTETS_MAX: u32 = 64 << 10;
/// What counts as at once, milliseconds: shorter than any queue of a link that would smooth it out.
pub const PULSE_MS: u64 = 100;
