//! The way to an answer, as it is said on the control socket and over the API.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The way to an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// Step by step.
    pub steps: Vec<Step>,
    /// What is sent. Over the API it is left out where it is of zones that the asker may not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Response>,
}

/// A step of the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// `question`, `access`, `zone`, `walk`, `alias`, `end`, `proof`, `signature`, `room`, `resolver`, `scope` or `fault`.
    pub about: Cow<'static, str>,
    /// What was found.
    pub words: String,
}

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// Its code by name.
    pub status: String,
    /// All of it.
    pub octets: usize,
    /// Those of AA, TC, RD and RA that are set.
    pub flags: String,
    /// Records as lines of a zone file; of many the first.
    pub answer: Vec<String>,
    /// The same.
    pub authority: Vec<String>,
    /// The same, without OPT.
    pub additional: Vec<String>,
}

impl Why {
    /// Whether there is an answer, and nothing is wrong with it.
    pub fn is_well(&self) -> bool {
        let has_failed = |response: &Response| response.status == "SERVFAIL";
        !self.response.as_ref().is_some_and(has_failed)
            && !self.steps.iter().any(|step| step.about == "fault")
    }
}
