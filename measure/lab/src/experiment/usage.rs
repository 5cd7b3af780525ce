//! Who used the processor: how busy the cores of servers and generator were while one was measured, and what programs took that are no part
//! of the experiment.
//!
//! Both are the system's counts (proc(5), proc_stat(5)), in ticks of 10 ms: they say something of seconds, nothing of a single trial.

use std::{fs, time::Instant};

use crate::{
    place,
    process::{self, Cpu, Process},
};

/// Ticks a second in `/proc`: 100 on all Linux systems (USER_HZ of the kernel's interface).
const TICKS: f64 = 100.0;
/// The kernel's own threads are children of this process: what they do, they do for somebody, and mostly for us.
const KERNEL_THREADS: i32 = 2;

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
        ticks_of(&fs::read_to_string("/proc/stat").unwrap_or_default(), cores)
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
    softirq_of(&fs::read_to_string("/proc/stat").unwrap_or_default(), cores)
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

/// Programs that are no part of the experiment: neither this one nor below it.
pub struct Others {
    began: Instant,
    before: u64,
}

impl Others {
    /// Looks at them for the first time.
    pub fn new() -> Others {
        Others { began: Instant::now(), before: others() }
    }

    /// The share of all cores' time that they took since. Who ended is counted with the one that began him, and waited for him.
    pub fn share(&self) -> f64 {
        let ticks = others().saturating_sub(self.before);
        let all = self.began.elapsed().as_secs_f64() * TICKS * place::cores().len() as f64;
        ticks as f64 / all.max(1.0)
    }
}

/// Ticks of all processes that are none of ours so far, with those of their children that have ended.
fn others() -> u64 {
    let (parents, own) = (process::parents(), std::process::id() as i32);
    let is_ours = |mut pid: i32| {
        // A process may become another's child while this looks: no more steps than there are processes.
        for _ in 0..parents.len() {
            if pid == own || pid == KERNEL_THREADS {
                return true;
            }
            match parents.get(&pid) {
                Some(&parent) => pid = parent,
                None => return false,
            }
        }
        false
    };
    let ticks = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields = process::stat_fields(&stat);
        (11..=14).map(|at| fields.get(at)?.parse::<u64>().ok()).sum::<Option<u64>>()
    };
    parents.keys().filter(|&&pid| !is_ours(pid)).filter_map(ticks).sum()
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

    #[test]
    fn ours_are_not_others() {
        let others = Others::new();
        // Busy for some ticks, here and in a child: both are ours.
        let mut child =
            Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell is there");
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(200) {}
        let (with_child, all) = (others.share(), Others { began, before: 0 });
        let _ = (child.kill(), child.wait());
        assert!((0.0..=1.5).contains(&with_child) && all.share() > 0.0, "{with_child}");
    }
}
