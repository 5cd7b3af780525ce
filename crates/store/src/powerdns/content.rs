//! RDATA from `content` and `prio`.
//!
//! Content is RDATA as a zone file has it, on one line, without comments and parentheses; names in it are absolute with and without their last dot, so that it is
//! read with the root as origin. Text is read here, as PowerDNS cuts a string that is too long into several, and wants no quotes around one of type TXT.

use std::io::Write;

use wire::Name;
use wire::iana::rtype;
use zonefile::{Buffers, NoIncludes, Options, RecordBuf, Source};

use super::refusal::Unfit;

/// The longest string of a TXT record (RFC 1035 3.3).
const STRING_OCTETS_MAX: usize = 255;

/// The longest RDATA.
const RDATA_OCTETS_MAX: usize = u16::MAX as usize;

/// The longest content that is looked at: all octets of the longest RDATA escaped, and room for quotes and blanks. A column of SQLite can have a thousand million.
const CONTENT_OCTETS_MAX: usize = 5 * RDATA_OCTETS_MAX;

/// Makes RDATA, one after the other.
pub(super) struct Parser<'b> {
    buffers: &'b mut Buffers,
    options: Options,
    line: Vec<u8>,
}

impl<'b> Parser<'b> {
    /// `buffers`: their room is used.
    pub(super) fn new(buffers: &'b mut Buffers) -> Parser<'b> {
        Parser { buffers, options: Options::new(Name::root()), line: Vec::new() }
    }

    /// RDATA of the type. `prio`: counts for MX and SRV, before whatever their content has: old tables have it in there, and NULL in its column.
    pub(super) fn rdata(
        &mut self,
        rtype: u16,
        content: &[u8],
        prio: Option<&[u8]>,
    ) -> Result<Vec<u8>, Unfit> {
        match rtype {
            _ if content.len() > CONTENT_OCTETS_MAX => Err(Unfit::Content(TOO_LONG.into())),
            rtype::TXT if content.first().is_some_and(|&octet| octet != b'"') => {
                texts(&[b"\"", content, b"\""].concat())
            }
            rtype::TXT | rtype::SPF => texts(content),
            _ if is_of_names(rtype) && content.contains(&b'"') => {
                Err(Unfit::Content("expected a name without quotes".into()))
            }
            rtype::MX | rtype::SRV => self.read(rtype, prio.unwrap_or_default(), content),
            _ => self.read(rtype, b"", content),
        }
    }

    /// By the reader of zone files.
    fn read(&mut self, rtype: u16, before: &[u8], content: &[u8]) -> Result<Vec<u8>, Unfit> {
        expect_plain(before)?;
        expect_plain(content)?;
        self.line.clear();
        // Writing to a vector cannot fail.
        let _ = write!(self.line, ". 0 IN {} ", rtype::Text(rtype));
        self.line.extend_from_slice(before);
        self.line.push(b' ');
        self.line.extend_from_slice(content);
        self.line.push(b'\n');
        let source = Source { name: CONTENT.into(), input: Box::new(&self.line[..]) };
        let mut found: Option<RecordBuf> = None;
        let mut take = |record: &zonefile::Record<'_>| {
            found = Some(RecordBuf::from(record));
            Ok(())
        };
        match zonefile::read_with(self.buffers, source, &self.options, &mut NoIncludes, &mut take) {
            Ok(_) => found.map(|record| record.rdata).ok_or(Unfit::Content("expected content".into())),
            Err(report) => Err(Unfit::Content(said(&report))),
        }
    }
}

/// Whether the content has names and no strings: quotes are letters of a name to PowerDNS there, and none to the reader of zone files.
fn is_of_names(rtype: u16) -> bool {
    matches!(
        rtype,
        rtype::CNAME
            | rtype::NS
            | rtype::PTR
            | rtype::DNAME
            | rtype::MX
            | rtype::SRV
            | rtype::SOA
            | rtype::RP
            | rtype::KX
            | rtype::AFSDB
    )
}

/// What the line is called in what the reader says.
const CONTENT: &str = "content";

/// What a report has to say, without the place in a line that nobody wrote.
fn said(report: &zonefile::Report) -> String {
    let Some(first) = report.diagnostics.first() else { return "expected content".into() };
    let whole = first.to_string();
    let place = format!("{}:{}:{}: ", first.file, first.line, first.column);
    whole.strip_prefix(&place).unwrap_or(&whole).to_owned()
}

