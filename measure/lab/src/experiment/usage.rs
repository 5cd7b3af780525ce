//! Who used the processor: how busy the cores of servers and generator were while one was measured, and what programs took that are no part
//! of the experiment.
//!
//! Both are the system's counts (proc(5), proc_stat(5)), in ticks of 10 ms: they say something of seconds, nothing of a single trial.
//!
//! Programs outside of this one's PID namespace are not seen. There what others took is bounded by the time in which cores were busy.

use std::{collections::HashMap, fs, path::Path, time::Instant};

use crate::process::{self, Cpu, Process};

/// Ticks a second in `/proc`: 100 on all Linux systems (USER_HZ of the kernel's interface).
const TICKS: f64 = 100.0;
/// The kernel's own threads are children of this process, in the first PID namespace: what they do, they do for somebody, and mostly for us.
const KERNEL_THREADS: i32 = 2;
/// The first PID namespace, in which all programs are: its number is the same on all systems (PROC_PID_INIT_INO of the kernel).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// Time of cores, by what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Programs, the kernel on their behalf, interrupts.
    pub busy: u64,
    /// Nobody had anything to do.
    pub idle: u64,
    /// A hypervisor gave it to others.
    pub stolen: u64,
}

impl Ticks {
    /// Those of these cores so far; none where the system does not tell.
    pub fn of(cores: &[usize]) -> Ticks {
        ticks_of(&stat(), cores)
    }

    /// Adds what became of the time since `before`.
    pub fn add_since(&mut self, before: Ticks, now: Ticks) {
        self.busy += now.busy.saturating_sub(before.busy);
        self.idle += now.idle.saturating_sub(before.idle);
        self.stolen += now.stolen.saturating_sub(before.stolen);
    }

    /// The share of the time that was theirs in which they were busy; 0 of no time.
    pub fn busy_share(self) -> f64 {
        self.busy as f64 / (self.busy + self.idle).max(1) as f64
    }
}

/// Seconds that each of these cores spent in soft interrupts so far, of which receiving is most; none where the system does not tell.
pub fn softirq_seconds(cores: &[usize]) -> Vec<(usize, f64)> {
    softirq_of(&stat(), cores)
}

fn softirq_of(stat: &str, cores: &[usize]) -> Vec<(usize, f64)> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        let core = words.next()?.strip_prefix("cpu")?.parse::<usize>().ok()?;
        Some((core, words.nth(6)?.parse::<f64>().ok()? / TICKS))
    };
    stat.lines().filter_map(of_line).filter(|(core, _)| cores.contains(core)).collect()
}

/// Columns are user, nice, system, idle, waiting for disks, interrupts, soft interrupts, stolen. The further ones repeat some.
fn ticks_of(stat: &str, cores: &[usize]) -> Ticks {
    let mut sum = Ticks::default();
    for line in stat.lines() {
        let mut words = line.split_whitespace();
        let core = words.next().and_then(|head| head.strip_prefix("cpu")?.parse::<usize>().ok());
        let counts: Vec<u64> = words.map_while(|word| word.parse().ok()).take(8).collect();
        if let (&[user, nice, system, idle, disks, hard, soft, stolen], Some(true)) =
            (&counts[..], core.map(|core| cores.contains(&core)))
        {
            sum.busy += user + nice + system + hard + soft;
            sum.idle += idle + disks;
            sum.stolen += stolen;
        }
    }
    sum
}

/// Processor time of a program so far: by ticks in the program and in the kernel, and the exact sum.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    ticks: Cpu,
    exact: f64,
}

impl Time {
    /// That of all its processes.
    pub fn of(process: &Process) -> Time {
        Time { ticks: process.cpu(), exact: process.cpu_fine() }
    }

    /// The exact sum of what was used since, in parts as the ticks have them; without ticks all of it in the program.
    pub fn since(self, before: Time) -> Cpu {
        let user = (self.ticks.user - before.ticks.user).max(0.0);
        let system = (self.ticks.system - before.ticks.system).max(0.0);
        let exact = (self.exact - before.exact).max(0.0);
        let share = if user + system > 0.0 { user / (user + system) } else { 1.0 };
        Cpu { user: exact * share, system: exact * (1.0 - share) }
    }
}

/// Ticks in which others may seem to have run while they did next to nothing: the kernel rounds the time of each process down to ticks, so that one that
/// runs for a moment may come to the next tick by it, and two such moments in a run are nothing unusual. Fewer would have a start of 50 ms broken by one
/// of them; more would hide what takes a fifth of such a start.
const OTHERS_TICKS_UNSURE: f64 = 2.0;

