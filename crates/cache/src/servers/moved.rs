//! What is known of servers on its way into another table, or a file.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::sync::atomic::Ordering;

use super::{KEY_AT, KEY_WORDS, Key, LAME_WAYS, Quality, ROW_WORDS, Servers, key_of, quality_of, write};
use crate::Moment;

/// Lines that a line of lame servers may have become: of these all get it, as its words do not say which. A table that grew by more begins without.
const LINES_OF_ONE_MAX: usize = 8;
/// What is measured as longer is none: all time-outs are shorter.
const RTT_US_MAX: u32 = 10_000_000;

impl Servers {
    /// Shows `each` the servers of which something is known: address and port as words, and what.
    pub(crate) fn each(&self, mut each: impl FnMut(&Key, &Quality)) {
        for set in 0..self.sets {
            let _writing = self.lock(set);
            for row in self.set(set).chunks_exact(ROW_WORDS) {
                let key: Key = std::array::from_fn(|at| row[KEY_AT + at].load(Ordering::Relaxed));
                if key != [0; KEY_WORDS] {
                    each(&key, &self.quality(&quality_of(row)));
                }
            }
        }
    }

    /// Takes over what was known of a server, and when it was; unless something is known of it, or those in its place are worth more.
    pub(crate) fn restore(&self, address: &SocketAddr, quality: &Quality, now: Moment) -> bool {
        let key = key_of(address);
        let set = self.set_of(&key);
        let _writing = self.lock(set);
        let row = match self.row_of(set, &key) {
            Some(_) => None,
            None => self.row_for(set, quality, now),
        };
        row.inspect(|row| write(row, &key, &quality.to_words())).is_some()
    }

    /// Has all that is known here known in a table of another size and of the same secret, which nobody else has yet.
    pub(crate) fn copy_to(&self, other: &Servers) {
        other.outage_end.store(self.outage_end.load(Ordering::Relaxed), Ordering::Relaxed);
        self.each(|key, quality| {
            if let Some(address) = address_of(key) {
                other.restore(&address, quality, quality.updated);
            }
        });
        for (line, words) in self.lame.chunks_exact(LAME_WAYS).enumerate() {
            let (first, last) =
                (line * other.lines / self.lines, ((line + 1) * other.lines - 1) / self.lines);
            for word in words.iter().map(|word| word.load(Ordering::Relaxed)).filter(|word| *word != 0) {
                for line in (first..=last).take(LINES_OF_ONE_MAX) {
                    other.take_lame(line, word);
                }
            }
        }
    }

    /// Puts a word into a line, in place of what ends soonest if that ends sooner.
    fn take_lame(&self, line: usize, word: u64) {
        let line = &self.lame[line * LAME_WAYS..][..LAME_WAYS];
        let end = |word: u64| word as u32;
        // A table that grew had it in some lines that are one now.
        if line.iter().any(|own| own.load(Ordering::Relaxed) >> 32 == word >> 32) {
            return;
        }
        if let Some(soonest) = line.iter().min_by_key(|own| end(own.load(Ordering::Relaxed)))
            && end(soonest.load(Ordering::Relaxed)) < end(word)
        {
            soonest.store(word, Ordering::Relaxed);
        }
    }
}

impl Quality {
    /// Whether a file could say so of a server.
    pub(crate) fn is_sound(&self) -> bool {
        self.rtt_us <= RTT_US_MAX && self.variation_us <= RTT_US_MAX
    }
}

/// Address and port of the words that stand for them; `None`: these stand for none.
pub(crate) fn address_of(key: &Key) -> Option<SocketAddr> {
    let ip = Ipv6Addr::from_bits(u128::from(key[0]) << 64 | u128::from(key[1]));
    let (port, scope) = (key[2] as u16, (key[2] >> 16 & u64::from(u32::MAX)) as u32);
    let address = match ip.to_ipv4_mapped() {
        Some(ip) => SocketAddr::new(IpAddr::V4(ip), port),
        None => SocketAddr::V6(SocketAddrV6::new(ip, port, 0, scope)),
    };
    (key_of(&address) == *key).then_some(address)
}
