//! `zonda-bench lab RECIPE`: runs an experiment.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
};

use bench::cores::Cores;
use clap::{Args, ValueEnum};
use lab::{
    bed::BedKind,
    peers::Source,
    recipe::{self, Form, Name, Recipe},
    run::{self, Options},
    summary,
};

/// Examples for the help.
pub const EXAMPLES: &str = "\
Examples:
  zonda-bench lab --list
  sudo zonda-bench lab root --quick
  zonda-bench lab locks --quick
  zonda-bench lab instructions --before ../parent/zonda --contenders zonda
  sudo zonda-bench lab net --scale 0.1 --contenders zonda,nsd --out net-tenth
  zonda-bench lab root --bed loopback
  zonda-bench lab --show root > mine.toml; zonda-bench lab mine.toml
Servers that are not installed are named and left out. Everything it starts or changes is ended and put back.";
/// Columns of the summary: those of a terminal that is not narrow.
const WIDTH: usize = 100;

/// Options of an experiment.
#[derive(Args)]
pub struct Experiment {
    /// Recipe: a name of --list, or the path of a file.
    #[arg(value_name = "RECIPE", required_unless_present_any = ["list", "show"])]
    recipe: Option<String>,
    /// List the recipes of this program.
    #[arg(long, exclusive = true)]
    list: bool,
    /// Print the file of a recipe, to copy and change it.
    #[arg(long, value_name = "NAME", exclusive = true)]
    show: Option<String>,
    /// Short but complete: shows that all works, its figures mean little.
    #[arg(long, conflicts_with = "check")]
    quick: bool,
    /// A self-check of seconds with tiny zones; its figures mean nothing.
    #[arg(long)]
    check: bool,
    /// Result folder [default: lab-results/RECIPE-TIME].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Another build of zonda, such as the one before a change: takes part beside this one, as `before`.
    #[arg(long, value_name = "PATH")]
    before: Option<PathBuf>,
    /// Contenders instead of the recipe's, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = contender)]
    contenders: Option<Vec<Name>>,
    /// Scale of generated zones.
    #[arg(long, value_name = "FACTOR")]
    scale: Option<f64>,
    /// Blocks, or runs of each kind.
    #[arg(long, value_name = "N")]
    blocks: Option<usize>,
    #[command(flatten)]
    common: Common,
}

/// Options of experiments that do not depend on the recipe.
#[derive(Args, Clone)]
pub struct Common {
    /// Folder of generated zones, kept for the next run.
    #[arg(long, value_name = "DIR", default_value = "lab-results/data")]
    data: PathBuf,
    /// What lies between generator and server: two network namespaces (needs root), or the loopback interface.
    #[arg(long, value_enum, value_name = "BED", default_value = "auto")]
    bed: Bed,
    /// The zonda program [default: beside this one, or on the path].
    #[arg(long, value_name = "PATH")]
    zonda: Option<PathBuf>,
    /// Programs of other servers: unstable (Debian's newest, unpacked where they are not yet), system, or a folder [default:
    /// unstable where they are unpacked in --data, else system].
    #[arg(long, value_name = "WHICH", value_parser = |text: &str| Ok::<_, String>(Source::from_text(text)))]
    peers: Option<Source>,
    /// Cores of the servers [default: all but the generator's].
    #[arg(long, value_name = "LIST")]
    cpus_server: Option<Cores>,
    /// Cores of the generator [default: the last].
    #[arg(long, value_name = "LIST")]
    cpus_load: Option<Cores>,
}

/// Beds.
#[derive(Clone, Copy, ValueEnum)]
pub enum Bed {
    /// veth where that is permitted, else loopback.
    Auto,
    /// Two network namespaces joined by a veth pair.
    Veth,
    /// The loopback interface.
    Loopback,
}

/// Most blocks asked for: days of them.
const BLOCKS_MAX: usize = 1000;

fn contender(text: &str) -> Result<Name, String> {
    let known = || Name::ALL.map(Name::text).join(", ");
    Name::from_text(text)
        .filter(|&name| name != Name::Echo)
        .ok_or_else(|| format!("expected some of {}; echo takes part by itself", known()))
}

pub fn run(arguments: Experiment) -> ExitCode {
    let done = match (&arguments.show, arguments.list) {
        (_, true) => list(),
        (Some(name), _) => show(name),
        (None, false) => experiment(arguments),
    };
    done.unwrap_or_else(|error| failed(&error))
}

