//! A request to its page.
//!
//! | path | page |
//! |---|---|
//! | `/metrics` | 200 with the numbers |
//! | `/health` | 200 as long as the server says that it is well, else 503 |
//! | `/ready` | 200 while it serves and will, else 503 |

use std::time::Instant;

use hyper::body::Body;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};

use crate::accept;
use crate::door::Seat;
use crate::host;
use crate::pair::{Beat, Format};
use crate::serve::Shared;

const PLAIN: &str = "text/plain; charset=utf-8";
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    Metrics,
    Health,
    Ready,
}

/// Answers a request of a connection.
pub(crate) async fn answer(request: Request<impl Body>, seat: &Seat, shared: &Shared) -> Response<String> {
    let page = match page(&request, &shared.names) {
        Ok(page) => page,
        Err(status) => {
            seat.complete(false);
            return refuse(status);
        }
    };
    let is_let_in = seat.complete(page == Page::Metrics);
    let beat = shared.pulse.beat(Instant::now());
    match page {
        Page::Metrics if !is_let_in => refuse(StatusCode::SERVICE_UNAVAILABLE),
        Page::Metrics => {
            let format = accept::format(request.headers());
            match shared.numbers.read(format).await {
                Some(text) => respond(StatusCode::OK, content_type(format), text.to_string()),
                None => refuse(StatusCode::SERVICE_UNAVAILABLE),
            }
        }
        Page::Health | Page::Ready => {
            let (status, text) = state(page, beat);
            respond(status, PLAIN, text.into())
        }
    }
}

/// Which page is asked for; the error is the status of what is none.
fn page(request: &Request<impl Body>, names: &[String]) -> Result<Page, StatusCode> {
    host::check((request.uri(), request.headers(), request.version()), names)?;
    if !request.body().is_end_stream() {
        return Err(StatusCode::PAYLOAD_TOO_LARGE);
    }
    let page = match request.uri().path() {
        "/metrics" => Page::Metrics,
        "/health" => Page::Health,
        "/ready" => Page::Ready,
        _ => return Err(StatusCode::NOT_FOUND),
    };
    match *request.method() {
        // Of an answer to HEAD the body is left out by who writes it.
        Method::GET | Method::HEAD => Ok(page),
        _ => Err(StatusCode::METHOD_NOT_ALLOWED),
    }
}

fn state(page: Page, beat: Beat) -> (StatusCode, &'static str) {
    match page {
        Page::Ready if beat.is_ready && beat.is_well => (StatusCode::OK, "ready\n"),
        Page::Ready => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
        _ if beat.is_well => (StatusCode::OK, "well\n"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "not well\n"),
    }
}

fn content_type(format: Format) -> &'static str {
    match format {
        Format::OpenMetrics => OPEN_METRICS,
        Format::Text => PROMETHEUS,
    }
}

fn refuse(status: StatusCode) -> Response<String> {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut response = respond(status, PLAIN, format!("{} {reason}\n", status.as_u16()));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}

fn respond(status: StatusCode, content_type: &'static str, text: String) -> Response<String> {
    let mut response = Response::new(text);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    // Each is of its moment.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn status(method: &str, path: &str, body: &str) -> Result<Page, u16> {
        let request = Request::builder().method(method).uri(path).header("Host", "127.0.0.1");
        page(&request.body(body.to_owned()).unwrap(), &[]).map_err(|status| status.as_u16())
    }

    #[test]
    fn pages() {
        assert_eq!(status("GET", "/metrics", ""), Ok(Page::Metrics));
        assert_eq!(status("HEAD", "/health?at=once", ""), Ok(Page::Health));
        assert_eq!(status("GET", "/ready", ""), Ok(Page::Ready));
        assert_eq!(status("GET", "/", ""), Err(404));
        assert_eq!(status("GET", "/metrics/", ""), Err(404));
        assert_eq!(status("GET", "/%6detrics", ""), Err(404));
        assert_eq!(status("POST", "/metrics", ""), Err(405));
        assert_eq!(status("OPTIONS", "/ready", ""), Err(405));
        assert_eq!(status("GET", "/metrics", "body"), Err(413));
        assert_eq!(refuse(StatusCode::METHOD_NOT_ALLOWED).headers()[ALLOW], "GET, HEAD");
    }

    /// A server that cannot serve is not ready, whatever it was before.
    #[test]
    fn states() {
        let status =
            |page, is_well, is_ready| state(page, Beat { is_well, is_ready, is_over: false }).0.as_u16();
        assert_eq!([status(Page::Health, true, false), status(Page::Health, false, true)], [200, 503]);
        assert_eq!([status(Page::Ready, true, true), status(Page::Ready, true, false)], [200, 503]);
        assert_eq!(status(Page::Ready, false, true), 503);
    }
}
