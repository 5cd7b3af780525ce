//! `zonda-bench lab compare`, `lab report`, `lab history` and `lab draw`: what is done with records that experiments left.

use std::{
    fs,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    sync::atomic::AtomicBool,
};

use clap::{Args, Subcommand};
use lab::{compare, draw, file, history, records, report, summary};

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
  zonda-bench lab compare night-8/root night-9/root --history night-1 --history night-2 --history night-3
A verdict is given only between full runs of one recipe on one machine, and only if the 95 % interval of B/A leaves 1: of what is
measured by 3 %, and by 15 % where no records tell how far runs of unchanged programs are apart. That takes three of one program.")]
    Compare {
        /// The older result: its folder, or the record in it.
        a: PathBuf,
        /// The newer result.
        b: PathBuf,
        /// Other results, or folders that hold such, which tell how far runs are apart; can be given several times [default:
        /// the folders that hold A and B, and benches/records/lab].
        #[arg(long, value_name = "DIR")]
        history: Vec<PathBuf>,
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
    /// Show a figure over all records of a recipe, by time and commit.
    #[command(after_help = "\
Examples:
  zonda-bench lab history root
  zonda-bench lab history root --metric 'user CPU' --contender zonda --page history.html
  zonda-bench lab history caching lab-results benches/records/lab --json
Without --metric it is the first one of the newest record; the others are named at the end.")]
    History(History),
    /// Draw from records what the README shows: memory, start, rate and processor time beside each other; a picture of a report.
    #[command(after_help = "\
Examples:
  zonda-bench lab draw --chart chart.svg
  zonda-bench lab draw lab-results/all --chart chart.svg --picture report.png --of lab-results/all/root
The newest records of the recipes memory, start and root are drawn, full ones before quick ones. The chart follows the
reader's light or dark setting. The picture takes Chromium (Debian's package chromium); without, it is left out.")]
    Draw(Draw),
}

/// Options of `lab draw`.
#[derive(Args)]
pub struct Draw {
    /// Folders of results, or folders that hold such [default: benches/records/lab].
    folders: Vec<PathBuf>,
    /// The chart, an SVG file.
    #[arg(long, value_name = "FILE", required_unless_present = "picture")]
    chart: Option<PathBuf>,
    /// The picture of a report, a PNG file.
    #[arg(long, value_name = "FILE", requires = "of")]
    picture: Option<PathBuf>,
    /// The result whose report is in the picture.
    #[arg(long, value_name = "DIR", requires = "picture")]
    of: Option<PathBuf>,
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
        Command::Compare { a, b, history, json } => {
            compare::run(&a, &b, &history, json).map_err(|error| error.to_string())
        }
        Command::Peers(options) => super::peers::run(options).map_err(|error| error.to_string()),
        Command::Report { result } => rewrite(result).map_err(|error| error.to_string()),
        Command::History(options) => over_time(options),
        Command::Draw(options) => draw(&options),
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

/// The folders asked for, or those of the project's own records.
fn or_kept(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    if folders.is_empty() { vec![PathBuf::from(records::KEPT)] } else { folders }
}

fn draw(options: &Draw) -> Result<String, String> {
    let mut said = String::new();
    if let Some(path) = &options.chart {
        let drawn = draw::draw(&or_kept(options.folders.clone())).map_err(|error| error.to_string())?;
        fs::write(path, drawn.svg).map_err(|cause| format!("cannot write {}: {cause}", path.display()))?;
        said += &format!("chart: {}\n", path.display());
        drawn.left_out.iter().for_each(|why| said += &format!("! left out: {why}\n"));
    }
    if let (Some(path), Some(result)) = (&options.picture, &options.of) {
        let record = file::read(result).map_err(|error| error.to_string())?;
        let stop = AtomicBool::new(false);
        let is_drawn = draw::picture(&record, path, &stop).map_err(|error| error.to_string())?;
        said += &match is_drawn {
            true => format!("picture: {}\n", path.display()),
            false => "! left out: the picture: no browser is there (Debian's package chromium)\n".to_owned(),
        };
    }
    Ok(said)
}

fn failed(problem: &str) -> ExitCode {
    eprintln!("zonda-bench: {problem}");
    ExitCode::FAILURE
}
