//! Slabs: octets that are written before anybody can see them, and never after.

use super::column::Column;
use std::sync::OnceLock;

/// The octets of a delta, one slab a commit.
#[derive(Default)]
pub(super) struct Slabs(Column<OnceLock<Box<[u8]>>>);

impl Slabs {
    /// The octets from `offset` of slab `number` to its end; empty for a place outside.
    #[inline(always)]
    pub(super) fn from(&self, number: u32, offset: u32) -> &[u8] {
        let slab = self.0.get(number).and_then(OnceLock::get);
        slab.and_then(|slab| slab.get(offset as usize..)).unwrap_or(&[])
    }

    /// Puts slab `number` in, which was not there yet. False when there are too many.
    pub(super) fn put(&self, number: u32, octets: Box<[u8]>) -> bool {
        self.0.make(number).is_some_and(|slab| slab.set(octets).is_ok())
    }

    /// Octets of the list of slabs, without their own.
    pub(super) fn list_octets(&self) -> usize {
        self.0.octets()
    }
}

/// Appends the octets of a key with their number before them.
pub(super) fn push_key(key: &[u8], out: &mut Vec<u8>) {
    match u8::try_from(key.len()) {
        Ok(count @ 0..=254) => out.push(count),
        _ => {
            out.push(255);
            out.extend_from_slice(&(key.len() as u16).to_le_bytes());
        }
    }
    out.extend_from_slice(key);
}

/// The key that `octets` begin with, as [`push_key`] wrote it, and what follows.
#[inline(always)]
pub(super) fn split_key(octets: &[u8]) -> (&[u8], &[u8]) {
    let split = match octets {
        [255, low, high, rest @ ..] => rest.split_at_checked(usize::from(u16::from_le_bytes([*low, *high]))),
        [count, rest @ ..] => rest.split_at_checked(usize::from(*count)),
        [] => None,
    };
    split.unwrap_or((&[], &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back() {
        for length in [0, 1, 254, 255, 256, 508] {
            let key = vec![7; length];
            let mut out = vec![1, 2, 3];
            push_key(&key, &mut out);
            out.push(9);
            assert_eq!(split_key(&out[3..]), (&key[..], &[9][..]));
        }
        assert_eq!((split_key(&[]).0, split_key(&[5, 1]).0), (&[][..], &[][..]));
    }

    #[test]
    fn slabs_are_put_once() {
        let slabs = Slabs::default();
        assert!(slabs.put(3, Box::from(*b"abcdef")) && !slabs.put(3, Box::from(*b"x")));
        assert_eq!(
            (slabs.from(3, 2), slabs.from(3, 7), slabs.from(2, 0)),
            (&b"cdef"[..], &b""[..], &b""[..])
        );
    }
}
