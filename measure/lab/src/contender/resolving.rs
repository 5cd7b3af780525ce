//! How a resolver is set up beyond what all of them have: room, places, what it does with what has expired and with what it knows
//! when it ends. Where a setting has no counterpart in a server, its file says so.

use std::path::Path;

use super::{ANCHOR, CACHE_OCTETS, HINTS, WAITING};
use crate::{bed::RECEIVE_OCTETS, recipe::Name};

/// Name of the file that a resolver's cache is written to, where a command of its operator does so.
pub const DUMP: &str = "dump";
/// How long what has expired may be served, where it may.
pub const STALE_SECONDS: u64 = 86_400;
/// After how many milliseconds of asking it is served, where servers can be told so: what RFC 8767 5 recommends.
pub const STALE_AFTER_MS: u64 = 1_800;

/// What a resolver is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolving {
    /// Memory for what is learned, where it can be told in octets.
    pub cache_octets: u64,
    /// Queries that may wait for servers, of each worker.
    pub waiting: usize,
    /// What its socket for queries may hold, where it can be told.
    pub receive_octets: usize,
    /// Whether what has expired is served while servers do not answer; else it is as by default.
    pub serves_stale: bool,
    /// Whether what is known outlives a restart.
    pub keeps: bool,
}

impl Default for Resolving {
    fn default() -> Resolving {
        Resolving {
            cache_octets: CACHE_OCTETS,
            waiting: WAITING,
            receive_octets: RECEIVE_OCTETS,
            serves_stale: false,
            keeps: false,
        }
    }
}

impl Name {
    /// The command by which an operator of it writes its cache to a file before it ends, or reads it back after it has
    /// started; `None` where it does so by itself or cannot.
    pub fn cache_command(self, folder: &Path, reads: bool) -> Option<Vec<String>> {
        let Name::Unbound = self else { return None };
        let (settings, dump) = (folder.join("unbound.conf"), folder.join(DUMP));
        let (word, direction) = if reads { ("load_cache", '<') } else { ("dump_cache", '>') };
        let script = format!(
            "exec unbound-control -c '{}' {word} {direction} '{}'",
            settings.display(),
            dump.display()
        );
        Some(["sh", "-c", &script].map(str::to_owned).to_vec())
    }

    /// Whether what it knows outlives a restart.
    pub fn keeps(self) -> bool {
        matches!(self, Name::Zonda | Name::Before | Name::Limited | Name::Unbound | Name::Kresd)
    }

    /// How what it knows outlives a restart, in words.
    pub fn keeps_by(self) -> &'static str {
        match self {
            Name::Zonda | Name::Before | Name::Limited => "written at the end, read at the start",
            Name::Unbound => "dump_cache, load_cache",
            Name::Kresd => "a file that is its cache",
            _ => "not at all",
        }
    }
}

/// Whether a file in a server's folder is one of its settings, not of what it has kept.
pub fn is_setting(name: &str) -> bool {
    [HINTS, ANCHOR, "output", "result"].contains(&name) || name.contains(".conf") || name.contains("toml")
}
