//! `zonda compile`

use std::path::{Path, PathBuf};

use control::load::{Compiled, Job, compile};
use control::packs::write_file;
use control::text::{count, octets};
use control::wanted::Wanted;
use zone::check::Severity;

use super::{complain, print, zone_argument};

/// Compile zone files to a zone pack, which a server maps instead of reading text.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Pack to write; one that exists is replaced as a whole, also while a server uses it
    #[arg(short, long, value_name = "PACK")]
    output: PathBuf,
    /// Zones
    #[arg(required = true, value_name = "ORIGIN=FILE", value_parser = zone_argument)]
    zones: Vec<Wanted>,
}

const AFTER_HELP: &str = "\
Examples:
  zonda compile -o net.pack net=net.zone
  zonda compile -o all.pack example.com=example.com.zone example.org=example.org.zone
  zonda serve --zone net=net.pack";

/// Compiles; says whether the pack was written.
pub fn run(arguments: &Arguments) -> bool {
    match compile_and_write(arguments) {
        Ok(line) => print(&line),
        Err(lines) => {
            complain(lines.iter().map(String::as_str));
            complain([format!("{} not written", arguments.output.display()).as_str()]);
            false
        }
    }
}

/// Where to write: the file itself where `output` is a link, as the link would be replaced. Errors where that is
/// no file, such as a device: it would be replaced too.
fn place(output: &Path) -> Result<PathBuf, String> {
    let Ok(metadata) = std::fs::symlink_metadata(output) else { return Ok(output.to_owned()) };
    let describe = |text: &str| format!("{}: {text}", output.display());
    let place = match metadata.is_symlink() {
        true => std::fs::canonicalize(output)
            .map_err(|error| describe(&control::text::cannot("follow the link", &error)))?,
        false => output.to_owned(),
    };
    match std::fs::metadata(&place) {
        Ok(metadata) if !metadata.is_file() => Err(describe("expected a file or nothing, found neither")),
        _ => Ok(place),
    }
}

fn compile_and_write(arguments: &Arguments) -> Result<String, Vec<String>> {
    let output = place(&arguments.output).map_err(|problem| vec![problem])?;
    let zones = &arguments.zones;
    for (at, zone) in zones.iter().enumerate() {
        if zones[..at].iter().any(|other| other.name.eq_ignore_case(&zone.name)) {
            return Err(vec![format!("zone {} is given twice", zone.name)]);
        }
    }
    let job = |(id, zone): (usize, &Wanted)| Job {
        id,
        name: zone.name.clone(),
        source: zone.source.clone(),
        refuse: Severity::Fatal,
        digest: Default::default(),
    };
    let jobs: Vec<Job> = zones.iter().enumerate().map(job).collect();
    let Compiled { packs, warnings } = compile(&jobs, control::effort::Effort::all())?;
    complain(warnings.iter().map(String::as_str));
    let [pack] = &packs[..] else {
        return Err(vec!["the zones are too large for one pack; make several".into()]);
    };
    let mut temporary = output.clone().into_os_string();
    temporary.push(".tmp");
    write_file(&output, temporary.as_ref(), pack.octets()).map_err(|problem| vec![problem])?;
    let records: u64 = (0..pack.zone_count()).map(|number| pack.zone_row(number).record_count).sum();
    let size = pack.octets().len() as u64;
    Ok(format!(
        "{}: {}, {}, {} ({:.1} octets a record)\n",
        arguments.output.display(),
        count(zones.len(), "zone"),
        count(records as usize, "record"),
        octets(size),
        size as f64 / records.max(1) as f64
    ))
}
