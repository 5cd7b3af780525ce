//! What PostgreSQL says, as faults.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::fault::Fault;

/// Of what a zone cannot be (`zonda.refuse_zone`): its name is in the detail.
const OF_ZONE: &str = "ZD001";

/// What is there once only, and of which nobody could know that another one was making it: who comes second finds it the next time.
const MADE_BY_TWO: [&str; 2] = ["zone_name", "version_follows"];

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
        let Some(said) = error.as_db_error() else { return of_connection(&error) };
        let words = || said.message().to_owned();
        match said.code() {
            code if code.code() == OF_ZONE => {
                let zone = said.detail().unwrap_or_default().to_owned();
                Fault::Refused { zone, words: words() }
            }
            code if *code == SqlState::T_R_SERIALIZATION_FAILURE
                || *code == SqlState::T_R_DEADLOCK_DETECTED =>
            {
                Fault::Crossed(words())
            }
            code if *code == SqlState::UNIQUE_VIOLATION
                && said.constraint().is_some_and(|name| MADE_BY_TWO.contains(&name)) =>
            {
                Fault::Crossed(words())
            }
            code if *code == SqlState::DISK_FULL => Fault::Full,
            // A server that ends, starts or has no connection left; a password that is none.
            code if ["08", "28", "53", "57P"].iter().any(|class| code.code().starts_with(class)) => {
                Fault::Away(words())
            }
            code => {
                Fault::Postgres { code: code.code().to_owned(), words: with_detail(&words(), said.detail()) }
            }
        }
    }
}

fn with_detail(words: &str, detail: Option<&str>) -> String {
    match detail {
        Some(detail) => format!("{words} ({detail})"),
        None => words.to_owned(),
    }
}

/// What the client says, with its cause if there is one.
fn of_connection(error: &Error) -> Fault {
    let cause = error.source().map(ToString::to_string);
    Fault::Away(cause.map_or_else(
        || error.to_string(),
        |cause| format!("{error}: {}", cause.split(" (os error").next().unwrap_or_default()),
    ))
}
