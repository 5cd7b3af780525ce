//! `select`: the oldest event loop, over sets of bits with room for descriptors below 1,024.

use super::{
    STOP_CHECK_MS,
    worker::{Ready, Worker},
};
use crate::{Error, mmsg};

/// Serves until stopped.
pub(super) fn run(worker: &mut Worker) -> Result<(), Error> {
    let sockets = worker.sockets();
    let mut ready = vec![false; sockets.len()];
    worker.serve(|| {
        mmsg::select(&sockets, &mut ready, STOP_CHECK_MS)?;
        Ok(Ready { asked: ready[0], upstream: ready.get(1) == Some(&true) })
    })
}
