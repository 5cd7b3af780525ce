//! How servers behave: what a resolver that asks one of several wants to know of each before.
//!
//! ```text
//! address, port --keyed hash--> set of 4 rows      row: | version | address 3 words | quality 9 words | 3 free |   128 octets
//! address, port, zone --keyed hash--> line of 8    word: | fingerprint 32 | lame until, seconds 32 |
//! ```
//!
//! Fixed memory, lossy: an address that is new takes the row of its set that was not updated for the longest time. A row's version is odd
//! while a writer is at it; readers copy it and look whether the version is still the same. Writers of a set exclude each other by one of [`LOCKS`] locks.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard};

use wire::Name;

use crate::Moment;
use crate::hash::Secret;
use crate::locks;
use crate::words::Lines;

mod moved;
mod quality;

pub(crate) use moved::address_of;
pub use quality::{Case, Cookie, Edns, Quality, ZoneMark};
use quality::{QUALITY_UPDATED, QUALITY_WORDS, Words};

/// Rows of a set: what a new address can choose from. More would have each look longer, fewer throw out servers in use while others idle.
const WAYS: usize = 4;
/// Words of a row: two lines of the processor's cache.
const ROW_WORDS: usize = 16;
/// Octets of a row.
const ROW_OCTETS: usize = ROW_WORDS * 8;
/// Words of a row before the quality.
const KEY_AT: usize = 1;
const KEY_WORDS: usize = 3;
const QUALITY_AT: usize = KEY_AT + KEY_WORDS;
/// Words of a line of the table of lame servers.
const LAME_WAYS: usize = 8;
/// Of so much of the memory one part is for lame servers: a word for each, and few are.
const LAME_PART: usize = 16;
/// A server that was not asked for so long is as good as unknown.
const IDLE_MS: u64 = 900_000;
/// Locks of writers: two workers seldom have an answer of the same of so many parts at once.
const LOCKS: usize = 64;
/// How often a reader tries before it takes the lock: a writer is done in 50 ns unless it lost its core.
const READS_MAX: usize = 16;

const _: () = assert!(QUALITY_AT + QUALITY_WORDS <= ROW_WORDS, "a row holds key and quality");

/// How servers behave, for all workers: rows in sets of four, each read and written without waiting.
pub struct Servers {
    secret: Secret,
    /// [`ROW_WORDS`] words each, [`WAYS`] a set.
    rows: Lines,
    sets: usize,
    /// [`LAME_WAYS`] a line.
    lame: Lines,
    lines: usize,
    locks: [Mutex<()>; LOCKS],
    /// Time-outs from before count no more.
    outage_end: AtomicU64,
}

/// Address and port as three words; never zero, which is a free row.
type Key = [u64; KEY_WORDS];

impl Servers {
    /// Room for so many octets; at least one set.
    pub fn new(octets: usize, secret: Secret) -> Servers {
        let (lines, sets) = Servers::parts_of(octets);
        Servers {
            secret,
            rows: Lines::new(sets * WAYS * ROW_WORDS),
            sets,
            lame: Lines::new(lines * LAME_WAYS),
            lines,
            locks: std::array::from_fn(|_| Mutex::new(())),
            outage_end: AtomicU64::new(0),
        }
    }

    /// Lines of lame servers, and sets, that so many octets have room for.
    fn parts_of(octets: usize) -> (usize, usize) {
        let lines = (octets / LAME_PART / (LAME_WAYS * 8)).max(1);
        let sets = (octets.saturating_sub(lines * LAME_WAYS * 8) / (WAYS * ROW_OCTETS)).max(1);
        (lines, sets)
    }

    /// Octets that those will count as that have room for so many; no more, but at least of one set.
    pub(crate) fn octets_of(octets: usize) -> usize {
        let (lines, sets) = Servers::parts_of(octets);
        lines * LAME_WAYS * 8 + sets * WAYS * ROW_OCTETS
    }

