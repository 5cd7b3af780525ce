//! The files of the page, for everybody who is read from: nothing in them is of this server.

use ::api::page::{INDEX_KIND, Page};
use hyper::body::Bytes;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue,
    IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Method, Request as HttpRequest, Response, StatusCode};

use super::refusal::Refusal;
use super::reply::{Body, bare};

/// By what the files are known, on each answer where there is a page.
const PAGE: HeaderName = HeaderName::from_static("x-zonda-page");

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
pub(super) const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");

/// What a browser lets the page do: read what is of this server, and make no element of a text.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'none'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// `/` may be another one any time; what has the hash in its address never is.
const OF_INDEX: &str = "no-cache";
const OF_FILES: &str = "max-age=31536000, immutable";

/// See the module.
pub(super) struct Files {
    page: Page,
    index: Bytes,
    tag: String,
    hash: HeaderValue,
}

impl Files {
    pub(super) fn new() -> Files {
        let page = Page::new();
        let index = Bytes::copy_from_slice(page.index.as_bytes());
        let hash = HeaderValue::from_str(&page.hash).expect("they are digits");
        Files { index, tag: format!("\"{}\"", page.hash), hash, page }
    }

    /// What is told at the path of a request; `None`: nothing of the page is there.
    pub(super) fn answer<B>(&self, request: &HttpRequest<B>) -> Option<Response<Body>> {
        let path = request.uri().path();
        let (kind, octets, caching) = match path {
            "/" => (INDEX_KIND, self.index.clone(), OF_INDEX),
            _ => {
                let file = self.page.file(path)?;
                (file.kind, Bytes::from_static(file.octets), OF_FILES)
            }
        };
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut response = Refusal::new(405, "no such method here").and_end().response();
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return Some(response);
        }
        let is_index = caching == OF_INDEX;
        let is_known = is_index && self.is_known(request.headers());
        let mut response = match is_known {
            true => bare(StatusCode::NOT_MODIFIED, Bytes::new()),
            false => bare(StatusCode::OK, octets),
        };
        let headers = response.headers_mut();
        for (name, value) in [
            (CONTENT_TYPE, kind),
            (CONTENT_SECURITY_POLICY, POLICY),
            (X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (REFERRER_POLICY, "no-referrer"),
            (X_FRAME_OPTIONS, "DENY"),
            (OPENER_POLICY, "same-origin"),
            (RESOURCE_POLICY, "same-origin"),
            (PERMISSIONS_POLICY, "camera=(), geolocation=(), microphone=()"),
            (CACHE_CONTROL, caching),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if let (true, Ok(tag)) = (is_index, HeaderValue::from_str(&self.tag)) {
            headers.insert(ETAG, tag);
        }
        Some(response)
    }

    /// Whether a browser has `/` as it is (RFC 9110 13.1.2).
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let lines = headers.get_all(IF_NONE_MATCH).iter().filter_map(|line| line.to_str().ok());
        let mut tags = lines.flat_map(|line| line.split(',')).map(str::trim);
        tags.any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.tag)
    }

    /// Says on an answer which files there are: a page of others offers to load itself anew.
    pub(super) fn note(&self, response: &mut Response<Body>) {
        response.headers_mut().insert(PAGE, self.hash.clone());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ask(files: &Files, method: &str, path: &str, headers: &[(&str, &str)]) -> Option<Response<Body>> {
        let mut request = HttpRequest::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        files.answer(&request.body(()).unwrap())
    }

    #[test]
    fn what_is_there() {
        let files = Files::new();
        let status = |method: &str, path: &str, headers: &[(&str, &str)]| {
            ask(&files, method, path, headers).map(|response| response.status().as_u16())
        };
        let main = format!("/page/{}/main.js", files.page.hash);
        assert_eq!([status("GET", "/", &[]), status("HEAD", &main, &[])], [Some(200); 2]);
        assert_eq!([status("POST", "/", &[]), status("OPTIONS", &main, &[])], [Some(405); 2]);
        for none in
            ["/index.html", "/page", "/page/", "/page/0000000000000000/main.js", "/favicon.ico", "/api"]
        {
            assert_eq!(status("GET", none, &[]), None, "{none}");
        }
        let tag = files.tag.clone();
        let weak = format!("\"a\", W/{tag}");
        for (known, expected) in [(&*tag, 304), (&weak, 304), ("*", 304), ("\"a\"", 200)] {
            assert_eq!(status("GET", "/", &[("If-None-Match", known)]), Some(expected), "{known}");
        }
        // What never changes needs no tag.
        assert!(ask(&files, "GET", &main, &[]).unwrap().headers().get(ETAG).is_none());
    }
}
