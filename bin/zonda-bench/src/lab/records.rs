//! `zonda-bench lab compare` and `lab report`: what is done with records that experiments left.

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::Subcommand;
use lab::{compare, file, report, summary};

/// Columns of the summary: those of a terminal that is not narrow.
const WIDTH: usize = 100;

/// Commands on records.
#[derive(Subcommand)]
pub enum Command {
    /// Say what changed from one result to another, and how sure that is.
    #[command(after_help = "\
Examples:
  zonda-bench lab compare lab-results/root-before lab-results/root-after
  zonda-bench lab compare a/record.json b/record.json --json
A verdict is given only if the 95 % interval of B/A excludes 1 (for rates: leaves it by 3 %), and only between full runs of
one recipe on one machine.")]
    Compare {
        /// The older result: its folder, or the record in it.
        a: PathBuf,
        /// The newer result.
        b: PathBuf,
        /// One JSON object instead of text.
        #[arg(long)]
        json: bool,
    },
    /// Unpack the newest programs of other servers, to be measured instead of the system's.
    #[command(after_help = "\
Examples:
  zonda-bench lab peers unstable
  zonda-bench lab root --quick --peers unstable
  zonda-bench lab peers unstable /srv/peers --mirror http://mirror.example/debian --again
Debian's packages are fetched with apt and unpacked, not installed: no right is needed beyond writing the folder, half a gibibyte \
of room and Debian's apt and dpkg are. What was broken off goes on where it was.")]
    Peers(super::peers::Peers),
    /// Write the report of a result anew, and show its summary.
    #[command(after_help = "\
Example:
  zonda-bench lab report lab-results/root-20260102-030405
The report holds nothing that is not in record.json: it can be written anew at any time.")]
    Report {
        /// The folder of the result, or the record in it.
        result: PathBuf,
    },
}

pub fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Compare { a, b, json } => compare::run(&a, &b, json).map_err(|error| error.to_string()),
        Command::Peers(options) => super::peers::run(options).map_err(|error| error.to_string()),
        Command::Report { result } => rewrite(result).map_err(|error| error.to_string()),
    };
    match done {
        Ok(text) => match io::stdout().lock().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(cause) => failed(&format!("cannot write: {cause}")),
        },
        Err(problem) => failed(&problem),
    }
}

fn rewrite(result: PathBuf) -> Result<String, file::Error> {
    let record = report::rewrite(&result)?;
    let folder =
        if result.is_dir() { result } else { result.parent().map(PathBuf::from).unwrap_or_default() };
    Ok(summary::with_place(&record, &folder, WIDTH))
}

fn failed(problem: &str) -> ExitCode {
    eprintln!("zonda-bench: {problem}");
    ExitCode::FAILURE
}
