//! How many rounds there are: those that a recipe plans, and spare ones in the place of those that lost something.

use super::Lab;

/// Spare rounds at most. What is planned has room for an outlier; a machine that spoils more than two rounds spoils spare ones too.
pub const SPARE_MAX: usize = 2;

/// Rounds, one after the other.
pub struct Rounds {
    planned: usize,
    begun: usize,
    lost: usize,
    /// Runs and blocks that were discarded before the round that was begun last.
    discarded: usize,
}

impl Rounds {
    /// So many are planned.
    pub fn new(planned: usize) -> Rounds {
        Rounds { planned, begun: 0, lost: 0, discarded: 0 }
    }

    /// The number of the next round, from 1; nothing after the last. A round of which something was discarded is followed by a spare one,
    /// but not in a short form, whose values claim nothing.
    pub fn next(&mut self, lab: &Lab) -> Option<usize> {
        self.after(lab.record.blocks.discarded.len(), lab.record.quick)
    }

    fn after(&mut self, discarded: usize, is_short: bool) -> Option<usize> {
        let is_lost = self.begun > 0 && discarded > self.discarded && !is_short;
        self.lost += usize::from(is_lost);
        self.discarded = discarded;
        self.begun += 1;
        (self.begun <= self.count()).then_some(self.begun)
    }

    /// How many there are, as far as is known now.
    pub fn count(&self) -> usize {
        self.planned + self.lost.min(SPARE_MAX)
    }

    /// How many are left with the one that was begun last.
    pub fn left(&self) -> usize {
        (self.count() + 1).saturating_sub(self.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds that are made if in each of `lost` so many runs are discarded, and in those behind none.
    fn made(planned: usize, lost: &[usize], is_short: bool) -> usize {
        let (mut rounds, mut discarded) = (Rounds::new(planned), 5);
        let mut made = 0;
        while let Some(round) = rounds.after(discarded, is_short) {
            assert_eq!((round, rounds.left()), (made + 1, rounds.count() - made));
            discarded += lost.get(made).copied().unwrap_or(0);
            made += 1;
        }
        made
    }

    #[test]
    fn spare_ones_follow_those_that_lost_something() {
        assert_eq!(made(7, &[], false), 7, "what was discarded before is of others");
        assert_eq!(made(7, &[0, 3], false), 8, "three runs of one round");
        assert_eq!(made(7, &[1, 0, 1], false), 9);
        assert_eq!(made(7, &[1; 9], false), 9, "two at most");
        assert_eq!(made(1, &[1, 1, 1], false), 3, "a spare one may be lost too");
        assert_eq!(made(7, &[1, 1], true), 7, "short forms discard what failed, and end");
    }
}
