//! The thread that collects the garbage of domains.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use super::{
    Domain,
    bell::{Bell, Reason},
    lock,
};
use crate::primitives::Arc;

/// A thread that serves domains: collects every [`super::COLLECT_EVERY`] while there is garbage, or when
/// [`super::COLLECT_AT`] pieces wait, and sleeps without any. Ends when this is dropped, after a last collection; what readers
/// still use then stays with its domain.
pub struct Collector {
    bell: Arc<Bell>,
    domains: Vec<Domain>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Collector {
    /// Begins to serve `domains`. A domain has one collector: the last one that was started for it hears of its garbage.
    ///
    /// # Errors
    ///
    /// What the system says when it gives no thread.
    pub fn start(domains: &[Domain]) -> io::Result<Collector> {
        let bell = Arc::new(Bell::new());
        let served = domains.to_vec();
        let heard = Arc::clone(&bell);
        let work = move || serve(&served, &heard);
        let thread = thread::Builder::new().name("collector".to_owned()).spawn(work)?;
        for domain in domains {
            lock(&domain.shared.garbage).set_bell(Arc::clone(&bell));
        }
        // For what was retired before the bell was there.
        bell.ring(Reason::Garbage);
        Ok(Collector { bell, domains: domains.to_vec(), thread: Some(thread) })
    }

    /// How often it has collected, or is about to.
    pub fn rounds(&self) -> u64 {
        self.bell.rounds()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.bell.ring(Reason::End);
        if let Some(thread) = self.thread.take() {
            // It catches what garbage panics with, so that this fails only if memory ran out.
            let _ = thread.join();
        }
        for domain in &self.domains {
            lock(&domain.shared.garbage).forget_bell(&self.bell);
        }
    }
}

fn serve(domains: &[Domain], bell: &Bell) {
    let mut has_garbage = false;
    loop {
        let is_over = bell.wait(has_garbage);
        has_garbage = false;
        for domain in domains {
            // A panic of what is freed is that thing's fault, and has been written by the hook; the others must go on being freed.
            let collected = catch_unwind(AssertUnwindSafe(|| domain.collect()));
            has_garbage |= collected.map_or(true, |collected| collected.left > 0);
        }
        if is_over {
            return;
        }
    }
}
