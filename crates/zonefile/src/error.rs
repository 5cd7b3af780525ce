//! What is wrong with a zone file, and where: values inside, text made only when displayed.

use std::fmt;
use std::io;
use std::sync::Arc;

use wire::name::NameError;

use crate::limits;

/// One problem of a zone file. Displays as `zone.db:12:7: expected an IPv4 address, found "1.2.3"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Name of the file as the opener or caller gave it.
    pub file: Arc<str>,
    /// Line, counted from 1.
    pub line: u32,
    /// Octet in the line, counted from 1.
    pub column: u32,
    /// What was expected there, or what else is wrong.
    pub cause: Cause,
    /// What stands there instead.
    pub found: Found,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.cause)?;
        match &self.found {
            Found::Unsaid => Ok(()),
            Found::Text(text) => write!(f, ", found \"{text}\""),
            Found::EndOfEntry => f.write_str(", found the end of the entry"),
            Found::EndOfFile => f.write_str(", found the end of the file"),
            Found::Octets(count) => write!(f, ", found {count} octets"),
            Found::Number(number) => write!(f, ", found {number}"),
            Found::Io(kind) => write!(f, ": {kind}"),
            Found::Said(reason) => write!(f, ": {reason}"),
        }
    }
}

impl std::error::Error for Diagnostic {}

/// What stands at the place of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The cause says it all.
    Unsaid,
    /// A field, shortened and with control characters escaped.
    Text(String),
    /// Nothing: the entry has no more fields.
    EndOfEntry,
    /// Nothing: the file ends.
    EndOfFile,
    /// Octets of this number.
    Octets(usize),
    /// This number.
    Number(u64),
    /// The system said this.
    Io(io::ErrorKind),
    /// The one who opens files said this, naming the file.
    Said(String),
}

impl Found {
    /// Longest piece of a field that a message repeats; a whole base64 key would hide the message.
    const TEXT_OCTETS_MAX: usize = 60;

    /// The text of a field as a message shows it.
    pub(crate) fn text(field: &[u8]) -> Found {
        let shown = &field[..field.len().min(Found::TEXT_OCTETS_MAX)];
        let mut text = shown.escape_ascii().to_string().replace("\\\\", "\\").replace("\\\"", "\"");
        text = text.replace("\\'", "'");
        if shown.len() < field.len() {
            text.push_str("...");
        }
        Found::Text(text)
    }
}

