//! What a server does with anchors that follow their zones: a look at a time, and what has changed to the log, the workers and the cache.

use std::sync::mpsc::channel;
use std::time::{SystemTime, UNIX_EPOCH};

use cache::Flush;
use dnssec::key::{Dnskey, Ds};
use validate::Anchors;
use validate::rfc5011::{Change, KeyState, Managed};
use wire::NameBuf;
use zone::check::Timestamp;

use super::seeds;
use crate::command::AnchorLine;
use crate::recursion::Recursion;
use crate::recursion::desk::Errand;

fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl Recursion {
    /// Takes what a look at the keys of a zone has found, or begins one whose time has come. Each second.
    pub(crate) fn tend_anchors(&self) {
        let now = wall();
        let Some((zone, found)) = self.anchors.looked() else { return self.look(now) };
        let changes = self.anchors.take(&zone, &found, now);
        for change in &changes {
            let (zone, words) = (zone.to_string(), words(change));
            match change {
                Change::NoneLeft => tracing::error!(zone, "trust anchors of {zone}: {words}"),
                Change::Revoked(_) => tracing::warn!(zone, "trust anchors of {zone}: {words}"),
                _ => tracing::info!(zone, "trust anchors of {zone}: {words}"),
            }
        }
        if changes.is_empty() {
            return;
        }
        // With what is trusted now.
        self.change(|_| {});
        if changes.iter().any(|change| matches!(change, Change::Revoked(_) | Change::NoneLeft)) {
            // Whatever a chain from it has proved is proved no more.
            self.cache().flush(&Flush::All, self.now());
        }
    }

    /// Has a worker look, if it is time. Workers that have not begun yet cannot: it is tried again in a second.
    fn look(&self, now: u64) {
        let Some(zone) = self.anchors.due(now) else { return };
        let number = self.anchors.number();
        let (to, found) = channel();
        if self.leave_with_one(|| Errand::Look { zone: zone.clone(), number, to: to.clone() }) {
            self.anchors.begin_look(zone, found);
        }
    }

    /// The trust anchors of now, with where each key is.
    pub(crate) fn anchor_lines(&self) -> Vec<AnchorLine> {
        let terms = self.current_terms();
        let followed = self.anchors.zones();
        let is_followed = |zone: &NameBuf| followed.iter().any(|managed| managed.zone == *zone);
        let mut others = Anchors::new();
        for (zone, ds, keys) in terms.resolve.anchors.zones().filter(|(zone, ..)| !is_followed(zone)) {
            others.set(&zone, ds.iter(), keys.iter());
        }
        let fixed = seeds(&others);
        let fixed = fixed.iter().flat_map(|managed| lines(managed, Some("fixed")));
        followed.iter().flat_map(|managed| lines(managed, None)).chain(fixed).collect()
    }
}

/// A line for each DS record and key. `state`: of all, where nothing is followed.
fn lines(managed: &Managed, state: Option<&str>) -> Vec<AnchorLine> {
    let whole = AnchorLine {
        zone: managed.zone.to_string(),
        checked: (managed.checked > 0).then_some(managed.checked),
        next: (managed.next > 0).then_some(managed.next),
        ..AnchorLine::default()
    };
    let ds = managed.ds.iter().filter_map(|rdata| Ds::parse(rdata)).map(|ds| AnchorLine {
        kind: "ds".into(),
        tag: ds.key_tag,
        algorithm: ds.algorithm,
        state: state.unwrap_or("not seen").into(),
        ..whole.clone()
    });
    let keys = managed.keys.iter().filter_map(|key| {
        let Dnskey { tag, algorithm, .. } = Dnskey::parse(&key.rdata)?;
        let (word, since, until) = match key.state {
            KeyState::Pending { since, until } => ("pending", Some(since), Some(until)),
            KeyState::Valid => ("valid", None, None),
            KeyState::Missing { since } => ("missing", Some(since), None),
            KeyState::Revoked { since } => ("revoked", Some(since), None),
        };
        let state = state.unwrap_or(word).into();
        Some(AnchorLine { kind: "key".into(), tag, algorithm, state, since, until, ..whole.clone() })
    });
    ds.chain(keys).collect()
}

/// A change in words, times as dates.
fn words(change: &Change) -> String {
    match change {
        Change::Seen { tag, until } => {
            let from = Timestamp(u32::try_from(*until).unwrap_or(u32::MAX));
            format!("key {tag} is new; it will be trusted from {from:#} on if it stays")
        }
        _ => change.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let seen = Change::Seen { tag: 38_696, until: 1_798_030_244 };
        assert_eq!(
            words(&seen),
            "key 38696 is new; it will be trusted from 2026-12-23T12:50:44Z on if it stays"
        );
        assert_eq!(words(&Change::Revoked(1)), "key 1 is revoked");
    }
}
