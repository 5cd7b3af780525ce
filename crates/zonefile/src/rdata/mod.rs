//! RDATA by table: text to wire form, the check of a wire form, wire form to text.
//!
//! [`table`] says for each type which kinds of fields it has. Three walks over that list do the rest:
//! `parse` (from text), [`check`] (of octets from `\#`, a transfer or an update) and `print` (to text).
//! [`names`] lists the domain names in RDATA, for canonical form and for compression.

pub(crate) mod bitmap;
mod check;
pub(crate) mod host;
pub(crate) mod location;
pub(crate) mod params;
pub(crate) mod parse;
pub(crate) mod prefixes;
mod table;

pub(crate) use check::extent;
pub use check::{Fault, check};
pub use table::Role;
pub(crate) use table::{Kind, kinds};

/// A domain name inside RDATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameField {
    /// Where it begins.
    pub start: usize,
    /// One past its root label.
    pub end: usize,
    /// How canonical form and compression treat it.
    pub role: Role,
}

/// Lists the domain names in RDATA that [`check`] has passed; stops early in RDATA that it would not pass.
/// No allocation; for types without names the first step ends it.
pub fn names(rtype: u16, rdata: &[u8]) -> Names<'_> {
    let kinds = table::kinds(rtype).unwrap_or(&[]);
    let has_names = kinds.iter().any(|kind| matches!(kind, Kind::Name(_) | Kind::Names(_)));
    // The names in these three have no kind of their own.
    let has_names = has_names
        || matches!(rtype, wire::iana::rtype::IPSECKEY | wire::iana::rtype::AMTRELAY | wire::iana::rtype::A6);
    Names { kinds: if has_names { kinds } else { &[] }, rdata, at: 0 }
}

/// Iterator of [`names`].
#[derive(Clone, Debug)]
pub struct Names<'a> {
    kinds: &'static [Kind],
    rdata: &'a [u8],
    at: usize,
}

impl Iterator for Names<'_> {
    type Item = NameField;

    fn next(&mut self) -> Option<NameField> {
        while let Some((&kind, later)) = self.kinds.split_first() {
            let start = self.at;
            if matches!(kind, Kind::Names(_)) && start == self.rdata.len() {
                return None;
            }
            // A list of names goes on until the RDATA ends.
            if !matches!(kind, Kind::Names(_)) {
                self.kinds = later;
            }
            let single = if let Kind::Names(role) = kind { Kind::Name(role) } else { kind };
            self.at = start + check::extent(single, self.rdata, start).ok()?;
            let found = match single {
                Kind::Name(role) => Some((start, role)),
                Kind::Gateway | Kind::Relay | Kind::Chain => check::inner_name(single, self.rdata, start)
                    .map(|start| (start, if single == Kind::Chain { Role::Lowered } else { Role::Kept })),
                _ => None,
            };
            if let Some((start, role)) = found {
                return Some(NameField { start, end: self.at, role });
            }
        }
        None
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
