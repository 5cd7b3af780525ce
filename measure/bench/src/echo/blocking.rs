//! `blocking`: one call waits for a packet and takes it, another sends its reply. Two system calls a query.

use std::time::Duration;

use super::{STOP_CHECK_MS, worker::Worker};
use crate::Error;

/// Serves until stopped. The socket's receive time-out lets the thread look whether it shall end; it costs a
/// timer only where there is nothing to do.
pub(super) fn run(worker: &mut Worker) -> Result<(), Error> {
    let fault = worker.fault("wait on");
    worker.socket.set_nonblocking(false).map_err(&fault)?;
    let timeout = Duration::from_millis(STOP_CHECK_MS as u64);
    worker.socket.set_read_timeout(Some(timeout)).map_err(&fault)?;
    let mut room = Worker::room();
    while !worker.is_stopped() {
        worker.take(&mut room);
    }
    Ok(())
}
