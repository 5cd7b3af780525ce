//! What the parts of an answer have in common: how far they are proved, how long they are good, from which entries they are.

use super::{Asked, End};
use crate::limits::{PREFETCH_PART, PREFETCH_TTL_MIN};
use crate::rendered::STAMPS_MAX;
use crate::verdict::Verdict;
use crate::wishes::Wishes;
use cache::{Copied, Entry, Kind, Moment, Security, Stamp};
use resolve::outcome::EDES_MAX;
use wire::iana::ede;

/// Why something that has expired is given: it could not be found out anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stale {
    /// As an extended error.
    pub why: Option<u16>,
}

/// What the parts of an answer have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// The worst.
    pub security: Security,
    /// Until when all are fresh.
    pub until: Moment,
    /// When the first is to be asked for anew.
    pub due: Moment,
    /// One has expired.
    pub is_stale: bool,
    /// One is to be asked for anew before it expires.
    pub is_due: bool,
    /// Something of it is kept, whether it was of use or not.
    pub is_known: bool,
    /// Something was kept back.
    pub is_filtered: bool,
    /// Addresses made.
    pub made: u32,
    /// Entries, as far as they are counted.
    stamps: [Option<Stamp>; STAMPS_MAX],
    count: usize,
    edes: [Option<u16>; EDES_MAX],
}

impl Parts {
    pub(crate) fn new() -> Parts {
        Parts {
            security: Security::Secure,
            until: Moment(u64::MAX),
            due: Moment(u64::MAX),
            is_stale: false,
            is_due: false,
            is_known: false,
            is_filtered: false,
            made: 0,
            stamps: [None; STAMPS_MAX],
            count: 0,
            edes: [None; EDES_MAX],
        }
    }

    /// Takes note that something of it is kept; always true.
    #[inline(always)]
    pub(super) fn knows(&mut self) -> bool {
        self.is_known = true;
        true
    }

    /// Adds an entry.
    #[inline(always)]
    pub(super) fn add(&mut self, entry: &Entry<'_>, asked: &Asked<'_>) {
        if entry.ttl_left(asked.now).is_none() {
            return self.add_stale(entry, asked);
        }
        self.security = self.security.worst(entry.security);
        match (entry.security, entry.ede) {
            (Security::Bogus, ede) => self.note(ede.unwrap_or(ede::DNSSEC_BOGUS)),
            // Why it counts as not signed, though it is.
            (Security::Insecure, Some(ede)) => self.note(ede),
            _ => {}
        }
        let due_ms = match entry.ttl {
            0..PREFETCH_TTL_MIN => u64::from(entry.ttl) * 1000,
            ttl => u64::from(ttl) * 1000 / PREFETCH_PART * (PREFETCH_PART - 1),
        };
        let due = entry.stored.plus_ms(due_ms);
        self.is_due |= asked.now >= due;
        self.due = self.due.min(due);
        self.until = self.until.min(entry.stored.plus_seconds(entry.ttl));
    }

    /// Adds an entry that has expired: signatures may have too (RFC 8767 5).
    #[cold]
    fn add_stale(&mut self, entry: &Entry<'_>, asked: &Asked<'_>) {
        self.security = self.security.worst(entry.security).worst(Security::Insecure);
        self.until = asked.now;
        self.is_stale = true;
        let code = match entry.kind {
            Kind::NameError => ede::STALE_NXDOMAIN_ANSWER,
            _ => ede::STALE_ANSWER,
        };
        self.note(code);
        if let Some(why) = asked.stale.and_then(|stale| stale.why) {
            self.note(why);
        }
    }

    /// Adds the stamp of the entry that was copied last.
    #[inline(always)]
    pub(super) fn of(&mut self, copied: &Copied) {
        if let Some(to) = self.stamps.get_mut(self.count) {
            *to = copied.stamp();
        }
        self.count += 1;
    }

    /// Stamps of all entries; `None` where they are too many, or one has none.
    pub(crate) fn stamps(&self) -> Option<&[Option<Stamp>]> {
        let stamps = self.stamps.get(..self.count)?;
        (!stamps.is_empty() && stamps.iter().all(Option::is_some)).then_some(stamps)
    }

    /// Adds an extended error, if there is room.
    pub(crate) fn note(&mut self, code: u16) {
        if !self.edes.contains(&Some(code))
            && let Some(to) = self.edes.iter_mut().find(|ede| ede.is_none())
        {
            *to = Some(code);
        }
    }

    pub(super) fn verdict(&self, rcode: u16, wishes: &Wishes) -> End {
        End::Answer(Verdict { rcode, edes: self.edes, flags: 0 }.proved(self.security, wishes))
    }
}

/// Whether an extended error says that something is wrong with signatures: who sets CD does not mind.
pub(crate) fn is_of_validation(code: u16) -> bool {
    matches!(
        code,
        ede::UNSUPPORTED_DNSKEY_ALGORITHM | ede::UNSUPPORTED_DS_DIGEST_TYPE | ede::DNSSEC_INDETERMINATE
            ..=ede::NSEC_MISSING | ede::SIGNATURE_EXPIRED_BEFORE_VALID | ede::UNSUPPORTED_NSEC3_ITERATIONS
    )
}
