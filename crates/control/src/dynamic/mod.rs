//! q
pub(crate) mod queue;
