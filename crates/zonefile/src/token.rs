//! The general way to split an entry into fields: quotes, parentheses, comments, escapes (RFC 1035 5.1).
//!
//! Fields land on the same kind of tape as those of a plain entry, with a mark for quoted ones, and escapes
//! are left in: what they mean depends on the field. Where RFC 1035 is silent this does what named does:
//! parentheses nest, a quote ends the field before it and the octet after a quote begins a new field.

use crate::error::{Cause, Fault, Found};
use crate::fields::type_of;

/// Set in the start of a quoted field; the window is far smaller than 2^31 octets.
pub(crate) const QUOTED: u32 = 1 << 31;

/// One entry cut into fields.
#[derive(Debug)]
pub(crate) struct Entry {
    /// One past the newline that ends the entry.
    pub end: usize,
    /// The first problem in its form, if any.
    pub fault: Option<Fault>,
}

/// Why there is no entry.
#[derive(Debug)]
pub(crate) enum Unended {
    /// The text ends inside the line.
    Line,
    /// The text ends inside parentheses; this is where the outermost was opened, and the first problem before that.
    Parenthesis(usize, Option<Fault>),
    /// There is an octet of zero, so the input is no text.
    NotText(usize),
}

/// Cuts the entry that begins at `start` in `octets[..filled]`; `edges` gets begin and end of each field.
pub(crate) fn entry(
    octets: &[u8],
    start: usize,
    filled: usize,
    edges: &mut Vec<u32>,
) -> Result<Entry, Unended> {
    edges.clear();
    let mut splitter =
        Splitter { text: &octets[..filled], edges, start, depth: 0, opened_at: start, fault: None };
    let end = match splitter.split(start) {
        Ok(end) => end,
        Err(Unended::Parenthesis(at, _)) => return Err(Unended::Parenthesis(at, splitter.fault)),
        Err(unended) => return Err(unended),
    };
    Ok(Entry { end, fault: splitter.fault })
}

struct Splitter<'a> {
    text: &'a [u8],
    edges: &'a mut Vec<u32>,
    /// Where the entry begins.
    start: usize,
    depth: usize,
    opened_at: usize,
    fault: Option<Fault>,
}

impl Splitter<'_> {
    fn split(&mut self, start: usize) -> Result<usize, Unended> {
        let mut at = start;
        while let Some(&octet) = self.text.get(at) {
            at = match octet {
                b' ' | b'\t' => at + 1,
                b'\r' => {
                    if self.text.get(at + 1).is_some_and(|&next| next != b'\n') {
                        self.note_saying(at, Cause::CarriageReturn);
                    }
                    at + 1
                }
                b'\n' if self.depth == 0 => return Ok(at + 1),
                b'\n' => at + 1,
                b';' => self.comment(at)?,
                b'"' => self.quoted(at)?,
                b'(' => {
                    if self.depth == 0 {
                        self.opened_at = at;
                    }
                    self.depth += 1;
                    at + 1
                }
                b')' => {
                    if self.depth == 0 {
                        self.note(at, at + 1, Cause::UnmatchedParenthesis);
                    }
                    self.depth = self.depth.saturating_sub(1);
                    at + 1
                }
                0 => return Err(Unended::NotText(at)),
                _ => self.plain(at)?,
            };
        }
        Err(self.unended())
    }

    /// A comment, to the newline.
    fn comment(&self, start: usize) -> Result<usize, Unended> {
        let length = self.text[start..].iter().position(|&octet| octet == b'\n' || octet == 0);
        length.map(|length| start + length).ok_or(self.unended())
    }

    /// A field in quotes: it must end on its line, else a forgotten quote would swallow the rest of the file.
    fn quoted(&mut self, start: usize) -> Result<usize, Unended> {
        let end = self.closing_quote(start)?;
        self.edges.push((start as u32 + 1) | QUOTED);
        self.edges.push(end as u32);
        Ok(if self.text[end] == b'"' { end + 1 } else { end })
    }

    /// The position of the quote that closes the one at `start`, or of the newline where none does.
    fn closing_quote(&mut self, start: usize) -> Result<usize, Unended> {
        let mut at = start + 1;
        while let Some(&octet) = self.text.get(at) {
            match octet {
                b'"' => return Ok(at),
                b'\\' if self.text.get(at + 1).is_some_and(|&next| next != b'\n' && next != 0) => at += 2,
                b'\n' => {
                    self.note(start, at, Cause::UnclosedQuote);
                    return Ok(at);
                }
                0 => return Err(Unended::NotText(at)),
                _ => at += 1,
            }
        }
        Err(self.unended())
    }

    /// A field without quotes around it. In service parameters a quote after the first `=` belongs to it, as in
    /// `alpn="h2,h3"` (RFC 9460 2.1); any other begins a field of its own.
    fn plain(&mut self, start: usize) -> Result<usize, Unended> {
        let mut at = start;
        while let Some(&octet) = self.text.get(at) {
            match octet {
                b' ' | b'\t' | b'\r' | b'\n' | b'(' | b')' | b';' | 0 => break,
                b'"' if self.text[start..at].iter().position(|&octet| octet == b'=')
                    == Some(at - start - 1)
                    && self.has_params() =>
                {
                    at = self.closing_quote(at)?;
                    if self.text[at] == b'"' {
                        at += 1;
                    }
                }
                b'"' => break,
                b'\\' if self.text.get(at + 1).is_some_and(|&next| next != b'\n' && next != 0) => at += 2,
                _ => at += 1,
            }
        }
        if at >= self.text.len() {
            return Err(self.unended());
        }
        self.edges.push(start as u32);
        self.edges.push(at as u32);
        Ok(at)
    }

    /// Whether the fields so far are those of an SVCB or HTTPS record, so that parameters follow.
    fn has_params(&self) -> bool {
        let fields = self.edges.as_chunks::<2>().0.iter().map(|&[start, end]| {
            let start = (start & !QUOTED) as usize;
            (start, &self.text[start..end as usize])
        });
        let mut fields = fields.peekable();
        // Owner, or directive, range and owner.
        match fields.peek() {
            Some((at, text)) if *at == self.start && text.eq_ignore_ascii_case(b"$GENERATE") => {
                fields.nth(2);
            }
            Some(_) if !matches!(self.text[self.start], b' ' | b'\t' | b'\r') => {
                fields.next();
            }
            _ => {}
        }
        let types: [&[u8]; 4] = [b"SVCB", b"HTTPS", b"TYPE64", b"TYPE65"];
        type_of(fields.map(|(_, text)| text))
            .is_some_and(|found| types.iter().any(|text| found.eq_ignore_ascii_case(text)))
    }

    fn note(&mut self, start: usize, end: usize, cause: Cause) {
        self.fault.get_or_insert_with(|| Fault::at(start, end, cause));
    }

    fn note_saying(&mut self, at: usize, cause: Cause) {
        self.fault.get_or_insert_with(|| Fault::saying(at, cause, Found::Unsaid));
    }

    fn unended(&self) -> Unended {
        if self.depth > 0 { Unended::Parenthesis(self.opened_at, None) } else { Unended::Line }
    }
}