    /// Octets that it has taken.
    pub fn octets(&self) -> usize {
        (self.sets * WAYS * ROW_WORDS + self.lines * LAME_WAYS) * 8
    }

    /// How the server at `address` behaves as far as is known; [`Quality::default`] where nothing is.
    pub fn read(&self, address: &SocketAddr) -> Quality {
        let key = key_of(address);
        let set = self.set_of(&key);
        for _ in 0..READS_MAX {
            if let Some(found) = self.try_read(set, &key) {
                return found.unwrap_or_default();
            }
        }
        let _writing = self.lock(set);
        self.try_read(set, &key).flatten().unwrap_or_default()
    }

    /// Changes what is known of the server at `address`: `change` gets what was known.
    pub fn update(&self, address: &SocketAddr, now: Moment, change: impl FnOnce(&mut Quality)) {
        let key = key_of(address);
        let set = self.set_of(&key);
        let _writing = self.lock(set);
        let known = self.row_of(set, &key);
        let mut quality = known.map_or_else(Quality::default, |row| self.quality(&quality_of(row)));
        change(&mut quality);
        quality.updated = now;
        let Some(row) = known.or_else(|| self.row_for(set, &quality, now)) else { return };
        write(row, &key, &quality.to_words());
    }

    /// Whether the server is known to be lame for `zone` (in lower case): to answer for it without authority.
    pub fn is_lame(&self, address: &SocketAddr, zone: &Name, now: Moment) -> bool {
        let (line, fingerprint) = self.lame_place(address, zone);
        line.iter()
            .map(|word| word.load(Ordering::Relaxed))
            .any(|word| word >> 32 == fingerprint && u64::from(word as u32) * 1000 > now.0)
    }

    /// Says that the server is lame for `zone` for so many seconds from now; 0: that it is not.
    pub fn set_lame(&self, address: &SocketAddr, zone: &Name, now: Moment, seconds: u32) {
        let (line, fingerprint) = self.lame_place(address, zone);
        let _writing = self.lock(fingerprint as usize);
        let end = if seconds == 0 {
            0
        } else {
            (now.0.div_ceil(1000) + u64::from(seconds)).min(u64::from(u32::MAX))
        };
        let own = line.iter().find(|word| word.load(Ordering::Relaxed) >> 32 == fingerprint);
        let soonest = || line.iter().min_by_key(|word| word.load(Ordering::Relaxed) as u32);
        if let Some(word) = own.or_else(soonest) {
            word.store(fingerprint << 32 | end, Ordering::Relaxed);
        }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        for set in 0..self.sets {
            let _writing = self.lock(set);
            for row in self.set(set).chunks_exact(ROW_WORDS) {
                write(row, &[0; KEY_WORDS], &[0; QUALITY_WORDS]);
            }
        }
        self.lame.iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Nothing could be asked of anybody until now: time-outs and back-offs of before say nothing about servers.
    pub fn outage_ended(&self, now: Moment) {
        self.outage_end.fetch_max(now.0, Ordering::Relaxed);
    }

    /// What methods of [`Quality`] know a zone (in lower case) by.
    pub fn zone(&self, zone: &Name) -> ZoneMark {
        ZoneMark::new(self.secret.hash(zone.octets()))
    }

    fn quality(&self, words: &Words) -> Quality {
        let mut quality = Quality::from_words(words);
        if quality.updated.0 < self.outage_end.load(Ordering::Relaxed) {
            quality.is_there();
        }
        quality
    }

    fn set_of(&self, key: &Key) -> usize {
        let mut octets = [0; KEY_WORDS * 8];
        octets.chunks_exact_mut(8).zip(key).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
        index_below(self.secret.hash(&octets), self.sets)
    }

    fn set(&self, set: usize) -> &[AtomicU64] {
        &self.rows[set * WAYS * ROW_WORDS..][..WAYS * ROW_WORDS]
    }

    fn lock(&self, part: usize) -> MutexGuard<'_, ()> {
        // What a lock protects is whole after a panic too: rows are written after `change`.
        locks::lock(&self.locks[part % LOCKS])
    }

