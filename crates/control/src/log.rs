//! The log: `tracing` to standard error, as text or JSON.

use std::io::IsTerminal;

use tracing::Level;

use crate::settings::LogSettings;

/// Starts the log. Only the first call has an effect.
pub fn start(settings: &LogSettings) {
    let level = match settings.level.as_str() {
        "error" => Level::ERROR,
        "warn" => Level::WARN,
        "debug" => Level::DEBUG,
        "trace" => Level::TRACE,
        _ => Level::INFO,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    // A line that cannot be written (full disk, pipe without a reader) is lost. The library would complain with
    // `eprintln`, which panics when standard error is what fails.
    let log = log.log_internal_errors(false);
    let started = if settings.format == "json" {
        tracing::subscriber::set_global_default(log.json().flatten_event(true).finish())
    } else {
        let log = log.with_ansi(std::io::stderr().is_terminal());
        // The journal stamps lines itself.
        if std::env::var_os("JOURNAL_STREAM").is_some() {
            tracing::subscriber::set_global_default(log.without_time().finish())
        } else {
            tracing::subscriber::set_global_default(log.finish())
        }
    };
    // Fails only when a log is there already, in tests for instance.
    let _ = started;
}
