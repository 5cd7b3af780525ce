//! `zonda-bench lab self`: the laboratory's own test.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::{Args, ValueEnum};
use lab::{
    Error,
    copies::{self, Run, Side, What},
    file,
    recipe::Form,
    record::Record,
    report, run, summary,
};

use super::experiment::{self, Common};

/// Examples for the help.
pub const EXAMPLES: &str = "\
Examples:
  sudo zonda-bench lab self --runs 100
  sudo zonda-bench lab self --of cpu --against ../dearer/zonda
  zonda-bench lab self --of instructions --against ../longer/zonda
Without --against the other one is a copy of the same program, and 1 shall be within the interval in 9 of 10 runs; with it the
interval shall be on the side that says the other one is dearer. Runs that are there in the folder are not made again.";
/// Columns of the summary.
const WIDTH: usize = 100;
/// Most runs: a day of them.
const RUNS_MAX: usize = 1000;

/// Options of the laboratory's own test.
#[derive(Args)]
pub struct Copies {
    /// Runs.
    #[arg(long, value_name = "N", default_value_t = 20)]
    runs: usize,
    /// What is compared.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "rate")]
    of: Of,
    /// The other program, which is known to be dearer [default: a copy of the same one].
    #[arg(long, value_name = "PATH")]
    against: Option<PathBuf>,
    /// Share of runs that shall find it.
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    least: f64,
    /// Shorter runs.
    #[arg(long, conflicts_with = "check")]
    quick: bool,
    /// Runs of seconds, which mean nothing.
    #[arg(long)]
    check: bool,
    /// Folder of the results.
    #[arg(long, value_name = "DIR", default_value = "lab-results/self")]
    out: PathBuf,
    #[command(flatten)]
    common: Common,
}

/// What can be compared.
#[derive(Clone, Copy, ValueEnum)]
enum Of {
    /// The rate that half of all trials hold.
    Rate,
    /// Processor time an answer, in program and kernel.
    Cpu,
    /// Instructions an answer, under callgrind.
    Instructions,
}

pub fn run(copies: Copies) -> ExitCode {
    copies.run().unwrap_or_else(|error| experiment::failed(&error))
}

impl Copies {
    fn run(self) -> Result<ExitCode, Error> {
        for (option, kept, rule) in [
            ("--runs", (1..=RUNS_MAX).contains(&self.runs), "must be from 1 to 1000"),
            ("--least", (0.0..=1.0).contains(&self.least), "must be from 0 to 1"),
        ] {
            if !kept {
                return Err(Error::Option { option, rule: rule.to_owned() });
            }
        }
        let what = match self.of {
            Of::Rate => What::Rate,
            Of::Cpu => What::Cpu,
            Of::Instructions => What::Instructions,
        };
        let (runs, last) = self.measure(what)?;
        let Some(last) = last else { return Err(Error::Nobody) };
        let record = copies::record(last, &runs, what, (self.wanted(what), self.least));
        file::write_record(&self.out, &record)?;
        report::write(&self.out, &record)?;
        print!("{}", summary::with_place(&record, &self.out, WIDTH));
        let is_met = record.targets.iter().all(|target| target.verdict() == "met");
        Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// On which side runs shall be: this server over the other one, which is a copy or dearer.
    fn wanted(&self, what: What) -> Side {
        match (&self.against, what) {
            (None, _) => Side::Within,
            (Some(_), What::Rate) => Side::Above,
            (Some(_), What::Cpu | What::Instructions) => Side::Below,
        }
    }

    /// All runs that have a ratio, and the record of the last one.
    fn measure(&self, what: What) -> Result<(Vec<Run>, Option<Record>), Error> {
        let (form, stop) = (experiment::form(self.quick, self.check), experiment::stop()?);
        fs::create_dir_all(&self.out).map_err(|cause| failed(&self.out, "create", cause))?;
        let other = match &self.against {
            Some(other) => other.clone(),
            None => self.copy()?,
        };
        let (mut runs, mut last) = (Vec::new(), None);
        for number in 1..=self.runs {
            let folder = self.out.join(format!("run-{number:03}"));
            let record = match there(&folder, form) {
                Some(record) => record,
                None => {
                    let recipe = copies::recipe(what)?;
                    let options = self.common.clone().options(recipe, form, Some(folder), Arc::clone(&stop));
                    run::run(run::Options { before: Some(other.clone()), ..options })?.record
                }
            };
            match Run::of(&record, what) {
                Some(run) => {
                    println!("run {number} of {}: {run}", self.runs);
                    runs.push(run);
                }
                None => println!("run {number} of {}: no round counts", self.runs),
            }
            last = Some(record);
        }
        Ok((runs, last))
    }

    /// A copy of the server in the folder of the results: another file, so that nothing of the program is shared.
    fn copy(&self) -> Result<PathBuf, Error> {
        let server = run::server(self.common.zonda())?;
        let copy = self.out.join("zonda");
        fs::copy(&server, &copy).map_err(|cause| failed(&copy, "write", cause))?;
        Ok(copy)
    }
}

/// The record of a run that is there, of this commit and form.
fn there(folder: &Path, form: Form) -> Option<Record> {
    let record = file::read(folder).ok()?;
    let is_short = form != Form::Full;
    (record.commit() == run::commit() && record.quick == is_short).then_some(record)
}

fn failed(path: &Path, action: &'static str, cause: std::io::Error) -> Error {
    Error::File { path: path.to_owned(), action, cause }
}