/// Says what went wrong; the exit status of it.
pub fn failed(error: &lab::Error) -> ExitCode {
    eprintln!("zonda-bench: {error}");
    match error {
        lab::Error::Option { .. } | lab::Error::Recipe { .. } | lab::Error::NoRecipe { .. } => {
            ExitCode::from(2)
        }
        _ => ExitCode::FAILURE,
    }
}

/// Cores that the servers of a recipe have on this machine.
pub fn cores(recipe: &Recipe) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if recipe.uses_all_cores() { cores } else { cores.saturating_sub(1).max(1) }
}

/// The form that two options ask for.
pub fn form(quick: bool, check: bool) -> Form {
    match (quick, check) {
        (_, true) => Form::Check,
        (true, _) => Form::Quick,
        _ => Form::Full,
    }
}

/// A flag that is set once the user wants an end.
pub fn stop() -> Result<Arc<AtomicBool>, lab::Error> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        let installed = signal_hook::flag::register(signal, Arc::clone(&stop));
        installed.map_err(|cause| lab::Error::System { action: "install a signal handler", cause })?;
    }
    Ok(stop)
}

fn list() -> Result<ExitCode, lab::Error> {
    let mut text = String::new();
    for name in recipe::names() {
        let _ = writeln!(text, "{name:<20} {}", recipe::find(name)?.title);
    }
    print!("{text}");
    Ok(ExitCode::SUCCESS)
}

fn show(name: &str) -> Result<ExitCode, lab::Error> {
    let text = recipe::text(name).ok_or_else(|| lab::Error::NoRecipe { name: name.to_owned() })?;
    print!("{text}");
    let recipe = recipe::find(name)?;
    let minutes = |form| (recipe.estimate(form, cores(&recipe)) / 60.0).max(1.0);
    // Beside the file, which is copied: how long it takes is this machine's matter.
    eprintln!(
        "zonda-bench: on this machine about {:.0} min, --quick {:.0}",
        minutes(Form::Full),
        minutes(Form::Quick)
    );
    Ok(ExitCode::SUCCESS)
}

fn experiment(arguments: Experiment) -> Result<ExitCode, lab::Error> {
    let rules = [
        (
            "--scale",
            arguments.scale.is_none_or(|scale| (1e-6..=10.0).contains(&scale)),
            "must be from 0.000001 to 10",
        ),
        (
            "--blocks",
            arguments.blocks.is_none_or(|blocks| (1..=BLOCKS_MAX).contains(&blocks)),
            "must be from 1 to 1000",
        ),
    ];
    if let Some((option, _, rule)) = rules.into_iter().find(|&(_, kept, _)| !kept) {
        return Err(lab::Error::Option { option, rule: rule.to_owned() });
    }
    let recipe = recipe::find(arguments.recipe.as_deref().unwrap_or_default())?;
    let form = form(arguments.quick, arguments.check);
    let options = arguments.common.options(recipe, form, arguments.out, stop()?);
    let Experiment { before, contenders, scale, blocks, .. } = arguments;
    let done = run::run(Options { before, contenders, scale, blocks, ..options })?;
    print!("{}", summary::with_place(&done.record, &done.folder, WIDTH));
    Ok(ExitCode::SUCCESS)
}

impl Common {
    /// The zonda program, where it is named.
    pub fn zonda(&self) -> Option<&Path> {
        self.zonda.as_deref()
    }

    /// Options of a recipe.
    pub fn options(self, recipe: Recipe, form: Form, out: Option<PathBuf>, stop: Arc<AtomicBool>) -> Options {
        Options {
            recipe,
            form,
            out,
            data: self.data,
            bed: match self.bed {
                Bed::Auto => BedKind::Auto,
                Bed::Veth => BedKind::Veth,
                Bed::Loopback => BedKind::Loopback,
            },
            zonda: self.zonda,
            before: None,
            peers: self.peers,
            contenders: None,
            scale: None,
            blocks: None,
            server_cores: self.cpus_server.map(|cores| cores.list().to_vec()),
            load_cores: self.cpus_load.map(|cores| cores.list().to_vec()),
            command: command_line(),
            stop,
        }
    }
}

/// The command line without the folders of paths.
fn command_line() -> Vec<String> {
    let last = |word: String| match word.rsplit_once('/') {
        Some((_, last)) if !last.is_empty() => last.to_owned(),
        _ => word,
    };
    std::env::args().map(last).collect()
}
