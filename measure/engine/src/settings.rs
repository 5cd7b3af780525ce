//! What an experiment with the engine is made of.

use std::{net::SocketAddr, time::Duration};

use sync::bucket;

use crate::{
    memory::{self, MemoryKind},
    words::words,
};

/// Threads at most: fewer than there are work areas, so that each has one.
pub const THREADS_MAX: usize = 64;
/// Buckets at most: ten times the names of a large cache would be of no use.
pub const BUCKETS_MAX: usize = 1 << 20;
/// Changes a second at most: above, the writer does nothing but sleep too long.
pub const WRITES_MAX: u32 = 1_000_000;
/// Writers at most: a queue of them, not a server of them.
pub const WRITERS_MAX: usize = 16;
/// Seconds at most, one hour.
pub const SECONDS_MAX: f64 = 3600.0;

/// Which locks and counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProtectionKind {
    /// None, for one thread.
    Unshared,
    /// As BIND 9.3 had them: a reader-writer lock made of a mutex and conditions, counters under mutexes.
    Bind9,
    /// Mutexes.
    Mutex,
    /// The system's reader-writer lock, counters under mutexes.
    SystemOrdinary,
    /// The system's, atomic counters.
    SystemAtomic,
    /// The paper's, atomic counters.
    Paper,
    /// The same without system calls of its own.
    PaperPortable,
    /// Snapshots.
    Snapshot,
}

words!(ProtectionKind {
    Unshared = "unshared",
    Bind9 = "bind9",
    Mutex = "mutex",
    SystemOrdinary = "system-ordinary",
    SystemAtomic = "system-atomic",
    Paper = "paper",
    PaperPortable = "paper-portable",
    Snapshot = "snapshot",
});

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// A zone with delegations.
    Root,
    /// A resolver's cache.
    Cache,
}

words!(Data { Root = "root", Cache = "cache" });

/// How often each name is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// All alike.
    Uniform,
    /// As the paper saw them at a root server: one name takes 22.9 %, six more than half.
    Skewed,
}

words!(Names { Uniform = "uniform", Skewed = "skewed" });

/// All of it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Locks and counters.
    pub protection: ProtectionKind,
    /// Memory for answers.
    pub memory: MemoryKind,
    /// What is served.
    pub data: Data,
    /// Threads that answer.
    pub threads: usize,
    /// Each has a copy of everything.
    pub own: bool,
    /// How often each name is asked for.
    pub names: Names,
    /// Share of names that do not exist.
    pub nxdomain: f64,
    /// Share of questions whose answer the cache has; the others bring a new one.
    pub hits: f64,
    /// Changes a second.
    pub writes: u32,
    /// Threads that make them.
    pub writers: usize,
    /// Writers in a row before readers are let in.
    pub quota: u32,
    /// Locks of a zone or cache; as BIND 9 has them where not said.
    pub buckets: Option<usize>,
    /// How long it is measured.
    pub time: Duration,
    /// How long it runs before.
    pub warm: Duration,
    /// Time each question and each wait.
    pub waits: bool,
    /// Report locks.
    pub profile: bool,
    /// Of the questions.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            protection: ProtectionKind::Snapshot,
            memory: MemoryKind::Areas,
            data: Data::Root,
            threads: 1,
            own: false,
            names: Names::Uniform,
            nxdomain: 0.05,
            hits: 0.8,
            writes: 0,
            writers: 1,
            quota: sync::rwlock::QUOTA,
            buckets: None,
            time: Duration::from_secs(2),
            warm: Duration::from_millis(200),
            waits: false,
            profile: false,
            seed: 1,
        }
    }
}

/// Where the engine answers as a server.
#[derive(Clone, Copy, Debug)]
pub struct Service {
    /// Address and port.
    pub address: SocketAddr,
    /// One socket for all threads, as the seeds' servers had it.
    pub is_shared: bool,
    /// What a socket may hold before queries are lost, as the kernel counts it.
    pub receive_octets: usize,
}

impl Settings {
    /// Locks of a zone or cache.
    pub fn bucket_count(&self) -> usize {
        self.buckets.unwrap_or(match self.data {
            Data::Root => bucket::OF_A_ZONE,
            Data::Cache => bucket::OF_A_CACHE,
        })
    }

    /// Threads that change something.
    pub fn writer_count(&self) -> usize {
        if self.writes > 0 { self.writers } else { 0 }
    }

    /// Whether each thread has all for itself: asked for, or the only way.
    pub fn is_own(&self) -> bool {
        self.own || self.protection == ProtectionKind::Unshared
    }

    /// The option and the rule that it breaks.
    pub fn check(&self) -> Result<(), bench::Error> {
        let wrong = |option, rule| Err(bench::Error::Option { option, rule });
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        if !(1..=THREADS_MAX).contains(&self.threads) {
            return wrong("--threads", "from 1 to 64");
        }
        if self.protection == ProtectionKind::Unshared && self.threads > 1 && !self.own {
            return wrong("--protection", "unshared is for one thread, or for several with --own");
        }
        if self.is_own() && self.writes > 0 {
            return wrong(
                "--writes",
                "not where each thread has a copy of its own: no writer could reach them",
            );
        }
        if self.memory == MemoryKind::Jemalloc && !memory::has_jemalloc() {
            return wrong(
                "--memory",
                "jemalloc is not to be had: install libjemalloc.so.2 (Debian: libjemalloc2)",
            );
        }
        if self.writes > WRITES_MAX {
            return wrong("--writes", "at most 1000000 a second");
        }
        if !(1..=WRITERS_MAX).contains(&self.writers) {
            return wrong("--writers", "from 1 to 16");
        }
        if !is_share(self.nxdomain) {
            return wrong("--nxdomain", "from 0 to 1");
        }
        if !is_share(self.hits) {
            return wrong("--hits", "from 0 to 1");
        }
        if self.quota == 0 {
            return wrong("--quota", "at least 1");
        }
        if self.buckets.is_some_and(|count| !(1..=BUCKETS_MAX).contains(&count)) {
            return wrong("--buckets", "from 1 to 1048576");
        }
        if self.time.is_zero()
            || self.time.as_secs_f64() > SECONDS_MAX
            || self.warm.as_secs_f64() > SECONDS_MAX
        {
            return wrong("--seconds", "above 0, at most 3600");
        }
        Ok(())
    }
}
