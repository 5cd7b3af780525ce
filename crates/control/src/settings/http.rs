//! `[http]`: who may ask over HTTP, where.

use std::net::SocketAddr;

use toml::de::DeTable;
use web::pair::{LISTENERS_MAX, Terms};

use super::Settings;
use super::access::{Place, prefix};
use super::declare::section;
use super::problem::Report;
use super::value::{Names, Range};

/// What an address has that was written without a port: it is that of DNS.
const PORT_OF_DNS: u16 = 53;

/// Networks that may be let in: each is looked at for each connection.
const NETWORKS_MAX: usize = 1024;

/// Names that requests may be for.
const NAMES_MAX: usize = 64;

section! {
    /// Numbers for monitoring and answers for probes over HTTP, given by a process of its own: `/metrics`, `/health`, `/ready`. A server that runs as root has none,
    /// so set `user` in `[server]` where one starts as root.
    pub struct HttpSettings in "http" {
        /// Addresses to listen on, each with its port. Empty: nothing is told over HTTP.
        listen: Vec<SocketAddr> = Vec::new(), Range::Any, start;
        /// Clients that are answered; others are not read from.
        allow: Names = Names::from(vec!["127.0.0.0/8".into(), "::1".into()]), Range::Texts("an address or prefix such as \"192.0.2.0/24\""), start;
        /// Names that a request may be for (`Host`), beside addresses: others are refused, so that no page in a browser can have it ask this server.
        names: Names = Names::one("localhost"), Range::TextsOrNone("a name such as \"ns1.example.com\""), start;
    }
}

impl HttpSettings {
    /// Who is answered.
    pub(crate) fn terms(&self) -> Terms {
        terms(&self.allow, &self.names)
    }
}

/// Who is answered, of what settings say.
pub(super) fn terms(allow: &Names, names: &Names) -> Terms {
    let networks = allow.texts().iter().filter_map(|text| prefix(text).ok());
    Terms {
        allow: networks.map(|(prefix, _)| (prefix.address(), prefix.length())).collect(),
        names: names.texts().iter().map(ToString::to_string).collect(),
        is_secure: false,
        page: false,
    }
}

impl Settings {
    /// Reports what is wrong with `[http]`. `table`: of the whole file, for the places.
    pub(super) fn check_http(&self, table: &DeTable<'_>, report: &mut Report<'_>) {
        let HttpSettings { listen, allow, names } = &self.http;
        let place = Place { table, section: "http", at: None };
        let mut wrong: Wrong<'_> = Box::new(|key, item, text| place.report(report, key, item, text));
        check_clients((listen, allow, names), &mut wrong);
    }
}

/// Takes what is wrong: with which key, which item of its list, and what.
pub(super) type Wrong<'w> = Box<dyn FnMut(&str, Option<usize>, String) + 'w>;

/// Looks at where a process for HTTP listens, whom it answers, and for which names.
pub(super) fn check_clients((listen, allow, names): (&[SocketAddr], &Names, &Names), wrong: &mut Wrong<'_>) {
    for (at, address) in listen.iter().enumerate() {
        if address.port() == PORT_OF_DNS {
            let text = format!(
                "expected a port beside the address, such as \"127.0.0.1:8053\", found {}, or the port of DNS",
                address.ip()
            );
            wrong("listen", Some(at), text);
        } else if address.port() != 0 && listen[..at].contains(address) {
            wrong("listen", Some(at), format!("expected each address once, found {address} twice"));
        }
    }
    for (at, text) in allow.texts().iter().enumerate() {
        let fault = prefix(text).err();
        let fault =
            fault.or_else(|| text.starts_with('!').then(|| format!("expected no \"!\", found {text:?}")));
        fault.into_iter().for_each(|fault| wrong("allow", Some(at), fault));
    }
    for (at, name) in names.texts().iter().enumerate() {
        let is_name = |octet: u8| octet.is_ascii_alphanumeric() || b"-._".contains(&octet);
        if name.is_empty() || !name.bytes().all(is_name) {
            wrong("names", Some(at), format!("expected a host name without a port, found {name:?}"));
        }
    }
    for (key, count, most) in [
        ("listen", listen.len(), LISTENERS_MAX),
        ("allow", allow.texts().len(), NETWORKS_MAX),
        ("names", names.texts().len(), NAMES_MAX),
    ] {
        if count > most {
            wrong(key, None, format!("expected at most {most}, found {count}"));
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn what_is_wrong_is_told_where_it_is() {
        let problems = |text: &str| -> Vec<String> {
            let problems = Settings::parse(Path::new("f"), &format!("[http]\n{text}\n")).unwrap_err();
            problems.iter().map(ToString::to_string).collect()
        };
        for (text, place, word) in [
            ("listen = [\"127.0.0.1:1\", \"127.0.0.1\"]", "f:2:26", "port"),
            ("listen = [\"127.0.0.1:1\", \"127.0.0.1:1\"]", "f:2:26", "twice"),
            ("allow = \"here\"", "f:2:9", "address or prefix"),
            ("allow = [\"127.0.0.1\", \"!10.0.0.0/8\"]", "f:2:23", "no \"!\""),
            ("allow = \"127.0.0.1/8\"", "f:2:9", "did you mean \"127.0.0.0/8\""),
            ("names = \"localhost:1\"", "f:2:9", "without a port"),
        ] {
            let found = problems(text);
            assert!(matches!(&*found, [one] if one.starts_with(place) && one.contains(word)), "{found:?}");
        }
        let many: Vec<String> = (1..=LISTENERS_MAX + 1).map(|port| format!("\"127.0.0.1:{port}\"")).collect();
        assert!(
            problems(&format!("listen = [{}]", many.join(", ")))
                .iter()
                .any(|line| line.contains("at most 32"))
        );
    }

    #[test]
    fn who_is_answered() {
        let terms = HttpSettings::default().terms();
        assert_eq!(terms.allow, [("127.0.0.0".parse().unwrap(), 8), ("::1".parse().unwrap(), 128)]);
        assert_eq!(terms.names, ["localhost"]);
    }
}
