//! The address of a store: `sqlite:PATH`, or that of a database of PostgreSQL ([`feed::url`]), with the rest of what is needed for that beside it in its section.
//!
//! No message repeats a password that somebody has written there.

use std::path::{Path, PathBuf};

use feed::url::{NoUrl, Url};

/// What the address of a file begins with.
const SQLITE: &str = "sqlite:";

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
    if !Url::is_one(url) {
        return Err(format!("expected \"sqlite:PATH\" or \"postgres://USER@HOST/DATABASE\", found {url:?}"));
    }
    let url = Url::parse(url).map_err(|wrong| match wrong {
        NoUrl::Password => {
            "expected no password in it, as more may read settings than may know it: `password-file` has it"
                .to_owned()
        }
        NoUrl::Form(text) => text,
    })?;
    if let Some((name, _)) = url.parameters.first() {
        return Err(format!(
            "expected nothing behind the database, found {name:?}: parameters are keys of the section"
        ));
    }
    Ok(StoreAddress::Postgres(PostgresAddress {
        listens: listens(&url)?,
        user: url.user,
        database: url.database,
    }))
}

fn listens(url: &Url) -> Result<Listens, String> {
    let Some(first) = url.hosts.first() else { return Err("expected a host, found none".into()) };
    if first.is_folder() {
        return Ok(Listens::Socket(first.name.clone(), first.port));
    }
    if let Some(other) = url.hosts.iter().find(|other| other.port != first.port) {
        return Err(format!(
            "expected one port for all hosts, as its feeder may connect to one, found {} and {}",
            first.port, other.port
        ));
    }
    Ok(Listens::Tcp(url.hosts.iter().map(|host| host.name.clone()).collect(), first.port))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, listens: Listens) {
        let (user, database) = ("zonda".into(), "dns".into());
        let expected = PostgresAddress { user, listens, database };
        assert_eq!(address_of(url), Ok(StoreAddress::Postgres(expected)));
    }

    #[test]
    fn addresses() {
        let tcp = |hosts: &[&str], port| Listens::Tcp(hosts.iter().map(ToString::to_string).collect(), port);
        check("postgres://zonda@db1:5433,db2:5433/dns", tcp(&["db1", "db2"], 5_433));
        check("postgresql://zonda@[2001:db8::5],db/dns", tcp(&["2001:db8::5", "db"], 5_432));
        check("postgres://zonda@/dns", Listens::Socket("/run/postgresql".into(), 5_432));
        check("postgres://zonda@%2Ftmp%2Fpg:5433/dns", Listens::Socket("/tmp/pg".into(), 5_433));
        assert_eq!(address_of("sqlite:a b.db"), Ok(StoreAddress::File("a b.db".into())));
    }

    #[test]
    fn what_is_none() {
        for (url, expected) in [
            ("zones.db", "expected \"sqlite:PATH\" or \"postgres://USER@HOST/DATABASE\", found \"zones.db\""),
            ("sqlite:", "expected \"sqlite:PATH\""),
            ("postgres://h/d", "found no user"),
            ("postgres://z@h/d?sslmode=disable", "found \"sslmode\": parameters are keys of the section"),
            (
                "postgres://z@h:1,i:2/d",
                "one port for all hosts, as its feeder may connect to one, found 1 and 2",
            ),
            ("postgres://z@h,i:5433/d", "one port for all hosts"),
            ("postgres://z:secret@h/d", "`password-file` has it"),
        ] {
            let text = address_of(url).unwrap_err();
            assert!(text.contains(expected) && !text.contains("secret"), "{url}: {text}");
        }
    }
}
