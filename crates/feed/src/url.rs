//! The address of a database of PostgreSQL as people write it: `postgres://USER@HOST:PORT,HOST:PORT/DATABASE?NAME=VALUE`, as libpq has it.
//!
//! A host is a name, an address (of version 6 in brackets), or the folder of a socket (`%2Frun%2Fpostgresql`); none is the usual folder. A password has no place there, as addresses are
//! shown in logs and lists of processes, and more may read settings than may know it; what is said of one that has it does not repeat it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use crate::address::{HOSTS_MAX, NAME_OCTETS_MAX};

/// The port of PostgreSQL.
const PORT: u16 = 5_432;
/// The folder of its socket, where no host is named: that of most systems.
const SOCKET_FOLDER: &str = "/run/postgresql";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// As whom.
    pub user: String,
    /// Where it listens, in this order: at least one, at most [`HOSTS_MAX`].
    pub hosts: Vec<UrlHost>,
    /// Which of its databases.
    pub database: String,
    /// What stands behind `?`, as names and values.
    pub parameters: Vec<(String, String)>,
}

/// One place where a database listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlHost {
    /// A name, an address, or the folder of a socket, which begins with `/`.
    pub name: String,
    /// Its port.
    pub port: u16,
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoUrl {
    /// It has a password.
    Password,
    /// Its form: what was expected, and found.
    Form(String),
}

impl From<String> for NoUrl {
    fn from(text: String) -> NoUrl {
        NoUrl::Form(text)
    }
}

impl UrlHost {
    /// Whether it is the folder of a socket.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.name.starts_with('/')
    }

    /// Whether it is this machine, by its name or address alone.
    #[must_use]
    pub fn is_here(&self) -> bool {
        let is_loopback = || self.name.parse().is_ok_and(|address: IpAddr| address.is_loopback());
        self.is_folder() || self.name == "localhost" || is_loopback()
    }
}

impl Url {
    /// Whether an address is meant for PostgreSQL.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        without_scheme(text).is_some()
    }

    /// Reads an address.
    pub fn parse(text: &str) -> Result<Url, NoUrl> {
        const FORM: &str = "postgres://USER@HOST/DATABASE";
        let expected = |found: &str| NoUrl::Form(format!("expected {FORM}, found {found}"));
        let rest = without_scheme(text).ok_or_else(|| expected("another scheme"))?;
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').ok_or_else(|| expected("no `/` after the host"))?;
        // A user may not have an `@`; a password may, and is not to be seen in what is said.
        let (user, hosts) = authority.rsplit_once('@').ok_or_else(|| expected("no user"))?;
        if user.contains(':') {
            return Err(NoUrl::Password);
        }
        if database.contains(['/', '#']) {
            return Err(NoUrl::Form(format!("expected the name of a database, found {database:?}")));
        }
        Ok(Url {
            user: name("the name of a user", user)?,
            hosts: hosts_of(hosts)?,
            database: name("the name of a database", database)?,
            parameters: parameters
                .split('&')
                .filter(|parameter| !parameter.is_empty())
                .map(parameter)
                .collect::<Result<_, _>>()?,
        })
    }
}

fn without_scheme(text: &str) -> Option<&str> {
    ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme))
}

/// A name with its escapes undone.
fn name(what: &str, text: &str) -> Result<String, NoUrl> {
    let name =
        unescape(text).filter(|name| (1..=NAME_OCTETS_MAX).contains(&name.len()) && !name.contains('\0'));
    Ok(name.ok_or_else(|| format!("expected {what} of 1 to {NAME_OCTETS_MAX} octets, found {text:?}"))?)
}

fn parameter(text: &str) -> Result<(String, String), NoUrl> {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    // A value may be a password, which nobody is to see.
    if name == "password" {
        return Err(NoUrl::Password);
    }
    let value = unescape(value).filter(|value| !value.contains('\0'));
    Ok((name.to_owned(), value.ok_or_else(|| format!("{name}: expected `%` and two digits of its octets"))?))
}

fn hosts_of(text: &str) -> Result<Vec<UrlHost>, NoUrl> {
    let hosts = text.split(',').map(host).collect::<Result<Vec<_>, _>>()?;
    match &hosts[..] {
        all if all.len() > HOSTS_MAX => {
            Err(format!("expected at most {HOSTS_MAX} hosts, found {}", all.len()).into())
        }
        all if all.len() > 1 && all.iter().any(UrlHost::is_folder) => {
            Err("expected hosts, or one folder with a socket, found both".to_owned().into())
        }
        _ => Ok(hosts),
    }
}

/// A host with its escapes undone, and its port.
fn host(text: &str) -> Result<UrlHost, NoUrl> {
    let wrong = || {
        format!(
            "expected a host, an address (of version 6 in brackets) or a folder with its `/` as `%2F`, found {text:?}"
        )
    };
    let (name, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(inside) => {
            let (address, behind) = inside.ok_or_else(wrong)?;
            address.parse::<Ipv6Addr>().map_err(|_| wrong())?;
            let port = (!behind.is_empty()).then(|| behind.strip_prefix(':').ok_or_else(wrong));
            (address.to_owned(), port.transpose()?)
        }
        None => match text.split_once(':') {
            Some((name, port)) => (unescape(name).ok_or_else(wrong)?, Some(port)),
            None => (unescape(text).ok_or_else(wrong)?, None),
        },
    };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    let is_host = name.starts_with('/') && !name.contains('\0') || name.chars().all(is_letter);
    if !is_host || name.len() > NAME_OCTETS_MAX {
        return Err(wrong().into());
    }
    let expected = |port: &str| format!("expected a port from 1 to 65535, found {port:?}");
    let number = |port: &str| port.parse().ok().filter(|port| *port != 0).ok_or_else(|| expected(port));
    let port = port.map(number).transpose()?.unwrap_or(PORT);
    Ok(UrlHost { name: if name.is_empty() { SOCKET_FOLDER.into() } else { name }, port })
}

