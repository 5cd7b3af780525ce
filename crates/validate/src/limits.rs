//! Bounds of the work for one response, and what counts it.
//!
//! Who answers decides how much there is to verify, so every kind of work has a bound. [`Meter`] counts over all calls for one response, and what was
//! done for the responses before it of the same question of a client: no fetch, retry or restart sets it back.

/// Signatures verified for one response. A chain of trust takes two a zone (DS, DNSKEY), an RRset one: 64 is ten zones and 44 RRsets. Less than
/// 30 fails sound answers with long chains of aliases; above 100 the worst, RSA with 8,192 bits, is more than 20 ms.
pub const SIGNATURES_MAX: u16 = 64;

/// Of them those that may fail, for one response. Sound zones have failures where two keys share a tag, or where a signature is left over from a
/// key that is gone; each is one or two. KeyTrap (CVE-2023-50387) is made of failures alone.
pub const FAILURES_MAX: u16 = 8;

/// Those that may fail for one RRset: beside two stale signatures two collisions.
pub const FAILURES_OF_RRSET_MAX: u16 = 4;

/// Signatures of one RRset that are looked at: two algorithms, each with an old and a new key, and as many again.
pub const SIGNATURES_OF_RRSET_MAX: usize = 8;

/// Signers of one RRset whose zones are looked for. One is right; the second is for one that somebody added.
pub const SIGNERS_OF_RRSET_MAX: usize = 2;

/// Keys with the tag and algorithm of a signature that are tried. Of 10 keys two share a tag once in 1,500 zones, three never.
pub const KEYS_OF_TAG_MAX: usize = 4;

/// Keys of one zone that are looked at: as many of ordinary size as 64 KiB of DNSKEY hold would be 200; the largest sets seen have 12.
pub const KEYS_MAX: usize = 64;

/// DS records, or anchors, of one zone that are looked at: two keys, two digests, twice in a roll of algorithms.
pub const DS_MAX: usize = 8;

/// Digests computed to find the keys that DS records point at, for one response.
pub const DIGESTS_MAX: u16 = 128;

/// The same for one zone: each DS record matches one key, or two that share a tag.
pub const DIGESTS_OF_ZONE_MAX: u16 = 16;

/// Rounds of SHA-1 for NSEC3 hashes, for one response: 80 names at 50 iterations, about 0.6 ms (CVE-2023-50868).
pub const HASH_ROUNDS_MAX: u32 = 4096;

/// NSEC and NSEC3 RRsets of one response that are evidence. The longest proof has three; a chain of wildcard aliases two a link.
pub const DENIALS_MAX: usize = 32;

/// Fetches of DS and DNSKEY for one response: 16 zones. A resolver sends no more between two steps ahead.
pub const FETCHES_MAX: u16 = 32;

/// Steps of one walk that go one label down because nothing better is known. Names of hosts have fewer labels; the long ones, below ip6.arpa, have
/// delegations that resolvers have seen.
pub const LABEL_STEPS_MAX: usize = 16;

/// RRsets of one response. ANY at the apex of a signed zone has up to 20.
pub const RRSETS_MAX: usize = 128;

/// Links of a chain of aliases in one response (resolvers follow 11 to 16).
pub const LINKS_MAX: usize = 16;

/// Steps of one walk down to a zone. Each goes at least one label down, or names a cut between: at most two a label.
pub(crate) const STEPS_MAX: usize = 2 * wire::name::LABELS_MAX;

/// How long it is kept at most that a zone counts as insecure for its keys or its anchor, in seconds: what of it changes is not bounded by a TTL.
pub const INSECURE_SECONDS: u32 = 60;

/// NSEC3 iterations above which a proof counts as insecure (RFC 9276 3.2); the same in BIND 9.20, Knot Resolver 6 and PowerDNS 5.
pub const NSEC3_ITERATIONS_MAX: u16 = 50;

/// Signatures verified for one question of a client, over all responses that it takes, their retries too.
pub const QUESTION_SIGNATURES_MAX: u16 = 128;

/// Of them those that may fail.
pub const QUESTION_FAILURES_MAX: u16 = 16;

/// Rounds of NSEC3 hashes for one question of a client.
pub const QUESTION_HASH_ROUNDS_MAX: u32 = 16_384;

