//! The limit program: `zonda-bench echo`, which looks nothing up.

use std::{net::SocketAddr, path::PathBuf};

use super::{Job, Setup};
use crate::recipe::Sockets;

/// What varies among echo servers.
#[derive(Clone, Debug)]
pub struct EchoOptions {
    /// How packets are waited for and moved.
    pub model: String,
    /// Whether it takes and sends trains of packets.
    pub trains: bool,
    /// Whether it answers over TCP, and then over nothing else.
    pub tcp: bool,
    /// Processes.
    pub processes: usize,
    /// Threads of each.
    pub threads: usize,
    /// One socket for all, or one each.
    pub sockets: Sockets,
    /// Cores, one after the other; the place's without.
    pub cores: Vec<usize>,
    /// Sizes of its replies.
    pub sizes: Option<PathBuf>,
    /// The server that a share of the queries is passed on to.
    pub relay: Option<(SocketAddr, f64)>,
}

impl Default for EchoOptions {
    fn default() -> EchoOptions {
        EchoOptions {
            model: "mmsg".to_owned(),
            trains: false,
            tcp: false,
            processes: 1,
            threads: 1,
            sockets: Sockets::Each,
            cores: Vec::new(),
            sizes: None,
            relay: None,
        }
    }
}

pub fn setup(job: &Job<'_>) -> Setup {
    let EchoOptions { model, trains, tcp, processes, threads, sockets, cores, sizes, relay } = job.echo;
    let program = job.programs.bench.to_string_lossy();
    let sockets = match sockets {
        Sockets::Shared => "shared",
        Sockets::Each => "each",
    };
    let mut command = Setup::words(&[&program, "echo", "--listen", &job.address.to_string()]);
    let numbers = [processes.to_string(), threads.to_string(), job.receive_octets.to_string()];
    command.extend(Setup::words(&[
        "--processes",
        &numbers[0],
        "--threads",
        &numbers[1],
        "--sockets",
        sockets,
    ]));
    command.extend(match tcp {
        true => Setup::words(&["--tcp"]),
        false => Setup::words(&["--model", model, "--receive-octets", &numbers[2]]),
    });
    if *trains {
        command.push("--trains".to_owned());
    }
    if !cores.is_empty() {
        let list: Vec<String> = cores.iter().map(usize::to_string).collect();
        command.extend(Setup::words(&["--cpus", &list.join(",")]));
    }
    if let Some(sizes) = sizes {
        command.extend(Setup::words(&["--sizes", &sizes.to_string_lossy()]));
    }
    if let Some((upstream, share)) = relay {
        command.extend(Setup::words(&["--relay", &upstream.to_string(), "--share", &share.to_string()]));
    }
    Setup { command, ..Setup::default() }
}
