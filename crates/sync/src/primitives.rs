//! The atomics that this crate is written with, in one place so that the model checker can put its own in their stead: the
//! tests called `model` compile a module a second time beside another `primitives`.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};

pub(crate) use fences::{heavy, light};
pub(crate) use futex::{futex_wait, futex_wake};

/// Looks of a waiting thread at what it waits for before it sleeps. A writer's section on the lock of a zone is below
/// a microsecond, a sleep and a wake-up are ten: this spends about one.
pub(crate) fn spins() -> u32 {
    40
}

/// Places of the locks where the order of two accesses to different words matters. In a real build the accesses there
/// are sequentially consistent, and this does nothing. The model checker takes such accesses for acquire and release
/// only; there it is a fence, and leaving one out is the fault that a test must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A reader has said that it waits, and looks whether a writer is there.
    ReaderWaits,
    /// A reader has left, and looks whether a writer waits.
    ReaderLeft,
    /// A writer has left, and looks who waits.
    WriterLeft,
    /// A thread is about to sleep, and looks a last time at what it waits for.
    Sleeps,
    /// A thread has changed something, and looks whether others sleep.
    Wakes,
    /// Somebody has put something into a mailbox, and looks whether its owner sleeps.
    Pushed,
    /// The owner of a mailbox has said that it sleeps, and looks a last time whether something is there.
    OwnerSleeps,
}

/// See [`Step`].
#[inline(always)]
pub(crate) fn ordered(_: Step) {}

/// What the reader-writer lock does for fairness and for those who wait, and a collection for readers. A real build leaves
/// out none of it; the model checker can, and that is a fault that a test must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duty {
    /// A writer waits until all that asked before are done.
    WaitForTurn,
    /// A writer that begins counts towards the quota.
    CountWriter,
    /// A writer that leaves admits the readers that wait.
    Admit,
    /// A writer that has left admits readers that came too late to be seen before.
    AdmitLate,
    /// A collection waits for the readers that are in a batch.
    NoteReaders,
}

/// See [`Duty`].
#[inline(always)]
pub(crate) fn is_left_out(_: Duty) -> bool {
    false
}

/// Sleeping until a word changes (`futex(2)`).
mod futex {
    #![allow(unsafe_code)] // the futex system call, which reads one word of this process

    use super::AtomicU32;

    /// Sleeps while `word` is `expected`, until [`futex_wake`]; may end for no reason.
    pub(crate) fn futex_wait(word: &AtomicU32, expected: u32) {
        call(word, libc::FUTEX_WAIT, expected);
    }

    /// Wakes all who sleep on `word`.
    pub(crate) fn futex_wake(word: &AtomicU32) {
        call(word, libc::FUTEX_WAKE, i32::MAX as u32);
    }

    fn call(word: &AtomicU32, operation: i32, value: u32) {
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        let forever = std::ptr::null::<libc::timespec>();
        // SAFETY: `word` outlives the call, which reads it at most; there is no time-out and no second word. What it
        // returns does not matter: who waits looks again in any case.
        unsafe {
            libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, forever);
        }
    }
}

std::thread_local! {
    /// Where this thread found a thing last, in whatever pool. Here, since the model checker needs each run to begin
    /// the same.
    pub(crate) static LAST_PLACE: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Two fences that pair up: of two threads, each of which stores, fences and then loads what the other
/// stored, at least one sees the other's store, provided that one used `heavy`.
///
/// `light` is on the readers' side and nearly free, `heavy` on the writer's and slow. On Linux the writer
/// makes all other threads of the process pass a full fence (`membarrier(2)`), so that readers need only
/// keep the compiler from reordering; elsewhere, or if the system refuses, both are full fences.
mod fences {
    #![allow(unsafe_code)] // the membarrier system call, which takes no pointers

    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering, compiler_fence, fence};

    /// Whether readers may rely on the writer's system call. Set before the first reader exists.
    static ASYMMETRIC: AtomicBool = AtomicBool::new(false);
    static REGISTERED: OnceLock<bool> = OnceLock::new();

    /// Finds out once which kind of fence this process has; [`crate::Domain::new`] does so too. Called while
    /// the process has one thread it is free; with several the system waits some milliseconds for all of them.
    pub fn prepare() {
        REGISTERED.get_or_init(|| {
            let registered = system::register();
            ASYMMETRIC.store(registered, Ordering::SeqCst);
            registered
        });
    }

    /// The readers' fence.
    #[inline(always)]
    pub(crate) fn light() {
        if ASYMMETRIC.load(Ordering::Relaxed) {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// The writer's fence.
    pub(crate) fn heavy() {
        fence(Ordering::SeqCst);
        if ASYMMETRIC.load(Ordering::Relaxed) {
            system::run();
            fence(Ordering::SeqCst);
        }
    }

    #[cfg(target_os = "linux")]
    mod system {
        const CMD_PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
        const CMD_REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;

        fn membarrier(command: libc::c_int) -> libc::c_long {
            // SAFETY: the call takes three integers (command, flags 0, processor 0) and touches no memory of
            // this process.
            unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
        }

        pub(super) fn register() -> bool {
            membarrier(CMD_REGISTER_PRIVATE_EXPEDITED) == 0
        }

        pub(super) fn run() {
            // Fails only for a process that is not registered, and this one is.
            assert_eq!(membarrier(CMD_PRIVATE_EXPEDITED), 0, "membarrier refused after registration");
        }
    }

    #[cfg(not(target_os = "linux"))]
    mod system {
        pub(super) fn register() -> bool {
            false
        }

        pub(super) fn run() {}
    }
}

pub use fences::prepare;
