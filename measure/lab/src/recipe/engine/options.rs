//! Options of `zonda-bench engine`, and numbers that differ with the machine.

use ::engine::{Data, MemoryKind, Names, ProtectionKind};
use serde::Deserialize;

/// Options of `zonda-bench engine`; what is not said is its default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EngineOptions {
    /// `--protection`.
    pub protection: Option<ProtectionKind>,
    /// `--memory`.
    pub memory: Option<MemoryKind>,
    /// `--own`.
    #[serde(default)]
    pub own: bool,
    /// `--data`.
    pub data: Option<Data>,
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
