//! Trust anchors that follow their zone from key to key (RFC 5011): a state and a DNSKEY RRset make a new state. No clock, no file.
//!
//! ```text
//!             seen in a set that a trusted key signed            30 days, or the TTL if that is longer
//!   (unknown) ------------------------------------> pending ---------------------------------------> valid <---> missing
//!        ^                                             | not seen, or revoked                           |           |
//!        `---------------------------------------------'                    revoked, and signed so by itself -------'
//!                                                                                                       v
//!                                                                        (forgotten) <--- 30 days --- revoked
//! ```
//!
//! *Trusted* are the keys that are valid or missing, and the DS records that the state began with until their key is seen. A revocation needs no other
//! signature than that of the key it revokes: else a zone whose only key is known to others could not get rid of it. Everything else needs one of a
//! key that is trusted after it.
//!
//! A clock that is wrong by more than the life of a signature validates nothing, so nothing moves by it. One that was set back by more than
//! [`CLOCK_STEP_SECONDS_MAX`] makes pending keys wait anew.

mod text;

use std::fmt;

use dnssec::digest::is_ds_digest;
use dnssec::key::{Dnskey, Ds, FLAG_SEP};
use dnssec::verify::Rrsig;
use wire::rrset::RdataListBuf;
use wire::{Name, NameBuf, Rrset};

use crate::anchors::Anchors;
use crate::fault::Fault;
use crate::keys::{self, Entry};
use crate::limits::{KEYS_MAX, Meter, SIGNATURES_OF_RRSET_MAX};
use crate::policy::Policy;
use crate::signature::{self, Bench, Verifier};

pub use text::{TextError, TextFault, read, write};

/// How long a new key is seen before it is trusted, at least (RFC 5011 2.4.1): time for the owner of the zone to find out that it was not them.
pub const ADD_HOLD_DOWN_SECONDS: u64 = 30 * 86_400;

/// How long a revoked key is remembered (RFC 5011 2.4.2).
pub const REMOVE_HOLD_DOWN_SECONDS: u64 = 30 * 86_400;

/// Keys that may be pending: who holds a key that is trusted can publish any number. The root has had one at a time.
pub const PENDING_MAX: usize = 16;

/// How far the clock may be set back without making pending keys wait anew: what leap seconds and time servers do, and a little more.
pub const CLOCK_STEP_SECONDS_MAX: u64 = 3600;

/// Bounds of the time from one look at the set to the next, after one that went well and after one that did not (RFC 5011 2.3).
const INTERVAL_SECONDS_MIN: u64 = 3600;
const INTERVAL_SECONDS_MAX: u64 = 15 * 86_400;
const RETRY_SECONDS_MAX: u64 = 86_400;

/// Where a key is; times are seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    /// Seen, not trusted yet.
    Pending {
        /// When it was first seen.
        since: u64,
        /// When it will be trusted.
        until: u64,
    },
    /// Trusted, and in the set.
    Valid,
    /// Trusted, and not in the set.
    Missing {
        /// Since when.
        since: u64,
    },
    /// Never trusted again.
    Revoked {
        /// Since when.
        since: u64,
    },
}

/// A key that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManagedKey {
    /// DNSKEY RDATA, without the bit that revokes it.
    pub rdata: Vec<u8>,
    /// Where it is.
    pub state: KeyState,
}

impl ManagedKey {
    fn is_trusted(&self) -> bool {
        matches!(self.state, KeyState::Valid | KeyState::Missing { .. })
    }
}

/// The keys of one zone that are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Managed {
    /// The zone.
    pub zone: NameBuf,
    /// DS RDATA that the state began with, whose keys were not seen yet.
    pub ds: Vec<Vec<u8>>,
    /// The keys.
    pub keys: Vec<ManagedKey>,
    /// When a set was last taken, in seconds since 1970; 0 for never.
    pub checked: u64,
    /// When the set is to be looked at again: fetched from the zone's servers, not from a cache.
    pub next: u64,
}

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The key with this tag was seen for the first time.
    Seen {
        /// Tag of the key.
        tag: u16,
        /// When it will be trusted.
        until: u64,
    },
    /// It is trusted from now on.
    Trusted(u16),
    /// It is not in the set any more before it was trusted.
    Dropped(u16),
    /// It is trusted, and not in the set.
    Missing(u16),
    /// It is in the set again.
    Back(u16),
    /// It is revoked.
    Revoked(u16),
    /// It was revoked long ago, and is forgotten.
    Forgotten(u16),
    /// The clock was set back: it waits anew.
    Restarted(u16),
    /// No trusted key is left: the zone has no trust anchor (RFC 5011 5).
    NoneLeft,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Seen { tag, until } => write!(f, "key {tag} is new; to be trusted from {until}"),
            Change::Trusted(tag) => write!(f, "key {tag} is trusted from now on"),
            Change::Dropped(tag) => write!(f, "key {tag} has gone before it was trusted"),
            Change::Missing(tag) => write!(f, "key {tag} is trusted, and the zone does not have it"),
            Change::Back(tag) => write!(f, "the zone has key {tag} again"),
            Change::Revoked(tag) => write!(f, "key {tag} is revoked"),
            Change::Forgotten(tag) => write!(f, "key {tag} was revoked long ago, and is forgotten"),
            Change::Restarted(tag) => write!(f, "key {tag} waits anew: the clock was set back"),
            Change::NoneLeft => f.write_str("no trusted key is left: the zone has no trust anchor any more"),
        }
    }
}

