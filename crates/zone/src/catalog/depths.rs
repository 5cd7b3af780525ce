//! How many labels the apexes of a catalog have.

use super::KEY_LABELS_MAX;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use wire::name::LABELS_MAX;

/// Numbers of labels that occur, in a form that a reader loads with two loads.
#[derive(Default)]
pub(super) struct Depths {
    /// Bit i set: some apex has i labels; the lower 64, and the others.
    bits: [AtomicU64; 2],
    /// See [`KeyLabels`].
    key_labels: AtomicU32,
}

/// Apexes by their number of labels: the writer's.
pub(super) struct DepthCounts([u32; LABELS_MAX + 1]);

/// How many upper labels of a name kept answers can be under: one more than an apex has, for the most common numbers, the largest
/// first; see [`KeyLabels::each`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLabels(u32);

impl KeyLabels {
    /// Each number, the largest first.
    #[inline(always)]
    pub fn each(self) -> impl Iterator<Item = usize> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let labels = left as u8;
            left >>= 8;
            (labels != 0).then_some(labels as usize)
        })
    }

    /// Takes the largest number that a name with `labels` labels can be kept under, cut to that; 0 without any. No zone with more labels is above the
    /// name.
    #[inline(always)]
    pub fn take(&mut self, labels: usize) -> usize {
        loop {
            let wanted = self.0 as u8 as usize;
            self.0 >>= 8;
            if wanted <= labels + 1 {
                return wanted.min(labels);
            }
        }
    }

    /// Whether there are no more.
    #[inline(always)]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl Depths {
    /// Bit i of the first set: some apex has i labels; of the second: 64 more.
    #[inline(always)]
    pub(super) fn halves(&self) -> [u64; 2] {
        [self.bits[0].load(Ordering::Acquire), self.bits[1].load(Ordering::Acquire)]
    }

    /// Labels of the deepest apex; 0 without any.
    #[inline(always)]
    pub(super) fn deepest(&self) -> usize {
        match self.halves() {
            [low, 0] => low.checked_ilog2().unwrap_or(0) as usize,
            [_, high] => u64::BITS as usize + high.ilog2() as usize,
        }
    }

    #[inline(always)]
    pub(super) fn key_labels(&self) -> KeyLabels {
        KeyLabels(self.key_labels.load(Ordering::Relaxed))
    }

    /// Publishes what was counted.
    pub(super) fn publish(&self, counts: &DepthCounts) {
        for (half, to) in self.bits.iter().enumerate() {
            let range = 64 * half..64 * half + 64;
            let bits = range.fold(0, |bits, depth| bits | u64::from(counts.0[depth] > 0) << (depth % 64));
            to.store(bits, Ordering::Release);
        }
        self.key_labels.store(counts.key_labels().0, Ordering::Relaxed);
    }
}

impl Default for DepthCounts {
    fn default() -> DepthCounts {
        DepthCounts([0; LABELS_MAX + 1])
    }
}

impl DepthCounts {
    /// Counts an apex of so many labels; whether it is the first.
    pub(super) fn add(&mut self, depth: usize) -> bool {
        self.0[depth] += 1;
        self.0[depth] == 1
    }

    /// Counts one less.
    pub(super) fn subtract(&mut self, depth: usize) {
        self.0[depth] -= 1;
    }

    fn key_labels(&self) -> KeyLabels {
        let mut common: Vec<usize> = (0..=LABELS_MAX).filter(|&depth| self.0[depth] > 0).collect();
        common.sort_by_key(|&depth| std::cmp::Reverse(self.0[depth]));
        common.truncate(KEY_LABELS_MAX);
        common.sort_unstable();
        KeyLabels(common.into_iter().fold(0, |packed, depth| packed << 8 | (depth as u32 + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_common_are_tried_the_deepest_first() {
        let (depths, mut counts) = (Depths::default(), DepthCounts::default());
        let tried = |depths: &Depths| depths.key_labels().each().collect::<Vec<_>>();
        assert_eq!((tried(&depths), depths.halves()), (vec![], [0; 2]));
        for (depth, count) in [(0, 1), (1, 2), (2, 1000), (3, 50), (14, 3), (127, 1)] {
            (0..count).for_each(|at| assert_eq!(counts.add(depth), at == 0));
        }
        depths.publish(&counts);
        assert_eq!(tried(&depths), [15, 4, 3, 2]);
        let mut labels = depths.key_labels();
        assert_eq!([3, 3, 3].map(|name| labels.take(name)), [3, 3, 2]);
        assert!(labels.is_empty() && labels.take(3) == 0);
        assert_eq!((depths.halves(), depths.deepest()), ([0b1111 | 1 << 14, 1 << 63], 127));
        (0..3).for_each(|_| counts.subtract(14));
        depths.publish(&counts);
        assert_eq!((tried(&depths), depths.halves()), (vec![4, 3, 2, 1], [0b1111, 1 << 63]));
    }
}
