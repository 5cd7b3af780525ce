//! What a run prints.

use std::process::ExitCode;

use bench::{Error, host, load::Outcome, machine, update};
use serde_json::{Value, json};

/// The result of a run in both forms.
#[derive(Default)]
pub struct Shown {
    /// Something came of it.
    pub is_success: bool,
    /// For people.
    pub text: String,
    /// Members of the object on standard output.
    pub json: Value,
    /// Why nothing came of it, where that can be said; after the result.
    pub fault: Option<Error>,
}

impl Shown {
    /// Adds the members of another result.
    pub fn with(mut self, other: Shown) -> Shown {
        self.is_success &= other.is_success;
        self.text.push_str(&other.text);
        if let (Value::Object(all), Value::Object(more)) = (&mut self.json, other.json) {
            all.extend(more);
        }
        self.fault = self.fault.or(other.fault);
        self
    }

    /// Marks the result as that of a run which a signal ended, if so.
    pub fn ended_early(mut self, is_so: bool) -> Shown {
        if is_so {
            self.text.push_str("note: ended by a signal; this is what there was by then\n");
            self.json["ended_by_signal"] = true.into();
        }
        self
    }

    /// Prints one of the forms; returns the exit status.
    pub fn print(mut self, as_json: bool) -> Result<ExitCode, Error> {
        if as_json {
            self.json["machine"] = machine::describe();
            println!("{}", self.json);
        } else {
            print!("{}", self.text);
        }
        match self.fault {
            Some(fault) => Err(fault),
            None if self.is_success => Ok(ExitCode::SUCCESS),
            None => Ok(ExitCode::FAILURE),
        }
    }
}

impl From<&Outcome> for Shown {
    fn from(outcome: &Outcome) -> Shown {
        Shown {
            is_success: outcome.received > 0 && outcome.different == 0,
            text: format!("{}\n{outcome}", head()),
            json: json!({ "outcome": outcome.to_json() }),
            fault: None,
        }
    }
}

impl From<&update::Outcome> for Shown {
    fn from(outcome: &update::Outcome) -> Shown {
        Shown {
            is_success: outcome.accepted > 0,
            text: outcome.to_string(),
            json: json!({ "updates": outcome.to_json() }),
            fault: None,
        }
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
