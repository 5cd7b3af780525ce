//! `zonda-bench lab compare`, `lab report` and `lab history`: what is done with records that experiments left.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
};

use clap::{Args, Subcommand};
use lab::{compare, file, history, records, report, summary};

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
    /// Write the report of a result anew, and show its summary.
    #[command(after_help = "\
Example:
  zonda-bench lab report lab-results/root-20260102-030405
The report holds nothing that is not in record.json: it can be written anew at any time.")]
    Report {
        /// The folder of the result, or the record in it.
        result: PathBuf,
    },
    /// Show a figure over all records of a recipe, by time and commit.
    #[command(after_help = "\
Examples:
  zonda-bench lab history root
  zonda-bench lab history root --metric 'user CPU' --contender zonda --page history.html
  zonda-bench lab history caching lab-results benches/records/lab --json
Without --metric it is the first one of the newest record; the others are named at the end.")]
    History(History),
}

/// Options of `lab history`.
#[derive(Args)]
pub struct History {
    /// Name of the recipe.
    recipe: String,
    /// Folders of results, or folders that hold such [default: benches/records/lab].
    folders: Vec<PathBuf>,
    /// The figure: rate, share of echo, user CPU, ...
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// One contender instead of all.
    #[arg(long, value_name = "NAME")]
    contender: Option<String>,
    /// One place of what varies, such as `2 workers`, instead of all.
    #[arg(long, value_name = "PLACE")]
    at: Option<String>,
    /// One JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Write a page with charts, too.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

pub fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Compare { a, b, json } => compare::run(&a, &b, json).map_err(|error| error.to_string()),
        Command::Report { result } => rewrite(result).map_err(|error| error.to_string()),
        Command::History(options) => over_time(options),
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

fn over_time(options: History) -> Result<String, String> {
    let folders =
        if options.folders.is_empty() { vec![PathBuf::from(records::KEPT)] } else { options.folders };
    let History { recipe, metric, contender, at, .. } = options;
    let wanted = history::Wanted { recipe, metric, contender, at, folders };
    let history = history::history(&wanted).map_err(|problem| problem.to_string())?;
    if let Some(path) = options.page {
        fs::write(&path, history::page(&history))
            .map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
    }
    Ok(if options.json { history.json() } else { history.to_string() } + "\n")
}

fn failed(problem: &str) -> ExitCode {
    eprintln!("zonda-bench: {problem}");
    ExitCode::FAILURE
}
