//! What is wrong, as lines for the operator that are events of the log too.

use std::fmt;
use std::net::SocketAddr;

use net::BindError;

use crate::settings::Problem;

/// One thing that is wrong. Displays as a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Where: a place in a file, or a setting.
    source: Option<String>,
    /// The address that cannot be listened on.
    address: Option<SocketAddr>,
    /// What.
    error: String,
}

impl Fault {
    /// What is wrong with the value of a setting.
    pub(crate) fn of_setting(key: &str, error: String) -> Fault {
        Fault { source: Some(key.into()), address: None, error }
    }

    fn say(&self) {
        let Fault { source, address, error } = self;
        let (source, address) = (source.as_deref(), address.map(tracing::field::display));
        tracing::error!(source, address, error, "{self}");
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "{source}: {}", self.error),
            None => f.write_str(&self.error),
        }
    }
}

impl From<&Problem> for Fault {
    fn from(problem: &Problem) -> Fault {
        Fault { source: Some(problem.source()), address: None, error: problem.text.clone() }
    }
}

/// All that is wrong, where one thing is enough to keep the server from what it was to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Faults(Vec<Fault>);

impl Faults {
    /// Each as a line.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// Writes each to the log.
    pub(crate) fn say(&self) {
        self.0.iter().for_each(Fault::say);
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Faults {
        Faults(faults.into_iter().collect())
    }
}

impl From<String> for Faults {
    fn from(error: String) -> Faults {
        Faults(vec![Fault { source: None, address: None, error }])
    }
}

impl From<Vec<String>> for Faults {
    fn from(errors: Vec<String>) -> Faults {
        errors.into_iter().map(|error| Fault { source: None, address: None, error }).collect()
    }
}

impl From<BindError> for Faults {
    fn from(error: BindError) -> Faults {
        Faults(vec![Fault { source: None, address: error.address(), error: error.to_string() }])
    }
}
