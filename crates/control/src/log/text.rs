//! Lines for people: the message of an event, which says what its fields do.

use std::fmt::{self, Write};

use tracing::Event;
use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

/// The name that `tracing` gives the text of an event.
const MESSAGE: &str = "message";

/// Writes of an event its message alone.
pub(super) struct Message;

/// Writes the message of an event, to somewhere else than the log.
pub(super) fn write_message<W: Write>(event: &Event<'_>, out: &mut W) {
    event.record(&mut Visitor { out: Escaped(Writer::new(out)), result: Ok(()) });
}

impl<'w> FormatFields<'w> for Message {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = Visitor { out: Escaped(writer), result: Ok(()) };
        fields.record(&mut visitor);
        visitor.result
    }
}

struct Visitor<'w> {
    out: Escaped<Writer<'w>>,
    result: fmt::Result,
}

impl Visit for Visitor<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == MESSAGE && self.result.is_ok() {
            self.result = write!(self.out, "{value:?}");
        }
    }
}

/// Writes no control characters: a line stays one, and nothing that a file is called moves the cursor of a terminal.
struct Escaped<W>(W);

impl<W: Write> Write for Escaped<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some(at) = rest.find(char::is_control) {
            self.0.write_str(&rest[..at])?;
            let mut after = rest[at..].chars();
            if let Some(control) = after.next() {
                write!(self.0, "{}", control.escape_default())?;
            }
            rest = after.as_str();
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        let mut out = Escaped(String::new());
        out.write_str("a\x1b[1m\nb\té\u{9b}").unwrap();
        assert_eq!(out.0, "a\\u{1b}[1m\\nb\\té\\u{9b}");
    }
}
