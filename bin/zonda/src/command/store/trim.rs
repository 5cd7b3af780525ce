//! `zonda store trim`

use control::text::count;
use store::Bounds;

use super::{At, Lines, now, open};
use crate::command::print;

/// Drop the history of zones beyond so many days or octets; the newest version of each stays.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    at: At,
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
    let at = &arguments.at;
    let before = arguments.days.map(|days| now().saturating_sub(u64::from(days) * DAY));
    let bounds = Bounds { before, octets_max: arguments.octets_max };
    let trimmed = open(at)?.trim(&bounds).map_err(|fault| at.told(&fault))?;
    let (versions, rows) = (trimmed.versions, trimmed.rows);
    Ok(print(&match arguments.json {
        true => format!("{}\n", serde_json::json!({ "versions": versions, "rows": rows })),
        false => format!(
            "{at}: {} and {} dropped\n",
            count(versions as usize, "version"),
            count(rows as usize, "row")
        ),
    }))
}
