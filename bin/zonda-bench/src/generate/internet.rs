//! `zonda-bench gen internet`.

use std::{
    fs,
    net::Ipv4Addr,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use bench::Error;
use clap::Args;
use sim::{
    export::export,
    generated::{FIRST_ADDRESS, Wanted, generated, names_evenly},
};

/// Options of `gen internet`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  zonda-bench gen internet -o internet/
  zonda-bench gen internet --names 20000 --signed 100 -o internet/
  zonda-bench gen internet --addresses 0 --bogus 3 --lame 1 -o internet/
The folder has zones/, servers (address, name, zones), groups and group-N (zones of servers that a program may stand for without having a zone
and one below it), hints, anchor, names and questions. Signatures are good for 30 days.")]
pub struct Internet {
    /// Folder to write.
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Names of real sites that have an address, at least so many; there are some 21,000.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    names: usize,
    /// Another seed gives another Internet.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many of a hundred zones are signed; with 0 nothing is, with 100 everything.
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    signed: u64,
    /// How many of a hundred signed zones are signed wrongly.
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    bogus: u64,
    /// How many of a hundred zones have servers that are nowhere.
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    lame: u64,
    /// Addresses that the name servers of a group share; 0: each has its own.
    #[arg(long, value_name = "N", default_value_t = 8)]
    addresses: u32,
    /// Where the addresses of servers begin.
    #[arg(long, value_name = "ADDRESS", default_value_t = FIRST_ADDRESS)]
    first_address: Ipv4Addr,
}

/// Most names: more than all lists together have.
const NAMES_MAX: usize = 100_000;
/// Most addresses of a group: what the numbers of a group leave room for.
const ADDRESSES_MAX: u32 = 250;

pub fn run(options: &Internet) -> Result<(), Error> {
    for (option, value) in
        [("--signed", options.signed), ("--bogus", options.bogus), ("--lame", options.lame)]
    {
        if value > 100 {
            return Err(Error::Option { option, rule: "must be from 0 to 100" });
        }
    }
    if !(1..=NAMES_MAX).contains(&options.names) {
        return Err(Error::Option { option: "--names", rule: "must be from 1 to 100000" });
    }
    if options.addresses > ADDRESSES_MAX {
        return Err(Error::Option { option: "--addresses", rule: "must be from 0 to 250" });
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let wanted = Wanted {
        seed: options.seed,
        signed_percent: options.signed,
        bogus_percent: options.bogus,
        lame_percent: options.lame,
        has_ipv6: false,
        now: u32::try_from(now).unwrap_or(u32::MAX),
        addresses_a_group: options.addresses,
        first_address: options.first_address,
    };
    // Some of the lists have no address.
    let generated = generated(&wanted, &names_evenly(options.names + options.names / 8));
    let fault = |action| {
        let path = options.output.clone();
        move |cause| Error::File { path, action, cause }
    };
    fs::create_dir_all(&options.output).map_err(fault("create"))?;
    export(&generated, &options.output).map_err(fault("write"))?;
    eprintln!("{} zones, {} names", generated.plan.zones.len(), generated.names.len());
    Ok(())
}
