//! How both processes begin: what was inherited is closed, what the server gives is taken, and rights are given up before an octet of a stranger is read.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as Pair;

use tokio::runtime::{Builder, Runtime};

use crate::confine::{close_inherited, confine};
use crate::filter::refuse;
use crate::pair::{Given, introduced};

/// What a process may have.
pub(crate) struct Limits {
    /// Connections.
    pub(crate) places: usize,
    /// Octets of memory of its own.
    pub(crate) data_octets_max: Option<u64>,
    /// How much it lets others go before it: 0 as all, 19 the most.
    pub(crate) niceness: i32,
}

/// A process that has begun.
pub(crate) struct Begun {
    pub(crate) pair: Pair,
    pub(crate) given: Given,
    pub(crate) runtime: Runtime,
    /// Whether the kernel sees to it that it can do no more than it should.
    pub(crate) is_confined: bool,
}

/// Begins. Standard input is the pair (see [`crate::pair`]). `section`: of the settings, for whom it is; the error is a line for the operator.
pub(crate) fn begin(section: &str, limits: &Limits) -> Result<Begun, String> {
    close_inherited().map_err(line("close what was inherited"))?;
    let pair = Pair::from(io::stdin().as_fd().try_clone_to_owned().map_err(line("use standard input"))?);
    let given = introduced(&pair)
        .map_err(|error| format!("this is started by `zonda serve`, for `[{section}] listen`: {error}"))?;
    if limits.niceness != 0 {
        // Without effect where the system does not let it.
        let _ = rustix::process::setpriority_process(None, limits.niceness);
    }
    let is_confined = confine(limits.places, limits.data_octets_max).map_err(line("give up rights"))?;
    let runtime = Builder::new_current_thread().enable_all().build().map_err(line("prepare"))?;
    // The runtime has what it needs, and makes no thread.
    let is_filtered = refuse().map_err(line("give up system calls"))?;
    Ok(Begun { pair, given, runtime, is_confined: is_confined && is_filtered })
}

/// Says what could not be done.
pub(crate) fn line(act: &'static str) -> impl Fn(io::Error) -> String {
    move |error| format!("cannot {act}: {error}")
}