/// What is wrong. Variants are phrased as what was expected where that helps most.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// The file could not be read to its end.
    Unreadable,
    /// The file holds no record at all.
    NoRecords,
    /// An octet of zero: this is no text.
    NotText,
    /// An entry longer than [`limits::ENTRY_OCTETS_MAX`].
    EntryTooLong,
    /// A parenthesis that is never closed.
    UnclosedParenthesis,
    /// A closing parenthesis without an opening one.
    UnmatchedParenthesis,
    /// A carriage return that no newline follows.
    CarriageReturn,
    /// A quote that its line does not close.
    UnclosedQuote,
    /// A directive that is not `$ORIGIN`, `$TTL`, `$INCLUDE` or `$GENERATE`.
    UnknownDirective,
    /// `$INCLUDE` deeper than [`limits::INCLUDE_DEPTH_MAX`].
    IncludeTooDeep,
    /// A file that includes itself, directly or through others.
    IncludeLoop,
    /// More files than [`limits::FILES_MAX`].
    TooManyFiles,
    /// The file of an `$INCLUDE` cannot be opened.
    IncludeUnopened,
    /// More records made by `$GENERATE` than [`limits::GENERATED_RECORDS_MAX`].
    TooManyGenerated,
    /// A range of `$GENERATE`.
    GenerateRange,
    /// A range of `$GENERATE` whose end is below its beginning.
    GenerateBackwards,
    /// A `${offset,width,base}` of `$GENERATE`.
    GenerateModifier,
    /// A `$GENERATE` value below zero.
    GenerateNegative,
    /// An entry that begins with blanks where no owner name is known.
    NoOwner,
    /// No TTL in the entry and none to inherit.
    NoTtl,
    /// A record type.
    Type,
    /// A type that exists in messages only.
    MetaType,
    /// A class other than IN.
    Class,
    /// A name, and why the text is none.
    Name(NameError),
    /// A field missing, and what it would be.
    Missing(&'static str),
    /// The end of the entry.
    End,
    /// A decimal number up to this.
    Number(u64),
    /// A TTL.
    Ttl,
    /// A time span.
    Span,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// Text with well-formed escapes.
    Escape,
    /// Text of at most 255 octets.
    StringTooLong,
    /// Base64.
    Base64,
    /// Hexadecimal digits.
    Hex,
    /// Base32 with extended hex alphabet.
    Base32,
    /// A time.
    Time,
    /// An algorithm number or mnemonic.
    Algorithm,
    /// Something else that a field of this kind needs, in words.
    Field(&'static str),
    /// Generic RDATA whose length differs from the length it states (RFC 3597 5).
    RdataLength(u64),
    /// RDATA beyond 65,535 octets.
    RdataTooLong,
    /// Generic RDATA that is not of the type's form.
    Rdata(crate::rdata::Fault),
    /// A type without presentation format.
    NoPresentation,
    /// The receiver of the records refuses this one.
    Refused(String),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use Cause::*;
        match self {
            Unreadable => f.write_str("cannot read"),
            NoRecords => f.write_str("expected at least one record"),
            NotText => f.write_str("not a zone file: octet of zero, expected text"),
            EntryTooLong => {
                write!(f, "expected a line or parenthesised entry of at most {} octets", limits::ENTRY_OCTETS_MAX)
            }
            UnclosedParenthesis => f.write_str("parenthesis is never closed: expected `)`"),
            UnmatchedParenthesis => f.write_str("closing parenthesis without an opening one"),
            CarriageReturn => f.write_str("carriage return inside a line: expected it before a newline only"),
            UnclosedQuote => f.write_str("quote is not closed on its line: expected `\"`"),
            UnknownDirective => f.write_str("expected $ORIGIN, $TTL, $INCLUDE or $GENERATE"),
            IncludeTooDeep => {
                write!(f, "expected at most {} levels of $INCLUDE", limits::INCLUDE_DEPTH_MAX)
            }
            IncludeLoop => f.write_str("file includes itself"),
            TooManyFiles => write!(f, "expected at most {} files", limits::FILES_MAX),
            IncludeUnopened => f.write_str("cannot open included file"),
            TooManyGenerated => {
                write!(f, "expected $GENERATE to make at most {} records", limits::GENERATED_RECORDS_MAX)
            }
            GenerateRange => f.write_str("expected a range `start-stop` or `start-stop/step`"),
            GenerateBackwards => f.write_str("expected a range that does not end before it begins"),
            GenerateModifier => {
                f.write_str("expected `${offset}`, `${offset,width}` or `${offset,width,base}` with base d, o, x, X, n or N")
            }
            GenerateNegative => f.write_str("$GENERATE value plus offset is below zero, which only decimals can be"),
            NoOwner => f.write_str("expected an owner name: no record before this one has any"),
            NoTtl => f.write_str("expected a TTL: neither $TTL nor a record before this one gives any"),
            Type => f.write_str("expected a record type"),
            MetaType => f.write_str("expected a type of zone data, this one exists in messages only"),
            Class => f.write_str("expected class IN"),
            Name(error) => write!(f, "expected a domain name ({error})"),
            Missing(what) => write!(f, "expected {what}"),
            End => f.write_str("expected the end of the entry"),
            Number(max) => write!(f, "expected a number from 0 to {max}"),
            Ttl => f.write_str("expected a TTL: seconds up to 4294967295, or with units as in 1h30m"),
            Span => f.write_str("expected a time in seconds: a number from 0 to 4294967295, or with units as in 1h30m"),
            Ipv4 => f.write_str("expected an IPv4 address"),
            Ipv6 => f.write_str("expected an IPv6 address"),
            Escape => f.write_str("expected `\\` before an octet or three digits up to 255"),
            StringTooLong => f.write_str("expected text of at most 255 octets"),
            Base64 => f.write_str("expected base64"),
            Hex => f.write_str("expected pairs of hexadecimal digits"),
            Base32 => f.write_str("expected base32 (extended hex alphabet, no padding)"),
            Time => f.write_str("expected a time as YYYYMMDDHHmmSS or in seconds"),
            Algorithm => f.write_str("expected a DNSSEC algorithm number or mnemonic"),
            Field(what) => write!(f, "expected {what}"),
            RdataLength(said) => write!(f, "expected RDATA of the {said} octets it announces"),
            RdataTooLong => f.write_str("expected RDATA of at most 65535 octets"),
            Rdata(fault) => write!(f, "expected RDATA of the type's form: {fault}"),
            NoPresentation => f.write_str("type has no presentation format: expected `\\#`"),
            Refused(reason) => f.write_str(reason),
        }
    }
}

/// A problem at octets of the window, before file and line are known. One pointer wide, since every step of
/// reading a record returns one or nothing.
#[derive(Debug)]
pub(crate) struct Fault(Box<Placed>);

/// What a [`Fault`] is.
#[derive(Debug)]
pub(crate) struct Placed {
    pub start: usize,
    pub end: usize,
    pub cause: Cause,
    pub found: Option<Found>,
}

impl Fault {
    /// A problem of the text at `start..end`, which the message will repeat.
    #[cold]
    pub fn at(start: usize, end: usize, cause: Cause) -> Fault {
        Fault(Box::new(Placed { start, end, cause, found: None }))
    }

    /// A problem at `start` whose message says `found` rather than the text there.
    #[cold]
    pub fn saying(start: usize, cause: Cause, found: Found) -> Fault {
        Fault(Box::new(Placed { start, end: start, cause, found: Some(found) }))
    }

    /// Where it begins.
    pub fn start(&self) -> usize {
        self.0.start
    }

    /// The problem itself.
    pub fn placed(self) -> Placed {
        *self.0
    }
}
