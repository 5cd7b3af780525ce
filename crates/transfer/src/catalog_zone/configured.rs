//! What the settings say of a catalog that is taken from others.

use std::collections::HashSet;

use wire::{Name, NameBuf};

/// A catalog that is taken from others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogSettings {
    /// Its name.
    pub zone: NameBuf,
    /// Names of templates that a group may ask for; the first is for members whose groups name none. None at all: one without a name.
    pub templates: Vec<Box<str>>,
    /// Which zones may be members.
    pub members: Allowed,
    /// How many members may be lost without confirmation.
    pub remove_max: RemoveMax,
}

/// More catalogs or templates than there are numbers for: [`super::CATALOGS_MAX`], [`super::TEMPLATES_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyCatalogs;

/// Names that zones may have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Names that are meant themselves, in lower case.
    names: HashSet<NameBuf>,
    /// Names below which all are meant, in lower case.
    above: HashSet<NameBuf>,
}

impl Allowed {
    /// Adds a name: `*.example.` means all names below `example.`, anything else itself.
    pub fn add(&mut self, pattern: &Name) {
        match pattern.parent().filter(|_| pattern.is_wildcard()) {
            Some(parent) => self.above.insert(parent.to_lowercase()),
            None => self.names.insert(pattern.to_lowercase()),
        };
    }

    /// Whether no name was added.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.above.is_empty()
    }

    /// Whether a zone may have this name. Without patterns all may but the root and names of one label, which are nobody's customers.
    pub fn allows(&self, zone: &Name) -> bool {
        if self.is_empty() {
            return zone.label_count() > 1;
        }
        // By a look for each of its labels, however many patterns there are: lists compare a million zones with those of a key.
        let zone = zone.to_lowercase();
        let mut ancestors = std::iter::successors(zone.parent(), |name| name.parent());
        self.names.contains(&*zone)
            || (!self.above.is_empty() && ancestors.any(|name| self.above.contains(name)))
    }
}

/// How many members may be lost in an hour without confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoveMax {
    /// As many as there are.
    Any,
    /// So many.
    Members(u32),
    /// So many in a hundred, but [`PERCENT_MEMBERS_MIN`] at least; and not all, if they are more than one.
    Percent(u8),
}

/// What a percentage allows at least: a tenth of five members is none, and then each removal had to be confirmed.
pub const PERCENT_MEMBERS_MIN: u32 = 10;

impl Default for RemoveMax {
    fn default() -> RemoveMax {
        RemoveMax::Percent(10)
    }
}

impl RemoveMax {
    /// Whether `losses` more may go, of a catalog that had `members` at the beginning of the hour, holds `held` now and has lost `lost` since.
    pub fn allows(self, losses: u32, lost: u32, members: u32, held: u32) -> bool {
        let all = u64::from(lost) + u64::from(losses);
        match self {
            _ if losses == 0 => true,
            RemoveMax::Any => true,
            RemoveMax::Members(max) => all <= u64::from(max),
            RemoveMax::Percent(percent) => {
                let part = u64::from(members) * u64::from(percent) / 100;
                (losses < held || held < 2) && all <= part.max(PERCENT_MEMBERS_MIN.into())
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn who_may_be_a_member() {
        let allows = |patterns: &[&str], zone: &str| {
            let mut allowed = Allowed::default();
            patterns.iter().for_each(|pattern| allowed.add(&pattern.parse::<NameBuf>().unwrap()));
            allowed.allows(&zone.parse::<NameBuf>().unwrap())
        };
        assert!(allows(&[], "example.com") && allows(&[], "a.b.c"));
        assert!(!allows(&[], "com") && !allows(&[], "."));
        let some = ["*.Customers.example", "example.org", "com"];
        assert!(allows(&some, "a.customers.example") && allows(&some, "a.b.CUSTOMERS.example"));
        assert!(allows(&some, "EXAMPLE.org") && allows(&some, "com"));
        for other in ["customers.example", "acustomers.example", "a.example.org", "example.com", "."] {
            assert!(!allows(&some, other), "{other}");
        }
        assert!(allows(&["*."], "com") && !allows(&["*."], ".") && allows(&["."], "."));
    }

    #[test]
    fn how_many_may_go() {
        let percent = RemoveMax::default();
        assert!(percent.allows(10, 0, 20, 20) && !percent.allows(11, 0, 20, 20));
        assert!(percent.allows(100, 0, 1_000, 1_000) && !percent.allows(101, 0, 1_000, 1_000));
        assert!(percent.allows(60, 40, 1_000, 960) && !percent.allows(61, 40, 1_000, 960));
        // All of them are too many, however few; but for the only one.
        assert!(!percent.allows(2, 0, 2, 2) && percent.allows(1, 0, 2, 2) && percent.allows(1, 1, 2, 1));
        assert!(percent.allows(0, 500, 0, 0));
        let count = RemoveMax::Members(5);
        assert!(count.allows(5, 0, 5, 5) && !count.allows(3, 3, 50, 47));
        assert!(RemoveMax::Any.allows(u32::MAX, u32::MAX, 1, 1));
        assert!(!RemoveMax::Members(0).allows(1, 0, 5, 5));
    }
}
