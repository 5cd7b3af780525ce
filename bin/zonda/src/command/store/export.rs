//! `zonda store export`

use std::path::PathBuf;

use wire::NameBuf;

use super::{Lines, name, open_to_read, told};
use crate::command::checked::print_records;

/// Print a zone as `check-zone --print` does: in canonical order, one record a line.
#[derive(clap::Args)]
pub struct Arguments {
    /// File with the store
    store: PathBuf,
    /// Name of the zone
    #[arg(value_parser = name)]
    zone: NameBuf,
}

/// Prints; says whether all went well.
pub fn run(arguments: &Arguments) -> Result<bool, Lines> {
    let Arguments { store: path, zone } = arguments;
    let (mut store, is_fine) = open_to_read(path, Some(zone))?;
    if !is_fine {
        return Ok(false);
    }
    let (contents, _) = store.contents(zone).map_err(|fault| told(path, &fault))?;
    Ok(print_records(&contents))
}
