//! Changes that the server asks for: as many as wait are one transaction; what is at fault is done by itself then, and holds up no other.
//!
//! ```text
//! write, records, commit -> due -> together: all of them or none -> written -> their zones are looked at, so that they are pushed
//!                                    '-- a fault that may be of one zone: each alone -> written | why not
//! ```
//!
//! The server has bounded how much it asks for at a time, and one write of a zone. Each that comes as a whole is answered: of one whose transaction was not seen to end nobody knows.

use std::collections::VecDeque;

use feed::frame::{self, Frame, Unwritten, Written};
use store::{Fault, NotCommitted, Once, Write, Wrote};
use wire::NameBuf;
use zone::change::Records;

/// Zones that are changed together: one flush for so many, and few enough that the first waits little for the last.
const TOGETHER_MAX: usize = 256;
/// Octets of their records.
const TOGETHER_OCTETS_MAX: usize = 16 << 20;
/// What PostgreSQL says where nothing may be written there, or not by this role.
const DENIED: [&str; 2] = ["25006", "42501"];
/// What it says where one row or zone cannot be so: values and constraints (classes 22 and 23), and what somebody's own trigger raises. All else is about the database.
const REFUSED: [&str; 3] = ["22", "23", "P0001"];

/// See the module.
#[derive(Default)]
pub(crate) struct Writes {
    /// The one that is being said, with octets of records that go and come.
    open: Option<(frame::Write, Vec<u8>, Vec<u8>)>,
    due: VecDeque<Due>,
    /// Of these the first ones that are done each by itself.
    alone: usize,
}

/// One that waits: its number, and until when it is begun, in milliseconds since 1970.
type Due = (u32, u64, Write);

/// What came of some.
#[derive(Default)]
pub(crate) struct Came {
    /// What the server is told.
    pub(crate) frames: Vec<Frame>,
    /// Zones that have other versions than those that the server has seen.
    pub(crate) changed: Vec<NameBuf>,
    /// Why the store cannot be written or read any more.
    pub(crate) fault: Option<Fault>,
}

impl Writes {
    /// Takes a frame if it is of a write; else it comes back.
    pub(crate) fn take(&mut self, frame: Frame) -> Option<Frame> {
        match (frame, &mut self.open) {
            (Frame::Write(write), open) => *open = Some((write, Vec::new(), Vec::new())),
            (Frame::Going(octets), Some((_, going, _))) => going.extend(octets),
            (Frame::Coming(octets), Some((.., coming))) => coming.extend(octets),
            (Frame::Commit, open) => self.due.extend(open.take().and_then(whole)),
            (Frame::Going(_) | Frame::Coming(_), None) => {}
            (frame, _) => return Some(frame),
        }
        None
    }

    /// Whether any wait.
    pub(crate) fn are_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Gives up all that wait, as the store cannot be written now.
    pub(crate) fn decline(&mut self) -> Vec<Frame> {
        self.alone = 0;
        let words = || "the database is away".to_owned();
        let declined = |(number, _, write): Due| unwritten(number, write, Unwritten::NotNow, words());
        self.due.drain(..).map(declined).collect()
    }

    /// Does some of those that wait, in one transaction. `now`: milliseconds since 1970.
    pub(crate) fn turn(
        &mut self,
        now: u64,
        write: impl FnOnce(&[Write]) -> Result<Vec<Wrote>, NotCommitted>,
    ) -> Came {
        let (mut heads, mut writes, mut came) = (Vec::new(), Vec::new(), Came::default());
        for (number, until, write) in self.next() {
            // Nobody waits for it any more, and is to have it done after he was told that it was not.
            if now > until {
                came.frames.push(unwritten(
                    number,
                    write,
                    Unwritten::NotNow,
                    "it had waited for long".into(),
                ));
                continue;
            }
            heads.push((number, until));
            writes.push(write);
        }
        if writes.is_empty() {
            return came;
        }
        match write(&writes) {
            Ok(wrote) => {
                for (((number, _), write), wrote) in heads.into_iter().zip(writes).zip(wrote) {
                    let is_other = matches!(wrote, Wrote::Made(_) | Wrote::Moved | Wrote::Before(..));
                    came.changed.extend(is_other.then(|| write.zone.clone()));
                    came.frames.push(told(number, write, wrote));
                }
            }
            Err(NotCommitted::Nothing(fault)) if writes.len() > 1 && !is_of_all(&fault) => {
                // In their order, before all others.
                self.alone += writes.len();
                let each = heads.into_iter().zip(writes).rev();
                each.for_each(|((number, until), write)| self.due.push_front((number, until, write)));
            }
            Err(why) => {
                let (kind, words) = (kind_of(&why), why.fault().lines().join("; "));
                let each = heads.into_iter().zip(writes);
                let not = |((number, _), write)| unwritten(number, write, kind, words.clone());
                came.frames.extend(each.map(not));
                let (NotCommitted::Nothing(fault) | NotCommitted::Unknown(fault)) = why;
                // What a flush did not say is known once the store is opened anew.
                came.fault = (kind == Unwritten::Unknown || matches!(fault, Fault::Away(_))).then_some(fault);
            }
        }
        came
    }

