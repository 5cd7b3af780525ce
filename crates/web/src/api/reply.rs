//! Replies: as a whole, or as a stream.

use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::body::Room;
use super::page::RESOURCE_POLICY;
use super::request::Told;
use super::stream::{Cut, Stream};

/// What is told at a time of a reply: hyper takes the next part once this one is sent, and what is kept with the reply goes with the last.
pub(super) const PART_OCTETS: usize = 64 << 10;

const JSON: &str = "application/json";
/// A zone as a text.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// What a reply consists of, and what is kept until it is told, or given up.
pub(super) struct Body {
    content: Content,
    _told: Option<Told>,
    _room: Option<Room>,
}

impl Body {
    fn of(content: Content) -> Body {
        Body { content, _told: None, _room: None }
    }

    /// Has this dropped with it.
    pub(super) fn keep(&mut self, told: Told) {
        self._told = Some(told);
    }

    /// The same of room for it.
    pub(super) fn keep_room(&mut self, room: Room) {
        self._room = Some(room);
    }
}

enum Content {
    /// Octets, or nothing any more.
    Whole(Bytes),
    /// What comes from the server, piece by piece.
    Stream(Box<Stream>),
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match &mut self.get_mut().content {
            Content::Whole(octets) if octets.is_empty() => Poll::Ready(None),
            Content::Whole(octets) => {
                let part = octets.split_to(octets.len().min(PART_OCTETS));
                Poll::Ready(Some(Ok(Frame::data(part))))
            }
            Content::Stream(stream) => {
                stream.poll(context).map(|octets| octets.map(|octets| octets.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Whole(octets) if octets.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(octets) => SizeHint::with_exact(octets.len() as u64),
            Content::Stream(_) => SizeHint::default(),
        }
    }
}

/// A reply of JSON.
pub(super) fn json_of(status: StatusCode, text: Vec<u8>) -> Response<Body> {
    respond(status, JSON, Content::Whole(text.into()))
}

/// A reply of JSON that is a part of the program.
pub(super) fn json_of_program(text: &'static str) -> Response<Body> {
    respond(StatusCode::OK, JSON, Content::Whole(Bytes::from_static(text.as_bytes())))
}

/// A reply of JSON that comes piece by piece.
pub(super) fn stream_of(content_type: Option<&'static str>, stream: Stream) -> Response<Body> {
    respond(StatusCode::OK, content_type.unwrap_or(JSON), Content::Stream(Box::new(stream)))
}

/// A reply that says nothing but that it is done.
pub(super) fn nothing() -> Response<Body> {
    let mut response = respond(StatusCode::NO_CONTENT, JSON, Content::Whole(Bytes::new()));
    response.headers_mut().remove(CONTENT_TYPE);
    response
}

/// A reply whose head others make.
pub(super) fn bare(status: StatusCode, octets: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::of(Content::Whole(octets)));
    *response.status_mut() = status;
    response
}

fn respond(status: StatusCode, content_type: &'static str, content: Content) -> Response<Body> {
    let mut response = Response::new(Body::of(content));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    for (name, value) in [
        // Each is of its moment, and for who has the key.
        (CACHE_CONTROL, "no-store"),
        // And nothing that a browser is to show, or to give to a page of others.
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (REFERRER_POLICY, "no-referrer"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
