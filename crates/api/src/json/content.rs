//! One record's content: text to RDATA, and RDATA to the form in which PowerDNS tells it.
//!
//! Read is what the reader of zone files reads, one record without an owner, and nothing that lives between records: no directive, no line behind the first, no
//! comment, and no name that needs an origin.

mod long;
mod plain;

use std::fmt;

use wire::iana::rtype;
use wire::name::NameError;
use wire::rdata;
use zonefile::{Buffers, Cause, NoIncludes, Options, Record, Source};

/// Octets of a content: RDATA has 64 KiB, four letters an octet.
pub const CONTENT_OCTETS_MAX: usize = 256 << 10;

/// Why a text is no content of its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// More than [`CONTENT_OCTETS_MAX`] octets.
    TooLong,
    /// A newline or another control character.
    Control,
    /// A comment: a semicolon that is neither quoted nor escaped.
    Comment,
    /// Octets that are no ASCII where a name may be.
    NotAscii,
    /// A name that is not absolute.
    Relative,
    /// Text of several words, or with parentheses, without quotes.
    BareWords,
    /// Not of the type's form.
    Form(Cause),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::TooLong => write!(f, "expected a content of at most {CONTENT_OCTETS_MAX} octets"),
            Fault::Control => f.write_str("expected a content without control characters"),
            Fault::Comment => {
                f.write_str("expected no comment: a semicolon needs quotes around it or `\\` before it")
            }
            Fault::NotAscii => f.write_str("expected ASCII: other octets are written as `\\DDD`"),
            Fault::Relative => {
                f.write_str("expected absolute names, with a dot at their end, of at most 255 octets")
            }
            Fault::BareWords => f.write_str("expected text in quotes"),
            Fault::Form(cause) => cause.fmt(f),
        }
    }
}

/// Reads contents, with room that is used again.
pub struct Reader {
    buffers: Buffers,
    options: Options,
    line: Vec<u8>,
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::new()
    }
}

impl Reader {
    /// Room that was not used yet: 64 KiB and more, once a body.
    #[must_use]
    pub fn new() -> Reader {
        Reader {
            buffers: Buffers::new(),
            options: Options { default_ttl: Some(0), diagnostics_max: 1, ..Options::new(&origin()) },
            line: Vec::new(),
        }
    }

    /// Replaces `out` by the RDATA that the text is of. `rtype`: one of zone data.
    pub fn read(&mut self, rtype: u16, content: &str, out: &mut Vec<u8>) -> Result<(), Fault> {
        out.clear();
        plain::check(rtype, content)?;
        self.line.clear();
        // The root owns it: an entry that begins with a dot is no directive. Behind the type nothing is read as anything but RDATA.
        self.line.extend_from_slice(format!(". 0 IN {} ", rtype::Text(rtype)).as_bytes());
        long::put(rtype, content, &mut self.line);
        let source = Source { name: String::new(), input: Box::new(&self.line[..]) };
        let mut take = |record: &Record<'_>| {
            out.extend_from_slice(record.rdata);
            Ok(())
        };
        let read = zonefile::read_with(&mut self.buffers, source, &self.options, &mut NoIncludes, &mut take);
        match read {
            // The sign for the origin is a name of 255 octets, which has no room for anything before it; nobody else has it.
            Ok(_) if rdata::has_names(rtype) && content.contains('@') && has_origin(out) => {
                Err(Fault::Relative)
            }
            Ok(_) => Ok(()),
            Err(report) => Err(match report.diagnostics.into_iter().next().map(|first| first.cause) {
                Some(Cause::Name(NameError::NameTooLong)) | None => Fault::Relative,
                Some(cause) => Fault::Form(cause),
            }),
        }
    }
}

/// A name as long as names are: with it as the origin each relative name is too long, and what needs none is what it would be without.
fn origin() -> wire::NameBuf {
    let labels = ["x".repeat(63), "x".repeat(63), "x".repeat(63), "x".repeat(61)];
    wire::NameBuf::from_text(&labels.join(".")).expect("255 octets")
}

fn has_origin(rdata: &[u8]) -> bool {
    let origin = origin();
    rdata.windows(origin.octets().len()).any(|part| part == origin.octets())
}

/// Appends the content of a record in PowerDNS's normal form (`pdns/rcpgenerator.cc`), which is ASCII. What is not of its type's form is `\#`.
pub fn print(rtype: u16, octets: &[u8], out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(zonefile::print::rdata(rtype, octets).as_bytes());
    let text = &mut out[begin..];
    if text.starts_with(b"\\#") || is_hexadecimal(rtype) {
        text.make_ascii_lowercase();
        return;
    }
    match rtype {
        rtype::AAAA => compatible(octets, begin, out),
        rtype::SVCB | rtype::HTTPS => parameters(begin, out),
        _ => {}
    }
    if rdata::has_names(rtype) {
        names(begin, out);
    }
}

/// Types whose fields are numbers and hexadecimal digits, which PowerDNS writes small.
fn is_hexadecimal(rtype: u16) -> bool {
    matches!(rtype, rtype::DS | rtype::CDS | rtype::DLV | rtype::TA | rtype::TLSA | rtype::SMIMEA)
        || matches!(rtype, rtype::SSHFP | rtype::ZONEMD | rtype::NSEC3PARAM)
}

