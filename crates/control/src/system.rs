//! The few calls into the system that need `unsafe`: giving memory back, leaving processors to others; and what the system counts of this process.
#![allow(unsafe_code)] // calls of the C library, each argued below

use std::io;
use std::path::Path;

use zone::Pack;

use crate::mappings;
use crate::stamp::Stamp;

/// Maps a pack and checks it. All pages are brought in at once, which is several times faster than one fault
/// for each: checking reads them all. Returns the state of the file too.
pub fn map_pack(path: &Path) -> Result<(Pack, Stamp), String> {
    let (file, metadata) = crate::read::open_regular(path)?;
    let stamp = Stamp::of(&file, &metadata).map_err(|error| crate::text::cannot("read", &error))?;
    let backing = mappings::map(&file, path).map_err(|error| crate::text::cannot("map", &error))?;
    let pack = Pack::open(backing).map_err(|error| error.to_string());
    match pack {
        Ok(pack) if pack.is_damaged() => Err("was cut off while it was read".into()),
        pack => Ok((pack?, stamp)),
    }
}

/// Has the system take a mapped pack out of memory: its pages are read from the file when they are looked at next. For measuring what
/// that costs. A pack that is not mapped from a file stays.
pub fn page_out(pack: &Pack) -> io::Result<()> {
    if !pack.is_mapped() {
        return Ok(());
    }
    let octets = pack.octets();
    // SAFETY: the range is a map that the pack owns. The advice changes no octet of it: whoever reads one meanwhile waits until its page
    // is read again.
    match unsafe { libc::madvise(octets.as_ptr().cast_mut().cast(), octets.len(), libc::MADV_PAGEOUT) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Blocks above this are pages of their own, which go back to the system when freed. Setting it keeps the C
/// library from raising it to the size of the largest block ever freed, which for zones is large.
const MAP_THRESHOLD_OCTETS: libc::c_int = 256 << 10;

/// Sets the allocator up for a process that allocates much at times and little in between.
pub fn prepare_allocator() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes two integers; called before other threads exist, as its manual asks.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAP_THRESHOLD_OCTETS);
    }
}

/// Gives free memory back to the system, after a load.
pub fn trim_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes an integer and may be called at any time by any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has all others go before the calling thread, which loads, where they want its processor, and all that it starts.
pub fn yield_to_others() {
    // Operators see in lists of threads who has this priority, and why.
    let _ = rustix::thread::set_name(c"loader");
    give_way();
}

/// The same for any thread. Without effect where the system does not let it: it takes as much then as it did.
pub fn give_way() {
    // Of this thread, as 0 stands for; the lowest value there is.
    let _ = rustix::process::setpriority_process(None, 19);
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: reads the structure that it is given, for the time of the call. It changes nothing but when this thread runs.
    unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        // Nor does it displace anybody when it wakes up.
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters);
    }
}

/// Proportional set size of this process in octets: its memory, with what it shares divided among the sharers.
pub fn memory_octets() -> Option<u64> {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// What the system counts of this process. `None`: it does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Process {
    /// Time of processors, of all threads.
    pub(crate) cpu_seconds: f64,
    pub(crate) resident_octets: Option<u64>,
    pub(crate) virtual_octets: Option<u64>,
    pub(crate) open_descriptors: Option<u64>,
    pub(crate) most_descriptors: Option<u64>,
}

/// Reads them. The cost does not depend on how much memory or how many descriptors there are.
pub(crate) fn process() -> Process {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = statm.split_ascii_whitespace().map(|pages| pages.parse::<u64>().ok());
    let octets = |pages: u64| pages * rustix::param::page_size() as u64;
    // Of this folder kernels from 6.2 on say as the length how many entries there are; others nothing.
    let descriptors = std::fs::metadata("/proc/self/fd").map(|folder| folder.len()).ok();
    Process {
        cpu_seconds: time.tv_sec as f64 + time.tv_nsec as f64 / 1e9,
        virtual_octets: pages.next().flatten().map(octets),
        resident_octets: pages.next().flatten().map(octets),
        open_descriptors: descriptors.filter(|count| *count > 0),
        most_descriptors: rustix::process::getrlimit(rustix::process::Resource::Nofile).current,
    }
}

/// A number that nobody can guess, for the index of a pack.
pub fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    // Its keys come from the system's random numbers, once a thread, and differ with each call.
    RandomState::new().hash_one(0)
}
