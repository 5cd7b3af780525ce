//! `zonda-bench echo`.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

use bench::{
    Error,
    echo::{BATCH, Echo, RECEIVE_OCTETS, ReplySize},
    mmsg,
    sizes::{ANSWER_OCTETS_MAX, Sizes},
};
use clap::Args;

/// Options of the echo server.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench echo --listen 127.0.0.1:5301
  zonda-bench echo --listen 10.0.0.1:53 --sizes root.sizes --cpu 0
Ends at SIGTERM or SIGINT and then says how many packets it saw.")]
pub struct Arguments {
    /// Address and port to answer on.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:5301")]
    listen: SocketAddr,
    /// Reply sizes by query, as `load --record-sizes` wrote them.
    #[arg(long, value_name = "FILE", conflicts_with = "size")]
    sizes: Option<PathBuf>,
    /// Use the sizes one after the other instead of looking at the query.
    #[arg(long, requires = "sizes")]
    in_order: bool,
    /// One size for all replies.
    #[arg(long, value_name = "OCTETS")]
    size: Option<usize>,
    /// Packets a system call moves at most.
    #[arg(long, value_name = "N", default_value_t = BATCH)]
    batch: usize,
    /// What the socket may hold before queries are lost, as the kernel counts it.
    #[arg(long, value_name = "OCTETS", default_value_t = RECEIVE_OCTETS)]
    receive_octets: usize,
    /// Core to run on.
    #[arg(long, value_name = "CORE")]
    cpu: Option<usize>,
}

pub fn run(arguments: Arguments) -> Result<ExitCode, Error> {
    if !(1..=mmsg::BATCH_MAX).contains(&arguments.batch) {
        return Err(Error::Option { option: "--batch", rule: "must be from 1 to 1024" });
    }
    if !(4096..=1 << 30).contains(&arguments.receive_octets) {
        return Err(Error::Option { option: "--receive-octets", rule: "must be from 4096 to 1073741824" });
    }
    if arguments.size.is_some_and(|size| !(12..=ANSWER_OCTETS_MAX).contains(&size)) {
        return Err(Error::Option { option: "--size", rule: "must be from 12 to 4096" });
    }
    let sizes = match (&arguments.sizes, arguments.size) {
        (Some(path), _) if arguments.in_order => ReplySize::InOrder(Sizes::read(path)?),
        (Some(path), _) => ReplySize::ByQuery(Sizes::read(path)?),
        (None, Some(size)) => ReplySize::Fixed(size),
        (None, None) => ReplySize::Same,
    };
    crate::load::pin(arguments.cpu)?;
    let echo = Echo::bind(arguments.listen, sizes, arguments.batch, arguments.receive_octets)?;
    eprintln!("echo on {}", echo.address());
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let installed = signal_hook::flag::register(signal, Arc::clone(&stop));
        installed.map_err(|cause| Error::System { action: "install a signal handler", cause })?;
    }
    let counters = echo.run(&stop)?;
    eprintln!(
        "received {}, sent {}, dropped {}, ignored {}",
        counters.received, counters.sent, counters.dropped, counters.ignored
    );
    Ok(ExitCode::SUCCESS)
}
