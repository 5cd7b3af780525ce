//! Recipes one after the other, each with a folder of its own, in a run that may be interrupted.
//!
//! ```text
//! OUT/index.html            all recipes with what came of them, written anew after each
//! OUT/RECIPE/record.json    what is there of this commit and form is not run again
//! ```
//!
//! * here: what is to be done, and doing it. * `index`: the page. * `text`: lines for the screen.

mod index;
mod text;

use std::{fs, path::PathBuf};

use crate::{
    Error, error,
    file::{self, RECORD},
    recipe::{self, Form, Recipe},
    record::Record,
};

pub use text::{hours, verdict};

/// Longest that all recipes may take in full on two cores: a night.
pub const SECONDS_MAX: f64 = 6.0 * 3600.0;

/// How many times as long it takes at most where the machine is never quiet: a third more runs are made again, and of seven rounds two are
/// followed by spare ones.
pub const DISTURBED: f64 = 1.7;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Names of recipes, in order; all that ship with the program where it is empty.
    pub recipes: Vec<String>,
    /// Their form.
    pub form: Form,
    /// Folder of the results.
    pub out: PathBuf,
    /// Commit that records must be of; records of unknown commits are those of an unknown one.
    pub commit: String,
}

/// A run of recipes.
pub struct All {
    /// Folder of the results.
    pub out: PathBuf,
    /// Their form.
    pub form: Form,
    /// The commit.
    pub commit: String,
    /// The recipes in order.
    pub entries: Vec<Entry>,
}

/// A recipe of the run.
pub struct Entry {
    /// The recipe.
    pub recipe: Recipe,
    /// How long it takes, roughly.
    pub seconds: f64,
    /// What has become of it.
    pub state: State,
}

/// What has become of a recipe.
pub enum State {
    /// Not run yet.
    Open,
    /// Its record was there.
    Before(Box<Record>),
    /// Run now.
    Done(Box<Record>),
    /// It failed, for this reason; the same command tries it again.
    Failed(String),
}

impl Entry {
    /// Its record, where there is one.
    pub fn record(&self) -> Option<&Record> {
        match &self.state {
            State::Before(record) | State::Done(record) => Some(record),
            State::Open | State::Failed(_) => None,
        }
    }
}

impl All {
    /// Finds out what there is to do. `seconds`: how long a recipe takes on this machine.
    pub fn plan(wanted: Wanted, seconds: impl Fn(&Recipe) -> f64) -> Result<All, Error> {
        let names = match wanted.recipes.is_empty() {
            true => recipe::names().into_iter().map(str::to_owned).collect(),
            false => wanted.recipes.clone(),
        };
        let entry = |name: &String| {
            let recipe = recipe::find(name)?;
            let seconds = seconds(&recipe);
            let state =
                before(&wanted, &recipe).map_or(State::Open, |record| State::Before(Box::new(record)));
            Ok(Entry { recipe, seconds, state })
        };
        let entries = names.iter().map(entry).collect::<Result<_, Error>>()?;
        let Wanted { form, out, commit, .. } = wanted;
        Ok(All { out, form, commit, entries })
    }

    /// How long what is left takes, roughly.
    pub fn seconds_left(&self) -> f64 {
        let open = self.entries.iter().filter(|entry| matches!(entry.state, State::Open));
        open.map(|entry| entry.seconds).sum()
    }

    /// Runs what is left by `run`, which gets the recipe and its folder. One that fails is kept in mind, and the others go
    /// on. Ends with an error where the user wanted an end, or the page of all cannot be written.
    pub fn run(
        &mut self,
        mut run: impl FnMut(&Recipe, PathBuf) -> Result<Record, Error>,
    ) -> Result<(), Error> {
        fs::create_dir_all(&self.out).map_err(error::file(&self.out, "create"))?;
        self.write_index()?;
        for place in 0..self.entries.len() {
            let entry = &self.entries[place];
            if !matches!(entry.state, State::Open) {
                continue;
            }
            let (done, all) = (place + 1, self.entries.len());
            let left = hours(self.seconds_left());
            eprintln!("lab: {} ({done} of {all}), about {left} left", entry.recipe.name);
            let folder = self.out.join(&entry.recipe.name);
            self.entries[place].state = match run(&entry.recipe, folder) {
                Ok(record) => State::Done(Box::new(record)),
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                Err(error) => {
                    eprintln!("lab: {} failed: {error}", self.entries[place].recipe.name);
                    State::Failed(error.to_string())
                }
            };
            self.write_index()?;
        }
        Ok(())
    }

    /// Recipes that failed.
    pub fn failed(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| matches!(entry.state, State::Failed(_)))
    }

    fn write_index(&self) -> Result<(), Error> {
        file::write(&self.out, index::INDEX, &index::page(self)).map_err(Error::Result)
    }
}

/// The record of a recipe that is there, if it is of this commit and form. One that cannot be read is none.
fn before(wanted: &Wanted, recipe: &Recipe) -> Option<Record> {
    let folder = wanted.out.join(&recipe.name);
    let record = folder.join(RECORD).is_file().then(|| file::read(&folder))?.ok()?;
    let is_it =
        record.recipe == recipe.name && record.commit() == wanted.commit && form(&record) == wanted.form;
    is_it.then_some(record)
}

/// The form of a record: what is short is told apart by the command line.
fn form(record: &Record) -> Form {
    match record.quick {
        false => Form::Full,
        true if record.command.iter().any(|word| word == "--check") => Form::Check,
        true => Form::Quick,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
