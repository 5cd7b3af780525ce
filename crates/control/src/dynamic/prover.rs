//! The thread that looks at signatures and proofs of updates of signed zones, which take a tenth of a second at the most: longer than other zones may wait.
//!
//! ```text
//! update, state of its zone --> Draft over that state, with all checks --> Proof: right or wrong, of this state
//! ```
//!
//! It holds no lock and is in no batch: states are kept alive by who brings them. It works half of the time at the most, so that a processor is left to others
//! however many updates come (CVE-2024-1975 is about such signatures that cost who verifies them all of it).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use change::{Applied, Draft, Failure, Request, Terms};
use wire::NameBuf;
use zone::ZoneView;
use zone::delta::Changed;

use super::changer::wall;
use super::update::Update;
use crate::settings::UpdateTerms;

/// How much of its time the thread may work at once, after a pause: a large update.
const BURST: Duration = Duration::from_millis(200);

/// What was found of an update over one state of its zone.
pub(crate) struct Proof {
    /// The state, which is alive as long as it is compared with.
    state: Changed,
    pub(super) verdict: Verdict,
    /// How often the update was looked at, over this state and others.
    pub(super) attempts: u32,
}

/// See [`Proof`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Right,
    Wrong(Failure),
    /// It could not be looked at.
    Unknown,
}

impl Proof {
    /// Whether it is of this state: of those that were published none is ever given its number again.
    pub(super) fn is_of(&self, state: &Changed) -> bool {
        Arc::ptr_eq(self.state.delta(), state.delta()) && self.state.state() == state.state()
    }
}

/// An update that is to be looked at.
pub(super) struct Task {
    pub(super) zone: NameBuf,
    pub(super) update: Box<Update>,
    /// A published state.
    pub(super) state: Changed,
    pub(super) terms: UpdateTerms,
}

/// The thread, as the changer sees it, which bounds how much there is for it.
pub(super) struct Prover {
    tasks: Sender<Task>,
    done: Receiver<(NameBuf, Box<Update>)>,
    is_ending: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Prover {
    /// Starts the thread. `wake` is called whenever something is done.
    pub(super) fn start(wake: impl Fn() + Send + 'static) -> std::io::Result<Prover> {
        let (tasks, taken) = channel::<Task>();
        let (give, done) = channel();
        let is_ending = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_ending);
        let thread = std::thread::Builder::new().name("proofs".into()).spawn(move || {
            let mut share = Share { free: Instant::now() };
            for task in taken {
                let is_ending = || ends.load(Ordering::Acquire);
                while !is_ending()
                    && let Some(pause) = share.pause(Instant::now())
                {
                    std::thread::park_timeout(pause);
                }
                let began = Instant::now();
                let done = finish(task, is_ending());
                share.take(began, Instant::now());
                if give.send(done).is_err() {
                    return;
                }
                wake();
            }
        })?;
        Ok(Prover { tasks, done, is_ending, thread })
    }

    /// Has an update be looked at. The error: the thread has ended.
    pub(super) fn push(&self, task: Task) -> Result<(), Box<Update>> {
        self.tasks.send(task).map_err(|refused| refused.0.update)
    }

    /// What is done, each with its [`Proof`].
    pub(super) fn take(&self) -> impl Iterator<Item = (NameBuf, Box<Update>)> {
        self.done.try_iter()
    }

    /// Ends the thread after the update that it has; gives back what is not done, and what nobody has taken.
    pub(super) fn end(self) -> Vec<Update> {
        self.is_ending.store(true, Ordering::Release);
        drop(self.tasks);
        self.thread.thread().unpark();
        // What it had to say of a panic it has said.
        let _ = self.thread.join();
        self.done.try_iter().map(|(_, update)| *update).collect()
    }
}

/// Looks at an update, unless the thread ends.
fn finish(task: Task, is_ending: bool) -> (NameBuf, Box<Update>) {
    let Task { zone, mut update, state, terms } = task;
    let attempts = update.proof.take().map_or(0, |proof| proof.attempts) + 1;
    let judged = || judge(&update, &state, &terms).unwrap_or(Verdict::Unknown);
    // What panics has said why; the thread is for all zones.
    let verdict = match is_ending {
        true => Verdict::Unknown,
        false => catch_unwind(AssertUnwindSafe(judged)).unwrap_or(Verdict::Unknown),
    };
    update.proof = Some(Box::new(Proof { state, verdict, attempts }));
    (zone, update)
}

/// What becomes of an update over a state. `None`: the zone cannot be read.
fn judge(update: &Update, state: &Changed, own: &UpdateTerms) -> Option<Verdict> {
    let request = match Request::read(&update.message) {
        Ok(request) => request,
        Err(failure) => return Some(Verdict::Wrong(failure)),
    };
    let mut draft = Draft::new(ZoneView::of_changed(state)?).ok()?;
    let terms =
        Terms { policy: own.policy.as_deref(), limits: own.limits, now: wall(), proof: change::Proof::Here };
    match draft.update(&request, &update.asker(), &terms).ok()? {
        Applied::Done => Some(Verdict::Right),
        Applied::Failed(failure) => Some(Verdict::Wrong(failure)),
        Applied::Unproved | Applied::CommitFirst => None,
    }
}

/// Half of the time: after each piece of work as long a pause, but for some that may run ahead.
struct Share {
    /// When all that was worked is paid for.
    free: Instant,
}

impl Share {
    /// How long nothing is to be done.
    fn pause(&self, now: Instant) -> Option<Duration> {
        self.free.checked_duration_since(now + BURST).filter(|pause| !pause.is_zero())
    }

    fn take(&mut self, began: Instant, now: Instant) {
        self.free = self.free.max(began) + 2 * now.saturating_duration_since(began);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever pieces the work comes in, half of a long time is worked at the most, and what may run ahead.
    #[test]
    fn half_of_the_time_is_worked() {
        for piece in [1, 7, 90, 400].map(Duration::from_millis) {
            let began = Instant::now();
            let (mut share, mut now, mut worked) = (Share { free: began }, began, Duration::ZERO);
            while now - began < Duration::from_secs(20) {
                match share.pause(now) {
                    Some(pause) => now += pause,
                    None => {
                        share.take(now, now + piece);
                        (now, worked) = (now + piece, worked + piece);
                    }
                }
            }
            let half = (now - began) / 2;
            assert!(worked <= half + BURST + piece && worked >= half - piece, "{piece:?}: {worked:?}");
        }
    }

    /// Who comes seldom never waits.
    #[test]
    fn rest_is_not_saved_up_beyond_a_burst() {
        let began = Instant::now();
        let mut share = Share { free: began };
        let later = began + Duration::from_secs(100);
        share.take(later, later + BURST);
        assert_eq!(share.pause(later + BURST), None);
        share.take(later + BURST, later + 2 * BURST);
        assert_eq!(share.pause(later + 2 * BURST), Some(BURST));
    }
}
