//! What of a request is looked at before its body is: whom it is for, what it asks for, who asks.

use ::api::frame::{KEY_OCTETS_MAX, is_repeat};
use ::api::path::Request;
use ::api::tag::Condition;
use hyper::header::{CONTENT_ENCODING, HeaderMap, HeaderName, IF_MATCH, TRANSFER_ENCODING};
use hyper::{Request as HttpRequest, StatusCode};

use super::refusal::Refusal;
use super::session::{self, Bearer, Way};
use crate::host;

pub(super) const KEY: HeaderName = HeaderName::from_static("x-api-key");
const REPEAT: HeaderName = HeaderName::from_static("idempotency-key");

/// Refuses what is for another host.
pub(super) fn expect_host<B>(request: &HttpRequest<B>, names: &[String]) -> Result<(), Refusal> {
    host::check((request.uri(), request.headers(), request.version()), names).map_err(no_host)
}

/// What is asked for, and who asks. In this order, so that what is refused by its path is so whoever asks.
pub(super) fn read<'h, B>(request: &'h HttpRequest<B>, way: Way) -> Result<(Request, Bearer<'h>), Refusal> {
    let (uri, headers) = (request.uri(), request.headers());
    // One way to say how long a body is: proxies have been deceived by two.
    if headers.contains_key(TRANSFER_ENCODING) {
        return Err(Refusal::new(411, "expected Content-Length alone").and_end());
    }
    let asked = Request::of(request.method().as_str(), uri.path(), uri.query().unwrap_or_default())?;
    // Nothing is unpacked: a few octets can be any number then.
    let is_plain = |value: &[u8]| value.is_empty() || value.eq_ignore_ascii_case(b"identity");
    if headers.get_all(CONTENT_ENCODING).iter().any(|value| !is_plain(value.as_bytes())) {
        return Err(Refusal::new(415, "expected a body without Content-Encoding").and_end());
    }
    let bearer = session::bearer(request, &asked, way)?;
    Ok((asked, bearer))
}

/// What is said of no key, and of one that is none.
pub(super) const NO_KEY: &str = "expected a key that is known here, as X-API-Key";

fn no_host(status: StatusCode) -> Refusal {
    let words = match status {
        StatusCode::MISDIRECTED_REQUEST => {
            "not for this host: there are those of the certificate and of `names` in [api] of the settings"
        }
        _ => "expected one Host",
    };
    Refusal::new(status.as_u16(), words).and_end()
}

/// The key of a request.
pub(super) fn key(headers: &HeaderMap) -> Option<&[u8]> {
    one(headers, &KEY).filter(|key| (1..=KEY_OCTETS_MAX).contains(&key.len()))
}

/// What a header says that is there once.
pub(super) fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h [u8]> {
    let mut lines = headers.get_all(name).iter();
    let (value, other) = (lines.next()?.as_bytes(), lines.next());
    other.is_none().then_some(value)
}

/// On which condition a change is to be made.
pub(super) fn condition(headers: &HeaderMap) -> Result<Condition, Refusal> {
    let lines: Option<Vec<&str>> = headers.get_all(IF_MATCH).iter().map(|line| line.to_str().ok()).collect();
    match lines.as_deref() {
        Some([]) => Ok(Condition::None),
        Some(lines) => Condition::from_text(&lines.join(","))
            .ok_or_else(|| Refusal::new(422, "`If-Match`: too many tags").and_end()),
        None => Err(Refusal::new(422, "`If-Match`: expected tags").and_end()),
    }
}

