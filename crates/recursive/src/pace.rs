//! How often clients of a prefix make the resolver work: shares of places hold nobody whose questions are answered fast, such as names that do not exist in zones
//! that do, asked for at a rate, which servers of others pay for.
//!
//! ```text
//! keyed hash of (/24 or /56, proof) -> line of 4 rows { tag, moment at which its account is empty, microseconds }
//!
//!  empty        has some          full: no question
//!  <-- moment --|---- moment ----|-- moment
//!              now              now + 1 s
//! ```
//!
//! A row that is new takes the place of the one that has been empty for longest. Those with proof have accounts of their own, so that forged addresses cost them
//! nothing.

use cache::{Moment, Secret};
use std::hash::BuildHasher;
use wire::Address;

/// Lines, a power of two: 256 KiB in all.
const LINES: usize = 4096;
/// Rows of a line: what a line of the processor's caches holds.
const WAYS: usize = 4;
/// Microseconds ahead of now at which an account is full: who did not ask for a second may ask for a second's questions at once.
const FULL_US: u64 = 1_000_000;

#[derive(Clone, Copy, Default)]
struct Row {
    tag: u64,
    empty_us: u64,
}

/// Accounts of prefixes of clients: how many questions each may still ask of the resolver.
pub(crate) struct Paces {
    lines: Box<[[Row; WAYS]]>,
    keys: Secret,
}

impl Paces {
    pub(crate) fn new() -> Paces {
        Paces { lines: Box::default(), keys: Secret::default() }
    }

    /// Whether a client may make the resolver work once more, where so many questions a second are for its prefix; 0: it may.
    #[inline]
    pub(crate) fn may(&mut self, address: &Address, is_proved: bool, per_second: u32, now: Moment) -> bool {
        per_second == 0 || self.charge(address, is_proved, per_second, now)
    }

    fn charge(&mut self, address: &Address, is_proved: bool, per_second: u32, now: Moment) -> bool {
        if self.lines.is_empty() {
            self.lines = vec![[Row::default(); WAYS]; LINES].into();
        }
        let (is_v4, bits) = address.leading_bits();
        let prefix = if is_v4 { bits >> 40 } else { bits >> 8 | 1 << 63 };
        // Never 0, which is that of an empty row.
        let hash = self.keys.hash_one((prefix, is_proved)) | 1;
        let line = &mut self.lines[(hash >> 32) as usize % LINES];
        let way = match line.iter().position(|row| row.tag == hash) {
            Some(way) => way,
            None => {
                let oldest = (0..WAYS).min_by_key(|way| line[*way].empty_us).unwrap_or(0);
                line[oldest] = Row { tag: hash, empty_us: 0 };
                oldest
            }
        };
        let row = &mut line[way];
        let now_us = now.0.saturating_mul(1000);
        let empty_us = row.empty_us.max(now_us) + FULL_US / u64::from(per_second).min(FULL_US);
        let has_some = empty_us <= now_us + FULL_US;
        if has_some {
            row.empty_us = empty_us;
        }
        has_some
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse::<std::net::SocketAddr>().unwrap().into()
    }

    #[test]
    fn so_many_a_second() {
        let mut paces = Paces::new();
        let mut asked = |from: &str, is_proved: bool, per_second: u32, seconds: u64| {
            let from = address(from);
            let all = 0..seconds * 1000;
            all.filter(|ms| paces.may(&from, is_proved, per_second, Moment(10_000 + ms))).count()
        };
        assert_eq!(asked("192.0.2.1:5", false, 0, 2), 2_000);
        // A second's at once, and then as many as the seconds bring.
        assert!((298..=302).contains(&asked("192.0.2.1:5", false, 100, 2)));
        // Of one prefix, proved ones apart, and others.
        assert!(asked("192.0.2.200:5", false, 100, 1) <= 2);
        assert!(asked("192.0.2.200:5", true, 100, 1) >= 198);
        assert!(asked("192.0.3.1:5", false, 100, 1) >= 198);
        assert!(asked("[2001:db8::1]:5", false, 100, 1) >= 198);
        assert!(asked("[2001:db8:0:ff::1]:5", false, 100, 1) <= 2, "the same /56");
    }

    /// A flood from everywhere does not give one that is full a new account: those that are empty go first.
    #[test]
    fn full_accounts_stay() {
        let mut paces = Paces::new();
        let full = address("192.0.2.1:5");
        (0..10).for_each(|_| {
            paces.may(&full, false, 10, Moment(1_000));
        });
        assert!(!paces.may(&full, false, 10, Moment(1_000)));
        for number in 0..1_000_u32 {
            let [a, b, ..] = number.to_le_bytes();
            paces.may(&Address::v4([10, a, b, 1], 5), false, 10, Moment(1_000));
        }
        assert!(!paces.may(&full, false, 10, Moment(1_000)));
        assert!(paces.may(&full, false, 10, Moment(1_100)));
    }
}
