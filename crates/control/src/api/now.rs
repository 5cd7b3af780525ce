//! How the server is, for who looks at it from moment to moment.
//!
//! ```text
//! each 10 s, and when asked --> a reading, unless there is one younger than 2 s --> JSON, the same for all who ask --+-> frames
//!                                 `--> hour: eight counts of each of 360 spans       lines of the log behind those that were read -'
//! ```
//!
//! A thread of its own, at the usual priority: it goes on while a disk hangs and while a reload is entered, so it waits 50 ms at the most for a lock that is held for such. What is wrong is what `ctl status`
//! says of it, and since when this thread has seen it.

mod hour;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::inbox::{Event, Inbox, Of};
use super::views::{frames, json};
use crate::answer::{brief_status, numbers};
use crate::command::{LogLine, Status, Top};
use crate::controller::Controller;
use crate::dynamic::Queue;
use crate::expiry::now;
use crate::log::lately;
use crate::metrics::Readings;
use hour::Hour;

/// So long a reading is told as it is: however many look, workers' counts are read that often.
const KEPT: Duration = Duration::from_millis(1_900);

/// What is to be told.
pub(super) enum Told {
    /// How the server is now, with lines of the log behind so many.
    Now(Of, u64),
    /// How it was in the last hour.
    Hour(Of),
}

/// The thread's queue.
pub(super) type Nows = Arc<Queue<Told>>;

/// Starts the thread, which ends when its queue is closed.
pub(super) fn start(owner: Weak<Controller>, inbox: Arc<Inbox>) -> io::Result<Nows> {
    let nows: Nows = Arc::new(Queue::new());
    let queue = Arc::clone(&nows);
    std::thread::Builder::new().name("api-now".into()).spawn(move || {
        let mut looked = Looked::new(Instant::now());
        while let Some(jobs) = queue.take(Some(looked.hour.due())) {
            let Some(controller) = owner.upgrade() else { return };
            if Instant::now() >= looked.hour.due() {
                looked.look(&controller);
            }
            for told in jobs {
                let (of, text) = match told {
                    Told::Now(of, said) => (of, looked.now(&controller, said)),
                    Told::Hour(of) => (of, looked.hour.text()),
                };
                inbox.tell(Event::Told(of, Ok(frames(of.ask, &text))));
            }
        }
    })?;
    Ok(nows)
}

/// A reading as it is told; the lines of the log come behind it.
#[derive(Serialize)]
struct Reading<'r> {
    /// What the page calls the server.
    server: &'r str,
    /// The server's clock, in seconds since 1970.
    now: u64,
    /// What is wrong, the same as in `status`, with times.
    wrong: Vec<Wrong>,
    /// As `ctl status --json` says it, without the memory.
    status: Status,
    /// As `ctl top --json` says them, without who asks.
    counts: Top,
}

/// Lines of the log, the latest last; behind how many the next ones are.
#[derive(Serialize)]
struct Lines {
    lines: Vec<LogLine>,
    said: u64,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Wrong {
    words: String,
    /// When it was seen first, in seconds since 1970.
    since: u64,
}

/// What the thread knows.
struct Looked {
    /// The last reading, and when it was made.
    kept: Option<(Instant, Vec<u8>)>,
    since: Since,
    hour: Hour,
}

impl Looked {
    fn new(at: Instant) -> Looked {
        Looked { kept: None, since: Since::default(), hour: Hour::new(at) }
    }

    /// Makes a reading.
    fn look(&mut self, controller: &Controller) {
        let (at, now) = (Instant::now(), now());
        let readings = Readings::of(controller);
        self.hour.note(&readings, at, now);
        let status = brief_status(controller);
        let wrong = self.since.note(&status.problems, now);
        let server = controller.api.called.get().map_or("", String::as_str);
        let reading = Reading { server, now, wrong, status, counts: numbers(controller, &readings) };
        self.kept = Some((at, json(&reading)));
    }

    /// How the server is now, as one object.
    fn now(&mut self, controller: &Controller, said: u64) -> Vec<u8> {
        if self.kept.as_ref().is_none_or(|(at, _)| at.elapsed() >= KEPT) {
            self.look(controller);
        }
        let reading = self.kept.as_ref().map(|(_, text)| text.as_slice()).unwrap_or_default();
        let (lines, said) = lately::since(said);
        joined(reading, &json(&Lines { lines, said }))
    }
}

/// Two objects as one.
fn joined(one: &[u8], other: &[u8]) -> Vec<u8> {
    let (one, other) = (one.strip_suffix(b"}"), other.strip_prefix(b"{"));
    [one.unwrap_or(b"{"), b",", other.unwrap_or(b"}")].concat()
}

/// Since when each thing is wrong, by its words without numbers and what they are of: how many zones are stale goes up and down, and *5 s ago* becomes *2 min ago*.
#[derive(Default)]
struct Since(HashMap<String, u64>);

impl Since {
    fn note(&mut self, problems: &[String], now: u64) -> Vec<Wrong> {
        let mut seen = HashMap::new();
        let wrong = |words: &String| {
            let key = without_numbers(words);
            let since = self.0.get(&key).copied().unwrap_or(now);
            seen.insert(key, since);
            Wrong { words: words.clone(), since }
        };
        let told = problems.iter().map(wrong).collect();
        self.0 = seen;
        told
    }
}

/// The words of a text but numbers, each with the word behind it.
fn without_numbers(text: &str) -> String {
    let (mut kept, mut is_behind) = (String::new(), false);
    for word in text.split_whitespace() {
        let is_number = word.starts_with(|letter: char| letter.is_ascii_digit());
        if !is_number && !std::mem::take(&mut is_behind) {
            kept.push_str(word);
            kept.push(' ');
        }
        is_behind |= is_number;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_when_it_is_wrong() {
        let mut since = Since::default();
        let mut note = |problems: &[&str], now| {
            let problems: Vec<String> = problems.iter().map(|words| (*words).to_owned()).collect();
            let told = since.note(&problems, now).into_iter();
            told.map(|wrong| format!("{} {}", wrong.since, wrong.words)).collect::<Vec<_>>()
        };
        assert_eq!(note(&["2 zones are stale"], 10), ["10 2 zones are stale"]);
        assert_eq!(note(&["no disk", "31 zones are stale"], 12), ["12 no disk", "10 31 zones are stale"]);
        assert_eq!(note(&["no disk"], 14), ["12 no disk"]);
        assert_eq!(note(&["no disk", "refused 59 s ago"], 15), ["12 no disk", "15 refused 59 s ago"]);
        assert_eq!(note(&["refused 1 min 2 s ago"], 16), ["15 refused 1 min 2 s ago"]);
        // It was well meanwhile.
        assert_eq!(note(&["1 zones are stale"], 17), ["17 1 zones are stale"]);
    }

    #[test]
    fn one_object() {
        let text = joined(b"{\"a\":1}", &json(&Lines { lines: Vec::new(), said: 7 }));
        assert_eq!(text, b"{\"a\":1,\"lines\":[],\"said\":7}");
    }
}
