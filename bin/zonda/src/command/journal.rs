//! `zonda journal`

use std::path::{Path, PathBuf};

use clap::Subcommand;
use control::Settings;
use control::journal::Journal;
use control::text::count;
use wire::NameBuf;

use super::{complain, print};

/// Look at the log and the history of zones that change, without the server.
#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Settings file, which says where the journal is (`pack-directory`)
    #[arg(short, long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Instead: the folder that the settings have as `pack-directory`
    #[arg(short, long, value_name = "DIR", global = true, conflicts_with = "config")]
    folder: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  zonda journal --config /etc/zonda/zonda.toml show
  zonda journal --folder /var/lib/zonda show example.com
  zonda journal --folder /var/lib/zonda verify
  zonda journal --folder /var/lib/zonda prune example.com

Exit status: 0 fine, 1 a finding or failure, 2 wrong usage. While a server uses the folder nothing is verified or removed.";

#[derive(Subcommand)]
enum Command {
    /// Show the groups of the log with their records, and the versions of zones that are kept for IXFR
    Show {
        /// Show only this zone
        #[arg(value_parser = name)]
        zone: Option<NameBuf>,
    },
    /// Read all of it: a line for each fault, with its place, and for each zone whether a start takes images of its changes
    Verify,
    /// Remove the history of a zone: its secondaries get all of it next time
    Prune {
        /// Its name
        #[arg(value_parser = name)]
        zone: NameBuf,
    },
}

fn name(text: &str) -> Result<NameBuf, String> {
    control::wanted::zone_name(text)
}

/// Looks; says whether all is well.
pub fn run(arguments: &Arguments) -> bool {
    match look(arguments) {
        Ok(ok) => ok,
        Err(problem) => {
            complain(problem.lines());
            false
        }
    }
}

fn look(arguments: &Arguments) -> Result<bool, String> {
    let journal = open(arguments)?;
    match &arguments.command {
        Command::Show { zone } => {
            if journal.is_in_use() {
                complain([format!(
                    "{}: a server writes it: what follows is as it was in this moment",
                    journal.folder().display()
                )
                .as_str()]);
            }
            let mut ok = true;
            journal.show(zone.as_deref(), &mut |line| ok &= print(&format!("{line}\n")))?;
            Ok(ok)
        }
        Command::Verify => {
            let (mut faults, mut ok) = (0, true);
            let mut fault = |line: String| {
                faults += 1;
                complain([line.as_str()]);
            };
            journal.verify(&mut fault, &mut |line| ok &= print(&format!("{line}\n")))?;
            let folder = journal.folder().display();
            let verdict = if faults == 0 { "fine".into() } else { count(faults, "fault") };
            Ok(print(&format!("{folder}: {verdict}\n")) && ok && faults == 0)
        }
        Command::Prune { zone } => Ok(print(&match journal.prune(zone)? {
            true => format!("zone {zone}: its history is removed\n"),
            false => format!("zone {zone}: it has no history\n"),
        })),
    }
}

fn open(arguments: &Arguments) -> Result<Journal, String> {
    if let Some(folder) = &arguments.folder {
        return Journal::open(folder, Settings::default().server.journal_octets);
    }
    let settings = match &arguments.config {
        None => Settings::default(),
        Some(file) => read(file)?,
    };
    Journal::of(&settings)
}

fn read(file: &Path) -> Result<Settings, String> {
    Settings::read(file)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}
