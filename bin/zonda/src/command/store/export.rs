//! `zonda store export`

use wire::NameBuf;

use super::{At, Lines, name, open_to_read};
use crate::command::checked::print_records;

/// Print a zone as `check-zone --print` does: in canonical order, one record a line.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    at: At,
    /// Name of the zone
    #[arg(value_parser = name)]
    zone: NameBuf,
}

/// Prints; says whether all went well.
pub fn run(arguments: &Arguments) -> Result<bool, Lines> {
    let Arguments { at, zone } = arguments;
    let (mut store, is_fine) = open_to_read(at, Some(zone))?;
    if !is_fine {
        return Ok(false);
    }
    let (contents, _) = store.contents(zone).map_err(|fault| at.told(&fault))?;
    Ok(print_records(&contents))
}
