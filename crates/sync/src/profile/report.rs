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
//! it a line for each place that took it, without a name.

use std::{collections::BTreeMap, fmt, panic::Location, time::Duration};

use super::{Sum, Table};

/// All locks, those waited for longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Locks that were taken at least once.
    pub locks: Vec<Lock>,
}

/// All locks that a line made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// What they are for.
    pub name: &'static str,
    /// The line that made them, and all acquisitions of them.
    pub made: Locker,
    /// The lines that took them, those that waited longest first.
    pub lockers: Vec<Locker>,
}

/// A line of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locker {
    /// Path as the compiler had it.
    pub file: &'static str,
    /// From 1.
    pub line: u32,
    /// Acquisitions.
    pub count: u64,
    /// Time from each acquisition to its end, in all.
    pub held: Duration,
    /// Time before each acquisition, in all.
    pub waited: Duration,
}

impl Locker {
    fn new(place: &'static Location<'static>, sum: Sum) -> Locker {
        let Sum { count, held, waited } = sum;
        Locker { file: place.file(), line: place.line(), count, held, waited }
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
            lockers.sort_by_key(|locker| (std::cmp::Reverse(locker.waited), locker.file, locker.line));
            Lock { name: origin.name, made: Locker::new(origin.made, all), lockers }
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
    pub fn causes(&self) -> Vec<(&'static str, f64)> {
        let mut by_name: BTreeMap<&str, Duration> = BTreeMap::new();
        for lock in &self.locks {
            *by_name.entry(lock.name).or_default() += lock.made.waited;
        }
        let all = self.waited().as_secs_f64().max(f64::MIN_POSITIVE);
        let mut causes: Vec<_> =
            by_name.into_iter().map(|(name, waited)| (name, waited.as_secs_f64() / all)).collect();
        causes.sort_by(|one, other| other.1.total_cmp(&one.1));
        causes
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for lock in &self.locks {
            line(f, "", &lock.made, lock.name)?;
            lock.lockers.iter().try_for_each(|locker| line(f, "  ", locker, ""))?;
        }
        write!(f, "waiting: {:.6} s", self.waited().as_secs_f64())?;
        for (index, (name, share)) in self.causes().into_iter().enumerate() {
            let comma = if index == 0 { ", of which" } else { "," };
            write!(f, "{comma} {:.1} % {name}", share * 100.0)?;
        }
        writeln!(f)
    }
}

/// BIND's line, with room for longer names of files.
fn line(f: &mut fmt::Formatter<'_>, indent: &str, locker: &Locker, name: &str) -> fmt::Result {
    let file = locker.file.rsplit('/').next().unwrap_or(locker.file);
    let Locker { line, count, held, waited, .. } = locker;
    let (held, waited) = (held.as_secs_f64(), waited.as_secs_f64());
    let text = format!("{indent}{file:<24} {line:>4}: {count:>10} {held:>12.6} {waited:>12.6}  {name}");
    writeln!(f, "{}", text.trim_end())
}
