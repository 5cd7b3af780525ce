//! Requests by second: average, bursts, and the columns of a chart.

use std::collections::BTreeMap;

use super::{Packets, capture::seconds_between};

/// Requests by second of a trace, seconds without any among them.
#[derive(Clone, Copy, Debug)]
pub struct Seconds<'t> {
    counts: &'t BTreeMap<i64, u64>,
    /// Earliest second.
    first: i64,
    /// How many there are, at least one.
    count: u64,
}

/// A part of the chart's width.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Column {
    /// Average of its seconds.
    pub mean: f64,
    /// The greatest of them.
    pub max: u64,
}

impl<'t> Seconds<'t> {
    /// `counts`: by second since the origin of the trace.
    pub fn new(counts: &'t BTreeMap<i64, u64>, packets: &Packets) -> Seconds<'t> {
        let since_origin = |time| seconds_between(packets.origin.unwrap_or_default(), time);
        let (first, last) = (since_origin(packets.first), since_origin(packets.last));
        Seconds { counts, first, count: first.abs_diff(last) + 1 }
    }

    /// Most requests in a second.
    pub fn max(&self) -> u64 {
        self.counts.values().copied().max().unwrap_or(0)
    }

    /// What 95 of 100 seconds have at most: the nearest rank.
    pub fn percentile_95(&self) -> u64 {
        let mut counts: Vec<u64> = self.counts.values().copied().collect();
        counts.sort_unstable();
        let empty = self.count.saturating_sub(counts.len() as u64);
        let rank = (u128::from(self.count) * 95).div_ceil(100) as u64;
        // The empty seconds come first.
        match rank.checked_sub(empty + 1) {
            Some(at) => counts.get(at as usize).or(counts.last()).copied().unwrap_or(0),
            None => 0,
        }
    }

    /// The seconds in at most `columns_max` columns of equal length, and the seconds in each.
    pub fn columns(&self, columns_max: u64) -> (Vec<Column>, u64) {
        let width = self.count.div_ceil(columns_max.max(1)).max(1);
        let mut columns = vec![Column::default(); self.count.div_ceil(width) as usize];
        for (&second, &count) in self.counts {
            let Some(place) = second.checked_sub(self.first).and_then(|place| u64::try_from(place).ok())
            else {
                continue;
            };
            let Some(column) = columns.get_mut((place / width) as usize) else { continue };
            // The last column may be shorter.
            let seconds = width.min(self.count - place / width * width);
            column.mean += count as f64 / seconds as f64;
            column.max = column.max.max(count);
        }
        (columns, width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::capture::{Nanoseconds, SECOND};

    fn packets(first: Nanoseconds, last: Nanoseconds) -> Packets {
        Packets { origin: Some(5 * SECOND), first, last, ..Packets::default() }
    }

    #[test]
    fn bursts() {
        let counts: BTreeMap<i64, u64> = (0..100).map(|second| (second, second as u64 + 1)).collect();
        let packets = packets(5 * SECOND, 104 * SECOND + 3);
        let seconds = Seconds::new(&counts, &packets);
        assert_eq!((seconds.count, seconds.max(), seconds.percentile_95()), (100, 100, 95));
        // Nine of ten seconds are empty.
        let sparse: BTreeMap<i64, u64> = (0..10).map(|second| (second * 10, 7)).collect();
        assert_eq!(Seconds::new(&sparse, &packets).percentile_95(), 7);
        let one = BTreeMap::from([(4, 9)]);
        assert_eq!(Seconds::new(&one, &packets).percentile_95(), 0);
        assert_eq!(Seconds::new(&BTreeMap::new(), &Packets::default()).percentile_95(), 0);
    }

    #[test]
    fn columns() {
        let counts = BTreeMap::from([(-1, 4), (0, 2), (2, 6), (99, 1)]);
        let packets = packets(4 * SECOND, 8 * SECOND);
        let seconds = Seconds::new(&counts, &packets);
        let column = |mean, max| Column { mean, max };
        assert_eq!(seconds.columns(2), (vec![column(2.0, 4), column(3.0, 6)], 3));
        assert_eq!(seconds.columns(100).0.len(), 5);
        let centuries = Packets { last: u64::MAX, ..packets };
        assert!(Seconds::new(&counts, &centuries).columns(900).0.len() <= 900);
    }
}
