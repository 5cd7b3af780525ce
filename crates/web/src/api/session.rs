//! Who has signed in at the page, as a request shows it, and the requests by which that begins and ends.
//!
//! ```text
//! cookie         32 octets, which every service of the host is sent --.
//! X-Zonda-Half   32 octets, which the page keeps for its own origin --+-> the secret of a session, 64
//! ```
//!
//! A cookie alone is nobody's: foreign pages can have it sent, and cannot have the header sent without being asked for it first, which is 405. Cookies know no ports, so their names do.

use ::api::frame::{Asked, Ending, Piece, SESSION_OCTETS, Secret, Session, Who};
use ::api::json::write;
use ::api::letters;
use ::api::path::Request;
use hyper::header::{COOKIE, HeaderMap, HeaderName, HeaderValue, ORIGIN, SET_COOKIE};
use hyper::{Method, Request as HttpRequest, Response, StatusCode};

use super::head::{KEY, NO_KEY, key, one};
use super::refusal::Refusal;
use super::reply::{Body, json_of, nothing};
use super::request::Asker;
use super::whole::pieces;
use crate::host::{self, Host};

const HALF: HeaderName = HeaderName::from_static("x-zonda-half");
const CODE: HeaderName = HeaderName::from_static("x-zonda-code");
const PERSON: HeaderName = HeaderName::from_static("x-zonda-person");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Octets of a half.
const HALF_OCTETS: usize = SESSION_OCTETS / 2;

/// Octets of a code: it has 43 letters, and longer ones are none.
const CODE_OCTETS_MAX: usize = 64;

/// How a connection came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// Over TLS.
    pub(super) is_secure: bool,
    /// To an address of this machine.
    pub(super) is_loopback: bool,
}

/// Who asks, of what a request has.
#[derive(Clone)]
pub(super) enum Bearer<'h> {
    /// Its key.
    Key(&'h [u8]),
    /// The halves of a secret, put together; and whether a person did something.
    Session(Box<Secret>, bool),
    /// A code.
    Code(&'h [u8]),
}

impl Bearer<'_> {
    /// As an ask has it.
    pub(super) fn who(&self) -> Who<'_> {
        match self {
            Bearer::Key(key) => Who::Key(key),
            Bearer::Session(secret, is_person) => Who::Session { secret, is_person: *is_person },
            Bearer::Code(code) => Who::Code(code),
        }
    }
}

/// Who asks. A key goes before a session: programs have no cookies.
pub(super) fn bearer<'h, B>(
    request: &'h HttpRequest<B>,
    asked: &Request,
    way: Way,
) -> Result<Bearer<'h>, Refusal> {
    let headers = request.headers();
    let nobody = || Refusal::new(401, NO_KEY).and_end();
    let is_of_page = matches!(asked, Request::SignIn | Request::SignOut);
    let bearer = match asked {
        Request::SignIn => match (headers.contains_key(KEY), headers.contains_key(CODE)) {
            (true, false) => key(headers).map(Bearer::Key),
            (false, true) => code(headers).map(Bearer::Code),
            _ => None,
        },
        Request::SignOut => session(request, way),
        _ if headers.contains_key(KEY) => key(headers).map(Bearer::Key),
        _ => session(request, way),
    };
    if is_of_page && !way.is_secure && !way.is_loopback {
        let words = "nobody signs in in clear text but at this machine: what passes could be read; `certificate` in [api] of the settings";
        return Err(Refusal::new(403, words).and_end());
    }
    let bearer = bearer.ok_or_else(nobody)?;
    if is_of_page || matches!(bearer, Bearer::Session(..)) {
        expect_own(request)?;
    }
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    match bearer {
        // The server says the same of what it is asked then.
        Bearer::Session(..) if !is_of_page && !reads => {
            Err(Refusal::new(403, "a session only reads: this needs a key").and_end())
        }
        bearer => Ok(bearer),
    }
}

