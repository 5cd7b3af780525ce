//! `zonda stat`

use std::path::PathBuf;

use control::text::{count, grouped, octets};
use serde_json::{Value, json};
use zone::Pack;
use zone::pack::ZoneRow;
use zone::section::Section;

use super::{complain, print};

/// Show what is in a zone pack: octets of each section, for each record, for each zone.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  zonda stat net.pack\n  zonda stat net.pack --zones\n  zonda stat net.pack --json"
)]
pub struct Arguments {
    /// Pack
    pack: PathBuf,
    /// List its zones too
    #[arg(long)]
    zones: bool,
    /// Print one JSON object, zones included
    #[arg(long)]
    json: bool,
}

/// Shows; says whether the pack could be read.
pub fn run(arguments: &Arguments) -> bool {
    match control::system::map_pack(&arguments.pack) {
        Ok((pack, _)) => {
            let text = match arguments.json {
                true => format!("{}\n", as_json(&pack)),
                false => as_text(&pack, arguments.zones),
            };
            if pack.is_damaged() {
                complain([format!("{}: was cut off while it was read", arguments.pack.display()).as_str()]);
                return false;
            }
            print(&text)
        }
        Err(problem) => {
            complain([format!("{}: {problem}", arguments.pack.display()).as_str()]);
            false
        }
    }
}

fn rows(pack: &Pack) -> impl Iterator<Item = (String, ZoneRow)> {
    (0..pack.zone_count()).map(|number| {
        let row = pack.zone_row(number);
        (pack.apex(&row).map_or_else(|| "?".into(), |(name, _)| name.to_string()), row)
    })
}

/// Zones, names and records of a pack.
fn totals(pack: &Pack) -> (u64, u64, u64) {
    rows(pack).fold((0, 0, 0), |(zones, names, records), (_, row)| {
        (zones + 1, names + u64::from(row.node_count), records + row.record_count)
    })
}

fn signed(row: &ZoneRow) -> &'static str {
    match row.bits {
        bits if bits & ZoneRow::NSEC3 != 0 => "NSEC3",
        bits if bits & ZoneRow::NSEC != 0 => "NSEC",
        _ => "-",
    }
}

fn as_text(pack: &Pack, with_zones: bool) -> String {
    let (zones, names, records) = totals(pack);
    let size = pack.octets().len() as u64;
    let per_record = |octets: u64| octets as f64 / records.max(1) as f64;
    let mut text = format!(
        "{}, {}, {}, {} ({:.1} octets a record)\n\n{:<14} {:>15} {:>6} {:>10}\n",
        count(zones as usize, "zone"),
        count(names as usize, "name"),
        count(records as usize, "record"),
        octets(size),
        per_record(size),
        "section",
        "octets",
        "share",
        "a record"
    );
    for section in Section::ALL {
        let octets = pack.section(section).len() as u64;
        let share = octets as f64 * 100.0 / size.max(1) as f64;
        text += &format!(
            "{:<14} {:>15} {share:>5.1}% {:>10.2}\n",
            section.name(),
            grouped(octets),
            per_record(octets)
        );
    }
    if with_zones {
        text +=
            &format!("\n{:<40} {:>10} {:>12} {:>12} {:<6}\n", "zone", "serial", "names", "records", "signed");
        for (name, row) in rows(pack) {
            text += &format!(
                "{name:<40} {:>10} {:>12} {:>12} {:<6}\n",
                row.serial,
                grouped(u64::from(row.node_count)),
                grouped(row.record_count),
                signed(&row)
            );
        }
    }
    text
}

fn as_json(pack: &Pack) -> Value {
    let (_, names, records) = totals(pack);
    let sections: serde_json::Map<String, Value> = Section::ALL
        .into_iter()
        .map(|section| (section.name().to_owned(), json!(pack.section(section).len())))
        .collect();
    let zones: Vec<Value> = rows(pack)
        .map(|(name, row)| {
            json!({
                "zone": name, "serial": row.serial, "names": row.node_count, "records": row.record_count,
                "denial_records": row.denial_count, "signed": (row.bits & ZoneRow::SIGNED) != 0, "denial": signed(&row),
                "text_mark": row.text_mark, "first_expiry": row.first_expiry,
                "errors": row.errors, "warnings": row.warnings,
            })
        })
        .collect();
    json!({
        "octets": pack.octets().len(), "names": names, "records": records,
        "octets_per_record": pack.octets().len() as f64 / records.max(1) as f64,
        "sections": sections, "zones": zones,
    })
}
