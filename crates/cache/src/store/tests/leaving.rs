//! What leaves for room, and what stays although others flood.

use super::*;

/// Zipf's law: of `names`, the one of rank r is drawn with a weight of 1 / r.
struct Zipf {
    cumulated: Vec<f64>,
}

impl Zipf {
    fn new(names: usize) -> Zipf {
        let mut sum = 0.0;
        Zipf {
            cumulated: (1..=names)
                .map(|rank| {
                    sum += 1.0 / rank as f64;
                    sum
                })
                .collect(),
        }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let at = random.unit() * self.cumulated[self.cumulated.len() - 1];
        self.cumulated.partition_point(|sum| *sum < at) as u64
    }
}

/// What floods the cache beside a mix of queries.
#[derive(Clone, Copy, PartialEq)]
enum Flood {
    None,
    /// So many names for each query, each asked once.
    Once(usize),
    /// The same, asked twice, right away.
    Twice(usize),
}

/// The share of hits of a Zipf mix of 1,000 queries a second, 100,000 names, after `queries` of warming up, `queries` more with a flood.
fn hit_share(octets: usize, queries: usize, flood: Flood) -> f64 {
    let cache = cache(octets);
    let (zipf, mut random, mut copied) = (Zipf::new(100_000), Random::new(9), Copied::new());
    let (mut hits, mut made_up) = (0, 1 << 40);
    for query in 0..2 * queries {
        let now = Moment(query as u64);
        let number = zipf.draw(&mut random);
        let hit = cache.get(&Key::rrset(&host(number), 1), &mut copied).is_some();
        hits += usize::from(hit && query >= queries);
        if !hit {
            fill(&cache, number..number + 1, now);
        }
        let (Flood::Once(count) | Flood::Twice(count)) = flood else { continue };
        let count = if query >= queries { count } else { 0 };
        for number in made_up..made_up + count as u64 {
            fill(&cache, number..number + 1, now);
            if matches!(flood, Flood::Twice(_)) {
                assert!(cache.get(&Key::rrset(&host(number), 1), &mut copied).is_some());
            }
        }
        made_up += count as u64;
    }
    hits as f64 / queries as f64
}

/// A seventh of the names fits. The shares are in `docs/design/cache.md`.
#[test]
fn floods_pass_through_the_small_ring() {
    let share = |flood| hit_share(1 << 20, 100_000, flood);
    let [quiet, once, twice] = [Flood::None, Flood::Once(5), Flood::Twice(5)].map(share);
    println!("share of hits {quiet:.3}, with a flood of names asked once {once:.3}, twice {twice:.3}");
    assert!(quiet > 0.75 && once > 0.9 * quiet && twice > 0.9 * quiet);
}

#[test]
fn answers_used_through_stamps_stay() {
    let cache = cache(1 << 20);
    fill(&cache, 0..1, Moment(1));
    let first = host(0);
    let mut copied = Copied::new();
    let key = Key::rrset(&first, 1);
    for round in 1..200 {
        let stamp = cache.stamp(&key, &mut copied).expect("it is used all the time");
        assert!(cache.is_current(&stamp));
        fill(&cache, round * 1_000..(round + 1) * 1_000, Moment(1));
    }
}

/// In the main ring an entry has to be read anew.
#[test]
fn reads_count_once() {
    let cache = cache(1 << 20);
    fill(&cache, 0..1, Moment(1));
    fill(&cache, 1..2, Moment(5_000));
    let (first, mut copied) = (host(0), Copied::new());
    let key = Key::rrset(&first, 1);
    assert!(cache.get(&key, &mut copied).is_some());
    let state = |copied: &mut Copied| {
        let stamp = cache.stamp(&key, copied).expect("there is room for it");
        let index = &cache.table[usize::from(stamp.position)].index;
        (Slot(stamp.word).ring(), index.is_visited(stamp.slot as usize))
    };
    assert_eq!(state(&mut copied), (Which::Small, true));
    let mut number = 10;
    while state(&mut copied).0 == Which::Small {
        fill(&cache, number..number + 1, Moment(6_000));
        number += 1;
    }
    assert_eq!(state(&mut copied), (Which::Main, false));
    let kinds = cache.kinds();
    assert_eq!(kinds[0].0, Kind::Data);
    assert_eq!((kinds[0].1, kinds[0].2), (cache.counts().entries, cache.counts().octets));
    assert!(kinds[1..].iter().all(|(_, entries, octets)| *entries == 0 && *octets == 0));
}
