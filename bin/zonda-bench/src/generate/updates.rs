//! `zonda-bench gen updates`.

use std::{net::SocketAddr, path::PathBuf};

use bench::{
    Error,
    generate::updates::{self, Plan},
};
use clap::Args;

use super::{create, origin_name, share};

/// Options of `updates`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench gen updates --zone dynamic.zone --count 10000 -o updates.txt && nsupdate -v updates.txt
  zonda-bench gen updates --zone com.zone --group 50 --prerequisites --server 127.0.0.1:5300 -o updates.txt
Names that are deleted exist, names that are added do not; each update holds after those before it, as long as
nobody else changes the zone. They can be sent once.")]
pub struct Updates {
    /// Zone file to change.
    #[arg(long, value_name = "FILE")]
    zone: PathBuf,
    /// Origin of the file, where it does not begin with $ORIGIN and has relative names.
    #[arg(long)]
    origin: Option<String>,
    /// File to write; standard output without.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Names to add or delete.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    count: usize,
    /// Changes in one update message.
    #[arg(long, value_name = "N", default_value_t = 1)]
    group: usize,
    /// Share of additions.
    #[arg(long, value_name = "SHARE", default_value_t = 0.5)]
    add: f64,
    /// State before each change what must be true for it.
    #[arg(long)]
    prerequisites: bool,
    /// Server to name in the file; without, nsupdate asks the SOA.
    #[arg(long, value_name = "ADDRESS:PORT")]
    server: Option<SocketAddr>,
    /// File of names whose labels are added first.
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Start of the random choice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Most changes in a message: with names of usual length they fit its 64 KiB.
const GROUP_MAX: usize = 500;

pub fn run(options: &Updates) -> Result<(), Error> {
    share("--add", options.add)?;
    if !(1..=GROUP_MAX).contains(&options.group) {
        return Err(Error::Option { option: "--group", rule: "must be from 1 to 500: a message has 64 KiB" });
    }
    if !(1..=10_000_000).contains(&options.count) {
        return Err(Error::Option { option: "--count", rule: "must be from 1 to 10000000" });
    }
    let origin = options.origin.as_deref().map(origin_name).transpose()?;
    let plan = Plan {
        count: options.count,
        group: options.group,
        add_share: options.add,
        prerequisites: options.prerequisites,
        server: options.server,
        names: options.names.clone(),
        seed: options.seed,
    };
    let tally = match &options.output {
        Some(path) => updates::write(create(path)?, &options.zone, origin.as_deref(), &plan)?,
        None => {
            let output = std::io::BufWriter::new(std::io::stdout().lock());
            updates::write(output, &options.zone, origin.as_deref(), &plan)?
        }
    };
    eprintln!("{} names added, {} deleted, in {} messages", tally.added, tally.deleted, tally.messages);
    Ok(())
}
