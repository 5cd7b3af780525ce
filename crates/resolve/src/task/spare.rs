//! Memory of tasks that have ended, for those that begin: a question that misses needs four pieces less of it.
//!
//! ```text
//! Task ended -> its lists emptied, the outcome beside it -> spare -> renewed: as new, with room for who waits, candidates and the outcome
//! ```

use crate::outcome::Outcome;
use crate::proving::Proof;
use crate::task::{Task, Waiting};

/// Tasks whose memory is kept: as many as end and begin within a turn or two. 2 KiB each, as below.
const SPARE_MAX: usize = 64;
/// Responses whose memory is kept: mostly a validation ends within the event in which it began, so that there is one at a time.
const PROOFS_MAX: usize = 16;
/// Octets of room beyond which a response's memory is not kept: what a usual response has, with its signatures.
const PROOF_OCTETS_MAX: usize = 16 << 10;
/// Clients beyond which the list of those who wait, and the task with it, is not kept.
const ROOM_MAX: usize = 32;
/// Octets beyond which an outcome is not kept with its task.
const OUTCOME_OCTETS_MAX: usize = 1024;

/// What ended tasks and proofs left, for those that begin.
#[derive(Default)]
pub(crate) struct Spares {
    #[allow(clippy::vec_box)] // the boxes themselves are what is used again
    tasks: Vec<Box<Task>>,
    #[allow(clippy::vec_box)]
    proofs: Vec<Box<Proof>>,
}

impl Spares {
    /// The memory of a task that ended, if any is kept.
    pub(crate) fn take(&mut self) -> Option<Box<Task>> {
        self.tasks.pop()
    }

    /// The memory of a response that was validated, if any is kept.
    pub(crate) fn proof(&mut self) -> Option<Box<Proof>> {
        self.proofs.pop()
    }

    /// Takes the memory of a response that was validated.
    pub(crate) fn put_proof(&mut self, proof: Box<Proof>) {
        if self.proofs.len() < PROOFS_MAX && proof.room_octets() <= PROOF_OCTETS_MAX {
            self.proofs.push(proof);
        }
    }

    /// Takes the memory of a task that has ended, and whose outcome everybody has been told.
    pub(crate) fn put(&mut self, mut task: Box<Task>, (mut waiters, outcome): (Vec<Waiting>, Box<Outcome>)) {
        if self.tasks.len() == SPARE_MAX || waiters.capacity() > ROOM_MAX {
            return;
        }
        waiters.clear();
        task.waiters = waiters;
        let octets = outcome.answer.list().octets().len() + outcome.authority.list().octets().len();
        task.outcome = (octets <= OUTCOME_OCTETS_MAX).then_some(outcome);
        self.tasks.push(task);
    }
}