/// Programs that are no part of the experiment: neither this one nor below it.
pub struct Others {
    began: Instant,
    before: i64,
    sees_all: bool,
}

/// What they took of the time of all cores that are online.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    /// The share.
    pub share: f64,
    /// The share that may be rounding alone.
    pub unsure: f64,
}

impl Others {
    /// Looks at them for the first time.
    pub fn new() -> Others {
        let sees_all = sees_all();
        Others { began: Instant::now(), before: ticks_of_others(sees_all), sees_all }
    }

    /// What they took since. Who ended is counted with the one that began him, and waited for him.
    pub fn taken(&self) -> Taken {
        let ticks = (ticks_of_others(self.sees_all) - self.before).max(0);
        taken(ticks, self.began.elapsed().as_secs_f64(), online(&stat()))
    }
}

/// Shares of so many ticks in a run of that length, on that many cores.
fn taken(ticks: i64, seconds: f64, cores: usize) -> Taken {
    let all = (seconds * TICKS * cores as f64).max(1.0);
    Taken { share: ticks as f64 / all, unsure: OTHERS_TICKS_UNSURE / all }
}

/// Whether all programs of the machine can be seen: `/proc` is that of the first PID namespace, and hides nobody.
pub fn sees_all() -> bool {
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    namespace.as_os_str() == FIRST_PID_NAMESPACE && Path::new("/proc/1/stat").exists()
}

/// Cores of the machine that are online, whether this process may use them or not: one at least.
fn online(stat: &str) -> usize {
    let is_core = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    stat.lines().filter(is_core).count().max(1)
}

/// Ticks of all others so far. Where they cannot be seen at most so many: those in which any core was busy with programs, less ours.
fn ticks_of_others(sees_all: bool) -> i64 {
    let (processes, own) = (Processes::read(), std::process::id() as i32);
    match sees_all {
        true => processes.ticks(|pid| !processes.is_below(pid, &[own, KERNEL_THREADS])),
        false => programs(&stat()) - processes.ticks(|pid| processes.is_below(pid, &[own])),
    }
}

/// Ticks of all cores in programs, and in the kernel on their behalf.
fn programs(stat: &str) -> i64 {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "));
    line.into_iter()
        .flat_map(|counts| counts.split_whitespace().take(3))
        .filter_map(|word| word.parse::<i64>().ok())
        .sum()
}

/// Processes that can be seen, each with its parent and its ticks; those of its children that have ended are among them.
#[derive(Default)]
struct Processes(HashMap<i32, (i32, i64)>);

impl Processes {
    fn read() -> Processes {
        let texts = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
            entry.file_name().to_str()?.parse::<i32>().ok()?;
            fs::read_to_string(entry.path().join("stat")).ok()
        });
        Processes::of(texts)
    }

    /// Of the texts of `/proc/PID/stat`; what is none is left out.
    fn of(texts: impl Iterator<Item = String>) -> Processes {
        let one = |text: String| {
            let pid = text.split_once(' ')?.0.parse().ok()?;
            let fields = process::stat_fields(&text);
            let ticks = (11..=14).map(|at| fields.get(at)?.parse::<i64>().ok()).sum::<Option<i64>>()?;
            Some((pid, (fields.get(1)?.parse().ok()?, ticks)))
        };
        Processes(texts.filter_map(one).collect())
    }

    /// Whether a process is one of these, or below one.
    fn is_below(&self, mut pid: i32, these: &[i32]) -> bool {
        // A process may become another's child while they are read: no more steps than there are processes.
        for _ in 0..self.0.len() {
            match self.0.get(&pid) {
                _ if these.contains(&pid) => return true,
                Some(&(parent, _)) => pid = parent,
                None => return false,
            }
        }
        false
    }

    fn ticks(&self, is_meant: impl Fn(i32) -> bool) -> i64 {
        self.0.iter().filter(|&(&pid, _)| is_meant(pid)).map(|(_, (_, ticks))| ticks).sum()
    }
}

