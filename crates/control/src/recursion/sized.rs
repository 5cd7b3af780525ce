//! The memory of the cache: more or less of it while it is used, and divided as what is kept asks for.
//!
//! ```text
//! reload -> terms: octets -> Cache::resize
//! thread, each 200 ms, each second while there is nothing to do -> Cache::tend: some entries move -> more? again -> a class has moved: terms with the new table, workers are woken and take them -> its old memory goes -> again
//! ```

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cache::Tended;

use super::{Recursion, Terms};
use crate::text::grouped;

/// How often the cache is looked after while there is something to do: as often as a shard may be divided otherwise.
const TENDED_EACH: Duration = Duration::from_millis(200);
/// How often it is looked whether there is: each time wakes a processor, for 40 us.
const IDLE_EACH: Duration = Duration::from_secs(1);

impl Recursion {
    /// Has the cache take other memory from now on: it moves in the second that follows.
    pub(super) fn resize(&self, old: &Terms, new: &Terms) {
        old.cache.resize(new.cache_octets);
        let [from, to] = [old, new].map(|terms| grouped(terms.cache_octets as u64));
        tracing::info!(
            octets = new.cache_octets,
            "the cache will take {to} octets, {from} until now; what is kept moves"
        );
    }

    /// Looks after the memory of the cache, on a thread of its own, for as long as there is a resolver.
    pub(crate) fn tend_cache_on_a_thread(self: &Arc<Self>) -> io::Result<()> {
        let recursion = Arc::downgrade(self);
        let tend = move || {
            while let Some(recursion) = recursion.upgrade() {
                let is_idle = recursion.tend_cache();
                drop(recursion);
                thread::sleep(if is_idle { IDLE_EACH } else { TENDED_EACH });
            }
        };
        thread::Builder::new().name("cache size".into()).spawn(tend).map(drop)
    }

    /// Whether there was nothing to do.
    fn tend_cache(&self) -> bool {
        let (mut was_held, mut is_idle) = (false, true);
        loop {
            let tended = self.cache().tend(self.now());
            is_idle &= tended == Tended::Idle;
            match tended {
                Tended::Idle => return is_idle,
                // Whoever waits for a lock that this has had gets it first.
                Tended::More => thread::yield_now(),
                // A worker that has been at one query for seconds: it is tried again later.
                Tended::Held if was_held => return false,
                Tended::Held => {
                    self.change(|_| {});
                    self.hand_terms();
                    was_held = true;
                    continue;
                }
            }
            was_held = false;
        }
    }
}
