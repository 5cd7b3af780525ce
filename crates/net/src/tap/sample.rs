//! Which items the tap is told of: one in `n`, drawn by chance. Of every `n`th a client that asks in a rhythm would be told always, or never.

use sync::random::Random;

/// Which items are told: from one to the next it is as far as is drawn, 1 to 2n - 1 items where one in `n` is wanted.
#[derive(Clone)]
pub(super) struct Sample {
    random: Random,
    /// What the distance was drawn for; 0 before the first.
    pub(super) one_in: u32,
    /// Items before the next that is told.
    pub(super) before: u64,
}

impl Sample {
    pub(super) fn new(random: Random) -> Self {
        Self { random, one_in: 0, before: 0 }
    }

    /// Begins to take one in so many.
    pub(super) fn begin(&mut self, one_in: u32) {
        self.one_in = one_in.max(1);
        self.before = self.draw() - 1;
    }

    fn draw(&mut self) -> u64 {
        match self.one_in {
            1 => 1,
            one_in => 1 + self.random.below(2 * u64::from(one_in) - 1),
        }
    }

    /// Goes on behind the item that comes next.
    pub(super) fn take(&mut self) {
        self.before += self.draw();
    }

    /// Whether item `index` is told. Those before it are passed over.
    pub(super) fn has(&mut self, index: u64) -> bool {
        while self.before < index {
            self.take();
        }
        self.before == index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_so_many_at_distances_up_to_twice_that() {
        const ITEMS: u64 = 1_000_000;
        for one_in in [1, 2, 100] {
            let mut sample = Sample::new(Random::new(7));
            sample.begin(one_in);
            let told: Vec<u64> = (0..ITEMS).filter(|index| sample.has(*index)).collect();
            let expected = ITEMS as f64 / f64::from(one_in);
            let count = told.len() as f64;
            assert!((count / expected - 1.0).abs() < 0.02, "{count} of {ITEMS} for one in {one_in}");
            let distances = told.windows(2).map(|pair| pair[1] - pair[0]);
            let (least, most) = (distances.clone().min(), distances.max());
            let longest = 2 * u64::from(one_in) - 1;
            assert_eq!((least, most), (Some(1), Some(longest)), "all distances are drawn");
        }
    }

    /// The rarest there is: neither does a distance overflow, nor is it looked for one by one.
    #[test]
    fn one_in_as_many_as_can_be() {
        let mut sample = Sample::new(Random::new(7));
        sample.begin(u32::MAX);
        let mean = (0..1000).map(|_| sample.draw() as f64 / 1000.0).sum::<f64>();
        assert!((mean / f64::from(u32::MAX) - 1.0).abs() < 0.1, "{mean}");
    }
}
