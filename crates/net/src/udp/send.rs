//! What to do when the system does not take a datagram: the decisions, without the system calls.
//!
//! A response that cannot be sent is lost, which the protocol permits: the client asks again. What must not happen
//! is that a worker spins or waits for one destination, so every branch here moves on or stops.

use std::io;

use crate::counters::Counters;

/// Repeats of one send call that failed for a reason unrelated to its datagram. A pending error of the socket is
/// cleared by reporting it, so the second try is about the datagram itself.
const REPEATS_MAX: usize = 2;

/// How a batch of responses fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) sent: usize,
    /// Refused by the system, one by one.
    pub(super) failed: usize,
    /// Not taken, as the send buffer is full: the last so many.
    pub(super) left: usize,
}

impl Outcome {
    pub(super) fn count(self, counters: &Counters) {
        counters.udp_responses.add(self.sent as u64);
        counters.udp_send_failures.add(self.failed as u64);
    }
}

/// Sends datagrams 0 to `count`: `send(from)` tries those from `from` on and says how many went. Stops at a full send
/// buffer.
///
/// At most `(REPEATS_MAX + 1) * count + 1` calls of `send`.
pub(super) fn drain(count: usize, mut send: impl FnMut(usize) -> io::Result<usize>) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut next, mut repeats) = (0, 0);
    while next < count {
        match send(next) {
            Ok(0) => {
                // Never seen of Linux; treated as a refusal, so that the loop ends whatever the system says.
                outcome.failed += 1;
                next += 1;
            }
            Ok(sent) => {
                outcome.sent += sent;
                next += sent;
                repeats = 0;
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                outcome.left = count - next;
                return outcome;
            }
            Err(error) if is_about_the_past(&error) && repeats < REPEATS_MAX => repeats += 1,
            Err(_) => {
                // EMSGSIZE, EPERM of a packet filter, ENETUNREACH, ENOBUFS: this datagram is lost, the next may go.
                outcome.failed += 1;
                next += 1;
                repeats = 0;
            }
        }
    }
    outcome
}

/// Whether an error may stem from an interruption or from an ICMP message about an earlier datagram.
fn is_about_the_past(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, Interrupted};
    matches!(error.kind(), Interrupted | ConnectionRefused | ConnectionReset | HostUnreachable)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `drain` over a script of results, one per call; the last repeats for ever.
    fn run(count: usize, script: &[Result<usize, i32>]) -> (Outcome, Vec<usize>) {
        let mut calls = Vec::new();
        let outcome = drain(count, |from| {
            let step = script[calls.len().min(script.len() - 1)];
            calls.push(from);
            assert!(calls.len() <= (REPEATS_MAX + 1) * count + 1, "unbounded");
            step.map_err(io::Error::from_raw_os_error)
        });
        (outcome, calls)
    }

    #[test]
    fn partial_sends_go_on_where_they_stopped() {
        let (outcome, calls) = run(5, &[Ok(2), Ok(3)]);
        assert_eq!(outcome, Outcome { sent: 5, ..Outcome::default() });
        assert_eq!(calls, [0, 2]);
    }

    #[test]
    fn one_bad_datagram_costs_only_itself() {
        let (outcome, calls) = run(4, &[Ok(1), Err(libc::EMSGSIZE), Ok(2)]);
        assert_eq!(outcome, Outcome { sent: 3, failed: 1, left: 0 });
        assert_eq!(calls, [0, 1, 2]);
    }

    #[test]
    fn an_error_about_the_past_does_not_cost_a_datagram() {
        for error in [libc::ECONNREFUSED, libc::EINTR, libc::EHOSTUNREACH] {
            let (outcome, calls) = run(2, &[Err(error), Ok(2)]);
            assert_eq!(outcome.sent, 2);
            assert_eq!(calls, [0, 0]);
        }
    }

    #[test]
    fn a_full_buffer_leaves_the_rest() {
        let (outcome, calls) = run(3, &[Ok(1), Err(libc::EAGAIN)]);
        assert_eq!(outcome, Outcome { sent: 1, failed: 0, left: 2 });
        assert_eq!(calls, [0, 1]);
    }

    #[test]
    fn every_error_for_ever_ends() {
        for error in [libc::ECONNREFUSED, libc::EINTR, libc::ENOBUFS, libc::EPERM, libc::EAGAIN, libc::EBADF]
        {
            let (outcome, _) = run(64, &[Err(error)]);
            assert_eq!(outcome.failed + outcome.left, 64);
        }
        assert_eq!(run(64, &[Ok(0)]).0.failed, 64);
    }
}
