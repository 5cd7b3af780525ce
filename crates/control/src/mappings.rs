//! Mapped packs whose files are cut off, or cannot be read any more, while they are served: SIGBUS survived.
//!
//! ```text
//! map:      pages, then a row here, then the first octet is read
//! SIGBUS:   which row? -- none ----> what the signal did before: the process ends
//!              `-- flag of the row, BEGUN + 1, zeros over the whole mapping, DONE + 1; the instruction goes on with zeros
//! reader:   reads octets, makes something of them, and then looks: has BEGUN changed (workers), is the flag set (all others)?
//! unmap:    the row goes, then the pages
//! ```
//!
//! Zeros can be read only after the flag and BEGUN were stored. So whoever finds both as they were before it read has read no zeros; and what
//! was made of others goes nowhere. Between BEGUN and DONE another thread may still read what the file has, and zeros a moment later: whoever
//! begins then waits first ([`settled`]).
//!
//! Not seen: octets of the last page that is left, behind the new end, which are zeros without a signal until the file's length is looked at
//! ([`zone::pack::Mapping::look`]); and a file whose octets are exchanged in place.
#![allow(unsafe_code)] // a signal's handler, and maps that it changes; see each

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use zone::Backing;
use zone::pack::{Mapped, Mapping};

/// Packs that are mapped at a time: as many maps as the system lets a process have unless told otherwise (`vm.max_map_count`). What is more is
/// read into memory. 24 octets each, which are there once they are used.
pub const MAPPINGS_MAX: usize = 1 << 16;

/// How long who begins to read waits for another thread that is about to put zeros in the place of what is lost: for one system call, and for
/// the processor.
const SETTLE_MAX: Duration = Duration::from_millis(20);

/// One mapping. Written by who holds [`FREE`], read by handlers at any time; `turn` is odd meanwhile.
struct Row {
    turn: AtomicU32,
    is_damaged: AtomicBool,
    start: AtomicUsize,
    octets: AtomicUsize,
}

impl Row {
    const fn empty() -> Row {
        Row {
            turn: AtomicU32::new(0),
            is_damaged: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            octets: AtomicUsize::new(0),
        }
    }

    fn set(&self, start: usize, octets: usize) {
        let turn = self.turn.load(Ordering::Relaxed);
        self.turn.store(turn.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        self.is_damaged.store(false, Ordering::Relaxed);
        self.start.store(start, Ordering::Relaxed);
        self.octets.store(octets, Ordering::Relaxed);
        self.turn.store(turn.wrapping_add(2), Ordering::Release);
    }

    /// The range, unless it is being written: then it is nobody's who reads.
    fn range(&self) -> Option<(usize, usize)> {
        let turn = self.turn.load(Ordering::Acquire);
        let range = (self.start.load(Ordering::Relaxed), self.octets.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        (turn.is_multiple_of(2) && self.turn.load(Ordering::Relaxed) == turn).then_some(range)
    }

    fn has(&self, address: usize) -> bool {
        self.range().is_some_and(|(start, octets)| address.wrapping_sub(start) < octets)
    }

    /// Puts zeros in the place of the whole mapping; says whether they are there.
    ///
    /// # Safety
    ///
    /// The row is that of a mapping that stays while this runs. Called by handlers: nothing here takes a lock or memory.
    unsafe fn lose(&self) -> bool {
        let Some((start, octets)) = self.range() else { return false };
        self.is_damaged.store(true, Ordering::SeqCst);
        BEGUN.fetch_add(1, Ordering::SeqCst);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        // SAFETY: the range is a map of a file that a pack owns (the caller's duty), of which octets are read and nothing else: it stays
        // readable, and whose file was changed under it shows others anyway. One call, so that no thread finds nothing there.
        let zeros = unsafe { libc::mmap(start as *mut _, octets, libc::PROT_READ, flags, -1, 0) };
        DONE.fetch_add(1, Ordering::SeqCst);
        let wake = WAKE.load(Ordering::Relaxed);
        if wake >= 0 {
            // SAFETY: eight octets of this frame, and a descriptor that is never closed. Fails only if it is ready anyway.
            unsafe { libc::write(wake, (&raw const ONE).cast(), size_of::<u64>()) };
        }
        zeros != libc::MAP_FAILED
    }
}

static ROWS: [Row; MAPPINGS_MAX] = [const { Row::empty() }; MAPPINGS_MAX];
/// Rows below this have been used: a handler looks at no others.
static USED: AtomicUsize = AtomicUsize::new(0);
/// Of those, the ones that can be used again.
static FREE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// How often zeros began to take the place of something, and how often they had.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicU64 = AtomicU64::new(0);

/// Whom damage wakes; below zero: nobody.
static WAKE: AtomicI32 = AtomicI32::new(-1);
static WAKE_EVENT: OnceLock<OwnedFd> = OnceLock::new();
static ONE: u64 = 1;

/// Whether SIGBUS comes here, and what it did before.
static IS_HANDLED: OnceLock<bool> = OnceLock::new();
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// How often anything mapped was lost. To be compared with what it was before something was read; see the module.
#[inline(always)]
pub(crate) fn begun() -> u64 {
    // What was read before is read before this.
    fence(Ordering::Acquire);
    BEGUN.load(Ordering::Relaxed)
}

/// The same at a moment when nothing is half lost. `None`: there was none for a while.
#[cold]
pub(crate) fn settled() -> Option<u64> {
    let until = Instant::now() + SETTLE_MAX;
    loop {
        let begun = BEGUN.load(Ordering::SeqCst);
        if DONE.load(Ordering::SeqCst) == begun {
            return Some(begun);
        }
        if Instant::now() > until {
            return None;
        }
        std::thread::yield_now();
    }
}

/// What is ready once something was lost.
pub(crate) fn event() -> io::Result<&'static OwnedFd> {
    if WAKE_EVENT.get().is_none() {
        let made = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        WAKE.store(WAKE_EVENT.get_or_init(|| made).as_raw_fd(), Ordering::SeqCst);
    }
    WAKE_EVENT.get().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Maps a whole file; where there are too many maps, or no handler, it is read into memory.
pub(crate) fn map(file: &File, path: &Path) -> io::Result<Backing> {
    let metadata = file.metadata()?;
    if metadata.len() == 0 {
        // The system maps no empty files; a reader would find this one too short for a pack anyway.
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "empty file"));
    }
    let is_handled = *IS_HANDLED.get_or_init(install);
    // SAFETY: nobody should change the file while it is mapped: this program writes each under a new name and renames it, and the manual
    // tells operators to do likewise. Pages of one that is changed all the same are only ever read as octets, through bounds that are
    // checked; those that are gone are zeros from then on, see the module.
    let map = unsafe { memmap2::MmapOptions::new().populate().map(file)? };
    let row = if is_handled { take_row(map.as_ptr() as usize, map.len()) } else { None };
    let Some(row) = row else {
        drop(map);
        let source = path.display();
        match is_handled {
            true => {
                tracing::warn!(%source, "pack {source}: read into memory, as {MAPPINGS_MAX} are mapped already");
            }
            false => tracing::warn!(%source, "pack {source}: read into memory, as SIGBUS cannot be handled"),
        }
        return read(file);
    };
    let row =
        Registered { row, path: path.to_owned(), identity: identity(&metadata), octets: metadata.len() };
    Ok(Backing::Mapped(Mapped::new(map, Box::new(row))))
}

