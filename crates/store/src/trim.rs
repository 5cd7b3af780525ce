//! History that is dropped: by age, and by how much there is.
//!
//! What is dropped is always the oldest of a zone, so that what stays leads on without a gap. The newest version of each name stays, also of zones that are gone:
//! by it a zone that comes back begins above its serial.

/// What of the history stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    /// What was made before this time, in seconds since 1970, goes.
    pub before: Option<u64>,
    /// Rows of all versions have at most so many octets.
    pub octets_max: Option<u64>,
}

/// What went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trimmed {
    /// Versions.
    pub versions: u64,
    /// Rows of versions.
    pub rows: u64,
}
