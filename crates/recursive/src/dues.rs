//! What was lately said to be asked for anew: once every two seconds a name and type, each time twice as long, so that what is asked for a hundred thousand times a
//! second, by servers that do not answer, is not a hundred thousand questions.

use cache::Moment;

/// Names and types that are remembered: what is hot and near its end at the same time.
const ROWS: usize = 256;
/// Milliseconds until the same is said again: longer than servers take.
const AGAIN_MS: u64 = 2_000;
/// Milliseconds at most.
const AGAIN_MS_MAX: u64 = 64_000;

#[derive(Clone, Copy, Default)]
struct Row {
    hash: u64,
    next: Moment,
    pause_ms: u64,
}

/// Names and types that were said to be asked for anew, and when they may be said again.
pub(crate) struct Dues {
    rows: [Row; ROWS],
}

impl Dues {
    pub(crate) fn new() -> Dues {
        Dues { rows: [Row::default(); ROWS] }
    }

    /// Whether what has this hash is to be asked for anew now.
    pub(crate) fn is_said(&mut self, hash: u64, now: Moment) -> bool {
        let row = &mut self.rows[hash as usize % ROWS];
        let is_same = row.hash == hash;
        if is_same && now < row.next {
            return false;
        }
        // What was not asked for during a pause begins anew: it may have come since.
        let goes_on = is_same && now < row.next.plus_ms(row.pause_ms);
        let pause_ms = if goes_on { AGAIN_MS_MAX.min(row.pause_ms * 2) } else { AGAIN_MS };
        *row = Row { hash, next: now.plus_ms(pause_ms), pause_ms };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn said_at_longer_and_longer_intervals() {
        let mut dues = Dues::new();
        let said: Vec<u64> = (0..20_000).filter(|ms| dues.is_said(7, Moment(*ms))).collect();
        assert_eq!(said, [0, 2_000, 6_000, 14_000]);
        assert!(dues.is_said(7, Moment(100_000)) && !dues.is_said(7, Moment(101_999)));
        assert!(dues.is_said(7, Moment(102_000)) && dues.is_said(8, Moment(102_000)));
        // Two in one row: each is said more often, no more.
        assert!(dues.is_said(7 + ROWS as u64, Moment(102_001)) && dues.is_said(7, Moment(102_001)));
    }
}
