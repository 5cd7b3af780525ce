//! Who asks most, for what, in little memory: Space-Saving (Metwally, Agrawal, El Abbadi 2005), with counts that fade.
//!
//! There are [`SKETCH_ENTRIES`] entries. Who is in one is counted; who is not takes the place of the one with the least count, and that count with it, as far as
//! it might have been its own: its greatest error. So a count is never too low, and too high by no more than the sum of all through the number of entries;
//! whoever has a greater share than that is in.
//!
//! Counts fade by half in [`HALF_LIFE`]. It is not they that are divided: what comes later weighs more (forward decay: Cormode, Shkapenyuk, Srivastava, Xu
//! 2009), so that counts can be compared at any time; all are divided once the weight has become large.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::time::{Duration, Instant};

use wire::Name;

/// Entries: whoever has more than a thousandth of what is counted is in one.
pub const SKETCH_ENTRIES: usize = 1024;

/// In which a count fades by half: what people look at is of the last half a minute.
pub const HALF_LIFE: Duration = Duration::from_secs(10);

/// Half-lives after which counts are divided: their weight is far from the end of the numbers, and what is lost then is a trillionth.
const HALF_LIVES_MAX: f64 = 40.0;

/// Octets of a name that are kept: two that differ only before these count as one.
const NAME_OCTETS: usize = 64;

/// Counts of the most frequent.
pub struct Sketch<K> {
    keys: Vec<K>,
    /// In weights since `began`; apart from the rest, as the least of them is looked for.
    counts: Vec<f64>,
    errors: Vec<f64>,
    places: HashMap<K, usize>,
    /// Of all that was added, likewise.
    sum: f64,
    fading: Fading,
}

/// By how much more what comes later weighs than what was.
pub(crate) struct Fading {
    began: Instant,
}

impl Fading {
    pub(crate) fn new(now: Instant) -> Fading {
        Fading { began: now }
    }

    /// What one counts that comes now, in comparison with one at the beginning.
    pub(crate) fn at(&self, now: Instant) -> f64 {
        (now.saturating_duration_since(self.began).as_secs_f64() / HALF_LIFE.as_secs_f64()).exp2()
    }

    /// The same, before it becomes too large: then all `counts` are divided by it, and it begins anew.
    pub(crate) fn weigh<'c>(&mut self, counts: impl Iterator<Item = &'c mut f64>, now: Instant) -> f64 {
        let weight = self.at(now);
        if weight < HALF_LIVES_MAX.exp2() {
            return weight;
        }
        counts.for_each(|count| *count /= weight);
        self.began = now;
        1.0
    }
}

/// One of the most frequent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frequent<'k, K> {
    /// Who.
    pub key: &'k K,
    /// How often, faded; never less than it was.
    pub count: f64,
    /// By how much that may be more than it was.
    pub error: f64,
}

impl<K: Clone + Eq + Hash> Sketch<K> {
    /// One that has counted nothing.
    #[must_use]
    pub fn new(now: Instant) -> Sketch<K> {
        Sketch {
            keys: Vec::new(),
            counts: Vec::new(),
            errors: Vec::new(),
            places: HashMap::with_capacity(SKETCH_ENTRIES),
            sum: 0.0,
            fading: Fading::new(now),
        }
    }

    /// Counts one more, which stands for `times` of them.
    pub fn add(&mut self, key: &K, times: f64, now: Instant) {
        let counts = self.counts.iter_mut().chain(&mut self.errors).chain([&mut self.sum]);
        let weight = times * self.fading.weigh(counts, now);
        self.sum += weight;
        if let Some(place) = self.places.get(key) {
            self.counts[*place] += weight;
            return;
        }
        let place = match self.keys.len() {
            SKETCH_ENTRIES => self.least(),
            count => {
                self.keys.push(key.clone());
                self.counts.push(0.0);
                self.errors.push(0.0);
                count
            }
        };
        self.places.remove(&self.keys[place]);
        self.errors[place] = self.counts[place];
        self.counts[place] += weight;
        self.keys[place] = key.clone();
        self.places.insert(key.clone(), place);
    }

    /// The most frequent, at most so many, and first those with the greatest count.
    pub fn most(&self, count: usize, now: Instant) -> Vec<Frequent<'_, K>> {
        let fading = self.fading.at(now);
        let mut places: Vec<usize> = (0..self.keys.len()).collect();
        places.sort_by(|one, other| self.counts[*other].total_cmp(&self.counts[*one]));
        places.truncate(count);
        let of = |place: usize| Frequent {
            key: &self.keys[place],
            count: self.counts[place] / fading,
            error: self.errors[place] / fading,
        };
        places.into_iter().map(of).collect()
    }

    /// All that was counted, faded.
    pub fn sum(&self, now: Instant) -> f64 {
        self.sum / self.fading.at(now)
    }

    fn least(&self) -> usize {
        let counts = self.counts.iter().enumerate();
        counts.min_by(|one, other| one.1.total_cmp(other.1)).map_or(0, |(place, _)| place)
    }
}

