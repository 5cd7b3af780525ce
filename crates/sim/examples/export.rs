//! Writes a generated Internet to a folder, for real servers: `cargo run -p sim --example export FOLDER [NAMES [SIGNED% [BOGUS%]]]`.
//! Names are taken from the two lists that ship with the crate, as many as are wanted, evenly.

use sim::generated::{Wanted, generated, names_seen};
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("export FOLDER [NAMES [SIGNED% [BOGUS%]]]")?;
    let mut number = |usual: u64| arguments.next().map_or(Ok(usual), |text| text.parse());
    let (names, signed_percent, bogus_percent) = (number(1000)? as usize, number(30)?, number(3)?);
    let seen = names_seen();
    let every = (seen.len() / names.max(1)).max(1);
    let seen: Vec<_> = seen.into_iter().step_by(every).collect();
    let wanted = Wanted { seed: 1, signed_percent, bogus_percent, has_ipv6: true };
    let generated = generated(&wanted, &seen);
    std::fs::create_dir_all(&folder)?;
    sim::export::export(&generated, Path::new(&folder))?;
    println!("{} zones, {} names in {folder}", generated.plan.zones.len(), generated.names.len());
    Ok(())
}
