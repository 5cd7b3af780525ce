//! `$GENERATE start-stop[/step] owner [ttl] [class] type rdata`, as named has it: the entry is read once
//! for each number of the range, with `$` replaced by the number.
//!
//! `${offset,width,base}` adds to the number, pads it with zeros and chooses its form: `d` decimal, `o`
//! octal, `x` and `X` hexadecimal, `n` and `N` hexadecimal digits in reverse with dots between, as in
//! ip6.arpa. `\$` and `$$` stand for a dollar sign. RDATA in one pair of quotes is filled in and read without them.

use crate::error::{Cause, Fault};
use crate::fields::{Field, Fields, type_of};
use crate::scan::PADDING;
use crate::text::number::decimal;

/// Widest number: as wide as a name can be, more is never right.
const WIDTH_MAX: u64 = 255;

/// Greatest number of a range, as in named.
const NUMBER_MAX: u64 = i32::MAX as u64;

/// The numbers of a `$GENERATE` and the entry to fill in.
pub(crate) struct Template {
    next: Option<u64>,
    stop: u64,
    step: u64,
    pieces: Vec<Piece>,
    /// Where the fields of the directive begin, to place a problem of a generated entry.
    starts: Vec<usize>,
}

enum Piece {
    Literal(Vec<u8>),
    Number { offset: i64, width: usize, base: Base, start: usize },
}

#[derive(Clone, Copy)]
enum Base {
    Decimal,
    Octal,
    Lower,
    Upper,
    NibblesLower,
    NibblesUpper,
}

impl Template {
    /// Reads what follows `$GENERATE`.
    pub fn read(fields: &mut Fields<'_>) -> Result<Template, Fault> {
        let field = fields.take("a range `start-stop` or `start-stop/step`")?;
        let (start, stop, step) = range(field.text).ok_or_else(|| field.fault(Cause::GenerateRange))?;
        if start > stop {
            return Err(field.fault(Cause::GenerateBackwards));
        }
        let mut template = Template { next: Some(start), stop, step, pieces: Vec::new(), starts: Vec::new() };
        let mut before = Vec::new();
        while let Some(field) = fields.take_any() {
            template.starts.push(field.start);
            if template.starts.len() > 1 {
                template.literal(b" ");
            }
            if field.quoted && is_whole_rdata(&before, fields) {
                // As named has it: the quotes only keep together what is read as RDATA once it is filled in.
                template.field(&field, true)?;
            } else if field.quoted {
                template.literal(b"\"");
                template.field(&field, false)?;
                template.literal(b"\"");
            } else {
                template.field(&field, false)?;
            }
            before.push(field);
        }
        if template.starts.is_empty() {
            return Err(fields.missing("an owner name"));
        }
        template.literal(b"\n");
        Ok(template)
    }

