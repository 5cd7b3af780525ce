//! What the log says of the network: that nobody is heard any more, once for each outage, and that somebody is.
//!
//! ```text
//! worker: out for 3 s, and no other worker has heard anybody meanwhile -> told? no: a warning       heard somebody -> told? yes: it is back
//! ```

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cache::Moment;

/// For how long nobody is heard when it is said: clients have been told for a while then, and a link that is pulled and put in again is none.
const TOLD_AFTER_MS: u64 = 3_000;
/// How often workers show that they hear somebody: what they share is written seldom.
const SHOWN_EACH_MS: u64 = 1_000;

/// What workers share.
#[derive(Debug, Default)]
pub(super) struct Outage {
    is_told: AtomicBool,
    /// When any worker heard somebody, to a second.
    heard_ms: AtomicU64,
}

/// What is to be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Out,
    Back,
}

impl Outage {
    /// Whether nobody is heard, and the log says so.
    pub(super) fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Relaxed)
    }

    /// What a worker knows: since when nobody is heard, and when somebody was. `has_told`: of this worker, for the outage that it is in.
    pub(super) fn watch(&self, known: (Option<Moment>, Option<Moment>), now: Moment, has_told: &mut bool) {
        match self.word(known, now, has_told) {
            Some(Word::Out) => tracing::warn!(
                "no name server has answered for {} s, nor those of the root: is there a network, and does a firewall let port 53 out?",
                TOLD_AFTER_MS / 1000
            ),
            Some(Word::Back) => tracing::info!("name servers answer again"),
            None => {}
        }
    }

    #[inline]
    fn word(
        &self,
        (out_since, heard): (Option<Moment>, Option<Moment>),
        now: Moment,
        has_told: &mut bool,
    ) -> Option<Word> {
        let Some(since) = out_since else {
            *has_told = false;
            let heard = heard?;
            if heard.ms_since(Moment(self.heard_ms.load(Ordering::Relaxed))) >= SHOWN_EACH_MS {
                self.heard_ms.store(heard.0, Ordering::Relaxed);
            }
            let is_back = now.ms_since(heard) < SHOWN_EACH_MS && self.is_told.load(Ordering::Relaxed);
            return (is_back && self.is_told.swap(false, Ordering::Relaxed)).then_some(Word::Back);
        };
        let others_heard = Moment(self.heard_ms.load(Ordering::Relaxed));
        let is_long = now.ms_since(since) >= TOLD_AFTER_MS && now.ms_since(others_heard) >= TOLD_AFTER_MS;
        if !is_long || *has_told {
            return None;
        }
        *has_told = true;
        (!self.is_told.swap(true, Ordering::Relaxed)).then_some(Word::Out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two workers; each line: who, since when it is out, when it heard somebody, now, what is said.
    #[test]
    fn once_for_each_outage() {
        let outage = Outage::default();
        let mut has_told = [false; 2];
        for (line, (worker, out_since, heard, now, expected)) in [
            (0, None, Some(10_000), 10_000, None),
            (0, Some(11_000), Some(10_000), 13_900, None),
            (0, Some(11_000), Some(10_000), 14_000, Some(Word::Out)),
            (0, Some(11_000), Some(10_000), 15_000, None),
            // The other one has not noticed yet, and is not asked anything.
            (1, None, Some(9_000), 15_000, None),
            (1, Some(12_000), Some(9_000), 16_000, None),
            (1, None, Some(20_000), 20_000, Some(Word::Back)),
            (0, Some(11_000), Some(10_000), 20_100, None),
            (0, None, Some(20_200), 20_200, None),
            // The servers that this one asks keep silent, and others are heard by the other.
            (1, None, Some(30_000), 30_000, None),
            (0, Some(26_000), Some(20_200), 30_500, None),
            (0, Some(26_000), Some(20_200), 33_000, Some(Word::Out)),
            (0, None, Some(34_000), 34_000, Some(Word::Back)),
        ]
        .into_iter()
        .enumerate()
        {
            let known = (out_since.map(Moment), heard.map(Moment));
            assert_eq!(outage.word(known, Moment(now), &mut has_told[worker]), expected, "line {line}");
        }
    }
}