/// Refuses what a page of another origin has a browser send.
fn expect_own<B>(request: &HttpRequest<B>) -> Result<(), Refusal> {
    let headers = request.headers();
    let is_site = headers.get_all(FETCH_SITE).iter().all(|site| site.as_bytes() == b"same-origin");
    let host = host::authority((request.uri(), headers));
    let is_own = |origin: &HeaderValue| {
        let written = origin.to_str().ok();
        let authority =
            written.and_then(|text| text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")));
        authority.zip(host).is_some_and(|(origin, host)| origin.eq_ignore_ascii_case(host))
    };
    match is_site && headers.get_all(ORIGIN).iter().all(is_own) {
        true => Ok(()),
        false => Err(Refusal::new(403, "asked by a page of another origin").and_end()),
    }
}

fn code(headers: &HeaderMap) -> Option<&[u8]> {
    one(headers, &CODE).filter(|code| (1..=CODE_OCTETS_MAX).contains(&code.len()))
}

/// The session of a request: two halves that are some.
fn session<'h, B>(request: &HttpRequest<B>, way: Way) -> Option<Bearer<'h>> {
    let secret = secret(request, way)?;
    Some(Bearer::Session(secret, request.headers().contains_key(PERSON)))
}

fn secret<B>(request: &HttpRequest<B>, way: Way) -> Option<Box<Secret>> {
    let headers = request.headers();
    let name = cookie_name(&host::of((request.uri(), headers))?, way);
    let pairs = headers.get_all(COOKIE).iter().flat_map(|line| line.as_bytes().split(|octet| *octet == b';'));
    let mut values =
        pairs.filter_map(|pair| pair.trim_ascii_start().strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    // Of two with one name somebody else has planted one.
    let (cookie, other) = (values.next()?, values.next());
    let halves: [[u8; HALF_OCTETS]; 2] =
        [letters::to_octets(cookie)?, letters::to_octets(one(headers, &HALF)?)?];
    let mut secret = Box::new([0; SESSION_OCTETS]);
    secret.copy_from_slice(halves.as_flattened());
    other.is_none().then_some(secret)
}

/// Whether a browser is to keep the cookie as that of a machine that it speaks to in clear text. Any other `Host` may be that of a proxy which speaks TLS: without that no browser keeps it.
fn is_plain(host: &Host<'_>, way: Way) -> bool {
    !way.is_secure && host.is_loopback()
}

/// The name of the cookie: each port has another, as two servers behind tunnels would sign each other out.
fn cookie_name(host: &Host<'_>, way: Way) -> String {
    let name = if is_plain(host, way) { "zonda" } else { "__Host-zonda" };
    host.port.map_or_else(|| name.to_owned(), |port| format!("{name}-{port}"))
}

/// What has a browser keep a half until it ends, or, without one, keep none any more.
fn set_cookie(host: &Host<'_>, way: Way, half: Option<&str>) -> String {
    let name = cookie_name(host, way);
    let secure = if is_plain(host, way) { "" } else { " Secure;" };
    let age = if half.is_none() { " Max-Age=0;" } else { "" };
    format!("{name}={}; Path=/;{age}{secure} HttpOnly; SameSite=Strict", half.unwrap_or_default())
}

/// Begins a session: its one half is told, and the other is the cookie.
pub(super) async fn sign_in<B>(
    from: &Asker<'_>,
    request: &HttpRequest<B>,
) -> Result<Response<Body>, Refusal> {
    let host = host::of((request.uri(), request.headers()));
    let host = host.ok_or_else(|| Refusal::new(400, "expected one Host, with a port that is one"))?;
    let other = secret(request, from.way);
    let asked = Asked::SignIn { ending: other.as_deref().map(Ending) };
    let (mut text, mut cookie) = (Vec::new(), None);
    told(from, &asked, |session| {
        let halves = session.secret.map(|secret| secret.split_at(HALF_OCTETS));
        let (first, second) = halves.unwrap_or_default();
        write::session(session, Some(&letters::from_octets(second)), &mut text);
        cookie = Some(set_cookie(&host, from.way, Some(&letters::from_octets(first))));
    })
    .await?;
    let mut response = json_of(StatusCode::CREATED, text);
    put_cookie(&mut response, &cookie.ok_or_else(Refusal::unknown)?);
    Ok(response)
}

/// Tells what the session is, or what the key may do.
pub(super) async fn tell(from: &Asker<'_>) -> Result<Response<Body>, Refusal> {
    let mut text = Vec::new();
    told(from, &Asked::Session, |session| write::session(session, None, &mut text)).await?;
    Ok(json_of(StatusCode::OK, text))
}

/// Ends the session.
pub(super) async fn sign_out<B>(
    from: &Asker<'_>,
    request: &HttpRequest<B>,
) -> Result<Response<Body>, Refusal> {
    told(from, &Asked::SignOut, |_| ()).await?;
    let mut response = nothing();
    if let Some(host) = host::of((request.uri(), request.headers())) {
        put_cookie(&mut response, &set_cookie(&host, from.way, None));
    }
    Ok(response)
}

fn put_cookie(response: &mut Response<Body>, cookie: &str) {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
}

/// Asks, and has what is told of sessions taken.
async fn told(
    from: &Asker<'_>,
    asked: &Asked<'_>,
    mut take: impl FnMut(&Session<'_>),
) -> Result<(), Refusal> {
    let each = |piece: &Piece<'_>| {
        if let Piece::Sessions(run) = piece {
            run.iter().for_each(|session| take(&session));
        }
        Ok(())
    };
    pieces(from, asked, each).await.map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const CLEAR: Way = Way { is_secure: false, is_loopback: true };
    const TLS: Way = Way { is_secure: true, is_loopback: false };

    /// Letters of 32 octets of 0, and of as many of 255.
    const COOKIE_HALF: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const OTHER_HALF: &str = "__________________________________________8";

    fn request(method: &str, headers: &[(&str, &str)]) -> HttpRequest<()> {
        let mut request = HttpRequest::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap()
    }

    /// Who it is, or the status of why not.
    fn who(asked: &Request, method: &str, headers: &[(&str, &str)], way: Way) -> Result<String, u16> {
        let request = request(method, headers);
        let told = bearer(&request, asked, way).map(|bearer| match bearer {
            Bearer::Key(key) => format!("key {}", String::from_utf8_lossy(key)),
            Bearer::Code(code) => format!("code {}", String::from_utf8_lossy(code)),
            Bearer::Session(secret, is_person) => {
                format!("session {} {}{}", secret[0], secret[63], if is_person { " of a person" } else { "" })
            }
        });
        told.map_err(|refusal| refusal.response().status().as_u16())
    }

    #[test]
    fn halves_are_put_together() {
        let cookie = |name: &str| format!("a=b; {name}={COOKIE_HALF}");
        let (host, half) = (("Host", "127.0.0.1:8053"), ("X-Zonda-Half", OTHER_HALF));
        let get = |headers: &[(&str, &str)], way| who(&Request::Session, "GET", headers, way);
        let session = Ok("session 0 255".to_owned());
        let plain = cookie("zonda-8053");
        assert_eq!(get(&[host, half, ("Cookie", &plain)], CLEAR), session);
        let person = ("X-Zonda-Person", "1");
        assert_eq!(
            get(&[host, half, person, ("Cookie", &plain)], CLEAR),
            Ok("session 0 255 of a person".to_owned())
        );
        // That of another port, of TLS, without the header, with another's, twice.
        assert_eq!(get(&[host, half, ("Cookie", &cookie("zonda-8054"))], CLEAR), Err(401));
        assert_eq!(get(&[host, half, ("Cookie", &plain)], TLS), Err(401));
        assert_eq!(get(&[host, ("Cookie", &plain)], CLEAR), Err(401));
        assert_eq!(get(&[host, half], CLEAR), Err(401));
        assert_eq!(get(&[host, ("X-Zonda-Half", "AAAA"), ("Cookie", &plain)], CLEAR), Err(401));
        assert_eq!(get(&[host, half, half, ("Cookie", &plain)], CLEAR), Err(401));
        assert_eq!(get(&[host, half, ("Cookie", &plain), ("Cookie", &plain)], CLEAR), Err(401));
        // Where a proxy speaks TLS.
        let (proxied, secure) = (("Host", "ns1.example"), cookie("__Host-zonda"));
        assert_eq!(get(&[proxied, half, ("Cookie", &secure)], CLEAR), session);
        // A key goes before.
        assert_eq!(get(&[host, half, ("Cookie", &plain), ("X-API-Key", "k")], CLEAR), Ok("key k".to_owned()));
        assert_eq!(get(&[host, half, ("Cookie", &plain), ("X-API-Key", "")], CLEAR), Err(401));
    }

    #[test]
    fn names_of_cookies() {
        let request = |host| request("GET", &[("Host", host)]);
        let set = |host: &'static str, way, half| {
            let request = request(host);
            set_cookie(&host::of((request.uri(), request.headers())).unwrap(), way, half)
        };
        assert_eq!(
            set("127.0.0.1:8443", CLEAR, Some("h")),
            "zonda-8443=h; Path=/; HttpOnly; SameSite=Strict"
        );
        assert_eq!(set("localhost", CLEAR, None), "zonda=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
        assert_eq!(
            set("[::1]:8443", TLS, Some("h")),
            "__Host-zonda-8443=h; Path=/; Secure; HttpOnly; SameSite=Strict"
        );
        assert_eq!(
            set("ns1.example", CLEAR, None),
            "__Host-zonda=; Path=/; Max-Age=0; Secure; HttpOnly; SameSite=Strict"
        );
        assert!(host::of((request("localhost:80x").uri(), request("localhost:80x").headers())).is_none());
    }

    #[test]
    fn who_may_sign_in_and_from_where() {
        let host = ("Host", "ns1.example:8443");
        let post = |headers: &[(&str, &str)], way| who(&Request::SignIn, "POST", headers, way);
        let (key, code) = (("X-API-Key", "k"), ("X-Zonda-Code", "c"));
        assert_eq!(
            [post(&[host, key], TLS), post(&[host, code], TLS)],
            ["key k", "code c"].map(|who| Ok(who.to_owned()))
        );
        assert_eq!([post(&[host, key, code], TLS), post(&[host], TLS)], [Err(401), Err(401)]);
        let long = "x".repeat(CODE_OCTETS_MAX + 1);
        assert_eq!(post(&[host, ("X-Zonda-Code", &long)], TLS), Err(401));
        let beyond = Way { is_secure: false, is_loopback: false };
        assert_eq!(post(&[host, key], beyond), Err(403));
        for (origin, is_own) in [
            ("https://ns1.example:8443", true),
            ("http://NS1.example:8443", true),
            ("https://ns1.example", false),
            ("https://ns1.example:8444", false),
            ("https://evil.example", false),
            ("null", false),
            ("ns1.example:8443", false),
        ] {
            assert_eq!(post(&[host, key, ("Origin", origin)], TLS).is_ok(), is_own, "{origin}");
        }
        for (site, is_own) in
            [("same-origin", true), ("same-site", false), ("cross-site", false), ("none", false)]
        {
            assert_eq!(post(&[host, key, ("Sec-Fetch-Site", site)], TLS).is_ok(), is_own, "{site}");
        }
    }

    /// Whatever the path: what is not read needs a key. And programs may ask from wherever they like.
    #[test]
    fn sessions_only_read() {
        let cookie = format!("zonda-1={COOKIE_HALF}");
        let of_session = [("Host", "localhost:1"), ("Cookie", &*cookie), ("X-Zonda-Half", OTHER_HALF)];
        for method in ["PUT", "POST", "PATCH", "DELETE"] {
            assert_eq!(who(&Request::Flush, method, &of_session, CLEAR), Err(403), "{method}");
        }
        assert!(who(&Request::Flush, "GET", &of_session, CLEAR).is_ok());
        assert!(who(&Request::SignOut, "DELETE", &of_session, CLEAR).is_ok());
        assert_eq!(
            who(&Request::SignOut, "DELETE", &[("Host", "localhost:1"), ("X-API-Key", "k")], CLEAR),
            Err(401)
        );
        let foreign = [("Sec-Fetch-Site", "cross-site")];
        assert_eq!(who(&Request::Versions, "GET", &[&of_session[..], &foreign].concat(), CLEAR), Err(403));
        let by_key = [("Host", "localhost:1"), ("X-API-Key", "k"), ("Sec-Fetch-Site", "cross-site")];
        assert!(who(&Request::Versions, "GET", &by_key, CLEAR).is_ok());
    }
}
