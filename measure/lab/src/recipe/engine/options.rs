//! Options of `zonda-bench engine`, and numbers that differ with the machine.

use serde::Deserialize;

/// Which locks and counters the engine has.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// No locks at all, for one thread.
    Unshared,
    /// As BIND 9.3 had it: a reader-writer lock made of a mutex and conditions, counters under mutexes.
    Bind9,
    /// Mutexes for all.
    Mutex,
    /// The system's reader-writer lock, counters under mutexes.
    SystemOrdinary,
    /// The system's reader-writer lock, atomic counters.
    SystemAtomic,
    /// The paper's reader-writer lock, atomic counters.
    Paper,
    /// The same with sleepers that need no system call of their own.
    PaperPortable,
    /// Snapshots.
    Snapshot,
}

impl Protection {
    /// All there are.
    pub const ALL: [Protection; 8] = [
        Protection::Unshared,
        Protection::Bind9,
        Protection::Mutex,
        Protection::SystemOrdinary,
        Protection::SystemAtomic,
        Protection::Paper,
        Protection::PaperPortable,
        Protection::Snapshot,
    ];

    /// As `--protection` takes it.
    pub fn text(self) -> &'static str {
        match self {
            Protection::Unshared => "unshared",
            Protection::Bind9 => "bind9",
            Protection::Mutex => "mutex",
            Protection::SystemOrdinary => "system-ordinary",
            Protection::SystemAtomic => "system-atomic",
            Protection::Paper => "paper",
            Protection::PaperPortable => "paper-portable",
            Protection::Snapshot => "snapshot",
        }
    }
}

/// Where memory for building answers comes from.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Memory {
    /// Pools of blocks, as the paper has them.
    Areas,
    /// One pool under one mutex.
    Shared,
    /// The system's allocator.
    System,
    /// mimalloc.
    Mimalloc,
    /// jemalloc.
    Jemalloc,
    /// snmalloc.
    Snmalloc,
    /// Nothing is allocated while queries are answered.
    None,
}

impl Memory {
    /// As `--memory` takes it.
    pub fn text(self) -> &'static str {
        match self {
            Memory::Areas => "areas",
            Memory::Shared => "shared",
            Memory::System => "system",
            Memory::Mimalloc => "mimalloc",
            Memory::Jemalloc => "jemalloc",
            Memory::Snmalloc => "snmalloc",
            Memory::None => "none",
        }
    }
}

/// What the engine holds.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum EngineData {
    /// The root zone.
    Root,
    /// A cache.
    Cache,
}

/// How often each name is asked for.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Names {
    /// All alike.
    Uniform,
    /// As the paper saw them at a root server.
    Skewed,
}

/// Options of `zonda-bench engine`; what is not said is its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EngineOptions {
    /// `--protection`.
    pub protection: Option<Protection>,
    /// `--memory`.
    pub memory: Option<Memory>,
    /// `--own`.
    #[serde(default)]
    pub own: bool,
    /// `--data`.
    pub data: Option<EngineData>,
    /// `--names`.
    pub names: Option<Names>,
    /// `--nxdomain`.
    pub nxdomain: Option<f64>,
    /// `--hits`.
    pub hits: Option<f64>,
    /// `--writes`.
    pub writes: Option<u64>,
    /// `--writers`.
    pub writers: Option<u64>,
    /// `--quota`.
    pub quota: Option<u64>,
    /// `--buckets`.
    pub buckets: Option<u64>,
    /// `--threads`; 0 is a program without threads, which only `unshared` can be.
    pub threads: Option<Count>,
    /// `--waits`.
    #[serde(default)]
    pub waits: bool,
    /// `--profile-locks`.
    #[serde(default)]
    pub profile_locks: bool,
}

/// A number, or what stands for some on the machine at hand.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum Count {
    /// This number.
    Number(u64),
    /// So many as a word says.
    Word(CountWord),
}

/// Numbers that differ with the machine.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum CountWord {
    /// The number of cores.
    Cores,
    /// 1, 2, 3, … up to the number of cores; on large machines 1, 2, 3, 4, 6, 8, 12, 16, ….
    ToCores,
}

impl Count {
    /// The numbers it stands for.
    pub fn numbers(self, cores: usize) -> Vec<u64> {
        let cores = cores as u64;
        match self {
            Count::Number(number) => vec![number],
            Count::Word(CountWord::Cores) => vec![cores],
            Count::Word(CountWord::ToCores) => {
                // Each up to four, then two of each doubling: enough to see the shape of a line.
                let doublings = (1..u64::BITS).flat_map(|power| [1u64 << power, (1u64 << power) / 2 * 3]);
                let mut all: Vec<u64> = [1].into_iter().chain(doublings).filter(|&n| n < cores).collect();
                all.push(cores);
                all.sort_unstable();
                all.dedup();
                all
            }
        }
    }

    /// The one number it stands for; of several the last.
    pub fn number(self, cores: usize) -> u64 {
        self.numbers(cores).last().copied().unwrap_or(1)
    }
}

impl EngineOptions {
    /// These, and where they say nothing what `others` say.
    pub fn or(&self, others: &EngineOptions) -> EngineOptions {
        EngineOptions {
            protection: self.protection.or(others.protection),
            memory: self.memory.or(others.memory),
            own: self.own || others.own,
            data: self.data.or(others.data),
            names: self.names.or(others.names),
            nxdomain: self.nxdomain.or(others.nxdomain),
            hits: self.hits.or(others.hits),
            writes: self.writes.or(others.writes),
            writers: self.writers.or(others.writers),
            quota: self.quota.or(others.quota),
            buckets: self.buckets.or(others.buckets),
            threads: self.threads.or(others.threads),
            waits: self.waits || others.waits,
            profile_locks: self.profile_locks || others.profile_locks,
        }
    }
}
