//! What is said of the cache of the resolver, and of servers of others.

use serde::{Deserialize, Serialize};

/// What can be asked of the cache, or done to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CacheCommand {
    /// How much it holds, and what became of the rest.
    Stats,
    /// What it knows of a name.
    Show {
        /// The name.
        name: String,
    },
    /// Write it to `state-directory` now.
    Write,
    /// Forget something, at once for all.
    Flush {
        /// The name; none: everything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// Whether also what is below it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tree: bool,
    },
}

/// The cache as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheStats {
    /// Entries now.
    pub entries: u64,
    /// Octets that they take.
    pub entry_octets: u64,
    /// Octets of all of it, which is what was set.
    pub octets: u64,
    /// Octets of these that have been written since the start, at most.
    pub resident_octets: u64,
    /// Answers that were given from it.
    pub hits: u64,
    /// Questions that had to be found out.
    pub misses: u64,
    /// Entries that were put.
    pub puts: u64,
    /// Of these, kept from before the start.
    pub restored: u64,
    /// Refused, as something was believed more, or flushed.
    pub refused: u64,
    /// Left for room without having been read a second time.
    pub evicted_unread: u64,
    /// Left for room after that.
    pub evicted: u64,
    /// Had expired when their turn came.
    pub expired: u64,
    /// How long clients waited for what had to be found out: how many got it within how long, the shortest first.
    pub waited: Vec<Waited>,
    /// Milliseconds that all of these waited together.
    pub waited_ms: u64,
}

/// Answers that were waited for so long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Waited {
    /// At most, and longer than the range before says; left out: longer than all others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// How many.
    pub answers: u64,
}

impl CacheStats {
    /// Milliseconds that so many in a hundred of those answers were waited for at most; `None`: longer than any range says, or there are none.
    pub fn waited_at_most(&self, percent: f64) -> Option<u64> {
        let all: u64 = self.waited.iter().map(|range| range.answers).sum();
        let mut counted = 0;
        let is_in = |range: &&Waited| {
            counted += range.answers;
            range.answers > 0 && counted as f64 >= all as f64 * percent / 100.0
        };
        self.waited.iter().find(is_in)?.ms
    }
}

/// An entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheEntry {
    /// What it is about: a type, `existence`, `cut`, `unchecked TYPE`, `failure TYPE`.
    pub subject: String,
    /// What it says: `data`, `no data`, `no such name`, `failure` or `cut`.
    pub kind: String,
    /// What validation found: `secure`, `insecure`, `bogus`, `unchecked`.
    pub security: String,
    /// How much it is believed.
    pub rank: String,
    /// Why it failed, is bogus, or counts as not signed: an extended error (RFC 8914) with its number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extended_error: Option<String>,
    /// Seconds that are left; none where it has expired. Of a failure: for which it is not asked again.
    pub ttl: Option<u32>,
    /// Its records as lines of a zone file, those that stand beside it after them, each set with what is left of its own TTL.
    pub records: Vec<String>,
}

/// A server of a zone of others, as the resolver knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerLine {
    /// The zone that it is asked about.
    pub zone: String,
    /// Its name; empty where the settings have addresses alone.
    pub name: String,
    /// Its address; empty where none is known. With the port where the settings name it.
    pub address: String,
    /// Smoothed round trip in microseconds; 0: none was measured.
    pub rtt_us: u32,
    /// Time-outs since its last answer.
    pub timeouts: u8,
    /// Seconds for which it is not asked while others can be.
    pub backoff_seconds: u64,
    /// What it is where the settings name it (`forwarder`, `stub`, `hint`, `TLS`), and what else is known: `never asked`, `lame`, `no EDNS`, `TCP only`, `changes case`, `cookies`.
    pub marks: Vec<String>,
}

/// Something that the resolver is finding out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestLine {
    /// The name.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub rtype: String,
    /// The name that it has come to by aliases.
    pub at: String,
    /// Why: `question`, `prefetch`, `address`, `trust` or `priming`.
    pub purpose: String,
    /// What it does now.
    pub state: String,
    /// The server that is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// For how long.
    pub milliseconds: u64,
    /// Clients that wait for it.
    pub clients: usize,
    /// Other such tasks that do.
    pub tasks: usize,
    /// What these find out, each as name and type; the first eight.
    pub wanted_for: Vec<String>,
    /// Tasks that it waits for.
    pub waits_for: usize,
    /// What these find out; the first eight.
    pub waits_for_names: Vec<String>,
}

/// How something was found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Explanation {
    /// What was asked, what was said, what was looked at to validate it, in order; what belongs to a line before is indented.
    pub lines: Vec<String>,
    /// What it came to: a response code.
    pub rcode: String,
    /// `secure`, `insecure`, `bogus`, or none where nothing was found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<String>,
    /// Extended errors (RFC 8914) with their numbers.
    pub extended_errors: Vec<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The answer, as lines of a zone file.
    pub answer: Vec<String>,
    /// What denies it, and proves that.
    pub authority: Vec<String>,
    /// What the cache has of the name now.
    pub kept: Vec<CacheEntry>,
}

/// What becomes of negative trust anchors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case", deny_unknown_fields)]
pub enum NegativeCommand {
    /// Which there are.
    List,
    /// One more, or longer.
    Add {
        /// The name from which on downwards nothing is validated.
        name: String,
        /// For how long.
        seconds: u64,
    },
    /// One less.
    Remove {
        /// Its name.
        name: String,
    },
}

/// A key that is trusted, or may be some time, or was (RFC 5011); or a DS record of one that was not seen yet. Times are seconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnchorLine {
    /// The zone.
    pub zone: String,
    /// What is known: `key` or `ds`.
    pub kind: String,
    /// Tag of the key.
    pub tag: u16,
    /// Its algorithm.
    pub algorithm: u8,
    /// Where it is: `pending`, `valid`, `missing` (trusted, and the zone does not have it), `revoked`, `not seen` (a DS record, which is trusted), or `fixed` where anchors
    /// are not renewed.
    pub state: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// When it will be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// When the zone's keys were seen last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checked: Option<u64>,
    /// When they are looked at again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}
