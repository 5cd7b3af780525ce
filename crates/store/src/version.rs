//! What a version of a zone is.

use std::fmt;

use change::serial::date;

use crate::fault::Fault;

/// What leads to a version from the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its rows in `change`.
    Change,
    /// Nothing that is known: all of the zone is to be read.
    Whole,
    /// The zone is gone.
    Removed,
}

impl Kind {
    /// The word of it in the database.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Change => "change",
            Kind::Whole => "whole",
            Kind::Removed => "removed",
        }
    }

    /// A constraint of the table lets no other word in; were there one, all of the zone is read.
    pub(crate) fn of_word(word: &str) -> Kind {
        match word {
            "change" => Kind::Change,
            "removed" => Kind::Removed,
            _ => Kind::Whole,
        }
    }
}

/// A version of a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// Its number among those of all zones, in the order of commits.
    pub id: i64,
    /// The zone's name.
    pub zone: String,
    /// Its serial.
    pub serial: u32,
    /// 32 hexadecimal digits that no other version has.
    pub mark: String,
    /// What leads to it.
    pub kind: Kind,
    /// How many rows it has in `change`.
    pub rows: u64,
    /// When it was closed, in seconds since 1970.
    pub at: u64,
    /// Who changed the zone; `None`: somebody by plain SQL.
    pub who: Option<String>,
    /// Why, in their words.
    pub why: Option<String>,
}

/// What a version says of itself beside what changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meta<'m> {
    /// Seconds since 1970.
    pub at: u64,
    /// Who changes.
    pub who: Option<&'m str>,
    /// Why.
    pub why: Option<&'m str>,
}

/// A time in seconds since 1970, as people read it: `2026-11-28 19:00:05 UTC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub u64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ((year, month, day), second) = (date(self.0 / 86_400), self.0 % 86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

/// What came of closing.
#[derive(Debug, Default)]
pub struct Closing {
    /// How many versions were made.
    pub versions: usize,
    /// Zones whose changes are no version yet, and why.
    pub refused: Vec<Fault>,
}
