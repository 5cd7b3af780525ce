//! What became of a run of recipes, in lines for the screen.

use std::fmt;

use super::{All, Entry, State};
use crate::{escape::terminal, recipe::Form, record::Record};

/// `3 targets met, 1 missed; 5 of 6 blocks count`.
pub fn verdict(record: &Record) -> String {
    let targets = record.targets.len();
    let met = record.targets.iter().filter(|target| target.verdict() == "met").count();
    let missed = record.targets.iter().filter(|target| target.verdict() == "missed").count();
    let open = match targets - met - missed {
        0 => String::new(),
        open => format!(", {open} not decided"),
    };
    let targets = match targets {
        0 => "no targets".to_owned(),
        _ => format!("{met} of {targets} targets met, {missed} missed{open}"),
    };
    let (kept, discarded) = (record.blocks.kept, record.blocks.discarded.len());
    format!("{targets}; {kept} of {} blocks count", kept + discarded)
}

/// What became of a recipe, in a few words.
pub fn state(entry: &Entry) -> &'static str {
    match entry.state {
        State::Open => "open",
        State::Before(_) => "was there",
        State::Done(_) => "done",
        State::Failed(_) => "FAILED",
    }
}

/// `--quick`, or nothing.
pub fn form(form: Form) -> &'static str {
    match form {
        Form::Full => "in full",
        Form::Quick => "--quick: shows that all works, not how fast",
        Form::Check => "--check: figures mean nothing",
    }
}

/// `5 h 40 min`, or minutes alone.
pub fn hours(seconds: f64) -> String {
    // Estimates are finite and far below the ends of the type.
    let minutes = (seconds / 60.0).ceil() as u64;
    match minutes / 60 {
        0 => format!("{minutes} min"),
        hours => format!("{hours} h {} min", minutes % 60),
    }
}

impl fmt::Display for All {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.entries.iter().map(|entry| entry.recipe.name.len()).max().unwrap_or(0);
        for entry in &self.entries {
            let said = match (&entry.state, entry.record()) {
                (State::Failed(why), _) => terminal(why.lines().next().unwrap_or_default()),
                (_, Some(record)) => verdict(record),
                (..) => format!("about {}", hours(entry.seconds)),
            };
            writeln!(f, "{:width$}  {:9}  {said}", entry.recipe.name, state(entry))?;
        }
        let count =
            |is_it: fn(&State) -> bool| self.entries.iter().filter(|entry| is_it(&entry.state)).count();
        let there = count(|state| matches!(state, State::Before(_) | State::Done(_)));
        let failed: Vec<&str> = self.failed().map(|entry| &*entry.recipe.name).collect();
        write!(f, "{there} of {} recipes have a record of this commit", self.entries.len())?;
        if !failed.is_empty() {
            write!(f, "; {} failed: {}", failed.len(), failed.join(", "))?;
        }
        write!(f, "\npage: {}", self.out.join(super::index::INDEX).display())
    }
}
