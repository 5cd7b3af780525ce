//! Zonda with its zones in a store, which its API changes: a file of SQLite, or a database of a server of PostgreSQL
//! ([`super::Postgresql`]).
//!
//! Before each start the store is filled by the commands of an operator, and is nobody's where the server will be nobody.

use super::{Database, Job, Postgresql, Setup, rights, zonda};

/// Where a file of SQLite is, in the server's folder: one of its own, as what reads it may write all that is there.
pub const FOLDER: &str = "store";
/// The file.
const FILE: &str = "zones.db";
/// Zones of one import: a command line has room for many more.
const IMPORTED: usize = 500;

/// Settings of the server with one of them.
pub fn setup(database: Database, job: &Job<'_>) -> Setup {
    let url = match database {
        Database::Sqlite => format!("sqlite:{}/{FOLDER}/{FILE}", job.folder.display()),
        Database::Postgresql => Postgresql::url(job.folder),
    };
    let command = |words: &[&str]| rights::as_nobody(&job.programs.zonda, &[&["store"], words].concat());
    let mut before = vec![command(&["init", &url])];
    for list in job.zones.list.chunks(IMPORTED) {
        let zones: Vec<String> =
            list.iter().map(|(apex, path)| format!("{apex}={}", path.display())).collect();
        let words: Vec<&str> = ["import", &url].into_iter().chain(zones.iter().map(String::as_str)).collect();
        before.push(command(&words));
    }
    let zones = format!(
        "[[store]]\nname = \"lab\"\nurl = \"{url}\"\nwrite = true\ntemplate = \"lab\"\n\n\
         [[template]]\nname = \"lab\"\nupdate-policy = \"lab\"\n"
    );
    Setup { zones, before, ..zonda::setup(&job.programs.zonda, job) }
}
