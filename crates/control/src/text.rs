//! Wording that all messages share.

use std::fmt;
use std::io;
use std::time::Duration;

/// The system's reason in lower case and without its number: `permission denied`.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = words.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => words.into(),
    }
}

/// `cannot open: permission denied`
pub fn cannot(act: &str, error: &io::Error) -> String {
    format!("cannot {act}: {}", reason(error))
}

/// Digits in groups of three: `8,300,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 zone`, `2 zones`.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number as u64))
}

/// Octets in the unit that reads best: `17.2 MiB`.
pub fn octets(number: u64) -> String {
    const UNITS: [&str; 5] = ["octets", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (number as f64, 0);
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 => format!("{number} octets"),
        _ if value < 10.0 => format!("{value:.2} {}", UNITS[unit]),
        _ if value < 100.0 => format!("{value:.1} {}", UNITS[unit]),
        _ => format!("{value:.0} {}", UNITS[unit]),
    }
}

/// A duration as people write it: `3.2 ms`, `4.1 s`, `2 d 3 h`.
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        match seconds {
            0 => write!(f, "{:.1} ms", self.0.as_secs_f64() * 1e3),
            1..60 => write!(f, "{:.1} s", self.0.as_secs_f64()),
            60..3600 => write!(f, "{} min {} s", seconds / 60, seconds % 60),
            3600..86_400 => write!(f, "{} h {} min", seconds / 3600, seconds / 60 % 60),
            _ => write!(f, "{} d {} h", seconds / 86_400, seconds / 3600 % 24),
        }
    }
}

/// Whole seconds as people write them: `3 s`, `2 min 5 s`. Of the first one it is known only that it is not over.
pub struct Seconds(pub u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("less than 1 s"),
            seconds @ 1..60 => write!(f, "{seconds} s"),
            seconds => Span(Duration::from_secs(seconds)).fmt(f),
        }
    }
}

/// A time that an answer took, which begins with some microseconds: `1.5 us`, `340 us`, `12 ms`; `None`: it was longer than what is told apart.
pub fn time_text(microseconds: Option<f64>) -> String {
    match microseconds {
        None => "> 50 ms".into(),
        Some(time) if time < 9.95 => format!("{time:.1} us"),
        Some(time) if time < 999.5 => format!("{time:.0} us"),
        Some(time) if time < 9_950.0 => format!("{:.1} ms", time / 1e3),
        Some(time) => format!("{:.0} ms", time / 1e3),
    }
}

/// Text for a manual page, line by line: nothing in it means anything to the formatter.
pub fn roff(text: &str) -> String {
    let line = |line: &str| {
        let escaped = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        // A line that begins with a dot would be a request. (An apostrophe is none any more.)
        if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wording() {
        assert_eq!(reason(&io::Error::from_raw_os_error(libc::EACCES)), "permission denied");
        assert_eq!(
            (grouped(0), grouped(999), grouped(8_300_000)),
            ("0".into(), "999".into(), "8,300,000".into())
        );
        assert_eq!((count(1, "zone"), count(1200, "zone")), ("1 zone".into(), "1,200 zones".into()));
        assert_eq!(
            (octets(17), octets(1 << 20), octets(178_000_000)),
            ("17 octets".into(), "1.00 MiB".into(), "170 MiB".into())
        );
        assert_eq!(Span(Duration::from_millis(3)).to_string(), "3.0 ms");
        assert_eq!(Span(Duration::from_secs(90_000)).to_string(), "1 d 1 h");
        let times =
            [Some(1.024), Some(9.99), Some(340.2), Some(1_500.0), Some(50_331.0), None].map(time_text);
        assert_eq!(times, ["1.0 us", "10 us", "340 us", "1.5 ms", "50 ms", "> 50 ms"]);
        assert_eq!(roff(".a\\b\n'--c'"), "\\&.a\\eb\n\\(aq\\-\\-c\\(aq");
        let seconds = [0, 1, 59, 60].map(|seconds| Seconds(seconds).to_string());
        assert_eq!(seconds, ["less than 1 s", "1 s", "59 s", "1 min 0 s"]);
    }
}
