//! Why a request is not carried out: a status, and words as JSON.

use std::borrow::Cow;

use ::api::frame::{Answer, Done};
use ::api::json::{self, write};
use ::api::path;
use hyper::header::{ALLOW, CONNECTION, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};

use super::reply::{Body, json_of};

/// See the module.
#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    words: Cow<'static, str>,
    /// At which RRsets, and what.
    faults: Vec<String>,
    /// After how many seconds the same may be asked again; 0: nothing is said of that.
    retry_after: u16,
    /// Methods that there are.
    allow: Option<&'static str>,
    /// Whether the connection ends, as a body was not read.
    ends: bool,
}

impl Refusal {
    pub(super) fn new(status: u16, words: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { status, words: words.into(), faults: Vec::new(), retry_after: 0, allow: None, ends: false }
    }

    /// The same, and the connection ends.
    pub(super) fn and_end(self) -> Refusal {
        Refusal { ends: true, ..self }
    }

    /// The same, to be asked again after so many seconds.
    pub(super) fn again_in(self, seconds: u16) -> Refusal {
        Refusal { retry_after: seconds, ..self }
    }

    /// The same with what is wrong with RRsets.
    pub(super) fn at(self, faults: Vec<String>) -> Refusal {
        Refusal { faults, ..self }
    }

    /// What the server says at the end of an answer that has none.
    pub(super) fn of(done: &Done<'_>) -> Refusal {
        Refusal { retry_after: done.retry_after, ..Refusal::new(done.status, done.words.to_owned()) }
    }

    /// Nothing came in time, or the server ends.
    pub(super) fn unknown() -> Refusal {
        Refusal::new(504, "it is not known what became of this: ask again")
    }

    pub(super) fn response(self) -> Response<Body> {
        let mut text = Vec::new();
        write::error(&self.words, &self.faults, &mut text);
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json_of(status, text);
        let headers = response.headers_mut();
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if self.retry_after > 0 {
            headers.insert(RETRY_AFTER, self.retry_after.into());
        }
        if self.ends {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl From<path::Refusal> for Refusal {
    fn from(refusal: path::Refusal) -> Refusal {
        Refusal { allow: refusal.allow, ..Refusal::new(refusal.status, refusal.words) }
    }
}

impl From<json::Refusal> for Refusal {
    fn from(refusal: json::Refusal) -> Refusal {
        Refusal::new(refusal.status, refusal.words).at(refusal.faults)
    }
}

/// The end of an answer that has no pieces. The error: it is none, or says why not.
pub(super) fn done<'f>(answer: &Answer<'f>) -> Result<Done<'f>, Refusal> {
    match answer {
        Answer::Done(done) if done.status < 400 => Ok(*done),
        Answer::Done(done) => Err(Refusal::of(done)),
        _ => Err(Refusal::unknown()),
    }
}
