//! `epoll`: an event loop whose list of descriptors is kept by the kernel.

use std::io;

use super::{
    STOP_CHECK_MS,
    worker::{Ready, Worker},
};
use crate::{Error, mmsg::Epoll};

const ASKED: u64 = 0;
const UPSTREAM: u64 = 1;

/// Serves until stopped.
pub(super) fn run(worker: &mut Worker) -> Result<(), Error> {
    let mut waiter = Waiter::new(worker)?;
    worker.serve(|| waiter.wait())
}

/// Waits for the sockets of a worker; also what the `mmsg` model waits with.
pub(super) struct Waiter(Epoll);

impl Waiter {
    /// Over the sockets of `worker`.
    pub(super) fn new(worker: &Worker) -> Result<Waiter, Error> {
        let fault = worker.fault("wait on");
        let epoll = Epoll::new(2).map_err(&fault)?;
        for (socket, token) in worker.sockets().into_iter().zip([ASKED, UPSTREAM]) {
            epoll.add(socket, token).map_err(&fault)?;
        }
        Ok(Waiter(epoll))
    }

    /// Waits until one is ready, not longer than until it is time to look whether to stop.
    pub(super) fn wait(&mut self) -> io::Result<Ready> {
        let mut ready = Ready::default();
        for event in 0..self.0.wait(STOP_CHECK_MS)? {
            match self.0.token(event) {
                ASKED => ready.asked = true,
                _ => ready.upstream = true,
            }
        }
        Ok(ready)
    }
}
