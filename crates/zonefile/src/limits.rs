//! Every bound of this crate with its reason. Input beyond a bound gets one clear error.

/// Longest entry: a line, or all lines of a parenthesised entry. The largest record, 65,535 octets of
/// RDATA, written as `\DDD` escapes takes 256 KiB, with comments and indentation less than 1 MiB. A greater
/// bound would only raise the memory that a broken file can claim.
pub const ENTRY_OCTETS_MAX: usize = 1 << 20;

/// Octets read at a time, and the size of the window while entries are short. Small enough that text
/// scanned is still in the second-level cache when it is read again, large enough to hide system calls.
pub const WINDOW_OCTETS: usize = 128 << 10;

/// Octets read at first. Most zones of a hosting server are shorter, and filling a whole window with blanks took
/// more time than reading them.
pub const FIRST_WINDOW_OCTETS: usize = 4 << 10;

/// Deepest nesting of `$INCLUDE`. Hand-made files use two or three levels; each open level holds a window
/// and a file descriptor.
pub const INCLUDE_DEPTH_MAX: usize = 20;

/// Most files in one reading: a place names its file with 16 bits. It also bounds files that include
/// others twice each, which would double with every level.
pub const FILES_MAX: usize = u16::MAX as usize;

/// Most records all `$GENERATE` of one reading may make: one for each address of an IPv4 /8 network.
pub const GENERATED_RECORDS_MAX: u64 = 1 << 24;

/// Diagnostics collected unless the caller sets another number: more than anyone reads at once.
pub const DIAGNOSTICS_MAX: usize = 100;

/// Longest RDATA: its length has 16 bits (RFC 1035 3.2.1).
pub const RDATA_OCTETS_MAX: usize = u16::MAX as usize;
