//! One transfer over a connection, from the question to what came of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::connection::{CONNECT_WAIT, Connection};
use super::{Clock, QUESTION_OCTETS, Task, fault_of};
use sync::random::Unguessable;
use transfer::incoming::{Done, Fault, Incoming, Place, Sink, Step, Stop};

/// How long a thread waits before it looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Asks, over the connection that is there if it leads to the right server, and leaves in its place one that can be used again. What was
/// idle may have been closed by the other end: then it is tried once more over a new one, before anything has come.
pub(super) fn ask(
    task: &Task,
    idle: &mut Option<Connection>,
    (ids, is_ending): (&mut Unguessable, &AtomicBool),
    sink: &mut impl Sink,
) -> Result<Done, Stop> {
    let (to, source) = (task.primary.address, task.primary.source);
    let reused = idle.take().filter(|connection| (connection.to, connection.source) == (to, source));
    let wait = CONNECT_WAIT.min(Duration::from_millis(task.limits.idle));
    let mut is_reused = reused.is_some();
    let mut reused = reused;
    loop {
        let connection = match reused.take() {
            Some(connection) => connection,
            None => match Connection::open(to, source, wait) {
                Ok(connection) => connection,
                Err(error) => return Err(Stop { fault: fault_of(&error), place: Place::default() }),
            },
        };
        match over(task, connection, ids.next_u16(), is_ending, sink) {
            Ok((done, connection)) => {
                *idle = connection;
                return Ok(done);
            }
            Err((_, true)) if is_reused => is_reused = false,
            Err((stop, _)) => return Err(stop),
        }
    }
}

/// The connection comes back if it can be used again. With a fault: whether it ended before anything came.
fn over(
    task: &Task,
    mut connection: Connection,
    id: u16,
    is_ending: &AtomicBool,
    sink: &mut impl Sink,
) -> Result<(Done, Option<Connection>), (Stop, bool)> {
    let clock = Clock;
    let question = task.question(id);
    let key = task.primary.key.as_deref();
    let mut buffer = [0; QUESTION_OCTETS];
    let stop = |fault| (Stop { fault, place: Place::default() }, true);
    let sent = question.write(&mut buffer, key, clock.unix()).ok_or(stop(Fault::NoZone))?;
    let signed = key.zip(sent.mac.as_ref());
    let mut incoming = Incoming::new(question, signed, task.limits, clock.millis());
    connection.send(&buffer[..sent.octets]).map_err(|error| stop(fault_of(&error)))?;
    loop {
        while let Some(message) = connection.message() {
            let step = incoming.message(message, clock.times(), sink).map_err(|stop| (stop, false))?;
            if let Step::Done(done) = step {
                let can_be_used = done.is_over && connection.is_empty();
                return Ok((done, can_be_used.then_some(connection)));
            }
        }
        let left = Duration::from_millis(incoming.deadline().saturating_sub(clock.millis()));
        let filled = connection.fill(left.min(LOOK_EVERY));
        let is_first = incoming.counts().octets == 0;
        let checked = match filled {
            Ok(None) if is_ending.load(Ordering::Relaxed) => Err(incoming.ended(Fault::Ended)),
            Ok(None) => incoming.check(clock.millis()),
            Ok(Some(0)) => return Err((incoming.ended(Fault::Ended), is_first)),
            Ok(Some(octets)) => incoming.received(octets, clock.millis()),
            Err(error) => return Err((incoming.ended(fault_of(&error)), is_first)),
        };
        checked.map_err(|stop| (stop, false))?;
    }
}
