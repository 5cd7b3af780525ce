//! The address of a store: `sqlite:PATH`, or `postgres://USER@HOST:PORT/DATABASE` as libpq has it, with the rest of what is needed for that beside it in its section.
//!
//! No message repeats a password that somebody has written there.

use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};

use feed::address::{HOSTS_MAX, NAME_OCTETS_MAX};

/// What the address of a file begins with.
const SQLITE: &str = "sqlite:";
/// The port of PostgreSQL.
const PORT: u16 = 5_432;
/// The folder of its socket, where no host is named: that of most systems.
const SOCKET_FOLDER: &str = "/run/postgresql";

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreAddress {
    /// A file, as it is written.
    File(PathBuf),
    /// A database of PostgreSQL.
    Postgres(PostgresAddress),
}

/// Where a database of PostgreSQL is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PostgresAddress {
    pub(crate) user: String,
    pub(crate) listens: Listens,
    pub(crate) database: String,
}

/// Where it listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Listens {
    /// At hosts, by name or address, all at one port.
    Tcp(Vec<String>, u16),
    /// At the socket of a port, in this folder.
    Socket(String, u16),
}

/// Reads an address. The error: what was expected.
pub(crate) fn address_of(url: &str) -> Result<StoreAddress, String> {
    if let Some(path) = url.strip_prefix(SQLITE).filter(|path| !path.is_empty()) {
        return Ok(StoreAddress::File(Path::new(path).to_owned()));
    }
    match url.split_once("://") {
        Some(("postgres" | "postgresql", rest)) => postgres(rest).map(StoreAddress::Postgres),
        _ => Err(format!("expected \"sqlite:PATH\", found {url:?}")),
    }
}

fn postgres(rest: &str) -> Result<PostgresAddress, String> {
    const FORM: &str = "postgres://USER@HOST/DATABASE";
    let (authority, database) =
        rest.split_once('/').ok_or(format!("expected \"{FORM}\", found no `/` after the host"))?;
    // A user may not have an `@`; a password may, and is not to be seen in what is said.
    let (user, hosts) = authority.rsplit_once('@').ok_or(format!("expected \"{FORM}\", found no user"))?;
    if user.contains(':') {
        return Err(
            "expected no password in it, as more may read settings than may know it: `password-file` has it"
                .into(),
        );
    }
    if database.contains(['?', '#']) {
        return Err("expected nothing behind the database: parameters are keys of the section".into());
    }
    if database.contains('/') {
        return Err(format!("expected the name of a database, found {database:?}"));
    }
    let user = name("the name of a user", user)?;
    Ok(PostgresAddress {
        user,
        listens: listens(hosts)?,
        database: name("the name of a database", database)?,
    })
}

/// A name with its escapes undone.
fn name(what: &str, text: &str) -> Result<String, String> {
    let name =
        unescape(text).filter(|name| (1..=NAME_OCTETS_MAX).contains(&name.len()) && !name.contains('\0'));
    name.ok_or_else(|| format!("expected {what} of 1 to {NAME_OCTETS_MAX} octets, found {text:?}"))
}

fn listens(hosts: &str) -> Result<Listens, String> {
    let (mut names, mut ports) = (Vec::new(), Vec::new());
    for host in hosts.split(',') {
        let (host, port) = host_and_port(host)?;
        names.push(host);
        ports.extend(port);
    }
    let port = ports.first().copied().unwrap_or(PORT);
    if let Some(other) = ports.iter().find(|other| **other != port) {
        return Err(format!(
            "expected one port for all hosts, as its feeder may connect to one, found {port} and {other}"
        ));
    }
    let is_folder = |name: &String| name.is_empty() || name.starts_with('/');
    match &names[..] {
        [one] if one.is_empty() => Ok(Listens::Socket(SOCKET_FOLDER.into(), port)),
        [one] if is_folder(one) => Ok(Listens::Socket(one.clone(), port)),
        all if all.iter().any(is_folder) => {
            Err("expected hosts, or one folder with a socket, found both".into())
        }
        all if all.len() > HOSTS_MAX => {
            Err(format!("expected at most {HOSTS_MAX} hosts, found {}", all.len()))
        }
        _ => Ok(Listens::Tcp(names, port)),
    }
}