/// Addresses `::192.0.2.1` are written so by C's library.
fn compatible(octets: &[u8], begin: usize, out: &mut Vec<u8>) {
    if let [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, a, b, c, d] = *octets
        && (a, b) != (0, 0)
    {
        out.truncate(begin);
        out.extend_from_slice(format!("::{a}.{b}.{c}.{d}").as_bytes());
    }
}

/// `@` and `$` in names are written as they are: they mean something alone, or where an entry begins.
fn names(begin: usize, out: &mut Vec<u8>) {
    let (mut from, mut to) = (begin, begin);
    while from < out.len() {
        let pair = (out[from], out.get(from + 1).copied());
        let taken = match pair {
            (b'\\', Some(b'@' | b'$')) => {
                out[to] = out[from + 1];
                (2, 1)
            }
            // Of `\DDD` the digits follow as they are.
            (b'\\', Some(other)) => {
                out[to] = b'\\';
                out[to + 1] = other;
                (2, 2)
            }
            (octet, _) => {
                out[to] = octet;
                (1, 1)
            }
        };
        (from, to) = (from + taken.0, to + taken.1);
    }
    out.truncate(to);
}

/// Parameters of services: of `alpn` without quotes, of `ech` with them.
fn parameters(begin: usize, out: &mut Vec<u8>) {
    // Before them are a priority and a name, which may look like one.
    let first = (0..2).fold(begin, |at, _| (at + word_length(&out[at..]) + 1).min(out.len()));
    let text = out.split_off(first);
    let mut rest = &text[..];
    while !rest.is_empty() {
        let (word, after) = rest.split_at(word_length(rest));
        match (word.strip_prefix(b"alpn=\""), word.strip_prefix(b"ech=")) {
            (Some(value), _) if !value.iter().any(|octet| b" ;()\\".contains(octet)) => {
                out.extend_from_slice(b"alpn=");
                out.extend_from_slice(value.strip_suffix(b"\"").unwrap_or(value));
            }
            (_, Some(value)) => {
                out.extend_from_slice(b"ech=\"");
                out.extend_from_slice(value);
                out.push(b'"');
            }
            _ => out.extend_from_slice(word),
        }
        let blank = usize::from(!after.is_empty());
        out.extend_from_slice(&after[..blank]);
        rest = &after[blank..];
    }
}

