//! The whole report of a machine: what it tells and what is measured.

use std::{
    fmt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    Head,
    bandwidth::{self, Bandwidth},
    candidates, cores,
    directory::{self, Directory},
    latency, octets_text,
    sharing::{self, Sharing},
    system::System,
    timer::{self, Timer},
};
use crate::{Error, machine::Steal};

/// What to measure, and for how long.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Fewer sizes and shorter runs: below two seconds instead of below twenty.
    pub quick: bool,
    /// A directory whose disk is to be measured.
    pub directory: Option<PathBuf>,
}

/// All that is known of the machine.
pub struct Report {
    /// What it tells.
    pub head: Head,
    /// What the clock could be read from.
    pub clock_sources: Vec<String>,
    /// The clock.
    pub timer: Timer,
    /// Octets of the working set, and nanoseconds of a load.
    pub latency: Vec<(usize, f64)>,
    /// By size of the working set.
    pub bandwidth: Vec<Bandwidth>,
    /// What cores pay for what they share.
    pub sharing: Sharing,
    /// The directory asked for.
    pub directory: Option<(PathBuf, Directory)>,
    /// Share of the time of all cores that a hypervisor took while this was measured.
    pub steal_share: f64,
    /// How long it took.
    pub seconds: f64,
}

/// Largest working set: beyond all caches but the largest, and made in a moment.
const OCTETS_MAX: usize = 256 << 20;
/// The same where it must be quick.
const QUICK_OCTETS_MAX: usize = 32 << 20;
/// Smallest working set.
const OCTETS_MIN: usize = 4 << 10;
/// Sizes of the first three levels where the system does not tell them.
const CACHE_OCTETS: [u64; 3] = [32 << 10, 1 << 20, 16 << 20];

/// Sizes that are measured however long it takes: two tell a cache from what is behind it, and are the cheapest.
const SIZES_MIN: usize = 2;

