//! What bounds the cache, with reasons; sizes of its parts are in `store.rs`.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::entry::{Entry, Kind, Security};
use crate::{Moment, Subject};

/// Records of an RRset that is kept. BIND has the same since CVE-2024-1737: sets of thousands made every look at them slow. Real ones have up to some dozens.
pub const RECORDS_MAX: usize = 100;
/// Signatures of an RRset that is kept: two for each of some algorithms while keys roll.
pub const SIGNATURES_MAX: usize = 32;
/// The shortest life of a failure (RFC 9520 3.2).
pub const FAILURE_SECONDS_MIN: u32 = 1;
/// The longest (RFC 9520 3.2).
pub const FAILURE_SECONDS_MAX: u32 = 300;

/// The longest life of what was not validated or is bogus: only clients with CD ask for it, and it may be proved at any time. But for [`USED_UNCHECKED`].
pub const UNCHECKED_SECONDS_MAX: u32 = 60;
/// Types that are used before they are proved: addresses of name servers, DS and DNSKEY. They end with their TTLs: else each chain of trust, each insecure
/// delegation, and each server without glue would be asked for anew each minute. What breaks a chain is forgotten by the validator.
pub const USED_UNCHECKED: [u16; 4] = [1, 28, 43, 48];
/// The shortest life of a cut: with none at all each question below it would have its parent asked again.
pub const CUT_SECONDS_MIN: u32 = 1;
/// Denials and failures of types that are seldom asked for, and what is unchecked: so many of a name. Whoever asks for made-up types of a name of others shall not
/// have its data leave for that.
pub const MINOR_MAX: usize = 4;
/// Types whose denials are common: A, NS, CNAME, SOA, MX, TXT, AAAA, SRV, DS, DNSKEY, SVCB, HTTPS. They are not among those.
pub const COMMON_TYPES: [u16; 12] = [1, 2, 5, 6, 15, 16, 28, 33, 43, 48, 64, 65];

/// What operators say about how long things are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// No TTL is longer: what was wrong is gone after so many seconds (RFC 8767 5 has a week as the most).
    pub ttl_max: u32,
    /// None of data is shorter, but of what is signed, of DS and of cuts, which end as their owners say. Above 0, names that move quickly are found late.
    pub ttl_min: u32,
    /// No denial is kept longer (RFC 2308 5: one to three hours work well).
    pub negative_ttl_max: u32,
    /// How long what has expired is of use, in seconds; 0: not at all (RFC 8767).
    pub stale_seconds: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { ttl_max: 86_400, ttl_min: 0, negative_ttl_max: 3_600, stale_seconds: 0 }
    }
}

/// The same, to be changed while others read them: each number by itself.
pub(crate) struct LiveLimits([AtomicU32; 4]);

impl LiveLimits {
    pub(crate) fn new(limits: &Limits) -> LiveLimits {
        LiveLimits(limits.numbers().map(AtomicU32::new))
    }

    pub(crate) fn set(&self, limits: &Limits) {
        self.0.iter().zip(limits.numbers()).for_each(|(own, number)| own.store(number, Ordering::Relaxed));
    }

    #[inline]
    pub(crate) fn load(&self) -> Limits {
        let [ttl_max, ttl_min, negative_ttl_max, stale_seconds] =
            self.0.each_ref().map(|number| number.load(Ordering::Relaxed));
        Limits { ttl_max, ttl_min, negative_ttl_max, stale_seconds }
    }
}

impl Limits {
    fn numbers(&self) -> [u32; 4] {
        [self.ttl_max, self.ttl_min, self.negative_ttl_max, self.stale_seconds]
    }

    /// The TTL that an entry is kept with. `kept`: what is kept of the same key.
    pub(crate) fn ttl_of(
        &self,
        subject: Subject,
        entry: &Entry<'_>,
        kept: Option<&Entry<'_>>,
        now: Moment,
    ) -> u32 {
        let most = match subject {
            Subject::Unchecked(rtype)
                if entry.security == Security::Bogus || !USED_UNCHECKED.contains(&rtype) =>
            {
                UNCHECKED_SECONDS_MAX.min(self.ttl_max)
            }
            _ => self.ttl_max,
        };
        match entry.kind {
            Kind::Data
                if subject == Subject::Rrset(wire::iana::rtype::DS) || !entry.signatures.is_empty() =>
            {
                entry.ttl.min(most)
            }
            Kind::Data => entry.ttl.max(self.ttl_min).min(most),
            // No minimum: a delegation that is withdrawn shall be gone when its parent says.
            Kind::Cut => entry.ttl.max(CUT_SECONDS_MIN).min(self.ttl_max),
            Kind::NoData | Kind::NameError => entry.ttl.min(self.negative_ttl_max).min(most),
            Kind::Failure => {
                // One that follows another within its length lasts twice as long (RFC 9520 3.2).
                let follows = kept.filter(|kept| kept.kind == Kind::Failure).and_then(|kept| {
                    match kept.ttl_left(now) {
                        Some(left) => Some(left),
                        None if kept.expired_for(now) <= u64::from(kept.ttl) => {
                            Some(kept.ttl.saturating_mul(2))
                        }
                        None => None,
                    }
                });
                entry.ttl.max(follows.unwrap_or(0)).clamp(FAILURE_SECONDS_MIN, FAILURE_SECONDS_MAX)
            }
        }
    }

    /// When an entry is of no use any more: `end` is when it expires.
    pub(crate) fn last_use(&self, subject: Subject, end: Moment) -> Moment {
        match subject {
            Subject::Rrset(_) | Subject::Existence => end.plus_seconds(self.stale_seconds),
            // The next failure may follow it.
            Subject::Failure(_) => end.plus_seconds(FAILURE_SECONDS_MAX),
            Subject::Unchecked(_) | Subject::Cut => end,
        }
    }
}
