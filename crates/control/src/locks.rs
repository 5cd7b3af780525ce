//! What is said about the locks of the server: at any time on the control socket, and at its end.

use std::io::Write;

use sync::profile::{self, Threads};

use crate::command::Locks;
use crate::controller::Controller;

/// Carries out what was asked, and says what was counted before that.
pub(crate) fn command(controller: &Controller, on: Option<bool>, clear: bool) -> Locks {
    if on == Some(true) {
        profile::set(true);
    }
    let locks = locks(controller);
    if on == Some(false) {
        profile::set(false);
        tracing::info!("the lock profiler is off");
    }
    if clear {
        profile::clear();
    }
    Locks { on: profile::is_on(), ..locks }
}

fn locks(controller: &Controller) -> Locks {
    let (on_for, workers) = (profile::on_for(), controller.shown.read().len());
    // As many as there may be are far fewer than 2^32.
    let working = on_for.saturating_mul(workers as u32);
    Locks {
        on: profile::is_on(),
        seconds: on_for.as_secs_f64(),
        threads: workers,
        workers: profile::report_of(Threads::Workers).summary(working),
        all: profile::report(),
    }
}

/// Writes the profile to standard error, where the log goes, when it is dropped while the profiler is on.
pub(crate) struct AtExit<'c> {
    pub(crate) controller: &'c Controller,
    /// Whether the log consists of JSON objects, one a line.
    pub(crate) json: bool,
}

impl Drop for AtExit<'_> {
    fn drop(&mut self) {
        if !profile::is_on() {
            return;
        }
        let locks = locks(self.controller);
        let text = if self.json {
            let object = serde_json::json!({"level": "INFO", "message": "locks", "locks": locks});
            format!("{object}\n")
        } else {
            format!("locks of {:.1} s\n{locks}", locks.seconds)
        };
        // A server that ends can do nothing about a log that takes no more.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}