    /// `None`: a writer was there. Else what the set has of the key.
    fn try_read(&self, set: usize, key: &Key) -> Option<Option<Quality>> {
        for row in self.set(set).chunks_exact(ROW_WORDS) {
            let version = row[0].load(Ordering::Acquire);
            let own: Key = std::array::from_fn(|at| row[KEY_AT + at].load(Ordering::Relaxed));
            let quality = (own == *key).then(|| quality_of(row));
            fence(Ordering::Acquire);
            if !version.is_multiple_of(2) || row[0].load(Ordering::Relaxed) != version {
                return None;
            }
            if let Some(words) = quality {
                return Some(Some(self.quality(&words)));
            }
        }
        Some(None)
    }

    /// The row of the key. Under the lock.
    fn row_of(&self, set: usize, key: &Key) -> Option<&[AtomicU64]> {
        let is_own =
            |row: &&[AtomicU64]| (0..KEY_WORDS).all(|at| row[KEY_AT + at].load(Ordering::Relaxed) == key[at]);
        self.set(set).chunks_exact(ROW_WORDS).find(is_own)
    }

    /// The row to give up for a server with this quality: the oldest of a server that never answered, else the oldest. `None`: all are of servers that
    /// answered lately, and this one did not. So nobody has rows given up by naming addresses where there are no servers.
    fn row_for(&self, set: usize, quality: &Quality, now: Moment) -> Option<&[AtomicU64]> {
        let age = |row: &&[AtomicU64]| {
            let words = quality_of(row);
            (Quality::from_words(&words).is_measured(), words[QUALITY_UPDATED])
        };
        let row = self.set(set).chunks_exact(ROW_WORDS).min_by_key(age)?;
        let (is_measured, updated) = age(&row);
        let is_idle = now.ms_since(Moment(updated)) >= IDLE_MS;
        (!is_measured || quality.is_measured() || is_idle).then_some(row)
    }

    fn lame_place(&self, address: &SocketAddr, zone: &Name) -> (&[AtomicU64], u64) {
        let mut octets = [0; KEY_WORDS * 8 + wire::name::NAME_OCTETS_MAX];
        octets
            .chunks_exact_mut(8)
            .zip(key_of(address))
            .for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
        let length = zone.octets().len().min(wire::name::NAME_OCTETS_MAX);
        octets[KEY_WORDS * 8..][..length].copy_from_slice(&zone.octets()[..length]);
        let hash = self.secret.hash(&octets[..KEY_WORDS * 8 + length]);
        let line = index_below(hash, self.lines);
        // Never 0, which a free word has.
        (&self.lame[line * LAME_WAYS..][..LAME_WAYS], u64::from(hash as u32).max(1))
    }
}

/// The upper half of a hash as an index.
fn index_below(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

/// Under the lock.
fn write(row: &[AtomicU64], key: &Key, quality: &Words) {
    let version = row[0].load(Ordering::Relaxed);
    row[0].store(version.wrapping_add(1), Ordering::Relaxed);
    fence(Ordering::Release);
    for (word, value) in row[KEY_AT..].iter().zip(key.iter().chain(quality)) {
        word.store(*value, Ordering::Relaxed);
    }
    row[0].store(version.wrapping_add(2), Ordering::Release);
}

fn quality_of(row: &[AtomicU64]) -> Words {
    std::array::from_fn(|at| row[QUALITY_AT + at].load(Ordering::Relaxed))
}

fn key_of(address: &SocketAddr) -> Key {
    let ip = match address.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let scope = match address {
        SocketAddr::V6(address) => u64::from(address.scope_id()),
        SocketAddr::V4(_) => 0,
    };
    let bits = ip.to_bits();
    [(bits >> 64) as u64, bits as u64, 1 << 63 | scope << 16 | u64::from(address.port())]
}

#[cfg(test)]
mod tests;
