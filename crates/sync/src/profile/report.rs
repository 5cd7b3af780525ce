//! What the profiler found, as text in the layout of BIND 9 or as data.
//!
//! ```text
//!        zone.rs   72: 1909760  7.223856 24.671104  zone data
//!      answer.rs  103:  108229  0.401779  1.625984
//!      answer.rs  124:      67  0.000107  0.000108
//! waiting: 24.671104 s, of which 100.0 % zone data
//! ```
//!
//! A line for each lock: file and line that made it, times it was taken, seconds it was held and waited for. Below
//! it a line for each place that took it, without a name. As data (JSON, for instance) the same, times in seconds:
//!
//! ```text
//! {"locks": [{"name": "zone data", "file": "zone.rs", "line": 72, "count": 1909760, "held_s": 7.223856, "waited_s": …,
//!             "lockers": [{"file": "answer.rs", "line": 103, "count": 108229, "held_s": …, "waited_s": …}, …]}, …]}
//! ```
//!
//! A [`Summary`] holds it against the time that was worked.

use std::{borrow::Cow, collections::BTreeMap, fmt, panic::Location, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Sum, Table};

/// Text of the program, or of another that sent its report.
type Text = Cow<'static, str>;

/// All locks, those waited for longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Locks that were taken at least once.
    pub locks: Vec<Lock>,
}

/// All locks that a line made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// What they are for.
    pub name: Text,
    /// The line that made them, and all acquisitions of them.
    #[serde(flatten)]
    pub made: Locker,
    /// The lines that took them, those that waited longest first.
    pub lockers: Vec<Locker>,
}

/// A line of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locker {
    /// Path as the compiler had it.
    pub file: Text,
    /// From 1.
    pub line: u32,
    /// Acquisitions.
    pub count: u64,
    /// Time from each acquisition to its end, in all.
    #[serde(rename = "held_s", with = "seconds")]
    pub held: Duration,
    /// Time before each acquisition, in all.
    #[serde(rename = "waited_s", with = "seconds")]
    pub waited: Duration,
}

/// A report held against the time that the threads had which took the locks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Time that they waited for any lock.
    #[serde(rename = "waited_s", with = "seconds")]
    pub waited: Duration,
    /// Time that they had, all together: 120 s for four in half a minute.
    #[serde(rename = "working_s", with = "seconds")]
    pub working: Duration,
    /// The one as a share of the other.
    pub share_waited: f64,
    /// What they waited for, most of all first.
    pub causes: Vec<Cause>,
    /// Where.
    #[serde(flatten)]
    pub report: Report,
}

/// What locks of a name have to do with the waiting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cause {
    /// Their name.
    pub name: Text,
    /// Their share of it, from 0 to 1.
    pub share: f64,
}

impl Locker {
    fn new(place: &'static Location<'static>, sum: Sum) -> Locker {
        let Sum { count, held, waited } = sum;
        Locker { file: place.file().into(), line: place.line(), count, held, waited }
    }

    /// Those that waited longest come first.
    fn order(&self) -> (std::cmp::Reverse<Duration>, &str, u32) {
        (std::cmp::Reverse(self.waited), &self.file, self.line)
    }
}

impl Report {
    pub(super) fn of(table: &Table) -> Report {
        let mut locks: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for ((origin, at), sum) in table {
            let made = (origin.made.file(), origin.made.line(), origin.made.column(), origin.name);
            locks.entry(made).or_default().push((origin, *at, *sum));
        }
        let lock = |lockers: Vec<(&super::Origin, &'static Location<'static>, Sum)>| {
            let mut all = Sum::default();
            lockers.iter().for_each(|(.., sum)| all.add(*sum));
            let origin = lockers[0].0;
            let mut lockers: Vec<Locker> =
                lockers.into_iter().map(|(_, at, sum)| Locker::new(at, sum)).collect();
            lockers.sort_by(|one, other| one.order().cmp(&other.order()));
            Lock { name: origin.name.into(), made: Locker::new(origin.made, all), lockers }
        };
        let mut locks: Vec<Lock> = locks.into_values().map(lock).collect();
        locks.sort_by_key(|lock| std::cmp::Reverse(lock.made.waited));
        Report { locks }
    }

