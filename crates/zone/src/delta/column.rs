//! Columns: rows that never move, so that readers keep references while the one writer adds more.
//!
//! ```text
//! rows 0..8 | 8..16 | 16..32 | 32..64 | …     each chunk is made when a row of it is, and stays
//! ```

use std::sync::OnceLock;

/// Rows of the first chunk: most deltas are of a few names.
const FIRST_ROWS: u32 = 1 << FIRST_SHIFT;
const FIRST_SHIFT: u32 = 3;
/// Chunks after the first, each of as many rows as all before it.
const CHUNKS: usize = 25;
/// Rows of a column: 2^28, more than fit into the octets of a delta.
pub(super) const ROWS_MAX: u32 = FIRST_ROWS << CHUNKS;

/// Rows with numbers from 0 on. Rows are as [`Default`] makes them; what is stored in them are atomics, whose order is the user's matter.
pub(super) struct Column<T> {
    first: Chunk<T>,
    /// A list of its own, as most columns never need it.
    more: Chunk<Chunk<T>>,
}

type Chunk<T> = OnceLock<Box<[T]>>;

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column { first: OnceLock::new(), more: OnceLock::new() }
    }
}

/// Chunk after the first, and number in it, of a row beyond the first chunk.
#[inline(always)]
fn place(number: u32) -> (usize, usize) {
    let power = number.ilog2();
    ((power - FIRST_SHIFT) as usize, (number - (1 << power)) as usize)
}

impl<T: Default> Column<T> {
    /// Row `number`, if its chunk was made.
    #[inline(always)]
    pub(super) fn get(&self, number: u32) -> Option<&T> {
        if number < FIRST_ROWS {
            return self.first.get()?.get(number as usize);
        }
        let (chunk, at) = place(number);
        self.more.get()?.get(chunk)?.get()?.get(at)
    }

    /// Row `number`, whose chunk is made if it was not; `None` from [`ROWS_MAX`] on.
    pub(super) fn make(&self, number: u32) -> Option<&T> {
        fn rows<T: Default>(count: usize) -> Box<[T]> {
            (0..count).map(|_| T::default()).collect()
        }
        if number < FIRST_ROWS {
            return self.first.get_or_init(|| rows(FIRST_ROWS as usize)).get(number as usize);
        }
        let (chunk, at) = place(number);
        let list = self.more.get_or_init(|| rows(CHUNKS));
        list.get(chunk)?.get_or_init(|| rows((FIRST_ROWS as usize) << chunk)).get(at)
    }

    /// Octets of the chunks that were made.
    pub(super) fn octets(&self) -> usize {
        let list = self.more.get().map_or(&[][..], |list| list);
        let chunks = self.first.get().into_iter().chain(list.iter().filter_map(OnceLock::get));
        chunks.map(|chunk| size_of_val(&**chunk)).sum::<usize>() + size_of_val(list)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn rows_stay_where_they_are() {
        let column: Column<AtomicU32> = Column::default();
        assert!((0..100).all(|number| column.get(number).is_none()));
        let mut places = Vec::new();
        for number in 0..5000 {
            let row = column.make(number).unwrap();
            row.store(number, Relaxed);
            places.push(std::ptr::from_ref(row));
        }
        for number in 0..5000 {
            let row = column.get(number).unwrap();
            assert_eq!((row.load(Relaxed), std::ptr::from_ref(row)), (number, places[number as usize]));
        }
        assert!(column.get(8192).is_none() && column.make(ROWS_MAX).is_none());
        assert_eq!(column.octets(), 8192 * 4 + CHUNKS * size_of::<OnceLock<Box<[AtomicU32]>>>());
    }
}
