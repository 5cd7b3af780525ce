//! Heap allocations, locks and atomic read-modify-writes that an answer takes, counted under [`callgrind`](super::callgrind).
//!
//! | counted | what |
//! |---|---|
//! | allocations | calls of malloc and its kind, and of jemalloc's (named) |
//! | locks | calls of pthread_mutex_lock, pthread_rwlock_rdlock and their kind, and of named's own isc_rwlock_lock |
//! | atomics | executed instructions with a lock prefix, and xchg with memory, which locks without one |
//! | in libc | how many of these glibc executes around system calls: for a batch of queries, not for each |
//!
//! No lock between threads is taken without an atomic instruction, so 0 of these is 0 of all locks, those of Rust too, which are no calls.
//! The inverse does not hold: glibc leaves the prefix out in a process of one thread (NSD). Waiting for a lock is not counted:
//! valgrind runs one thread at a time.

use std::{cell::RefCell, collections::BTreeMap, path::PathBuf};

use serde_json::json;

use super::{
    Lab, Subject, Values,
    callgrind::{
        self, Outcome,
        atomics::Atomics,
        counts::{Counts, OPTIONS},
    },
    instructions::codes,
    table,
};
use crate::{Error, error::ServerProblem, figures, statistics};

/// What is counted, as figures are named, in the order of [`Seen::counts`].
const METRICS: [&str; 6] =
    ["allocations", "locks", "atomics", "in libc", "unread instructions", "instructions"];
/// Of these the ones that tables show.
const SHOWN: usize = 4;
/// Functions with fewer atomic instructions an answer are not named: the start is not the same to the instruction in two runs.
const FEWEST: f64 = 0.005;
/// Functions named of each server.
const PLACES_MAX: usize = 5;

/// What one run did.
struct Seen {
    /// By [`METRICS`].
    counts: [u64; METRICS.len()],
    /// Atomic instructions by function.
    by_function: BTreeMap<String, u64>,
}

/// What was found.
#[derive(Default)]
struct Found {
    values: [Values; METRICS.len()],
    /// Contender and case with the codes of its answers.
    codes: Vec<(String, String, String)>,
    /// Rows of the table of functions: contender, case, function, atomic instructions an answer.
    functions: Vec<Vec<String>>,
}

/// Measures all contenders in all cases.
pub fn run(lab: &mut Lab) -> Result<(), Error> {
    callgrind::check()?;
    Atomics::check()?;
    let atomics = RefCell::new(Atomics::default());
    let mut found = Found::default();
    let read = |files: &[PathBuf]| seen(files, &mut atomics.borrow_mut());
    callgrind::rounds(lab, &OPTIONS, read, |lab, subject, at, two| push(lab, subject, at, &two, &mut found))?;
    if found.values[0].contenders().is_empty() {
        return Err(Error::Nobody);
    }
    found.values.iter_mut().for_each(|values| values.arrange(&lab.labels()));
    report(lab, found);
    Ok(())
}

fn seen(files: &[PathBuf], atomics: &mut Atomics) -> Result<Seen, Error> {
    let counts = Counts::read(files)?;
    let executed = atomics.executed(&counts)?;
    let (allocations, locks) = (counts.called(allocates), counts.called(locks));
    let counts = [allocations, locks, executed.all, executed.in_libc, executed.unread, counts.instructions()];
    Ok(Seen { counts, by_function: executed.by_function })
}

fn push(
    lab: &mut Lab,
    subject: &Subject,
    at: &str,
    two: &[(Seen, Outcome); 2],
    found: &mut Found,
) -> Result<(), Error> {
    // Every server allocates at its start, and begins threads or counts references.
    if two.iter().any(|(seen, _)| seen.counts[0] == 0 || seen.counts[2] == 0) {
        let contender = subject.name.text().to_owned();
        return Err(Error::Server { contender, problem: ServerProblem::Uncounted, said: String::new() });
    }
    let mut each = [0.0; METRICS.len()];
    for (metric, each) in each.iter_mut().enumerate() {
        *each = callgrind::an_answer(two, |seen| seen.counts[metric]);
        found.values[metric].push(&subject.label, at, *each);
    }
    let Outcome(outcome) = &two[1].1;
    found.codes.push((subject.label.clone(), at.to_owned(), codes(&outcome["rcodes"])));
    let functions = functions(two);
    let row = |(name, count): &(String, f64)| {
        vec![subject.label.clone(), at.to_owned(), name.clone(), format!("{count:.3}")]
    };
    found.functions.extend(functions.iter().take(PLACES_MAX).map(row));
    let by_metric: BTreeMap<&str, f64> = METRICS.into_iter().zip(each).collect();
    lab.record.raw.push(json!({
        "allocations_of": subject.label, "at": at, "counts": two.each_ref().map(|one| one.0.counts), "an_answer": by_metric,
        "answered": two.each_ref().map(|one| one.1.answered()), "atomics_in": functions, "rcodes": outcome["rcodes"],
    }));
    Ok(())
}

