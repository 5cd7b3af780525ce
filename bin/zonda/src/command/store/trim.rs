//! `zonda store trim`

use std::path::PathBuf;

use control::text::count;
use store::Bounds;

use super::{Lines, now, open, told};
use crate::command::print;

/// Drop the history of zones beyond so many days or octets; the newest version of each stays.
#[derive(clap::Args)]
pub struct Arguments {
    /// File with the store
    store: PathBuf,
    /// Keep versions of so many days
    #[arg(long, value_name = "NUMBER", required_unless_present = "octets_max")]
    days: Option<u32>,
    /// Keep so many octets of changed records of all zones, the newest
    #[arg(long, value_name = "NUMBER")]
    octets_max: Option<u64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Drops; says whether all went well.
pub fn run(arguments: &Arguments) -> Result<bool, Lines> {
    const DAY: u64 = 86_400;
    let path = &arguments.store;
    let before = arguments.days.map(|days| now().saturating_sub(u64::from(days) * DAY));
    let bounds = Bounds { before, octets_max: arguments.octets_max };
    let trimmed = open(path)?.trim(&bounds).map_err(|fault| told(path, &fault))?;
    let (versions, rows) = (trimmed.versions, trimmed.rows);
    Ok(print(&match arguments.json {
        true => format!("{}\n", serde_json::json!({ "versions": versions, "rows": rows })),
        false => format!(
            "{}: {} and {} dropped\n",
            path.display(),
            count(versions as usize, "version"),
            count(rows as usize, "row")
        ),
    }))
}
