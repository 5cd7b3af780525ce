//! Columns: rows that never move, so that readers keep references while the one writer adds more.
//!
//! ```text
//! rows 0..8 | 8..16 | 16..32 | … | 32,768..65,536 | 65,536..131,072 | 131,072..196,608 | …     each chunk is made when a row of it is, and stays
//! ```

use std::sync::OnceLock;

/// Rows of the first chunk: most deltas are of a few names.
const FIRST_ROWS: u32 = 1 << FIRST_SHIFT;
const FIRST_SHIFT: u32 = 3;
/// Chunks after the first, each of as many rows as all before it.
const CHUNKS: usize = (FAR_SHIFT - FIRST_SHIFT) as usize;
/// Rows of each chunk after these: half a megabyte to two, so that no commit waits long for one, and few rows are made in vain.
const FAR_ROWS: u32 = 1 << FAR_SHIFT;
const FAR_SHIFT: u32 = 16;
const FAR_CHUNKS: usize = (ROWS_MAX / FAR_ROWS) as usize - 1;
/// Rows of a column: 2^28, more than fit into the octets of a delta.
pub(super) const ROWS_MAX: u32 = 1 << 28;

/// Rows with numbers from 0 on. Rows are as [`Default`] makes them; what is stored in them are atomics, whose order is the user's matter.
pub(super) struct Column<T> {
    first: Chunk<T>,
    /// Lists of their own, as most columns never need them.
    more: Chunk<Chunk<T>>,
    far: Chunk<Chunk<T>>,
}

type Chunk<T> = OnceLock<Box<[T]>>;

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column { first: OnceLock::new(), more: OnceLock::new(), far: OnceLock::new() }
    }
}

/// Chunk after the first, and number in it, of a row beyond the first chunk and before those that are far.
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
        if number >= FAR_ROWS {
            let chunk = (number / FAR_ROWS - 1) as usize;
            return self.far.get()?.get(chunk)?.get()?.get((number % FAR_ROWS) as usize);
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
        if number >= ROWS_MAX {
            return None;
        }
        if number >= FAR_ROWS {
            let chunk = self.far.get_or_init(|| rows(FAR_CHUNKS)).get((number / FAR_ROWS - 1) as usize)?;
            return chunk.get_or_init(|| rows(FAR_ROWS as usize)).get((number % FAR_ROWS) as usize);
        }
        let (chunk, at) = place(number);
        let list = self.more.get_or_init(|| rows(CHUNKS));
        list.get(chunk)?.get_or_init(|| rows((FIRST_ROWS as usize) << chunk)).get(at)
    }

    /// Octets of the chunks that were made.
    pub(super) fn octets(&self) -> usize {
        let lists = [&self.more, &self.far].map(|list| list.get().map_or(&[][..], |list| list));
        let listed = lists.iter().flat_map(|list| list.iter()).filter_map(OnceLock::get);
        let chunks = self.first.get().into_iter().chain(listed);
        let lists = lists.iter().map(|list| size_of_val(*list)).sum::<usize>();
        chunks.map(|chunk| size_of_val(&**chunk)).sum::<usize>() + lists
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
        assert_eq!(column.octets(), 8192 * 4 + CHUNKS * size_of::<Chunk<AtomicU32>>());
        for number in [65_535, 65_536, 131_071, 131_072, ROWS_MAX - 1] {
            column.make(number).unwrap().store(number, Relaxed);
            assert_eq!(column.get(number).map(|row| row.load(Relaxed)), Some(number));
        }
        assert_eq!(column.get(65_537).map(|row| row.load(Relaxed)), Some(0));
    }
}