/// Octets up to a blank that is neither quoted nor escaped.
fn word_length(text: &[u8]) -> usize {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, octet) in text.iter().enumerate() {
        match octet {
            _ if is_escaped => {}
            b'"' => is_quoted = !is_quoted,
            b' ' if !is_quoted => return at,
            _ => {}
        }
        is_escaped = *octet == b'\\' && !is_escaped;
    }
    text.len()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use wire::NameBuf;

    #[track_caller]
    fn check(rtype: u16, content: &str, printed: &str) {
        let (mut reader, mut rdata, mut text) = (Reader::new(), Vec::new(), Vec::new());
        reader.read(rtype, content, &mut rdata).unwrap_or_else(|fault| panic!("{content}: {fault}"));
        print(rtype, &rdata, &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), printed);
        let mut again = Vec::new();
        reader.read(rtype, printed, &mut again).unwrap_or_else(|fault| panic!("{printed}: {fault}"));
        assert_eq!(again, rdata, "{printed}");
    }

    #[test]
    fn in_the_form_of_powerdns() {
        for (rtype, content, printed) in [
            (rtype::A, "192.0.2.1", "192.0.2.1"),
            (rtype::AAAA, "2001:DB8:0::1", "2001:db8::1"),
            (rtype::AAAA, "::ffff:1.2.3.4", "::ffff:1.2.3.4"),
            (rtype::AAAA, "::102:304", "::1.2.3.4"),
            (rtype::AAAA, "::1", "::1"),
            (rtype::MX, "10  Mail.example.", "10 Mail.example."),
            (rtype::MX, "0 .", "0 ."),
            (rtype::SOA, "ns. host\\.master.example. 1 2h 3 4 5", "ns. host\\.master.example. 1 7200 3 4 5"),
            (rtype::SOA, "a@b. \\@. ( 1 2 3 4 5 )", "a@b. @. 1 2 3 4 5"),
            (rtype::TXT, "\"a\\\"b\\\\\" \"ü;\\000\"", "\"a\\\"b\\\\\" \"\\195\\188;\\000\""),
            (rtype::TXT, "word", "\"word\""),
            (rtype::TXT, "\"\"", "\"\""),
            (rtype::SRV, "1 2 443 $x.example.", "1 2 443 $x.example."),
            (rtype::CAA, "0 issue \"ca.example; x=1\"", "0 issue \"ca.example; x=1\""),
            (
                rtype::DS,
                "60485 5 1 2BB183AF5F22588179A53B0A98631FAD1A292118",
                "60485 5 1 2bb183af5f22588179a53b0a98631fad1a292118",
            ),
            (rtype::TLSA, "3 1 1 ABCD", "3 1 1 abcd"),
            (rtype::SSHFP, "1 4 AB", "1 4 ab"),
            (
                rtype::NAPTR,
                "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:a@b\\\\@c!\" @x.",
                "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:a@b\\\\@c!\" @x.",
            ),
            (
                rtype::LOC,
                "32 7 19 S 116 2 25 E 10m",
                "32 7 19.000 S 116 2 25.000 E 10.00m 1.00m 10000.00m 10.00m",
            ),
            (
                rtype::HTTPS,
                "1 . alpn=\"h2,h3\" port=443 ipv4hint=192.0.2.1,192.0.2.2 ech=AEP+ key65280=\"a b\"",
                "1 . alpn=h2,h3 port=443 ipv4hint=192.0.2.1,192.0.2.2 ech=\"AEP+\" key65280=\"a b\"",
            ),
            (rtype::SVCB, "1 a\\;b.example. alpn=\"h\\\\,2\"", "1 a\\;b.example. alpn=\"h\\\\,2\""),
            (rtype::SVCB, "0 svc.example.", "0 svc.example."),
            (rtype::SVCB, "1 ech=a. alpn=h2 ech=AEP+", "1 ech=a. alpn=h2 ech=\"AEP+\""),
            (rtype::SVCB, "0 ech=a\\ b.", "0 ech=a\\032b."),
            (rtype::TXT, "(\"a\" \"(b)\" )", "\"a\" \"(b)\""),
            (rtype::TXT, "a\\ b\\(", "\"a b(\""),
            (rtype::RESINFO, "qnamemin exterr=15", "\"qnamemin\" \"exterr=15\""),
            (rtype::CAA, "0 issue ca.example", "0 issue \"ca.example\""),
            (rtype::TXT, "\\# 3 02 ABCD", "\"\\171\\205\""),
            (4_000, "\\# 3 ABCDEF", "\\# 3 abcdef"),
            (rtype::OPENPGPKEY, "AQ ID", "AQID"),
            (rtype::NS, "a\\000\\.\\\\.b.", "a\\000\\.\\\\.b."),
        ] {
            check(rtype, content, printed);
        }
        let key = "p".repeat(400);
        check(rtype::TXT, &format!("\"{key}\""), &format!("\"{}\" \"{}\"", &key[..255], &key[255..]));
    }

    #[test]
    fn what_is_no_content() {
        let read = |rtype, content: &str| Reader::new().read(rtype, content, &mut Vec::new()).unwrap_err();
        for (rtype, content, expected) in [
            (rtype::A, "192.0.2.1\n@ A 192.0.2.2", Fault::Control),
            (rtype::A, "192.0.2.1\r", Fault::Control),
            (rtype::TXT, "\"\0\"", Fault::Control),
            (rtype::A, "192.0.2.1 ; mine", Fault::Comment),
            (rtype::TXT, "v=DKIM1; k=rsa", Fault::Comment),
            (rtype::TXT, "\"a\\\\\";", Fault::Comment),
            (rtype::CNAME, "www", Fault::Relative),
            (rtype::CNAME, "@", Fault::Relative),
            (rtype::MX, "10 mail.example", Fault::Relative),
            (rtype::SOA, "ns. @ 1 2 3 4 5", Fault::Relative),
            (rtype::SVCB, "1 @", Fault::Relative),
            (rtype::CNAME, "ü.example.", Fault::NotAscii),
            (rtype::TXT, "two words", Fault::BareWords),
            (rtype::TXT, "two\twords", Fault::BareWords),
            (rtype::TXT, "(word)", Fault::BareWords),
            (rtype::TXT, "\\#a b", Fault::BareWords),
            (rtype::TXT, "word()", Fault::BareWords),
            (rtype::TXT, "say\"hi\"", Fault::BareWords),
            (rtype::TXT, "\"a\"b", Fault::BareWords),
            (rtype::WALLET, "two words", Fault::BareWords),
            (rtype::CAA, "0 issue (x)", Fault::BareWords),
            (rtype::NAPTR, "1 1 (u) \"\" \"\" .", Fault::BareWords),
        ] {
            assert_eq!(read(rtype, content), expected, "{content}");
        }
        for (rtype, content) in [
            (rtype::A, ""),
            (rtype::A, "192.0.2"),
            (rtype::A, "192.0.2.1 192.0.2.2"),
            (rtype::A, "(192.0.2.1"),
            (rtype::A, "192.0.2.1)"),
            (rtype::TXT, "\"a"),
            (rtype::AAAA, "\\# 4 00000000"),
            (4_000, "192.0.2.1"),
            (rtype::A, "$INCLUDE x"),
        ] {
            assert!(matches!(read(rtype, content), Fault::Form(_)), "{content}");
        }
        let text = format!("\"{}\"", "x".repeat(CONTENT_OCTETS_MAX));
        assert_eq!(read(rtype::TXT, &text), Fault::TooLong);
        assert_eq!(origin().octets().len(), wire::name::NAME_OCTETS_MAX);
        let longest = NameBuf::from_text(&"a.".repeat(127)).unwrap().to_string();
        check(rtype::NS, &longest, &longest);
    }
}
