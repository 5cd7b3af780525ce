//! Keys of the API: by their hashes, what each may do, of which zones, until when.
//!
//! ```text
//! secret   zonda_ and 43 letters: 32 random octets in base64 for addresses (RFC 4648 5), without padding
//! hash     SHA-256 of what it is for, an octet of 0, and the secret
//! ```
//!
//! What has 256 bits of chance needs no slow hash, and a slow one would be a lever for who sends wrong keys. Unknown and expired keys take the same way and get the same answer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use api::frame::Verbs;
use api::letters;
use auth::access::Prefix;
use change::Policy;
use change::serial::date;
use sha2::{Digest, Sha256};
use transfer::catalog_zone::Allowed;
use wire::{Name, NameBuf};

use crate::settings::ApiKeySettings;
#[cfg(test)]
use crate::settings::Settings;

/// What the hash of a secret is of, before the secret: it is no hash of a secret for anything else.
const PURPOSE: &[u8] = b"zonda api key\0";

/// Before the hash in the settings.
const SCHEME: &str = "sha256:";

/// What the hash is of that stands for all who have signed in with a code: no secret has it.
const PURPOSE_OF_OPERATOR: &[u8] = b"zonda page operator\0";

/// What of its verbs a session has of a key: what only reads.
const OF_SESSIONS: Verbs = Verbs(Verbs::READ.0 | Verbs::EXPLAIN.0 | Verbs::OBSERVE.0 | Verbs::SERVER.0);

/// Octets of a hash.
pub(crate) const HASH_OCTETS: usize = 32;

/// Random octets of a secret.
const SECRET_OCTETS: usize = 32;

const SECONDS_A_DAY: u64 = 86_400;

/// A key of settings without faults.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// As it is written: two keys that are the same there are the same.
    pub(crate) settings: ApiKeySettings,
    pub(crate) hash: [u8; HASH_OCTETS],
    pub(crate) verbs: Verbs,
    pub(crate) zones: Allowed,
    /// What it may change; of everybody's, as its rules name nobody.
    pub(crate) policy: Policy,
    /// Where it is a key; none: wherever it comes from.
    pub(crate) from: Vec<Prefix>,
    /// From when on it is none, in seconds since 1970.
    pub(crate) expires: Option<u64>,
}

impl Key {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.settings.name
    }

    /// Whether a zone is there for it.
    pub(crate) fn may_see(&self, zone: &Name) -> bool {
        self.zones.allows(zone)
    }

    /// Whether it is a key where it comes from there.
    pub(super) fn may_come_from(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let has = |network: &Prefix| Prefix::of(address, network.length()) == Some(*network);
        self.from.is_empty() || self.from.iter().any(has)
    }

    /// A rule as it is written, by its number from 1 on.
    pub(crate) fn rule(&self, number: u16) -> &str {
        let rules = self.settings.rules.texts();
        usize::from(number).checked_sub(1).and_then(|at| rules.get(at)).map_or("", |rule| rule)
    }

    /// The same key with what of its verbs only reads.
    pub(super) fn for_session(&self) -> Key {
        Key { verbs: Verbs(self.verbs.0 & OF_SESSIONS.0), ..self.clone() }
    }

    /// What who signs in with a code has: all zones, to read.
    fn operator() -> Key {
        let mut zones = Allowed::default();
        zones.add(Name::root());
        NameBuf::from_text("*.").iter().for_each(|below| zones.add(below));
        let (settings, policy, verbs) = (ApiKeySettings::default(), Policy::default(), OF_SESSIONS);
        Key { settings, hash: operator_hash(), verbs, zones, policy, from: Vec::new(), expires: None }
    }
}

/// Under which the operator is among keys.
pub(super) fn operator_hash() -> [u8; HASH_OCTETS] {
    let mut hash = Sha256::new();
    hash.update(PURPOSE_OF_OPERATOR);
    hash.finalize().into()
}

