//! Keys, and what they sign as clients.

use super::mac::{Context, Mac};
use super::record::{FIELDS_OCTETS, OTHER_OCTETS_MAX, Stamp, append};
use super::{Algorithm, FUDGE_SECONDS};
use crate::header::HEADER_OCTETS;
use crate::{Name, NameBuf};
use std::fmt;

/// A key that two ends share.
#[derive(Clone)]
pub struct Key {
    /// In lower case, as it is digested (RFC 8945 4.3.3).
    name: NameBuf,
    algorithm: Algorithm,
    /// The HMAC before the first octet.
    start: Context,
    /// Shorter MACs are not taken.
    mac_octets_min: usize,
}

/// Leaves the secret away.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({}, {})", self.name, self.algorithm.mnemonic())
    }
}

impl Key {
    /// A key that takes whole MACs only.
    pub fn new(name: &Name, algorithm: Algorithm, secret: &[u8]) -> Key {
        Key {
            name: name.to_owned().to_lowercase(),
            algorithm,
            start: Context::new(algorithm, secret),
            mac_octets_min: algorithm.mac_octets(),
        }
    }

    /// The same key taking MACs that are cut to so many octets or more (RFC 8945 5.2.4). `None` for lengths that its algorithm
    /// does not allow.
    pub fn with_mac_octets_min(self, octets: usize) -> Option<Key> {
        let allowed = self.algorithm.mac_octets_min()..=self.algorithm.mac_octets();
        allowed.contains(&octets).then_some(Key { mac_octets_min: octets, ..self })
    }

    /// Its name, in lower case.
    pub fn name(&self) -> &Name {
        Name::trusted(self.name.octets())
    }

    /// Its algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The fewest octets of a MAC that it takes.
    pub fn mac_octets_min(&self) -> usize {
        self.mac_octets_min
    }

    /// Most octets that signing adds to a message.
    pub fn octets(&self) -> usize {
        let names = self.name().octets().len() + self.algorithm.name().octets().len();
        names + FIELDS_OCTETS + self.algorithm.mac_octets() + OTHER_OCTETS_MAX
    }

    pub(super) fn context(&self) -> Context {
        self.start.clone()
    }

    /// Signs the request in `buffer[..octets]` at `now`: appends the record and counts it. Returns the octets of the message, and
    /// the MAC that [`Key::check`] wants with the response; `None` where there is no room, or no header.
    pub fn sign(&self, buffer: &mut [u8], octets: usize, now: u64) -> Option<(usize, Mac)> {
        if octets < HEADER_OCTETS {
            return None;
        }
        let stamp = Stamp { time: now, fudge: FUDGE_SECONDS, error: 0, other: &[] };
        let mut context = self.context();
        context.update(buffer.get(..octets)?);
        stamp.digest_variables(self, &mut context);
        let mac = context.finish().cut(self.algorithm.mac_octets());
        Some((append(buffer, octets, self, &stamp, &mac)?, mac))
    }
}

/// Where keys are looked for.
pub trait Keys {
    /// The key with this name, which is in lower case.
    fn find(&self, name: &Name) -> Option<&Key>;
}

impl Keys for Key {
    fn find(&self, name: &Name) -> Option<&Key> {
        Some(self).filter(|key| key.name() == name)
    }
}

/// A few keys, looked at one after the other.
impl Keys for [Key] {
    fn find(&self, name: &Name) -> Option<&Key> {
        self.iter().find(|key| key.name() == name)
    }
}

/// No keys at all: every signature is one of an unknown key.
#[derive(Clone, Copy, Debug)]
pub struct NoKeys;

impl Keys for NoKeys {
    fn find(&self, _: &Name) -> Option<&Key> {
        None
    }
}
