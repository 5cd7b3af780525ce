//! How far a long load has come: a line that is redrawn on a terminal, or a message now and then in the log.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::text::{Span, grouped, octets};

/// What is counted while zones load.
#[derive(Default)]
pub struct Progress {
    /// Octets of text read so far.
    pub octets_read: AtomicU64,
    /// Octets of text to read.
    pub octets: AtomicU64,
    /// Zones read so far, broken ones included.
    pub zones_read: AtomicUsize,
    /// Zones to read.
    pub zones: AtomicUsize,
}

/// Short loads show nothing.
const QUIET: Duration = Duration::from_secs(1);
/// Redrawing of the line; faster is not seen.
const REDRAW: Duration = Duration::from_millis(100);
/// Messages in a log that is no terminal.
const LOG_EVERY: Duration = Duration::from_secs(5);

impl Progress {
    fn line(&self) -> String {
        let (read, all) = (self.octets_read.load(Ordering::Relaxed), self.octets.load(Ordering::Relaxed));
        let (zones, of) = (self.zones_read.load(Ordering::Relaxed), self.zones.load(Ordering::Relaxed));
        let percent = read.min(all).saturating_mul(100).checked_div(all).unwrap_or(100);
        // A large zone is long packed after its text is read.
        let act = if zones == of { "packing" } else { "reading" };
        format!(
            "{act} zones: {percent} % of {}, {} of {} zones",
            octets(all),
            grouped(zones as u64),
            grouped(of as u64)
        )
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
