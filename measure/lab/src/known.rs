//! From which sides a value is known.
//!
//! Where the generator was the limit a server's rate is *at least* what was measured; a share of what such a limit program did is *at most* what it comes
//! to; a share of which both are so is not known at all. The same holds of what had not come to pass when it was no longer waited for, and of
//! percentiles of runs that lost queries. One such value makes a median one: what it would have been may lie on the other side of it.

use serde::{Deserialize, Serialize};

/// What is known of a value, or of a median of values.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// It is so much.
    #[default]
    Exactly,
    /// It is so much or more.
    AtLeast,
    /// It is so much or less.
    AtMost,
    /// It may be more or less.
    NotAtAll,
}

impl Known {
    /// At least so much if `is_limited`, else exactly.
    pub fn at_least_if(is_limited: bool) -> Known {
        if is_limited { Known::AtLeast } else { Known::Exactly }
    }

    /// Of a median, by how many of its values are known only to be at least, or at most, so much. What is not known at all counts as both.
    pub fn of(at_least: usize, at_most: usize) -> Known {
        Known::from_sides(at_most == 0, at_least == 0)
    }

    fn from_sides(from_below: bool, from_above: bool) -> Known {
        match (from_below, from_above) {
            (true, true) => Known::Exactly,
            (true, false) => Known::AtLeast,
            (false, true) => Known::AtMost,
            (false, false) => Known::NotAtAll,
        }
    }

    /// Whether it is so much, and no more need be said.
    pub fn is_exact(&self) -> bool {
        *self == Known::Exactly
    }

    /// Whether it is no less.
    pub fn is_from_below(self) -> bool {
        matches!(self, Known::Exactly | Known::AtLeast)
    }

    /// Whether it is no more.
    pub fn is_from_above(self) -> bool {
        matches!(self, Known::Exactly | Known::AtMost)
    }

    /// Of what grows with both: a sum, a mean, a product.
    #[must_use]
    pub fn and(self, other: Known) -> Known {
        Known::from_sides(
            self.is_from_below() && other.is_from_below(),
            self.is_from_above() && other.is_from_above(),
        )
    }

    /// Of what grows with the first and falls with the second: a ratio, a difference.
    #[must_use]
    pub fn over(self, divisor: Known) -> Known {
        self.and(Known::from_sides(divisor.is_from_above(), divisor.is_from_below()))
    }

    /// What stands before the number.
    pub fn sign(self) -> &'static str {
        match self {
            Known::Exactly => "",
            Known::AtLeast => "≥ ",
            Known::AtMost => "≤ ",
            Known::NotAtAll => "? ",
        }
    }

    /// The same for terminals.
    pub fn plain_sign(self) -> &'static str {
        match self {
            Known::AtLeast => ">= ",
            Known::AtMost => "<= ",
            known => known.sign(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Known::{AtLeast, AtMost, Exactly, NotAtAll};
    use super::*;

    #[test]
    fn sides_of_what_is_computed() {
        for (one, other, sum, ratio) in [
            (Exactly, Exactly, Exactly, Exactly),
            (AtLeast, Exactly, AtLeast, AtLeast),
            (Exactly, AtLeast, AtLeast, AtMost),
            (AtLeast, AtLeast, AtLeast, NotAtAll),
            (AtMost, AtMost, AtMost, NotAtAll),
            (AtLeast, AtMost, NotAtAll, AtLeast),
            (AtMost, AtLeast, NotAtAll, AtMost),
            (NotAtAll, Exactly, NotAtAll, NotAtAll),
        ] {
            assert_eq!((one.and(other), one.over(other)), (sum, ratio), "{one:?} {other:?}");
        }
    }

    #[test]
    fn sides_of_medians() {
        let found = [(0, 0), (2, 0), (0, 1), (3, 3)].map(|(least, most)| Known::of(least, most));
        assert_eq!(found, [Exactly, AtLeast, AtMost, NotAtAll]);
        assert_eq!(found.map(Known::sign), ["", "≥ ", "≤ ", "? "]);
    }
}