/// A host, its escapes undone, and its port if it has one.
fn host_and_port(text: &str) -> Result<(String, Option<u16>), String> {
    let wrong = || {
        format!(
            "expected a host, an address (of version 6 in brackets) or a folder with its `/` as `%2F`, found {text:?}"
        )
    };
    let (host, port) = match text.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(inside) => {
            let (address, behind) = inside.ok_or_else(wrong)?;
            address.parse::<Ipv6Addr>().map_err(|_| wrong())?;
            let port = (!behind.is_empty()).then(|| behind.strip_prefix(':').ok_or_else(wrong));
            (address.to_owned(), port.transpose()?)
        }
        None => match text.split_once(':') {
            Some((host, port)) => (unescape(host).ok_or_else(wrong)?, Some(port)),
            None => (unescape(text).ok_or_else(wrong)?, None),
        },
    };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.:".contains(letter);
    let is_host = host.starts_with('/') && !host.contains('\0') || host.chars().all(is_letter);
    if !is_host || host.len() > NAME_OCTETS_MAX {
        return Err(wrong());
    }
    let expected = |port: &str| format!("expected a port from 1 to 65535, found {port:?}");
    let number = |port: &str| port.parse().ok().filter(|port| *port != 0).ok_or_else(|| expected(port));
    Ok((host, port.map(number).transpose()?))
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, user: &str, listens: Listens, database: &str) {
        let expected = PostgresAddress { user: user.into(), listens, database: database.into() };
        assert_eq!(address_of(url), Ok(StoreAddress::Postgres(expected)));
    }

    fn tcp(hosts: &[&str], port: u16) -> Listens {
        Listens::Tcp(hosts.iter().map(ToString::to_string).collect(), port)
    }

    #[test]
    fn addresses_of_postgresql() {
        check("postgres://zonda@db1,db2:5433/dns", "zonda", tcp(&["db1", "db2"], 5_433), "dns");
        check("postgresql://a%40b@10.0.0.5/d%2Fs", "a@b", tcp(&["10.0.0.5"], 5_432), "d/s");
        check("postgres://z@[2001:db8::5]:6000,db:6000/dns", "z", tcp(&["2001:db8::5", "db"], 6_000), "dns");
        check("postgres://z@[::1]/dns", "z", tcp(&["::1"], 5_432), "dns");
        check("postgres://z@/dns", "z", Listens::Socket("/run/postgresql".into(), 5_432), "dns");
        check("postgres://z@%2Ftmp%2fpg:5433/dns", "z", Listens::Socket("/tmp/pg".into(), 5_433), "dns");
        assert_eq!(address_of("sqlite:a b.db"), Ok(StoreAddress::File("a b.db".into())));
    }

    #[test]
    fn what_is_none() {
        let many = format!("postgres://z@{}/d", vec!["h"; HOSTS_MAX + 1].join(","));
        let long = format!("postgres://{}@h/d", "u".repeat(NAME_OCTETS_MAX + 1));
        for (url, expected) in [
            ("zones.db", "expected \"sqlite:PATH\", found \"zones.db\""),
            ("sqlite:", "expected \"sqlite:PATH\""),
            ("postgres://z@h", "no `/` after the host"),
            ("postgres://h/d", "found no user"),
            ("postgres://@h/d", "the name of a user of 1 to 255 octets, found \"\""),
            ("postgres://z@h/", "the name of a database"),
            ("postgres://z@h/a/b", "the name of a database, found \"a/b\""),
            ("postgres://z@h/d?sslmode=disable", "parameters are keys of the section"),
            ("postgres://z@h:0/d", "a port from 1 to 65535, found \"0\""),
            ("postgres://z@h:65536/d", "a port from 1 to 65535"),
            ("postgres://z@h:1,i:2/d", "one port for all hosts"),
            ("postgres://z@[h]/d", "expected a host"),
            ("postgres://z@[::1/d", "expected a host"),
            ("postgres://z@[::1]5432/d", "expected a host"),
            ("postgres://z@a b/d", "expected a host"),
            ("postgres://z@%2/d", "expected a host"),
            ("postgres://%ff@h/d", "the name of a user"),
            ("postgres://a%00@h/d", "the name of a user"),
            ("postgres://z@%2Frun,h/d", "hosts, or one folder"),
            ("postgres://z@,h/d", "hosts, or one folder"),
            (&many, "expected at most 16 hosts, found 17"),
            (&long, "1 to 255 octets"),
        ] {
            let text = address_of(url).unwrap_err();
            assert!(text.contains(expected), "{url}: {text}");
        }
    }

    /// Whatever else is wrong with an address that has one.
    #[test]
    fn passwords_are_not_repeated() {
        for url in ["postgres://z:secret@h/d", "postgres://z:secret@@h:0/d?x", "postgres://z:sec@secret@h:x/"]
        {
            let text = address_of(url).unwrap_err();
            assert!(text.contains("`password-file` has it") && !text.contains("secret"), "{text}");
        }
    }
}
