//! `zonda store import`

use std::path::PathBuf;

use control::text::count;
use control::wanted::parse_argument;
use store::{Database, DatabaseWriter, Fault, Meta, Put};
use wire::{Name, NameBuf};
use zonefile::Buffers;

use super::{At, Lines, Said, again, as_json, given, meta, open, powerdns, source, who};
use crate::command::checked::Depth;
use crate::command::{complain, print};

/// Put zone files into a store, all or none; what differs from a zone that is there becomes a version of it. Or all zones of an installation of PowerDNS, but for those that cannot be served.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    at: At,
    /// Zones
    #[arg(value_name = "ORIGIN=FILE", value_parser = parse_argument, required_unless_present_any = ["folder", "from_config", "from_powerdns"])]
    zones: Vec<(NameBuf, PathBuf)>,
    #[command(flatten)]
    more: given::More,
    #[command(flatten)]
    tables: powerdns::FromPowerDns,
    #[command(flatten)]
    depth: Depth,
    #[command(flatten)]
    said: Said,
}

/// Imports; says whether all went well.
pub fn run(arguments: &Arguments) -> Result<bool, Lines> {
    let at = &arguments.at;
    if let Some(source) = arguments.tables.source() {
        return powerdns::run(at, &source, &arguments.depth, &arguments.said);
    }
    let zones = arguments.more.with(&arguments.zones)?;
    let (mut store, mut buffers, who) = (open(at)?, Buffers::new(), who());
    let meta = meta(&who, arguments.said.why.as_deref());
    let made = again(|| put_all(arguments, &zones, &mut store, &mut buffers, &meta));
    match made.map_err(|fault| at.told(&fault))? {
        Some(made) => Ok(print(&say(&made, arguments.said.json))),
        None => Err(vec![format!("{at}: nothing was changed")]),
    }
}

/// Puts all zones in. `None`: what keeps them out was said.
fn put_all<'z>(
    arguments: &Arguments,
    zones: &'z [(NameBuf, PathBuf)],
    store: &mut Database,
    buffers: &mut Buffers,
    meta: &Meta<'_>,
) -> Result<Option<Vec<(&'z NameBuf, Put)>>, Fault> {
    let mut made: Vec<(&NameBuf, Put)> = Vec::with_capacity(zones.len());
    // Others may write until the first zone is read and found right.
    let mut writer: Option<DatabaseWriter<'_>> = None;
    let (mut waiting, mut is_fine) = (Some(store), true);
    for (name, file) in zones {
        let text = match source::read(name, file, &arguments.depth, buffers) {
            Ok(text) => text,
            Err(lines) => {
                complain(lines.iter().map(String::as_str));
                is_fine = false;
                continue;
            }
        };
        // Nothing is written any more; but all that is wrong is said.
        if !is_fine {
            continue;
        }
        if let Some(store) = waiting.take() {
            writer = Some(store.writer()?);
        }
        let Some(writer) = &mut writer else { continue };
        match writer.put(&text.contents, None, meta) {
            Ok(put) => made.push((name, put)),
            Err(fault) if fault.is_of_zone() => {
                complain(arguments.at.told(&fault).iter().map(String::as_str));
                is_fine = false;
            }
            Err(fault) => return Err(fault),
        }
    }
    if !is_fine {
        return Ok(None);
    }
    if let Some(writer) = writer {
        writer.commit()?;
    }
    Ok(Some(made))
}

fn say(made: &[(&NameBuf, Put)], as_objects: bool) -> String {
    let mut text = String::new();
    for (name, put) in made {
        text += &match as_objects {
            true => object(name, put).to_string(),
            false => line(name, put),
        };
        text.push('\n');
    }
    text
}

/// What came of putting a zone in, as an object.
pub(super) fn object(name: &Name, put: &Put) -> serde_json::Value {
    match put {
        Put::Made(version) => as_json(version),
        Put::Same | Put::Disabled => serde_json::json!({ "zone": name.to_string(), "version": null }),
    }
}

/// The same in words.
pub(super) fn line(name: &Name, put: &Put) -> String {
    match put {
        Put::Made(version) => match version.kind {
            store::Kind::Change => {
                format!("zone {name}: serial {}, {}", version.serial, count(version.rows as usize, "row"))
            }
            _ => format!("zone {name}: serial {}, all of it", version.serial),
        },
        Put::Same => format!("zone {name}: as it was"),
        Put::Disabled => format!("zone {name}: changed, and not enabled: no version"),
    }
}
