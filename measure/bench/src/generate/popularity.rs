//! How often each name is asked for.

use crate::random::{Random, Zipf};

/// Laws of popularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skew {
    /// Every name as often as any other.
    Uniform,
    /// The root queries of the USENIX paper: 22.9 % below one domain (`br`), more than half below six.
    Paper,
    /// Zipf's law: the name of rank n is asked for 1/n times as often as the first.
    Zipf,
}

/// Shares of the six favourites in thousandths: the first is the paper's figure, and all are its "more than half";
/// those between fall as such shares do.
const FAVOURITES: [u64; 6] = [229, 91, 70, 54, 42, 34];
/// Who the favourites are, where the zone has them; others take their places where not.
const FAVOURITE_NAMES: [&str; 6] = ["br.", "com.", "net.", "org.", "arpa.", "de."];

/// A law over the names of one list.
pub struct Popularity {
    count: usize,
    /// Indices of the favourites, most asked for first.
    favourites: Vec<usize>,
    /// Ranks by Zipf's law, and the indices in the order of their ranks.
    ranks: Option<(Zipf, Vec<u32>)>,
}

impl Popularity {
    /// `names`: not empty; `seed` decides which are popular.
    pub fn new(skew: Skew, names: &[String], seed: u64) -> Popularity {
        let mut random = Random::part(seed, 9);
        let mut favourites = Vec::new();
        let mut ranks = None;
        match skew {
            Skew::Uniform => {}
            Skew::Paper => {
                let named = FAVOURITE_NAMES.map(|wanted| names.iter().position(|name| name == wanted));
                favourites.extend(named.into_iter().flatten());
                let wanted = FAVOURITES.len().min(names.len());
                while favourites.len() < wanted {
                    let index = random.index(names.len());
                    if !favourites.contains(&index) {
                        favourites.push(index);
                    }
                }
            }
            Skew::Zipf => {
                let mut order: Vec<u32> = (0..names.len() as u32).collect();
                random.shuffle(&mut order);
                ranks = Some((Zipf::new(names.len()), order));
            }
        }
        Popularity { count: names.len(), favourites, ranks }
    }

    /// The index of a name, and whether it is one of the favourites.
    pub fn draw(&self, random: &mut Random) -> (usize, bool) {
        if let Some((law, order)) = &self.ranks {
            return (order[law.draw(random)] as usize, false);
        }
        if self.favourites.is_empty() {
            return (random.index(self.count), false);
        }
        let mut ticket = random.below(1000);
        for (&index, &share) in self.favourites.iter().zip(&FAVOURITES) {
            if ticket < share {
                return (index, true);
            }
            ticket -= share;
        }
        // None of the favourites, or theirs would be more than their share.
        if self.count > self.favourites.len() {
            loop {
                let index = random.index(self.count);
                if !self.favourites.contains(&index) {
                    return (index, false);
                }
            }
        }
        (random.index(self.count), false)
    }

    /// By what the share of failures among the others grows, as the favourites have none.
    pub fn others_factor(&self) -> f64 {
        let favourites: u64 = FAVOURITES.iter().take(self.favourites.len()).sum();
        1000.0 / (1000 - favourites) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(skew: Skew, count: usize) -> Vec<f64> {
        let names: Vec<String> = (0..count).map(|number| format!("name{number}.")).collect();
        let popularity = Popularity::new(skew, &names, 1);
        let mut random = Random::new(1);
        let mut hits = vec![0u32; count];
        for _ in 0..100_000 {
            hits[popularity.draw(&mut random).0] += 1;
        }
        hits.sort_unstable_by(|a, b| b.cmp(a));
        hits.into_iter().map(|count| f64::from(count) / 100_000.0).collect()
    }

    #[test]
    fn shares_of_the_most_popular() {
        let paper = shares(Skew::Paper, 500);
        assert!((0.22..0.24).contains(&paper[0]), "{}", paper[0]);
        assert!((0.51..0.53).contains(&paper[..6].iter().sum()));
        let zipf = shares(Skew::Zipf, 500);
        assert!((1.8..2.2).contains(&(zipf[0] / zipf[1])));
        assert!(shares(Skew::Uniform, 500)[0] < 0.004);
        assert_eq!(shares(Skew::Paper, 3).len(), 3);
    }
}
