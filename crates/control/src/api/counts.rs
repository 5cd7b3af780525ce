//! What comes of asks, counted by the thread that answers them, for `/metrics`.

use api::frame::Done;
use sync::counters::Number;

/// What comes of an ask, as `/metrics` labels it.
pub(crate) const OUTCOMES: [&str; 6] = ["done", "unknown_key", "denied", "refused", "full", "failed"];

/// Counts since the start, whichever process asked.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    outcomes: [Number; OUTCOMES.len()],
    cut: Number,
    held: Number,
}

/// The same, read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counted {
    /// As [`OUTCOMES`] names them.
    pub(crate) outcomes: [u64; OUTCOMES.len()],
    /// Searches that ended before all was looked at.
    pub(crate) cut: u64,
    /// Asks that have a place now.
    pub(crate) held: u64,
}

impl Counts {
    /// Counts the end of an ask.
    pub(super) fn note(&self, done: &Done<'_>) {
        let outcome = match done.status {
            ..400 => 0,
            401 => 1,
            403 | 404 => 2,
            429 => 4,
            400..500 => 3,
            _ => 5,
        };
        self.outcomes[outcome].add(1);
        self.cut.add(done.is_cut.into());
    }

    /// So many asks have a place.
    pub(super) fn hold(&self, asks: usize) {
        self.held.write(asks as u64);
    }

    pub(crate) fn read(&self) -> Counted {
        let outcomes = std::array::from_fn(|outcome| self.outcomes[outcome].read());
        Counted { outcomes, cut: self.cut.read(), held: self.held.read() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_status() {
        let counts = Counts::default();
        for status in [200, 204, 401, 403, 404, 408, 422, 422, 429, 500, 503, 504] {
            counts.note(&Done { status, retry_after: 0, is_cut: status == 200, next: None, words: "" });
        }
        counts.hold(3);
        let Counted { outcomes, cut, held } = counts.read();
        assert_eq!((outcomes, cut, held), ([2, 1, 2, 3, 1, 3], 1, 3));
    }
}
