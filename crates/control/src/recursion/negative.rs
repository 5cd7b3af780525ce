//! Negative trust anchors (RFC 7646): names that are not validated for a while, as whoever runs them has broken them.

use std::time::{SystemTime, UNIX_EPOCH};

use cache::Flush;
use wire::NameBuf;

use super::Recursion;

/// Most at a time: each is somebody's fault that an operator has looked at.
const ANCHORS_MAX: usize = 256;

fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Recursion {
    /// Has nothing at or below `name` validated for so many seconds, or again from now on. What was learned there is forgotten, and all that was proved by it.
    pub(crate) fn set_negative(&self, name: &NameBuf, seconds: Option<u64>) -> Result<(), String> {
        let mut negatives = self.negatives.lock();
        match seconds {
            Some(_) if negatives.len() >= ANCHORS_MAX && !negatives.contains_key(name) => {
                return Err(format!("there are {ANCHORS_MAX} negative trust anchors already"));
            }
            Some(seconds) => drop(negatives.insert(name.clone(), wall().saturating_add(seconds))),
            None if negatives.remove(name).is_none() => {
                return Err(format!("there is no negative trust anchor at {name}"));
            }
            None => {}
        }
        drop(negatives);
        self.renew(name);
        Ok(())
    }

    /// Those there are, with the seconds that are left.
    pub(crate) fn negatives(&self) -> Vec<(NameBuf, u64)> {
        let now = wall();
        let negatives = self.negatives.lock();
        let mut all: Vec<(NameBuf, u64)> =
            negatives.iter().map(|(name, until)| (name.clone(), until.saturating_sub(now))).collect();
        all.sort_by_cached_key(|(name, _)| name.to_string());
        all
    }

    /// Ends those whose time has come.
    pub(crate) fn end_negatives(&self) {
        let now = wall();
        let ended: Vec<NameBuf> = {
            let mut negatives = self.negatives.lock();
            negatives.extract_if(|_, until| *until <= now).map(|(name, _)| name).collect()
        };
        for name in ended {
            tracing::info!(name = name.to_string(), "the negative trust anchor at {name} has ended");
            self.renew(&name);
        }
    }

    /// Has workers go by the negative trust anchors of now, and forgets what was learned at and below a name.
    fn renew(&self, name: &NameBuf) {
        self.change(|terms| terms.resolve.anchors.set_negative(name, None));
        self.cache().flush(&Flush::Tree(name.clone()), self.now());
        self.forget_zones();
    }

    /// Puts them into terms.
    pub(super) fn add_negatives(&self, terms: &mut super::Terms) {
        for (name, until) in self.negatives.lock().iter() {
            terms.resolve.anchors.set_negative(name, Some(*until));
        }
    }
}

/// Where they are kept: the end of each in seconds since 1970.
pub(super) type Negatives = sync::Mutex<std::collections::HashMap<NameBuf, u64>>;

/// None.
pub(super) fn none() -> Negatives {
    sync::Mutex::named("negative trust anchors", std::collections::HashMap::new())
}
