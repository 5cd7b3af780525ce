//! Whom a request is for: an address, or one of the names that the operator gave, or the certificate has.
//!
//! A page that somebody's browser shows can have it ask any address under a name of the page's own, and read the answer (DNS rebinding). It cannot choose what
//! `Host` says then: that is the name.

use std::net::{IpAddr, Ipv6Addr};

use hyper::header::HOST;
use hyper::{HeaderMap, StatusCode, Uri, Version};

/// Checks it; the error is the status of the answer. `uri`: one with a host goes before the header (RFC 9112 3.2.2).
pub(crate) fn check(
    (uri, headers, version): (&Uri, &HeaderMap, Version),
    names: &[String],
) -> Result<(), StatusCode> {
    let mut lines = headers.get_all(HOST).iter();
    let (line, is_another) = (lines.next(), lines.next().is_some());
    let written = match (uri.authority(), line) {
        _ if is_another => return Err(StatusCode::BAD_REQUEST),
        (Some(authority), _) => authority.as_str(),
        (None, Some(line)) => line.to_str().map_err(|_| StatusCode::BAD_REQUEST)?,
        // It was not asked for then.
        (None, None) if version < Version::HTTP_11 => return Ok(()),
        (None, None) => return Err(StatusCode::BAD_REQUEST),
    };
    let host = without_port(written).ok_or(StatusCode::BAD_REQUEST)?;
    let is_known = is_address(host) || names.iter().any(|name| is_named(host, name));
    if is_known { Ok(()) } else { Err(StatusCode::MISDIRECTED_REQUEST) }
}

/// A host, and the port that was written behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host<'h> {
    name: &'h str,
    /// `None`: that of the scheme.
    pub(crate) port: Option<u16>,
}

impl Host<'_> {
    /// Whether it is this machine, as browsers see it.
    pub(crate) fn is_loopback(&self) -> bool {
        let bracketed = self.name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let address: Option<IpAddr> = bracketed.unwrap_or(self.name).parse().ok();
        self.name.eq_ignore_ascii_case("localhost") || address.is_some_and(|address| address.is_loopback())
    }
}

/// Whom a request is for, host and port, as it was written. One that was let in by [`check`] has one, but for some of HTTP 1.0.
pub(crate) fn authority<'h>((uri, headers): (&'h Uri, &'h HeaderMap)) -> Option<&'h str> {
    match uri.authority() {
        Some(authority) => Some(authority.as_str()),
        None => headers.get(HOST)?.to_str().ok(),
    }
}

/// The same in parts. `None`: there is none, or its port is no number.
pub(crate) fn of<'h>(head: (&'h Uri, &'h HeaderMap)) -> Option<Host<'h>> {
    let written = authority(head)?;
    let name = without_port(written)?;
    let port = match written[name.len()..].strip_prefix(':') {
        None | Some("") => None,
        Some(digits) => Some(digits.parse().ok()?),
    };
    Some(Host { name, port })
}

/// Whether a host has this name; `*.` of one is any first label (RFC 9525 6.3), as certificates have it.
fn is_named(host: &str, name: &str) -> bool {
    match name.strip_prefix("*.") {
        Some(above) => host.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(above)),
        None => name.eq_ignore_ascii_case(host),
    }
}

/// The host; `None`: what comes after it is no port.
fn without_port(written: &str) -> Option<&str> {
    let end = written.rfind(']').map_or(0, |bracket| bracket + 1);
    match written[end..].split_once(':') {
        None => Some(written),
        Some((_, port)) if port.len() > 5 || !port.bytes().all(|digit| digit.is_ascii_digit()) => None,
        Some((rest, _)) => Some(&written[..end + rest.len()]),
    }
}

fn is_address(host: &str) -> bool {
    let bracketed = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match bracketed {
        Some(inside) => inside.parse::<Ipv6Addr>().is_ok(),
        None => host.parse::<IpAddr>().is_ok_and(|address| address.is_ipv4()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        let check = |host: &str| {
            let headers: HeaderMap = [(HOST, host.parse().unwrap())].into_iter().collect();
            check((&Uri::from_static("/"), &headers, Version::HTTP_11), &["Monitor.example".into()])
        };
        for good in
            ["127.0.0.1", "127.0.0.1:8053", "[::1]", "[::1]:8053", "monitor.EXAMPLE:1", "monitor.example"]
        {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for other in ["evil.example", "monitor.example.", "::1]", "1", "", "[127.0.0.1]"] {
            assert_eq!(check(other), Err(StatusCode::MISDIRECTED_REQUEST), "{other}");
        }
        for bad in ["127.0.0.1:80x", "127.0.0.1:800000", "::1", "[::1"] {
            assert_eq!(check(bad), Err(StatusCode::BAD_REQUEST), "{bad}");
        }
    }

    #[test]
    fn names_of_certificates() {
        for (host, name, expected) in [
            ("ns1.example", "ns1.example", true),
            ("NS1.example", "*.example", true),
            ("a.ns1.example", "*.example", false),
            ("example", "*.example", false),
            (".example", "*.other", false),
        ] {
            assert_eq!(is_named(host, name), expected, "{host} {name}");
        }
    }

    #[test]
    fn which_host_it_is() {
        let check = |uri: &'static str, hosts: &[&str], version| {
            let headers: HeaderMap = hosts.iter().map(|host| (HOST, host.parse().unwrap())).collect();
            check((&Uri::from_static(uri), &headers, version), &[])
        };
        assert_eq!(check("/", &[], Version::HTTP_11), Err(StatusCode::BAD_REQUEST));
        assert_eq!(check("/", &[], Version::HTTP_10), Ok(()));
        assert_eq!(check("/", &["127.0.0.1", "127.0.0.1"], Version::HTTP_11), Err(StatusCode::BAD_REQUEST));
        let evil = check("http://evil.example/", &["127.0.0.1"], Version::HTTP_11);
        assert_eq!(evil, Err(StatusCode::MISDIRECTED_REQUEST));
    }
}
