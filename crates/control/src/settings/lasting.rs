//! Times that are written with their unit: `90s`, `30m`, `12h`, `7d`.

use std::time::Duration;

use toml::de::DeValue;

use super::value::{Range, Value};

/// Units and their seconds, the longest first.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// A time in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lasting(pub Duration);

impl Lasting {
    /// So many seconds.
    pub(super) const fn seconds(seconds: u64) -> Lasting {
        Lasting(Duration::from_secs(seconds))
    }

    fn from_text(text: &str) -> Option<Lasting> {
        let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
        let seconds =
            UNITS.iter().find(|(letter, _)| unit.starts_with(*letter)).map(|(_, seconds)| *seconds)?;
        // A sign is none of a number's.
        let number: u64 =
            digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok()).flatten()?;
        number.checked_mul(seconds).map(Lasting::seconds)
    }

    fn text(self) -> String {
        let seconds = self.0.as_secs();
        let fits = |(_, unit): &&(char, u64)| seconds.is_multiple_of(*unit) && seconds >= *unit;
        let (letter, unit) = UNITS.iter().find(fits).copied().unwrap_or(('s', 1));
        format!("{}{letter}", seconds / unit)
    }
}

impl Value for Lasting {
    fn expected(range: Range) -> String {
        match range {
            Range::Lasting(low, high) => {
                format!(
                    "a time from {} to {} such as \"90s\", \"30m\", \"12h\" or \"7d\"",
                    low.show(),
                    high.show()
                )
            }
            _ => "a time such as \"90s\", \"30m\", \"12h\" or \"7d\"".into(),
        }
    }
    fn read(value: &DeValue<'_>, range: Range) -> Option<Self> {
        let time = Lasting::from_text(value.as_str()?)?;
        match range {
            Range::Lasting(low, high) => (low.0..=high.0).contains(&time.0).then_some(time),
            _ => Some(time),
        }
    }
    fn show(&self) -> String {
        format!("{:?}", self.text())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (text, seconds, again) in [
            ("90s", 90, "90s"),
            ("30m", 1_800, "30m"),
            ("60m", 3_600, "1h"),
            ("30d", 2_592_000, "30d"),
            ("0s", 0, "0s"),
        ] {
            let time = Lasting::from_text(text).unwrap();
            assert_eq!((time, &*time.text()), (Lasting::seconds(seconds), again));
        }
        for none in [
            "",
            "h",
            "1",
            "1w",
            "+1h",
            "1 h",
            "1.5h",
            "-1h",
            "99999999999999999999d",
            "9999999999999999999d",
            "1ü",
        ] {
            assert_eq!(Lasting::from_text(none), None, "{none}");
        }
    }
}
