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
/// Octets that such a one may have room for and still be kept: what a usual response has, with its signatures.
const PROOF_OCTETS_MAX: usize = 16 << 10;
/// What a list may have room for and still be kept.
const ROOM_MAX: usize = 32;
/// Octets that an outcome may have and still be kept.
const OUTCOME_OCTETS_MAX: usize = 1024;

/// See the module.
#[derive(Default)]
pub(crate) struct Spares {
    #[allow(clippy::vec_box)] // the boxes themselves are what is used again
    tasks: Vec<Box<Task>>,
    #[allow(clippy::vec_box)]
    proofs: Vec<Box<Proof>>,
}

impl Spares {
    /// One of those before, or none.
    pub(crate) fn take(&mut self) -> Option<Box<Task>> {
        self.tasks.pop()
    }

    /// The same of responses that were validated.
    pub(crate) fn proof(&mut self) -> Option<Box<Proof>> {
        self.proofs.pop()
    }

    /// Takes what such a one leaves.
    pub(crate) fn put_proof(&mut self, proof: Box<Proof>) {
        if self.proofs.len() < PROOFS_MAX && proof.room_octets() <= PROOF_OCTETS_MAX {
            self.proofs.push(proof);
        }
    }

    /// Takes what a task leaves that has ended, and whose outcome everybody has been told.
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
