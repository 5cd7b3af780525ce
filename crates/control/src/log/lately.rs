//! The last warnings and errors of the log, for who asks later: a terminal has scrolled on, and what the journal has may be rotated, or be another's to read.
//!
//! ```text
//! event -> level -> its message, cut --> the same as one that is kept? one more of that, and it is the latest : the oldest of its level makes room
//! ```
//!
//! Errors and warnings have rooms of their own: however many warnings clients cause that differ, they drive out no error. Who writes holds the lock for a comparison with the lines of a
//! level, who reads for a copy of all.

use std::collections::VecDeque;
use std::fmt;
use std::sync::LazyLock;

use sync::Mutex;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::text::write_message;
use crate::command::LogLine;
use crate::expiry::now;

/// Lines that are kept of each level: with both a page of a terminal or two, and 64 KiB.
const LINES_MAX: usize = 64;
/// Octets of a line: what is wrong with a file, whose path may be long. Of longer ones the beginning is kept.
const LINE_OCTETS_MAX: usize = 512;

/// What is kept.
static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(|| Mutex::named("last lines of the log", Kept::default()));

/// Keeps of what is written to the log the last warnings and errors.
pub(super) struct Lately;

impl<S: Subscriber> Layer<S> for Lately {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = *event.metadata().level();
        // Less important ones are greater.
        if level > Level::WARN {
            return;
        }
        let mut text = Cut::default();
        write_message(event, &mut text);
        KEPT.lock().note(level == Level::ERROR, text.end(), now());
    }
}

/// The lines that are kept, the latest last.
pub(crate) fn lines() -> Vec<LogLine> {
    since(0).0
}

/// Of these those that came, or came again, behind so many errors and warnings; and how many there were by now. Of more than there were, as of a server before this one: all.
pub(crate) fn since(number: u64) -> (Vec<LogLine>, u64) {
    KEPT.lock().since(number)
}

/// How many errors and warnings came since the start, also those that are kept no more; and when the last of all came, in seconds since 1970.
pub(crate) fn counts() -> ([u64; 2], Option<u64>) {
    KEPT.lock().counts()
}

/// A line that is kept.
struct Line {
    text: String,
    /// When it came first and last, in seconds since 1970.
    first: u64,
    last: u64,
    count: u64,
    /// Which of all it was when it came last.
    number: u64,
}

/// See the module.
#[derive(Default)]
struct Kept {
    /// Of errors and of warnings, the latest last.
    lines: [VecDeque<Line>; 2],
    /// How many of each came so far.
    counts: [u64; 2],
}

impl Kept {
    fn note(&mut self, is_error: bool, text: String, now: u64) {
        let level = usize::from(!is_error);
        self.counts[level] += 1;
        let (number, lines): (u64, _) = (self.counts.iter().sum(), &mut self.lines[level]);
        let same = lines.iter().position(|line| line.text == text).and_then(|at| lines.remove(at));
        if same.is_none() && lines.len() == LINES_MAX {
            lines.pop_front();
        }
        let Line { text, first, count, .. } =
            same.unwrap_or(Line { text, first: now, last: now, count: 0, number });
        lines.push_back(Line { text, first, last: now, count: count + 1, number });
    }

    fn since(&self, number: u64) -> (Vec<LogLine>, u64) {
        let all = self.counts.iter().sum();
        let after = if number > all { 0 } else { number };
        let of = |level: &str, line: &Line| LogLine {
            level: level.into(),
            message: line.text.clone(),
            count: line.count,
            first_at: line.first,
            last_at: line.last,
        };
        let [errors, warnings] = &self.lines;
        let mut lines: Vec<_> = errors.iter().map(|line| (line.number, of("error", line))).collect();
        lines.extend(warnings.iter().map(|line| (line.number, of("warn", line))));
        lines.retain(|(number, _)| *number > after);
        lines.sort_by_key(|(number, _)| *number);
        (lines.into_iter().map(|(_, line)| line).collect(), all)
    }