/// The keys that are let in.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    /// By their hashes: what is looked for is a hash too, of which nobody chooses the first octets.
    by_hash: HashMap<[u8; HASH_OCTETS], Arc<Key>>,
    /// Greater than those of keys before.
    pub(crate) number: u64,
    /// Names of TSIG keys of the same settings, which are told.
    pub(crate) tsig: Arc<[NameBuf]>,
}

impl Keys {
    /// These, and that of the operator, which has no secret.
    pub(crate) fn new(keys: impl Iterator<Item = Arc<Key>>, number: u64, tsig: Arc<[NameBuf]>) -> Keys {
        let keys = keys.chain([Arc::new(Key::operator())]);
        Keys { by_hash: keys.map(|key| (key.hash, key)).collect(), number, tsig }
    }

    /// What who signs in with a code has.
    pub(super) fn operator(&self) -> Option<&Arc<Key>> {
        self.by_hash.get(&operator_hash())
    }

    /// Whether it is that of the operator.
    pub(super) fn is_operator(&self, key: &Key) -> bool {
        key.hash == operator_hash()
    }

    /// Those of settings.
    #[cfg(test)]
    pub(crate) fn of(settings: &Settings, number: u64) -> Keys {
        Keys::new(settings.compiled_api_keys().into_iter().map(Arc::new), number, Arc::default())
    }

    /// The key with this secret, unless it has expired. `now`: seconds since 1970.
    pub(crate) fn find(&self, secret: &[u8], now: u64) -> Option<&Arc<Key>> {
        let hash = hash_of(secret);
        let key = self.by_hash.get(&hash)?;
        let is_it = is_same(&key.hash, &hash);
        (is_it & key.expires.is_none_or(|expires| now < expires)).then_some(key)
    }

    /// The same key among these; `None`: there is none, it is another one now, or it has expired.
    pub(crate) fn same(&self, key: &Key, now: u64) -> Option<&Arc<Key>> {
        let known = self.by_hash.get(&key.hash)?;
        let is_it = known.settings == key.settings && known.expires.is_none_or(|expires| now < expires);
        is_it.then_some(known)
    }
}

/// Whether two hashes are the same, in a time that does not depend on where they differ.
fn is_same(a: &[u8; HASH_OCTETS], b: &[u8; HASH_OCTETS]) -> bool {
    a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

fn hash_of(secret: &[u8]) -> [u8; HASH_OCTETS] {
    let mut hash = Sha256::new();
    hash.update(PURPOSE);
    hash.update(secret);
    hash.finalize().into()
}

/// A hash as settings have it.
pub(crate) fn hash_from_text(text: &str) -> Option<[u8; HASH_OCTETS]> {
    let digits = text.strip_prefix(SCHEME)?.as_bytes();
    let mut hash = [0; HASH_OCTETS];
    if digits.len() != 2 * HASH_OCTETS {
        return None;
    }
    for (octet, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16);
        *octet = (digit(0)? * 16 + digit(1)?) as u8;
    }
    Some(hash)
}

/// The same the other way round.
pub(crate) fn text_of_hash(hash: &[u8; HASH_OCTETS]) -> String {
    let digits: String = hash.iter().map(|octet| format!("{octet:02x}")).collect();
    format!("{SCHEME}{digits}")
}

/// What a word of `verbs` lets a key do.
pub(crate) fn verb(word: &str) -> Option<Verbs> {
    match word {
        "read" => Some(Verbs::READ),
        "change" => Some(Verbs::CHANGE),
        "act" => Some(Verbs::ACT),
        "make" => Some(Verbs::MAKE),
        "set" => Some(Verbs::SET),
        "drop" => Some(Verbs::DROP),
        "explain" => Some(Verbs::EXPLAIN),
        "observe" => Some(Verbs::OBSERVE),
        "server" => Some(Verbs::SERVER),
        _ => None,
    }
}

