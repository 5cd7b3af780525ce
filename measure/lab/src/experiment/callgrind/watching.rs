//! Somebody who reads the numbers of a server each second, while it is asked.

use std::{
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::{contender::Server, experiment::Lab, recipe::Watched};

/// How often numbers are read, and how soon the end is seen.
const EVERY: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(20);

/// Reads until it is dropped.
pub struct Watching {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// `None`: nobody reads its numbers.
    pub fn begin(lab: &Lab, server: &Server, watched: Option<Watched>) -> Option<Watching> {
        let program = server.name.of_zonda(&lab.programs).filter(|_| watched == Some(Watched::Numbers))?;
        let mut command = Command::new(program);
        command.args(["ctl", "--socket"]).arg(server.folder.join("control.sock")).arg("stats");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let is_over = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            while !until.load(Ordering::Relaxed) {
                let began = Instant::now();
                // A server that says nothing is seen by those who ask it for names.
                let _ = command.status();
                while began.elapsed() < EVERY && !until.load(Ordering::Relaxed) {
                    thread::sleep(STEP);
                }
            }
        });
        Some(Watching { is_over, thread: Some(thread) })
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // It has nothing to tell.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
