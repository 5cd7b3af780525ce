//! `zonda check-config`

use std::path::PathBuf;

use control::Settings;
use control::progress::Progress;
use control::text::count;
use control::wanted::{WantedZones, wanted};

use super::{complain, print};

/// Check a settings file and show all its problems at once.
///
/// Lists and folders of zones are read too; zone files are not (see `zonda check-zone`).
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  zonda check-config /etc/zonda/zonda.toml\n  zonda check-config zonda.toml --zones"
)]
pub struct Arguments {
    /// Settings file (TOML)
    file: PathBuf,
    /// Print the zones that would be served, with their files
    #[arg(long)]
    zones: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Checks; says whether there were no problems.
pub fn run(arguments: &Arguments) -> bool {
    let mut zones = WantedZones::default();
    let lines: Vec<String> = match Settings::read(&arguments.file) {
        Ok(settings) => {
            let (found, problems) = wanted(&settings, &Progress::default());
            zones = found;
            let here = control::here::problems_here(&settings);
            let here = here.iter().map(|problem| format!("{}: {problem}", arguments.file.display()));
            problems.iter().map(|(_, problem)| problem.to_string()).chain(here).collect()
        }
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    };
    let zone_lines = zones.iter().map(|(name, source)| {
        let source = zones.sources.get(source, name).map(|source| source.to_string());
        (name.to_string(), source.unwrap_or_default())
    });
    if arguments.json {
        let warnings = &zones.warnings;
        let zones: Vec<_> =
            zone_lines.map(|(zone, source)| serde_json::json!({ "zone": zone, "source": source })).collect();
        let object = serde_json::json!({ "ok": lines.is_empty(), "problems": lines, "warnings": warnings, "zones": zones });
        return print(&format!("{object}\n")) && lines.is_empty();
    }
    complain(zones.warnings.iter().chain(&lines).map(String::as_str));
    if !lines.is_empty() {
        return false;
    }
    if arguments.zones {
        let zones: String = zone_lines.map(|(zone, source)| format!("{zone} {source}\n")).collect();
        return print(&zones);
    }
    print(&format!("{}: fine, {}\n", arguments.file.display(), count(zones.len(), "zone")))
}
