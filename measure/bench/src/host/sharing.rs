//! What cores pay for sharing: an atomic change of a line that is at hand, the way of a line from one core to another, and
//! what it costs to sleep and to be woken. The simulation of more cores than there are is fed with these.

use std::{
    fmt,
    hint::{self, black_box},
    sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::mmsg;

/// What was measured.
#[derive(Clone, Debug, Default)]
pub struct Sharing {
    /// Nanoseconds of an atomic read-modify-write on a line that nobody else uses, best run.
    pub atomic_ns: f64,
    /// What it takes more if another core had the line, for each pair of cores that this process may use.
    pub pairs: Vec<Pair>,
    /// Waking, on two cores that this process may use; on one core alone it says nothing of locks.
    pub wake: Option<Wake>,
}

/// Two cores, and nanoseconds of a line's way from one to the other, best run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The cores.
    pub cores: (usize, usize),
    /// See [`Sharing::pairs`].
    pub transfer_ns: f64,
}

/// A thread wakes another that sleeps (a futex on Linux); medians in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wake {
    /// What the call costs the one that wakes.
    pub call_ns: f64,
    /// From before that call until the other runs.
    pub awake_ns: f64,
}

/// Cores of which pairs are measured: 2016 pairs at a millisecond each still end in time.
const CORES_MAX: usize = 64;
/// Changes of a run, and ways there and back of a run.
const ROUNDS: u32 = 1000;
/// Runs of a pair at least: the first brings both cores to their frequency.
const RUNS_MIN: usize = 3;
/// How often one is woken.
const WAKES: usize = 150;
/// How long before that the other had time to fall asleep: some ten times what it takes.
const ASLEEP: Duration = Duration::from_micros(60);
/// A pair that takes longer does not run at the same time, as two cores of a busy host may not.
const PAIR_MOST: Duration = Duration::from_millis(500);
/// Spins between two looks at the clock.
const SPINS: u32 = 1 << 12;

/// Measures for about `time` in all, for a millisecond each pair at least.
pub fn measure(cores: &[usize], time: Duration) -> Sharing {
    let cores = &cores[..cores.len().min(CORES_MAX)];
    let atomic_ns = atomic();
    let all: Vec<(usize, usize)> = cores
        .iter()
        .enumerate()
        .flat_map(|(at, &one)| cores[at + 1..].iter().map(move |&other| (one, other)))
        .collect();
    let each = (time / all.len().max(1) as u32).max(Duration::from_millis(1));
    let pair = |&cores: &(usize, usize)| {
        let way_ns = transfer(cores, each)?;
        Some(Pair { cores, transfer_ns: (way_ns - atomic_ns).max(0.0) })
    };
    let pairs = all.iter().filter_map(pair).collect();
    Sharing { atomic_ns, pairs, wake: all.first().and_then(|&cores| wake(cores)) }
}

fn atomic() -> f64 {
    let count = AtomicU32::new(0);
    let run = |_| {
        let start = Instant::now();
        for _ in 0..ROUNDS {
            black_box(&count).fetch_add(1, SeqCst);
        }
        start.elapsed().as_nanos() as f64 / f64::from(ROUNDS)
    };
    (0..50).map(run).fold(f64::INFINITY, f64::min)
}

/// Whose turn it is, on a line of its own.
#[derive(Default)]
#[repr(align(128))]
struct Turn(AtomicU32);

/// Waits until `turn` is `from` and makes it `to`; false where `is_over` says so before.
fn take(turn: &AtomicU32, from: u32, to: u32, is_over: impl Fn() -> bool) -> bool {
    let mut spins = 0u32;
    while turn.compare_exchange_weak(from, to, SeqCst, SeqCst).is_err() {
        hint::spin_loop();
        spins += 1;
        if spins.is_multiple_of(SPINS) && is_over() {
            return false;
        }
    }
    true
}

/// Nanoseconds of one way of a line between two cores; `None` where the process may not use both, or both never run at the
/// same time.
fn transfer((one, other): (usize, usize), time: Duration) -> Option<f64> {
    let (turn, is_over) = (Turn::default(), AtomicBool::new(false));
    let is_pinned = AtomicU8::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            is_pinned.store(1 + u8::from(mmsg::pin(other).is_ok()), SeqCst);
            while take(&turn.0, 1, 0, || is_over.load(SeqCst)) {}
        });
        let measured = scope.spawn(|| {
            let found = mmsg::pin(one).is_ok().then(|| there_and_back(&turn.0, &is_pinned, time));
            is_over.store(true, SeqCst);
            found.flatten()
        });
        measured.join().ok().flatten()
    })
}

fn there_and_back(turn: &AtomicU32, is_pinned: &AtomicU8, time: Duration) -> Option<f64> {
    let (start, mut best, mut runs) = (Instant::now(), f64::INFINITY, 0);
    while is_pinned.load(SeqCst) == 0 && start.elapsed() < PAIR_MOST {
        thread::yield_now();
    }
    while is_pinned.load(SeqCst) == 2 && (runs < RUNS_MIN || start.elapsed() < time) {
        let began = Instant::now();
        if !(0..ROUNDS).all(|_| take(turn, 0, 1, || start.elapsed() > PAIR_MOST)) {
            break;
        }
        best = best.min(began.elapsed().as_nanos() as f64 / f64::from(2 * ROUNDS));
        runs += 1;
    }
    (runs > 0).then_some(best)
}

