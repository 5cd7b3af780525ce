//! `zonda store history`

use std::io::{self, BufWriter, Write};

use control::text::count;
use serde_json::{Value, json};
use store::read::What;
use store::version::Time;
use store::{Database, Fault, Kind, Version};
use wire::NameBuf;

use super::{At, Lines, as_json, name, open_to_read, shown};

/// List the versions of a zone or of all, oldest first: serial, what it is, time, mark, who and why.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    at: At,
    /// Name of the zone; without one, those of all zones
    #[arg(value_parser = name)]
    zone: Option<NameBuf>,
    /// Show what changed too, record by record
    #[arg(long)]
    diff: bool,
    /// Print one JSON object for each version
    #[arg(long)]
    json: bool,
}

/// Lists; says whether all went well.
pub fn run(arguments: &Arguments) -> Result<bool, Lines> {
    let (at, zone) = (&arguments.at, arguments.zone.as_deref());
    let (store, is_fine) = open_to_read(at, zone)?;
    let mut output = BufWriter::new(io::stdout().lock());
    let (mut written, mut versions) = (Ok(()), 0);
    store
        .versions(zone, &mut |version| {
            versions += 1;
            if written.is_ok() {
                written = write(&store, version, arguments, &mut output)?;
            }
            Ok(())
        })
        .map_err(|fault| at.told(&fault))?;
    if let Some(zone) = zone.filter(|_| versions == 0) {
        return Err(vec![format!("{at}: zone {zone}: it has no versions")]);
    }
    match written.and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(vec![format!("standard output: {error}")])
        }
        _ => Ok(is_fine),
    }
}

/// Writes what is to be said of a version. An object is made in memory; lines of what changed, which may be millions, are not.
fn write(
    store: &Database,
    version: &Version,
    arguments: &Arguments,
    output: &mut impl Write,
) -> Result<io::Result<()>, Fault> {
    if arguments.json {
        return Ok(writeln!(output, "{}", object(store, version, arguments.diff)?));
    }
    let Version { id, zone, serial, mark, kind, .. } = version;
    let what = match kind {
        Kind::Change => count(version.rows as usize, "row"),
        other => other.word().to_owned(),
    };
    let (at, who) = (Time(version.at), version.who.as_deref().unwrap_or("by SQL").escape_debug());
    let why = version.why.as_deref().map(|why| format!(", {why:?}")).unwrap_or_default();
    let (zone, mark) = (shown(zone), shown(mark));
    let mut written = writeln!(output, "{id} {zone} {serial}: {what}, {at}, mark {mark}, {who}{why}");
    if arguments.diff {
        store.changes(version.id, &mut |what, row| {
            if written.is_ok() {
                written = output.write_all(difference(what, &row.to_string()).as_bytes());
            }
        })?;
    }
    Ok(written)
}

fn object(store: &Database, version: &Version, with_rows: bool) -> Result<Value, Fault> {
    let mut object = as_json(version);
    if with_rows {
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        store.changes(version.id, &mut |what, row| match what {
            What::Removed => removed.push(row.to_string()),
            What::Added => added.push(row.to_string()),
        })?;
        object["removed"] = json!(removed);
        object["added"] = json!(added);
    }
    Ok(object)
}

/// A line of what changed.
pub fn difference(what: What, row: &str) -> String {
    match what {
        What::Removed => format!("- {}\n", shown(row)),
        What::Added => format!("+ {}\n", shown(row)),
    }
}
