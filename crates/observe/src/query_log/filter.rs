//! Which queries have a line: by name, and by what became of them.

use std::collections::HashSet;

use wire::NameBuf;
use wire::iana::rcode;

use super::code::{Code, DROPPED, GONE, STREAM};
use crate::seen::Question;

/// No code above it has a name.
const CODE_NAMED_MAX: u16 = 23;

/// Which queries have a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Names at and below these, in lower case. None: all.
    zones: HashSet<NameBuf>,
    /// Most labels of one of them.
    labels_max: usize,
    codes: HashSet<u16>,
    /// Of [`DROPPED`] and the others.
    words: HashSet<&'static str>,
}

impl Filter {
    /// One for these names, and for these codes by their mnemonics, `dropped`, `stream` and `gone`. The first that is no such otherwise.
    pub fn new<'w>(zones: &[NameBuf], codes: impl IntoIterator<Item = &'w str>) -> Result<Filter, &'w str> {
        let zones: HashSet<NameBuf> = zones.iter().map(|zone| zone.to_lowercase()).collect();
        let labels_max = zones.iter().map(|zone| zone.label_count()).max().unwrap_or(0);
        let mut filter = Filter { zones, labels_max, ..Filter::default() };
        for word in codes {
            if let Some(known) = [DROPPED, STREAM, GONE].into_iter().find(|known| *known == word) {
                filter.words.insert(known);
                continue;
            }
            let code = (0..=CODE_NAMED_MAX).find(|code| rcode::mnemonic(*code) == Some(word));
            filter.codes.insert(code.ok_or(word)?);
        }
        Ok(filter)
    }

    pub(super) fn has_code(&self, code: Code) -> bool {
        match code {
            _ if self.codes.is_empty() && self.words.is_empty() => true,
            Code::Number(code) => self.codes.contains(&code),
            Code::Word(word) => self.words.contains(word),
        }
    }

    pub(super) fn has_name(&self, question: &Question<'_>) -> bool {
        if self.zones.is_empty() {
            return true;
        }
        let Question::Asks { name, .. } = question else { return false };
        let lower = name.to_lowercase();
        let mut at = Some(&*lower);
        while let Some(name) = at {
            // Only where a name can be as long as one of these.
            if name.label_count() <= self.labels_max && self.zones.contains(name) {
                return true;
            }
            at = name.parent();
        }
        false
    }
}
