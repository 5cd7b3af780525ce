//! How a trial goes while it runs, for somebody who watches.
//!
//! Each worker counts for itself and now and then stores its counts where a reader finds them: plain stores by one
//! writer, so that watching costs the sending path neither a lock nor an atomic read-modify-write.
//!
//! Latencies are counted in buckets of an eighth of an octave, about nine percent wide: good enough to watch.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// How often a worker stores its counts: ten times for each look of a reader that looks once a second would do.
const PUBLISH_NS: u64 = 20_000_000;
/// Eighths of the octaves of 64-bit nanoseconds.
const BUCKETS: usize = 64 << 3;

/// What a worker has published; the worker writes, anybody reads. Values may be of different moments.
pub struct Published {
    sent: AtomicU64,
    received: AtomicU64,
    buckets: Box<[AtomicU64]>,
}

impl Default for Published {
    fn default() -> Published {
        let buckets = (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Published { sent: AtomicU64::new(0), received: AtomicU64::new(0), buckets }
    }
}

/// A worker's own side.
pub struct Publisher {
    published: Arc<Published>,
    buckets: Box<[u64]>,
    next_ns: u64,
}

impl Publisher {
    /// Publishes to `published`.
    pub fn new(published: Arc<Published>) -> Publisher {
        Publisher { published, buckets: vec![0; BUCKETS].into(), next_ns: 0 }
    }

    /// Begins a trial.
    pub fn begin(&mut self) {
        self.buckets.fill(0);
        self.next_ns = 0;
        self.turn(0, 0, 0);
    }

    /// Counts a reply.
    pub fn answered(&mut self, latency_ns: u64) {
        self.buckets[bucket(latency_ns)] += 1;
    }

    /// Stores the counts if it is time to.
    pub fn turn(&mut self, now_ns: u64, sent: u64, received: u64) {
        if now_ns < self.next_ns {
            return;
        }
        self.next_ns = now_ns + PUBLISH_NS;
        self.published.sent.store(sent, Ordering::Relaxed);
        self.published.received.store(received, Ordering::Relaxed);
        for (own, published) in self.buckets.iter().zip(&self.published.buckets) {
            published.store(*own, Ordering::Relaxed);
        }
    }
}

/// Number of the bucket of a time.
fn bucket(nanoseconds: u64) -> usize {
    let value = nanoseconds.max(8);
    let octave = value.ilog2() as usize;
    // The three bits after the highest.
    octave << 3 | (value >> (octave - 3)) as usize & 7
}

/// The largest time of a bucket.
fn bucket_end(bucket: usize) -> u64 {
    let (octave, eighth) = (bucket >> 3, bucket as u64 & 7);
    if octave < 3 { 8 } else { ((9 + eighth) << (octave - 3)).wrapping_sub(1) }
}

/// Reads how a trial goes.
#[derive(Clone)]
pub struct Progress {
    workers: Vec<Arc<Published>>,
}

/// Counts of a trial that goes on, which those of others can be added to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Queries sent so far.
    pub sent: u64,
    /// Replies in time so far.
    pub received: u64,
    /// These replies by the bucket of their latency.
    buckets: Vec<u64>,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts { sent: 0, received: 0, buckets: vec![0; BUCKETS] }
    }
}

impl Counts {
    /// Without the times.
    pub fn new(sent: u64, received: u64) -> Counts {
        Counts { sent, received, ..Counts::default() }
    }

    /// Adds those of another generator.
    pub fn add(&mut self, other: &Counts) {
        let Counts { sent, received, buckets } = other;
        // They may have come over a network.
        self.sent = self.sent.saturating_add(*sent);
        self.received = self.received.saturating_add(*received);
        self.buckets.iter_mut().zip(buckets).for_each(|(all, own)| *all = all.saturating_add(*own));
    }

    /// Buckets that are not empty, with their numbers.
    pub fn filled(&self) -> impl Iterator<Item = (usize, u64)> {
        self.buckets.iter().copied().enumerate().filter(|&(_, count)| count > 0)
    }