fn read(mut file: &File) -> io::Result<Backing> {
    let mut octets = Vec::new();
    file.read_to_end(&mut octets)?;
    Ok(Backing::Memory(octets))
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn free() -> MutexGuard<'static, Vec<usize>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn take_row(start: usize, octets: usize) -> Option<usize> {
    let mut free = free();
    let used = USED.load(Ordering::Relaxed);
    let row = free.pop().or_else(|| (used < MAPPINGS_MAX).then_some(used))?;
    ROWS[row].set(start, octets);
    if row == used {
        USED.store(used + 1, Ordering::Release);
    }
    Some(row)
}

/// A mapping in the table, as long as this lives: [`Mapped`] drops it before its pages.
struct Registered {
    row: usize,
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
    octets: u64,
}

impl Mapping for Registered {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_damaged(&self) -> bool {
        // What was read before is read before this.
        fence(Ordering::Acquire);
        ROWS[self.row].is_damaged.load(Ordering::Relaxed)
    }

    fn look(&self) {
        let Ok(now) = std::fs::symlink_metadata(&self.path) else { return };
        if identity(&now) == self.identity && now.len() < self.octets && !self.is_damaged() {
            // SAFETY: the row is this mapping's until this is dropped, and the pages are there for longer.
            unsafe { ROWS[self.row].lose() };
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut free = free();
        ROWS[self.row].set(0, 0);
        free.push(self.row);
    }
}

/// Has SIGBUS come here; says whether the system lets us.
fn install() -> bool {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: both are plain integers, for which zeros are a value; the handler does only what a handler may. Another handler that is set
    // between the two calls would be lost; nobody in this process sets one.
    unsafe {
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), before.as_mut_ptr()) != 0 {
            return false;
        }
        let _ = BEFORE.set(before.assume_init());
        let action = &mut *action.as_mut_ptr();
        action.sa_sigaction = on_fault as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, action, std::ptr::null_mut()) == 0
    }
}

/// The row of an address.
fn row_of(rows: &[Row], address: usize) -> Option<&Row> {
    rows.iter().find(|row| row.has(address))
}

/// Handles SIGBUS. Calls what is safe in a handler, `mmap` too, which takes no lock of this process; keeps `errno`.
extern "C" fn on_fault(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the system gives a whole structure; of another code than these two the address is not looked at. `errno` is this thread's.
    // The thread that faults in a mapping reads it, so that it stays until the handler returns.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        let is_fault = matches!((*info).si_code, libc::BUS_ADRERR | libc::BUS_MCEERR_AR);
        let address = if is_fault { (*info).si_addr() as usize } else { 0 };
        let row = if is_fault { row_of(&ROWS[..USED.load(Ordering::Acquire)], address) } else { None };
        if !row.is_some_and(|row| row.lose()) {
            match BEFORE.get() {
                Some(before) if (*info).si_code > 0 => {
                    // The instruction is repeated, and does what it did without us.
                    libc::sigaction(signal, before, std::ptr::null_mut());
                }
                _ => {
                    // From a process: no instruction is repeated.
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal);
                }
            }
        }
        *errno = saved;
    }
}

#[cfg(test)]
mod tests;
