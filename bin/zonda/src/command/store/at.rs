//! Where a store is, as an argument.

use std::fmt;
use std::path::{Path, PathBuf};

use control::text::cannot;
use store::{Access, Database, Fault, Place};

use super::{Lines, shown};

/// A store, and the password for it.
#[derive(clap::Args)]
pub struct At {
    /// The store: a file, or postgres://USER@HOST/DATABASE
    #[arg(value_name = "STORE", value_parser = place)]
    store: Place,
    /// File with the password for a server, in place of PGPASSWORD
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
}

/// Reads an address.
pub fn place(text: &str) -> Result<Place, String> {
    Place::parse(text).map_err(|fault| fault.to_string())
}

impl At {
    /// Opens it.
    pub fn open(&self, access: Access) -> Result<Database, Lines> {
        self.with(|place| Database::open(place, access))
    }

    /// Does something at the place, with the password.
    pub fn with<T>(&self, act: impl FnOnce(&Place) -> Result<T, Fault>) -> Result<T, Lines> {
        let place = match self.password()? {
            Some(password) => self.store.clone().with_password(&password),
            None => self.store.clone(),
        };
        act(&place).map_err(|fault| self.told(&fault))
    }

    /// What went wrong, with the place.
    pub fn told(&self, fault: &Fault) -> Lines {
        fault.lines().iter().map(|line| format!("{}: {}", self.store, shown(line))).collect()
    }

    fn password(&self) -> Result<Option<String>, Lines> {
        match &self.password_file {
            Some(file) => read_password(file).map(Some),
            None => Ok(std::env::var("PGPASSWORD").ok()),
        }
    }
}

/// The first line of a file.
fn read_password(file: &Path) -> Result<String, Lines> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| vec![format!("{}: {}", file.display(), cannot("read", &error))])?;
    match text.lines().next() {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => Err(vec![format!("{}: expected a password", file.display())]),
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}