/// Functions with atomic instructions by answer, the most first.
fn functions(two: &[(Seen, Outcome); 2]) -> Vec<(String, f64)> {
    let names = two[1].0.by_function.keys();
    let of =
        |name: &String| callgrind::an_answer(two, |seen| seen.by_function.get(name).copied().unwrap_or(0));
    let mut found: Vec<(String, f64)> = names.map(|name| (name.clone(), of(name))).collect();
    found.retain(|(_, count)| *count >= FEWEST);
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    found
}

/// Whether a function takes memory.
fn allocates(name: &str) -> bool {
    const NAMES: [&str; 11] = [
        "malloc",
        "calloc",
        "realloc",
        "valloc",
        "pvalloc",
        "reallocarray",
        "memalign",
        "aligned_alloc",
        "posix_memalign",
        "mallocx",
        "rallocx",
    ];
    NAMES.contains(&name)
}

/// Whether a function takes a lock, or tries to.
fn locks(name: &str) -> bool {
    let name = match name.trim_start_matches('_').strip_prefix("pthread_") {
        None => return name == "isc_rwlock_lock",
        Some(name) => name,
    };
    let kinds = ["mutex_", "rwlock_", "spin_"];
    let Some(name) = kinds.into_iter().find_map(|kind| name.strip_prefix(kind)) else { return false };
    let ways = ["try", "timed", "clock", "cond_"];
    let name = ways.into_iter().find_map(|way| name.strip_prefix(way)).unwrap_or(name);
    matches!(name, "lock" | "rdlock" | "wrlock")
}

fn report(lab: &mut Lab, found: Found) {
    let places: Vec<String> = lab.recipe.cases.iter().map(|case| case.name.clone()).collect();
    for at in &places {
        let row = |name: &&str| {
            let mut row = vec![(*name).to_owned()];
            // No minus before a zero.
            let each = |values: &Values| (statistics::median(values.of(name, at)) * 1e3).round() / 1e3 + 0.0;
            row.extend(found.values[..SHOWN].iter().map(|values| format!("{:.3}", each(values))));
            let codes = found.codes.iter().find(|one| one.0 == **name && one.1 == *at);
            row.push(codes.map_or_else(String::new, |one| one.2.clone()));
            row
        };
        let names = found.values[0].contenders().into_iter();
        let names: Vec<&str> = names.filter(|name| !found.values[0].of(name, at).is_empty()).collect();
        let columns = ["server", METRICS[0], METRICS[1], METRICS[2], METRICS[3], "codes"];
        let note = "By answer: the difference of two runs, of which the second has twice as many queries.";
        lab.record.tables.push(table(at, &columns, names.iter().map(row).collect(), note));
    }
    if !found.functions.is_empty() {
        let columns = ["server", "queries", "function", "atomics"];
        let note = "By answer, the most of each server.";
        lab.record.tables.push(table("Where atomic instructions are", &columns, found.functions, note));
    }
    for (metric, values) in METRICS.into_iter().zip(&found.values).take(SHOWN) {
        lab.record.figures.extend(values.figures(metric, figures::AN_ANSWER, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_by_name() {
        for name in ["malloc", "realloc", "posix_memalign", "mallocx", "rallocx"] {
            assert!(allocates(name), "{name}");
        }
        assert!(!["free", "xallocx", "my_malloc", "malloc_usable_size"].into_iter().any(allocates));
        for name in [
            "pthread_mutex_lock",
            "__pthread_mutex_trylock",
            "pthread_rwlock_timedrdlock",
            "pthread_rwlock_wrlock",
            "pthread_spin_lock",
            "pthread_mutex_cond_lock",
            "pthread_mutex_clocklock",
            "isc_rwlock_lock",
        ] {
            assert!(locks(name), "{name}");
        }
        assert!(
            !["pthread_mutex_unlock", "pthread_rwlock_unlock", "flock", "pthread_cond_wait"]
                .into_iter()
                .any(locks)
        );
    }
}
