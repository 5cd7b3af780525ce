//! Fingerprints of keys that left the small ring unread: one that comes back while it is here is asked for more than once.
//!
//! ```text
//! hash -> line of 4 fingerprints of 16 bits, newest first
//! ```
//!
//! Under the lock of the shard's writers. A wrong match (4 in 65,536) lets an entry into the main ring that it must earn its place in like others.

/// Fingerprints of a line.
const WAYS: usize = 4;

pub(crate) struct Ghosts {
    lines: Box<[[u16; WAYS]]>,
    /// None is there yet: memory that was never written is not read for nothing.
    is_empty: bool,
}

impl Ghosts {
    /// About so many fingerprints.
    pub(crate) fn new(count: usize) -> Ghosts {
        Ghosts { lines: vec![[0; WAYS]; (count / WAYS).max(1)].into(), is_empty: true }
    }

    /// Octets of so many.
    pub(crate) const fn octets(count: usize) -> usize {
        count * 2
    }

    /// Octets of these.
    pub(crate) fn all_octets(&self) -> usize {
        Ghosts::octets(self.lines.len() * WAYS)
    }

    fn place(&mut self, hash: u64) -> (&mut [u16; WAYS], u16) {
        let line = (((hash >> 32) * self.lines.len() as u64) >> 32) as usize;
        (&mut self.lines[line], (hash as u16).max(1))
    }

    pub(crate) fn insert(&mut self, hash: u64) {
        self.is_empty = false;
        let (line, fingerprint) = self.place(hash);
        line.rotate_right(1);
        line[0] = fingerprint;
    }

    /// Whether it is there; it is not any more.
    pub(crate) fn take(&mut self, hash: u64) -> bool {
        if self.is_empty {
            return false;
        }
        let (line, fingerprint) = self.place(hash);
        let found = line.iter_mut().find(|own| **own == fingerprint);
        found.map(|own| *own = 0).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_the_latest() {
        let mut ghosts = Ghosts::new(4);
        let hash = |number: u64| number << 32 | number;
        (1..=5).for_each(|number| ghosts.insert(hash(number)));
        assert_eq!(
            (1..=6).map(|number| ghosts.take(hash(number))).collect::<Vec<_>>(),
            [false, true, true, true, true, false]
        );
        assert!(!ghosts.take(hash(2)), "taken before");
    }
}