/// Measures this machine. Only a directory that cannot be written to is an error.
pub fn measure(options: &Options) -> Result<Report, Error> {
    let system = System::this();
    let start = Instant::now();
    let steal = Steal::new();
    let head = Head::read(&system);
    // First, as it is the only part that can fail.
    let directory = match &options.directory {
        Some(path) => Some((path.clone(), measure_directory(path, options.quick)?)),
        None => None,
    };
    let time = Duration::from_millis(if options.quick { 8 } else { 120 });
    let sharing = sharing::measure(&cores::core_numbers(&system), 5 * time);
    // Never more than an eighth of what is free: a measurement must not drive a machine to swap.
    let free = head.memory.available_octets.map_or(OCTETS_MAX, |octets| octets as usize / 8);
    let most = if options.quick { QUICK_OCTETS_MAX } else { OCTETS_MAX }.min(free).max(OCTETS_MIN);
    // A machine that others keep busy stretches everything: then the largest sizes are left out.
    let end = start + Duration::from_millis(if options.quick { 1_000 } else { 12_000 });
    let is_taken = |number: usize| number < SIZES_MIN || Instant::now() < end;
    let bandwidth = (0..)
        .zip(bandwidth_sizes(&head, most))
        .take_while(|&(number, _)| is_taken(number))
        .map(|(_, size)| bandwidth::measure(size, 4 * time))
        .collect();
    let latency = (0..)
        .zip(latency_sizes(most, options.quick))
        .take_while(|&(number, _)| is_taken(number))
        .map(|(_, size)| (size, latency::measure(size, time, 1)))
        .collect();
    Ok(Report {
        head,
        clock_sources: timer::sources(&system),
        timer: timer::measure(time),
        latency,
        bandwidth,
        sharing,
        directory,
        steal_share: steal.share(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

fn measure_directory(path: &Path, quick: bool) -> Result<Directory, Error> {
    directory::measure(path, Duration::from_millis(if quick { 200 } else { 2000 }))
}

/// Powers of two, or of four.
fn latency_sizes(most: usize, quick: bool) -> impl Iterator<Item = usize> {
    let factor = if quick { 4 } else { 2 };
    std::iter::successors(Some(OCTETS_MIN), move |size| size.checked_mul(factor))
        .take_while(move |&size| size <= most)
}

/// Half of each cache that holds data, and the most: well inside each, and well outside all.
fn bandwidth_sizes(head: &Head, most: usize) -> Vec<usize> {
    let told = !head.caches.is_empty();
    let of_level = |level: u64| match cores::data_cache_octets(&head.caches, level) {
        None if told => None,
        None => Some(CACHE_OCTETS[level as usize - 1]),
        octets => octets,
    };
    let mut sizes: Vec<usize> =
        (1..=3).filter_map(of_level).map(|octets| octets as usize / 2).filter(|&size| size < most).collect();
    sizes.push(most);
    sizes
}

impl Report {
    /// The report as a JSON object: the fields of the head, and what was measured.
    pub fn json(&self) -> Value {
        let mut value = self.head.json();
        value["clock_sources"] = json!(self.clock_sources);
        value["timer"] = self.timer.json();
        value["latency"] = self
            .latency
            .iter()
            .map(|(octets, nanoseconds)| json!({"octets": octets, "nanoseconds": nanoseconds}))
            .collect();
        value["bandwidth"] = self.bandwidth.iter().map(Bandwidth::json).collect();
        value["sharing"] = self.sharing.json();
        value["directory"] = self.directory.as_ref().map_or(Value::Null, |(path, directory)| {
            let mut value = directory.json();
            value["path"] = json!(path.display().to_string());
            value
        });
        value["steal_share_now"] = json!(self.steal_share);
        value["seconds"] = json!(self.seconds);
        value
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.head)?;
        for interrupt in self.head.interfaces.iter().flat_map(|interface| &interface.interrupts) {
            writeln!(f, "interrupt   {interrupt}")?;
        }
        let Timer { cost_ns, resolution_ns, longest_step_ns } = self.timer;
        writeln!(
            f,
            "timer       {cost_ns:.1} ns a reading, steps of {resolution_ns} ns, longest stop {longest_step_ns} ns"
        )?;
        match &self.directory {
            Some((path, directory)) => {
                let Directory { writes, rate, median_ms, longest_ms, is_suspicious } = directory;
                write!(f, "directory   {}: {rate:.0} durable writes a second ", path.display())?;
                write!(f, "({writes}; median {median_ms:.3} ms, longest {longest_ms:.3} ms)")?;
                writeln!(
                    f,
                    "{}",
                    if *is_suspicious { "; no disk does that: nothing is kept here" } else { "" }
                )?;
            }
            None => writeln!(f, "directory   not measured: --directory PATH")?,
        }
        writeln!(f, "\nwhat cores pay for what they share\n{}", self.sharing)?;
        writeln!(f, "\nlatency of a load by working set, random order, best run")?;
        for (octets, nanoseconds) in &self.latency {
            writeln!(f, "{:>10}  {nanoseconds:8.2} ns", octets_text(*octets as u64))?;
        }
        writeln!(f, "\nbandwidth on one core by working set, MB/s, best run")?;
        writeln!(f, "{:>10}  {:>8} {:>8} {:>8} {:>8}", "", "copy", "scale", "add", "triad")?;
        for row in &self.bandwidth {
            let Bandwidth { octets, copy, scale, add, triad } = row;
            let size = octets_text(*octets as u64);
            writeln!(f, "{size:>10}  {copy:8.0} {scale:8.0} {add:8.0} {triad:8.0}")?;
        }
        let latency = self.latency.last().map(|&(_, nanoseconds)| nanoseconds);
        candidates::write(f, latency, self.bandwidth.last())?;
        write!(f, "\nmeasured in {:.1} s; stolen meanwhile: {:.2} %", self.seconds, self.steal_share * 100.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let quick: Vec<_> = latency_sizes(QUICK_OCTETS_MAX, true).collect();
        assert_eq!((quick[0], quick.len()), (OCTETS_MIN, 7));
        assert_eq!(latency_sizes(OCTETS_MAX, false).last(), Some(OCTETS_MAX));
        let folder = tempfile::tempdir().unwrap();
        let nothing_told = Head::read(&System::below(folder.path()));
        let sizes = bandwidth_sizes(&nothing_told, QUICK_OCTETS_MAX);
        assert_eq!(sizes, [16 << 10, 512 << 10, 8 << 20, QUICK_OCTETS_MAX]);
    }
}
