//! `zonda-bench durable`.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use bench::{
    Error,
    durable::{self, Durable, Way},
};
use clap::Args;

/// Longest measurement of a disk: a quarter of an hour.
const SECONDS_MAX: f64 = 900.0;

/// Options of the limit program.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench durable --listen 127.0.0.1:5300 --file /var/lib/zonda/limit &
  zonda-bench load --updates updates.txt --update-rate max --update-window 64 --update-server 127.0.0.1:5300
  zonda-bench durable --file /var/lib/zonda/limit --disk 5
The file is made with 16 MiB; --disk removes it at the end. It is to lie on the disk that a server has its journal on.")]
pub struct Arguments {
    /// Address and port to answer on, over UDP.
    #[arg(long, value_name = "ADDR:PORT", required_unless_present = "disk")]
    listen: Option<SocketAddr>,
    /// File that messages are kept in.
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Answer nobody, but write for so many seconds, a block of 4 KiB at a time, each durable before the next; says how many
    /// a second, as JSON.
    #[arg(long, value_name = "SECONDS", conflicts_with = "listen")]
    disk: Option<f64>,
    /// Write into the system's cache and call fdatasync, as most servers do, instead of past it, which is quicker.
    #[arg(long)]
    fdatasync: bool,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let way = if arguments.fdatasync { Way::Fdatasync } else { Way::Direct };
    if let Some(seconds) = arguments.disk {
        if !(0.001..=SECONDS_MAX).contains(&seconds) {
            return Err(Error::Option { option: "--disk", rule: "must be from 0.001 to 900" });
        }
        let disk = durable::measure(&arguments.file, Duration::from_secs_f64(seconds), way)?;
        println!("{}", disk.json());
        return Ok(ExitCode::SUCCESS);
    }
    let Some(listen) = arguments.listen else {
        return Err(Error::Option { option: "--listen", rule: "is needed" });
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let installed = signal_hook::flag::register(signal, Arc::clone(&stop));
        installed.map_err(|cause| Error::System { action: "install a signal handler", cause })?;
    }
    let durable = Durable::new(listen, &arguments.file, way)?;
    let address = durable.address().map_err(|cause| Error::System { action: "ask a socket", cause })?;
    eprintln!("durable on {address}");
    let counts = durable.run(&stop)?;
    eprintln!("{} messages, {} syncs", counts.messages, counts.syncs);
    Ok(ExitCode::SUCCESS)
}
