//! What stands behind `?`.

use std::ops::RangeInclusive;

use wire::NameBuf;

use super::{Refusal, id, number};
use crate::frame::{Cursor, Stands};

/// Parameters that are looked at: no request has as many.
const PARAMETERS_MAX: usize = 16;

/// Parameters, decoded; each is given once.
pub(super) struct Query {
    parameters: Vec<(String, String)>,
    /// Those that somebody looked for.
    known: Vec<&'static str>,
}

impl Query {
    pub(super) fn new(text: &str) -> Result<Query, Refusal> {
        let mut parameters: Vec<(String, String)> = Vec::new();
        for parameter in text.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let text = |text| String::from_utf8(id::percent_decoded(text, true)?).ok();
            let (Some(name), Some(value)) = (text(name), text(value)) else {
                return Err(Refusal::new(400, "the query is no text"));
            };
            if parameters.iter().any(|(other, _)| *other == name) {
                return Err(Refusal::new(422, "a parameter is given twice"));
            }
            if parameters.len() == PARAMETERS_MAX {
                return Err(Refusal::new(422, "too many parameters"));
            }
            parameters.push((name, value));
        }
        Ok(Query { parameters, known: Vec::new() })
    }

    /// Whether all that is there was looked for.
    pub(super) fn finish(&self) -> Result<(), Refusal> {
        let is_known = |name: &str| self.known.contains(&name);
        let all = self.parameters.iter().all(|(name, _)| is_known(name));
        if all { Ok(()) } else { Err(Refusal::new(422, "a parameter that is not known here")) }
    }

    /// What was looked for.
    #[cfg(test)]
    pub(super) fn known(&self) -> &[&'static str] {
        &self.known
    }

    /// The value of a parameter.
    pub(super) fn take(&mut self, name: &'static str) -> Option<&str> {
        self.known.push(name);
        self.parameters.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(super) fn text(&mut self, name: &'static str, octets_max: usize) -> Result<Option<String>, Refusal> {
        match self.take(name) {
            Some(text) if text.len() > octets_max => Err(Refusal::new(422, "a parameter is too long")),
            text => Ok(text.map(str::to_owned)),
        }
    }

    pub(super) fn flag(&mut self, name: &'static str) -> Result<Option<bool>, Refusal> {
        match self.take(name) {
            None => Ok(None),
            Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(_) => Err(Refusal::new(422, "a parameter that is true or false is neither")),
        }
    }

    pub(super) fn name(&mut self, name: &'static str) -> Result<Option<NameBuf>, Refusal> {
        let no_name = Refusal::new(422, "a parameter that is a name is none");
        self.take(name).map(|text| id::name(text.as_bytes()).ok_or(no_name)).transpose()
    }

    pub(super) fn number(
        &mut self,
        name: &'static str,
        range: RangeInclusive<u32>,
    ) -> Result<Option<u32>, Refusal> {
        let no_number = Refusal::new(422, "a parameter that is a number is none, or too large");
        let value = self.take(name);
        value.map(|text| number(text).filter(|number| range.contains(number)).ok_or(no_number)).transpose()
    }

    pub(super) fn stands(&mut self, name: &'static str) -> Result<Option<Stands>, Refusal> {
        let no_state = Refusal::new(422, "a state is none of `served`, `stale` and `absent`");
        let known = |word: &str| Stands::ALL.into_iter().find(|stands| stands.word() == word);
        self.take(name).map(|word| known(word).ok_or(no_state)).transpose()
    }

    /// As [`put_cursor`] writes it.
    pub(super) fn cursor(&mut self, name: &'static str) -> Result<Option<Cursor>, Refusal> {
        let no_cursor = Refusal::new(422, "`after` is none of what `next` said");
        self.take(name).map(|text| cursor(text).ok_or(no_cursor)).transpose()
    }
}

/// Appends a cursor as `after` takes it: `SLOT-START`, both hexadecimal.
pub fn put_cursor(cursor: Cursor, out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{:x}-{:016x}", cursor.slot, cursor.start).as_bytes());
}

fn cursor(text: &str) -> Option<Cursor> {
    let (slot, start) = text.split_once('-')?;
    let number = |text: &str| {
        let is_number = (1..=16).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_number.then(|| u64::from_str_radix(text, 16).ok()).flatten()
    };
    Some(Cursor { slot: number(slot)?, start: number(start)? })
}
