//! Memory for what cannot be handled at once: beginnings of queries, ends of responses.
//!
//! An idle connection has none. A worker reads into and writes from two areas of its own; only what is left over is
//! copied to a buffer lent from here, and the buffer comes back as soon as it is empty.

/// Buffers kept for reuse. More wait at once only while clients are slow, and then allocating is the least cost.
const SPARE_MAX: usize = 64;

/// Largest buffer kept for reuse, so that one burst of long messages does not pin memory.
const SPARE_OCTETS_MAX: usize = 16 << 10;

/// Octets that the buffers of all connections of a worker may take together: 250 clients each not reading one
/// maximal response of 128 KiB. Beyond it the slowest clients are cut off.
pub(super) const HELD_OCTETS_MAX: usize = 32 << 20;

/// The buffers of one worker's connections.
#[derive(Debug)]
pub(super) struct Pool {
    spare: Vec<Vec<u8>>,
    /// Capacity of all buffers that are lent.
    held_octets: usize,
    /// How much that may be.
    held_octets_max: usize,
}

impl Pool {
    pub(super) fn new(held_octets_max: usize) -> Self {
        Self { spare: Vec::new(), held_octets: 0, held_octets_max }
    }

    /// Appends `octets` to `buffer`, lending it memory as needed.
    pub(super) fn append(&mut self, buffer: &mut Vec<u8>, octets: &[u8]) {
        if octets.is_empty() {
            return;
        }
        if buffer.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *buffer = spare;
            self.held_octets += buffer.capacity();
        }
        let before = buffer.capacity();
        buffer.extend_from_slice(octets);
        self.held_octets += buffer.capacity() - before;
    }

    /// Takes the memory of `buffer` back and leaves it empty.
    pub(super) fn take_back(&mut self, buffer: &mut Vec<u8>) {
        let mut buffer = std::mem::take(buffer);
        self.held_octets -= buffer.capacity();
        if buffer.capacity() > 0 && buffer.capacity() <= SPARE_OCTETS_MAX && self.spare.len() < SPARE_MAX {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Whether more is lent than may be.
    pub(super) fn is_exhausted(&self) -> bool {
        self.held_octets > self.held_octets_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lent_is_counted_and_reused() {
        let mut pool = Pool::new(HELD_OCTETS_MAX);
        let mut buffer = Vec::new();
        pool.append(&mut buffer, &[]);
        assert_eq!((pool.held_octets, buffer.capacity()), (0, 0));
        pool.append(&mut buffer, &[1; 100]);
        pool.append(&mut buffer, &[2; 5000]);
        assert_eq!(pool.held_octets, buffer.capacity());
        let capacity = buffer.capacity();
        pool.take_back(&mut buffer);
        assert_eq!((pool.held_octets, buffer.capacity()), (0, 0));
        pool.append(&mut buffer, &[3]);
        assert_eq!((buffer.as_slice(), buffer.capacity(), pool.held_octets), (&[3][..], capacity, capacity));
    }

    #[test]
    fn large_buffers_are_not_kept_and_exhaustion_shows() {
        let mut pool = Pool::new(100_000);
        let mut buffer = Vec::new();
        pool.append(&mut buffer, &vec![0; 100_000]);
        assert!(!pool.is_exhausted());
        pool.append(&mut buffer, &[0]);
        assert!(pool.is_exhausted());
        pool.take_back(&mut buffer);
        assert!(!pool.is_exhausted());
        assert!(pool.spare.is_empty());
    }
}
