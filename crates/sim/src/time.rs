//! Virtual time: microseconds since the begin of a world, nothing being faster than one.

/// Microseconds since the begin.
pub type Micros = u64;

/// A millisecond.
pub const MILLISECOND: Micros = 1_000;
/// A second.
pub const SECOND: Micros = 1_000_000;

/// What a resolver is told of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// Since the begin; never goes back.
    pub now: Micros,
    /// Seconds since 1970, as the machine has it: it may be wrong, and may be set.
    pub wall: u64,
}

impl Time {
    /// When virtual time begins.
    pub fn begin() -> Time {
        Time { now: 0, wall: u64::from(crate::BEGIN_UNIX_SECONDS) }
    }
}

/// A span such as `90`, `90s`, `1500ms`, `5m`, `2h`, `7d`; without a unit: seconds.
pub fn micros_of(text: &str) -> Result<Micros, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" | "s" => SECOND,
        "ms" => MILLISECOND,
        "m" => 60 * SECOND,
        "h" => 3600 * SECOND,
        "d" => 86_400 * SECOND,
        other => return Err(format!("{other} is no unit of time: ms, s, m, h, d")),
    };
    let number: f64 = digits.parse().map_err(|_| format!("{text} is no time"))?;
    Ok((number * unit as f64) as Micros)
}

/// Seconds with milliseconds, for people.
pub fn seconds_text(time: Micros) -> String {
    format!("{:>9}.{:03}", time / SECOND, time % SECOND / MILLISECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        assert_eq!(micros_of("1.5"), Ok(1_500_000));
        assert_eq!(micros_of("20ms"), Ok(20_000));
        assert_eq!(micros_of("2h"), Ok(7_200_000_000));
        assert!(micros_of("2y").is_err() && micros_of("s").is_err());
        assert_eq!(seconds_text(61_002_900).trim(), "61.002");
    }
}
