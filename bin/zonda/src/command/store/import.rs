//! `zonda store import`

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use control::text::{cannot, count};
use control::wanted::{name_of_file, parse_argument};
use store::{Database, DatabaseWriter, Fault, Meta, Put};
use wire::{Name, NameBuf};
use zonefile::Buffers;

use super::{At, Lines, Said, again, as_json, meta, open, powerdns, source, who};
use crate::command::checked::Depth;
use crate::command::{complain, print};

/// Put zone files into a store, all or none; what differs from a zone that is there becomes a version of it. Or all zones of an installation of PowerDNS, but for those that cannot be served.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    at: At,
    /// Zones
    #[arg(value_name = "ORIGIN=FILE", value_parser = parse_argument, required_unless_present_any = ["folder", "from_powerdns"])]
    zones: Vec<(NameBuf, PathBuf)>,
    /// Folder with zone files too, each named after its zone
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Names of the files in the folder; `{name}` stands for the zone, `@` for the root zone
    #[arg(long, value_name = "PATTERN", default_value = "{name}.zone", value_parser = pattern)]
    pattern: String,
    #[command(flatten)]
    tables: powerdns::FromPowerDns,
    #[command(flatten)]
    depth: Depth,
    #[command(flatten)]
    said: Said,
}

fn pattern(text: &str) -> Result<String, String> {
    match text.matches("{name}").count() {
        1 => Ok(text.to_owned()),
        _ => Err("expected `{name}` once".into()),
    }
}

/// Imports; says whether all went well.
pub fn run(arguments: &Arguments) -> Result<bool, Lines> {
    let at = &arguments.at;
    if let Some(source) = arguments.tables.source() {
        return powerdns::run(at, &source, &arguments.depth, &arguments.said);
    }
    let zones = zones(arguments)?;
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

/// All zones that are named, and those of the folder. Errors where one is there twice.
fn zones(arguments: &Arguments) -> Result<Vec<(NameBuf, PathBuf)>, Lines> {
    let mut zones = arguments.zones.clone();
    if let Some(folder) = &arguments.folder {
        let mut found = in_folder(folder, &arguments.pattern)?;
        if found.is_empty() {
            return Err(vec![format!("{}: no file is named as {}", folder.display(), arguments.pattern)]);
        }
        zones.append(&mut found);
    }
    let mut names: Vec<String> = zones.iter().map(|(name, _)| name.to_lowercase().to_string()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(vec![format!("zone {} is given twice", pair[0])]),
        None => Ok(zones),
    }
}

/// Zone files of a folder by their names, in the order of these.
fn in_folder(folder: &Path, pattern: &str) -> Result<Vec<(NameBuf, PathBuf)>, Lines> {
    let describe = |error: std::io::Error| vec![format!("{}: {}", folder.display(), cannot("read", &error))];
    let mut zones = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(describe)? {
        let path = entry.map_err(describe)?.path();
        let file = path.file_name().unwrap_or(OsStr::new(""));
        match name_of_file(file, pattern) {
            None => {}
            Some(Ok((name, _))) => zones.push((name, path)),
            Some(Err(error)) => {
                return Err(vec![format!("{}: named after no zone: {error}", path.display())]);
            }
        }
    }
    zones.sort_by(|one, other| one.1.cmp(&other.1));
    Ok(zones)
}
