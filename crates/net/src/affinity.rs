//! Which processor each worker runs on.
//!
//! Only processors in the affinity mask of the process are used: whoever started it (a service manager, a
//! container, `taskset`) had a reason for that mask.

use std::{io, thread};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// How workers are tied to processors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// Worker `i` runs on the `i`-th processor of the process's affinity mask, round again where there are more
    /// workers than processors.
    #[default]
    EachToItsOwn,
    /// The system places workers where it likes.
    Off,
    /// Worker `i` runs on processor `list[i]`, round again where the list is shorter than the workers.
    List(Vec<usize>),
}

/// The processors this process may use, in ascending order; empty if the system does not tell.
#[must_use]
pub fn allowed() -> Vec<usize> {
    match sched_getaffinity(None) {
        Ok(set) => (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect(),
        Err(_) => Vec::new(),
    }
}

/// How many workers to run where nobody says: one per processor this process may use, fewer if a quota of its
/// control group says so.
#[must_use]
pub fn worker_count_default() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The processor of each of `workers` workers, `None` for those not tied to one. An `Err` is a processor of an
/// explicit list that this process may not use.
pub(crate) fn plan(pin: &Pin, workers: usize) -> Result<Vec<Option<usize>>, usize> {
    let allowed = allowed();
    let chosen = match pin {
        Pin::Off => &[],
        Pin::EachToItsOwn => allowed.as_slice(),
        Pin::List(list) => {
            if let Some(&foreign) = list.iter().find(|cpu| !allowed.contains(cpu)) {
                return Err(foreign);
            }
            list
        }
    };
    if chosen.is_empty() {
        return Ok(vec![None; workers]);
    }
    Ok((0..workers).map(|worker| Some(chosen[worker % chosen.len()])).collect())
}

/// Ties the calling thread to one processor.
pub(crate) fn pin_to(cpu: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_go_round_the_processors() {
        let allowed = allowed();
        assert!(!allowed.is_empty());
        let plan = plan(&Pin::EachToItsOwn, allowed.len() + 1).unwrap();
        assert_eq!(plan[0], Some(allowed[0]));
        assert_eq!(plan[allowed.len()], Some(allowed[0]));
    }

    #[test]
    fn a_foreign_processor_is_named() {
        assert_eq!(plan(&Pin::List(vec![CpuSet::MAX_CPU - 1]), 1), Err(CpuSet::MAX_CPU - 1));
        assert_eq!(plan(&Pin::Off, 2), Ok(vec![None, None]));
        assert_eq!(plan(&Pin::List(vec![]), 1), Ok(vec![None]));
    }

    #[test]
    fn a_pinned_thread_stays() {
        thread::spawn(|| {
            let cpu = *allowed().last().unwrap();
            pin_to(cpu).unwrap();
            assert_eq!(allowed(), [cpu]);
            assert_eq!(rustix::thread::sched_getcpu(), cpu);
        })
        .join()
        .unwrap();
    }
}
