//! How far a long change has come: a line that is redrawn on a terminal, or a message now and then in the log.
//!
//! Whatever takes time with many zones is an [`Act`], so that nobody who watches has to wonder whether it hangs.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::text::{Span, grouped, octets};

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Act {
    /// Lists and folders of zones are read.
    Listing,
    /// Zones are sorted and entered in the catalog.
    Arranging,
    /// Packs of an earlier start are mapped.
    Mapping,
    /// Files are looked at: which have changed, and which are packs.
    Looking,
    /// Texts are read and packed.
    Reading,
    /// What was loaded goes to the workers.
    Publishing,
}

impl Act {
    const ALL: [Act; 6] =
        [Act::Listing, Act::Arranging, Act::Mapping, Act::Looking, Act::Reading, Act::Publishing];
}

/// What is counted meanwhile.
#[derive(Default)]
pub struct Progress {
    /// Octets of text read so far.
    pub octets_read: AtomicU64,
    /// Octets of text to read; 0: not known.
    pub octets: AtomicU64,
    act: AtomicU8,
    /// Zones of the present act that are done, broken ones included.
    done: AtomicUsize,
    /// Zones of the present act in all.
    zones: AtomicUsize,
}

/// Short changes show nothing.
const QUIET: Duration = Duration::from_secs(1);
/// Redrawing of the line; faster is not seen.
const REDRAW: Duration = Duration::from_millis(100);
/// Messages in a log that is no terminal.
const LOG_EVERY: Duration = Duration::from_secs(5);

impl Progress {
    /// Begins an act on so many zones.
    pub fn begin(&self, act: Act, zones: usize) {
        self.done.store(0, Ordering::Relaxed);
        self.zones.store(zones, Ordering::Relaxed);
        self.act.store(act as u8, Ordering::Relaxed);
    }

    /// So many more zones are done.
    pub fn count(&self, zones: usize) {
        self.done.fetch_add(zones, Ordering::Relaxed);
    }

    fn line(&self) -> String {
        let (done, zones) = (self.done.load(Ordering::Relaxed), self.zones.load(Ordering::Relaxed));
        let percent = |done: u64, all: u64| done.min(all).saturating_mul(100).checked_div(all).unwrap_or(100);
        let act = Act::ALL.get(usize::from(self.act.load(Ordering::Relaxed)));
        let (done_text, zones_text) = (grouped(done as u64), grouped(zones as u64));
        match act.copied().unwrap_or(Act::Reading) {
            Act::Listing => format!("reading the list of zones: {done_text} so far"),
            Act::Arranging => format!("arranging {zones_text} zones"),
            Act::Mapping => "mapping packs".into(),
            Act::Looking => {
                let percent = percent(done as u64, zones as u64);
                format!("looking at zone files: {percent} %, {done_text} of {zones_text}")
            }
            Act::Reading => {
                let (read, all) =
                    (self.octets_read.load(Ordering::Relaxed), self.octets.load(Ordering::Relaxed));
                // A large zone is long packed after its text is read.
                let act = if done == zones { "packing" } else { "reading" };
                if all == 0 {
                    let percent = percent(done as u64, zones as u64);
                    return format!("{act} zones: {percent} %, {done_text} of {zones_text}");
                }
                let percent = percent(read, all);
                format!("{act} zones: {percent} % of {}, {done_text} of {zones_text} zones", octets(all))
            }
            Act::Publishing => format!("publishing {zones_text} zones"),
        }
    }

    /// Runs `work` and shows meanwhile how far it is, if it takes long.
    pub fn show_while<R>(&self, work: impl FnOnce() -> R) -> R {
        let done = (Mutex::new(false), std::sync::Condvar::new());
        std::thread::scope(|scope| {
            scope.spawn(|| self.show(&done));
            let result = work();
            *done.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
            done.1.notify_all();
            result
        })
    }

    fn show(&self, done: &(Mutex<bool>, std::sync::Condvar)) {
        let started = Instant::now();
        let terminal = std::io::stderr().is_terminal();
        let mut wait = QUIET;
        let mut drawn = false;
        loop {
            let guard = done.0.lock().unwrap_or_else(PoisonError::into_inner);
            let waited = done.1.wait_timeout_while(guard, wait, |done| !*done);
            let (is_done, _) = waited.unwrap_or_else(PoisonError::into_inner);
            if *is_done {
                break;
            }
            drop(is_done);
            if terminal {
                // A failure to draw concerns nobody.
                let _ = write!(std::io::stderr(), "\r\x1b[K{} ({})", self.line(), Span(started.elapsed()));
                drawn = true;
                wait = REDRAW;
            } else {
                tracing::info!("{} ({})", self.line(), Span(started.elapsed()));
                wait = LOG_EVERY;
            }
        }
        if drawn {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_act_has_its_line() {
        let progress = Progress::default();
        progress.octets.store(1 << 20, Ordering::Relaxed);
        progress.octets_read.store(1 << 19, Ordering::Relaxed);
        let lines = Act::ALL.map(|act| {
            progress.begin(act, 2000);
            progress.count(500);
            progress.line()
        });
        let expected = [
            "reading the list of zones: 500 so far",
            "arranging 2,000 zones",
            "mapping packs",
            "looking at zone files: 25 %, 500 of 2,000",
            "reading zones: 50 % of 1.00 MiB, 500 of 2,000 zones",
            "publishing 2,000 zones",
        ];
        assert_eq!(lines, expected);
        progress.begin(Act::Reading, 2000);
        progress.count(500);
        progress.octets.store(0, Ordering::Relaxed);
        assert_eq!(progress.line(), "reading zones: 25 %, 500 of 2,000");
        progress.octets.store(1 << 20, Ordering::Relaxed);
        progress.begin(Act::Reading, 2000);
        progress.count(2000);
        assert_eq!(progress.line(), "packing zones: 50 % of 1.00 MiB, 2,000 of 2,000 zones");
    }
}
