//! Writes a generated Internet to a folder, for real servers:
//! `cargo run -p sim --example export FOLDER [NAMES [SEED [SIGNED% [BOGUS% [LAME% [ADDRESSES]]]]]]`.
//!
//! Names are taken from the lists that ship with the crate, as many as are wanted, evenly. Signatures are good from now on for a month.
//! ADDRESSES: how many a group of servers shares; 0: each server has its own.

use sim::generated::{Wanted, generated, names_evenly};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder =
        arguments.next().ok_or("export FOLDER [NAMES [SEED [SIGNED% [BOGUS% [LAME% [ADDRESSES]]]]]]")?;
    let mut number = |usual: u64| arguments.next().map_or(Ok(usual), |text| text.parse());
    let names = number(1000)? as usize;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let wanted = Wanted {
        seed: number(1)?,
        signed_percent: number(30)?,
        bogus_percent: number(3)?,
        lame_percent: number(1)?,
        addresses_a_group: number(8)? as u32,
        has_ipv6: false,
        now: u32::try_from(now)?,
        ..Wanted::default()
    };
    let generated = generated(&wanted, &names_evenly(names));
    std::fs::create_dir_all(&folder)?;
    sim::export::export(&generated, Path::new(&folder))?;
    println!("{} zones, {} questions in {folder}", generated.plan.zones.len(), generated.questions.len());
    Ok(())
}