/// A name in lower case, cut to its last 64 octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NameKey {
    octets: [u8; NAME_OCTETS],
    length: u8,
    /// Whether labels were left out.
    is_cut: bool,
}

impl NameKey {
    /// That of a name. Of a longer one labels are left out from the left, each as a whole.
    #[must_use]
    pub fn of(name: &Name) -> NameKey {
        let whole = name;
        let mut name = name;
        while name.octets().len() > NAME_OCTETS
            && let Some(parent) = name.parent()
        {
            name = parent;
        }
        let length = name.octets().len();
        let mut octets = [0; NAME_OCTETS];
        octets[..length].copy_from_slice(name.octets());
        // Length octets are below any letter.
        octets.make_ascii_lowercase();
        NameKey { octets, length: length as u8, is_cut: length < whole.octets().len() }
    }

    /// The name, or the end of it.
    #[must_use]
    pub fn name(&self) -> &Name {
        Name::from_wire(&self.octets[..usize::from(self.length)]).unwrap_or(Name::root())
    }
}

impl fmt::Display for NameKey {
    /// Escaped as in zone files. What was left out is said by dots, which no name has in a row.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cut { "..." } else { "" })?;
        fmt::Display::fmt(self.name(), f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    use sync::Random;
    use wire::NameBuf;

    /// Ranks by the law of Zipf: rank `n` comes as often as one through `n`.
    fn rank(random: &mut Random, ranks: u32) -> u32 {
        (f64::from(ranks).powf(random.unit())) as u32
    }

    #[test]
    fn the_most_frequent_are_there_and_counts_are_not_too_low() {
        let (now, mut random) = (Instant::now(), Random::new(7));
        let mut sketch = Sketch::new(now);
        let mut exact: HashMap<u32, f64> = HashMap::new();
        let samples = 200_000;
        for _ in 0..samples {
            let key = rank(&mut random, 100_000);
            sketch.add(&key, 1.0, now);
            *exact.entry(key).or_default() += 1.0;
        }
        assert_eq!(sketch.sum(now), f64::from(samples));
        let most = sketch.most(SKETCH_ENTRIES, now);
        let bound = f64::from(samples) / SKETCH_ENTRIES as f64;
        for Frequent { key, count, error } in &most {
            let exact = exact[key];
            assert!((exact..=exact + error).contains(count), "{key}: {count} of {exact}");
            assert!(*error <= bound, "{key}: {error}");
        }
        for (key, count) in exact.iter().filter(|(_, count)| **count > bound) {
            assert!(most.iter().any(|frequent| frequent.key == key), "{key} came {count} times");
        }
        assert!(most.is_sorted_by(|one, other| one.count >= other.count));
    }

    #[test]
    fn what_was_fades() {
        let begin = Instant::now();
        let mut sketch = Sketch::new(begin);
        (0..1000).for_each(|_| sketch.add(&"old", 1.0, begin));
        let later = begin + 3 * HALF_LIFE;
        (0..200).for_each(|_| sketch.add(&"new", 1.0, later));
        let most = sketch.most(10, later);
        let found: Vec<(&str, i64)> = most.iter().map(|one| (*one.key, one.count.round() as i64)).collect();
        assert_eq!(found, [("new", 200), ("old", 125)]);
        // So long that all counts are divided.
        let end = begin + 100 * HALF_LIFE;
        sketch.add(&"last", 5.0, end);
        let most = sketch.most(1, end);
        assert_eq!((*most[0].key, most[0].count), ("last", 5.0));
        assert!((sketch.sum(end) - 5.0).abs() < 1e-9);
    }

    /// A flood of names that come once does not drive out who has a share.
    #[test]
    fn a_flood_of_new_ones() {
        let now = Instant::now();
        let mut sketch = Sketch::new(now);
        for number in 0..100_000_u32 {
            sketch.add(&number, 1.0, now);
            if number % 100 == 0 {
                sketch.add(&u32::MAX, 1.0, now);
            }
        }
        assert_eq!(sketch.keys.len(), SKETCH_ENTRIES);
        assert_eq!(*sketch.most(1, now)[0].key, u32::MAX);
    }

    #[test]
    fn names_are_cut_to_whole_labels() {
        let key = |text: &str| NameKey::of(&NameBuf::from_text(text).unwrap());
        assert_eq!(key("WWW.Example."), key("www.example."));
        assert_eq!(key("www.example.").name().to_string(), "www.example.");
        let label = "a".repeat(40);
        assert_eq!(key(&format!("{label}.{label}.example.")).name().to_string(), format!("{label}.example."));
        let cut = key(&format!("{label}.{label}.example."));
        assert_ne!(cut, key(&format!("{label}.example.")), "another name");
        assert_eq!(cut.to_string(), format!("...{label}.example."));
        assert_eq!(key("a\\027[2J.Example.").to_string(), "a\\027[2j.example.");
        assert!(key(".").name().is_root());
    }
}
