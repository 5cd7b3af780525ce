//! The sockets and threads of secondaries: asks primaries what [`transfer::refresh`] wants to know.
//!
//! ```text
//! Schedule --Job--> Task --probes-----> Prober: one thread, a datagram socket each      --.
//!                     `---transfers---> Transfers: a few threads, a connection each     --+--> Report --> whoever serves the zone
//! ```
//!
//! [`Keeper`] has all of it together. What is believed of the answers is decided in [`transfer::incoming`]; nothing is decided here, and nothing served. Waits are
//! bounded by the limits of each question, and by a second where somebody wants the threads to end. The design is in
//! `docs/design/secondary.md` 5.

mod clock;
mod connection;
mod keeper;
mod one;
mod probe;
pub(crate) mod runs;
mod transfers;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use transfer::incoming::{Done, Fault, Limits, Outcome, Place, Question, Stop, Unreachable};
use transfer::refresh::{Answer, Job};
use wire::NameBuf;
use wire::tsig::Key;
use zone::Contents;

pub use clock::Clock;
pub use keeper::{Bell, Event, Keeper};
pub use probe::Prober;
pub use transfers::{Room, Transfers};

/// Where a primary is, and how it is talked to.
#[derive(Clone, Debug)]
pub struct Primary {
    /// Address and port.
    pub address: SocketAddr,
    /// The key that questions are signed with, and answers must be.
    pub key: Option<Arc<Key>>,
    /// The address of ours that questions come from; `None`: what the system takes.
    pub source: Option<IpAddr>,
}

/// A question to be asked.
#[derive(Clone, Debug)]
pub struct Task {
    /// What wants it.
    pub job: Job,
    /// The zone's name.
    pub zone: NameBuf,
    /// Whom to ask.
    pub primary: Arc<Primary>,
    /// What the answer may take.
    pub limits: Limits,
}

impl Task {
    fn question(&self, id: u16) -> Question {
        Question {
            zone: self.zone.clone(),
            kind: self.job.kind,
            ours: self.job.ours,
            id,
            has_edns: self.job.has_edns,
            is_udp: self.job.is_udp,
        }
    }
}

/// Whom results are told, by whichever thread has them.
pub type Tell = Arc<dyn Fn(Report) + Send + Sync>;

/// What came of a task.
pub struct Report {
    /// What wanted it.
    pub job: Job,
    /// The zone's name.
    pub zone: NameBuf,
    /// What came of it.
    pub result: Result<Done, Stop>,
    /// All of the zone, where that was the answer.
    pub contents: Option<Contents>,
    /// Who was asked.
    pub from: SocketAddr,
    /// How long it took.
    pub took: Duration,
}

impl Report {
    /// What the schedule is told; `None` where something was transferred that has to be served first, or found not to fit.
    pub fn answer(&self) -> Option<Answer> {
        let done = match &self.result {
            Err(stop) => return Some(Answer::Stopped(*stop)),
            Ok(done) => done,
        };
        let expire = done.expire;
        match (&done.outcome, done.soa) {
            (Outcome::Newer, _) => Some(Answer::Newer),
            (Outcome::Current, Some(soa)) => Some(Answer::Current { soa, expire }),
            (Outcome::Behind, Some(soa)) => Some(Answer::Behind { serial: soa.serial }),
            (Outcome::Changes(_) | Outcome::Whole, Some(_)) => None,
            (_, None) => Some(Answer::Stopped(Stop { fault: Fault::NoSoa, place: Place::default() })),
        }
    }
}

/// Octets of the longest question: two names in it, one in its signature.
const QUESTION_OCTETS: usize = 1_024;

/// What a failed system call says of a primary.
fn fault_of(error: &std::io::Error) -> Fault {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::ConnectionRefused => Fault::Unreachable(Unreachable::Refused),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => {
            Fault::Unreachable(Unreachable::NoRoute)
        }
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Fault::Unreachable(Unreachable::Silent),
        _ => Fault::Ended,
    }
}
