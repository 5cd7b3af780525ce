//! What a run prints.

use bench::{load::Outcome, machine};
use serde_json::json;

/// Prints an outcome.
pub fn show(outcome: &Outcome, as_json: bool) {
    if as_json {
        println!("{}", json!({ "machine": machine::describe(), "outcome": outcome.to_json() }));
    } else {
        print!("{outcome}");
    }
}