/// Looks whether there is nothing that means another thing in a zone file: comments, parentheses, lines, and `@`, which PowerDNS takes for a label.
fn expect_plain(content: &[u8]) -> Result<(), Unfit> {
    let expected = |words: &str| Err(Unfit::Content(words.to_owned()));
    let (mut is_quoted, mut at) = (false, 0);
    while let Some(&octet) = content.get(at) {
        let is_begin = at == 0 || matches!(content[at - 1], b' ' | b'\t');
        match octet {
            b'\\' => at += 1,
            b'"' => is_quoted = !is_quoted,
            b';' | b'(' | b')' if !is_quoted => return expected("expected no comment and no parentheses"),
            b'@' if !is_quoted && is_begin && content.get(at + 1).is_none_or(u8::is_ascii_whitespace) => {
                return expected("expected a name, found `@`, which means no zone in these tables");
            }
            0..=8 | 10..=31 => return expected("expected one line of text"),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// Strings in quotes, with blanks between them or none; those that are too long are cut. No content is one empty string.
fn texts(content: &[u8]) -> Result<Vec<u8>, Unfit> {
    let expected = |words: &str| Unfit::Content(words.to_owned());
    let mut rdata = Vec::with_capacity(content.len() + 1);
    let mut rest = content.trim_ascii();
    while !rest.is_empty() {
        let inner =
            rest.strip_prefix(b"\"").ok_or_else(|| expected("expected a quote before each string"))?;
        let (string, length) = string(inner)?;
        let mut parts = string.chunks(STRING_OCTETS_MAX);
        // An empty one has no parts, and is a string all the same.
        append(parts.next().unwrap_or_default(), &mut rdata);
        parts.for_each(|part| append(part, &mut rdata));
        rest = inner[length..].trim_ascii_start();
    }
    if rdata.is_empty() {
        rdata.push(0);
    }
    match rdata.len() {
        ..=RDATA_OCTETS_MAX => Ok(rdata),
        _ => Err(expected(TOO_LONG)),
    }
}

const TOO_LONG: &str = "expected at most 65535 octets";

fn append(part: &[u8], rdata: &mut Vec<u8>) {
    rdata.push(part.len() as u8);
    rdata.extend_from_slice(part);
}

/// The string up to its closing quote, without its escapes, and how many octets of text that was, the quote included.
fn string(text: &[u8]) -> Result<(Vec<u8>, usize), Unfit> {
    let mut string = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&octet) = text.get(at) {
        match (octet, &text[at + 1..]) {
            (b'"', _) => return Ok((string, at + 1)),
            (b'\\', &[a @ b'0'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9', ..]) => {
                let value = [a, b, c].iter().fold(0u16, |value, digit| value * 10 + u16::from(digit - b'0'));
                string.push(u8::try_from(value).map_err(|_| Unfit::Content(ESCAPE.into()))?);
                at += 4;
            }
            (b'\\', &[b'0'..=b'9', ..]) => return Err(Unfit::Content(ESCAPE.into())),
            (b'\\', &[escaped, ..]) => {
                string.push(escaped);
                at += 2;
            }
            _ => {
                string.push(octet);
                at += 1;
            }
        }
    }
    Err(Unfit::Content("expected a quote after each string".into()))
}

const ESCAPE: &str = "expected three digits of at most 255 after a backslash";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rtype: &str, prio: Option<&str>, content: &str, expected: &str) {
        let number = rtype::from_text(rtype.as_bytes()).unwrap();
        let mut buffers = Buffers::new();
        let rdata = Parser::new(&mut buffers).rdata(number, content.as_bytes(), prio.map(str::as_bytes));
        let text = match rdata {
            Ok(rdata) => zonefile::print::rdata(number, &rdata),
            Err(why) => format!("! {why}"),
        };
        assert_eq!(text, expected, "{rtype} {content}");
    }

    #[test]
    fn names_are_absolute() {
        check("CNAME", None, "www.example.org", "www.example.org.");
        check("CNAME", None, "www.example.org.", "www.example.org.");
        check("NS", None, " ns.example.org ", "ns.example.org.");
        check("MX", Some("10"), "mail", "10 mail.");
        check("SRV", Some("10"), "5 5060 sip.example.org", "10 5 5060 sip.example.org.");
        check("RP", None, "host.example.org txt.example.org", "host.example.org. txt.example.org.");
        check("HTTPS", None, "1 . alpn=h2,h3", "1 . alpn=\"h2,h3\"");
        check(
            "NAPTR",
            None,
            "100 50 \"s\" \"a+b\" \"\" x.example.org",
            "100 50 \"s\" \"a+b\" \"\" x.example.org.",
        );
        check("CNAME", None, "@", "! expected a name, found `@`, which means no zone in these tables");
        check("MX", Some("10"), "@", "! expected a name, found `@`, which means no zone in these tables");
        check("CNAME", None, "\"www.example.org\"", "! expected a name without quotes");
        check("SRV", Some("10"), "5 5060 \"sip\"", "! expected a name without quotes");
        check("SOA", None, "ns.org h@x.org 1 2 3 4 5", "ns.org. h\\@x.org. 1 2 3 4 5");
    }

    #[test]
    fn preferences_of_old_tables_are_in_the_content() {
        check("MX", None, "10 mail.example.org", "10 mail.example.org.");
        check("SRV", None, "10 5 5060 sip.example.org", "10 5 5060 sip.example.org.");
        // Of other types the column means nothing.
        check("KX", Some("5"), "1 kx.example.org", "1 kx.example.org.");
    }

    #[test]
    fn text() {
        check("TXT", None, "v=spf1 mx -all", "\"v=spf1 mx -all\"");
        check("TXT", None, "v=DMARC1; p=none", "\"v=DMARC1; p=none\"");
        check("TXT", None, "\"one\" \"two\"\"three\"", "\"one\" \"two\" \"three\"");
        check("TXT", None, "", "\"\"");
        check("TXT", None, "\"\"", "\"\"");
        check("TXT", None, "\"a\\\"b\\\\c\\009d\\;\"", "\"a\\\"b\\\\c\\009d;\"");
        check("TXT", None, "\"two\nlines\"", "\"two\\010lines\"");
        check("TXT", None, "a\\b", "\"ab\"");
        check("SPF", None, "\"v=spf1 -all\"", "\"v=spf1 -all\"");
        check("SPF", None, "v=spf1 -all", "! expected a quote before each string");
        check("TXT", None, "a \"b\" c", "! expected a quote before each string");
        check("TXT", None, "\"open", "! expected a quote after each string");
        check("TXT", None, "end\\", "! expected a quote after each string");
        check("TXT", None, "\"\\300\"", "! expected three digits of at most 255 after a backslash");
        check("TXT", None, "\"\\3\"", "! expected three digits of at most 255 after a backslash");
    }

    #[test]
    fn long_strings_are_cut() {
        let (long, piece, rest) = ("x".repeat(600), "x".repeat(255), "x".repeat(90));
        let expected = format!("\"{piece}\" \"{piece}\" \"{rest}\"");
        check("TXT", None, &long, &expected);
        check("TXT", None, &format!("\"{long}\""), &expected);
        check("TXT", None, &format!("\"{piece}\" \"b\""), &format!("\"{piece}\" \"b\""));
        check("TXT", None, &"y".repeat(65_535), "! expected at most 65535 octets");
        check("A", None, &"1".repeat(CONTENT_OCTETS_MAX + 1), "! expected at most 65535 octets");
        // As long as it gets: each octet escaped, and each string in quotes.
        let strings = format!("\"{}\" ", "\\121".repeat(255)).repeat(255);
        check("TXT", None, &strings, &[format!("\"{}\"", "y".repeat(255)).as_str(); 255].join(" "));
    }

    #[test]
    fn one_line_without_comments() {
        for content in ["192.0.2.1 ; x", "( 192.0.2.1 )"] {
            check("A", None, content, "! expected no comment and no parentheses");
        }
        for content in ["192.0.2.1\n$INCLUDE x", "192.0.2.1\r", "192.0.2.1\0"] {
            check("A", None, content, "! expected one line of text");
        }
        check("CAA", None, "0 issue \"ca.example; x=(1)\"", "0 issue \"ca.example; x=(1)\"");
        check("TYPE65280", None, "\\# 4 c0000201", "\\# 4 C0000201");
    }
}
