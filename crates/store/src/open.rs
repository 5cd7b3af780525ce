//! What a store is opened for, and whether less would do.

use std::io;

use crate::fault::Fault;

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To read alone: what others changed by plain SQL since the newest versions is not seen.
    Read,
    /// To write, or to close what others changed.
    Write,
}

/// Whether what failed for want of rights may do to read alone.
#[must_use]
pub fn is_for_want_of_rights(fault: &Fault) -> bool {
    match fault {
        Fault::ReadOnly => true,
        Fault::File(_, error) => error.kind() == io::ErrorKind::PermissionDenied,
        _ => false,
    }
}
