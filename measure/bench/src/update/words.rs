//! The words of a line of an update script.

use wire::{Name, NameBuf, iana::rtype};

use crate::error::LineProblem;

/// The words of a line, one after the other.
pub struct Words<'l> {
    pub line: &'l str,
    pub at: usize,
}

impl<'l> Words<'l> {
    pub fn next(&mut self) -> Option<&'l str> {
        let (start, rest) = self.rest();
        let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
        self.at = start + word.len();
        (!word.is_empty()).then_some(word)
    }

    /// What has not been read, and its place.
    pub fn rest(&self) -> (usize, &'l str) {
        let rest = &self.line[self.at..];
        let trimmed = rest.trim_start();
        (self.at + rest.len() - trimmed.len(), trimmed)
    }

    pub fn is_at_end(&self) -> bool {
        let rest = self.rest().1;
        rest.is_empty() || rest.starts_with(';')
    }

    pub fn name(&mut self) -> Result<NameBuf, LineProblem> {
        let word = self.next().ok_or(LineProblem::MissingField)?;
        NameBuf::from_text_at(word.as_bytes(), Some(Name::root())).map_err(LineProblem::Name)
    }

    pub fn number(&mut self) -> Result<u32, LineProblem> {
        let word = self.next().ok_or(LineProblem::MissingField)?;
        word.parse().map_err(|_| LineProblem::BadNumber)
    }

    /// A number and `IN`, both of which may be missing.
    pub fn ttl(&mut self) -> Option<u32> {
        let before = self.at;
        let ttl = self.next().and_then(|word| word.parse().ok());
        self.at = if ttl.is_some() { self.at } else { before };
        let before = self.at;
        if !self.next().is_some_and(|word| word.eq_ignore_ascii_case("in")) {
            self.at = before;
        }
        ttl
    }

    pub fn rtype(&mut self) -> Result<u16, LineProblem> {
        let mut word = self.next().ok_or(LineProblem::MissingField)?;
        if word.eq_ignore_ascii_case("in") {
            word = self.next().ok_or(LineProblem::MissingField)?;
        }
        rtype::from_text(word.as_bytes()).ok_or(LineProblem::UnknownType)
    }
}
