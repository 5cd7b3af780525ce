//! The keys that requests are signed with (TSIG, RFC 8945), by name.
//!
//! Published with the access lists in [`crate::Server`], so that the number of a key means the same to whoever sees both. A key lives in an `Arc`: what goes
//! on for long, such as a transfer, keeps the one that it began with.

use std::fmt;
use std::sync::Arc;
use wire::Name;
use wire::tsig::{self, Algorithm, Key};

/// Most keys of a server: a key a customer, and the width of their numbers.
pub const KEYS_MAX: usize = u16::MAX as usize;

/// The number of a key among [`Keys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyNumber(u16);

/// All keys of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// Sorted by name.
    entries: Arc<[Entry]>,
}

/// A key, and its secret to compare it with others.
struct Entry {
    key: Arc<Key>,
    secret: Box<[u8]>,
}

impl Entry {
    fn facts(&self) -> (&Name, Algorithm, usize, &[u8]) {
        (self.key.name(), self.key.algorithm(), self.key.mac_octets_min(), &self.secret)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.facts() == other.facts()
    }
}

impl Eq for Entry {}

/// Leaves the secret away.
impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

/// Why keys cannot be had together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeysFault {
    /// More than [`KEYS_MAX`].
    TooMany,
    /// Two of one name.
    Twice,
}

impl Keys {
    /// These keys: name, algorithm and secret of each.
    pub fn new<'n>(keys: impl Iterator<Item = (&'n Name, Algorithm, Box<[u8]>)>) -> Result<Keys, KeysFault> {
        let entry = |(name, algorithm, secret): (&Name, _, Box<[u8]>)| Entry {
            key: Arc::new(Key::new(name, algorithm, &secret)),
            secret,
        };
        let mut entries: Vec<Entry> = keys.take(KEYS_MAX + 1).map(entry).collect();
        if entries.len() > KEYS_MAX {
            return Err(KeysFault::TooMany);
        }
        entries.sort_by(|a, b| order(a, b.key.name()));
        if entries.windows(2).any(|pair| pair[0].key.name() == pair[1].key.name()) {
            return Err(KeysFault::Twice);
        }
        Ok(Keys { entries: entries.into() })
    }

    /// The number of the key of this name, which is in lower case.
    #[must_use]
    pub fn number(&self, name: &Name) -> Option<KeyNumber> {
        let at = self.entries.binary_search_by(|entry| order(entry, name)).ok()?;
        Some(KeyNumber(at as u16))
    }

    /// A key by its number.
    #[must_use]
    pub fn get(&self, number: KeyNumber) -> Option<&Arc<Key>> {
        self.entries.get(usize::from(number.0)).map(|entry| &entry.key)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl tsig::Keys for Keys {
    fn find(&self, name: &Name) -> Option<&Key> {
        self.get(self.number(name)?).map(|key| &**key)
    }
}

fn order(entry: &Entry, name: &Name) -> std::cmp::Ordering {
    entry.key.name().octets().cmp(name.octets())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;
    use wire::tsig::Keys as _;

    fn keys(names: &[&str], secret: &[u8]) -> Result<Keys, KeysFault> {
        let names: Vec<NameBuf> = names.iter().map(|name| name.parse().unwrap()).collect();
        Keys::new(names.iter().map(|name| (&**name, Algorithm::HmacSha256, secret.into())))
    }

    #[test]
    fn found_by_name() {
        let all = keys(&["b.example", "A", "c"], b"x").unwrap();
        for name in ["a", "b.example", "c"] {
            let name: NameBuf = name.parse().unwrap();
            assert_eq!(all.find(&name).unwrap().name(), &*name);
            assert_eq!(all.get(all.number(&name).unwrap()).unwrap().name(), &*name);
        }
        assert!(all.find(&"d".parse::<NameBuf>().unwrap()).is_none());
        assert_eq!(keys(&["a", "A"], b"x"), Err(KeysFault::Twice));
        assert!(Keys::default().find(Name::root()).is_none());
    }

    #[test]
    fn a_new_secret_makes_other_keys() {
        assert_eq!(keys(&["a"], b"x"), keys(&["A"], b"x"));
        assert_ne!(keys(&["a"], b"x"), keys(&["a"], b"y"));
        assert!(!format!("{:?}", keys(&["a"], b"verysecret").unwrap()).contains("verysecret"));
    }
}