    /// Sets a bucket; false where there is none of that number.
    pub fn fill(&mut self, bucket: usize, count: u64) -> bool {
        self.buckets.get_mut(bucket).map(|own| *own = count).is_some()
    }

    /// What they come to.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            sent: self.sent,
            received: self.received,
            p50_ns: percentile(&self.buckets, 50),
            p99_ns: percentile(&self.buckets, 99),
        }
    }
}

/// How a trial goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Queries sent so far.
    pub sent: u64,
    /// Replies in time so far.
    pub received: u64,
    /// Median latency so far.
    pub p50_ns: u64,
    /// What 99 of 100 replies did not exceed so far.
    pub p99_ns: u64,
}

impl Progress {
    /// Of these workers.
    pub fn new(workers: Vec<Arc<Published>>) -> Progress {
        Progress { workers }
    }

    /// How it goes now.
    pub fn look(&self) -> Snapshot {
        self.counts().snapshot()
    }

    /// The counts of all workers.
    pub fn counts(&self) -> Counts {
        let mut all = Counts::default();
        for worker in &self.workers {
            all.sent += worker.sent.load(Ordering::Relaxed);
            all.received += worker.received.load(Ordering::Relaxed);
            let counts = all.buckets.iter_mut().zip(&worker.buckets);
            counts.for_each(|(all, own)| *all += own.load(Ordering::Relaxed));
        }
        all
    }
}

fn percentile(buckets: &[u64], percent: u128) -> u64 {
    let all: u128 = buckets.iter().map(|&count| u128::from(count)).sum();
    let target = (all * percent).div_ceil(100).max(1);
    let mut sum = 0;
    let reaches = |&count: &u64| {
        sum += u128::from(count);
        sum >= target
    };
    buckets.iter().position(reaches).map_or(0, bucket_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_their_times() {
        for nanoseconds in (9..10_000).chain([1 << 40, u64::MAX]) {
            let end = bucket_end(bucket(nanoseconds));
            assert!(nanoseconds <= end && end as f64 <= nanoseconds as f64 * 1.126, "{nanoseconds}: {end}");
        }
        assert!(bucket(u64::MAX) < BUCKETS && bucket(0) == bucket(8));
    }

    #[test]
    fn published_counts_add_up() {
        let workers: Vec<Arc<Published>> = (0..2).map(|_| Arc::default()).collect();
        let progress = Progress::new(workers.clone());
        let mut publishers: Vec<_> = workers.into_iter().map(Publisher::new).collect();
        for (publisher, latency_ns) in publishers.iter_mut().zip([1000, 9000]) {
            publisher.begin();
            publisher.answered(latency_ns);
            publisher.turn(PUBLISH_NS - 1, 5, 1);
        }
        assert_eq!(progress.look(), Snapshot::default(), "not yet");
        publishers.iter_mut().for_each(|publisher| publisher.turn(PUBLISH_NS, 5, 1));
        let seen = progress.look();
        assert_eq!((seen.sent, seen.received), (10, 2));
        assert!((1000..1130).contains(&seen.p50_ns) && (9000..10_130).contains(&seen.p99_ns), "{seen:?}");
    }

    #[test]
    fn counts_of_generators_add_up() {
        let (mut one, mut other) = (Counts::default(), Counts::new(7, 3));
        assert!(other.fill(bucket(5000), 3) && !other.fill(BUCKETS, 1));
        one.add(&other);
        one.add(&other);
        assert_eq!((one.sent, one.received), (14, 6));
        assert_eq!(one.filled().collect::<Vec<_>>(), [(bucket(5000), 6)]);
        assert!((5000..5650).contains(&one.snapshot().p99_ns));
        // Nonsense from afar is no reason to fail.
        other.fill(0, u64::MAX);
        other.sent = u64::MAX;
        one.add(&other);
        one.add(&other);
        assert_eq!((one.sent, one.snapshot().p50_ns), (u64::MAX, 8));
    }
}
