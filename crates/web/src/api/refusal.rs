//! Why a request is not carried out: a status, and words as JSON.

use std::borrow::Cow;

use ::api::frame::{Answer, Done};
use ::api::json::{self, write};
use ::api::path;
use hyper::header::{ALLOW, CONNECTION, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use wire::NameBuf;

use super::reply::{Body, json_of};

/// See the module.
#[derive(Debug)]
pub(super) struct Refusal {
    status: u16,
    words: Cow<'static, str>,
    /// At which RRsets, and what.
    faults: Vec<String>,
    /// Of several zones of which none is changed, which is why.
    zones: Vec<Undone>,
    /// After how many seconds the same may be asked again; 0: nothing is said of that.
    retry_after: u16,
    /// Methods that there are.
    allow: Option<&'static str>,
    /// Whether the connection ends, as a body was not read.
    ends: bool,
}

/// A zone that is not changed, as [`write::Undone`] borrows it.
#[derive(Debug)]
pub(super) struct Undone {
    pub(super) zone: NameBuf,
    pub(super) status: u16,
    pub(super) words: String,
    pub(super) faults: Vec<String>,
}

impl Refusal {
    pub(super) fn new(status: u16, words: impl Into<Cow<'static, str>>) -> Refusal {
        let (words, faults, zones) = (words.into(), Vec::new(), Vec::new());
        Refusal { status, words, faults, zones, retry_after: 0, allow: None, ends: false }
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

    /// The same of changes of several zones: which of them is why.
    pub(super) fn of_zones(self, zones: Vec<Undone>) -> Refusal {
        Refusal { zones, ..self }
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
        let zones = self.zones.iter().map(|Undone { zone, status, words, faults }| write::Undone {
            zone,
            status: *status,
            words,
            faults,
        });
        match self.zones.is_empty() {
            true => write::error(&self.words, &self.faults, &mut text),
            false => write::undone(&self.words, &self.faults, zones, &mut text),
        }
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
