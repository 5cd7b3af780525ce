//! Lines for the journal, which stamps them itself and reads their priority from their beginning (sd-daemon(3)).

use std::fmt;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Whether standard error is a stream to the journal: whoever starts a service names device and inode of that (systemd.exec(5)). The variable alone
/// says nothing, as it is passed on to programs that have standard error elsewhere.
pub(super) fn is_standard_error() -> bool {
    std::env::var("JOURNAL_STREAM").is_ok_and(|stream| is_stream(&stream, std::io::stderr().as_fd()))
}

/// Whether `DEVICE:INODE` is what a descriptor is.
fn is_stream(stream: &str, descriptor: impl AsFd) -> bool {
    let Some((device, inode)) = stream.split_once(':') else { return false };
    let named = (device.parse::<u64>(), inode.parse::<u64>());
    let metadata = descriptor.as_fd().try_clone_to_owned().and_then(|copy| File::from(copy).metadata());
    metadata.is_ok_and(|metadata| named == (Ok(metadata.dev()), Ok(metadata.ino())))
}

/// Writes lines of the format `F` with their priorities in front.
pub(super) struct Prioritised<F>(pub(super) F);

impl<S, N, F> FormatEvent<S, N> for Prioritised<F>
where
    S: Subscriber + for<'s> LookupSpan<'s>,
    N: for<'w> FormatFields<'w> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        writer.write_str(priority(*event.metadata().level()))?;
        self.0.format_event(context, writer, event)
    }
}

/// The priority of syslog(3): error, warning, informational, debug.
fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "<3>",
        Level::WARN => "<4>",
        Level::INFO => "<6>",
        _ => "<7>",
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_known_by_device_and_inode() {
        let (one, other) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let metadata = one.metadata().unwrap();
        let stream = format!("{}:{}", metadata.dev(), metadata.ino());
        assert!(is_stream(&stream, &one) && !is_stream(&stream, &other));
        let wrong = ["", ":", "1", "1:2:3", "-1:-1", "0:0", &stream[1..]];
        assert!(!wrong.iter().any(|stream| is_stream(stream, &one)));
    }
}
