//! Writes a generated Internet to a folder, for real servers:
//! `cargo run -p sim --example export FOLDER [NAMES [SEED [SIGNED% [BOGUS% [LAME% [ADDRESSES [LIST FROM]]]]]]]`.
//!
//! Names are taken from the lists that ship with the crate, as many as are wanted, evenly; or from the file LIST (`generated::names_of`), those from
//! line FROM on, counted from 0. Signatures are good from now on for a month. ADDRESSES: how many a group of servers shares; 0: each server has its own.

use sim::generated::{NameSeen, Wanted, generated, names_evenly, names_of};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments
        .next()
        .ok_or("export FOLDER [NAMES [SEED [SIGNED% [BOGUS% [LAME% [ADDRESSES [LIST FROM]]]]]]]")?;
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
    let seen: Vec<NameSeen> = match arguments.next() {
        Some(list) => {
            let from = arguments.next().ok_or("the first line of LIST")?.parse()?;
            names_of(&std::fs::read_to_string(list)?).skip(from).take(names).collect()
        }
        None => names_evenly(names),
    };
    let generated = generated(&wanted, &seen);
    std::fs::create_dir_all(&folder)?;
    sim::export::export(&generated, Path::new(&folder))?;
    println!("{} zones, {} questions in {folder}", generated.plan.zones.len(), generated.questions.len());
    Ok(())
}