fn stat() -> String {
    fs::read_to_string("/proc/stat").unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{
        process::Command,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn cores_are_told_apart() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 5 6 7 8 0 0\ncpu1 10 0 0 90 0 0 0 0 0 0\nintr 1 2 3 4 5 6 7 8\n";
        assert_eq!(ticks_of(stat, &[0]), Ticks { busy: 19, idle: 45, stolen: 8 });
        let both = ticks_of(stat, &[0, 1]);
        assert_eq!(both, Ticks { busy: 29, idle: 135, stolen: 8 });
        assert_eq!((ticks_of(stat, &[7]), ticks_of("", &[0])), (Ticks::default(), Ticks::default()));
        assert_eq!(softirq_of(stat, &[0, 1, 7]), [(0, 0.07), (1, 0.0)]);
        let mut sum = Ticks::default();
        sum.add_since(ticks_of(stat, &[0]), both);
        assert_eq!((sum.busy, sum.busy_share()), (10, 0.1));
    }

    #[test]
    fn the_exact_sum_in_parts() {
        let time = |user, system, exact| Time { ticks: Cpu { user, system }, exact };
        let parts = time(1.3, 1.1, 2.2).since(time(1.0, 1.0, 2.0));
        assert!((parts.user - 0.15).abs() < 1e-9 && (parts.system - 0.05).abs() < 1e-9);
        let parts = time(1.0, 1.0, 2.004).since(time(1.0, 1.0, 2.0));
        assert!((parts.user - 0.004).abs() < 1e-9 && parts.system == 0.0);
    }

    const STAT: &str = "cpu  40 5 15 900 5 3 2 10 0 0\ncpu0 20 5 5 400 5 3 2 10 0 0\ncpu1 10 0 5 250 0 0 0 0 0 0\n\
                        cpu3 10 0 5 250 0 0 0 0 0 0\nintr 1 2\ncpufreq 7\n";

    #[test]
    fn all_cores_that_are_online() {
        assert_eq!((online(STAT), online(""), programs(STAT), programs("")), (3, 1, 60, 0));
        // A second of three cores.
        assert_eq!(taken(6, 1.0, online(STAT)), Taken { share: 0.02, unsure: 2.0 / 300.0 });
        // Of a start of 50 ms two ticks say nothing yet, and a third does.
        let [two, three] = [2, 3].map(|ticks| taken(ticks, 0.05, 2));
        let surely = |taken: Taken| taken.share - taken.unsure;
        assert!(two.share > 0.02 && surely(two) <= 0.0 && surely(three) > 0.02, "{two:?} {three:?}");
    }

    /// The text of a process: with a name that looks like fields, and these ticks of its own and of its children.
    fn process(pid: i32, parent: i32, own: i64, children: i64) -> String {
        format!("{pid} (a) b 1) S {parent} 1 1 0 -1 0 0 0 0 0 {own} 1 {children} 2 20 0 1 0 5")
    }

    #[test]
    fn ours_are_those_below_us() {
        let texts = [
            process(1, 0, 10, 0),
            process(2, 0, 5, 0),
            process(9, 2, 70, 0),
            process(40, 1, 100, 0),
            process(41, 40, 1000, 10_000),
            process(50, 1, 3, 4),
            "no process".to_owned(),
        ];
        let processes = Processes::of(texts.into_iter());
        let others = processes.ticks(|pid| !processes.is_below(pid, &[40, KERNEL_THREADS]));
        assert_eq!(others, 13 + (3 + 1 + 4 + 2));
        assert_eq!(processes.ticks(|pid| processes.is_below(pid, &[40])), 103 + 11_003);
        // Two that are each other's parents, as it may seem for a moment.
        let circle = Processes::of([process(5, 6, 1, 0), process(6, 5, 1, 0)].into_iter());
        assert!(!circle.is_below(5, &[40]));
    }

    #[test]
    fn what_is_not_seen_is_bounded_by_busy_cores() {
        // Busy here and in a child: of cores that are busy all the time we take a part, and what is left is others' at most.
        let (seen, bounded) = (
            Others::new(),
            Others { sees_all: false, before: ticks_of_others(false), began: Instant::now() },
        );
        let mut child =
            Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell is there");
        while seen.began.elapsed() < Duration::from_millis(200) {}
        let (seen, bounded) = (seen.taken(), bounded.taken());
        let _ = (child.kill(), child.wait());
        let all = Others { began: Instant::now(), before: 0, sees_all: true };
        assert!(
            (0.0..=1.5).contains(&seen.share) && (0.0..=1.5).contains(&bounded.share),
            "{seen:?} {bounded:?}"
        );
        assert!(all.taken().share > 0.0);
    }
}
