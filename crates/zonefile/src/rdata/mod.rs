//! RDATA by table: text to wire form, the check of a wire form, wire form to text.
//!
//! [`table`] says for each type which kinds of fields it has. Three walks over that list do the rest:
//! `parse` (from text), [`check`] (of octets from `\#`, a transfer or an update) and `print` (to text).
//! Where names lie in RDATA, `wire::rdata` says.

pub(crate) mod bitmap;
mod check;
pub(crate) mod host;
mod layout;
pub(crate) mod location;
pub(crate) mod params;
pub(crate) mod parse;
pub(crate) mod prefixes;
mod table;

pub(crate) use check::extent;
pub use check::{Fault, check};
pub(crate) use table::{Kind, kinds};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
