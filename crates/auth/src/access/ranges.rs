//! Sets of numbers as the places where membership flips.
//!
//! ```text
//!          flips[0]      flips[1]   flips[2]
//! --out-----|----in--------|---out----|---in----->      in: an odd number of flips at or below
//! ```

/// A set of addresses of one family; nothing is in an empty one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges<T> {
    /// Ascending, each once.
    flips: Box<[T]>,
}

/// A range that is in or out, unless it is said otherwise of a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range<T> {
    pub(super) first: T,
    pub(super) last: T,
    pub(super) is_in: bool,
}

impl<T: Copy + Ord> Ranges<T> {
    /// The set that nested ranges make: any two have nothing in common, or one lies in the other, whose say it overrules. `next`: the number after
    /// one, if there is any.
    pub(super) fn new(mut ranges: Vec<Range<T>>, next: impl Fn(T) -> Option<T>) -> Ranges<T> {
        ranges.sort_unstable_by(|a, b| a.first.cmp(&b.first).then(b.last.cmp(&a.last)));
        let mut flips = Flips { flips: Vec::new(), is_in: false };
        // Those that lie around the present place, the innermost last.
        let mut around: Vec<Range<T>> = Vec::new();
        for range in ranges {
            while let Some(ended) = around.pop_if(|inner| inner.last < range.first) {
                flips.leave(&ended, &around, &next);
            }
            flips.set(range.first, range.is_in);
            around.push(range);
        }
        while let Some(ended) = around.pop() {
            flips.leave(&ended, &around, &next);
        }
        Ranges { flips: flips.flips.into() }
    }

    /// Whether the number is in the set: one binary search.
    pub(super) fn has(&self, number: T) -> bool {
        self.flips.partition_point(|flip| *flip <= number) % 2 == 1
    }
}

/// Flips while they are found.
struct Flips<T> {
    flips: Vec<T>,
    is_in: bool,
}

impl<T: Copy + Ord> Flips<T> {
    /// From `at` on it is so.
    fn set(&mut self, at: T, is_in: bool) {
        if is_in == self.is_in {
            return;
        }
        self.is_in = is_in;
        // Two flips at one place are none.
        if self.flips.pop_if(|last| *last == at).is_none() {
            self.flips.push(at);
        }
    }

    /// After a range that has ended it is as the one around says.
    fn leave(&mut self, ended: &Range<T>, around: &[Range<T>], next: impl Fn(T) -> Option<T>) {
        if let Some(after) = next(ended.last) {
            self.set(after, around.last().is_some_and(|range| range.is_in));
        }
    }
}
