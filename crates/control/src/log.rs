//! The log: events to standard error, each a line of text for people or a JSON object for programs.
//!
//! An event has a message that says everything, and fields for programs: in text there is the message alone. What identifies a zone, a file or an
//! address is a field, never only a word: `zone`, `serial`, `old_serial`, `source`, `error`, `duration_ms`, `address`.
//!
//! `text`: lines for people; `journal`: for the journal; `lately`: the last that went wrong, for who asks.

mod journal;
pub(crate) mod lately;
mod text;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use tracing::level_filters::LevelFilter;
use tracing::subscriber::set_global_default;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, reload};

use crate::settings::{LogSettings, Settings};
use journal::Prioritised;
use lately::Lately;
use text::Message;

/// The levels, the most important first.
pub const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// The level of the log that was started.
static LEVEL: OnceLock<reload::Handle<LevelFilter, Registry>> = OnceLock::new();

/// Starts the log. Only the first call has an effect.
pub fn start(settings: &LogSettings) {
    let (filter, handle) = reload::Layer::new(filter(&settings.level).unwrap_or(LevelFilter::INFO));
    let events = Registry::default().with(filter).with(Lately);
    // A line that cannot be written (full disk, pipe without a reader) is lost. The library would complain with
    // `eprintln`, which panics when standard error is what fails.
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false).log_internal_errors(false);
    let started = if settings.format == "json" {
        set_global_default(events.with(lines.json().flatten_event(true)))
    } else {
        let lines = lines.with_ansi(std::io::stderr().is_terminal()).fmt_fields(Message);
        if journal::is_standard_error() {
            set_global_default(events.with(lines.without_time().map_event_format(Prioritised)))
        } else {
            set_global_default(events.with(lines))
        }
    };
    // Fails only when a log is there already, in tests for instance.
    if started.is_ok() {
        let _ = LEVEL.set(handle);
    }
}

/// Starts the log for what keeps the server from starting, if it was not started yet: as a file of settings asks that may be broken, or for the journal. Says whether there
/// is one; without it people are told in plain lines.
pub(crate) fn start_for_faults(config: Option<&Path>) -> bool {
    let settings = config.map(Settings::log_of).unwrap_or_default();
    if LEVEL.get().is_none() && (settings.format == "json" || journal::is_standard_error()) {
        start(&settings);
    }
    LEVEL.get().is_some()
}

fn filter(level: &str) -> Option<LevelFilter> {
    LEVELS.contains(&level).then(|| level.parse().ok()).flatten()
}

/// Least important messages that are written, one of [`LEVELS`].
pub fn level() -> String {
    LevelFilter::current().to_string()
}

/// Changes that, and says so in the log as far as it is read; returns what it was. The error is a line for the operator.
pub fn change_level(level: &str) -> Result<String, String> {
    let expected = || format!("log level: expected one of {}, found {level:?}", LEVELS.join(", "));
    let filter = filter(level).ok_or_else(expected)?;
    let was = self::level();
    // Without a log there is none to change.
    LEVEL.get().map_or(Ok(()), |log| log.reload(filter)).map_err(|error| format!("log level: {error}"))?;
    if level != was {
        tracing::info!(level, "the log level is {level}, was {was}");
    }
    Ok(was)
}

/// A time as `duration_ms` has it.
pub(crate) fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
