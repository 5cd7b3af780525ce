//! What to do when the system does not take a datagram: the decisions, without the system calls.
//!
//! A response that cannot be sent is lost, which the protocol permits: the client asks again. What must not happen
//! is that a worker spins or waits long for one destination, so every branch here either moves on or is bounded.

use std::io;

use crate::counters::Counters;

/// Waits for a full send buffer per batch. One suffices: the buffer drains in microseconds, and if it is full again
/// after that, the link is slower than the answers and dropping is what it asks for.
const WAITS_MAX: usize = 1;

/// Repeats of one send call that failed for a reason unrelated to its datagram. A pending error of the socket is
/// cleared by reporting it, so the second try is about the datagram itself.
const REPEATS_MAX: usize = 2;

/// How a batch of responses fared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) sent: usize,
    /// Refused by the system, one by one.
    pub(super) failed: usize,
    /// Given up because the send buffer stayed full.
    pub(super) overflowed: usize,
}

impl Outcome {
    pub(super) fn count(self, counters: &Counters) {
        counters.udp_responses.add(self.sent as u64);
        counters.udp_send_failures.add(self.failed as u64);
        counters.udp_send_overflows.add(self.overflowed as u64);
    }
}

/// Sends datagrams 0 to `count`: `send(from)` tries those from `from` on and says how many went, `wait` blocks
/// until the socket takes more or a time is over and says which (`true`: try again).
///
/// At most `(REPEATS_MAX + 1) * count + WAITS_MAX` calls of `send`.
pub(super) fn drain(
    count: usize,
    mut send: impl FnMut(usize) -> io::Result<usize>,
    mut wait: impl FnMut() -> bool,
) -> Outcome {
    let mut outcome = Outcome::default();
    let (mut next, mut waits, mut repeats) = (0, 0, 0);
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
                if waits == WAITS_MAX || !wait() {
                    outcome.overflowed = count - next;
                    return outcome;
                }
                waits += 1;
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
    fn run(count: usize, script: &[Result<usize, i32>], wait_result: bool) -> (Outcome, Vec<usize>) {
        let mut calls = Vec::new();
        let outcome = drain(
            count,
            |from| {
                let step = script[calls.len().min(script.len() - 1)];
                calls.push(from);
                assert!(calls.len() <= (REPEATS_MAX + 1) * count + WAITS_MAX, "unbounded");
                step.map_err(io::Error::from_raw_os_error)
            },
            || wait_result,
        );
        (outcome, calls)
    }

    #[test]
    fn partial_sends_go_on_where_they_stopped() {
        let (outcome, calls) = run(5, &[Ok(2), Ok(3)], true);
        assert_eq!(outcome, Outcome { sent: 5, ..Outcome::default() });
        assert_eq!(calls, [0, 2]);
    }

    #[test]
    fn one_bad_datagram_costs_only_itself() {
        let (outcome, calls) = run(4, &[Ok(1), Err(libc::EMSGSIZE), Ok(2)], true);
        assert_eq!(outcome, Outcome { sent: 3, failed: 1, overflowed: 0 });
        assert_eq!(calls, [0, 1, 2]);
    }

    #[test]
    fn an_error_about_the_past_does_not_cost_a_datagram() {
        for error in [libc::ECONNREFUSED, libc::EINTR, libc::EHOSTUNREACH] {
            let (outcome, calls) = run(2, &[Err(error), Ok(2)], true);
            assert_eq!(outcome.sent, 2);
            assert_eq!(calls, [0, 0]);
        }
    }

    #[test]
    fn a_full_buffer_is_waited_for_once() {
        let (outcome, calls) = run(3, &[Ok(1), Err(libc::EAGAIN), Ok(1), Err(libc::EAGAIN)], true);
        assert_eq!(outcome, Outcome { sent: 2, failed: 0, overflowed: 1 });
        assert_eq!(calls, [0, 1, 1, 2]);
        let (outcome, calls) = run(3, &[Err(libc::EAGAIN)], false);
        assert_eq!(outcome.overflowed, 3);
        assert_eq!(calls, [0]);
    }

    #[test]
    fn every_error_for_ever_ends() {
        for error in [libc::ECONNREFUSED, libc::EINTR, libc::ENOBUFS, libc::EPERM, libc::EAGAIN, libc::EBADF]
        {
            let (outcome, _) = run(64, &[Err(error)], true);
            assert_eq!(outcome.failed + outcome.overflowed, 64);
        }
        assert_eq!(run(64, &[Ok(0)], true).0.failed, 64);
    }
}