/// One thread sleeps on one core and is woken from the other, again and again.
fn wake((one, other): (usize, usize)) -> Option<Wake> {
    let origin = Instant::now();
    let now = || origin.elapsed().as_nanos() as u64;
    // When it was woken, 0: it sleeps; and how long that took, 0: it is not yet awake.
    let (called, took) = (AtomicU64::new(0), AtomicU64::new(0));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let is_pinned = mmsg::pin(other).is_ok();
            while !is_over.load(SeqCst) {
                let at = called.swap(0, SeqCst);
                if at > 0 {
                    took.store(now().saturating_sub(at).max(1), SeqCst);
                }
                thread::park();
            }
            is_pinned
        });
        let handle = sleeper.thread().clone();
        let waker = scope.spawn(|| {
            let handle = handle;
            let is_pinned = mmsg::pin(one).is_ok();
            let mut found = (Vec::new(), Vec::new());
            for _ in 0..WAKES {
                let until = Instant::now() + ASLEEP;
                while Instant::now() < until {
                    hint::spin_loop();
                }
                let began = now().max(1);
                called.store(began, SeqCst);
                handle.unpark();
                found.0.push(now() - began);
                while took.load(SeqCst) == 0 {
                    thread::yield_now();
                }
                found.1.push(took.swap(0, SeqCst));
            }
            is_over.store(true, SeqCst);
            handle.unpark();
            (is_pinned, found)
        });
        let (is_pinned, (calls, ways)) = waker.join().ok()?;
        let are_pinned = sleeper.join().ok()? && is_pinned;
        are_pinned.then(|| Wake { call_ns: middle(calls), awake_ns: middle(ways) })
    })
}

fn middle(mut values: Vec<u64>) -> f64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0) as f64
}

impl Sharing {
    /// The median way of a line between two cores; `None` with one core.
    pub fn transfer_ns(&self) -> Option<f64> {
        let mut ways: Vec<f64> = self.pairs.iter().map(|pair| pair.transfer_ns).collect();
        ways.sort_by(f64::total_cmp);
        ways.get(ways.len() / 2).copied()
    }

    /// As a JSON object.
    pub fn json(&self) -> Value {
        let pair =
            |pair: &Pair| json!({ "cores": [pair.cores.0, pair.cores.1], "transfer_ns": pair.transfer_ns });
        json!({
            "atomic_ns": self.atomic_ns,
            "transfer_ns": self.transfer_ns(),
            "pairs": self.pairs.iter().map(pair).collect::<Vec<_>>(),
            "wake": self.wake.map(|wake| json!({ "call_ns": wake.call_ns, "awake_ns": wake.awake_ns })),
        })
    }
}

/// Pairs that are shown each; of more, least, median and most.
const SHOWN_MAX: usize = 28;

/// Lines as the report has them, without a final newline.
impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an atomic change of a line at hand {:12.1} ns", self.atomic_ns)?;
        if self.pairs.len() <= SHOWN_MAX {
            for Pair { cores: (one, other), transfer_ns } in &self.pairs {
                let name = format!("more, between cores {one} and {other}");
                write!(f, "\n{name:34} {transfer_ns:12.1} ns")?;
            }
        } else {
            let ways = || self.pairs.iter().map(|pair| pair.transfer_ns);
            let (least, most) = (ways().fold(f64::INFINITY, f64::min), ways().fold(0.0, f64::max));
            let middle = self.transfer_ns().unwrap_or(0.0);
            write!(
                f,
                "\nmore, from another core            {middle:12.1} ns (median of {} pairs; ",
                self.pairs.len()
            )?;
            write!(f, "{least:.1} to {most:.1})")?;
        }
        match self.wake {
            Some(Wake { call_ns, awake_ns }) => {
                write!(
                    f,
                    "\nwaking a thread that sleeps        {call_ns:12.0} ns, which runs after {awake_ns:.0} ns"
                )
            }
            None => write!(f, "\ncores that share                   {}", super::NOT_TOLD),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{cores::core_numbers, system::System};

    #[test]
    fn this_machine_pays() {
        let cores = core_numbers(&System::this());
        let sharing = measure(&cores[..cores.len().min(3)], Duration::from_millis(20));
        assert!(sharing.atomic_ns > 0.1 && sharing.atomic_ns < 1e6, "{sharing:?}");
        assert!(sharing.pairs.iter().all(|pair| (0.0..1e9).contains(&pair.transfer_ns)), "{sharing:?}");
        if let Some(wake) = sharing.wake {
            assert!(wake.call_ns > 0.0 && wake.awake_ns > 0.0, "{sharing:?}");
        }
    }

    #[test]
    fn one_core_and_none_share_nothing() {
        for cores in [&[][..], &[0], &[0, 1_000_000]] {
            let sharing = measure(cores, Duration::from_millis(1));
            assert!(sharing.pairs.is_empty() && sharing.wake.is_none(), "{sharing:?}");
            assert!(sharing.json()["transfer_ns"].is_null() && sharing.to_string().ends_with("not told"));
        }
    }

    #[test]
    fn many_pairs_are_summed_up() {
        let pair = |other: usize| Pair { cores: (0, other), transfer_ns: other as f64 };
        let sharing = Sharing { atomic_ns: 1.0, pairs: (1..=40).map(pair).collect(), wake: None };
        assert!(sharing.to_string().contains("21.0 ns (median of 40 pairs; 1.0 to 40.0)"), "{sharing}");
        assert_eq!(Sharing { pairs: vec![pair(1)], ..sharing }.to_string().lines().count(), 3);
    }
}
