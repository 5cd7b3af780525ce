//! The atomics that [`crate::snapshot`] is written with, in one place so that the model checker can put its
//! own in their stead: `tests/model.rs` compiles `snapshot.rs` a second time beside another `primitives`.

pub(crate) use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, Mutex};

pub(crate) use fences::{heavy, light};

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

    /// Finds out once which kind of fence this process has; [`crate::Published::new`] does so too. Called while
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
