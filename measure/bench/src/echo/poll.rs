//! `poll`: the classic event loop over a list of descriptors that the kernel reads afresh at each call.

use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
};

use super::{
    STOP_CHECK_MS,
    worker::{Ready, Worker},
};
use crate::Error;

/// Serves until stopped.
pub(super) fn run(worker: &mut Worker) -> Result<(), Error> {
    let sockets = worker.sockets();
    let mut polled: Vec<PollFd> = sockets.iter().map(|socket| PollFd::new(*socket, PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(STOP_CHECK_MS) * 1_000_000 };
    worker.serve(|| match rustix::event::poll(&mut polled, Some(&timeout)) {
        Ok(_) => {
            let mut ready = polled.iter().map(|polled| !polled.revents().is_empty());
            Ok(Ready { asked: ready.next() == Some(true), upstream: ready.next() == Some(true) })
        }
        Err(Errno::INTR) => Ok(Ready::default()),
        Err(errno) => Err(errno.into()),
    })
}
