//! What a run prints.

use bench::{host, load::Outcome, machine};
use serde_json::json;

/// Prints an outcome.
pub fn show(outcome: &Outcome, as_json: bool) {
    if as_json {
        println!("{}", json!({ "machine": machine::describe(), "outcome": outcome.to_json() }));
    } else {
        println!("{}", head());
        print!("{outcome}");
    }
}

/// What the machine is, in a line: figures without it mean little.
fn head() -> String {
    let head = host::describe();
    let told = |value: Option<String>| value.unwrap_or_else(|| host::NOT_TOLD.to_owned());
    format!(
        "machine   {}; kernel {}; hypervisor {}",
        head.processor,
        told(head.kernel),
        told(head.hypervisor)
    )
}
