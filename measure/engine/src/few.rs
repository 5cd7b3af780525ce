//! A few values without an allocation, which is what some experiments measure.

/// Up to `N` values.
pub struct Few<T, const N: usize> {
    values: [Option<T>; N],
    count: usize,
}

impl<T, const N: usize> Few<T, N> {
    /// None yet.
    #[inline]
    pub fn new() -> Few<T, N> {
        Few { values: [const { None }; N], count: 0 }
    }

    /// One more; beyond `N` it is dropped.
    #[inline]
    pub fn push(&mut self, value: T) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = Some(value);
            self.count += 1;
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The one that was pushed last.
    pub fn last(&self) -> Option<&T> {
        self.iter().last()
    }

    /// All, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.values[..self.count].iter().flatten()
    }
}

impl<T, const N: usize> Default for Few<T, N> {
    fn default() -> Few<T, N> {
        Few::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_fit() {
        let mut few = Few::<String, 2>::new();
        assert!(few.is_empty());
        ["a", "b", "c"].into_iter().for_each(|text| few.push(text.to_owned()));
        assert_eq!((few.len(), few.last().map(String::as_str)), (2, Some("b")));
        assert!(few.iter().eq(["a", "b"]));
    }
}