    /// Those that are done next.
    fn next(&mut self) -> Vec<Due> {
        let (mut some, mut octets) = (Vec::new(), 0);
        let max = if self.alone > 0 { 1 } else { TOGETHER_MAX };
        while some.len() < max
            && let Some((.., write)) = self.due.front()
        {
            octets += write.octets();
            if !some.is_empty() && octets > TOGETHER_OCTETS_MAX {
                break;
            }
            some.extend(self.due.pop_front());
        }
        self.alone = self.alone.saturating_sub(some.len());
        some
    }
}

/// One that was said as a whole. `None`: what came with it are no records, which the server never says.
fn whole((write, going, coming): (frame::Write, Vec<u8>, Vec<u8>)) -> Option<Due> {
    let frame::Write { number, zone, over, once, until, who } = write;
    let once = once.map(|frame::Once { name, request }| Once { name, request });
    let over = (over.serial, over.mark.to_string());
    let (removed, added) = (Records::from_octets(going).ok()?, Records::from_octets(coming).ok()?);
    Some((number, until, Write { zone, over, removed, added, who, once }))
}

fn told(number: u32, write: Write, wrote: Wrote) -> Frame {
    let Write { zone, over: (over, _), .. } = write;
    let written = |zone, before, after| Frame::Written(Written { zone, number, before, after });
    match wrote {
        Wrote::Made(version) => written(zone, over, version.serial),
        Wrote::Same => written(zone, over, over),
        Wrote::Before(before, after) => written(zone, before, after),
        Wrote::Moved => Frame::Unwritten(zone, number, Unwritten::Moved, String::new()),
        Wrote::OtherRequest => Frame::Unwritten(zone, number, Unwritten::OtherRequest, String::new()),
    }
}

fn unwritten(number: u32, write: Write, why: Unwritten, words: String) -> Frame {
    Frame::Unwritten(write.zone, number, why, words)
}

/// Whether it is so of each of them.
fn is_of_all(fault: &Fault) -> bool {
    match fault {
        Fault::Away(_) | Fault::Busy | Fault::Full | Fault::ReadOnly | Fault::Theirs => true,
        Fault::Postgres { code, .. } => DENIED.contains(&&**code),
        _ => false,
    }
}

fn kind_of(why: &NotCommitted) -> Unwritten {
    match why {
        NotCommitted::Unknown(_) => Unwritten::Unknown,
        NotCommitted::Nothing(fault) => match fault {
            Fault::Postgres { code, .. } if DENIED.contains(&&**code) => Unwritten::Denied,
            Fault::ReadOnly | Fault::Theirs | Fault::NotOurs { .. } => Unwritten::Denied,
            Fault::Away(_) | Fault::Full => Unwritten::NotNow,
            fault if fault.is_held() || fault.is_late() => Unwritten::NotNow,
            Fault::Rows { .. } | Fault::NoSoa(_) | Fault::Signed { .. } | Fault::NotItsRows(_) => {
                Unwritten::Unfit
            }
            // A constraint, or a rule of somebody's own.
            Fault::Postgres { code, .. } if !REFUSED.iter().any(|class| code.starts_with(class)) => {
                Unwritten::Denied
            }
            fault if fault.is_of_zone() || matches!(fault, Fault::Postgres { .. }) => Unwritten::Refused,
            _ => Unwritten::Denied,
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