/// Signatures that a worker remembers to be genuine, 32 octets each: SOA and the NSEC or NSEC3 records that many names of a zone, or delegations without DS, are
/// denied by. Those of 20,000 new names, a tenth of them signed, are 10,000; with fewer the records of TLDs are verified again.
pub const MEMO_ENTRIES: usize = 16_384;

/// A bound that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`SIGNATURES_MAX`].
    Signatures,
    /// [`FAILURES_MAX`] or [`FAILURES_OF_RRSET_MAX`].
    Failures,
    /// [`DIGESTS_MAX`] or [`DIGESTS_OF_ZONE_MAX`].
    Digests,
    /// [`HASH_ROUNDS_MAX`].
    HashRounds,
    /// [`DENIALS_MAX`].
    Denials,
    /// [`FETCHES_MAX`].
    Fetches,
    /// [`RRSETS_MAX`] or [`LINKS_MAX`].
    Rrsets,
    /// What one question of a client may cost in all: says nothing about the response.
    Question,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Signatures verified, those that failed too.
    pub signatures: u16,
    /// Those that failed.
    pub failures: u16,
    /// Signatures that were verified before, in this response or an earlier one; see [`crate::Verifier`].
    pub known: u16,
    /// Digests of keys.
    pub digests: u16,
    /// Rounds of SHA-1 for NSEC3 hashes.
    pub hash_rounds: u32,
    /// What had to be fetched.
    pub fetches: u16,
}

impl Work {
    fn plus(&self, other: &Work) -> Work {
        Work {
            signatures: self.signatures.saturating_add(other.signatures),
            failures: self.failures.saturating_add(other.failures),
            known: self.known.saturating_add(other.known),
            digests: self.digests.saturating_add(other.digests),
            hash_rounds: self.hash_rounds.saturating_add(other.hash_rounds),
            fetches: self.fetches.saturating_add(other.fetches),
        }
    }
}

/// Counts the work for one response, and with it that for the question of a client that it is one of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    response: Work,
    /// For the responses before.
    before: Work,
}

impl Meter {
    /// One that goes on with the work for earlier responses of the same question.
    pub fn continued(before: Work) -> Meter {
        Meter { response: Work::default(), before }
    }

    /// What was done for the question in all.
    pub fn total(&self) -> Work {
        self.before.plus(&self.response)
    }

    /// Counts one signature before it is verified.
    pub(crate) fn count_signature(&mut self) -> Result<(), Limit> {
        let total = self.total();
        if total.signatures >= QUESTION_SIGNATURES_MAX || total.failures >= QUESTION_FAILURES_MAX {
            return Err(Limit::Question);
        }
        if self.response.failures >= FAILURES_MAX {
            return Err(Limit::Failures);
        }
        count(&mut self.response.signatures, SIGNATURES_MAX).ok_or(Limit::Signatures)
    }

    /// Counts that it failed.
    pub(crate) fn count_failure(&mut self) {
        self.response.failures += 1;
    }

    /// Counts one that is known.
    pub(crate) fn count_known(&mut self) {
        self.response.known = self.response.known.saturating_add(1);
    }

    /// Counts one digest before it is computed.
    pub(crate) fn count_digest(&mut self) -> Result<(), Limit> {
        count(&mut self.response.digests, DIGESTS_MAX).ok_or(Limit::Digests)
    }

    /// Counts one fetch before it is asked for.
    pub(crate) fn count_fetch(&mut self) -> Result<(), Limit> {
        count(&mut self.response.fetches, FETCHES_MAX).ok_or(Limit::Fetches)
    }

    /// Counts the rounds of one hash before it is computed.
    pub(crate) fn count_hash(&mut self, iterations: u16) -> Result<(), Limit> {
        let rounds = u32::from(iterations) + 1;
        if self.total().hash_rounds + rounds > QUESTION_HASH_ROUNDS_MAX {
            return Err(Limit::Question);
        }
        if self.response.hash_rounds + rounds > HASH_ROUNDS_MAX {
            return Err(Limit::HashRounds);
        }
        self.response.hash_rounds += rounds;
        Ok(())
    }
}

fn count(counter: &mut u16, max: u16) -> Option<()> {
    (*counter < max).then(|| *counter += 1)
}