impl Managed {
    /// Begins with the DS records of an anchor.
    pub fn new<'d>(zone: &Name, ds: impl IntoIterator<Item = &'d [u8]>) -> Managed {
        let ds = ds.into_iter().map(<[u8]>::to_vec).collect();
        Managed { zone: zone.to_lowercase(), ds, keys: Vec::new(), checked: 0, next: 0 }
    }

    /// Replaces the anchor of the zone in `anchors` by what is trusted.
    pub fn apply(&self, anchors: &mut Anchors) {
        let keys = self.keys.iter().filter(|key| key.is_trusted());
        anchors.set(&self.zone, self.ds.iter().map(Vec::as_slice), keys.map(|key| &key.rdata[..]));
    }

    /// Whether anything is trusted.
    pub fn is_trusting(&self) -> bool {
        !self.ds.is_empty() || self.keys.iter().any(ManagedKey::is_trusted)
    }

    /// Puts off the next look after one in vain.
    pub fn failed(&mut self, now: u64) {
        let interval = self.next.saturating_sub(self.checked) / 5;
        self.next = now + interval.clamp(INTERVAL_SECONDS_MIN, RETRY_SECONDS_MAX);
    }

    /// Takes the DNSKEY RRset of the zone, as it came from its servers, at `now` in seconds since 1970. Returns what has changed; the state is to be
    /// kept when that is not nothing, and now and then as [`Managed::checked`] moves.
    ///
    /// An error when no trusted key signed the set and nothing was revoked: then nothing has changed, see [`Managed::failed`].
    pub fn observe(
        &mut self,
        rrset: &Rrset<'_>,
        now: u64,
        policy: &Policy,
        verifier: &mut Verifier,
    ) -> Result<Vec<Change>, Fault> {
        let mut meter = Meter::default();
        let mut bench = Bench { policy, now, meter: &mut meter, verifier };
        let mut changes = Vec::new();
        if !rrset.owner.eq_ignore_case(&self.zone) {
            return Err(Fault::WrongSigner);
        }
        self.revoke(rrset, &mut bench, &mut changes);
        match self.signed_by_trusted(rrset, &mut bench) {
            Ok(()) => {
                let longest = self.intervals(rrset, now);
                self.meet(rrset, now, longest, &mut changes);
                self.miss(rrset, now, &mut changes);
                self.checked = now;
            }
            Err(fault) if changes.is_empty() => return Err(fault),
            Err(_) => {}
        }
        if !self.is_trusting() {
            changes.push(Change::NoneLeft);
        }
        Ok(changes)
    }

    /// Revokes keys that say so in a set that they signed themselves.
    fn revoke(&mut self, rrset: &Rrset<'_>, bench: &mut Bench<'_>, changes: &mut Vec<Change>) {
        for rdata in rrset.rdatas.iter().take(KEYS_MAX) {
            let Some(key) = Dnskey::parse(rdata).filter(Dnskey::is_revoked) else { continue };
            let plain = without_revocation(rdata);
            let known = self.keys.iter().position(|known| known.rdata == plain);
            let is_of_ds = |ds: &Vec<u8>| is_of_ds(ds, &self.zone, &plain);
            let is_revoked = known.is_some_and(|at| matches!(self.keys[at].state, KeyState::Revoked { .. }));
            if is_revoked || known.is_none() && !self.ds.iter().any(is_of_ds) {
                continue;
            }
            let alone: RdataListBuf = [rdata].into_iter().collect();
            if signature::verify_by_revoked(rrset, &self.zone, alone.list(), bench).is_err() {
                continue;
            }
            let zone = &self.zone;
            self.ds.retain(|ds| !self::is_of_ds(ds, zone, &plain));
            let state = KeyState::Revoked { since: bench.now };
            match known {
                Some(at) => self.keys[at].state = state,
                None => self.keys.push(ManagedKey { rdata: plain, state }),
            }
            changes.push(Change::Revoked(key.tag));
        }
    }

    fn signed_by_trusted(&self, rrset: &Rrset<'_>, bench: &mut Bench<'_>) -> Result<(), Fault> {
        let ds: RdataListBuf = self.ds.iter().map(Vec::as_slice).collect();
        let trusted = self.keys.iter().filter(|key| key.is_trusted());
        let keys: RdataListBuf = trusted.map(|key| &key.rdata[..]).collect();
        let entries = [Entry::Ds(ds.list()), Entry::Keys(keys.list())];
        match keys::validate(rrset, &entries, bench)? {
            Ok(_) => Ok(()),
            // Algorithms that are not verified prove nothing, here least of all.
            Err(_) => Err(Fault::UnsupportedAlgorithm),
        }
    }

    /// Sets the time of the next look; returns the longest TTL that the set was signed with.
    fn intervals(&mut self, rrset: &Rrset<'_>, now: u64) -> u64 {
        let signatures = rrset.signatures.iter().take(SIGNATURES_OF_RRSET_MAX).filter_map(Rrsig::parse);
        let mut shortest = INTERVAL_SECONDS_MAX;
        let mut longest = 0;
        for rrsig in signatures.filter(|rrsig| rrsig.check_period(now as u32).is_ok()) {
            let ttl = u64::from(rrsig.original_ttl);
            let life = u64::from(rrsig.expiration.wrapping_sub(now as u32));
            shortest = shortest.min(ttl / 2).min(life / 2);
            longest = longest.max(ttl);
        }
        self.next = now + shortest.max(INTERVAL_SECONDS_MIN);
        longest
    }

    /// Keys that are in the set.
    fn meet(&mut self, rrset: &Rrset<'_>, now: u64, ttl_longest: u64, changes: &mut Vec<Change>) {
        let wait = ADD_HOLD_DOWN_SECONDS.max(ttl_longest);
        let mut pending =
            self.keys.iter().filter(|key| matches!(key.state, KeyState::Pending { .. })).count();
        for rdata in rrset.rdatas.iter().take(KEYS_MAX) {
            let is_anchor = |key: &Dnskey<'_>| key.is_zone_key() && key.flags & FLAG_SEP != 0;
            let Some(key) = Dnskey::parse(rdata).filter(is_anchor) else { continue };
            let tag = key.tag;
            let zone = &self.zone;
            let before = self.ds.len();
            self.ds.retain(|ds| !is_of_ds(ds, zone, rdata));
            let is_of_ds = self.ds.len() < before;
            let Some(known) = self.keys.iter_mut().find(|known| known.rdata == rdata) else {
                let state = match is_of_ds {
                    true => KeyState::Valid,
                    false if pending >= PENDING_MAX => continue,
                    false => KeyState::Pending { since: now, until: now + wait },
                };
                changes.push(match state {
                    KeyState::Pending { until, .. } => Change::Seen { tag, until },
                    _ => Change::Trusted(tag),
                });
                pending += usize::from(!is_of_ds);
                self.keys.push(ManagedKey { rdata: rdata.to_vec(), state });
                continue;
            };
            let (state, change) = match known.state {
                KeyState::Pending { until, .. } if until > now + wait + CLOCK_STEP_SECONDS_MAX => {
                    (KeyState::Pending { since: now, until: now + wait }, Change::Restarted(tag))
                }
                KeyState::Pending { until, .. } if until <= now || is_of_ds => {
                    (KeyState::Valid, Change::Trusted(tag))
                }
                KeyState::Missing { .. } => (KeyState::Valid, Change::Back(tag)),
                KeyState::Pending { .. } | KeyState::Valid | KeyState::Revoked { .. } => continue,
            };
            known.state = state;
            changes.push(change);
        }
    }

    /// Keys that are not in the set, and those that were revoked long ago.
    fn miss(&mut self, rrset: &Rrset<'_>, now: u64, changes: &mut Vec<Change>) {
        self.keys.retain_mut(|known| {
            let tag = dnssec::key::key_tag(&known.rdata);
            let is_there = rrset.rdatas.iter().take(KEYS_MAX).any(|rdata| rdata == known.rdata);
            match known.state {
                KeyState::Pending { .. } if !is_there => {
                    changes.push(Change::Dropped(tag));
                    return false;
                }
                KeyState::Valid if !is_there => {
                    known.state = KeyState::Missing { since: now };
                    changes.push(Change::Missing(tag));
                }
                KeyState::Revoked { since } if now >= since + REMOVE_HOLD_DOWN_SECONDS && !is_there => {
                    changes.push(Change::Forgotten(tag));
                    return false;
                }
                _ => {}
            }
            true
        });
    }
}

/// DNSKEY RDATA with the bit that revokes it cleared.
fn without_revocation(rdata: &[u8]) -> Vec<u8> {
    let mut plain = rdata.to_vec();
    if let Some(flags) = plain.get_mut(1) {
        *flags &= !(dnssec::key::FLAG_REVOKE as u8);
    }
    plain
}

/// Whether a DS record is of a key.
fn is_of_ds(ds: &[u8], zone: &Name, dnskey: &[u8]) -> bool {
    let (Some(ds), Some(key)) = (Ds::parse(ds), Dnskey::parse(dnskey)) else { return false };
    let is_like = ds.key_tag == key.tag && ds.algorithm == key.algorithm;
    is_like && is_ds_digest(ds.digest_type, ds.digest, zone, dnskey) == Ok(true)
}

#[cfg(test)]
mod tests;