/// By what a request is known if it comes again.
pub(super) fn repeat(headers: &HeaderMap) -> Result<Option<&str>, Refusal> {
    let mut lines = headers.get_all(REPEAT).iter();
    match (lines.next().map(|value| value.to_str().ok().filter(|text| is_repeat(text))), lines.next()) {
        (None, _) => Ok(None),
        (Some(Some(text)), None) => Ok(Some(text)),
        _ => {
            Err(Refusal::new(422, "`Idempotency-Key`: expected one of 1 to 64 visible characters").and_end())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn status(method: &str, uri: &str, headers: &[(&str, &str)]) -> u16 {
        let mut request = HttpRequest::builder().method(method).uri(uri).header("Host", "127.0.0.1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (request, way) = (request.body(()).unwrap(), Way { is_secure: true, is_loopback: false });
        match expect_host(&request, &[]).and_then(|()| read(&request, way)) {
            Ok(_) => 200,
            Err(refusal) => refusal.response().status().as_u16(),
        }
    }

    #[test]
    fn heads() {
        let key = ("X-API-Key", "x");
        let zone = "/api/v1/servers/localhost/zones/example.";
        for (method, uri, headers, expected) in [
            ("GET", zone, &[key][..], 200),
            ("PATCH", zone, &[key], 200),
            ("GET", zone, &[], 401),
            ("GET", zone, &[key, key], 401),
            ("GET", zone, &[("X-API-Key", "")], 401),
            ("GET", zone, &[key, ("Host", "127.0.0.1")], 400),
            ("GET", zone, &[key, ("Transfer-Encoding", "chunked")], 411),
            ("PATCH", zone, &[key, ("Content-Encoding", "gzip")], 415),
            ("PATCH", zone, &[key, ("Content-Encoding", "identity")], 200),
            ("DELETE", zone, &[], 401),
            ("DELETE", zone, &[key], 200),
            ("POST", "/api/v1/servers/localhost/zones", &[key], 200),
            ("GET", "/api/v1/servers/localhost/search-data?q=a", &[key], 200),
            ("GET", "/api/v1/servers/localhost/search-data?q=a", &[], 401),
            ("GET", "/api/v1/servers/localhost/search-data?q=a&max=0", &[], 422),
            ("GET", "/api/v1/servers/localhost/statistics", &[key], 200),
            ("POST", "/api/zonda/v1/changes", &[], 401),
            ("POST", "/api/zonda/v1/changes", &[key], 200),
            ("POST", "/api/zonda/v1/changes?dry-run=true", &[key], 422),
            ("GET", "/api/zonda/v1/changes", &[key], 405),
            ("POST", "/api/zonda/v1/explain", &[], 401),
            ("POST", "/api/zonda/v1/explain", &[key], 200),
            ("OPTIONS", zone, &[], 405),
            ("GET", "/api/v2", &[], 404),
            ("GET", "http://evil.example/api", &[key], 421),
        ] {
            assert_eq!(status(method, uri, headers), expected, "{method} {uri} {headers:?}");
        }
        let long = "x".repeat(KEY_OCTETS_MAX + 1);
        assert_eq!(status("GET", zone, &[("X-API-Key", &long)]), 401);
    }

    #[test]
    fn conditions() {
        let of = |lines: &[&str]| {
            let headers: HeaderMap = lines.iter().map(|line| (IF_MATCH, line.parse().unwrap())).collect();
            condition(&headers).map_err(|refusal| refusal.response().status().as_u16())
        };
        assert_eq!([of(&[]), of(&["*"])], [Ok(Condition::None), Ok(Condition::Any)]);
        assert!(
            matches!(of(&["\"1-0000000000000001\"", "\"2-0000000000000001\""]), Ok(Condition::OneOf(tags)) if tags.as_slice().len() == 2)
        );
        assert_eq!(of(&[&"\"1-0000000000000001\",".repeat(5)]), Err(422));
        let status = |refusal: Refusal| refusal.response().status().as_u16();
        let repeats = |lines: &[&str]| {
            let headers: HeaderMap = lines.iter().map(|line| (REPEAT, line.parse().unwrap())).collect();
            repeat(&headers).map(|repeat| repeat.map(str::to_owned)).map_err(status)
        };
        assert_eq!([repeats(&[]), repeats(&["a"])], [Ok(None), Ok(Some("a".to_owned()))]);
        for wrong in [&["a b"][..], &[""], &["a", "a"]] {
            assert_eq!(repeats(wrong), Err(422), "{wrong:?}");
        }
    }
}