    /// Time that threads waited for any lock.
    pub fn waited(&self) -> Duration {
        self.locks.iter().map(|lock| lock.made.waited).sum()
    }

    /// Share of `working`, the time of all workers together, that they waited.
    pub fn share_waited(&self, working: Duration) -> f64 {
        self.waited().as_secs_f64() / working.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// What the waiting was for: names and their shares of it, the largest first.
    pub fn causes(&self) -> Vec<Cause> {
        let mut by_name: BTreeMap<&Text, Duration> = BTreeMap::new();
        for lock in &self.locks {
            *by_name.entry(&lock.name).or_default() += lock.made.waited;
        }
        let all = self.waited().as_secs_f64().max(f64::MIN_POSITIVE);
        let cause = |(name, waited): (&Text, Duration)| Cause {
            name: name.clone(),
            share: waited.as_secs_f64() / all,
        };
        let mut causes: Vec<Cause> = by_name.into_iter().map(cause).collect();
        causes.sort_by(|one, other| other.share.total_cmp(&one.share));
        causes
    }

    /// The report beside `working`, the time of all workers together.
    pub fn summary(self, working: Duration) -> Summary {
        Summary {
            waited: self.waited(),
            working,
            share_waited: self.share_waited(working),
            causes: self.causes(),
            report: self,
        }
    }

    /// What the waiting comes to, without the time that there was for it.
    pub fn waiting(&self) -> String {
        format!("{:.6} s{}", self.waited().as_secs_f64(), shares(&self.causes()))
    }

    /// One line for each lock and each line that took it.
    fn lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.locks.iter().try_for_each(|lock| {
            line(f, "", &lock.made, &lock.name)?;
            lock.lockers.iter().try_for_each(|locker| line(f, "  ", locker, ""))
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines(f)?;
        writeln!(f, "waiting: {}", self.waiting())
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report.lines(f)?;
        writeln!(f, "waiting: {}", self.waiting())
    }
}

impl Summary {
    /// What the waiting comes to: `4.671104 s of 60.000000 s (7.8 %), of which 100.0 % zone data`.
    pub fn waiting(&self) -> String {
        let (waited, working) = (self.waited.as_secs_f64(), self.working.as_secs_f64());
        let causes = shares(&self.causes);
        format!("{waited:.6} s of {working:.6} s ({:.1} %){causes}", self.share_waited * 100.0)
    }
}

/// Causes below this are not worth a word.
const SHARE_SHOWN_MIN: f64 = 0.0005;

/// The end of a line: what the waiting was for.
fn shares(causes: &[Cause]) -> String {
    let shown = causes.iter().filter(|cause| cause.share >= SHARE_SHOWN_MIN);
    let texts: Vec<String> =
        shown.map(|Cause { name, share }| format!("{:.1} % {name}", share * 100.0)).collect();
    if texts.is_empty() { String::new() } else { format!(", of which {}", texts.join(", ")) }
}

/// BIND's line, with room for longer names of files.
fn line(f: &mut fmt::Formatter<'_>, indent: &str, locker: &Locker, name: &str) -> fmt::Result {
    let file = locker.file.rsplit('/').next().unwrap_or_default();
    let Locker { line, count, held, waited, .. } = locker;
    let (held, waited) = (held.as_secs_f64(), waited.as_secs_f64());
    let text = format!("{indent}{file:<24} {line:>4}: {count:>10} {held:>12.6} {waited:>12.6}  {name}");
    writeln!(f, "{}", text.trim_end())
}

/// Times as numbers of seconds.
mod seconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_secs_f64())
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
    }
}
