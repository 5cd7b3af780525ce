//! What is told piece by piece: zones, lists of them, texts. In memory there is one piece and what it became.

use std::fmt;
use std::task::{Context, Poll};

use ::api::frame::{Answer, Piece, Row};
use ::api::json::write;
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{ETAG, HeaderValue};

use super::refusal::Refusal;
use super::reply::{Body, TEXT, stream_of};
use super::talk::{Answering, answer};

/// An answer came to an end before it was told as a whole: so does the connection, or a client would take it for all.
#[derive(Debug)]
pub(super) struct Cut;

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cut off")
    }
}

impl std::error::Error for Cut {}

/// What an answer becomes.
pub(super) enum Form {
    /// A list of zones, and whether it is a page.
    Rows(write::Rows, bool),
    /// A page that has not begun.
    Page,
    /// A zone, before its row, and whether its RRsets are told.
    Zone(bool),
    /// The same behind it.
    Sets(write::Zone),
    /// A zone file.
    Text,
    /// An empty list, if there is such a zone.
    NothingOfZone,
}

impl Form {
    pub(super) fn rows() -> Form {
        Form::Rows(write::Rows::default(), false)
    }

    pub(super) fn page() -> Form {
        Form::Page
    }

    pub(super) fn zone(with_rrsets: bool) -> Form {
        Form::Zone(with_rrsets)
    }

    pub(super) fn text() -> Form {
        Form::Text
    }

    pub(super) fn nothing_of_zone() -> Form {
        Form::NothingOfZone
    }

    fn content_type(&self) -> Option<&'static str> {
        matches!(self, Form::Text).then_some(TEXT)
    }

    /// Begins what begins before the first piece.
    fn begin(self, out: &mut Vec<u8>) -> Form {
        match self {
            Form::Page => Form::Rows(write::Rows::page(out), true),
            other => other,
        }
    }

    /// Appends what a piece becomes; pieces of another kind become nothing.
    fn piece(self, piece: &Piece<'_>, out: &mut Vec<u8>) -> Form {
        match (self, piece) {
            (Form::Rows(mut rows, is_page), Piece::Rows(pieces)) => {
                pieces.iter().for_each(|row| rows.row(&row, out));
                Form::Rows(rows, is_page)
            }
            (Form::Zone(with_rrsets), Piece::Rows(rows)) => match rows.iter().next() {
                Some(row) => Form::Sets(write::Zone::begin(&row, with_rrsets, out)),
                None => Form::Zone(with_rrsets),
            },
            (Form::Sets(mut zone), Piece::Sets(sets)) => {
                sets.iter().for_each(|set| zone.set(&set, out));
                Form::Sets(zone)
            }
            (Form::Text, Piece::Sets(sets)) => {
                for set in sets.iter() {
                    for rdata in set.rdatas.iter() {
                        zonefile::print::line(set.owner, set.ttl, set.rtype, rdata, out);
                    }
                }
                Form::Text
            }
            (form, _) => form,
        }
    }

    fn end(self, next: Option<::api::frame::Cursor>, out: &mut Vec<u8>) {
        match self {
            Form::Rows(rows, true) => rows.end_page(next, out),
            Form::Rows(rows, false) => rows.end(out),
            Form::Sets(zone) => zone.end(out),
            Form::NothingOfZone => out.extend_from_slice(b"[]"),
            Form::Page | Form::Zone(_) | Form::Text => {}
        }
    }
}

/// What is being told.
pub(super) struct Stream {
    answering: Answering,
    /// `None`: all of it was told.
    form: Option<Form>,
    /// What was printed and not told yet.
    out: Vec<u8>,
    /// Whether a piece was printed that is to be acknowledged once it was told: the next one may come then.
    owes: bool,
}

/// Begins to tell an answer by the first that came of it. The error: why there is none.
pub(super) fn begin(answering: Answering, first: &[u8], form: Form) -> Result<Response<Body>, Refusal> {
    let first = answer(first);
    if let Answer::Done(done) = &first
        && done.status >= 400
    {
        return Err(Refusal::of(done));
    }
    let (content_type, mut out) = (form.content_type(), Vec::new());
    let form = Some(form.begin(&mut out));
    let mut stream = Stream { answering, form, out, owes: false };
    stream.take(&first).map_err(|Cut| Refusal::unknown())?;
    let tag = match &first {
        Answer::Piece(Piece::Rows(rows)) => rows.iter().next().and_then(|row: Row<'_>| row.tag),
        _ => None,
    };
    let mut response = stream_of(content_type, stream);
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag.to_string()).ok()) {
        response.headers_mut().insert(ETAG, tag);
    }
    Ok(response)
}

impl Stream {
    /// Prints what came.
    fn take(&mut self, answer: &Answer<'_>) -> Result<(), Cut> {
        let form = self.form.take().ok_or(Cut)?;
        match answer {
            Answer::Piece(piece) => {
                self.form = Some(form.piece(piece, &mut self.out));
                self.owes = true;
            }
            Answer::Done(done) if done.status < 400 => form.end(done.next, &mut self.out),
            _ => return Err(Cut),
        }
        Ok(())
    }

    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        loop {
            if !self.out.is_empty() {
                return Poll::Ready(Some(Ok(std::mem::take(&mut self.out).into())));
            }
            if std::mem::take(&mut self.owes) {
                self.answering.took_one();
            }
            if self.form.is_none() {
                return Poll::Ready(None);
            }
            match self.answering.poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => {
                    self.form = None;
                    return Poll::Ready(Some(Err(Cut)));
                }
                Poll::Ready(Some(frame)) => {
                    if self.take(&answer(&frame)).is_err() {
                        return Poll::Ready(Some(Err(Cut)));
                    }
                }
            }
        }
    }
}