    fn literal(&mut self, octets: &[u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(literal)) => literal.extend_from_slice(octets),
            _ => self.pieces.push(Piece::Literal(octets.to_vec())),
        }
    }

    /// Cuts a field into pieces. `unquotes`: an escaped quote stands for a quote.
    fn field(&mut self, field: &Field<'_>, unquotes: bool) -> Result<(), Fault> {
        let text = field.text;
        let mut at = 0;
        while at < text.len() {
            match text[at..] {
                [b'\\', b'"', ..] if unquotes => {
                    self.literal(b"\"");
                    at += 2;
                }
                [b'\\', _, ..] => {
                    self.literal(&text[at..at + 2]);
                    at += 2;
                }
                [b'$', b'$', ..] => {
                    self.literal(b"\\$");
                    at += 2;
                }
                [b'$', b'{', ..] => {
                    let length = text[at..].iter().position(|&octet| octet == b'}');
                    let modifier = length.and_then(|length| modifier(&text[at + 2..at + length]));
                    let fault = || Fault::at(field.start + at, field.end(), Cause::GenerateModifier);
                    let (offset, width, base) = modifier.ok_or_else(fault)?;
                    self.pieces.push(Piece::Number { offset, width, base, start: field.start + at });
                    at += length.unwrap_or(0) + 1;
                }
                [b'$', ..] => {
                    let start = field.start + at;
                    self.pieces.push(Piece::Number { offset: 0, width: 0, base: Base::Decimal, start });
                    at += 1;
                }
                _ => {
                    self.literal(&text[at..at + 1]);
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// Writes the next entry to `text`, with padding for the scanners after it; returns its length without
    /// the padding, or `None` at the end of the range.
    pub fn next(&mut self, text: &mut Vec<u8>) -> Option<Result<usize, Fault>> {
        let number = self.next?;
        self.next = number.checked_add(self.step).filter(|&next| next <= self.stop);
        text.clear();
        for piece in &self.pieces {
            match *piece {
                Piece::Literal(ref literal) => text.extend_from_slice(literal),
                Piece::Number { offset, width, base, start } => {
                    let value = number as i64 + offset;
                    if value < 0 && !matches!(base, Base::Decimal) {
                        return Some(Err(Fault::at(start, start + 1, Cause::GenerateNegative)));
                    }
                    print(value, width, base, text);
                }
            }
        }
        let length = text.len();
        text.resize(length + PADDING, b' ');
        Some(Ok(length))
    }

    /// Where the directive's field stands that became the generated field number `index`.
    pub fn place_of(&self, index: usize) -> usize {
        self.starts[index.min(self.starts.len() - 1)]
    }
}

/// Whether the field after `before` is all RDATA of the entry: the type stands before it and nothing after it.
fn is_whole_rdata(before: &[Field<'_>], after: &Fields<'_>) -> bool {
    let mut rest = before.iter().map(|field| field.text);
    after.is_empty() && rest.next().is_some() && type_of(rest.by_ref()).is_some() && rest.next().is_none()
}

/// `start-stop` or `start-stop/step`.
fn range(text: &[u8]) -> Option<(u64, u64, u64)> {
    let slash = text.iter().position(|&octet| octet == b'/');
    let step = slash.map_or(Some(1), |at| decimal(&text[at + 1..], NUMBER_MAX))?;
    let bounds = &text[..slash.unwrap_or(text.len())];
    let hyphen = bounds.iter().position(|&octet| octet == b'-')?;
    let (start, stop) =
        (decimal(&bounds[..hyphen], NUMBER_MAX)?, decimal(&bounds[hyphen + 1..], NUMBER_MAX)?);
    (step > 0).then_some((start, stop, step))
}

/// `offset`, `offset,width` or `offset,width,base`.
fn modifier(text: &[u8]) -> Option<(i64, usize, Base)> {
    let mut parts = text.split(|&octet| octet == b',');
    let offset = match parts.next()? {
        [b'-', digits @ ..] => -(decimal(digits, NUMBER_MAX)? as i64),
        [b'+', digits @ ..] | digits => decimal(digits, NUMBER_MAX)? as i64,
    };
    let width = parts.next().map_or(Some(0), |width| decimal(width, WIDTH_MAX))? as usize;
    let base = match parts.next() {
        None | Some(b"d") => Base::Decimal,
        Some(b"o") => Base::Octal,
        Some(b"x") => Base::Lower,
        Some(b"X") => Base::Upper,
        Some(b"n") => Base::NibblesLower,
        Some(b"N") => Base::NibblesUpper,
        Some(_) => return None,
    };
    parts.next().is_none().then_some((offset, width, base))
}

fn print(value: i64, width: usize, base: Base, text: &mut Vec<u8>) {
    let padded = match base {
        Base::Decimal => format!("{value:0width$}"),
        Base::Octal => format!("{value:0width$o}"),
        Base::Lower => format!("{value:0width$x}"),
        Base::Upper => format!("{value:0width$X}"),
        Base::NibblesLower | Base::NibblesUpper => return nibbles(value as u64, width, base, text),
    };
    text.extend_from_slice(padded.as_bytes());
}

/// Hexadecimal digits from the lowest, with dots between; `width` counts digits and dots, as in named.
fn nibbles(mut value: u64, mut width: usize, base: Base, text: &mut Vec<u8>) {
    let digits = if matches!(base, Base::NibblesUpper) { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    loop {
        text.push(digits[(value & 15) as usize]);
        value >>= 4;
        width = width.saturating_sub(1);
        if value == 0 && width == 0 {
            return;
        }
        text.push(b'.');
        width = width.saturating_sub(1);
        if value == 0 && width == 0 {
            return;
        }
    }
}