/// The beginning of a day that is written as `2027-06-01`, in seconds since 1970.
pub(crate) fn time_of_date(text: &str) -> Option<u64> {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return None };
    let number = |text: &str, digits: usize| -> Option<u64> {
        let is_number = text.len() == digits && text.bytes().all(|digit| digit.is_ascii_digit());
        is_number.then(|| text.parse().ok()).flatten()
    };
    let wanted = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    // Days since 0000-03-01: years begin in March, so that the day that not all have is the last.
    let (years, months) = match wanted.1 {
        3.. => (wanted.0, wanted.1 - 3),
        _ => (wanted.0.checked_sub(1)?, wanted.1 + 9),
    };
    let days = 365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + wanted.2;
    let days = days.checked_sub(719_468 + 1)?;
    // What there is not in the calendar is another day.
    (date(days) == wanted).then_some(days * SECONDS_A_DAY)
}

/// A new key, as `zonda api-key new` prints it: the section, and the secret, which is kept nowhere. The error: the system has no random numbers, or `name` is none for a key.
pub fn new_api_key(name: &str) -> Result<(String, String), String> {
    if !change::policy::is_api_name(name) {
        return Err(format!("{name:?} is no name of a key: letters, digits, `-`, `_` and `.`, 64 at most"));
    }
    let mut octets = [0; SECRET_OCTETS];
    sync::random::fill_from_system(&mut octets)
        .map_err(|error| format!("cannot have random numbers: {error}"))?;
    let secret = format!("zonda_{}", letters::from_octets(&octets));
    let hash = text_of_hash(&hash_of(secret.as_bytes()));
    let section = format!(
        "[[api-key]]\nname = \"{name}\"\nhash = \"{hash}\"\nverbs = [\"read\"]\nzones = []     # such as \"example.com.\" or \"*.example.com.\"\nrules = []     # such as \"grant label _acme-challenge TXT\", beside the verb \"change\"\n"
    );
    Ok((section, secret))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_new_key_is_let_in() {
        let (section, secret) = new_api_key("acme").unwrap();
        assert!(secret.len() == 49 && section.contains("name = \"acme\"") && !section.contains(&secret));
        assert_ne!(new_api_key("acme").unwrap().1, secret);
        assert!(new_api_key("a b").is_err() && new_api_key("").is_err());
        let section = section.replace("zones = []", "zones = [\"x.\"]\nexpires = \"2027-06-01\"");
        let settings = Settings::parse(Path::new("f"), &section).unwrap();
        let keys = Keys::of(&settings, 1);
        let until = time_of_date("2027-06-01").unwrap();
        let key = Arc::clone(keys.find(secret.as_bytes(), until - 1).unwrap());
        assert!(key.name() == "acme" && keys.find(secret.as_bytes(), until).is_none());
        assert!(keys.find(b"", 0).is_none() && keys.find(&secret.as_bytes()[1..], 0).is_none());
        assert!(keys.same(&key, 0).is_some() && keys.same(&key, until).is_none());
        let other = Settings::parse(Path::new("f"), &section.replace("\"read\"", "\"act\"")).unwrap();
        assert!(Keys::of(&other, 2).same(&key, 0).is_none() && Keys::default().same(&key, 0).is_none());
    }

    #[test]
    fn days() {
        assert_eq!(time_of_date("1970-01-01"), Some(0));
        assert_eq!(time_of_date("2024-02-29"), Some(19_782 * SECONDS_A_DAY));
        assert_eq!(time_of_date("2027-06-01"), Some(20_970 * SECONDS_A_DAY));
        assert_eq!(time_of_date("9999-12-31").map(|time| date(time / SECONDS_A_DAY)), Some((9999, 12, 31)));
        for none in [
            "",
            "2027-6-1",
            "2027-02-29",
            "2027-13-01",
            "2027-00-01",
            "1969-12-31",
            "2027-06-00",
            "+027-06-01",
        ] {
            assert_eq!(time_of_date(none), None, "{none}");
        }
    }

    #[test]
    fn hashes() {
        assert_eq!(hash_from_text("sha256:00"), None);
        assert_eq!(hash_from_text(&format!("sha256:{}", "0G".repeat(32))), None);
        assert_eq!(hash_from_text(&format!("sha256:{}", "0f".repeat(32))), Some([15; 32]));
    }
}