    fn counts(&self) -> ([u64; 2], Option<u64>) {
        let latest = self.lines.iter().filter_map(VecDeque::back).max_by_key(|line| line.number);
        (self.counts, latest.map(|line| line.last))
    }
}

/// Text of which the beginning is kept.
#[derive(Default)]
struct Cut {
    text: String,
    is_cut: bool,
}

impl Cut {
    fn end(self) -> String {
        if self.is_cut { self.text + " ..." } else { self.text }
    }
}

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !self.is_cut {
            let fits = text.floor_char_boundary(LINE_OCTETS_MAX - self.text.len());
            self.text.push_str(&text[..fits]);
            self.is_cut = fits < text.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmt::Write;
    use tracing_subscriber::Registry;
    use tracing_subscriber::layer::SubscriberExt;

    fn told(kept: &Kept) -> Vec<(String, u64, u64, u64)> {
        let told = |line: LogLine| (line.message, line.count, line.first_at, line.last_at);
        kept.since(0).0.into_iter().map(told).collect()
    }

    /// The same line is one, in the place of the last time; what came first makes room; errors stay, whatever is warned of.
    #[test]
    fn what_is_kept() {
        let mut kept = Kept::default();
        kept.note(true, "full".into(), 10);
        kept.note(false, "slow".into(), 11);
        kept.note(true, "broken".into(), 12);
        kept.note(true, "full".into(), 19);
        let line = |text: &str, count, first, last| (text.to_owned(), count, first, last);
        let slow = line("slow", 1, 11, 11);
        assert_eq!(told(&kept), [slow, line("broken", 1, 12, 12), line("full", 2, 10, 19)]);
        assert_eq!(kept.counts(), ([3, 1], Some(19)));
        // Behind what was read; and all, where more were read than there are.
        for (number, count) in [(0, 3), (2, 2), (3, 1), (4, 0), (5, 3)] {
            let (lines, all) = kept.since(number);
            assert_eq!((lines.len(), all), (count, 4), "{number}");
        }
        (0..1_000).for_each(|number| kept.note(false, format!("slow {number}"), 20 + number));
        let all = told(&kept);
        assert_eq!((all.len(), &all[0].0, &all[1].0), (2 + LINES_MAX, &"broken".into(), &"full".into()));
        assert_eq!((&all[2].0, kept.counts()), (&"slow 936".into(), ([3, 1_001], Some(1_019))));
    }

    /// However long a message is, and in whatever pieces it comes: whole characters, within the bound.
    #[test]
    fn messages_are_cut() {
        let text = |pieces: &[&str]| {
            let mut cut = Cut::default();
            pieces.iter().for_each(|piece| cut.write_str(piece).expect("there is always room"));
            cut.end()
        };
        assert_eq!(text(&["a", "b"]), "ab");
        let long = text(&[&"x".repeat(LINE_OCTETS_MAX - 1), "\u{20ac}", "y", "z"]);
        assert_eq!(long, "x".repeat(LINE_OCTETS_MAX - 1) + " ...", "nothing of what follows");
        assert_eq!(text(&[&"\u{e9}".repeat(400)]), "\u{e9}".repeat(LINE_OCTETS_MAX / 2) + " ...");
    }

    /// Of what goes to the log: messages alone, escaped, from warnings on.
    #[test]
    fn what_is_taken_from_the_log() {
        tracing::subscriber::with_default(Registry::default().with(Lately), || {
            tracing::info!("lately: nothing to keep");
            tracing::warn!(zone = "a.", "lately: a\nline of {}", 2);
        });
        let lines: Vec<_> = lines().into_iter().filter(|line| line.message.starts_with("lately: ")).collect();
        let [line] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!((&*line.level, &*line.message, line.count), ("warn", "lately: a\\nline of 2", 1));
    }
}