/// A text with its escapes (`%2F`) undone; `None`: some are none, or make no text.
fn unescape(text: &str) -> Option<String> {
    let (mut octets, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        octets.push(match (first, behind) {
            (b'%', [high, low, behind @ ..]) => {
                rest = behind;
                let digit = |octet: &u8| char::from(*octet).to_digit(16);
                (digit(high)? << 4 | digit(low)?) as u8
            }
            (b'%', _) => return None,
            _ => *first,
        });
    }
    String::from_utf8(octets).ok()
}

/// What people see of it: nothing of its parameters, which may be long.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@", escaped(&self.user))?;
        for (at, host) in self.hosts.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            match host.name.contains(':') {
                true => write!(f, "{comma}[{}]", host.name)?,
                false => write!(f, "{comma}{}", escaped(&host.name))?,
            }
            if host.port != PORT {
                write!(f, ":{}", host.port)?;
            }
        }
        write!(f, "/{}", escaped(&self.database))
    }
}

/// A name with what has a meaning in addresses escaped.
fn escaped(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.~".contains(letter);
    let mut out = String::new();
    for letter in text.chars() {
        if is_plain(letter) {
            out.push(letter);
        } else {
            let mut octets = [0; 4];
            letter.encode_utf8(&mut octets).bytes().for_each(|octet| out.push_str(&format!("%{octet:02X}")));
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, user: &str, hosts: &[(&str, u16)], database: &str) {
        let hosts = hosts.iter().map(|(name, port)| UrlHost { name: (*name).into(), port: *port }).collect();
        let expected = Url { user: user.into(), hosts, database: database.into(), parameters: Vec::new() };
        assert_eq!(Url::parse(text), Ok(expected.clone()));
        assert_eq!(Url::parse(&expected.to_string()), Ok(expected), "as it is shown");
    }

    #[test]
    fn addresses_of_postgresql() {
        check("postgres://zonda@db1,db2:5433/dns", "zonda", &[("db1", 5_432), ("db2", 5_433)], "dns");
        check("postgresql://a%40b@10.0.0.5/d%2Fs", "a@b", &[("10.0.0.5", 5_432)], "d/s");
        check(
            "postgres://z@[2001:db8::5]:6000,db:6000/dns",
            "z",
            &[("2001:db8::5", 6_000), ("db", 6_000)],
            "dns",
        );
        check("postgres://z@[::1]/dns", "z", &[("::1", 5_432)], "dns");
        check("postgres://z@/dns", "z", &[("/run/postgresql", 5_432)], "dns");
        check("postgres://z@%2Ftmp%2fpg:5433/dns", "z", &[("/tmp/pg", 5_433)], "dns");
        let url = Url::parse("postgres://z@h/d?sslmode=disable&sslrootcert=%2Fa&x").unwrap();
        let pairs = [("sslmode", "disable"), ("sslrootcert", "/a"), ("x", "")];
        assert_eq!(url.parameters, pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(url.to_string(), "postgres://z@h/d");
        assert!(!Url::is_one("sqlite:x") && !Url::is_one("./postgres://x"));
    }

    #[test]
    fn what_is_none() {
        let many = format!("postgres://z@{}/d", vec!["h"; HOSTS_MAX + 1].join(","));
        let long = format!("postgres://{}@h/d", "u".repeat(NAME_OCTETS_MAX + 1));
        for (text, expected) in [
            ("postgres://z@h", "found no `/` after the host"),
            ("postgres://h/d", "found no user"),
            ("postgres://@h/d", "the name of a user of 1 to 255 octets, found \"\""),
            ("postgres://z@h/", "the name of a database"),
            ("postgres://z@h/a/b", "the name of a database, found \"a/b\""),
            ("postgres://z@h:0/d", "a port from 1 to 65535, found \"0\""),
            ("postgres://z@h:65536/d", "a port from 1 to 65535"),
            ("postgres://z@h:word/d", "a port from 1 to 65535"),
            ("postgres://z@[h]/d", "expected a host"),
            ("postgres://z@[::1/d", "expected a host"),
            ("postgres://z@[::1]5432/d", "expected a host"),
            ("postgres://z@a b/d", "expected a host"),
            ("postgres://z@%2/d", "expected a host"),
            ("postgres://%ff@h/d", "the name of a user"),
            ("postgres://a%00@h/d", "the name of a user"),
            ("postgres://z@%2Frun,h/d", "hosts, or one folder"),
            ("postgres://z@,h/d", "hosts, or one folder"),
            ("postgres://z@h/d?a=%2", "a: expected `%`"),
            (&many, "expected at most 16 hosts, found 17"),
            (&long, "1 to 255 octets"),
        ] {
            let Err(NoUrl::Form(found)) = Url::parse(text) else { panic!("{text}") };
            assert!(found.contains(expected), "{text}: {found}");
        }
    }

    /// Whatever else is wrong with an address that has one.
    #[test]
    fn passwords() {
        for text in [
            "postgres://z:secret@h/d",
            "postgres://z:secret@@h:0/d?x",
            "postgres://z:sec@secret@h:x/",
            "postgres://z@h/d?password=secret",
        ] {
            assert_eq!(Url::parse(text), Err(NoUrl::Password), "{text}");
        }
    }
}
