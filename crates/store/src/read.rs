//! What a version has, row by row.

/// Whether a row came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The version has it, the one before has not.
    Added,
    /// The reverse.
    Removed,
}
