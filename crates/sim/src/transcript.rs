//! What happened, as lines for people: the story of a failure.

use crate::time::{Micros, seconds_text};
use std::collections::VecDeque;

/// Octets of lines that are kept; then the oldest go.
pub const OCTETS_MAX: usize = 4 << 20;

/// Lines with their times.
#[derive(Clone, Debug, Default)]
pub struct Transcript {
    lines: VecDeque<String>,
    octets: usize,
    dropped: u64,
    is_off: bool,
}

impl Transcript {
    /// One that keeps nothing: for long runs.
    pub fn off() -> Transcript {
        Transcript { is_off: true, ..Transcript::default() }
    }

    /// Whether it keeps lines.
    pub fn is_on(&self) -> bool {
        !self.is_off
    }

    /// Adds a line.
    pub fn say(&mut self, now: Micros, line: impl FnOnce() -> String) {
        if self.is_off {
            return;
        }
        let line = format!("{} {}", seconds_text(now), line());
        self.octets += line.len();
        self.lines.push_back(line);
        while self.octets > OCTETS_MAX {
            let first = self.lines.pop_front().map_or(0, |line| line.len());
            self.octets -= first;
            self.dropped += 1;
        }
    }

    /// All lines.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.dropped > 0 {
            text += &format!("({} lines before)\n", self.dropped);
        }
        for line in &self.lines {
            text += line;
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go() {
        let mut transcript = Transcript::default();
        for number in 0..100_000 {
            transcript.say(number, || "x".repeat(100));
        }
        let text = transcript.text();
        assert!(text.starts_with('(') && text.len() < OCTETS_MAX + OCTETS_MAX / 8, "{}", text.len());
        let mut off = Transcript::off();
        off.say(1, || panic!("nothing is written"));
        assert_eq!(off.text(), "");
    }
}
