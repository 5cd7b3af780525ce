//! `zonda-bench lab all`: every recipe, one after the other.

use std::{path::PathBuf, process::ExitCode, sync::Arc};

use clap::Args;
use lab::{
    Error,
    all::{self, All, Wanted},
    recipe::Form,
    run,
};

use super::experiment::{self, Common};

/// Examples for the help.
pub const EXAMPLES: &str = "\
Examples:
  sudo zonda-bench lab all --plan
  sudo zonda-bench lab all --out night
  sudo zonda-bench lab all --quick --only root,memory,start
What has a record of this commit and form in the folder is not run again: the same command goes on after Ctrl-C, and tries
again what failed.";

/// Options of a run of all recipes.
#[derive(Args)]
pub struct Recipes {
    /// Say what would be run and how long it takes, and do nothing.
    #[arg(long)]
    plan: bool,
    /// Short forms: show that all works, their figures mean little.
    #[arg(long, conflicts_with = "check")]
    quick: bool,
    /// Self-checks of seconds with tiny zones; their figures mean nothing.
    #[arg(long)]
    check: bool,
    /// Folder of the results, each in one by its recipe.
    #[arg(long, value_name = "DIR", default_value = "lab-results/all")]
    out: PathBuf,
    /// These recipes instead of all, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    #[command(flatten)]
    common: Common,
}

pub fn run(recipes: Recipes) -> ExitCode {
    recipes.run().unwrap_or_else(|error| experiment::failed(&error))
}

impl Recipes {
    fn run(self) -> Result<ExitCode, Error> {
        let form = experiment::form(self.quick, self.check);
        let wanted = Wanted { recipes: self.only, form, out: self.out, commit: run::commit() };
        let mut all = All::plan(wanted, |recipe| recipe.estimate(form, experiment::cores(recipe)))?;
        if self.plan {
            let left = all.seconds_left();
            let disturbed = all::hours(left * all::DISTURBED);
            println!(
                "{all}\nleft: about {}; up to {disturbed} where the machine is never quiet",
                all::hours(left)
            );
            return Ok(ExitCode::SUCCESS);
        }
        say(&all, form);
        let (common, stop) = (self.common, experiment::stop()?);
        let done = all.run(|recipe, folder| {
            let options = common.clone().options(recipe.clone(), form, Some(folder), Arc::clone(&stop));
            run::run(options).map(|done| done.record)
        });
        println!("{all}");
        match done {
            Err(Error::Interrupted) => {
                eprintln!("zonda-bench: interrupted; the same command goes on");
                Ok(ExitCode::FAILURE)
            }
            Err(error) => Err(error),
            Ok(()) if all.failed().next().is_some() => Ok(ExitCode::FAILURE),
            Ok(()) => Ok(ExitCode::SUCCESS),
        }
    }
}

/// What is ahead, and what the records will not say.
fn say(all: &All, form: Form) {
    let left = all.seconds_left();
    eprintln!("lab: {} recipes, about {} left", all.entries.len(), all::hours(left));
    if form == Form::Full && left > all::SECONDS_MAX {
        let most = all::hours(all::SECONDS_MAX);
        eprintln!(
            "lab: note: more than {most}: with more cores recipes have more rows; --cpus-server bounds them"
        );
    }
    if all.commit.is_empty() {
        eprintln!(
            "lab: note: no repository here: what is in the folder counts as of this program, whichever made it"
        );
    } else if all.commit.ends_with("-dirty") {
        eprintln!(
            "lab: note: files are changed beside the commit: records of other changes count as of these"
        );
    }
}
